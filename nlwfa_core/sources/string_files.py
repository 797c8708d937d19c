"""Read strings from the bytes of a file: PAutomaC and SPiCe files, lines of characters, tokens or
JSON, CSV files with counts, and the files from other fields that `other_formats` reads.

The functions are in the order in which a file is processed. Its bytes are decoded, checked and
cleaned, and its lines are read in blocks. The numbers of a PAutomaC file become words directly.
Lines and rows of tables first become cells (the text of each string), whose symbols are then
numbered. `read_strings` does all of this. What a `Reading` leaves open is recognised by the rules
of `other_files` and `recognition`.

In the text formats, white space around a string is ignored, and a string that is empty, or λ alone,
is the empty word. Symbols are numbered in the order of their written forms (numbers by value), so
an alphabet does not depend on the order of lines.

Memory should be proportional to the file's size, but a line of two bytes takes fifty bytes as a
Python object. So no list of all lines is ever made, and words use the smallest integer types until
the whole file has been read.

`pautomac` reads the competitions' other files (solutions, models), `value_files` reads CSV files of
values, and `counting` reads files that do not fit in memory.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import AnyStr, Self

import numpy as np

from .. import limits
from ..errors import FormatError, RecipeError, check_types, listed, plural, quoted
from ..files import LAB_FOLDER, read_capped
from ..limits import WHOLE_FILE, check_at_most, check_limit
from ..strings.plain import hold_tokens
from ..strings.sample import Sample
from ..strings.words import (
    LAMBDA,
    NUMBER,
    Alphabet,
    IntArray,
    Words,
    in_order,
    offsets_of,
    smallest,
)
from .letters import as_windows_1252, empty_word_notes, symbol_notes
from .other_files import ABBADINGO_HEADER, format_of_other_file, is_labelled, line_notes
from .other_formats import (
    CONCEPT_NAME,
    Cells,
    CountedCells,
    Lines,
    abbadingo_cells,
    conll_cells,
    event_cells,
    fasta_cells,
    fastq_cells,
    spmf_cells,
    uniq_cells,
    xes_cells,
)
from .reading import COLUMNS, SEPARATOR_SIGNS, SEPARATORS, Reading
from .recognition import (
    INTEGER,
    KNOWN_HEADERS,
    MOST_ROWS,
    STRINGS,
    ConllColumns,
    EventTable,
    JsonLines,
    Table,
    check_kind,
    check_text,
    chosen_table_of,
    conll_columns_of,
    event_table_of,
    has_header,
    json_lines_of,
    known_header,
    num_tokens,
    states_its_length,
    table_of,
    title_notes,
)

VERBS = LAB_FOLDER / "assets" / "verbs.txt"

# bytes at the beginning of a file by which its encoding or a binary file is recognised
HEAD_BYTES = 400
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANK = re.compile(rb"[ \t\n\v\f]")
SPACE = re.compile(r"\s")
MAX_DIGITS = 18  # integers of this many digits fit into an int64
# Bytes that are parsed together: few enough for the resulting arrays to stay in the processor's
# cache.
PIECE_BYTES = 2**17
# Bytes that are parsed together if each line becomes a Python object: fewer, because a line may
# have only one byte.
BLOCK_BYTES = 2**15
# a single string of at least so many symbols is taken for one long sequence, such as a text or a
# genome
LONG_SEQUENCE = 100
USUAL_LENGTH = 20  # the length of the windows into which one long sequence may be cut
WINDOW_ENDS = (
    "Windows end where they were cut: compare models by the scores that do not count the end."
)
MANY_LINES = 20  # with so many lines or more, it is unlikely that each holds a string of one symbol


# Bytes and lines


def bytes_of(data: bytes | Path) -> bytes:
    """Return the given bytes, or read them from a path.

    Raises RecipeError if the file can't be read or is too large.
    """
    return read_capped(data, limits.most("file_bytes")) if isinstance(data, Path) else data


def clean(data: bytes) -> bytes:
    """Remove a byte order mark from a file's bytes, which must be UTF-8, and end every line with
    "\\n".

    >>> clean(b"ab\\r\\nc\\r")
    b'ab\\nc\\n'

    Raises FormatError if the file is empty, too large, or not UTF-8.
    """
    check_limit("the file", len(data), "file_bytes", WHOLE_FILE, unit="bytes")
    check_text(data[:HEAD_BYTES])
    cleaned = _with_plain_line_ends(data.removeprefix(BYTE_ORDER_MARK))
    check_at_most(
        "the number of lines", cleaned.count(b"\n"), limits.most("strings") + 1, WHOLE_FILE
    )
    if not _is_visible(_decode(cleaned)):
        raise _empty_file(len(data))
    return cleaned


def pieces(reads: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield a file of any size in cleaned pieces of whole lines, as pairs of the number of lines
    before the piece and the piece.

    >>> list(pieces([b"ab\\r", b"\\nc", b"d\\ne"]))
    [(0, b'ab\\n'), (1, b'cd\\n'), (2, b'e')]

    `reads`: the bytes of the file in order, divided at any positions. Only one of these reads and
    an unfinished line are in memory at a time.

    Raises FormatError if the file is empty, has a line that is longer than a whole file may be, or
    is not UTF-8.
    """
    num_lines = num_bytes = 0
    visible = False
    for raw in _whole_lines_of(reads):
        if not num_bytes:
            check_text(raw[:HEAD_BYTES])
        cleaned = _with_plain_line_ends(raw if num_bytes else raw.removeprefix(BYTE_ORDER_MARK))
        visible = _is_visible(_decode(cleaned, num_lines)) or visible
        yield num_lines, cleaned
        num_lines += cleaned.count(b"\n")
        num_bytes += len(raw)
    if not visible:
        raise _empty_file(num_bytes)


def pieces_of(cleaned: bytes) -> Iterator[tuple[int, bytes]]:
    """Divide a cleaned file that is in memory into the same pieces as `pieces` does."""
    num_lines = 0
    for piece in _whole_lines(cleaned, PIECE_BYTES):
        yield num_lines, piece
        num_lines += piece.count(b"\n")


def line_blocks(cleaned: bytes) -> Iterator[list[str]]:
    """Yield the lines of a cleaned file in blocks, because all lines together would need many times
    the file's size as text.

    >>> list(line_blocks(b"ab\\n\\nc"))
    [['ab', ''], ['c']]
    """
    for block in _whole_lines(cleaned, BLOCK_BYTES):
        rows = block.decode("utf-8").split("\n")
        if block.endswith(b"\n"):
            rows.pop()
        yield rows


def chunks(content: AnyStr, separator: re.Pattern[AnyStr], size: int) -> Iterator[AnyStr]:
    """Split a long line into parts of `size` characters or bytes, each extended up to and including
    the next separator.

    >>> list(chunks("a,bc,d,e", re.compile(","), 3))
    ['a,bc,', 'd,e']
    """
    start = 0
    while start < len(content):
        match = separator.search(content, start + size)
        end = match.end() if match else len(content)
        yield content[start:end]
        start = end


def _whole_lines(cleaned: bytes, size: int) -> Iterator[bytes]:
    """Split a file into consecutive parts of whole lines.

    A part has at most `size` bytes, unless one line is longer.
    """
    start = 0
    while start < len(cleaned):
        end = (
            cleaned.rfind(b"\n", start, start + size) + 1
            or cleaned.find(b"\n", start + size) + 1
            or len(cleaned)
        )
        yield cleaned[start:end]
        start = end


def _whole_lines_of(reads: Iterable[bytes]) -> Iterator[bytes]:
    unfinished: list[bytes] = []  # parts of a line whose end has not been read
    num_unfinished = 0
    for read in reads:
        # A "\r" at the very end may be the first half of the line end "\r\n", so it does not yet
        # end a line.
        cut = max(read.rfind(b"\n"), read.rfind(b"\r", 0, -1)) + 1
        if cut:
            yield b"".join((*unfinished, read[:cut]))
            unfinished = []
            num_unfinished = 0
        unfinished.append(read[cut:])
        num_unfinished += len(read) - cut
        check_limit(
            "the number of bytes without a line end",
            num_unfinished,
            "file_bytes",
            WHOLE_FILE,
        )
    if num_unfinished:
        yield b"".join(unfinished)


def _with_plain_line_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decode(cleaned: bytes, lines_before: int = 0) -> str:
    try:
        return cleaned.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines_before + cleaned[: error.start].count(b"\n") + 1
        message = (
            f"byte 0x{cleaned[error.start]:02x} is not UTF-8; files must be text, saved as UTF-8 "
            "(in Excel: CSV UTF-8)"
        )
        row = cleaned[cleaned.rfind(b"\n", 0, error.start) + 1 :][:HEAD_BYTES].split(b"\n", 1)[0]
        text = as_windows_1252(row)
        if text:
            message += (
                f"; as Windows-1252 this line reads {quoted(text)}: if that is right, set the "
                "encoding to windows-1252"
            )
        raise FormatError(message, line) from None


def _is_visible(text: str) -> bool:
    return bool(text) and not text.isspace()


def _empty_file(num_bytes: int) -> FormatError:
    return FormatError(
        f"the file is empty: it has {plural(num_bytes, 'byte')} and no visible characters"
    )


# Numbers, and pieces of text quoted in errors


def _check_length(length: int, line: int) -> None:
    """Raise FormatError if a string is too long, and advise what to do with one long sequence."""
    if length > limits.most("string_length"):
        advice = f" ({_how_to_cut()})" if length >= LONG_SEQUENCE else ""
        raise FormatError(
            f"the string length must be at most {limits.most('string_length'):,}; got "
            f"{length:,}{advice}",
            line,
        )


def _how_to_cut() -> str:
    """Advise what to do with one long sequence: cut it into strings that the limit allows."""
    length = min(USUAL_LENGTH, limits.most("string_length"))
    return (
        f"cut one long sequence into windows, for example window = {length}, and learn with the "
        "statistic factor"
    )


WHOLE_AS_FLOAT = re.compile(r"[0-9]+\.0")


def positive_count(text: str, line: int) -> int:
    """Parse a count of strings: a whole number from 1 to the limit on strings. Raises FormatError
    for anything else.

    The text may end in .0, because data frames write whole numbers in this way in a column with
    missing values.
    """
    token = text.strip()
    token = token.removesuffix(".0") if WHOLE_AS_FLOAT.fullmatch(token) else token
    if not INTEGER.fullmatch(token):
        raise FormatError(f"a count must be a whole number; got {quoted(token)}", line)
    # With more digits the number itself no longer matters, and Python refuses to convert very long
    # ones.
    count = int(token) if len(token) <= MAX_DIGITS else (-1 if token[0] == "-" else 10**MAX_DIGITS)
    if count < 1:
        raise FormatError(f"a count must be at least 1; got {quoted(token)}", line)
    check_limit("a count", count, "strings", line)
    return count


def finite(text: str, line: int, at_least: float = -np.inf) -> float:
    """Parse a finite number of at least `at_least`.

    Raises FormatError, with the line, for anything else.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and value >= at_least) or "_" in text:
        bound = f" of at least {at_least:g}" if at_least > -np.inf else ""
        raise FormatError(f"expected a finite number{bound}; got {quoted(text)}", line)
    return value


# PAutomaC and SPiCe: a first line `number_of_strings alphabet_size`, then one line per string,
# `length s₁ s₂ …`, symbols from 0. λ is the line `0`. Source: Verwer, Eyraud, de la Higuera,
# *PAutomaC*, Mach. Learn. 2014, and the files themselves.


@dataclass(frozen=True, eq=False)
class Block:
    """Holds consecutive strings of a PAutomaC file."""

    words: Words  # the strings in the file's order
    num_symbols: int  # the size of the alphabet, as the file's header states it
    # blank lines that were skipped between the file's beginning and the last of these strings
    num_blank: int

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes for the user about the file up to this block; the notes of the last block
        are about the whole file.
        """
        return (
            (f"{plural(self.num_blank, 'blank line')} skipped (λ is written 0 in this format).",)
            if self.num_blank
            else ()
        )


def parse_pautomac(
    pieces: Iterable[tuple[int, bytes]],
    max_strings: int | None = None,
    max_length: int | None = None,
) -> Iterator[Block]:
    """Parse the strings of a PAutomaC or SPiCe file of any size, and yield one block for each piece
    that is not blank.

    >>> [block] = parse_pautomac([(0, b"3 2\\n2 0 1\\n0\\n1 1\\n")])
    >>> list(block.words), block.num_symbols, block.num_blank
    ([(0, 1), (), (1,)], 2, 0)

    `pieces`: the file in the form that the function `pieces` yields. `max_strings`: the largest
    number of strings that the header may promise. `max_length`: the largest length of a string, by
    default the limit on it.

    Raises FormatError if the header or a line is malformed or, after the last block, if the number
    of strings differs from that in the header.
    """
    header: tuple[int, int, int] | None = None
    num_read = 0
    max_length = limits.most("string_length") if max_length is None else max_length
    for lines_before, piece in pieces:
        numbers, widths, lines = _rows_of_numbers(piece, lines_before)
        if not len(lines):
            continue
        if header is None:
            header = _header(numbers, int(widths[0]), int(lines[0]), max_strings)
            numbers = numbers[2:]
            widths = widths[1:]
            lines = lines[1:]
        words = _words_of_rows(numbers, widths, lines, header[1], max_length)
        num_read += len(words)
        if len(words):
            yield Block(words, header[1], int(lines[-1]) - num_read - 1)
    if header is None:
        raise FormatError(
            "the file has no numbers; a file of this format begins with a line of two "
            "numbers, and has at least 1 string"
        )
    num_strings, _, line = header
    if num_read != num_strings:
        raise FormatError(
            f"the header promises {plural(num_strings, 'string')}, but {num_read:,} follow", line
        )
    if not num_strings:
        raise FormatError("the file has no strings; it needs at least one", line)


def begins_as_pautomac(head: bytes) -> bool:
    """Return whether a file with these first bytes has a PAutomaC header, followed by a string that
    begins with its length.
    """
    text = _with_plain_line_ends(head.removeprefix(BYTE_ORDER_MARK)).decode("utf-8", "replace")
    rows = [row for row in text.split("\n")[:-1] if row.strip()]
    return len(rows) > 1 and has_header(rows[0]) and states_its_length(rows[1])


def _header(
    numbers: IntArray, width: int, line: int, max_strings: int | None
) -> tuple[int, int, int]:
    """Check a PAutomaC header, and return its number of strings, the size of the alphabet, and the
    number of its line.
    """
    if width != 2:
        raise FormatError(
            "the header must be number_of_strings and alphabet_size; got "
            f"{plural(width, 'number')}",
            line,
        )
    num_strings = int(numbers[0])
    num_symbols = int(numbers[1])
    if max_strings is not None:
        check_at_most("the number of strings", num_strings, max_strings, line)
    check_limit("the alphabet size", num_symbols, "symbols", line)
    if num_symbols < 1:
        raise FormatError(f"the alphabet size must be at least 1; got {num_symbols}", line)
    return num_strings, num_symbols, line


def _words_of_rows(
    numbers: IntArray, widths: IntArray, lines: IntArray, num_symbols: int, max_length: int
) -> Words:
    """Make words from rows of numbers, each of which holds a string's length, then its symbols.

    `numbers`: the numbers of all rows. `widths` and `lines` (num_strings,): how many numbers each
    row has, and the number of its line. `num_symbols`: the size of the alphabet. `max_length`: the
    largest length of a string.
    """
    # the position of each row's first number, the string's length
    firsts = np.cumsum(widths) - widths
    lengths = widths - 1
    declared = numbers[firsts]
    for row in np.flatnonzero(lengths != declared)[:1]:
        follow = (
            "1 symbol follows"
            if lengths[row] == 1
            else f"{plural(int(lengths[row]), 'symbol')} follow"
        )
        raise FormatError(f"length {declared[row]} is declared, but {follow}", int(lines[row]))
    for row in np.flatnonzero(lengths > max_length)[:1]:
        _check_length(int(lengths[row]), int(lines[row]))
    is_symbol = np.ones(len(numbers), dtype=bool)
    is_symbol[firsts] = False
    words = Words(numbers[is_symbol].astype(np.int64, copy=False), offsets_of(lengths))
    for position in np.flatnonzero(words.symbols >= num_symbols)[:1]:
        line = int(lines[np.searchsorted(words.offsets, position, side="right") - 1])
        allowed = (
            f"the header's alphabet of {plural(num_symbols, 'symbol')} (0 … {num_symbols - 1})"
        )
        raise FormatError(f"symbol {words.symbols[position]} is not in {allowed}", line)
    return words


def _rows_of_numbers(piece: bytes, lines_before: int) -> tuple[IntArray, IntArray, IntArray]:
    """Parse the whole numbers in a piece of a file: the first digit of all tokens together, then
    the second, and so on.

    This is several times as fast as a parser that reads one token after the other.

    Returns `numbers` (num_tokens,). `widths` and `lines` (num_lines,): for each line that is not
    blank, how many numbers it has, and its line number in the file.
    """
    if piece.translate(None, b"0123456789 \t\n\v\f"):
        raise _not_a_number(piece, lines_before)
    parts = [_numbers(chunk) for chunk in chunks(piece, BLANK, 2 * PIECE_BYTES)] or [_numbers(b"")]
    before = np.cumsum([0, *(len(numbers) for numbers, _ in parts)])
    totals = [ends + number for (_, ends), number in zip(parts, before, strict=False)]
    widths = np.diff(np.concatenate((*totals, before[-1:])), prepend=0)
    lines = np.flatnonzero(widths)
    return (
        np.concatenate([numbers for numbers, _ in parts]),
        widths[lines],
        lines + lines_before + 1,
    )


def _numbers(chunk: bytes) -> tuple[IntArray, IntArray]:
    """Parse the whole numbers in a chunk: return them, shape (num_tokens,), and how many of them
    come before each line end.

    The numbers of a chunk that is part of a long line use the smallest integer type, because there
    may be many such chunks.
    """
    characters = np.frombuffer(chunk, dtype=np.uint8)
    visible = np.zeros(len(characters) + 2, dtype=bool)
    np.greater(characters, ord(" "), out=visible[1:-1])
    edges = np.flatnonzero(visible[1:] != visible[:-1])  # where a token starts, or has ended
    starts = edges[::2]
    lengths = edges[1::2] - starts
    numbers = characters[starts].astype(np.int64) - ord("0")
    # a pass for each place of a digit, over all tokens that are long enough
    for place in range(1, min(int(lengths.max(initial=1)), MAX_DIGITS)):
        longer = np.flatnonzero(lengths > place)
        numbers[longer] = 10 * numbers[longer] + characters[starts[longer] + place] - ord("0")
    for token in np.flatnonzero(lengths > MAX_DIGITS).tolist():
        numbers[token] = _number_of(chunk[starts[token] : starts[token] + lengths[token]])
    line_ends = np.searchsorted(starts, np.flatnonzero(characters == ord("\n")))
    is_part_of_long_line = len(chunk) > 2 * PIECE_BYTES
    return smallest(numbers) if is_part_of_long_line else numbers, line_ends


def _number_of(token: bytes) -> int:
    """Parse a whole number. A number that is too large becomes the largest int64, which later
    checks refuse as out of range.
    """
    significant = token.lstrip(b"0")
    return int(significant or b"0") if len(significant) <= MAX_DIGITS else np.iinfo(np.int64).max


def _not_a_number(piece: bytes, lines_before: int) -> FormatError:
    """Make the error for the first token that is not a whole number of at least 0."""
    for line, row in enumerate(piece.decode("utf-8").split("\n"), start=lines_before + 1):
        for token in row.split():
            if re.fullmatch(r"-[0-9]+", token):
                return FormatError(
                    f"lengths and symbols must be whole numbers of at least 0; got {quoted(token)}",
                    line,
                )
            if not re.fullmatch(r"[0-9]+", token):
                return FormatError(f"{quoted(token)} is not a whole number", line)
    return FormatError(
        "numbers must be separated by spaces, tabs or line ends; got other white space"
    )


# Cells: the text of each string, and its line


def line_cells(cleaned: bytes, notes: list[str]) -> Cells:
    """Yield each line as a cell, without blank lines at the end of the file, and append sentences
    about blank lines to `notes`.
    """
    end = _end_of_strings(cleaned)
    num_skipped = cleaned.count(b"\n", end) - cleaned.endswith(b"\n")
    if num_skipped > 0:
        notes.append(f"{plural(num_skipped, 'blank line')} at the end of the file skipped.")
    num_lines = num_blank = 0
    for rows in line_blocks(cleaned[:end] if num_skipped > 0 else cleaned):
        cells = [row.strip() for row in rows]
        num_blank += cells.count("")
        yield cells, range(num_lines + 1, num_lines + 1 + len(cells))
        num_lines += len(cells)
    if num_blank:
        notes.append(f"{plural(num_blank, 'blank line')} read as the empty word λ.")


def _end_of_strings(cleaned: bytes) -> int:
    """Find the position after the last line that is not blank. There must be such a line."""
    end = cleaned.find(b"\n", len(cleaned.rstrip()))
    end = end if end >= 0 else len(cleaned)
    # White space beyond ASCII, such as a no-break space, is looked for one line at a time.
    while not cleaned[(start := cleaned.rfind(b"\n", 0, end) + 1) : end].decode("utf-8").strip():
        end = start - 1
    return end


class CsvCells:
    """Reads the strings of a table: a CSV file with two columns, or with the columns that
    `recognition.table_of` recognised.

    The file is parsed twice. First, `check` reads the second column and determines whether strings
    are split into tokens; `cells` then yields the strings. Keeping all cells in memory between
    the two passes would take many times the file's size.

    `lines`: returns the file's lines, in blocks. `second_column`: the name of the second column in
    a header. `table`: the columns; by default a string and a number, separated by a comma.

    `in_tokens`: whether strings are split into tokens at white space; otherwise each character is a
    symbol.

    Raises FormatError if a row does not have these columns.
    """

    def __init__(
        self, lines: Callable[[], Lines], second_column: str, table: Table | None = None
    ) -> None:
        self._lines = lines
        self._second_column = second_column
        self._first_column = "string"
        self._num_blank = 0
        self._table = table or Table()
        self.in_tokens = False

    def check(
        self,
        alphabet: Alphabet | None,
        notes: list[str],
        read: Callable[[list[str], list[int]], None],
    ) -> Self:
        """Read the second column.

        `read`: called with the second cells of some rows and the line of each; may raise
        FormatError. `notes`: a sentence is appended if there are blank lines.
        """
        tokens = False
        empty = True
        # raised last: wrong columns anywhere in the file are reported first
        error: FormatError | None = None
        for cells, numbers, lines in self.rows():
            empty = False
            tokens = tokens or hold_tokens(cells, alphabet)
            try:
                if error is None:
                    read(numbers, lines)
            except FormatError as raised:
                error = raised
        if empty:
            raise FormatError("the file has no strings; it needs at least one")
        if self._num_blank:
            notes.append(
                f"{plural(self._num_blank, 'blank line')} skipped (λ is an empty first "
                "column in this format)."
            )
        if error:
            raise error
        self.in_tokens = (
            tokens if self._first_column == "string" else self._first_column == "tokens"
        )
        return self

    def cells(self) -> Cells:
        return ((cells, lines) for cells, _, lines in self.rows())

    def rows(self) -> Iterator[tuple[list[str], list[str], list[int]]]:
        """Yield strings without surrounding white space, the cells of the second column, and the
        line of each, in blocks.
        """
        cells = list[str]()
        numbers = list[str]()
        lines = list[int]()
        table = self._table
        is_first = True
        self._num_blank = num_read = num_done = 0  # num_read, num_done: blocks of lines

        def physical_lines() -> Iterator[str]:
            nonlocal num_read
            for rows in self._lines():
                num_read += 1
                for row in rows:
                    if len(row) > 5 * csv.field_size_limit():
                        raise self._too_long(row, reader.line_num + 1)
                    yield row + "\n"

        reader = csv.reader(physical_lines(), strict=True, delimiter=table.delimiter)
        try:
            for row in reader:
                if num_read > num_done + 1 and cells:
                    yield cells, numbers, lines
                    cells = []
                    numbers = []
                    lines = []
                    num_done = num_read - 1
                if len(row) == table.num_columns and not (is_first and self._is_header(row)):
                    numbers.append("1" if table.counts is None else row[table.counts])
                    cells.append(row[table.strings].strip())
                    lines.append(reader.line_num)
                    is_first = False
                elif len(row) == table.num_columns:
                    is_first = False
                    name = row[table.strings].strip().lower()
                    self._first_column = name if name in KNOWN_HEADERS else "string"
                elif len(row) < 2 and not any(cell.strip() for cell in row):
                    self._num_blank += 1
                else:
                    raise self._wrong_columns(len(row), reader.line_num)
        except csv.Error as error:
            raise FormatError(f"not a CSV file: {error}", reader.line_num) from None
        if cells:
            yield cells, numbers, lines

    def _is_header(self, row: list[str]) -> bool:
        return self._table.has_header or (
            not self._table.is_chosen and bool(known_header(row, self._second_column))
        )

    def _wrong_columns(self, num_columns: int, line: int) -> FormatError:
        number = self._table.num_columns
        columns = (
            f"2 columns, string and {self._second_column}" if number == 2 else f"{number} columns"
        )
        separator = (
            ""
            if self._table.delimiter == ","
            else f" separated by {SEPARATOR_SIGNS[self._table.delimiter]}s"
        )
        return FormatError(
            f"expected {columns}{separator}; got {plural(num_columns, 'column')}", line
        )

    def _too_long(self, row: str, line: int) -> FormatError:
        """Make the error for a line that is too long for two cells.

        Its cells, perhaps millions, are counted in chunks.
        """
        try:
            parts = chunks(row, re.compile(self._table.delimiter), BLOCK_BYTES)
            num_columns = 1 + sum(
                len(part) - 1
                for part in csv.reader(parts, strict=True, delimiter=self._table.delimiter)
            )
        except csv.Error as error:
            return FormatError(f"not a CSV file: {error}", line)
        return self._wrong_columns(num_columns, line)


class _Counted:
    """Reads strings and their counts. As in `CsvCells`, and for the same reason, the file is parsed
    twice.

    `lines`: returns the file's lines, in blocks.

    `in_tokens`: whether strings are split into tokens at white space; otherwise each character is a
    symbol.
    """

    def __init__(self, lines: Callable[[], Lines]) -> None:
        self._lines = lines
        self.in_tokens = False

    def check(
        self,
        alphabet: Alphabet | None,
        notes: list[str],
        read: Callable[[list[str], list[int]], None],
    ) -> Self:
        """Read the counts, as `CsvCells.check` does."""
        for cells, counts, lines in self.rows():
            self.in_tokens = self.in_tokens or hold_tokens(cells, alphabet)
            read(counts, lines)
        return self

    def cells(self) -> Cells:
        return ((cells, lines) for cells, _, lines in self.rows())

    def rows(self) -> CountedCells:
        """Yield strings and counts as text, and the line of each, in blocks."""
        raise NotImplementedError


class JsonCells(_Counted):
    """Reads the strings of lines of JSON.

    `layout`: where a line holds the string and its count.

    Raises FormatError if a line is not JSON of this layout.
    """

    def __init__(self, lines: Callable[[], Lines], layout: JsonLines) -> None:
        super().__init__(lines)
        self._layout = layout

    def rows(self) -> CountedCells:
        """Yield strings and counts as text, and the line of each, in blocks; note whether a string
        is a list of symbols.
        """
        first = 1
        for rows in self._lines():
            lines = [line for line, row in enumerate(rows, start=first) if row.strip()]
            values = [self._layout.cell(rows[line - first], line) for line in lines]
            if values:
                cells, counts, are_lists = (list(column) for column in zip(*values, strict=True))
                self.in_tokens = self.in_tokens or any(are_lists)
                yield cells, counts, lines
            first += len(rows)


class CountedLines(_Counted):
    """Reads the strings of `uniq -c`. Raises FormatError if a line does not begin with a count."""

    def rows(self) -> CountedCells:
        return uniq_cells(self._lines())


# From cells to words


class _SymbolNumbers(dict[str, int]):
    """Numbers symbols in order of appearance, after those of an alphabet.

    Symbols beyond the limit are only counted.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        super().__init__((symbol, number) for number, symbol in enumerate(symbols))
        self._most = limits.most("symbols")
        self.dtype = np.min_scalar_type(max(self._most, len(symbols)))
        self._surplus = array("q")
        self._room = BLOCK_BYTES

    def __missing__(self, symbol: str) -> int:
        if len(self) < self._most:
            return self.setdefault(symbol, len(self))
        # Only the hash of the symbol is stored: the error will say how many symbols there are, but
        # not which.
        self._surplus.append(hash(symbol))
        if len(self._surplus) > self._room:
            self._surplus = array("q", np.unique(self._surplus).tobytes())
            self._room = 2 * len(self._surplus) + BLOCK_BYTES
        return 0

    @property
    def num_symbols(self) -> int:
        return len(self) + len(np.unique(self._surplus))


def encode_cells(
    blocks: Cells,
    tokens: bool,
    alphabet: Alphabet | None,
    most: int | None = None,
    extend: bool = True,
) -> tuple[list[Words], Alphabet]:
    """Convert blocks of cells to words. Return packed words for each block, and their alphabet:
    `alphabet`, then new symbols.

    `most`: the largest length of a string, by default the limit on it.

    Raises FormatError if a string is too long, if there are no symbols or too many, or if there are
    new symbols and `extend` is false.
    """
    first_symbols = alphabet.symbols if alphabet else ()
    numbers = _SymbolNumbers(first_symbols)
    parts = list[Words]()
    longest = line = 0
    most = limits.most("string_length") if most is None else most
    for cells, lines in blocks:
        # alone on a line, the symbol for the unknown is not a sequence of letters
        whole = alphabet.unknown if alphabet else None
        part, lengths = _encode_block(cells, tokens, numbers, most, whole)
        if alphabet and not extend:
            _check_declared(part, lines, alphabet, numbers)
        parts.append(part)
        if lengths.max() > longest:
            longest = int(lengths.max())
            line = lines[int(lengths.argmax())]
        del cells, lengths
    if longest > most:
        _check_length(longest, line)
    check_limit("the number of different symbols", numbers.num_symbols, "symbols", WHOLE_FILE)
    if not numbers:
        raise FormatError(
            "every string is empty: at least one symbol is needed to make an alphabet"
        )
    new_symbols = in_order(list(numbers)[len(first_symbols) :])
    full = alphabet.extended(new_symbols) if alphabet else Alphabet(tuple(new_symbols))
    sorted_number = np.empty(len(full), dtype=np.int64)
    sorted_number[[numbers[symbol] for symbol in full.symbols]] = np.arange(len(full))
    sorted_number = smallest(sorted_number)
    for index, part in enumerate(parts):
        parts[index] = Words(sorted_number[part.symbols], part.offsets)
    return parts, full


def _check_declared(
    part: Words, lines: Sequence[int], alphabet: Alphabet, numbers: _SymbolNumbers
) -> None:
    """Raise FormatError if a word has a symbol that is not in a declared alphabet."""
    for position in np.flatnonzero(part.symbols >= len(alphabet))[:1]:
        row = int(np.searchsorted(part.offsets, position, side="right")) - 1
        raise not_declared(list(numbers)[part.symbols[position]], alphabet, lines[row])


def not_declared(symbol: str, alphabet: Alphabet, line: int | None = None) -> FormatError:
    """Make the error for a training string with a symbol that is not in a declared alphabet."""
    return FormatError(
        f"symbol {quoted(symbol)} is not in the declared alphabet of {alphabet.summary}", line
    )


def _encode_block(
    cells: list[str], tokens: bool, numbers: _SymbolNumbers, most: int, whole: str | None
) -> tuple[Words, IntArray]:
    """Convert cells to packed words. A cell that is `whole` is a single symbol.

    Return the words (none if one has more symbols than `most`), and the length of each.
    """
    rows: list[Iterable[str]] = []
    lengths = np.empty(len(cells), dtype=np.int64)
    for place, cell in enumerate(cells):
        if tokens and len(cell) > BLOCK_BYTES:
            # a list of a long sequence's tokens may need twenty times its size
            parts = chunks(cell, SPACE, BLOCK_BYTES)
            row: Iterable[str] = chain.from_iterable(map(str.split, parts))
            lengths[place] = num_tokens(cell)
        else:
            row = symbols_of(cell, tokens or cell == whole)
            lengths[place] = len(row)
        rows.append(row)
    if lengths.max() > most:
        return Words.of([]), lengths
    symbols = np.fromiter(
        map(numbers.__getitem__, chain.from_iterable(rows)),
        dtype=numbers.dtype,
        count=int(lengths.sum()),
    )
    return Words(symbols, offsets_of(lengths)).packed(), lengths


def symbols_of(cell: str, tokens: bool) -> Sequence[str]:
    """Split a cell into symbols: at white space if `tokens`, otherwise into characters."""
    if cell in ("", LAMBDA):
        return ()
    return cell.split() if tokens else cell


# From long sequences to windows


def windows_of(parts: Sequence[Words], length: int) -> tuple[list[Words], str]:
    """Cut words into consecutive windows of one length. A shorter remainder at the end of a word is
    left out.

    If every line is one symbol, all lines together are one sequence.

    >>> [windows], note = windows_of([Words.of([(0, 1, 2, 3, 4), (5, 6, 7)])], 2)
    >>> list(windows), note
    ([(0, 1), (2, 3), (5, 6)], 'Cut into 3 windows of 2 symbols; 2 symbols fill no window.')

    Returns the windows, and a sentence for the user.

    Raises FormatError if every word is shorter than a window, or there are too many windows.
    """
    sentence = "Cut into"
    if _are_symbols(parts):
        symbols = np.concatenate([part.symbols for part in parts])
        parts = [Words(symbols, np.array([0, len(symbols)]))]
        sentence = "One sequence, with one symbol per line, cut into"
    cut = list[Words]()
    num_windows = 0
    num_symbols = 0
    for part in parts:
        number = part.lengths // length  # of windows, (num_words,)
        pieces = [
            part.symbols[start:end]
            for start, end in zip(
                part.offsets[:-1].tolist(),
                (part.offsets[:-1] + number * length).tolist(),
                strict=True,
            )
        ]
        total = int(number.sum())
        offsets = length * np.arange(total + 1, dtype=np.int64)
        cut.append(Words(np.concatenate(pieces), offsets).packed())
        num_windows += total
        num_symbols += len(part.symbols)
    if not num_windows:
        longest = max(int(part.lengths.max(initial=0)) for part in parts)
        raise FormatError(
            f"a window must be at most as long as the longest string, {plural(longest, 'symbol')}; "
            f"got {length:,}"
        )
    check_limit("the number of windows", num_windows, "strings", WHOLE_FILE)
    left = num_symbols - num_windows * length
    fills = "fills" if left == 1 else "fill"
    rest = f"; {plural(left, 'symbol')} {fills} no window" if left else ""
    return cut, f"{sentence} {plural(num_windows, 'window')} of {plural(length, 'symbol')}{rest}."


def _are_symbols(parts: Sequence[Words]) -> bool:
    """Return whether a file has many strings, all of one symbol."""
    return sum(map(len, parts)) >= MANY_LINES and all((part.lengths == 1).all() for part in parts)


# Whole files


@dataclass(frozen=True, eq=False)
class StringFile:
    """Holds the strings of a file, in the file's order and with repetitions.

    Attributes
    ----------
    parts : sequence of Words
        The strings, packed into the smallest integer types, because one `Words` in int64 may need
        eight times the file's size.
    weights : array or None, shape (num_words,)
        How often each string was seen, in the smallest integer type; None if each counts once.
    alphabet : Alphabet
    format : str
        One of FORMATS, never "auto".
    notes : tuple of str
        Sentences for the user, for example about blank lines.
    detail : str
        The columns or fields in which the strings and counts were found, as the end of a sentence;
        empty for other formats.
    """

    parts: Sequence[Words]
    weights: IntArray | None
    alphabet: Alphabet
    format: str
    notes: tuple[str, ...] = ()
    detail: str = ""

    @property
    def words(self) -> Words:
        """Join the words of all parts, anew at each call."""
        return replace(Words.joined(self.parts), alphabet=self.alphabet)

    @property
    def names(self) -> Alphabet | None:
        """Return the names of the symbols in files that belong to this one, such as targets; None
        if they are numbers.
        """
        return None if self.format == "pautomac" else self.alphabet

    @property
    def reading(self) -> str:
        """Describe how the file was read, in the words of `read_as`."""
        seen = np.zeros(len(self.alphabet), dtype=bool)
        for part in self.parts:
            seen[part.symbols] = True
        symbols = [
            symbol
            for symbol, is_own in zip(self.alphabet.symbols, seen.tolist(), strict=True)
            if is_own
        ]
        if self.format == "pautomac" and self.alphabet.unknown is None:
            symbols = list(self.alphabet.symbols)
        return read_as(self.format, symbols, self.detail)

    @property
    def counts(self) -> IntArray:
        """Return how often each string was seen, shape (num_words,): all 1, except in a CSV file or
        lines of JSON.
        """
        return (
            np.ones(sum(map(len, self.parts)), dtype=np.int64)
            if self.weights is None
            else self.weights.astype(np.int64)
        )

    def sample(self) -> Sample:
        """Make a sample: the distinct words, with the counts of equal words added up."""
        packed = self.packed_sample()
        words = Words.joined([packed.words])
        counts = packed.counts
        del packed  # frees its memory before the counts are copied
        return Sample(words, counts.astype(np.int64), self.alphabet)

    def packed_sample(self) -> Sample:
        """Make the same sample in the smallest integer types, which suffice for splitting it; the
        parts of a split are in int64.
        """
        return Sample.merged(self.parts, self.alphabet, self.weights)


# how many symbols `read_as` lists, and the length to which it shortens them
SYMBOLS_NAMED = 12
SYMBOL_LENGTH = 20


def read_as(format: str, symbols: Sequence[str], detail: str = "") -> str:
    """Describe how a file of strings was read: its format, its symbols and, for a table or JSON,
    its columns or fields.

    >>> read_as("tokens", ["a", "big", "cat"])
    'read as tokens: 3 symbols: a big cat'
    """
    names = (
        symbol if len(symbol) <= SYMBOL_LENGTH else f"{symbol[: SYMBOL_LENGTH - 1]}…"
        for symbol in symbols[:SYMBOLS_NAMED]
    )
    more = " …" if len(symbols) > SYMBOLS_NAMED else ""
    return (
        f"read as {format}: {plural(len(symbols), 'symbol')}: "
        f"{' '.join(names)}{more}{detail and f'; {detail}'}"
    )


@check_types
def read_strings(
    data: bytes | Path,
    format: str | Reading = "auto",
    alphabet: Alphabet | None = None,
    extend: bool = True,
) -> StringFile:
    """Read the strings of a file.

    >>> read = read_strings(b"abba\\nab\\n")
    >>> read.format, read.alphabet.symbols, list(read.words)
    ('characters', ('a', 'b'), [(0, 1, 1, 0), (0, 1)])

    Parameters
    ----------
    data : bytes or Path
        The file's bytes, with or without a byte order mark, and with any line endings; or its path.
    format : str or Reading
        One of FORMATS; "auto" recognises it from the file. A `Reading` also gives the encoding, the
        separator and the columns.
    alphabet : Alphabet, optional
        The training strings' alphabet: its symbols keep their numbers, and new symbols are numbered
        after them, even if the alphabet has a symbol for the unknown. `Sample.in_alphabet` then
        reads new symbols as that symbol.
    extend : bool
        Whether strings may have symbols that are not in `alphabet` if it has no symbol for the
        unknown.

    Raises
    ------
    FormatError
        If the file can't be read, or a string has a symbol that is not allowed. The error names the
        line that is wrong, if there is one.
    RecipeError
        If the format is unknown, or there is no such file.
    """
    reading = Reading(format) if isinstance(format, str) else format
    extend = extend or bool(alphabet and alphabet.unknown)
    cleaned = clean(in_utf8(bytes_of(data), reading.encoding))
    rows = first_rows(cleaned)
    layout = layout_of(reading, rows, alphabet, lambda: _visible_rows(cleaned))
    most = limits.most("file_bytes") if reading.window else None
    if layout.format == "pautomac":
        file = _read_pautomac(cleaned, alphabet, most, extend)
        if reading.window:
            windows, note = windows_of(file.parts, reading.window)
            file = replace(file, parts=windows, notes=(*file.notes, note, WINDOW_ENDS))
        return file
    notes: list[str] = []
    counts = _CountColumn()
    table = counted_table(layout, lambda: line_blocks(cleaned))
    if table:
        tokens = table.check(alphabet, notes, counts.read).in_tokens
        cells = table.cells()
    elif layout.format in ("tokens", "characters"):
        tokens = layout.format == "tokens"
        cells = separated(line_cells(cleaned, notes), layout)
    else:
        tokens = layout.format not in ("fasta", "fastq")
        pieces = (piece for _, piece in pieces_of(cleaned))
        cells = other_cells(layout, pieces, notes)
    first = alphabet
    if layout.format == "abbadingo" and alphabet is None:
        first = _numbered_by_header(rows)
    parts, full = encode_cells(cells, tokens, first, most, extend)
    weights = np.concatenate(counts.blocks) if counts.blocks else None
    if layout.format in ("tokens", "characters"):
        notes += [*title_notes(rows), *line_notes(rows)]
    if isinstance(layout.columns, Table) and layout.columns.note:
        notes.append(layout.columns.note)
    if layout.format in ("fasta", "fastq"):
        notes += _case_notes(full.symbols)
    notes += empty_word_notes(parts, full, tokens)
    notes += symbol_notes(full.symbols[len(alphabet or ()) :] if alphabet else full.symbols)
    if reading.window:
        if weights is not None and weights.max() > 1:
            raise FormatError(
                "a file that is cut into windows must count each string once; got a count of "
                f"{weights.max():,}"
            )
        weights = None
        parts, note = windows_of(parts, reading.window)
        notes += [note, WINDOW_ENDS]
    else:
        notes += _sequence_notes(parts)
    notes += new_symbol_notes(alphabet, full.symbols[len(alphabet or ()) :])
    return StringFile(parts, weights, full, layout.format, tuple(notes), layout.detail)


def in_utf8(data: bytes, encoding: str) -> bytes:
    """Write a file in another encoding as UTF-8.

    Raises FormatError if it is a binary file, or has bytes that are not characters in this
    encoding.
    """
    if encoding == "utf-8":
        return data
    check_text(data[:HEAD_BYTES], encoding)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"byte 0x{data[error.start]:02x} is not a character in {encoding}", line
        ) from None
    return text.encode()


def _numbered_by_header(rows: list[str]) -> Alphabet | None:
    """Return the alphabet of an Abbadingo file's header, if symbols are numbers below its size."""
    if not ABBADINGO_HEADER.fullmatch(rows[0].strip()) or is_labelled(rows[0]):
        return None
    size = rows[0].split()[1].partition(":")[0]
    if len(size) > MAX_DIGITS or int(size) > limits.most("symbols"):
        return None
    symbols = {symbol.partition("/")[0] for row in rows[1:] for symbol in row.split()[2:]}
    allowed = set(map(str, range(int(size))))
    return Alphabet.numbered(int(size)) if symbols and symbols <= allowed else None


def _case_notes(symbols: Sequence[str]) -> list[str]:
    """Make a note if a sequence has letters in both cases, which are different symbols."""
    both = [symbol for symbol in symbols if symbol.islower() and symbol.upper() in symbols]
    if not both:
        return []
    pairs = listed([f"{symbol.upper()} and {symbol}" for symbol in both], most=4)
    return [f"Letters in both cases are different symbols: {pairs}."]


def counted_table(
    layout: Layout, lines: Callable[[], Lines]
) -> CsvCells | JsonCells | CountedLines | None:
    """Return the reader of a file that has counts; None for other formats.

    `lines`: returns the file's lines, in blocks.
    """
    columns = layout.columns
    if isinstance(columns, Table):
        return CsvCells(lines, "count", columns)
    if isinstance(columns, JsonLines):
        return JsonCells(lines, columns)
    return CountedLines(lines) if layout.format == "uniq" else None


def other_cells(layout: Layout, pieces: Iterable[bytes], notes: list[str]) -> Cells:
    """Yield the cells of a file from another field.

    `pieces`: the cleaned file, in pieces of whole lines.
    """
    if layout.format == "xes":
        return xes_cells(pieces, layout.reading.event_column, notes)
    lines = (rows for piece in pieces for rows in line_blocks(piece))
    if isinstance(layout.columns, EventTable):
        return event_cells(lines, layout.columns, notes)
    if isinstance(layout.columns, ConllColumns):
        return conll_cells(lines, layout.columns, notes)
    if layout.format == "abbadingo":
        return abbadingo_cells(lines, layout.reading.label, notes)
    readers = {"fasta": fasta_cells, "fastq": fastq_cells, "spmf": spmf_cells}
    return readers[layout.format](lines, notes)


def separated(cells: Cells, layout: Layout) -> Cells:
    """Replace the separators between symbols by spaces. Separators at the end of a line are
    ignored.

    Raises FormatError if a symbol is empty or has white space inside.
    """
    sign = SEPARATORS.get(layout.reading.separator) if layout.format == "tokens" else None
    if sign is None:
        yield from cells
        return
    for texts, lines in cells:
        rows = [
            [symbol.strip() for symbol in text.rstrip(sign).split(sign)] if text else []
            for text in texts
        ]
        for row, line in zip(rows, lines, strict=True):
            for symbol in row:
                if (not symbol and row != [""]) or len(symbol.split(maxsplit=1)) > 1:
                    raise FormatError(
                        "a symbol must be text without white space; got "
                        f"{quoted(symbol)} between {layout.reading.separator}s",
                        line,
                    )
        yield [" ".join(row) for row in rows], lines


def _sequence_notes(parts: Sequence[Words]) -> list[str]:
    """Make a note if a file may be one long sequence, on one line or with one symbol per line."""
    num_symbols = sum(len(part.symbols) for part in parts)
    if sum(map(len, parts)) == 1 and num_symbols >= LONG_SEQUENCE:
        return [f"The file has one string, of {plural(num_symbols, 'symbol')}: {_how_to_cut()}."]
    if _are_symbols(parts):
        return [
            f"Every line is a string of one symbol. If the file is one sequence: {_how_to_cut()}."
        ]
    return []


@dataclass(frozen=True)
class Layout:
    """Holds how a file is read: what a user has chosen, and what was recognised.

    Attributes
    ----------
    format : str
        One of FORMATS, never "auto".
    reading : Reading
        What a user has chosen.
    columns : Table, JsonLines, EventTable, ConllColumns or None
        The position of the string in a line, for formats with columns or fields.
    """

    format: str
    reading: Reading
    columns: Table | JsonLines | EventTable | ConllColumns | None = None

    @property
    def detail(self) -> str:
        """Describe the columns, as the end of a sentence."""
        if self.format == "xes":
            chosen = self.reading.event_column
            return f"symbols in the attribute {chosen or CONCEPT_NAME} of events" + (
                "" if chosen else "; event_column chooses another"
            )
        if self.format == "tokens" and self.reading.separator != "auto":
            return f"with {self.reading.separator}s between them"
        return self.columns.detail if self.columns else ""


def layout_of(
    reading: Reading,
    rows: list[str],
    alphabet: Alphabet | None,
    visible_rows: Callable[[], Iterable[str]],
) -> Layout:
    """Find how a file is read. docs/files.md states the rules, in this order.

    `rows`: the first lines that are not blank. `visible_rows`: returns all of these.

    Raises FormatError if the file is recognised as a kind that has no strings to read.
    """
    if reading.format in ("auto", "pautomac"):
        check_kind(rows, STRINGS)
    all_rows = len(rows) < MOST_ROWS
    format = reading.format
    if format == "auto":
        format = format_of_other_file(rows)
        if not format and (events := event_table_of(rows, all_rows, reading)):
            return Layout("events", reading, events)
        if not format:
            format, columns = _guess_format(visible_rows, rows, alphabet)
            return Layout(format, reading, columns)
    match format:
        case "csv":
            chosen = {
                name for name in reading.changes() if name in ("separator", "header", *COLUMNS)
            }
            table = (
                chosen_table_of(rows, all_rows, reading)
                if chosen
                else table_of(rows, all_rows, certain=True) or Table()
            )
            return Layout(format, reading, table)
        case "json":
            return Layout(format, reading, _json_layout(rows, all_rows, reading))
        case "events":
            return Layout(format, reading, event_table_of(rows, all_rows, reading))
        case "conll":
            return Layout(format, reading, conll_columns_of(rows, reading))
    return Layout(format, reading)


def _json_layout(rows: list[str], all_rows: bool, reading: Reading) -> JsonLines:
    """Return the fields of JSON lines: those that were chosen, and others by recognition."""
    if reading.text_column:
        counted = (
            f", counts in {reading.count_column!r}"
            if reading.count_column
            else ", each line counts once"
        )
        return JsonLines(
            reading.text_column,
            reading.count_column,
            f"strings in the field {reading.text_column!r}{counted}",
        )
    # The format is requested, so a file of a single JSON list is one string.
    lines = json_lines_of(rows, all_rows and len(rows) > 1) or JsonLines()
    if not reading.count_column:
        return lines
    if not lines.strings:
        raise FormatError("count_column needs lines of JSON objects")
    return replace(
        lines,
        counts=reading.count_column,
        detail=f"strings in the field {lines.strings!r}, counts in {reading.count_column!r}",
    )


def _guess_format(
    visible_rows: Callable[[], Iterable[str]], rows: list[str], alphabet: Alphabet | None
) -> tuple[str, Table | JsonLines | None]:
    """Guess the format of a file that is not from another field, and where a row holds its string
    and count if it is a table or JSON.
    """
    all_rows = len(rows) < MOST_ROWS
    if has_header(rows[0]):
        promised = rows[0].split()[0]
        if (
            len(rows) == 1
            or states_its_length(rows[1])
            or promised == str(sum(1 for _ in visible_rows()) - 1)
        ):
            return "pautomac", None
    # If the alphabet has brackets or quotation marks as symbols, lines of them are strings, not
    # JSON.
    if not set('[{"').intersection(alphabet.symbols if alphabet else ()):
        lines = json_lines_of(rows, all_rows)
        if lines:
            return "json", lines
    table = table_of(rows, all_rows)
    if table:
        return "csv", table
    return "tokens" if hold_tokens(visible_rows(), alphabet) else "characters", None


def first_rows(cleaned: bytes) -> list[str]:
    """Return the first lines of a cleaned file that are not blank, as many as `recognition`
    needs.
    """
    return list(islice(_visible_rows(cleaned), MOST_ROWS))


def _visible_rows(cleaned: bytes) -> Iterator[str]:
    """Yield the lines that are not blank."""
    return (row for rows in line_blocks(cleaned) for row in rows if row.strip())


def _read_pautomac(
    cleaned: bytes, alphabet: Alphabet | None, most: int | None, extend: bool
) -> StringFile:
    num_symbols = len(alphabet or ())
    parts = list[Words]()
    new_symbols = set[int]()
    for block in parse_pautomac(pieces_of(cleaned), limits.most("strings"), most):
        parts.append(block.words.packed())
        if alphabet:
            new_symbols.update(
                np.unique(block.words.symbols[block.words.symbols >= num_symbols]).tolist()
            )
    own = Alphabet.numbered(block.num_symbols)
    if alphabet and (alphabet.unknown is not None or not extend):
        # not all numbers need be in such an alphabet, so they do not stand for its symbols in order
        parts, full = _by_name(parts, own, alphabet, extend)
        return StringFile(
            parts,
            None,
            full,
            "pautomac",
            (*block.notes, *new_symbol_notes(alphabet, full.symbols[num_symbols:])),
        )
    full = alphabet if alphabet and num_symbols >= block.num_symbols else own
    notes = (
        *block.notes,
        *new_symbol_notes(alphabet, [full.symbols[symbol] for symbol in sorted(new_symbols)]),
    )
    return StringFile(parts, None, full, "pautomac", notes)


def over_declared(sample: Sample, alphabet: Alphabet) -> Sample:
    """Renumber a sample whose symbols are numbers by a declared alphabet. Numbers that are not in
    the alphabet are appended to it if it has a symbol for the unknown.

    Raises FormatError if the alphabet lacks a number and has no symbol for the unknown, or if one
    of its symbols is not a number.
    """
    parts, full = _by_name([sample.words], sample.alphabet, alphabet, alphabet.unknown is not None)
    return Sample(replace(parts[0], alphabet=full), sample.counts, full, sample.num_dropped)


def _by_name(
    parts: Sequence[Words], own: Alphabet, alphabet: Alphabet, extend: bool
) -> tuple[list[Words], Alphabet]:
    """Renumber words by name: the symbols of `own`, which are numbers, become those of the same
    name in `alphabet`. Numbers that it lacks are appended if `extend` is true.

    Returns the words, and the alphabet with what was appended.

    Raises FormatError if the other alphabet lacks a number and `extend` is false, or if one of its
    symbols is not a number.
    """
    check_numbers(alphabet)
    used = np.unique(np.concatenate([np.unique(part.symbols) for part in parts])).tolist()
    names = [own.symbols[symbol] for symbol in used]
    lacking = [name for name in names if name not in alphabet.numbers]
    if lacking and not extend:
        raise not_declared(lacking[0], alphabet)
    full = alphabet.extended(lacking)
    renumbered = []
    for part in parts:
        words = replace(part, alphabet=own).in_alphabet(full)
        renumbered.append(replace(words, alphabet=None).packed())  # words of a file carry none
    return renumbered, full


def check_numbers(alphabet: Alphabet) -> None:
    """Raise FormatError if an alphabet has a symbol, other than the symbol for the unknown, that is
    not a number.
    """
    for symbol in alphabet.symbols:
        if symbol != alphabet.unknown and not NUMBER.fullmatch(symbol):
            raise FormatError(
                "the symbols of a PAutomaC or SPiCe file are numbers; the alphabet has "
                f"{alphabet.summary}"
            )


def new_symbol_notes(alphabet: Alphabet | None, new_symbols: Sequence[str]) -> list[str]:
    """Make a note that lists the symbols of a file that the training strings do not have. It is
    empty if there are none, or if all are read as the symbol for the unknown, which the caller
    reports.
    """
    if alphabet is None or alphabet.unknown is not None or not new_symbols:
        return []
    return [
        f"{plural(len(new_symbols), 'symbol')} never seen in training: "
        f"{listed([quoted(symbol) for symbol in new_symbols])}."
    ]


class _CountColumn:
    """Collects a column of counts, block by block."""

    def __init__(self) -> None:
        self.blocks: list[IntArray] = []
        self._total = 0

    def read(self, texts: list[str], lines: list[int]) -> None:
        counts = np.empty(len(texts), dtype=np.int64)
        for row, (text, line) in enumerate(zip(texts, lines, strict=True)):
            counts[row] = count = positive_count(text, line)
            self._total += count
            check_limit("the sum of the counts", self._total, "strings", line)
        self.blocks.append(smallest(counts))


def shipped_verbs() -> StringFile:
    """Read the English verb forms of `assets/verbs.txt`, character by character.

    Raises RecipeError if the file is missing because the library was installed without its assets.
    """
    if not VERBS.is_file():
        raise RecipeError(f"the list of verbs is missing: {VERBS} is not a file")
    return read_strings(VERBS.read_bytes(), "characters")
