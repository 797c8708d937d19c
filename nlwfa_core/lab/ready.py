"""Results that come with the lab, so that a class of thirty waits for nothing: those of the lessons and of the presets.

`python -m nlwfa_core.lab.ready` makes what is missing in `assets/results`; `--all` makes everything again.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from ..experiment.data import no_files
from ..experiment.pipeline import Workbench
from ..experiment.presets import PRESETS
from ..experiment.recipe import Recipe
from ..experiment.results import save_result
from ..learning.names import HANKEL_LEARNERS, depends_on_processor
from .lessons import Lesson, read_lessons

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def wanted(lessons: Iterable[Lesson]) -> dict[str, Recipe]:
    """Key -> recipe of all results that should be there: not those that another processor would contradict."""
    recipes = [recipe for lesson in lessons for step in lesson.steps for recipe in step.models]
    presets = [recipe for _, recipe in PRESETS.values() if recipe.data.source != "upload"]
    recipes += [recipe.with_learner(learner) for recipe in presets for learner in HANKEL_LEARNERS]
    return {recipe.key(): recipe for recipe in recipes if not _depends_on_processor(recipe)}


def _depends_on_processor(recipe: Recipe) -> bool:
    return depends_on_processor(recipe.learning.learner, recipe.hankel.transform, recipe.refinement.objective)


def make(folder: Path, lessons: Iterable[Lesson], anew: bool = False) -> list[str]:
    """Run what is missing, take out what nobody wants any more; returns what was run."""
    lessons = tuple(lessons)
    files = {hashlib.sha256(lesson.strings).hexdigest(): lesson.strings for lesson in lessons if lesson.strings}
    recipes = wanted(lessons)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if anew or old.name not in recipes:
            shutil.rmtree(old)
    done = []
    bench = Workbench()
    for key, recipe in recipes.items():
        if not (folder / key / "result.json").exists():
            find = files.__getitem__ if recipe.data.source == "upload" else no_files
            save_result(folder / key, bench.run(recipe, files=find))
            done.append(f"{recipe.title}, {recipe.data.source}")
    return done


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m nlwfa_core.lab.ready", description=__doc__)
    parser.add_argument("--all", action="store_true", help="make all anew, not only what is missing")
    given = parser.parse_args(arguments)
    lessons = read_lessons(ASSETS / "lessons").values()
    done = make(ASSETS / "results", lessons, given.all)
    print(*done, f"{len(done)} made, {len(wanted(lessons))} in {ASSETS / 'results'}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
