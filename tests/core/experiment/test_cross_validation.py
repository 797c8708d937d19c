"""K-fold cross-validation: which strings are where, known answers, and the same from plain
parts.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlwfa_core import options
from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.experiment.cross_validation import cross_validate, folds
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

AB = Alphabet(("a", "b"))
SMALL = HankelRecipe(num_prefixes=20, num_suffixes=20)
STRINGS = Dyck().sample(200, seed=5)


def as_drawn(sample: Sample) -> Counter[tuple[int, ...]]:
    return Counter(dict(zip(sample.words, sample.counts.tolist(), strict=True)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(2, 6), st.integers(0, 3))
def test_each_string_is_held_out_once_and_learned_from_otherwise(
    counts: list[int], number: int, seed: int
) -> None:
    words = Words.of([(0,) * length for length in range(len(counts))])
    sample = Sample(words, np.array(counts), AB)
    if sum(counts) < number:
        with pytest.raises(RecipeError, match=f"folds must be between 2 and {sum(counts)}"):
            folds(sample, number, seed)
        return
    cut = folds(sample, number, seed)
    assert sum((as_drawn(held_out) for _, held_out in cut), Counter()) == as_drawn(sample)
    assert all(as_drawn(train) + as_drawn(held_out) == as_drawn(sample) for train, held_out in cut)
    sizes = [held_out.num_strings for _, held_out in cut]
    assert len(cut) == number and max(sizes) - min(sizes) <= 1


def test_folds_come_from_their_seed() -> None:
    one, same, other = (folds(STRINGS, 3, seed) for seed in (0, 0, 1))
    assert [as_drawn(held_out) for _, held_out in one] == [
        as_drawn(held_out) for _, held_out in same
    ]
    assert as_drawn(one[0][1]) != as_drawn(other[0][1])


def test_equal_strings_are_learned_exactly() -> None:
    """Each fold learns f(ab) = 1 and 0 elsewhere: rank 3 predicts every symbol, rank 1 can't."""
    sample = Sample.of(Words.of([(0, 1)] * 10), AB)
    found = cross_validate(
        sample, Recipe(hankel=HankelRecipe(num_prefixes=3, num_suffixes=3)), 5, ranks=(1, 3)
    )
    exact = dict(found.scores)[3]
    assert len(exact) == 5 and all(
        (scores.wer, scores.num_words, scores.num_predictions) == (0, 1, 6) for scores in exact
    )
    assert all(scores.log2_pauto == pytest.approx(0, abs=1e-12) for scores in exact)
    assert (
        found.best_rank("wer") == found.best_rank("ndcg5") == 3 and dict(found.scores)[1][0].wer > 0
    )
    assert (found.spread(3, "wer").mean, found.spread(3, "wer").sd) == (0, 0)


def test_the_scores_are_those_of_models_learned_by_hand() -> None:
    found = cross_validate(STRINGS, Recipe(hankel=SMALL), 4, ranks=(2, 3), seed=7)
    for rank, scores in found.scores:
        for (train, held_out), own in zip(folds(STRINGS, 4, 7), scores, strict=True):
            hankel = estimate_hankel(train, select_basis(train, 20, 20))
            model = fit(hankel, "SP", rank).model
            assert own == evaluate(model, TestSet.empirical(held_out))
    known = cross_validate(STRINGS, Recipe(hankel=SMALL), 4, ranks=(3,), seed=7, true_model=Dyck())
    assert all(scores.kl is not None and scores.num_words == 50 for scores in dict(known.scores)[3])
    means = {rank: np.mean([one.wer for one in scores]) for rank, scores in found.scores}
    assert found.best_rank("wer") == min(means, key=lambda rank: means[rank])


def test_learners_without_a_matrix_are_validated_too() -> None:
    found = cross_validate(STRINGS, Recipe(learning=options("HMM", rank=2)), 2)
    assert [rank for rank, _ in found.scores] == [2] and len(found.scores[0][1]) == 2


def test_what_can_not_be_is_told() -> None:
    with pytest.raises(RecipeError, match="folds must be between 2 and 200 .*; got 1"):
        cross_validate(STRINGS, Recipe(hankel=SMALL), 1)
    with pytest.raises(RecipeError, match="rank must be between 1 and 20"):
        cross_validate(STRINGS, Recipe(hankel=SMALL), 2, ranks=(2, 30))
    found = cross_validate(STRINGS, Recipe(hankel=SMALL), 2, ranks=(2,))
    with pytest.raises(RecipeError, match="rank must be one of 2; got 3"):
        found.spread(3, "wer")
    with pytest.raises(RecipeError, match="metric must be one of wer"):
        found.best_rank("accuracy")
    with pytest.raises(Cancelled):
        cross_validate(STRINGS, Recipe(hankel=SMALL), 2, cancelled=lambda: True)
