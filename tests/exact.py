"""Weights and scores by their definitions, in exact arithmetic: slow, and independent of everything
in `nlwfa_core`.

Floats are rational numbers, so sums, products and zeros are exact here: nothing underflows, and
nothing is lost to rounding. Test strings are a dictionary, string -> how often it occurs.
Definitions: Balle et al. 2014 (sums over continuations), Verwer et al. 2014 (Pautomac score), Balle
et al. 2016 (NDCG@5), Witten and Bell 1991; where these are silent, docs/method-notes.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

Word = tuple[int, ...]
Counts = Mapping[Word, int]
Numbers = npt.NDArray[np.object_]  # of int or Fraction
# scores are equal if their difference, times this, is no larger than the largest |score|
TIE = 10**12


class Exact(Protocol):
    """A model of strings."""

    def weight(self, word: Word) -> Fraction: ...

    def next_scores(self, word: Word) -> list[int]:
        """The scores of what follows, the end last, up to a common factor above 0."""


def rational(array: npt.ArrayLike) -> Numbers:
    numbers = np.asarray(array, dtype=object)
    fractions = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape):
        fractions[place] = Fraction(numbers[place])
    return fractions


def whole(array: Numbers) -> tuple[Numbers, int]:
    """The whole numbers and the denominator that make an array of fractions."""
    denominator = math.lcm(*(value.denominator for value in array.flat))
    numbers = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        numbers[place] = int(array[place] * denominator)
    return numbers, denominator


def log2(value: Fraction | int) -> float:
    """log₂ |value| of a number of any size."""
    if value == 0:
        return -math.inf
    top = abs(value.numerator)
    bottom = value.denominator
    shift = top.bit_length() - bottom.bit_length()
    return shift + math.log2((top << max(-shift, 0)) / (bottom << max(shift, 0)))


def solve(matrix: Numbers, right: Numbers) -> Numbers:
    """The solution of matrix · x = right, by elimination."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = next(row for row in range(column, len(rows)) if rows[row][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for row in range(len(rows)):
            if row != column and (factor := rows[row][column]) != 0:
                rows[row] = [
                    one - factor * other for one, other in zip(rows[row], rows[column], strict=True)
                ]
    solution = np.empty(len(rows), dtype=object)
    solution[:] = [row[-1] for row in rows]
    return solution


def reduced(row: Numbers, echelon: list[tuple[int, Numbers]]) -> Numbers:
    """A multiple of a row of whole numbers, less multiples of rows in echelon form, each with the
    column of its first number other than 0.
    """
    for column, other in echelon:
        if row[column]:
            row = row * other[column] - row[column] * other
            row = row // max(math.gcd(*row), 1)
    return row


def spanning(start: Sequence[Numbers], maps: Numbers) -> list[Numbers]:
    """Rows of whole numbers that span the images of some under all products of maps."""
    echelon: list[tuple[int, Numbers]] = []
    new = [*start]
    while new:
        rest = reduced(new.pop(), echelon)
        columns = np.flatnonzero(rest)
        if len(columns):
            echelon.append((int(columns[0]), rest))
            new += [rest @ map_ for map_ in maps]
    return [row for _, row in echelon]


class ExactWFA:
    """f(x₁…x_t) = α₀ᵀ A_{x₁} … A_{x_t} α∞."""

    def __init__(
        self, initial: npt.ArrayLike, transitions: npt.ArrayLike, termination: npt.ArrayLike
    ) -> None:
        self.initial = rational(initial)
        self.transitions = rational(transitions)
        self.termination = rational(termination)
        (start, first), (self._maps, self._step), (self._ends, last) = map(
            whole, (self.initial, self.transitions, self.termination)
        )
        self._below = first * last
        self._states: dict[Word, Numbers] = {(): start}

    def state(self, word: Word) -> Numbers:
        """α₀ᵀ A_word up to a factor; each prefix is computed once."""
        reached = next(
            length for length in range(len(word), -1, -1) if word[:length] in self._states
        )
        for length in range(reached, len(word)):
            self._states[word[: length + 1]] = (
                self._states[word[:length]] @ self._maps[word[length]]
            )
        return self._states[word]

    def weight(self, word: Word) -> Fraction:
        return Fraction(int(self.state(word) @ self._ends), self._below * self._step ** len(word))

    @cached_property
    def rank(self) -> int:
        """The rank of the Hankel matrix of all strings, which is the smallest number of states."""
        states = spanning([self._states[()]], self._maps)
        ends = spanning([self._ends], self._maps.transpose(0, 2, 1))
        if not states or not ends:
            return 0
        return len(spanning([state @ np.stack(ends, axis=1) for state in states], self._maps[:0]))

    @cached_property
    def useful(self) -> ExactWFA:
        """The automaton of the states that paths of numbers other than 0 join to α₀ and to α∞."""
        edges = (self.transitions != 0).any(axis=0)
        forward = self.initial != 0
        backward = self.termination != 0
        for _ in self.initial:
            forward = forward | edges[forward].any(axis=0)
            backward = backward | edges[:, backward].any(axis=1)
        states = np.flatnonzero(forward & backward)
        return ExactWFA(
            self.initial[states],
            self.transitions[:, states][:, :, states],
            self.termination[states],
        )

    @cached_property
    def difference(self) -> Numbers:
        """I − A."""
        return np.asarray(rational(np.eye(len(self.initial))) - self.transitions.sum(axis=0))

    @cached_property
    def prefix(self) -> ExactWFA:
        """P(x ∈ wΣ*), for an automaton of P(x = w): α∞ becomes (I − A)⁻¹ α∞."""
        useful = self.useful
        return ExactWFA(
            useful.initial, useful.transitions, solve(useful.difference, useful.termination)
        )

    @cached_property
    def factor(self) -> ExactWFA:
        """How often w is expected to occur: α₀ becomes (I − A)⁻ᵀ α₀ too."""
        prefix = self.prefix
        return ExactWFA(
            solve(prefix.difference.T, prefix.initial), prefix.transitions, prefix.termination
        )

    @cached_property
    def _following(self) -> Numbers:
        """(A_σ (I − A)⁻¹ α∞ for each σ, α∞) up to a factor, shape (num_states, num_symbols + 1)."""
        sums = [maps @ self.prefix.termination for maps in self.useful.transitions]
        return whole(np.stack([*sums, self.useful.termination], axis=1))[0]

    def next_scores(self, word: Word) -> list[int]:
        """f(wσΣ*) for each σ, then f(w)."""
        if not len(self.useful.initial):
            return [0] * (len(self.transitions) + 1)
        return list(self.useful.state(word) @ self._following)


class ExactNGram:
    """p(a | h) = (c(ha) + T(h) p(a | h')) / (c(h) + T(h)), with 1 / (|Σ| + 1) below the empty
    history.

    One symbol, −1, stands for the beginning of a string. No history reaches further back.
    """

    def __init__(self, train: Counts, order: int, num_symbols: int) -> None:
        self.order = order
        self.num_symbols = num_symbols
        self.counts: dict[Word, Counter[int]] = {}
        for word, count in train.items():
            line = (-1, *word, num_symbols)
            for place in range(1, len(line)):
                for length in range(min(order, place + 1)):
                    self.counts.setdefault(line[place - length : place], Counter())[
                        line[place]
                    ] += count

    def distribution(self, word: Word) -> list[Fraction]:
        line = (-1, *word)
        chances = [Fraction(1, self.num_symbols + 1)] * (self.num_symbols + 1)
        for length in range(min(self.order, len(line) + 1)):
            seen = self.counts.get(line[len(line) - length :])
            if seen is None:
                break
            chances = [
                (seen[a] + len(seen) * chance) / Fraction(seen.total() + len(seen))
                for a, chance in enumerate(chances)
            ]
        return chances

    def next_scores(self, word: Word) -> list[int]:
        return list(whole(np.array(self.distribution(word), dtype=object))[0])

    def weight(self, word: Word) -> Fraction:
        factors = [self.distribution(word[:length])[symbol] for length, symbol in enumerate(word)]
        return math.prod(factors, start=self.distribution(word)[-1])


# What follows each prefix


def predictions(test: Counts) -> Iterator[tuple[Word, int, int]]:
    """Each prefix, what follows it (a symbol; −1, the end), and how often."""
    total: Counter[tuple[Word, int]] = Counter()
    for word, count in test.items():
        for length, symbol in enumerate((*word, -1)):
            total[word[:length], symbol] += count
    return ((prefix, symbol, count) for (prefix, symbol), count in total.items())


def highest(scores: Mapping[int, int], scale: int) -> list[int]:
    """The places of the highest scores, equal ones included."""
    top = max(scores.values())
    return [place for place, score in scores.items() if (top - score) * TIE <= scale]


def discounts(scores: Sequence[int]) -> list[float]:
    """What NDCG@5 gives each place: the mean discount of the ranks that equal scores share."""
    left = dict(enumerate(scores))
    rank = 0
    gains = [0.0] * len(scores)
    scale = max(map(abs, scores))
    while left and rank < 5:
        equal = highest(left, scale)
        mean = sum(
            1 / math.log2(place + 2) for place in range(rank, min(rank + len(equal), 5))
        ) / len(equal)
        rank += len(equal)
        for place in equal:
            gains[place] = mean
            del left[place]
    return gains


def shares(scores: Sequence[int], floor: float) -> tuple[list[float], list[float]]:
    """|scores| normalised, raised to the floor and normalised again: the shares, and log₂ of
    them.
    """
    total = sum(map(abs, scores))
    values = [abs(score) / total if total else 0.0 for score in scores]
    if not floor:
        return values, [log2(score) - log2(total) if score else -math.inf for score in scores]
    raised = [max(value, floor) for value in values]
    values = [value / sum(raised) for value in raised]
    return values, [math.log2(value) for value in values]


def next_symbol_scores(
    model: Exact, test: Counts, truth: Exact | None = None, floor: float = 0.0
) -> dict[str, float | None]:
    """The fields of `Scores` that predictions decide."""
    sums: Counter[str] = Counter()
    prefixes: set[Word] = set()
    for prefix, symbol, count in predictions(test):
        scores = list(model.next_scores(prefix))
        chances, logs = shares(scores, floor)
        largest = max(map(abs, scores))
        best = highest(dict(enumerate(scores)), largest)
        followed = symbol % len(scores)
        gains = discounts(scores)
        amounts = {
            "num_predictions": 1.0,
            "wer": 1 - (followed in best) / len(best),
            "share_tied": len(best) > 1,
            "bits_per_symbol": -logs[followed],
            "ndcg5": gains[followed],
            "num_impossible": chances[followed] == 0 and logs[followed] == -math.inf,
        }
        if symbol >= 0:
            inner = highest(dict(enumerate(scores[:-1])), largest)
            if floor:
                bits = math.log2(sum(chances[:-1])) - logs[followed]
            else:
                bits = -shares(scores[:-1], 0.0)[1][followed]
            amounts |= {
                "num_symbols": 1.0,
                "wer_without_end": 1 - (followed in inner) / len(inner),
                "bits_without_end": bits,
            }
        if truth is not None:
            true, true_logs = shares(truth.next_scores(prefix), 0.0)
            amounts["ndcg5_true"] = sum(map(math.prod, zip(true, gains, strict=True))) / sum(
                chance / math.log2(rank + 2)
                for rank, chance in enumerate(sorted(true, reverse=True)[:5])
            )
            amounts["next_kl"] = sum(
                p * (a - b) for p, a, b in zip(true, true_logs, logs, strict=True) if p
            )
        if prefix not in prefixes:
            prefixes.add(prefix)
            sums["num_negative_next"] += sum(score < 0 for score in scores)
        for name, amount in amounts.items():
            sums[name] += count * amount  # type: ignore[assignment]
    number = sums["num_predictions"]
    num_symbols = sums["num_symbols"]
    means = {
        name: sums[name] / number for name in ("wer", "share_tied", "bits_per_symbol", "ndcg5")
    }
    true_means = {
        name: None if truth is None else sums[name] / number for name in ("ndcg5_true", "next_kl")
    }
    without_end = {
        name: sums[name] / num_symbols if num_symbols else math.nan
        for name in ("wer_without_end", "bits_without_end")
    }
    counts = {
        name: sums[name] for name in ("num_predictions", "num_impossible", "num_negative_next")
    }
    return {**means, **true_means, **counts, **without_end}


# Whole strings


def _normalised(values: Sequence[Fraction]) -> list[Fraction]:
    total = sum(values)
    return [value / total if total else Fraction(0) for value in values]


def string_scores(
    words: Sequence[Word],
    outputs: Sequence[Fraction],
    target: Sequence[Fraction],
    floor: float = 0.0,
) -> dict[str, float]:
    """The scores of outputs on the words T, given P* of each up to a factor."""
    true = _normalised(target)
    model = _normalised([abs(output) for output in outputs])
    if floor:
        model = _normalised([max(share, Fraction(floor)) for share in model])
    cross = -sum(float(p) * log2(q) for p, q in zip(true, model, strict=True) if p)
    least = -sum(float(p) * log2(p) for p in true if p)
    return {
        "log2_pauto": cross,
        "true_log2_pauto": least,
        "uniform_log2_pauto": math.log2(len(outputs)),
        "kl": cross - least,
        "total_variation": _total_variation(
            dict(zip(words, true, strict=True)), dict(zip(words, model, strict=True))
        ),
        "num_words": len(outputs),
        "num_zero": sum(output == 0 for output in outputs),
        "num_negative": sum(output < 0 for output in outputs),
        "num_nonfinite": 0,
    }


def _total_variation(true: Mapping[Word, Fraction], model: Mapping[Word, Fraction]) -> float:
    pairs = zip(_normalised([*true.values()]), _normalised([*model.values()]), strict=True)
    return float(sum(abs(p - q) for p, q in pairs)) / 2


def root_mean_square(outputs: Sequence[Fraction], values: Sequence[Fraction]) -> float:
    mean = sum((output - value) ** 2 for output, value in zip(outputs, values, strict=True)) / len(
        outputs
    )
    return 2 ** (log2(mean) / 2) if mean else 0.0


CONVENTIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "abs": lambda output, _: abs(output),
    "abs, not normalised": lambda output, _: abs(output),
    "floor 1e-4": lambda output, _: output if output > 0 else Fraction(1e-4),
    "floor 2.2e-16": lambda output, _: max(output, Fraction(2.0**-52)),
    "floor 1e-30": lambda output, _: output if output > 0 else Fraction(1e-30),
    "trigram": lambda output, substitute: output if output > 0 else substitute,
    "left out": lambda output, _: max(output, Fraction(0)),
    "as it is": lambda output, _: output,
}


def log2_perplexity(
    name: str,
    outputs: Sequence[Fraction],
    target: Sequence[Fraction],
    substitutes: Sequence[Fraction],
) -> float:
    """log₂ of the perplexity by a convention of docs/perplexity-conventions.md; nan if it has
    none.
    """
    if name == "as it is" and min(outputs) < 0:
        return math.nan
    values = [
        CONVENTIONS[name](output, other) for output, other in zip(outputs, substitutes, strict=True)
    ]
    chances = values if name == "abs, not normalised" else _normalised(values)
    left_out = [name == "left out" and output <= 0 for output in outputs]
    terms = zip(_normalised(target), chances, left_out, strict=True)
    return -sum(float(p) * log2(q) for p, q, skipped in terms if p and not skipped)
