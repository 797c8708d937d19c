"""Generate the values of tasks about rank: languages and their states, singular values, low-rank
matrices, Hankel blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from random import Random

from ...errors import plural
from .writing import column, matrix, number, numbers, vector

PYTHAGOREAN = ((3, 4, 5), (6, 8, 10), (5, 12, 13), (8, 15, 17))
PREFIXES = ("λ", "a", "b", "ab")


def language(rng: Random) -> dict[str, str]:
    """Make a language over a and b, and the rank of its 0/1 Hankel matrix, which is that of its
    smallest automaton.
    """
    number_of = rng.randint(2, 5)
    word = "".join(rng.choice("ab") for _ in range(rng.choice([1, 2, 3])))
    length = rng.randint(1, 4)
    symbol = rng.choice("ab")
    descriptions = {
        f"in which the number of `{symbol}`s is a multiple of {number_of}": (
            number_of,
            f"The state has to record the number of `{symbol}`s so far, modulo {number_of}.",
        ),
        f"in which the numbers of `a`s and `b`s differ by a multiple of {number_of}": (
            number_of,
            f"The state has to record the difference so far, modulo {number_of}.",
        ),
        f"that begin with `{word}`": (
            len(word) + 1,
            f"The state has to record how much of `{word}` was read, from 0 to {len(word)} "
            "symbols. After a wrong symbol the prefix's row is 0, which needs no state.",
        ),
        f"that end with `{word}`": (
            len(word) + 1,
            f"The state has to record how many of the last symbols begin `{word}`, from 0 "
            f"to {len(word)}.",
        ),
        f"that have exactly {plural(length, 'symbol')}": (
            length + 1,
            f"The state has to record the prefix's length, from 0 to {length}. Longer prefixes "
            "have the row 0, which needs no state.",
        ),
        f"that have at most {plural(length, 'symbol')}": (
            length + 1,
            f"The state has to record the prefix's length, from 0 to {length}. Longer prefixes "
            "have the row 0, which needs no state.",
        ),
        f"in which `{symbol}` occurs exactly {length} {'time' if length == 1 else 'times'}": (
            length + 1,
            f"The state has to record how many `{symbol}`s were read, from 0 to {length}. After "
            "more of them the prefix's row is 0, which needs no state.",
        ),
    }
    description = rng.choice(list(descriptions))
    rank, reason = descriptions[description]
    return {
        "description": description,
        "rank": str(rank),
        "reason": reason,
        "more": str(rank + 1),
        "fewer": str(rank - 1),
    }


def same_state(rng: Random) -> dict[str, str]:
    """Make a language that counts a symbol modulo 3 or 4, four prefixes, and the one pair with the
    same row.
    """
    modulus = rng.choice([3, 4])
    symbol = rng.choice("ab")
    while True:
        prefixes = [
            "".join(rng.choice("ab") for _ in range(length))
            for length in rng.sample([1, 2, 3, 4, 5], 4)
        ]
        remainders = [prefix.count(symbol) % modulus for prefix in prefixes]
        pairs = [
            pair for pair in combinations(range(4), 2) if remainders[pair[0]] == remainders[pair[1]]
        ]
        if len(pairs) == 1:
            break
    first, second = pairs[0]
    wrong = rng.sample([pair for pair in combinations(range(4), 2) if pair != pairs[0]], 3)
    texts = [f"`{prefixes[left]}` and `{prefixes[right]}`" for left, right in wrong]
    return {
        "modulus": str(modulus),
        "symbol": symbol,
        "prefixes": "  ".join(prefixes),
        "right": f"`{prefixes[first]}` and `{prefixes[second]}`",
        "wrong_one": texts[0],
        "wrong_two": texts[1],
        "wrong_three": texts[2],
        "remainder": str(remainders[first]),
        "remainders": ", ".join(map(str, remainders)),
    }


def brackets(rng: Random) -> dict[str, str]:
    """Make a prefix of well-bracketed strings: how many are open, and how it ends soonest."""
    prefix = ""
    depth = 0
    deepest = 0
    for _ in range(rng.choice([5, 6, 7, 8])):
        symbol = "[" if depth == 0 else rng.choice("[[]")
        depth += 1 if symbol == "[" else -1
        prefix = prefix + symbol
        deepest = max(deepest, depth)
    if depth == 0:
        prefix = f"{prefix}["
        depth = 1
        deepest = max(deepest, 1)
    return {
        "prefix": prefix,
        "open": str(depth),
        "deepest": str(deepest),
        "opened": str(prefix.count("[")),
        "closed": str(prefix.count("]")),
        "ending": "]" * depth,
        "shorter": "]" * (depth - 1) or "λ",
        "states": str(deepest + 1),
    }


def depth_blocks(rng: Random) -> dict[str, str]:
    """Make the singular values of a matrix of brackets, two for each depth, and how deep the
    largest of them reach.
    """
    while True:
        first = [
            round((0.3 + 0.2 * rng.random()) * rng.uniform(0.38, 0.5) ** depth, 4)
            for depth in range(7)
        ]
        second = [round(value * rng.uniform(0.05, 0.35), 4) for value in first]
        number_of = rng.randint(4, 7)
        kept = sorted((*first, *second), reverse=True)[: number_of + 1]
        deepest = sum(value >= kept[-2] for value in first) - 1
        falling = all(larger > 1.2 * smaller for larger, smaller in pairwise(first))
        # Some depth takes two, so counting one for each is wrong, and the last value that is
        # kept is clearly larger.
        if (
            falling
            and deepest < number_of - 1
            and kept[-2] > 1.2 * kept[-1]
            and len(set(kept)) == len(kept)
        ):
            break
    twice = [str(depth) for depth, value in enumerate(second) if value >= kept[-2]]
    lines = "\n".join(
        f"| {depth} | {one} | {two} |"
        for depth, (one, two) in enumerate(zip(first, second, strict=True))
    )
    return {
        "table": f"| open brackets | largest | second |\n|---|---|---|\n{lines}",
        "rank": str(number_of),
        "deepest": str(deepest),
        "one_each": str(number_of - 1),
        "next": str(deepest + 1),
        "smallest": str(kept[-2]),
        "twice": " and ".join(twice),
    }


def matrix_rank(rng: Random) -> dict[str, str]:
    """Make a 3 × 3 matrix of rank 1 or 2, and how its rows depend on each other."""
    while True:
        first, second = ([rng.randint(0, 3) for _ in range(3)] for _ in range(2))
        left, right = rng.choice([(2, 0), (3, 0), (1, 1), (2, 1), (1, 2)])
        proportional = all(
            x * second[j] == y * first[j]
            for (x, y) in zip(first, second, strict=True)
            for j in range(3)
        )
        if all(map(any, (first, second))) and not proportional:
            break
    if rng.random() < 0.4:
        second = [2 * entry for entry in first]
        rank = 1
        reason = (
            f"The second row is 2 times the first, and the third is {left + 2 * right} times the "
            "first."
        )
    else:
        rank = 2
        parts = f"{left} times the first" + (f" plus {right} times the second" if right else "")
        reason = f"The first two rows are not multiples of each other; the third is {parts}."
    third = [left * x + right * y for x, y in zip(first, second, strict=True)]
    return {"matrix": matrix([first, second, third]), "rank": str(rank), "reason": reason}


def proportional_rows(rng: Random) -> dict[str, str]:
    """Make four rows of a Hankel matrix of which two are multiples of each other."""
    while True:
        base = [rng.randint(1, 3) for _ in range(3)]
        factor = rng.choice([2, 3])
        rows = [
            base,
            [factor * entry for entry in base],
            *([rng.randint(0, 6) for _ in range(3)] for _ in range(2)),
        ]
        pairs = [
            pair for pair in combinations(range(4), 2) if _multiples(rows[pair[0]], rows[pair[1]])
        ]
        if pairs == [(0, 1)] and all(map(any, rows)):
            break
    order = rng.sample(range(4), 4)
    names = dict(zip(order, PREFIXES, strict=True))
    wrong = rng.sample([pair for pair in combinations(range(4), 2) if pair != (0, 1)], 3)
    lines = r" \\ ".join(
        rf"{names[index]} & {' & '.join(map(str, rows[index]))}" for index in order
    )
    texts = [_pair(names[left], names[right]) for left, right in wrong]
    return {
        "table": rf"\begin{{array}}{{c|ccc}} & λ & a & b \\ \hline {lines}\end{{array}}",
        "right": _pair(names[0], names[1]),
        "wrong_one": texts[0],
        "wrong_two": texts[1],
        "wrong_three": texts[2],
        "factor": str(factor),
        "larger": names[1],
        "smaller": names[0],
    }


def singular_gap(rng: Random) -> dict[str, str]:
    """Make falling singular values with one gap."""
    rank = rng.randint(2, 5)
    value = 0.6 + 0.3 * rng.random()
    values = []
    for place in range(7):
        values.append(round(value, 3 if place < rank else 4))
        value /= 9 + 3 * rng.random() if place == rank - 1 else 1.2 + 0.7 * rng.random()
    return {
        "values": ", ".join(map(str, values)),
        "rank": str(rank),
        "last": str(values[rank - 1]),
        "following": str(values[rank]),
        "ratio": str(int(values[rank - 1] / values[rank])),
        "before": str(rank - 1),
        "after": str(rank + 1),
    }


def truncation(rng: Random) -> dict[str, str]:
    """Make singular values of which the last two are cut off, and the error in the Frobenius
    norm.
    """
    small, large, error = rng.choice(PYTHAGOREAN)
    first = [Fraction(large * factor, 100) for factor in (4, 2)]
    values = [*first, Fraction(large, 100), Fraction(small, 100)]
    return {
        "values": ", ".join(map(number, values)),
        "small": number(values[3]),
        "large": number(values[2]),
        "error": number(Fraction(error, 100)),
        "total": number(values[2] + values[3]),
        "squares": number(Fraction(error**2, 10_000)),
    }


def rank_one(rng: Random) -> dict[str, str]:
    """Make a matrix of rank 1, the product of a column and a row, and its one singular value."""
    (a, b, left), (c, d, right) = rng.sample(PYTHAGOREAN[:3], 2)
    return {
        "column": column([a, b]),
        "row": vector([c, d]),
        "matrix": matrix([[a * c, a * d], [b * c, b * d]]),
        "left": str(left),
        "right": str(right),
        "value": str(left * right),
        "trace": str(a * c + b * d),
    }


def one_state_blocks(rng: Random) -> dict[str, str]:
    """Make the Hankel blocks of an automaton with one state."""
    ratio, other = rng.sample([Fraction(1, 2), Fraction(1, 4), Fraction(1, 5), Fraction(1, 10)], 2)
    first = Fraction(rng.choice([2, 4, 6, 8]), 10)
    block = [[first * left * right for right in (1, ratio)] for left in (1, other)]
    return {
        "block": matrix(block),
        "block_a": matrix([[ratio * entry for entry in row] for row in block]),
        "ratio": number(ratio),
        "upside_down": number(1 / ratio),
        "first": number(first),
        "first_a": number(ratio * first),
    }


def two_state_blocks(rng: Random) -> dict[str, str]:
    """Make the Hankel blocks of an automaton with two states, and its matrix for a."""
    while True:
        block = [[rng.randint(0, 3) for _ in range(2)] for _ in range(2)]
        determinant = block[0][0] * block[1][1] - block[0][1] * block[1][0]
        entries = [[rng.randint(0, 2) for _ in range(2)] for _ in range(2)]
        if (
            abs(determinant) == 1
            and block[0][1] * block[1][0]
            and any(entries[0])
            and any(entries[1])
            and entries[0] != entries[1]
        ):
            break
    inverse = [
        [determinant * block[1][1], -determinant * block[0][1]],
        [-determinant * block[1][0], determinant * block[0][0]],
    ]
    block_a = _product(block, entries)
    return {
        "block": matrix(block),
        "block_a": matrix(block_a),
        "inverse": matrix(inverse),
        "determinant": str(determinant),
        "matrix": matrix(entries),
        "entries": numbers([*entries[0], *entries[1]]),
        "swapped": numbers([entry for row in _product(block_a, inverse) for entry in row]),
    }


def _product(left: Sequence[Sequence[int]], right: Sequence[Sequence[int]]) -> list[list[int]]:
    return [
        [sum(x * y for x, y in zip(row, line, strict=True)) for line in zip(*right, strict=True)]
        for row in left
    ]


def _multiples(left: Sequence[int], right: Sequence[int]) -> bool:
    return all(
        left[i] * right[j] == left[j] * right[i] for i, j in combinations(range(len(left)), 2)
    )


def _pair(left: str, right: str) -> str:
    first, second = sorted((left, right), key=PREFIXES.index)
    return f"the rows {first} and {second}"
