"""JFLAP's finite automata: as the program writes them, and back again."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import WFA, Alphabet, RecipeError
from nlwfa_core.errors import FormatError
from nlwfa_core.export.automaton_formats import jflap
from nlwfa_core.sources.exchange import automaton_format
from nlwfa_core.sources.jflap import is_deterministic, read_jflap
from nlwfa_core.teaching.automata.automaton_files import automaton_files, read_automaton

# As JFLAP 7.1 writes it: strings over {0, 1} that end in 01.
ENDS_IN_01 = (
    '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 7.1.-->'
    "<structure>&#13;\n\t<type>fa</type>&#13;\n\t<automaton>&#13;\n\t\t<!--The list of states.-->&#13;\n"  # noqa: E501
    '\t\t<state id="4" name="q0">&#13;\n\t\t\t<x>75.0</x>&#13;\n\t\t\t<y>141.0</y>&#13;\n'
    "\t\t\t<initial/>&#13;\n\t\t</state>&#13;\n"
    '\t\t<state id="7" name="q1"><x>1.0</x><y>2.0</y></state>&#13;\n'
    '\t\t<state id="9" name="q2"><x>1.0</x><y>2.0</y><final/></state>&#13;\n'
    "\t\t<transition><from>4</from><to>4</to><read>0</read></transition>&#13;\n"
    "\t\t<transition><from>4</from><to>4</to><read>1</read></transition>&#13;\n"
    "\t\t<transition><from>4</from><to>7</to><read>0</read></transition>&#13;\n"
    "\t\t<transition><from>7</from><to>9</to><read>1</read></transition>&#13;\n"
    "\t</automaton>&#13;\n</structure>"
)
MANY = '<state id="{}"><initial/></state>'
STATE = '<state id="0"><initial/><final/></state>'


def fa(inside: str, kind: str = "fa") -> bytes:
    return f"<structure><type>{kind}</type><automaton>{inside}</automaton></structure>".encode()


def arrow(symbol: str, target: int = 0) -> str:
    return f"<transition><from>0</from><to>{target}</to>{symbol}</transition>"


def test_a_file_of_jflap_is_the_language_that_it_draws() -> None:
    data = ENDS_IN_01.encode()
    wfa = read_jflap(data)
    assert automaton_format(data) == "jflap" and wfa.alphabet == Alphabet(("0", "1"))
    for length in range(6):
        for word in map("".join, product("01", repeat=length)):
            assert wfa(word) == float(word.endswith("01")), word
    assert not is_deterministic(wfa)
    draft = read_automaton(data)
    assert draft.automaton("1101") == 1


def test_several_accepting_runs_are_counted() -> None:
    both = STATE + '<state id="1"><final/></state>' + arrow("<read>a</read>")
    assert read_jflap(fa(both + arrow("<read>a</read>", 1)))("a") == 2
    assert read_jflap(fa(both + 2 * arrow("<read>a</read>")))("a") == 1  # one arrow, drawn twice


@given(st.data())
def test_what_is_written_is_read_back(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    symbols = ("a", "<&>", "é")
    targets = st.one_of(st.none(), st.integers(0, size - 1))
    transitions = np.zeros((3, size, size))
    for symbol, state in product(range(3), range(size)):
        target = data.draw(targets)
        if target is not None:
            transitions[symbol, state, target] = 1
    transitions[:, 0, 0] = 1  # each symbol is somewhere
    initial = np.eye(size)[data.draw(st.integers(0, size - 1))]
    final = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=size, max_size=size)))
    wfa = WFA(initial, transitions, final, Alphabet(symbols))
    again = read_jflap(jflap(wfa, Alphabet(symbols)).encode())
    assert again.alphabet is not None
    order = [again.alphabet.symbols.index(symbol) for symbol in symbols]
    assert np.array_equal(again.transitions[order], transitions)
    assert np.array_equal(again.initial, initial) and np.array_equal(again.termination, final)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (fa(STATE + arrow("<read/>")), "reads nothing"),
        (fa(STATE + arrow("<read>a</read>", 3)), "must be between states; got '3' as <to>"),
        (fa(STATE + arrow("<read>a b</read>")), "without white space; got 'a b'"),
        (fa(STATE + STATE + arrow("<read>a</read>")), "each with a different id"),
        (fa('<state id="0"><final/></state>' + arrow("<read>a</read>")), "no state is initial"),
        (fa(STATE), "no transitions"),
        (fa("", "fa"), "must have states"),
        (fa(STATE, "pda"), "type fa.* got the type 'pda'"),
        (b"<structure><type>fa</type>", "not XML"),
        (b"<svg/>", "got the element 'svg'"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]>' + fa(STATE + arrow("<read>&b;</read>")), "<!DOCTYPE"),
        (
            # the same in another encoding, which the declaration names
            b'<?xml version="1.0" encoding="cp037"?>' + "<!DOCTYPE a>".encode("cp037"),
            "not UTF-8|not XML|file",
        ),
        (
            fa("".join(map(MANY.format, range(2001))) + arrow("<read>a</read>")),
            "at most 4,000,000; got 4,004,001",
        ),
    ],
)  # fmt: skip
def test_what_is_no_finite_automaton_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_jflap(data)


def test_only_what_accepts_or_refuses_is_written() -> None:
    half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    with pytest.raises(RecipeError, match="all weights must be 0 or 1; got 0.5"):
        jflap(half, Alphabet(("a",)))
    two = WFA([1, 1], [[[0, 1], [1, 0]]], [1, 0], Alphabet(("a",)))
    with pytest.raises(RecipeError, match="one initial state; this one has 2"):
        jflap(two, Alphabet(("a",)))
    with pytest.raises(RecipeError, match="can't contain the symbol"):
        jflap(WFA([1], [[[1]]], [1], Alphabet(("\x01",))), Alphabet(("\x01",)))
    draft = read_automaton(ENDS_IN_01.encode())
    assert read_jflap(automaton_files(draft)["automaton.jff"])("01") == 1
