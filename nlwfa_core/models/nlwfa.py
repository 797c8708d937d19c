"""Nonlinear weighted finite automata: f(x₁…x_t) = G_λ(G_{x_t}(… G_{x₁}(α₀))) (Li, Rabusseau, Precup
2018, §3.1).

Networks are trained with torch, but evaluated with numpy alone, without importing torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import RecipeError, check_type
from ..rounding import flush_entries, flush_rows, sizes
from ..strings.rolling import end_states
from ..strings.trie import Trie, chain_log2_weights, chain_weights, check_tree
from ..strings.words import Alphabet, FloatArray, IntArray, Words, check_alphabet, float64_array
from .methods import Methods
from .model import model_words, next_distributions
from .reading import Reading, StringReading

# States that are smaller (Σ|s_i|) are multiplied by 2 to the power of `SHIFT`, which changes no
# digit, until they grow above `LARGEST_SCALED_SIZE`. The squares of all these are numbers of
# float64, and maps that multiply a state by less than 2⁷⁰ leave it in the range in which tanh is
# linear.
SMALLEST_SIZE = 2.0**-400
SHIFT = 200
LARGEST_SCALED_SIZE = 2.0**-100
# of a state of a network without tanh; larger ones are divided by 2 to the power of `SHIFT`
LARGEST_SIZE = 2.0**400


def activate(values: FloatArray, nonlinear: bool) -> FloatArray:
    """θ: tanh, or the identity."""
    return np.tanh(values) if nonlinear else values


@dataclass(frozen=True, eq=False, repr=False)
class NLWFA(Methods):
    """A nonlinear weighted finite automaton whose maps are biasless feed-forward networks.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    transitions : tuple of arrays, shapes (num_maps, width_i, width_{i+1})
        The layers of the maps G_σ, of widths num_states → … → num_states. θ is applied to the
        output of every layer, including the last. There is one map per symbol, and another for the
        end of the string if the reading has an end map.
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        The hidden layers of the decoder φ'. θ is applied to the output of each. The first layer
        takes a state.
    output : array, shape (decoder_width, num_outputs)
        The part that the reading needs of the last layer of φ', a linear layer D with one column
        per suffix of the basis. "string": first the λ-column of D, so G_λ(z) = decoder(z) ·
        output[:, 0]. The other columns give the weight of all strings that continue a prefix u with
        a suffix of the basis, Σ_{v ∈ S} f(uv). They are the sum of the columns of D or, if outputs
        are squared, a matrix R with R Rᵀ = D Dᵀ. They replace the prefix conversion, which is
        impossible for a nonlinear model. "boundary": only the λ-column. "conditional": one column
        per symbol, and a last one for the end of the string.
    nonlinear_transitions, nonlinear_termination : bool
        Whether θ is tanh in G_σ, and in φ'; otherwise it is the identity.
    reading : Reading
        How outputs are turned into weights and scores.
    alphabet : Alphabet or None
        The symbols of the maps; None if symbols are known only by their numbers.

    Raises
    ------
    RecipeError
        If the layers, the reading and the alphabet do not fit together.

    Examples
    --------
    >>> from nlwfa_core import fit
    >>> model = fit(["ab", "ab", "b", ""], "tran.non", rank=2, epochs_transitions=10).model
    >>> model.num_states, type(model).__name__
    (2, 'NLWFA')
    """

    initial: FloatArray
    transitions: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    output: FloatArray
    nonlinear_transitions: bool
    nonlinear_termination: bool
    reading: Reading = field(default_factory=StringReading)
    alphabet: Alphabet | None = None

    def __post_init__(self) -> None:
        for name in ("initial", "output"):
            object.__setattr__(self, name, float64_array(name, getattr(self, name)))
        check_type("reading", self.reading, Reading)
        for name in ("nonlinear_transitions", "nonlinear_termination"):
            check_type(name, getattr(self, name), bool)
        for name in ("transitions", "decoder"):
            check_type(name, getattr(self, name), Sequence)
            object.__setattr__(
                self, name, tuple(float64_array(name, layer) for layer in getattr(self, name))
            )
        k = self.num_states if self.initial.ndim == 1 else -1
        widths = [k, *(layer.shape[-1] for layer in self.transitions if layer.ndim == 3)]
        heights = [k, *(layer.shape[-1] for layer in self.decoder if layer.ndim == 2)]
        fits = (
            widths[-1] == k
            and len(widths) == 1 + len(self.transitions) > 1
            and len(heights) == 1 + len(self.decoder)
        )
        fits = fits and all(
            layer.shape == (self.num_maps, before, after)
            for layer, before, after in zip(self.transitions, widths[:-1], widths[1:], strict=True)
        )
        fits = fits and all(
            layer.shape == (before, after)
            for layer, before, after in zip(self.decoder, heights[:-1], heights[1:], strict=True)
        )
        fits = fits and self.output.ndim == 2 and len(self.output) == heights[-1]
        if not fits or not self.reading.accepts(int(self.output.shape[1]), self.num_symbols):
            raise RecipeError(
                f"the layers of an NL-WFA with {k} states and the reading {self.reading.name!r} "
                "do not fit together: transitions "
                f"{[layer.shape for layer in self.transitions]}, decoder "
                f"{[layer.shape for layer in self.decoder]}, "
                f"output {self.output.shape}"
            )
        check_alphabet(self.alphabet, self.num_symbols)

    @property
    def num_states(self) -> int:
        return len(self.initial)

    @property
    def num_used_states(self) -> int:
        """Return the number of states that are not 0 after every prefix because all weights into
        them are 0.
        """
        is_reached = (self.transitions[-1] != 0).any(axis=(0, 1))
        return int(np.count_nonzero((self.initial != 0) | is_reached))

    @property
    def num_maps(self) -> int:
        return int(self.transitions[0].shape[0])

    @property
    def num_symbols(self) -> int:
        return self.num_maps - self.reading.has_end_map

    @property
    def termination(self) -> FloatArray:
        """Return the λ-column of the last layer of φ', shape (decoder_width,).

        Models with conditional readings have no such column.
        """
        return self.output[:, 0]

    def transition(self, states: FloatArray, symbol: int | IntArray) -> FloatArray:
        """Apply G_σ to each row of `states` (see `rolling.Transitions`).

        Where only rounding error would be left, linear maps give exactly 0 (see `rounding`).
        """
        before = states
        for layer in self.transitions:
            states = activate(states @ layer[symbol], self.nonlinear_transitions)
        if self.nonlinear_transitions:
            return states
        if np.ndim(symbol) == 0:
            return flush_rows(states, before, self.magnitudes[symbol])
        # few: see `strings.rolling.end_states`
        for row, one in enumerate(np.asarray(symbol).tolist()):
            flush_rows(states[row], before[row], self.magnitudes[one])
        return states

    @cached_property
    def magnitudes(self) -> FloatArray:
        """Return the products of the absolute values of each map's layers, (num_maps, num_states,
        num_states); linear maps only.
        """
        product = np.abs(self.transitions[0])
        for layer in self.transitions[1:]:
            product = product @ np.abs(layer)
        return product

    def decode(self, states: FloatArray) -> FloatArray:
        """Compute the last hidden layer of φ' for each state, shape (n, decoder_width)."""
        for layer in self.decoder:
            states = activate(states @ layer, self.nonlinear_termination)
        return states

    def states(self, trie: Trie) -> FloatArray:
        """G_u(α₀) of every prefix u of a tree, shape (num_nodes, num_states)."""
        check_tree(trie, self.num_maps)
        return trie.roll_out(self.initial, self.transition)

    def scaled_states(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Return the states of long prefixes, which may be too small for float64 (without tanh,
        also too large), divided by 2ᵉ.

        Biasless maps are linear near 0, tanh included: tanh x = x to all digits for |x| < 2⁻²⁷. So
        a state of any smaller size can be multiplied by a power of two before a step, and divided
        by it afterwards.

        Returns
        -------
        states : array, shape (num_nodes, num_states)
        exponents : array, shape (num_nodes,), or None
            e of each prefix; None if all are 0.
        """
        states = self.states(trie)
        size = sizes(states)
        is_linear = not (self.nonlinear_transitions or self.nonlinear_termination)
        fits = (size == 0) | (size >= SMALLEST_SIZE)
        if is_linear:
            fits &= size <= LARGEST_SIZE
        if fits.all():
            return states, None
        largest = LARGEST_SIZE if is_linear else LARGEST_SCALED_SIZE
        return trie.roll_out_scaled(
            self.initial, self.transition, SMALLEST_SIZE, largest, SHIFT, may_shrink=is_linear
        )

    @property
    def is_chain(self) -> bool:
        """Return whether a string's weight is the product of the scores of its symbols and its
        end.
        """
        return self.reading.is_chain

    def weights(self, words: Words) -> FloatArray:
        """f(x) of many words, shape (num_words,); common prefixes are computed once.

        Raises RecipeError if a word has a symbol that the model does not have.
        """
        words = model_words(words, self.alphabet)
        if self.is_chain:
            trie = Trie.of(words, self.num_symbols)
            return chain_weights(self.next_scores(trie), trie)
        ends = end_states(words, self.num_symbols, self.initial, self.transition)
        assert ends is not None  # no magnitudes are given
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self.reading.weights(self, ends))

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,); −∞ for 0.

        It is finite even for long strings, whose weights may be too small for float64.

        Raises RecipeError if a word has a symbol that the model does not have.
        """
        words = model_words(words, self.alphabet)
        if self.is_chain:
            trie = Trie.of(words, self.num_symbols)
            return chain_log2_weights(np.abs(self.next_scores(trie)), trie)
        trie = Trie.of(words, self.num_symbols)
        states, exponents = self.scaled_states(trie)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            logs: FloatArray = np.log2(np.abs(self.reading.weights(self, states[trie.ends])))
        return logs if exponents is None else logs + self.reading.degree * exponents[trie.ends]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Compute scores of what follows each prefix u, shape (num_nodes, num_symbols + 1), with
        the end of the string last.

        They depend on the reading. "string": the score of σ is the decoded sum of the row of uσ,
        approximately Σ_{v ∈ S} f(uσv), and the score of the end is f(u). (The paper does not say
        how its models predict a next symbol; docs/method-notes.md explains this choice.)
        "boundary": the score of σ is the prefix probability of uσ, and that of the end is f(u).
        "conditional": the scores are the outputs themselves.
        """
        if self.reading.normalised:
            return next_distributions(self._scores(self.scaled_states(trie)[0]))
        return self._scores(self.states(trie))

    def scaled_next_scores(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Compute `next_scores` divided by 2ᵉ, and e of each prefix (see `model.ScaledModel`).

        The scores of a chain are factors of a weight, so they are not divided.
        """
        if self.is_chain:
            return self.next_scores(trie), None
        states, exponents = self.scaled_states(trie)
        return self._scores(states), None if exponents is None else self.reading.degree * exponents

    def _scores(self, states: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            scores: FloatArray = self.reading.scores(self, states)
        return scores

    def outputs(self, states: FloatArray, columns: FloatArray) -> FloatArray:
        """Compute φ' of each state for some columns of `output`: exactly 0 where only rounding
        error is left (see `rounding`).
        """
        hidden = self.decode(states)
        return flush_entries(hidden @ columns, hidden, np.abs(columns))

    def side_by_side(self, columns: Iterable[FloatArray], num_rows: int) -> FloatArray:
        """Join columns of shape (num_rows,) into one array (see `reading.Network`)."""
        table = np.empty((num_rows, self.num_symbols + 1))
        for index, column in enumerate(columns):
            table[:, index] = column
        return table
