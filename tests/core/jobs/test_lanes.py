"""Who does which run next: strings and matrices are made once where that can be, and nothing is forgotten."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from nlwfa_core.experiment.grids import Grid
from nlwfa_core.experiment.pipeline import Workbench
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.jobs.lanes import Agenda, Cluster

LISTS = {"learners": ("SP",), "ranks": (1, 2, 3), "statistics": ("string", "prefix"), "sample_sizes": (100, 200), "seeds": (0, 1)}
RECIPES = Grid(**LISTS, new_strings=True).recipes()  # type: ignore[arg-type]


def handed_out(recipes: dict[str, Recipe], lanes: int) -> list[list[Recipe]]:
    """What each lane gets when they take turns."""
    agenda = Agenda(recipes)
    found: list[list[Recipe]] = [[] for _ in range(lanes)]
    while len(agenda):
        for line, key in zip(found, [agenda.next(lane) for lane in range(lanes)], strict=True):
            line.extend([recipes[key]] if key else [])
    return found


def made(line: list[Recipe]) -> tuple[int, int]:
    """How many times a process that does these in turn makes strings, and a matrix."""
    pairs = [(None, line[0]), *pairwise(line)] if line else []
    strings = sum(before is None or before.data != recipe.data for before, recipe in pairs)
    return strings, sum(before is None or (before.data, before.hankel) != (recipe.data, recipe.hankel) for before, recipe in pairs)


@pytest.mark.parametrize("lanes", [1, 2, 3, 4, 7, 40])
def test_every_run_is_done_once(lanes: int) -> None:
    found = handed_out(RECIPES, lanes)
    assert Counter(recipe.key() for line in found for recipe in line) == Counter(list(RECIPES))
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_lanes_stay_with_their_strings_and_matrices() -> None:
    assert len(RECIPES) == 24  # 4 samples, 8 matrices, 3 runs of each
    assert [made(line) for line in handed_out(RECIPES, 1)] == [(4, 8)]
    assert [made(line) for line in handed_out(RECIPES, 2)] == [(2, 4)] * 2
    assert [made(line) for line in handed_out(RECIPES, 4)] == [(1, 2)] * 4
    assert [made(line) for line in handed_out(RECIPES, 8)] == [(1, 1)] * 8


def test_a_lane_that_never_comes_back_leaves_its_runs_to_others() -> None:
    agenda = Agenda(RECIPES)
    first = [agenda.next("gone") for _ in range(2)]
    rest = []
    while key := agenda.next("here"):
        rest.append(key)
    assert sorted(map(str, first + rest)) == sorted(RECIPES)


def test_a_process_keeps_its_strings_for_another_matrix() -> None:
    bench, data = Workbench(), []
    for recipe in list(RECIPES.values())[:7]:
        bench.run(recipe)
        assert bench.prepared is not None
        data.append(bench.prepared.data)
    assert [one is other for one, other in pairwise(data)] == [True] * 5 + [False]


def test_the_threads_of_a_cluster_are_looked_up_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        asked = 0

        def get_executor(self, **options: object) -> None: ...

        def nthreads(self) -> dict[str, int]:
            self.asked += 1
            return {} if self.asked == 1 else {"tcp://a": 1, "tcp://b": 2}

    client = Client()
    lanes = Cluster(client)
    assert lanes.names() == ((None, 0),) and lanes.names() == ((None, 0),) and client.asked == 1
    monkeypatch.setattr("nlwfa_core.jobs.lanes.LOOK_SECONDS", -1.0)
    assert lanes.names() == (("tcp://a", 0), ("tcp://b", 0), ("tcp://b", 1))
