"""Sweeps whose runs are done in this process, where the library starts others: tested is what a
sweep does with its runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.jobs import sweep, worker
from nlwfa_core.jobs.sweep import Group, Slot, Swept, Workers, run_missing
from tests.waiting import wait_for


class Here:
    """Slots whose groups are done in this process, at once; a group that meets one of some runs
    dies there.
    """

    def __init__(
        self, killers: set[str] = frozenset(), slots: int = 2, server: str | None = None
    ) -> None:  # type: ignore[assignment]
        self.killers = killers
        self.number = slots
        self.server = server
        self.tried: list[tuple[Slot, list[str]]] = []

    def slots(self) -> list[Slot]:
        return list(range(self.number))

    def submit(
        self, slot: Slot, group: Group, home: str, server: str, seconds: float | None
    ) -> Future[Any]:
        future: Future[Any] = Future()
        # processes of their own take longer to start
        wait_for(lambda: (Path(home) / "servers" / server).exists())
        self.tried.append((slot, list(group)))
        doomed = next((place for place, key in enumerate(group) if key in self.killers), None)
        try:
            outcomes = worker.run_group(
                dict(list(group.items())[:doomed]), home, self.server or server, seconds
            )
        except Exception as error:
            future.set_exception(error)
        else:
            if doomed is None:
                future.set_result(outcomes)
            else:
                future.set_exception(MemoryError())
        return future

    def cancel(self, future: Future[Any]) -> None: ...


def run_here(
    recipes: dict[str, Recipe],
    home: Path,
    workers: Workers,
    monkeypatch: pytest.MonkeyPatch,
    **options: Any,
) -> Swept:
    @contextmanager
    def here(jobs: int) -> Iterator[Workers]:
        yield workers

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "processes", here)
        return run_missing(recipes, home, **options)
