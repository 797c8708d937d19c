"""Rank the next symbols after a prefix, and score rankings as the SPiCe competition does.

In SPiCe (Balle et al. 2016, *Results of the Sequence PredIction ChallengE*), a model ranks the five
most likely next symbols, which may include the end of the string, for each of some prefixes of
strings. A target gives what followed the prefix or, for generated strings, the probability of each
next symbol. `next_symbols` instead scores every prefix of whole strings. `sources.spice` reads and
writes the files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_at_least, check_fields, check_types
from ..models.model import (
    MODELS_ALPHABET,
    HasModel,
    Model,
    alphabet_of,
    model_of,
    scaled_next_scores,
)
from ..rounding import RELATIVE_ERROR, on_one_thread
from ..strings.trie import batches
from ..strings.words import Alphabet, FloatArray, IntArray, Words, whole_numbers
from .next_symbols import TOP, discounts, highest

END = -1  # the end of the string, in targets and rankings
NO_SYMBOL = -2  # fills a row of a ranking that has fewer symbols than others


@dataclass(frozen=True, eq=False)
class Targets:
    """The correct answers for some prefixes: the symbol that followed each of them or, for
    generated strings, the next symbols' probabilities.

    They are stored as pairs of a next symbol and its probability, one prefix after the other.

    Attributes
    ----------
    symbols : array, shape (num_pairs,)
        The next symbol of each pair, −1 for the end of the string. A prefix has each symbol at most
        once. A number beyond the model's symbols stands for a symbol that the model does not know.
    probabilities : array, shape (num_pairs,)
        The probability of each pair. The symbol that followed a prefix of a real string has the
        probability 1.
    offsets : array, shape (num_prefixes + 1,)
        The pairs of prefix i are numbers `offsets[i]` to `offsets[i + 1] − 1`. Each prefix has at
        least one pair.
    best_gains : array, shape (num_prefixes,)
        The largest possible value of Σ_{j ≤ 5} p(a_j) / log₂(j + 1) for each prefix, from the file
        of targets. NDCG@5 is divided by it.

    Raises
    ------
    RecipeError
        If the shapes do not fit together, or a prefix has no next symbol.

    Examples
    --------
    >>> import numpy as np
    >>> from nlwfa_core import Targets
    >>> targets = Targets.of(np.array([1, -1]))  # b followed the first prefix, nothing the second
    >>> len(targets), targets.likeliest.tolist()
    (2, [1, -1])
    """

    symbols: IntArray
    probabilities: FloatArray
    offsets: IntArray
    best_gains: FloatArray

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("symbols", "probabilities", "offsets", "best_gains"):
            shape = getattr(self, name).shape
            if shape != (getattr(self, name).size,):
                raise RecipeError(
                    f"the {name} of targets must be one-dimensional; got an array of shape {shape}"
                )
        pairs = len(self.symbols)
        rows = len(self.best_gains)
        offsets = self.offsets
        if (
            len(self.probabilities) != pairs
            or len(offsets) != rows + 1
            or offsets[0] != 0
            or offsets[-1] != pairs
        ):
            raise RecipeError(
                f"targets for {rows:,} prefixes with {pairs:,} next symbols need {pairs:,} "
                f"probabilities and {rows + 1:,} offsets, the first 0 and the last {pairs:,}; got "
                f"{len(self.probabilities):,} probabilities and {len(offsets):,} offsets"
            )
        if (np.diff(offsets) < 1).any():
            raise RecipeError(
                "each prefix needs a next symbol; prefix "
                f"{int(np.argmax(np.diff(offsets) < 1)) + 1:,} has none"
            )

    @classmethod
    def of(cls, symbols: npt.ArrayLike) -> Targets:
        """Make the targets of prefixes of real strings from the symbol that followed each prefix,
        −1 for the end.

        Raises RecipeError if `symbols` is not a one-dimensional array of whole numbers.
        """
        followed = whole_numbers("the targets", symbols)
        if followed.ndim != 1:
            raise RecipeError(
                f"each prefix needs one target; got targets of shape {followed.shape}"
            )
        ones = np.ones(len(followed))
        return cls(followed, ones, np.arange(len(followed) + 1), ones)

    def __len__(self) -> int:
        return len(self.best_gains)

    @property
    def likeliest(self) -> IntArray:
        """Return the most likely next symbol of each prefix, shape (num_prefixes,); the first if
        several are equally likely.

        For prefixes of real strings, it is what followed.

        >>> Targets.of([3, -1]).likeliest.tolist()
        [3, -1]
        """
        if not len(self):
            return np.empty(0, dtype=np.int64)
        lengths = np.diff(self.offsets)
        best = np.repeat(np.maximum.reduceat(self.probabilities, self.offsets[:-1]), lengths)
        positions = np.flatnonzero(self.probabilities == best)
        rows = np.repeat(np.arange(len(self)), lengths)[positions]
        return self.symbols[positions[np.unique(rows, return_index=True)[1]]]

    def of_symbols(self, symbols: npt.NDArray[np.integer]) -> FloatArray:
        """Look up the probability of one symbol per prefix, shape (num_prefixes,); 0 for a symbol
        that the target does not list.

        Raises RecipeError if there is not one symbol, a whole number, for each prefix.
        """
        symbols = whole_numbers("symbols", symbols)
        if symbols.shape != (len(self),):
            raise RecipeError(
                f"each of the {len(self):,} prefixes needs one symbol; got symbols of shape "
                f"{symbols.shape}"
            )
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        hits = self.symbols == symbols[rows]
        probabilities = np.zeros(len(self))
        probabilities[rows[hits]] = self.probabilities[hits]
        return probabilities


@dataclass(frozen=True, eq=False)
class Prefixes:
    """Prefixes of strings, including repeated prefixes, and what followed each.

    Attributes
    ----------
    words : Words
    targets : Targets
        The targets of the words, with numbers of the words' alphabet.
    """

    words: Words
    targets: Targets

    def __post_init__(self) -> None:
        if len(self.words) != len(self.targets):
            raise RecipeError(
                f"each prefix needs one target; got {len(self.targets)} targets for "
                f"{len(self.words)} prefixes"
            )

    def in_alphabet(self, alphabet: Alphabet | None, owner: str = "the") -> Prefixes:
        """Return the same prefixes with the numbers that their symbols have in another alphabet
        (see `Words.in_alphabet`).

        Symbols of targets that are not in the other alphabet get the numbers after its own.
        """
        words = self.words.in_alphabet(alphabet, owner)
        old_alphabet = self.words.alphabet
        symbols = self.targets.symbols
        if words is self.words or old_alphabet is None or alphabet is None:
            return self
        index = {symbol: number for number, symbol in enumerate(alphabet.symbols)}
        numbers = np.array(
            [index.setdefault(symbol, len(index)) for symbol in old_alphabet.symbols]
        )
        inside = (symbols >= 0) & (symbols < len(old_alphabet))
        # What neither alphabet has stays apart from all that one of them has.
        moved = np.where(symbols < 0, symbols, symbols + len(index))
        moved[inside] = numbers[symbols[inside]]
        return Prefixes(words, replace(self.targets, symbols=moved))


@dataclass(frozen=True)
class RankingScore:
    """The score of a ranking.

    Attributes
    ----------
    ndcg5 : float
        The mean over the prefixes of Σ_{j ≤ 5} p(a_j) / log₂(j + 1) divided by its largest possible
        value, where a_1, a_2 … are the ranked symbols and p gives their probabilities in the
        target. 1 is best. A symbol that is ranked twice counts once.
    error : float
        The share of the prefixes whose first-ranked symbol is not the most likely symbol in the
        target. For prefixes of real strings, that is what followed.
    num_prefixes : int
    """

    ndcg5: float
    error: float
    num_prefixes: int


@check_types
@on_one_thread
def rank_next(model: Model | HasModel, prefixes: Words, count: int = TOP) -> IntArray:
    """Rank the next symbols after each prefix by a model's scores, the highest score first.

    Negative scores rank below positive ones. Symbols with equal scores are ranked by their numbers,
    and the end of the string comes last among them. To keep rounding errors from deciding, scores
    count as equal if they differ by at most 2⁻²⁹ times the largest |score| among the symbols not
    yet ranked. Scores of nan come after all numbers.

    >>> from nlwfa_core.models.ngram import Uniform
    >>> rank_next(Uniform(2), Words.of([(), (0, 1)])).tolist()
    [[0, 1, -1], [0, 1, -1]]

    Parameters
    ----------
    model : Model or HasModel
        A model, or an object that holds one, such as a `Fit` or a `Result`.
    prefixes : Words
        The prefixes, in any order. Repeated prefixes are computed once. If their alphabet is not
        the model's, their symbols are renumbered to match it.
    count : int
        The number of ranks.

    Returns
    -------
    array, shape (num_prefixes, min(count, num_symbols + 1))
        The symbol at each rank, −1 for the end of the string.

    Raises
    ------
    RecipeError
        If the count is below 1, or a prefix has a symbol that the model does not know.
    """
    check_at_least("count", count, 1)
    return rank_finite(model_of(model), prefixes, count)[0]


def rank_finite(model: Model, prefixes: Words, count: int = TOP) -> tuple[IntArray, int]:
    """Return the ranking of `rank_next`, and the number of distinct prefixes with a score that is
    not finite.
    """
    words = prefixes.in_alphabet(alphabet_of(model), MODELS_ALPHABET)
    num_next = model.num_symbols + 1
    ranking = np.empty((len(words), min(count, num_next)), dtype=np.int64)
    num_nonfinite = 0
    for rows, trie in batches(words, model.num_symbols):
        nodes, inverse = np.unique(trie.ends, return_inverse=True)
        scores = scaled_next_scores(model, trie)[0][nodes]
        num_nonfinite += int((~np.isfinite(scores).all(axis=1)).sum())
        ranking[rows] = _ranked(scores, ranking.shape[1])[inverse]
    ranking[ranking == model.num_symbols] = END
    return ranking, num_nonfinite


def _ranked(scores: FloatArray, count: int) -> IntArray:
    """List the columns with the highest scores in each row, in the order that `rank_next`
    describes: shape (n, count).
    """
    left = np.where(np.isnan(scores), -np.inf, scores)
    ranking = np.empty((len(scores), count), dtype=np.int64)
    equal = np.zeros(scores.shape, dtype=bool)
    unranked = np.ones(scores.shape, dtype=bool)
    rows = np.arange(len(scores))
    for rank in range(count):
        # rows whose equal scores are all ranked: find the next ones
        done = np.flatnonzero(~equal.any(axis=1))
        if len(done):
            values = left[done]
            sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1)
            following = highest(values, RELATIVE_ERROR * sizes)
            none = ~following.any(axis=1)
            following[none] = unranked[done[none]]  # what remains is −∞ or not a number
            equal[done] = following
            left[done] = np.where(following, -np.inf, values)
        ranking[:, rank] = chosen = equal.argmax(axis=1)
        equal[rows, chosen] = unranked[rows, chosen] = False
    return ranking


@check_types
def score_ranking(ranking: npt.NDArray[np.integer], targets: Targets) -> RankingScore:
    """Score a ranking as SPiCe's own program, `score_computation.py`, does.

    >>> score = score_ranking(np.array([[0, 1], [1, 0]]), Targets.of([0, 0]))
    >>> round(score.ndcg5, 12), score.error, score.num_prefixes
    (0.815464876786, 0.5, 2)

    Parameters
    ----------
    ranking : array, shape (num_prefixes, num_ranks)
        The symbol at each rank, the most likely first; −1 is the end of the string, and −2 no
        symbol. Ranks beyond the fifth do not count.
    targets : Targets
        The target of each prefix, in the same order.

    Raises
    ------
    RecipeError
        If there are no prefixes, or the numbers of rankings and targets differ.
    """
    if ranking.ndim != 2 or len(ranking) != len(targets):
        raise RecipeError(
            f"a ranking must have the shape ({len(targets):,}, ranks), with a row for each target; "
            f"got an array of shape {ranking.shape}"
        )
    if not len(targets):
        raise RecipeError("a ranking must have at least 1 prefix to be scored; got none")
    first = ranking[:, 0] if ranking.shape[1] else np.full(len(targets), NO_SYMBOL)
    return RankingScore(
        ndcg5=float(normalised_gains(ranking, targets).mean()),
        error=float((first != targets.likeliest).mean()),
        num_prefixes=len(targets),
    )


def normalised_gains(ranking: npt.NDArray[np.integer], targets: Targets) -> FloatArray:
    """Compute the discounted gain of each row of a ranking, divided by its largest possible value.
    The mean of these is NDCG5.

    The parameters are those of `score_ranking`. Returns an array of shape (num_prefixes,).
    """
    gains = np.zeros(len(targets))
    for rank, discount in enumerate(discounts(min(TOP, ranking.shape[1]))):
        symbols = ranking[:, rank]
        repeated = (ranking[:, :rank] == symbols[:, None]).any(axis=1)
        gains += np.where(repeated, 0.0, discount * targets.of_symbols(symbols))
    return np.asarray(gains / targets.best_gains)


@on_one_thread
def prefix_score(model: Model | HasModel, prefixes: Prefixes) -> RankingScore:
    """Let a model rank what may follow each prefix, and score the ranking: `rank_next` and
    `score_ranking`, with their errors.

    Both scores are nan if a next-symbol score is not a finite number, because it is then unknown
    which score is the highest.
    """
    own = prefixes.in_alphabet(alphabet_of(model_of(model)), MODELS_ALPHABET)
    ranking, num_nonfinite = rank_finite(model_of(model), own.words)
    score = score_ranking(ranking, own.targets)
    return RankingScore(math.nan, math.nan, score.num_prefixes) if num_nonfinite else score
