"""Learn any function of strings from its values at some strings.

SP, fac.non, tran.non and both.non learn from the known cells of H. A third step then fits the
values themselves by least squares.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import check_one_of, check_types, listed
from ...hankel.basis import Basis
from ...hankel.transforms import transformed
from ...hankel.valued_strings import ValuedStrings, observed_hankel, observed_transitions
from ...models.nlwfa import NLWFA
from ...models.wfa import WFA
from ...strings.words import Alphabet
from ..assembly import Steps, as_network
from ..completion import complete, fit_completed
from ..fitting import Fit, FitReport
from ..learners import VALUE_LEARNERS, ValueNetworks, ValueSP
from ..names import VALUE_TRANSFORMS
from ..progress import CancelCheck, Report, TrainingLog, check_cancelled, never, silent
from ..shared_options import LearnerOptions, called_options
from ..spectral import fit_spectral, truncated_svd
from ..two_steps import FitCache, check_rank, network_steps
from .square_root import square_root

NUM_PREFIXES = NUM_SUFFIXES = 1000  # in the basis, unless one is given
MAX_LISTED_SYMBOLS = 5
# The numbers of prefixes and suffixes from which the square root of a model is found, as
# multiples of its states: the largest numbers for which all cells are known.
CELLS_OF_ROOT = (2.0, 1.4, 1.0)


@check_types
def fit_values(
    values: ValuedStrings,
    options: LearnerOptions | str | None = None,
    rank: int | None = None,
    *,
    basis: Basis | None = None,
    transform: str = "none",
    report: Report = silent,
    cancelled: CancelCheck = never,
    **fields: Any,
) -> Fit:
    """Learn a model from values of strings, with the options of a learner (one of
    `learning.learners.VALUE_LEARNERS`) or, for short, with keywords: `fit_values(values, "SP",
    rank=5)`.

    The values of all other strings are unknown, not 0. SP completes the Hankel matrix. Networks are
    trained on its known cells, and linear transitions are fitted by least squares to the pairs of
    rows u and uσ that both have known cells.

    The third step is `refine="values"`, by default with 128 random starts (`restarts`); steps 1 and
    2 have a single start. If the transform is "sqrt", the transitions are linear and no hidden
    layer follows the state, the third step also starts at the square root of a linear model of the
    values (see `square_root`).

    >>> from nlwfa_core import read_values
    >>> model = fit_values(
    ...     read_values(b",1\\na,2\\naa,4\\naaa,8\\n").strings, "SP", rank=1
    ... ).model  # f(aⁿ) = 2ⁿ
    >>> round(model((0, 0, 0, 0)), 2)
    16.0

    Parameters
    ----------
    options : LearnerOptions or str, optional
        The options of a learner, or a learner's name.
    rank : int, optional
        Replaces the rank in `options`.
    basis : Basis, optional
        The prefixes and suffixes of H. By default, the 1,000 prefixes and 1,000 suffixes that occur
        in the most strings.
    transform : str
        One of VALUE_TRANSFORMS. With "sqrt", values must not be negative: the model learns their
        square roots, and squares its output.
    fields
        Fields of the learner's options, in place of those in `options`.

    Raises
    ------
    RecipeError
        If an option is unknown, has no effect or is not allowed, the rank is above what the basis
        allows, or there is nothing to learn.
    TypeError
        If the learner or the rank is missing.
    Cancelled
        If `cancelled()` returns true.
    """
    settings = called_options(VALUE_LEARNERS, options, rank, fields)
    assert isinstance(settings, ValueSP | ValueNetworks)
    check_one_of("transform", transform, VALUE_TRANSFORMS)
    settings.check_limits()
    check_cancelled(cancelled)
    started = perf_counter()
    hankel = transformed(
        observed_hankel(values, basis or values.basis(NUM_PREFIXES, NUM_SUFFIXES)), transform
    )
    check_rank(hankel, settings.rank)
    singular_values = None
    built = perf_counter()
    if isinstance(settings, ValueNetworks):
        observed = observed_transitions(hankel)
        steps = network_steps(
            hankel,
            settings,
            observed=observed,
            cache=FitCache(),
            report=report,
            cancelled=cancelled,
        )
        if settings.nonlinear_transitions:
            steps.transitions[-1][~observed.any(axis=0)] = 0.0
    else:
        completion = complete(
            hankel, settings.rank, ridge=settings.ridge, report=report, cancelled=cancelled
        )
        linear = fit_completed(hankel, completion)
        singular_values = completion.singular_values
        log = TrainingLog("completion", completion.losses)
        seconds = {"completion": perf_counter() - built}
        steps = Steps(
            linear.initial,
            (linear.transitions,),
            (completion.right.T,),
            (False, False),
            (log,),
            seconds,
        )
        observed = observed_transitions(hankel, linear.num_states)
    seconds = {"hankel": built - started, **steps.seconds}
    logs = steps.logs
    model: WFA | NLWFA = as_network(
        hankel, steps.initial, steps.transitions, steps.decoder, steps.nonlinear
    )
    if not settings.networks and transform == "none":
        model = WFA(steps.initial, steps.transitions[0], model.termination)
    if settings.refine == "values":
        from ..refine.values import refine_values

        started = perf_counter()
        root = _root(values, settings.rank) if transform == "sqrt" else None
        model, log = refine_values(
            model,
            values,
            restarts=settings.restarts,
            seed=settings.seed,
            root=root,
            report=report,
            cancelled=cancelled,
        )
        logs = (*logs, log)
        seconds = {**seconds, "refinement": perf_counter() - started}
    model = replace(model, alphabet=hankel.alphabet)
    messages = [log.message for log in logs if log.message]
    if settings.refine == "none":
        messages += map_messages(observed, model.num_states, values.alphabet)
    radius = model.spectral_radius if isinstance(model, WFA) else None
    learned = FitReport(
        settings.learner,
        settings.rank,
        model.num_states,
        singular_values,
        None,
        radius,
        logs,
        tuple(messages),
        seconds,
    )
    return Fit(model, learned)


def _root(values: ValuedStrings, k: int) -> WFA | None:
    """Compute the square root of a linear model of the values, if all cells of a basis of short
    strings are known; else None.
    """
    num_products = k * (k + 1) // 2
    for cells in CELLS_OF_ROOT:
        size = int(cells * num_products) + 1
        basis = values.basis(size, size)
        hankel = observed_hankel(values, basis)
        # the row of unknown cells would have none
        if hankel.matrix.nnz == hankel.matrix.shape[0] * hankel.num_suffixes:
            svd = truncated_svd(hankel.block, num_products)
            return square_root(fit_spectral(hankel, svd, num_products), k, basis)
    return None


def map_messages(observed: npt.NDArray[np.bool_], num_states: int, alphabet: Alphabet) -> list[str]:
    """Warn of symbols whose maps the known cells do not determine, because there are fewer pairs of
    rows for the map than states, or none.

    `observed` (num_prefixes, num_symbols): which pairs of rows u and uσ are known, from
    `observed_transitions`.

    Returns at most one sentence for each of the two cases.
    """
    pairs = observed.sum(axis=0)
    sentences = (
        (
            pairs == 0,
            "No pair of rows with enough known values shows where {} leads: its map is zero.",
        ),
        (
            (pairs > 0) & (pairs < num_states),
            "The pairs of rows with enough known values that show where {} leads are fewer than "
            f"the model's {num_states} states.",
        ),
    )
    messages = []
    for chosen, sentence in sentences:
        symbols = [alphabet.symbols[symbol] for symbol in np.flatnonzero(chosen)]
        if symbols:
            messages.append(sentence.format(listed(symbols, MAX_LISTED_SYMBOLS)))
    return messages
