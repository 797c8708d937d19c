"""What colours a prefix's state in a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import RecipeError
from ..metrics.next_symbols import likeliest
from ..models.model import Model
from ..strings.sample import Sample
from ..strings.words import LAMBDA, Alphabet, FloatArray, Words
from .views import next_entropy, next_probabilities, prefix_shares

COLOURINGS = {
    "last symbol": "last symbol",
    "length": "length of the prefix",
    "next symbol": "most likely next symbol",
    "entropy": "next-symbol entropy, bits (end counted)",
    "row weight": "log₁₀ of the share of training strings that begin so",
}
MAX_CLASSES = 7
TIED = "a tie"  # several symbols share the highest score
NO_SCORES = "no scores"  # after such a prefix all are 0, or one is not finite


def colouring(
    kind: str, prefixes: Words, alphabet: Alphabet, model: Model | None = None, train: Sample | None = None
) -> list[int] | list[float] | list[str]:
    """What colours each prefix: a number, or a class (of many, the largest ones by name, the rest as "others").

    Raises
    ------
    RecipeError
        If the kind is not one of COLOURINGS, or what it needs is not given: training strings for row weight, a model for
        entropy and next symbol.
    """
    if kind not in COLOURINGS or (kind == "row weight" and train is None):
        raise RecipeError(f"colouring: {kind!r} given, allowed: {', '.join(COLOURINGS)}; row weight needs training strings")
    if kind in ("entropy", "next symbol") and model is None:
        raise RecipeError(f"colouring: {kind!r} given, which needs a model")
    if kind == "length":
        lengths: list[int] = prefixes.lengths.tolist()
        return lengths
    if kind == "entropy" and model is not None:
        bits: list[float] = next_entropy(next_probabilities(model, prefixes)).tolist()
        return bits
    if kind == "row weight" and train is not None:
        shares = prefix_shares(train, prefixes)
        logs: list[float] = np.log10(shares, out=np.full_like(shares, np.nan), where=shares > 0).tolist()
        return logs
    names = []
    if kind == "last symbol":
        names = [alphabet.symbols[word[-1]] if word else LAMBDA for word in prefixes]
    elif model is not None:
        following = [*alphabet.symbols, "end"]
        shares = next_probabilities(model, prefixes)
        names = [_likeliest(row, following) for row in shares]
    frequent = {name for name, _ in Counter(names).most_common(MAX_CLASSES)}
    return [name if name in frequent else "others" for name in names]


def _likeliest(shares: FloatArray, names: Sequence[str]) -> str:
    if not shares.any():
        return NO_SCORES
    highest = likeliest(shares)
    return names[highest[0]] if len(highest) == 1 else TIED
