"""The choices for reading a file of strings: its format, its encoding, and what its columns
contain.

A `Reading` holds a user's choices. Anything left open is recognised from the file, and
`StringFile.reading` describes the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import StringConstraints, field_validator

from ..records import Record, option, options_of
from .names import ENCODINGS, FORMATS

ColumnName = Annotated[str, StringConstraints(max_length=200)]

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
SEPARATOR_SIGNS = {sign: name for name, sign in SEPARATORS.items()} | {"\\t": "tab"}
YES = "yes"
NO = "no"
AUTO = "auto"


def _column(title: str, help: str, *formats: str) -> Any:
    return option(
        "",
        title=title,
        help=f"{help}: its name, or its number from 1.",
        when={"format": formats},
    )


class Reading(Record):
    """Choices about how to read a file of strings.

    Attributes
    ----------
    format : str
        One of FORMATS; "auto" recognises it.
    encoding : str
        One of ENCODINGS.
    separator : str
        The separator between the columns of a table, or between the symbols of a line of tokens:
        "comma", "semicolon", "tab", "bar", or the character itself; "auto" recognises a table's
        separator and, between tokens, means white space.
    header : str
        Whether the first line names the columns: "yes", "no", or "auto".
    text_column, count_column : str
        The columns of a table (or fields of JSON lines) that hold the strings and their counts.
        With only a column of strings, each line counts once. In CoNLL files, `text_column` has the
        symbols.
    case_column, event_column, order_column : str
        The columns of a log with an event on each line: the string to which the event belongs, its
        symbol, and the key by which a string's events are sorted (numbers, or dates in ISO 8601 or
        written as 31.1.2024). Without `order_column`, events keep the order of the file. In XES
        files, `event_column` is the key of the attribute that is the symbol, by default
        `concept:name`.
    label : str
        Only the strings of an Abbadingo file with this label are read, such as 1 for the strings of
        a language; empty for all.
    window : int
        For long sequences, such as a text, a genome or a log: every string is cut into consecutive
        windows of this many symbols, which become the strings. A file with one symbol per line is
        one sequence. 0 keeps strings as they are.

    Columns are given by name or by number, from 1. An empty text means that the column is to be
    recognised.

    Raises
    ------
    RecipeError
        If a value is not allowed, or has no effect with the format.

    Examples
    --------
    >>> from nlwfa_core import Reading, read_strings
    >>> log = b"case,what\\n7,register\\n8,register\\n7,pay\\n"
    >>> file = read_strings(log, Reading("events", case_column="case", event_column="what"))
    >>> [file.alphabet.decode(word) for word in file.words]
    ['register pay', 'register']
    """

    format: str = option(
        "auto", title="format of the strings", help="How to read the strings.", choices=FORMATS
    )
    encoding: str = option(
        "utf-8",
        title="encoding",
        help="Character encoding of the file.",
        choices=ENCODINGS,
    )
    separator: str = option(
        AUTO,
        title="separator",
        help="Separator between columns, or between tokens.",
        choices=(AUTO, *SEPARATORS),
        when={"format": ("csv", "events", "tokens")},
    )
    header: str = option(
        AUTO,
        title="names of columns in the first line",
        help="Whether the first line names the columns.",
        choices=(AUTO, YES, NO),
        when={"format": ("csv", "events")},
    )
    text_column: ColumnName = _column(
        "column of the strings",
        "Column of the strings, or of the symbols in a CoNLL file",
        "csv",
        "json",
        "conll",
    )
    count_column: ColumnName = _column(
        "column of the counts", "Column of the counts", "csv", "json"
    )
    case_column: ColumnName = _column(
        "column of the cases", "Column that states to which string an event belongs", "events"
    )
    event_column: ColumnName = _column(
        "column of the events", "Column of a log's symbols", "events", "xes"
    )
    order_column: ColumnName = _column(
        "column of the order", "Column by which the events of a string are sorted", "events"
    )
    label: ColumnName = option(
        "",
        title="label of the strings",
        help="Read only the strings with this label; by default, those with any label.",
        when={"format": ("abbadingo",)},
    )
    window: int = option(
        0,
        title="length of windows",
        help="Cut long sequences into strings of this many symbols; 0 keeps them whole.",
        limit="string_length",
        ge=0,
    )

    def __init__(self, format: str = "auto", **fields: Any) -> None:
        super().__init__(**{"format": format, **fields})

    @field_validator("separator", mode="before")
    @classmethod
    def _name_separator(cls, value: Any) -> Any:
        return SEPARATOR_SIGNS.get(value, value) if isinstance(value, str) else value

    @field_validator(
        "text_column", "count_column", "case_column", "event_column", "order_column", "label"
    )
    @classmethod
    def _strip(cls, value: str) -> str:
        return value.strip()


COLUMNS = ("text_column", "count_column", "case_column", "event_column", "order_column")

# How the sentences of this package name a choice: "set the format to csv", "say which column has
# the strings (text_column)", "windows, for example window = 20".
CHOICE = re.compile(
    r"\bthe (?P<chosen>format|encoding|header|separator|label) to (?=[\w,;|+-])"
    rf"|\b(?P<column>{'|'.join(COLUMNS)})\b"
    r"|\b(?P<window>window) = (?=[0-9])"
)


def in_terms_of(names: Mapping[str, str], text: str, to: str = " ", equals: str = " ") -> str:
    """Rewrite the choices that a sentence names in the words of a user interface.

    `names`: field of `Reading` -> its name there. `to`, `equals`: the text between a name and its
    value, in place of "to" and "=".
    """

    def name(match: re.Match[str]) -> str:
        field = match["chosen"]
        if field:
            return names[field] + to
        return names[match["column"]] if match["column"] else names["window"] + equals

    return CHOICE.sub(name, text)


def as_controls(text: str) -> str:
    """Rewrite the fields of `Reading` that a sentence names as the lab's controls.

    >>> as_controls("set the format to csv, and say which has the counts (count_column)")
    'set “Format of the strings” to csv, and say which has the counts (“Column of the counts”)'
    """
    titles = {
        name: f"“{entry.title[0].upper()}{entry.title[1:]}”"
        for name, entry in options_of(Reading).items()
    }
    return in_terms_of(titles, text, " to ", " = ")
