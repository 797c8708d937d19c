"""Weighted finite automata: f(x₁…x_t) = α₀ᵀ A_{x₁} … A_{x_t} α∞ (Li, Rabusseau, Precup 2018, §2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError
from ..rounding import RELATIVE_ERROR, flush_entries, flush_product, flush_states
from ..strings.rolling import end_states
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, IntArray, Words, check_alphabet, float64_array
from .model import MODELS_ALPHABET


@dataclass(frozen=True, eq=False)
class WFA:
    """A weighted finite automaton. Sequences and arrays of other numbers become arrays of float64, if that changes no number.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    transitions : array, shape (num_symbols, num_states, num_states)
        A_σ; a row vector is multiplied from the left.
    termination : array, shape (num_states,)
        α∞.
    alphabet : Alphabet or None
        The symbols of the A_σ. None for an automaton of numbers, which takes the symbols of words by their numbers.

    Examples
    --------
    The number of a's, as weight:

    >>> counter = WFA(np.array([1.0, 0.0]), np.array([[[1.0, 1.0], [0.0, 1.0]]]), np.array([0.0, 1.0]))
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
        if self.termination.shape != (k,) or self.transitions.ndim != 3 or self.transitions.shape[1:] != (k, k):
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
        """Each row times A_σ (see `rolling.Transitions`), as computed, before the rule of `rounding` is applied."""
        following: FloatArray = states @ self.transitions[symbol]
        return following

    @cached_property
    def magnitudes(self) -> FloatArray:
        """|A_σ|, shape (num_symbols, num_states, num_states), which bounds rounding errors."""
        return np.abs(self.transitions)

    def states(self, trie: Trie) -> FloatArray:
        """α₀ᵀ A_u of every prefix u of a tree, shape (num_nodes, num_states); exactly 0 where only rounding is left."""
        return flush_states(trie.roll_out(self.initial, self.transition), trie.parent, trie.symbol, self.magnitudes)

    def weights(self, words: Words) -> FloatArray:
        """f(x) of many words, shape (num_words,); exactly 0 where only rounding is left. Common prefixes are computed once."""
        words = words.in_alphabet(self.alphabet, MODELS_ALPHABET)
        ends = end_states(words, self.num_symbols, self.initial, self.transition, self.magnitudes)
        with np.errstate(over="ignore", invalid="ignore"):
            return flush_entries(ends @ self.termination[:, None], ends, np.abs(self.termination)[:, None])[:, 0]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix u, for a WFA of *string* probabilities.

        Returns
        -------
        array, shape (num_nodes, num_symbols + 1)
            f(uσΣ*) for each σ by the prefix conversion, and last, for the end of the string, f(u). A row sums to f(uΣ*). Exactly 0
            where only rounding is left. Scores of symbols are nan where `prefix_termination` is.
        """
        states, all_suffixes = self.states(trie), self.prefix_termination
        with np.errstate(over="ignore", invalid="ignore"):
            following = np.column_stack((*(self.transitions @ all_suffixes), self.termination))  # (k, num_symbols + 1)
            magnitudes = np.column_stack((*(self.magnitudes @ np.abs(all_suffixes)), np.abs(self.termination)))
            return flush_entries(states @ following, states, magnitudes)

    @cached_property
    def summed_transitions(self) -> FloatArray:
        """A = Σ_σ A_σ, shape (num_states, num_states)."""
        with np.errstate(over="ignore", invalid="ignore"):
            summed: FloatArray = self.transitions.sum(axis=0)
        return summed

    @cached_property
    def useful_states(self) -> IntArray:
        """The states that lie on a path from α₀ to α∞, ascending: strings get weight through no others.

        A state is reachable if a chain of weights other than 0 leads to it from an entry of α₀ other than 0, and observable if one
        leads from it to such an entry of α∞. Weights are 0 if they are exactly 0: nothing cancels in a single number, so the rule
        of `rounding` leaves every other one as it is.

        This is the automaton's graph, not its numerical rank. It leaves out states that nothing reaches, such as 47 of the 56 in
        PAutomaC's problem 5, and dead ends. It does not leave out states whose contributions cancel, which another basis would
        show to be superfluous.
        """
        reachable, observable = self.initial != 0, self.termination != 0
        if not (reachable.all() and observable.all()):
            edges: npt.NDArray[np.bool_] = np.asarray(self.transitions.any(axis=0))
            reachable, observable = _closure(reachable, edges), _closure(observable, edges.T)
        return np.flatnonzero(reachable & observable)

    @cached_property
    def _useful_transitions(self) -> FloatArray:
        """A over the useful states."""
        useful = self.useful_states
        return self.summed_transitions if len(useful) == self.num_states else self.summed_transitions[np.ix_(useful, useful)]

    @cached_property
    def _useful_sums(self) -> FloatArray | None:
        """(I − A)⁻¹ α∞ over the useful states; None if I − A is singular there.

        So it is if solving finds no pivot, or if (I − A) s = α∞ is zero by the rule of `rounding` in every entry: s is then an
        eigenvector of A for the eigenvalue 1, as far as any digit shows.
        """
        termination, A = self.termination[self.useful_states], self._useful_transitions
        difference = np.eye(len(A)) - A
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                sums: FloatArray = np.linalg.solve(difference, termination).astype(np.float64, copy=False)
            except np.linalg.LinAlgError:
                return None
            bounds = RELATIVE_ERROR * (np.abs(difference) @ np.abs(sums))
            return None if len(sums) and (np.abs(termination) <= bounds).all() else sums

    @cached_property
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of A = Σ_σ A_σ over the useful states; if it is 1 or more, the sum of f over all strings diverges.

        ∞ if A itself overflows; at least 1 if I − A is singular; 0 without useful states.
        """
        if not np.isfinite(self._useful_transitions).all():
            return float("inf")
        radius = float(np.abs(np.linalg.eigvals(self._useful_transitions)).max(initial=0.0))
        return radius if self._useful_sums is not None else max(radius, 1.0)

    @cached_property
    def prefix_termination(self) -> FloatArray:
        """(I − A)⁻¹ α∞ over the useful states, shape (num_states,): terminates with the summed weight of all continuations.

        0 for all other states. Source: Balle et al. 2014. These are sums only if `spectral_radius` < 1; otherwise the same formula
        is evaluated, but has no such meaning. If I − A is singular, the sums diverge or are undefined: nan.
        """
        sums = np.zeros(self.num_states)
        sums[self.useful_states] = np.nan if self._useful_sums is None else self._useful_sums
        return sums

    def squared(self) -> WFA:
        """The automaton of f², with num_states² states: Kronecker products throughout ([P] §3)."""
        return WFA(
            np.kron(self.initial, self.initial).astype(np.float64, copy=False),
            np.stack([np.kron(A, A) for A in self.transitions]),
            np.kron(self.termination, self.termination).astype(np.float64, copy=False),
            self.alphabet,
        )

    def total_weight(self) -> float:
        """Σ_x f(x) over all strings; ∞ where that sum diverges."""
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                float(flush_product(self.initial, self.prefix_termination[:, None])[0])
                if self.spectral_radius < 1
                else float("inf")
            )


def _closure(states: npt.NDArray[np.bool_], edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The states that edges, shape (num_states, num_states), lead to from some states, these included; shape (num_states,)."""
    closure, frontier = states.copy(), np.flatnonzero(states)
    while len(frontier):
        following = edges[frontier].any(axis=0) & ~closure
        closure |= following
        frontier = np.flatnonzero(following)
    return closure
