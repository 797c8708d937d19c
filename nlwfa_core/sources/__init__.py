"""Where strings come from: grammars and automata that draw them, and files.

- `registry`: `SOURCES`, every source by name, with its options; the generators behind those that draw strings.
- `dyck`: well-bracketed strings, which no finite automaton computes, with exact probabilities.
- `tomita`: seven small regular languages, each with a distribution.
- `automata`: random automata, squares of them, and exact sampling from any automaton.
- `recognition`: what a file is, from its first lines: its kind, the columns of a table, lines of JSON.
- `files`: strings from the bytes of a file, in any of five formats.
- `values`: CSV files of strings and values.
- `pautomac`: solutions and models of the PAutomaC competition, and writing its files.
- `prefixes`: prefixes, targets and rankings of the SPiCe competition.
- `counting`: strings of corpora that do not fit into memory, counted within a proven bound.

How the strings are split into training, validation and test sets is up to `experiment.data`.
"""
