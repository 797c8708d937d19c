"""Define the command `reproduce`, which repeats the paper's experiments, in a checkout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RecipeError, RunsFailed, check_extra, check_one_of, plural
from ..files import make_directory
from .inputs import STRINGS, read_bytes
from .outputs import check_writable, write_file
from .running import progress_bar
from .terminal import RUN_FAILED, Output, find_studies

if TYPE_CHECKING:
    from studies.reproduction.experiments import Experiment

NAMES = ("dyck-rank", "dyck-samples", "verbs", "squared", "spice-4")
# Experiment -> the options that name its files.
FILES = {"verbs": ("train", "validation"), "spice-4": ("train", "prefixes", "targets")}


def reproduce(
    experiment: Annotated[str, typer.Argument(help=", ".join(NAMES))],
    out: Annotated[Path, typer.Option(help="Folder of pages, figures and runs.")] = Path(
        "docs/reproduction"
    ),
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of seeds (0, 1, …) for draws and learners.")
    ] = 10,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Do tiny runs in OUT/quick, to check that everything works."),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0, help="Start no run after this many minutes; with 0, only write the page."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help=f"verbs, spice-4: training strings. {STRINGS}")
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="verbs: strings to score on; not used to choose a rank or model."),
    ] = None,
    prefixes: Annotated[
        Path | None,
        typer.Option(help="spice-4: prefixes to score on; not used to choose a rank or model."),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(help="spice-4: what followed each prefix, a SPiCe target file."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace pages that another version of nlwfa wrote, or that have been changed "
            "since.",
        ),
    ] = False,
) -> Output:
    """Run one of the paper's experiments, with several ways of training and with controls, and
    write a page of results.

    Each run is saved as soon as it has finished. If the command is stopped, run it again to do the
    missing runs and rewrite the page. If a run fails, the page shows the others, and the exit code
    is 1. The command needs a checkout of the repository.
    """
    find_studies("reproduce")
    check_extra("plot", "matplotlib")  # before hours of runs
    from studies.reproduction.experiments import measure_missing
    from studies.reproduction.pages import check_replaceable, write_pages

    files = {"train": train, "validation": validation, "prefixes": prefixes, "targets": targets}
    plan = _plan(
        experiment, seeds, quick, {name: path for name, path in files.items() if path is not None}
    )
    folder = out / "quick" if quick else out
    check_writable(folder)
    if not force:
        check_replaceable(folder, plan.name)
    failures: tuple[str, ...] = ()
    with progress_bar() as report:
        try:
            done = measure_missing(
                plan, folder, jobs, None if minutes is None else 60 * minutes, report
            )
        except RunsFailed as error:
            failures = (f"failed: {error}",)
            # reads the runs that are done, without doing others
            done = measure_missing(plan, folder, seconds=0)
    make_directory(folder)
    for name, text in write_pages(plan, done).items():
        write_file(folder / name, text)
    num_missing = len(plan.runs) - len(done)
    state = (
        f"{plural(num_missing, 'run')} missing: the same command continues"
        if num_missing
        else "nothing is missing"
    )
    text = f"{plural(len(done), 'run')} done, {state}\nwritten to {folder / plan.name}.md"
    return Output(text, failures, RUN_FAILED if failures else 0)


def _plan(name: str, seeds: int, quick: bool, files: Mapping[str, Path]) -> Experiment:
    from studies.reproduction.experiments import dyck, spice, squared, verbs

    check_one_of("experiment", name, NAMES)
    used = FILES.get(name, ())
    for option in files:
        if option not in used:
            users = [user for user, options in FILES.items() if option in options]
            raise RecipeError(
                f"--{option} is only for {' and '.join(users)}; got the experiment {name}"
            )
    contents = {option: read_bytes(path) for option, path in files.items()}
    if name == "spice-4":
        missing = [f"--{option}" for option in used if option not in files]
        if missing:
            raise RecipeError(
                "spice-4 needs --train, --prefixes and --targets, SPiCe's files; missing: "
                f"{', '.join(missing)}"
            )
        return spice(seeds, quick, **contents)
    if name == "verbs":
        return verbs(seeds, quick, contents.get("train"), contents.get("validation"))
    return squared(seeds, quick) if name == "squared" else dyck(name, seeds, quick)
