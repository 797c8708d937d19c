"""Define the commands `fit-values` and `score-values`, for functions of strings that are not
probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import check_one_of, plural
from ..experiment.presets import converged
from ..experiment.recipe import HELP, Condition, Recipe, unmet_conditions, with_fields
from ..learning.names import (
    HANKEL_LEARNERS,
    LEARNERS,
    VALUE_REFINEMENTS,
    VALUE_TRANSFORMS,
    check_learner,
)
from ..sources.files import read_as
from ..sources.recognition import reading_of
from .options import MATRIX, NETWORKS, Options, check_effects, no_effect, takes_fields
from .terminal import (
    AsJson,
    Force,
    Model,
    Output,
    check_new_model,
    errors_naming,
    file_name,
    notes_on_unknown,
    print_notes,
    progress_bar,
    read_bytes,
    read_model,
)
from .text import json_text, value_score_summary, values_summary

if TYPE_CHECKING:
    from ..sources.values import ValueFile
    from ..strings.words import Alphabet

VALUES = (
    "a table (CSV) with two columns, string and value, and a first line that names them, such as "
    "`string,value`; or an Abbadingo file. A file of strings without values is for `fit` and "
    "`score`."
)
VALUE_OPTIONS: Options = {**MATRIX, **NETWORKS, "seed": ("learning_seed",)}
RIDGE, RESTARTS = 1e-6, 128
Rank = Annotated[int, typer.Option(help=HELP["rank"])]
Learner = Annotated[str, typer.Option(help=f"How to learn: {', '.join(HANKEL_LEARNERS)}.")]


def _read(path: Path, alphabet: Alphabet | None = None) -> ValueFile:
    """Read a file of strings and values, with a first note on how it was read.

    Errors name the file.
    """
    from ..sources.values import read_values

    data = read_bytes(path)
    with errors_naming(path):
        read = read_values(data, alphabet)
    words, symbols = read.strings.words, read.strings.alphabet.symbols
    detail = "; ".join(
        filter(None, (f"{plural(len(words), 'string')} with a value each", read.detail))
    )
    return replace(
        read,
        notes=(reading_of(file_name(path), read_as(read.format, symbols, detail)), *read.notes),
    )


def _unmet_conditions(recipe: Recipe, refine: str) -> dict[str, Condition]:
    """Compute `fields.unmet_conditions` for learning from values.

    It differs from learning from strings in two points: step 1 is always trained, because with
    unknown cells it has no closed form, and linear transitions always have a closed form.
    """
    unmet = unmet_conditions(recipe)
    if recipe.learning.kind.networks:
        for field in ("hidden", "epochs_factorisation", "start"):
            unmet.pop(field, None)
        if not recipe.learning.kind.nonlinear_transitions:
            learners = tuple(
                name for name, learner in LEARNERS.items() if learner.nonlinear_transitions
            )
            unmet |= dict.fromkeys(
                ("width_transitions", "epochs_transitions", "rate_transitions"),
                ("learner", learners),
            )
    if refine != "none":
        # has an effect, because it is also the seed of the random starts
        unmet.pop("learning_seed", None)
    return unmet


@takes_fields(VALUE_OPTIONS)
def fit_values(
    train: Annotated[Path, typer.Option(help=f"Strings with known values: {VALUES}")],
    learner: Learner,
    rank: Rank,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    field_values: Mapping[str, Any],
    transform: Annotated[
        str,
        typer.Option(
            help=f"{' or '.join(VALUE_TRANSFORMS)}; sqrt learns the roots of the values and "
            "squares the output."
        ),
    ] = "none",
    ridge: Annotated[
        float | None,
        typer.Option(
            help="Ridge of SP's matrix completion, relative to the largest value; by default "
            f"{RIDGE}."
        ),
    ] = None,
    refine: Annotated[
        str, typer.Option(help=f"A third step: {', '.join(VALUE_REFINEMENTS)}.")
    ] = "none",
    restarts: Annotated[
        int | None,
        typer.Option(
            help="Random starts of the refinement by values, beside the model of the two steps; "
            f"by default {RESTARTS}."
        ),
    ] = None,
    force: Force = False,
) -> Output:
    """Learn a function of strings from some of its values, and write the model to a folder."""
    from ..learning import options as learning_options
    from ..learning.values import fit_values as learn
    from ..models.files import save

    check_learner(learner)
    check_one_of("refine", refine, VALUE_REFINEMENTS)
    recipe = with_fields(converged(), {**field_values, "learner": learner, "rank": rank})
    unmet = _unmet_conditions(recipe, refine)
    if ridge is not None and recipe.learning.kind.networks:
        raise no_effect("--ridge", f"--learner {learner}", "--learner SP")
    if restarts is not None and refine == "none":
        raise no_effect("--restarts", "--refine none", "--refine values")
    check_effects(VALUE_OPTIONS, field_values, recipe, unmet)
    ridge, restarts = RIDGE if ridge is None else ridge, RESTARTS if restarts is None else restarts
    learning, hankel = dict(recipe.learning), recipe.hankel
    refinement = learning_options.Refinement(refine, restarts=restarts, seed=recipe.learning.seed)
    options = learning | {
        "num_prefixes": hankel.num_prefixes,
        "num_suffixes": hankel.num_suffixes,
        "transform": transform,
        "ridge": ridge,
        "refine": refine,
        "restarts": restarts,
    }
    check_new_model(out, force)
    read = _read(train)
    print_notes(read.notes)
    with progress_bar() as report:
        learned = learn(
            read.strings,
            learning_options.Options(**learning, ridge=ridge, refinement=refinement),
            basis=read.strings.basis(hankel.num_prefixes, hankel.num_suffixes),
            transform=transform,
            report=report,
        )
    messages = learned.report.messages
    info = {"values": options, "training_file": file_name(train), "messages": list(messages)}
    save(learned, out, info, alphabet=read.strings.alphabet)
    return Output(
        f"{values_summary(read.strings, learned.report)}\nmodel    {out}", tuple(messages)
    )


def score_values(
    model: Model,
    test: Annotated[Path, typer.Option(help=f"Strings to score on: {VALUES}")],
    as_json: AsJson = False,
) -> Output:
    """Print a model's error on strings with known values."""
    from ..hankel.values import value_scores
    from ..models.unseen import extended
    from ..strings.sample import Sample

    saved = read_model(model)
    read = _read(test, saved.alphabet)
    strings = read.strings
    model_over_all = extended(saved.model, strings.alphabet)
    scores = value_scores(
        model_over_all.weights(replace(strings.words, alphabet=strings.alphabet)), strings.values
    )
    notes = (
        *read.notes,
        *notes_on_unknown(test, Sample.of(strings.words, strings.alphabet), saved.alphabet),
    )
    return Output(json_text(asdict(scores)) if as_json else value_score_summary(scores), notes)
