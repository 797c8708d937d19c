"""Read and write the files of the SPiCe competition: prefixes of strings, targets (what followed
each prefix), and rankings.

A file of prefixes has the form of a file of strings: in SPiCe, a first line `number_of_prefixes
alphabet_size`, and a line `length s₁ s₂ …` for each prefix. A line of targets is `best_gain symbol
probability symbol probability …`; if the strings are real data, it has one symbol, as in `1.0 3
1.0`. A line of a ranking has five symbols, the most likely first. The end of the string is −1.
Source: Balle et al. 2016, and the competition's own files and programs, `3gram_baseline.py` and
`score_computation.py`.

`metrics.ranking` makes and scores rankings.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import limits
from ..errors import FormatError, RecipeError, check_types, plural, quoted
from ..limits import check_at_most
from ..metrics.next_symbols import TOP
from ..metrics.ranking import END, NO_SYMBOL, Targets
from ..strings.words import Alphabet, IntArray, whole_numbers
from .reading import Reading
from .recognition import TARGET, check_kind
from .string_files import (
    MAX_DIGITS,
    StringFile,
    bytes_of,
    clean,
    finite,
    first_rows,
    line_blocks,
    read_strings,
)

NUMBER = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}")
EXAMPLE = (
    "the largest possible gain, and a probability for each symbol, as in '1.0 3 1.0', or one "
    "symbol, as in '3'"
)


@check_types
def read_prefixes(
    data: bytes | Path, format: str | Reading = "auto", alphabet: Alphabet | None = None
) -> StringFile:
    """Read a file of prefixes, in any format of a string file.

    >>> list(read_prefixes(b"2 3\\n2 0 2\\n0\\n").words)
    [(0, 2), ()]

    Parameters
    ----------
    data, format, alphabet
        As for `string_files.read_strings`.

    Returns
    -------
    StringFile
        The prefixes. `StringFile.names` are the names of the symbols in the targets and rankings of
        these prefixes.

    Raises
    ------
    FormatError
        If the file can't be read, or a line counts for more than one prefix.
    RecipeError
        If the format is unknown, or there is no such file.
    """
    file = read_strings(data, format, alphabet)
    if file.weights is not None and (file.weights != 1).any():
        row = int(np.argmax(file.weights != 1))
        raise FormatError(
            "each line must hold one prefix, without a count or with the count 1; got a "
            f"count of {file.weights[row]:,} for prefix "
            f"{row + 1:,}"
        )
    return file


@check_types
def read_targets(data: bytes | Path, alphabet: Alphabet | None = None) -> Targets:
    """Read a file of targets: the symbols that followed each prefix of a file of prefixes, in the
    same order.

    >>> targets = read_targets(b"0.8 2 0.5 -1 0.5\\n1.0 0 1.0\\n")
    >>> targets.symbols.tolist(), targets.probabilities.tolist(), targets.best_gains.tolist()
    ([2, -1, 0], [0.5, 0.5, 1.0], [0.8, 1.0])

    Parameters
    ----------
    data : bytes or Path
        The content of a file, or its path. A line may also consist of one symbol, the one that
        followed the prefix.
    alphabet : Alphabet, optional
        The names of the symbols in the file (`StringFile.names`); by default, symbols are numbers
        from 0. Symbols that are not in the alphabet get the next higher numbers.

    Raises
    ------
    FormatError
        If a line is empty or malformed, has a symbol twice, a probability below 0 or a largest gain
        that is not above 0.
    RecipeError
        If there is no such file.
    """
    cleaned = clean(bytes_of(data))
    check_kind(first_rows(cleaned), TARGET)
    index = (
        None if alphabet is None else {name: number for number, name in enumerate(alphabet.symbols)}
    )
    symbols = array("q")
    probabilities = array("d")
    ends = array("q", [0])
    gains = array("d")
    for line, cells in _rows(cleaned, "targets"):
        if len(cells) == 1:
            symbols.append(_number(cells[0], index, line))
            probabilities.append(1.0)
            gains.append(1.0)
        elif len(cells) % 2 == 0:
            raise FormatError(
                f"a target must be {EXAMPLE}; got {quoted(' '.join(cells[:20]))}", line
            )
        else:
            numbers = [_number(name, index, line) for name in cells[1::2]]
            if len(set(numbers)) < len(numbers):
                twice = next(number for i, number in enumerate(numbers) if number in numbers[:i])
                raise FormatError(
                    "a target must list each symbol only once; got "
                    f"{quoted(cells[1::2][numbers.index(twice)])} twice",
                    line,
                )
            gain = finite(cells[0], line)
            if gain <= 0:
                raise FormatError(
                    "the largest possible gain of a target must be above 0; got "
                    f"{quoted(cells[0])}",
                    line,
                )
            symbols.extend(numbers)
            probabilities.extend(finite(cell, line, at_least=0) for cell in cells[2::2])
            gains.append(gain)
        ends.append(len(symbols))
    return Targets(
        np.frombuffer(symbols, np.int64),
        np.frombuffer(probabilities, np.float64),
        np.frombuffer(ends, np.int64),
        np.frombuffer(gains, np.float64),
    )


def targets_of(targets: Targets, num_prefixes: int) -> tuple[Targets, tuple[str, ...]]:
    """Return one target for each prefix, without surplus targets at the end, and a note for the
    user if there were any.

    One of the competition's files has a line too many.

    Raises FormatError if there are fewer targets than prefixes.
    """
    if len(targets) < num_prefixes:
        raise FormatError(
            f"the file of targets must have a line for each of the {num_prefixes:,} "
            f"prefixes; got {plural(len(targets), 'line')}"
        )
    if len(targets) == num_prefixes:
        return targets, ()
    end = int(targets.offsets[num_prefixes])
    first = Targets(
        targets.symbols[:end],
        targets.probabilities[:end],
        targets.offsets[: num_prefixes + 1],
        targets.best_gains[:num_prefixes],
    )
    return first, (
        f"{len(targets):,} targets for {num_prefixes:,} prefixes: the first {num_prefixes:,} "
        "are used.",
    )


def targets_reading(targets: Targets) -> str:
    """Describe how targets were read.

    >>> targets_reading(Targets.of([3, -1]))
    'read as a SPiCe target file: 2 lines'
    """
    return f"read as a SPiCe target file: {plural(len(targets), 'line')}"


@check_types
def read_ranking(data: bytes | Path, alphabet: Alphabet | None = None) -> IntArray:
    """Read a ranking: a line for each prefix, with the five most likely next symbols, the most
    likely first.

    Symbols after the fifth are left out, because the competition's score ignores them.

    >>> read_ranking(b"2 0 -1\\n1\\n").tolist()
    [[2, 0, -1], [1, -2, -2]]

    Parameters
    ----------
    data, alphabet
        The same as for `read_targets`.

    Returns
    -------
    array, shape (num_prefixes, num_ranks)
        The symbols of each line: −1 is the end of the string, −2 fills lines with fewer symbols.

    Raises
    ------
    FormatError
        If a line is empty or malformed.
    RecipeError
        If there is no such file.
    """
    index = (
        None if alphabet is None else {name: number for number, name in enumerate(alphabet.symbols)}
    )
    symbols = array("q")
    lengths = array("B")
    for line, cells in _rows(clean(bytes_of(data)), "a ranking"):
        numbers = [_number(name, index, line) for name in cells[:TOP]]
        symbols.extend(numbers)
        lengths.append(len(numbers))
    filled = np.arange(max(lengths)) < np.frombuffer(lengths, np.uint8)[:, None]
    ranking = np.full(filled.shape, NO_SYMBOL, dtype=np.int64)
    ranking[filled] = np.frombuffer(symbols, np.dtype(np.int64))
    return ranking


@check_types
def write_ranking(ranking: npt.NDArray[np.integer], alphabet: Alphabet | None = None) -> str:
    """Write a ranking as the competition expects it: a line for each prefix, symbols separated by
    spaces.

    If there are fewer than five next symbols, a line has all of them. The competition's programs
    also write and read such lines.

    >>> write_ranking(np.array([[2, 0, -1], [1, -2, -2]]))
    '2 0 -1\\n1\\n'
    >>> write_ranking(np.array([[0, -1]]), Alphabet(("a",)))
    'a -1\\n'

    Parameters
    ----------
    ranking : array, shape (num_prefixes, num_ranks)
        Symbols; −1 is the end of the string, −2 no symbol.
    alphabet : Alphabet, optional
        The names to write for the symbols; by default, their numbers.

    Raises
    ------
    RecipeError
        If the ranking is not a matrix of whole numbers, or if a symbol has no name or a name that
        can't be written in such a file.
    """
    ranking = whole_numbers("a ranking's symbols", ranking)
    if ranking.ndim != 2:
        raise RecipeError(
            f"a ranking must have one row for each prefix; got an array of shape {ranking.shape}"
        )
    width = ranking.shape[1]
    names = _written(ranking.ravel(), alphabet)
    absent = (ranking == NO_SYMBOL).any()
    rows: Iterable[Sequence[str]] = (
        names[start : start + width] for start in range(0, len(names), width)
    )
    if absent:
        rows = ([name for name in row if name] for row in rows)
    return "".join(f"{' '.join(row)}\n" for row in rows)


def _rows(cleaned: bytes, what: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line.

    Blank lines are allowed only at the end, because each line is for a prefix.
    """
    blank = 0
    for line, row in enumerate(chain.from_iterable(line_blocks(cleaned)), start=1):
        cells = row.split()
        if not cells:
            blank = blank or line
        elif blank:
            raise FormatError(f"{what} must have a line for each prefix; got an empty line", blank)
        else:
            yield line, cells


def _number(name: str, index: dict[str, int] | None, line: int) -> int:
    """Return the number of a symbol from its name; a name that is not yet in `index` is added with
    the next number.
    """
    if name == str(END):
        return END
    if index is not None:
        number = index.setdefault(name, len(index))
        check_at_most(
            "the number of symbols", number + 1, max(limits.most("symbols"), len(index) - 1), line
        )
        return number
    if not NUMBER.fullmatch(name):
        raise FormatError(
            f"a symbol must be a whole number from 0, or {END} for the end of the string; "
            f"got {quoted(name)}",
            line,
        )
    return int(name)


def _written(symbols: npt.NDArray[np.integer], alphabet: Alphabet | None) -> list[str]:
    """Return the name of each symbol; empty for −2, no symbol."""
    names: dict[int, str] = {END: str(END), NO_SYMBOL: ""}
    for symbol in set(symbols.tolist()) - names.keys():
        if symbol < 0 or (alphabet is not None and symbol >= len(alphabet)):
            raise RecipeError(
                f"symbols must be numbers of the alphabet, or {END} for the end of the "
                f"string; got {symbol}"
            )
        names[symbol] = name = str(symbol) if alphabet is None else alphabet.symbols[symbol]
        if alphabet is not None and (
            name == str(END) or len(name.split()) != 1 or name.strip() != name
        ):
            raise RecipeError(
                f"the symbol {quoted(name)} can't be written in a file that separates symbols by "
                f"spaces and marks the end of the string by {END}; number the symbols, as in "
                "SPiCe's files"
            )
    return [names[symbol] for symbol in symbols.tolist()]
