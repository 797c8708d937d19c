"""A draft of an automaton: a table of its states and a table of its arrows, as a person writes
them, with all their mistakes.

A draft keeps every text as it was typed. `Draft.mistakes` names what can't be read, and
`Draft.automaton` is the automaton of all the rest, so a half-finished draft can be drawn.
Weights are decimal numbers or fractions such as 1/3.

`Draft.text` is the form in which teachers write automata (docs/tasks.md), `link_text` a short one
for an address.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...display.layout import distances
from ...errors import FormatError, RecipeError, check_one_of, format_exact, listed
from ...models.wfa import WFA
from ...strings.words import LAMBDA, Alphabet
from ..answers import read_number

MAX_STATES = 20
MAX_SYMBOLS = 12
MAX_TEXT = 40  # characters of a name, a symbol or a weight
MAX_LINK_BYTES = 100_000  # of a draft in a link, once it is unpacked
MAX_LINK = 3_000  # characters of a link's part: browsers and proxies take addresses of 8,000
LARGEST_WEIGHT = 1e100
WORDS = {"symbols": "symbols", "state": "name α₀ α∞", "arrow": "state symbol state weight"}


class StateRow(NamedTuple):
    """A state's name, its entry of α₀ and its entry of α∞, as they were typed; an entry that is
    left empty is 0.
    """

    name: str
    initial: str = "0"
    termination: str = "0"


class ArrowRow(NamedTuple):
    """An arrow: the state that it leaves, a symbol, the state that it leads to, and its weight, as
    they were typed.
    """

    source: str
    symbol: str
    target: str
    weight: str = "1"


def weight_of(text: str) -> float:
    """Read a weight: a decimal number or a fraction (see `teaching.answers.read_number`). Raises
    RecipeError
    unless it is finite.

    >>> weight_of("0.25"), weight_of("−1/4"), weight_of("2e-3")
    (0.25, -0.25, 0.002)
    """
    try:
        # also with an exponent of three digits
        value = float(text) if "_" not in text else read_number(text)
    except ValueError:  # RecipeError is a ValueError
        value = read_number(text)
    if not abs(value) <= LARGEST_WEIGHT:
        raise RecipeError(
            f"a weight must be a finite number of at most {format_exact(LARGEST_WEIGHT)}; "
            f"got {text.strip()[:MAX_TEXT]!r}"
        )
    return value


def weight_text(value: float) -> str:
    """Write a weight so that `weight_of` reads the same number.

    >>> weight_text(1.0), weight_text(0.5), weight_text(-0.0)
    ('1', '0.5', '0')
    """
    return repr(value + 0.0).removesuffix(".0")


@dataclass(frozen=True)
class Draft:
    """An automaton as it is being made."""

    states: tuple[StateRow, ...]
    arrows: tuple[ArrowRow, ...] = ()
    symbols: tuple[str, ...] = ()  # symbols that belong to the alphabet even if no arrow reads them

    @classmethod
    def of(cls, wfa: WFA, names: Sequence[str] = ()) -> Draft:
        """Write an automaton as a draft, its states named 1, 2, … unless there are names.

        Raises RecipeError if it has too many states or symbols, or a symbol that can't be written
        in a table.
        """
        alphabet = wfa.alphabet or Alphabet.numbered(wfa.num_symbols)
        for what, number, most in (
            ("states", wfa.num_states, MAX_STATES),
            ("symbols", wfa.num_symbols, MAX_SYMBOLS),
        ):
            if number > most:
                raise RecipeError(
                    f"an automaton on this page can have at most {most} {what}; got {number:,}"
                )
        for symbol in alphabet.symbols:
            problem = _symbol_problem(symbol)
            if problem:
                raise RecipeError(problem)
        names = names or [str(number) for number in range(1, wfa.num_states + 1)]
        states = tuple(
            StateRow(name, weight_text(first), weight_text(last))
            for name, first, last in zip(
                names, wfa.initial.tolist(), wfa.termination.tolist(), strict=True
            )
        )
        arrows = tuple(
            ArrowRow(
                names[i],
                alphabet.symbols[symbol],
                names[j],
                weight_text(float(wfa.transitions[symbol, i, j])),
            )
            for i, symbol, j in np.argwhere(wfa.transitions.transpose(1, 0, 2) != 0).tolist()
        )
        return cls(states, arrows, alphabet.symbols)

    @cached_property
    def _reading(self) -> _Reading:
        return _Reading(self)

    @property
    def mistakes(self) -> tuple[str, ...]:
        """Name each row that can't be read, with the reason, in the order of the tables."""
        return tuple(self._reading.mistakes)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the states that the automaton has: rows without a mistake, in their
        order.
        """
        return tuple(self._reading.index)

    @property
    def alphabet(self) -> Alphabet | None:
        """Return the symbols of the draft and of its arrows, in order; None if there are none."""
        return self._reading.alphabet

    @cached_property
    def automaton(self) -> WFA:
        """Make the automaton of all rows without a mistake.

        Raises RecipeError if there is no state, or no symbol.
        """
        reading = self._reading
        if not reading.index:
            raise RecipeError("an automaton needs at least one state; add one")
        if reading.alphabet is None:
            raise RecipeError("an automaton needs at least one symbol: add an arrow that reads one")
        k = len(reading.index)
        code = {symbol: number for number, symbol in enumerate(reading.alphabet.symbols)}
        transitions = np.zeros((len(code), k, k))
        for (source, symbol, target), (_, weight) in reading.arrows.items():
            transitions[code[symbol], reading.index[source], reading.index[target]] = weight
        initial, termination = np.array([reading.entries[name] for name in reading.index]).T
        return WFA(initial, transitions, termination, reading.alphabet)

    @property
    def notes(self) -> tuple[str, ...]:
        """State which states no string visits, because nothing leads there or nothing leads from
        there to an end.
        """
        reading = self._reading
        index = reading.index
        names = self.names
        pairs = [
            (index[source], index[target])
            for (source, _, target), (_, weight) in reading.arrows.items()
            if weight
        ]
        starts = [index[name] for name in names if reading.entries[name][0]]
        ends = [index[name] for name in names if reading.entries[name][1]]
        sentences = []
        if names and not starts:
            sentences.append(
                "No state has an initial weight, so every string has the weight 0: set α₀ of "
                "a state."
            )
        if names and not ends:
            sentences.append(
                "No state has a final weight, so every string has the weight 0: set α∞ of a state."
            )
        if starts and ends:
            forward = distances(len(names), starts, pairs)
            backward = distances(len(names), ends, [(j, i) for i, j in pairs])
            sentences += [
                f"State {name} can't be reached: no chain of arrows leads to it from a state "
                "with an initial weight."
                for name, distance in zip(names, forward, strict=True)
                if distance is None
            ]
            sentences += [
                f"State {name} reaches no end: no chain of arrows leads from it to a state "
                "with a final weight."
                for name, distance in zip(names, backward, strict=True)
                if distance is None
            ]
        return tuple(sentences)

    # Changes

    def with_state(self) -> Draft:
        """Add a state with the next free number as its name. The first one begins every string.

        >>> Draft(()).with_state().with_state().states
        (StateRow(name='1', initial='1', termination='0'), StateRow(name='2', initial='0', termination='0'))
        """  # noqa: E501
        taken = {row.name.strip() for row in self.states}
        name = next(str(number) for number in range(1, len(taken) + 2) if str(number) not in taken)
        return replace(self, states=(*self.states, StateRow(name, "0" if self.states else "1")))

    def with_entries(self, name: str, initial: str, termination: str) -> Draft:
        """Set a state's entries of α₀ and α∞."""
        row = StateRow(name, initial, termination)
        return replace(
            self, states=tuple(row if old.name.strip() == name else old for old in self.states)
        )

    def without_state(self, name: str) -> Draft:
        """Remove a state, and all arrows from it and to it."""
        return replace(
            self,
            states=tuple(row for row in self.states if row.name.strip() != name),
            arrows=tuple(
                row for row in self.arrows if name not in (row.source.strip(), row.target.strip())
            ),
        )

    def with_arrow(self, arrow: ArrowRow) -> Draft:
        """Add an arrow, or change the weight of the one with the same states and symbol."""
        rows = [arrow if row[:3] == arrow[:3] else row for row in self.arrows]
        return replace(self, arrows=tuple(rows if arrow in rows else [*rows, arrow]))

    def without_arrow(self, source: str, symbol: str, target: str) -> Draft:
        """Remove an arrow."""
        return replace(
            self, arrows=tuple(row for row in self.arrows if row[:3] != (source, symbol, target))
        )

    # Forms

    @property
    def text(self) -> str:
        """Write the draft in lines, as `read_draft` reads it.

        Names and symbols must not contain white space.
        """
        lines = [f"symbols {' '.join(self.symbols)}"] if self.symbols else []
        lines += [
            f"state {row.name} {row.initial or 0} {row.termination or 0}" for row in self.states
        ]
        lines += [f"arrow {' '.join(row)}" for row in self.arrows]
        return "\n".join(lines) + "\n"

    def link_text(self) -> str:
        """Pack the draft for a link, mistakes included. `draft_of_link` unpacks it."""
        packed = json.dumps(
            [self.states, self.arrows, self.symbols], ensure_ascii=False, separators=(",", ":")
        )
        return base64.urlsafe_b64encode(zlib.compress(packed.encode(), 9)).decode().rstrip("=")


class _Reading:
    """The rows of a draft that can be read, and the mistakes of the others."""

    def __init__(self, draft: Draft) -> None:
        self.mistakes: list[str] = []
        self.index: dict[str, int] = {}
        self.entries: dict[str, tuple[float, float]] = {}
        self.arrows: dict[tuple[str, str, str], tuple[int, float]] = {}  # -> row and weight
        for number, row in enumerate(draft.states, 1):
            if any(text.strip() for text in row):
                self._state(f"States, row {number}", row)
        symbols = [symbol for symbol in draft.symbols if not _symbol_problem(symbol)]
        self.mistakes += [
            f"Symbols: {_symbol_problem(symbol)}"
            for symbol in draft.symbols
            if _symbol_problem(symbol)
        ]
        for number, arrow in enumerate(draft.arrows, 1):
            if any(text.strip() for text in arrow[:3]):
                self._arrow(number, arrow)
        symbols += [symbol for _, symbol, _ in self.arrows]
        if len(set(symbols)) > MAX_SYMBOLS:
            self.mistakes.append(
                f"Arrows: at most {MAX_SYMBOLS} different symbols; got {len(set(symbols))}"
            )
            symbols = list(dict.fromkeys(symbols))[:MAX_SYMBOLS]
            self.arrows = {
                arrow: entry for arrow, entry in self.arrows.items() if arrow[1] in symbols
            }
        self.alphabet = Alphabet.of(symbols) if symbols else None

    def _state(self, where: str, row: StateRow) -> None:
        name = row.name.strip()
        problem = ""
        if not name:
            problem = "the state has no name"
        elif re.search(r"\s", name) or len(name) > MAX_TEXT:
            problem = (
                f"a name must have no spaces and at most {MAX_TEXT} characters; got "
                f"{name[:MAX_TEXT]!r}"
            )
        elif name in self.index:
            problem = f"there is already a state {name}; each name may be used once"
        elif len(self.index) == MAX_STATES:
            problem = f"an automaton on this page can have at most {MAX_STATES} states"
        entries = []
        for title, text in (("α₀", row.initial), ("α∞", row.termination)):
            try:
                entries.append(weight_of(text) if text.strip() else 0.0)
            except RecipeError as error:
                problem = problem or f"{title}: {error}"
        if problem:
            self.mistakes.append(f"{where}: {problem}")
        else:
            self.index[name] = len(self.index)
            self.entries[name] = (entries[0], entries[1])

    def _arrow(self, number: int, row: ArrowRow) -> None:
        source, symbol, target = (text.strip() for text in row[:3])
        names = listed(list(self.index)) or "none"
        problem = ""
        for title, name in (("From", source), ("To", target)):
            if not name:
                problem = problem or f"{title}: the state is missing"
            elif name not in self.index:
                problem = (
                    problem
                    or f"{title}: there is no state {name[:MAX_TEXT]}; the states are {names}"
                )
        problem = problem or _symbol_problem(symbol)
        weight = 0.0
        try:
            weight = weight_of(row.weight) if row.weight.strip() else np.nan
        except RecipeError as error:
            problem = problem or str(error)
        if not problem and np.isnan(weight):
            problem = "the weight is missing"
        if not problem and (source, symbol, target) in self.arrows:
            first = self.arrows[source, symbol, target][0]
            problem = (
                f"row {first} has an arrow from {source} to {target} with {symbol} already; put "
                "the sum of the weights there"
            )
        if problem:
            self.mistakes.append(f"Arrows, row {number}: {problem}")
        else:
            self.arrows[source, symbol, target] = (number, weight)


def _symbol_problem(symbol: str) -> str:
    if not symbol:
        return "the symbol is missing"
    if re.search(r"\s", symbol):
        return f"a symbol must have no spaces; got {symbol[:MAX_TEXT]!r}"
    if symbol == LAMBDA:
        return "λ stands for the empty string, and can't be a symbol"
    return (
        ""
        if len(symbol) <= MAX_TEXT
        else f"a symbol has at most {MAX_TEXT} characters; got {len(symbol)}"
    )


def read_draft(text: str, first_line: int = 1) -> Draft:
    """Read an automaton from lines: "symbols a b", "state 1 1 0" (name, α₀, α∞) and "arrow 1 a 2
    0.5" (from, symbol, to, weight).

    Empty lines and lines that begin with # are left out.

    >>> read_draft("state 1 1 1/2\\narrow 1 a 1 1/2").automaton.total_weight()
    1.0

    Raises FormatError with the number of the line that has the error.
    """
    states = list[StateRow]()
    arrows = list[ArrowRow]()
    symbols = tuple[str, ...]()
    for number, line in enumerate(text.split("\n"), first_line):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        expected = {"symbols": len(words), "state": 4, "arrow": 5}
        if words[0] not in expected or len(words) != expected[words[0]] or len(words) == 1:
            forms = " or ".join(f"{name} {rest}" for name, rest in WORDS.items())
            raise FormatError(
                f"a line of an automaton is {forms}; got {line.strip()[:60]!r}", number
            )
        if words[0] == "symbols":
            symbols = tuple(words[1:])
        elif words[0] == "state":
            states.append(StateRow(*words[1:]))
        else:
            arrows.append(ArrowRow(*words[1:]))
        problems = Draft(tuple(states), tuple(arrows), symbols).mistakes
        if problems:
            raise FormatError(problems[0].partition(": ")[2], number)
    return Draft(tuple(states), tuple(arrows), symbols)


def draft_of_link(text: str) -> Draft:
    """Unpack a draft from a link. Raises RecipeError if it is damaged."""
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacking = zlib.decompressobj()
        states, arrows, symbols = json.loads(unpacking.decompress(data, MAX_LINK_BYTES))
        draft = Draft(
            tuple(StateRow(*row) for row in states),
            tuple(ArrowRow(*row) for row in arrows),
            tuple(symbols),
        )
        texts = [text for row in (*draft.states, *draft.arrows) for text in row] + list(
            draft.symbols
        )
        sound = unpacking.eof and all(
            isinstance(text, str) and len(text) <= MAX_TEXT for text in texts
        )
    except (binascii.Error, zlib.error, ValueError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise RecipeError("the automaton in this link is damaged: copy the whole link again")
    return draft


EDITS = ("add-state", "state", "remove-state", "arrow", "remove-arrow")


def edited(draft: Draft, edit: Mapping[str, Any]) -> Draft:
    """Carry out an edit that a person made in the drawing.

    `edit`: "kind", one of EDITS, and texts: "name", "initial" and "termination" of a state, or
    "source", "symbol", "target" and "weight" of an arrow.

    Raises RecipeError if the edit would be a mistake; the draft then stays as it is.
    """
    texts = {name: text.strip()[:MAX_TEXT] for name, text in edit.items() if isinstance(text, str)}
    kind = texts.get("kind")
    check_one_of("an edit", kind, EDITS)
    get = texts.get
    if kind == "add-state":
        after = draft.with_state()
    elif kind == "state":
        after = draft.with_entries(get("name", ""), get("initial", ""), get("termination", ""))
    elif kind == "remove-state":
        after = draft.without_state(get("name", ""))
    elif kind == "arrow":
        after = draft.with_arrow(
            ArrowRow(get("source", ""), get("symbol", ""), get("target", ""), get("weight", ""))
        )
    else:
        after = draft.without_arrow(get("source", ""), get("symbol", ""), get("target", ""))
    new = [mistake for mistake in after.mistakes if mistake not in draft.mistakes]
    if new:
        raise RecipeError(new[0].partition(": ")[2])
    return after
