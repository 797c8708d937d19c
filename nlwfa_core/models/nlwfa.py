"""Nonlinear weighted finite automata: f(x₁…x_t) = G_λ(G_{x_t}(… G_{x₁}(α₀))) (Li, Rabusseau, Precup 2018, §3.1).

Learned with torch, evaluated with numpy alone: whoever looks at a model need not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import RecipeError
from ..rounding import flush_entries, flush_rows
from ..strings.rolling import end_states
from ..strings.trie import Trie, chain_log2_weights, chain_weights
from ..strings.words import FloatArray, IntArray, Words

READINGS = {
    "string": "outputs are string probabilities; next symbols by decoded row sums",
    "boundary": "outputs are prefix probabilities; the end of a string is a symbol with a map of its own",
    "conditional": "outputs are probabilities of what comes next; a string's is their product",
}
LINKS = {
    "identity": "as decoded",
    "square": "squared: never negative",
    "softmax": "exponentials, normalised over what can come next",
}


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
    transitions : tuple of arrays, shapes (num_maps, width_i, width_{i+1})
        The layers of G_σ: num_states → … → num_states; each layer's output, the last one's too, goes through θ. A map a symbol;
        where the reading is "boundary", one more, for the end of the string.
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        The hidden layers of φ', each through θ; the first takes num_states.
    output : array, shape (decoder_width, num_outputs)
        What is kept of φ' 's last, linear layer D.
        "string": first the λ-column, so that G_λ(z) = decoder(z) · output[:, 0]; behind it what gives the weight of all strings
        that go on from u with a suffix of the basis, Σ_{v ∈ S} f(uv): the sum of D's columns, or, where outputs are squared, a
        matrix R with R Rᵀ = D Dᵀ. A nonlinear model has no prefix conversion; this stands in for it.
        "boundary": the λ-column. "conditional": a column for each symbol, and one for the end.
    nonlinear_transitions, nonlinear_termination : bool
        Whether θ is tanh (else the identity) in G_σ, and in φ'.
    reading : str
        One of `READINGS`.
    link : str
        One of `LINKS`: what is done with an output; "softmax" is for conditional readings.
    normalised : bool
        Whether absolute scores of what comes next are made to sum to 1, and a string's weight is their product: a distribution.
    """

    initial: FloatArray
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    output: FloatArray
    nonlinear_transitions: bool
    nonlinear_termination: bool
    reading: str = "string"
    link: str = "identity"
    normalised: bool = False

    def __post_init__(self) -> None:
        if self.reading not in READINGS or self.link not in LINKS or (self.link == "softmax" and self.reading != "conditional"):
            raise RecipeError(f"an NL-WFA can't read {self.reading!r} with link {self.link!r}")
        k = self.num_states if self.initial.ndim == 1 else -1
        widths = [k, *(layer.shape[-1] for layer in self.transitions if layer.ndim == 3)]
        heights = [k, *(layer.shape[-1] for layer in self.decoder if layer.ndim == 2)]
        fits = widths[-1] == k and len(widths) == 1 + len(self.transitions) > 1 and len(heights) == 1 + len(self.decoder)
        fits = fits and all(
            layer.shape == (self.num_maps, before, after)
            for layer, before, after in zip(self.transitions, widths[:-1], widths[1:], strict=True)
        )
        fits = fits and all(
            layer.shape == (before, after) for layer, before, after in zip(self.decoder, heights[:-1], heights[1:], strict=True)
        )
        if not fits or self.output.ndim != 2 or len(self.output) != heights[-1] or not self._right_outputs():
            raise RecipeError(
                f"the layers of an NL-WFA with {k} states, reading {self.reading!r}, do not fit: transitions "
                f"{[layer.shape for layer in self.transitions]}, decoder {[layer.shape for layer in self.decoder]}, "
                f"output {self.output.shape}"
            )

    def _right_outputs(self) -> bool:
        given = int(self.output.shape[1])
        return given >= 2 if self.reading == "string" else given == (1 if self.reading == "boundary" else self.num_symbols + 1)

    @property
    def num_states(self) -> int:
        return len(self.initial)

    @property
    def num_maps(self) -> int:
        return int(self.transitions[0].shape[0])

    @property
    def num_symbols(self) -> int:
        return self.num_maps - (self.reading == "boundary")

    @property
    def termination(self) -> FloatArray:
        """The λ-column of φ' 's last layer, shape (decoder_width,); for readings that have it."""
        return self.output[:, 0]

    def transition(self, states: FloatArray, symbol: int | IntArray) -> FloatArray:
        """G_σ of each row (see `rolling.Transitions`). Linear maps give exactly 0 where only rounding is left (`rounding`)."""
        before = states
        for layer in self.transitions:
            states = activate(states @ layer[symbol], self.nonlinear_transitions)
        if self.nonlinear_transitions:
            return states
        if np.ndim(symbol) == 0:
            return flush_rows(states, before, self.magnitudes[symbol])
        for row, one in enumerate(np.asarray(symbol).tolist()):  # few: see `strings.rolling.end_states`
            flush_rows(states[row], before[row], self.magnitudes[one])
        return states

    @cached_property
    def magnitudes(self) -> FloatArray:
        """Of linear maps, the product of their layers' magnitudes, shape (num_maps, num_states, num_states)."""
        product = np.abs(self.transitions[0])
        for layer in self.transitions[1:]:
            product = product @ np.abs(layer)
        return product

    def decode(self, states: FloatArray) -> FloatArray:
        """The last hidden layer of φ', shape (n, decoder_width)."""
        for layer in self.decoder:
            states = activate(states @ layer, self.nonlinear_termination)
        return states

    def states(self, trie: Trie) -> FloatArray:
        """G_u(α₀) of every prefix u of a tree, shape (num_nodes, num_states)."""
        return trie.roll_out(self.initial, self.transition)

    @property
    def is_chain(self) -> bool:
        """Whether the weight of a string is the product of what the model says of each next symbol."""
        return self.reading == "conditional" or self.normalised

    def weights(self, words: Words) -> FloatArray:
        """f(x) of many words, shape (num_words,); a prefix that many share is computed once."""
        if self.is_chain:
            trie = Trie.of(words, self.num_symbols)
            return chain_weights(self.next_scores(trie), trie)
        ends = end_states(words, self.num_symbols, self.initial, self.transition)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._ending(ends)

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,), −∞ for 0; of a chain, finite for strings of any length."""
        if self.is_chain:
            trie = Trie.of(words, self.num_symbols)
            return chain_log2_weights(np.abs(self.next_scores(trie)), trie)
        with np.errstate(divide="ignore"):
            return np.log2(np.abs(self.weights(words)))

    def next_scores(self, trie: Trie) -> FloatArray:
        """Scores of what follows each prefix, shape (num_nodes, num_symbols + 1): each symbol, and last the end of the string.

        By reading: "string", for each σ the decoded row sum of uσ, ≈ Σ_{v ∈ S} f(uσv), and f(u) (the paper does not say how its
        models predict a next symbol: this is our reading, see docs/method-notes.md); "boundary", the prefix probability of uσ,
        and f(u); "conditional", the outputs themselves.
        """
        states = self.states(trie)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._scores(states)
        if not self.normalised:
            return scores
        sizes = np.abs(scores)
        sums = sizes.sum(axis=1, keepdims=True)
        shares: FloatArray = np.divide(sizes, sums, out=np.zeros_like(sizes), where=sums != 0)
        return shares

    def _scores(self, states: FloatArray) -> FloatArray:
        if self.reading == "conditional":
            return self._linked(self._outputs(states, self.output))
        scores = np.empty((len(states), self.num_symbols + 1))
        goes_on = self.output[:, 1:] if self.reading == "string" else self.output
        for symbol in range(self.num_symbols):
            scores[:, symbol] = self._linked(self._outputs(self.transition(states, symbol), goes_on)).sum(axis=1)
        scores[:, -1] = self._ending(states)
        return scores

    def _ending(self, states: FloatArray) -> FloatArray:
        """f(u) from the states of prefixes u, shape (n,)."""
        if self.reading == "boundary":
            states = self.transition(states, self.num_symbols)
        return self._linked(self._outputs(states, self.output[:, :1])[:, 0])

    def _outputs(self, states: FloatArray, columns: FloatArray) -> FloatArray:
        """φ' of states up to some columns of its last layer, which is linear: exactly 0 where only rounding is left."""
        hidden = self.decode(states)
        return flush_entries(hidden @ columns, hidden, np.abs(columns))

    def _linked(self, outputs: FloatArray) -> FloatArray:
        if self.link == "identity":
            return outputs
        if self.link == "square":
            return outputs * outputs
        exponentials: FloatArray = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        probabilities: FloatArray = exponentials / exponentials.sum(axis=1, keepdims=True)
        return probabilities
