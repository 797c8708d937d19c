"""Strings over an alphabet, many at a time, as flat integer arrays.

- `words`: `Alphabet`, and `Words`, many words end to end.
- `grouping`: equal words found fast, and equal keys.
- `sample`: `Sample`, distinct words with counts.
- `rolling`: an automaton's state at the end of each word.
- `trie`: `Trie`, the prefix tree of many words, and its most frequent prefixes.

How strings are read from files or drawn is up to `sources`; what is computed from a sample begins in `hankel`.
"""
