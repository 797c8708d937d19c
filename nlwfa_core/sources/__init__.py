"""Provide strings: draw them from grammars and automata, or read them from files.

- `names`: the names of all sources and file formats. `registry`: the generators of the sources that
  draw strings.
- `dyck`: well-bracketed strings with their exact probabilities, which no finite automaton computes.
- `tomita`: seven small regular languages, each with a distribution.
- `random_automata`: random automata, their squares, and exact sampling from any automaton.
- `reading`: a user's choices for reading a file, such as its format, encoding, separator and
  columns.
- `recognition`: recognises from its first lines what a file contains: its kind, the columns of a
  table, a log or annotated text, or lines of JSON.
- `other_files`: recognises files from other fields, to avoid reading them as strings of words.
- `other_formats`: reads some of these files: logs of events, CoNLL, FASTA, FASTQ, SPMF, `uniq -c`,
  Abbadingo.
- `letters`: reports differences between symbols that are not visible, such as letters in two forms
  and zero-width characters, and other signs for the empty word.
- `string_files`: reads strings from the bytes of a file, in any format.
- `labels`: splits a table with a column of labels into one file of strings for each label.
- `preview`: shows the beginning of a file and the choices for reading it.
- `value_files`: reads tables of strings and values, and Abbadingo files.
- `pautomac`: reads and writes solutions and models of the PAutomaC competition.
- `exchange`: reads automata from OpenFst's text format and from JSON.
- `jflap`: reads finite automata of JFLAP.
- `spice`: reads and writes prefixes, targets and rankings of the SPiCe competition.
- `counting`: counts the strings of files that do not fit in memory, with a proven bound on the
  error.

`experiment.datasets` splits the strings into training, validation and test sets.
"""
