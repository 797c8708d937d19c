"""Runs beside each other: the options that differ, the best and the last, a table and the axes of a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ..experiment.recipe import Recipe
from ..experiment.sweeps import Outcome
from ..metrics.scores import MAIN_SCORES, SCORE_OF
from ..sources.registry import SOURCES
from .tables import format_diagnostic, format_score

# Options that several parts of a recipe call alike, or that read badly as they are; the others are called as in the recipe.
OPTION_NAMES = {
    ("data", "seed"): "seed of the strings",
    ("data", "num_strings"): "training strings",
    ("data", "num_validation"): "validation strings",
    ("data", "num_test"): "test strings",
    ("data", "num_states"): "states of the source",
    ("data", "num_symbols"): "symbols of the source",
    ("data", "upload"): "file of training strings",
    ("learning", "seed"): "seed of the networks",
    ("learning", "hidden"): "hidden layers, times k",
}
IDLE = "–"


@lru_cache(maxsize=1024)
def options(recipe: Recipe) -> Mapping[str, str]:
    """Every option of a recipe, by its name for people, as it is written; "–" where it means nothing in this recipe."""
    return {
        OPTION_NAMES.get((part, field), f"{part}: {field}" if part == "refinement" else field.replace("_", " ")): (
            _written(value) if _matters(recipe, part, field) else IDLE
        )
        for part, values in recipe
        for field, value in values
    }


def _matters(recipe: Recipe, part: str, field: str) -> bool:
    """Whether an option changes anything."""
    learning = recipe.learning
    if part == "data":
        owners = [name for name, source in SOURCES.items() if field in source.options]
        return not owners or recipe.data.source in owners
    if part == "learning":
        return field in ("learner", "rank") or learning.kind.networks or (field == "seed" and learning.kind.is_random)
    refined = recipe.refinement.objective != "none" or field == "objective"
    return learning.kind.needs_hankel and (part == "hankel" or refined)


def differing(recipes: Sequence[Recipe]) -> list[str]:
    """The options that are not the same in all recipes where they mean something."""
    found = [options(recipe) for recipe in recipes]
    return [name for name in found[0] if len({entry[name] for entry in found} - {IDLE}) > 1] if found else []


def difference_table(recipes: Mapping[str, Recipe], every: bool = False) -> dict[str, list[str]]:
    """A row an option that differs (or each one), a column a recipe."""
    found = {name: options(recipe) for name, recipe in recipes.items()}
    names = list(next(iter(found.values()))) if every else differing(list(recipes.values()))
    return {"option": names} | {run: [entry[name] for name in names] for run, entry in found.items()}


def ranking(outcomes: Mapping[str, Outcome], metric: str) -> list[str]:
    """Names of runs, the best on validation strings first; those without such strings come last."""

    def badness(name: str) -> tuple[int, float, int]:
        scores = outcomes[name].validation
        value = math.nan if scores is None else float(getattr(scores, metric))
        return scores is None, value if math.isfinite(value) else math.inf, 0 if scores is None else scores.num_zero

    return sorted(outcomes, key=badness)


def run_table(outcomes: Mapping[str, Outcome], metric: str, every: bool = False) -> dict[str, list[str]]:
    """A row a run, the best on validation strings first: what differs in its recipe, test scores, diagnostics, as written.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
    metric : str
        One of `metrics.scores.RANK_METRICS`, that ranks the runs.
    every : bool
        Options that are the same in all runs too.
    """
    order = ranking(outcomes, metric)
    found = [outcomes[name] for name in order]
    recipes = [outcome.recipe for outcome in found]
    shown = list(options(recipes[0])) if every and recipes else differing(recipes)
    by_run = [options(recipe) for recipe in recipes]
    marks = ["best", *[""] * (len(order) - 2), "last"] if len(order) > 1 else ["only"] * len(order)
    table = {"run": order, "place": marks}
    table |= {name: [entry[name] for entry in by_run] for name in shown}
    for score in (MAIN_SCORES[0], SCORE_OF["share_tied"], *MAIN_SCORES[1:]):
        table[score.short_title] = [format_score(getattr(outcome.scores, score.field), score.form) for outcome in found]
    table["on validation"] = [format_score(getattr(outcome.validation, metric, None)) for outcome in found]
    table["radius of ΣA"] = [format_diagnostic(outcome.diagnostics.spectral_radius) for outcome in found]
    table["total mass"] = [format_diagnostic(outcome.diagnostics.total_mass) for outcome in found]
    table["mass of short strings"] = [
        f"{outcome.diagnostics.short_mass:.4g} (length ≤ {outcome.diagnostics.short_length})" for outcome in found
    ]
    table["zero outputs"] = [f"{outcome.diagnostics.share_zero:.1%}" for outcome in found]
    table["negative outputs"] = [f"{outcome.diagnostics.share_negative:.1%}" for outcome in found]
    table["numerical rank"] = [format_diagnostic(outcome.diagnostics.numerical_rank) for outcome in found]
    return table


def parallel_axes(outcomes: Mapping[str, Outcome]) -> dict[str, list[str] | list[float]]:
    """Axis -> each run's value: what differs in the recipes, and three scores on the test strings."""
    found = list(outcomes.values())
    recipes = [outcome.recipe for outcome in found]
    names = [name for name in differing(recipes) if name != "bounded"]  # which follows from the others
    by_run = [options(recipe) for recipe in recipes]
    axes: dict[str, list[str] | list[float]] = {}
    for name in names:
        column = [entry[name] for entry in by_run]
        numbers = all(_is_number(text) for text in column)
        axes[name] = [float(text) for text in column] if numbers else column
    for score in MAIN_SCORES:
        axes[score.short_title] = [float(getattr(outcome.scores, score.field)) for outcome in found]
    return axes


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return ("yes" if value else "no") if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
