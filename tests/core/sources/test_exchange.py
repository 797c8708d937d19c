"""Automata of other programs: what we write as OpenFst or JSON is read back, and errors name the
line to blame.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import WFA, Alphabet, RecipeError, Words
from nlwfa_core.export.automaton_formats import openfst, openfst_symbols, weights_json
from nlwfa_core.sources.exchange import read_openfst, read_symbol_table, read_weights_json

SYMBOLS = ("a", "<&>", "1")


def weight(wfa: WFA, word: tuple[int, ...]) -> float:
    return float(wfa.weights(Words.of([word]))[0])


@st.composite
def automata(draw: st.DrawFn, lowest: float = -2.0) -> WFA:
    size = draw(st.integers(1, 3))
    number = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    parts = (rng.uniform(lowest, 1, shape) for shape in ((size,), (number, size, size), (size,)))
    initial, transitions, termination = (np.where(np.abs(part) < 0.3, 0, part) for part in parts)
    return WFA(initial, transitions, termination, Alphabet(SYMBOLS[:number]))


@given(automata())
def test_json_comes_back_with_every_digit(wfa: WFA) -> None:
    again = read_weights_json(weights_json(wfa, wfa.alphabet).encode())
    assert again.alphabet == wfa.alphabet
    for name in ("initial", "transitions", "termination"):
        np.testing.assert_array_equal(getattr(again, name), getattr(wfa, name))


@settings(deadline=None)
@given(automata(lowest=0.0), st.booleans())
def test_openfst_comes_back_as_the_same_function(wfa: WFA, with_table: bool) -> None:
    table = read_symbol_table(openfst_symbols(wfa.alphabet).encode())
    again = read_openfst(
        openfst(wfa).strip().encode() or b"0\tInfinity", table if with_table else None
    )
    assert again.alphabet == wfa.alphabet if with_table else again.alphabet.is_numbered
    for length in range(4):
        for word in itertools.product(range(again.num_symbols), repeat=length):
            assert weight(again, word) == pytest.approx(weight(wfa, word), rel=1e-12, abs=1e-15)
    if wfa.initial.all() and wfa.termination.all():
        assert again.num_states == wfa.num_states
        np.testing.assert_allclose(again.initial, wfa.initial, rtol=1e-14)


def test_empty_arcs_names_and_both_semirings() -> None:
    # From state 5 by ε (½) to itself and (¼) to 7; 7 reads b (½) and goes back, and stops with 1/8.
    # Σ (½)ⁿ = 2 ways to wait.
    text = b"5 5 <eps> .5\n5 7 <eps> .25\n7 5 b .5\n7 .125\n"
    table = read_symbol_table(b"<eps> 0\nb 4\na 2\n")
    wfa = read_openfst(text, table, "real", "names")
    # nothing but ε leaves state 5
    assert wfa.alphabet == Alphabet(("a", "b")) and wfa.num_states == 1
    assert [wfa(word) for word in ("", "b", "bb", "a")] == pytest.approx(
        [2 / 4 / 8, (2 / 4) ** 2 / 2 / 8, (2 / 4) ** 3 / 4 / 8, 0]
    )
    log = read_openfst(b"0 1 1\n1 1 1 0.5\n1\n0 Infinity\n")
    assert [weight(log, (0,) * length) for length in range(3)] == pytest.approx(
        [0, 1, np.exp(-0.5)]
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"0 1 1 1 0.5 7\n", "line 1: expected an acceptor"),
        (b"0 1 a\n", "line 1: states and labels must be whole numbers from 0; got 'a'"),
        (b"0 1 1 nan\n", "line 1: a weight must be a finite number or Infinity; got 'nan'"),
        (b"0 0 1\n\n0 x\n", "line 3: a weight must be"),
        (b"0 0 0 0\n0\n", "the weights of the paths without a symbol"),
        (b"\n", "the file is empty"),
        (b"0 99999 900000000\n", "the alphabet size"),
    ],
)
def test_bad_files_of_openfst_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read_openfst(text)


def test_tables_and_json_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RecipeError, match="line 2: a symbol or number occurs twice: 'b 1'"):
        read_symbol_table(b"a 1\nb 1\n")
    with pytest.raises(RecipeError, match="label 'c' is not in the symbol table"):
        read_openfst(b"0 0 c\n", {"a": 1}, labels="names")
    with pytest.raises(RecipeError, match="labels = 'names' needs the symbol table"):
        read_openfst(b"0 0 c\n", labels="names")
    for text, message in (
        (b"[1]", "must be an object with the fields initial, transitions, termination"),
        (
            b'{"initial": [1], "transitions": [[[1], [2, 3]]], "termination": [1]}',
            "transitions must be lists of numbers",
        ),
        (b'{"initial": 1, "transitions": [[[1]]], "termination": [1]}', "must be lists of numbers"),
        (
            b'{"initial": [1], "transitions": [[["inf"]]], "termination": [1]}',
            "transitions must hold numbers, not text",
        ),
        (
            b'{"initial": [1], "transitions": [[[1]]], "termination": [1], "symbols": [1]}',
            "symbols must be a list of strings",
        ),
        (b'{"initial": [1], "transitions": [[[1]]], "termination": [1, 2]}', "a WFA needs initial"),
    ):
        with pytest.raises(RecipeError, match=message):
            read_weights_json(text)


# OpenFst's default print: two labels in each arc


def read_weight(
    text: bytes, word: tuple[int, ...], names: bytes = b"", labels: str = "numbers"
) -> float:
    return weight(
        read_openfst(text, read_symbol_table(names) if names else None, labels=labels), word
    )


TABLE = b"<eps> 0\na 1\nb 2\n"


@pytest.mark.parametrize(
    ("text", "word", "expected"),
    [
        (b"0 1 1 1\n1 2 2 2\n2\n", (0, 1), 1.0),  # one path, all of whose weights are left out
        (b"0 1 1 1\n1 2 2 2\n2\n", (0,), 0.0),
        (b"0\t1\t97\t97\n1\t2\t98\t98\n2\n", (96, 97), 1.0),  # pynini's print of accep("ab")
        (b"0 1 1 1 0.6931471805599453\n0 1 2 2 0.6931471805599453\n1\n", (1,), 0.5),
        # an arc of weight 1 among others
        (b"0 1 1 1 0.6931471805599453\n0 1 2 2\n1 0.6931471805599453\n", (1,), 0.5),
        (b"0 0 1 1 0.6931471805599453\n0 0.6931471805599453\n", (0, 0), 0.125),
        (b"0 1 0 0\n1 2 1 1\n2\n", (0,), 1.0),  # an arc of ε
        (b"3 1 1 1 Infinity\n3 1 2 2\n1\n", (0,), 0.0),
        (b"0 1 1 0\n1 0\n", (0,), 1.0),  # an acceptor with all weights: −ln 1 = 0
        # an arc with one label shows that 2 is a weight
        (b"0 1 1 2\n0 1 2\n1\n", (0,), np.exp(-2)),
    ],
)
def test_two_equal_labels_are_those_of_an_acceptor(
    text: bytes, word: tuple[int, ...], expected: float
) -> None:
    assert read_weight(text, word) == pytest.approx(expected, rel=1e-12)


def test_names_may_stand_twice() -> None:
    assert read_weight(b"0 1 a a\n1\n", (0,), TABLE, "names") == 1.0
    assert read_weight(
        b"0 1 a a 0.6931471805599453\n0 1 b b 0.6931471805599453\n1\n", (1,), TABLE, "names"
    ) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"0 1 1 2 0.5\n1\n",
            "line 1: this is a transducer, whose arcs have different labels; got '1' and '2'",
        ),
        (b"0 1 1 1 0.5\n0 1 1 2 0.5\n1\n", "line 2: this is a transducer"),
        (
            b"0 1 a b\n1\n",
            "line 1: this is a transducer, whose arcs have different labels; got 'a' and 'b'",
        ),
        (
            b"0 1 1 2\n1 2 2 1\n2\n",
            "line 1: the fourth field of an arc may be an output label or a weight; got '0 1 1 2'",
        ),
        (
            b"0 1 1 1\n1 2 2 0\n2\n",
            "line 2: the fourth field of an arc may be an output label or a weight",
        ),
        (b"0 1 1 1 0.5 7\n", "line 1: expected an acceptor"),
        (b"0 1 1 " + b"9" * 400 + b"\n", "fourth field|finite"),
        (b"0 1 " + b"9" * 400 + b"\n", "states and labels must be whole numbers"),
        (b"0 1 1 -0." + b"9" * 400 + b"e999\n", "a weight must be a finite number"),
    ],
)
def test_transducers_and_doubtful_numbers_are_refused(text: bytes, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        read_openfst(text)


@pytest.mark.parametrize(
    "number", ["9" * 400, "-" + "9" * 400, "1e400", "9" * 5000, '"9"' * 2, "[[9]]", "null"]
)
def test_numbers_in_json_that_no_float64_holds_are_refused(number: str) -> None:
    for field in ("initial", "transitions", "termination"):
        parts = {"initial": "[1]", "transitions": "[[[0.5]]]", "termination": "[0.5]"}
        parts[field] = parts[field].replace("1", number).replace("0.5", number)
        text = ", ".join(f'"{name}": {part}' for name, part in parts.items())
        with pytest.raises(RecipeError):
            read_weights_json(f"{{{text}}}".encode())
