"""Provide strings: draw them from grammars and automata, or read them from files.

- `names`: every source, and every format of a file, by name. `registry`: the generators of the
  sources that draw strings.
- `dyck`: well-bracketed strings, which no finite automaton computes, with exact probabilities.
- `tomita`: seven small regular languages, each with a distribution.
- `random_automata`: random automata, squares of them, and exact sampling from any automaton.
- `reading`: what a user may choose about a file, such as its format, encoding, separator and
  columns.
- `recognition`: recognises what a file contains from its first lines, such as its kind, the columns
  of a table, of a log or of annotated text, or lines of JSON.
- `other_files`: recognises files of other fields, so none is read as strings of words.
- `other_formats`: reads some of these: logs of events, CoNLL, FASTA, FASTQ, SPMF, `uniq -c`,
  Abbadingo.
- `letters`: reports what can't be seen in symbols, such as letters in two forms, characters without
  width, and other empty words.
- `string_files`: reads strings from the bytes of a file, in any format.
- `labels`: reads a table with a column of labels, as a file of strings for each label.
- `preview`: shows the beginning of a file, and what can be chosen about it.
- `value_files`: reads tables of strings and values, and Abbadingo files.
- `pautomac`: reads and writes solutions and models of the PAutomaC competition.
- `exchange`: reads automata from OpenFst's text format and from JSON.
- `jflap`: reads finite automata of JFLAP.
- `spice`: reads and writes prefixes, targets and rankings of the SPiCe competition.
- `counting`: counts the strings of files that do not fit into memory, with a proven bound on the
  error.

`experiment.datasets` splits the strings into training, validation and test sets.
"""
