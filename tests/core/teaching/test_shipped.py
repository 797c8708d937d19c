"""Results that are shipped: all that lessons and presets need are there, small, sound, and what the
library computes today.
"""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise
from typing import Any

import pytest

from nlwfa_core.display.explore import LIKELIHOOD_RANKS, MAX_RANK
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.experiment.results import load_result
from nlwfa_core.jobs.runner import Runner
from nlwfa_core.learning.learners import NetworkLearner
from nlwfa_core.teaching.lessons import START, read_lessons
from nlwfa_core.teaching.shipped import ASSETS, make_results, shipped_recipes

RESULTS = ASSETS / "results"
LESSONS = tuple(read_lessons(ASSETS / "lessons").values())
WANTED = shipped_recipes(LESSONS)
# How near scores come on any processor (docs/method-notes.md). Linear models differ in the
# thirteenth digit, networks after at most 1,000 epochs of Adamax by 1e-6. L-BFGS takes other steps
# after a different last digit: a network is then another one, about as good.
LINEAR = 1e-9
SHORT = 1e-5
# at least the largest difference among three types
CONVERGED = {"log2_pauto": 0.07, "wer": 0.06, "bits_per_symbol": 0.3}


def is_quick(recipe: Recipe) -> bool:
    """Whether a result is computed again here: linear models, unless EM takes long, and networks
    whose training is short and whose scores come back.

    With three states even the first digits depend on chance. Networks by likelihood take half a
    minute each; docs/method-notes.md says how much they differ.
    """
    learning = recipe.learning
    if not isinstance(learning, NetworkLearner):
        return learning.learner == "SP" or (learning.learner == "PFA" and learning.rank <= 5)
    longest = max(learning.epochs_factorisation, learning.epochs_transitions)
    if learning.objective == "likelihood":
        return False
    if learning.refine != "none" or recipe.data.num_strings > 2_000 or longest > 5_000:
        return False
    return learning.optimizer == "adamax" or (
        learning.rank >= 5 and recipe.hankel == START.hankel and recipe.data == START.data
    )


def test_by_likelihood_what_is_minimised_never_rises_with_the_rank() -> None:
    recipes = [recipe for recipe in WANTED.values() if isinstance(recipe.learning, NetworkLearner)]
    losses: dict[str, dict[int, float]] = {}
    for recipe in recipes:
        if recipe.learning.objective == "likelihood":
            [log] = load_result(RESULTS / recipe.key()).report.logs
            losses.setdefault(recipe.learning.learner, {})[recipe.learning.rank] = log.losses[-1]
    assert set(losses) == {"fac.non", "tran.non", "both.non"}
    for of_rank in losses.values():
        assert sorted(of_rank) == list(LIKELIHOOD_RANKS)
        values = [of_rank[rank] for rank in LIKELIHOOD_RANKS]
        assert all(after <= before + 1e-12 for before, after in pairwise(values))


QUICK = [key for key, recipe in WANTED.items() if is_quick(recipe)]


def assert_same_scores(scores: dict[str, Any], recipe: Recipe) -> None:
    shipped = load_result(RESULTS / recipe.key())
    learning = recipe.learning
    networks = isinstance(learning, NetworkLearner)
    if networks and learning.optimizer == "lbfgs":
        for name, near in CONVERGED.items():
            assert scores[name] == pytest.approx(getattr(shipped.scores, name), abs=near), name
        assert scores["num_zero"] == 0 == scores["num_nonfinite"]
        return
    near = SHORT if networks else LINEAR
    for name, value in scores.items():
        expected = getattr(shipped.scores, name)
        assert value == (
            expected
            if expected is None
            else pytest.approx(expected, rel=near, abs=near, nan_ok=True)
        ), name


def test_all_that_is_wanted_is_there_and_nothing_else() -> None:
    assert {path.name for path in RESULTS.iterdir()} == set(WANTED)
    for lesson in LESSONS:
        assert {recipe.key() for step in lesson.steps for recipe in step.models} <= set(WANTED)
    assert all(
        recipe.key() in WANTED for _, recipe in PRESETS.values() if recipe.data.source != "upload"
    )


def test_linear_models_by_likelihood_have_every_rank() -> None:
    ranks = [
        recipe.learning.rank
        for recipe in WANTED.values()
        if recipe.learning.learner == "PFA" and recipe.data == START.data
    ]
    assert sorted(ranks) == list(range(1, MAX_RANK + 1))


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for path in RESULTS.rglob("*")) < 4 * 2**20


@pytest.mark.parametrize("key", WANTED)
def test_each_holds_its_own_recipe(key: str) -> None:
    assert load_result(RESULTS / key).recipe.key() == key


@pytest.mark.slow
@pytest.mark.parametrize("key", QUICK)
def test_scores_are_the_same_today(key: str) -> None:
    assert_same_scores(dataclasses.asdict(run(WANTED[key]).scores), WANTED[key])


def test_the_runner_finds_them_and_writes_elsewhere(tmp_path) -> None:  # type: ignore[no-untyped-def]
    runner = Runner(tmp_path, num_workers=1, shipped=RESULTS)
    try:
        key = next(iter(WANTED))
        status = runner.status(key)
        assert status is not None and status.state == "done"
        assert runner.result(key).recipe.key() == key
        runner.submit(WANTED[key], "somebody")
        assert not runner.pids and not (tmp_path / "runs").exists()
    finally:
        runner.close()


def test_what_is_missing_is_made_and_what_nobody_wants_goes(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "old").mkdir()
    larger = next(step for step in LESSONS[1].steps if step.title == "Too many states")
    few = [dataclasses.replace(LESSONS[1], steps=(larger,))]
    presets = {recipe.key() for recipe in shipped_recipes([]).values()}
    for key in presets:
        (tmp_path / key).mkdir()
        (tmp_path / key / "result.json").write_text(json.dumps({}), encoding="utf-8")
    assert (
        make_results(tmp_path, few) == ["SP, k = 50, dyck", "SP, k = 100, dyck"]
        and make_results(tmp_path, few) == []
    )
    assert not (tmp_path / "old").exists()
