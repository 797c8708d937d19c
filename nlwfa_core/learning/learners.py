"""The four learners behind one function: SP, fac.non, tran.non, both.non (Li, Rabusseau, Precup 2018, §4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import limits
from ..errors import RecipeError
from ..hankel.matrix import HankelMatrix
from ..models.nlwfa import NLWFA
from ..models.wfa import WFA, mass_messages, string_automaton
from ..strings.sample import Sample
from ..strings.words import FloatArray
from ..threads import on_one_thread
from .completion import linear_transitions
from .names import LEARNERS, PROCESSOR_DEPENDENT, Learner, check_learner, depends_on_processor
from .progress import CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from .reading import as_network, first_strings, mapped
from .spectral import fit_linear_maps, fit_spectral, truncated_svd, weighted_block
from .steps import Kept, Refinement, Steps

# Ranks to which a truncated SVD is computed: the next of them serves a rank, so that what a rank gives does not depend on which
# others were tried before it.
SVD_RANKS = (5, 10, 20, 50, 100, 200, 500, 1000)
TWO_STEPS = Refinement()


@dataclass(frozen=True, eq=False)
class FitReport:
    """How learning went: outcomes as data.

    Attributes
    ----------
    learner : str
    rank, num_states : int
        What was asked for, and what came out.
    singular_values : array, shape (at most rank,), or None
        Of H_λ, largest first; for SP.
    numerical_rank : int or None
        Of H_λ, as far as it was computed (at most `rank`); for SP.
    spectral_radius : float or None
        Of Σ_σ A_σ; for SP.
    logs : tuple of TrainingLog
        One a network stage.
    messages : tuple of str
        Sentences for the user: rank above the numerical rank, diverging mass, diverged training.
    seconds : dict
        Stage -> wall time.
    """

    learner: str
    rank: int
    num_states: int
    singular_values: FloatArray | None
    numerical_rank: int | None
    spectral_radius: float | None
    logs: tuple[TrainingLog, ...]
    messages: tuple[str, ...]
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class Fit:
    """A learned model and the report of its learning."""

    model: WFA | NLWFA
    report: FitReport


@on_one_thread
def fit(
    hankel: HankelMatrix,
    learner: str,
    rank: int,
    *,
    hidden: Sequence[int] = (2, 1, 2),
    width_transitions: int = 2,
    epochs_factorisation: int = 1000,
    epochs_transitions: int = 500,
    rate_factorisation: float = 0.015,
    rate_transitions: float = 0.001,
    schedule: str = "constant",
    seed: int = 0,
    refinement: Refinement = TWO_STEPS,
    strings: tuple[Sample, Sample | None] | None = None,
    kept: Kept | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """Learn a model of `rank` states from a Hankel matrix. SP uses nothing but the rank, and the refinement if there is one.

    What comes out is a model of string probabilities, whatever the matrix counts: linear models of prefixes or factors are
    converted ([B]); networks need boundary symbols for that (see `needs_boundary`).

    Parameters
    ----------
    refinement : Refinement
        A third step.
    strings : (Sample, Sample or None), optional
        Training strings, and validation strings to stop by: a refinement by likelihood needs them.
    kept : Kept, optional
        What earlier calls on this matrix came to. It is used where it is the same to the last bit, and added to.

    Raises
    ------
    RecipeError
        If the learner is unknown, the rank is below 1 or above what the basis allows, or the strings are missing.
    Cancelled
        When `cancelled()` answers true.
    """
    check_learner(learner)
    check_rank(hankel, rank)
    if refinement.objective == "likelihood" and strings is None:
        raise RecipeError("refine: 'likelihood' given, but no training strings to refine on")
    asked = refinement.epochs if refinement.objective != "none" else 0
    limits.check_at_most("epochs of the refinement", asked, limits.most("epochs"))
    check_cancelled(cancelled)
    kind, kept = LEARNERS[learner], kept or Kept()
    if kind.networks:
        epochs, rates = (epochs_factorisation, epochs_transitions), (rate_factorisation, rate_transitions)
        networks = (hidden, width_transitions, epochs, rates, schedule, seed, report, cancelled)
        steps = network_steps(hankel, kind, rank, *networks, kept)
    else:
        steps = _spectral(hankel, rank, kept, report)
    started = perf_counter()
    if refinement.objective == "hankel":
        from .refine_hankel import refine_hankel

        steps = refine_hankel(hankel, steps, refinement, report, cancelled)
    model = _model(hankel, steps)
    logs, seconds = steps.logs, steps.seconds
    if refinement.objective == "likelihood" and strings:
        from .refine_likelihood import refine_likelihood

        model, log = refine_likelihood(model, *strings, refinement, report, cancelled, first_strings(hankel))
        logs = (*logs, log)
    if refinement.objective != "none":
        seconds = {**seconds, "refinement": perf_counter() - started}
    svd, messages = steps.svd, [log.message for log in logs if log.message]
    if depends_on_processor(learner, hankel.transform, refinement.objective):
        messages.append(PROCESSOR_DEPENDENT)
    if svd is not None and model.num_states < rank:
        messages.append(
            f"Rank {rank} was asked for, but H_λ has numerical rank {svd.numerical_rank}: "
            f"the model has {model.num_states} state{'s' if model.num_states > 1 else ''}."
        )
    return Fit(
        model,
        FitReport(
            learner=learner,
            rank=rank,
            num_states=model.num_states,
            singular_values=None if svd is None else svd.singular_values[:rank],
            numerical_rank=None if svd is None else min(svd.numerical_rank, rank),
            spectral_radius=model.spectral_radius if isinstance(model, WFA) else None,
            logs=logs,
            messages=(*messages, *mass_messages(model)),
            seconds=seconds,
        ),
    )


def check_rank(hankel: HankelMatrix, rank: int) -> None:
    """Raise RecipeError if a Hankel matrix allows no model of this rank, or the model would be too large."""
    largest = min(hankel.num_prefixes, hankel.num_suffixes)
    if not 1 <= rank <= largest:
        raise RecipeError(
            f"rank: {rank} given, allowed are 1 … {largest} "
            f"(the basis has {hankel.num_prefixes} prefixes and {hankel.num_suffixes} suffixes)"
        )
    limits.check_at_most("rank", rank, limits.most("rank"))
    limits.check_at_most("symbols × rank²", hankel.num_symbols * rank * rank, limits.most("transition_numbers"))


def network_steps(
    hankel: HankelMatrix,
    kind: Learner,
    rank: int,
    hidden: Sequence[int],
    width: int,
    epochs: tuple[int, int],
    rates: tuple[float, float],
    schedule: str,
    seed: int,
    report: Report,
    cancelled: CancelCheck,
    kept: Kept,
    known: npt.NDArray[np.bool_] | None = None,
    start: str = "random",
) -> Steps:
    """The two steps; with `known`, of the known cells and the known pairs of rows alone (see `functions.fit_values`)."""
    limits.check_at_most("epochs", max(epochs), limits.most("epochs"))
    if known is None and hankel.statistic != "string" and not hankel.bounded:
        raise RecipeError(f"a network given {hankel.statistic} statistics: it can learn from those with boundary symbols only")

    # torch takes seconds to import: only who trains networks pays.
    from .factorisation import fit_factorisation
    from .transitions import fit_transitions

    started = perf_counter()
    nonlinear = kind.nonlinear_factorisation
    asked: dict[str, Any] = {"rank": rank, "hidden": tuple(hidden), "nonlinear": nonlinear, "epochs": epochs[0]}
    asked |= {"learning_rate": rates[0], "schedule": schedule, "seed": seed, "masked": known is not None, "start": start}
    if nonlinear not in kept.factorisations or kept.factorisations[nonlinear][0] != asked:
        kept.factorisations[nonlinear] = asked, fit_factorisation(hankel, **asked, report=report, cancelled=cancelled)
    factors = kept.factorisations[nonlinear][1]
    middle, maps, logs = perf_counter(), mapped(hankel), [factors.log]
    if known is not None and not kind.nonlinear_transitions:
        transitions: tuple[FloatArray, ...] = (linear_transitions(factors.latent, maps, known),)
    else:
        weights = known if hankel.row_weights is None else hankel.row_weights[maps]
        weights = None if weights is None else weights.astype(np.float64, copy=False)
        wanted: dict[str, Any] = {"width": width, "nonlinear": kind.nonlinear_transitions, "epochs": epochs[1]}
        wanted |= {"learning_rate": rates[1], "schedule": schedule, "seed": seed}
        transitions, log = fit_transitions(factors.latent, maps, weights, **wanted, report=report, cancelled=cancelled)
        logs.append(log)
    decoder = (*factors.decoder[:-1], factors.decoder[-1] * factors.scale)
    seconds = {"factorisation": middle - started, "transitions": perf_counter() - middle}
    tanh = (kind.nonlinear_transitions, nonlinear)
    return Steps(factors.latent[hankel.start_row], transitions, decoder, tanh, tuple(logs), seconds)


def svd_size(hankel: HankelMatrix, rank: int) -> int:
    """How many singular values are computed for a rank."""
    return min(next(size for size in SVD_RANKS if size >= rank), hankel.num_prefixes, hankel.num_suffixes)


def _spectral(hankel: HankelMatrix, rank: int, kept: Kept, report: Report) -> Steps:
    report(Progress("spectral", 0, 1))
    started = perf_counter()
    size = svd_size(hankel, rank)
    if size not in kept.svds:
        kept.svds[size] = truncated_svd(weighted_block(hankel), size)
    svd = kept.svds[size]
    linear = fit_linear_maps(hankel, svd, rank) if hankel.bounded or hankel.transform != "none" else fit_spectral(hankel, svd, rank)
    seconds = {"spectral": perf_counter() - started}
    report(Progress("spectral", 1, 1))
    decoder = (svd.right[:, : linear.num_states].T,)
    return Steps(linear.initial, (linear.transitions,), decoder, (False, False), (), seconds, svd)


def _model(hankel: HankelMatrix, steps: Steps) -> WFA | NLWFA:
    if steps.svd is None or hankel.bounded or hankel.transform != "none":
        return as_network(hankel, steps.initial, steps.transitions, steps.decoder, steps.nonlinear)
    return string_automaton(WFA(steps.initial, steps.transitions[0], steps.decoder[0][:, 0].copy()), hankel.statistic)
