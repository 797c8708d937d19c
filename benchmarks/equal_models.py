"""Measure how often a comparison names a winner among two equally good models, and how often its
intervals contain the truth.

`python -m benchmarks.equal_models` draws 5,000 test sets of 30, 100 and 250 strings for each design
and compares its two models, as `nlwfa compare` does, by WER and by bits per symbol. The models of a
design are equally good over all strings of its source, so a verdict that one is ahead at p < 0.05
is wrong: this should happen 5 times in 100. It also counts how often the 95 % intervals contain the
true score of the first model, and the true difference, which is 0. `--quick` draws 200 test sets of
each.

All test sets of a block have the same resamples, which do not depend on the strings: one matrix
serves all.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log, sqrt

import numpy as np

from nlwfa_core import WFA, Alphabet, TestSet
from nlwfa_core.metrics.intervals import (
    NUM_RESAMPLES,
    Interval,
    StringScores,
    difference,
    difference_interval,
    resamples,
    score_interval,
    string_scores,
)
from nlwfa_core.strings.words import FloatArray, IntArray

AB = Alphabet(("a", "b"))
ABC = Alphabet(("a", "b", "c"))
# field of `Scores` -> the sums of each string that it needs
COLUMNS = {"wer": "right", "bits_per_symbol": "bits"}
FIELDS = tuple(COLUMNS)
SIZES = (30, 100, 250)
LEVEL = 0.05
BLOCK = 250  # test sets with the same resamples


@dataclass(frozen=True, eq=False)
class Design:
    """A source of strings, and two models that are equally good at predicting them.

    `fields` are the scores in which they are equal over all strings, though not on each string.
    """

    name: str
    source: WFA
    first: WFA
    second: WFA
    fields: tuple[str, ...] = FIELDS


def memoryless(shares: list[float], end: float, alphabet: Alphabet = AB) -> WFA:
    """Return the model that emits symbols with these probabilities, whatever came before."""
    return WFA([1], [[[share]] for share in shares], [end], alphabet)


def by_first_symbol(share: float, after_a: float, after_b: float) -> WFA:
    """Return a model that emits a first with the probability `share`; what follows depends on the
    first symbol.

    After a, each symbol is a with the probability `after_a`, unless the string ends, and so on.
    Strings end with probability 0.2.
    """
    transitions = np.zeros((2, 3, 3))
    transitions[0, 0, 1], transitions[1, 0, 2] = share, 1 - share
    transitions[:, 1, 1] = 0.8 * after_a, 0.8 * (1 - after_a)
    transitions[:, 2, 2] = 0.8 * after_b, 0.8 * (1 - after_b)
    return WFA([1, 0, 0], transitions, [0, 0.2, 0.2], AB)


def rare_start(share_of_a: float) -> WFA:
    """Return a model in which one string in ten begins with a or b, and all others with c."""
    first = np.array([share_of_a, 0.1 - share_of_a, 0.9])
    transitions = np.zeros((3, 2, 2))
    transitions[:, 0, 1] = first
    transitions[2, 1, 1] = 0.5
    return WFA([1, 0], transitions, [0, 0.5], ABC)


def designs() -> Iterator[Design]:
    """Yield pairs of equally good models, of several kinds."""
    # The source does not change if a and b change places. The models do: each is the other.
    sticky = WFA(
        [0.5, 0.5], [[[0.45, 0.05], [0.1, 0.1]], [[0.1, 0.1], [0.05, 0.45]]], [0.3, 0.3], AB
    )
    yield Design(
        "mirror images", sticky, memoryless([0.45, 0.25], 0.3), memoryless([0.25, 0.45], 0.3)
    )
    long = WFA(
        [0.5, 0.5], [[[0.75, 0.05], [0.05, 0.05]], [[0.05, 0.05], [0.05, 0.75]]], [0.1, 0.1], AB
    )
    yield Design(
        "mirror images, long strings",
        long,
        memoryless([0.55, 0.35], 0.1),
        memoryless([0.35, 0.55], 0.1),
    )
    three = memoryless([0.25, 0.25, 0.25], 0.25, ABC)
    first = [0.4, 0.25, 0.1]
    second = [0.1, 0.4, 0.25]
    yield Design(
        "permuted symbols", three, memoryless(first, 0.25, ABC), memoryless(second, 0.25, ABC)
    )
    coin = memoryless([0.4, 0.4], 0.2)
    yield Design("a coin", coin, memoryless([0.41, 0.39], 0.2), memoryless([0.39, 0.41], 0.2))
    # Only one string in ten tells the models apart.
    yield Design(
        "rare differences",
        rare_start(0.05),
        rare_start(0.08),
        rare_start(0.02),
        ("bits_per_symbol",),
    )
    # One model is a little better after a, which is frequent, and the other much better after b.
    for share, gain in ((0.7, 0.1), (0.85, 0.04), (0.95, 0.02)):
        loss = share * gain / (1 - share)
        source = by_first_symbol(share, 0.5 + gain, 0.5 - loss)
        models = by_first_symbol(share, 0.55, 0.55), by_first_symbol(share, 0.45, 0.45)
        yield Design(f"better where frequent, {share:g}", source, *models)
    # One model expects shorter strings than the other, and the truth is where both need as many
    # bits.
    for low, high in ((0.02, 0.2), (0.1, 0.3)):
        odds = log((1 - low) / (1 - high)) / log(high / low)
        end = odds / (1 + odds)
        models = memoryless([(1 - low) / 2] * 2, low), memoryless([(1 - high) / 2] * 2, high)
        yield Design(
            f"skewed lengths, {low:g}",
            memoryless([(1 - end) / 2] * 2, end),
            *models,
            ("bits_per_symbol",),
        )
    # One model holds b, which is rare, for rarer than the other does, and the truth is where both
    # need as many bits.
    for low, high in ((0.02, 0.15), (0.005, 0.1)):
        odds = log((0.8 - low) / (0.8 - high)) / log(high / low)
        rare = 0.8 * odds / (1 + odds)
        models = memoryless([0.8 - low, low], 0.2), memoryless([0.8 - high, high], 0.2)
        yield Design(
            f"skewed symbols, {low:g}",
            memoryless([0.8 - rare, rare], 0.2),
            *models,
            ("bits_per_symbol",),
        )


@dataclass(frozen=True)
class Rates:
    """Shares of many test sets, for one score.

    Attributes
    ----------
    ahead : float
        Test sets on which one of the models is wrongly said to be ahead.
    difference_held, score_held : float
        Test sets whose interval contains the true difference, 0, and the true score of the first
        model.
    """

    ahead: float
    difference_held: float
    score_held: float


def measure(
    design: Design, size: int, number: int, num_resamples: int = NUM_RESAMPLES, seed: int = 0
) -> dict[str, Rates]:
    """Compare the models of a design on some test sets of a size: field of `Scores` -> rates."""
    hits: dict[str, list[FloatArray]] = {field: [] for field in design.fields}
    for block, first in enumerate(range(0, number, BLOCK)):
        num_sets = min(BLOCK, number - first)
        drawn = TestSet.empirical(design.source.sample(num_sets * size, seed=1_000 * seed + block))
        scores = [string_scores(model, drawn) for model in (design.first, design.second)]
        rows = np.repeat(np.arange(len(scores[0].counts)), scores[0].counts)
        rows = np.random.default_rng([seed, block]).permutation(rows).reshape(num_sets, size)
        draws = next(iter(resamples(np.ones(size, dtype=np.int64), num_resamples, block)))
        for field in design.fields:
            differences, own = compared(scores[0], scores[1], rows, draws, field)
            truth = true_scores(design)[field]
            hits[field] += [
                np.array(
                    [
                        gap.p_value < LEVEL,
                        gap.low <= 0 <= gap.high,
                        score.low <= truth <= score.high,
                    ]
                )
                for gap, score in zip(differences, own, strict=True)
            ]
    return {field: Rates(*np.mean(found, axis=0).tolist()) for field, found in hits.items()}


def compared(
    first: StringScores, second: StringScores, rows: IntArray, draws: FloatArray, field: str
) -> tuple[list[Interval], list[Interval]]:
    """Compute, for each test set, the interval of the difference of one score, and that of the
    first model's score.

    They are those of `paired_differences` and `intervals`: the resampled scores of all test sets
    are one product of matrices.

    Parameters
    ----------
    first, second : StringScores
        Of all strings of all test sets.
    rows : array, shape (num_sets, size)
        The strings of each test set.
    draws : array, shape (num_resamples, size)
        How often each string is drawn in each resample.
    """
    size = rows.shape[1]
    ones = np.ones(size, dtype=np.int64)
    all_but_one = 1.0 - np.eye(size)
    column = COLUMNS[field]

    # (num_sets, number of rows of `drawn`)
    def scores(model: StringScores, drawn: FloatArray) -> FloatArray:
        sums = model.next_symbols[column][rows] @ drawn.T
        shares: FloatArray = sums / (model.next_symbols["num_predictions"][rows] @ drawn.T)
        return 1 - shares if field == "wer" else shares

    estimates, resampled, left_out = (
        [scores(model, part) for model in (first, second)]
        for part in (ones[None], draws, all_but_one)
    )
    gaps, values, without = (difference(*pair) for pair in (estimates, resampled, left_out))
    differences = [
        difference_interval(values[test], float(gaps[test, 0]), without[test], ones)
        for test in range(len(rows))
    ]
    own = [
        score_interval(resampled[0][test], float(estimates[0][test, 0]), left_out[0][test], ones)
        for test in range(len(rows))
    ]
    return differences, own


@lru_cache
def true_scores(design: Design) -> dict[str, float]:
    """Compute the scores of a design's first model over 100,000 other strings."""
    return string_scores(
        design.first, TestSet.empirical(design.source.sample(100_000, seed=10**6))
    ).estimates


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.equal_models", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="200 test sets of each size and design"
    )
    number = 200 if parser.parse_args().quick else 5_000
    error = sqrt(LEVEL * (1 - LEVEL) / number)
    print(
        f"{number:,} test sets each; the standard error of a rate near {LEVEL:g} is {error:.4f}\n"
    )
    print(
        "| design | score | strings | said to be ahead at p < 0.05 | difference held | score held |"
    )
    print("|---|---|---|---|---|---|")
    for design in designs():
        for size in SIZES:
            for field, rates in measure(design, size, number).items():
                row = f"| {design.name} | {field} | {size} | {rates.ahead:.4f} "
                print(f"{row}| {rates.difference_held:.3f} | {rates.score_held:.3f} |", flush=True)


if __name__ == "__main__":
    main()
