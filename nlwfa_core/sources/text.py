"""What all file readers share: bytes checked and cleaned once, limits and numbers that blame a line."""

from __future__ import annotations

import re

import numpy as np

from .. import limits
from ..errors import FormatError

INTEGER = re.compile(r"[+-]?[0-9]+")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def clean(data: bytes) -> bytes:
    """UTF-8 without a byte order mark, its lines ended by "\\n" alone.

    >>> clean(b"ab\\r\\nc\\r")
    b'ab\\nc\\n'

    Raises
    ------
    FormatError
        If there is nothing, too much, or something other than UTF-8.
    """
    at_most("file size in bytes", len(data), limits.MAX_FILE_BYTES)
    cleaned = data.removeprefix(BYTE_ORDER_MARK).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    at_most("lines", cleaned.count(b"\n"), limits.MAX_STRINGS + 1)
    try:
        text = cleaned.decode("utf-8")
    except UnicodeDecodeError as error:
        line = cleaned[: error.start].count(b"\n") + 1
        message = f"byte 0x{cleaned[error.start]:02x} is not UTF-8; files must be text, saved as UTF-8"
        raise FormatError(message, line) from None
    if not text.strip():
        raise FormatError(f"the file is empty: {len(data)} bytes given, none of them visible")
    return cleaned


def at_most(what: str, given: int, allowed: int, line: int | None = None) -> None:
    """Raise FormatError if `given` is above `allowed`."""
    if given > allowed:
        raise FormatError(f"{what}: {given:,} given, at most {allowed:,} allowed", line)


def shown(token: str) -> str:
    """A piece of a file as an error shows it: quoted, and cut where it is long."""
    return repr(token if len(token) <= 40 else token[:39] + "…")


def plural(number: int, noun: str) -> str:
    """
    >>> plural(1, "line"), plural(3000, "line")
    ('1 line', '3,000 lines')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def positive_count(text: str, line: int) -> int:
    """A count of strings: a whole number from 1 to MAX_STRINGS."""
    token = text.strip()
    if not INTEGER.fullmatch(token):
        raise FormatError(f"count {shown(token)} is not a whole number", line)
    # Past 18 digits the number itself no longer matters, and Python refuses to convert very long ones.
    count = int(token) if len(token) <= 18 else (-1 if token[0] == "-" else 10**18)
    if count < 1:
        raise FormatError(f"count {shown(token)} given, at least 1 needed", line)
    at_most("count", count, limits.MAX_STRINGS, line)
    return count


def probability(text: str, line: int) -> float:
    """A finite number from 0 on; numbers above 1 are the caller's to judge."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and value >= 0) or "_" in text:
        raise FormatError(f"{shown(text)} given where a finite number, at least 0, is needed", line)
    return value
