"""The commands for functions that are no distributions: `fit-values` and `score-values`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..experiment.recipe import HankelRecipe, LearningRecipe
from ..hankel.values import value_scores
from ..learning.names import VALUE_REFINEMENTS
from ..learning.options import Options, Refinement
from ..learning.values import TRANSFORMS
from ..learning.values import fit_values as learn
from ..models.files import SavedModel, load_model, save_model
from ..sources.values import ValueFile, read_values
from ..strings.words import Alphabet
from .learn import HANKEL, LAYERS, LEARNING, Epochs, Hidden, Learner, Prefixes, Rate, Schedule, Suffixes, Width, whole_numbers
from .terminal import AsJson, Output, Seed, blaming, check_known, check_writable, file_name, progress_bar, read_bytes
from .text import json_text, value_score_summary, values_summary

VALUES = "CSV of strings and values."


def _read(path: Path, alphabet: Alphabet | None = None) -> ValueFile:
    data = read_bytes(path)
    with blaming(path):
        return read_values(data, alphabet)


def fit_values(
    train: Annotated[Path, typer.Option(help=f"What is known: {VALUES}")],
    learner: Learner,
    rank: Annotated[int, typer.Option(help="Number of states.")],
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    prefixes: Prefixes = HANKEL.num_prefixes,
    suffixes: Suffixes = HANKEL.num_suffixes,
    transform: Annotated[str, typer.Option(help=f"{', '.join(TRANSFORMS)}: learn roots, and square the output.")] = "none",
    ridge: Annotated[float, typer.Option(help="Of SP's completion, relative to the largest value.")] = 1e-6,
    start: Annotated[str, typer.Option(help="Of a network's factorisation: random, or svd.")] = "random",
    hidden: Hidden = LAYERS,
    width_transitions: Width = LEARNING.width_transitions,
    epochs_factorisation: Epochs = LEARNING.epochs_factorisation,
    epochs_transitions: Epochs = LEARNING.epochs_transitions,
    rate_factorisation: Rate = LEARNING.rate_factorisation,
    rate_transitions: Rate = LEARNING.rate_transitions,
    schedule: Schedule = LEARNING.schedule,
    seed: Seed = LEARNING.seed,
    refine: Annotated[str, typer.Option(help=f"A third step: {', '.join(VALUE_REFINEMENTS)}.")] = "none",
    restarts: Annotated[int, typer.Option(help="Random starts beside the two steps' model, where values refine.")] = 128,
) -> Output:
    """Learn any function of strings from the values of some, and write the model to a folder."""
    networks = LearningRecipe(
        learner=learner,
        rank=rank,
        hidden=whole_numbers("hidden", hidden),
        width_transitions=width_transitions,
        epochs_factorisation=epochs_factorisation,
        epochs_transitions=epochs_transitions,
        rate_factorisation=rate_factorisation,
        rate_transitions=rate_transitions,
        schedule=schedule,
        seed=seed,
    )
    basis = HankelRecipe(num_prefixes=prefixes, num_suffixes=suffixes)
    refinement = Refinement(refine, restarts=restarts, seed=seed)
    options = dict(networks) | {
        "num_prefixes": basis.num_prefixes,
        "num_suffixes": basis.num_suffixes,
        "transform": transform,
        "ridge": ridge,
        "start": start,
        "refine": refine,
        "restarts": restarts,
    }
    check_writable(out)
    read = _read(train)
    with progress_bar() as report:
        learned = learn(
            read.strings,
            Options(**dict(networks), start=start, ridge=ridge, refinement=refinement),
            basis=read.strings.basis(basis.num_prefixes, basis.num_suffixes),
            transform=transform,
            report=report,
        )
    messages = learned.report.messages
    info = {"values": options, "training_file": file_name(train), "messages": list(messages)}
    save_model(out, SavedModel(learned.model, read.strings.alphabet, info))
    return Output(f"{values_summary(read.strings, learned.report)}\nmodel    {out}", (*read.notes, *messages))


def score_values(
    model: Annotated[Path, typer.Option(help="The folder that `fit-values` wrote.")],
    test: Annotated[Path, typer.Option(help=f"Strings that it has not seen: {VALUES}")],
    as_json: AsJson = False,
) -> Output:
    """Print a model's error on strings whose values are known."""
    saved = load_model(model)
    read = _read(test, saved.alphabet)
    strings = read.strings
    check_known(test, strings.words, strings.alphabet, saved.alphabet)
    scores = value_scores(saved.model.weights(strings.words), strings.values)
    return Output(json_text(asdict(scores)) if as_json else value_score_summary(scores), read.notes)
