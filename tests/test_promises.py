"""What stays from 1.0 on: public names, commands and their options, parameters of links, keys of
recipes, and models that were saved. `tests/promises` has them as they were.

There may be more of each. `python -m tests.test_promises` writes them anew, for another major
version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import nlwfa_core
from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    Recipe,
    estimate_hankel,
    fit,
    load,
    options,
    save,
    select_basis,
)
from nlwfa_core.cli.main import COMMANDS, program
from nlwfa_core.display.explore import VIEW
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.models.ngram import NGram
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.sources.names import SOURCES
from nlwfa_core.strings.words import Words
from pages.shared import share_link
from pages.shared.sidebar import CONTROLS

FOLDER = Path(__file__).parent / "promises"
PROMISES = FOLDER / "promises.json"
PROBES = Words.of([(), (0, 1), (0, 0, 1, 1), (0, 1, 0, 1), (1,)])
MODELS = ("SP", "both.non", "both.non-likelihood", "3-gram")


def recipes() -> Iterator[Recipe]:
    """A recipe of each learner, each preset, each source and each option of the matrix."""
    yield from (Recipe(learning=options(learner)) for learner in LEARNERS)
    for learner in HANKEL_LEARNERS[1:]:
        yield Recipe(learning=options(learner, rank=3, objective="likelihood", seed=2))
        yield Recipe(learning=options(learner, optimizer="adamax", start="random"))
    yield from (recipe for _, recipe in PRESETS.values())
    for source in SOURCES:
        files = {"upload": "a" * 64} if source == "upload" else {}
        yield Recipe(data=DataRecipe(source=source, **files))
    for statistic in ("prefix", "factor"):
        yield Recipe(hankel=HankelRecipe(statistic=statistic, num_prefixes=30, num_suffixes=20))
    yield Recipe(hankel=HankelRecipe(transform="sqrt"), learning=options("SP", rank=3))


def now() -> dict[str, Any]:
    """What there is today."""
    top: Any = typer.main.get_command(program(*COMMANDS))
    return {
        "names": sorted(dir(nlwfa_core)),
        "commands": {name: sorted(options_of(command)) for name, command in top.commands.items()},
        "link parameters": sorted({*CONTROLS, *VIEW, *share_link.OURS}),
        "keys of recipes": {recipe.to_json(): recipe.key() for recipe in recipes()},
    }


def options_of(command: Any) -> Iterator[str]:
    """The options of a command and, after their names, of its own commands."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from (f"{name} {option}" for option in options_of(inner))
    yield from (text for parameter in command.params for text in parameter.opts)


def promised() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(PROMISES.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("what", ["names", "link parameters"])
def test_each_name_is_still_there(what: str) -> None:
    assert not set(promised()[what]) - set(now()[what])


def test_each_command_has_its_options() -> None:
    present = now()["commands"]
    for command, named in promised()["commands"].items():
        assert not set(named) - set(present[command]), command


def test_a_recipe_that_was_written_is_read_and_has_its_key() -> None:
    """So its result is found again."""
    for text, key in promised()["keys of recipes"].items():
        assert Recipe.from_json(text).key() == key, text


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_was_saved_is_loaded(name: str) -> None:
    weights = promised()["weights"][name]
    np.testing.assert_allclose(load(FOLDER / name).weights(PROBES), weights, rtol=1e-9)


def write() -> None:
    """Write what is promised."""
    sample = Dyck().sample(2_000, 1)
    hankel = estimate_hankel(sample, select_basis(sample, 30, 30))
    models = {
        "SP": fit(hankel, "SP", rank=5).model,
        "both.non": fit(hankel, "both.non", rank=3).model,
        "both.non-likelihood": fit(sample, "both.non", rank=2, objective="likelihood").model,
        "3-gram": NGram.fit(sample, 3),
    }
    for name, model in models.items():
        save(model, FOLDER / name)
    weights = {name: load(FOLDER / name).weights(PROBES).tolist() for name in models}
    text = json.dumps({**now(), "weights": weights}, indent=1, ensure_ascii=False)
    PROMISES.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
