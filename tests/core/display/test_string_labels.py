"""Strings that pages propose and count, by hand."""

from __future__ import annotations

from nlwfa_core.display.string_labels import (
    MOST_SHARES,
    most_frequent_word,
    shares_payload,
    word_endings,
    word_to_follow,
)
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words

SAMPLE = Sample.of(Words.of([(0, 1), (0, 1), (0,), ()]), Alphabet(("a", "b")))


def test_the_string_to_follow_has_something_to_show() -> None:
    assert word_to_follow(SAMPLE, 2) == (0, 1)
    assert word_to_follow(SAMPLE, 3) == most_frequent_word(SAMPLE) == (0, 1)


def test_long_words_keep_their_ends_and_differ() -> None:
    shop = Alphabet(("home", "cart", "leave", "confirmation"))
    words = Words.of([(), (0, 1, 2), (1, 1, 2), (0, 3), (0, 2)])
    assert word_endings(words, shop, 12) == [
        "λ",
        "home cart leave",
        "cart cart leave",
        "…confirmation",  # at least one symbol
        "home leave",
    ]
    letters = Alphabet(("a", "b"))
    assert word_endings(Words.of([(0, 0, 1, 1), (0, 1)]), letters, 3) == ["…bb", "ab"]
    # 30 and 31 times a and then b: the same to the last 23 symbols
    long = Words.of([(0,) * 30 + (1,), (0,) * 31 + (1,)])
    last = "…" + "a" * 10 + "b"
    assert word_endings(long, letters, 12) == [f"{last} 1", f"{last} 2"]
    # one more symbol would be too long for any label
    steps = Alphabet(("confirmation of an order", "leave"))
    assert word_endings(Words.of([(0, 1), (0, 0, 1)]), steps, 12) == ["…leave 1", "…leave 2"]


def test_the_share_that_a_question_asks_for_is_sent_only_when_it_is_over() -> None:
    asked = shares_payload(SAMPLE, "ab", is_over=False)
    over = shares_payload(SAMPLE, "ab", is_over=True)
    assert asked and over
    assert asked["bars"] == [("λ", 0.25), ("a", 0.25), ("ab", None)]
    assert over["bars"] == [("λ", 0.25), ("a", 0.25), ("ab", 0.5)]
    assert asked["asked"] == over["asked"] == 2
    assert asked["step"] == 0.25  # one of four strings
    assert asked["most"] == 0.8
    assert asked["id"] != over["id"]


def test_no_shares_are_drawn_of_many_strings_or_without_the_one_that_is_asked_for() -> None:
    assert shares_payload(SAMPLE, "bb", is_over=False) is None
    words = Words.of([(0,) * n for n in range(MOST_SHARES + 1)])
    many = Sample.of(words, Alphabet(("a", "b")))
    assert shares_payload(many, "a", is_over=False) is None
