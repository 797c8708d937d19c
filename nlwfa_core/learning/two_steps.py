"""Carry out steps 1 and 2 on a Hankel matrix: the SVD and linear maps, or networks from several
starts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import limits
from ..errors import RecipeError, check_between
from ..hankel.matrix import HankelMatrix
from ..hankel.statistics import LINEAR_ONLY
from ..metrics.evaluate import next_symbol_score
from ..models.conversion import to_string_probabilities
from ..models.nlwfa import NLWFA
from ..models.wfa import WFA
from ..strings.sample import Sample
from ..strings.words import FloatArray
from .assembly import Steps, as_network, mapped_rows
from .completion import linear_transitions
from .names import NEAR_BEST
from .progress import CancelCheck, Progress, Report
from .refine.hankel import rolled_out_error
from .shared_options import Networks
from .spectral import TruncatedSVD, fit_linear_maps, fit_spectral, truncated_svd, weighted_block
from .steps.factorisation import Factorisation, fit_factorisation, options_used
from .steps.transitions import fit_transitions

if TYPE_CHECKING:
    from .likelihood.path import Path

# Sizes of truncated SVDs. A rank uses the smallest that holds it, so its result does not depend on
# which ranks were tried before.
SVD_SIZES = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class FitCache:
    """Intermediate results that several calls of `fit` on the same matrix, or strings, can share.

    A cache saves time but does not change the results, not even in the last bit.

    Attributes
    ----------
    svds : dict
        Number of singular values -> the truncated SVD of the matrix, which serves all ranks up to
        that number.
    factorisations : dict
        Whether the auto-encoder is nonlinear -> the options of the last such auto-encoder, and the
        auto-encoder itself. With Adamax, fac.non and both.non have the same auto-encoder, because
        they differ only in step 2.
    paths : dict
        The learner, the ridge and the seed of training by likelihood -> the last such path, with
        the networks of all ranks up to the largest requested rank.
    """

    svds: dict[int, TruncatedSVD] = field(default_factory=dict)
    factorisations: dict[bool, tuple[tuple[object, ...], Factorisation]] = field(
        default_factory=dict
    )
    paths: dict[tuple[str, float, int], Path] = field(default_factory=dict)


class Learned(NamedTuple):
    """The result of steps 1 and 2."""

    steps: Steps
    svd: TruncatedSVD | None = None  # the SVD of H_λ; None if networks were trained
    # the error of each start on the rows of H (see `fitting.FitReport`)
    start_errors: tuple[float, ...] = ()


def check_rank(hankel: HankelMatrix, rank: int) -> None:
    """Raise RecipeError if the rank is below 1 or above what the matrix allows, or if the model
    would be too large.
    """
    largest = min(hankel.num_prefixes, hankel.num_suffixes)
    basis = f"the basis has {hankel.num_prefixes} prefixes and {hankel.num_suffixes} suffixes"
    check_between("rank", rank, 1, largest, basis)
    check_size(hankel.num_symbols, rank)


def check_size(num_symbols: int, rank: int) -> None:
    """Raise RecipeError if a model would be too large."""
    limits.check_limit("rank", rank, "rank")
    limits.check_limit("symbols × rank²", num_symbols * rank * rank, "transition_numbers")


def svd_size(hankel: HankelMatrix, rank: int) -> int:
    """Return the number of singular values that are computed for a rank. It is one of a few fixed
    sizes, so neighbouring ranks share an SVD.
    """
    return min(
        next((size for size in SVD_SIZES if size >= rank), rank),
        hankel.num_prefixes,
        hankel.num_suffixes,
    )


def spectral_steps(hankel: HankelMatrix, rank: int, cache: FitCache, report: Report) -> Learned:
    """Compute the SVD of H_λ, then all A_σ."""
    report(Progress("spectral", 0, 1))
    started = perf_counter()
    size = svd_size(hankel, rank)
    if size not in cache.svds:
        cache.svds[size] = truncated_svd(weighted_block(hankel), size)
    svd = cache.svds[size]
    linear = (
        fit_linear_maps(hankel, svd, rank)
        if hankel.bounded or hankel.transform != "none"
        else fit_spectral(hankel, svd, rank)
    )
    seconds = {"spectral": perf_counter() - started}
    report(Progress("spectral", 1, 1))
    decoder = (svd.right[:, : linear.num_states].T,)
    steps = Steps(linear.initial, (linear.transitions,), decoder, (False, False), (), seconds)
    return Learned(steps, svd)


def network_steps(
    hankel: HankelMatrix,
    options: Networks,
    *,
    observed: npt.NDArray[np.bool_] | None = None,
    start: int = 0,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Steps:
    """Train the networks of steps 1 and 2: the auto-encoder, then the maps of all symbols.

    `start`: the number of the start, which determines the random weights; start 0 uses
    `options.seed` itself (see `seed_of_start`), and begins as `options.start` says; all others
    begin at random weights. `observed` (num_prefixes, num_symbols): which pairs of rows u and uσ
    the maps are trained on, for a matrix that holds the values of only some strings (see
    `learning.functions.fit_values.fit_values`). The loss of step 1 is then over the stored cells
    only.
    """
    if observed is None and hankel.statistic == "suffix":
        raise RecipeError(LINEAR_ONLY)
    if observed is None and hankel.statistic != "string" and not hankel.bounded:
        raise RecipeError(
            f"networks need boundary symbols (bounded) with {hankel.statistic} statistics"
        )

    started = perf_counter()
    nonlinear = options.nonlinear_factorisation
    # a derived seed may have more bits than that of a recipe
    changes = {"seed": seed_of_start(options.seed, start)} | ({"start": "random"} if start else {})
    seeded = options.model_copy(update=changes)
    # else it has a closed form, without random weights
    first = seeded if nonlinear or options.optimizer == "adamax" else options
    used = (*options_used(first), observed is None)
    if nonlinear not in cache.factorisations or cache.factorisations[nonlinear][0] != used:
        masked = observed is not None
        cache.factorisations[nonlinear] = (
            used,
            fit_factorisation(hankel, first, masked, report, cancelled),
        )
    factors = cache.factorisations[nonlinear][1]
    middle = perf_counter()
    maps = mapped_rows(hankel)
    logs = [factors.log]
    closed_form = not options.nonlinear_transitions and options.optimizer == "adamax"
    transitions: tuple[FloatArray, ...]
    if observed is not None and closed_form:
        transitions = (linear_transitions(factors.latent, maps, observed),)
    else:
        weights = observed if hankel.row_weights is None else hankel.row_weights[maps]
        weights = None if weights is None else weights.astype(np.float64, copy=False)
        transitions, log = fit_transitions(factors.latent, maps, seeded, weights, report, cancelled)
        logs.append(log)
    decoder = (*factors.decoder[:-1], factors.decoder[-1] * factors.scale)
    seconds = {"factorisation": middle - started, "transitions": perf_counter() - middle}
    tanh = (options.nonlinear_transitions, nonlinear)
    return Steps(factors.latent[hankel.start_row], transitions, decoder, tanh, tuple(logs), seconds)


def seed_of_start(seed: int, start: int) -> int:
    """Derive the seed of a start's random weights: `seed` itself for start 0, and an unrelated
    number for each other start.

    A derived seed has 32 bits, because the generator of the weights takes no more.

    >>> (
    ...     seed_of_start(7, 0),
    ...     len({seed_of_start(seed, start) for seed in range(10) for start in range(100)}),
    ... )
    (7, 1000)
    """
    return int(np.random.SeedSequence((seed, start)).generate_state(1)[0]) if start else seed


def best_start(
    hankel: HankelMatrix,
    options: Networks,
    validation: Sample | None,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Learned:
    """Train the two steps from several starts, and choose the best start as described at
    `options.Networks`, or the first one if several are tied.

    The `seconds` of its steps are the total for all starts, and an error that is nan becomes ∞.
    """
    starts = options.number_of_starts
    if starts == 1:
        steps = network_steps(hankel, options, cache=cache, report=report, cancelled=cancelled)
        return Learned(steps)
    trained: list[Steps] = []
    errors: list[float] = []
    seconds = Counter[str]()
    for start in range(starts):
        trained.append(
            network_steps(
                hankel, options, start=start, cache=cache, report=report, cancelled=cancelled
            )
        )
        error = rolled_out_error(hankel, trained[-1])
        errors.append(float(np.nan_to_num(error, nan=np.inf, posinf=np.inf)))
        seconds.update(trained[-1].seconds)
    best = int(np.argmin(errors))
    if validation is not None and len(validation.words):
        near = np.flatnonzero(np.array(errors) <= NEAR_BEST * errors[best])
        best = min(near.tolist(), key=lambda start: _bits(hankel, trained[start], validation))
    logs = tuple(replace(log, start=best + 1, starts=starts) for log in trained[best].logs)
    steps = replace(trained[best], logs=logs, seconds=dict(seconds))
    return Learned(steps, start_errors=tuple(errors))


def _bits(hankel: HankelMatrix, steps: Steps, validation: Sample) -> float:
    """Compute the bits per symbol on validation strings; ∞ instead of nan."""
    model = replace(string_model(hankel, steps), alphabet=hankel.alphabet)
    bits = next_symbol_score(model, validation).bits_per_symbol
    return float(np.nan_to_num(bits, nan=np.inf, posinf=np.inf))


def string_model(hankel: HankelMatrix, steps: Steps) -> WFA | NLWFA:
    """Make a model of string probabilities from the parameters that the steps learned."""
    if any(steps.nonlinear) or hankel.bounded or hankel.transform != "none":
        return as_network(hankel, steps.initial, steps.transitions, steps.decoder, steps.nonlinear)
    return to_string_probabilities(
        WFA(steps.initial, steps.transitions[0], steps.decoder[0][:, 0].copy()), hankel.statistic
    )
