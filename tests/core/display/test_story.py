"""The story of a sample: its matrix and factors against counts and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core import RecipeError
from nlwfa_core.display.story import SIZE, story_payload
from nlwfa_core.strings.plain import as_sample
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

TEN = ["a", "a", "ab", "ab", "ab", "ba", "b", "abb", "aab", "bab"]


def text(name: str) -> str:
    return "" if name == "λ" else name


def test_each_cell_is_the_share_of_its_string_and_the_marked_ones_hold_the_word() -> None:
    story = story_payload(as_sample(TEN))
    for u, row in enumerate(story["rows"]):
        for v, column in enumerate(story["columns"]):
            assert story["cells"][u][v] == pytest.approx(TEN.count(text(row) + text(column)) / 10)
            assert ([u, v] in story["marks"]) == (text(row) + text(column) == story["word"])
    assert story["marks"] and len(story["rows"]) == len(story["columns"]) == SIZE
    assert dict(story["strings"])["ab"] == pytest.approx(0.3)


def test_the_factors_are_the_best_approximation_of_their_rank_and_the_states_begin_with_one_row() -> (  # noqa: E501
    None
):
    story = story_payload(as_sample(TEN))
    left, right, cells = (np.array(story[name]) for name in ("left", "right", "cells"))
    vectors, values, others = np.linalg.svd(cells)
    rank = left.shape[1]
    best = vectors[:, :rank] * values[:rank] @ others[:rank]
    assert left @ right == pytest.approx(best, abs=2e-4)
    assert len(story["states"]) == len(story["word"]) + 1 and {
        len(state) for state in story["states"]
    } == {rank}
    assert sum(share for _, share in story["next"]) == pytest.approx(1, abs=1e-3)
    assert [name for name, _ in story["scenes"]] == [
        "Strings",
        "Hankel matrix",
        "Factors",
        "States",
        "Prediction",
    ]


@pytest.mark.parametrize("strings", [["a"], ["ab"] * 3, ["a", "", "a"]])
def test_a_sample_of_few_strings_has_a_story_too(strings: list[str]) -> None:
    assert story_payload(as_sample(strings))["cells"]


def test_a_matrix_of_zeros_is_refused() -> None:
    sample = Sample.of(
        Words.of([tuple(range(40))]), Alphabet(tuple(f"s{number}" for number in range(40)))
    )
    with pytest.raises(RecipeError, match="its matrix is 0"):
        story_payload(sample)
