"""Read and write files of the PAutomaC competition: solutions (true probabilities), and the models
that drew the strings.

Files of strings are read in `string_files` and written here, by `write_pautomac`. Source: Verwer,
Eyraud, de la Higuera, *PAutomaC*, Mach. Learn. 2014, and the competition's files.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import FormatError, check_types, plural, quoted
from ..limits import WHOLE_FILE, check_limit
from ..models.wfa import WFA
from ..rounding import format_apart
from ..strings.words import Alphabet, FloatArray, Words, check_symbols
from .recognition import MODEL, SOLUTION, check_kind
from .string_files import bytes_of, clean, finite, first_rows, line_blocks, positive_count

# section of a model file -> number of indices of an entry
SECTIONS = {"I": 1, "F": 1, "S": 2, "T": 3}
HEADING = re.compile(r"([IFST])\s*:.*")
ENTRY = re.compile(r"\(\s*([0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)\s*\)\s+(\S+)")
ROUNDING = 1e-6  # the error allowed in probabilities, because model files hold 12 digits


def write_pautomac(words: Words, num_symbols: int) -> str:
    """Write a file of strings that `string_files.read_strings` reads back as the same words.

    >>> write_pautomac(Words.of([(0, 1), ()]), num_symbols=2)
    '2 2\\n2 0 1\\n0\\n'

    Raises
    ------
    RecipeError
        If a symbol is not in 0 … num_symbols − 1.
    """
    check_symbols(words, num_symbols)
    rows = [(len(words), num_symbols), *((len(word), *word) for word in words)]
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)


@check_types
def read_solution(data: bytes | Path) -> FloatArray:
    """Read the probabilities of a solution file, in the order of the test file's strings.

    The competition's solutions are normalised over the test set: they sum to 1, and are
    proportional to the true probabilities.

    >>> read_solution(b"2\\n0.25\\n0.75\\n").tolist()
    [0.25, 0.75]

    Returns
    -------
    array, shape (num_strings,)

    Raises
    ------
    FormatError
        If a line is not a finite number of at least 0, or the count in the first line is wrong.
    """
    cleaned = clean(bytes_of(data))
    check_kind(first_rows(cleaned), SOLUTION)
    filled = (
        (line, row)
        for line, row in enumerate(
            map(str.strip, chain.from_iterable(line_blocks(cleaned))), start=1
        )
        if row
    )
    first, number = next(filled)
    promised = positive_count(number, first)
    num_values = sum(sum(map(bool, map(str.strip, block))) for block in line_blocks(cleaned)) - 1
    if promised != num_values:
        raise FormatError(
            f"the first line promises {plural(promised, 'probability line')}, but "
            f"{num_values:,} follow",
            first,
        )
    return np.fromiter(
        (finite(row, line, at_least=0) for line, row in filled), dtype=np.float64, count=num_values
    )


def solution_reading(values: FloatArray) -> str:
    """Describe how a solution was read.

    >>> solution_reading(np.array([0.25, 0.5]))
    'read as a PAutomaC solution: 2 probabilities, from 0.25 to 0.5'
    """
    number = f"{len(values):,} {'probability' if len(values) == 1 else 'probabilities'}"
    lowest, highest = format_apart(float(values.min()), float(values.max()))
    return f"read as {SOLUTION}: {number}, from {lowest} to {highest}"


def model_reading(model: WFA) -> str:
    """Describe how a model file was read: the numbers of states and symbols."""
    return (
        f"read as {MODEL}: {plural(model.num_states, 'state')}, "
        f"{plural(model.num_symbols, 'symbol')}"
    )


def write_solution(values: npt.ArrayLike) -> str:
    """Write a solution file of values, shape (num_strings,). Finite values of at least 0 are read
    back exactly.

    >>> write_solution([0.1, 1e-20])
    '2\\n0.1\\n1e-20\\n'
    """
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return "".join(f"{number!r}\n" for number in [len(numbers), *numbers])


@check_types
def read_pautomac_model(
    data: bytes | Path, num_symbols: int | None = None, alphabet: Alphabet | None = None
) -> WFA:
    """Read the automaton of a model file.

    In the file, S(i, a) and T(i, a, j) are conditional on not stopping in state i: A_a[i, j] = (1 −
    F_i) S(i, a) T(i, a, j), α₀ = I, α∞ = F. Entries that are not in the file are 0. Whether
    probabilities sum to 1 is not checked; `WFA.total_weight` shows whether they do.

    Parameters
    ----------
    data : bytes or Path
        The file's content, or its path. Its format is that of the competition (Verwer, Eyraud, de
        la Higuera 2014).
    num_symbols : int, optional
        The size of the test file's alphabet. A model file has only the symbols that the model
        emits, which may be fewer (in problem 39, 12 of 14).
    alphabet : Alphabet, optional
        The symbols that the numbers 0, 1 … of the file stand for, in this order; by default, the
        numbers themselves.

    Raises
    ------
    FormatError
        If a line is malformed, a section is missing, an entry occurs twice, or the automaton would
        be too large.

    Examples
    --------
    >>> from nlwfa_core import read_pautomac_model
    >>> text = "I: (state)\\n(0) 1\\nF: (state)\\n(0) 0.5\\nS: (state,symbol)\\n(0,0) 1\\nT: (state,symbol,state)\\n(0,0,0) 1\\n"
    >>> model = read_pautomac_model(text.encode())
    >>> model.num_states, model.total_weight()
    (1, 1.0)
    """  # noqa: E501
    cleaned = clean(bytes_of(data))
    check_kind(first_rows(cleaned), MODEL)
    entries = _model_entries(cleaned.decode("utf-8").split("\n"))
    num_states = 1 + max(
        max(key[0], key[-1] if name != "S" else 0) for name in SECTIONS for key in entries[name]
    )
    emitted = 1 + max((key[1] for name in "ST" for key in entries[name]), default=0)
    if alphabet is not None:
        num_symbols = len(alphabet)
        if not alphabet.is_numbered and all(symbol.isdecimal() for symbol in alphabet.symbols):
            raise FormatError(
                f"the model's symbols must be those of the strings, {alphabet.summary}; got "
                "the numbers 0, 1, …"
            )
    size = emitted if num_symbols is None else num_symbols
    if size < emitted:
        raise FormatError(
            f"the model emits symbol {emitted - 1}, but the alphabet has only "
            f"{plural(size, 'symbol')}"
        )
    check_limit("the alphabet size", size, "symbols", WHOLE_FILE)
    check_limit("symbols × states²", size * num_states**2, "automaton_numbers", WHOLE_FILE)
    initial = np.zeros(num_states)
    termination = np.zeros(num_states)
    transitions = np.zeros((size, num_states, num_states))
    for (state,), value in entries["I"].items():
        initial[state] = value
    for (state,), value in entries["F"].items():
        termination[state] = value
    for (state, symbol, target), value in entries["T"].items():
        emission = entries["S"].get((state, symbol), 0.0)
        transitions[symbol, state, target] = (1 - termination[state]) * emission * value
    return WFA(initial, transitions, termination, alphabet or Alphabet.numbered(size))


def _model_entries(rows: list[str]) -> dict[str, dict[tuple[int, ...], float]]:
    entries: dict[str, dict[tuple[int, ...], float]] = {}
    section = ""
    for line, row in enumerate(map(str.strip, rows), start=1):
        heading = HEADING.fullmatch(row)
        if heading:
            section = heading[1]
            if section in entries:
                raise FormatError(f"section {section} appears more than once", line)
            entries[section] = {}
        elif row:
            entry = ENTRY.fullmatch(row)
            key = tuple(int(index.strip()) for index in entry[1].split(",")) if entry else ()
            if entry is None or not section or len(key) != SECTIONS[section]:
                allowed = {
                    "I": "(state)",
                    "F": "(state)",
                    "S": "(state,symbol)",
                    "T": "(state,symbol,state)",
                }.get(section)
                needed = (
                    f"{allowed} and a probability"
                    if allowed
                    else f"a heading: one of {', '.join(SECTIONS)} and a colon"
                )
                raise FormatError(f"expected {needed}; got {quoted(row)}", line)
            if key in entries[section]:
                raise FormatError(f"{section} has a second entry for {quoted(entry[1])}", line)
            value = entries[section][key] = finite(entry[2], line, at_least=0)
            if value > 1 + ROUNDING:
                raise FormatError(f"a probability must be at most 1; got {quoted(entry[2])}", line)
    missing = [name for name in SECTIONS if name not in entries]
    if missing or not entries["I"]:
        raise FormatError(
            f"the model lacks section {missing[0]}"
            if missing
            else "section I is empty: there is no initial state"
        )
    return entries
