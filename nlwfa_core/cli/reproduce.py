"""The command `reproduce`, which runs the paper's experiments again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RecipeError, check_one_of, plural
from ..files import make_directory
from .terminal import STRINGS, Output, check_writable, progress_bar, read_bytes, write_file

if TYPE_CHECKING:
    from ..reproduction.experiments import Experiment

NAMES = ("dyck-rank", "dyck-samples", "verbs", "squared")


def reproduce(
    experiment: Annotated[str, typer.Argument(help=", ".join(NAMES))],
    out: Annotated[Path, typer.Option(help="Folder of pages, figures and runs.")] = Path("docs/reproduction"),
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds (0, 1, …) of draws and learners.")] = 10,
    quick: Annotated[bool, typer.Option("--quick", help="Do tiny runs in OUT/quick, to check that everything works.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    minutes: Annotated[float | None, typer.Option(min=0, help="Begin no run after this time; with 0, only write the page.")] = None,
    train: Annotated[Path | None, typer.Option(help=f"verbs: training strings. {STRINGS}")] = None,
    validation: Annotated[Path | None, typer.Option(help="verbs: strings to score on; they choose nothing.")] = None,
) -> Output:
    """Run one of the paper's experiments, in its settings and in better ones, and write the page about it.

    Every run is saved as soon as it has finished, and the same command continues where the last one stopped.
    """
    from ..reproduction.experiments import measure_missing
    from ..reproduction.pages import write_pages

    plan = _plan(experiment, seeds, quick, train, validation)
    folder = out / "quick" if quick else out
    check_writable(folder)
    with progress_bar() as report:
        done = measure_missing(plan, folder, jobs, None if minutes is None else 60 * minutes, report)
    make_directory(folder)
    for name, text in write_pages(plan, done).items():
        write_file(folder / name, text)
    left = len(plan.runs) - len(done)
    state = f"{plural(left, 'run')} missing: the same command continues" if left else "nothing is missing"
    return Output(f"{plural(len(done), 'run')} done, {state}\nwritten to {folder / plan.name}.md")


def _plan(name: str, seeds: int, quick: bool, train: Path | None, validation: Path | None) -> Experiment:
    from ..reproduction.experiments import dyck, squared, verbs

    check_one_of("experiment", name, NAMES)
    if name != "verbs" and (train or validation):
        raise RecipeError(f"--train and --validation are only for the experiment verbs; got {name}")
    if name == "verbs":
        return verbs(seeds, quick, *(None if path is None else read_bytes(path) for path in (train, validation)))
    return squared(seeds, quick) if name == "squared" else dyck(name, seeds, quick)
