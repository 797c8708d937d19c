"""Define the command `lab`, which starts the lab's server."""

from __future__ import annotations

import runpy
import sys
from typing import Annotated

import typer

from ..errors import RecipeError, check_between, check_extra
from ..files import LAB_FOLDER
from .terminal import Output


def lab(
    port: Annotated[int, typer.Option(help="The port that the server listens on.")] = 8501,
    address: Annotated[
        str | None,
        typer.Option(
            help="The address that it listens on: localhost for this computer only; by default, "
            "all addresses."
        ),
    ] = None,
) -> Output:
    """Start the lab, and serve its pages until Ctrl-C."""
    check_between("--port", port, 1, 65535)
    sys.argv = ["streamlit", *streamlit_arguments(port, address)]
    try:
        runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return Output("", code=int(end.code or 0))
    return Output("")


def streamlit_arguments(port: int, address: str | None) -> list[str]:
    """Return the arguments with which Streamlit starts the lab.

    Raises MissingExtra if the lab's libraries are not installed. Raises RecipeError if the lab's
    own files are missing.
    """
    check_extra("lab", "streamlit", "plotly", "pandas", "PIL", "matplotlib")
    entry = LAB_FOLDER / "app.py"
    if not entry.is_file():
        raise RecipeError(f"the lab is missing: {entry} is not a file")
    return [
        "run",
        str(entry),
        f"--server.port={port}",
        *([f"--server.address={address}"] if address else []),
    ]
