"""Define the command `compete`, which runs the problems of PAutomaC or SPiCe, in a checkout, and
writes a page that compares the results.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..errors import Cancelled, check_one_of
from ..experiment.recipe import number_ranges
from ..search.budget import DEFAULT_BUDGET, MAX_STATES, MINUTES
from .outputs import check_writable
from .running import progress_bar, stopped_by_signals
from .terminal import Output, Seed, find_studies, log_line

NAMES = ("pautomac", "spice")


def compete(
    competition: Annotated[str, typer.Argument(help=", ".join(NAMES))],
    data: Annotated[
        Path,
        typer.Option(
            help="The folder of the problems' files, or one that contains a folder named after "
            "the competition."
        ),
    ],
    minutes: Annotated[float, typer.Option(help="The time for each problem.")] = MINUTES,
    problems: Annotated[
        str | None,
        typer.Option(help="The problems to run, such as 1,2,30-33; by default all of them."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The page to write. The results go into a folder next to it.")
    ] = Path("docs/records.md"),
    max_states: Annotated[
        int | None,
        typer.Option(
            help="The largest number of states of a model, summed over all parts of a mixture; by "
            f"default {MAX_STATES} for PAutomaC, and twice as many for SPiCe, where a mixture may "
            "have two LSTMs."
        ),
    ] = None,
    threads: Annotated[
        int,
        typer.Option(
            min=0, help="Training runs at the same time; 0 for one per processor, at most two."
        ),
    ] = 0,
    clock: Annotated[
        str,
        typer.Option(
            help="The clock that measures the minutes: wall, or processor (processor time per "
            "thread)."
        ),
    ] = "wall",
    seed: Seed = 0,
) -> Output:
    """Learn a model for each problem of a competition, and compare its score with published ones.

    Choices are made from the training strings alone. Each result is saved as soon as the problem is
    done. If the command is stopped, run it again to do the missing problems. A problem that has a
    result is not run again, even with a different time: to run it again, delete the file of its
    result. The command needs a checkout of the repository.
    """
    find_studies("compete")
    from studies.competitions import COMPETITIONS, summary
    from studies.competitions import compete as run

    check_one_of("competition", competition, NAMES)
    states = COMPETITIONS[competition].max_states if max_states is None else max_states
    budget = replace(
        DEFAULT_BUDGET, minutes=minutes, max_states=states, threads=threads, seed=seed, clock=clock
    )
    numbers = None if problems is None else number_ranges("problems", problems, 999_999)
    check_writable(out.parent)
    with stopped_by_signals() as stop, progress_bar() as report:
        results = run(
            competition, data, out, budget, problems=numbers, stop=stop, report=report, log=log_line
        )
    if stop.is_set():
        raise Cancelled
    return Output(f"{summary(competition, results)}\npage     {out}")
