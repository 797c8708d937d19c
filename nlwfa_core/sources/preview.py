"""Show the beginning of a file before its strings are read, and the choices for reading it that the
file allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FormatError, RecipeError, printable
from .names import ENCODINGS
from .other_files import is_labelled
from .reading import AUTO, NO, SEPARATORS, YES, Reading
from .recognition import (
    MOST_ROWS,
    check_text,
    columns_of_conll,
    columns_of_table,
)
from .string_files import (
    HEAD_BYTES,
    LONG_SEQUENCE,
    MANY_LINES,
    clean,
    first_rows,
    in_utf8,
    layout_of,
    read_strings,
)

HEAD = 2**16  # bytes of a file that are looked at
NUM_LINES = 8  # lines that are shown
LONGEST_LINE = 120  # characters that are shown of each
MOST_COLUMNS = 100  # that can be chosen
WITH_COLUMNS = ("csv", "events", "conll", "json", "xes", "abbadingo")
XES_KEY = re.compile(
    r"""<(?:\w+:)?(?:string|id|int|boolean)\s[^>]*?\bkey\s*=\s*["']([^"'<]{1,200})["']"""
)


@dataclass(frozen=True)
class Preview:
    """The beginning of a file.

    Attributes
    ----------
    lines : tuple of str
        The first lines, without control characters, shortened if they are long.
    reading : Reading
        The choices so far, with the recognised format if it has columns to choose from.
    choices : mapping of str to tuple of str
        Field of `Reading` -> the values that this file allows; only fields with several values.
    is_sequence : bool
        Whether the file may have long sequences, which can be cut into windows.
    """

    lines: tuple[str, ...]
    reading: Reading
    choices: Mapping[str, tuple[str, ...]]
    is_sequence: bool


def preview(data: bytes, reading: Reading) -> Preview | None:
    """Examine a file's first bytes.

    >>> preview(b"case,event\\n1,a\\n1,b\\n", Reading("events")).choices["case_column"]
    ('', 'case', 'event')

    `data`: the file, or at least its first `HEAD` + 1 bytes. `reading`: the choices so far.

    Returns None if the file is not text.
    """
    is_whole = len(data) <= HEAD
    head = data[:HEAD]
    encodings = _encodings(head, is_whole)
    if not encodings:
        return None
    encoding = reading.encoding if reading.encoding in encodings else encodings[0]
    try:
        cleaned = clean(_decodable(head, encoding, is_whole))
    except FormatError:
        return None
    if not is_whole and b"\n" in cleaned:
        cleaned = cleaned[: cleaned.rfind(b"\n") + 1]
    rows = first_rows(cleaned)
    text = cleaned.decode()
    lines = [line for line in text.split("\n", NUM_LINES)[:NUM_LINES] if line] or rows[:1]
    adapted = reading
    if reading.format == AUTO:
        format = _recognised(rows)
        if format in WITH_COLUMNS:
            adapted = Reading.adapted(reading.changes(), format=format)
    choices = {
        "format": _formats(cleaned, rows),
        "encoding": encodings if encodings[0] != "utf-8" or encoding != "utf-8" else ("utf-8",),
        **_choices(text, rows, adapted),
    }
    return Preview(
        tuple(map(_shown, lines)),
        adapted,
        {name: values for name, values in choices.items() if len(values) > 1},
        bool(reading.window) or _is_sequence(cleaned, rows),
    )


def _is_sequence(cleaned: bytes, rows: list[str]) -> bool:
    """Return whether a head has a long line, symbols on lines of their own, or biological
    sequences.
    """
    return (
        max(map(len, rows), default=0) >= LONG_SEQUENCE
        or (len(rows) >= MANY_LINES and all(len(row.strip()) == 1 for row in rows[:MANY_LINES]))
        or any(_is_readable(cleaned, format) for format in ("fasta", "fastq"))
    )


def _shown(line: str) -> str:
    text = printable(line.expandtabs(4))
    return text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…"


def _encodings(head: bytes, is_whole: bool) -> tuple[str, ...]:
    """List the encodings in which a head is text, the likeliest first; UTF-8 alone if it is one of
    them.
    """
    encodings = []
    for encoding in ENCODINGS:
        try:
            check_text(head[:HEAD_BYTES], encoding)
            _decodable(head, encoding, is_whole)
        except FormatError:
            continue
        if encoding == "utf-16" and b"\0" not in head:
            continue
        encodings.append(encoding)
    if "utf-8" in encodings or "utf-16" not in encodings:
        return tuple(encodings)
    return ("utf-16",)


def _decodable(head: bytes, encoding: str, is_whole: bool) -> bytes:
    """Write a head as UTF-8, without a character that is cut at its end."""
    last: FormatError | None = None
    for cut in range(1 if is_whole else 5):
        part = head[: len(head) - cut]
        try:
            decoded = in_utf8(part, encoding)
            decoded.decode()
        except UnicodeDecodeError as error:
            last = FormatError(f"not UTF-8: {error.reason}")
        except FormatError as error:
            last = error
        else:
            return decoded
    assert last is not None
    raise last


def _formats(cleaned: bytes, rows: list[str]) -> tuple[str, ...]:
    """List the formats in which a head can be read, perhaps with columns chosen."""
    formats = [AUTO]
    width = len(columns_of_table(rows, Reading("csv")))
    strict = ("pautomac", "json", "xes", "fasta", "fastq", "spmf", "uniq", "abbadingo")
    formats += [format for format in strict if _is_readable(cleaned, format)]
    if width > 1:
        formats += ["csv", "events"]
    elif len(rows) > 1:
        formats.append("csv")
    if _is_readable(cleaned, "conll") and (
        b"\n\n" in cleaned.strip() or _recognised(rows) == "conll"
    ):
        formats.append("conll")
    return (*formats, "tokens", "characters")


def _is_readable(cleaned: bytes, format: str) -> bool:
    """Return whether a head can be read in a format, except perhaps for its last record."""
    try:
        read_strings(cleaned, format)
    except FormatError as error:
        # what is missing may follow
        return len(cleaned) > HEAD // 2 and error.line is None
    except RecipeError:
        return False
    return True


def _recognised(rows: list[str]) -> str:
    try:
        return layout_of(Reading(), rows, None, lambda: rows).format
    except FormatError:
        return ""


def _choices(text: str, rows: list[str], reading: Reading) -> dict[str, tuple[str, ...]]:
    """List what can be chosen in a format: separators, the names or numbers of columns, labels; ""
    stands for none.
    """
    choices: dict[str, tuple[str, ...]] = {}
    format = reading.format
    if format in ("csv", "events", "tokens"):
        signs = [name for name, sign in SEPARATORS.items() if any(sign in row for row in rows)]
        choices["separator"] = (AUTO, *signs)
    if format in ("csv", "events"):
        choices["header"] = (AUTO, YES, NO)
    columns: Sequence[str] = ()
    match format:
        case "csv" | "events":
            columns = columns_of_table(rows, reading)
        case "conll":
            columns = columns_of_conll(rows)
        case "json":
            columns = _fields(rows)
        case "xes":
            columns = list(dict.fromkeys(XES_KEY.findall(text)))
    for name in ("text_column", "count_column", "case_column", "event_column", "order_column"):
        if reading.has(name):
            choices[name] = ("", *columns[:MOST_COLUMNS])
    if reading.has("label"):
        labels = dict.fromkeys(row.split()[0] for row in rows if is_labelled(row))
        choices["label"] = ("", *list(labels)[:MOST_COLUMNS])
    return choices


def _fields(rows: list[str]) -> list[str]:
    """List the fields of JSON objects."""
    names: dict[str, Any] = {}
    for row in rows[:MOST_ROWS]:
        try:
            value = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            names |= value
    return [name for name in names if len(name) <= 200]
