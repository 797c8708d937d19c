"""What pages and figures show, computed: pooled matrices, projections of states, counts, trajectories, tables of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..errors import RecipeError
from ..experiment.recipe import HankelRecipe
from ..hankel.matrix import bounded_alphabet
from ..models.files import LearnedModel
from ..models.model import Model
from ..models.nlwfa import NLWFA
from ..models.reading import LINKS
from ..models.sampling import next_shares
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, IntArray, Word, Words

MAX_LABEL = 24


@dataclass(frozen=True, eq=False)
class Pooled:
    """A matrix made small enough for a screen.

    Attributes
    ----------
    values : array, shape (at most max_rows, at most max_columns)
        Of each tile, the entry of largest magnitude, with its sign.
    row_factor, column_factor : int
        Rows and columns of a tile; 1 and 1 where nothing had to be pooled.
    shape : (int, int)
        Of the whole matrix.
    """

    values: FloatArray
    row_factor: int
    column_factor: int
    shape: tuple[int, int]


def pool(matrix: sparse.csr_array, max_rows: int, max_columns: int) -> Pooled:
    """Pool by largest magnitude: a mean would hide the few large entries that matter.

    >>> pool(sparse.csr_array(np.array([[1.0, -3.0], [0.0, 2.0]])), 1, 1).values.tolist()
    [[-3.0]]
    """
    num_rows, num_columns = matrix.shape
    row_factor, column_factor = -(-num_rows // max_rows), -(-num_columns // max_columns)
    entries = matrix.tocoo()
    rows, columns = entries.row // row_factor, entries.col // column_factor
    largest = np.zeros((2, -(-num_rows // row_factor), -(-num_columns // column_factor)))  # of positive, of negative entries
    np.maximum.at(largest[0], (rows, columns), entries.data)
    np.maximum.at(largest[1], (rows, columns), -entries.data)
    values = np.where(largest[0] >= largest[1], largest[0], -largest[1])
    return Pooled(values, row_factor, column_factor, (num_rows, num_columns))


def window(matrix: sparse.csr_array, row: int, column: int, size: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Exact values of a part of a matrix that begins at (row, column), moved so that it fits; and its rows and columns."""
    num_rows, num_columns = matrix.shape
    rows = np.arange(max(0, min(row, num_rows - size)), num_rows)[:size]
    columns = np.arange(max(0, min(column, num_columns - size)), num_columns)[:size]
    return matrix[rows][:, columns].toarray(), rows, columns


def labels(words: Words, alphabet: Alphabet, after: Word = ()) -> list[str]:
    """Written words, each followed by `after`, cut in the middle where they are long."""
    written = [alphabet.decode(word + after) for word in words]
    half = MAX_LABEL // 2
    return [text if len(text) <= MAX_LABEL else f"{text[:half]}…{text[-half + 1 :]}" for text in written]


def hankel_alphabet(alphabet: Alphabet, recipe: HankelRecipe) -> Alphabet:
    """What a matrix's words are written with: boundary symbols, too, where they are counted."""
    return bounded_alphabet(alphabet, recipe.statistic) if recipe.bounded else alphabet


def as_counted(word: Word, alphabet: Alphabet, recipe: HankelRecipe) -> str:
    """A string as the matrix counts it.

    >>> as_counted((0, 1), Alphabet(("a", "b")), HankelRecipe(statistic="factor", bounded=True))
    '⊢ab⊣'
    """
    end = len(alphabet)
    counted = (*((end + 1,) if recipe.statistic == "factor" else ()), *word, end) if recipe.bounded else word
    return hankel_alphabet(alphabet, recipe).decode(counted)


def reading_sentences(models: Mapping[str, Model]) -> tuple[str, ...]:
    """How networks say what follows, a sentence for those that do it alike."""
    alike: dict[str, list[str]] = {}
    for name, model in models.items():
        if isinstance(model, NLWFA):
            alike.setdefault(f"{model.reading.sentence}; {LINKS[model.reading.link]}.", []).append(name)
    return tuple(f"{', '.join(names)}: {sentence}" for sentence, names in alike.items())


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal components of states.

    Attributes
    ----------
    mean : array, shape (num_states,)
    axes : array, shape (num_components, num_states)
    explained : array, shape (num_components,)
        Share of the variance along each axis.
    unit_length : bool
        Whether states are divided by their length first.
    """

    mean: FloatArray
    axes: FloatArray
    explained: FloatArray
    unit_length: bool

    def explained_by(self, num_axes: int) -> float:
        """Share of the variance along the first axes together."""
        return float(self.explained[:num_axes].sum())

    def coordinates(self, states: FloatArray) -> FloatArray:
        """Array, shape (n, num_components)."""
        placed: FloatArray = ((directions(states) if self.unit_length else states) - self.mean) @ self.axes.T
        return placed


def project(states: FloatArray, num_components: int = 3, unit_length: bool = False) -> Projection:
    """PCA of states, shape (n, num_states), by scikit-learn; axes beyond the number of states explain 0.

    Raises
    ------
    RecipeError
        If a state is not finite.
    """
    from sklearn.decomposition import PCA  # a second to import: only who looks at states pays

    if not np.isfinite(states).all():
        raise RecipeError("The states grow beyond every bound, so there is nothing to draw: the model diverges.")
    points = directions(states) if unit_length else states
    found = min(num_components, *points.shape)
    axes, explained = np.zeros((num_components, points.shape[1])), np.zeros(num_components)
    with np.errstate(divide="ignore", invalid="ignore"):  # one state, or all alike: no variance to take shares of
        pca = PCA(found, svd_solver="full").fit(points)
    if float(pca.explained_variance_.sum()) > 0:
        axes[:found], explained[:found] = pca.components_, pca.explained_variance_ratio_
    return Projection(points.mean(axis=0), axes, explained, unit_length)


def directions(states: FloatArray) -> FloatArray:
    """Each state, a row, divided by its length; 0 stays 0."""
    lengths = np.linalg.norm(states, axis=1, keepdims=True)
    divided: FloatArray = np.divide(states, lengths, out=np.zeros_like(states), where=lengths > 0)
    return divided


def prefix_states(model: LearnedModel, prefixes: Words) -> FloatArray:
    """The state after each prefix, shape (num_prefixes, state_size)."""
    trie = Trie.of(prefixes, model.num_symbols)
    return model.states(trie)[trie.ends]


def path(word: Word) -> Words:
    """λ and every longer prefix of a word.

    >>> list(path((0, 1)))
    [(), (0,), (0, 1)]
    """
    return Words.of(word[:length] for length in range(len(word) + 1))


def next_probabilities(model: Model, prefixes: Words) -> FloatArray:
    """What follows each prefix, |scores| normalised to sum to 1, the end last: shape (num_prefixes, num_symbols + 1).

    Rows are 0 where all scores are 0 or one is not finite.
    """
    trie = Trie.of(prefixes, model.num_symbols)
    return next_shares(model.next_scores(trie)[trie.ends])[0]


def next_entropy(shares: FloatArray) -> FloatArray:
    """Entropy of each row of `next_probabilities` in bits, shape (num_prefixes,); undefined where a row is 0.

    >>> next_entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [1.0, 0.0, nan]
    """
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: FloatArray = np.where(shares.any(axis=1), -(shares * logs).sum(axis=1) + 0.0, np.nan)
    return bits


def prefix_shares(sample: Sample, prefixes: Words) -> FloatArray:
    """Share of the strings that begin with each prefix, shape (num_prefixes,)."""
    trie = Trie.of(Words.joined([prefixes, sample.words]), sample.num_symbols)
    begins = trie.prefix_counts(np.concatenate((np.zeros(len(prefixes), dtype=np.int64), sample.counts)))
    shares: FloatArray = begins[trie.ends[: len(prefixes)]] / max(sample.num_strings, 1)
    return shares


def length_counts(sample: Sample) -> IntArray:
    """Strings as drawn of each length from 0 on, shape (longest + 1,)."""
    totals = np.zeros(int(sample.words.lengths.max(initial=0)) + 1, dtype=np.int64)
    np.add.at(totals, sample.words.lengths, sample.counts)
    return totals


def symbol_counts(sample: Sample) -> IntArray:
    """Occurrences of each symbol in the strings as drawn, shape (num_symbols,)."""
    totals = np.zeros(sample.num_symbols, dtype=np.int64)
    np.add.at(totals, sample.words.symbols, np.repeat(sample.counts, sample.words.lengths))
    return totals


def most_frequent(sample: Sample, number: int) -> dict[str, object]:
    """Columns string, count and share of all strings, of the most frequent ones; ties in order of first appearance."""
    order = np.argsort(-sample.counts, kind="stable")[:number]
    return {
        "string": labels(sample.words.take(order), sample.alphabet),
        "count": sample.counts[order],
        "share": sample.frequencies()[order],
    }


def most_frequent_word(sample: Sample) -> Word:
    """The most frequent string; of several, the one that was seen first."""
    return sample.words[int(sample.counts.argmax())]


def short_word(sample: Sample, longest: int) -> Word:
    """The most frequent string of at least one symbol and no more than so many; the most frequent of all, if there is none."""
    fits = (sample.words.lengths > 0) & (sample.words.lengths <= longest)
    return sample.words[int(np.where(fits, sample.counts, 0).argmax())] if fits.any() else most_frequent_word(sample)


def word_to_follow(sample: Sample, length: int = 3) -> Word:
    """The most frequent string of at least so many symbols; without one, the most frequent string."""
    long = np.flatnonzero(sample.words.lengths >= length)
    return sample.words[int(long[sample.counts[long].argmax()])] if len(long) else most_frequent_word(sample)
