"""Read strings directly from files of other fields: logs of events, annotated text, biological
sequences, and the output of tools for sequences.

Each reader takes the lines of a file, in blocks, in one pass, and yields cells: the text of each
string, with the line on which it begins. A note states what the reader leaves out. `recognition`
finds the columns of a log or a CoNLL file. A malformed line causes an error that names the line.

Sources of the formats: XES, IEEE 1849-2016; CoNLL-U, universaldependencies.org/format.html; FASTQ,
Cock et al. 2010; SPMF, philippe-fournier-viger.com/spmf; Abbadingo, Lang, Pearlmutter, Price 1998.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.parsers import expat

import numpy as np

from .. import limits
from ..errors import FormatError, listed, plural, quoted
from ..limits import WHOLE_FILE, check_at_most
from ..strings.words import LAMBDA, IntArray
from .other_files import ABBADINGO_HEADER, is_labelled
from .recognition import ConllColumns, EventTable, order_key

# The lines of a file, in blocks.
Lines = Iterable[list[str]]
# Blocks of cells without surrounding white space, with the line of each.
Cells = Iterator[tuple[list[str], Sequence[int]]]
# Blocks of cells, counts as text, and the line of each.
CountedCells = Iterator[tuple[list[str], list[str], list[int]]]

LARGEST_EXACT = 2**53  # the largest whole number that a float64 holds exactly
MOST_EVENTS = 2**13  # events whose names are text at once
MOST_DEPTH = 1_000  # of elements in XML
CONCEPT_NAME = "concept:name"
TRANSITION = "lifecycle:transition"


def _numbered(lines: Lines) -> Iterator[list[tuple[int, str]]]:
    """Yield the lines of a file with their numbers, from 1, in the same blocks."""
    first = 1
    for rows in lines:
        yield list(enumerate(rows, start=first))
        first += len(rows)


class _Symbols(dict[str, str]):
    """Turns names into symbols: name -> the same with "_" in place of white space.

    Raises FormatError if a name is empty or λ, if two names would become one symbol, or if there
    are too many.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._names: dict[str, str] = {}  # symbol -> name
        self._spaced = ""

    def of(self, name: str, line: int) -> str:
        """Return the symbol of a name on a line."""
        symbol = self.get(name)
        return self._new(name, line) if symbol is None else symbol

    def _new(self, name: str, line: int) -> str:
        symbol = "_".join(name.split())
        if not symbol:
            raise FormatError(f"the {self._what} is empty", line)
        if symbol == LAMBDA:
            raise FormatError(
                f"the {self._what} is {LAMBDA}, which is how the empty word is written: rename it",
                line,
            )
        other = self._names.setdefault(symbol, name.strip())
        if other != name.strip():
            raise FormatError(
                f"two names would become the same symbol, {quoted(symbol)}: {quoted(other)} and "
                f"{quoted(name)}",
                line,
            )
        if symbol != name.strip():
            self._spaced = self._spaced or f"{quoted(name.strip())} is {quoted(symbol)}"
        self[name] = symbol
        check_at_most(
            "the number of different symbols", len(self._names), limits.most("symbols"), line
        )
        return symbol

    @property
    def notes(self) -> list[str]:
        """Return a note if names contain white space, which symbols can't contain."""
        return [f"Symbols have _ in place of white space: {self._spaced}."] if self._spaced else []


# Logs: one event in each line, or XES


class _OrderKeys:
    """Collects the keys by which events are sorted: whole numbers, other numbers once one of these
    occurs, or dates as microseconds.

    Raises FormatError for anything else, and for dates with and without a time zone in one file.
    """

    def __init__(self) -> None:
        self.keys: array[Any] = array("q")
        self._kind = ""
        self._largest: float = 0

    def add(self, text: str, line: int) -> None:
        number, kind = order_key(text)
        if not kind:
            is_open = bool(re.match(r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}", text))
            raise FormatError(
                "events can be sorted by numbers, or by dates such as 2024-01-31 12:00:00 or "
                f"31.1.2024; got {quoted(text)}{', which may begin with the month' * is_open}",
                line,
            )
        if kind != (self._kind or kind):
            raise FormatError(
                f"events can be sorted by {self._kind} or by {kind}, but not by both; got "
                f"{quoted(text)}",
                line,
            )
        self._kind = kind
        self._largest = max(self._largest, abs(number))
        if isinstance(number, float) and self.keys.typecode == "q":
            self.keys = array("d", self.keys)
        if self.keys.typecode == "d" and self._largest > LARGEST_EXACT:
            raise FormatError(
                "events can be sorted by large whole numbers or by numbers with a fraction, but "
                f"not by both; got {quoted(text)}",
                line,
            )
        self.keys.append(number)


def event_cells(lines: Lines, table: EventTable, notes: list[str]) -> Cells:
    """Yield one string for each case of a log with an event on each line, in the order in which the
    cases begin.

    Each distinct case, and two or three numbers for each event, are kept in memory.
    """
    cases: dict[str, int] = {}
    case_of = array("i")
    events = array("i")
    first_lines = array("i")
    symbols = _Symbols("event")
    numbers: dict[str, int] = {}
    keys = _OrderKeys()
    num_blank = 0
    is_header = table.has_header
    for row, line in _rows_of_csv(lines, table.delimiter):
        if len(row) < 2 and not any(cell.strip() for cell in row):
            num_blank += 1
            continue
        if len(row) != table.num_columns:
            raise FormatError(
                f"expected {plural(table.num_columns, 'column')}; got {plural(len(row), 'column')}",
                line,
            )
        if is_header:
            is_header = False
            continue
        case = row[table.case].strip()
        if not case:
            raise FormatError("the case is empty", line)
        number = cases.setdefault(case, len(cases))
        if number == len(first_lines):
            first_lines.append(line)
        case_of.append(number)
        symbol = symbols.of(row[table.event], line)
        events.append(numbers.setdefault(symbol, len(numbers)))
        if table.order is not None:
            keys.add(row[table.order].strip(), line)
    if not cases:
        raise FormatError("the file has no events; it needs at least one")
    if num_blank:
        notes.append(f"{plural(num_blank, 'blank line')} skipped.")
    notes += symbols.notes
    del cases
    yield from _grouped(case_of, events, keys.keys, first_lines, list(numbers), notes)


def _rows_of_csv(lines: Lines, delimiter: str) -> Iterator[tuple[list[str], int]]:
    """Yield the rows of a table, and the line of each."""
    reader = csv.reader(
        (f"{row}\n" for rows in lines for row in rows), strict=True, delimiter=delimiter
    )
    try:
        for row in reader:
            yield row, reader.line_num
    except csv.Error as error:
        raise FormatError(f"not a CSV file: {error}", reader.line_num) from None


def _grouped(
    case_of: array[int],
    events: array[int],
    keys: array[Any],
    first_lines: array[int],
    names: Sequence[str],
    notes: list[str],
) -> Cells:
    """Yield the strings of sorted events. `case_of`, `events`: for each event, its case and its
    symbol's number. `keys`: the key by which the event is sorted, if there is one.
    """
    cases: IntArray = np.frombuffer(case_of, dtype=np.int32)
    if len(keys):
        moments = np.frombuffer(keys, dtype=np.int64 if keys.typecode == "q" else np.float64)
        order = np.lexsort((moments, cases))  # it is stable
        is_tie = np.diff(cases[order]) == 0
        is_tie &= np.diff(moments[order]) == 0
        if is_tie.any():
            notes.append(
                f"{plural(int(is_tie.sum()), 'event')} with the same place in the order as the "
                "previous event: they keep the order of the file."
            )
    else:
        order = np.argsort(cases, kind="stable")
    ordered = np.frombuffer(events, dtype=np.int32)[order]
    ends = np.cumsum(np.bincount(cases))
    del order, cases
    first = 0
    while first < len(ends):
        begin = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + MOST_EVENTS, side="right")))
        symbols = [names[number] for number in ordered[begin : ends[last - 1]].tolist()]
        bounds = [0, *(ends[first:last] - begin).tolist()]
        cells = [" ".join(symbols[start:end]) for start, end in pairwise(bounds)]
        yield cells, first_lines[first:last]
        first = last


class _XesParser:
    """Reads traces of XES from pieces of a file.

    It refuses a document type, with which XML can define entities, and very deep nesting, because
    the parser needs memory for each element until the element ends.
    """

    def __init__(self, event_key: str) -> None:
        self.transitions: Counter[str] = Counter()
        self.symbols = _Symbols(f"attribute {event_key} of an event")
        self.cells: list[str] = []
        self.lines: list[int] = []
        self.num_empty = 0
        self._key = event_key
        self._depth = 0
        self._path: list[str] = []  # the names of the first four open elements
        self._trace: list[str] = []
        self._name: str | None = None
        # The bytes are UTF-8 by now, whatever the declaration says.
        self._parser = expat.ParserCreate("UTF-8")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def feed(self, piece: bytes, is_final: bool = False) -> None:
        try:
            self._parser.Parse(piece, is_final)
        except expat.ExpatError as error:
            raise FormatError(
                f"not XML: {expat.errors.messages[error.code]}", error.lineno
            ) from None

    def _refuse(self, *_: object) -> None:
        raise FormatError("XES must not contain <!DOCTYPE", self._parser.CurrentLineNumber)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        depth = self._depth
        self._depth += 1
        line = self._parser.CurrentLineNumber
        if depth >= MOST_DEPTH:
            raise FormatError(f"elements can't be nested in more than {MOST_DEPTH:,} others", line)
        if depth > 3:
            return
        name = tag.rsplit(":", 1)[-1]
        if depth == 0 and name != "log":
            raise FormatError(f"the root element must be log; got {quoted(name)}", line)
        if name == "event" and depth == 1:
            raise FormatError("an event is outside a trace", line)
        if depth == 1 and name == "trace":
            self._trace = []
            self.lines.append(line)
        self._path.append(name)
        if depth == 2 and self._path[1:] == ["trace", "event"]:
            self._name = None
        elif depth == 3 and self._path[1:3] == ["trace", "event"]:
            key = attributes.get("key")
            if key == self._key:
                if self._name is not None:
                    raise FormatError(f"an event has two attributes named {self._key}", line)
                self._name = attributes.get("value", "")
            if key == TRANSITION:
                self.transitions[attributes.get("value", "").lower()] += 1

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._depth > 3:
            return
        line = self._parser.CurrentLineNumber
        if len(self._path) == 3 and self._path[1:] == ["trace", "event"]:
            if self._name is None:
                raise FormatError(f"an event lacks the attribute {quoted(self._key)}", line)
            self._trace.append(self.symbols.of(self._name, line))
        elif len(self._path) == 2 and self._path[1] == "trace":
            self.num_empty += not self._trace
            self.cells.append(" ".join(self._trace))
        self._path.pop()


def xes_cells(pieces: Iterable[bytes], event_key: str, notes: list[str]) -> Cells:
    """Yield one string for each trace of an XES log: an attribute of its events, in the order of
    the file.

    `pieces`: the file in UTF-8.
    """
    parser = _XesParser(event_key or CONCEPT_NAME)
    has_traces = False

    def traces() -> Cells:
        nonlocal has_traces
        finished = len(parser.cells)
        if finished:
            has_traces = True
            lines = parser.lines[:finished]
            cells = parser.cells
            parser.cells = []
            parser.lines = parser.lines[finished:]
            yield cells, lines

    for piece in pieces:
        parser.feed(piece)
        yield from traces()
    parser.feed(b"", is_final=True)
    yield from traces()
    if not has_traces:
        raise FormatError("the log has no traces; it needs at least one")
    notes += parser.symbols.notes
    if parser.num_empty:
        notes.append(f"{plural(parser.num_empty, 'trace')} without events read as the empty word.")
    if len(parser.transitions) > 1:
        kinds = listed([f"{name or '?'} {number:,}" for name, number in _by_name(parser)])
        notes.append(
            f"Events of all lifecycle transitions are symbols ({kinds}): an activity that starts "
            "and completes occurs twice."
        )


def _by_name(parser: _XesParser) -> list[tuple[str, int]]:
    return sorted(parser.transitions.items())


# CoNLL

RANGE_OR_EMPTY = re.compile(r"[0-9]+[-.][0-9]+")


def conll_cells(lines: Lines, columns: ConllColumns, notes: list[str]) -> Cells:
    """Yield one string for each sentence: one column of the lines up to an empty line.

    Comments, `-DOCSTART-` and, in CoNLL-U, multiword tokens (`1-2`) and empty nodes (`1.1`) are
    left out.
    """
    symbols = _Symbols("symbol")
    sentence: list[str] = []
    width = columns.num_columns
    begun = 0
    left_out: Counter[str] = Counter()
    has_sentences = False
    for rows in _numbered(lines):
        cells: list[str] = []
        begins: list[int] = []
        for line, row in rows:
            fields = row.rstrip("\n").split("\t") if columns.by_tab else row.split()
            if not row.strip():
                if sentence:
                    cells.append(" ".join(sentence))
                    begins.append(begun)
                    sentence = []
                width = columns.num_columns if columns.by_tab else 0
                continue
            is_begin = columns.by_tab or not sentence
            if row.startswith("#") and is_begin and len(fields) != columns.num_columns:
                left_out["comment"] += 1
                continue
            if fields[0].startswith("-DOCSTART-"):
                left_out["-DOCSTART- line"] += 1
                continue
            width = width or len(fields)
            if len(fields) != width or len(fields) <= columns.column:
                wanted = (
                    f"at least {plural(columns.column + 1, 'column')}"
                    if len(fields) <= columns.column
                    else f"{plural(width, 'column')}, as in the lines above"
                )
                raise FormatError(f"expected {wanted}; got {len(fields):,}", line)
            if columns.has_ids and RANGE_OR_EMPTY.fullmatch(fields[0]):
                left_out["token range" if "-" in fields[0] else "empty node"] += 1
                continue
            if not sentence:
                begun = line
            sentence.append(symbols.of(fields[columns.column], line))
        if cells:
            has_sentences = True
            yield cells, begins
    if sentence:
        has_sentences = True
        yield [" ".join(sentence)], [begun]
    if not has_sentences:
        raise FormatError("the file has no sentences; it needs at least one")
    notes += symbols.notes
    if left_out:
        kinds = [plural(number, kind) for kind, number in sorted(left_out.items())]
        notes.append(f"Left out: {', '.join(kinds)}.")


# FASTA and FASTQ

RESIDUES = re.compile(r"[A-Za-z*.?~-]+")


def fasta_cells(lines: Lines, notes: list[str]) -> Cells:
    """Yield the sequence below each line that begins with ">", with its lines joined."""
    parts: list[str] = []
    header = num_empty = num_headers = num_comments = 0
    for rows in _numbered(lines):
        cells: list[str] = []
        begins: list[int] = []
        for line, row in rows:
            row = row.strip()
            if row.startswith(">"):
                if header:
                    num_empty += not parts
                    cells.append("".join(parts))
                    begins.append(header)
                header = line
                num_headers += 1
                parts = []
            elif row.startswith(";"):
                num_comments += 1
            elif row:
                residues = "".join(row.split())
                if not header:
                    raise FormatError(
                        f"a FASTA file begins with a line such as >name; got {quoted(row)}", line
                    )
                if not RESIDUES.fullmatch(residues):
                    raise FormatError(
                        f"a sequence may contain only letters and * - . ? ~; got {quoted(row)}",
                        line,
                    )
                parts.append(residues)
        if cells:
            yield cells, begins
    if not header:
        raise FormatError("a FASTA file begins with a line such as >name; it has none")
    num_empty += not parts
    yield ["".join(parts)], [header]
    comments = f", and {plural(num_comments, 'comment')}" if num_comments else ""
    notes.append(f"Names of {plural(num_headers, 'sequence')} left out{comments}.")
    if num_empty:
        notes.append(f"{plural(num_empty, 'name')} without a sequence read as the empty word.")


def fastq_cells(lines: Lines, notes: list[str]) -> Cells:
    """Yield the second of every four lines: `@name`, a sequence, `+`, and a quality for each
    letter.
    """
    record: list[tuple[int, str]] = []
    num_records = 0
    for rows in _numbered(lines):
        cells: list[str] = []
        begins: list[int] = []
        for line, row in rows:
            if not record and not row.strip():
                continue
            record.append((line, row.strip()))
            if len(record) == 4:
                cells.append(_read_of(record))
                begins.append(record[1][0])
                record = []
                num_records += 1
        if cells:
            yield cells, begins
    if record or not num_records:
        line = record[0][0] if record else WHOLE_FILE
        raise FormatError(
            "the last record is not complete: a record has four lines, @name, a sequence, + and "
            "a quality for each letter",
            line or None,
        )
    notes.append(f"Names and qualities of {plural(num_records, 'read')} left out.")


def _read_of(record: Sequence[tuple[int, str]]) -> str:
    """Return the sequence of four lines of FASTQ. Raises FormatError if they don't have its
    form.
    """
    (line, name), (_, letters), (third, plus), (fourth, qualities) = record
    if not name.startswith("@"):
        raise FormatError(f"expected a line such as @name; got {quoted(name)}", line)
    if letters and not RESIDUES.fullmatch(letters):
        raise FormatError(
            f"a sequence may contain only letters and * - . ? ~; got {quoted(letters)}", line + 1
        )
    if not plus.startswith("+"):
        raise FormatError(
            "expected a line that begins with + (each sequence must be on one line); got "
            f"{quoted(plus)}",
            third,
        )
    if len(qualities) != len(letters):
        raise FormatError(
            f"expected a quality for each of {plural(len(letters), 'letter')}; got "
            f"{len(qualities):,}",
            fourth,
        )
    return letters


# SPMF

ITEM = re.compile(r"([0-9]+)(\[[0-9.]+\])?")
ITEM_NAME = re.compile(r"@ITEM=([0-9]+)=(.*)")


def spmf_cells(lines: Lines, notes: list[str]) -> Cells:
    """Yield one string for each sequence of SPMF. Each set of items is a symbol, such as `1` or,
    for several items, `1+2`.

    Times (`<3>`) and utilities (`1[5]`, `SUtility:7`) are left out, and named items are called by
    their names.
    """
    symbols = _Symbols("name of an item")
    items: dict[str, str] = {}  # number -> name
    left_out: set[str] = set()
    example = ""  # the first symbol of several items
    has_sequences = False
    for rows in _numbered(lines):
        cells: list[str] = []
        begins: list[int] = []
        for line, row in rows:
            row = row.strip()
            name = ITEM_NAME.fullmatch(row)
            if name:
                items[name[1]] = name[2]
            if not row or row[0] in "@#%":
                continue
            word: list[str] = []
            for item_set in _sequence_of(row.split(), left_out, line):
                names = [items.get(item, item) for item in item_set]
                if len(names) > 1 and any("+" in name for name in names):
                    raise FormatError("items with + in their names can't be joined by +", line)
                word.append(symbols.of("+".join(names), line))
                if len(names) > 1:
                    example = example or word[-1]
            cells.append(" ".join(word))
            begins.append(line)
        if cells:
            has_sequences = True
            yield cells, begins
    if not has_sequences:
        raise FormatError("the file has no sequences; it needs at least one")
    notes += symbols.notes
    if left_out:
        notes.append(f"Left out: {' and '.join(sorted(left_out))}.")
    if example:
        notes.append(f"A set of several items is one symbol, such as {quoted(example)}.")


def _sequence_of(tokens: Sequence[str], left_out: set[str], line: int) -> list[list[str]]:
    """Return the sets of items in a line of SPMF, and add what is left out to `left_out`."""
    sets: list[list[str]] = []
    current: list[str] = []
    ended = False
    for token in tokens:
        if ended:
            if not token.startswith("SUtility:"):
                raise FormatError(f"expected nothing after -2; got {quoted(token)}", line)
            left_out.add("utilities")
        elif re.fullmatch("<-?[0-9]+>", token):
            left_out.add("times")
        elif token == "-2":
            ended = True
        elif token == "-1":
            if not current:
                raise FormatError("expected an item before -1", line)
            sets.append(current)
            current = []
        elif item := ITEM.fullmatch(token):
            if item[2]:
                left_out.add("utilities")
            current.append(item[1])
        else:
            raise FormatError(f"an item must be a whole number; got {quoted(token)}", line)
    if current or not ended:
        raise FormatError("a sequence must end in -1 -2", line)
    return sets


# uniq -c

COUNTED = re.compile(r"\s*([0-9]+)(?:\s+(.*))?")


def uniq_cells(lines: Lines) -> CountedCells:
    """Yield the strings that `uniq -c` has counted, with their counts; blank lines are skipped."""
    for rows in _numbered(lines):
        cells: list[str] = []
        counts: list[str] = []
        numbers: list[int] = []
        for line, row in rows:
            if not row.strip():
                continue
            parts = COUNTED.fullmatch(row.rstrip())
            if parts is None:
                raise FormatError(f"expected a count and a string; got {quoted(row.strip())}", line)
            cells.append((parts[2] or "").strip())
            counts.append(parts[1])
            numbers.append(line)
        if cells:
            yield cells, counts, numbers


# Abbadingo and FlexFringe

ATTRIBUTED = re.compile(r"[^/\s]+/[-+0-9.eE,]*[0-9]")


def abbadingo_cells(lines: Lines, label: str, notes: list[str]) -> Cells:
    """Yield the strings of labelled lines: a label, a length, and that many symbols.

    Labels and attributes of symbols (`a/0.5`, if all have them) are left out. A first line of two
    numbers is the header; if the number of strings differs, a note says so.

    `label`: the label of the strings that are read; empty for all.
    """
    labels: Counter[str] = Counter()
    promised: str | None = None
    has_attributes: bool | None = None
    is_first = True
    for rows in _numbered(lines):
        cells: list[str] = []
        begins: list[int] = []
        for line, row in rows:
            tokens = row.split()
            if not tokens:
                continue
            if is_first:
                is_first = False
                if ABBADINGO_HEADER.fullmatch(row.strip()) and not is_labelled(row):
                    promised = tokens[0]
                    continue
            if not is_labelled(row):
                raise FormatError(
                    "expected a label, a length and that many symbols; got "
                    f"{plural(max(len(tokens) - 2, 0), 'symbol')} in {quoted(row.strip())}",
                    line,
                )
            symbols = tokens[2:]
            if has_attributes is None and symbols:
                has_attributes = all(map(ATTRIBUTED.fullmatch, symbols))
            if has_attributes:
                symbols = [_without_attribute(symbol, line) for symbol in symbols]
            if symbols == [LAMBDA]:
                raise FormatError(
                    f"{LAMBDA} alone is how the empty word is written: rename the symbol", line
                )
            labels[tokens[0]] += 1
            check_at_most(
                "the number of different labels", len(labels), limits.most("symbols"), line
            )
            if label in ("", tokens[0]):
                cells.append(" ".join(symbols))
                begins.append(line)
        if cells:
            yield cells, begins
    number = labels.total()
    if not number:
        raise FormatError("the file has no strings; it needs at least one")
    counts = listed(
        [f"{name} ({plural(count, 'string')})" for name, count in labels.most_common()], most=8
    )
    if label and not labels[label]:
        raise FormatError(f"no string has the label {quoted(label)}; the labels are {counts}")
    notes.append(_label_note(label, labels, counts))
    if has_attributes:
        notes.append("Attributes of symbols are left out.")
    if promised is not None and promised.lstrip("0") != str(number):
        notes.append(f"The header promises {promised} strings, but {number:,} follow.")


def _label_note(label: str, labels: Mapping[str, int], counts: str) -> str:
    """Describe which strings are read. `counts`: the labels and their numbers of strings."""
    if len(labels) == 1:
        return f"Labels are left out: {counts}."
    if label:
        return f"Only the strings with the label {quoted(label)} are read; the labels are {counts}."
    return (
        f"Labels are left out: {counts}. The strings of all labels are read; to read only some, "
        f"set the format to abbadingo and the label to {next(iter(labels))}. fit-values learns "
        "labels."
    )


def _without_attribute(symbol: str, line: int) -> str:
    if not ATTRIBUTED.fullmatch(symbol):
        raise FormatError(
            f"expected a symbol with an attribute, as in the lines above; got {quoted(symbol)}",
            line,
        )
    return symbol.split("/", 1)[0]
