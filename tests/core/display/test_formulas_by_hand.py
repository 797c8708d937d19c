"""Calculations by hand are read back as a student reads them, and repeated."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from nlwfa_core.display.formulas.by_hand import MAX_NUMBERS, by_hand
from nlwfa_core.errors import RecipeError
from nlwfa_core.models.ngram import Uniform
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import reading_named
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet, FloatArray, Word, Words
from tests.references import BINARY, COUNTER, FIBONACCI, PARITY

AB = Alphabet(("a", "b"))
HEADER = re.compile(
    r"^(?P<name>\S+(?: before tanh)?)(?: = (?P<made>.*))?  \((?P<rows>\d+) × (?P<columns>\d+)\)$"
)
OPTIONS = [
    ("string", "identity", False),
    ("string", "square", False),
    ("boundary", "identity", False),
    ("boundary", "square", False),
    ("conditional", "softmax", False),
    ("conditional", "identity", False),
    ("conditional", "square", True),
    ("conditional", "identity", True),
    ("string", "identity", True),
    ("boundary", "square", True),
]


def network(reading: str, link: str, normalised: bool, tanh: bool = True, k: int = 2) -> NLWFA:
    rng = np.random.default_rng(4)
    maps = 3 if reading == "boundary" else 2
    outputs = 1 if reading == "boundary" else 3
    layers = (rng.normal(size=(maps, k, 2 * k)), rng.normal(size=(maps, 2 * k, k)))
    return NLWFA(
        rng.normal(size=k),
        layers,
        (rng.normal(size=(k, 2 * k)),),
        rng.normal(size=(2 * k, outputs)),
        tanh,
        tanh,
        reading_named(reading, link, normalised),
    )


def blocks(text: str) -> dict[str, FloatArray]:
    """Name -> numbers as written."""
    lines = text.splitlines()
    numbers = {}
    for index, line in enumerate(lines):
        match = HEADER.match(line)
        if match:
            rows = lines[index + 1 : index + 1 + int(match["rows"])]
            values = np.array(
                [[float(cell.removeprefix("≈")) for cell in row.split()] for row in rows]
            )
            assert values.shape == (int(match["rows"]), int(match["columns"]))
            numbers[match["name"]] = values
    return numbers


def written_weight(text: str) -> float:
    return float(text.strip().rpartition(" = ")[2])


def weight(model: WFA | NLWFA, word: Word) -> float:
    return float(model.weights(Words.of([word]))[0])


@pytest.mark.parametrize("reference", [COUNTER, BINARY, PARITY, FIBONACCI], ids=repr)
def test_the_steps_of_hand_worked_automata_are_exact(reference) -> None:  # type: ignore[no-untyped-def]
    alphabet = Alphabet(AB.symbols[: reference.wfa.num_symbols])
    for word, value in reference.values.items():
        text = by_hand(reference.wfa, word, alphabet).text(12)
        assert written_weight(text) == value
        read = blocks(text)
        state = read["α₀ᵀ"]
        for t, symbol in enumerate(word):
            state = state @ read[f"A_{alphabet.symbols[symbol]}"]
            assert (state == read[f"z{t + 1}"]).all()
        assert float((state @ read["α∞"])[0, 0]) == value


@pytest.mark.parametrize("digits", [3, 6, 10])
def test_a_calculator_gets_the_weight_up_to_rounding(digits: int) -> None:
    rng = np.random.default_rng(1)
    model = WFA(rng.normal(size=3), 0.5 * rng.normal(size=(2, 3, 3)), rng.normal(size=3))
    for word in ((), (0,), (1, 0), (0, 1, 1, 0)):
        text = by_hand(model, word, AB).text(digits)
        read = blocks(text)
        state = read["α₀ᵀ"]
        for t, symbol in enumerate(word):
            state = state @ read[f"A_{'ab'[symbol]}"]
            assert state == pytest.approx(
                read[f"z{t + 1}"], rel=30 * 10.0**-digits, abs=30 * 10.0**-digits
            )
        again = float((state @ read["α∞"])[0, 0])
        assert again == pytest.approx(weight(model, word), abs=100 * 10.0**-digits)
        assert written_weight(text) == pytest.approx(
            weight(model, word), rel=0.5000001 * 10.0 ** (1 - digits)
        )


@pytest.mark.parametrize(("reading", "link", "normalised"), OPTIONS)
@pytest.mark.parametrize("tanh", [True, False])
def test_networks_are_written_layer_by_layer(
    reading: str, link: str, normalised: bool, tanh: bool
) -> None:
    model = network(reading, link, normalised, tanh)
    for word in ((), (0,), (1, 0, 0)):
        calculation = by_hand(model, word, AB)
        assert calculation.weight == pytest.approx(weight(model, word), rel=1e-12)
        read = blocks(calculation.text(12))
        theta = np.tanh if tanh else np.asarray
        state = read["α₀ᵀ"]
        ends = ("⊣",) if reading == "boundary" and not normalised else ()
        for t, symbol in enumerate([*("ab"[symbol] for symbol in word), *ends]):
            state = theta(theta(state @ read[f"G_{symbol},1"]) @ read[f"G_{symbol},2"])
            assert state == pytest.approx(read[f"z{t + 1}"], rel=1e-9)
        if reading != "conditional" and not normalised:
            value = float((theta(state @ read["C,1"]) @ read["D"])[0, 0])
            assert (value**2 if link == "square" else value) == pytest.approx(
                weight(model, word), rel=1e-8
            )
        if reading == "conditional":
            outputs = theta(state @ read["C,1"]) @ read["D"]
            assert outputs == pytest.approx(read[f"o{len(word)}"], rel=1e-8)


@pytest.mark.parametrize(
    ("reading", "link", "normalised"),
    [option for option in OPTIONS if option[0] == "conditional" or option[2]],
)
def test_a_chain_is_the_product_of_its_scores(reading: str, link: str, normalised: bool) -> None:
    model = network(reading, link, normalised)
    word = (1, 0)
    text = by_hand(model, word, AB).text(12)
    read = blocks(text)
    chances = [read[f"p{t}"][0, symbol] for t, symbol in enumerate((*word, 2))]
    assert float(np.prod(chances)) == pytest.approx(weight(model, word), rel=1e-9)
    assert written_weight(text) == pytest.approx(weight(model, word), rel=1e-9)


def test_each_number_is_a_rounding_of_the_exact_one() -> None:
    model = WFA(
        np.array([1 / 3, 2 / 3]), np.array([[[1 / 7, 0.2], [0.3, 1 / 9]]]), np.array([1.0, 1e-5])
    )
    calculation = by_hand(model, (0, 0, 0), Alphabet(("a",)))
    for name, values in blocks(calculation.text(4)).items():
        exact = next(
            block.values
            for block in (*calculation.parameters, *calculation.steps)
            if block.name == name
        )
        assert (np.abs(values - exact) <= 0.5001e-3 * np.abs(exact)).all()


def test_rounding_errors_are_written_as_zero_and_marked() -> None:
    model = WFA(np.array([1.0, -3e-17]), np.array([[[0.5, 0.0], [0.0, 0.5]]]), np.array([0.5, 0.5]))
    text = by_hand(model, (0,), Alphabet(("a",))).text()
    assert blocks(text)["α₀ᵀ"].tolist() == [[1.0, 0.0]] and "≈0 marks rounding errors" in text
    assert "≈0" not in by_hand(COUNTER.wfa, (0,), AB).text()


def test_formulas_show_small_models_in_full_and_large_ones_cut() -> None:
    parameters, steps, weight = by_hand(BINARY.wfa, (1, 0), AB).latex()
    assert r"\mathbf{A}_{\texttt{b}}&=\begin{pmatrix}1 & 1 \\ 0 & 2\end{pmatrix}" in parameters
    assert (
        r"\mathbf{z}_{2}&=\mathbf{z}_{1}\,\mathbf{A}_{\texttt{a}}=\begin{pmatrix}1 & 2\end{pmatrix}"
        in steps
    )
    assert weight == r"\begin{aligned}f(x)&=1 \cdot 0 + 2 \cdot 1 \\[4pt] &=2\end{aligned}"
    large = WFA(np.ones(9), np.ones((1, 9, 9)), np.ones(9))
    parameters, steps, weight = by_hand(large, (0,) * 40, Alphabet(("a",))).latex()
    assert r"\underset{9 \times 9}" in parameters and r"\vdots" in parameters
    assert r"17\text{ more}" in steps and r"\cdots" in weight


def test_formulas_hold_no_symbol_that_latex_could_read_as_a_command() -> None:
    alphabet = Alphabet(("$x$", r"\href{x}", "<b>", "a"))
    model = WFA(np.ones(1), np.ones((4, 1, 1)), np.ones(1))
    word = (0, 1, 2, 3)
    formulas = "".join(by_hand(model, word, alphabet).latex())
    assert not any(symbol in formulas for symbol in alphabet.symbols[:3])
    assert r"\mathbf{A}_{\texttt{{\$}x{\$}}}" in formulas
    assert "A_<b>" in by_hand(model, word, alphabet).text()


def test_formulas_nest_their_brackets() -> None:
    models: list[WFA | NLWFA] = [
        BINARY.wfa,
        *(network(*options, k=k) for options in OPTIONS for k in (1, 7)),
    ]
    for model, word in product(models, [(), (0, 1), (1,) * 30]):
        for formula in by_hand(model, word, AB).latex():
            depth = np.cumsum([(character == "{") - (character == "}") for character in formula])
            assert (depth >= 0).all() and depth[-1] == 0
            assert formula.count(r"\begin") == formula.count(r"\end")
            assert not re.search(r"\^\{[^{}]*\}\^|\^\\top\^", formula)  # two exponents are an error


def test_what_can_not_be_written_is_refused() -> None:
    with pytest.raises(RecipeError, match="Only automata can be calculated by hand"):
        by_hand(Uniform(2), (0,), AB)
    wide = WFA(np.zeros(200), np.zeros((1, 200, 200)), np.zeros(200))
    with pytest.raises(RecipeError, match=f"at most {MAX_NUMBERS:,} can be written"):
        by_hand(wide, (0,), Alphabet(("a",)))
