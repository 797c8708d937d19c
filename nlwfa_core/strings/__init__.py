"""Strings over an alphabet: many words as flat arrays, their prefix tree, samples with counts."""
