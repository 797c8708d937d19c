"""Define sweeps: a base recipe with lists of values for some fields, from a page's controls or a
file, and the outcomes of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from statistics import mean
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from ..errors import RecipeError, alternatives, check_one_of, did_you_mean
from ..files import from_json
from ..learning.learners import LEARNERS, SP
from ..limits import check_at_most, check_limit
from ..metrics.criteria import InformationCriteria
from ..metrics.diagnostics import Diagnostics
from ..metrics.score_table import CRITERIA, Scores
from ..metrics.seeds import Spread, badness
from ..records import Record, check_json_types
from .recipe import (
    FIELDS,
    LEARNING_SEEDS,
    OPTIONS,
    Recipe,
    Seed,
    flat,
    flat_name,
    needs,
    with_fields,
)
from .results import Result

MAX_POINTS = 200  # in a comparison; a page shows all of them
MAX_SEEDS = 10  # in a comparison
MAX_FILE_BYTES = 2**20
# What a comparison can have on its axis, and how the axis is labelled.
AGAINST = {"rank": "rank k", "strings": "training strings"}
Value = int | float | str


class Point(NamedTuple):
    """A run's coordinates in a comparison: learner, rank or number of training strings, and number
    of the seed, from 0.
    """

    learner: str
    value: int
    seed: int


class Grid(Record):
    """A sweep: the runs of all combinations of the values in several lists. For an empty list, the
    base recipe's value is used.

    Strings are counted with boundary symbols if a learner needs them. Combinations that would give
    equal results have a single run: learners without randomness have one run for all seeds, unless
    seeds also draw other strings, and learners that need no Hankel matrix have one run for all
    statistics and transforms.

    >>> len(Grid(learners=("SP", "fac.non"), ranks=(1, 2), seeds=(0, 1, 2)).recipes())
    8
    """

    base: Recipe = Recipe()
    learners: tuple[str, ...] = ()
    ranks: tuple[Annotated[int, Field(ge=1)], ...] = ()
    statistics: tuple[str, ...] = ()
    transforms: tuple[str, ...] = ()
    sample_sizes: tuple[int, ...] = ()
    seeds: tuple[Seed, ...] = ()  # the seeds of learning and refinement
    # How many consecutive seeds to use in place of `seeds`. Each seed of the recipe starts from its
    # value in the base recipe.
    num_seeds: int = Field(default=1, ge=1, le=2**31)
    new_strings: bool = False  # whether a seed draws other strings too
    # Options of learning, under their flat names, for all learners for which they have an effect;
    # the base recipe has only those of its own learner.
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def from_json(cls, data: bytes) -> Grid:
        """Read a sweep's file. Raises RecipeError if it is not valid.

        The options in `base.learning` are for all learners of the sweep that have them.
        """
        check_at_most("a sweep's file", len(data), MAX_FILE_BYTES, unit="bytes")
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
        if "options" in lists:
            raise cls.unknown_field("options")
        lists = _with_options(lists)
        check_json_types(cls, lists)
        grid = cls(**lists)
        grid.check_used()
        return grid

    @classmethod
    def unknown_field(cls, name: str) -> RecipeError:
        """Make the error for a field that a sweep's file can't have."""
        names = [field for field in cls.model_fields if field != "options"]
        advice = did_you_mean(name, names) or f"; the fields are {', '.join(names)}"
        return RecipeError(f"unknown field {name!r}{advice}")

    def check_used(self) -> None:
        """Raise RecipeError if the sweep sets a field that has no effect in any of its runs.

        A field may have no effect in some runs, and fields at their defaults are accepted, because
        a complete recipe has all of them.
        """
        kinds = {_kind(recipe): recipe for _, recipe in self._runs()}
        unused: dict[tuple[tuple[str, tuple[Any, ...]], ...], list[str]] = {}
        for name, fields in self._statements():
            if not any(not needs(recipe, field) for recipe in kinds.values() for field in fields):
                needed = needs(next(iter(kinds.values())), fields[0])
                condition = tuple((field, tuple(values)) for field, values in needed.items())
                unused.setdefault(condition, []).append(name)
        for condition, names in unused.items():
            phrases = [f"{_place(field)} {alternatives(values)}" for field, values in condition]
            uses = "it; it needs" if len(names) == 1 else "them; they need"
            raise RecipeError(
                f"{', '.join(names)}: no run of this sweep uses {uses} {', or '.join(phrases)}"
            )

    def _statements(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield what the sweep sets other than defaults: the name in its file, and the flat names
        of the fields that this sets.
        """
        seeds = (*LEARNING_SEEDS, *(["data_seed"] if self.new_strings else []))
        lists = {
            "statistics": ("statistic",),
            "transforms": ("transform",),
            "seeds": seeds,
            "num_seeds": seeds,
        }
        for name in sorted(self.model_fields_set & lists.keys()):
            yield name, lists[name]
        for part, record in self.base.fields().items():
            for field in record.changes():
                name = flat_name(part, field)
                if name in FIELDS and name != "learner":
                    yield _place(name), (name,)
        for name, value in self.options:
            if value not in OPTIONS[name].defaults:
                yield _place(name), (name,)

    @property
    def against(self) -> str:
        """Return the horizontal axis of a comparison: one of `AGAINST`."""
        return "strings" if self.sample_sizes else "rank"

    def recipes(self) -> dict[str, Recipe]:
        """List the sweep's recipes: key -> recipe. Recipes that share their strings and their
        matrix follow each other.

        Raises RecipeError if a recipe is not valid, or there are too many recipes.
        """
        by_key: dict[str, Recipe] = {}
        for _, recipe in self._runs():
            by_key.setdefault(recipe.key(), recipe)
        return dict(sorted(by_key.items(), key=_order))

    def points(self) -> Mapping[Point, Recipe]:
        """Return the runs of a comparison, by learner, rank or number of strings, and seed.

        Where several seeds give the same recipe, only the point with the smallest seed is listed.

        Raises RecipeError if a recipe is not valid, or there are too many.
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
        check_limit(
            "the number of runs of a sweep (the product of all lists)", number, "sweep_runs"
        )
        starts = product(
            _listed("statistic", self.statistics),
            _listed("transform", self.transforms),
            _listed("num_strings", self.sample_sizes),
            enumerate(self._seeds()),
            _listed("learner", self.learners),
            _listed("rank", self.ranks),
        )
        for statistic, transform, num_strings, (number, seeds), learner, rank in starts:
            values = dict(self.options) | statistic | transform | seeds
            if self.statistics or self.transforms:
                _check_words(values)
            yield number, with_fields(self.base, num_strings | learner | rank, values)

    def _seeds(self) -> Iterator[dict[str, int]]:
        """Yield the seeds of every run: flat name -> seed."""
        if self.seeds and self.num_seeds > 1:
            raise RecipeError(f"num_seeds must be 1 if seeds are listed; got {self.num_seeds}")
        names = (*LEARNING_SEEDS, "data_seed") if self.new_strings else LEARNING_SEEDS
        base = flat(self.base) | dict(self.options)
        if not self.seeds:
            for number in range(self.num_seeds):
                yield {name: (base.get(name, 0) + number) % 2**31 for name in names}
        for seed in self.seeds:
            yield dict.fromkeys(names, seed)


def _listed(name: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the fields that each value of a list sets; an empty list sets none."""
    return [{name: value} for value in values] or [{}]


def _check_words(values: Mapping[str, Any]) -> None:
    """Raise RecipeError unless the words for the Hankel matrix are valid, even if the learner needs
    no matrix.
    """
    for name in ("statistic", "transform"):
        if name in values:
            check_one_of(name, values[name], OPTIONS[name].choices)


def _with_options(lists: dict[str, Any]) -> dict[str, Any]:
    """Move the options of `base.learning`, which are for all learners, to `options`."""
    base = lists.get("base", {})
    learning = base.get("learning", {}) if isinstance(base, dict) else None
    if not isinstance(learning, dict):
        return lists
    names = {field: name for name, (part, field) in FIELDS.items() if part == "learning"}
    for field, value in learning.items():
        if field not in names:
            near = did_you_mean(field, names) or f"; the fields are {', '.join(names)}"
            raise RecipeError(f"unknown field 'base.learning.{field}'{near}")
        declaring = next(kind for kind in LEARNERS.values() if field in kind.model_fields)
        check_json_types(declaring, {field: value}, "base.learning.")
    first = learning.get("learner", SP.name())
    listed = lists.get("learners") or [first]
    known = []
    if isinstance(listed, list):
        known = [name for name in listed if isinstance(name, str) and name in LEARNERS]
    # a base with a Hankel matrix needs a learner that has one
    learner = next((name for name in known if LEARNERS[name].from_hankel), None)
    own = {"learner": learner or next(iter(known), first)}
    options = []
    for field, value in learning.items():
        if field == "rank":
            own[field] = value
        elif field != "learner":
            entry = ",".join(map(str, value)) if isinstance(value, list) else value
            options.append((names[field], entry))
    return {**lists, "base": {**base, "learning": own}, "options": options}


def _place(name: str) -> str:
    """Return where a sweep's file has a field, such as base.learning.rank."""
    part, field = FIELDS[name]
    return field if field in ("learner", "source") else f"base.{part}.{field}"


# The fields that decide whether other fields have an effect.
DECIDING = sorted(
    {"learner", "transform"}
    | {
        field
        for entry in OPTIONS.values()
        for condition in entry.when
        for field in condition
        if field in FIELDS
    }
)


def _kind(recipe: Recipe) -> tuple[Any, ...]:
    """Return the values that decide which other fields have an effect."""
    values = flat(recipe)
    return tuple(values.get(name) for name in DECIDING)


def _order(entry: tuple[str, Recipe]) -> tuple[object, ...]:
    """Return a sort key for runs: strings, then matrix.

    Learners without a matrix come last, so a cached matrix stays.
    """
    key, recipe = entry
    learning = recipe.learning
    return (
        recipe.data.key(),
        not learning.needs_hankel,
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
    """A finished run without its model: small enough to hold hundreds in memory."""

    recipe: Recipe
    scores: Scores  # on the test strings
    validation: Scores | None
    diagnostics: Diagnostics
    training: str  # whether the training is finished (`FitReport.training`)
    num_train: int  # the number of strings that the model was learned from
    criteria: InformationCriteria | None = None  # on the training strings; None if not computed

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

    def selection(self, name: str) -> tuple[float, int] | None:
        """Return a score on the validation strings, or AIC or BIC, and the number of strings with
        weight 0, which decides between values that are not finite. None if there are no such
        strings, or AIC and BIC are undefined.
        """
        if name in CRITERIA:
            one = self.criteria
            return None if one is None or one.why_undefined else (getattr(one, name), 0)
        held_out = self.validation
        return None if held_out is None else (float(getattr(held_out, name)), held_out.num_zero)


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


TIES = "Ties are broken by bits per symbol, then by fewer states."


@dataclass(frozen=True, order=True)
class Place:
    """The place of one model's runs among others by their validation scores, or by AIC or BIC: a
    sort key, the best first.

    `level` is the same for models that the score does not distinguish: how many values are not
    finite, the mean of the others and, if some are not finite, the mean number of outputs of
    exactly 0. `tie_break` is the same for the bits per symbol, then the number of states.
    """

    level: tuple[float, float, float]
    tie_break: tuple[float, float, int]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], metric: str) -> Place:
        """Place the runs of a model, one for each seed.

        Runs without the value come last. `metric`: as in `winners`.
        """
        states = max(outcome.recipe.learning.rank for outcome in outcomes)
        values = [value for one in outcomes if (value := one.selection(metric)) is not None]
        if not values:
            return cls((math.inf,) * 3, (math.inf, math.inf, states))
        infinite, average, zeros = badness(
            [score for score, _ in values], [num_zero for _, num_zero in values]
        )
        held_out = [one.validation for one in outcomes if one.validation is not None]
        bits = "bits_without_end" if metric.endswith("_without_end") else "bits_per_symbol"
        tie_break = Spread.of(float(getattr(scores, bits)) for scores in held_out).order
        level = (infinite, _without_rounding_error(average), zeros if infinite else 0)
        return cls(level, (tie_break[0], _without_rounding_error(tie_break[1]), states))


def _without_rounding_error(value: float) -> float:
    """Round a mean of scores, so that sums in another order are equal."""
    return round(value, 12) if math.isfinite(value) else value


class RankChoice(NamedTuple):
    """The chosen rank of a learner."""

    rank: int
    scores: list[Scores]  # on the test strings, one for each seed
    level: tuple[int, ...]  # the other ranks with the same value


def winners(outcomes: Mapping[Point, Outcome], metric: str) -> dict[str, RankChoice]:
    """Choose the best rank of each learner by its validation scores, or by AIC or BIC: the first in
    the order of `Place`. A learner for which no run has the value has no best rank.

    `metric`: a score of the validation strings, or one of `metrics.score_table.CRITERIA`.
    """
    by_learner: dict[str, dict[int, list[Outcome]]] = {}
    for (learner, rank, _), outcome in outcomes.items():
        if outcome.selection(metric) is not None:
            by_learner.setdefault(learner, {}).setdefault(rank, []).append(outcome)
    chosen = {}
    for learner, ranks in by_learner.items():
        places = {rank: Place.of(of_rank, metric) for rank, of_rank in ranks.items()}
        best = min(ranks, key=lambda rank: (places[rank], rank))
        level = {rank for rank in ranks if places[rank].level == places[best].level} - {best}
        scores = [outcome.scores for outcome in ranks[best]]
        chosen[learner] = RankChoice(best, scores, tuple(sorted(level)))
    return chosen


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
