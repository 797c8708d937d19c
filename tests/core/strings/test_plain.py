"""Strings as Python programs have them: every form gives what a file with the same strings
gives.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import (
    Alphabet,
    NGram,
    RecipeError,
    Sample,
    TestSet,
    Words,
    as_sample,
    estimate_hankel,
    evaluate,
    fit,
    options,
    read_strings,
    select_basis,
    select_rank,
)
from nlwfa_core.experiment.cross_validation import cross_validate
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.strings.plain import as_word, as_words

TEXTS = ["ab", "b", "ab", "", "abb"]
FILE = read_strings(b"ab\nb\nab\n\nabb\n")
AB = Alphabet(("a", "b"))


def same(left: Sample, right: Sample) -> bool:
    return (
        left.alphabet == right.alphabet
        and list(left.words) == list(right.words)
        and (left.counts == right.counts).all()
    )


@pytest.mark.parametrize(
    "form",
    [
        TEXTS,
        tuple(TEXTS),
        iter(TEXTS),
        np.array(TEXTS),
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="category"),
        [list(text) for text in TEXTS],
        [tuple(text) for text in TEXTS],
        {"ab": 2, "b": 1, "λ": 1, "abb": 1},
        pd.Series(TEXTS).value_counts(sort=False),
        FILE,
        FILE.sample(),
        FILE.words,
        TestSet.empirical(FILE),
    ],
    ids=lambda form: type(form).__name__,
)
def test_every_form_gives_the_sample_of_the_file(form: Any) -> None:
    assert same(as_sample(form), FILE.sample())


@given(
    st.lists(st.lists(st.sampled_from(["a", "bc", "10", "9"])), min_size=1).filter(
        lambda rows: any(rows)
    )
)
def test_tokens_are_read_as_in_a_file(rows: list[list[str]]) -> None:
    by_file = read_strings(
        "\n".join(" ".join(row) or "λ" for row in rows).encode() + b"\n", "tokens"
    ).sample()
    assert same(as_sample(rows), by_file)


def test_numbers_are_symbols() -> None:
    sample = as_sample([(0, 2), [1], np.array([0, 2])])
    assert list(sample.words) == [(0, 2), (1,)] and sample.alphabet == Alphabet.numbered(3)
    assert as_words([(0, 1)], AB).alphabet == AB
    assert as_word([1, 0], None) == (1, 0) and as_word("b a", AB) == (1, 0) == as_word(
        ["b", "a"], AB
    )


@pytest.mark.parametrize(
    ("strings", "message"),
    [
        ("ab", "sample must be several strings, such as a list; got 'ab'"),
        (Path("ab"), "sample must be several strings"),
        (
            pd.DataFrame({"text": ["ab"], "n": [3]}),
            "sample must be one column of the table, such as table['text']; got a table "
            "with the columns 'text', 'n'",
        ),
        (
            ["ab", 3.0],
            "sample, string 2, must be text, a sequence of tokens, or a sequence of symbol "
            "numbers; got 3.0",
        ),
        (pd.Series(["a", None]), "sample, string 2, must be text"),
        (
            ["ab", (0,)],
            "strings must be all text or all numbers; string 1 and string 2 differ",
        ),
        (
            [["a", 1]],
            "string 1 must be text, a sequence of tokens, or a sequence of symbol numbers; "
            "got ['a', 1]",
        ),
        ([(0, 0.5)], "a symbol must be an integer"),
        (5, "sample must be a Sample, or strings, such as a list of text; got int"),
        (
            NGram.fit(TEXTS, 2),
            "sample must be a Sample, or strings, such as a list of text; got NGram",
        ),
    ],
)
def test_what_are_no_strings(strings: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        as_sample(strings)


def test_symbols_and_counts_that_are_not_allowed() -> None:
    for call in (
        lambda: as_sample(["ac"], AB),
        lambda: as_word("c", AB),
        lambda: as_words([("c",)], AB),
    ):
        with pytest.raises(
            RecipeError, match=r"symbol 'c' is not in the alphabet of 2 symbols: a, b"
        ):
            call()
    with pytest.raises(RecipeError, match="symbol 2 is not in the alphabet"):
        as_sample([(2,)], AB)
    with pytest.raises(RecipeError, match="counts must be at least 1; got 0"):
        as_sample({"a": 0})
    for empty in ([""], [()], []):
        with pytest.raises(RecipeError, match=r"at least one symbol is needed|has no strings"):
            as_sample(empty)
    with pytest.raises(TypeError, match="need an alphabet"):
        as_words(["ab"])


def test_learning_and_scoring_take_them() -> None:
    """The same results as with samples, and the alphabet is that of training: here the test strings
    lack the symbol a.
    """
    train = FILE.sample()
    test = ["b", "bb"]
    test_set = TestSet.empirical(read_strings(b"b\nbb\n", alphabet=AB).sample())
    basis = select_basis(TEXTS, 5, 5)
    assert list(basis.prefixes) == list(select_basis(train, 5, 5).prefixes)
    model = fit(estimate_hankel(TEXTS, basis), "SP", rank=2).model
    assert repr(evaluate(model, test)) == repr(
        evaluate(fit(estimate_hankel(train, basis), "SP", rank=2), test_set)
    )
    assert repr(evaluate(NGram.fit(TEXTS, 2), test)) == repr(
        evaluate(NGram.fit(train, 2), test_set)
    )
    hmm = fit(TEXTS, "HMM", 2, validation=test).model
    assert hmm.alphabet == AB
    recipe = Recipe(
        hankel=HankelRecipe(num_prefixes=5, num_suffixes=5),
        learning=options("SP", rank=1),
    )
    assert select_rank(TEXTS, test, [1, 2], recipe) == select_rank(train, test_set, [1, 2], recipe)
    assert cross_validate(TEXTS, recipe, 2) == cross_validate(train, recipe, 2)
    assert evaluate(model, ["c", "ab"]).num_unknown == 1


def test_a_sample_becomes_a_series_and_comes_back() -> None:
    series = FILE.sample().to_series()
    assert series.to_dict() == {"ab": 2, "b": 1, "": 1, "abb": 1} and series.name == "count"
    assert same(as_sample(series), FILE.sample())
    tokens = as_sample([["the", "cat"], ["the"]])
    assert same(as_sample(tokens.to_series(), tokens.alphabet), tokens)


def test_a_sample_in_a_notebook_is_escaped() -> None:
    html = as_sample(["<b", "<b"])._repr_html_()
    assert "<td>&lt;b</td>" in html and "2 strings, 1 distinct, 2 symbols: &lt;, b" in html


def test_words_of_another_alphabet_are_renumbered() -> None:
    words = Words(np.array([0]), np.array([0, 1]), Alphabet(("b",)))
    assert list(as_words(words, AB)) == [(1,)] and list(as_sample(words, AB).words) == [(1,)]


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64, bool])
def test_a_column_of_numbers_is_not_read_as_strings_of_one_symbol(kind: type) -> None:
    # hmmlearn's X for the lengths 3 and 2
    column = np.concatenate([[0, 0, 1], [1, 0]]).reshape(-1, 1)
    for strings in (column.astype(kind), column[:1].astype(kind)):
        with pytest.raises(
            TypeError, match=r"pass a list of sequences; for hmmlearn's X and lengths, np\.split"
        ):
            as_sample(strings)
    split = np.split(column.ravel(), np.cumsum([3, 2])[:-1])
    assert list(as_sample(split).words) == [(0, 0, 1), (1, 0)]
    assert as_sample([[0], [1]]).num_strings == as_sample(np.array([["a"], ["b"]])).num_strings == 2
    assert list(as_sample(np.array([[0, 1], [1, 0]])).words) == [(0, 1), (1, 0)]
