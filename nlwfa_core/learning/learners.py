"""The four learners behind one function: SP, fac.non, tran.non, both.non (Li, Rabusseau, Precup 2018, §4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from .. import limits
from ..errors import RecipeError
from ..hankel import HankelMatrix
from ..nlwfa import NLWFA
from ..wfa import WFA
from ..words import FloatArray
from .progress import CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from .spectral import fit_spectral, truncated_svd


@dataclass(frozen=True)
class Learner:
    """Where a learner puts tanh.

    Attributes
    ----------
    title : str
        For people.
    networks : bool
        Whether it trains networks (else it is spectral learning).
    nonlinear_factorisation, nonlinear_transitions : bool
        tanh in step 1, in step 2.
    """

    title: str
    networks: bool
    nonlinear_factorisation: bool
    nonlinear_transitions: bool


LEARNERS = {
    "SP": Learner("spectral learning, linear", False, False, False),
    "fac.non": Learner("tanh in the factorisation, linear transitions", True, True, False),
    "tran.non": Learner("tanh in the transitions, linear termination", True, False, True),
    "both.non": Learner("tanh in both", True, True, True),
}


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


def fit(
    hankel: HankelMatrix,
    learner: str,
    rank: int,
    *,
    hidden: Sequence[int] = (2, 1, 2),
    epochs_factorisation: int = 1000,
    epochs_transitions: int = 500,
    rate_factorisation: float = 0.015,
    rate_transitions: float = 0.001,
    schedule: str = "constant",
    seed: int = 0,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """Learn a model of `rank` states from a Hankel matrix. SP uses nothing but the rank.

    Raises
    ------
    RecipeError
        If the learner is unknown, or the rank is below 1 or above what the basis allows.
    Cancelled
        When `cancelled()` answers true.
    """
    if learner not in LEARNERS:
        raise RecipeError(f"learner: {learner!r} given, allowed: {', '.join(LEARNERS)}")
    check_rank(hankel, rank)
    check_cancelled(cancelled)
    if not LEARNERS[learner].networks:
        return _fit_spectral(hankel, learner, rank, report)

    # torch takes seconds to import: only who trains networks pays.
    from .factorisation import fit_factorisation
    from .transitions import fit_transitions

    kind = LEARNERS[learner]
    started = perf_counter()
    factors = fit_factorisation(
        hankel,
        rank,
        hidden=hidden,
        nonlinear=kind.nonlinear_factorisation,
        epochs=epochs_factorisation,
        learning_rate=rate_factorisation,
        schedule=schedule,
        seed=seed,
        report=report,
        cancelled=cancelled,
    )
    middle = perf_counter()
    transitions, log = fit_transitions(
        factors.latent,
        hankel.shifted,
        nonlinear=kind.nonlinear_transitions,
        epochs=epochs_transitions,
        learning_rate=rate_transitions,
        schedule=schedule,
        seed=seed,
        report=report,
        cancelled=cancelled,
    )
    last = factors.decoder[-1] * factors.scale  # (decoder_width, num_suffixes); column 0 is λ
    model = NLWFA(
        initial=factors.latent[0],
        transitions=transitions,
        decoder=factors.decoder[:-1],
        termination=last[:, 0].copy(),
        row_sum=last.sum(axis=1),
        nonlinear_transitions=kind.nonlinear_transitions,
        nonlinear_termination=kind.nonlinear_factorisation,
    )
    logs = (factors.log, log)
    seconds = {"factorisation": middle - started, "transitions": perf_counter() - middle}
    messages = tuple(entry.message for entry in logs if entry.message)
    return Fit(model, FitReport(learner, rank, model.num_states, None, None, None, logs, messages, seconds))


def check_rank(hankel: HankelMatrix, rank: int) -> None:
    """Raise RecipeError if a Hankel matrix allows no model of this rank, or the model would be too large."""
    largest = min(hankel.num_prefixes, hankel.num_suffixes)
    if not 1 <= rank <= largest:
        raise RecipeError(
            f"rank: {rank} given, allowed are 1 … {largest} "
            f"(the basis has {hankel.num_prefixes} prefixes and {hankel.num_suffixes} suffixes)"
        )
    limits.check_at_most("symbols × rank²", hankel.num_symbols * rank * rank, limits.MAX_TRANSITION_NUMBERS)


def mass_messages(model: WFA | NLWFA) -> tuple[str, ...]:
    """A sentence, if the weights of all strings have no finite sum."""
    if not isinstance(model, WFA) or model.spectral_radius < 1:
        return ()
    return (
        f"The mass diverges: ΣA has spectral radius {model.spectral_radius:.4g}, and from 1 on the weights of all strings "
        "have no finite sum, so prefix probabilities and the next symbols read off them mean little.",
    )


def _fit_spectral(hankel: HankelMatrix, learner: str, rank: int, report: Report) -> Fit:
    report(Progress("spectral", 0, 1))
    started = perf_counter()
    svd = truncated_svd(hankel.block, rank)
    model = fit_spectral(hankel, svd, rank)
    seconds = {"spectral": perf_counter() - started}
    report(Progress("spectral", 1, 1))
    messages = []
    if model.num_states < rank:
        messages.append(
            f"Rank {rank} was asked for, but H_λ has numerical rank {svd.numerical_rank}: "
            f"the model has {model.num_states} state{'s' if model.num_states > 1 else ''}."
        )
    messages += mass_messages(model)
    return Fit(
        model,
        FitReport(
            learner,
            rank,
            model.num_states,
            svd.singular_values,
            svd.numerical_rank,
            model.spectral_radius,
            (),
            tuple(messages),
            seconds,
        ),
    )
