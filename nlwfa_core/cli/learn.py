"""The commands that learn: `fit` and `select-rank`. Most of their options are fields of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import RecipeError, listed
from ..experiment.fields import HELP, ignored_fields, whole_numbers, with_fields
from ..experiment.presets import converged
from ..experiment.recipe import Recipe
from ..learning.names import HANKEL_LEARNERS, check_learner
from ..metrics.scores import RANK_METRICS
from ..sources.counting import MAX_DISTINCT
from .options import LEARNING, option_names, takes_fields
from .terminal import STRINGS, AsJson, Format, Output, check_writable, file_name, peak_memory, progress_bar, read_sample, read_words
from .text import best_summary, fit_summary, json_text, ranks_summary

if TYPE_CHECKING:
    from ..strings.sample import Sample

Train = Annotated[Path, typer.Option(help=f"Training strings: {STRINGS}")]
MaxDistinct = Annotated[
    int, typer.Option(help="Distinct training strings to hold in memory; rare ones above that are dropped (PAutomaC files).")
]
LEARNER_HELP = f"How to learn: {', '.join(HANKEL_LEARNERS)}."
Learner = Annotated[str, typer.Option(help=LEARNER_HELP)]
Rank = Annotated[int, typer.Option(help=HELP["rank"])]
MAX_STATES = 20
SEEDS = {"learning_seed", "refinement_seed"}


@takes_fields(LEARNING)
def fit(
    train: Train,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    field_values: Mapping[str, Any],
    learner: Annotated[str | None, typer.Option(help=LEARNER_HELP)] = None,
    rank: Annotated[int | None, typer.Option(help=HELP["rank"])] = None,
    validation: Annotated[
        Path | None, typer.Option(help=f"What `--refine likelihood` stops by and `--preset` chooses by: {STRINGS}")
    ] = None,
    preset: Annotated[Literal["best"] | None, typer.Option(help="Choose learner, rank and options by validation strings.")] = None,
    max_states: Annotated[int | None, typer.Option(help=f"States that a preset may use, by default {MAX_STATES}.")] = None,
    format: Format = "auto",
    max_distinct: MaxDistinct = MAX_DISTINCT,
) -> Output:
    """Learn a model and write it to a folder."""
    from ..experiment.pipeline import basis_notes, build_hankel, fit_recipe
    from ..experiment.selection import fit_best
    from ..models.files import SavedModel, save_model

    if preset is None:
        recipe, notes = _recipe(learner, rank, field_values)
        if max_states is not None:
            raise RecipeError("--max-states is only for --preset: without a preset, --rank sets the number of states")
    else:
        _check_preset(learner, rank, validation, field_values)
        recipe, notes = Recipe(), ()
    check_writable(out)
    times = [perf_counter()]
    sample, read_notes = read_sample(train, format, max_distinct)
    notes += read_notes
    held_out: Sample | None = None
    if validation is not None:
        sample, held_out, validation_notes = _with_validation(sample, validation, format)
        notes += validation_notes
    times.append(perf_counter())
    info: dict[str, Any] = {}
    if preset is not None and held_out is not None:
        with progress_bar() as report:
            best = fit_best(
                sample,
                held_out,
                MAX_STATES if max_states is None else max_states,
                seed=field_values.get("learning_seed", 0),
                report=report,
            )
        recipe, learned, info = best.recipe, best.fit, {"preset": preset}
        text = best_summary(best, perf_counter() - times[0])
    else:
        hankel = build_hankel(sample, recipe.hankel)
        times.append(perf_counter())
        with progress_bar() as report:
            learned = fit_recipe(recipe, hankel, (sample, held_out), report=report)
        seconds = {"reading": times[1] - times[0], "hankel": times[2] - times[1], **learned.report.seconds}
        text = fit_summary(sample, hankel, learned.report, seconds | {"total": perf_counter() - times[0]}, peak_memory())
        notes += basis_notes(hankel, recipe.hankel)
    messages = learned.report.messages
    info = {
        "recipe": recipe.model_dump(mode="json", exclude={"data"}),
        **info,
        "training_file": file_name(train),
        "messages": list(messages),
    }
    save_model(out, SavedModel(learned.model, sample.alphabet, info))
    return Output(f"{text}\nmodel    {out}", (*notes, *messages))


def _recipe(learner: str | None, rank: int | None, field_values: Mapping[str, Any]) -> tuple[Recipe, tuple[str, ...]]:
    """Make the recipe of a command's options, and a note if some of these have no effect."""
    if learner is None or rank is None:
        raise RecipeError("a learner and a rank are needed: for example --learner SP --rank 10, or --preset best with --validation")
    check_learner(learner)
    base = converged(field_values.get("refine", "none"))
    recipe = with_fields(base, {**field_values, "learner": learner, "rank": rank})
    ignored = option_names(LEARNING, (ignored_fields(recipe) & set(field_values)) - SEEDS)  # a seed without effect misleads nobody
    refinement = "" if recipe.refinement.objective == "none" else f" refined by {recipe.refinement.objective}"
    return recipe, (f"{learner}{refinement} does not use {listed(ignored)}.",) if ignored else ()


def _check_preset(learner: str | None, rank: int | None, validation: Path | None, field_values: Mapping[str, Any]) -> None:
    """Raise RecipeError if an option would have no effect with a preset, or if there are no validation strings."""
    named = [name for name, value in (("--learner", learner), ("--rank", rank)) if value is not None]
    if named := [*named, *option_names(LEARNING, set(field_values) - SEEDS)]:
        raise RecipeError(f"--preset best chooses learner, rank and options itself: leave out {listed(named)}")
    if validation is None:
        raise RecipeError("--preset best chooses by validation strings, so --validation is needed")


def _with_validation(sample: Sample, path: Path, format: str) -> tuple[Sample, Sample, tuple[str, ...]]:
    """Read validation strings, and give them and the training strings one alphabet, as the lab does."""
    from ..experiment.data import unseen_notes

    file = read_words(path, format, sample.alphabet)
    held_out = file.sample()
    notes = (*file.notes, *unseen_notes(sample, held_out, "validation"))
    return replace(sample, alphabet=file.alphabet), held_out, notes


@takes_fields(LEARNING)
def select_rank(
    train: Train,
    validation: Annotated[Path, typer.Option(help=f"Validation strings: {STRINGS}")],
    learner: Learner,
    ranks: Annotated[str, typer.Option(help="Ranks to try, as 1,2,5,10.")],
    field_values: Mapping[str, Any],
    metric: Annotated[str, typer.Option(help=" or ".join(RANK_METRICS))] = "wer",
    format: Format = "auto",
    max_distinct: MaxDistinct = MAX_DISTINCT,
    as_json: AsJson = False,
) -> Output:
    """Learn with every rank, score on validation strings, and print the best rank."""
    from ..experiment.selection import select_rank as best_of_ranks
    from ..metrics.scores import TestSet

    tried = whole_numbers("ranks", ranks)
    recipe, notes = _recipe(learner, tried[0], field_values)
    read, read_notes = read_sample(train, format, max_distinct)
    sample, held_out, validation_notes = _with_validation(read, validation, format)
    with progress_bar() as report:
        selection = best_of_ranks(sample, TestSet.empirical(held_out), tried, recipe, metric=metric, report=report)
    notes = (*notes, *read_notes, *validation_notes, *selection.notes)
    if not as_json:
        return Output(ranks_summary(learner, selection), notes)
    scores = [{"rank": rank, **asdict(scores)} for rank, scores in selection.scores]
    return Output(json_text({"learner": learner, "metric": selection.metric, "rank": selection.rank, "scores": scores}), notes)
