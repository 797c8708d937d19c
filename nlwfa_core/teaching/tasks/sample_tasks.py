"""Generate the values of tasks about samples of strings: shares, cells of Hankel matrices,
bases.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

from .writing import label, number

SIZE = 10  # strings of a sample, so shares are tenths
WORDS = ["".join(word) for length in (1, 2, 3) for word in product("ab", repeat=length)]


def sample(rng: Random) -> dict[str, str]:
    """Make ten strings, cut one of them into a prefix and a suffix, and compute this cell of H by
    each statistic.
    """
    while True:
        strings = _strings(rng)
        word = rng.choice([string for string in strings if len(string) > 1] or [""])
        begin_count = sum(string.startswith(word) for string in strings)
        factor_count = sum(_occurrences(word, string) for string in strings)
        if (
            word
            and strings.count(word) >= 2
            and begin_count > strings.count(word)
            and factor_count > begin_count
        ):
            break
    cut = rng.randrange(1, len(word))
    row = word[:cut]
    column = word[cut:]
    count = strings.count(word)
    row_count = sum(string.startswith(row) for string in strings)
    swapped = column + row
    return {
        "strings": "  ".join(strings),
        "word": word,
        "row": row,
        "column": column,
        "count": str(count),
        "share": number(Fraction(count, SIZE)),
        "begin_count": str(begin_count),
        "begin_share": number(Fraction(begin_count, SIZE)),
        "factor_count": str(factor_count),
        "factor_mean": number(Fraction(factor_count, SIZE)),
        "row_count": str(row_count),
        "row_share": number(Fraction(row_count, SIZE)),
        "conditional": number(Fraction(count, row_count)),
        "length": str(len(word)),
        "cuts": str(len(word) + 1),
        "swapped": swapped,
        "swapped_share": number(Fraction(strings.count(swapped), SIZE)),
    }


def sample_block(rng: Random) -> dict[str, str]:
    """Make ten strings, and one cell of the block of a symbol."""
    while True:
        strings = _strings(rng)
        words = [string for string in strings if len(string) == 3 and strings.count(string) > 1]
        if words:
            break
    word = rng.choice(words)
    cut = rng.randrange(0, 3)
    row = word[:cut]
    symbol = word[cut]
    column = word[cut + 1 :]
    return {
        "strings": "  ".join(strings),
        "word": word,
        "row": label(row),
        "symbol": symbol,
        "column": label(column),
        "count": str(strings.count(word)),
        "share": number(Fraction(strings.count(word), SIZE)),
        "without": row + column,
        "without_share": number(Fraction(strings.count(row + column), SIZE)),
    }


def sample_cells(rng: Random) -> dict[str, str]:
    """Make a string of two or three symbols, one of its cells, and the labels of the whole
    matrix.
    """
    word = rng.choice([word for word in WORDS if len(word) > 1])
    labels = sorted(
        {word[i:j] for i in range(len(word)) for j in range(i + 1, len(word) + 1)} | {"a", "b"},
        key=_by_length,
    )
    cuts = [(label(word[:cut]), label(word[cut:])) for cut in range(len(word) + 1)]
    row, column = cuts.pop(rng.randrange(len(cuts)))
    return {
        "word": word,
        "row": row,
        "column": column,
        "labels": " ".join(["λ", *labels]),
        "cells": " | ".join(f"{left}, {right}" for left, right in cuts),
        "written": ", ".join(f"({left}, {right})" for left, right in cuts),
        "cuts": str(len(word) + 1),
    }


def sample_order(rng: Random) -> dict[str, str]:
    """Make ten strings, four of them different, with 4, 3, 2 and 1 occurrences."""
    words = rng.sample(WORDS, 4)
    strings = [word for word, count in zip(words, (4, 3, 2, 1), strict=True) for _ in range(count)]
    rng.shuffle(strings)
    return {"strings": "  ".join(strings), "order": " | ".join(words), "first": words[0]}


def sample_prefixes(rng: Random) -> dict[str, str]:
    """Make three different strings, and all their prefixes."""
    strings = rng.sample([word for word in WORDS if len(word) > 1], 3)
    prefixes = sorted(
        {string[:cut] for string in strings for cut in range(len(string) + 1)}, key=_by_length
    )
    return {
        "strings": "  ".join(strings),
        "prefixes": ", ".join(map(label, prefixes)),
        "number": str(len(prefixes)),
        "without_empty": str(len(prefixes) - 1),
    }


def closure(rng: Random) -> dict[str, str]:
    """Make a prefix-closed set P of prefixes, and its p-closure P ∪ PΣ."""
    word = rng.choice([word for word in WORDS if len(word) == 2])
    prefixes = ["", word[0], rng.choice([word, "b" if word[0] == "a" else "a"])]
    extended = sorted({prefix + symbol for prefix in prefixes for symbol in "ab"}, key=_by_length)
    closed = sorted({*prefixes, *extended}, key=_by_length)
    new = [string for string in closed if string not in prefixes]
    outside = [string for string in WORDS if string not in closed and len(string) <= 3]
    return {
        "prefixes": ", ".join(map(label, prefixes)),
        "extended": ", ".join(extended),
        "closed": ", ".join(map(label, closed)),
        "number": str(len(closed)),
        "num_extended": str(len(extended)),
        "new": new[0],
        "newest": new[-1],
        "outside": outside[0],
        "far": outside[-1],
    }


def bigram(rng: Random) -> dict[str, str]:
    """Make ten strings, and what follows a symbol in them."""
    while True:
        strings = _strings(rng)
        symbol = rng.choice("ab")
        following = rng.choice("ab")
        total = "".join(strings).count(symbol)
        count = sum(_occurrences(symbol + following, string) for string in strings)
        if 0 < count < total and total in (4, 5, 8, 10, 12, 15, 16):
            break
    return {
        "strings": "  ".join(strings),
        "symbol": symbol,
        "following": following,
        "count": str(count),
        "total": str(total),
        "share": number(Fraction(count, total)),
        "of_all": number(Fraction(count, SIZE)),
    }


def _strings(rng: Random) -> list[str]:
    words = rng.sample(WORDS, 5)
    strings = words + [rng.choice(words) for _ in range(SIZE - len(words))]
    rng.shuffle(strings)
    return strings


def _occurrences(word: str, string: str) -> int:
    return sum(string.startswith(word, start) for start in range(len(string)))


def _by_length(word: str) -> tuple[int, str]:
    return len(word), word
