"""Define the commands `weights` and `next`: what a model computes for a word and after a prefix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from .. import limits
from ..sources.reading import Reading
from ..strings.trie import Trie
from ..strings.words import Words
from .inputs import STRINGS, Model, read_model, read_scored_words
from .recipe_options import takes_reading
from .terminal import AsJson, Output
from .text import next_record, next_summary, weight_lines


@takes_reading
def weights(
    model: Model,
    words: Annotated[Path, typer.Option(help=f"The words: {STRINGS}")],
    reading: Reading,
) -> Output:
    """Print a model's weight of each word, one per line, in the file's order and in full
    precision.
    """
    from ..models.model import scaled_weights
    from ..models.unseen import has_known_symbols

    saved = read_model(model)
    file = read_scored_words(words, reading, saved.alphabet, role="")
    known_words = (
        file.words if saved.alphabet.unknown is None else file.words.in_alphabet(saved.alphabet)
    )
    known = np.flatnonzero(has_known_symbols(known_words, len(saved.alphabet)))
    numbers = np.zeros(len(known_words))
    exponents = np.zeros(len(known_words), dtype=np.int64)
    numbers[known], exponents[known] = scaled_weights(
        saved.model, replace(known_words.take(known), alphabet=saved.alphabet)
    )
    lines, notes = weight_lines(numbers, exponents)
    return Output("\n".join(lines), (*file.notes, *notes))


def next_symbol(
    model: Model,
    prefix: Annotated[
        str, typer.Option(help='Symbols, such as "0 1 1" or "abba"; "" or λ is the empty prefix.')
    ],
    as_json: AsJson = False,
) -> Output:
    """Print the score of every symbol that can follow a prefix, and of the end of the string."""
    from ..metrics.diagnostics import divergence_warnings
    from ..models.model import scaled_next_scores

    saved = read_model(model)
    word = saved.alphabet.encode(prefix)
    limits.check_limit("the length of --prefix", len(word), "string_length")
    trie = Trie.of(Words.of([word]), len(saved.alphabet))
    scores, exponents = scaled_next_scores(saved.model, trie)
    end = trie.ends[0]
    row = saved.alphabet, word, scores[end], 0 if exponents is None else int(exponents[end])
    text = next_record(*row) if as_json else next_summary(*row)
    notes = filter(None, [saved.alphabet.unknown_note(prefix)])
    return Output(text, (*notes, *divergence_warnings(saved.model)))
