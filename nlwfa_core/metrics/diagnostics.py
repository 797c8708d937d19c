"""Whether a model is sound: does its mass converge, does it give strings weights that no probability can have, is its rank real."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from ..models.model import Model
from ..models.wfa import WFA, mass_messages
from ..strings.words import FloatArray, Words
from .scores import Scores

# Strings whose weights are summed one by one, where there is no closed form.
MAX_SUMMED = 20_000


@dataclass(frozen=True)
class Diagnostics:
    """What a model's scores have to be read with. None: not computed.

    Attributes
    ----------
    spectral_radius : float or None
        Of Σ_σ A_σ, for a WFA; from 1 on the mass diverges.
    total_mass : float or None
        The weights of all strings summed, for a WFA; ∞ where that sum diverges. Nonlinear models have no closed form.
    short_mass : float
        The weights of all strings of up to `short_length` symbols, summed one by one.
    short_length : int
    share_zero, share_negative, share_nonfinite : float
        Of the test words, those with an output of exactly 0, below 0, not finite.
    numerical_rank : int or None
        Of H_λ, as far as it was computed (at most the rank asked for).
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


class LearningReport(Protocol):
    """What a report of learning says that scores have to be read with: `learning.learners.FitReport` does."""

    @property
    def messages(self) -> tuple[str, ...]: ...

    @property
    def numerical_rank(self) -> int | None: ...


def diagnostics(model: Model, scores: Scores, report: LearningReport | None = None) -> Diagnostics:
    """Diagnostics of a model from what is known of it.

    Parameters
    ----------
    model : Model
    scores : Scores
        Its scores on the test words.
    report : FitReport, optional
        Of its learning, where that is at hand.
    """
    masses = masses_by_length(model)
    warnings = list(report.messages if report else mass_messages(model))
    for count, what in (
        (scores.num_nonfinite, "an output that is not a finite number"),
        (scores.num_negative, "a negative output, which is no probability: the Pautomac score takes its absolute value"),
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
    """The summed weight of all strings of length 0, 1, 2 …, as far as there are at most `max_summed` symbols to go through."""
    words, numbers = _short_words(model.num_symbols, max_summed)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.weights(words)
        return np.array([part.sum() for part in np.split(weights, np.cumsum(numbers)[:-1])])


@lru_cache(maxsize=8)  # every model of a sweep asks for the same
def _short_words(num_symbols: int, max_summed: int) -> tuple[Words, list[int]]:
    """All strings of length 0, of length 1, …, and how many there are of each."""
    parts, length, left = [], 0, max_summed
    while left >= 0:
        number = num_symbols**length
        digits = np.arange(number)[:, None] // num_symbols ** np.arange(length)[::-1] % num_symbols
        parts.append(Words(digits.ravel(), np.arange(number + 1) * length))
        length += 1
        left -= num_symbols**length * length
    return Words.joined(parts), [len(part) for part in parts]
