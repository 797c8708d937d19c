"""Define the command `sweep`, which runs many recipes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RecipeError, check_extra, plural
from ..experiment.recipe import Recipe
from ..files import MAX_JSON_BYTES, FileShelf, read_capped
from ..learning.progress import UNFINISHED
from ..metrics.score_table import SCORE_OF
from ..sources.reading import Reading
from .inputs import STRINGS
from .outputs import Force, check_writable
from .recipe_options import takes_reading
from .running import progress_bar
from .sweep_files import check_files, read_sweep
from .terminal import RUN_FAILED, Output, log_line, print_notes

if TYPE_CHECKING:
    from ..experiment.sweep_table import SweepTable
    from ..jobs.folders import RunFolders

MAX_WARNINGS_LISTED = 5  # the commonest
MAX_FAILURES_LISTED = 20  # failed runs that are printed; the table has all of them


@takes_reading
def sweep(
    sweep: Annotated[
        Path, typer.Argument(help="A JSON file: a base recipe, and lists of what to vary in it.")
    ],
    out: Annotated[
        Path, typer.Option(help="The lab's folder: runs, history and the sweep's table go there.")
    ],
    reading: Reading,
    jobs: Annotated[int | None, typer.Option(min=1, help="Worker processes, by default 1.")] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler, such as tcp://HOST:8786, in place of --jobs."
        ),
    ] = None,
    train: Annotated[
        Path | None, typer.Option(help=f"Your own training strings: {STRINGS}")
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Test strings; without them, some training strings are set aside."),
    ] = None,
    solution: Annotated[
        Path | None,
        typer.Option(help="The true probabilities of the test strings: a PAutomaC solution."),
    ] = None,
    true_model: Annotated[
        Path | None, typer.Option(help="The model that drew the strings: a PAutomaC model.")
    ] = None,
    prefixes: Annotated[
        Path | None, typer.Option(help=f"Prefixes to score on, as in SPiCe: {STRINGS}")
    ] = None,
    targets: Annotated[
        Path | None, typer.Option(help="What followed each prefix: a SPiCe target file.")
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="Add the ends of the scores' 95 % intervals to the table: wer_low, wer_high, …",
        ),
    ] = False,
    force: Force = False,
) -> Output:
    """Run every combination of rank, learner, statistic, transform, sample size and seed that a
    file lists.

    Each run is saved as soon as it has finished, with its row in OUT/sweeps/NAME.csv. If the
    command is stopped, run it again to do the missing runs. If a run fails, the others continue,
    and the exit code is 1. The sweep's file can also name your own files, by "train", "test",
    "solution", "true_model", "prefixes" and "targets".
    """
    from ..experiment.sweep_table import SweepTable, settings_in_words
    from ..experiment.sweeps import Grid
    from ..jobs.folders import RunFolders
    from ..jobs.sweep import run_missing

    if scheduler is not None and jobs is not None:
        raise RecipeError(
            "--jobs has no effect with --scheduler: the cluster's workers run the recipes"
        )
    if scheduler is not None:
        check_extra("cluster", "distributed")  # before anything is written
    check_writable(out)
    shelf = FileShelf(out / "uploads")
    files = {
        "train": train,
        "test": test,
        "solution": solution,
        "true_model": true_model,
        "prefixes": prefixes,
        "targets": targets,
    }
    text = read_capped(sweep, MAX_JSON_BYTES)
    try:
        content, readings = read_sweep(text, sweep.parent, files, reading, shelf)
        recipes = Grid.from_json(content).recipes()
        check_files(recipes, shelf)
    except RecipeError as error:
        raise RecipeError(f"{sweep}: {error}") from None
    path = out / "sweeps" / f"{sweep.stem}.csv"
    if not force:
        _check_table(path, recipes)
    folders = RunFolders(out / "runs")
    table = SweepTable(path, recipes, shelf.get if intervals else None)
    ended = _EndedRuns(recipes, folders, table)
    print_notes(readings)
    for key in recipes:
        if folders.has(key):
            ended.add(key, None)

    def end_run(key: str, failure: str | None) -> None:
        end = ended.add(key, failure)
        table.write_if_due()
        log_line(f"{ended.number:,} of {len(recipes):,}: {settings_in_words(recipes[key])}: {end}")

    try:
        with progress_bar() as report:
            swept = run_missing(recipes, out, jobs or 1, scheduler, report, each=end_run)
    finally:
        table.write()
    counts = (
        f"{plural(len(swept.new), 'run')} done, {len(swept.present)} were there already, "
        f"{len(ended.failures)} failed"
    )
    return Output(
        f"{counts}\nwritten to {path}", ended.notes(path), RUN_FAILED if ended.failures else 0
    )


@dataclass(eq=False)
class _EndedRuns:
    """The runs of a sweep that have ended: a table with a row for each, and what went wrong."""

    recipes: Mapping[str, Recipe]
    folders: RunFolders
    table: SweepTable
    number: int = 0
    unfinished: int = 0  # whose training is not finished
    failures: dict[str, str] = field(default_factory=dict)  # key -> why
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, key: str, failure: str | None) -> str:
        """Add the row of a run to the table, and describe how it ended."""
        from ..experiment.results import load_result

        self.number += 1
        try:
            outcome = load_result(self.folders.folder(key)) if failure is None else failure
        except RecipeError as error:  # the folder was damaged since
            outcome = str(error)
        self.table.add(key, outcome)
        if isinstance(outcome, str):
            self.failures[key] = outcome
            return f"failed: {outcome}"
        self.warnings.update({*outcome.notes, *outcome.diagnostics.warnings})
        self.unfinished += outcome.report.training == UNFINISHED
        return (
            f"{SCORE_OF['wer'].short_title} {outcome.scores.wer:.4f}, "
            f"{outcome.seconds.get('learning', 0.0):.1f} s"
        )

    def notes(self, path: Path) -> tuple[str, ...]:
        """State which runs failed, and the others' warnings. `path`: the file of the table."""
        from ..experiment.sweep_table import settings_in_words

        notes = [
            f"failed: {settings_in_words(self.recipes[key])}: {reason}"
            for key, reason in self.failures.items()
        ]
        if len(notes) > MAX_FAILURES_LISTED:
            notes[MAX_FAILURES_LISTED:] = [
                f"and {len(notes) - MAX_FAILURES_LISTED:,} more: see the column error of {path}"
            ]
        if self.unfinished:
            notes.append(
                f"{plural(self.unfinished, 'run')}: the training is not finished; see the column "
                f"training of {path}"
            )
        notes += [
            f"{plural(number, 'run')}: {warning}"
            for warning, number in self.warnings.most_common(MAX_WARNINGS_LISTED)
        ]
        if len(self.warnings) > MAX_WARNINGS_LISTED:
            notes.append(
                f"and {len(self.warnings) - MAX_WARNINGS_LISTED:,} other warnings: see the column "
                f"warnings of {path}"
            )
        return tuple(notes)


def _check_table(path: Path, recipes: Mapping[str, Recipe]) -> None:
    """Raise RecipeError if the file of the sweep's table exists, and is another file or has rows of
    other runs.
    """
    from ..experiment.sweep_table import num_rows_of_others

    lost = num_rows_of_others(path, recipes)
    if lost is None:
        raise RecipeError(
            f"{path} exists and can't be read as the table of a sweep; the table is named after "
            f"the sweep's file: rename that file, or overwrite {path.name} with --force"
        )
    if lost:
        raise RecipeError(
            f"{path} has {plural(lost, 'row')} of runs that this sweep does not have; rename "
            "the sweep's file, or overwrite the "
            "table with --force (the runs themselves stay)"
        )
