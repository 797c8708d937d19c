"""Formulas say what the code does: which steps there are, and how outputs are read."""

from __future__ import annotations

import re

import pytest

from nlwfa_core.display.formulas.recipe_formulas import entries, marks, steps
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.hankel.statistics import FOR_ALL_LEARNERS, TRANSFORMS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, NETWORK_LEARNERS, options
from nlwfa_core.learning.names import REFINEMENTS


def recipe_of(learner: str, statistic: str, transform: str, objective: str = "none") -> Recipe:
    bounded = LEARNERS[learner].needs_boundary(statistic, transform)
    return Recipe(
        hankel=HankelRecipe(statistic=statistic, transform=transform, bounded=bounded),
        learning=options(learner, refine=objective),
    )


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("statistic", FOR_ALL_LEARNERS)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("objective", REFINEMENTS)
def test_formulas_agree_with_the_steps_of_the_learner(
    learner: str, statistic: str, transform: str, objective: str
) -> None:
    recipe = recipe_of(learner, statistic, transform, objective)
    formulas = dict(steps(recipe))
    for formula in formulas.values():
        assert formula.count("{") == formula.count("}") and "%" not in formula
        assert formula.count(r"\begin") == formula.count(r"\end") == formula.count("gathered") / 2
    titles = " ".join(formulas)
    assert ("The matrix" in titles) == (transform != "none")
    assert ("Step 3" in titles) == (objective != "none")
    converted = learner == "SP" and statistic != "string" and not recipe.hankel.bounded
    assert ("Back to strings" in titles) == converted
    assert ("Read as" in titles) == (transform != "none" or recipe.hankel.bounded)
    text = " ".join(formulas.values())
    assert bool(re.search("w_|_w", text)) == (transform == "row")
    assert (r"\phi'" in text) == LEARNERS[learner].networks
    assert (r"\dashv" in text) == (recipe.hankel.bounded and transform != "row")
    assert bool(re.search(r"\\bigr\)\^2", text)) == (transform == "sqrt")


@pytest.mark.parametrize("learner", NETWORK_LEARNERS)
def test_formulas_of_a_training_by_likelihood_have_the_tanh_of_the_learner(learner: str) -> None:
    network, training = dict(
        steps(Recipe(learning=options(learner, objective="likelihood")))
    ).values()
    num_tanh = 2 * (learner != "fac.non") + (learner != "tran.non")
    assert network.count(r"\tanh") == num_tanh and r"\operatorname{softmax}" in network
    assert r"\rho" in training and r"\mathbf{H}" not in network + training


def test_suffixes_are_converted_at_the_beginning_alone() -> None:
    formulas = dict(steps(recipe_of("SP", "suffix", "none")))
    text = formulas["**Back to strings**, with $\\mathbf{A}=\\sum_\\sigma\\mathbf{A}_\\sigma$"]
    assert r"\alpha_0" in text and r"\alpha_\infty" not in text


def test_the_order_is_that_of_the_code() -> None:
    """Refinement on the rows comes before the conversion to strings, by likelihood after it."""
    for objective, last in (("hankel", "**Back to strings**"), ("likelihood", "**Step 3**")):
        assert list(steps(recipe_of("SP", "factor", "none", objective)))[-1][0].startswith(last)


def test_entries_in_words() -> None:
    assert entries(HankelRecipe()) == "the share of training strings that equal $uv$"
    assert entries(HankelRecipe(transform="row")).endswith(
        "that equal $uv$, divided by the sum of its row"
    )
    bounded = HankelRecipe(statistic="factor", transform="row", bounded=True)
    assert (
        entries(bounded)
        == "the average number of times $uv$ occurs in a training string, divided by the same "
        "for $u$"
    )
    assert marks(HankelRecipe()) == "" and r"${\vdash}\,x\,{\dashv}$" in marks(bounded)
