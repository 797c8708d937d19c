"""Generate the values of tasks about weighted automata with whole numbers: states, weights, sums,
products and squares.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random

from .writing import column, matrix, number, numbers, vector

Vector = list[int]
Matrix = list[Vector]


def automaton(rng: Random) -> dict[str, str]:
    """Make an automaton with two states over a and b, a string of three symbols, and each step of
    its weight.
    """
    while True:
        initial = [rng.randint(0, 2) for _ in range(2)]
        termination = [rng.randint(0, 2) for _ in range(2)]
        matrices = {
            symbol: [[rng.randint(0, 2) for _ in range(2)] for _ in range(2)] for symbol in "ab"
        }
        first, second = rng.choice([("a", "b"), ("b", "a")])
        third = rng.choice("ab")
        one = _row_times(initial, matrices[first])
        two = _row_times(one, matrices[second])
        swapped = _row_times(_row_times(initial, matrices[second]), matrices[first])
        three = _row_times(two, matrices[third])
        weights = [_dot(state, termination) for state in (initial, one, two, three)]
        if (
            min(weights) > 0
            and weights[3] < 100
            and _dot(swapped, termination) != weights[2]
            and sum(initial) > 1
            and one != initial
        ):
            break
    transposed = [_dot(row, initial) for row in matrices[first]]
    return {
        "initial": vector(initial),
        "matrix_a": matrix(matrices["a"]),
        "matrix_b": matrix(matrices["b"]),
        "termination": column(termination),
        "first": first,
        "second": second,
        "third": third,
        "word": first + second,
        "long_word": first + second + third,
        "first_matrix": matrix(matrices[first]),
        "second_matrix": matrix(matrices[second]),
        "third_matrix": matrix(matrices[third]),
        "state_one": vector(one),
        "state_two": vector(two),
        "state_three": vector(three),
        "one": numbers(one),
        "two": numbers(two),
        "transposed": numbers(transposed),
        "backward": numbers([_dot(row, termination) for row in matrices[second]]),
        "backward_column": column([_dot(row, termination) for row in matrices[second]]),
        "weight_empty": str(weights[0]),
        "weight_one": str(weights[1]),
        "weight_two": str(weights[2]),
        "weight_three": str(weights[3]),
        "weight_swapped": str(_dot(swapped, termination)),
    }


def counter(rng: Random) -> dict[str, str]:
    """Make an automaton that adds `step` for each occurrence of a symbol, and a string to read."""
    step = rng.randint(2, 5)
    symbol = rng.choice("ab")
    word = "".join(rng.sample("aaabbbab", 5))
    counting = [[1, step], [0, 1]]
    still = [[1, 0], [0, 1]]
    matrices = {symbol: counting, "b" if symbol == "a" else "a": still}
    return {
        "matrix_a": matrix(matrices["a"]),
        "matrix_b": matrix(matrices["b"]),
        "word": word,
        "symbol": symbol,
        "step": str(step),
        "count": str(word.count(symbol)),
        "weight": str(step * word.count(symbol)),
        "all": str(step * len(word)),
    }


def product(rng: Random) -> dict[str, str]:
    """Make a string of three symbols, the product of matrices that belongs to it, and three
    others.
    """
    word = rng.choice(["aab", "aba", "baa", "abb", "bab", "bba"])
    others = sorted({"".join(order) for order in permutations(word)} - {word})
    flipped = "".join("b" if symbol == "a" else "a" for symbol in word)
    first, second, third = rng.sample([*others, flipped], 3)
    return {
        "word": word,
        "right": _factors(word),
        "first": _factors(first),
        "second": _factors(second),
        "third": _factors(third),
    }


def scaled(rng: Random) -> dict[str, str]:
    """Make factors for the initial vector and the matrices, and a weight with and without them."""
    factor = rng.choice([2, 3, 4, 5])
    share = rng.choice([Fraction(1, 2), Fraction(1, 10), Fraction(2)])
    word = "".join(rng.choice("ab") for _ in range(rng.choice([2, 3])))
    before = Fraction(rng.choice([4, 8, 16]))
    return {
        "word": word,
        "length": str(len(word)),
        "factor": str(factor),
        "share": number(share),
        "before": number(before),
        "after": number(before * factor * share ** len(word)),
        "once": number(before * factor * share),
        "power": number(share ** len(word)),
    }


def combined(rng: Random) -> dict[str, str]:
    """Make the sizes of two automata, and those of their sum, their product and a square."""
    first, second = rng.sample(range(2, 8), 2)
    return {
        "first": str(first),
        "second": str(second),
        "sum": str(first + second),
        "product": str(first * second),
        "symmetric": str(first * (first + 1) // 2),
        "square": str(first**2),
    }


def squared_state(rng: Random) -> dict[str, str]:
    """Make a state with two entries, and its Kronecker square."""
    left = rng.choice([1, 2, 3, 4])
    right = -rng.choice([1, 2, 3, 5])
    termination = [rng.choice([1, 2]), rng.choice([1, 2])]
    value = left * termination[0] + right * termination[1]
    return {
        "left": str(left),
        "right": str(right),
        "state": vector([left, right]),
        "termination": column(termination),
        "square": numbers([left**2, left * right, right * left, right**2]),
        "squares": numbers([left**2, 0, 0, right**2]),
        "value": str(value),
        "value_squared": str(value**2),
    }


def _row_times(row: Vector, entries: Matrix) -> Vector:
    return [_dot(row, [line[place] for line in entries]) for place in range(len(entries[0]))]


def _dot(left: Vector, right: Vector) -> int:
    return sum(x * y for x, y in zip(left, right, strict=True))


def _factors(word: str) -> str:
    return "".join(rf"\mathbf{{A}}_{symbol}" for symbol in word)
