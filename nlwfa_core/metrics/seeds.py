"""Summarise scores over seeds: mean and standard deviation, with infinite values counted
separately, and the best model.

Two models on the same seeds are compared by their differences, seed by seed. `paired_t_interval`
assumes a normal distribution of the differences; `signed_rank_interval` does not, and accepts
infinite scores. These intervals cover everything that changes with the seed: the start of training
and, if the seed also draws the strings, the strings. `intervals` has intervals over test strings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from scipy.special import stdtrit

from ..errors import RecipeError, check_at_least, check_between, check_type, check_types
from .intervals import CONFIDENCE, Interval


@dataclass(frozen=True)
class Spread:
    """The mean and standard deviation of values over seeds.

    Attributes
    ----------
    mean, sd : float or None
        The mean and standard deviation of the finite values; None if there are none. The standard
        deviation divides by n − 1, so it needs two values.
    count, num_infinite : int
        The number of values, and the number that are not finite.
    """

    mean: float | None
    sd: float | None
    count: int
    num_infinite: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Summarise some values.

        >>> Spread.of([1.0, 2.0, math.inf])
        Spread(mean=1.5, sd=0.7071067811865476, count=3, num_infinite=1)
        """
        every = _scores("values", values)
        finite = [value for value in every if math.isfinite(value)]
        return cls(
            mean(finite) if finite else None,
            stdev(finite) if len(finite) > 1 else None,
            len(every),
            len(every) - len(finite),
        )

    @property
    def order(self) -> tuple[int, float]:
        """Return a sort key, lowest mean first.

        Fewer infinite values always come before more, regardless of the means.
        """
        return self.num_infinite, math.inf if self.mean is None else self.mean

    def interval(self, confidence: float = CONFIDENCE) -> Interval | None:
        """Compute Student's t interval of the mean over all seeds; None if there are fewer than
        two, or a value is not finite.

        >>> Spread.of([1.0, 2.0, 3.0]).interval().text(), Spread.of([1.0, 2.0, math.inf]).interval()
        ('2.000 [−0.484, 4.484]', None)
        """
        if self.mean is None or self.sd is None or self.num_infinite:
            return None
        half = half_width(self.sd, self.count, confidence)
        return Interval(self.mean, self.mean - half, self.mean + half)

    def text(self, form: str = ".3f") -> str:
        """Write the mean ± standard deviation, followed by the number of infinite values.

        >>> (
        ...     Spread.of([1.0, 2.0, math.inf]).text(),
        ...     Spread.of([math.inf]).text(),
        ...     Spread.of([]).text(),
        ... )
        ('1.500 ± 0.707 (∞: 1 of 3)', '∞', '')
        """
        if self.mean is None:
            return "∞" if self.count else ""
        sd = "" if self.sd is None else f" ± {self.sd:{form}}"
        return f"{self.mean:{form}}{sd}" + (
            f" (∞: {self.num_infinite} of {self.count})" if self.num_infinite else ""
        )


@check_types
def half_width(sd: float, number: int, confidence: float) -> float:
    """Half the width of Student's t interval of a mean: the quantile with n − 1 degrees of freedom,
    times sd / √n.

    >>> (
    ...     round(half_width(1.0, 2, 0.95), 3),
    ...     round(half_width(1.0, 10, 0.95), 3),
    ... )  # 12.706 / √2 and 2.262 / √10
    (8.985, 0.715)
    """
    check_at_least("number", number, 2)
    check_at_least("sd", sd, 0)
    check_between("confidence", confidence, 0, 1)
    return float(stdtrit(number - 1, (1 + confidence) / 2)) * sd / math.sqrt(number)


def badness(scores: Sequence[float], zeros: Sequence[int]) -> tuple[int, float, float]:
    """Compute a sort key that puts the best model first, from a score for which lower is better.

    The better model is the one with fewer scores that are not finite; if tied, with the lower mean
    of the other scores; if still tied, with fewer outputs of exactly 0.

    >>> min(
    ...     [([0.3, 0.5], [0, 0]), ([0.4, 0.4], [2, 0]), ([0.1, math.inf], [0, 0])],
    ...     key=lambda model: badness(*model),
    ... )
    ([0.3, 0.5], [0, 0])

    `scores`: the model's score for each seed; at least one. `zeros`: the number of outputs of
    exactly 0, for each seed.
    """
    values = _scores("scores", scores)
    numbers = _scores("zeros", zeros)
    if not values or len(values) != len(numbers):
        raise RecipeError(
            "scores and zeros must have one value for each seed, and at least one seed; got "
            f"{len(values)} scores and {len(numbers)} zeros"
        )
    spread = Spread.of(values)
    return *spread.order, mean(numbers)


def paired_t_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Compute Student's t interval for the mean difference between two models, first − second, over
    the same seeds.

    It assumes that the differences are approximately normally distributed. With a single seed, or
    if a difference is infinite, the interval is [−∞, ∞]; `signed_rank_interval` can handle infinite
    differences. If both scores of a seed are infinite, their difference counts as 0. If both are
    infinite for every seed, there is nothing to compare: everything is nan.

    >>> paired_t_interval([1.0, 2.0, 3.0], [1.0, 1.0, 1.0]).text()
    '1.000 [−1.484, 3.484]'

    Parameters
    ----------
    first, second : sequence of float
        One score for each seed, in the same order.
    confidence : float

    Raises
    ------
    RecipeError
        If there is no seed, or the numbers of scores differ.
    """
    differences = _differences(first, second, confidence)
    number = len(differences)
    estimate = _mean(differences)
    infinite = any(map(math.isinf, differences))
    if math.isnan(estimate):
        return Interval(estimate, estimate, estimate)
    if number < 2 or infinite:
        return Interval(estimate, -math.inf, math.inf)
    half = half_width(stdev(differences), number, confidence)
    return Interval(estimate, estimate - half, estimate + half)


def signed_rank_interval(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """Compute the interval of Wilcoxon's signed-rank test for the difference between two models,
    over the same seeds.

    The estimate is the median of the means of all pairs of differences, including each difference
    paired with itself (Hodges and Lehmann 1963). The interval's ends are two of these means
    (Hollander and Wolfe, *Nonparametric Statistical Methods*, §3.3). The differences need not be
    normally distributed, and may be infinite. If both scores of a seed are infinite, their
    difference counts as 0. With fewer than six seeds, a 95 % interval is not possible: it is [−∞,
    ∞].

    >>> signed_rank_interval([1.0, 2.0, 3.0, 4.0, 5.0, math.inf], [0.0] * 6).text(".3g")
    '3.5 [1, ∞]'

    Parameters and errors are those of `paired_t_interval`.
    """
    differences = _differences(first, second, confidence)
    number = len(differences)
    if any(map(math.isnan, differences)):
        return Interval(math.nan, math.nan, math.nan)
    means = sorted(
        _mean([differences[i], differences[j]]) for i in range(number) for j in range(i, number)
    )
    middle = len(means) // 2
    estimate = means[middle] if len(means) % 2 else _mean([means[middle - 1], means[middle]])
    place = _signed_rank_place(number, (1 - confidence) / 2)
    if not place:
        return Interval(estimate, -math.inf, math.inf)
    return Interval(estimate, means[place - 1], means[-place])


def _differences(first: Sequence[float], second: Sequence[float], confidence: float) -> list[float]:
    ones = _scores("first", first)
    others = _scores("second", second)
    if len(ones) != len(others) or not ones:
        raise RecipeError(
            "a paired interval needs one score of each model for every seed; got "
            f"{len(ones)} and {len(others)}"
        )
    check_type("confidence", confidence, float)
    check_between("confidence", confidence, 0, 1)
    if all(one == other and math.isinf(one) for one, other in zip(ones, others, strict=True)):
        return [math.nan] * len(ones)
    return [
        0.0 if one == other else float(one) - float(other)
        for one, other in zip(ones, others, strict=True)
    ]


def _scores(name: str, values: Iterable[float]) -> list[float]:
    """List the numbers of an iterable. Raises TypeError unless it has only numbers."""
    check_type(name, values, Iterable)
    numbers = list(values)
    for index, number in enumerate(numbers):
        check_type(f"{name}[{index}]", number, float)
    return numbers


def _mean(values: Sequence[float]) -> float:
    """Compute the mean; 0 if the values include both +∞ and −∞, so neither side prevails."""
    total = sum(values)
    return 0.0 if math.isnan(total) and not any(map(math.isnan, values)) else total / len(values)


def _signed_rank_place(number: int, tail: float) -> int:
    """Find the largest number for which at most the share `tail` of all sums of signed ranks is
    below it; 0 if there is none.

    >>> [
    ...     _signed_rank_place(number, 0.025) for number in (5, 6, 8, 10, 20)
    ... ]  # critical values 0, 3, 8, 52, plus 1
    [0, 1, 4, 9, 53]
    """
    ways = [1]  # of choosing ranks 1 … number with a given sum
    for rank in range(1, number + 1):
        ways = [
            (ways[total] if total < len(ways) else 0) + (ways[total - rank] if total >= rank else 0)
            for total in range(len(ways) + rank)
        ]
    below = 0
    place = 0
    for count in ways:
        below += count
        if below > tail * 2**number:
            break
        place += 1
    return place
