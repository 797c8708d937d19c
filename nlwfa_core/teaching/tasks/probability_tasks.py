"""Generate the values of tasks about probabilistic automata: geometric series, mass, hidden Markov
models.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from itertools import product as paths
from random import Random

from .writing import column, matrix, number, numbers, vector

HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)


def one_state(rng: Random) -> dict[str, str]:
    """Make an automaton with one state: weights of a and b, and what follows from the geometric
    series.
    """
    a, b = (
        Fraction(part, 10)
        for part in rng.choice(
            [(1, 4), (2, 3), (3, 2), (4, 1), (2, 4), (4, 2), (1, 5), (5, 1), (3, 5), (4, 4)]
        )
    )
    termination = Fraction(rng.choice([1, 2, 3, 4]), 10)
    word = "".join(rng.choice("ab") for _ in range(2))
    prefix = (a if word[0] == "a" else b) * (a if word[1] == "a" else b)
    left = 1 - a - b
    return {
        "a": number(a),
        "b": number(b),
        "sum": number(a + b),
        "left": number(left),
        "termination": number(termination),
        "word": word,
        "product": number(prefix),
        "weight": number(prefix * termination),
        "mass": number(termination / left),
        "probability": number(prefix * left),
        "mean_length": number((a + b) / left),
        "reciprocal": number(1 / left),
    }


def triangular(rng: Random) -> dict[str, str]:
    """Make an automaton with two states that can't go back to the first, and its mass."""
    stay, go = rng.choice([(HALF, QUARTER), (QUARTER, HALF), (HALF, HALF), (Fraction(0), HALF)])
    second = rng.choice([HALF, QUARTER, Fraction(3, 4)])
    first_end = rng.choice([Fraction(0), QUARTER])
    second_end = 1 - second
    after = second_end / (1 - second)
    mass = (first_end + go * after) / (1 - stay)
    return {
        "matrix": matrix([[stay, go], [Fraction(0), second]]),
        "termination": column([first_end, second_end]),
        "first_end": number(first_end),
        "second_end": number(second_end),
        "stay": number(stay),
        "go": number(go),
        "second": number(second),
        "mass_second": number(after),
        "mass": number(mass),
        "one_step": number(first_end + go * after),
    }


def hmm(rng: Random) -> dict[str, str]:
    """Make a hidden Markov model with two states, a string of three symbols, forward weights and
    the likeliest path.
    """
    while True:
        start = rng.choice([[HALF, HALF], [QUARTER, 3 * QUARTER], [3 * QUARTER, QUARTER]])
        moves = [
            rng.choice([[HALF, HALF], [QUARTER, 3 * QUARTER], [3 * QUARTER, QUARTER]])
            for _ in range(2)
        ]
        emits = [
            rng.choice(
                [
                    [QUARTER, 3 * QUARTER],
                    [3 * QUARTER, QUARTER],
                    [HALF, HALF],
                    [Fraction(1), Fraction(0)],
                ]
            )
            for _ in range(2)
        ]
        word = "".join(rng.choice("ab") for _ in range(3))
        symbols = ["ab".index(symbol) for symbol in word]
        joint = {
            path: _joint(path, start, moves, emits, symbols) for path in paths(range(2), repeat=3)
        }
        ranking = sorted(joint.values(), reverse=True)
        if emits[0] != emits[1] and ranking[0] > 1.2 * ranking[1] and start != moves[0]:
            break
    first = [start[state] * emits[state][symbols[0]] for state in range(2)]
    moved = [sum(first[state] * moves[state][after] for state in range(2)) for after in range(2)]
    second = [moved[state] * emits[state][symbols[1]] for state in range(2)]
    best = max(joint, key=lambda path: joint[path])
    row = rng.randrange(2)
    target = rng.randrange(2)
    symbol = rng.choice("ab")
    emission = emits[row]["ab".index(symbol)]
    return {
        "start": vector(start),
        "moves": matrix(moves),
        "emits": matrix(emits),
        "word": word,
        "two": word[:2],
        "symbol_one": word[0],
        "symbol_two": word[1],
        "first": numbers(first),
        "first_vector": vector(first),
        "moved_vector": vector(moved),
        "second_vector": vector(second),
        "forward": number(sum(second)),
        "path": "".join(str(state + 1) for state in best),
        "joint": number(joint[best]),
        "next_joint": number(ranking[1]),
        "row": str(row + 1),
        "target": str(target + 1),
        "symbol": symbol,
        "emission": number(emission),
        "move": number(moves[row][target]),
        "entry": number(emission * moves[row][target]),
    }


def _joint(
    path: tuple[int, ...],
    start: list[Fraction],
    moves: list[list[Fraction]],
    emits: list[list[Fraction]],
    symbols: list[int],
) -> Fraction:
    value = start[path[0]]
    for before, after in pairwise(path):
        value *= moves[before][after]
    for state, symbol in zip(path, symbols, strict=True):
        value *= emits[state][symbol]
    return value
