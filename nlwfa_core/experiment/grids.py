"""Large sweeps: a base recipe and lists of what to vary in it, as a JSON file says them; and the table of what came of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, fields
from itertools import product
from math import prod
from typing import Annotated, Any

from pydantic import Field

from ..errors import RecipeError
from ..files import from_json
from ..limits import check_at_most
from ..metrics.scores import Scores
from .recipe import Recipe, Record, Seed
from .results import Result
from .sweeps import Outcome, Sweep

MAX_RUNS = 100_000
MAX_BYTES = 2**20
PLACE = ("key", "learner", "rank", "statistic", "transform", "strings", "seed")


class Grid(Record):
    """A sweep: every combination of the lists. An empty list leaves what the base recipe says.

    Boundary symbols are as each learner needs them. Learning without chance has one run for all seeds, unless they draw other
    strings, and opponents one for all statistics and transforms.

    Attributes
    ----------
    base : Recipe
    learners, ranks, statistics, transforms, sample_sizes, seeds : tuple
    new_strings : bool
        Whether a seed draws other strings, too; else it is that of learning and refinement alone.

    >>> len(Grid(learners=("SP", "fac.non"), ranks=(1, 2), seeds=(0, 1, 2)).recipes())
    8
    """

    base: Recipe = Recipe()
    learners: tuple[str, ...] = ()
    ranks: tuple[Annotated[int, Field(ge=1)], ...] = ()
    statistics: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()
    sample_sizes: tuple[int, ...] = ()
    seeds: tuple[Seed, ...] = ()
    new_strings: bool = False

    @classmethod
    def from_json(cls, data: bytes) -> Grid:
        """Raises RecipeError if the file is not a sweep's."""
        check_at_most("bytes of a sweep's file", len(data), MAX_BYTES)
        given: Any = from_json(data)
        if not isinstance(given, dict):
            raise RecipeError(f"a sweep is a JSON object with base, learners, ranks, …; {type(given).__name__} given")
        return cls(**given)

    def recipes(self) -> dict[str, Recipe]:
        """Key -> recipe, those that start from the same strings and the same matrix one after the other.

        Raises
        ------
        RecipeError
            If one can't be, or they are too many.
        """
        base = self.base
        lists = (self.statistics, self.transforms, self.sample_sizes, self.seeds, self.learners, self.ranks)
        check_at_most("runs (the product of all lists)", prod(max(1, len(values)) for values in lists), MAX_RUNS)
        sweep = Sweep(self.learners or (base.learning.learner,))
        variants = product(
            self.statistics or (base.hankel.statistic,),
            self.transforms or (base.hankel.transform,),
            self.sample_sizes or (base.data.num_strings,),
            self.seeds or (None,),
        )
        found: dict[str, Recipe] = {}
        for variant in variants:
            start = self._variant(*variant)
            for learner, rank in product(sweep.learners, self.ranks or (base.learning.rank,)):
                recipe = sweep.place(start, learner, rank)
                found.setdefault(recipe.key(), recipe)
        return dict(sorted(found.items(), key=_order))

    def _variant(self, statistic: str, transform: str, num_strings: int, seed: int | None) -> Recipe:
        base = self.base
        hankel = base.hankel.changed(statistic=statistic, transform=transform, bounded=statistic != "string")
        parts: dict[str, Any] = {"data": base.data.changed(num_strings=num_strings), "hankel": hankel}
        if seed is not None:
            parts["learning"], parts["refinement"] = base.learning.changed(seed=seed), base.refinement.changed(seed=seed)
            if self.new_strings:
                parts["data"] = parts["data"].changed(seed=seed)
        return base.changed(**parts)


def _order(entry: tuple[str, Recipe]) -> tuple[object, ...]:
    """Opponents come last of their strings: they need no matrix, and leave the one that is there."""
    key, recipe = entry
    learning = recipe.learning
    return recipe.data.key(), not learning.kind.needs_hankel, recipe.hankel.key(), learning.learner, learning.rank, key


def table(outcomes: Iterable[tuple[str, Outcome | Result]]) -> str:
    """CSV: a row a run, in full precision; ∞ is inf, and what is not known is empty."""
    names = [field.name for field in fields(Scores)]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow((*PLACE, *names, *(f"validation_{name}" for name in names)))
    for key, outcome in outcomes:
        recipe, validation = outcome.recipe, asdict(outcome.validation) if outcome.validation else dict.fromkeys(names)
        place = (key, recipe.learning.learner, recipe.learning.rank, recipe.hankel.statistic, recipe.hankel.transform)
        values = (asdict(outcome.scores)[name] for name in names)
        writer.writerow((*place, recipe.data.num_strings, recipe.learning.seed, *values, *(validation[name] for name in names)))
    return buffer.getvalue()
