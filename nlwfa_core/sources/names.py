"""The names of sources and file formats, in a module that recipes can import cheaply."""

from __future__ import annotations

SOURCES = {
    "dyck": "Brackets from the grammar S → SS | [S] | [].",
    "upload": "Your own strings: paste or upload them on the Data page, under Your own strings.",
    "tomita": "Strings of a small regular language, one of Tomita's seven.",
    "automaton": "Strings from a random probabilistic automaton.",
    "hmm": "Strings from a random hidden Markov model: the next state does not depend on the "
    "emitted symbol.",
    "pfa": "Strings from a random probabilistic automaton in which each state has few likely "
    "moves.",
    "pdfa": "Strings from a random deterministic automaton: a state and a symbol determine the "
    "next state.",
    "squared": "Strings from the square of a random automaton, whose rank is far higher than that "
    "of the automaton itself.",
    "verbs": "English verb forms, letter by letter.",
}
# sources that also draw their automaton
RANDOM = ("automaton", "hmm", "pfa", "pdfa", "squared")
# format of a file -> what it is
FORMATS = {
    "auto": "Recognised from the first lines.",
    "pautomac": "PAutomaC and SPiCe: a length, then that many numbers.",
    "characters": "One string per line, each character a symbol.",
    "tokens": "One string per line, with white space between the symbols.",
    "csv": "A table: a string and its count on each line.",
    "json": "JSON lines: lists of symbols, strings in quotes, or objects.",
    "events": "A log as a table: one event per line, one string for each case.",
    "xes": "A log in XES: one string for each trace.",
    "conll": "CoNLL: a symbol with its annotations on each line, an empty line after each string.",
    "fasta": "FASTA: sequences over several lines, each below its name.",
    "fastq": "FASTQ: the second of four lines.",
    "spmf": "SPMF: -1 after each symbol, -2 at the end of a string.",
    "uniq": "The output of `uniq -c`: a count, then a string.",
    "abbadingo": "Abbadingo and FlexFringe: a label, a length, symbols. Labels are left out.",
}
ENCODINGS = {
    "utf-8": "Unicode: what most programs write.",
    "utf-16": "Unicode text of Excel and old Windows programs.",
    "windows-1252": "Western European Windows.",
    "windows-1250": "Central European Windows.",
    "windows-1251": "Cyrillic Windows.",
    "windows-1253": "Greek Windows.",
    "windows-1254": "Turkish Windows.",
    "iso-8859-1": "Latin 1: Western European.",
    "iso-8859-2": "Latin 2: Central European.",
    "iso-8859-15": "Latin 9: Western European, with €.",
    "koi8-r": "Cyrillic.",
    "mac-roman": "Old Macintosh computers.",
    "shift-jis": "Japanese.",
    "euc-jp": "Japanese.",
    "gb18030": "Chinese.",
    "big5": "Chinese, traditional.",
    "euc-kr": "Korean.",
}
