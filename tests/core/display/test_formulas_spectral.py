"""Spectral learning on the board: its numbers are the learner's, and agree with a calculation on
paper.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from nlwfa_core.display.formulas.by_hand import by_hand
from nlwfa_core.display.formulas.spectral_steps import spectral, steps
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.boundary import hankel_alphabet
from nlwfa_core.hankel.estimate import build_hankel, estimate_hankel
from nlwfa_core.hankel.matrix import exact_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.hankel.statistics import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.learning.learners import SP
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from tests.references import COIN, GEOMETRIC, REFERENCES, Reference, full_basis

DATA = DataRecipe(num_strings=500, num_validation=20, num_test=20)
STRINGS = [(), (0,), (0, 1), (0, 0, 1, 1), (0, 1, 0, 1, 0, 1, 0, 1), (1, 1)]


@pytest.mark.parametrize("reference", REFERENCES, ids=str)
def test_on_exact_blocks_the_product_is_the_automatons_value(reference: Reference) -> None:
    hankel = exact_hankel(reference.wfa.weights, full_basis(reference.wfa.num_symbols, 2))
    learned = spectral(hankel, reference.wfa.num_states)
    alphabet = Alphabet(tuple("abc"[: reference.wfa.num_symbols]))
    for word, value in reference.values.items():
        assert by_hand(learned.model, word, alphabet).weight == pytest.approx(value, abs=1e-8)


def test_a_geometric_series_on_paper() -> None:
    """H = [1/2 1/4; 1/4 1/8] = σ u vᵀ with u = v = (2, 1)/√5 and σ = 5/8; so α₀ = σ · 2/√5, α∞ =
    2/√5, A = 1/2.
    """
    basis = Basis(Words.of([(), (0,)]), Words.of([(), (0,)]), 1)
    learned = spectral(exact_hankel(GEOMETRIC.wfa.weights, basis), 1)
    alphabet = Alphabet(("a",))
    train = Sample.of(Words.of([(0,), (), ()]), Alphabet(("a",)))
    estimate, decompose, ends, move, weight = steps(
        learned, HankelRecipe(), alphabet, train, 0, (0,)
    )
    assert [step.name for step in (estimate, decompose, ends, move, weight)] == [
        "estimate", "decompose", "begin and end", "move", "weight",
    ]  # fmt: skip
    assert (
        r"& \lambda & \texttt{a} \\ \hline \lambda & 0.5 & 0.25 \\ \texttt{a} & 0.25 & 0.125"
        in estimate.numbers[0]
    )
    assert r"\begin{pmatrix}0.894 \\ 0.447\end{pmatrix}" in decompose.numbers[0]
    assert decompose.numbers[1] == r"\mathbf{D}=\operatorname{diag}(0.625)"
    assert [line.split("=")[1] for line in ends.numbers] == [
        r"\begin{pmatrix}0.559\end{pmatrix}",
        r"\begin{pmatrix}0.894\end{pmatrix}",
    ]
    assert (
        "=0.5$ is the rank-1 approximation" in ends.notice
        and r"\begin{pmatrix}0.5\end{pmatrix}" in move.numbers[0]
    )
    assert (
        move.numbers[1].split("=")[1]
        == move.numbers[2].split("=")[1]
        == r"\begin{pmatrix}0.28\end{pmatrix}"
    )
    assert "spectral radius 0.5" in move.notice
    assert weight.numbers[0].endswith(r"f(x)&=\mathbf{z}_{1}\,\alpha_\infty=0.25\end{aligned}")
    assert "$f(x)=0.25$" in weight.notice and "33.3% of the training strings" in weight.notice


@pytest.mark.parametrize(
    ("statistic", "transform"), [*product(FOR_ALL_LEARNERS, TRANSFORMS), ("suffix", "none")]
)
def test_the_steps_show_the_model_that_the_experiment_learns(
    statistic: str, transform: str
) -> None:
    bounded = SP.needs_boundary(statistic, transform)
    options = HankelRecipe(
        num_prefixes=30, num_suffixes=30, statistic=statistic, transform=transform, bounded=bounded
    )
    result = run(Recipe(data=DATA, hankel=options, learning=SP(rank=3)))
    data = load_data(DATA)
    learned = spectral(build_hankel(data.train, options), 3)
    words = Words.of(STRINGS)
    np.testing.assert_array_equal(learned.model.weights(words), result.model.weights(words))
    np.testing.assert_array_equal(learned.model.initial, result.model.initial)
    shown = learned.maps.transitions
    np.testing.assert_array_equal(
        shown,
        result.model.transitions if isinstance(result.model, WFA) else result.model.transitions[0],
    )
    alphabet = hankel_alphabet(data.alphabet, options.statistic, options.bounded)
    for word, weight in zip(STRINGS, learned.model.weights(words), strict=True):
        assert by_hand(learned.model, word, alphabet).weight == pytest.approx(
            weight, rel=1e-9, abs=1e-15
        )
    boards = [
        list(steps(learned, options, alphabet, data.train, symbol, word))
        for symbol in (0, 1)
        for word in STRINGS
    ]
    converted = statistic != "string" and not bounded
    for board in boards:
        assert len(board) == 6 if converted else 5
        for step in board:
            for formula in (step.formula, *step.numbers):
                assert formula.count("{") == formula.count("}") and formula.count(
                    r"\begin"
                ) == formula.count(r"\end")
            assert step.notice.count("$") % 2 == 0 and step.title.count("$") % 2 == 0
    assert ("back to strings" in [step.name for step in boards[0]]) == converted


def test_the_share_is_that_of_the_sample() -> None:
    sample = Sample.of(Words.of([(0, 1), (0, 1), (1,), ()]), Alphabet(("a", "b")))
    hankel = estimate_hankel(sample, full_basis(2, 2), "string", False)
    for word, share in {(): "25.0%", (0, 1): "50.0%", (0,): "0%", (1, 1, 1): "0%"}.items():
        *_, last = steps(spectral(hankel, 2), HankelRecipe(), sample.alphabet, sample, 0, word)
        assert f"{share} of the training strings are $x$." in last.notice


def test_negative_weights_get_a_remark() -> None:
    learned = spectral(exact_hankel(lambda words: -COIN.wfa.weights(words), full_basis(2, 2)), 2)
    sample = Sample.of(Words.of([(0, 1)]), Alphabet(("a", "b")))
    *_, last = steps(learned, HankelRecipe(), sample.alphabet, sample, 0, (0,))
    assert "not a probability" in last.notice and re.search(r"f\(x\)=-0.125", last.notice)


def test_a_rank_that_the_basis_does_not_allow_is_refused() -> None:
    with pytest.raises(RecipeError, match="rank must be between 1 and 7 .*; got 8"):
        spectral(exact_hankel(COIN.wfa.weights, full_basis(2, 2)), 8)
