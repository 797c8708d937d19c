"""Recognise what a file contains from its first bytes and lines, so no file is silently read
as something else.

`check_text` refuses bytes that are not UTF-8 text, and says what they are. `check_kind` refuses a
file of an unexpected kind, such as a solution in place of strings. `Table` holds the columns of a
table that have the strings and the counts. `JsonLines` does so for fields of JSON objects,
`EventTable` and `ConllColumns` for columns of a log or of annotated text. Columns that a `Reading`
names are used as given; others are recognised. Only the first lines are used; a later line that
contradicts them causes an error with the line's number. docs/files.md states the rules for users.

A file of characters or tokens must not be taken for a table or JSON by chance. So one line is never
enough: a table must have the same number of columns in every line and numbers in one column, and
JSON must be valid in every line.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ..errors import FormatError, enumeration, listed, plural
from ..strings.words import LAMBDA
from .reading import AUTO, COLUMNS, SEPARATOR_SIGNS, SEPARATORS, YES, Reading

MOST_ROWS = 21  # lines that are examined, blank ones not counted: a header and twenty others
LONGEST_HEAD = 2**13  # characters of a line that are split into tokens, to see where its commas are
LONGEST_ROW = 2**16  # characters; a file with longer lines is not recognised as a table
# characters in a line of JSON: once parsed, a line takes up to twenty times its size
LONGEST_JSON = 2**17

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]+)?")
TOKEN = re.compile(r"\S+")
DECIMAL = re.compile(r"[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|0|1")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


# Bytes that are not text


def check_text(head: bytes, encoding: str = "utf-8") -> None:
    """Raise FormatError if a file's first bytes show that it is a common binary file, or text in an
    unexpected encoding with two or four bytes for each character.
    """
    text = f"text saved as {encoding.upper() if encoding == 'utf-8' else encoding}"
    found = _encoding(head)
    if found and encoding != "utf-16":
        advice = ", or set the encoding to utf-16" if found == "UTF-16" else ""
        raise FormatError(
            f"the file must be {text} (in Excel: CSV UTF-8); got {found} text{advice}"
        )
    for beginning, title in MAGIC.items():
        if head.startswith(beginning):
            raise FormatError(f"the file must be {text}; got {title}")
    if head[8:9] == b"{" and head[4:8] == bytes(4):
        raise FormatError(f"the file must be {text}; got a safetensors file (a model's arrays)")


MAGIC = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\x1f\x8b": "a compressed file (gzip)",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook or Word document",
    b"\x93NUMPY": "a numpy array (.npy)",
    b"\x80\x04\x95": "a Python pickle",
    b"\x80\x05\x95": "a Python pickle",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"\x89HDF": "an HDF5 file",
    b"PAR1\x15": "a Parquet file",
    b"ARROW1\x00": "an Arrow file",
    b"SQLite format 3\x00": "an SQLite database",
    b"MThd\x00": "a MIDI file",
    b"BZh91AY": "a compressed file (bzip2)",
    b"\xfd7zXZ": "a compressed file (xz)",
    b"7z\xbc\xaf": "a compressed file (7-Zip)",
    b"\x28\xb5\x2f\xfd": "a compressed file (Zstandard)",
    b"\xd6\xfd\xb2\x7e": "a binary file of OpenFst: print it with fstprint --acceptor",
}


def _encoding(head: bytes) -> str:
    """Recognise an encoding with two or four bytes for each character, and return its name; empty
    for other encodings.
    """
    marks = {
        b"\xff\xfe\0\0": "UTF-32",
        b"\0\0\xfe\xff": "UTF-32",
        b"\xff\xfe": "UTF-16",
        b"\xfe\xff": "UTF-16",
    }
    for mark, name in marks.items():
        if head.startswith(mark):
            return name
    # Without a byte order mark, UTF-16 is recognised by Latin letters: every second byte is 0.
    pairs = head[:400][: len(head[:400]) // 2 * 2]
    zeros = pairs[::2].count(0), pairs[1::2].count(0)
    return "UTF-16" if min(zeros) == 0 and 2 * max(zeros) > len(pairs) // 2 > 1 else ""


# Kinds of files

STRINGS = "a PAutomaC file of strings"
SOLUTION = "a PAutomaC solution"
MODEL = "a PAutomaC model"
VALUES = "a table of strings and values"
TARGET = "a SPiCe target file (the next symbols of prefixes)"
SAVED_MODEL = "the model.json of a model that nlwfa wrote"
# a model.json begins with the first, and has the others
SAVED_MODEL_FIELDS = ('{"format":', '"symbols":', '"kind":')


def check_kind(rows: Sequence[str], wanted: str) -> None:
    """Raise FormatError if a file is recognised as a different kind of file than expected.

    >>> check_kind(["2", "0.5", "0.25"], wanted=STRINGS)
    Traceback (most recent call last):
    nlwfa_core.errors.FormatError: this must be a file of strings; got a PAutomaC solution

    `rows`: the first lines that are not blank. `wanted`: the expected kind: STRINGS (a file of
    strings in any format), SOLUTION or MODEL.
    """
    kind = kind_of(rows)
    if kind not in ("", wanted):
        raise FormatError(
            f"this must be {'a file of strings' if wanted == STRINGS else wanted}; got {kind}"
        )


def kind_of(rows: Sequence[str]) -> str:
    """Name the kind of a PAutomaC or SPiCe file or saved model by its first lines that are not
    blank; empty for other files.
    """
    first, second = (*rows[:2], "", "")[:2]
    if first.startswith(SAVED_MODEL_FIELDS[0]) and all(
        name in first for name in SAVED_MODEL_FIELDS
    ):
        return SAVED_MODEL
    if SECTION.fullmatch(first.strip()) and ("(state" in first or ENTRY.fullmatch(second.strip())):
        return MODEL
    if second and has_header(first) and states_its_length(second):
        return STRINGS
    if (
        second
        and re.fullmatch("[0-9]+", first.strip())
        and all(DECIMAL.fullmatch(row.strip()) for row in rows[1:])
    ):
        # A file of strings that are single digits must not be taken for a solution.
        return SOLUTION if any("." in row or "e" in row.lower() for row in rows[1:]) else ""
    return (
        TARGET
        if rows and all(len(row) < LONGEST_ROW and _is_target(row.split()) for row in rows)
        else ""
    )


SECTION = re.compile(r"[IFST]\s*:.*")
ENTRY = re.compile(r"\(\s*[0-9]+(?:\s*,\s*[0-9]+)*\s*\)\s+\S+")


def _is_target(tokens: list[str]) -> bool:
    """Return whether a line has the form of a target: a score, then pairs of a symbol and its
    probability.
    """
    pairs = len(tokens) >= 3 and len(tokens) % 2 == 1
    return (
        pairs
        and all(DECIMAL.fullmatch(token) and not token.isdigit() for token in tokens[::2])
        and all(re.fullmatch("-1|[0-9]+", token) for token in tokens[1::2])
    )


def reading_of(name: str, reading: str) -> str:
    """Describe how a file was read: its name, then `reading`, with a remark if the name suggests a
    SPiCe file of prefixes.

    >>> reading_of("train.txt", "read as tokens: 2 symbols: cat the")
    'train.txt: read as tokens: 2 symbols: cat the'
    """
    remark = "; SPiCe's prefix files hold the beginnings of strings, not whole strings"
    return (
        f"{name}: "
        f"{reading}{remark if '.prefix.' in name.lower() and reading.startswith('read as pautomac') else ''}"  # noqa: E501
    )


def has_header(row: str) -> bool:
    """Return whether a line is a PAutomaC header: the number of strings and the size of the
    alphabet.
    """
    tokens = row.split(maxsplit=2)
    return len(tokens) == 2 and all(re.fullmatch("[0-9]+", token) for token in tokens)


def states_its_length(row: str) -> bool:
    """Return whether a line that is not blank is a PAutomaC string: its length, followed by that
    many numbers.
    """
    whole = all(INTEGER.fullmatch(token[0]) for token in TOKEN.finditer(row))
    return whole and row.split(maxsplit=1)[0] == str(num_tokens(row) - 1)


def num_tokens(row: str) -> int:
    """Count the tokens of a line, as `len(row.split())` does, but without a list, which may need
    twenty times the line's size.
    """
    return sum(1 for _ in TOKEN.finditer(row))


# Tables: columns of strings and of counts

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon"}
DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9])")
INDEX_NAMES = ("", "index", "id", "no", "nr", "line", "row", "unnamed: 0")
# how data frames are written: the rows may be those that a filter left
PANDAS_INDEX = ("", "index", "unnamed: 0")
# Characters that may be between symbols where spaces should be: without a space next to them, or
# after each symbol.
SYMBOL_SEPARATORS = {
    ",": "comma",
    ";": "semicolon",
    "|": "vertical bar",
    "->": "arrow",
    "→": "arrow",
}
ROWS_FOR_EACH_ODD_ONE = 5  # a table may have one line of another form, or one in so many
# names of the column of strings; "string" does not show what a symbol is
KNOWN_HEADERS = ("string", "characters", "tokens")


def names_in(text: str) -> frozenset[str]:
    """Split a string into names at its commas."""
    return frozenset(" ".join(name.split()) for name in text.split(","))


COUNT_NAMES = names_in(
    """
    count, counts, string count, total count, n, num, no of strings, number, numbers, number
    of strings, num strings, n strings, freq, freqs, frequency, frequencies, absolute
    frequency, abs frequency, occurrence, occurrences, num occurrences, number of
    occurrences, times, multiplicity, anzahl, häufigkeit, absolute häufigkeit, nombre,
    effectif, fréquence, frecuencia, cantidad, conteo, frequenza, conteggio, aantal,
    frequência, contagem, liczba, antal, число, количество, частота, 数量, 频数, 度数, 回数
    """
)
VALUE_NAMES = names_in(
    """
    value, values, y, f, f(x), f x, target, output, outcome, result, label, labels, class, accept,
    accepted, accepts, accepting, member, membership, in language, positive, weight,
    weights, score, probability, prob, p, logprob, log probability, reward, rating, mean,
    wert, werte, gewicht, valeur, valor, valore
    """
)
STRING_NAMES = (
    "text", "texts", "string", "strings", "sentence", "sentences", "sequence", "sequences", "seq", "tokens", "word", "words",  # noqa: E501
    "characters", "symbols", "trace", "traces", "path", "satz", "wort", "zeichenkette", "phrase",
)  # fmt: skip
# Names of columns in tables of something other than strings and counts, such as logs of events.
OTHER_NAMES = names_in(
    """
    id, index, case, case id, caseid, case concept name, concept name, activity, action,
    event, event id, resource, org resource, lifecycle transition, timestamp, time
    timestamp, time, date, datetime, start, end, user, user id, session, session id, symbol,
    symb, ff symb, ff id, type, ff type, ttype, ff ttype, name, title, language, lang,
    category, price, cost, age, source, target, split, line, length, tag, pos, url, page
    """
)
COLUMN_NAMES = COUNT_NAMES | VALUE_NAMES | OTHER_NAMES | frozenset(STRING_NAMES)
# Names of columns in logs with an event in each line.
CASE_NAMES = names_in(
    """
    case, case id, caseid, case concept name, trace id, traceid, session, session id,
    sessionid, ff id
    """
)
EVENT_NAMES = names_in(
    "activity, activity name, concept name, event, event name, action, symbol, symb, ff symb"
)
ORDER_NAMES = names_in(
    """
    timestamp, time timestamp, complete timestamp, event time, time, date, datetime, step,
    position, order
    """
)


@dataclass(frozen=True)
class Table:
    """Holds the numbers of the columns of a table that have the strings and the counts."""

    delimiter: str = ","  # the character between two columns: one of `DELIMITERS`
    num_columns: int = 2
    strings: int = 0  # the index of the column of strings, from 0
    counts: int | None = 1  # the index of the column of counts; None if each string counts once
    has_header: bool = False  # whether the first row that is not blank names the columns
    detail: str = ""  # a description of these columns for the user, as the end of a sentence
    is_chosen: bool = False  # whether a user has said which columns these are
    note: str = ""  # a warning for the user


def table_of(rows: Sequence[str], all_rows: bool, certain: bool = False) -> Table | None:
    """Recognise a table of strings and counts from the first lines of a file.

    >>> table_of(["the cat sat;3", "the dog ran;2"], all_rows=True).delimiter
    ';'
    >>> table_of(["sentence,n", "the cat sat,3", "the dog ran,2"], all_rows=True).detail
    "strings in the column 'sentence', counts in 'n'"
    >>> table_of(["the cat, sat", "the dog, 3 times"], all_rows=True) is None
    True

    `rows`: the first lines that are not blank. `all_rows`: whether these are all the lines of the
    file. `certain`: whether the user says that the file is a table.

    Returns None if the file is not a table, or has fewer than two rows.

    Raises FormatError if the file is a table of something other than strings and counts.
    """
    if max(map(len, rows)) <= LONGEST_ROW:
        for delimiter in _delimiters(rows):
            table = _columns(_cells(rows, delimiter, all_rows), delimiter, certain)
            if table:
                return table
        if certain:
            _check_counted(rows, all_rows)
        else:
            _check_columns(rows)
            _check_separators(rows)
            _check_title(rows)
    first = rows[1:] if known_header(rows[0].split(",", 2), "count") else rows[:20]
    if first and all(
        "," in row and INTEGER.fullmatch(row.rsplit(",", 1)[1].strip(' "\t')) for row in first
    ):
        # reading the file will report the line whose number of columns differs
        return Table(detail=_forced(","))
    return None


def _delimiters(rows: Sequence[str]) -> Sequence[str]:
    """Return the characters that may separate columns, in the order in which they are tried.

    In many languages Excel writes "the cat;1,5": two columns, which must not be split at the
    decimal comma instead.
    """
    is_excel = len(rows) > 1 and all(
        ";" in row and "," not in DECIMAL_COMMA.sub("", row) for row in rows
    )
    return ";" if is_excel else tuple(DELIMITERS)


def known_header(row: Sequence[str], second_column: str) -> str:
    """Return the first column's name if a row is a header, which consists of one of `KNOWN_HEADERS`
    and `second_column`; otherwise empty.
    """
    names = [cell.strip(' "\t')[:20].lower() for cell in row]
    return (
        names[0]
        if len(names) == 2 and names[0] in KNOWN_HEADERS and names[1] == second_column
        else ""
    )


def is_count_name(name: str) -> bool:
    """Return whether the name of a column or field shows that it holds counts of strings.

    >>> (
    ...     is_count_name("Anzahl"),
    ...     is_count_name("num_occurrences"),
    ...     is_count_name("case_id"),
    ...     is_count_name("word count"),
    ... )
    (True, True, False, False)
    """
    return _plain(name) in COUNT_NAMES


def _plain(name: str) -> str:
    """Write the name of a column in the form that the sets of names use."""
    return " ".join(re.split(r"[\s_.:-]+", name.strip(' "').lower()))


def is_value_name(name: str) -> bool:
    """Return whether the name of a column shows that it holds values of strings."""
    return _plain(name) in VALUE_NAMES


def _cells(rows: Sequence[str], delimiter: str, all_rows: bool) -> list[list[str]]:
    """Split rows into cells. Return an empty list unless most rows have the same number of columns,
    two or more.

    The few other rows are left out, so one malformed line does not cause a table to be read as
    text. Reading that line causes an error, with its number.
    """
    if not any(delimiter in row for row in rows):
        return []
    try:
        table = [
            [cell.strip() for cell in row]
            for row in csv.reader((f"{row}\n" for row in rows), delimiter=delimiter)
        ]
    except csv.Error:
        return []
    if not all_rows and any('"' in row for row in rows):
        table = table[:-1]  # the last row's quoted cell may continue in the lines below
    widths = Counter(map(len, table))
    width, number = widths.most_common(1)[0] if widths else (0, 0)
    most_odd = max(1, len(table) // ROWS_FOR_EACH_ODD_ONE) if number > 1 else 0
    return (
        [row for row in table if len(row) == width]
        if width > 1 and len(table) - number <= most_odd
        else []
    )


def _columns(table: list[list[str]], delimiter: str, certain: bool) -> Table | None:
    """Find which columns of a table hold the strings and the counts; None if no column holds
    numbers.

    A column of numbers holds counts if its name shows this or, without names, if the other column
    is text.
    """
    if not table:
        return None
    if known_header(table[0], "count"):
        return Table(
            delimiter,
            has_header=True,
            detail=f"strings in the column {table[0][0]!r}, counts in {table[0][1]!r}",
        )
    has_header = all(table[0][1:]) and not any(NUMBER.fullmatch(cell) for cell in table[0])
    body = table[1:] if has_header else table
    if len(body) < 2:
        return None
    width = len(table[0])
    numeric = [column for column in range(width) if _is_numeric([row[column] for row in body])]
    if not numeric:
        return None
    columns, dropped = _without_index(table, body, has_header)
    if delimiter == "\t" and not has_header and (len(numeric) == width or len(columns) > 2):
        return None  # a file of tokens separated by tabs: all numbers, or equally many in each line
    numeric = [column for column in numeric if column in columns]
    if has_header:
        return _columns_by_name(table[0], columns, numeric, delimiter, dropped, certain)
    if len(columns) != 2 or not numeric:
        raise _other_table(table[0], delimiter, certain)
    return _columns_by_content(table, columns, delimiter, dropped, certain)


def _columns_by_name(
    names: list[str],
    columns: list[int],
    numeric: list[int],
    delimiter: str,
    dropped: str,
    certain: bool,
) -> Table:
    """Find the columns of strings and counts, of a table whose first row names its columns.

    `columns`: all but an index, which `dropped` mentions; `numeric`: those of them that hold
    numbers.
    """
    if len(columns) == 1 and dropped:
        detail = f"strings in the column {names[columns[0]][:20]!r}{dropped}"
        return Table(delimiter, len(names), columns[0], None, True, detail)
    if len(columns) != 2 or not numeric:
        raise _other_table(names, delimiter, certain)
    counts = _named_counts(names, columns, numeric)
    strings = columns[0] if counts == columns[1] else columns[1]
    detail = (
        f"strings in the column {names[strings][:20]!r}, counts in {names[counts][:20]!r}{dropped}"
    )
    return Table(delimiter, len(names), strings, counts, True, detail)


def _columns_by_content(
    table: list[list[str]], columns: list[int], delimiter: str, dropped: str, certain: bool
) -> Table | None:
    """Find the columns of strings and counts among two without names: the second holds counts if
    its cells are numbers and either those of the first are text or the form of the file is
    `certain`.
    """
    first, second = ([row[column] for row in table] for column in columns)
    if not _is_numeric(second):
        if any(cell[:1].isdigit() for cell in second):
            return None  # the commas are decimal commas, as in "1,5 kg"
        raise FormatError(
            "a table of strings must have 2 columns, string and count; got numbers in the "
            "first column and text in the other, "
            "without a line that names the columns: set the format to csv, and say which is which "
            f"(text_column, count_column){_otherwise()}"
        )
    if _is_numeric(first) and not certain and not _is_text(first):
        width = len(table[0])
        seen = listed([repr(cell[:20]) for cell in table[0]])
        raise FormatError(
            f"lines of {plural(width, 'whole number')}, separated by "
            f"{DELIMITERS[delimiter]}s, such as {seen}, may be strings with "
            "counts or strings of numbers: add a first line string,count for counts, or "
            "write spaces between the symbols"
        )
    detail = f"{_forced(delimiter)}{dropped}"
    return Table(delimiter, len(table[0]), columns[0], columns[1], False, detail)


def _named_counts(names: list[str], columns: list[int], numeric: list[int]) -> int:
    """Return the column of numbers whose name shows that they are counts; if there are two, the
    second.
    """
    counts = [column for column in numeric if is_count_name(names[column])]
    if not counts:
        titles = {column: repr(names[column][:20]) for column in columns}
        text = "".join(
            f" and text in {titles[column]}" for column in columns if column not in numeric
        )
        raise FormatError(
            "a table of strings must have 2 columns, string and count; got numbers in the column "
            f"{enumeration([titles[column] for column in numeric])}{text}; if the numbers "
            "are counts, call their column count, n or frequency, or say which it is "
            f"(count_column); if each line is an event of a case, set the format to events"
            f"{_otherwise()}"
        )
    return counts[-1]


def value_table_of(rows: Sequence[str], all_rows: bool) -> Table:
    """Recognise the columns of a table of strings and values, by the same rules as those of strings
    and counts.

    >>> value_table_of(["string;value", "ab;0,5", "ba;-1"], all_rows=True).delimiter
    ';'

    `rows` and `all_rows`: the same as for `table_of`.

    Returns a Table: its `counts` are the column of values. If nothing is recognised, a row is a
    string and a value, separated by a comma.

    Raises FormatError if the file is a table of something other than strings and values.
    """
    if max(map(len, rows)) <= LONGEST_ROW:
        for delimiter in _delimiters(rows):
            table = _cells(rows, delimiter, all_rows)
            if table and (found := _value_columns(table, delimiter)):
                return found
    return Table()


def _value_columns(table: list[list[str]], delimiter: str) -> Table | None:
    """Find which columns of a table hold the strings and the values; None if it has two columns, no
    header and no value.
    """
    width = len(table[0])
    is_our_header = bool(known_header(table[0], "value"))
    has_values_below = any(_is_value(cell) for row in table[1:] for cell in row)
    has_header = is_our_header or _is_other_header(table[0], has_values_below)
    if not has_header and width == 2:
        return Table(delimiter) if has_values_below or _is_value(table[0][1]) else None
    body = table[1:] if has_header else table
    columns, index_remark = _without_index(table, body, has_header)
    seen = listed([repr(cell[:20]) for cell in table[0]])
    if len(columns) != 2:
        raise FormatError(
            "a table of values must have 2 columns, string and value; got "
            f"{plural(width, 'column')}, separated by "
            f"{DELIMITERS[delimiter]}s: {seen}"
        )
    values = columns[1]
    if has_header and not is_our_header:
        named = [column for column in columns if is_value_name(table[0][column])]
        if not named:
            raise FormatError(
                "the first line must be the header string,value, or a string and a finite "
                "number; got the "
                f"columns {seen}: a column of values may also be called y, target, label, "
                "accepted, weight or "
                "probability"
            )
        values = named[-1]  # of two such names, such as label and weight
    strings = columns[0] if values == columns[1] else columns[1]
    detail = (
        f"strings in the column {table[0][strings][:20]!r}, values in "
        f"{table[0][values][:20]!r}{index_remark}"
    )
    return Table(
        delimiter=delimiter,
        num_columns=width,
        strings=strings,
        counts=values,
        has_header=has_header,
        detail="" if is_our_header or not has_header else detail,
    )


def _is_other_header(first: list[str], has_values_below: bool) -> bool:
    """Return whether the first row of a table has the titles of columns."""
    if any(map(_is_value, first)):
        return False
    names = [cell.strip(' "').lower() for cell in first]
    half_are_usual = sum(name in COLUMN_NAMES for name in names) * 2 >= len(names)
    return has_values_below or half_are_usual


VALUE = re.compile(
    r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?|true|false|[+-]?(inf|infinity|nan)",
    re.IGNORECASE,
)


def _is_value(cell: str) -> bool:
    return VALUE.fullmatch(cell) is not None


def _without_index(
    table: list[list[str]], body: list[list[str]], has_header: bool
) -> tuple[list[int], str]:
    """Return the columns of a table, except a first column that only numbers the rows, and a remark
    if there is such a column.
    """
    columns = list(range(len(table[0])))
    if not body:
        return columns, ""
    first = [row[0] for row in body]
    name = table[0][0].lower()
    is_index = _is_index(first) and (name in INDEX_NAMES if has_header else len(columns) > 2)
    if is_index or (has_header and name in PANDAS_INDEX and _is_index(first, of_some_rows=True)):
        return columns[1:], "; the first column only numbers the rows"
    return columns, ""


def _other_table(row: list[str], delimiter: str, certain: bool = False) -> FormatError:
    """Make the error for a table with columns other than a string and its count."""
    seen = listed([repr(cell[:20]) for cell in row])
    got = (
        f"got {plural(len(row), 'column')}, separated by "
        f"{SYMBOL_SEPARATORS.get(delimiter, 'tab')}s: {seen}"
    )
    csv = "" if certain else "set the format to csv and "
    symbols = "if these are the symbols of a string, write spaces between them"
    tokens = "if these are lines of tokens, set the format to tokens"
    if len(row) == 2:
        return FormatError(
            f"no column has the counts of strings; {got}: {csv}say which has the strings "
            "(text_column), and each line counts once; if the other has labels, learn a model for "
            "each on the Classify page or with `nlwfa classify --label-column`; if each line is "
            f"an event of a case, set the format to events; {symbols}; {tokens}"
        )
    return FormatError(
        f"a table of strings must have 2 columns, string and count; {got}: {csv}say which columns "
        "have the strings (text_column) and counts (count_column); if each line is an event of a "
        f"case, set the format to events; {symbols}; {tokens}"
    )


def _is_text(column: list[str]) -> bool:
    """Return whether a column of digits can't be one of whole numbers, because some of its cells
    begin with 0.
    """
    return any(len(cell) > 1 and cell[0] == "0" for cell in column)


def _check_columns(rows: Sequence[str]) -> None:
    """Raise FormatError if all lines have the same columns of text, one of which has a name that is
    usual in tables or logs of events.
    """
    for delimiter in DELIMITERS:
        cells = [row.strip("\n").split(delimiter) for row in rows]
        names = [_plain(cell) for cell in cells[0]]
        is_table = len(rows) > 1 and len(names) > 1 and len({len(row) for row in cells}) == 1
        if (
            is_table
            and all(names)
            and 2 * sum(name in COLUMN_NAMES for name in names) >= len(names)
        ):
            raise _other_table([cell.strip() for cell in cells[0]], delimiter)


HEADED = "set the format to csv and the header to yes"


def _check_counted(rows: Sequence[str], all_rows: bool) -> None:
    """Raise FormatError if the rows are those of a table without any number."""
    for delimiter in _delimiters(rows):
        table = _cells(rows, delimiter, all_rows)
        if table and not any(NUMBER.fullmatch(cell) for row in table for cell in row):
            raise _other_table(table[0], delimiter, certain=True)


def _check_title(rows: Sequence[str]) -> None:
    """Raise FormatError if the first line is the name of a column, and no other line has all of its
    symbols.

    Usual names of columns of strings are enough. A word that is usual only for other columns may be
    a string of one symbol, such as the page of a session, unless all other lines have several
    symbols.
    """
    title = rows[0].strip().strip('"')
    if len(rows) < 2:
        return
    if title.lower() not in STRING_NAMES:
        is_title = _is_known_title(title) and _stands_alone(title, rows[1:])
    elif any(len(row.split(maxsplit=1)) > 1 for row in rows[1:]):
        is_title = title not in (row for line in rows[1:] for row in line.split())
    else:
        is_title = bool(set(title) - set("".join(rows[1:])))
    if is_title:
        raise FormatError(
            f"the first line, {title!r}, looks like the name of a column: leave it out, or "
            f"{HEADED} (if it is a string, set the format to tokens or characters)"
        )


def _is_known_title(title: str) -> bool:
    return len(title) >= SHORTEST_TITLE and _plain(title) in COLUMN_NAMES


def _stands_alone(title: str, rows: Sequence[str]) -> bool:
    """Return whether a title is one token that no row has, and all rows have several tokens."""
    tokens = [row.replace('"', " ").split() for row in rows]
    return num_tokens(title) == 1 and all(title not in row and len(row) > 1 for row in tokens)


def title_notes(rows: Sequence[str]) -> list[str]:
    """Make a note if the first line may be the name of a column, although it is read as a string.

    Such a line is a known name, or is followed by at least three lines and is the only line of one
    token.
    """
    title = rows[0].strip().strip('"')
    is_known = _is_known_title(title) and not any(title == row.strip() for row in rows[1:])
    is_alone = (
        len(rows) > 3 and TITLE.fullmatch(title) is not None and _stands_alone(title, rows[1:])
    )
    if len(rows) < 2 or not (is_known or is_alone):
        return []
    return [
        f"The first line, {title!r}, may be the name of a column: it is read as a string. If it is "
        f"a name, {HEADED}."
    ]


SHORTEST_TITLE = 3  # characters
TITLE = re.compile(r"[^\W\d_]\w{2,}")  # what may be the name of a column


SYMBOL = re.compile(r"""[\w.+:@'#/-]+|"[^"\s]*\"""")


def _check_separators(rows: Sequence[str]) -> None:
    """Raise FormatError if lines are symbols with a separator other than white space, which would
    become a symbol itself.
    """
    lines = [row.strip() for row in rows]
    for separator, name in SYMBOL_SEPARATORS.items():
        if (
            separator == ","
            and any(" " in line for line in lines)
            and all(DECIMAL_COMMA.search(line) for line in lines)
        ):
            continue  # decimal commas
        if _divides_symbols(lines, separator) or _ends_symbols(lines, separator):
            example = next(line for line in lines if separator in line)
            sign = SEPARATOR_SIGNS.get(separator)
            chosen = f"; if not, to tokens, and the separator to {sign}" if sign else ""
            raise FormatError(
                "the symbols of a string must have spaces between them; got lines with "
                f"{name}s, such as {example[:40]!r} (if the "
                f"{name} is a symbol, set the format to characters or tokens{chosen})"
            )
        if _divides_columns(lines, separator):
            raise _other_table([cell.strip() for cell in lines[0].split(separator)], separator)


def _divides_symbols(lines: Sequence[str], separator: str) -> bool:
    """Return whether a separator is between words, without white space.

    Lines may be padded with it.
    """
    padded = [line.rstrip(separator) for line in lines]
    numbers = [line.count(separator) for line in padded]
    if (
        not sum(numbers)
        or sum(line.count(separator) for line in lines) < 2
        or 2 * sum(map(bool, numbers)) < len(numbers)
    ):
        return False
    return all(SYMBOL.fullmatch(cell) for line in padded for cell in line.split(separator))


def _divides_columns(lines: Sequence[str], separator: str) -> bool:
    """Return whether all lines have the same number of columns, and no column begins with a space,
    as text after a comma does in prose.
    """
    cells = [line.split(separator) for line in lines]
    widths = {len(row) for row in cells}
    return (
        len(lines) > 1
        and len(widths) == 1
        and 1 not in widths
        and not any(not cell or cell[0] == " " for row in cells for cell in row)
    )


def _ends_symbols(rows: Sequence[str], separator: str) -> bool:
    """Return whether there is a separator between all symbols of a line, as in "a, b, c", "a ,b ,c"
    or "a , b , c".
    """
    if any(len(row) > LONGEST_HEAD for row in rows):
        return False
    lines = [row.split() for row in rows]
    if max(map(len, lines)) < 3 or 2 * sum(len(line) > 1 for line in lines) < len(lines):
        return False
    glued = all(
        not line[-1].endswith(separator)
        and all(token.endswith(separator) and token != separator for token in line[:-1])
        for line in lines
    )
    apart = all(len(line) % 2 and all(token == separator for token in line[1::2]) for line in lines)
    leading = all(
        not line[0].startswith(separator)
        and all(token.startswith(separator) and token != separator for token in line[1:])
        for line in lines
    )
    return glued or leading or (apart and not any(separator in line[::2] for line in lines))


# Columns that a user has chosen, logs of events, annotated text


@dataclass(frozen=True)
class EventTable:
    """Holds what the columns of a table with an event on each line contain."""

    delimiter: str
    num_columns: int
    has_header: bool  # whether the first row that is not blank names the columns
    case: int  # the index of the column of the string to which an event belongs
    event: int  # the index of the column of symbols
    order: int | None  # what a string's events are sorted by; None if they keep the file's order
    detail: str  # a description of these columns for the user, as the end of a sentence


@dataclass(frozen=True)
class ConllColumns:
    """Holds the number of the column of a CoNLL file that has the symbols."""

    num_columns: int  # of the first line; in a file without tabs, other sentences may have others
    column: int  # the index of the column of symbols
    by_tab: bool  # whether columns are separated by tabs, otherwise by white space
    has_ids: bool  # whether the first column has the numbers of CoNLL-U's tokens
    detail: str  # a description of the column for the user, as the end of a sentence


class _Columns:
    """The columns of a table's first rows, which a user may name, or number from 1."""

    def __init__(
        self, rows: Sequence[str], all_rows: bool, reading: Reading, choices: Sequence[str]
    ) -> None:
        self.delimiter, self.table = _split(rows, all_rows, reading.separator)
        self.width = len(self.table[0])
        first = self.table[0]
        self.has_header = reading.header == YES or (
            reading.header == AUTO and self._names_columns(first, choices)
        )
        self.names = first if self.has_header else [""] * self.width
        self.body = self.table[1:] if self.has_header else self.table

    def _names_columns(self, first: list[str], choices: Sequence[str]) -> bool:
        """Return whether a first row consists of names, one of which may have been chosen."""
        if any(choice and not choice.isdecimal() for choice in choices):
            return True
        if not all(first[1:]) or any(NUMBER.fullmatch(cell) for cell in first):
            return False
        names = [_plain(cell) for cell in first]
        known = sum(name in CASE_NAMES | EVENT_NAMES | COLUMN_NAMES for name in names)
        is_log = not CASE_NAMES.isdisjoint(names) and not EVENT_NAMES.isdisjoint(names)
        if is_log or 2 * known >= len(names):
            return True
        return any(
            _is_numeric([row[column] for row in self.table[1:]])
            for column in range(self.width if len(self.table) > 1 else 0)
        )

    def index(self, choice: str, what: str) -> int:
        """Return the index of a column that was chosen."""
        matching = [column for column, name in enumerate(self.names) if name and name == choice]
        matching = matching or [
            column
            for column, name in enumerate(self.names)
            if name and name.casefold() == choice.casefold()
        ]
        if len(matching) == 1:
            return matching[0]
        if len(matching) > 1:
            raise FormatError(
                f"{plural(len(matching), 'column')} are called {choice!r}: choose {what} by its "
                "number"
            )
        if choice.isdecimal() and len(choice) < 9 and 1 <= int(choice) <= self.width:
            return int(choice) - 1
        raise FormatError(f"there is no column {choice!r} for {what}; {self.seen}")

    def named(self, names: frozenset[str]) -> list[int]:
        """List the columns that have one of the given names."""
        return [column for column, name in enumerate(self.names) if name and _plain(name) in names]

    def title(self, column: int) -> str:
        """Write the name of a column, or its number and an example."""
        if self.names[column]:
            return repr(self.names[column][:20])
        example = self.body[0][column][:20] if self.body else ""
        return f"column {column + 1}" + (f" (such as {example!r})" if example else "")

    @property
    def seen(self) -> str:
        """List the columns for an error."""
        return f"the columns are {listed([self.title(column) for column in range(self.width)])}"

    def unused(self, *columns: int | None) -> str:
        """List the other columns, as the end of a sentence."""
        others = [self.title(column) for column in range(self.width) if column not in columns]
        return f"; not used: {listed(others)}" if others else ""


def _may_be_names(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether a table's first row may have names: words that do not occur below, where some
    column has only strings of several tokens.

    >>> _may_be_names(["id", "tags"], [("s1", "s2", "s3"), ("DET NOUN", "ADJ NOUN", "PRON VERB")])
    True
    """
    return (
        len(first) > 1
        and len(below[0] if below else ()) >= FEWEST_BELOW
        and all(NAME.fullmatch(cell) for cell in first)
        and not any(name in column for name, column in zip(first, below, strict=True))
        and any(all(num_tokens(cell) > 1 for cell in column) for column in below)
    )


FEWEST_BELOW = 3  # rows from which the form of a column is known
NAME = re.compile(r"[^\W\d]\w*")


def _split(
    rows: Sequence[str], all_rows: bool, separator: str = AUTO
) -> tuple[str, list[list[str]]]:
    """Split rows into columns, and return the separator; rows of one column if there is none."""
    delimiters = (*_delimiters(rows), "|") if separator == AUTO else (SEPARATORS[separator],)
    for delimiter in delimiters:
        table = _cells(rows, delimiter, all_rows)
        if table:
            return delimiter, table
    if separator != AUTO and not any(delimiters[0] in row for row in rows):
        raise FormatError(
            f"there is no {separator} in the first {plural(len(rows), 'line')}, such as "
            f"{rows[0].strip()[:40]!r}"
        )
    try:
        reader = csv.reader((f"{row}\n" for row in rows), delimiter=delimiters[0])
        table = [[cell.strip() for cell in row] for row in reader if len(row) == 1]
    except csv.Error:
        table = []
    if not table:
        raise FormatError(
            "expected a table, the same number of columns in each line; got lines such as "
            f"{rows[0].strip()[:40]!r}"
        )
    return delimiters[0], table


def chosen_table_of(rows: Sequence[str], all_rows: bool, reading: Reading) -> Table:
    """Find the columns of a table, some of which a user has chosen.

    >>> chosen_table_of(["id,text", "7,ab", "9,b"], True, Reading("csv", text_column="text")).detail
    "strings in the column 'text', each line counts once; not used: 'id'"

    `rows` and `all_rows`: the same as for `table_of`.

    Raises FormatError if there is no such column, or if none is chosen and it is not clear which
    column has the strings.
    """
    columns = _Columns(rows, all_rows, reading, (reading.text_column, reading.count_column))
    counts = (
        columns.index(reading.count_column, "the counts (count_column)")
        if reading.count_column
        else None
    )
    if reading.text_column:
        strings = columns.index(reading.text_column, "the strings (text_column)")
    else:
        if counts is None and columns.width == 2:
            numeric = [
                column
                for column in range(2)
                if _is_numeric([row[column] for row in columns.body])
                and (not columns.has_header or is_count_name(columns.names[column]))
            ]
            counts = numeric[-1] if numeric else None
        others = [column for column in range(columns.width) if column != counts]
        if len(others) != 1:
            raise FormatError(f"say which column has the strings (text_column); {columns.seen}")
        strings = others[0]
    if strings == counts:
        raise FormatError(f"the strings and the counts can't be in the same column; {columns.seen}")
    first, *below = columns.table
    may_be_names = not columns.has_header and reading.header == AUTO
    note = (
        f"The first line, {listed([repr(cell[:20]) for cell in first])}, may have the names of the "
        "columns: it is read as a string. If these are names, set the header to yes."
        if may_be_names and _may_be_names(first, list(zip(*below, strict=True)))
        else ""
    )
    counted = (
        f"counts in {columns.title(counts)}" if counts is not None else "each line counts once"
    )
    return Table(
        columns.delimiter,
        columns.width,
        strings,
        counts,
        columns.has_header,
        f"strings in the column {columns.title(strings).removeprefix('column ')}, {counted}"
        f"{columns.unused(strings, counts)}",
        is_chosen=True,
        note=note,
    )


def labelled_table_of(
    rows: Sequence[str], all_rows: bool, reading: Reading, label_column: str
) -> Table:
    """Find the columns of a table with a label for each string. In the `Table`, labels take the
    place of counts.

    >>> reading = Reading("csv", text_column="3")
    >>> labelled_table_of(["+,S10,ab", "-,867,b"], True, reading, "1").counts
    0

    `rows` and `all_rows`: the same as for `table_of`.

    Raises FormatError if there is no such column, or if it is not clear which column has the
    strings.
    """
    columns = _Columns(rows, all_rows, reading, (reading.text_column, label_column))
    labels = columns.index(label_column, "the labels")
    if reading.text_column:
        strings = columns.index(reading.text_column, "the strings (text_column)")
    else:
        others = [column for column in range(columns.width) if column != labels]
        named = [column for column in columns.named(frozenset(STRING_NAMES)) if column != labels]
        if len(others) != 1 and len(named) != 1:
            raise FormatError(f"say which column has the strings (text_column); {columns.seen}")
        [strings] = others if len(others) == 1 else named
    if strings == labels:
        raise FormatError(f"the strings and the labels can't be in the same column; {columns.seen}")
    return Table(
        columns.delimiter,
        columns.width,
        strings,
        labels,
        columns.has_header,
        f"strings in the column {columns.title(strings).removeprefix('column ')}, labels in "
        f"{columns.title(labels)}{columns.unused(strings, labels)}",
        is_chosen=True,
    )


def event_table_of(rows: Sequence[str], all_rows: bool, reading: Reading) -> EventTable | None:
    """Recognise a log with an event on each line, or find the columns that a user has chosen.

    >>> rows = ["case_id,activity,cost", "7,register,50", "7,pay,0"]
    >>> event_table_of(rows, all_rows=True, reading=Reading()).detail
    "one string for each 'case_id', symbols in 'activity', in the order of the file; not used: 'cost'"

    Without choices, one column must be called `case`, `case_id`, `session` or similar, and one
    `activity`, `event`, `action` or similar. Events are sorted by a column only if it is chosen or,
    without any choice, if it is the only column called `time`, `timestamp` or similar and has
    numbers or dates.

    `rows` and `all_rows`: the same as for `table_of`.

    Returns None if no format was chosen and nothing is recognised. Raises FormatError if the format
    is `events` and it is not clear which columns are meant.
    """  # noqa: E501
    choices = (reading.case_column, reading.event_column, reading.order_column)
    is_open = reading.format == "auto"
    if is_open and (len(rows) < 2 or max(map(len, rows)) > LONGEST_ROW):
        return None
    try:
        columns = _Columns(rows, all_rows, reading, choices)
    except FormatError:
        if is_open:
            return None
        raise
    order: int | None = None
    if reading.case_column and reading.event_column:
        case = columns.index(reading.case_column, "the cases (case_column)")
        event = columns.index(reading.event_column, "the events (event_column)")
    else:
        found = [
            [columns.index(choice, what)] if choice else columns.named(names)
            for choice, what, names in (
                (reading.case_column, "the cases (case_column)", CASE_NAMES),
                (reading.event_column, "the events (event_column)", EVENT_NAMES),
            )
        ]
        is_strange = columns.named(COUNT_NAMES) or columns.named(frozenset(STRING_NAMES))
        if any(len(each) != 1 for each in found) or (is_open and is_strange):
            if is_open:
                return None
            raise FormatError(
                "say which column has the cases (case_column) and which the events "
                f"(event_column); {columns.seen}"
            )
        case = found[0][0]
        event = found[1][0]
        if not any(choices):
            moments = columns.named(ORDER_NAMES)
            # one odd line is an error, with its number
            if len(moments) == 1 and any(order_key(row[moments[0]])[1] for row in columns.body):
                order = moments[0]
    if reading.order_column:
        order = columns.index(reading.order_column, "the order (order_column)")
    if case == event or order in (case, event):
        raise FormatError(
            f"cases, events and their order can't be in the same column; {columns.seen}"
        )
    sorted_by = "in the order of the file" if order is None else f"sorted by {columns.title(order)}"
    return EventTable(
        columns.delimiter,
        columns.width,
        columns.has_header,
        case,
        event,
        order,
        f"one string for each {columns.title(case)}, symbols in {columns.title(event)}, "
        f"{sorted_by}{columns.unused(case, event, order)}",
    )


EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
ORDER_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
DAY_FIRST = re.compile(r"^([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(?![0-9])")
YEAR_FIRST = re.compile(r"^([0-9]{4})/([0-9]{2})/([0-9]{2})(?=$|[ T])")
MAX_ORDER = 40  # characters of what an event is sorted by


def order_key(text: str) -> tuple[float, str]:
    """Return the number by which an event is sorted (for a date, its microseconds since 1970), and
    its kind, which is empty if the text is neither a finite number nor a date. Dates are in ISO
    8601, day first with points (31.1.2024), or year first with slashes (2024/01/31).

    >>> order_key("12"), order_key("1970-01-01T00:00:01Z"), order_key("noon")
    ((12, 'numbers'), (1000000, 'dates with a time zone'), (0, ''))
    >>> order_key("31.1.2024 09:30") == order_key("2024-01-31 09:30")
    True
    """
    if len(text) > MAX_ORDER:
        return 0, ""
    if INTEGER.fullmatch(text):
        whole = int(text)
        return (whole, "numbers") if abs(whole) < 2**63 else (0, "")
    if ORDER_NUMBER.fullmatch(text):
        number = float(text)
        return (number, "numbers") if math.isfinite(number) else (0, "")
    try:
        text = DAY_FIRST.sub(lambda date: f"{date[3]}-{date[2]:0>2}-{date[1]:0>2}", text)
        moment = datetime.fromisoformat(YEAR_FIRST.sub(r"\1-\2-\3", text))
    except ValueError:
        return 0, ""
    offset = moment.utcoffset()
    elapsed = moment.replace(tzinfo=None) - EPOCH - (offset or timedelta())
    return elapsed // MICROSECOND, (
        "dates without a time zone" if offset is None else "dates with a time zone"
    )


CONLL_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def conll_columns_of(rows: Sequence[str], reading: Reading) -> ConllColumns:
    """Find the column of a CoNLL file that has the symbols: the chosen column, `form` in CoNLL-U,
    otherwise the first column that does not number the lines.

    >>> conll_columns_of(["EU NNP B-ORG", "rejects VBZ O"], Reading("conll")).detail
    "symbols in column 1 of 3, such as 'EU'; text_column chooses another"

    Raises FormatError if there is no such column.
    """
    names: Sequence[str] = ()
    data: list[str] = []
    for row in rows:
        if row.startswith("# global.columns"):
            names = row.partition("=")[2].lower().split()
        elif not row.startswith(("# ", "#\t", "-DOCSTART-")) and row.strip() != "#":
            data.append(row)
    if not data:
        where = (
            "the file has"
            if len(rows) < MOST_ROWS
            else f"the first {MOST_ROWS} lines that are not blank have"
        )
        raise FormatError(f"{where} no symbols, only comments")
    by_tab = "\t" in data[0].strip()
    table = [row.split("\t") if by_tab else row.split() for row in data]
    width = len(table[0])
    if not names and by_tab and width == len(CONLL_U):
        names = CONLL_U
    names = names if len(names) == width else ()
    choice = reading.text_column
    if choice:
        column = _conll_choice(choice.lower(), names, width)
    elif "form" in names:
        column = names.index("form")
    else:
        column = int(width > 1 and all(row[0].isdecimal() for row in table))
    name = f" ({names[column]})" if names else ""
    example = "" if name else f", such as {table[0][column][:20]!r}"
    other = "" if choice or width == 1 else "; text_column chooses another"
    return ConllColumns(
        width,
        column,
        by_tab,
        bool(names) and names[0] == "id",
        f"symbols in column {column + 1} of {width}{name}{example}{other}",
    )


def columns_of_table(rows: Sequence[str], reading: Reading) -> list[str]:
    """List the columns of a table's first rows: their names, if the first line has names,
    otherwise their numbers; empty if it is not a table.
    """
    choices = [value for name, value in reading.changes().items() if name in COLUMNS]
    try:
        columns = _Columns(rows, len(rows) < MOST_ROWS, reading, choices)
    except FormatError:
        return []
    return [
        name if name and columns.names.count(name) == 1 else str(number)
        for number, name in enumerate(columns.names, start=1)
    ]


def columns_of_conll(rows: Sequence[str]) -> list[str]:
    """List the columns of a CoNLL file: their names, if it has names, otherwise their numbers."""
    try:
        columns = conll_columns_of(rows, Reading("conll"))
    except FormatError:
        return []
    if columns.has_ids and columns.num_columns == len(CONLL_U):
        return list(CONLL_U)
    return [str(number) for number in range(1, columns.num_columns + 1)]


def _conll_choice(choice: str, names: Sequence[str], width: int) -> int:
    if choice in names:
        return names.index(choice)
    if choice.isdecimal() and len(choice) < 9 and 1 <= int(choice) <= width:
        return int(choice) - 1
    own = f"; the columns are {listed(list(names))}" if names else ""
    raise FormatError(
        f"there is no column {choice!r} for the symbols (text_column); the first line has "
        f"{plural(width, 'column')}{own}"
    )


def _is_numeric(column: list[str]) -> bool:
    """Return whether a column holds numbers.

    If it has at least four cells, one may be something else. Reading that cell causes an error.
    """
    others = sum(NUMBER.fullmatch(cell) is None for cell in column)
    return others == 0 or (others == 1 and len(column) > 3)


def _is_index(column: list[str], of_some_rows: bool = False) -> bool:
    """Return whether a column only numbers the rows, from 0 or 1, or is the index of some rows of a
    larger table, in any order.
    """
    if of_some_rows:
        return len(set(column)) == len(column) and all(map(INTEGER.fullmatch, column))
    return column[0] in ("0", "1") and column == [
        str(int(column[0]) + row) for row in range(len(column))
    ]


def _forced(delimiter: str) -> str:
    name = DELIMITERS[delimiter]
    return (
        f"the number after each line's last {name} is its count; as the format tokens it would "
        "be text"
    )


def _otherwise() -> str:
    return "; if these are lines of tokens, with spaces between them, set the format to tokens"


# Lines of JSON


@dataclass(frozen=True)
class JsonLines:
    """Holds the fields of lines of JSON that have the string and its count."""

    # the field of an object that holds the string; empty if each line is the string itself
    strings: str = ""
    counts: str = ""  # the field that holds the string's count; empty if each string counts once
    detail: str = ""  # a description of these fields for the user, as the end of a sentence

    def cell(self, row: str, line: int) -> tuple[str, str, bool]:
        """Parse a line: return its string and its count as text, and whether the string was a list
        of symbols.

        The symbols of a list are joined by spaces.

        >>> JsonLines("text", "count").cell('{"text": "abba", "count": 3}', line=1)
        ('abba', '3', False)
        >>> JsonLines().cell('["a", "b"]', line=1)
        ('a b', '1', True)

        Raises FormatError if the line is not JSON of this form.
        """
        value = _parsed(row, line)
        count = "1"
        if self.strings:
            if not isinstance(value, dict):
                raise FormatError(f"expected a JSON object; got {_seen(value)}", line)
            for name in filter(None, (self.strings, self.counts)):
                if name not in value:
                    raise FormatError(
                        f"the object has no field {name!r}; it has {_fields(value)}", line
                    )
            if self.counts:
                count = _seen(value[self.counts])
            value = value[self.strings]
        if isinstance(value, list):
            if value == [LAMBDA]:
                raise FormatError(
                    f"{LAMBDA} alone is how the empty word is written: write [] for it, or "
                    "rename the symbol",
                    line,
                )
            return " ".join(_symbol(symbol, line) for symbol in value), count, True
        if not isinstance(value, str):
            raise FormatError(
                f"expected a string in quotes or a list of symbols; got {_seen(value)}", line
            )
        return value.strip(), count, False


def json_lines_of(rows: Sequence[str], all_rows: bool) -> JsonLines | None:
    """Recognise lines of JSON: strings in quotes, lists of symbols, or objects with a string and,
    optionally, its count.

    >>> json_lines_of(['["a", "b"]', "[]"], all_rows=True)
    JsonLines(strings='', counts='', detail='each line a list of symbols')
    >>> json_lines_of(["[[]]", "[]"], all_rows=True) is None  # brackets may be symbols
    True

    `rows` and `all_rows`: the same as for `table_of`.

    Raises FormatError if the file is JSON in another form.
    """
    if rows[0].strip()[:1] not in ("{", "[", '"'):
        return None
    values = _parsed_lines(rows)
    if 2 * len(values) <= len(rows) or not any(
        isinstance(value, str) or _has_content(value) for value in values
    ):
        if _is_document(rows, all_rows):
            raise FormatError(
                "the file begins like JSON, so each of its lines must be JSON, as in "
                f"{EXAMPLE}{_otherwise()}"
            )
        return None
    # If one of many lines is something else, reading it is an error, with its number.
    if all(isinstance(value, str) for value in values):
        if len(values) < len(rows):
            return None
        _check_title(values)
        return JsonLines(detail="each line a string in quotes")
    if all(isinstance(value, dict) for value in values):
        return _fields_of(values)
    if not all(isinstance(value, list) for value in values):
        raise FormatError(
            f"all lines of JSON must have the same form, as in {EXAMPLE}{_otherwise()}"
        )
    if all_rows and len(rows) == 1:
        raise FormatError(
            f"each string must be on a separate line, as in {EXAMPLE}; got one JSON list"
        )
    for symbol in (symbol for value in values for symbol in value):
        _symbol(symbol, None)  # raises the error for the first one that can't be a symbol
    return JsonLines(detail="each line a list of symbols")


EXAMPLE = '["a", "b"] or {"text": "ab", "count": 3}'


def _parsed_lines(rows: Sequence[str]) -> list[Any]:
    """Parse those lines that are JSON."""
    values = []
    for row in rows:
        try:
            values.append(_parsed(row, None))
        except FormatError:
            continue
    return values


def _has_content(value: Any) -> bool:
    """Return whether a JSON list or object contains anything but brackets, which may be symbols
    themselves.
    """
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            return True
        if not isinstance(part, list):
            return part is not value
        stack += part
    return False


def _is_document(rows: Sequence[str], all_rows: bool) -> bool:
    """Return whether lines are the beginning of one JSON list or object, and not a string of
    brackets.
    """
    if re.match(
        r'\{\s*"[^"]*"\s*:|\[[\s\[{]*"',
        "".join(row.strip() for row in rows[:3] if len(row) <= LONGEST_ROW),
    ):
        return True
    text = "\n".join(rows)
    if len(text) > LONGEST_JSON or not re.search(r"[\w\"]", text):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return not all_rows and error.pos >= len(text)  # the list goes on in the lines below
    except (ValueError, RecursionError):
        return False
    return True


def _fields_of(values: list[Any]) -> JsonLines:
    """Find which fields of JSON objects hold the string and the count."""
    names = [name for name in values[0] if all(name in value for value in values)]
    texts = [
        name
        for name in names
        if all(_is_string(value[name]) for value in values) and any(value[name] for value in values)
    ]
    numbers = [name for name in names if all(type(value[name]) in (int, float) for value in values)]
    strings = [name for name in texts if name.lower() in STRING_NAMES] if len(texts) > 1 else texts
    counts = [name for name in numbers if is_count_name(name)]
    unknown = [name for name in numbers if name not in counts and name.lower() not in INDEX_NAMES]
    if len(strings) != 1 or len(counts) > 1 or (unknown and not counts):
        raise FormatError(
            'each JSON object must have one field with the string, such as "text", and at '
            "most one with its count, such as "
            f'"count"; got the fields {_fields(values[0])}'
        )
    others = [repr(name[:20]) for name in values[0] if name not in (*strings, *counts)]
    detail = f"strings in the field {strings[0][:20]!r}" + (
        f", counts in {counts[0]!r}" if counts else ""
    )
    return JsonLines(
        strings[0], (*counts, "")[0], detail + (f"; not used: {listed(others)}" if others else "")
    )


def _parsed(row: str, line: int | None) -> Any:
    if len(row) > LONGEST_JSON:
        raise FormatError(
            f"a line of JSON must have at most {LONGEST_JSON:,} characters; got {len(row):,}", line
        )
    try:
        value = json.loads(row)
        if SURROGATE.search(row):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise FormatError(
            f"expected a line of JSON, as in {EXAMPLE}; got {row.strip()[:40]!r}", line
        ) from None
    return value


def _symbol(symbol: Any, line: int | None) -> str:
    if not _is_symbol(symbol):
        raise FormatError(
            "a symbol in a list must be a string without white space, or a whole number; "
            f"got {_seen(symbol)}",
            line,
        )
    return str(symbol)


def _is_symbol(value: Any) -> bool:
    return type(value) is int or (
        isinstance(value, str) and len(value.split(maxsplit=1)) == 1 and value.strip() == value
    )


def _is_string(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(_is_symbol(symbol) for symbol in value)
    )


def _seen(value: Any) -> str:
    """Write a value as JSON for an error message, shortened if it is long."""
    text = (
        json.dumps(value, ensure_ascii=False)
        if not isinstance(value, (dict, list))
        else type(value).__name__
    )
    return text if len(text) <= 40 else text[:39] + "…"


def _fields(value: dict[str, Any]) -> str:
    return listed([repr(name[:20]) for name in value]) or "none"
