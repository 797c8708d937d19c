"""Values over seeds in few numbers: mean and standard deviation, with those that are not finite counted apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, stdev


@dataclass(frozen=True)
class Spread:
    """Values over seeds.

    Attributes
    ----------
    mean, sd : float or None
        Of the finite ones; the standard deviation has n − 1 below, and takes two values.
    count, num_infinite : int
        How many values there are, and how many of them are not finite.
    """

    mean: float | None
    sd: float | None
    count: int
    num_infinite: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """
        >>> Spread.of([1.0, 2.0, math.inf])
        Spread(mean=1.5, sd=0.7071067811865476, count=3, num_infinite=1)
        """
        given = list(values)
        finite = [value for value in given if math.isfinite(value)]
        return cls(
            mean(finite) if finite else None, stdev(finite) if len(finite) > 1 else None, len(given), len(given) - len(finite)
        )

    @property
    def order(self) -> tuple[int, float]:
        """Sorts the better (lower) first; an infinite value is worse than any mean."""
        return self.num_infinite, math.inf if self.mean is None else self.mean

    def text(self, form: str = ".3f") -> str:
        """
        >>> Spread.of([1.0, 2.0, math.inf]).text(), Spread.of([math.inf]).text(), Spread.of([]).text()
        ('1.500 ± 0.707 (∞: 1 of 3)', '∞', '')
        """
        if self.mean is None:
            return "∞" if self.count else ""
        sd = "" if self.sd is None else f" ± {self.sd:{form}}"
        return f"{self.mean:{form}}{sd}" + (f" (∞: {self.num_infinite} of {self.count})" if self.num_infinite else "")
