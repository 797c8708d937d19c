"""What all file readers share: bytes checked and cleaned once, whole or in pieces; limits and numbers that blame a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import AnyStr

import numpy as np

from .. import limits
from ..errors import FormatError

BLANK = re.compile(rb"[ \t\n\v\f]")
COMMA = re.compile(",")
TOKEN = re.compile(r"\S+")
INTEGER = re.compile(r"[+-]?[0-9]+")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# How much of a file is parsed at once: little enough for what is made of it to stay in the processor's cache.
PIECE = 2**17
# The same where each line becomes an object of Python: fewer lines, which may have a single byte.
BLOCK = 2**15


def clean(data: bytes) -> bytes:
    """UTF-8 without a byte order mark, its lines ended by "\\n" alone.

    >>> clean(b"ab\\r\\nc\\r")
    b'ab\\nc\\n'

    Raises
    ------
    FormatError
        If there is nothing, too much, or something other than UTF-8.
    """
    at_most("file size in bytes", len(data), limits.most("file_bytes"))
    cleaned = unified(data.removeprefix(BYTE_ORDER_MARK))
    at_most("lines", cleaned.count(b"\n"), limits.most("strings") + 1)
    if not _is_visible(_decoded(cleaned)):
        raise _empty(len(data))
    return cleaned


def row_blocks(cleaned: bytes) -> Iterator[list[str]]:
    """The lines, some at a time: as characters, all at once would take many times the file.

    >>> list(row_blocks(b"ab\\n\\nc"))
    [['ab', ''], ['c']]
    """
    start = 0
    while start < len(cleaned):
        end = cleaned.rfind(b"\n", start, start + BLOCK) + 1 or cleaned.find(b"\n", start + BLOCK) + 1 or len(cleaned)
        yield cleaned[start : end - cleaned.endswith(b"\n", start, end)].decode("utf-8").split("\n")
        start = end


def chunks(content: AnyStr, mark: re.Pattern[AnyStr], size: int) -> Iterator[AnyStr]:
    """Parts of a long line, each of `size` and what is left to the next mark.

    >>> list(chunks("a,bc,d,e", re.compile(","), 3))
    ['a,bc,', 'd,e']
    """
    start = 0
    while start < len(content):
        found = mark.search(content, start + size)
        end = found.end() if found else len(content)
        yield content[start:end]
        start = end


def num_tokens(row: str) -> int:
    """How many `row.split()` gives, which itself may take twenty times the line."""
    return sum(1 for _ in TOKEN.finditer(row))


def pieces(reads: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The same for a file of any size, in pieces of whole lines; each comes with the number of lines before it.

    >>> list(pieces([b"ab\\r", b"\\nc", b"d\\ne"]))
    [(0, b'ab\\n'), (1, b'cd\\n'), (2, b'e')]

    Parameters
    ----------
    reads : iterable of bytes
        The file in order, cut anywhere. No more of it is held than one of these, and the line that it cuts.

    Raises
    ------
    FormatError
        If there is nothing, an endless line, or something other than UTF-8.
    """
    num_lines = num_bytes = 0
    visible = False
    for raw in _whole_lines(reads):
        cleaned = unified(raw if num_bytes else raw.removeprefix(BYTE_ORDER_MARK))
        visible = _is_visible(_decoded(cleaned, num_lines)) or visible
        yield num_lines, cleaned
        num_lines += cleaned.count(b"\n")
        num_bytes += len(raw)
    if not visible:
        raise _empty(num_bytes)


def slices(cleaned: bytes) -> Iterator[tuple[int, bytes]]:
    """The same pieces of a file that is held."""
    return pieces(cleaned[start : start + PIECE] for start in range(0, len(cleaned), PIECE))


def _whole_lines(reads: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []  # of a line whose end is still to come
    num_held = 0
    for read in reads:
        # Not behind a "\r" that comes last: it may be one half of a line end.
        cut = max(read.rfind(b"\n"), read.rfind(b"\r", 0, -1)) + 1
        if cut:
            yield b"".join((*held, read[:cut]))
            held, num_held = [], 0
        held.append(read[cut:])
        num_held += len(read) - cut
        at_most("bytes without a line end", num_held, limits.most("file_bytes"))
    if num_held:
        yield b"".join(held)


def unified(data: bytes) -> bytes:
    """Every line ended by "\\n" alone."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _decoded(cleaned: bytes, lines_before: int = 0) -> str:
    try:
        return cleaned.decode("utf-8")
    except UnicodeDecodeError as error:
        line = lines_before + cleaned[: error.start].count(b"\n") + 1
        message = f"byte 0x{cleaned[error.start]:02x} is not UTF-8; files must be text, saved as UTF-8"
        raise FormatError(message, line) from None


def _is_visible(text: str) -> bool:
    return bool(text) and not text.isspace()


def _empty(num_bytes: int) -> FormatError:
    return FormatError(f"the file is empty: {num_bytes} bytes given, none of them visible")


def at_most(what: str, given: int, allowed: int, line: int | None = None) -> None:
    """Raise FormatError if `given` is above `allowed`."""
    if given > allowed:
        raise FormatError(f"{what}: {given:,} given, at most {allowed:,} allowed", line)


def shown(token: str) -> str:
    """A piece of a file as an error shows it: quoted, and cut where it is long."""
    return repr(token if len(token) <= 40 else token[:39] + "…")


def positive_count(text: str, line: int) -> int:
    """A count of strings: a whole number from 1 to MAX_STRINGS."""
    token = text.strip()
    if not INTEGER.fullmatch(token):
        raise FormatError(f"count {shown(token)} is not a whole number", line)
    # Past 18 digits the number itself no longer matters, and Python refuses to convert very long ones.
    count = int(token) if len(token) <= 18 else (-1 if token[0] == "-" else 10**18)
    if count < 1:
        raise FormatError(f"count {shown(token)} given, at least 1 needed", line)
    at_most("count", count, limits.most("strings"), line)
    return count


def finite(text: str, line: int, at_least: float = -np.inf) -> float:
    """A finite number; numbers that are too large for what they mean are the caller's to judge."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and value >= at_least) or "_" in text:
        bound = f", at least {at_least:g}," if at_least > -np.inf else ""
        raise FormatError(f"{shown(text)} given where a finite number{bound} is needed", line)
    return value


def probability(text: str, line: int) -> float:
    """A finite number from 0 on."""
    return finite(text, line, 0)
