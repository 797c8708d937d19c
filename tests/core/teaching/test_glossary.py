"""The glossary: terms are found as they are written, and nothing else is."""

from __future__ import annotations

import pytest

from nlwfa_core.teaching.glossary import TERMS, terms_in


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_found_by_itself_and_in_a_sentence(term: str) -> None:
    assert term in terms_in(term) and term in terms_in(f"What is *{term}*?")
    assert TERMS[term].endswith(".") and "**" not in TERMS[term]


def test_plurals_are_found_and_parts_of_other_words_are_not() -> None:
    plural = "Prefixes, suffixes, masses, states, weights, singular values, a 3-gram and NDCG@5"
    assert set(terms_in(plural)) == {
        "prefix",
        "suffix",
        "mass",
        "state",
        "weight",
        "singular value",
        "n-gram",
        "NDCG",
    }
    assert terms_in("a massive statement, ranked by tv and wer; factorisation; diagrams") == {}
    assert terms_in("within a factor of 2") == {} and "factor" in terms_in("a factor of abc")
