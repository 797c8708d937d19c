"""Compare runs: the options that differ between them, their order, a table, and the axes of
parallel coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ..errors import PLAIN_DIGITS, format_exact
from ..experiment.recipe import OPTIONS, Recipe, option_values
from ..experiment.sweeps import Outcome, Place
from ..metrics.diagnostics import DIAGNOSTIC_TITLES, format_diagnostic
from ..metrics.score_table import CRITERIA, MAIN_SCORES, SCORE_OF
from ..metrics.tables import Column, Numbers, Table, format_score
from .result_tables import score_column

NO_EFFECT = "–"  # written in place of an option's value if the option has no effect in that recipe
# written in place of the options of a recipe that this version of the lab can't read
UNREADABLE = "?"


@lru_cache(maxsize=1024)
def options(recipe: Recipe) -> Mapping[str, str]:
    """Write every option of a recipe as text: label -> value, or "–" if the option has no effect in
    this recipe.
    """
    values = option_values(recipe)
    return {
        entry.title: _option_text(values[name]) if name in values else NO_EFFECT
        for name, entry in OPTIONS.items()
    }


def differing(recipes: Sequence[Recipe]) -> list[str]:
    """List the labels of the options that differ between recipes; for each option, recipes in which
    it has no effect are ignored.
    """
    if not recipes:
        return []
    by_recipe = [options(recipe) for recipe in recipes]

    def differs(label: str) -> bool:
        return len({values[label] for values in by_recipe} - {NO_EFFECT}) > 1

    return [label for label in by_recipe[0] if differs(label)]


def with_title(value: str, titles: Mapping[str, str]) -> str:
    """Return an option's value; if it is the hash of an uploaded file whose title is known, the
    title followed by the hash.
    """
    return f"{titles[value]} ({value})" if titles.get(value) else value


def difference_table(
    recipes: Mapping[str, Recipe],
    all_options: bool = False,
    titles: Mapping[str, str] | None = None,
) -> dict[str, list[str]]:
    """Make a table with a column for each recipe, and a row for each option or only for each that
    differs.

    `titles`: SHA-256 -> title of an uploaded file.
    """
    by_run = {name: options(recipe) for name, recipe in recipes.items()}
    names = list(next(iter(by_run.values()))) if all_options else differing(list(recipes.values()))
    columns = {
        run: [with_title(values[name], titles or {}) for name in names]
        for run, values in by_run.items()
    }
    return {"option": names} | columns


def option_column(texts: Iterable[str]) -> Column:
    """Make a column of an option's values: a column of numbers if every value except "–" and "?" is
    a number, otherwise of text.

    >>> option_column(["10", "–"]).values, option_column(["SP", "–"])
    ((10.0, None), ['SP', '–'])
    """
    column = list(texts)
    known = [text for text in column if text not in (NO_EFFECT, UNREADABLE)]
    if not known or None in map(_number, known):
        return column
    return Numbers.of((_number(text), text) for text in column)


def ranking(outcomes: Mapping[str, Outcome], metric: str) -> list[str]:
    """Order the names of runs by `Place`: the best on validation strings, or by AIC or BIC, first;
    runs without such a value last.
    """
    return sorted(outcomes, key=lambda name: Place.of([outcomes[name]], metric))


def level_with(name: str, outcomes: Mapping[str, Outcome], metric: str) -> list[str]:
    """List the other runs that have the same validation score as a run, in the order of
    `ranking`.
    """
    level = Place.of([outcomes[name]], metric).level
    return [
        other
        for other in ranking(outcomes, metric)
        if other != name and Place.of([outcomes[other]], metric).level == level
    ]


def best_pair(outcomes: Mapping[str, Outcome], metric: str) -> list[str]:
    """Name the best run and the best of another learner, or the next one if there is only one
    learner; fewer names if there are fewer runs.
    """
    order = ranking(outcomes, metric)
    learners = {name: outcomes[name].recipe.learning.learner for name in order}
    others = [name for name in order[1:] if learners[name] != learners[order[0]]] or order[1:]
    return [*order[:1], *others[:1]]


def run_table(outcomes: Mapping[str, Outcome], metric: str, all_options: bool = False) -> Table:
    """Make a table of options, test scores and diagnostics, with a row for each run in the order of
    `ranking`.

    `metric`: the score by which the runs are ordered: one of `metrics.score_table.RANK_METRICS` or
    of `CRITERIA` there.
    `all_options`: whether to also show options that are the same in all runs.
    """
    order = ranking(outcomes, metric)
    ordered = [outcomes[name] for name in order]
    recipes = [outcome.recipe for outcome in ordered]
    option_names = list(options(recipes[0])) if all_options and recipes else differing(recipes)
    by_run = [options(recipe) for recipe in recipes]
    selections = [outcome.selection(metric) for outcome in ordered]  # (score, weights of 0)
    has_order = any(found is not None for found in selections)  # none without validation strings
    table: Table = {"run": order, "place": _places(len(order)) if has_order else [""] * len(order)}
    for name in option_names:
        table[name] = option_column(run_options[name] for run_options in by_run)
    for score in (MAIN_SCORES[0], SCORE_OF["share_tied"], *MAIN_SCORES[1:]):
        table[score.short_title] = score_column((outcome.scores for outcome in ordered), score)
    table["training"] = [outcome.training for outcome in ordered]
    table[CRITERIA.get(metric, "on validation")] = Numbers.written(
        (None if found is None else found[0] for found in selections), format_score
    )
    health = [outcome.diagnostics for outcome in ordered]
    for field in (
        "spectral_radius",
        "total_mass",
        "short_mass",
        "share_zero",
        "share_negative",
        "numerical_rank",
    ):
        numbers = [getattr(one, field) for one in health]
        table[DIAGNOSTIC_TITLES[field]] = Numbers.of(
            (value, format_diagnostic(field, value, one.short_length, recipe.learning.rank))
            for value, one, recipe in zip(numbers, health, recipes, strict=True)
        )
    return table


def _places(number: int) -> list[str]:
    """Mark the first and the last of some runs in their order."""
    return ["only"] if number == 1 else ["best", *[""] * (number - 2), "last"]


def parallel_axes(outcomes: Mapping[str, Outcome]) -> dict[str, list[str] | list[float]]:
    """Make the axes of parallel coordinates, title -> a value for each run: the options that
    differ, and the main test scores.
    """
    recipes = [outcome.recipe for outcome in outcomes.values()]
    derived = {entry.title for entry in OPTIONS.values() if entry.derived}
    names = [name for name in differing(recipes) if name not in derived]
    by_run = [options(recipe) for recipe in recipes]
    axes: dict[str, list[str] | list[float]] = {}
    for name in names:
        column = [values[name] for values in by_run]
        numbers = [number for text in column if (number := _number(text)) is not None]
        axes[name] = numbers if len(numbers) == len(column) else column
    for score in MAIN_SCORES:
        axes[score.short_title] = [
            float(getattr(outcome.scores, score.field)) for outcome in outcomes.values()
        ]
    return axes


def _option_text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_exact(value) if isinstance(value, float) else str(value)


def _number(text: str) -> float | None:
    """Read a number that `format_exact` wrote; None if the text is not a finite number.

    >>> _number("0.05"), _number("1·10⁻⁷"), _number("SP")
    (0.05, 1e-07, None)
    """
    try:
        value = float(text.replace("·10", "e").replace(",", "").translate(PLAIN_DIGITS))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
