"""Weighted finite automata: f(x₁…x_t) = α₀ᵀ A_{x₁} … A_{x_t} α∞ (Li, Rabusseau, Precup 2018, §2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import RecipeError
from ..rounding import flush_entries, flush_product, flush_states
from ..strings.rolling import end_states
from ..strings.trie import Trie
from ..strings.words import FloatArray, IntArray, Words


@dataclass(frozen=True, eq=False)
class WFA:
    """A weighted finite automaton.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    transitions : array, shape (num_symbols, num_states, num_states)
        A_σ; a row vector is multiplied from the left.
    termination : array, shape (num_states,)
        α∞.

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

    def __post_init__(self) -> None:
        k = self.initial.shape[0] if self.initial.ndim == 1 else -1
        if self.termination.shape != (k,) or self.transitions.ndim != 3 or self.transitions.shape[1:] != (k, k):
            raise RecipeError(
                f"a WFA needs initial (k,), transitions (num_symbols, k, k) and termination (k,); "
                f"got {self.initial.shape}, {self.transitions.shape}, {self.termination.shape}"
            )

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
        ends = end_states(words, self.num_symbols, self.initial, self.transition, self.magnitudes)
        with np.errstate(over="ignore", invalid="ignore"):
            return flush_entries(ends @ self.termination[:, None], ends, np.abs(self.termination)[:, None])[:, 0]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix u, for a WFA of *string* probabilities.

        Returns
        -------
        array, shape (num_nodes, num_symbols + 1)
            f(uσΣ*) for each σ by the prefix conversion, and last, for the end of the string, f(u). A row sums to f(uΣ*). Exactly 0
            where only rounding is left.
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
    def spectral_radius(self) -> float:
        """Largest |eigenvalue| of A = Σ_σ A_σ; if it is 1 or more, the sum of f over all strings diverges. ∞ where A itself
        overflows."""
        if not np.isfinite(self.summed_transitions).all():
            return float("inf")
        return float(np.abs(np.linalg.eigvals(self.summed_transitions)).max(initial=0.0))

    @cached_property
    def prefix_termination(self) -> FloatArray:
        """(I − A)⁻¹ α∞, shape (num_states,): terminates with the summed weight of all continuations.

        Source: Balle et al. 2014. These are sums only if `spectral_radius` < 1; otherwise the same formula is evaluated, but has
        no such meaning. If I − A is singular, its pseudo-inverse replaces the inverse.
        """
        difference = np.eye(self.num_states) - self.summed_transitions
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return np.linalg.solve(difference, self.termination).astype(np.float64, copy=False)
            except np.linalg.LinAlgError:
                return np.linalg.pinv(difference) @ self.termination

    def squared(self) -> WFA:
        """The automaton of f², with num_states² states: Kronecker products throughout ([P] §3)."""
        return WFA(
            np.kron(self.initial, self.initial).astype(np.float64, copy=False),
            np.stack([np.kron(A, A) for A in self.transitions]),
            np.kron(self.termination, self.termination).astype(np.float64, copy=False),
        )

    def total_weight(self) -> float:
        """Σ_x f(x) over all strings; ∞ where that sum diverges."""
        with np.errstate(over="ignore", invalid="ignore"):
            return (
                float(flush_product(self.initial, self.prefix_termination[:, None])[0])
                if self.spectral_radius < 1
                else float("inf")
            )
