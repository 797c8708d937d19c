"""Runs any learner: `fit` learns from a Hankel matrix, `fit_strings` from the strings themselves.

`fit` offers SP, fac.non, tran.non and both.non (Li, Rabusseau, Precup 2018, §4.5), followed by a
refinement (the third step) if the options ask for one; `fit_strings` offers HMM, PFA, PDFA, GRU and
LSTM. `values.fit_values` learns from the values of strings instead.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import limits
from ..errors import RecipeError, check_between, check_types, plural
from ..hankel.matrix import HankelMatrix
from ..hankel.names import LINEAR_ONLY
from ..metrics.diagnostics import divergence_warnings
from ..metrics.scores import next_symbol_score
from ..models.conversion import to_string_probabilities
from ..models.nlwfa import NLWFA
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.words import FloatArray
from .completion import linear_transitions
from .hmm import EM, fit_hmm
from .merging import PDFATraining, fit_pdfa
from .names import (
    HANKEL_LEARNERS,
    LEARNERS,
    PROCESSOR_DEPENDENT,
    STRING_LEARNERS,
    check_learner,
    depends_on_processor,
)
from .options import Options, with_shortcuts
from .pfa import PFATraining, fit_pfa
from .progress import (
    EXACT,
    CancelCheck,
    Progress,
    Report,
    TrainingLog,
    check_cancelled,
    never,
    silent,
    training_state,
)
from .reading import Steps, as_network, first_strings, mapped_rows
from .spectral import TruncatedSVD, fit_linear_maps, fit_spectral, truncated_svd, weighted_block

if TYPE_CHECKING:  # it needs torch, which takes seconds to import
    from .factorisation import Factorisation

# Sizes of truncated SVDs. A rank uses the smallest that holds it, so its result does not depend on
# which ranks were tried before.
SVD_SIZES = (5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class FitReport:
    """What learning did: losses, times, properties of the model, and warnings.

    Attributes
    ----------
    learner : str
    rank, num_states : int
        The rank that was asked for, and the number of states that the model has.
    singular_values : array, shape (at most rank,), or None
        The singular values of H_λ, or of the completed H if SP learned from values, in descending
        order; None for other learners.
    numerical_rank : int or None
        How many of the first `rank` singular values of H_λ are above rounding; None if they were
        not computed.
    spectral_radius : float or None
        The largest |eigenvalue| of Σ_σ A_σ; None unless the model is a WFA.
    logs : tuple of TrainingLog
        One log for each stage that was trained.
    messages : tuple of str
        Sentences for the user: rank above the numerical rank, diverging mass, diverged training.
    seconds : dict
        Stage -> its wall time.
    start_errors : tuple of float
        The number by which each start was judged: its bits per symbol on the validation strings or,
        without such strings, its error on the rows of H. Empty if there was only one start.
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
    start_errors: tuple[float, ...] = ()

    def __repr__(self) -> str:
        """Write what was learned, in how many seconds, and the messages."""
        states = f"rank {self.rank}, {plural(self.num_states, 'state')}"
        seconds = f"training {self.training}, {sum(self.seconds.values()):.2g} s"
        return f"<FitReport of {'; '.join((self.learner, states, seconds, *self.messages))}>"

    @property
    def training(self) -> str:
        """Return whether the training is finished, in the words of `progress.training_state`; "–"
        for STRING_LEARNERS.
        """
        spectral = (
            [EXACT]
            if self.learner in HANKEL_LEARNERS and not LEARNERS[self.learner].networks
            else []
        )
        return training_state([*spectral, *(log.state for log in self.logs)])


@dataclass(frozen=True, eq=False)
class Fit:
    """A model learned from a Hankel matrix or from values, and the report of its learning."""

    model: WFA | NLWFA
    report: FitReport


@dataclass(frozen=True, eq=False)
class StringFit:
    """A model learned from the strings themselves, and the report of its learning."""

    model: WFA | RecurrentModel
    report: FitReport


@dataclass(frozen=True, eq=False)
class FitCache:
    """Intermediate results that several calls of `fit` on the same matrix can share.

    A cache saves time but does not change the results, which are the same to the last bit without
    it.

    Attributes
    ----------
    svds : dict
        Number of singular values -> the truncated SVD of the matrix, which serves all ranks up to
        that number.
    factorisations : dict
        Whether the auto-encoder is nonlinear -> the options of the last such auto-encoder, and the
        auto-encoder itself. With Adamax, fac.non and both.non have the same auto-encoder, because
        they differ only in step 2.
    """

    svds: dict[int, TruncatedSVD] = field(default_factory=dict)
    factorisations: dict[bool, tuple[tuple[object, ...], Factorisation]] = field(
        default_factory=dict
    )


@check_types
@on_one_thread
def fit(
    hankel: HankelMatrix,
    options: Options | str | None = None,
    rank: int | None = None,
    *,
    strings: tuple[SampleLike, SampleLike | None] | None = None,
    cache: FitCache | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **shortcuts: Any,
) -> Fit:
    """Learn a model from a Hankel matrix, with `Options` or, in short, with keywords: `fit(hankel,
    "SP", rank=5)`.

    The result is always a model of string probabilities. If the matrix counts prefixes or factors,
    a linear model is converted (Balle et al. 2014), while networks need a matrix with boundary
    symbols (see `needs_boundary`). Of the options, SP uses only the rank and the refinement.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> model = fit(estimate_hankel(strings, select_basis(strings, 5, 5)), "SP", rank=2).model
    >>> round(model("ab"), 3)
    0.213

    Parameters
    ----------
    hankel : HankelMatrix
    options : Options or str, optional
        All options, or a learner's name.
    rank : int, optional
        In place of the rank in `options`.
    strings : (Sample or strings, the same or None), optional
        Training strings, which a refinement by likelihood needs, and validation strings, which are
        used for early stopping and to choose among several starts. If their alphabet is not the
        matrix's, their symbols are renumbered to match it.
    cache : FitCache, optional
        Intermediate results of earlier calls on the same matrix; `fit` uses them and adds its own.
    shortcuts
        Fields of `Options`, in place of those in `options`.

    Raises
    ------
    RecipeError
        If the learner is unknown, the rank is below 1 or above what the basis allows, or a
        refinement by likelihood has no strings.
    TypeError
        If the learner or the rank is missing, or a keyword is not a field of `Options`.
    Cancelled
        If `cancelled()` returns true.
    """
    options = with_shortcuts(options, rank, shortcuts)
    check_learner(options.learner)
    check_rank(hankel, options.rank)
    refinement = options.refinement
    if refinement.objective == "likelihood" and strings is None:
        raise RecipeError("refining by likelihood needs training strings; got none")
    if refinement.objective == "values":
        raise RecipeError(
            "refining on values is only for functions learned from values: use fit_values"
        )
    refined = refinement.objective != "none"
    samples = None if strings is None else _in_alphabet_of(hankel, *strings)
    limits.check_at_most(
        "epochs of the refinement", refinement.epochs if refined else 0, limits.most("epochs")
    )
    check_cancelled(cancelled)
    cache, svd, start_errors = cache or FitCache(), None, tuple[float, ...]()
    if options.kind.networks:
        steps, start_errors = _best_start(
            hankel, options, samples[1] if samples else None, cache, report, cancelled
        )
    else:
        steps, svd = _spectral_steps(hankel, options.rank, cache, report)
    started = perf_counter()
    if refinement.objective == "hankel":
        from .refine_hankel import refine_hankel

        steps = refine_hankel(hankel, steps, refinement, report, cancelled)
    model = replace(_string_model(hankel, steps), alphabet=hankel.alphabet)
    logs, seconds = steps.logs, steps.seconds
    if refinement.objective == "likelihood" and samples:
        from .refine_likelihood import refine_likelihood

        model, log = refine_likelihood(
            model, *samples, refinement, report, cancelled, first_strings(hankel)
        )
        model = replace(model, alphabet=hankel.alphabet)
        logs = (*logs, log)
    if refined:
        seconds = {**seconds, "refinement": perf_counter() - started}
    messages = [log.message for log in logs if log.message]
    messages += empty_word_messages(hankel, isinstance(model, WFA))
    if depends_on_processor(options.learner, hankel.transform, refinement.objective):
        messages.append(PROCESSOR_DEPENDENT)
    if svd is not None and model.num_states < options.rank:
        messages.append(
            f"Rank {options.rank} was asked for, but H_λ has numerical rank {svd.numerical_rank}: "
            f"the model has {plural(model.num_states, 'state')}."
        )
    return Fit(
        model,
        FitReport(
            options.learner,
            rank=options.rank,
            num_states=model.num_states,
            singular_values=None if svd is None else svd.singular_values[: options.rank],
            numerical_rank=None if svd is None else min(svd.numerical_rank, options.rank),
            spectral_radius=model.spectral_radius if isinstance(model, WFA) else None,
            logs=logs,
            messages=(*messages, *divergence_warnings(model)),
            seconds=seconds,
            start_errors=start_errors,
        ),
    )


@check_types
@on_one_thread
def fit_strings(
    train: SampleLike,
    options: Options | str | None = None,
    rank: int | None = None,
    *,
    validation: SampleLike | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **shortcuts: Any,
) -> StringFit:
    """Learn an HMM, a PFA, a PDFA, a GRU or an LSTM from strings.

    Of the options, only the learner, the rank (here the number of states, and for a PDFA the
    largest one), the seed, for a PFA `starts` and `em_start`, and for a PFA and a PDFA
    `pseudo_count` are used. Everything else has the defaults of `hmm.fit_hmm`, `pfa.fit_pfa`,
    `merging.fit_pdfa` and `recurrent.fit_recurrent`.

    >>> fit_strings(["ab", "b", "abb"], "HMM", 2).model.num_states
    2

    Parameters
    ----------
    train : Sample, or strings as `strings.plain.as_sample` takes them
    options : Options or str, optional
        All options, or a learner's name.
    rank : int, optional
        In place of the rank in `options`.
    validation : the same, optional
        Strings for early stopping; for a PDFA, to choose the options of merging.
    shortcuts
        Fields of `Options`, in place of those in `options`.

    Raises
    ------
    RecipeError
        If the learner is not one of `STRING_LEARNERS`, a sample is empty, or a number is out of
        range.
    TypeError
        If the learner or the rank is missing, or a keyword is not a field of `Options`.
    Cancelled
    """
    train = as_sample(train, name="train")
    options = with_shortcuts(options, rank, shortcuts)
    check_learner(options.learner, STRING_LEARNERS)
    validation = _validation_of(train, validation)
    model: WFA | RecurrentModel
    if options.learner == "HMM":
        settings = EM(seed=options.seed)
        model = fit_hmm(
            train, options.rank, settings, validation=validation, report=report, cancelled=cancelled
        )
    elif options.learner == "PFA":
        em = PFATraining(
            options.em_start,
            options.number_of_starts,
            pseudo_count=options.pseudo_count,
            seed=options.seed,
        )
        model = fit_pfa(
            train, options.rank, em, validation=validation, report=report, cancelled=cancelled
        )
    elif options.learner == "PDFA":
        merging = PDFATraining(pseudo_count=options.pseudo_count)
        model = fit_pdfa(
            train, options.rank, merging, validation=validation, report=report, cancelled=cancelled
        )
    else:
        from .recurrent import Training, fit_recurrent

        training = Training(seed=options.seed)
        kind, k = options.learner, options.rank
        model = fit_recurrent(
            train, kind, k, training, validation=validation, report=report, cancelled=cancelled
        )
    model = replace(model, alphabet=train.alphabet)
    radius = model.spectral_radius if isinstance(model, WFA) else None
    learned = FitReport(
        options.learner,
        options.rank,
        model.num_states,
        None,
        None,
        radius,
        (),
        divergence_warnings(model),
        {},
    )
    return StringFit(model, learned)


def _in_alphabet_of(
    hankel: HankelMatrix, train: SampleLike, validation: SampleLike | None
) -> tuple[Sample, Sample | None]:
    """Renumber strings to match the alphabet of a matrix or, if it has none, validation strings to
    match the training strings.
    """
    train = as_sample(train, None if isinstance(train, Sample) else hankel.alphabet, "strings[0]")
    if hankel.alphabet is not None:
        train = train.in_alphabet(hankel.alphabet, "the Hankel matrix's")
    if train.num_symbols != (number := hankel.num_symbols - hankel.num_marks):
        raise RecipeError(
            f"the Hankel matrix has {plural(number, 'symbol')}, but the training strings "
            f"have {train.alphabet.summary}"
        )
    return train, _validation_of(train, validation)


def _validation_of(train: Sample, validation: SampleLike | None) -> Sample | None:
    if isinstance(validation, Sample):
        return validation.in_alphabet(train.alphabet, "the training strings'")
    return None if validation is None else as_sample(validation, train.alphabet, "validation")


def empty_word_messages(hankel: HankelMatrix, is_linear: bool) -> list[str]:
    """Tell the user if the row or the column of λ holds only zeros: a model then does not know
    where strings begin or end.

    The row of λ holds the whole strings that are suffixes of the basis, and its column those that
    are prefixes of the basis. An automaton has its initial and final weights from them.
    """
    row, column = hankel.block[[0]], hankel.block[:, [0]]
    empty = [
        name
        for name, entries in (("suffixes", row), ("prefixes", column))
        if not entries.count_nonzero()
    ]
    if not empty:
        return []
    numbers = {"suffixes": hankel.num_suffixes, "prefixes": hankel.num_prefixes}
    among = " and not among the ".join(f"{numbers[name]:,} {name}" for name in empty)
    effect = (
        "so every string has the weight 0"
        if is_linear
        else "so the model does not know where strings begin or end"
    )
    return [
        f"No training string is among the {among} of the basis, {effect}. Take more "
        f"{' and '.join(empty)}, or another statistic."
    ]


def check_rank(hankel: HankelMatrix, rank: int) -> None:
    """Raise RecipeError if the rank is below 1 or above what the matrix allows, or if the model
    would be too large.
    """
    largest = min(hankel.num_prefixes, hankel.num_suffixes)
    basis = f"the basis has {hankel.num_prefixes} prefixes and {hankel.num_suffixes} suffixes"
    check_between("rank", rank, 1, largest, basis)
    limits.check_at_most("rank", rank, limits.most("rank"))
    limits.check_at_most(
        "symbols × rank²", hankel.num_symbols * rank * rank, limits.most("transition_numbers")
    )


def network_steps(
    hankel: HankelMatrix,
    options: Options,
    *,
    observed: npt.NDArray[np.bool_] | None = None,
    start: int = 0,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Steps:
    """Train the networks of steps 1 and 2: the auto-encoder, then the maps of all symbols.

    Parameters
    ----------
    start : int
        The number of the start, which determines the random weights; start 0 uses `options.seed`
        itself (see `seed_of_start`).
    observed : array of bool, shape (num_prefixes, num_symbols), optional
        For a matrix that holds the values of only some strings (see `values.fit_values`): which
        pairs of rows u and uσ the maps are trained on. The loss of step 1 is then over the stored
        cells only.
    """
    limits.check_at_most(
        "epochs",
        max(options.epochs_factorisation, options.epochs_transitions),
        limits.most("epochs"),
    )
    if observed is None and hankel.statistic == "suffix":
        raise RecipeError(LINEAR_ONLY)
    if observed is None and hankel.statistic != "string" and not hankel.bounded:
        raise RecipeError(
            f"networks need boundary symbols (bounded) with {hankel.statistic} statistics"
        )

    # torch takes seconds to import, so only training networks imports it.
    from .factorisation import fit_factorisation, options_used
    from .transition_networks import fit_transitions

    started = perf_counter()
    kind, nonlinear = options.kind, options.kind.nonlinear_factorisation
    seeded = replace(options, seed=seed_of_start(options.seed, start))
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
    middle, maps, logs = perf_counter(), mapped_rows(hankel), [factors.log]
    if observed is not None and not kind.nonlinear_transitions and options.optimizer == "adamax":
        transitions: tuple[FloatArray, ...] = (linear_transitions(factors.latent, maps, observed),)
    else:
        weights = observed if hankel.row_weights is None else hankel.row_weights[maps]
        weights = None if weights is None else weights.astype(np.float64, copy=False)
        transitions, log = fit_transitions(factors.latent, maps, seeded, weights, report, cancelled)
        logs.append(log)
    decoder = (*factors.decoder[:-1], factors.decoder[-1] * factors.scale)
    seconds = {"factorisation": middle - started, "transitions": perf_counter() - middle}
    tanh = (kind.nonlinear_transitions, nonlinear)
    return Steps(factors.latent[hankel.start_row], transitions, decoder, tanh, tuple(logs), seconds)


def seed_of_start(seed: int, start: int) -> int:
    """Derive the seed of a start's random weights: for start 0 it is `seed` itself, for each other
    start an unrelated number.

    A derived seed has 32 bits, because torch's generator ignores all bits beyond these.

    >>> (
    ...     seed_of_start(7, 0),
    ...     len({seed_of_start(seed, start) for seed in range(10) for start in range(100)}),
    ... )
    (7, 1000)
    """
    return int(np.random.SeedSequence((seed, start)).generate_state(1)[0]) if start else seed


def _best_start(
    hankel: HankelMatrix,
    options: Options,
    validation: Sample | None,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> tuple[Steps, tuple[float, ...]]:
    """Train the two steps from several starts, and choose the best start as described at
    `Options.starts`.

    Returns
    -------
    steps : Steps
        The parameters of the best start, or of the first one if several are tied. Its `seconds` are
        the total of all starts.
    errors : tuple of float
        The error of each start, ∞ in place of nan; empty if there is only one start.
    """
    starts = options.number_of_starts
    if starts == 1:
        return network_steps(hankel, options, cache=cache, report=report, cancelled=cancelled), ()
    from .refine_hankel import rolled_out_error

    def error_of(steps: Steps) -> float:
        if validation is None or not len(validation.words):
            return rolled_out_error(hankel, steps)
        model = replace(_string_model(hankel, steps), alphabet=hankel.alphabet)
        return next_symbol_score(model, validation).bits_per_symbol

    trained, errors, seconds = list[Steps](), list[float](), Counter[str]()
    for start in range(starts):
        trained.append(
            network_steps(
                hankel, options, start=start, cache=cache, report=report, cancelled=cancelled
            )
        )
        errors.append(float(np.nan_to_num(error_of(trained[-1]), nan=np.inf, posinf=np.inf)))
        seconds.update(trained[-1].seconds)
    best = int(np.argmin(errors))
    logs = tuple(replace(log, start=best + 1, starts=starts) for log in trained[best].logs)
    return replace(trained[best], logs=logs, seconds=dict(seconds)), tuple(errors)


def svd_size(hankel: HankelMatrix, rank: int) -> int:
    """Say how many singular values are computed for a rank: a few fixed sizes, so that neighbouring
    ranks share an SVD.
    """
    return min(
        next((size for size in SVD_SIZES if size >= rank), rank),
        hankel.num_prefixes,
        hankel.num_suffixes,
    )


def _spectral_steps(
    hankel: HankelMatrix, rank: int, cache: FitCache, report: Report
) -> tuple[Steps, TruncatedSVD]:
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
    return Steps(linear.initial, (linear.transitions,), decoder, (False, False), (), seconds), svd


def _string_model(hankel: HankelMatrix, steps: Steps) -> WFA | NLWFA:
    """Make a model of string probabilities from the parameters that the steps learned."""
    if any(steps.nonlinear) or hankel.bounded or hankel.transform != "none":
        return as_network(hankel, steps.initial, steps.transitions, steps.decoder, steps.nonlinear)
    return to_string_probabilities(
        WFA(steps.initial, steps.transitions[0], steps.decoder[0][:, 0].copy()), hankel.statistic
    )
