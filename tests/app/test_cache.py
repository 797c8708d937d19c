"""The cache of uploaded strings: shared while somebody uses them, gone afterwards."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

from nlwfa_core import DataRecipe
from pages.shared import cache, server


class Strings:
    """Something that a weak reference can follow."""


def test_sessions_share_a_value_until_the_last_one_leaves() -> None:
    recipe = DataRecipe(seed=7)
    computed = []

    def compute() -> Strings:
        computed.append(Strings())
        return computed[-1]

    with ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda _: cache._shared_value("test", recipe, compute), range(16)))
    assert len(computed) == 1 and len(set(map(id, values))) == 1
    kept = values.pop()
    values.clear()
    assert cache._shared_value("test", recipe, compute) is kept
    del kept
    gc.collect()
    cache._shared_value("test", recipe, compute)
    assert len(computed) == 2


def test_other_recipes_are_other_values() -> None:
    values = [
        cache._shared_value("test", DataRecipe(seed=seed), lambda seed=seed: seed).value
        for seed in (1, 2)
    ]  # type: ignore[misc]
    assert values == [1, 2]


def test_memory_is_given_back_where_the_system_takes_it() -> None:
    assert server.trim_memory() in (True, False)
