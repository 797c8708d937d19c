"""State merging, choice by choice, on a language whose states are known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nlwfa_core import DataRecipe, RecipeError, as_sample, load_data
from nlwfa_core.learning.merging import PDFATraining, fit_pdfa, merging_choices
from nlwfa_core.strings.plain import as_alphabet
from nlwfa_core.strings.words import Word
from nlwfa_core.teaching.automata.merging_stages import MOST_CHOICES, merging_stages

TRAIN = load_data(DataRecipe(source="tomita", grammar=6, num_strings=300)).train


def remainder(word: Word) -> int:
    """The state of Tomita's language 6: 0s minus 1s, modulo 3."""
    counts = Counter(word)
    return (counts[0] - counts[1]) % 3


def test_nodes_are_merged_into_the_state_with_the_same_future() -> None:
    choices = list(merging_choices(TRAIN, 8))
    for choice in choices:
        states = [remainder(word) for word in choice.states]
        candidate = remainder((*choice.states[choice.origin], choice.symbol))
        expected = states.index(candidate) if candidate in states else None
        assert choice.into == expected and len(choice.gains) == len(states)
        assert (choice.gains.max() >= 0) == (expected is not None)
        if expected is not None:
            assert choice.gains.argmax() == expected
        for source, symbol, target, _ in choice.arrows:
            if target >= 0:
                assert remainder((*choice.states[source], symbol)) == states[target]
    assert len(choices[-1].states) == fit_pdfa(TRAIN, 8).num_states == 3


def test_a_gain_is_the_penalty_of_what_is_saved_minus_the_loss() -> None:
    """By hand: ends and a's are counted after λ and after a, two automata with one number each
    against one with one.
    """
    train = as_sample([""] * 6 + ["a"] * 4)
    (choice,) = merging_choices(train, 5, PDFATraining(penalty=1.0, min_count=0))

    def log_likelihood(*counts: float) -> float:
        return float(sum(n * np.log(n / sum(counts)) for n in counts if n))

    loss = log_likelihood(6, 4) + log_likelihood(4, 0) - log_likelihood(10, 4)
    assert choice.gains == pytest.approx([-loss])
    assert choice.into is None and choice.arrows == ((0, 0, -1, 4.0),)


def test_what_was_chosen_is_said_and_drawn() -> None:
    stages = merging_stages(TRAIN, 8)
    sentences = [stages.sentence(number) for number in range(len(stages.choices))]
    assert sentences[0] == "1 does not continue like λ: it becomes a state."
    assert sentences[1] == "0 does not continue like any state: it becomes a state."
    assert sentences[2] == "11 continues like 0: it is merged into that state."
    table = stages.table(2)
    assert table["state"] == ["λ", "1", "0"]
    assert table["the candidate is"] == ["", "", "merged into it"]
    dot = stages.dot(2)
    assert dot.count("dashed") == 2 * 4 and dot.count("s0 -> ") == 2  # four candidates
    assert stages.model.num_states == 3


def test_a_rare_node_is_merged_even_if_it_is_unlike_all_states() -> None:
    stages = merging_stages(as_sample(["a"] * 50 + ["", "aa"]), 1)
    assert "too rare" in stages.sentence(0) or "continues like" in stages.sentence(0)
    assert len(stages.choices) <= MOST_CHOICES


def test_only_the_empty_string_leaves_nothing_to_merge() -> None:
    assert merging_stages(as_sample(["", ""], alphabet=as_alphabet("a")), 3).choices == ()
    with pytest.raises(RecipeError, match="the sample has no strings"):
        list(merging_choices(as_sample([], alphabet=as_alphabet("a")), 3))
