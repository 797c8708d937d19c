"""Many runs beside each other: a grid of recipes over learners, ranks or sample sizes, and seeds, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from statistics import mean

from ..errors import RecipeError
from ..limits import check_at_most
from ..metrics.diagnostics import Diagnostics
from ..metrics.scores import SCORE_OF, Scores
from ..metrics.seeds import Spread, badness
from .recipe import Recipe
from .results import Result

MAX_RUNS = 200
MAX_SEEDS = 10
AGAINST = {"rank": "rank k", "strings": "training strings"}
Place = tuple[str, int, int]  # learner, rank or sample size, number of the seed


@dataclass(frozen=True)
class Sweep:
    """Which runs a comparison needs.

    Attributes
    ----------
    learners : tuple of str
        Of `learning.names.LEARNERS`.
    against : str
        One of `AGAINST`: what runs along the axis.
    values : tuple of int
        Ranks, or numbers of training strings.
    num_seeds : int
        How many seeds in a row, from the recipe's own on.
    new_strings : bool
        Whether a seed draws other strings, too; else it is that of the learning alone.
    """

    learners: tuple[str, ...]
    against: str = "rank"
    values: tuple[int, ...] = ()
    num_seeds: int = 1
    new_strings: bool = False

    def recipes(self, recipe: Recipe) -> Mapping[Place, Recipe]:
        """The runs by their place. Learning that draws nothing at random has one run for all seeds.

        Raises
        ------
        RecipeError
            If they are too many.
        """
        return _grid(self, recipe)

    def place(self, recipe: Recipe, learner: str, value: int) -> Recipe:
        """The recipe of a learner at a rank or sample size."""
        if self.against == "rank":
            return recipe.with_learner(learner, value)
        return recipe.with_learner(learner).changed(data=recipe.data.changed(num_strings=value))

    def names(self, recipe: Recipe, places: Sequence[Place]) -> dict[Place, str]:
        """How each run is called: no longer than tells them apart."""
        size = "" if self.against == "rank" else f", k = {recipe.learning.rank}"
        unit = ", k = {}" if self.against == "rank" else f"{size}, {{:,}} strings"
        seed = ", seed {}" if self.num_seeds > 1 else ""
        return {place: f"{place[0]}{unit.format(place[1])}{seed.format(place[2] + 1)}" for place in places}


@lru_cache(maxsize=32)  # a page asks again at each of its many runs
def _grid(sweep: Sweep, recipe: Recipe) -> Mapping[Place, Recipe]:
    if sweep.against not in AGAINST:
        raise RecipeError(f"against: {sweep.against!r} given, allowed: {', '.join(AGAINST)}")
    check_at_most("seeds", sweep.num_seeds, MAX_SEEDS)
    seeds = [seeded(recipe, place, sweep.new_strings) for place in range(sweep.num_seeds)]
    grid: dict[str, tuple[Place, Recipe]] = {}
    for learner, value in product(sweep.learners, sorted(sweep.values)):
        for place, base in enumerate(seeds):
            one = sweep.place(base, learner, value)
            grid.setdefault(one.key(), ((learner, value, place), one))
    check_at_most("runs (learners × values × seeds)", len(grid), MAX_RUNS)
    return dict(grid.values())


def seeded(recipe: Recipe, number: int, new_strings: bool) -> Recipe:
    """A recipe with the seed that comes `number` after its own, of learning and refinement, and of the strings where asked for."""
    if not number:
        return recipe
    parts = ("data", "learning", "refinement") if new_strings else ("learning", "refinement")
    changed = {name: getattr(recipe, name) for name in parts}
    return recipe.changed(**{name: part.changed(seed=(part.seed + number) % 2**31) for name, part in changed.items()})


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a finished run came to, without its model: light enough to keep hundreds.

    Attributes
    ----------
    recipe : Recipe
    scores : Scores
        On the test strings.
    validation : Scores or None
    diagnostics : Diagnostics
    """

    recipe: Recipe
    scores: Scores
    validation: Scores | None
    diagnostics: Diagnostics

    @classmethod
    def of(cls, result: Result) -> Outcome:
        return cls(result.recipe, result.scores, result.validation, result.diagnostics)

    def on(self, strings: str) -> Scores | None:
        """Scores on "test" or "validation" strings."""
        return self.scores if strings == "test" else self.validation


def curves(outcomes: Mapping[Place, Outcome], metric: str, strings: str) -> dict[str, dict[int, Spread]]:
    """Learner -> value -> metric over seeds, in the order of the values; without runs that have no such score."""
    found: dict[str, dict[int, list[float]]] = {}
    for (learner, value, _), outcome in sorted(outcomes.items(), key=lambda entry: entry[0][1]):
        score = getattr(outcome.on(strings), metric, None)
        if score is not None:
            found.setdefault(learner, {}).setdefault(value, []).append(float(score))
    return {learner: {value: Spread.of(scores) for value, scores in points.items()} for learner, points in found.items()}


def winners(outcomes: Mapping[Place, Outcome], metric: str) -> dict[str, tuple[int, list[Scores]]]:
    """Of each learner the rank that is best on validation strings, on the mean over its seeds, with its test scores by seed.

    Ranks are ordered by `badness`; of equal ranks the smaller is better.
    """
    tried: dict[str, dict[int, list[Outcome]]] = {}
    for (learner, rank, _), outcome in outcomes.items():
        if outcome.validation is not None:
            tried.setdefault(learner, {}).setdefault(rank, []).append(outcome)

    def order(entry: tuple[int, list[Outcome]]) -> tuple[tuple[float, float], int]:
        held_out = [outcome.validation for outcome in entry[1] if outcome.validation is not None]
        return badness([float(getattr(scores, metric)) for scores in held_out], [scores.num_zero for scores in held_out]), entry[0]

    best = {learner: min(ranks.items(), key=order) for learner, ranks in tried.items()}
    return {learner: (rank, [outcome.scores for outcome in found]) for learner, (rank, found) in best.items()}


def spread_table(rows: Mapping[str, Sequence[Scores]]) -> dict[str, list[str]]:
    """Mean ± standard deviation over seeds of the main scores, as they are written, a row a model."""
    columns = {SCORE_OF[field].short_title: field for field in ("wer", "log2_pauto", "bits_per_symbol", "ndcg5", "kl")}
    table = {"model": list(rows), "seeds": [str(len(scores)) for scores in rows.values()]}
    for title, field in columns.items():
        table[title] = [
            Spread.of([value for one in scores if (value := getattr(one, field)) is not None]).text() or "–"
            for scores in rows.values()
        ]
    return table


def time_left(seconds: Mapping[str, Sequence[float]], left: Mapping[str, int], num_workers: int) -> float | None:
    """Seconds that the missing runs should take, from those of the same learner that are done, or of any; None without any.

    >>> time_left({"SP": [1.0, 3.0]}, {"SP": 4, "HMM": 1}, num_workers=2)
    5.0
    """
    known = [value for values in seconds.values() for value in values]
    if not known:
        return None
    overall = mean(known)
    return sum(count * (mean(seconds[name]) if seconds.get(name) else overall) for name, count in left.items()) / num_workers
