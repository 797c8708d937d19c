"""Read the Markdown files of lessons, tasks, quizzes and automata to build, which all have the
same form.

A file begins with a heading of lines `name: value` between two lines of `---`. Each part begins
with a `## ` line, its title.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ..errors import FormatError, RecipeError, did_you_mean

T = TypeVar("T")
NUMBER = re.compile("^([0-9]+)-")  # at the beginning of a file's name


@dataclass(frozen=True)
class Section:
    """Lines of a file."""

    lines: list[str]
    first: int  # the number of the first line in the file, counted from 1

    @property
    def title(self) -> str:
        """Return the text of the first line without `## `."""
        return self.lines[0][3:].strip()

    @property
    def values(self) -> Section:
        """Return the lines between the title and the first blank line."""
        blank = next(
            (index for index, line in enumerate(self.lines) if not line.strip()), len(self.lines)
        )
        return Section(self.lines[1:blank], self.first + 1)

    @property
    def body(self) -> Section:
        """Return the lines from the first blank line to the end."""
        start = 1 + len(self.values.lines)
        return Section(self.lines[start:], self.first + start)


def sections(text: str) -> list[Section]:
    """Return the parts that begin with a `## ` line.

    >>> [(part.title, part.first) for part in sections("# A file\\n## One\\ntext\\n## Two")]
    [('One', 2), ('Two', 4)]
    """
    lines = text.split("\n")
    starts = [index for index, line in enumerate(lines) if line.startswith("## ")]
    return [Section(lines[start:end], start + 1) for start, end in pairwise([*starts, len(lines)])]


def read_heading(text: str, file: str) -> Section:
    """Return the lines of the heading.

    `file`: what the file is, in error messages: such as "a lesson".

    Raises FormatError if the file does not begin with a heading.
    """
    lines = text.split("\n")
    if lines[0].strip() != "---" or "---" not in lines[1:]:
        raise FormatError(f"{file} must begin with its heading, between two lines of ---", 1)
    return Section(lines[1 : lines.index("---", 1)], 2)


def read_parts(text: str, heading: Section, file: str, part: str) -> list[Section]:
    """Return the parts below a heading. `part` is what one of them is, in error messages: such as
    "step".

    Raises FormatError if there is no part, or text before the first one.
    """
    end = heading.first + len(heading.lines)
    parts = sections(text)
    if not parts:
        raise FormatError(f"{file} needs at least one {part}: a line that begins with ##", end)
    lines = text.split("\n")[end : parts[0].first - 1]
    stray = [line for line, text_of_line in enumerate(lines, end + 1) if text_of_line.strip()]
    if stray:
        raise FormatError(f"there is text before the first {part}", stray[0])
    return parts


def named_values(
    section: Section, names: tuple[str, ...], repeatable: tuple[str, ...] = ()
) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, the name and the value of each `name: value` line.

    `repeatable`: the names that may have several lines.

    Raises FormatError if a line has no colon, its name is not one of `names`, or it repeats a name.
    """
    seen: set[str] = set()
    for line, text in enumerate(section.lines, section.first):
        before, colon, value = text.partition(":")
        name = before.strip()
        if not colon or name not in names:
            raise unknown_name(text, names, line)
        if name in seen and name not in repeatable:
            raise FormatError(f"{name} occurs twice", line)
        seen.add(name)
        yield line, name, value.strip()


def unknown_name(text: str, names: tuple[str, ...], line: int, advice: str = "") -> FormatError:
    """Return the error for a line that should have been `name: value`.

    `advice`: what to do if it should not have been, to be put at the end.
    """
    name = text.partition(":")[0].strip().lower()
    near = f"; did you mean {name}?" if name in names else did_you_mean(name, names)
    return FormatError(
        f"expected one of these words, followed by a colon: {', '.join(names)}; got "
        f"{text[:60]!r}{near}{advice}",
        line,
    )


def required_values(section: Section, names: tuple[str, ...]) -> dict[str, str]:
    """Return name -> value of the lines `name: value`.

    Also raises FormatError if a name is missing or has no value.
    """
    values = {name: value for _, name, value in named_values(section, names)}
    missing = [name for name in names if not values.get(name)]
    if missing:
        raise FormatError(f"the line {missing[0]}: is missing, or has no value", section.first)
    return values


def read_folder(
    folder: Path,
    read: Callable[[str, str], Iterable[tuple[str, T, int]]],
    errors: list[str] | None = None,
) -> dict[str, T]:
    """Read all Markdown files of a folder, in the order of the numbers with which their names
    begin: name -> what `read` makes of it. Files without a number are last, in the order of their
    names.

    `read`: a function (name, text) of a file -> names, values, and the line of each. The number is
    not part of the name. `errors`: if a list is given, a file with an error is left out, and its
    error message is appended to the list.

    Raises RecipeError if a file has an error, or two values have the same name, unless there is
    such a list; the message names the file.
    """
    values: dict[str, T] = {}
    for path in sorted(folder.glob("*.md"), key=_place):
        name = NUMBER.sub("", path.stem)
        try:
            found: dict[str, T] = {}
            for key, value, line in read(name, read_text(path)):
                if key in values or key in found:
                    raise FormatError(f"the name {key!r} is already taken in this folder", line)
                found[key] = value
            values |= found
        except RecipeError as error:
            message = f"{path.name}: {error}"
            if errors is None:
                raise RecipeError(message) from None
            errors.append(message)
    return values


def _place(path: Path) -> tuple[float, str]:
    """Return what a file is sorted by."""
    number = NUMBER.match(path.stem)
    return float(number[1]) if number else math.inf, path.stem


def read_text(path: Path) -> str:
    """Read a file's text. Raises FormatError if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise FormatError("the file must be saved as UTF-8", line) from None
