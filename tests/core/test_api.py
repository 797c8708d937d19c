"""The public names, and what importing them costs."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import nlwfa_core

HEAVY = ("torch", "streamlit", "plotly", "sklearn", "pandas")


def test_public_names_are_those_that_dir_lists() -> None:
    assert dir(nlwfa_core) == nlwfa_core.__all__ == sorted(set(nlwfa_core.__all__))
    for name in nlwfa_core.__all__:
        assert getattr(nlwfa_core, name).__module__.startswith("nlwfa_core."), name
    with pytest.raises(AttributeError, match="module 'nlwfa_core' has no attribute 'fits'"):
        nlwfa_core.fits  # type: ignore[attr-defined]  # noqa: B018


def test_public_names_have_an_example() -> None:
    """In their docstring or, for a class, in that of one of its methods; pytest runs them all."""
    for name in nlwfa_core.__all__:
        value = getattr(nlwfa_core, name)
        assert value.__doc__, name
        texts = [
            value.__doc__,
            *(method.__doc__ for method in vars(value).values() if inspect.isclass(value)),
        ]
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
            f"from nlwfa_core import {names}\nimport nlwfa_core.experiment.datasets, "
            "nlwfa_core.models.model_files, nlwfa_core.models.ngram"
        )
        == set()
    )


def test_spectral_learning_and_evaluation_need_no_torch() -> None:
    code = """
from nlwfa_core import DataRecipe, HankelRecipe, Recipe, options, run
basis = HankelRecipe(num_prefixes=20, num_suffixes=20)
run(Recipe(data=DataRecipe(num_strings=200), hankel=basis, learning=options("SP", rank=3)))
"""
    assert loaded_after(code) == set()
