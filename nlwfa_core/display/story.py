"""Tell spectral learning on a sample in five scenes: strings, Hankel matrix, factors, states,
prediction.

The matrix is small enough to be drawn whole, so this shows the method, not the recipe's experiment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import RecipeError
from ..hankel.basis import select_basis
from ..hankel.estimate import estimate_hankel
from ..learning.fitting import fit
from ..learning.spectral import truncated_svd
from ..rounding import format_apart
from ..strings.sample import Sample
from ..strings.words import Words
from .projection import next_probabilities, prefix_states
from .string_labels import occurrences, prefixes_of, word_labels, word_to_follow

SIZE = 7
STRINGS = 6
RANK = 5
LONGEST = 6
NEXT = 6


def story_payload(sample: Sample) -> dict[str, Any]:
    """Make the payload of the story of a sample.

    Returns "scenes": name and sentence of each; "strings": text and share of the most frequent
    ones; "rows", "columns", "cells" of H; "marks", the cells whose string is "word"; "left" (UD)
    and "right" (Vᵀ); "prefixes" of the word with their "states"; "next": symbol and probability of
    what follows the word's first symbol.

    Raises RecipeError if the matrix of the sample is 0: there is nothing to factorise.
    """
    basis = select_basis(sample, SIZE, SIZE)
    hankel = estimate_hankel(sample, basis)
    cells = hankel.block.toarray()
    if not cells.any():
        raise RecipeError(
            "the most frequent beginnings and endings form no string of the sample, so its "
            "matrix is 0"
        )
    svd = truncated_svd(hankel.block, min(RANK, *cells.shape))
    rank = min(RANK, svd.numerical_rank)
    model = fit(hankel, learner="SP", rank=rank).model
    alphabet = sample.alphabet
    word = word_to_follow(sample)[:LONGEST]
    prefixes = prefixes_of(word)
    left = svd.left[:, :rank] * svd.singular_values[:rank]
    marks = [
        [u, v]
        for u, row in enumerate(basis.prefixes)
        for v, column in enumerate(basis.suffixes)
        if row + column == word
    ]
    commonest = np.argsort(-sample.counts, kind="stable")[:STRINGS]
    shares = sample.frequencies()[commonest].tolist()
    first = alphabet.decode(word[:1])
    chances = next_probabilities(model, Words.of([word[:1]]))[0]
    order = np.argsort(-chances, kind="stable")[:NEXT].tolist()
    symbols = [*alphabet.symbols, "end"]
    weight = float(model.weights(Words.of([word]))[0])
    share = occurrences(sample, word, "string") / sample.num_strings
    weight_text, share_text = format_apart(weight, share)
    text = alphabet.decode(word)
    return {
        "word": text,
        "scenes": [
            [
                "Strings",
                f"{sample.num_strings:,} strings. The sample tells us how often each one occurs.",
            ],
            [
                "Hankel matrix",
                "A row for each beginning, a column for each ending. Each marked cell holds "
                f"the share of {text}.",
            ],
            [
                "Factors",
                f"The singular value decomposition makes H a product. With rank {rank}, each "
                f"beginning has {rank} numbers.",
            ],
            [
                "States",
                f"{text} is read symbol by symbol. A state is {rank} numbers, and one matrix "
                "for each symbol moves it.",
            ],
            [
                "Prediction",
                f"What follows {first}? The automaton gives the whole string {text} the weight "
                f"{weight_text}; the string's share of the sample is {share_text}.",
            ],
        ],
        "strings": list(
            zip(word_labels(sample.words.take(commonest), alphabet), shares, strict=True)
        ),
        "rows": word_labels(basis.prefixes, alphabet),
        "columns": word_labels(basis.suffixes, alphabet),
        "cells": np.round(cells, 6).tolist(),
        "marks": marks,
        "left": np.round(left, 4).tolist(),
        "right": np.round(svd.right[:, :rank].T, 4).tolist(),
        "prefixes": word_labels(prefixes, alphabet),
        "states": np.round(prefix_states(model, prefixes), 4).tolist(),
        "next": [[symbols[index], round(float(chances[index]), 4)] for index in order],
    }
