"""Define the command `history`, which lists, filters and exports the runs of a lab's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import RecipeError, check_between, check_one_of, plural
from ..files import FileShelf
from ..metrics.score_table import METRICS
from ..metrics.tables import write_table
from .terminal import AsJson, Output, TableForm, lab_folder, table_form
from .text import aligned

NUM_ROWS = 50  # rows of a table for people; CSV and JSON have every run by default
MOST_ROWS = 2**31 - 1
SHORT_KEY = 12


def history(
    home: Annotated[
        Path | None,
        typer.Option(help="The lab's folder, or a sweep's --out; by default NLWFA_HOME."),
    ] = None,
    search: Annotated[
        str, typer.Option(help="Words that a run's row must contain, as in the lab's search.")
    ] = "",
    learner: Annotated[
        list[str] | None, typer.Option(help="Only runs of this learner; can be repeated.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only runs in this state, such as done; can be repeated."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only runs with this tag; can be repeated.")
    ] = None,
    order: Annotated[
        str, typer.Option(help="newest, or a score such as wer, to list the best first.")
    ] = "newest",
    limit: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--limit",
            help=f"The largest number of runs to list: by default {NUM_ROWS}, and all as CSV or "
            "JSON.",
        ),
    ] = None,
    as_csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="Print every run as CSV, with all scores; short for --table csv."
        ),
    ] = False,
    as_json: AsJson = False,
    table: TableForm = None,
) -> Output:
    """List the runs of a lab's folder with their options and scores.

    Scores are on each run's own test strings. --json prints one list with an object for each run.
    """
    from ..display.run_tables import export_table, runs_table
    from ..history.database import database_errors_as_sentences
    from ..history.listing import NEWEST, Query, list_runs
    from ..history.runs import STATES, History
    from ..learning.learners import LEARNERS

    form = _form(table, as_csv, as_json)
    folder = lab_folder(home)
    check_one_of("--order", order, (NEWEST, *(score.field for score in METRICS)))
    for name in learner or ():
        check_one_of("--learner", name, LEARNERS)
    for name in state or ():
        check_one_of("--state", name, STATES)
    if limit is not None:
        check_between("--limit", limit, 1, MOST_ROWS)
    is_export = form in ("csv", "json")
    titles = FileShelf(folder / "uploads").titles()
    query = Query(
        search,
        tuple(state or ()),
        tuple(learner or ()),
        tags=tuple(tag or ()),
        order=order,
        titles=tuple(titles.items()),
    )
    with database_errors_as_sentences():
        runs = History.open(folder)
        try:
            runs.rebuild(folder / "runs")
            listing = list_runs(runs, query, 0, limit or (MOST_ROWS if is_export else NUM_ROWS))
        finally:
            runs.close()
    if form is not None and is_export:
        return Output(
            write_table(export_table(listing.runs), form).removesuffix("\n"), is_data=True
        )
    if not listing.runs:
        return Output(
            f"no runs in {folder} match"
            if query != Query(titles=query.titles)
            else f"no runs in {folder}"
        )
    rows = {
        "key": [run.key[:SHORT_KEY] for run in listing.runs],
        **runs_table(listing.runs, order, titles=titles),
    }
    count = (
        plural(listing.total, "run")
        if len(listing.runs) == listing.total
        else f"{len(listing.runs):,} of {listing.total:,} runs"
    )
    count += "; each run's scores are on its own test strings"
    if form is None:
        return Output(f"{aligned(rows)}\n{count}")
    return Output(write_table(rows, form, count).removesuffix("\n"))


def _form(table: str | None, as_csv: bool, as_json: bool) -> str | None:
    """Return the form of the table. Raises RecipeError if several are asked for."""
    if as_csv and (as_json or table is not None):
        raise RecipeError(
            f"--csv has no effect with {'--json' if as_json else f'--table {table}'}; use "
            "one of them"
        )
    form = table_form(table, as_json)
    return "csv" if as_csv else "json" if as_json else form
