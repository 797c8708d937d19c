"""Explain the field's terms in a sentence each, and find those used in a given text."""

from __future__ import annotations

import re

# Term -> its explanation. Plurals are found too; only abbreviations depend on upper case.
TERMS = {
    "string": "A sequence of symbols, such as ab. λ is the empty string.",
    "sample": "A collection of strings, in which a string may occur several times.",
    "alphabet": "The set Σ of symbols that strings are made of.",
    "prefix": "A beginning of a string: λ, a and ab are the prefixes of ab.",
    "suffix": "An ending of a string: λ, b and ab are the suffixes of ab.",
    "depth": "The number of brackets that are open after a prefix.",
    "Hankel matrix": "The matrix H with a row for each prefix u, a column for each suffix v, and "
    "the cell H[u, v] = f(uv).",
    "factor": "A part of a string without gaps: b is a factor of abc.",
    "weight": "The number f(x) that a model gives a string x; a probability if no weight is "
    "negative and all add up to 1. A linear model fitted to a matrix approximates probabilities, "
    "but nothing keeps its weights above 0.",
    "mass": "A sum of weights. A model's mass is the sum over all strings: 1 for probabilities. It "
    "diverges if it is infinite.",
    "rank": "The number of linearly independent rows of a matrix; for a Hankel matrix, the number "
    "of states that a linear model of f needs.",
    "singular "
    "value": "The size of one of the independent parts that add up to a matrix. The rank is the "
    "number of singular values that are not 0.",
    "state": "What a model remembers about a prefix: a vector of k numbers. We say that such a "
    "model has k states, because a deterministic automaton is always in one of k: one number is 1, "
    "the others are 0.",
    "spectral radius": "The largest |eigenvalue|. If that of ΣA, the sum of all A_σ, is below 1, "
    "the weights "
    "have a finite sum.",
    "WER": "Word error rate: the share of wrong guesses of the next symbol or of the end. Lower is "
    "better.",
    "Pautomac": "A competition (2012). Its score is a perplexity on test strings, 2 to the power "
    "of −Σ P*(x) log₂ P(x), where P* is the true model, and P the one being scored. We give its "
    "logarithm, log₂.",
    "perplexity": "2 to the power of the mean number of bits that a model needs for a string, or "
    "for a symbol. Lower is better.",
    "NDCG": "How well a model ranks the next symbols: 1 if the likeliest come first, in their "
    "order. "
    "Higher is better.",
    "KL": "Kullback–Leibler divergence: how many more bits a model needs than the true "
    "distribution. 0 if the two are equal.",
    "TV": "Total variation: half the sum of |differences| of probabilities over the distinct test "
    "strings, with both scaled to add up to 1 there. 0 for equal distributions, 1 "
    "for disjoint ones.",
    "SP": "Spectral learning: a linear model computed from the largest singular values of H.",
    "likelihood": "The probability that a model gives the training strings. Training by likelihood "
    "raises it.",
    "PFA": "Probabilistic finite automaton: a linear model whose weights are probabilities, so "
    "none is negative.",
    "seed": "The number that determines everything random. The same seed repeats a result; another "
    "shows how much of it is chance.",
    "n-gram": "A model that guesses the next symbol from the n − 1 symbols before it.",
    "epoch": "One pass of training over all cells of the Hankel matrix, or over all strings.",
    "validation string": "A string used to choose among models, not to learn from.",
}


def terms_in(text: str) -> dict[str, str]:
    """Return the terms used in a given text, with their explanations, in the order of `TERMS`.

    >>> list(terms_in("Which prefixes have the lowest WER? The 5-gram's rank stays 3."))
    ['prefix', 'rank', 'WER', 'n-gram']
    """
    return {term: meaning for term, meaning in TERMS.items() if _pattern(term).search(text)}


def _pattern(term: str) -> re.Pattern[str]:
    if term == "n-gram":
        return re.compile(r"(?i)\b[n\d]-grams?\b")
    if term.isupper():
        return re.compile(rf"\b{term}\b")
    if term == "factor":  # and not "a factor of 2"
        return re.compile(r"(?i)\bfactors?\b(?! of \d)")
    plural = {"prefix": "(?:es)?", "suffix": "(?:es)?", "mass": "(?:es)?"}.get(term, "s?")
    return re.compile(rf"(?i)\b{term}{plural}\b")
