"""Define how a network's outputs become weights of strings, and scores of the next symbol.

From the state of a prefix u, a network over the rows of a Hankel matrix computes an approximation
of u's row. The meaning of that row for strings depends on what the matrix holds: frequencies of
whole strings, frequencies of prefixes with a symbol for the end, or conditional probabilities. A
`Reading` computes weights and scores from outputs accordingly, and describes them in LaTeX and in
words. A new reading needs a class here, an entry in `READINGS`, and a case in `reading_for`.

Arrays are numpy arrays (in `nlwfa.NLWFA`) or torch tensors (in likelihood refinement). A reading
uses only operations that both support.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ..errors import RecipeError, check_one_of
from ..strings.words import FloatArray, Word, Words

# A numpy array or a torch tensor, shape (n, …).
Array = Any


@dataclass(frozen=True)
class Link:
    """The descriptions of a function that is applied to outputs: a sentence, a phrase around an
    output's name, and LaTeX.

    `Reading.linked` computes the function.
    """

    sentence: str
    phrase: str
    formula: str


LINKS = {
    "identity": Link("as decoded", "{}", "%s"),
    "square": Link("squared: never negative", "{} squared", r"\bigl(%s\bigr)^2"),
    "softmax": Link(
        "exponentials, normalised over what can come next",
        "softmax of {}",
        r"\operatorname{softmax}(%s)",
    ),
}


class Network(Protocol):
    """The interface through which a reading uses a network.

    Arrays of states have one row per prefix.
    """

    @property
    def num_symbols(self) -> int: ...

    def transition(self, states: Array, symbol: int) -> Array:
        """G_σ of each state, shape (n, num_states)."""

    @property
    def output(self) -> Array:
        """Return the last layer of φ', shape (decoder_width, num_outputs): see `NLWFA.output`."""

    def outputs(self, states: Array, columns: Array) -> Array:
        """Decode states, shape (n, num_states), with some columns of `output` only; shape (n,
        num_columns).

        `columns`, shape (decoder_width, num_columns), holds the columns themselves and not their
        indices.
        """

    def side_by_side(self, columns: Iterable[Array], num_rows: int) -> Array:
        """Join columns of shape (num_rows,) into one array of shape (num_rows, num_columns)."""


@dataclass(frozen=True)
class Reading(ABC):
    """A rule that turns a network's outputs into weights of strings and scores of next symbols."""

    # The function applied to each output, one of `LINKS`. "softmax" is for conditional readings
    # only.
    link: str = "identity"
    # whether the model is a distribution: |scores| of what comes next are divided by their sum, and
    # the weight of a string is the product of its normalised scores
    normalised: bool = False

    name: ClassVar[str]  # the reading's name in `READINGS` and in model files
    sentence: ClassVar[str]  # a description of the reading for users
    # whether the end of a string is a symbol with a map of its own, G_⊣
    has_end_map: ClassVar[bool] = False
    # whether the score of a next symbol σ is computed from the state after σ, rather than from the
    # current state
    looks_ahead: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.link not in LINKS or (self.link == "softmax" and self.looks_ahead):
            raise RecipeError(f"reading {self.name!r} does not support link {self.link!r}")

    @property
    def is_chain(self) -> bool:
        """Return whether a string's weight is the product of the scores of its symbols and its
        end.
        """
        return self.normalised

    @property
    def degree(self) -> int:
        """Return the power of an output that the link computes, 1 or 2. (Softmax is not a power;
        its outputs are never scaled.)
        """
        return 2 if self.link == "square" else 1

    # In numbers

    def scores(self, network: Network, states: Array) -> Array:
        """Compute the scores of what follows each prefix, not normalised, with the end last: shape
        (n, num_symbols + 1).
        """
        # The order of these products decides in which order gradients are summed, and so their last
        # digits.
        ends = self._ends(network, states)
        first = network.output[:, :1]
        columns = self.prefix_columns(network.output)

        def outputs() -> Iterator[Array]:
            for symbol in range(network.num_symbols):
                yield network.outputs(network.transition(states, symbol), columns)
            yield network.outputs(ends, first)

        return network.side_by_side(
            (self.linked(output).sum(axis=1) for output in outputs()), len(states)
        )

    def weights(self, network: Network, states: Array) -> Array:
        """Compute f(u) from the states of prefixes u, shape (n,). Not for chains."""
        return self.linked(network.outputs(self._ends(network, states), network.output[:, :1]))[
            :, 0
        ]

    def _ends(self, network: Network, states: Array) -> Array:
        """Compute the states after the end of the string, if it has a map; otherwise the states
        stay the same.
        """
        return network.transition(states, network.num_symbols) if self.has_end_map else states

    def prefix_columns(self, output: Array) -> Array:
        """Select the columns of `NLWFA.output` whose linked outputs sum to the weight of all
        strings that begin with a prefix.
        """
        return output

    def linked(self, outputs: Array) -> Array:
        """Apply the link to outputs, shape (n, num_columns). Softmax is for numpy arrays only."""
        if self.link == "identity":
            return outputs
        if self.link == "square":
            return outputs * outputs
        exponentials = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return exponentials / exponentials.sum(axis=1, keepdims=True)

    @abstractmethod
    def accepts(self, num_outputs: int, num_symbols: int) -> bool:
        """Return whether a network over this many symbols may have this many outputs."""

    @abstractmethod
    def output_layer(
        self, last: FloatArray, suffixes: Words, num_symbols: int, bounded: bool
    ) -> FloatArray:
        """Reduce a factorisation's last layer to the part that a model needs (see `NLWFA.output`).

        `last` (decoder_width, num_suffixes): the layer that maps the last hidden layer to a row of
        the matrix. `suffixes`: the matrix's suffixes. Symbol number num_symbols is ⊣, and the next
        is ⊢. `num_symbols`: the number of symbols, not counting boundary symbols. `bounded`:
        whether the matrix counts strings with boundary symbols.

        Returns an array of shape (decoder_width, num_outputs).
        """

    # In LaTeX

    def link_formula(self, output: str) -> str:
        """Write the LaTeX of the link applied to an output, given the LaTeX of the output."""
        return LINKS[self.link].formula % output

    def formulas(self, entry: Callable[[str, str], str], following: str) -> tuple[str, ...]:
        """Write the LaTeX of f(x) before normalisation, one formula per line.

        `entry`: (word, end) -> the LaTeX of the network's output in the λ-column for that word.
        `end` is the symbol ⊣ if the map of the end of the string is also applied, and otherwise
        empty. `following`: the LaTeX of the network's output for a prefix u and a next symbol σ.
        """
        end = r"{\dashv}" if self.has_end_map else ""
        return (f"f(x)={self.link_formula(entry('x', end))}",)

    # In words

    def path(self, word: Word, num_symbols: int) -> Word:
        """List the symbols whose maps are applied to compute a word's weight, for readings in which
        the weight is not a product of scores.
        """
        return (*word, num_symbols) if self.has_end_map else word

    def link_phrase(self, output: str) -> str:
        """Write the link applied to an output as a phrase, given the output's name."""
        return LINKS[self.link].phrase.format(output)


@dataclass(frozen=True)
class StringReading(Reading):
    """Reads outputs as weights: the first is f(u), and the others sum to the weight of all strings
    that begin with u.
    """

    name = "string"
    sentence = "outputs are string probabilities; next symbols by decoded row sums"

    def prefix_columns(self, output: Array) -> Array:
        return output[:, 1:]

    def accepts(self, num_outputs: int, num_symbols: int) -> bool:
        return num_outputs >= 2

    def output_layer(
        self, last: FloatArray, suffixes: Words, num_symbols: int, bounded: bool
    ) -> FloatArray:
        # ‖y D‖² = ‖y R‖² with D Dᵀ = R Rᵀ: the sum of the squares of all columns follows from few.
        row_sums = (
            np.linalg.qr(last.T)[1].T if self.link == "square" else last.sum(axis=1, keepdims=True)
        )
        return np.concatenate((last[:, :1], row_sums), axis=1)


@dataclass(frozen=True)
class BoundaryReading(Reading):
    """Reads the only output as the weight of all strings that begin with u. f(u) is that weight for
    u⊣.
    """

    name = "boundary"
    sentence = "outputs are prefix probabilities; the end of a string is a symbol with its own map"
    has_end_map = True

    def accepts(self, num_outputs: int, num_symbols: int) -> bool:
        return num_outputs == 1

    def output_layer(
        self, last: FloatArray, suffixes: Words, num_symbols: int, bounded: bool
    ) -> FloatArray:
        return last[:, :1].copy()


@dataclass(frozen=True)
class ConditionalReading(Reading):
    """Reads outputs as conditional probabilities: p(σ | u) for each symbol σ, and last the
    probability that the string ends.
    """

    name = "conditional"
    sentence = "outputs are probabilities of what comes next; a string's is their product"
    looks_ahead = False

    @property
    def is_chain(self) -> bool:
        return True

    def scores(self, network: Network, states: Array) -> Array:
        return self.linked(network.outputs(states, network.output))

    def accepts(self, num_outputs: int, num_symbols: int) -> bool:
        return num_outputs == num_symbols + 1

    def output_layer(
        self, last: FloatArray, suffixes: Words, num_symbols: int, bounded: bool
    ) -> FloatArray:
        # With boundary symbols, p(σ | u) is in the column of σ alone. Without them, all columns
        # that begin with σ are summed, and the end is λ.
        positions = np.flatnonzero(suffixes.lengths == 1 if bounded else suffixes.lengths > 0)
        first = suffixes.symbols[suffixes.offsets[positions]]
        # not ⊢
        positions = positions[first <= num_symbols]
        first = first[first <= num_symbols]
        output = np.zeros((len(last), num_symbols + 1))
        np.add.at(output.T, first, last.T[positions])
        if not bounded:
            output[:, -1] = last[:, 0]
        return output

    def formulas(self, entry: Callable[[str, str], str], following: str) -> tuple[str, ...]:
        product = r"f(x)=p(\text{end}\mid x)\textstyle\prod_t p(x_t\mid x_1\cdots x_{t-1})"
        return rf"p(\sigma\mid u)={self.link_formula(following)}", product


READINGS: dict[str, type[Reading]] = {
    reading.name: reading for reading in (StringReading, BoundaryReading, ConditionalReading)
}


def reading_named(name: str, link: str, normalised: bool) -> Reading:
    """Make the reading that a model file names.

    Raises RecipeError if there is no such reading, or it does not support the link.
    """
    check_one_of("reading", name, READINGS)
    return READINGS[name](link, normalised)


def reading_for(transform: str, bounded: bool) -> Reading:
    """Choose the reading of networks that compute the rows of a Hankel matrix.

    `transform`: the transform of the matrix's entries, one of `hankel.statistics.TRANSFORMS`.
    `bounded`: whether the matrix counts strings with boundary symbols.

    >>> reading_for("sqrt", bounded=False)
    StringReading(link='square', normalised=False)
    """
    if transform == "row":
        return ConditionalReading()
    return (BoundaryReading if bounded else StringReading)(
        "square" if transform == "sqrt" else "identity"
    )
