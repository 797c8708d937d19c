"""The algebra of automata, against sums over all strings up to a length, and against matrices of
strings.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nlwfa_core import WFA, Alphabet, RecipeError, Words
from nlwfa_core.models import algebra
from nlwfa_core.models.algebra import (
    approximate,
    backward,
    converges_absolutely,
    counterexample,
    distance,
    equivalent,
    forward,
    minimise,
    norm,
    posterior,
    relative_entropy,
    reverse,
    singular_value_automaton,
    trim,
    viterbi,
)
from nlwfa_core.sources.random_automata import random_automaton

WORDS = [word for length in range(6) for word in product(range(2), repeat=length)]
LONG = [word for length in range(13) for word in product(range(2), repeat=length)]
AB = Alphabet(("a", "b"))
# Two states, deterministic: a stays, b moves on. And a state that can't be reached, and one that
# leads nowhere.
DETERMINISTIC = WFA([1, 0], [[[0.2, 0], [0, 0.3]], [[0, 0.3], [0.1, 0]]], [0.5, 0.6])
CLUTTERED = WFA(
    [1, 0, 0, 0],
    [
        [[0.2, 0, 0, 0.5], [0, 0.3, 0, 0], [0.5, 0, 0, 0], [0, 0, 0, 0.5]],
        np.pad([[0, 0.3], [0.1, 0]], (0, 2)),
    ],
    [0.5, 0.6, 1, 0],
)


def values(wfa: WFA, words: list[tuple[int, ...]] = WORDS) -> Any:
    """By the definition alone."""
    weights = []
    for word in words:
        state = wfa.initial
        for symbol in word:
            state = state @ wfa.transitions[symbol]
        weights.append(state @ wfa.termination)
    return np.array(weights)


def close(left: Any, right: Any, *scales: Any) -> bool:
    """Equal to nine digits of the largest number, or of a number of `scales` if both are
    differences.
    """
    scale = max(float(np.abs(part).max()) for part in (left, right, *scales))
    return bool(np.abs(left - right).max() <= 1e-9 * scale)


def arrays(seed: int, num_states: int, rank: int, scale: float = 0.4) -> WFA:
    """An automaton of `rank` states hidden in a random basis of `num_states`."""
    rng = np.random.default_rng(seed)
    small = rng.normal(size=(2, rank, rank))
    small *= (
        scale / max(np.abs(np.linalg.eigvals(sum(np.kron(A, A) for A in small))).max(), 1e-9) ** 0.5
    )
    basis = np.linalg.qr(rng.normal(size=(num_states, num_states)))[0]
    transitions = np.zeros((2, num_states, num_states))
    transitions[:, :rank, :rank] = small
    transitions[:, rank:, rank:] = 0.3 * rng.normal(size=(2, num_states - rank, num_states - rank))
    # seen from the states, but worth nothing
    transitions[:, :rank, rank:] = rng.normal(size=(2, rank, num_states - rank))
    initial = np.zeros(num_states)
    termination = np.zeros(num_states)
    initial[:rank], termination[:rank] = rng.normal(size=rank), rng.normal(size=rank)
    return WFA(initial @ basis.T, basis @ transitions @ basis.T, basis @ termination)


automata = st.builds(arrays, st.integers(0, 10_000), st.integers(3, 6), st.integers(1, 3))


@settings(max_examples=25)
@given(automata, automata, st.floats(-3, 3))
def test_sums_and_products_are_those_of_the_values(left: WFA, right: WFA, number: float) -> None:
    f = values(left)
    g = values(right)
    assert close(values(left + right), f + g, f, g) and close(values(left - right), f - g, f, g)
    assert close(values(left * right), f * g) and close(values(number * left), number * f)
    assert close(values(np.float64(number) * left), number * f)
    assert left.squared().num_states == left.num_states**2


@settings(max_examples=25)
@given(automata)
def test_reversing_reads_backwards_and_twice_is_nothing(wfa: WFA) -> None:
    backwards = values(reverse(wfa), [word[::-1] for word in WORDS])
    assert close(backwards, values(wfa))
    twice = reverse(reverse(wfa))
    assert all(
        (getattr(twice, name) == getattr(wfa, name)).all()
        for name in ("initial", "transitions", "termination")
    )


@settings(max_examples=25, deadline=None)
@given(automata)
def test_the_smallest_automaton_has_as_many_states_as_the_hankel_matrix_has_rank(wfa: WFA) -> None:
    smallest = minimise(wfa)
    short = [word for word in WORDS if len(word) < 4]
    H = values(wfa, [u + v for u in short for v in short]).reshape(len(short), len(short))
    rank = np.linalg.matrix_rank(H, tol=1e-8 * np.linalg.norm(H, 2))
    # else the rank is a matter of taste
    assume(np.linalg.svd(H, compute_uv=False)[rank - 1] > 1e-6 * np.linalg.norm(H, 2))
    assert smallest.num_states == rank
    assert close(values(smallest), values(wfa))
    assert minimise(smallest).num_states == rank
    assert equivalent(smallest, wfa) and not equivalent(1.001 * smallest, wfa)
    assert distance(smallest, wfa) <= 1e-7 * norm(wfa)


def test_states_on_no_path_are_removed() -> None:
    assert trim(CLUTTERED).num_states == 2 == minimise(CLUTTERED).num_states
    assert close(values(trim(CLUTTERED)), values(CLUTTERED)) and close(
        values(CLUTTERED), values(DETERMINISTIC)
    )
    nothing = WFA([0, 1], [[[1, 0], [0, 1]]], [1, 0])
    assert trim(nothing).num_states == 0 == minimise(nothing).num_states and norm(nothing) == 0
    assert equivalent(nothing, 0 * nothing)


def test_norm_and_distance_are_sums_over_all_strings() -> None:
    """All strings up to length 12; the rest is below 1e-7 of the sum."""
    f = arrays(1, 4, 3)
    g = arrays(2, 5, 2)
    for wfa, weights in ((f, values(f, LONG)), (f - g, values(f, LONG) - values(g, LONG))):
        assert norm(wfa) == pytest.approx(np.sqrt((weights**2).sum()), rel=1e-6)
    assert distance(f, g) == pytest.approx(norm(f - g)) and distance(f, f) == 0
    assert norm(WFA([1], [[[1.0]]], [1])) == float("inf")
    assert (f * g).total_weight() == pytest.approx(
        (values(f, LONG) * values(g, LONG)).sum(), rel=1e-5
    )


@pytest.mark.parametrize("unit", [1.0, 2.0**20])
def test_the_norm_of_many_states_is_a_matrix_series_too(
    unit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Σ_x f(x)² = (α₀ ⊗ α₀) (I − Σ_σ A_σ ⊗ A_σ)⁻¹ (α∞ ⊗ α∞)."""
    monkeypatch.setattr(algebra, "MEDIUM", 2)
    wfa = arrays(0, 5, 5)
    series = np.eye(25) - sum(np.kron(A, A) for A in wfa.transitions)
    squares = np.kron(wfa.initial, wfa.initial) @ np.linalg.solve(
        series, np.kron(wfa.termination, wfa.termination)
    )
    assert norm(unit * wfa) == pytest.approx(unit * squares**0.5, rel=1e-9)


def test_functions_whose_squares_have_no_sum_may_be_near_each_other() -> None:
    """1 + 2⁻ⁿ and 1 differ by √(Σ 4⁻ⁿ) = √(4/3), 1 and 2 by 1, and 2ⁿ and 2 · 2ⁿ by 2ⁿ."""
    one = WFA([1], [[[1.0]]], [1])
    assert distance(one, 2 * one) == float("inf")
    assert distance(WFA([1, 1], [np.diag([1, 0.5])], [1, 1]), one) == pytest.approx((4 / 3) ** 0.5)
    doubling = WFA([1], [[[2.0]]], [1])
    assert distance(doubling, 2 * doubling) == float("inf")


def test_relative_entropy_is_the_sum_over_all_strings() -> None:
    p = DETERMINISTIC
    q = WFA([1, 0], [[[0.3, 0], [0, 0.1]], [[0, 0.1], [0.2, 0]]], [0.6, 0.7])
    assert p.total_weight() == pytest.approx(1)
    weights = values(p, LONG)
    others = values(q, LONG)
    assert relative_entropy(p, q) == pytest.approx(
        (weights * np.log2(weights / others)).sum(), rel=1e-3
    )
    assert relative_entropy(p, p) == pytest.approx(0, abs=1e-12)
    assert relative_entropy(2 * p, p) == pytest.approx(2)  # Σ 2p log₂ 2
    without_b = WFA([1], [[[0.5]], [[0.0]]], [0.5])
    assert relative_entropy(p, without_b) == float("inf") and np.isfinite(
        relative_entropy(without_b, p)
    )
    assert relative_entropy(without_b, p) == pytest.approx(
        sum(0.5**n / 2 * np.log2(0.5**n / 2 / (0.2**n / 2)) for n in range(60))
    )
    half = WFA([1], [[[0.5]]], [0.5])
    for growing in (1.0, 1.5):  # each term is larger than the one before
        assert relative_entropy(WFA([1], [[[growing]]], [0.5]), half) == float("inf")
    with pytest.raises(RecipeError, match="right must be deterministic"):
        relative_entropy(p, WFA([0.5, 0.5], p.transitions, p.termination))
    with pytest.raises(RecipeError, match=r"left must have no negative weights; got −0\.5"):
        relative_entropy(WFA([1], [[[0.5]], [[-0.5]]], [0.5]), p)


@pytest.mark.parametrize("seed", range(5))
def test_the_canonical_form_is_balanced_and_has_the_singular_values_of_hankel(seed: int) -> None:
    """Gram matrices by adding up all strings up to length 10; singular values of the block of all
    words up to length 7.
    """
    wfa = arrays(seed, 5, 3)
    form, singular_values = singular_value_automaton(wfa)
    assert close(values(form), values(wfa)) and (form.initial >= -1e-12).all()
    for one in (form, reverse(form)):
        level = [one.termination]
        gramian = np.zeros((3, 3))
        for _ in range(11):
            gramian += sum(np.outer(vector, vector) for vector in level)
            level = [A @ vector for vector in level for A in one.transitions]
        assert np.allclose(gramian, np.diag(singular_values), atol=1e-3 * singular_values[0])
    words = [word for length in range(8) for word in product(range(2), repeat=length)]
    prefixes = np.array([forward(wfa, word)[-1] for word in words])
    suffixes = np.array([backward(wfa, word)[0] for word in words])
    H = np.linalg.svd(prefixes @ suffixes.T, compute_uv=False)[:3]
    assert singular_values == pytest.approx(H, rel=1e-2)


@pytest.mark.parametrize("seed", range(5))
def test_approximations_come_nearer_with_each_state(seed: int) -> None:
    wfa = arrays(seed, 5, 3)
    form, singular_values = singular_value_automaton(wfa)
    errors = [distance(approximate(wfa, k), wfa) for k in (1, 2, 3)]
    assert errors[2] < 1e-6 * norm(wfa) and errors[1] < norm(wfa)
    # Eckart and Young: a row of H is a part of H, so no automaton of k states has an operator norm
    # of the error below σ_{k+1}.
    words = [word for length in range(8) for word in product(range(2), repeat=length)]
    for k in (1, 2):
        gap = form - approximate(wfa, k)
        H = (
            np.array([forward(gap, word)[-1] for word in words])
            @ np.array([backward(gap, word)[0] for word in words]).T
        )
        assert np.linalg.norm(H, 2) >= 0.98 * singular_values[k]


def test_what_has_no_canonical_form_is_refused() -> None:
    with pytest.raises(RecipeError, match="diverges"):
        singular_value_automaton(WFA([1], [[[1.0]]], [1]))
    with pytest.raises(RecipeError, match=r"num_states must be between 1 and 2 .*; got 3"):
        approximate(DETERMINISTIC, 3)
    with pytest.raises(RecipeError, match="tolerance must be at least 0; got -1"):
        equivalent(DETERMINISTIC, DETERMINISTIC, -1)


@settings(max_examples=25)
@given(automata, st.lists(st.integers(0, 1), max_size=6))
def test_forward_and_backward_meet_everywhere(wfa: WFA, word: list[int]) -> None:
    products = (forward(wfa, tuple(word)) * backward(wfa, tuple(word))).sum(axis=1)
    terms = (np.abs(forward(wfa, tuple(word))) * np.abs(backward(wfa, tuple(word)))).sum(axis=1)
    assert np.abs(products - values(wfa, [tuple(word)])).max() <= 1e-12 * terms.max()


def paths_of(wfa: WFA, word: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The weight of each path of states."""
    weights = {}
    for states in product(range(wfa.num_states), repeat=len(word) + 1):
        weight = wfa.initial[states[0]] * wfa.termination[states[-1]]
        for symbol, i, j in zip(word, states, states[1:], strict=False):
            weight *= wfa.transitions[symbol, i, j]
        weights[states] = float(weight)
    return weights


@settings(max_examples=25)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 1), max_size=5))
def test_states_along_a_string_are_those_of_its_paths(seed: int, word: list[int]) -> None:
    rng = np.random.default_rng(seed)
    wfa = WFA(rng.random(3), rng.random((2, 3, 3)), rng.random(3), AB)
    paths = paths_of(wfa, tuple(word))
    total = sum(paths.values())
    shares = np.zeros((len(word) + 1, 3))
    for states, weight in paths.items():
        shares[np.arange(len(states)), states] += weight / total
    assert np.allclose(posterior(wfa, tuple(word)), shares)
    path = viterbi(wfa, AB.decode(word) if word else "")
    best = max(paths.values())
    assert paths[tuple(path.states.tolist())] == pytest.approx(
        best
    ) and path.log2_weight == pytest.approx(np.log2(best))


def test_long_strings_do_not_underflow_and_what_has_no_path_is_refused() -> None:
    word = (0, 1) * 2000
    assert np.allclose(posterior(DETERMINISTIC, word).sum(axis=1), 1)
    assert viterbi(DETERMINISTIC, word).log2_weight == pytest.approx(
        DETERMINISTIC.log2_weights(Words.of([word]))[0]
    )
    stuck = WFA([1], [[[0.0]], [[1.0]]], [1], AB)
    for function in (posterior, viterbi):
        with pytest.raises(RecipeError, match="the weight 0"):
            function(stuck, "a")
        with pytest.raises(RecipeError, match="no negative weights"):
            function(-1 * stuck, "b")
    with pytest.raises(RecipeError, match="a symbol must be between 0 and 1; got 2"):
        forward(DETERMINISTIC, (2,))


def test_symbols_are_matched_by_name() -> None:
    ab = WFA([1], [[[0.5]], [[0.25]]], [1], AB)
    ba = WFA([1], [[[0.25]], [[0.5]]], [1], Alphabet(("b", "a")))
    assert equivalent(ab, ba) and (ab + ba)("a") == 1.0
    for other in (WFA([1], [[[1]]], [1]), WFA([1], [[[1]], [[1]]], [1], Alphabet(("a", "c")))):
        with pytest.raises(
            RecipeError, match="must have the same symbols; one has 2 symbols: a, b, the other"
        ):
            ab + other
    with pytest.raises(TypeError):
        ab + 1  # type: ignore[operator]


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 3), st.integers(0, 30))
def test_the_counterexample_is_the_first_string_that_differs(
    seed: int, left: int, right: int, change: int
) -> None:
    """Of all strings by length and then in the order of the symbols.

    Small whole numbers, so that many strings agree.
    """
    rng = np.random.default_rng(seed)

    def drawn(k: int) -> WFA:
        return WFA(rng.integers(-1, 2, k), rng.integers(-1, 2, (2, k, k)), rng.integers(-1, 2, k))

    f = drawn(left)
    g = (
        drawn(right)
        if change % 2
        else WFA(
            f.initial, f.transitions * (1 + (rng.random(f.transitions.shape) < 0.1)), f.termination
        )
    )
    differing = np.flatnonzero(np.abs(values(f - g, LONG)) > 1e-9)
    # Two functions of k and l states that agree up to k + l - 1 symbols are equal (Tzeng 1992).
    expected = LONG[int(differing[0])] if len(differing) else None
    assert counterexample(f, g) == expected and equivalent(f, g) is (expected is None)


def test_counterexamples_worked_out_by_hand() -> None:
    once = WFA([1, 0], [[[0, 1], [0, 0]], [[1, 0], [0, 1]]], [0, 1], AB)  # exactly one a
    odd = WFA([1, 0], [[[0, 1], [1, 0]], [[1, 0], [0, 1]]], [0, 1], AB)
    assert counterexample(once, odd) == (0, 0, 0)  # aaa, not b's among them
    assert counterexample(odd, odd + 0 * once) is None and counterexample(odd, 1.0000001 * odd) == (
        0,
    )
    tiny = WFA([1], [[[0.1]], [[0.1]]], [1], AB)
    # differs at 39 symbols, by 1e-78
    far = WFA(np.eye(40)[0], np.stack([0.01 * np.eye(40, k=1)] * 2), np.eye(40)[39], AB)
    assert counterexample(tiny, tiny) is None and counterexample(far, 0 * far) == (0,) * 39
    with pytest.raises(RecipeError, match="two automata must have the same symbols"):
        counterexample(once, WFA([1], [[[1]]], [1]))


def test_absolute_convergence_is_decided_where_it_is_known() -> None:
    half = WFA([1], [[[0.5]]], [0.5])
    assert converges_absolutely(half) is True and converges_absolutely(half - half) is True
    assert converges_absolutely(random_automaton(4, 3, seed=0)) is True
    # f(x) = (0.9/√2)^|x| · cos(|x| π/4): the entries of |A| have the radius 1.27, and those of A
    # 0.9.
    turn = 0.9 * np.array(
        [[np.cos(np.pi / 4), np.sin(np.pi / 4)], [-np.sin(np.pi / 4), np.cos(np.pi / 4)]]
    )
    assert converges_absolutely(WFA(np.array([1.0, 0.0]), turn[None], np.array([1.0, 0.0]))) is True
    # Σ f = Σ (0.6 − 0.6)ⁿ converges, and Σ |f| = Σ 1.2ⁿ does not; f² = 0.36ⁿ for each of 2ⁿ
    # strings: 0.72ⁿ.
    signed = WFA([1], [[[0.6]], [[-0.6]]], [1])
    assert signed.total_weight() == pytest.approx(1) and converges_absolutely(signed) is None
    assert converges_absolutely(WFA([1], [[[0.8]], [[-0.8]]], [1])) is False
    with pytest.raises(RecipeError, match="max_products must be at least 1; got 0"):
        converges_absolutely(half, 0)


@given(st.integers(0, 10_000))
def test_an_absolutely_convergent_sum_is_bounded(seed: int) -> None:
    """Where the answer is yes, the sums of |f| over growing lengths fall geometrically in the
    end.
    """
    rng = np.random.default_rng(seed)
    wfa = WFA(rng.normal(size=2), rng.normal(size=(2, 2, 2)) * 0.35, rng.normal(size=2))
    answer = converges_absolutely(wfa, 2_000)
    states = wfa.initial[None]
    sums = []
    for _ in range(13):
        sums.append(np.abs(states @ wfa.termination).sum())
        states = np.concatenate([states @ A for A in wfa.transitions])
    if answer is True:
        assert sums[12] < max(sums[:6])
    elif answer is False:
        assert sums[12] > 1e-3 * sums[0]
