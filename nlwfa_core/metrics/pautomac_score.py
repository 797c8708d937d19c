"""The Pautomac score, and the ways in which public programs treat outputs that are not positive.

A learned model may give a string a weight of 0 or below, which has no logarithm. The definition of
the score does not cover this case. Public programs differ, so the same model has several
perplexities. `CONVENTIONS` lists their rules, and docs/perplexity-conventions.md compares the
results. Scores in this library use "abs", the paper's convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_one_of
from ..strings.words import FloatArray, IntArray

MACHINE_EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Convention:
    """A way to treat outputs that are not positive."""

    rule: str  # a description in words
    source: str  # the program or paper that uses this convention
    # (outputs, substitutes), each of shape (num_words,) -> the outputs to use instead. nan leaves a
    # word out.
    replace: Callable[[FloatArray, FloatArray], FloatArray]
    normalised: bool = True  # whether the new outputs are then divided by their sum over T


def _floor(epsilon: float) -> Callable[[FloatArray, FloatArray], FloatArray]:
    return lambda outputs, _: np.where(outputs <= 0, epsilon, outputs)


CONVENTIONS = {
    "abs": Convention(
        "|f(x)|, normalised over T",
        "Li, Rabusseau, Precup 2018, §5.1",
        lambda outputs, _: np.abs(outputs),
    ),
    "abs, not normalised": Convention(
        "|f(x)| as it is: mass outside T costs",
        "a public script that scores scikit-splearn on PAutomaC problem 4 (compute_perplexity)",
        lambda outputs, _: np.abs(outputs),
        normalised=False,
    ),
    "floor 1e-4": Convention(
        "values of 0 or below are replaced by 1e-4, then all are normalised",
        "public code that extracts WFAs from RNNs with scikit-splearn (fix_probas, f=0.0001)",
        _floor(1e-4),
    ),
    "floor 2.2e-16": Convention(
        "values below 2.2e-16 (the machine epsilon) are raised to it, then all are normalised",
        "github.com/e2crawfo/spectral_dagger, sequence/stochastic_automaton.py, string_prob; "
        "with Balle, Hamilton, Pineau 2014: "
        "github.com/ICML14MoMCompare/spectral-learn, wfaspectrallearn.py, get_word_prob; "
        "both also clip each next-symbol "
        "probability on the way",
        lambda outputs, _: np.maximum(outputs, MACHINE_EPSILON),
    ),
    "floor 1e-30": Convention(
        "values of 0 or below are replaced by 1e-30, then all are normalised",
        "the same extraction code, later (Spex.fix_probas, epsilon = 1e-30)",
        _floor(1e-30),
    ),
    "trigram": Convention(
        "values of 0 or below are replaced by the weight under a 3-gram of the training "
        "strings, then all are normalised",
        "scikit-splearn 1.2.1, Spectral(smooth_method='trigram').score; there the 3-gram is "
        "not smoothed and counts the test "
        "strings too, here it is `NGram` and does not",
        lambda outputs, substitutes: np.where(outputs <= 0, substitutes, outputs),
    ),
    "left out": Convention(
        "words with values of 0 or below are left out of both sums, so the score can be "
        "lower than the best possible one",
        "no public program found; what a loop that skips them computes",
        lambda outputs, _: np.where(outputs <= 0, np.nan, outputs),
    ),
    "as it is": Convention(
        "no score if an output is negative",
        "scikit-splearn 1.2.1, Spectral(smooth_method='none').score, which raises ValueError",
        lambda outputs, _: outputs,
    ),
}


@dataclass(frozen=True)
class PautomacScore:
    """The Pautomac score, and counts of the outputs from which it was computed."""

    # log₂ of the perplexity. ∞ if the model's output is 0 for a word with P* above 0. nan if an
    # output is not a finite number, or is negative under a convention that leaves it negative.
    log2: float
    # num_words, num_zero, num_negative, num_nonfinite: the number of words in T, and of those whose
    # output is exactly 0, below 0, and not a finite number
    num_words: int
    num_zero: int
    num_negative: int
    num_nonfinite: int


def pautomac_score(
    outputs: FloatArray,
    target: FloatArray,
    floor: float = 0.0,
    convention: str = "abs",
    substitutes: FloatArray | None = None,
    log2_outputs: FloatArray | None = None,
) -> PautomacScore:
    """Compute the Pautomac score, log₂ Pauto = −Σ_{x ∈ T} P*(x) log₂ P_M(x) (Verwer, Eyraud, de la
    Higuera 2014).

    T consists of the test words. The target P* and the model's outputs P_M are both normalised to
    sum to 1 over T. By default, negative outputs are replaced by their absolute values, as in [P]
    §5.1; `convention` changes this. ([P] §5.1 prints the minus sign in front of the power, −2^Σ,
    which is an erratum.)

    Parameters
    ----------
    outputs : array, shape (num_words,)
        f(x) of each word of T, not normalised.
    target : array, shape (num_words,)
        P*(x), not normalised, ≥ 0.
    floor : float
        Normalised outputs below the floor are raised to it, and all are normalised again; 0 changes
        nothing. Report the floor with the score.
    convention : str
        A name in `CONVENTIONS`.
    substitutes : array, shape (num_words,), optional
        The outputs of a trigram model, which the convention "trigram" uses in place of outputs that
        are not positive.
    log2_outputs : array, shape (num_words,), optional
        log₂ |f(x)|, if the model computes it directly, so outputs below 1e-308 do not count as 0,
        nor outputs above 1e308 as infinite. It is used only for the convention "abs" without a
        floor.

    Raises
    ------
    RecipeError
        If the shapes differ, the target has no mass, the floor is not in 0 … 1, or the convention
        is unknown or lacks substitutes.

    Examples
    --------
    >>> pautomac_score(np.array([0.2, -0.2]), np.array([1.0, 1.0])).log2
    1.0
    """
    mass = _mass(outputs, target)
    finite = np.isfinite(outputs)
    if log2_outputs is not None and convention == "abs":
        finite |= np.isfinite(log2_outputs)
    zero = outputs == 0 if log2_outputs is None else np.isneginf(log2_outputs)
    # too small for float64, it became −0
    negative = (outputs < 0) | (np.signbit(outputs) & ~zero & finite)
    counts = (len(outputs), int(zero.sum()), int(negative.sum()), int((~finite).sum()))
    if log2_outputs is not None and convention == "abs" and not floor and finite.all():
        likely = target > 0
        if zero[likely].any():
            return PautomacScore(float("inf"), *counts)
        largest = log2_outputs.max()
        logs = log2_outputs[likely] - largest - np.log2(np.exp2(log2_outputs - largest).sum())
        return PautomacScore(float(-(target[likely] / mass) @ logs), *counts)
    model = shares(
        magnitudes(outputs, log2_outputs) if convention == "abs" else outputs,
        floor,
        convention,
        substitutes,
    )
    has_mass = (target > 0) & ~np.isnan(model)
    # Before they are normalised: outputs that are all negative have positive shares.
    replaced = CONVENTIONS[convention].replace(
        outputs, outputs if substitutes is None else substitutes
    )
    if not finite.all() or (replaced < 0).any():
        return PautomacScore(float("nan"), *counts)
    if (model[has_mass] == 0).any():
        return PautomacScore(float("inf"), *counts)
    return PautomacScore(float(-(target[has_mass] / mass) @ np.log2(model[has_mass])), *counts)


def shares(
    outputs: FloatArray,
    floor: float = 0.0,
    convention: str = "abs",
    substitutes: FloatArray | None = None,
) -> FloatArray:
    """Compute P_M over T under a convention, shape (num_words,).

    It is nan for a word that the convention leaves out, and for all words if an output is not
    finite. Parameters and errors are those of `pautomac_score`.
    """
    check_floor(floor)
    check_one_of("convention", convention, CONVENTIONS)
    if convention == "trigram" and substitutes is None:
        raise RecipeError(
            "the convention 'trigram' needs substitutes: the probability of each word under "
            "a 3-gram"
        )
    if not np.isfinite(outputs).all():
        return np.full(len(outputs), np.nan)
    rule = CONVENTIONS[convention]
    values = rule.replace(outputs, outputs if substitutes is None else substitutes)
    if rule.normalised:
        values = _normalised(values)
    return _normalised(np.maximum(values, floor)) if floor else values


def magnitudes(outputs: FloatArray, log2_outputs: FloatArray | None) -> FloatArray:
    """Outputs up to a common factor, shape (num_words,).

    They are computed from their logarithms, as |f(x)|, if all are 0 in float64, or any is ∞.
    """
    if log2_outputs is None or not len(outputs) or (outputs.any() and np.isfinite(outputs).all()):
        return outputs
    largest = log2_outputs.max()
    if not np.isfinite(largest):
        return outputs
    scaled: FloatArray = np.exp2(log2_outputs - largest)
    return scaled


def check_floor(floor: float) -> None:
    """Raise RecipeError unless 0 ≤ floor < 1."""
    if not 0 <= floor < 1:
        raise RecipeError(f"floor must be at least 0 (no floor) and below 1; got {floor}")


def _normalised(values: FloatArray) -> FloatArray:
    largest = np.nanmax(np.abs(values), initial=0.0)
    # Divided first, because the sum of a diverging model's outputs may overflow.
    scaled = values / largest if largest > 0 else values
    divided: FloatArray = scaled / (np.nansum(scaled) or 1.0)
    return divided


def _mass(outputs: FloatArray, target: FloatArray) -> float:
    if outputs.shape != target.shape:
        raise RecipeError(
            f"there must be as many outputs as target probabilities; got {outputs.size} and "
            f"{target.size}"
        )
    mass = float(target.sum())
    smallest = float(target.min()) if target.size else 0.0
    if not (np.isfinite(mass) and mass > 0 and smallest >= 0):
        raise RecipeError(
            "the target probabilities must be finite, at least 0, and not all 0; their sum is "
            f"{mass:.4g}, and the smallest is {smallest:.4g}"
        )
    return mass


@dataclass(frozen=True)
class Divergence:
    """The distance between a model and the target over the words T, with the convention "abs"."""

    # The Kullback–Leibler divergence Σ P*(x) log₂ (P*(x) / P_M(x)), in bits, both normalised over
    # T. It is the log₂ Pautomac score minus the lowest possible one, so a word that occurs n times
    # in T counts n times. ∞ if the output is 0 for a word with P* above 0.
    kl: float
    # ½ Σ |P*(x) − P_M(x)| over the distinct words of T, both normalised over these; between 0 and
    # 1. If no word occurs twice in T, it is at most √(kl · ln 2 / 2) (Pinsker's inequality).
    total_variation: float


def divergence(
    outputs: FloatArray,
    target: FloatArray,
    floor: float = 0.0,
    log2_outputs: FloatArray | None = None,
    distinct: IntArray | None = None,
) -> Divergence:
    """Compute the distance between outputs and the target on the same words, with the parameters
    and errors of `pautomac_score`.

    `distinct` has the position of each distinct word in T, shape (num_distinct,); None if no word
    occurs twice.

    >>> divergence(np.array([1.0, 1.0]), np.array([0.5, 0.0]))
    Divergence(kl=1.0, total_variation=0.5)
    >>> divergence(np.array([0.0, 0.0]), np.array([0.5, 0.5]))
    Divergence(kl=inf, total_variation=nan)
    """
    least = pautomac_score(target, target).log2
    # Only rounding can make it negative (Gibbs' inequality).
    kl = float(
        np.maximum(
            pautomac_score(outputs, target, floor, log2_outputs=log2_outputs).log2 - least, 0.0
        )
    )
    true = shares(target)
    model = shares(magnitudes(outputs, log2_outputs), floor)
    if distinct is not None:
        true = shares(true[distinct])
        model = shares(model[distinct])
    if not model.any():
        return Divergence(kl, math.nan)
    return Divergence(kl, float(np.abs(true - model).sum() / 2))


def root_mean_square(outputs: FloatArray, values: FloatArray) -> float:
    """Compute √ mean (f(x) − value(x))², the error of the outputs themselves, of either sign; nan
    if an output is not finite.

    >>> root_mean_square(np.array([1.0, -2.0]), np.array([1.0, 0.0]))
    1.4142135623730951
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gap = outputs - values
        largest = np.abs(gap).max(initial=0.0)
        # Divided first, because squares of a diverging model's outputs overflow.
        return (
            float(np.sqrt(np.mean((gap / largest) ** 2)) * largest)
            if largest > 0
            else float(largest)
        )
