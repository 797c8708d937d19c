"""Recipes to start from, each under a short name and with a title for a menu."""

from __future__ import annotations

from typing import Any

from ..hankel.recipe import HankelRecipe
from ..learning.learners import options
from .recipe import DataRecipe, Recipe

# Options of networks that are trained as in the paper: with Adamax, from random weights, at its
# constant learning rates, which are also the defaults. The paper does not say for how many epochs
# it trained; 1,000 and 500 are this lab's choice, after which the loss of the second step is still
# falling.
PAPER: dict[str, Any] = {
    "optimizer": "adamax",
    "start": "random",
    "epochs_factorisation": 1000,
    "epochs_transitions": 500,
    "rate_factorisation": 0.015,
    "rate_transitions": 0.001,
}

PRESETS: dict[str, tuple[str, Recipe]] = {
    "first-steps": (
        "First steps: Dyck, k = 5, from the matrix",
        Recipe(
            data=DataRecipe(num_strings=2_000),
            hankel=HankelRecipe(num_prefixes=100, num_suffixes=100),
            learning=options("both.non", rank=5),
        ),
    ),
    "few-states": (
        "Few states: Dyck, k = 2, by likelihood",
        Recipe(
            data=DataRecipe(num_strings=2_000),
            learning=options("both.non", rank=2, objective="likelihood"),
        ),
    ),
    "paper-dyck": (
        "The paper: Dyck, 1,000 + 500 epochs",
        Recipe(learning=options("fac.non", rank=10, **PAPER)),
    ),
    "paper-verbs": (
        "The paper: verbs, 1,000 + 500 epochs (upload SPiCe 4)",
        Recipe(
            data=DataRecipe(source="upload", num_validation=750, num_test=750),
            hankel=HankelRecipe(num_prefixes=3000, num_suffixes=300),
            learning=options("fac.non", rank=10, hidden=(4, 2, 1, 2, 4), **PAPER),
        ),
    ),
    "verbs": (
        "English verbs (included)",
        Recipe(
            data=DataRecipe(source="verbs", num_validation=300, num_test=300),
            hankel=HankelRecipe(num_prefixes=1000, num_suffixes=300),
            learning=options("fac.non", rank=10),
        ),
    ),
}
