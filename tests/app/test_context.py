"""A page computes each value of its recipe once, and has uploaded strings only while in use."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nlwfa_core import DataRecipe, HankelRecipe, Recipe
from nlwfa_core.learning.spectral import truncated_svd
from pages.shared import context, server


class Strings:
    """Something that a weak reference can follow."""


def test_sessions_share_a_value_until_the_last_one_leaves() -> None:
    computed = []

    def compute() -> Strings:
        computed.append(Strings())
        return computed[-1]

    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: context._shared_value("test", "7", compute), range(16)))
    assert len(computed) == 1 and len(set(map(id, values))) == 1
    kept = values.pop()
    values.clear()
    assert context._shared_value("test", "7", compute) is kept
    del kept
    gc.collect()
    context._shared_value("test", "7", compute)
    assert len(computed) == 2


def test_other_keys_are_other_values() -> None:
    values = [
        context._shared_value("test", key, lambda key=key: f"value of {key}").value
        for key in ("1", "2")
    ]  # type: ignore[misc]
    assert values == ["value of 1", "value of 2"]


def test_a_value_is_computed_once_for_its_function_key_and_options() -> None:
    calls = []

    def described(words: list[str], *, number: int) -> str:
        calls.append((words, number))
        return f"{words} {number}"

    first = context.computed(described, "key", ["a"], number=1)
    assert context.computed(described, "key", ["a"], number=1) is first
    assert context.computed(described, "key", ["a"], number=2) == "['a'] 2"
    assert context.computed(described, "other", ["b"], number=1) == "['b'] 1"
    assert calls == [(["a"], 1), (["a"], 2), (["b"], 1)]


def test_a_context_has_the_values_of_its_recipe() -> None:
    recipe = Recipe(
        data=DataRecipe(num_strings=100, num_validation=20, num_test=20, seed=391),
        hankel=HankelRecipe(num_prefixes=12, num_suffixes=8),
    )
    run = context.Context(recipe)
    assert run.hankel.block.shape == (12, 8)
    np.testing.assert_array_equal(
        run.svd.singular_values, truncated_svd(run.hankel.block, 8).singular_values
    )
    assert context.Context(recipe).svd is run.svd and context.Context(recipe).data is run.data
    assert run.result is None and run.results == {}
    assert list(run.reference_scores) == list(run.references)
    larger = context.Context(recipe.changed(hankel=HankelRecipe(num_prefixes=13, num_suffixes=8)))
    assert larger.data is run.data and larger.hankel.block.shape == (13, 8)


def test_memory_is_given_back_where_the_system_takes_it() -> None:
    assert server.trim_memory() in (True, False)
