"""Solutions and models of the PAutomaC competition: what is written is read back, and errors name
the line to blame.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.sources.pautomac import (
    read_pautomac_model,
    read_solution,
    write_pautomac,
    write_solution,
)
from nlwfa_core.sources.random_automata import sample_words
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import DATA

PAUTOMAC = DATA / "pautomac"
PROBLEMS = sorted(path.name.split(".")[0] for path in PAUTOMAC.glob("*.pautomac_model.txt")) or [
    "1"
]
MODEL = """I: (state)
\t(0) 1.0
F: (state)
\t(1) 0.5
S: (state,symbol)
\t(0,0) 1.0
\t(1,1) 1.0
T: (state,symbol,state)
\t(0,0,1) 1.0
\t(1,1,1) 1.0
"""


@given(st.lists(st.floats(0, 1e300), min_size=1))
def test_solution_round_trip(values: list[float]) -> None:
    assert read_solution(write_solution(values).encode()).tolist() == values


def test_symbols_outside_the_alphabet_are_not_written() -> None:
    with pytest.raises(RecipeError, match="symbol 2 is not in the alphabet of 2 symbols"):
        write_pautomac(Words.of([(2,)]), 2)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", None, "the file is empty"),
        (b"x\n0.5\n", 1, "a count must be a whole number; got 'x'"),
        (b"3\n0.5\n0.5\n", 1, "promises 3 probability lines, but 2 follow"),
        (b"1\n-0.5\n", 2, "expected a finite number of at least 0; got '-0.5'"),
        (b"2\n0.5\nnan\n", 3, "got 'nan'"),
        (b"2\n0.5\ninf\n", 3, "got 'inf'"),
        (b"2\n0.5\n0_1\n", 3, "got '0_1'"),
        (b"1\n0.5 0.5\n", 2, "got '0.5 0.5'"),
    ],
)
def test_bad_solutions_are_refused(data: bytes, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_solution(data)
    assert caught.value.line == line


def test_a_model_by_hand() -> None:
    """State 0 emits 0 and goes to state 1, which stops half of the time, else emits 1: P(0 1ⁿ) =
    2⁻ⁿ⁻¹.
    """
    model = read_pautomac_model(MODEL.encode())
    assert model.weights(Words.of([(), (0,), (0, 1), (0, 1, 1), (1,)])).tolist() == [
        0,
        0.5,
        0.25,
        0.125,
        0,
    ]
    assert model.total_weight() == pytest.approx(1)
    assert read_pautomac_model(MODEL.encode(), num_symbols=4).num_symbols == 4
    assert model.alphabet == Alphabet(("0", "1"))
    letters = read_pautomac_model(MODEL.encode(), alphabet=Alphabet(("x", "y", "z")))
    assert (
        letters.weights(read_strings(b"xy\ny\nx\n").words).tolist()
        == model.weights(Words.of([(0, 1), (1,), (0,)])).tolist()
    )
    with pytest.raises(
        FormatError,
        match="the model's symbols must be those of the strings, 2 symbols: 1, 2; got the numbers "
        "0, 1, …",
    ):
        read_pautomac_model(MODEL.encode(), alphabet=Alphabet(("1", "2")))


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("\t(0) 1.0", "\t(0) one", 2, "expected a finite number of at least 0; got 'one'"),
        ("\t(1) 0.5", "\t(1) 1.5", 4, "a probability must be at most 1; got '1.5'"),
        ("\t(1) 0.5", "\t(-1) 0.5", 4, r"expected \(state\) and a probability; got '\(-1\) 0.5'"),
        ("\t(0,0) 1.0", "\t(0,0,0) 1.0", 6, r"expected \(state,symbol\) and a probability; got"),
        ("\t(1,1) 1.0", "\t(0,0) 1.0", 7, "S has a second entry for '0,0'"),
        ("\t(1,1) 1.0", "\t(1,1)", 7, r"expected \(state,symbol\) and a probability; got"),
        ("\t(0,0,1) 1.0", "F: again", 9, "section F appears more than once"),
        ("I: (state)", "(0) 1", 1, "expected a heading: one of I, F, S, T and a colon; got"),
        (
            "T: (state,symbol,state)\n\t(0,0,1) 1.0\n\t(1,1,1) 1.0\n",
            "",
            None,
            "the model lacks section T",
        ),
        ("\t(0) 1.0\n", "", None, "section I is empty"),
        (
            "\t(0,0,1) 1.0",
            "\t(0,0,999999999) 1.0",
            None,
            "symbols × states² must be at most .*; got 2,000,000,000,000,000,000",
        ),
        (
            "\t(0,0,1) 1.0",
            "\t(0,10000,1) 1.0",
            None,
            "alphabet size must be at most 10,000; got 10,001",
        ),
    ],
)
def test_bad_models_are_refused(old: str, new: str, line: int | None, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_pautomac_model(MODEL.replace(old, new).encode())
    assert caught.value.line == line
    with pytest.raises(
        FormatError, match="the model emits symbol 1, but the alphabet has only 1 symbol"
    ):
        read_pautomac_model(MODEL.encode(), num_symbols=1)


@pytest.mark.skipif(
    not PAUTOMAC.is_dir(), reason="the competition's files are not part of the project"
)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_true_models_give_the_solutions(problem: str) -> None:
    """The solutions are normalised over the test set, so the model's weights are too."""
    test = read_strings((PAUTOMAC / f"{problem}.pautomac.test").read_bytes())
    solution = read_solution((PAUTOMAC / f"{problem}.pautomac_solution.txt").read_bytes())
    model = read_pautomac_model(
        (PAUTOMAC / f"{problem}.pautomac_model.txt").read_bytes(), len(test.alphabet)
    )
    weights = model.weights(test.words)
    assert len(test.words) == len(solution) == 1000
    assert (model.total_weight(), solution.sum()) == (
        pytest.approx(1, abs=1e-9),
        pytest.approx(1, abs=1e-9),
    )
    np.testing.assert_allclose(weights / weights.sum(), solution, rtol=1e-9)
    # every one of the competition's models is a distribution
    assert len(sample_words(model, 20, seed=0)) == 20
