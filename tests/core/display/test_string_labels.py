"""Strings that pages propose and count, by hand."""

from __future__ import annotations

from nlwfa_core.display.string_labels import most_frequent_word, word_to_follow
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

SAMPLE = Sample.of(Words.of([(0, 1), (0, 1), (0,), ()]), Alphabet(("a", "b")))


def test_the_string_to_follow_has_something_to_show() -> None:
    assert word_to_follow(SAMPLE, 2) == (0, 1)
    assert word_to_follow(SAMPLE, 3) == most_frequent_word(SAMPLE) == (0, 1)
