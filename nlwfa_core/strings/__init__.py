"""Represent many strings over an alphabet together, as flat integer arrays.

A string is also called a word. In reading order:

- `words`: `Alphabet`, and `Words`, which holds many words one after the other in one array; the
  grouping of equal words and equal keys.
- `sample`: `Sample`, distinct words with counts.
- `plain`: strings in the forms that Python programs use: lists, Series and dictionaries of counts.
- `rolling`: an automaton's state at the end of each word.
- `trie`: `Trie`, the prefix tree of many words, and its most frequent prefixes.

The package `sources` reads strings from files and draws them; `hankel` computes from them.
"""
