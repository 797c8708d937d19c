"""Spectral learning from some of H's cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.hankel.valued_strings import ValuedStrings, observed_hankel
from nlwfa_core.learning.completion import complete, fit_completed, linear_transitions
from nlwfa_core.learning.progress import Progress
from nlwfa_core.learning.spectral import truncated_svd
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_automaton, random_wfa
from nlwfa_core.strings.words import Alphabet
from tests.references import REFERENCES, Reference, all_words, full_basis, ring


def known_at(
    wfa: WFA, share: float, seed: int, longest: int = 9
) -> tuple[HankelMatrix, ValuedStrings]:
    """H from a share of all strings up to a length, and the other strings."""
    words = all_words(wfa.num_symbols, longest)
    strings = ValuedStrings(words, wfa.weights(words), Alphabet.numbered(wfa.num_symbols))
    number = round(share * len(words))
    given, held_out = strings.split([number, len(words) - number], seed)
    return observed_hankel(given, full_basis(wfa.num_symbols, 4 if longest == 9 else 3)), held_out


def error(model: WFA, held_out: ValuedStrings) -> float:
    return float(
        np.abs(model.weights(held_out.words) - held_out.values).max()
        / np.abs(held_out.values).max()
    )


@pytest.mark.parametrize("reference", REFERENCES, ids=repr)
def test_strings_that_were_not_given_are_recovered(reference: Reference) -> None:
    """30 % of the strings missing: a Hankel matrix of low rank is determined by the rest."""
    wfa = reference.wfa
    hankel, held_out = known_at(wfa, 0.7 if wfa.num_symbols > 1 else 0.9, 0)
    completion = complete(hankel, wfa.num_states, ridge=1e-9)
    assert error(fit_completed(hankel, completion), held_out) < 1e-3
    assert completion.losses[-1] < 1e-6


def test_the_completed_matrix_is_the_function() -> None:
    wfa = ring(3)
    hankel, _ = known_at(wfa, 0.7, 1)
    completion = complete(hankel, 3, ridge=1e-10, sweeps=400)
    block = (completion.left * completion.singular_values) @ completion.right.T
    exact = exact_hankel(wfa.weights, hankel.basis).block.toarray()
    np.testing.assert_allclose(block[: hankel.num_prefixes], exact, atol=1e-6)
    np.testing.assert_allclose(completion.right.T @ completion.right, np.eye(3), atol=1e-12)


@given(st.integers(0, 50), st.integers(1, 3))
def test_with_nothing_missing_it_is_the_truncated_svd(seed: int, rank: int) -> None:
    wfa = random_wfa(3, 2, seed)
    hankel, _ = known_at(wfa, 1.0, seed, longest=7)
    completion = complete(hankel, rank, ridge=1e-12, sweeps=400)
    best = truncated_svd(hankel.matrix, rank).singular_values
    left = (hankel.matrix.data**2).sum() - (best**2).sum()
    assert completion.losses[-1] * (hankel.matrix.data**2).sum() == pytest.approx(
        left, abs=1e-6 * best[0] ** 2
    )


@given(st.integers(0, 50), st.integers(1, 4))
def test_linear_transitions_are_those_of_least_squares(seed: int, num_states: int) -> None:
    """States that a WFA goes through give its own matrices back, whatever the pairs that do not
    take part hold.
    """
    wfa = random_automaton(num_states, 2, seed)
    hankel = exact_hankel(wfa.weights, full_basis(2, 4))
    states = np.array(
        [
            wfa.initial
            @ np.linalg.multi_dot(
                [np.eye(num_states), *wfa.transitions[list(u)], np.eye(num_states)]
            )
            for u in all_words(2, 5)
        ]
    )
    known = np.random.default_rng(seed).random(hankel.shifted.shape) < 0.8
    # by length, as the states
    np.testing.assert_array_equal(hankel.shifted.ravel()[:6], [1, 2, 3, 4, 5, 6])
    A = linear_transitions(states, hankel.shifted, known)
    for symbol in range(2):
        u = np.flatnonzero(known[:, symbol])
        expected = np.linalg.lstsq(states[u], states[hankel.shifted[u, symbol]])[0]
        np.testing.assert_allclose(states[u] @ A[symbol], states[u] @ expected, atol=1e-8)
        np.testing.assert_allclose(
            states[u] @ A[symbol], states[u] @ wfa.transitions[symbol], atol=1e-8
        )


def test_a_symbol_without_a_known_pair_leads_to_zero() -> None:
    assert not linear_transitions(
        np.ones((3, 2)), np.array([[1], [2]], dtype=np.int32), np.zeros((2, 1), dtype=bool)
    ).any()


def test_what_can_not_be_completed_is_refused() -> None:
    hankel, _ = known_at(ring(2), 0.7, 0)
    for changes, message in (
        ({"ridge": 0.0}, "ridge must be above 0 .*; got 0.0"),
        ({"rank": 0}, "rank must be at least 1; got 0"),
        ({"sweeps": 0}, "sweeps must be at least 1; got 0"),
    ):
        with pytest.raises(RecipeError, match=message):
            complete(hankel, **{"rank": 1, **changes})
    with pytest.raises(RecipeError, match="no finite known entry other than zero"):
        complete(replace(hankel, matrix=sparse.csr_array(hankel.matrix.shape)), 1)


def test_sweeps_report_and_stop() -> None:
    hankel, _ = known_at(ring(2), 0.7, 0)
    reports: list[Progress] = []
    complete(hankel, 2, sweeps=3, report=reports.append)
    assert [(progress.step, progress.total) for progress in reports] == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(Cancelled):
        complete(hankel, 2, cancelled=lambda: True)
