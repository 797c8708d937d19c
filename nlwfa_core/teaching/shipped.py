"""Train the models of the lessons, the presets and Explore, which are shipped with the lab so a
class of thirty need not wait.

`python -m nlwfa_core.teaching.shipped` trains those that `assets/results` lacks; `--all` trains all
of them again.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from ..display.explore import (
    HANKEL_RANKS,
    LIKELIHOOD_RANKS,
    MAX_RANK,
    NETWORKS,
    OTHER_SEEDS,
    PFA_STARTS,
)
from ..errors import RecipeError
from ..experiment.presets import PRESETS
from ..experiment.recipe import Recipe, with_fields
from ..files import LAB_FOLDER, FileShelf
from ..jobs.sweep import run_missing
from ..learning.learners import HANKEL_LEARNERS
from .lessons import Lesson, read_lessons

ASSETS = LAB_FOLDER / "assets"
# The ranks at which other seeds of both.non as in the paper are shipped: those that lesson 3 speaks
# of. Logs make each result 40 kB long; all ranks would be half a megabyte more.
PAPER_SEED_RANKS = (3, 10, 11)


def shipped_recipes(lessons: Iterable[Lesson]) -> dict[str, Recipe]:
    """Return the recipes of all results to ship, key -> recipe, except those whose numbers depend
    on the type of processor.
    """
    recipes = [recipe for lesson in lessons for step in lesson.steps for recipe in step.models]
    presets = [recipe for _, recipe in PRESETS.values() if recipe.data.source != "upload"]
    recipes += [recipe.with_learner(learner) for recipe in presets for learner in HANKEL_LEARNERS]
    first = PRESETS["first-steps"][1]
    recipes += [
        with_fields(first, {"learner": "PFA", "rank": rank, "starts": PFA_STARTS})
        for rank in range(1, MAX_RANK + 1)
    ]
    recipes += [
        with_fields(first, {"learner": learner, "rank": rank, "objective": objective})
        for objective, ranks in (("hankel", HANKEL_RANKS), ("likelihood", LIKELIHOOD_RANKS))
        for learner in NETWORKS
        for rank in ranks
    ]
    recipes += [
        with_fields(
            first,
            {"learner": "both.non", "rank": rank, "objective": objective, "learning_seed": seed},
        )
        for objective, ranks in (("hankel", PAPER_SEED_RANKS), ("likelihood", LIKELIHOOD_RANKS))
        for seed in range(1, OTHER_SEEDS + 1)
        for rank in ranks
    ]
    return {recipe.key(): recipe for recipe in recipes if not depends_on_processor(recipe)}


def depends_on_processor(recipe: Recipe) -> bool:
    """Return whether another type of processor changes the digits of a recipe's result."""
    return recipe.learning.depends_on_processor(recipe.hankel.transform)


def make_results(folder: Path, lessons: Iterable[Lesson], again: bool = False) -> list[str]:
    """Train the results to ship that a folder lacks, and delete its results that are no longer
    shipped.

    `lessons`: the lessons whose models are shipped in addition to those of the presets. `again`:
    whether to delete and train all of them, not only those that are missing.

    Returns the learner, rank and source of each run that was trained.

    Raises RecipeError if a run fails.
    """
    lessons = tuple(lessons)
    recipes = shipped_recipes(lessons)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if again or path.name not in recipes:
            shutil.rmtree(path)
    missing = {
        key: recipe
        for key, recipe in recipes.items()
        if not (folder / key / "result.json").exists()
    }
    with TemporaryDirectory() as name:
        home = Path(name)
        for lesson in lessons:
            if lesson.strings:
                FileShelf(home / "uploads").put(lesson.strings)
        sweep_result = run_missing(missing, home, history=False)
        for key in sweep_result.new:
            shutil.copytree(home / "runs" / key, folder / key)
    if sweep_result.failed:
        raise RecipeError(
            "; ".join(
                f"{recipes[key].title}: {message}" for key, message in sweep_result.failed.items()
            )
        )
    return [
        f"{recipe.title}, {recipe.data.source}"
        for key, recipe in missing.items()
        if key in sweep_result.new
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m nlwfa_core.teaching.shipped", description=__doc__
    )
    parser.add_argument(
        "--all", action="store_true", help="train everything again, not only what is missing"
    )
    options = parser.parse_args(arguments)
    lessons = tuple(read_lessons(ASSETS / "lessons").values())
    new_results = make_results(ASSETS / "results", lessons, options.all)
    print(
        *new_results,
        f"{len(new_results)} trained; {len(shipped_recipes(lessons))} in {ASSETS / 'results'}",
        sep="\n",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
