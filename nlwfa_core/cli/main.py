"""Define the table of commands, and run one of them.

A command's module is imported only when the command is used. So the list of commands is printed at
once, and no command waits for the imports of others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from ..files import __version__
from .terminal import execute


class Command(NamedTuple):
    """A command's module, its function, and its summary in the list of commands."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "count": Command("count", "count", "Count the strings of a file of any size."),
    "fit": Command("learn", "fit", "Learn a model and write it to a folder."),
    "select-rank": Command("learn", "select_rank", "Learn with each rank, and print the best."),
    "score": Command("score", "score", "Score a model on test strings."),
    "compare": Command("score", "compare", "Compare two models on the same test strings."),
    "rank": Command("rank", "rank", "Print the five likeliest next symbols after each prefix."),
    "mix": Command("mix", "mix", "Combine models: the weighted mean of their probabilities."),
    "classify": Command("classify", "classify", "Learn a model of each label, and classify."),
    "compete": Command("compete", "compete", "Learn a model for each problem of a competition."),
    "reproduce": Command("reproduce", "reproduce", "Run one of the paper's experiments."),
    "sweep": Command("sweep", "sweep", "Run every combination of options that a file lists."),
    "fit-values": Command("value_commands", "fit_values", "Learn a function from some values."),
    "score-values": Command(
        "value_commands", "score_values", "Print a model's error on strings with known values."
    ),
    "export": Command("export", "export", "Write a linear model as text for other programs."),
    "import": Command("export", "import_model", "Read an automaton that another program wrote."),
    "sample": Command("export", "sample", "Draw strings from a model."),
    "history": Command("history", "history", "List the runs of a lab's folder."),
    "classes": Command("classes", "classes", "List or delete the class sessions of a lab."),
    "lab": Command("lab", "lab", "Start the lab, and serve its pages until Ctrl-C."),
    "weights": Command("weights", "weights", "Print a model's weight of each word."),
    "next": Command("weights", "next_symbol", "Print the score of every symbol after a prefix."),
    "generate": Command("generate", "generate", "Draw strings from a random source."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments, by default those of this process.

    Returns the exit code.
    """
    used = (sys.argv[1:] if arguments is None else arguments)[:1]
    return execute(program(*COMMANDS.keys() & set(used)), arguments)


@cache
def program(*used: str) -> typer.Typer:
    """Make the program, with the options of some commands and only the summaries of the others."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Learn weighted finite automata from strings.",
    )
    app.callback()(_options)
    for name, command in COMMANDS.items():
        if name not in used:
            app.command(name, help=command.summary)(_not_used)
            continue
        function = getattr(import_module(f".{command.module}", __package__), command.function)
        if isinstance(function, typer.Typer):
            app.add_typer(function, name=name)
        else:
            app.command(name)(function)
    return app


def _not_used() -> None:
    pass


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"nlwfa {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
