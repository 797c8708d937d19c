"""Many runs in few numbers: values over seeds, and the choice of a rank by validation strings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

from .runs import Finished, Run, of


def values_of(done: Iterable[Finished], metric: str) -> dict[int, float]:
    """Seed -> value; runs that lack it are left out."""
    return {one.run.seed: value for one in done if (value := one.values[metric]) is not None}


def whole_seeds(planned: Iterable[Run], done: Iterable[Finished]) -> set[int]:
    """The seeds of which no run is missing."""
    own = {one.run for one in done}
    runs = list(planned)
    return {place.seed for place in runs} - {place.seed for place in runs if place not in own}


def comparable(planned: Iterable[Run], done: Sequence[Finished]) -> list[Finished]:
    """The runs of whole seeds; where no seed is whole, of those that all learners have that were run at all.

    A seed has test strings of its own, so means over different seeds are no comparison.
    """
    seeds = whole_seeds(planned, done)
    if not seeds and done:
        seeds = set.intersection(*({one.run.seed for one in of(done, learner=name)} for name in {one.run.learner for one in done}))
    return [one for one in done if one.run.seed in seeds]


def ranks_of(done: Iterable[Finished], ranks: Sequence[int]) -> dict[int, list[Finished]]:
    """Runs by rank; nothing if one of the ranks is missing, since no choice among some of them would be fair."""
    runs = list(done)
    by_rank = {rank: list(of(runs, rank=rank)) for rank in ranks}
    return by_rank if all(by_rank.values()) else {}


def chosen_rank(by_rank: Mapping[int, Sequence[Finished]], metric: str) -> int:
    """The rank that is best on validation strings, on the mean of its runs: as `experiment.selection.best_rank` orders ranks."""

    def badness(rank: int) -> tuple[float, float, int]:
        scores = list(values_of(by_rank[rank], f"validation_{metric}").values())
        zeros = list(values_of(by_rank[rank], "validation_num_zero").values())
        value = mean(scores)
        return value if math.isfinite(value) else math.inf, mean(zeros), rank

    return min(by_rank, key=badness)
