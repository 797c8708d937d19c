"""Smallest automata and equality, against exact arithmetic on sparse automata whose weights are
multiples of 1/8.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from nlwfa_core.models.algebra import counterexample, distance, equivalent, minimise, norm
from nlwfa_core.models.span import Bounded, Span
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import FloatArray
from tests.exact import ExactWFA

CHANGES = (1 / 8, 1e-3, 1e-6)


def exact(wfa: WFA) -> ExactWFA:
    return ExactWFA(wfa.initial, wfa.transitions, wfa.termination)


def sparse_automaton(rng: np.random.Generator) -> WFA:
    """Two to eight states, one to three symbols; a third of them with negative weights."""
    num_states = int(rng.integers(2, 9))
    num_symbols = int(rng.integers(1, 4))
    density = rng.choice([0.15, 0.25, 0.4, 0.6])
    least = -4 if rng.random() < 1 / 3 else 1

    def draw(*shape: int, share: float = 0.5) -> FloatArray:
        return (rng.random(shape) < share) * rng.integers(least, 5, size=shape) / 8

    return WFA(
        draw(num_states), draw(num_symbols, num_states, num_states, share=density), draw(num_states)
    )


def equal_pairs(wfa: WFA, rng: np.random.Generator) -> Iterator[tuple[str, WFA, WFA]]:
    """Pairs of automata that are equal in exact arithmetic, and are computed without rounding."""
    k = wfa.num_states
    order = rng.permutation(k)
    permuted = WFA(
        wfa.initial[order], wfa.transitions[:, order][:, :, order], wfa.termination[order]
    )
    yield "permuted", wfa, permuted
    scale = 2.0 ** rng.integers(-4, 5, size=k)
    transitions = wfa.transitions / scale[:, None] * scale
    yield "rescaled", wfa, WFA(wfa.initial * scale, transitions, wfa.termination / scale)
    weights = np.append(np.ones(k), 0.75)  # state 0 becomes two, which share its weight
    weights[0] = 0.25
    copies = [*range(k), 0]
    split = wfa.transitions[:, copies][:, :, copies] * weights
    yield "split", wfa, WFA(wfa.initial[copies] * weights, split, wfa.termination[copies])
    yield "doubled", wfa + wfa, 2 * wfa


def check(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wfa = sparse_automaton(rng)
    smallest = minimise(wfa)
    assert smallest.num_states == exact(wfa).rank
    assert equivalent(smallest, wfa) and counterexample(wfa, smallest) is None
    for name, left, right in equal_pairs(wfa, rng):
        assert equivalent(left, right) and counterexample(right, left) is None, name
        assert minimise(left - right).num_states == 0, name
    edges = np.argwhere(wfa.transitions)
    if not len(edges):
        return
    transitions = wfa.transitions.copy()
    transitions[tuple(rng.choice(edges))] += rng.choice(CHANGES) * rng.choice([-1, 1])
    changed = WFA(wfa.initial, transitions, wfa.termination)
    difference = exact(wfa - changed)
    word = counterexample(wfa, changed)
    assert equivalent(wfa, changed) is (word is None)
    assert (word is None) == (difference.rank == 0)
    assert word is None or difference.weight(word) != 0


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_sparse_automata_against_exact_arithmetic(start: int) -> None:
    for seed in range(start, start + 40):
        check(seed)


@pytest.mark.slow
def test_more_sparse_automata_against_exact_arithmetic() -> None:
    for seed in range(1_000, 1_250):
        check(seed)


def test_automata_that_only_noise_told_apart() -> None:
    """Noise in one entry, 1e-17, led to states that no string reaches."""
    f = WFA([0, 0, 1], [[[0, 0.2, 0.1], [0.1, 0.2, 0], [0, 0.1, 0.1]]], [0, 0, 1])
    assert equivalent(f + f, 2 * f) and counterexample(f + f, 2 * f) is None
    assert minimise((f + f) - 2 * f).num_states == 0 and distance(f + f, 2 * f) == 0
    g = WFA([1, 1, 1], [[[0, 0.2, 0], [0, 0.2, 0.1], [0.2, 0, 0.1]]], [0, 1, 0])
    order = [2, 1, 0]
    assert equivalent(
        g, WFA(g.initial[order], g.transitions[:, order][:, :, order], g.termination[order])
    )
    h = WFA([0, 0, 1], [[[0.25, 0.25, 0], [0.25, 0, 0], [0, 0.25, 0]]], [0, 1, 0])
    assert equivalent(minimise(h), h)


@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.3), (0.7, 0.1, 0.8), (1 / 3, 1 / 6, 1 / 2)])
def test_decimal_fractions_cancel(weights: tuple[float, float, float]) -> None:
    """0.1 f + 0.2 f − 0.3 f is not 0 in binary, and has no state all the same; nor has a rotated
    copy minus the automaton.
    """
    f = WFA([1, 0], [[[0.1, 0.3], [0, 0.2]], [[0, 0], [0.7, 0]]], [0.3, 0.6])
    assert minimise(weights[0] * f + weights[1] * f - weights[2] * f).num_states == 0
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    rotated = WFA(f.initial @ Q, Q.T @ f.transitions @ Q, Q.T @ f.termination)
    assert (
        equivalent(f, rotated)
        and minimise(f - rotated).num_states == 0
        and distance(f, rotated) == 0
    )


@pytest.mark.parametrize("change", [1e-11, 1e-9, 1e-6])
def test_what_differs_in_the_tenth_digit_differs(change: float) -> None:
    f = WFA([0.5], [[[0.5]]], [0.5])
    g = WFA([0.5 * (1 + change)], [[[0.5]]], [0.5])
    assert counterexample(f, g) == () and not equivalent(f, g)
    assert distance(f, g) == pytest.approx(change * norm(f), rel=1e-4)
    assert equivalent(f, g, tolerance=2 * change)


def test_a_state_that_is_hardly_reached_is_one() -> None:
    """A chain of ten states whose weights fall to 1e-27: the rank is 10."""
    chain = WFA(np.eye(10)[0], 1e-3 * np.eye(10, k=1)[None], np.eye(10)[9])
    assert minimise(chain).num_states == 10
    assert counterexample(chain, 2 * chain) == (0,) * 9


@pytest.mark.parametrize("num_states", [30, 60])
def test_norms_of_large_automata(num_states: int) -> None:
    """f(aⁿ) = Σ amountᵢ rateᵢⁿ, so Σ f² is a double sum of geometric series.

    Rates are close: few of the states are needed.
    """
    rng = np.random.default_rng(num_states)
    rates = rng.uniform(0.05, 0.6, size=num_states) * rng.choice([-1, 1], size=num_states)
    amounts = rng.normal(size=num_states)
    f = WFA(amounts, np.diag(rates)[None], np.ones(num_states))
    exact = np.sqrt(amounts @ (1 / (1 - np.outer(rates, rates))) @ amounts)
    assert norm(f) == pytest.approx(exact, rel=1e-9)
    assert distance(f, 0 * f) == pytest.approx(exact, rel=1e-9)
    Q = np.linalg.qr(rng.normal(size=(num_states, num_states)))[0]
    rotated = WFA(f.initial @ Q, Q.T @ f.transitions @ Q, Q.T @ f.termination)
    assert distance(f, rotated) <= 1e-9 * exact
    diverging = WFA(f.initial, 1.01 * f.transitions / np.abs(rates).max(), f.termination)
    assert norm(diverging) == float("inf")


def test_norms_of_finite_languages_and_slow_cycles() -> None:
    """Chains and cycles of one symbol: f(aⁿ) can be written down."""
    for k in (10, 21, 30):
        chain = WFA(np.eye(k)[0], np.diag(np.full(k - 1, 0.5), 1)[None], np.ones(k))
        assert norm(chain) == pytest.approx(np.sqrt(sum(0.25**n for n in range(k))), rel=1e-12)
    for k, weight in ((21, 0.9), (60, 0.9), (60, 1 - 1e-6), (90, 0.9)):
        ends = np.random.default_rng(k).integers(1, 8, k) / 8
        cycle = WFA(np.eye(k)[0], np.roll(np.diag(np.full(k, weight)), 1, axis=1)[None], ends)
        # one round; each further one is weight^2k of it
        squares = (weight ** np.arange(k) * ends) ** 2
        assert norm(cycle) == pytest.approx(
            np.sqrt(squares.sum() / (1 - weight ** (2 * k))), rel=1e-9
        )
    assert norm(WFA([1.0, 0.0], np.zeros((0, 2, 2)), [1.0, 1.0])) == 1


@pytest.mark.parametrize(
    ("rate", "change"), [(0.5, 1e-9), (0.999, 1e-9), (0.999, 1e-10), (0.999999, 1e-11)]
)
def test_the_distance_of_what_almost_agrees(rate: float, change: float) -> None:
    """f(aⁿ) = rateⁿ and (rate + change)ⁿ: Σ (pⁿ − qⁿ)² = 1/(1 − p²) − 2/(1 − pq) + 1/(1 − q²), to
    first order in the change.
    """
    f, g = (WFA([1.0], [[[p]]], [1.0]) for p in (rate, rate + change))
    square = rate**2
    derivative = np.sqrt((1 + square) / (1 - square) ** 3)  # √ Σ n² p²ⁿ⁻²
    assert not equivalent(f, g) and distance(f, g) == pytest.approx(change * derivative, rel=1e-3)


@pytest.mark.parametrize("exponent", [0, 20, 30, 45, 60])
def test_states_in_very_different_units(exponent: int) -> None:
    """f(aa) = 1/4 + z comes by a way of the weights s, 1 and z/s."""
    s = 2.0**-exponent

    def way(z: float) -> WFA:
        return WFA([1, 0, 0], [[[0.5, s, 0], [0, 0, 1], [0, 0, 0]]], [1, 0, z / s])

    assert minimise(way(1.0)).num_states == 3 and minimise(way(1.0))((0, 0)) == pytest.approx(1.25)
    assert counterexample(way(1.0), way(0.5)) == (0, 0)
    # the way is taken after any number of a's, each of which halves its weight
    tail = np.sqrt(1 / (1 - 0.25))
    assert distance(way(1.0), way(0.5)) == pytest.approx(0.5 * tail, rel=1e-9)


def test_what_is_left_of_a_sum_that_cancels_is_0_in_the_first_direction() -> None:
    """A sum of products of size 1 is known up to 10⁻¹⁶."""
    vector = Bounded(np.array([1.0, 1e-17]), np.full(2, 1e-16), np.ones(2))
    direction = Span(2).add(vector)
    assert direction is not None and direction.values.tolist() == [1, 0]
