"""Run any learner: `fit` learns from strings, or from a Hankel matrix.

`learning.functions.fit_values.fit_values` learns from the values of strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from ..errors import RecipeError, check_types, did_you_mean, enumeration, plural
from ..hankel.estimate import build_hankel
from ..hankel.matrix import HankelMatrix
from ..hankel.recipe import HankelRecipe
from ..metrics.diagnostics import divergence_warnings
from ..models.model_files import LearnedModel
from ..models.wfa import WFA
from ..records import NoEffect, options_of
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, as_alphabet, as_sample
from ..strings.sample import Sample
from ..strings.words import Alphabet, FloatArray
from .assembly import first_strings
from .kinds import HankelLearner, StringLearner
from .learners import (
    HANKEL_LEARNERS,
    LEARNERS,
    NETWORK_LEARNERS,
    NetworkLearner,
)
from .names import PROCESSOR_DEPENDENT
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
from .refine.hankel import refine_hankel
from .shared_options import LearnerOptions, called_options
from .two_steps import FitCache, check_rank, check_size, string_model

# Fields of a Hankel matrix that `fit` takes as keywords; the learner decides on boundary symbols.
MATRIX_FIELDS = [name for name, entry in options_of(HankelRecipe).items() if not entry.derived]


@dataclass(frozen=True, eq=False)
class FitReport:
    """A report on learning: losses, times, properties of the model, and warnings.

    Attributes
    ----------
    learner : str
    rank, num_states : int
        The requested rank, and the number of states of the model.
    singular_values : array, shape (at most rank,), or None
        The singular values of H_λ, or of the completed H if SP learned from values, in descending
        order; None for other learners.
    numerical_rank : int or None
        The number of the first `rank` singular values of H_λ that are above rounding error; None if
        they were not computed.
    spectral_radius : float or None
        The largest |eigenvalue| of Σ_σ A_σ; None unless the model is a WFA.
    logs : tuple of TrainingLog
        One log for each stage that was trained.
    messages : tuple of str
        Sentences for the user, for example about a rank above the numerical rank, a diverging sum
        of all weights or a diverged training run.
    seconds : dict
        Stage -> its wall time.
    start_errors : tuple of float
        The error of each start's model on the rows of H; ∞ for a start that diverged. Empty if
        there was only one start.
    notes : tuple of str
        The messages that are not warnings.
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
    notes: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the messages that are not notes."""
        return tuple(message for message in self.messages if message not in self.notes)

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
    """A learned model, and the report of its learning."""

    model: LearnedModel
    report: FitReport


@check_types
@on_one_thread
def fit(
    data: SampleLike | HankelMatrix,
    options: LearnerOptions | str | None = None,
    rank: int | None = None,
    *,
    alphabet: Alphabet | Sequence[str] | None = None,
    validation: SampleLike | None = None,
    strings: SampleLike | None = None,
    cache: FitCache | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **fields: Any,
) -> Fit:
    """Learn a model from strings, with the options of a learner (`learners.options`) or, for short,
    with keywords: `fit(strings, "SP", rank=5)`.

    SP, fac.non, tran.non and both.non (Li, Rabusseau, Precup 2018, §4.5) learn from a Hankel matrix
    of the strings. The matrix has the defaults of `HankelRecipe` unless `fields` has others, and
    boundary symbols if the learner needs them (`LearnerOptions.needs_boundary`). A matrix can also
    be passed in place of the strings, for example the matrix of a function (`exact_hankel`), or a
    matrix from which several models are learned. HMM, PFA, PDFA, GRU and LSTM learn from the
    strings themselves, as do networks with `objective="likelihood"`.

    The result is always a model of string probabilities. If the matrix counts prefixes or factors,
    a linear model is converted (Balle et al. 2014). Networks are trained with L-BFGS until their
    loss barely falls. Networks of up to ten states have six starts, of which the first is the SVD
    of H; larger networks start only from the SVD.

    >>> from nlwfa_core import fit
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> round(fit(strings, "SP", rank=2).model("ab"), 3)
    0.213
    >>> fit(strings, "SP", rank=3, statistic="factor", num_suffixes=4).model.num_states
    3
    >>> fit(strings, "HMM", rank=2).model.num_states
    2

    Parameters
    ----------
    data : Sample, strings as `strings.plain.as_sample` takes them, or HankelMatrix
    options : LearnerOptions or str, optional
        The options of a learner, or a learner's name.
    rank : int, optional
        The number of states (for a PDFA, the largest allowed); it replaces the rank in `options`.
    alphabet : Alphabet or sequence of str, optional
        With strings: all symbols of the model, one of which may stand for unknown symbols
        (`Alphabet.of`, `frequent_symbols`); by default, the symbols of the strings.
    validation : Sample or strings, optional
        Strings for early stopping and for choosing among several starts; for a PDFA, they choose
        the options of merging. Their symbols, and those of `strings`, are renumbered to match the
        training strings or the matrix.
    strings : Sample or strings, optional
        With a matrix: the training strings, which are needed for training or refinement by
        likelihood.
    cache : FitCache, optional
        With a matrix, or by likelihood: intermediate results of earlier calls on the same matrix or
        strings; `fit` uses them and adds its own.
    fields
        Fields of the learner's options, in place of those in `options`; with strings, also those of
        the matrix: `num_prefixes`, `num_suffixes`, `statistic` and `transform`.

    Raises
    ------
    RecipeError
        If the learner or an option is unknown, has no effect or is not allowed; if the rank is
        above what the basis allows; if there are no strings, or a string has a symbol that is not
        in the alphabet; or if a matrix is passed to a learner that learns from strings, or without
        the strings that the refinement needs.
    TypeError
        If the learner or the rank is missing, or an argument has the wrong type.
    Cancelled
        If `cancelled()` returns true.
    """
    if not isinstance(data, HankelMatrix):
        data = _sample_of(data, None if alphabet is None else as_alphabet(alphabet))
    elif alphabet is not None:
        raise RecipeError("alphabet has no effect with a HankelMatrix, which has its own")
    matrix_fields = {name: fields.pop(name) for name in MATRIX_FIELDS if name in fields}
    _check_spelling(fields)
    settings = called_options(LEARNERS, options, rank, fields)
    if isinstance(data, HankelMatrix):
        if matrix_fields:
            raise RecipeError(
                f"{enumeration(list(matrix_fields))} can be chosen only with strings; the Hankel "
                "matrix that was passed has its own"
            )
        train = None if strings is None else _in_alphabet_of(data, strings, "strings")
        return _fit_given_matrix(
            data, settings, train, validation, cache or FitCache(), report, cancelled
        )
    if strings is not None:
        raise TypeError(f"strings can only be passed with a HankelMatrix; got {data!r:.60}")
    if cache is not None and settings.needs_hankel:
        raise TypeError(f"cache can only be passed with a HankelMatrix; got {data!r:.60}")
    held_out = _validation_of(data, validation)
    if isinstance(settings, NetworkLearner) and not settings.needs_hankel:
        if matrix_fields:
            setting = {"objective": settings.objective}
            raise NoEffect(next(iter(matrix_fields)), setting, needs={"objective": ("hankel",)})
        return _fit_by_likelihood(data, settings, cache or FitCache(), report, cancelled)
    if isinstance(settings, StringLearner):
        if matrix_fields:
            setting = {"learner": settings.learner}
            raise NoEffect(next(iter(matrix_fields)), setting, needs={"learner": HANKEL_LEARNERS})
        return _fit_strings(data, held_out, settings, report, cancelled)
    assert isinstance(settings, HankelLearner)
    hankel = build_hankel(data, matrix_recipe(settings, matrix_fields))
    return _fit_matrix(hankel, settings, data, held_out, FitCache(), report, cancelled)


def _check_spelling(fields: Mapping[str, Any]) -> None:
    """Raise RecipeError if the name of a field is nearly that of one of the matrix's fields.

    All other unknown fields are refused with the learner's options.
    """
    known = {name for kind in LEARNERS.values() for name in kind.model_fields}
    for name in fields.keys() - known:
        advice = did_you_mean(name, MATRIX_FIELDS)
        if advice:
            raise RecipeError(f"unknown field {name!r}{advice}")


def _fit_given_matrix(
    hankel: HankelMatrix,
    settings: LearnerOptions,
    train: Sample | None,
    validation: SampleLike | None,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Fit:
    """Learn from a matrix that the caller has passed, perhaps with the training strings."""
    if not isinstance(settings, HankelLearner):
        raise RecipeError(f"{settings.learner} learns from strings; got a HankelMatrix")
    if not settings.needs_hankel and train is None:
        raise RecipeError(
            "training by likelihood needs strings; got only a HankelMatrix: also pass `strings`"
        )
    if train is not None:
        held_out = _validation_of(train, validation)
    elif validation is not None:
        held_out = _in_alphabet_of(hankel, validation, "validation")
    else:
        held_out = None
    if isinstance(settings, NetworkLearner) and train is not None and not settings.needs_hankel:
        return _fit_by_likelihood(train, settings, cache, report, cancelled)
    return _fit_matrix(hankel, settings, train, held_out, cache, report, cancelled)


def _sample_of(data: SampleLike, alphabet: Alphabet | None) -> Sample:
    try:
        return as_sample(data, alphabet, name="data")
    except TypeError as error:
        raise TypeError(f"{error}; data may also be a HankelMatrix") from None


def matrix_recipe(settings: HankelLearner, fields: Mapping[str, Any]) -> HankelRecipe:
    """Make the recipe of a learner's matrix, with boundary symbols if the learner needs them."""
    statistic, transform = (
        fields.get(name, options_of(HankelRecipe)[name].default)
        for name in ("statistic", "transform")
    )
    bounded = settings.needs_boundary(statistic, transform)
    return HankelRecipe(**fields, bounded=bounded)


def _fit_matrix(
    hankel: HankelMatrix,
    settings: HankelLearner,
    train: Sample | None,
    validation: Sample | None,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Fit:
    """Learn a model from a matrix: two steps, then a refinement, which may need `train`."""
    check_rank(hankel, settings.rank)
    settings.check_limits()
    if settings.refine == "likelihood" and train is None:
        raise RecipeError("refining by likelihood needs training strings; got none")
    check_cancelled(cancelled)
    steps, svd, start_errors = settings.two_steps(hankel, validation, cache, report, cancelled)
    started = perf_counter()
    if settings.refine == "hankel":
        steps = refine_hankel(hankel, steps, settings, report, cancelled)
    model = replace(string_model(hankel, steps), alphabet=hankel.alphabet)
    logs = steps.logs
    seconds = steps.seconds
    if settings.refine == "likelihood" and train is not None:
        from .refine.likelihood import refine_likelihood

        model, log = refine_likelihood(
            model, train, validation, settings, report, cancelled, first_strings(hankel)
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


def _fit_strings(
    train: Sample,
    validation: Sample | None,
    settings: StringLearner,
    report: Report,
    cancelled: CancelCheck,
) -> Fit:
    """Learn a model from the strings themselves."""
    model = replace(settings.fit(train, validation, report, cancelled), alphabet=train.alphabet)
    learned = FitReport(
        settings.learner,
        rank=settings.rank,
        num_states=model.num_states,
        singular_values=None,
        numerical_rank=None,
        spectral_radius=model.spectral_radius if isinstance(model, WFA) else None,
        logs=(),
        messages=divergence_warnings(model),
        seconds={},
    )
    return Fit(model, learned)


def _fit_by_likelihood(
    train: Sample,
    settings: NetworkLearner,
    cache: FitCache,
    report: Report,
    cancelled: CancelCheck,
) -> Fit:
    """Learn a network from the strings, without a matrix."""
    check_size(train.num_symbols, settings.rank)
    settings.check_limits()
    check_cancelled(cancelled)
    started = perf_counter()
    stage = settings.by_likelihood(train, cache, report, cancelled)
    model = replace(stage.padded.model(), alphabet=train.alphabet)
    notes = (stage.note,) if stage.note else ()
    faults = (stage.log.message,) if stage.log.message else ()
    learned = FitReport(
        settings.learner,
        rank=settings.rank,
        num_states=model.num_states,
        singular_values=None,
        numerical_rank=None,
        spectral_radius=None,
        logs=(stage.log,),
        messages=(*faults, *notes, *divergence_warnings(model)),
        seconds={"likelihood": perf_counter() - started},
        notes=notes,
    )
    return Fit(model, learned)


def _in_alphabet_of(hankel: HankelMatrix, strings: SampleLike, name: str) -> Sample:
    """Renumber strings to match the alphabet of a matrix, if it has one."""
    sample = as_sample(strings, None if isinstance(strings, Sample) else hankel.alphabet, name)
    if hankel.alphabet is not None:
        sample = sample.in_alphabet(hankel.alphabet, "the Hankel matrix's")
    number = hankel.num_symbols - hankel.num_marks
    if sample.num_symbols != number:
        raise RecipeError(
            f"the Hankel matrix has {plural(number, 'symbol')}, but {name} has "
            f"{sample.alphabet.summary}"
        )
    return sample


def _validation_of(train: Sample, validation: SampleLike | None) -> Sample | None:
    if isinstance(validation, Sample):
        return validation.in_alphabet(train.alphabet, "the training strings'")
    return None if validation is None else as_sample(validation, train.alphabet, "validation")


def empty_word_messages(hankel: HankelMatrix, is_linear: bool) -> list[str]:
    """Tell the user if the row or the column of λ holds only zeros. A model then does not know
    where strings begin or end.

    The row of λ holds the whole strings that are suffixes of the basis, and the column of λ holds
    those that are prefixes of the basis. An automaton takes its initial and final weights from this
    row and column.
    """
    row = hankel.block[[0]]
    column = hankel.block[:, [0]]
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
        f"No training string is among the {among} of the basis, {effect}. Use more "
        f"{' and '.join(empty)}, or another statistic."
    ]
