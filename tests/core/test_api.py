"""The public names, and what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import nlwfa_core

HEAVY = ("torch", "streamlit", "plotly", "sklearn", "pandas")


def test_public_names_have_a_docstring_and_an_example() -> None:
    """The example may be in a method of a class; pytest runs them all."""
    assert len(nlwfa_core.__all__) == len(set(nlwfa_core.__all__))
    for name in nlwfa_core.__all__:
        public = getattr(nlwfa_core, name)
        assert public.__module__.startswith("nlwfa_core."), name
        assert public.__doc__, name
        texts = [public.__doc__]
        if inspect.isclass(public):
            texts += [method.__doc__ for method in vars(public).values()]
        assert any(">>> " in text for text in texts if isinstance(text, str)), name


def loaded_after(code: str) -> set[str]:
    """Which heavy libraries a fresh process holds after some code."""
    report = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    return set(
        subprocess.run(
            [sys.executable, "-c", report], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def test_importing_the_core_loads_nothing_heavy() -> None:
    names = ", ".join(nlwfa_core.__all__)
    assert (
        loaded_after(
            f"from nlwfa_core import {names}\nimport nlwfa_core.experiment.data, "
            "nlwfa_core.models.files, nlwfa_core.models.ngram"
        )
        == set()
    )


def test_spectral_learning_and_evaluation_need_no_torch() -> None:
    code = """
from nlwfa_core import DataRecipe, HankelRecipe, LearningRecipe, Recipe, run
basis = HankelRecipe(num_prefixes=20, num_suffixes=20)
run(Recipe(data=DataRecipe(num_strings=200), hankel=basis, learning=LearningRecipe(rank=3)))
"""
    assert loaded_after(code) == set()
