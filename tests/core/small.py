"""Small runs, and waiting for what they do: for tests of jobs, history and faults."""

from __future__ import annotations

import signal
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest

from nlwfa_core.experiment.recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe

posix = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes are killed by POSIX signals")


def recipe_of(learner: str = "SP", seed: int = 0, epochs: int = 50) -> Recipe:
    return Recipe(
        data=DataRecipe(num_strings=200, num_validation=20, num_test=20, seed=seed),
        hankel=HankelRecipe(num_prefixes=20, num_suffixes=20),
        learning=LearningRecipe(learner=learner, rank=2, epochs_factorisation=epochs, epochs_transitions=5),
    )


def wait_for(condition: Callable[[], Any], seconds: float = 120) -> Any:
    """The first true answer; fails after a generous time."""
    deadline = monotonic() + seconds
    while not (answer := condition()):
        assert monotonic() < deadline, "waited in vain"
        sleep(0.02)
    return answer
