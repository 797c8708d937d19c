"""The recommended model: chosen on validation strings, never past its number of states."""

from __future__ import annotations

import numpy as np
import pytest

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.experiment import best
from nlwfa_core.experiment.best import fit_best
from nlwfa_core.learning.progress import Progress
from nlwfa_core.metrics.scores import next_symbol_score
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Words

TRAIN = Sample.of(Dyck().sample(600, seed=0), ALPHABET)
VALIDATION = Sample.of(Dyck().sample(150, seed=1), ALPHABET)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(best, "TRIED", 20)
    monkeypatch.setattr(best, "TAKEN", 60)


def test_the_best_is_the_one_with_the_fewest_bits() -> None:
    seen: list[Progress] = []
    found = fit_best(TRAIN, VALIDATION, 4, report=seen.append)
    bits = [tried for _, tried in found.tried if np.isfinite(tried)]
    assert next_symbol_score(found.fit.model, VALIDATION).bits_per_symbol == pytest.approx(min(bits))
    assert found.fit.model.num_states <= 4
    assert {candidate.learning.learner for candidate, _ in found.tried} == {"SP", "both.non"}
    assert max(candidate.learning.rank for candidate, _ in found.tried) == 4
    networks = [candidate for candidate, _ in found.tried if candidate.learning.learner == "both.non"]
    tried, taken = networks[: len(best.RESTRAINTS)], networks[len(best.RESTRAINTS) :]
    assert [(one.refinement.dropout, one.refinement.weight_decay) for one in tried] == list(best.RESTRAINTS)
    assert [one.learning.seed for one in taken] == list(range(best.STARTS))  # strings are few
    assert len({(one.refinement.dropout, one.refinement.weight_decay, one.refinement.batch) for one in taken}) == 1
    assert {progress.stage for progress in seen} >= {"candidates", "refinement"}


def test_equal_seeds_equal_models() -> None:
    one, other = (fit_best(TRAIN, VALIDATION, 3, seed=2) for _ in range(2))
    assert one.tried == other.tried
    np.testing.assert_array_equal(one.fit.model.weights(VALIDATION.words), other.fit.model.weights(VALIDATION.words))


def test_more_states_than_the_strings_have_prefixes() -> None:
    few = Sample.of(Dyck().sample(5, seed=0), ALPHABET)
    assert fit_best(few, VALIDATION, 40).fit.model.num_states <= 40


def test_what_is_refused() -> None:
    with pytest.raises(RecipeError, match="max-states: 0 given, at least 1 needed"):
        fit_best(TRAIN, VALIDATION, 0)
    empty = Sample.of(Words.of([]), ALPHABET)
    with pytest.raises(RecipeError, match="training and validation strings are both needed"):
        fit_best(TRAIN, empty, 3)


def test_the_choice_can_be_cancelled() -> None:
    with pytest.raises(Cancelled):
        fit_best(TRAIN, VALIDATION, 3, cancelled=lambda: True)
