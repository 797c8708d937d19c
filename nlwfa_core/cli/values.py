"""The commands for functions that are not distributions: `fit-values` and `score-values`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..experiment.fields import with_fields
from ..experiment.presets import converged
from ..learning.names import VALUE_REFINEMENTS, VALUE_TRANSFORMS
from .learn import Learner, Rank
from .options import MATRIX, NETWORKS, takes_fields
from .terminal import AsJson, Output, check_known, check_writable, errors_naming, file_name, progress_bar, read_bytes
from .text import json_text, value_score_summary, values_summary

if TYPE_CHECKING:
    from ..sources.values import ValueFile
    from ..strings.words import Alphabet

VALUES = "CSV of strings and values."


def _read(path: Path, alphabet: Alphabet | None = None) -> ValueFile:
    from ..sources.values import read_values

    data = read_bytes(path)
    with errors_naming(path):
        return read_values(data, alphabet)


@takes_fields({**MATRIX, **NETWORKS, "seed": ("learning_seed",)})
def fit_values(
    train: Annotated[Path, typer.Option(help=f"Strings with known values: {VALUES}")],
    learner: Learner,
    rank: Rank,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    field_values: Mapping[str, Any],
    transform: Annotated[
        str, typer.Option(help=f"{' or '.join(VALUE_TRANSFORMS)}; sqrt learns the roots of the values and squares the output.")
    ] = "none",
    ridge: Annotated[float, typer.Option(help="Ridge of SP's matrix completion, relative to the largest value.")] = 1e-6,
    refine: Annotated[str, typer.Option(help=f"A third step: {', '.join(VALUE_REFINEMENTS)}.")] = "none",
    restarts: Annotated[
        int, typer.Option(help="Random starts of the refinement by values, beside the model of the two steps.")
    ] = 128,
) -> Output:
    """Learn a function of strings from some of its values, and write the model to a folder."""
    from ..learning.options import Options, Refinement
    from ..learning.values import fit_values as learn
    from ..models.files import SavedModel, save_model

    recipe = with_fields(converged(), {**field_values, "learner": learner, "rank": rank})
    learning, hankel = dict(recipe.learning), recipe.hankel
    refinement = Refinement(refine, restarts=restarts, seed=recipe.learning.seed)
    options = learning | {
        "num_prefixes": hankel.num_prefixes,
        "num_suffixes": hankel.num_suffixes,
        "transform": transform,
        "ridge": ridge,
        "refine": refine,
        "restarts": restarts,
    }
    check_writable(out)
    read = _read(train)
    with progress_bar() as report:
        learned = learn(
            read.strings,
            Options(**learning, ridge=ridge, refinement=refinement),
            basis=read.strings.basis(hankel.num_prefixes, hankel.num_suffixes),
            transform=transform,
            report=report,
        )
    messages = learned.report.messages
    info = {"values": options, "training_file": file_name(train), "messages": list(messages)}
    save_model(out, SavedModel(learned.model, read.strings.alphabet, info))
    return Output(f"{values_summary(read.strings, learned.report)}\nmodel    {out}", (*read.notes, *messages))


def score_values(
    model: Annotated[Path, typer.Option(help="The folder that `fit-values` wrote.")],
    test: Annotated[Path, typer.Option(help=f"Strings to score on: {VALUES}")],
    as_json: AsJson = False,
) -> Output:
    """Print a model's error on strings with known values."""
    from ..hankel.values import value_scores
    from ..models.files import load_model

    saved = load_model(model)
    read = _read(test, saved.alphabet)
    strings = read.strings
    check_known(test, strings.words, strings.alphabet, saved.alphabet)
    scores = value_scores(saved.model.weights(strings.words), strings.values)
    return Output(json_text(asdict(scores)) if as_json else value_score_summary(scores), read.notes)
