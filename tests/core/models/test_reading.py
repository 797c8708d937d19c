"""Readings: one class says a reading in numbers, in LaTeX and in words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nlwfa_core.errors import RecipeError
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import (
    LINKS,
    READINGS,
    BoundaryReading,
    ConditionalReading,
    StringReading,
    reading_for,
    reading_named,
)
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Words

NUMBERS = np.random.default_rng(5)


def network(
    reading: StringReading | BoundaryReading | ConditionalReading, num_outputs: int
) -> NLWFA:
    num_maps = 2 + reading.has_end_map
    layers = (NUMBERS.normal(size=(num_maps, 2, 2)),)
    return NLWFA(
        NUMBERS.normal(size=2),
        layers,
        (),
        NUMBERS.normal(size=(2, num_outputs)),
        True,
        False,
        reading,
    )


@pytest.mark.parametrize("link", ["identity", "square"])
@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize("name", READINGS)
def test_names_in_model_files_come_back(name: str, link: str, normalised: bool) -> None:
    reading = reading_named(name, link, normalised)
    assert (reading.name, reading.link, reading.normalised) == (name, link, normalised)
    assert reading.sentence and LINKS[reading.link].sentence
    assert reading.is_chain == (normalised or name == "conditional")


@pytest.mark.parametrize(
    ("name", "link"),
    [("word", "identity"), ("string", "cube"), ("string", "softmax"), ("boundary", "softmax")],
)
def test_readings_that_do_not_exist_are_refused(name: str, link: str) -> None:
    message = (
        f"reading '{name}' does not support link '{link}'"
        if name in READINGS
        else "reading must be one of .*; got 'word'"
    )
    with pytest.raises(RecipeError, match=message):
        reading_named(name, link, False)


@pytest.mark.parametrize(
    ("reading", "num_outputs"),
    [
        (StringReading(), 1),
        (BoundaryReading(), 2),
        (ConditionalReading(), 2),
        (ConditionalReading(), 4),
    ],
)
def test_a_reading_says_how_many_outputs_it_needs(reading: StringReading, num_outputs: int) -> None:
    with pytest.raises(RecipeError, match=f"reading '{reading.name}' do not fit together"):
        network(reading, num_outputs)


@pytest.mark.parametrize(("link", "apply"), [("identity", np.asarray), ("square", np.square)])
def test_numbers_by_definition(link: str, apply: np.ufunc) -> None:
    word = (0, 1)
    trie = Trie.of(Words.of([(0, 1)]), 2)
    model = network(StringReading(link), 4)
    state = np.tanh(np.tanh(model.initial @ model.transitions[0][0]) @ model.transitions[0][1])
    longer = np.tanh(state @ model.transitions[0][1])
    scores = model.next_scores(trie)[trie.ends][0]
    assert model.weights(Words.of([word]))[0] == pytest.approx(apply(state @ model.output[:, 0]))
    assert scores[1] == pytest.approx(apply(longer @ model.output[:, 1:]).sum())
    assert scores[2] == pytest.approx(apply(state @ model.output[:, 0]))

    model = network(BoundaryReading(link), 1)
    state = np.tanh(np.tanh(model.initial @ model.transitions[0][0]) @ model.transitions[0][1])
    ended = np.tanh(state @ model.transitions[0][2])
    longer = np.tanh(state @ model.transitions[0][1])
    scores = model.next_scores(trie)[trie.ends][0]
    assert model.weights(Words.of([word]))[0] == pytest.approx(apply(ended @ model.output[:, 0]))
    assert scores[2] == pytest.approx(apply(ended @ model.output[:, 0]))
    assert scores[1] == pytest.approx(apply(longer @ model.output[:, 0]))

    model = network(ConditionalReading(link), 3)
    state = np.tanh(np.tanh(model.initial @ model.transitions[0][0]) @ model.transitions[0][1])
    assert model.next_scores(trie)[trie.ends][0] == pytest.approx(apply(state @ model.output))
    assert model.weights(Words.of([()]))[0] == pytest.approx(apply(model.initial @ model.output)[2])


def test_normalised_scores_sum_to_one() -> None:
    trie = Trie.of(Words.of([(0, 1), (1,)]), 2)
    for reading, num_outputs in (
        (StringReading(), 2),
        (BoundaryReading(), 1),
        (ConditionalReading("square"), 3),
    ):
        model = network(replace(reading, normalised=True), num_outputs)
        assert model.next_scores(trie).sum(axis=1) == pytest.approx(1.0)


def test_formulas() -> None:
    def entry(word: str, end: str) -> str:
        return f"g({word}{end})"

    assert StringReading().formulas(entry, "g_u") == ("f(x)=g(x)",)
    assert StringReading("square").formulas(entry, "g_u") == (r"f(x)=\bigl(g(x)\bigr)^2",)
    assert BoundaryReading().formulas(entry, "g_u") == (r"f(x)=g(x{\dashv})",)
    scores, product = ConditionalReading("softmax").formulas(entry, "g_u")
    assert scores == r"p(\sigma\mid u)=\operatorname{softmax}(g_u)" and product.startswith(
        r"f(x)=p(\text{end}\mid x)"
    )


def test_the_reading_of_a_matrix() -> None:
    assert reading_for("none", bounded=False) == StringReading()
    assert reading_for("sqrt", bounded=True) == BoundaryReading("square")
    assert (
        reading_for("row", bounded=True)
        == reading_for("row", bounded=False)
        == ConditionalReading()
    )
    assert (StringReading().path((0, 1), 2), BoundaryReading().path((0, 1), 2)) == (
        (0, 1),
        (0, 1, 2),
    )
