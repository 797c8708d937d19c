"""Check whether a model is sound: whether its mass converges, whether its outputs can be
probabilities, and whether H has the requested rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from ..models.model import Model
from ..models.wfa import WFA
from ..rounding import format_beside, format_share
from ..strings.words import FloatArray, Words
from .score_table import Scores

# Symbols in the short strings whose weights are summed one by one.
MAX_SUMMED = 20_000


@dataclass(frozen=True)
class Diagnostics:
    """Holds the properties of a model that are needed to interpret its scores. None means that a
    property was not computed.

    Attributes
    ----------
    spectral_radius : float or None
        The largest |eigenvalue| of Σ_σ A_σ, if the model is a WFA. If it is 1 or more, the mass
        diverges.
    total_mass : float or None
        The sum of the weights of all strings, if the model is a WFA; ∞ if it diverges. Other models
        have no closed form for it.
    short_mass : float
        The sum of the weights of all strings of up to `short_length` symbols.
    short_length : int
    share_zero, share_negative, share_nonfinite : float
        The shares of the test strings whose outputs are exactly 0, below 0, and not finite numbers.
    numerical_rank : int or None
        The numerical rank of H_λ, or the requested rank if that is smaller.
    warnings : tuple of str
        Sentences for the user, from learning and about the outputs.
    notes : tuple of str
        Sentences from learning that are not warnings.
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
    notes: tuple[str, ...] = ()


# Field of `Diagnostics` -> its title on pages, in reports and on the command line.
DIAGNOSTIC_TITLES = {
    "spectral_radius": "radius of ΣA",
    "total_mass": "total mass",
    "short_mass": "mass of short strings",
    "share_zero": "zero outputs",
    "share_negative": "negative outputs",
    "share_nonfinite": "outputs that are not finite",
    "numerical_rank": "numerical rank",
}


def format_diagnostic(
    field: str, value: float | None, short_length: int | None = None, rank: int | None = None
) -> str:
    """Write a field of `Diagnostics` as text, the same on pages, in reports and on the command
    line.

    None is "not computed": nonlinear models have no closed form for some fields. A numerical rank
    that is not below the requested `rank` may be larger, because no more singular values were
    computed.

    >>> (
    ...     format_diagnostic("spectral_radius", 0.25),
    ...     format_diagnostic("total_mass", None),
    ...     format_diagnostic("share_zero", 0.125),
    ... )
    ('0.25', 'not computed', '12.5%')
    >>> format_diagnostic("short_mass", 0.875, 10)
    '0.875 (length ≤ 10)'
    >>> (
    ...     format_diagnostic("numerical_rank", 4, rank=5),
    ...     format_diagnostic("numerical_rank", 5, rank=5),
    ... )
    ('4', 'at least 5')
    """
    if field.startswith("share_"):
        return "–" if value is None or not math.isfinite(value) else format_share(value)
    # A mass and a spectral radius are compared with 1.
    text = "not computed" if value is None else format_beside(value, 1.0)
    if field == "numerical_rank" and value is not None and rank is not None and value >= rank:
        return f"at least {text}"
    return f"{text} (length ≤ {short_length})" if field == "short_mass" else text


def divergence_warnings(model: Model) -> tuple[str, ...]:
    """Warn, in one sentence, if the weights of all strings have no finite sum; otherwise return no
    sentence.
    """
    if not isinstance(model, WFA) or model.spectral_radius < 1:
        return ()
    radius = format_beside(model.spectral_radius, 1.0)
    return (
        f"The mass diverges: ΣA has spectral radius {radius}. At 1 or above, the weights of "
        "all strings "
        "have no finite sum, so prefix probabilities and the next symbols predicted from "
        "them mean little.",
    )


class LearningReport(Protocol):
    """Describes the fields of a `learning.fitting.FitReport` that diagnostics also contain."""

    @property
    def warnings(self) -> tuple[str, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def numerical_rank(self) -> int | None: ...


def diagnostics(model: Model, scores: Scores, report: LearningReport | None = None) -> Diagnostics:
    """Diagnose a model from its scores and the report of its learning.

    `scores`: the model's scores on the test strings. `report`: the report of the model's learning.
    Without it, the diagnosis has neither the numerical rank nor the warnings from learning.
    """
    masses = masses_by_length(model)
    warnings = list(report.warnings if report else divergence_warnings(model))
    for count, what in (
        (scores.num_nonfinite, "an output that is not a finite number"),
        (
            scores.num_negative,
            "a negative output, which is not a probability: the Pautomac score takes its "
            "absolute value",
        ),
        (
            scores.num_zero,
            "an output of exactly 0: where such a string has mass, the Pautomac score is ∞",
        ),
    ):
        if count:
            warnings.append(
                f"{count:,} of {scores.num_words:,} test strings "
                f"({format_share(count / scores.num_words)}) have {what}."
            )
    for field, names in (
        ("wer", "WER, NDCG@5 and bits per symbol are"),
        ("total_variation", "the total variation is"),
    ):
        reason = scores.why_undefined(field)
        if reason:
            warnings.append(f"{names[0].upper()}{names[1:]} undefined: {reason}.")
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
        notes=report.notes if report else (),
    )


def masses_by_length(model: Model, max_summed: int = MAX_SUMMED) -> FloatArray:
    """Sum the weights of all strings of length 0, of length 1, and so on, while the strings have at
    most `max_summed` symbols.

    Returns an array of shape (num_lengths,).
    """
    words, numbers = _short_words(model.num_symbols, max_summed)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = model.weights(words)
        return np.array([part.sum() for part in np.split(weights, np.cumsum(numbers)[:-1])])


@lru_cache(maxsize=8)  # the same for every model of a sweep
def _short_words(num_symbols: int, max_summed: int) -> tuple[Words, list[int]]:
    """List all strings of length 0, of length 1, and so on, and the number of strings of each
    length.
    """
    parts = []
    length = 0
    symbols_left = max_summed
    while symbols_left >= 0:
        number = num_symbols**length
        digits = np.arange(number)[:, None] // num_symbols ** np.arange(length)[::-1] % num_symbols
        parts.append(Words(digits.ravel(), np.arange(number + 1) * length))
        length += 1
        symbols_left -= num_symbols**length * length
    return Words.joined(parts), [len(part) for part in parts]
