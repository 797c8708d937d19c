"""Check whether a model is sound: does its mass converge, can its outputs be probabilities, does H have the requested rank?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from ..models.model import Model
from ..models.wfa import WFA
from ..strings.words import FloatArray, Words
from .scores import Scores

# Symbols in the short strings whose weights are summed one by one.
MAX_SUMMED = 20_000


@dataclass(frozen=True)
class Diagnostics:
    """Properties of a model that are needed to interpret its scores. None means not computed.

    Attributes
    ----------
    spectral_radius : float or None
        Of Σ_σ A_σ, for a WFA; the mass diverges if it is 1 or more.
    total_mass : float or None
        The sum of the weights of all strings, for a WFA; ∞ if it diverges. Nonlinear models have no closed form.
    short_mass : float
        The sum of the weights of all strings of up to `short_length` symbols.
    short_length : int
    share_zero, share_negative, share_nonfinite : float
        The shares of test words with an output of exactly 0, below 0, and not finite.
    numerical_rank : int or None
        Of H_λ, as far as it was computed (at most the requested rank).
    warnings : tuple of str
        Sentences: from learning, and about the outputs.
    """

    spectral_radius: float | None
    total_mass: float | None
    short_mass: float
    short_length: int
    share_zero: float
    share_negative: float
    share_nonfinite: float
    numerical_rank: int | None
    warnings: tuple[str, ...]


def divergence_warnings(model: Model) -> tuple[str, ...]:
    """One sentence if the weights of all strings have no finite sum, else none."""
    if not isinstance(model, WFA) or model.spectral_radius < 1:
        return ()
    return (
        f"The mass diverges: ΣA has spectral radius {model.spectral_radius:.4g}. At 1 or above, the weights of all strings "
        "have no finite sum, so prefix probabilities and the next symbols predicted from them mean little.",
    )


class LearningReport(Protocol):
    """The part of a report of learning that diagnostics repeat; `learning.learners.FitReport` has it."""

    @property
    def messages(self) -> tuple[str, ...]: ...

    @property
    def numerical_rank(self) -> int | None: ...


def diagnostics(model: Model, scores: Scores, report: LearningReport | None = None) -> Diagnostics:
    """Diagnose a model from its scores and the report of its learning.

    Parameters
    ----------
    model : Model
    scores : Scores
        Its scores on the test words.
    report : FitReport, optional
        The report of its learning, if any.
    """
    masses = masses_by_length(model)
    warnings = list(report.messages if report else divergence_warnings(model))
    for count, what in (
        (scores.num_nonfinite, "an output that is not a finite number"),
        (scores.num_negative, "a negative output, which is not a probability: the Pautomac score takes its absolute value"),
        (scores.num_zero, "an output of exactly 0: where such a word has mass, the Pautomac score is ∞"),
    ):
        if count:
            warnings.append(f"{count:,} of {scores.num_words:,} test words ({count / scores.num_words:.1%}) have {what}.")
    return Diagnostics(
        spectral_radius=model.spectral_radius if isinstance(model, WFA) else None,
        total_mass=model.total_weight() if isinstance(model, WFA) else None,
        short_mass=float(masses.sum()),
        short_length=len(masses) - 1,
        share_zero=scores.num_zero / scores.num_words,
        share_negative=scores.num_negative / scores.num_words,
        share_nonfinite=scores.num_nonfinite / scores.num_words,
        numerical_rank=report.numerical_rank if report else None,
        warnings=tuple(warnings),
    )


def masses_by_length(model: Model, max_summed: int = MAX_SUMMED) -> FloatArray:
    """The summed weights of all strings of length 0, 1, 2 …, as long as they have at most `max_summed` symbols together."""
    words, numbers = _short_words(model.num_symbols, max_summed)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.weights(words)
        return np.array([part.sum() for part in np.split(weights, np.cumsum(numbers)[:-1])])


@lru_cache(maxsize=8)  # the same for every model of a sweep
def _short_words(num_symbols: int, max_summed: int) -> tuple[Words, list[int]]:
    """All strings of length 0, of length 1, …, and the number of strings of each length."""
    parts, length, symbols_left = [], 0, max_summed
    while symbols_left >= 0:
        number = num_symbols**length
        digits = np.arange(number)[:, None] // num_symbols ** np.arange(length)[::-1] % num_symbols
        parts.append(Words(digits.ravel(), np.arange(number + 1) * length))
        length += 1
        symbols_left -= num_symbols**length * length
    return Words.joined(parts), [len(part) for part in parts]
