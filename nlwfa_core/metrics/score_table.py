"""The scores of a model: `Scores`, the record of all of them, and `SCORES`, which holds the title,
unit and meaning of each score for every table, axis and page.

`Scores` also counts zero, negative and non-finite outputs, which are needed to interpret a score.
Every logarithm is to base 2.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..errors import check_extra, check_one_of, check_type, plural
from .tables import Numbers, Table, format_score, write_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Score:
    """The names, unit and meaning of a score."""

    field: str  # the name of its field in `Scores`
    title: str  # the name on an axis or in a list of choices
    short_title: str  # the name at the head of a column
    # the unit, such as "bits" for logarithms to base 2; empty for a number without a unit
    unit: str
    meaning: str  # one or two sentences for the help of a column
    higher_is_better: bool = False
    form: str = ".3f"  # the format specification with which values are written
    # Whether it measures how good a model is. The other fields are shares and counts that are
    # needed to interpret the metrics.
    is_metric: bool = True

    @property
    def column(self) -> str:
        """Return the short title with its unit, for tables without help texts.

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
        "bits_without_end",
        "bits per symbol (end not counted)",
        "bits / symbol, no end",
        "bits / symbol, no end",
        "The same over symbols only: the end of a string is neither predicted nor counted.",
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
# what Compare offers to choose a rank by
RANK_METRICS = ("wer", "log2_pauto", "bits_per_symbol")
# what `search.rank_selection.select_rank` can choose by
SELECTION_METRICS = (
    *RANK_METRICS,
    "ndcg5",
    "wer_without_end",
    "bits_without_end",
)
# The fields of `criteria.InformationCriteria` by which it can also choose -> their titles.
CRITERIA = {"aic": "AIC", "bic": "BIC"}
# Scores of whole strings: they need outputs, not the scores of next symbols.
WHOLE_STRING_SCORES = ("log2_pauto", "kl", "total_variation", "rmse")
# Where there is room for three.
MAIN_SCORES = tuple(SCORE_OF[field] for field in ("wer", "bits_per_symbol", "log2_pauto"))


# What to know about the Pautomac score where the true probabilities are not known.
FLAT_WINS = (
    "log₂ Pautomac compares a model with how often each test string occurs. If strings hardly "
    "repeat, this favours flat models, even over the model that drew the strings: compare models "
    "by WER or by bits per symbol."
)


def conventions(num_strings: int) -> str:
    """State the conventions of the scores in a table for a paper.

    >>> conventions(250)
    '250 test strings; logarithms have base 2; the end of a string counts unless “no end”'
    """
    return (
        f"{plural(num_strings, 'test string')}; logarithms have base 2; the end of a string counts "
        "unless “no end”"
    )


@dataclass(frozen=True)
class Scores:
    """A model's scores on a test set, and two reference scores that do not depend on the model.

    `PautomacScore`, `NextSymbolScore` and `Divergence` (`kl` and `total_variation`) explain the
    fields; `rmse` is the error against `TestSet.true_weights`. `prefix_ndcg5` and `prefix_error`
    are those of `RankingScore`, over `TestSet.prefixes`. A field is None if the test set does not
    have the truth or the prefixes that it needs. A score is nan, printed as "undefined", if it
    can't be computed; `why_undefined` gives the reason. `num_unknown` counts the test strings with
    a symbol that the model does not know. Their weight is 0, unless its alphabet has a symbol for
    the unknown.

    Scores print as a table, also in a notebook.

    >>> from nlwfa_core import NGram, evaluate
    >>> scores = evaluate(NGram.fit(["ab", "b", "ab"], order=2), ["ab", "b"])
    >>> scores.num_words, scores.num_zero, round(scores.wer, 2)
    (2, 0, 0.2)
    """

    log2_pauto: float
    wer: float
    wer_without_end: float
    bits_per_symbol: float
    bits_without_end: float
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
        """Explain why a score is nan; empty if it is not.

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
            "bits_without_end": "all test strings are empty",
            "ndcg5_true": "the true model gives a prefix the probability 0",
            "next_kl": "the true model gives a prefix the probability 0",
        }
        return other_reasons.get(field, "a score is not finite")

    @property
    def perplexity(self) -> float:
        """2 to the power of the log₂ Pautomac score. From 2¹⁰²⁴ up, it is ∞."""
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
        """Make a data frame of one row, with each field and the perplexity; `pandas.concat` joins
        the rows of several models.

        >>> from nlwfa_core.metrics.evaluate import evaluate
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
            If pandas is not installed.
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

        >>> from nlwfa_core.metrics.evaluate import evaluate
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

        >>> from nlwfa_core.metrics.evaluate import evaluate
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

        >>> from nlwfa_core.metrics.evaluate import evaluate
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
                beside = f"equal weights {_perplexity(self.uniform_log2_pauto)}"
                if self.true_log2_pauto is not None:
                    beside = f"true {_perplexity(self.true_log2_pauto)}, {beside}"
                convention = "2 to the power above; |outputs| normalised over T"
                rows.append(("perplexity", _perplexity(self.log2_pauto), f"{convention}; {beside}"))
        if self.num_unknown:
            rows.append(
                (
                    "test strings with unknown symbols",
                    f"{self.num_unknown:,}",
                    "their weight is 0, or the model has a symbol for the unknown",
                )
            )
        return rows


def _power(log2: float) -> float:
    return 2.0**log2 if not log2 >= 1024 else float("inf")


def _perplexity(log2: float) -> str:
    return _written(_power(log2), ".4g" if log2 >= 20 else ",.2f")


def _written(value: float, form: str) -> str:
    return "undefined" if np.isnan(value) else f"{value:{form}}".replace("inf", "∞")
