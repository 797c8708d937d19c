"""Provide strings: draw them from grammars and automata, or read them from files.

- `registry`: `SOURCES`, every source by name, with its options and, if its strings are drawn, its generator.
- `dyck`: well-bracketed strings, which no finite automaton computes, with exact probabilities.
- `tomita`: seven small regular languages, each with a distribution.
- `automata`: random automata, squares of them, and exact sampling from any automaton.
- `recognition`: recognises from its first lines what a file contains: its kind, the columns of a table, lines of JSON.
- `files`: reads strings from the bytes of a file, in any of five formats.
- `values`: reads CSV files of strings and values.
- `pautomac`: reads and writes solutions and models of the PAutomaC competition.
- `exchange`: reads automata from OpenFst's text form and from JSON.
- `prefixes`: reads and writes prefixes, targets and rankings of the SPiCe competition.
- `counting`: counts the strings of files that do not fit into memory, with a proven bound on the error.

`experiment.data` splits the strings into training, validation and test sets.
"""
