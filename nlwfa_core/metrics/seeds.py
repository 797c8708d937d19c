"""Scores over seeds in a few numbers: mean and standard deviation, with infinite values counted apart, and which model is best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev


@dataclass(frozen=True)
class Spread:
    """The mean and standard deviation of values over seeds.

    Attributes
    ----------
    mean, sd : float or None
        Of the finite values. The standard deviation divides by n − 1, so it needs two values.
    count, num_infinite : int
        The number of values, and how many of them are not finite.
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
        every = list(values)
        finite = [value for value in every if math.isfinite(value)]
        return cls(
            mean(finite) if finite else None, stdev(finite) if len(finite) > 1 else None, len(every), len(every) - len(finite)
        )

    @property
    def order(self) -> tuple[int, float]:
        """A sort key, lower values first; an infinite value is worse than any mean."""
        return self.num_infinite, math.inf if self.mean is None else self.mean

    def text(self, form: str = ".3f") -> str:
        """Write mean ± standard deviation, and how many values are infinite.

        >>> Spread.of([1.0, 2.0, math.inf]).text(), Spread.of([math.inf]).text(), Spread.of([]).text()
        ('1.500 ± 0.707 (∞: 1 of 3)', '∞', '')
        """
        if self.mean is None:
            return "∞" if self.count else ""
        sd = "" if self.sd is None else f" ± {self.sd:{form}}"
        return f"{self.mean:{form}}{sd}" + (f" (∞: {self.num_infinite} of {self.count})" if self.num_infinite else "")


def badness(scores: Sequence[float], zeros: Sequence[int]) -> tuple[float, float]:
    """A sort key for models, the best first, by a score of which lower is better.

    The mean score over seeds decides; a mean that is not finite is worse than any finite one. Among equal means the model with
    fewer outputs of exactly 0 is better.

    >>> min([([0.3, 0.5], [0, 0]), ([0.4, 0.4], [2, 0]), ([0.1, math.inf], [0, 0])], key=lambda model: badness(*model))
    ([0.3, 0.5], [0, 0])

    Parameters
    ----------
    scores : sequence of float
        One for each seed, at least one.
    zeros : sequence of int
        The number of outputs of exactly 0, for each seed.
    """
    value = mean(scores)
    return value if math.isfinite(value) else math.inf, mean(zeros)
