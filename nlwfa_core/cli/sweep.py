"""The command `sweep`, which runs many recipes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import RecipeError, plural
from ..files import MAX_JSON_BYTES, read_capped
from .terminal import Output, check_writable, progress_bar, write_file


def sweep(
    sweep: Annotated[Path, typer.Argument(help="A JSON file: a base recipe, and lists of what to vary in it.")],
    out: Annotated[Path, typer.Option(help="The lab's folder: runs, history and the sweep's table go there.")],
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://HOST:8786, in place of --jobs.")
    ] = None,
) -> Output:
    """Run every combination of rank, learner, statistic, transform, sample size and seed that a file lists.

    Every run is saved as soon as it has finished, and the same command continues where the last one stopped.
    """
    from ..experiment.results import load_result
    from ..experiment.sweeps import Grid, sweep_csv
    from ..jobs.sweep import run_missing

    try:
        recipes = Grid.from_json(read_capped(sweep, MAX_JSON_BYTES)).recipes()
    except RecipeError as error:
        raise RecipeError(f"{sweep}: {error}") from None
    check_writable(out)
    with progress_bar() as report:
        swept = run_missing(recipes, out, jobs, scheduler, report)
    path = out / "sweeps" / f"{sweep.stem}.csv"
    rows = ((key, load_result(out / "runs" / key)) for key in recipes if key not in swept.failed)
    text = sweep_csv(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, text)
    counts = f"{plural(len(swept.new), 'run')} done, {len(swept.present)} were there already, {len(swept.failed)} failed"
    return Output(f"{counts}\nwritten to {path}", tuple(dict.fromkeys(swept.failed.values())))
