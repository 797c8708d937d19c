"""Runs any learner: `fit` learns from a Hankel matrix, `fit_strings` from the strings themselves.

`fit` offers SP, fac.non, tran.non and both.non (Li, Rabusseau, Precup 2018, §4.5), followed by a
refinement (the third step) if the options ask for one; `fit_strings` offers HMM, PFA, PDFA, GRU and
LSTM. Both offer networks that are trained by likelihood, without a matrix.
`learning.functions.fit_values.fit_values` learns from the values of strings instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from ..errors import RecipeError, check_at_least, check_one_of, check_type, check_types, plural
from ..hankel.matrix import HankelMatrix
from ..metrics.diagnostics import divergence_warnings
from ..models.nlwfa import NLWFA
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_sample
from ..strings.sample import Sample
from ..strings.words import FloatArray
from .assembly import first_strings
from .kinds import HankelLearner, StringLearner
from .learners import (
    HANKEL_LEARNERS,
    LEARNERS,
    NETWORK_LEARNERS,
    STRING_LEARNERS,
    NetworkLearner,
)
from .names import PROCESSOR_DEPENDENT
from .options import LearnerOptions, called_options
from .progress import (
    EXACT,
    CancelCheck,
    Report,
    TrainingLog,
    check_cancelled,
    never,
    silent,
    training_state,
)
from .two_steps import FitCache, check_rank, check_size, string_model

OF_MATRICES = {name: LEARNERS[name] for name in HANKEL_LEARNERS}
OF_STRINGS = {name: LEARNERS[name] for name in STRING_LEARNERS}


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
        is_spectral = self.learner in HANKEL_LEARNERS and self.learner not in NETWORK_LEARNERS
        spectral = [EXACT] if is_spectral else []
        return training_state([*spectral, *(log.state for log in self.logs)])


@dataclass(frozen=True, eq=False)
class Fit:
    """A model learned from a Hankel matrix or from values, or a network learned by likelihood, and
    the report of its learning.
    """

    model: WFA | NLWFA
    report: FitReport


@dataclass(frozen=True, eq=False)
class StringFit:
    """A model learned from the strings themselves, and the report of its learning."""

    model: WFA | NLWFA | RecurrentModel
    report: FitReport


@check_types
@on_one_thread
def fit(
    hankel: HankelMatrix | SampleLike,
    options: LearnerOptions | str | None = None,
    rank: int | None = None,
    *,
    strings: tuple[SampleLike, SampleLike | None] | None = None,
    cache: FitCache | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **fields: Any,
) -> Fit:
    """Learn a model from a Hankel matrix, with the options of a learner (`learners.options`) or, in
    short, with keywords: `fit(hankel, "SP", rank=5)`.

    The result is always a model of string probabilities. If the matrix counts prefixes or factors,
    a linear model is converted (Balle et al. 2014), while networks need a matrix with boundary
    symbols (see `LearnerOptions.needs_boundary`). Networks are trained until their loss hardly
    falls any more: by L-BFGS, from one start, the SVD of H.

    With `objective="likelihood"`, networks are trained on the training strings instead, without a
    matrix: `fit(strings, "both.non", rank=3, objective="likelihood")`. Then `fit_strings` does the
    same.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> model = fit(estimate_hankel(strings, select_basis(strings, 5, 5)), "SP", rank=2).model
    >>> round(model("ab"), 3)
    0.213

    Parameters
    ----------
    hankel : HankelMatrix, or Sample or strings
        Strings only for networks by likelihood, which read no matrix.
    options : LearnerOptions or str, optional
        The options of a learner, or a learner's name.
    rank : int, optional
        In place of the rank in `options`.
    strings : (Sample or strings, the same or None), optional
        Training strings, which a training or a refinement by likelihood needs, and validation
        strings, which are used for early stopping and to choose among several starts. If their
        alphabet is not the matrix's, their symbols are renumbered to match it.
    cache : FitCache, optional
        Intermediate results of earlier calls on the same matrix; `fit` uses them and adds its own.
    fields
        Fields of the learner's options, in place of those in `options`.

    Raises
    ------
    RecipeError
        If the learner or an option is unknown, has no effect or is not allowed, the rank is above
        what the basis allows, or a training or refinement by likelihood has no strings.
    TypeError
        If the learner or the rank is missing, or there are strings in place of the matrix that a
        learner needs.
    Cancelled
        If `cancelled()` returns true.
    """
    if fields.get("objective", getattr(options, "objective", "hankel")) == "hankel":
        check_type("hankel", hankel, HankelMatrix)
    settings = called_options(OF_MATRICES, options, rank, fields)
    if isinstance(settings, NetworkLearner) and not settings.needs_hankel:
        train = _training_strings(hankel, strings)
        return _fit_by_likelihood(train, settings, cache, report, cancelled)
    assert isinstance(settings, HankelLearner) and isinstance(hankel, HankelMatrix)
    check_rank(hankel, settings.rank)
    settings.check_limits()
    if settings.refine == "likelihood" and strings is None:
        raise RecipeError("refining by likelihood needs training strings; got none")
    samples = None if strings is None else _in_alphabet_of(hankel, *strings)
    check_cancelled(cancelled)
    cache = cache or FitCache()
    steps, svd, start_errors = settings.two_steps(
        hankel, samples[1] if samples else None, cache, report, cancelled
    )
    started = perf_counter()
    if settings.refine == "hankel":
        from .refine.hankel import refine_hankel

        steps = refine_hankel(hankel, steps, settings, report, cancelled)
    model = replace(string_model(hankel, steps), alphabet=hankel.alphabet)
    logs = steps.logs
    seconds = steps.seconds
    if settings.refine == "likelihood" and samples:
        from .refine.likelihood import refine_likelihood

        model, log = refine_likelihood(
            model, *samples, settings, report, cancelled, first_strings(hankel)
        )
        model = replace(model, alphabet=hankel.alphabet)
        logs = (*logs, log)
    if settings.refine != "none":
        seconds = {**seconds, "refinement": perf_counter() - started}
    messages = [log.message for log in logs if log.message]
    messages += empty_word_messages(hankel, isinstance(model, WFA))
    if settings.depends_on_processor(hankel.transform):
        messages.append(PROCESSOR_DEPENDENT)
    if svd is not None and model.num_states < settings.rank:
        messages.append(
            f"Rank {settings.rank} was asked for, but H_λ has numerical rank {svd.numerical_rank}: "
            f"the model has {plural(model.num_states, 'state')}."
        )
    return Fit(
        model,
        FitReport(
            settings.learner,
            rank=settings.rank,
            num_states=model.num_states,
            singular_values=None if svd is None else svd.singular_values[: settings.rank],
            numerical_rank=None if svd is None else min(svd.numerical_rank, settings.rank),
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
    options: LearnerOptions | str | None = None,
    rank: int | None = None,
    *,
    validation: SampleLike | None = None,
    cache: FitCache | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **fields: Any,
) -> StringFit:
    """Learn an HMM, a PFA, a PDFA, a GRU or an LSTM from strings, or a network by likelihood.

    >>> fit_strings(["ab", "b", "abb"], "HMM", 2).model.num_states
    2

    Parameters
    ----------
    train : Sample, or strings as `strings.plain.as_sample` takes them
    options : LearnerOptions or str, optional
        The options of a learner, or a learner's name.
    rank : int, optional
        The number of states, and for a PDFA the largest one; in place of the rank in `options`.
    validation : the same, optional
        Strings for early stopping; for a PDFA, to choose the options of merging. Networks by
        likelihood do not read them.
    cache : FitCache, optional
        Networks by likelihood of earlier calls with the same strings.
    fields
        Fields of the learner's options, in place of those in `options`.

    Raises
    ------
    RecipeError
        If the learner is not one of `STRING_LEARNERS` or a network by likelihood, an option is
        unknown, has no effect or is not allowed, a sample is empty, or a number is out of range.
    TypeError
        If the learner or the rank is missing.
    Cancelled
    """
    train = as_sample(train, name="train")
    settings = called_options(LEARNERS, options, rank, fields)
    if settings.needs_hankel:
        check_one_of("learner", settings.learner, OF_STRINGS)
    if isinstance(settings, NetworkLearner):
        network = _fit_by_likelihood(train, settings, cache, report, cancelled)
        return StringFit(network.model, network.report)
    assert isinstance(settings, StringLearner)
    validation = _validation_of(train, validation)
    model = settings.fit(train, validation, report, cancelled)
    model = replace(model, alphabet=train.alphabet)
    radius = model.spectral_radius if isinstance(model, WFA) else None
    learned = FitReport(
        settings.learner,
        settings.rank,
        model.num_states,
        None,
        None,
        radius,
        (),
        divergence_warnings(model),
        {},
    )
    return StringFit(model, learned)


def _training_strings(
    hankel: HankelMatrix | SampleLike, strings: tuple[SampleLike, SampleLike | None] | None
) -> Sample:
    """Select the training strings among the arguments of `fit`, for a learner without a matrix."""
    if not isinstance(hankel, HankelMatrix):
        if strings is not None:
            raise TypeError("training strings are passed twice: in place of a matrix, and strings")
        return as_sample(hankel, name="hankel")
    if strings is None:
        raise RecipeError("training by likelihood needs training strings; got none")
    return _in_alphabet_of(hankel, *strings)[0]


def _fit_by_likelihood(
    train: Sample,
    settings: NetworkLearner,
    cache: FitCache | None,
    report: Report,
    cancelled: CancelCheck,
) -> Fit:
    """Learn a network from strings."""
    check_size(train.num_symbols, settings.rank)
    settings.check_limits()
    check_at_least("the number of training strings", train.num_strings, 1)
    check_cancelled(cancelled)
    started = perf_counter()
    stage = settings.by_likelihood(train, cache or FitCache(), report, cancelled)
    model = replace(stage.padded.model(), alphabet=train.alphabet)
    messages = [message for message in (stage.log.message, stage.message) if message]
    return Fit(
        model,
        FitReport(
            settings.learner,
            settings.rank,
            model.num_states,
            None,
            None,
            None,
            (stage.log,),
            (*messages, *divergence_warnings(model)),
            {"likelihood": perf_counter() - started},
        ),
    )


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
