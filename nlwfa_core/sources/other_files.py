"""Recognise files from other fields by their first lines, to avoid reading them as strings of
words.

`RULES` lists the kinds of files in the order in which they are tried. A rule states what the file
is called, how it is recognised, and the verdict: the format in which it is read, or advice for the
user. A predicate takes the first lines that are not blank. It must be strict, because markup,
dates, numbers and brackets can also be symbols of strings. So each rule requires a first line that
occurs in no other kind of file, or a form that all lines have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..errors import FormatError

Predicate = Callable[[Sequence[str]], bool]

LONGEST_HEAD = 2**13  # characters of a line that are examined
# the share of lines that must have the form of a log's line, because logs also have odd lines
MOST = 0.75
ALIGNED = re.compile(r"( *)([0-9]+) (\S.*)")
WHOLE = re.compile(r"-?[0-9]+")
# What comes before automata that have comments.
COMMENT = re.compile(r"//|/\*|\*|#")
# Penn Treebank's and Universal Dependencies' parts of speech.
PARTS_OF_SPEECH = frozenset(
    """
    ADJ ADP ADV AUX CCONJ CONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X CC
    CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP TO UH VB
    VBD VBG VBN VBP VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB-
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Rule:
    """One kind of file."""

    name: str  # what the file is, with its article
    # the first lines that are not blank -> whether they are those of such a file
    matches: Predicate
    # what to do, for somebody who wants to learn from this file; nothing if it has a format
    remedy: str = "write each of its strings on a separate line, with spaces between the symbols"
    format: str = ""  # the format by which it is read; empty if it is refused


def other_file(rows: Sequence[str]) -> Rule | None:
    """Return the first rule that recognises a file by its first lines that are not blank; None if
    no rule does.

    >>> other_file([">s1", "ACGT", ">s2", "GGTA"]).name
    'a FASTA file'
    >>> other_file(["<a> b </a>", "<a> </a>"]) is None  # markup as symbols
    True
    """
    heads = _heads(rows)
    return next((rule for rule in RULES if rule.matches(heads)), None)


def _heads(rows: Sequence[str]) -> list[str]:
    """Return the beginning of each line, without leading white space if it would contain nothing
    else.
    """
    return [
        row[:LONGEST_HEAD] if row[:LONGEST_HEAD].strip() else row.strip()[:LONGEST_HEAD]
        for row in rows
    ]


def format_of_other_file(rows: Sequence[str]) -> str:
    """Return the format of a file from another field; empty for any other file.

    >>> format_of_other_file([">s1", "ACGT", ">s2", "GGTA"])
    'fasta'

    Raises FormatError, with advice, if the file is recognised but its strings can't be read.
    """
    rule = other_file(rows)
    if rule and not rule.format:
        raise FormatError(
            f"this is {rule.name}; {rule.remedy} (if this is wrong, set the format to tokens or "
            "characters)"
        )
    return rule.format if rule else ""


def check_no_other_file(rows: Sequence[str], reads: str) -> None:
    """Raise FormatError if a file is recognised as a file from another field.

    >>> check_no_other_file(["##foma-net 1.0##"], reads="import reads JSON, PAutomaC and OpenFst")
    Traceback (most recent call last):
    nlwfa_core.errors.FormatError: this is a foma file; import reads JSON, PAutomaC and OpenFst

    `reads`: what the calling reader accepts, for the error message.
    """
    rule = other_file(rows)
    if rule:
        raise FormatError(f"this is {rule.name}; {reads}")


# Predicates from patterns


def _first(pattern: str, flags: int = 0) -> Predicate:
    """Match the beginning of the first line."""
    compiled = re.compile(pattern, flags)
    return lambda rows: compiled.match(rows[0].strip()) is not None


def _code(pattern: str) -> Predicate:
    """Match the first two lines that are not comments, joined by a space."""
    compiled = re.compile(pattern)

    def matches(rows: Sequence[str]) -> bool:
        lines = [row.strip() for row in rows if not COMMENT.match(row.strip())]
        return compiled.match(" ".join(lines[:2])) is not None

    return matches


def _every(pattern: str, least: int = 2) -> Predicate:
    """Match each of the lines as a whole; there must be at least `least` of them."""
    compiled = re.compile(pattern)
    return lambda rows: len(rows) >= least and all(compiled.fullmatch(row.strip()) for row in rows)


def _most(pattern: str) -> Predicate:
    """Match the beginning of most lines."""
    compiled = re.compile(pattern)
    return lambda rows: (
        sum(compiled.match(row.strip()) is not None for row in rows) >= max(MOST * len(rows), 1)
    )


# Markup

TAG_WITH_ATTRIBUTES = re.compile(
    r"""<([A-Za-z][\w:.-]*)(?:\s+[\w:.-]+\s*=\s*(?:"[^"]*"|'[^']*'))+\s*/?>"""
)
ROOT = re.compile(r"<(structure|automaton|log|pnml|graphml|svg|rss|feed|TEI|corpus)>")
HTML_BEGINS = re.compile(r"(<!--.*?-->\s*)?(<!doctype html\b|<html(\s[^>]*)?>)", re.IGNORECASE)


def _is_xml(rows: Sequence[str]) -> bool:
    """Return whether a file begins with a declaration, or with a root that holds other elements and
    occurs only once.
    """
    first = rows[0].strip()
    if first.startswith(("<?xml ", "<!DOCTYPE ", "<!ENTITY ")):
        return True
    tag = TAG_WITH_ATTRIBUTES.match(first) or ROOT.match(first)
    if tag is None or any(row.strip().startswith(f"<{tag[1]}") for row in rows[1:]):
        return False
    rest = [first[tag.end() :], *rows[1:]]
    return next((row.strip() for row in rest if row.strip()), "<").startswith("<")


def _xml_with(pattern: str) -> Predicate:
    compiled = re.compile(pattern)
    return lambda rows: _is_xml(rows) and any(compiled.search(row) for row in rows)


def _is_html(rows: Sequence[str]) -> bool:
    return HTML_BEGINS.match(rows[0].strip()) is not None and not any(
        HTML_BEGINS.match(row.strip()) for row in rows[1:]
    )


# Biology

SEQUENCE = re.compile(
    r"[A-Za-z*.?~-]+|[A-Za-z*-]{10}( [A-Za-z*-]{10})*( [A-Za-z*-]{1,10})?|[0-9]+( [0-9]+)*"
)


def _is_fasta(rows: Sequence[str]) -> bool:
    """Return whether most headers, which begin with ">", are followed by a sequence of letters (or
    by numbers, its qualities).
    """
    rows = [row.strip() for row in rows if not row.startswith(";")]
    if not rows:
        return False
    is_header = [re.match(r">[^\s>]+(\s|$)", row) is not None for row in rows]
    bodies = [row for row, header in zip(rows, is_header, strict=True) if not header]
    num_empty = sum(one and two for one, two in pairwise(is_header))
    return (
        is_header[0]
        and bool(bodies)
        and 2 * num_empty < sum(is_header)
        and all(SEQUENCE.fullmatch(row) for row in bodies)
    )


def _is_fastq(rows: Sequence[str]) -> bool:
    """Return whether a line @name and a line of letters come first, and a line + or +name later."""
    rows = [row.strip() for row in rows]
    return (
        len(rows) > 2
        and re.match(r"@\S", rows[0]) is not None
        and SEQUENCE.fullmatch(rows[1]) is not None
        and any(row in ("+", f"+{rows[0][1:]}") for row in rows[2:])
    )


# Annotated text


def _is_conll(rows: Sequence[str]) -> bool:
    """Return whether each line is a word with annotations: those of CoNLL-U, or a tag for entities
    or parts of speech at the end.
    """
    rows = [row for row in rows if not row.startswith("#")]
    if not rows:
        return False
    if all(len(row.split("\t")) == 10 and re.match(r"[0-9]+([-.][0-9]+)?\t", row) for row in rows):
        return True
    if _has_ids(rows):
        return True
    columns = [row.split() for row in rows if not row.startswith("-DOCSTART-")]
    if len(columns) < 2 or len({len(row) for row in columns}) > 1 or len(columns[0]) < 2:
        return False
    tags = [row[-1] for row in columns]
    entities = [tag for tag in tags if re.fullmatch(r"[BIESLU]-[A-Za-z_]+", tag)]
    if entities and len(entities) + tags.count("O") == len(tags):
        return True
    words_as_tags = sum(row[0] in PARTS_OF_SPEECH for row in columns)
    return (
        len(tags) > 2
        and len(set(tags)) > 1
        and PARTS_OF_SPEECH.issuperset(tags)
        and 5 * words_as_tags <= len(tags)
    )


def _has_ids(rows: Sequence[str]) -> bool:
    """Return whether lines of four or more columns, separated by tabs, are numbered 1, 2, 3 …,
    starting again in each sentence.
    """
    columns = [row.split("\t") for row in rows]
    ids = [row[0] for row in columns]
    if not all(one.isdecimal() and len(one) < 9 for one in ids):
        return False
    follow = all(two == "1" or int(two) == int(one) + 1 for one, two in pairwise(ids))
    return (
        len({len(row) for row in columns}) == 1
        and len(columns[0]) > 3
        and ids[0] == "1"
        and 1 < ids.count("1") < len(ids)
        and follow
    )


# Logs, and what tools for text print

REQUEST = r'\S+ \S+ \S+ \[[^\]]+\] "'
SYSLOG = r"(<[0-9]+>)?[A-Z][a-z]{2} [ 0-9]?[0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} \S+ "
TIME = re.compile(r"\[?[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?\S*\s+\S")
DATE = re.compile(r"[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}")


def _is_timed_log(rows: Sequence[str]) -> bool:
    """Return whether most lines begin with a date and a time, and contain no other: strings whose
    symbols are times contain several.
    """
    rows = [row.strip() for row in rows]
    timed = [
        row for row in rows if (time := TIME.match(row)) and not DATE.search(row, time.end() - 1)
    ]
    return len(rows) > 1 and len(timed) >= MOST * len(rows)


def _is_uniq(rows: Sequence[str]) -> bool:
    """Return whether each line is a number, right-aligned in a column, and a string that no
    other line has.
    """
    parts = [ALIGNED.fullmatch(row.rstrip()) for row in rows]
    if not all(parts):
        return False
    ends = {part.end(2) for part in parts if part}
    texts = {part[3] for part in parts if part}
    if len(rows) == 1:  # `uniq` writes at least three spaces before a number of four digits
        return any(len(part[1]) > 2 for part in parts if part)
    return len(ends) == 1 and len(texts) == len(rows) and any(part[1] for part in parts if part)


def _is_numbered(rows: Sequence[str]) -> bool:
    """Return whether lines are numbered from 1, as by `cat -n`, and continue with something other
    than numbers.
    """
    parts = [re.fullmatch(r"\s*([0-9]+)[\s:.)]+(\S.*)", row.rstrip()) for row in rows]
    if len(rows) < 3 or not all(parts):
        return False
    numbers = [part[1] for part in parts if part]
    return numbers == [str(number) for number in range(1, len(rows) + 1)] and not any(
        all(WHOLE.fullmatch(token) for token in part[2].split()) for part in parts if part
    )


def _is_spmf(rows: Sequence[str]) -> bool:
    """Return whether each line has whole numbers, -1 after each set of items, and -2 at its end."""
    rows = [row.strip() for row in rows]
    if rows[0].startswith(("@CONVERTED_FROM_TEXT", "@ITEM=")):
        return True
    form = re.compile(
        r"(<[0-9]+> )?([0-9]+(\[[0-9]+\])? +)+-1( +(<[0-9]+> )?([0-9]+(\[[0-9]+\])? +)+-1)* "
        r"+-2( +SUtility:[0-9]+)?"
    )
    return all(form.fullmatch(row) for row in rows)


# Labelled strings, and numbers with their length

ABBADINGO_HEADER = re.compile(r"[0-9]+\s+[0-9]+(:\S*)?")
LABELLED = re.compile(r"-?[0-9]+\s+[0-9]+(\s|$)")


def is_labelled(row: str) -> bool:
    """Return whether a line is a label, a length and that many symbols, perhaps with attributes."""
    tokens = row.split()
    return LABELLED.match(row.strip()) is not None and tokens[1] == str(len(tokens) - 2)


def has_length(row: str) -> bool:
    """Return whether a line is a whole number, followed by that many whole numbers."""
    tokens = row.split()
    return all(token.isdecimal() for token in tokens) and tokens[0] == str(len(tokens) - 1)


def is_abbadingo(rows: Sequence[str]) -> bool:
    """Return whether a header of two numbers is followed by labelled strings, not all empty.

    A label may happen to equal the length that PAutomaC writes before a string. If all lines can be
    read in this way, the file is PAutomaC's.
    """
    return (
        len(rows) > 1
        and ABBADINGO_HEADER.fullmatch(rows[0].strip()) is not None
        and all(map(is_labelled, rows[1:]))
        and any(row.split()[1] != "0" for row in rows[1:])
        and not all(map(has_length, rows[1:]))
    )


def _is_headless_abbadingo(rows: Sequence[str]) -> bool:
    labels = {row.split()[0] for row in rows}
    long_enough = sum(len(row.split()) - 2 for row in rows) > 3
    return (
        len(rows) > 2 and labels <= {"-1", "0", "1"} and long_enough and all(map(is_labelled, rows))
    )


def _is_stamina(rows: Sequence[str]) -> bool:
    """Return whether each line begins with + or -, and has neither later."""
    rows_of_tokens = [row.split() for row in rows]
    signs = {tokens[0] for tokens in rows_of_tokens}
    rest = {token for tokens in rows_of_tokens for token in tokens[1:]}
    return (
        len(rows) > 1
        and signs <= {"+", "-", "?"}
        and "+" in signs
        and bool(rest)
        and not rest & {"+", "-", "?"}
    )


def _is_headless_pautomac(rows: Sequence[str]) -> bool:
    """Return whether each line states its length (the last one may be cut off), and the lines are
    too long for this to be chance.
    """
    if ABBADINGO_HEADER.fullmatch(rows[0].strip()) and all(map(has_length, rows[1:])):
        return False
    whole = rows if has_length(rows[-1]) else rows[:-1]
    strings = [len(row.split()) - 1 for row in whole]
    return len(whole) > 1 and all(map(has_length, whole)) and sum(strings) > 3 and max(strings) > 1


def _is_svmlight(rows: Sequence[str]) -> bool:
    return _every(r"[-+]?[0-9.]+(\s+[0-9]+:[-+0-9.eE]+)+(\s+#.*)?", least=1)(rows)


def _is_prism_matrix(rows: Sequence[str]) -> bool:
    """Return whether a header of numbers is followed by lines of states and a probability."""
    body = _every(r"[0-9]+ [0-9]+( [0-9]+)? ([0-9]*\.[0-9]+|1)( \S+)?", least=1)
    return (
        re.fullmatch("[0-9]+( [0-9]+){1,2}", rows[0].strip()) is not None
        and len(rows) > 2
        and body(rows[1:])
        and "." in rows[1]
    )


def _is_uci_sequences(rows: Sequence[str]) -> bool:
    return rows[0].startswith("%") and any(
        re.match(r"%\s*sequences", row, re.IGNORECASE) for row in rows
    )


def _is_pgn(rows: Sequence[str]) -> bool:
    """Return whether a game of chess begins with a tag, or with its first two moves."""
    move = r"([KQRBN]?[a-h]?[1-8]?x?[a-h][1-8]|O-O)\S*"
    game = rf'\[[A-Z]\w* "[^"]*"\]|1\. ?{move} {move} 2\.'
    return re.match(game, rows[0].strip()) is not None


PYTHON_LIST = r"[\[(]('[^']*'|[0-9]+)(, ('[^']*'|[0-9]+))*,?[\])]|\[\]|\(\)"


def _is_printed_python(rows: Sequence[str]) -> bool:
    """Return whether lines are lists or tuples as Python prints them, and not as JSON does."""
    return _every(PYTHON_LIST)(rows) and any(
        "'" in row or re.match(r"\(.*,", row.strip()) for row in rows
    )


def _is_symbol_table(rows: Sequence[str]) -> bool:
    return _first(r"(<eps>|<epsilon>|ε)\s+0$")(rows) and _every(r"\S+\s+[0-9]+", least=1)(rows)


BY_COLUMNS = "write a table of two columns, the string and its count"
AUTOMATON = "an automaton is read by `nlwfa import` from JSON, PAutomaC, OpenFst or JFLAP"

RULES = (
    Rule("a table with Excel's own first line, sep=…", _first(r'"?sep=.?"?$'), "delete that line"),
    Rule(
        "a Git LFS pointer, not the file itself",
        _first(r"version https://git-lfs"),
        "fetch the file with `git lfs pull`",
    ),
    Rule("an XES event log", _xml_with(r"<log\b|\bxes\b"), format="xes"),
    Rule("a JFLAP file", _xml_with(r"<structure>|<automaton\b"), AUTOMATON),
    Rule("an HTML page", _is_html, "it may be a failed download"),
    Rule("an XML file", _is_xml),
    # The file doesn't say if a tool means finite words, as Spot does with `ltl2tgba --ltlf`.
    Rule("a HOA file, whose automaton reads infinite words", _first(r"HOA:\s*v[0-9]"), AUTOMATON),
    Rule("a DOT file", _code(r"(strict\s+)?(di)?graph(\s+(\w+|\"[^\"]*\"))?\s*\{"), AUTOMATON),
    Rule(
        "a PRISM file",
        _code(
            r"(dtmc|mdp|ctmc|pta|pomdp|probabilistic|stochastic|nondeterministic)\s+(module|const|global|formula|label|rewards)\b"
        ),
        AUTOMATON,
    ),
    Rule("a PRISM file of transitions", _is_prism_matrix, AUTOMATON),
    Rule("an Aldebaran file (.aut)", _first(r"des\s*\([0-9\s\"]+,[0-9\s]+,[0-9\s]+\)"), AUTOMATON),
    Rule("a BA file", _every(r"\[\w+\]|\S+,\[\w+\]->\[\w+\]"), AUTOMATON),
    Rule("a foma file", _first("##foma-net"), AUTOMATON),
    Rule("an OpenFst symbol table", _is_symbol_table, AUTOMATON),
    Rule("an ARPA file (n-grams)", lambda rows: any(row.strip() == "\\data\\" for row in rows)),
    Rule("a PGN file (chess)", _is_pgn),
    Rule("a FASTA file", _is_fasta, format="fasta"),
    Rule("a FASTQ file", _is_fastq, format="fastq"),
    Rule("a Stockholm file", _first("# STOCKHOLM")),
    Rule("a CLUSTAL file", _first("CLUSTAL ")),
    Rule("a GenBank file", _first(r"LOCUS\s+\S+\s+[0-9]+ bp")),
    Rule("a NEXUS file", _first("#NEXUS", re.IGNORECASE)),
    Rule("a VCF or GFF file", _first("##(fileformat=|gff-version)")),
    Rule("a SAM file", _first(r"@(HD|SQ|RG|PG)\t")),
    Rule(
        "a CoNLL file",
        _first(r"-DOCSTART-|# (newdoc|newpar|sent_id|text|global\.columns)\b.*=|# newdoc$"),
        format="conll",
    ),
    Rule("a CoNLL file", _is_conll, format="conll"),
    Rule("an ARFF file", _first("@relation\\s", re.IGNORECASE), BY_COLUMNS),
    Rule("a Matrix Market file", _first("%%MatrixMarket", re.IGNORECASE)),
    Rule(
        "a UCI file of sequences", _is_uci_sequences, "delete the lines before the first sequence"
    ),
    Rule("an RTF document", _first(r"\{\\rtf"), "save it as plain text, UTF-8"),
    Rule(
        "a LaTeX document",
        _first(r"\\documentclass\b|\\begin\{tikzpicture\}|% needs \\usepackage\{"),
    ),
    Rule(
        "an ABC file (music)",
        lambda rows: (
            len(rows) > 1 and _every(r"X:\s*[0-9]+|[A-Z]:.*")(rows[:2]) and rows[0][:2] == "X:"
        ),
    ),
    Rule(
        "a file of subtitles",
        lambda rows: any(re.match(r"[0-9:.,]+ --> [0-9:.,]+", row) for row in rows[:3]),
    ),
    Rule("a web server's log", _most(REQUEST)),
    Rule("a web server's log", _first("#(Software|Fields|Version):")),
    Rule("a system's log", _most(SYSLOG)),
    Rule("a log with a time on each line", _is_timed_log),
    Rule("an SPMF file", _is_spmf, format="spmf"),
    Rule("an svmlight file", _is_svmlight),
    Rule("a fastText file", _every(r"__label__\S+(\s.*)?", least=1), "leave out the labels"),
    Rule("a Markdown table", _every(r"\|.*\|"), BY_COLUMNS),
    Rule(
        "a file of printed Python lists",
        _is_printed_python,
        "write JSON, or spaces between the symbols",
    ),
    Rule(
        "a file of printed numpy arrays",
        _every(r"\[ *[0-9]+\.?( +[0-9]+\.?)+\]"),
        "write spaces between the symbols",
    ),
    Rule("the output of `uniq -c`", _is_uniq, format="uniq"),
    Rule("a file of numbered lines", _is_numbered, "leave out the numbers"),
    Rule("an Abbadingo or FlexFringe file", is_abbadingo, format="abbadingo"),
    Rule(
        "an Abbadingo or FlexFringe file without its header",
        _is_headless_abbadingo,
        format="abbadingo",
    ),
    Rule(
        "a StaMinA file",
        _is_stamina,
        "leave out the labels + and -, or write a table string,value for fit-values",
    ),
    Rule(
        "a PAutomaC file without its header",
        _is_headless_pautomac,
        "add a first line, with the number of strings and the size of the alphabet",
    ),
)


# What is read as strings, but with a note


def _numbers_at(place: int) -> Predicate:
    """Match lines that begin (0) or end (-1) with a whole number, as counts do: the texts next to
    them are all different, and contain no other whole number, as strings of numbers would.
    """

    def matches(rows: Sequence[str]) -> bool:
        lines = [row.split() for row in rows]
        texts = {" ".join(line[1:] if place == 0 else line[:-1]) for line in lines}
        return (
            len(lines) > 1
            and len(texts) == len(lines)
            and all(len(line) > 1 and WHOLE.fullmatch(line[place]) for line in lines)
            and not any(WHOLE.fullmatch(token) for text in texts for token in text.split())
        )

    return matches


def _begins_with_comment(rows: Sequence[str]) -> bool:
    mark = re.match(r"(#|%|//)\s", rows[0])
    return (
        mark is not None
        and len(rows) > 1
        and not any(mark[1] in row for row in rows[1:] if not row.startswith(mark[1]))
    )


NOTES = (
    Rule(
        "Every line begins with a number",
        _numbers_at(0),
        "it is read as a symbol; a count comes after its string, as in the cat,3",
    ),
    Rule(
        "Every line ends with a number",
        _numbers_at(-1),
        "it is read as a symbol; a count has a separator before it, as in the cat,3",
    ),
    Rule("The first line looks like a comment", _begins_with_comment, "it is read as a string"),
)


def line_notes(rows: Sequence[str]) -> list[str]:
    """Make notes on lines that are read as strings but may be meant differently.

    >>> line_notes(["abba 12", "bab 3"])
    ['Every line ends with a number: it is read as a symbol; a count has a separator before it, as in the cat,3.']
    """  # noqa: E501
    heads = _heads(rows)
    return [f"{rule.name}: {rule.remedy}." for rule in NOTES if rule.matches(heads)]
