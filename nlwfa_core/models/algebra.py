"""Algebra of weighted automata: smallest automata, equality, distances, canonical forms, and the
states along a string.

Sums and products of functions are operators of `WFA`: f + g, f − g, 2 * f, and f * g, the product
of the values of each string.

In reading order: `trim`, `minimise`, `reverse`; `equivalent`, `counterexample`, `reaching_words`,
`norm`, `converges_absolutely`, `distance`, `relative_entropy`; `singular_value_automaton` and
`approximate`; `forward`, `backward`, `posterior` and `viterbi`. A vector counts as zero by the rule
of `rounding`, so "minimal" and "equal" hold only up to rounding.

Sources: Schützenberger 1961; Tzeng 1992 (equivalence); Cortes, Mohri, Rastogi and Riley 2008 (norms
and relative entropy); Bailly and Denis 2009 (absolute convergence); Balle, Panangaden and Precup
2015 and 2019 (singular value automata); Rabiner 1989 (forward–backward, Viterbi).
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, gmres

from ..errors import RecipeError, check_at_least, check_between, check_types, plural
from ..rounding import format_significant
from ..strings.plain import WordLike, as_word
from ..strings.words import FloatArray, IntArray, Word
from .span import Bounded, Maps, Span, balance, onto_reachable, smallest
from .wfa import WFA

TOLERANCE = 2.0**-40  # of the products whose sum a difference of two weights is
MAX_STATES_SQUARED = 2500  # pairs of states of `relative_entropy`
# states whose pairs are few enough for all eigenvalues of a matrix, and for solving its equations
SMALL = 20
MEDIUM = 80
REFINEMENTS = 10  # each gains about eight digits
FEW_POWERS = 300
LARGEST_POWER = 2.0**500


@check_types
def trim(wfa: WFA) -> WFA:
    """Remove the states that are not on any path of nonzero weights from α₀ to α∞. The function
    does not change.

    >>> trim(WFA([1, 0], [[[0.5, 0], [0, 1]]], [0.5, 1])).num_states
    1
    """
    useful = wfa.useful_states
    return WFA(
        wfa.initial[useful],
        wfa.transitions[:, useful][:, :, useful],
        wfa.termination[useful],
        wfa.alphabet,
    )


@check_types
def minimise(wfa: WFA) -> WFA:
    """Compute an automaton of the same function with the fewest possible states, in another basis.

    Theorem (Schützenberger 1961; Carlyle and Paz 1971; Fliess 1974): the smallest number of states
    is the rank of the Hankel matrix, and an automaton has that many states if the vectors α₀ᵀ A_u
    of all prefixes u span the whole space, and so do the vectors A_v α∞ of all suffixes v. Here the
    automaton is projected onto the span of the former, then onto the span of the latter (`span`).
    Each number carries a bound on its error, so a number that differs from 0 only by rounding
    counts as 0.

    >>> half = WFA([1], [[[0.5]]], [0.5])
    >>> minimise(half + half).num_states, minimise(half - half).num_states
    (1, 0)
    """
    reachable = trim(wfa)
    reduction = smallest(reachable.initial, reachable.transitions, reachable.termination)
    return WFA(
        reduction.initial,
        np.ascontiguousarray(reduction.transitions),
        reduction.termination,
        wfa.alphabet,
    )


@check_types
def reverse(wfa: WFA) -> WFA:
    """Make the automaton that reads strings from their end: f(x₁ … x_t) of the result is f(x_t …
    x₁).

    α₀ and α∞ change places, and every A_σ is transposed, because a number is its own transpose.

    >>> first = WFA(
    ...     [1, 0], [[[0, 1], [0, 1]], [[0, 0], [0, 1]]], [0, 1]
    ... )  # strings that begin with symbol 0
    >>> first((0, 1)), reverse(first)((0, 1)), reverse(first)((1, 0))
    (1.0, 0.0, 1.0)
    """
    return WFA(
        wfa.termination,
        np.ascontiguousarray(wfa.transitions.transpose(0, 2, 1)),
        wfa.initial,
        wfa.alphabet,
    )


@check_types
def equivalent(left: WFA, right: WFA, tolerance: float = TOLERANCE) -> bool:
    """Return whether two automata compute the same function of all strings, up to rounding.

    `counterexample` finds a string that tells them apart, and defines "up to rounding".

    >>> half = WFA([1], [[[0.5]]], [0.5])
    >>> equivalent(half + half, 2 * half), equivalent(half, 2 * half)
    (True, False)

    Raises
    ------
    RecipeError
        If the automata do not have the same symbols, or the tolerance is negative.
    """
    return counterexample(left, right, tolerance) is None


@check_types
def counterexample(left: WFA, right: WFA, tolerance: float = TOLERANCE) -> Word | None:
    """Find the shortest string to which two automata give different weights; None if they compute
    the same function.

    Among equally short strings, it is the first in the order of the symbols of `left`. Words are
    tried by length. A word is not continued if its state in an automaton of f − g lies in the span
    of the earlier states, because its continuations can't be the first to differ (Schützenberger
    1961, Tzeng 1992). So at most num_symbols times as many words are tried as there are states.

    The weights of a string differ if |f(x) − g(x)| is larger than the bound of its rounding error
    (see `rounding`), and larger than `tolerance` times |α₀|ᵀ |A_x| |α∞| in an automaton of f − g,
    which is the sum of the sizes of all products in f(x) − g(x).

    >>> once, often = (
    ...     WFA([1, 0], [[[0, 1], [0, 0]]], [0, 1]),
    ...     WFA([1, 0], [[[0, 1], [0, 1]]], [0, 1]),
    ... )
    >>> counterexample(once, often), counterexample(once, once)
    ((0, 0), None)

    Parameters
    ----------
    left, right : WFA
    tolerance : float
        0 or more; by default 2⁻⁴⁰, about 10⁻¹².

    Raises
    ------
    RecipeError
        If the automata do not have the same symbols, or the tolerance is negative.
    """
    check_at_least("tolerance", tolerance, 0)
    difference = trim(left - right)
    maps = balance(difference.initial, difference.transitions, difference.termination)[0]
    symbols = range(difference.num_symbols)
    span = Span(difference.num_states)
    waiting: deque[tuple[Word, Bounded, Bounded]] = deque([((), maps.initial, maps.initial)])
    while waiting:
        word, state, step = waiting.popleft()
        weight = state.times(maps.termination)
        # also if the weight is not a number
        if not abs(weight.values) <= max(weight.errors, tolerance * weight.sizes):
            return word
        # What may be new is the step from the last direction. The states of long words become
        # nearly parallel.
        direction = span.add(step)
        if direction is None:
            continue
        # a power of two changes no digit; long words would underflow or overflow
        size = float(state.sizes.max())
        scale = 2.0 ** -np.floor(np.log2(size)) if size > 0 else 1.0
        scaled = Bounded(*(scale * part for part in state))
        for symbol in symbols:
            A = maps.of_symbol(symbol)
            waiting.append(((*word, symbol), scaled.times(A), direction.times(A)))
    return None


def reaching_words(wfa: WFA) -> list[Word]:
    """Find words whose states α₀ᵀ A_u span all states to which any word leads: the shortest such
    words, in the order of the symbols.

    Every prefix of such a word is also among them, and λ comes first. There are none if the
    automaton is 0 everywhere, or its α₀ is 0.

    >>> reaching_words(WFA([1, 0], [[[0, 1], [1, 0]], [[1, 0], [0, 1]]], [1, 0]))
    [(), (0,)]
    """
    reachable = trim(wfa)
    maps = balance(reachable.initial, reachable.transitions, reachable.termination)[0]
    span = Span(reachable.num_states)
    words = []
    waiting: deque[tuple[Word, Bounded]] = deque([((), maps.initial)])
    while waiting:
        word, step = waiting.popleft()
        direction = span.add(step)
        if direction is not None:
            words.append(word)
            waiting += [
                ((*word, symbol), direction.times(maps.of_symbol(symbol)))
                for symbol in range(wfa.num_symbols)
            ]
    return words


@check_types
def norm(wfa: WFA) -> float:
    """Compute √(Σ_x f(x)²) over all strings: the L2 norm of the function; ∞ if the sum diverges.

    Σ f(x)² = α₀ᵀ G α₀, with G the Gram matrix of the vectors A_v α∞ of all strings v (Cortes,
    Mohri, Rastogi 2006).

    >>> round(norm(WFA([1], [[[0.5]]], [0.5])) ** 2, 6)  # Σ 4⁻ⁿ⁻¹
    0.333333
    """
    shortest = minimise(wfa)
    return _norm(shortest) if _squares_converge(shortest) else float("inf")


@check_types
def converges_absolutely(wfa: WFA, max_products: int = 100_000) -> bool | None:
    """Return whether Σ_x |f(x)| over all strings is finite; None if that can't be decided with
    `max_products` products of matrices.

    Theorem (Bailly and Denis 2009): for the smallest automaton of f, the sum is finite if and only
    if the norms of the products A_x of all strings x of some length n have a sum below 1. (In one
    direction, the product of such sums for n and m is at least the sum for n + m. In the other, the
    entries of A_x are linear combinations of finitely many f(u x v).) So lengths are tried one
    after the other. The sum is infinite if Σ f or Σ f² diverges: if Σ |f| converges, |f| is below 1
    from some length on, and f² is below |f|.

    >>> (
    ...     converges_absolutely(WFA([1], [[[-0.5]]], [1])),
    ...     converges_absolutely(WFA([1], [[[0.8]], [[-0.8]]], [1])),
    ... )
    (True, False)

    Parameters
    ----------
    wfa : WFA
    max_products : int
        The largest number of products of one length that are computed.

    Raises
    ------
    RecipeError
        If `max_products` is below 1.
    """
    check_at_least("max_products", max_products, 1)
    shortest = minimise(wfa)
    if not shortest.num_states:
        return True
    if shortest.spectral_radius >= 1 or not _squares_converge(shortest):
        return False
    # In the basis of the singular values, the norms of the matrices are close to their growth in
    # the long run.
    balanced = singular_value_automaton(shortest).wfa
    if np.abs(np.linalg.eigvals(np.abs(balanced.transitions).sum(axis=0))).max() < 1:
        return True  # |A_x| is at most the product of the |A_σ|, entry by entry
    products = balanced.transitions
    while len(products) <= max_products:
        if np.linalg.norm(products, ord=2, axis=(1, 2)).sum() < 1:
            return True
        products = np.einsum("aij,bjk->abik", products, balanced.transitions).reshape(
            -1, *products.shape[1:]
        )
    return None


@check_types
def distance(left: WFA, right: WFA) -> float:
    """Compute √(Σ_x (f(x) − g(x))²) over all strings: the L2 distance of two functions; 0 if they
    are equal up to rounding.

    >>> half = WFA([1], [[[0.5]]], [0.5])
    >>> distance(half, half), round(distance(half, 0 * half) ** 2, 6)
    (0.0, 0.333333)

    Raises
    ------
    RecipeError
        If the automata do not have the same symbols.
    """
    if equivalent(left, right):
        return 0.0
    parts = minimise(left), minimise(right)
    if all(map(_squares_converge, parts)):
        # Projected onto the span of its states only. A second projection would lose what is small
        # where f and g almost agree.
        difference = parts[0] - parts[1]
        return _norm(_reachable(difference))
    return norm(left - right)


def _reachable(wfa: WFA) -> WFA:
    """Project an automaton onto the span of its states."""
    maps, _ = onto_reachable(Maps.exact(wfa.initial, wfa.transitions, wfa.termination))
    return WFA(maps.initial.values, maps.transitions.values, maps.termination.values, wfa.alphabet)


@check_types
def relative_entropy(left: WFA, right: WFA) -> float:
    """Compute Σ_x f(x) log₂ (f(x) / g(x)) over all strings, in bits: the KL divergence, if both are
    distributions.

    Both automata must be deterministic, without negative weights. A string then has one path, the
    logarithm of its weight is a sum along that path, and the expectation is a sum over the
    transitions (Cortes, Mohri, Rastogi and Riley 2008). For automata that are not deterministic, no
    such formula is known; `metrics.evaluate` estimates the divergence on test strings.

    >>> half, third = WFA([1], [[[0.5]]], [0.5]), WFA([1], [[[2 / 3]]], [1 / 3])
    >>> round(relative_entropy(half, third), 6)
    0.169925

    Returns
    -------
    float
        ∞ if g is 0 for a string of positive weight, or the sum of f diverges.

    Raises
    ------
    RecipeError
        If an automaton is not deterministic or has a negative weight, or the automata do not have
        the same symbols.
    """
    right = right.in_symbols_of(left)
    for name, wfa in (("left", left), ("right", right)):
        _check_not_negative(name, wfa)
        if (wfa.initial != 0).sum() > 1 or ((wfa.transitions != 0).sum(axis=2) > 1).any():
            raise RecipeError(
                f"{name} must be deterministic: one initial state, and one transition for "
                "each state and symbol"
            )
    left = trim(left)
    if not left.num_states:
        return 0.0
    if left.spectral_radius >= 1:
        return float("inf")
    _check_pairs(max(left.num_states, right.num_states))
    # A pair of states holds the states of both automata after the same prefix. `right` has one more
    # state, for prefixes that it can't read.
    start, moves, stops = _without_weights(right)
    n = left.num_states * len(start)
    pairs = WFA(
        np.kron(left.initial, start).astype(np.float64, copy=False),
        np.array(
            [np.kron(A, B) for A, B in zip(left.transitions, moves, strict=True)], dtype=np.float64
        ),
        np.ones(n),
    )
    arrivals = np.zeros(n)  # the weight with which f reaches each pair
    useful = pairs.useful_states
    among = pairs.summed_transitions[np.ix_(useful, useful)]
    arrivals[useful] = np.linalg.solve(np.eye(len(useful)) - among.T, pairs.initial[useful])
    visits = arrivals.reshape(left.num_states, len(start))
    sums = left.prefix_termination  # (num_states,): the weight of all strings read from a state
    initial = float(left.initial.sum()), float(right.initial.sum())
    bits = float(left.initial @ sums) * _log2_ratio(initial[0], initial[1])
    for i, j in np.argwhere(visits > 0).tolist():
        bits += visits[i, j] * left.termination[i] * _log2_ratio(left.termination[i], stops[j])
        for symbol, A in enumerate(left.transitions):
            for target in np.flatnonzero(A[i]).tolist():
                through = visits[i, j] * A[i, target] * sums[target]
                other = right.transitions[symbol, j].sum() if j < right.num_states else 0.0
                bits += through * _log2_ratio(A[i, target], other)
    return float(bits)


def _without_weights(wfa: WFA) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the moves of a deterministic automaton as zeros and ones, with a last state for what
    it can't read, and its α∞.
    """
    k = wfa.num_states
    start = np.append((wfa.initial != 0).astype(np.float64), 0.0 if wfa.initial.any() else 1.0)
    moves = np.zeros((wfa.num_symbols, k + 1, k + 1))
    moves[:, :k, :k] = wfa.transitions != 0
    moves[:, :, k] = 1 - moves[:, :, :k].sum(axis=2)
    return start, moves, np.append(wfa.termination, 0.0)


def _log2_ratio(weight: float, other: float) -> float:
    """log₂ (weight / other); 0 if the weight is 0, because it then adds nothing to the sum; ∞ if
    only the other is 0.
    """
    if weight == 0:
        return 0.0
    return float(np.log2(weight / other)) if other > 0 else float("inf")


class SingularValueAutomaton(NamedTuple):
    """A canonical form, and the singular values of the infinite Hankel matrix, in descending order,
    shape (num_states,).
    """

    wfa: WFA
    singular_values: FloatArray


@check_types
def singular_value_automaton(wfa: WFA) -> SingularValueAutomaton:
    """Compute the canonical form of a function with a finite L2 norm.

    Theorem (Balle, Panangaden and Precup 2015): in this basis the Gram matrices of both sides, Σ_u
    (α₀ᵀ A_u)ᵀ (α₀ᵀ A_u) over all prefixes and Σ_v (A_v α∞)(A_v α∞)ᵀ over all suffixes, are the
    diagonal matrix of the singular values of the Hankel matrix of *all* strings. If the singular
    values are distinct, the form is unique up to signs, which are chosen here to make α₀
    non-negative.

    >>> form = singular_value_automaton(WFA([1], [[[0.5]]], [0.5]))
    >>> form.singular_values.round(6).tolist()  # ‖(1, ½, ¼, …)‖² / 2
    [0.666667]

    Raises
    ------
    RecipeError
        If Σ f(x)² diverges.
    """
    shortest = minimise(wfa)
    if not shortest.num_states:
        return SingularValueAutomaton(shortest, np.zeros(0))
    if not _squares_converge(shortest):
        raise RecipeError(
            "the sum of the squares of all weights diverges, so there is no canonical form"
        )
    prefixes = _gramian(reverse(shortest))
    suffixes = _gramian(shortest)
    roots, vectors = np.linalg.eigh(prefixes)
    if roots[0] <= 0:
        raise RecipeError(
            "the automaton is too badly conditioned for its canonical form: a Gram matrix is "
            "not positive"
        )
    L = vectors * np.sqrt(roots)  # L Lᵀ: the Gram matrix of the prefixes
    squares, U = np.linalg.eigh(L.T @ suffixes @ L)
    singular_values = np.sqrt(np.maximum(squares[::-1], 0.0))
    U = U[:, ::-1]
    scale = np.sqrt(singular_values)
    Q = (vectors / np.sqrt(roots)) @ U * scale
    inverse = (U / scale).T @ L.T
    initial = shortest.initial @ Q
    signs = np.where(initial < 0, -1.0, 1.0)
    Q = Q * signs
    inverse = inverse * signs[:, None]
    form = WFA(
        shortest.initial @ Q,
        inverse @ shortest.transitions @ Q,
        inverse @ shortest.termination,
        wfa.alphabet,
    )
    return SingularValueAutomaton(form, singular_values)


@check_types
def approximate(wfa: WFA, num_states: int) -> WFA:
    """Compute a smaller automaton of nearly the same function: the first states of the canonical
    form.

    Theorem (Balle, Panangaden and Precup 2015, 2019): the L2 distance to f is bounded by a function
    of the singular values that are left out, and goes to 0 with them. No automaton with as few
    states has a Hankel matrix whose distance, in operator norm, is below the first of these values
    (Eckart and Young 1936). So the singular values show how many states are useful.

    >>> source = WFA([0.9, 0.1], [[[0.5, 0.0], [0.0, 0.1]]], [0.5, 0.9])
    >>> approximate(source, 1).num_states, round(distance(approximate(source, 1), source), 3)
    (1, 0.014)

    Raises
    ------
    RecipeError
        If `num_states` is below 1 or above what the function needs, or Σ f(x)² diverges.
    """
    check_at_least("num_states", num_states, 1)
    form = singular_value_automaton(wfa).wfa
    check_between(
        "num_states", num_states, 1, form.num_states, "the smallest automaton has the last number"
    )
    first = slice(num_states)
    return WFA(
        form.initial[first],
        form.transitions[:, first, first].copy(),
        form.termination[first],
        wfa.alphabet,
    )


@check_types
def forward(wfa: WFA, word: WordLike) -> FloatArray:
    """Compute α₀ᵀ A_{x₁…x_i} for i = 0 … t: the state after each prefix of a string, shape (length
    + 1, num_states).

    >>> forward(WFA([1], [[[0.5]]], [0.5]), (0, 0)).tolist()
    [[1.0], [0.5], [0.25]]
    """
    states = [wfa.initial]
    for symbol in _word(wfa, word):
        states.append(states[-1] @ wfa.transitions[symbol])
    return np.array(states)


@check_types
def backward(wfa: WFA, word: WordLike) -> FloatArray:
    """Compute A_{x_{i+1}…x_t} α∞ for i = 0 … t: the weights of the rest of a string from each
    state, shape (length + 1, num_states).

    The product of row i with row i of `forward` is f(x), for every i.

    >>> backward(WFA([1], [[[0.5]]], [0.5]), (0, 0)).tolist()
    [[0.125], [0.25], [0.5]]
    """
    return forward(reverse(wfa), _word(wfa, word)[::-1])[::-1]


@check_types
def posterior(wfa: WFA, word: WordLike) -> FloatArray:
    """Return the probability of each state at each position of a string, given the whole string,
    shape (length + 1, num_states).

    Forward–backward: γ_i(s) = (α₀ᵀ A_{x₁…x_i})_s (A_{x_{i+1}…x_t} α∞)_s / f(x) (Rabiner 1989, eq.
    27). Vectors are rescaled at each step, so long strings do not underflow.

    >>> posterior(WFA([0.5, 0.5], [[[0.5, 0], [0, 0.25]]], [0.5, 0.75]), (0, 0)).round(3).tolist()
    [[0.727, 0.273], [0.727, 0.273], [0.727, 0.273]]

    Raises
    ------
    RecipeError
        If a weight is negative, so that paths have no probabilities, or f(x) is 0.
    """
    _check_not_negative("the automaton", wfa)
    symbols = _word(wfa, word)
    sides = []
    for one, order in ((wfa, symbols), (reverse(wfa), symbols[::-1])):
        states = [_rescaled(one.initial)]
        for symbol in order:
            states.append(_rescaled(states[-1] @ one.transitions[symbol]))
        sides.append(np.array(states))
    products: FloatArray = sides[0] * sides[1][::-1]
    sums = products.sum(axis=1, keepdims=True)
    if not (sums > 0).all():
        raise RecipeError(
            "the automaton gives the string the weight 0, so its states have no probabilities"
        )
    shares: FloatArray = products / sums
    return shares


class Path(NamedTuple):
    """States, shape (length + 1,), and log₂ of the weight of their path."""

    states: IntArray
    log2_weight: float


@check_types
def viterbi(wfa: WFA, word: WordLike) -> Path:
    """Find the path of states with the largest weight. Ties go to lower states.

    Source: Viterbi 1967; Rabiner 1989, equation 33.

    >>> path = viterbi(WFA([0.5, 0.5], [[[0.5, 0], [0, 0.25]]], [0.5, 0.75]), (0, 0))
    >>> path.states.tolist(), path.log2_weight
    ([0, 0, 0], -4.0)

    Parameters
    ----------
    wfa : WFA
        Without negative weights, such as an HMM or a PFA.
    word : str, sequence of symbols, or tuple of symbol numbers

    Raises
    ------
    RecipeError
        If a weight is negative, every path has weight 0, or the word has a symbol that the
        automaton does not have.
    """
    _check_not_negative("the automaton", wfa)
    with np.errstate(divide="ignore"):
        logs = np.log2(wfa.initial)
        transitions = np.log2(wfa.transitions)
        termination = np.log2(wfa.termination)
    before: list[IntArray] = []
    for symbol in _word(wfa, word):
        candidates = logs[:, None] + transitions[symbol]
        before.append(candidates.argmax(axis=0))
        logs = candidates.max(axis=0, initial=-np.inf)
    logs = logs + termination
    if not np.isfinite(logs).any():
        raise RecipeError("the automaton gives the string the weight 0, so it has no path")
    states = [int(logs.argmax())]
    for origins in reversed(before):
        states.append(int(origins[states[-1]]))
    return Path(np.array(states[::-1]), float(logs.max()))


def _word(wfa: WFA, word: WordLike) -> Word:
    symbols = as_word(word, wfa.alphabet)
    for symbol in symbols:
        check_between("a symbol", symbol, 0, wfa.num_symbols - 1)
    return symbols


def _rescaled(state: FloatArray) -> FloatArray:
    largest = float(state.max(initial=0.0))
    return state / largest if largest > 0 else state


def _check_not_negative(name: str, wfa: WFA) -> None:
    lowest = min(
        float(part.min(initial=0.0)) for part in (wfa.initial, wfa.transitions, wfa.termination)
    )
    if not lowest >= 0:
        raise RecipeError(f"{name} must have no negative weights; got {format_significant(lowest)}")


def _check_pairs(num_states: int) -> None:
    if num_states**2 > MAX_STATES_SQUARED:
        raise RecipeError(
            f"this needs at most {MAX_STATES_SQUARED:,} pairs of states; got "
            f"{plural(num_states, 'state')}, "
            f"which make {num_states**2:,}"
        )


def _norm(wfa: WFA) -> float:
    """Compute √(Σ_x f(x)²), which must converge."""
    return float(np.sqrt(np.maximum(wfa.initial @ _gramian(wfa) @ wfa.initial, 0.0)))


def _squares_converge(shortest: WFA) -> bool:
    """Return whether Σ f(x)² converges, for an automaton with the fewest possible states.

    It does if and only if the largest eigenvalue of G ↦ Φ(G) = Σ_σ A_σ G A_σᵀ is below 1: the
    vectors A_v α∞ span the space, so the sums of Φⁿ(α∞ α∞ᵀ) converge only where they do for every
    matrix. Φ is positive, so ‖Φⁿ‖ = ‖Φⁿ(I)‖; the sum converges if one of these norms is clearly
    below 1. An eigenvalue that differs from 1 by no more than the rounding of the reduction counts
    as 1.
    """
    k = shortest.num_states
    below_one = 1 - 64 * k * float(np.finfo(np.float64).eps)
    power = np.eye(k)
    for _ in range(FEW_POWERS):
        power = sum((A @ power @ A.T for A in shortest.transitions), np.zeros((k, k)))
        size = float(np.linalg.norm(power))  # at least the largest singular value
        if not size < LARGEST_POWER:
            break
        if size < 0.5:
            return True
    if not np.isfinite(shortest.transitions).all():
        return False
    if k <= SMALL:
        radius = float(np.abs(np.linalg.eigvals(_gram_matrix(shortest))).max(initial=0.0))
        return radius < below_one
    try:
        values = eigs(_gram_map(shortest), k=1, v0=np.eye(k).ravel(), return_eigenvectors=False)
    except ArpackNoConvergence:
        return False  # none of so many powers was small
    return float(np.abs(values[0])) < below_one


def _gram_map(wfa: WFA) -> LinearOperator:
    """Make the linear map Φ(G) = Σ_σ A_σ G A_σᵀ, for G of shape (num_states²,)."""
    k = wfa.num_states

    def image(G: FloatArray) -> FloatArray:
        square = G.reshape(k, k)
        return sum((A @ square @ A.T for A in wfa.transitions), np.zeros((k, k))).ravel()

    return LinearOperator((k * k, k * k), matvec=image, dtype=np.float64)


def _gram_matrix(wfa: WFA) -> FloatArray:
    """Compute the matrix of Φ (see `_gram_map`) on symmetric G, shape (n, n) with
    n = k (k + 1) / 2: the entries on and above the diagonal.
    """
    i, j = np.triu_indices(wfa.num_states)
    matrix = np.zeros((len(i), len(i)))
    for A in wfa.transitions:
        matrix += A[i][:, i] * A[j][:, j] + (i != j) * (A[i][:, j] * A[j][:, i])
    return matrix


def _gramian(wfa: WFA) -> FloatArray:
    """Compute Σ_v (A_v α∞)(A_v α∞)ᵀ over all strings v, shape (num_states, num_states), which must
    converge.

    It is the solution of G = α∞ α∞ᵀ + Φ(G), which are k(k + 1)/2 linear equations. Above `MEDIUM`
    states, where their matrix is too large, GMRES solves them with products of k × k matrices
    alone, and refines its solution by solving for the residual.

    Raises RecipeError if there are more states than that, and GMRES does not converge.
    """
    k = wfa.num_states
    if k <= MEDIUM:
        i, j = np.triu_indices(k)
        half = np.linalg.solve(
            np.eye(len(i)) - _gram_matrix(wfa), wfa.termination[i] * wfa.termination[j]
        )
        gramian = np.zeros((k, k))
        gramian[i, j] = half
        gramian[j, i] = half
        return gramian
    start = np.outer(wfa.termination, wfa.termination).ravel()
    images = _gram_map(wfa)
    equations = LinearOperator(
        images.shape, matvec=lambda G: G - images.matvec(G), dtype=np.float64
    )
    solution = np.zeros(k * k)
    for _ in range(REFINEMENTS):
        residual = start - equations.matvec(solution)
        if np.linalg.norm(residual) <= k * np.finfo(np.float64).eps * np.linalg.norm(solution):
            square = solution.reshape(k, k)
            symmetric: FloatArray = (square + square.T) / 2
            return symmetric
        solution += gmres(equations, residual, rtol=1e-8, restart=50, maxiter=20)[0]
    raise RecipeError(
        "the sum of the squares of all weights converges too slowly to be computed with "
        f"{plural(k, 'state')}"
    )
