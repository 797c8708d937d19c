"""Define the commands `fit` and `select-rank`, which learn models.

Most of their options are fields of a recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from .. import limits
from ..errors import RecipeError, check_one_of, listed
from ..experiment.recipe import (
    LEARNING_SEEDS,
    OPTIONS,
    Recipe,
    number_ranges,
    with_fields,
)
from ..files import ascii_json
from ..learning.learners import LEARNERS, STRING_LEARNERS
from ..learning.names import OPTIMIZERS
from ..learning.shared_options import Networks
from ..metrics.score_table import CRITERIA, SELECTION_METRICS
from ..search.budget import DEFAULT_BUDGET, MAX_STATES, MINUTES, Budget
from ..sources.counting import MAX_DISTINCT
from ..sources.reading import Reading
from .inputs import (
    STRINGS,
    DeclaredAlphabet,
    MinCount,
    Symbols,
    Unknown,
    file_name,
    read_sample,
    read_words,
)
from .outputs import Force, check_new_model
from .recipe_options import (
    LEARNING,
    check_effects,
    no_effect,
    option_names,
    takes_fields,
    takes_reading,
)
from .running import peak_memory, progress_bar, stopped_by_signals
from .terminal import AsJson, Output, log_line, print_notes
from .text import (
    criteria_summary,
    fit_summary,
    folds_summary,
    ranks_summary,
    search_notes,
    search_summary,
)

if TYPE_CHECKING:
    from ..learning.fitting import Fit
    from ..search.rank_selection import RankSelection
    from ..strings.sample import Sample

VALIDATION = "validation"  # the criterion by which `select-rank` chooses by default

# Training strings, validation strings, and notes.
TrainingStrings: TypeAlias = "tuple[Sample, Sample | None, tuple[str, ...]]"
Train = Annotated[Path, typer.Option(help=f"Training strings: {STRINGS}")]
MaxDistinct = Annotated[
    int | None,
    typer.Option(
        help="The most distinct training strings to hold in memory; beyond that, rare ones are "
        f"dropped (PAutomaC files). By default {MAX_DISTINCT:,}."
    ),
]
LEARNER_HELP = f"How to learn: {', '.join(LEARNERS)}."
Learner = Annotated[str, typer.Option(help=LEARNER_HELP)]


@takes_fields(LEARNING)
@takes_reading
def fit(
    train: Train,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    field_values: Mapping[str, Any],
    reading: Reading,
    learner: Annotated[str | None, typer.Option(help=LEARNER_HELP)] = None,
    rank: Annotated[int | None, typer.Option(help=OPTIONS["rank"].help)] = None,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Validation strings, which decide when `--refine likelihood` and "
            f"{', '.join(STRING_LEARNERS)} stop, and what `--starts` and `--preset` choose: "
            f"{STRINGS}"
        ),
    ] = None,
    preset: Annotated[
        Literal["best"] | None,
        typer.Option(help="Choose the learner, rank and options by validation strings."),
    ] = None,
    max_states: Annotated[
        int | None,
        typer.Option(
            help="The largest number of states that a preset may use, summed over all parts of a "
            f"mixture; by default {MAX_STATES}."
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(
            help=f"The largest number of minutes that a preset may use, by default {MINUTES:g}; it "
            "stops earlier if more time does not help."
        ),
    ] = None,
    with_ngrams: Annotated[
        bool,
        typer.Option(
            help="Let a preset return an n-gram, or a mixture with n-grams or of next-symbol "
            "probabilities; these are not automata."
        ),
    ] = False,
    with_lstm: Annotated[
        bool,
        typer.Option(
            help="Let a preset return an LSTM, or a mixture with one or of next-symbol "
            "probabilities; these are not automata."
        ),
    ] = False,
    max_distinct: MaxDistinct = None,
    alphabet: DeclaredAlphabet = None,
    unknown: Unknown = None,
    min_count: MinCount = None,
    force: Force = False,
) -> Output:
    """Learn a model and write it to a folder."""
    from ..models.model_files import save

    read = partial(
        _read_strings,
        train,
        validation,
        reading,
        max_distinct,
        Symbols.of(alphabet, unknown, min_count),
    )
    if preset is not None:
        _check_preset(learner, rank, field_values)
        budget = _budget(minutes, max_states, field_values)
        check_new_model(out, force)
        others = [
            name for name, allowed in (("n-gram", with_ngrams), ("LSTM", with_lstm)) if allowed
        ]
        return _search(train, reading, read, budget, out, others)
    recipe = learning_recipe(learner, rank, field_values)
    of_presets = {"--max-states": max_states, "--minutes": minutes}
    of_presets |= {"--with-ngrams": with_ngrams or None, "--with-lstm": with_lstm or None}
    for name, value in of_presets.items():
        if value is not None:
            other = (
                ": without a preset, --rank sets the number of states"
                if name == "--max-states"
                else ""
            )
            raise RecipeError(f"{name} is only for --preset{other}")
    learning = recipe.learning
    chooses = (
        isinstance(learning, Networks) and learning.needs_hankel and learning.number_of_starts > 1
    )
    used = not learning.from_hankel or learning.refinement == "likelihood" or chooses
    if validation is not None and not used:
        setting = f"--learner {learner} --refine {learning.refinement}"
        if not learning.needs_hankel:
            setting = f"--learner {learner} --objective likelihood"
        raise no_effect("--validation", setting, "--refine likelihood, --starts or --preset best")
    check_new_model(out, force)
    started = perf_counter()
    sample, held_out, notes = read()
    print_notes(notes)
    learned, text, fit_notes = _fit_recipe(recipe, sample, held_out, perf_counter() - started)
    messages = learned.report.messages
    info = {
        "recipe": recipe.model_dump(mode="json", exclude={"data"}),
        **_training_info(train, reading, sample),
        "messages": list(messages),
    }
    save(learned, out, info, alphabet=sample.alphabet)
    return Output(f"{text}\nmodel    {out}", (*fit_notes, *messages))


def _budget(
    minutes: float | None, max_states: int | None, field_values: Mapping[str, Any]
) -> Budget:
    """Make the budget of a preset from the options that were entered."""
    return Budget(
        minutes=DEFAULT_BUDGET.minutes if minutes is None else minutes,
        max_states=DEFAULT_BUDGET.max_states if max_states is None else max_states,
        seed=field_values.get("learning_seed", DEFAULT_BUDGET.seed),
    )


def _training_info(train: Path, reading: Reading, sample: Sample) -> dict[str, Any]:
    """Return what a model's folder says about its training strings."""
    from ..experiment.notes import training_keys

    return {
        "training_file": file_name(train),
        "training_keys": training_keys(sample),
        "reading": reading.changes(),
    }


def _search(
    train: Path,
    reading: Reading,
    read: Callable[[], TrainingStrings],
    budget: Budget,
    out: Path,
    other_models: Sequence[str],
) -> Output:
    """Search for the best model within a budget, and write it.

    `read` reads the strings; `other_models` are those of `search`.
    """
    from ..models.model_files import save
    from ..search.loop import search

    sample, held_out, notes = read()
    print_notes(notes)
    with stopped_by_signals() as stop, progress_bar() as report:
        best = search(
            sample,
            held_out,
            budget,
            stop=stop,
            report=report,
            log=log_line,
            other_models=other_models,
        )
    info: dict[str, Any] = {
        "preset": "best",
        "budget": asdict(budget),
        "search": best.record,
        **_training_info(train, reading, sample),
        "messages": [],
    }
    save(best.model, out, info, alphabet=sample.alphabet)
    return Output(f"{search_summary(best)}\nmodel    {out}", search_notes(best))


def _read_strings(
    train: Path,
    validation: Path | None,
    reading: Reading,
    max_distinct: int | None,
    symbols: Symbols,
) -> TrainingStrings:
    """Read training strings and validation strings, if there are any, over the same alphabet,
    with notes.
    """
    sample, notes = _read_training(train, reading, max_distinct, symbols)
    if validation is None:
        return sample, None, notes
    sample, held_out, validation_notes = _with_validation(sample, validation, reading)
    return sample, held_out, (*notes, *validation_notes)


def _read_training(
    path: Path, reading: Reading, max_distinct: int | None, symbols: Symbols
) -> tuple[Sample, tuple[str, ...]]:
    """Read training strings over the alphabet of the model, with notes."""
    from ..experiment.notes import mapped_notes, symbol_for_unknown_notes

    read, notes = read_sample(path, reading, max_distinct, symbols.declared)
    alphabet = symbols.known_in(read)
    if alphabet.unknown is None:  # no symbol stands for others
        return read, notes
    sample = read.in_alphabet(alphabet)
    return sample, (
        *notes,
        *mapped_notes(read, alphabet, "training"),
        *symbol_for_unknown_notes(read, sample),
    )


def _fit_recipe(
    recipe: Recipe, train: Sample, validation: Sample | None, reading: float
) -> tuple[Fit, str, tuple[str, ...]]:
    """Fit a recipe to strings.

    Returns the fit, its description and notes; `reading` is the seconds spent on reading the files.
    """
    from ..experiment.notes import basis_notes
    from ..hankel.estimate import build_hankel
    from ..learning import fitting

    started = perf_counter()
    learning = recipe.learning
    if learning.needs_hankel:
        hankel = build_hankel(train, recipe.hankel)
        middle = perf_counter()
        with progress_bar() as report:
            learned = fitting.fit(
                hankel, learning, strings=train, validation=validation, report=report
            )
        seconds = {"hankel": middle - started, **learned.report.seconds}
        notes = basis_notes(hankel, recipe.hankel)
    else:
        hankel = None
        notes = ()
        with progress_bar() as report:
            learned = fitting.fit(train, learning, validation=validation, report=report)
        seconds = {"learning": perf_counter() - started}
    times = {"reading": reading, **seconds, "total": reading + perf_counter() - started}
    return (
        learned,
        fit_summary(learning, train, hankel, learned.model, learned.report, times, peak_memory()),
        notes,
    )


def learning_recipe(
    learner: str | None, rank: int | None, field_values: Mapping[str, Any]
) -> Recipe:
    """Make a recipe from a command's options.

    Raises RecipeError if an option would have no effect.
    """
    if learner is None or rank is None:
        raise RecipeError(
            "a learner and a rank are needed: for example --learner SP --rank 10, or --preset best"
        )
    # an optimiser that only steps 1 and 2 have
    if field_values.get("optimizer_refinement", "lbfgs") not in OPTIMIZERS:
        field_values = {
            name: value for name, value in field_values.items() if name != "optimizer_refinement"
        }
    recipe = with_fields(Recipe(), {"learner": learner, "rank": rank}, field_values)
    check_effects(LEARNING, field_values, recipe)
    return recipe


def _check_preset(learner: str | None, rank: int | None, field_values: Mapping[str, Any]) -> None:
    """Raise RecipeError if an option would have no effect with a preset."""
    named = [
        name for name, value in (("--learner", learner), ("--rank", rank)) if value is not None
    ]
    named = [*named, *option_names(LEARNING, set(field_values) - set(LEARNING_SEEDS))]
    if named:
        raise RecipeError(
            f"--preset best chooses the learner, rank and options itself: leave out {listed(named)}"
        )


def _with_validation(
    sample: Sample, path: Path, reading: Reading
) -> tuple[Sample, Sample, tuple[str, ...]]:
    """Read validation strings, and renumber them and the training strings by one common
    alphabet.
    """
    from ..experiment.notes import mapped_notes, overlap_notes, unseen_notes

    file = read_words(path, reading, sample.alphabet)
    held_out = file.sample()
    if sample.alphabet.unknown is not None:
        train = sample
        mapped = mapped_notes(held_out, sample.alphabet, "validation")
        held_out = held_out.in_alphabet(sample.alphabet)
    else:
        train = replace(sample, alphabet=file.alphabet)
        mapped = ()
    notes = (
        *mapped,
        *unseen_notes(sample, held_out, "validation"),
        *overlap_notes(train, held_out, "validation"),
    )
    return train, held_out, (*file.notes, *notes)


@takes_fields(LEARNING)
@takes_reading
def select_rank(
    train: Train,
    learner: Learner,
    ranks: Annotated[
        str,
        typer.Option(
            help="Ranks to try: a list such as 1,2,5,10, or ranges such as 2-20, or 5-50:5 in "
            "steps of 5."
        ),
    ],
    field_values: Mapping[str, Any],
    reading: Reading,
    validation: Annotated[Path | None, typer.Option(help=f"Validation strings: {STRINGS}")] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            help="Instead of --validation: the number of folds for cross-validation on the "
            "training strings."
        ),
    ] = None,
    fold_seed: Annotated[
        int | None,
        typer.Option(min=0, help="The seed for dividing the strings into folds, by default 0."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help=f"The score to choose by: {', '.join(SELECTION_METRICS)}; by default wer."
        ),
    ] = None,
    criterion: Annotated[
        str,
        typer.Option(
            help="What to choose by: validation (a score, with --validation or --folds), aic or "
            "bic (from the training strings alone)."
        ),
    ] = VALIDATION,
    max_distinct: MaxDistinct = None,
    alphabet: DeclaredAlphabet = None,
    unknown: Unknown = None,
    min_count: MinCount = None,
    as_json: AsJson = False,
) -> Output:
    """Learn a model with each rank, score it on validation strings, by cross-validation, or by AIC
    or BIC, and print the best rank.
    """
    from ..metrics.testset import TestSet
    from ..search.rank_selection import select_rank as best_of_ranks

    check_one_of("criterion", criterion, (VALIDATION, *CRITERIA))
    by_criterion = criterion in CRITERIA
    _check_choice(criterion, validation, folds, fold_seed, metric)
    if folds is not None and reading.window:
        raise RecipeError(
            "--folds can't be used with --window: folds are drawn at random, and adjacent windows "
            "are not independent; use --validation with a later part of the sequence"
        )
    score_name = criterion if by_criterion else metric or "wer"
    if not by_criterion:
        check_one_of("metric", score_name, SELECTION_METRICS)
    ranks_to_try = number_ranges("ranks", ranks, limits.most("rank"))
    recipe = learning_recipe(learner, ranks_to_try[0], field_values)
    symbols = Symbols.of(alphabet, unknown, min_count)
    read, read_notes = _read_training(train, reading, max_distinct, symbols)
    if folds is not None:
        divided = (folds, fold_seed or 0)
        return _select_by_folds(
            (read, read_notes), recipe, ranks_to_try, divided, score_name, as_json
        )
    sample = read
    test = None
    if validation is not None:
        sample, held_out, validation_notes = _with_validation(read, validation, reading)
        test = TestSet.empirical(held_out)
        read_notes = (*read_notes, *validation_notes)
    print_notes(read_notes)
    with progress_bar() as report:
        selection = best_of_ranks(
            sample, test, ranks_to_try, recipe, metric=score_name, report=report
        )
    if as_json:
        return Output(_selection_json(learner, selection), selection.notes)
    summary = criteria_summary if by_criterion else ranks_summary
    return Output(summary(learner, selection), selection.notes)


def _check_choice(
    criterion: str,
    validation: Path | None,
    folds: int | None,
    fold_seed: int | None,
    metric: str | None,
) -> None:
    """Raise RecipeError if it is not clear how the rank is to be chosen, or if one of these options
    would have no effect.
    """
    if criterion in CRITERIA:
        for option, value in (
            ("--validation", validation),
            ("--folds", folds),
            ("--fold-seed", fold_seed),
            ("--metric", metric),
        ):
            if value is not None:
                raise no_effect(option, f"--criterion {criterion}", f"--criterion {VALIDATION}")
    elif (validation is None) == (folds is None):
        got = "neither" if folds is None else "both"
        raise RecipeError(f"choose the rank with either --validation or --folds; got {got}")
    elif folds is None and fold_seed is not None:
        raise no_effect("--fold-seed", "--validation", "--folds")


def _selection_json(learner: str, selection: RankSelection) -> str:
    rows = [{"rank": rank, **asdict(scores)} for rank, scores in selection.scores]
    for rank, criteria in selection.criteria:
        values = {**asdict(criteria), "aic": criteria.aic, "bic": criteria.bic}
        rows.append({"rank": rank, **values})
    found = {"learner": learner, "metric": selection.metric, "rank": selection.rank}
    return ascii_json({**found, "scores": rows})


def _select_by_folds(
    read: tuple[Sample, tuple[str, ...]],
    recipe: Recipe,
    ranks: Sequence[int],
    folds: tuple[int, int],
    metric: str,
    as_json: bool,
) -> Output:
    """Cross-validate every rank.

    `read` has the strings and notes on reading them, `folds` the number and the seed of the folds.
    """
    from ..experiment.cross_validation import cross_validate

    print_notes(read[1])
    with progress_bar() as report:
        validated = cross_validate(
            read[0], recipe, folds[0], ranks=ranks, seed=folds[1], report=report
        )
    notes = tuple(dict.fromkeys(validated.notes))
    learner = recipe.learning.learner
    if not as_json:
        return Output(folds_summary(learner, validated, metric), notes)
    scores = [
        {"rank": rank, "folds": [asdict(one) for one in by_fold]}
        for rank, by_fold in validated.scores
    ]
    return Output(
        ascii_json(
            {
                "learner": learner,
                "metric": metric,
                "rank": validated.best_rank(metric),
                "folds": folds[0],
                "scores": scores,
            }
        ),
        notes,
    )
