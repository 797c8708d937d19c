"""Scores a model on test strings: the Pautomac score, the word error rate, bits per symbol, NDCG@5,
distances to the truth.

Every logarithm is to base 2. `SCORES` holds the title, unit and meaning of each score for every
table, axis and page. `Scores` also counts zero, negative and non-finite outputs, because a score
can't be interpreted without them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_extra, check_one_of, check_type, check_types, plural
from ..models.model import (
    MODELS_ALPHABET,
    HasModel,
    LogModel,
    Model,
    ScaledModel,
    SharedModel,
    alphabet_of,
    model_of,
    next_distributions,
    scaled_next_scores,
)
from ..models.unseen import WithUnseen, check_some_known, extended, has_known_symbols
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.trie import Trie, batches, chain_log2_weights, chain_weights
from ..strings.words import Alphabet, FloatArray, IntArray, Words, distinct, float64_array
from .next_symbols import NextSymbolScore, score_next, total_bits
from .perplexity import divergence, magnitudes, pautomac_score, root_mean_square
from .ranking import Prefixes, prefix_score
from .tables import Numbers, Table, format_score, write_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Score:
    """The names, unit and meaning of a score.

    Attributes
    ----------
    field : str
        The name of its field in `Scores`.
    title : str
        The name on an axis or in a list of choices.
    short_title : str
        The name at the head of a column.
    unit : str
        The unit, such as "bits" for logarithms to base 2; empty for a number without a unit.
    meaning : str
        One or two sentences for the help of a column.
    higher_is_better : bool
    form : str
        The format specification with which values are written.
    is_metric : bool
        Whether it measures how good a model is. The other fields are shares and counts that are
        needed to interpret the metrics.
    """

    field: str
    title: str
    short_title: str
    unit: str
    meaning: str
    higher_is_better: bool = False
    form: str = ".3f"
    is_metric: bool = True

    @property
    def column(self) -> str:
        """Return the short title with its unit, for tables that have no help.

        >>> SCORE_OF["wer"].column, SCORE_OF["bits_per_symbol"].column
        ('WER (share)', 'bits / symbol')
        """
        return (
            self.short_title
            if self.unit in ("", self.short_title)
            else f"{self.short_title} ({self.unit})"
        )


# In the order of columns and choices: next symbols, whole strings, then the counts.
SCORES = (
    Score(
        "wer",
        "word error rate (end counted)",
        "WER",
        "share",
        "Word error rate: the share of wrong guesses of the next symbol, over every prefix "
        "of every test string, the end counted. "
        "If several symbols are equally likely, the expected share.",
    ),
    Score(
        "share_tied",
        "share of predictions tied",
        "tied",
        "share",
        "Share of these guesses in which several symbols have the same highest score, often "
        "0, so the model can only guess.",
        form=".0%",
        is_metric=False,
    ),
    Score(
        "wer_without_end",
        "word error rate (end not counted)",
        "WER, no end",
        "share",
        "The same over symbols only: the end of a string is neither guessed nor counted.",
    ),
    Score(
        "log2_pauto",
        "log₂ Pautomac score",
        "log₂ Pautomac",
        "bits",
        "−Σ P*(x) log₂ P(x), both normalised over the test strings, |·| of negative outputs; "
        "∞ if one gets exactly 0.",
    ),
    Score(
        "bits_per_symbol",
        "bits per symbol (end counted)",
        "bits / symbol",
        "bits / symbol",
        "Mean −log₂ of the probability of what followed, the end counted; |scores| "
        "normalised over what may follow.",
    ),
    Score(
        "ndcg5",
        "NDCG@5 against what followed (end counted; higher is better)",
        "NDCG@5",
        "",
        "How well the five likeliest next symbols are ranked, against what followed; 1 is best.",
        higher_is_better=True,
    ),
    Score(
        "ndcg5_true",
        "NDCG@5 against the true model (end counted; higher is better)",
        "NDCG@5, true",
        "",
        "The same against the true probabilities of the next symbol, as SPiCe scores; 1 is best.",
        higher_is_better=True,
    ),
    Score(
        "prefix_ndcg5",
        "NDCG5 of the prefixes (higher is better)",
        "prefix NDCG5",
        "",
        "How well the five likeliest next symbols are ranked after each prefix of a file, "
        "against its target, as SPiCe scores; "
        "1 is best. Of equally likely symbols, the lower one comes first.",
        higher_is_better=True,
    ),
    Score(
        "prefix_error",
        "error on the prefixes",
        "prefix error",
        "share",
        "Share of the prefixes of a file whose first-ranked symbol is not what followed or, "
        "if the target has probabilities, not "
        "the likeliest.",
    ),
    Score(
        "next_kl",
        "KL to the true next symbol, bits",
        "next KL",
        "bits",
        "Σ p log₂ (p / q) of the true next-symbol distribution p, in bits, mean over the "
        "test prefixes.",
    ),
    Score(
        "kl",
        "KL over the test strings, bits",
        "KL",
        "bits",
        "Σ P* log₂ (P* / P) over the test strings, both normalised over them, in bits. A "
        "string drawn n times counts n times.",
    ),
    Score(
        "total_variation",
        "total variation over the distinct test strings",
        "TV",
        "",
        "Total variation, ½ Σ |P* − P|, over the distinct test strings, both normalised over "
        "them. Undefined if all outputs are 0.",
    ),
    Score(
        "rmse",
        "RMSE of raw outputs",
        "RMSE",
        "",
        "Root mean squared error of raw outputs against the true probabilities. – if these "
        "are known only up to a factor, as from "
        "a solution that is normalised over the test file: raw outputs have another scale.",
        form=".3g",
    ),
    Score(
        "num_zero",
        "test strings of weight 0",
        "zero",
        "strings",
        "Test strings whose output is exactly 0.",
        form=",.0f",
        is_metric=False,
    ),
    Score(
        "num_negative",
        "test strings of negative weight",
        "negative",
        "strings",
        "Test strings whose output is below 0, so it is not a probability.",
        form=",.0f",
        is_metric=False,
    ),
    Score(
        "num_nonfinite",
        "test strings whose weight is not finite",
        "not finite",
        "strings",
        "Test strings whose output is not a finite number.",
        form=",.0f",
        is_metric=False,
    ),
    Score(
        "num_impossible",
        "predictions in which what followed had score 0",
        "impossible",
        "predictions",
        "Predictions in which what followed had score 0.",
        form=",.0f",
        is_metric=False,
    ),
)
SCORE_OF = {score.field: score for score in SCORES}
METRICS = tuple(score for score in SCORES if score.is_metric)
RANK_METRICS = ("wer", "log2_pauto")  # what Compare offers to choose a rank by
# what `experiment.selection.select_rank` can choose by
SELECTION_METRICS = (*RANK_METRICS, "bits_per_symbol", "ndcg5")
# True probabilities whose sum is that close to 1 are normalised over the test strings. (PAutomaC's
# solutions are, to 1e-12.)
NORMALISED = 1e-6
# Scores of whole strings: what they need are outputs, not the scores of next symbols.
WHOLE_STRING_SCORES = ("log2_pauto", "kl", "total_variation", "rmse")
# Where there is room for three.
MAIN_SCORES = tuple(SCORE_OF[field] for field in ("wer", "bits_per_symbol", "log2_pauto"))


@check_types
def next_symbol_score(
    model: Model, test: Sample, floor: float = 0.0, truth: FloatArray | None = None
) -> NextSymbolScore:
    """Score a model's predictions of next symbols along some strings.

    Each distinct prefix is predicted once, and counts as often as it occurs. If the strings'
    alphabet is not the model's, their symbols are renumbered to match it.

    `floor` raises the probabilities of next symbols as in `pautomac_score`, but does not affect the
    scores that depend only on the order of symbols. `truth` is that of `score_next`.
    """
    model = extended(model, used_alphabet(test))
    if (alphabet := alphabet_of(model)) is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    trie = Trie.of(test.words, model.num_symbols)
    return score_next(scaled_next_scores(model, trie)[0], trie, test.counts, floor, truth)


def bits_per_symbol(model: Model, test: Sample) -> float:
    """Compute the bits per symbol of `next_symbol_score` alone, and in batches, so that many
    symbols need little memory.
    """
    model = extended(model, used_alphabet(test))
    if (alphabet := alphabet_of(model)) is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    bits = 0.0
    for rows, trie in batches(test.words, model.num_symbols):
        bits += total_bits(scaled_next_scores(model, trie)[0], trie, test.counts[rows])
    return bits / int(test.counts @ (test.words.lengths + 1))


# What to know of the Pautomac score where the true probabilities are not known.
FLAT_WINS = (
    "log₂ Pautomac compares with how often each test string occurs. Where strings hardly "
    "repeat, that favours flat models, even "
    "over the one that drew the strings: compare by WER or by bits per symbol."
)


@dataclass(frozen=True, eq=False)
class TestSet:
    """Test strings, and the weights that they should have.

    Attributes
    ----------
    words : Words
        The words T of the Pautomac score, in the alphabet of the sample.
    target : array, shape (num_words,)
        The target P* of each word, not normalised.
    sample : Sample
        All test strings, repeated ones included, for next-symbol scores.
    target_is_true : bool
        Whether the target is the true probability; otherwise it is the frequency among the test
        strings.
    true_model : Model or None
        The model that generated the strings, for true next-symbol distributions; None if it is not
        known.
    prefixes : Prefixes or None
        Prefixes of other strings, with what followed them, to be scored as SPiCe does.

    Examples
    --------
    >>> from nlwfa_core import NGram, TestSet, as_sample, evaluate
    >>> test = TestSet.empirical(as_sample(["ab", "b", "ab"]))
    >>> evaluate(NGram.fit(as_sample(["ab", "b"]), 2), test).num_words
    2
    """

    __test__ = False  # not a test for pytest to collect

    words: Words
    target: FloatArray
    sample: Sample
    target_is_true: bool
    true_model: Model | None = None
    prefixes: Prefixes | None = None

    def __post_init__(self) -> None:
        check_type("words", self.words, Words)
        check_type("sample", self.sample, Sample)
        check_type("target_is_true", self.target_is_true, bool)
        object.__setattr__(self, "target", float64_array("target", self.target))
        if self.true_model is not None:
            object.__setattr__(self, "true_model", model_of(self.true_model, "true_model"))
        if np.shape(self.target) != (len(self.words),):
            raise RecipeError(
                f"each of the {len(self.words):,} test words needs one target; got targets "
                f"of shape {np.shape(self.target)}"
            )
        words = self.words.in_alphabet(self.alphabet, "the test sample's")
        object.__setattr__(self, "words", replace(words, alphabet=self.alphabet))

    def __repr__(self) -> str:
        """Describe the test set in a line.

        >>> TestSet.empirical(["ab", "b"])
        <TestSet of 2 strings, 2 distinct, true probabilities not known; 2 symbols: a, b>
        """
        strings = (
            f"{plural(self.sample.num_strings, 'string')}, {len(self.sample.words):,} distinct"
        )
        truth = "known" if self.target_is_true else "not known"
        return f"<TestSet of {strings}, true probabilities {truth}; {self.alphabet.summary}>"

    @property
    def alphabet(self) -> Alphabet:
        return self.sample.alphabet

    def in_alphabet(self, alphabet: Alphabet, owner: str = "the") -> TestSet:
        """Renumber the symbols of all strings to match another alphabet (see
        `Words.in_alphabet`).
        """
        check_type("alphabet", alphabet, Alphabet)
        if alphabet == self.alphabet:
            return self
        if alphabet not in self._others:
            words, sample = (
                self.words.in_alphabet(alphabet, owner),
                self.sample.in_alphabet(alphabet, owner),
            )
            self._others[alphabet] = replace(self, words=words, sample=sample)
        return self._others[alphabet]

    @cached_property
    def true_weights(self) -> FloatArray | None:
        """Return the weights that a model should compute for the words of T, shape (num_words,).

        None if they are not known, or known only up to a factor. A target that sums to 1 over T is
        taken to be known only up to a factor, because PAutomaC's solutions are normalised in this
        way.
        """
        if self.true_model is not None:
            return self.true_model.weights(self.words)
        normalised = abs(float(self.target.sum()) - 1) <= NORMALISED
        return self.target if self.target_is_true and not normalised else None

    @cached_property
    def next_truth(self) -> FloatArray | None:
        """Return the true probabilities of what follows each prefix of the strings, shape
        (num_nodes, num_symbols + 1).

        A row sums to 1, or is nan if the true model gives the prefix the probability 0. None
        without a true model.
        """
        if self.true_model is None:
            return None
        probabilities = next_distributions(
            scaled_next_scores(self.true_model, self.trie(self.true_model.num_symbols))[0]
        )
        probabilities[~probabilities.any(axis=1)] = np.nan
        return probabilities

    def trie(self, num_symbols: int) -> Trie:
        """Return the prefix tree of the strings, which is built only once for each number of
        symbols.
        """
        check_type("num_symbols", num_symbols, int)
        if num_symbols not in self._tries:
            self._tries[num_symbols] = Trie.of(self.sample.words, num_symbols)
        return self._tries[num_symbols]

    def ends(self, num_symbols: int) -> IntArray | None:
        """Find the node of each word of T in the tree of `trie`, shape (num_words,); None if a word
        of T is not in that tree.
        """
        check_type("num_symbols", num_symbols, int)
        if num_symbols not in self._ends:
            trie = self.trie(num_symbols)
            nodes, starts = trie.walk(self.words)
            whole = bool((np.diff(starts) == self.words.lengths + 1).all())
            self._ends[num_symbols] = nodes[starts[1:] - 1] if whole else None
        return self._ends[num_symbols]

    @cached_property
    def _others(self) -> dict[Alphabet, TestSet]:
        return {}

    @cached_property
    def _tries(self) -> dict[int, Trie]:
        return {}

    @cached_property
    def _ends(self) -> dict[int, IntArray | None]:
        return {}

    @classmethod
    def of(
        cls,
        rows: Words,
        alphabet: Alphabet,
        counts: npt.ArrayLike | None = None,
        solution: FloatArray | None = None,
        true_model: Model | None = None,
    ) -> TestSet:
        """Make the test set of some strings. This is the only place that decides what T is.

        If true probabilities are known, from a solution or else from the true model, T is the rows
        as drawn, so repeated strings count as often as they were drawn. If not, T is the distinct
        strings, and P* their frequencies.

        >>> from nlwfa_core.models.ngram import Uniform
        >>> rows, alphabet = Words.of([(0,), (), (0,)]), Alphabet(("a",))
        >>> list(TestSet.of(rows, alphabet).words), TestSet.of(rows, alphabet).target.tolist()
        ([(0,), ()], [0.6666666666666666, 0.3333333333333333])
        >>> known = TestSet.of(rows, alphabet, true_model=Uniform(1))
        >>> list(known.words), known.target.tolist()
        ([(0,), (), (0,)], [0.25, 0.5, 0.25])

        Parameters
        ----------
        rows : Words
            The test strings in their order, repeated ones included.
        counts : array, shape (num_rows,), optional
            How often each row was drawn, as in a CSV file; by default once.
        solution : array, shape (num_rows,), optional
            The rows' true probabilities, up to a factor.
        true_model : Model, optional
            The source of the strings. Without a solution, its weights are the true probabilities.

        Raises
        ------
        RecipeError
            If a solution has another length than the rows.
        """
        check_type("rows", rows, Words)
        check_type("solution", solution, np.ndarray | None)
        if true_model is not None:
            true_model = model_of(true_model, "true_model")
        if solution is not None and len(solution) != len(rows):
            raise RecipeError(
                "the solution must have one probability per test string; got "
                f"{len(solution)} for {len(rows)}"
            )
        sample = Sample.of(rows, alphabet, counts)
        if solution is None and true_model is None:
            return cls.empirical(sample)
        if counts is not None:
            places = np.repeat(np.arange(len(rows)), np.asarray(counts))
            rows, solution = rows.take(places), None if solution is None else solution[places]
        target = solution
        if target is None and true_model is not None:
            target = true_model.weights(rows)
            # all too small: P* is known up to a factor
            if isinstance(true_model, LogModel) and not target.any():
                target = magnitudes(target, true_model.log2_weights(rows))
        return cls.as_drawn(rows, target, sample, true_model)  # type: ignore[arg-type]

    @classmethod
    @check_types
    def as_drawn(
        cls, words: Words, target: FloatArray, sample: Sample, true_model: Model | None = None
    ) -> TestSet:
        """Make a test set in which T is every row of a test file, repeated rows included, and P* is
        known for each row.
        """
        if len(words) != len(target):
            raise RecipeError(
                f"the solution must have one probability per test string; got {len(target)} "
                f"for {len(words)}"
            )
        return cls(words, target, sample, target_is_true=True, true_model=true_model)

    @classmethod
    @check_types
    def empirical(cls, sample: SampleLike) -> TestSet:
        """Make a test set in which T is the distinct strings of a sample, and P* their frequencies.

        (If T had repeated rows, the uniform model would always have the best score.)

        >>> TestSet.empirical(["ab", "b", "ab", "ab"]).target.tolist()
        [0.75, 0.25]
        """
        sample = as_sample(sample)
        return cls(sample.words, sample.frequencies(), sample, target_is_true=False)


@dataclass(frozen=True)
class Scores:
    """A model's scores on a test set, and two reference scores that do not depend on the model.

    `PautomacScore`, `NextSymbolScore` and `Divergence` (`kl` and `total_variation`) explain the
    fields; `rmse` is the error against `TestSet.true_weights`. `prefix_ndcg5` and `prefix_error`
    are those of `RankingScore`, over `TestSet.prefixes`. A field is None if the test set does not
    have the truth or the prefixes that it needs. A score is nan, printed as "undefined", if it
    can't be computed: `why_undefined` says why. `num_unknown` counts the test strings with a symbol
    that the model does not know, whose weight is 0.

    Scores are printed as a table, also in a notebook.

    >>> from nlwfa_core import NGram, evaluate
    >>> scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    >>> scores.num_words, scores.num_zero, round(scores.wer, 2)
    (2, 0, 0.2)
    """

    log2_pauto: float
    wer: float
    wer_without_end: float
    bits_per_symbol: float
    num_words: int
    num_zero: int
    num_negative: int
    num_nonfinite: int
    num_predictions: int
    num_impossible: int
    num_negative_next: int
    uniform_log2_pauto: float
    true_log2_pauto: float | None
    floor: float
    ndcg5: float
    kl: float | None
    total_variation: float | None
    rmse: float | None
    next_kl: float | None
    share_tied: float
    ndcg5_true: float | None
    prefix_ndcg5: float | None
    prefix_error: float | None
    num_unknown: int
    num_nonfinite_next: int
    num_strings: int

    def why_undefined(self, field: str) -> str:
        """Say why a score is nan; empty if it is not.

        >>> from nlwfa_core import WFA, Alphabet, TestSet, evaluate
        >>> zero = WFA([1], [[[0]]], [0], Alphabet(("a",)))
        >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
        >>> evaluate(
        ...     zero, TestSet.of(half.sample(5).words, half.alphabet, true_model=half)
        ... ).why_undefined("total_variation")
        'all outputs are 0'
        """
        check_type("field", field, str)
        check_one_of("field", field, SCORE_OF)
        value = getattr(self, field)
        if value is None or not math.isnan(value):
            return ""
        if field not in WHOLE_STRING_SCORES and self.num_nonfinite_next:
            return f"{plural(self.num_nonfinite_next, 'next-symbol score')} not finite"
        if field in WHOLE_STRING_SCORES and self.num_nonfinite:
            return f"{plural(self.num_nonfinite, 'output')} not finite"
        other_reasons = {
            "total_variation": "all outputs are 0",
            "wer_without_end": "all test strings are empty",
            "ndcg5_true": "the true model gives a prefix the probability 0",
            "next_kl": "the true model gives a prefix the probability 0",
        }
        return other_reasons.get(field, "a score is not finite")

    @property
    def perplexity(self) -> float:
        """2 to the power of the log₂ Pautomac score. From 2¹⁰²⁴ on, it is ∞."""
        return _power(self.log2_pauto)

    def __repr__(self) -> str:
        rows = self._rows()
        width = max(len(name) for name, _, _ in rows)
        values = max(len(value) for _, value, _ in rows)
        lines = (
            f"{name:<{width}}  {value:>{values}}  {remark}".rstrip() for name, value, remark in rows
        )
        return "\n".join((self._heading, *lines))

    def to_frame(self, name: str = "model") -> pd.DataFrame:
        """Make one row of a data frame, with each field and the perplexity; `pandas.concat` puts
        several models together.

        >>> from nlwfa_core.models.ngram import NGram
        >>> frame = evaluate(NGram.fit(["ab", "b"], 2), ["ab"]).to_frame("bigram")
        >>> float(frame.loc["bigram", "num_words"])
        1.0

        Parameters
        ----------
        name : str
            The row's index.

        Raises
        ------
        MissingExtra
            Without pandas.
        """
        check_type("name", name, str)
        check_extra("pandas", "pandas")
        import pandas as pd

        return pd.DataFrame(
            [{**asdict(self), "perplexity": self.perplexity}],
            index=pd.Index([name], name="model"),
            dtype=float,
        )

    def to_table(self, name: str = "model") -> Table:
        """Make a table with a row for each score that is known, for `metrics.tables.write_table`.

        >>> from nlwfa_core.models.ngram import NGram
        >>> evaluate(NGram.fit(["ab", "b"], 2), ["ab"]).to_table("bigram")["score"][0]
        'WER (share)'

        Parameters
        ----------
        name : str
            The title of the column of scores.
        """
        check_type("name", name, str)
        known = [score for score in SCORES if getattr(self, score.field) is not None]
        values = [getattr(self, score.field) for score in known]
        numbers = Numbers.of(
            (value, format_score(value, score.form))
            for value, score in zip(values, known, strict=True)
        )
        return {"score": [score.column for score in known], name: numbers}

    def to_latex(self, name: str = "model") -> str:
        """Write the scores as a table in LaTeX, which needs the package booktabs.

        >>> from nlwfa_core.models.ngram import NGram
        >>> print(evaluate(NGram.fit(["ab", "b"], 2), ["ab"]).to_latex("bigram").splitlines()[8])
        WER (share) & 0.333 \\\\

        Parameters
        ----------
        name : str
            The title of the column of scores.
        """
        return write_table(self.to_table(name), "latex", self._heading)

    def to_markdown(self, name: str = "model") -> str:
        """Write the scores as a table in Markdown.

        >>> from nlwfa_core.models.ngram import NGram
        >>> evaluate(NGram.fit(["ab", "b"], 2), ["ab"]).to_markdown("bigram").splitlines()[0]
        '| score | bigram |'

        Parameters
        ----------
        name : str
            The title of the column of scores.
        """
        return write_table(self.to_table(name), "markdown", self._heading)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td>{escape(name)}</td><td style="text-align: '
            f'right">{value}</td><td>{escape(remark)}</td></tr>'
            for name, value, remark in self._rows()
        )
        return f"<table><caption>{escape(self._heading)}</caption><tbody>{rows}</tbody></table>"

    @property
    def _heading(self) -> str:
        strings = (
            "distinct test strings" if self.true_log2_pauto is None else "test strings as drawn"
        )
        floor = f"; outputs are raised to {self.floor:g}" if self.floor else ""
        return (
            f"Scores on {self.num_words:,} {strings}, {self.num_predictions:,} next-symbol "
            f"predictions{floor}"
        )

    def _rows(self) -> list[tuple[str, str, str]]:
        """List the title, value and remark of each score that is known."""
        rows = []
        for score in SCORES:
            value = getattr(self, score.field)
            if value is None:
                continue
            rows.append((score.title, _written(value, score.form), self.why_undefined(score.field)))
            if score.field == "log2_pauto":
                beside = f"uniform {_perplexity(self.uniform_log2_pauto)}"
                if self.true_log2_pauto is not None:
                    beside = f"true {_perplexity(self.true_log2_pauto)}, {beside}"
                convention = "2 to the power above; |outputs| normalised over T"
                rows.append(("perplexity", _perplexity(self.log2_pauto), f"{convention}; {beside}"))
        if self.num_unknown:
            rows.append(
                ("test strings with unknown symbols", f"{self.num_unknown:,}", "their weight is 0")
            )
        return rows


def _power(log2: float) -> float:
    return 2.0**log2 if not log2 >= 1024 else float("inf")


def _perplexity(log2: float) -> str:
    return _written(_power(log2), ".4g" if log2 >= 20 else ",.2f")


def _written(value: float, form: str) -> str:
    return "undefined" if np.isnan(value) else f"{value:{form}}".replace("inf", "∞")


def as_test_set(
    strings: TestSet | SampleLike, alphabet: Alphabet | None, name: str = "test"
) -> TestSet:
    """Make a test set of strings, whose target is their frequencies; a test set stays as it is.

    Written strings get the numbers of an alphabet, to which their other symbols are added.
    """
    if isinstance(strings, TestSet):
        return strings
    if isinstance(strings, Sample):
        return TestSet.empirical(strings)
    return TestSet.empirical(as_sample(strings, alphabet, name, extend=True))


@check_types
@on_one_thread
def evaluate(model: Model | HasModel, test: TestSet | SampleLike, floor: float = 0.0) -> Scores:
    """Compute all scores of a model, or of the model of a `Fit`, on a test set, or on strings.

    >>> from nlwfa_core.models.ngram import NGram
    >>> scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    >>> round(scores.wer, 2), scores.num_words
    (0.2, 2)

    Strings are a Sample, or what `strings.plain.as_sample` takes; their target is their frequencies
    (`TestSet.empirical`). If the test set's alphabet is not the model's, its symbols are renumbered
    to match it; a string with a symbol that the model does not know has the weight 0, and
    `Scores.num_unknown` counts it. A model without an alphabet knows symbols only by their numbers.
    It can be scored if these are unambiguous: the test set has as many symbols as the model, or its
    symbols are themselves numbers. `floor` is that of `pautomac_score`.

    Raises
    ------
    RecipeError
        If the test set is empty, all of its strings have symbols that the model does not know, or
        the true model has another alphabet.
    """
    model = model_of(model)
    model, test = over_one_alphabet(model, as_test_set(test, alphabet_of(model)))
    trie = test.trie(model.num_symbols)
    next_scores, exponents = scaled_next_scores(model, trie)
    weights, logs = outputs_on(model, test, next_scores, exponents)
    outputs = pautomac_score(weights, test.target, floor, log2_outputs=logs)
    following = score_next(next_scores, trie, test.sample.counts, floor, test.next_truth)
    ranking = None if test.prefixes is None else prefix_score(model, test.prefixes)
    gap = (
        divergence(weights, test.target, floor, logs, distinct(test.words)[0])
        if test.target_is_true
        else None
    )
    return Scores(
        log2_pauto=outputs.log2,
        wer=following.wer,
        wer_without_end=following.wer_without_end,
        bits_per_symbol=following.bits_per_symbol,
        num_words=outputs.num_words,
        num_zero=outputs.num_zero,
        num_negative=outputs.num_negative,
        num_nonfinite=outputs.num_nonfinite,
        num_predictions=following.num_predictions,
        num_impossible=following.num_impossible,
        num_negative_next=following.num_negative,
        uniform_log2_pauto=float(np.log2(outputs.num_words)),
        true_log2_pauto=pautomac_score(test.target, test.target).log2
        if test.target_is_true
        else None,
        floor=floor,
        ndcg5=following.ndcg5,
        kl=gap.kl if gap else None,
        total_variation=gap.total_variation if gap else None,
        rmse=None if test.true_weights is None else root_mean_square(weights, test.true_weights),
        next_kl=following.next_kl,
        share_tied=following.share_tied,
        ndcg5_true=following.ndcg5_true,
        prefix_ndcg5=ranking.ndcg5 if ranking else None,
        prefix_error=ranking.error if ranking else None,
        num_unknown=_num_unknown(model, test.sample),
        num_nonfinite_next=following.num_nonfinite,
        num_strings=test.sample.num_strings,
    )


def _num_unknown(model: Model, test: Sample) -> int:
    if not isinstance(model, WithUnseen):
        return 0
    return int(test.counts[~has_known_symbols(test.words, model.model.num_symbols)].sum())


def over_one_alphabet(model: Model, test: TestSet) -> tuple[Model, TestSet]:
    """Extend a model to those symbols of a test set that it does not know, and renumber the test
    set's symbols to match it.

    Raises
    ------
    RecipeError
        If the test set is empty, all of its strings have symbols that the model does not know, or
        the true model has another alphabet.
    """
    if not len(test.words):
        raise RecipeError("the test set has no strings")
    known = alphabet_of(model) or test.alphabet
    model = extended(model, used_alphabet(test.sample))
    own, true = alphabet_of(model), alphabet_of(test.true_model) if test.true_model else None
    if own is not None and true is not None and own != true:
        raise RecipeError(
            f"the true model and the model must have one alphabet; got {true.summary}, and "
            f"{known.summary}"
        )
    if (alphabet := own or true) is not None:
        test = test.in_alphabet(alphabet, MODELS_ALPHABET)
    elif not (test.alphabet.is_numbered or len(test.alphabet) >= model.num_symbols):
        raise RecipeError(
            f"the model has {plural(model.num_symbols, 'symbol')} and no alphabet that says "
            "which, so test strings need an "
            f"alphabet of as many symbols; got {test.alphabet.summary}"
        )
    if isinstance(model, WithUnseen):
        check_some_known(test.sample.words, known)
    if test.sample.num_symbols > model.num_symbols:
        used = int(test.sample.words.symbols.max(initial=-1)) + 1
        if used > model.num_symbols:
            raise RecipeError(
                f"the test strings use {used} symbols, but the model has {model.num_symbols}"
            )
    if test.true_model is not None and test.true_model.num_symbols != model.num_symbols:
        raise RecipeError(
            f"the true model has {test.true_model.num_symbols} symbols, but the model has "
            f"{model.num_symbols}"
        )
    return model, test


def used_alphabet(sample: Sample) -> Alphabet:
    """Return the alphabet of those symbols that occur in a sample; all of its symbols if none
    occurs.
    """
    used = np.unique(sample.words.symbols).tolist()
    return (
        Alphabet(tuple(sample.alphabet.symbols[symbol] for symbol in used))
        if used
        else sample.alphabet
    )


def outputs_on(
    model: Model, test: TestSet, next_scores: FloatArray, exponents: IntArray | None
) -> tuple[FloatArray, FloatArray | None]:
    """Compute a model's outputs on the words of a test set's T (`test.words`), and their
    logarithms.

    Parameters
    ----------
    model : Model
    test : TestSet
    next_scores : array, shape (num_nodes, num_symbols + 1)
        The model's scores at the nodes of `test.trie`, from `scaled_next_scores`.
    exponents : array, shape (num_nodes,), or None
        Their exponents.

    Returns
    -------
    outputs : array, shape (num_words,)
        f(x).
    log2_outputs : array, shape (num_words,), or None
        log₂ |f(x)|; None if the model does not compute logarithms, and no output is too small for
        float64.
    """
    trie, ends = test.trie(model.num_symbols), test.ends(model.num_symbols)
    if ends is None or not isinstance(model, SharedModel):
        weights, logs = (
            model.weights(test.words),
            model.log2_weights(test.words) if isinstance(model, LogModel) else None,
        )
        if (
            isinstance(model, ScaledModel)
            and logs is not None
            and np.array_equal(weights == 0, np.isneginf(logs))
        ):
            logs = None  # no weight is too small
        return weights, logs
    if model.is_chain:
        return chain_weights(next_scores, trie, ends), chain_log2_weights(
            np.abs(next_scores), trie, ends
        )
    outputs = next_scores[ends, -1]
    if exponents is None or not exponents[ends].any():
        return outputs, None
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return np.ldexp(outputs, exponents[ends]), np.log2(np.abs(outputs)) + exponents[ends]
