"""What is said of two classifiers, and drawn of each."""

from __future__ import annotations

from nlwfa_core import WFA, Alphabet
from nlwfa_core.display.classification import (
    accuracy_sentence,
    alone_table,
    verdict,
)
from nlwfa_core.display.figures.confusion import confusion_figure
from nlwfa_core.experiment.classifier import Classifier

LETTERS = Alphabet(("a", "<b>"))
A, B = (
    WFA([1.0], [[[first]], [[second]]], [0.2], LETTERS)
    for first, second in ((0.6, 0.2), (0.2, 0.6))
)
RIGHT = Classifier.of({"A": A, "B": B}, floor=0)
SWAPPED = Classifier.of({"A": B, "B": A}, floor=0)


def test_the_sentences_say_who_is_right_on_what() -> None:
    strings = {"A": {"a a": 9, "<b>": 1}, "B": {"<b>": 10}}
    scores = {"first": RIGHT.score(strings), "second": SWAPPED.score(strings)}
    assert accuracy_sentence(scores["first"]) == (
        "19 of 20 strings get their true label: 95.0% (95 % interval 76.4% to 99.1%). "
        "Always choosing the commonest label would get 50.0%."
    )
    assert verdict(scores) == (
        "first is ahead: first alone gets 19 strings right, second alone gets 1 "
        "(p\u00a0<\u00a00.001)"
    )
    assert verdict({"one": scores["first"], "other": scores["first"]}) == (
        "one and other get the same strings right"
    )
    few = {"A": ["a", "<b>"]}
    level = {"first": RIGHT.score(few), "second": SWAPPED.score(few)}
    assert verdict(level).startswith("first and second are level: ")


def test_strings_that_one_alone_gets_right_are_listed_the_commonest_first() -> None:
    strings = {"A": {"a a": 9, "<b>": 1}, "B": {"<b> <b>": 10}}
    scores = {"first": RIGHT.score(strings), "second": SWAPPED.score(strings)}
    assert alone_table(scores, 2) == {
        "string": ["<b> <b>", "a a"],
        "true label": ["B", "A"],
        "right alone": ["first", "first"],
        "occurs": ["10", "9"],
    }


def test_labels_are_escaped_and_a_column_is_there_for_strings_that_no_model_allows() -> None:
    only = WFA([1.0], [[[0.5]], [[0.0]]], [0.5], LETTERS)
    scores = Classifier.of({"<i>": only, "B": only}, floor=0).score({"<i>": ["a", "<b>"]})
    (drawn,) = confusion_figure(scores).data
    assert list(drawn.y) == ["&lt;i&gt;", "B"] and drawn.x[-1] == "none"
    assert [list(row) for row in drawn.text] == [["1", "0", "1"], ["0", "0", "0"]]
