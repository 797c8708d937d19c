"""Weighted finite automata: f(x₁…x_t) = α₀ᵀ A_{x₁} … A_{x_t} α∞ (Li, Rabusseau, Precup 2018,
§2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_types, plural
from ..rounding import (
    RELATIVE_ERROR,
    error_of_sums,
    flush_entries,
    has_vanishing_states,
    sizes,
    step_with_errors,
)
from ..strings.rolling import end_states
from ..strings.trie import Trie, check_tree
from ..strings.words import Alphabet, FloatArray, IntArray, Words, check_alphabet, float64_array
from .methods import LARGEST_TABLE, Methods, html_row
from .model import model_words
from .span import smallest

# States that are smaller (Σ|s_i|) are multiplied by 2 to the power of `SHIFT`, and larger ones
# divided by it: no digit changes.
SMALLEST_SIZE = 2.0**-900
LARGEST_SIZE = 2.0**300
SHIFT = 800
# Where the radius of ΣA is above this, the smallest automaton is computed, unless symbols × states³
# or an entry is too large.
CLEARLY_BELOW_1 = 1 - 1e-6
MOST_WORK = 2**31
LARGEST_ENTRY = 2.0**64


@dataclass(frozen=True, eq=False, repr=False)
class WFA(Methods):
    """A weighted finite automaton.

    Its values can be passed as sequences or arrays of any numbers that float64 represents exactly.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    transitions : array, shape (num_symbols, num_states, num_states)
        A_σ. States are row vectors: the next state is zᵀ A_σ.
    termination : array, shape (num_states,)
        α∞.
    alphabet : Alphabet or None
        The symbols of the A_σ; None if symbols are known only by their numbers.

    Raises
    ------
    RecipeError
        If the shapes of the arrays, or the alphabet's size, do not fit together.

    Examples
    --------
    An automaton in which the weight of a string is its number of symbols:

    >>> counter = WFA(
    ...     np.array([1.0, 0.0]), np.array([[[1.0, 1.0], [0.0, 1.0]]]), np.array([0.0, 1.0])
    ... )
    >>> counter.weights(Words.of([(), (0,), (0, 0, 0)])).tolist()
    [0.0, 1.0, 3.0]
    """

    initial: FloatArray
    transitions: FloatArray
    termination: FloatArray
    alphabet: Alphabet | None = None

    def __post_init__(self) -> None:
        for name in ("initial", "transitions", "termination"):
            object.__setattr__(self, name, float64_array(name, getattr(self, name)))
        k = self.initial.shape[0] if self.initial.ndim == 1 else -1
        if (
            self.termination.shape != (k,)
            or self.transitions.ndim != 3
            or self.transitions.shape[1:] != (k, k)
        ):
            raise RecipeError(
                f"a WFA needs initial (k,), transitions (num_symbols, k, k) and termination (k,); "
                f"got {self.initial.shape}, {self.transitions.shape}, {self.termination.shape}"
            )
        check_alphabet(self.alphabet, self.num_symbols)

    is_chain = False  # see `model.SharedModel`

    @property
    def num_states(self) -> int:
        return len(self.initial)

    @property
    def num_symbols(self) -> int:
        return len(self.transitions)

    def transition(self, states: FloatArray, symbol: int | IntArray) -> FloatArray:
        """Multiply each row of `states` by A_σ (see `rolling.Transitions`).

        Rounding errors are not replaced by 0 here.
        """
        following: FloatArray = states @ self.transitions[symbol]
        return following

    @cached_property
    def magnitudes(self) -> FloatArray:
        """Return |A_σ|, shape (num_symbols, num_states, num_states), which bounds rounding
        errors.
        """
        return np.abs(self.transitions)

    def states(self, trie: Trie) -> FloatArray:
        """α₀ᵀ A_u of every prefix u of a tree, shape (num_nodes, num_states); exactly 0 where only
        rounding error is left.
        """
        check_tree(trie, self.num_symbols)
        states = trie.roll_out(self.initial, self.transition)
        if has_vanishing_states(states, trie.parent, trie.symbol, self.magnitudes):
            states = trie.roll_out(self._initial_with_error, self._step_with_errors)[
                :, : self.num_states
            ]
        return states

    @property
    def _initial_with_error(self) -> FloatArray:
        """Return α₀ and the bound of its error, which is 0; shape (2 num_states,)."""
        return np.concatenate((self.initial, np.zeros(self.num_states)))

    def _step_with_errors(self, states: FloatArray, symbol: int) -> FloatArray:
        return step_with_errors(states, self.transitions[symbol], self.magnitudes[symbol])

    def scaled_states(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Return the states of long prefixes, which may be too small or too large for float64:
        `states` divided by 2ᵉ.

        Returns
        -------
        states : array, shape (num_nodes, num_states)
        exponents : array, shape (num_nodes,), or None
            e of each prefix; None if all are 0.
        """
        states = self.states(trie)
        size = sizes(states)
        if ((size == 0) | ((size >= SMALLEST_SIZE) & (size <= LARGEST_SIZE))).all():
            return states, None
        states, exponents = self._scaled_states_with_errors(trie)
        return states[:, : self.num_states], exponents

    def _scaled_states_with_errors(self, trie: Trie) -> tuple[FloatArray, IntArray]:
        """Compute `scaled_states`, and after them the bounds of their errors, shape (num_nodes, 2
        num_states).
        """
        return trie.roll_out_scaled(
            self._initial_with_error,
            self._step_with_errors,
            SMALLEST_SIZE,
            LARGEST_SIZE,
            SHIFT,
            size_of=lambda states: sizes(states[:, : self.num_states]),
        )

    def _errors(self, trie: Trie, is_scaled: bool = False) -> FloatArray:
        """Compute bounds of the errors of `states`, or of `scaled_states`, shape (num_nodes,
        num_states).
        """
        if is_scaled:
            states = self._scaled_states_with_errors(trie)[0]
        else:
            states = trie.roll_out(self._initial_with_error, self._step_with_errors)
        return states[:, self.num_states :]

    def weights(self, words: Words) -> FloatArray:
        """f(x) of each word, shape (num_words,); exactly 0 where only rounding error is left.
        Common prefixes are computed once.

        A weight of size below 1e-308 is also 0, and a weight of size above 1e308 is ±∞;
        `log2_weights` returns their sizes.

        Raises RecipeError if a word has a symbol that the model does not have.
        """
        words = model_words(words, self.alphabet)
        ends = end_states(words, self.num_symbols, self.initial, self.transition, self.magnitudes)
        if ends is None:
            trie = Trie.of(words, self.num_symbols)
            ends = self.states(trie)[trie.ends]
        column = self.termination[:, None]

        def bounds() -> tuple[FloatArray, FloatArray]:
            trie = Trie.of(words, self.num_symbols)
            return self._errors(trie)[trie.ends], np.zeros_like(column)

        with np.errstate(over="ignore", invalid="ignore"):
            return flush_entries(ends @ column, ends, np.abs(column), bounds)[:, 0]

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,); −∞ for 0.

        It is finite even for long strings, whose weights may not fit in float64.

        Raises RecipeError if a word has a symbol that the model does not have.
        """
        trie = Trie.of(model_words(words, self.alphabet), self.num_symbols)
        scores, exponents = self.scaled_next_scores(trie)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log2(np.abs(scores[trie.ends, -1]))
        return logs if exponents is None else logs + exponents[trie.ends]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Compute scores of what follows each prefix u, for a WFA of *string* probabilities.

        Parameters
        ----------
        trie : Trie
            The tree of the prefixes.

        Returns
        -------
        array, shape (num_nodes, num_symbols + 1)
            For each symbol σ the prefix weight f(uσΣ*), computed with `prefix_termination`, and
            last, for the end of the string, f(u). A row sums to f(uΣ*). Scores are exactly 0 where
            only rounding error is left. If `prefix_termination` is nan, so are the scores of
            symbols.

        Raises
        ------
        RecipeError
            If the tree has a symbol that the automaton does not have.
        """
        return self._scores(self.states(trie), lambda: self._errors(trie))

    def scaled_next_scores(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Compute `next_scores` divided by 2ᵉ, and e of each prefix (see `model.ScaledModel`)."""
        states, exponents = self.scaled_states(trie)
        return self._scores(
            states, lambda: self._errors(trie, is_scaled=exponents is not None)
        ), exponents

    def _scores(self, states: FloatArray, errors: Callable[[], FloatArray]) -> FloatArray:
        """Compute the scores after some states, whose errors `errors` bounds."""
        sums = self.prefix_termination

        def bounds() -> tuple[FloatArray, FloatArray]:
            following = self.magnitudes @ (
                self.prefix_termination_error + error_of_sums(self.initial) * np.abs(sums)
            )
            return errors(), np.column_stack((*following, np.zeros(self.num_states)))

        with np.errstate(over="ignore", invalid="ignore"):
            # (k, num_symbols + 1)
            following = np.column_stack((*(self.transitions @ sums), self.termination))
            magnitudes = np.column_stack(
                (*(self.magnitudes @ np.abs(sums)), np.abs(self.termination))
            )
            return flush_entries(states @ following, states, magnitudes, bounds)

    @cached_property
    def summed_transitions(self) -> FloatArray:
        """Compute A = Σ_σ A_σ, shape (num_states, num_states)."""
        with np.errstate(over="ignore", invalid="ignore"):
            summed: FloatArray = self.transitions.sum(axis=0)
        return summed

    @cached_property
    def useful_states(self) -> IntArray:
        """Return the states, in ascending order, on paths of nonzero weights from α₀ to α∞. No
        other states affect any f(x).

        A path starts at a nonzero entry of α₀, follows nonzero entries of the A_σ, and ends at a
        nonzero entry of α∞. An entry counts as zero only if it is exactly 0: a single number cannot
        be the result of a cancellation, so the rule of `rounding` does not apply to it.

        The useful states follow from the automaton's graph alone, not from its numerical rank. They
        exclude states that no path reaches, such as 47 of the 56 states in PAutomaC's problem 5,
        and dead ends. They include states whose contributions cancel, which would turn out to be
        superfluous in another basis.
        """
        reachable = self.initial != 0
        observable = self.termination != 0
        if not (reachable.all() and observable.all()):
            edges: npt.NDArray[np.bool_] = np.asarray(self.transitions.any(axis=0))
            reachable = _closure(reachable, edges)
            observable = _closure(observable, edges.T)
        return np.flatnonzero(reachable & observable)

    @cached_property
    def _useful_transitions(self) -> FloatArray:
        """Compute A over the useful states."""
        useful = self.useful_states
        return (
            self.summed_transitions
            if len(useful) == self.num_states
            else self.summed_transitions[np.ix_(useful, useful)]
        )

    @cached_property
    def _useful_sums(self) -> tuple[FloatArray | None, float]:
        """Compute (I − A)⁻¹ α∞ over the useful states, None if I − A is singular there; and the
        spectral radius of A.

        Where the radius is not clearly below 1, states whose contributions cancel may be the
        reason, and they would make the sums diverge or become arbitrary. So both are then computed
        in the smallest automaton, which is a projection (`span.smallest`): the sums are P s, with s
        those of that automaton.
        """
        useful = self.useful_states
        A = self._useful_transitions
        if not np.isfinite(A).all():
            return None, float("inf")
        termination = self.termination[useful]
        radius = _spectral_radius(A)
        transitions = self.transitions[:, useful][:, :, useful]
        is_small = (
            1 < len(useful) ** 3 * self.num_symbols <= MOST_WORK
            and np.abs(transitions).max() < LARGEST_ENTRY
        )
        if radius > CLEARLY_BELOW_1 and is_small:
            reduction = smallest(self.initial[useful], transitions, termination)
            if reduction.projection.shape[1] < len(useful):
                A = reduction.transitions.sum(axis=0)
                sums = _sums(A, reduction.termination)
                radius = _spectral_radius(A)
                return (
                    (None, max(radius, 1.0))
                    if sums is None
                    else (reduction.projection @ sums, radius)
                )
        sums = _sums(A, termination)
        return sums, radius if sums is not None else max(radius, 1.0)

    @cached_property
    def spectral_radius(self) -> float:
        """Return the largest |eigenvalue| of A = Σ_σ A_σ over the useful states.

        If it would be 1 or more only because of states whose contributions cancel, it is that of
        the smallest automaton of the same function (see `algebra.minimise`; automata that are too
        large for this are used unchanged). If it is then still 1 or more, the sum of f over all
        strings diverges. It is ∞ if A itself overflows, at least 1 if I − A is singular, and 0 if
        there are no useful states.
        """
        return self._useful_sums[1]

    @cached_property
    def prefix_termination(self) -> FloatArray:
        """Return the vector s, shape (num_states,), for which zᵀ s is the sum of the weights of all
        strings read from a state z.

        Over the useful states it is (I − A)⁻¹ α∞, and for all other states it is 0 (Balle et al.
        2014). It has this meaning only if `spectral_radius` is below 1; otherwise the same formula
        is evaluated, but the sum diverges. If I − A is singular, it is nan.
        """
        sums = np.zeros(self.num_states)
        useful_sums = self._useful_sums[0]
        sums[self.useful_states] = np.nan if useful_sums is None else useful_sums
        return sums

    @cached_property
    def prefix_termination_error(self) -> FloatArray:
        """Compute a bound on the error of `prefix_termination`, shape (num_states,); ∞ if I − A is
        singular.

        A solution x of Mx = b has an error of at most |M⁻¹| (γ |M| |x| + γ |b|), up to higher
        orders of γ (Higham 2002, §7.2).
        """
        useful = self.useful_states
        errors = np.zeros(self.num_states)
        M = np.eye(len(useful)) - self._useful_transitions
        residual = np.abs(M) @ np.abs(self.prefix_termination[useful]) + np.abs(
            self.termination[useful]
        )
        try:
            errors[useful] = np.abs(np.linalg.inv(M)) @ (error_of_sums(self.initial) * residual)
        except np.linalg.LinAlgError:
            errors[useful] = np.inf
        return errors

    def squared(self) -> WFA:
        """Make the automaton of f², with num_states² states, from Kronecker products of all weights
        with themselves ([P] §3).
        """
        return self * self

    @check_types
    def in_symbols_of(self, other: WFA) -> WFA:
        """Return this automaton with its symbols numbered as in `other`; unchanged if either has no
        alphabet.

        Raises RecipeError if the two have different symbols.
        """
        if self.num_symbols != other.num_symbols or (
            self.alphabet
            and other.alphabet
            and set(self.alphabet.symbols) != set(other.alphabet.symbols)
        ):
            names = [
                wfa.alphabet.summary if wfa.alphabet else plural(wfa.num_symbols, "symbol")
                for wfa in (other, self)
            ]
            raise RecipeError(
                f"the two automata must have the same symbols; one has {names[0]}, the other "
                f"{names[1]}"
            )
        return (
            self
            if self.alphabet is None or other.alphabet is None
            else self.in_alphabet(other.alphabet)
        )

    @check_types
    def in_alphabet(self, alphabet: Alphabet) -> WFA:
        """Return this automaton with its symbols numbered as in `alphabet`. An automaton without
        an alphabet gets `alphabet`.

        Raises RecipeError if the two have different symbols.
        """
        old_alphabet = self.alphabet or alphabet
        if self.num_symbols != len(alphabet) or set(old_alphabet.symbols) != set(alphabet.symbols):
            symbols = self.alphabet.summary if self.alphabet else plural(self.num_symbols, "symbol")
            raise RecipeError(
                f"the automaton must have the symbols of the alphabet, {alphabet.summary}; "
                f"got {symbols}"
            )
        if old_alphabet == self.alphabet == alphabet:
            return self
        order = [old_alphabet.symbols.index(symbol) for symbol in alphabet.symbols]
        return WFA(self.initial, self.transitions[order], self.termination, alphabet)

    __array_ufunc__ = None  # so that a number of numpy times an automaton is an automaton

    def __add__(self, other: WFA) -> WFA:
        """Return the automaton of f + g: both side by side, with the states of both.

        >>> half = WFA([1], [[[0.5]]], [0.5])
        >>> (half + half)((0,)), (half - 2 * half)((0,)), (half * half)((0,))
        (0.5, -0.25, 0.0625)

        Raises RecipeError if the automata do not have the same symbols. (Their order may differ;
        the result has that of the first.)
        """
        if not isinstance(other, WFA):
            return NotImplemented
        other = other.in_symbols_of(self)
        k = self.num_states
        transitions = np.zeros((self.num_symbols, k + other.num_states, k + other.num_states))
        transitions[:, :k, :k], transitions[:, k:, k:] = self.transitions, other.transitions
        ends = (
            np.concatenate((self.initial, other.initial)),
            np.concatenate((self.termination, other.termination)),
        )
        return WFA(ends[0], transitions, ends[1], self.alphabet or other.alphabet)

    def __radd__(self, other: int) -> WFA:
        """Return this automaton as the sum of 0 and itself, with which `sum` begins.

        >>> half = WFA([1], [[[0.5]]], [0.5])
        >>> sum([half, half, half])((0,))
        0.75
        """
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __neg__(self) -> WFA:
        """Return the automaton of −f."""
        return WFA(-self.initial, self.transitions, self.termination, self.alphabet)

    def __sub__(self, other: WFA) -> WFA:
        """Return the automaton of f − g."""
        return self + -other if isinstance(other, WFA) else NotImplemented

    def __mul__(self, other: WFA | float) -> WFA:
        """Make the automaton of f times a number, or of f(x) g(x), the Hadamard product, by
        Kronecker products of all weights.
        """
        if isinstance(other, WFA):
            other = other.in_symbols_of(self)
            return WFA(
                np.kron(self.initial, other.initial).astype(np.float64, copy=False),
                np.stack(
                    [
                        np.kron(A, B)
                        for A, B in zip(self.transitions, other.transitions, strict=True)
                    ]
                ),
                np.kron(self.termination, other.termination).astype(np.float64, copy=False),
                self.alphabet or other.alphabet,
            )
        if isinstance(other, Real):
            return WFA(
                float(other) * self.initial, self.transitions, self.termination, self.alphabet
            )
        return NotImplemented

    def __rmul__(self, other: float) -> WFA:
        return self * other

    def __truediv__(self, other: float) -> WFA:
        """Return the automaton of f divided by a number.

        >>> half = WFA([1], [[[0.5]]], [0.5])
        >>> (half / 2)((0,)), (-half)((0,))
        (0.125, -0.25)

        Raises ZeroDivisionError if the number is 0.
        """
        if not isinstance(other, Real):
            return NotImplemented
        if other == 0:
            raise ZeroDivisionError("an automaton can't be divided by 0")
        return WFA(self.initial / float(other), self.transitions, self.termination, self.alphabet)

    def total_weight(self) -> float:
        """Compute Σ_x f(x) over all strings; ∞ if the sum diverges."""
        if not self.spectral_radius < 1:
            return float("inf")
        start = self.initial[None]
        sums = self.prefix_termination[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            total = flush_entries(
                start @ sums,
                start,
                np.abs(sums),
                lambda: (np.zeros_like(start), self.prefix_termination_error[:, None]),
            )
        return float(total[0, 0])

    def _html_rows(self) -> Iterator[str]:
        if self.num_states <= LARGEST_TABLE:
            names = self.alphabet.symbols if self.alphabet else map(str, range(self.num_symbols))
            yield html_row("α₀", self.initial)
            yield from (
                html_row(f"A {name}", A) for name, A in zip(names, self.transitions, strict=True)
            )
            yield html_row("α∞", self.termination)


def _spectral_radius(A: FloatArray) -> float:
    return float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))


def _sums(A: FloatArray, termination: FloatArray) -> FloatArray | None:
    """Compute (I − A)⁻¹ α∞; None if I − A is singular.

    It counts as singular if the solver finds no pivot, or if the solution s is such that (I − A) s
    is zero in every entry by the first condition of `rounding`, or only the rounding of s − As is
    left: up to rounding, s is then an eigenvector of A for the eigenvalue 1. Numbers that are not
    negative were not learned by subtracting others, so for them only the rounding counts.
    """
    difference = np.eye(len(A)) - A
    is_signed = bool((A < 0).any() or (termination < 0).any())
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            sums: FloatArray = np.linalg.solve(difference, termination).astype(
                np.float64, copy=False
            )
        except np.linalg.LinAlgError:
            return None
        bounds = 4 * len(A) * np.finfo(np.float64).eps * (np.abs(sums) + np.abs(A) @ np.abs(sums))
        if is_signed:
            bounds = np.maximum(bounds, RELATIVE_ERROR * (np.abs(difference) @ np.abs(sums)))
        return None if len(sums) and (np.abs(termination) <= bounds).all() else sums


def _closure(states: npt.NDArray[np.bool_], edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Find all states that can be reached from some states, which are included.

    `states` (num_states,). `edges` (num_states, num_states): whether an edge leads from state i to
    state j.
    """
    closure = states.copy()
    frontier = np.flatnonzero(states)
    while len(frontier):
        following = edges[frontier].any(axis=0) & ~closure
        closure |= following
        frontier = np.flatnonzero(following)
    return closure
