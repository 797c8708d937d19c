"""Nonlinear weighted finite automata: f(x₁…x_t) = G_λ(G_{x_t}(… G_{x₁}(α₀))) (Li, Rabusseau, Precup 2018, §3.1).

Learned with torch, evaluated with numpy alone: whoever looks at a model need not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import RecipeError
from .trie import Trie
from .words import FloatArray, Words


def activate(values: FloatArray, nonlinear: bool) -> FloatArray:
    """θ: tanh, or the identity."""
    return np.tanh(values) if nonlinear else values


@dataclass(frozen=True, eq=False)
class NLWFA:
    """A nonlinear weighted finite automaton whose maps are biasless feed-forward networks.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    transitions : tuple of arrays, shapes (num_symbols, width_i, width_{i+1})
        The layers of G_σ: num_states → … → num_states; each layer's output, the last one's too, goes through θ.
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        The hidden layers of φ', each through θ; the first takes num_states.
    termination : array, shape (decoder_width,)
        The λ-column of φ' 's last, linear layer: G_λ(z) = decoder(z) · termination.
    row_sum : array, shape (decoder_width,)
        The sum of all columns of that layer: decoder(z) · row_sum ≈ Σ_{v ∈ S} f(uv), the weight of all strings that go on
        from u with a suffix of the basis. A nonlinear model has no prefix conversion; this stands in for it.
    nonlinear_transitions, nonlinear_termination : bool
        Whether θ is tanh (else the identity) in G_σ, and in φ'.
    """

    initial: FloatArray
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    termination: FloatArray
    row_sum: FloatArray
    nonlinear_transitions: bool
    nonlinear_termination: bool

    def __post_init__(self) -> None:
        k = self.num_states if self.initial.ndim == 1 else -1
        widths = [k, *(layer.shape[-1] for layer in self.transitions if layer.ndim == 3)]
        heights = [k, *(layer.shape[-1] for layer in self.decoder if layer.ndim == 2)]
        fits = widths[-1] == k and len(widths) == 1 + len(self.transitions) > 1 and len(heights) == 1 + len(self.decoder)
        fits = fits and all(
            layer.shape == (self.num_symbols, before, after)
            for layer, before, after in zip(self.transitions, widths[:-1], widths[1:], strict=True)
        )
        fits = fits and all(
            layer.shape == (before, after) for layer, before, after in zip(self.decoder, heights[:-1], heights[1:], strict=True)
        )
        if not fits or self.termination.shape != (heights[-1],) or self.row_sum.shape != (heights[-1],):
            raise RecipeError(
                f"the layers of an NL-WFA with {k} states do not fit: "
                f"transitions {[layer.shape for layer in self.transitions]}, decoder {[layer.shape for layer in self.decoder]}, "
                f"termination {self.termination.shape}, row_sum {self.row_sum.shape}"
            )

    @property
    def num_states(self) -> int:
        return len(self.initial)

    @property
    def num_symbols(self) -> int:
        return int(self.transitions[0].shape[0])

    def transition(self, states: FloatArray, symbol: int) -> FloatArray:
        """G_σ of each row, shape (n, num_states)."""
        for layer in self.transitions:
            states = activate(states @ layer[symbol], self.nonlinear_transitions)
        return states

    def decode(self, states: FloatArray) -> FloatArray:
        """The last hidden layer of φ', shape (n, decoder_width)."""
        for layer in self.decoder:
            states = activate(states @ layer, self.nonlinear_termination)
        return states

    def states(self, trie: Trie) -> FloatArray:
        """G_u(α₀) of every prefix u of a tree, shape (num_nodes, num_states)."""
        return trie.roll_out(self.initial, self.transition)

    def weights(self, words: Words) -> FloatArray:
        """f(x) of many words, shape (num_words,); each distinct prefix is computed once."""
        trie = Trie.of(words, self.num_symbols)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.decode(self.states(trie)[trie.ends]) @ self.termination

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix u, for a model of *string* probabilities.

        Returns
        -------
        array, shape (num_nodes, num_symbols + 1)
            For each σ the decoded row sum of uσ, ≈ Σ_{v ∈ S} f(uσv); last, for the end of the string, f(u).
            The paper does not say how its models predict a next symbol: this is our reading (see docs/method-notes.md).
        """
        states = self.states(trie)
        scores = np.empty((trie.num_nodes, self.num_symbols + 1))
        with np.errstate(over="ignore", invalid="ignore"):
            for symbol in range(self.num_symbols):
                scores[:, symbol] = self.decode(self.transition(states, symbol)) @ self.row_sum
            scores[:, -1] = self.decode(states) @ self.termination
        return scores
