"""What a worker process of a sweep does: it runs a recipe and gives the files back. It imports no more than that takes."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread, local
from time import sleep

from ..errors import sentence_of
from ..experiment.data import no_files
from ..experiment.pipeline import Workbench
from ..experiment.recipe import Recipe
from ..experiment.results import save_result
from ..files import FileShelf

FOLLOW_SECONDS = 1.0

Files = dict[str, bytes]
_own = local()  # of a worker's thread: its workbench


def work(recipe: str, uploads: str) -> Files | str:
    """Run a recipe. Its folder's files by name, or the sentence why there are none.

    Parameters
    ----------
    recipe : str
        JSON.
    uploads : str
        The folder of uploaded files.
    """
    if not hasattr(_own, "bench"):
        _own.bench = Workbench()
    bench: Workbench = _own.bench
    try:
        chosen = Recipe.from_json(recipe)
        result = bench.run(chosen, files=FileShelf(Path(uploads)).get if chosen.data.upload else no_files)
        with TemporaryDirectory(prefix="nlwfa-run-") as folder:
            save_result(Path(folder), result, sync=False)
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    except Exception as error:
        if isinstance(error, MemoryError):
            bench.prepared = None
        return sentence_of(error)


def follow(parent: int) -> None:
    """In a worker process: end when the sweep is killed, in mid-training too."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(FOLLOW_SECONDS)
        os._exit(1)

    Thread(target=watch, daemon=True).start()
