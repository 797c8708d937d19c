"""Sweeps: a base recipe with lists of values for some fields, from a page's controls or a file, and
the outcomes of the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from statistics import mean
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from ..errors import RecipeError, alternatives
from ..files import from_json
from ..hankel.names import WITH_BOUNDARY
from ..learning.names import REFINEMENTS
from ..limits import check_at_most, most
from ..metrics.diagnostics import Diagnostics
from ..metrics.scores import Scores
from ..metrics.seeds import Spread, badness
from ..sources.registry import SOURCES
from .presets import converged
from .recipe import (
    ADAMAX_ONLY,
    CONVERGED,
    FIELDS,
    FLAT_NAMES,
    PARTS,
    Condition,
    Recipe,
    Record,
    Seed,
    check_json_types,
    unmet_conditions,
)
from .results import Result

MAX_POINTS = 200  # of a comparison, all of which a page shows
MAX_SEEDS = 10  # of a comparison
MAX_FILE_BYTES = 2**20
# What a comparison can have on its axis, and how the axis is labelled.
AGAINST = {"rank": "rank k", "strings": "training strings"}


class Point(NamedTuple):
    """A run's coordinates in a comparison: learner, rank or number of training strings, and number
    of the seed, from 0.
    """

    learner: str
    value: int
    seed: int


class Grid(Record):
    """A sweep: the runs of all combinations of the values in some lists. For an empty list, the
    base recipe's value is used.

    Strings are counted with boundary symbols if a learner needs them. Combinations that would give
    equal results have a single run: learners without randomness have one run for all seeds, unless
    seeds also draw other strings, and learners that need no Hankel matrix have one run for all
    statistics and transforms.

    Attributes
    ----------
    base : Recipe
    learners, ranks, statistics, transforms, sample_sizes : tuple
    seeds : tuple of int
        The seeds of learning and refinement.
    num_seeds : int
        How many consecutive seeds to use in place of `seeds`. Each part of the recipe starts from
        its own seed in the base recipe.
    new_strings : bool
        Whether a seed draws other strings too.

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
    num_seeds: int = Field(default=1, ge=1, le=2**31)
    new_strings: bool = False

    @classmethod
    def from_json(cls, data: bytes) -> Grid:
        """Read a sweep's file. Raises RecipeError if it is not valid.

        Networks are trained to convergence, as `nlwfa fit` trains them, unless the base recipe says
        how.
        """
        check_at_most("the size of a sweep's file in bytes", len(data), MAX_FILE_BYTES)
        lists: Any = from_json(data)
        if not isinstance(lists, dict):
            raise RecipeError(
                "a sweep must be a JSON object with base, learners, ranks, …; got a "
                f"{type(lists).__name__}"
            )
        for name in cls.model_fields:
            if lists.get(name) == [] and name != "base":
                raise RecipeError(
                    f"{name} must not be empty; leave it out to use the value of the base recipe"
                )
        check_json_types(cls, lists)
        grid = cls(**_trained_to_convergence(lists))
        grid.check_used()
        return grid

    def check_used(self) -> None:
        """Raise RecipeError if the sweep sets a field that has no effect in any of its runs.

        A field may have no effect in some runs, and fields at their defaults are accepted, because
        a complete recipe has all of them.
        """
        conditions: dict[str, Condition] | None = None  # of the fields that no run so far has used
        kinds = {_kind(recipe): recipe for _, recipe in self._runs()}
        for recipe in kinds.values():
            unmet = unmet_conditions(recipe) | _conditions_of_data(recipe)
            conditions = (
                unmet
                if conditions is None
                else {name: need for name, need in conditions.items() if name in unmet}
            )
        unused: dict[Condition, list[str]] = {}
        for name, fields in self._statements():
            if conditions and all(field in conditions for field in fields):
                unused.setdefault(conditions[fields[0]], []).append(name)
        for (field, values), names in unused.items():
            part, own = FIELDS[field]
            needed = (
                f"{own if field in ('learner', 'source') else f'{part}.{own}'} "
                f"{alternatives(values)}"
            )
            uses = "it; it needs" if len(names) == 1 else "them; they need"
            raise RecipeError(f"{', '.join(names)}: no run of this sweep uses {uses} {needed}")

    def _statements(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what the sweep sets other than defaults: the name in its file, and the flat names
        of the fields that this sets.
        """
        seeds = ("learning_seed", "refinement_seed", *(["data_seed"] if self.new_strings else []))
        lists = {
            "statistics": ("statistic",),
            "transforms": ("transform",),
            "seeds": seeds,
            "num_seeds": seeds,
        }
        for name in sorted(self.model_fields_set & lists.keys()):
            yield name, lists[name]
        defaults = [Recipe(), *(converged(objective) for objective in REFINEMENTS)]
        for part in PARTS:
            record = getattr(self.base, part)
            for own in (
                name
                for name in type(record).model_fields
                if name in record.model_fields_set and name != "bounded"
            ):
                if all(
                    getattr(getattr(recipe, part), own) != getattr(record, own)
                    for recipe in defaults
                ):
                    yield f"base.{part}.{own}", (FLAT_NAMES[part, own],)

    @property
    def against(self) -> str:
        """Return the horizontal axis of a comparison: one of `AGAINST`."""
        return "strings" if self.sample_sizes else "rank"

    def recipes(self) -> dict[str, Recipe]:
        """List the sweep's recipes: key -> recipe. Recipes that share their strings and their
        matrix follow each other.

        Raises
        ------
        RecipeError
            If a recipe is not valid, or there are too many recipes.
        """
        by_key: dict[str, Recipe] = {}
        for _, recipe in self._runs():
            by_key.setdefault(recipe.key(), recipe)
        return dict(sorted(by_key.items(), key=_order))

    def points(self) -> Mapping[Point, Recipe]:
        """Return the runs of a comparison, by learner, rank or number of strings, and seed.

        Where several seeds give the same recipe, only the point with the smallest seed is listed.

        Raises
        ------
        RecipeError
            If a recipe is not valid, or there are too many.
        """
        return _points(self)

    def _runs(self) -> Iterator[tuple[int, Recipe]]:
        """Yield (number of the seed, recipe) for every combination.

        They are counted before the first one is made.
        """
        lists = (
            self.statistics,
            self.transforms,
            self.sample_sizes,
            self.seeds,
            self.learners,
            self.ranks,
        )
        number = self.num_seeds * prod(max(1, len(values)) for values in lists)
        check_at_most(
            "the number of runs of a sweep (the product of all lists)", number, most("sweep_runs")
        )
        learners = self.learners or (self.base.learning.learner,)
        ranks = self.ranks or (self.base.learning.rank,)
        for number, start in self._starts():
            for learner, rank in product(learners, ranks):
                yield number, start.with_learner(learner, rank)

    def _starts(self) -> Iterator[tuple[int, Recipe]]:
        """Yield (number of the seed, recipe) for each combination of statistic, transform, sample
        size and seed.
        """
        base, hankels = self.base, [self.base.hankel]
        if self.statistics or self.transforms:
            chosen = product(
                self.statistics or (base.hankel.statistic,),
                self.transforms or (base.hankel.transform,),
            )
            hankels = [
                base.hankel.changed(
                    statistic=statistic, transform=transform, bounded=statistic in WITH_BOUNDARY
                )
                for statistic, transform in chosen
            ]
        sizes = self.sample_sizes or (base.data.num_strings,)
        for hankel, size, (number, seeded) in product(
            hankels, sizes, list(enumerate(self._seeded()))
        ):
            yield number, seeded.changed(hankel=hankel, data=seeded.data.changed(num_strings=size))

    def _seeded(self) -> Iterator[Recipe]:
        """Yield the base recipe with every seed."""
        if self.seeds and self.num_seeds > 1:
            raise RecipeError(f"num_seeds must be 1 if seeds are listed; got {self.num_seeds}")
        parts = (
            ("data", "learning", "refinement") if self.new_strings else ("learning", "refinement")
        )
        own = {name: getattr(self.base, name) for name in parts}
        if not self.seeds:
            for number in range(self.num_seeds):
                yield self.base.changed(
                    **{
                        name: part.changed(seed=(part.seed + number) % 2**31)
                        for name, part in own.items()
                    }
                )
        for seed in self.seeds:
            yield self.base.changed(**{name: part.changed(seed=seed) for name, part in own.items()})


def _trained_to_convergence(lists: dict[str, Any]) -> dict[str, Any]:
    """Add the options of training to convergence to the content of a sweep's file, if it does not
    say how to train.
    """
    base = lists.get("base", {})
    if not isinstance(base, dict):
        return lists
    learning, refinement = base.get("learning", {}), base.get("refinement", {})
    if isinstance(learning, dict) and not learning.keys() & {*CONVERGED, *ADAMAX_ONLY}:
        base = {**base, "learning": {**CONVERGED, **learning}}
    on_rows = isinstance(refinement, dict) and refinement.get("objective") == "hankel"
    if on_rows and not refinement.keys() & {"optimizer", "epochs", "rate"}:
        steps = converged("hankel").refinement
        base = {
            **base,
            "refinement": {**refinement, "optimizer": steps.optimizer, "epochs": steps.epochs},
        }
    return {**lists, "base": base}


def _kind(recipe: Recipe) -> tuple[str, ...]:
    """Return the settings that decide which other fields have an effect (see
    `fields.unmet_conditions`).
    """
    learning, refinement = recipe.learning, recipe.refinement
    names = (learning.learner, learning.optimizer, refinement.objective, refinement.optimizer)
    return *names, recipe.hankel.transform, recipe.data.source


def _conditions_of_data(recipe: Recipe) -> dict[str, Condition]:
    """Find the fields that only other sources than the recipe's use, and those sources."""
    owners: dict[str, tuple[str, ...]] = {}
    for name, source in SOURCES.items():
        for field in source.options:
            owners[FLAT_NAMES["data", field]] = (*owners.get(FLAT_NAMES["data", field], ()), name)
    return {
        field: ("source", names)
        for field, names in owners.items()
        if recipe.data.source not in names
    }


def _order(entry: tuple[str, Recipe]) -> tuple[object, ...]:
    """Return a sort key for runs: strings, then matrix.

    Learners without a matrix come last, so that a cached matrix stays.
    """
    key, recipe = entry
    learning = recipe.learning
    return (
        recipe.data.key(),
        not learning.kind.needs_hankel,
        recipe.hankel.key(),
        learning.learner,
        learning.rank,
        key,
    )


@lru_cache(maxsize=32)  # a page asks again at each of its many runs
def _points(grid: Grid) -> Mapping[Point, Recipe]:
    check_at_most("the number of seeds", grid.num_seeds, MAX_SEEDS)
    learners = grid.learners or (grid.base.learning.learner,)
    runs = [
        (
            Point(
                recipe.learning.learner,
                recipe.learning.rank if grid.against == "rank" else recipe.data.num_strings,
                seed,
            ),
            recipe,
        )
        for seed, recipe in grid._runs()
    ]
    runs.sort(key=lambda run: (learners.index(run[0].learner), run[0].value, run[0].seed))
    distinct: dict[str, tuple[Point, Recipe]] = {}
    for point, recipe in runs:
        distinct.setdefault(recipe.key(), (point, recipe))
    check_at_most("the number of runs (learners × values × seeds)", len(distinct), MAX_POINTS)
    return dict(distinct.values())


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished run without its model: small enough to hold hundreds in memory.

    Attributes
    ----------
    recipe : Recipe
    scores : Scores
        On the test strings.
    validation : Scores or None
    diagnostics : Diagnostics
    training : str
        Whether the training is finished (`FitReport.training`).
    num_train : int
        The number of strings that the model was learned from.
    """

    recipe: Recipe
    scores: Scores
    validation: Scores | None
    diagnostics: Diagnostics
    training: str
    num_train: int

    @classmethod
    def of(cls, result: Result) -> Outcome:
        """Make the outcome of a run from its result."""
        training = result.report.training
        return cls(
            result.recipe,
            result.scores,
            result.validation,
            result.diagnostics,
            training,
            result.num_train,
        )

    def on(self, strings: str) -> Scores | None:
        """Return the scores on "test" or "validation" strings; None if there were no such
        strings.
        """
        return self.scores if strings == "test" else self.validation


def curves(
    outcomes: Mapping[Point, Outcome], metric: str, strings: str
) -> dict[str, dict[int, Spread]]:
    """Group a metric for a figure: learner -> rank or number of strings, ascending -> its spread
    over seeds.

    Runs without this score are left out.
    """
    by_learner: dict[str, dict[int, list[float]]] = {}
    for (learner, value, _), outcome in sorted(outcomes.items(), key=lambda entry: entry[0][1]):
        score = getattr(outcome.on(strings), metric, None)
        if score is not None:
            by_learner.setdefault(learner, {}).setdefault(value, []).append(float(score))
    return {
        learner: {value: Spread.of(scores) for value, scores in points.items()}
        for learner, points in by_learner.items()
    }


def winners(outcomes: Mapping[Point, Outcome], metric: str) -> dict[str, tuple[int, list[Scores]]]:
    """Choose the best rank of each learner by its validation scores.

    The best rank has the best mean of the metric over seeds, in the order of `badness`; of tied
    ranks, it is the smallest.

    Returns
    -------
    dict
        Learner -> (its best rank, the test scores of this rank, one for each seed).
    """
    by_learner: dict[str, dict[int, list[Outcome]]] = {}
    for (learner, rank, _), outcome in outcomes.items():
        if outcome.validation is not None:
            by_learner.setdefault(learner, {}).setdefault(rank, []).append(outcome)

    def order(entry: tuple[int, list[Outcome]]) -> tuple[tuple[int, float, float], int]:
        held_out = [outcome.validation for outcome in entry[1] if outcome.validation is not None]
        return badness(
            [float(getattr(scores, metric)) for scores in held_out],
            [scores.num_zero for scores in held_out],
        ), entry[0]

    best = {learner: min(ranks.items(), key=order) for learner, ranks in by_learner.items()}
    return {
        learner: (rank, [outcome.scores for outcome in outcomes_of_rank])
        for learner, (rank, outcomes_of_rank) in best.items()
    }


def time_left(
    seconds: Mapping[str, Sequence[float]], left: Mapping[str, int], num_workers: int
) -> float | None:
    """Estimate how many seconds the missing runs will take, from the times of finished runs.

    A learner without finished runs is assumed to take as long as the average of all finished runs.
    None if no run has finished.

    >>> time_left({"SP": [1.0, 3.0]}, {"SP": 4, "HMM": 1}, num_workers=2)
    5.0
    """
    finished = [value for values in seconds.values() for value in values]
    if not finished:
        return None
    overall = mean(finished)
    return (
        sum(
            count * (mean(seconds[name]) if seconds.get(name) else overall)
            for name, count in left.items()
        )
        / num_workers
    )
