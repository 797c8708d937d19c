"""List the runs that Explore draws: those that differ from the sidebar's in learner, rank and seed
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from nlwfa_core import Recipe, RecipeError, limits
from nlwfa_core.display.explore import MAX_RANK, NETWORKS, OTHER_SEEDS, PFA_STARTS
from nlwfa_core.experiment.recipe import flat, with_fields
from nlwfa_core.experiment.results import Result
from nlwfa_core.learning.learners import PFA
from pages.shared import sidebar
from pages.shared.context import finished, run_folders

LEARNERS = (*NETWORKS, PFA.name())
# learner, or `seeds_of` one -> rank -> keys of runs
Keys = dict[str, dict[int, tuple[str, ...]]]


def options(recipe: Recipe) -> dict[str, Any]:
    """Return a recipe's fields and, where it has none because its learner is linear, those that the
    sidebar remembers.
    """
    return sidebar.FIRST_VALUES | sidebar.hidden_options() | flat(recipe)


def objective(recipe: Recipe) -> str:
    """Return how the networks are trained, one of `OBJECTIVES`."""
    way: str = options(recipe)["objective"]
    return way


def seeds_of(learner: str) -> str:
    """Return the name of a learner's training runs with other seeds.

    >>> seeds_of("both.non")
    'both.non, other seeds'
    """
    return f"{learner}, other seeds"


def recipes(recipe: Recipe, way: str) -> dict[str, dict[int, tuple[Recipe, ...]]]:
    """Return, for networks trained in a given way, learner -> rank -> recipes. The first that is
    finished is drawn; for `PFA`, that is the one with the most starts. The key `seeds_of(learner)`
    of each network has, for each rank, the recipes of `OTHER_SEEDS`.
    """
    return _recipes(recipe, sidebar.hidden_options(), way)


def keys(recipe: Recipe) -> Keys:
    """Return the keys of `recipes` for networks that are trained as the sidebar specifies."""
    remembered = sidebar.hidden_options()
    way = objective(recipe)
    shared = {"learner": LEARNERS[0], "rank": 1, "objective": way}
    return _keys(with_fields(recipe, shared, remembered).key(), remembered, way, recipe)


def finished_keys(runs: Keys) -> Keys:
    """Select the keys of runs that are finished."""
    has_finished = run_folders().has
    return {
        name: {
            rank: done
            for rank, same in by_rank.items()
            if (done := tuple(filter(has_finished, same)))
        }
        for name, by_rank in runs.items()
    }


def drawn_results(found: Keys) -> dict[str, dict[int, Result]]:
    """Return learner -> rank -> the result that is drawn."""
    return {
        learner: {rank: finished(same[0]) for rank, same in found[learner].items()}
        for learner in LEARNERS
    }


def results_of_other_seeds(found: Keys) -> dict[str, dict[int, list[Result]]]:
    """Return learner -> rank -> the results of its other seeds."""
    return {
        learner: {
            rank: [finished(key) for key in same] for rank, same in found[seeds_of(learner)].items()
        }
        for learner in NETWORKS
    }


def results(found: Keys) -> dict[str, dict[int, list[Result]]]:
    """Return learner -> rank -> the results of all its seeds."""
    drawn = drawn_results(found)
    again = results_of_other_seeds(found)
    return {
        learner: {
            rank: [one, *again.get(learner, {}).get(rank, ())] for rank, one in by_rank.items()
        }
        for learner, by_rank in drawn.items()
    }


# One for each matrix and each member of a class, who each have their own seed.
@st.cache_resource(max_entries=512, show_spinner=False)
def _keys(shared_key: str, remembered: Mapping[str, Any], way: str, _recipe: Recipe) -> Keys:
    return {
        learner: {rank: tuple(each.key() for each in same) for rank, same in by_rank.items()}
        for learner, by_rank in _recipes(_recipe, remembered, way).items()
    }


def _recipes(
    recipe: Recipe, remembered: Mapping[str, Any], way: str
) -> dict[str, dict[int, tuple[Recipe, ...]]]:
    ranks = range(1, min(MAX_RANK, limits.most("rank")) + 1)
    found: dict[str, dict[int, tuple[Recipe, ...]]] = {learner: {} for learner in NETWORKS}
    for learner, by_rank in found.items():
        for rank in ranks:
            with suppress(RecipeError):  # the matrix is too small for this rank
                chosen = {"learner": learner, "rank": rank, "objective": way}
                by_rank[rank] = (with_fields(recipe, chosen, remembered),)
    for learner in NETWORKS:
        found[seeds_of(learner)] = {
            rank: tuple(_of_other_seeds(same[0])) for rank, same in found[learner].items()
        }
    by_likelihood = with_fields(recipe, {"learner": PFA.name()}, remembered)
    default_starts = by_likelihood.learning.fields()["starts"]
    starts = sorted({default_starts, PFA_STARTS}, reverse=True)
    found[PFA.name()] = {
        rank: tuple(with_fields(by_likelihood, {"rank": rank, "starts": n}) for n in starts)
        for rank in ranks
    }
    return found


def _of_other_seeds(recipe: Recipe) -> list[Recipe]:
    first = recipe.seed + 1
    return [
        with_fields(recipe, {"learning_seed": seed}) for seed in range(first, first + OTHER_SEEDS)
    ]
