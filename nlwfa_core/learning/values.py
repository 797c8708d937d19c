"""Models of any function of strings, from the values of some: the four learners on H's known cells, then least squares."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, listed
from ..hankel.transforms import transformed
from ..hankel.values import ValuedStrings, known_transitions, observed_hankel
from ..models.nlwfa import NLWFA
from ..models.wfa import WFA
from ..strings.words import Alphabet
from .completion import complete, fit_completed
from .learners import Fit, FitReport, check_rank, network_steps
from .names import LEARNERS, check_learner
from .progress import CancelCheck, Report, TrainingLog, check_cancelled, never, silent
from .reading import as_network
from .steps import Kept, Steps

REFINEMENTS = {
    "none": "the two steps alone",
    "values": "all parameters together, on the given values, from random starts too",
}
TRANSFORMS = ("none", "sqrt")
SHOWN_SYMBOLS = 5


def fit_values(
    given: ValuedStrings,
    learner: str,
    rank: int,
    *,
    num_prefixes: int = 1000,
    num_suffixes: int = 1000,
    transform: str = "none",
    ridge: float = 1e-6,
    start: str = "random",
    hidden: Sequence[int] = (2, 1, 2),
    width_transitions: int = 2,
    epochs_factorisation: int = 1000,
    epochs_transitions: int = 500,
    rate_factorisation: float = 0.015,
    rate_transitions: float = 0.001,
    schedule: str = "constant",
    seed: int = 0,
    refine: str = "none",
    restarts: int = 128,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Fit:
    """Learn a model of `rank` states that gives some strings their values; what was not given is unknown, not 0.

    SP completes the Hankel matrix. Networks train on its known cells; where their maps are linear, these are those of least squares
    over the pairs u, uσ of which something is known.

    Parameters
    ----------
    num_prefixes, num_suffixes : int
        Of the basis: those that most of the given strings have.
    transform : str
        One of TRANSFORMS; "sqrt" learns the roots of values that are at least 0, and the model squares its output.
    ridge : float
        Of the completion; for SP (see `complete`).
    start : str
        Of the factorisation (see `fit_factorisation`); it and the options up to `schedule` are for networks.
    refine : str
        One of REFINEMENTS.
    restarts : int
        Random starts of the refinement (see `refine_values`).

    Raises
    ------
    RecipeError
        If an option is unknown, the rank is below 1 or above what the basis allows, or there is nothing to learn.
    Cancelled
    """
    check_learner(learner)
    for name, option, allowed in (("transform", transform, TRANSFORMS), ("refine", refine, tuple(REFINEMENTS))):
        if option not in allowed:
            raise RecipeError(f"{name}: {option!r} given, allowed: {', '.join(allowed)}")
    check_cancelled(cancelled)
    started = perf_counter()
    hankel = transformed(observed_hankel(given, given.basis(num_prefixes, num_suffixes)), transform)
    check_rank(hankel, rank)
    kind, singular_values, built = LEARNERS[learner], None, perf_counter()
    if kind.networks:
        epochs, rates = (epochs_factorisation, epochs_transitions), (rate_factorisation, rate_transitions)
        networks = (hidden, width_transitions, epochs, rates, schedule, seed, report, cancelled)
        known = known_transitions(hankel)
        steps = network_steps(hankel, kind, rank, *networks, Kept(), known, start)
        if kind.nonlinear_transitions:
            steps.transitions[-1][~known.any(axis=0)] = 0.0
    else:
        completion = complete(hankel, rank, ridge=ridge, report=report, cancelled=cancelled)
        linear, singular_values = fit_completed(hankel, completion), completion.singular_values
        log, seconds = TrainingLog("completion", completion.losses), {"completion": perf_counter() - built}
        steps = Steps(linear.initial, (linear.transitions,), (completion.right.T,), (False, False), (log,), seconds)
        known = known_transitions(hankel, linear.num_states)
    seconds, logs = {"hankel": built - started, **steps.seconds}, steps.logs
    model: WFA | NLWFA = as_network(hankel, steps.initial, steps.transitions, steps.decoder, steps.nonlinear)
    if not kind.networks and transform == "none":
        model = WFA(steps.initial, steps.transitions[0], model.termination)
    if refine == "values":
        from .refine_values import refine_values

        started = perf_counter()
        model, log = refine_values(model, given, restarts=restarts, seed=seed, report=report, cancelled=cancelled)
        logs, seconds = (*logs, log), {**seconds, "refinement": perf_counter() - started}
    messages = [log.message for log in logs if log.message]
    if refine == "none":
        messages += map_messages(known, model.num_states, given.alphabet)
    radius = model.spectral_radius if isinstance(model, WFA) else None
    fitted = FitReport(learner, rank, model.num_states, singular_values, None, radius, logs, tuple(messages), seconds)
    return Fit(model, fitted)


def map_messages(known: npt.NDArray[np.bool_], num_states: int, alphabet: Alphabet) -> list[str]:
    """A sentence for the symbols whose maps rest on no known pair of rows, and one for those with fewer pairs than states.

    Parameters
    ----------
    known : array, shape (num_prefixes, num_symbols)
        As `known_transitions`.
    """
    pairs = known.sum(axis=0)
    sentences = (
        (pairs == 0, "No pair of rows with enough known values shows where {} leads: its map is zero."),
        (
            (pairs > 0) & (pairs < num_states),
            f"Fewer pairs of rows with enough known values than the model's {num_states} states show where {{}} leads.",
        ),
    )
    messages = []
    for chosen, sentence in sentences:
        symbols = [alphabet.symbols[symbol] for symbol in np.flatnonzero(chosen)]
        if symbols:
            messages.append(sentence.format(listed(symbols, SHOWN_SYMBOLS)))
    return messages
