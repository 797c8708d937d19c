"""Recipes to start from, each under a short name and with a title for a menu."""

from __future__ import annotations

from ..learning.names import CONVERGED_EPOCHS
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe, RefinementRecipe


def converged(objective: str = "none") -> Recipe:
    """Make the recipe from which new experiments start: every stage is trained until its loss
    hardly falls any more.

    Only a refinement by likelihood ends by its score on validation strings instead.
    """
    refinement = RefinementRecipe(objective=objective, optimizer="lbfgs")
    if objective == "hankel":
        refinement = refinement.changed(epochs=CONVERGED_EPOCHS)
    return Recipe(learning=LearningRecipe.converged(), refinement=refinement)


PRESETS: dict[str, tuple[str, Recipe]] = {
    "first-steps": (
        "First steps: Dyck, k = 5, seconds",
        Recipe(
            data=DataRecipe(num_strings=2_000),
            hankel=HankelRecipe(num_prefixes=100, num_suffixes=100),
            learning=LearningRecipe.converged(learner="both.non", rank=5),
        ),
    ),
    "refined": (
        "Refined: Dyck, k = 5, ahead of every linear model",
        Recipe(
            data=DataRecipe(num_strings=5_000),
            hankel=HankelRecipe(
                num_prefixes=300,
                num_suffixes=100,
                statistic="prefix",
                bounded=True,
                transform="row",
            ),
            learning=LearningRecipe(
                learner="both.non", rank=5, epochs_factorisation=100, epochs_transitions=100
            ),
            refinement=RefinementRecipe(objective="likelihood", batch=250),
        ),
    ),
    "paper-dyck": (
        "The paper: Dyck, 1,000 + 500 epochs",
        Recipe(learning=LearningRecipe(learner="fac.non", rank=10)),
    ),
    "paper-verbs": (
        "The paper: verbs, 1,000 + 500 epochs (upload SPiCe 4)",
        Recipe(
            data=DataRecipe(source="upload", num_validation=750, num_test=750),
            hankel=HankelRecipe(num_prefixes=3000, num_suffixes=300),
            learning=LearningRecipe(learner="fac.non", rank=10, hidden=(4, 2, 1, 2, 4)),
        ),
    ),
    "verbs": (
        "English verbs (included)",
        Recipe(
            data=DataRecipe(source="verbs", num_validation=300, num_test=300),
            hankel=HankelRecipe(num_prefixes=1000, num_suffixes=300),
            learning=LearningRecipe.converged(learner="fac.non", rank=10),
        ),
    ),
}
