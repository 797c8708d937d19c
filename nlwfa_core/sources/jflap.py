"""Read finite automata of JFLAP from .jff files of type "fa".

The weight of a string is the number of its accepting runs: 0 or 1 if the automaton is
deterministic. `export.automaton_formats.jflap` writes such files.
Source: JFLAP 7.1, https://www.jflap.org.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ..errors import FormatError, check_types, quoted
from ..models.wfa import WFA
from ..strings.words import Alphabet, check_written, in_order
from .exchange import check_size
from .string_files import bytes_of, clean

RUNS = "The automaton is not deterministic: a string's weight is the number of its accepting runs."


@check_types
def read_jflap(data: bytes | Path) -> WFA:
    """Read a finite automaton of JFLAP.

    >>> even = read_jflap(
    ...     b"<structure><type>fa</type><automaton>"
    ...     b'<state id="0"><initial/><final/></state><state id="1"/>'
    ...     b"<transition><from>0</from><to>1</to><read>a</read></transition>"
    ...     b"<transition><from>1</from><to>0</to><read>a</read></transition>"
    ...     b"</automaton></structure>"
    ... )
    >>> even("aa"), even("a")
    (1.0, 0.0)

    Returns the automaton, with its states in the file's order.

    Raises FormatError if the file is not XML of this form, has a <!DOCTYPE>, is another kind of
    machine, has a transition without a symbol (λ) or to a state that does not exist, or is too
    large.
    """
    cleaned = clean(bytes_of(data))
    if b"<!DOCTYPE" in cleaned or b"<!ENTITY" in cleaned:
        raise FormatError("a JFLAP file must not contain <!DOCTYPE")
    try:
        # whatever the declaration says, the bytes are UTF-8 by now
        root = ElementTree.fromstring(cleaned, ElementTree.XMLParser(encoding="utf-8"))
    except ElementTree.ParseError as error:
        raise FormatError(f"not XML: {error}") from None
    kind = (root.findtext("type") or "").strip()
    if root.tag != "structure" or kind != "fa":
        content = f"the type {quoted(kind)}" if kind else f"the element {quoted(root.tag)}"
        raise FormatError(f"only JFLAP's finite automata (type fa) can be read; got {content}")
    machine = root.find("automaton")
    machine = root if machine is None else machine
    states = {state.get("id", ""): state for state in machine.findall("state")}
    number = {name: place for place, name in enumerate(states)}
    if len(machine.findall("state")) > len(states) or not states:
        raise FormatError("a JFLAP file must have states, each with a different id")
    arrows = {
        (_end(arrow, "from", number), _symbol(arrow), _end(arrow, "to", number))
        for arrow in machine.findall("transition")
    }
    if not arrows:
        raise FormatError("the automaton has no transitions, so there are no symbols")
    alphabet = Alphabet(tuple(in_order([*{symbol for _, symbol, _ in arrows}])))
    check_written(alphabet)
    check_size(len(alphabet), len(states))
    transitions = np.zeros((len(alphabet), len(states), len(states)))
    for source, symbol, target in arrows:
        transitions[alphabet.symbols.index(symbol), source, target] = 1.0
    initial, final = (
        np.array([float(state.find(mark) is not None) for state in states.values()])
        for mark in ("initial", "final")
    )
    if not initial.any():
        raise FormatError("no state is initial; mark one in JFLAP")
    return WFA(initial, transitions, final, alphabet)


def is_deterministic(wfa: WFA) -> bool:
    """Return whether there is at most one initial state and, from each state, at most one
    transition for each symbol.
    """
    return bool(
        np.count_nonzero(wfa.initial) <= 1
        and (np.count_nonzero(wfa.transitions, axis=2) <= 1).all()
    )


def _end(arrow: ElementTree.Element, tag: str, number: dict[str, int]) -> int:
    name = (arrow.findtext(tag) or "").strip()
    if name not in number:
        raise FormatError(f"a transition must be between states; got {quoted(name)} as <{tag}>")
    return number[name]


def _symbol(arrow: ElementTree.Element) -> str:
    symbol = (arrow.findtext("read") or "").strip()
    if not symbol:
        raise FormatError(
            "a transition must read a symbol; got one that reads nothing (λ): first let JFLAP "
            "convert the automaton to a deterministic automaton"
        )
    if len(symbol.split()) > 1:
        raise FormatError(f"a symbol must be text without white space; got {quoted(symbol)}")
    return symbol
