"""The commands that learn: `fit` and `select-rank`. Their options are those of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal, get_type_hints

import typer

from ..errors import RecipeError
from ..experiment.data import unseen_notes
from ..experiment.pipeline import basis_notes, build_hankel, fit_recipe
from ..experiment.recipe import HankelRecipe, LearningRecipe, Recipe, RefinementRecipe
from ..experiment.selection import RANK_METRICS, fit_best
from ..experiment.selection import select_rank as best_of_ranks
from ..hankel.names import STATISTICS, TRANSFORMS
from ..learning.names import HANKEL_LEARNERS, REFINEMENTS, check_learner, needs_boundary
from ..metrics.scores import TestSet
from ..models.files import SavedModel, save_model
from ..sources.counting import MAX_DISTINCT
from ..strings.sample import Sample
from .terminal import (
    STRINGS,
    AsJson,
    Format,
    Output,
    Seed,
    check_writable,
    file_name,
    peak_memory,
    progress_bar,
    read_sample,
    read_words,
)
from .text import best_summary, fit_summary, json_text, ranks_summary

HANKEL, LEARNING, REFINEMENT = HankelRecipe(), LearningRecipe(), RefinementRecipe()
LAYERS = ",".join(map(str, LEARNING.hidden))

Train = Annotated[Path, typer.Option(help=f"Training strings: {STRINGS}")]
MaxDistinct = Annotated[int, typer.Option(help="Distinct training strings to hold; rare ones beyond are dropped (PAutomaC files).")]
Learner = Annotated[str, typer.Option(help=", ".join(HANKEL_LEARNERS))]
Prefixes = Annotated[int, typer.Option(help="The most frequent prefixes make the Hankel matrix's rows.")]
Suffixes = Annotated[int, typer.Option(help="The most frequent suffixes make its columns.")]
Statistic = Annotated[str, typer.Option(help=f"What the Hankel matrix counts: {', '.join(STATISTICS)}.")]
Transform = Annotated[str, typer.Option(help=f"What its entries go through: {', '.join(TRANSFORMS)}.")]
Refine = Annotated[str, typer.Option(help=f"A third step that trains all parameters together: {', '.join(REFINEMENTS)}.")]
Batch = Annotated[int, typer.Option(help="Strings a step, where likelihood refines.")]
WeightDecay = Annotated[float, typer.Option(help="Of AdamW, where likelihood refines.")]
Dropout = Annotated[float, typer.Option(help="Share of the states' entries left out in a step, where likelihood refines.")]
Restarts = Annotated[int, typer.Option(help="Random starts beside the two steps' model, where likelihood refines.")]
Hidden = Annotated[str, typer.Option(help="Hidden layers of the factorisation, in multiples of the rank.")]
Width = Annotated[int, typer.Option(help="Hidden units of the transitions, in multiples of the rank; 0: no hidden layer.")]
Epochs = Annotated[int, typer.Option(help="Passes of training, at most; the best one's weights are kept.")]
Rate = Annotated[float, typer.Option(help="Learning rate.")]
Schedule = Annotated[Literal["constant", "cosine"], typer.Option(help="Of the learning rates.")]


@dataclass(frozen=True)
class Options:
    """What both commands take: how to count, and how to learn."""

    format: Format = "auto"
    max_distinct: MaxDistinct = MAX_DISTINCT
    prefixes: Prefixes = HANKEL.num_prefixes
    suffixes: Suffixes = HANKEL.num_suffixes
    statistic: Statistic = HANKEL.statistic
    transform: Transform = HANKEL.transform
    seed: Seed = LEARNING.seed
    hidden: Hidden = LAYERS
    width_transitions: Width = LEARNING.width_transitions
    epochs_factorisation: Epochs = LEARNING.epochs_factorisation
    epochs_transitions: Epochs = LEARNING.epochs_transitions
    rate_factorisation: Rate = LEARNING.rate_factorisation
    rate_transitions: Rate = LEARNING.rate_transitions
    schedule: Schedule = LEARNING.schedule
    refine: Refine = REFINEMENT.objective
    epochs_refinement: Epochs = REFINEMENT.epochs
    rate_refinement: Rate = REFINEMENT.rate
    batch: Batch = REFINEMENT.batch
    weight_decay: WeightDecay = REFINEMENT.weight_decay
    dropout: Dropout = REFINEMENT.dropout
    restarts: Restarts = REFINEMENT.restarts

    def recipe(self, learner: str, rank: int) -> Recipe:
        return Recipe(hankel=self.hankel(learner), learning=self.learning(learner, rank), refinement=self.refinement())

    def hankel(self, learner: str) -> HankelRecipe:
        check_learner(learner)
        return HankelRecipe(
            num_prefixes=self.prefixes,
            num_suffixes=self.suffixes,
            statistic=self.statistic,
            bounded=needs_boundary(learner, self.statistic, self.transform),
            transform=self.transform,
        )

    def learning(self, learner: str, rank: int) -> LearningRecipe:
        return LearningRecipe(
            learner=learner,
            rank=rank,
            hidden=whole_numbers("hidden", self.hidden),
            width_transitions=self.width_transitions,
            epochs_factorisation=self.epochs_factorisation,
            epochs_transitions=self.epochs_transitions,
            rate_factorisation=self.rate_factorisation,
            rate_transitions=self.rate_transitions,
            schedule=self.schedule,
            seed=self.seed,
        )

    def refinement(self) -> RefinementRecipe:
        return RefinementRecipe(
            objective=self.refine,
            epochs=self.epochs_refinement,
            rate=self.rate_refinement,
            batch=self.batch,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            restarts=self.restarts,
            seed=self.seed,
        )


def with_options(command: Callable[..., Output]) -> Callable[..., Output]:
    """A command as typer shall see it: in place of its `options`, all of `Options`."""

    @wraps(command)
    def called(**given: Any) -> Output:
        options = Options(**{field.name: given.pop(field.name) for field in fields(Options)})
        return command(**given, options=options)

    hints = {**get_type_hints(command, include_extras=True), **get_type_hints(Options, include_extras=True)}
    own = [parameter for name, parameter in signature(command).parameters.items() if name != "options"]
    shared = [Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default) for field in fields(Options)]
    called.__signature__ = Signature(  # type: ignore[attr-defined]
        [parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]) for parameter in own + shared]
    )
    called.__annotations__ = {name: hint for name, hint in hints.items() if name not in ("options", "return")}
    return called


@with_options
def fit(
    train: Train,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    options: Options,
    learner: Annotated[str | None, typer.Option(help=", ".join(HANKEL_LEARNERS))] = None,
    rank: Annotated[int | None, typer.Option(help="Number of states.")] = None,
    validation: Annotated[Path | None, typer.Option(help=f"What `likelihood` and `--preset` choose by: {STRINGS}")] = None,
    preset: Annotated[Literal["best"] | None, typer.Option(help="Choose learner and options by validation strings.")] = None,
    max_states: Annotated[int, typer.Option(help="States that a preset may use.")] = 20,
) -> Output:
    """Learn a model and write it to a folder."""
    if preset is not None:
        return _fit_preset(train, out, options, validation, max_states)
    if learner is None or rank is None:
        raise RecipeError("learner and rank are needed: --learner SP --rank 10, say, or --preset best with --validation")
    recipe = options.recipe(learner, rank)
    check_writable(out)
    times = [perf_counter()]
    sample, notes = read_sample(train, options.format, options.max_distinct)
    held_out: Sample | None = None
    if validation is not None:
        sample, held_out, more = _with_validation(sample, validation, options.format)
        notes += more
    times.append(perf_counter())
    hankel = build_hankel(sample, recipe.hankel)
    times.append(perf_counter())
    with progress_bar() as report:
        learned = fit_recipe(recipe, hankel, (sample, held_out), report=report)
    info = {
        "recipe": recipe.model_dump(mode="json", exclude={"data"}),
        "training_file": file_name(train),
        "messages": list(learned.report.messages),
    }
    save_model(out, SavedModel(learned.model, sample.alphabet, info))
    seconds = {"reading": times[1] - times[0], "hankel": times[2] - times[1], **learned.report.seconds}
    text = fit_summary(sample, hankel, learned.report, seconds | {"total": perf_counter() - times[0]}, peak_memory())
    return Output(f"{text}\nmodel    {out}", (*notes, *basis_notes(hankel, recipe.hankel), *learned.report.messages))


def _fit_preset(train: Path, out: Path, options: Options, validation: Path | None, max_states: int) -> Output:
    if validation is None:
        raise RecipeError("preset: 'best' given, which chooses on validation strings: --validation is needed")
    check_writable(out)
    started = perf_counter()
    read, notes = read_sample(train, options.format, options.max_distinct)
    sample, held_out, more = _with_validation(read, validation, options.format)
    with progress_bar() as report:
        best = fit_best(sample, held_out, max_states, seed=options.seed, report=report)
    recipe = best.recipe.model_dump(mode="json", exclude={"data"})
    messages = best.fit.report.messages
    info = {"recipe": recipe, "preset": "best", "training_file": file_name(train), "messages": list(messages)}
    save_model(out, SavedModel(best.fit.model, sample.alphabet, info))
    text = best_summary(best, perf_counter() - started)
    return Output(f"{text}\nmodel    {out}", (*notes, *more, *messages))


def _with_validation(sample: Sample, path: Path, format: str) -> tuple[Sample, Sample, tuple[str, ...]]:
    """Both over the larger alphabet, as in the lab: what validation alone uses costs every model its zeros."""
    file = read_words(path, format, sample.alphabet)
    held_out = file.sample()
    notes = (*file.notes, *unseen_notes(sample, held_out, "validation"))
    return replace(sample, alphabet=file.alphabet), held_out, notes


def whole_numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(entry) for entry in text.split(","))
    except ValueError:
        raise RecipeError(f"{name}: {text[:60]!r} given, whole numbers with commas between them needed, as 2,1,2") from None


@with_options
def select_rank(
    train: Train,
    validation: Annotated[Path, typer.Option(help=f"Validation strings: {STRINGS}")],
    learner: Learner,
    ranks: Annotated[str, typer.Option(help="Ranks to try, as 1,2,5,10.")],
    options: Options,
    metric: Annotated[str, typer.Option(help=" or ".join(RANK_METRICS))] = "wer",
    as_json: AsJson = False,
) -> Output:
    """Learn with each rank, score on validation strings, and say which rank is best."""
    tried = whole_numbers("ranks", ranks)
    recipe = options.recipe(learner, tried[0])
    read, read_notes = read_sample(train, options.format, options.max_distinct)
    sample, held_out, more = _with_validation(read, validation, options.format)
    test_set = TestSet.empirical(held_out)
    with progress_bar() as report:
        chosen = best_of_ranks(sample, test_set, tried, recipe, metric=metric, report=report)
    notes = (*read_notes, *more, *chosen.notes)
    if not as_json:
        return Output(ranks_summary(learner, chosen), notes)
    tried_ranks = [{"rank": rank, **asdict(scores)} for rank, scores in chosen.scores]
    return Output(json_text({"learner": learner, "metric": chosen.metric, "rank": chosen.rank, "scores": tried_ranks}), notes)
