"""The recipe of a Hankel matrix, which `estimate.build_hankel` makes from strings.

This module does not import the code that counts, so recipes, pages and commands can import it
cheaply.
"""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from ..records import Record, option
from .statistics import LINEAR_ONLY, STATISTICS, TRANSFORMS


class HankelRecipe(Record):
    """Basis, statistic and transform of the Hankel matrix.

    Attributes
    ----------
    num_prefixes, num_suffixes : int
        The numbers of the most frequent prefixes and suffixes (`hankel.basis.select_basis`).
    statistic : str
        "string", "prefix", "factor" or "suffix": see `hankel.statistics.STATISTICS`.
    bounded : bool
        Whether strings are counted with boundary symbols; see `LearnerOptions.needs_boundary`.
    transform : str
        "none", "sqrt" or "row": see `hankel.statistics.TRANSFORMS`.

    Raises
    ------
    RecipeError
        If a field is unknown, or has a value that is not allowed.

    Examples
    --------
    >>> from nlwfa_core import HankelRecipe
    >>> HankelRecipe(num_prefixes=200, statistic="factor").changed(num_suffixes=50).num_suffixes
    50
    """

    num_prefixes: int = option(
        1000,
        title="prefixes",
        help="Number of prefixes: the rows of the Hankel matrix.",
        limit="basis",
        ge=1,
    )
    num_suffixes: int = option(
        1000,
        title="suffixes",
        help="Number of suffixes: the columns of the Hankel matrix.",
        limit="basis",
        ge=1,
    )
    statistic: str = option(
        "string",
        title="statistic",
        help=f"What the Hankel matrix counts: {', '.join(STATISTICS)}.",
        choices=STATISTICS,
    )
    bounded: bool = option(
        False,
        title="boundary symbols",
        help="Whether strings are counted with symbols that mark their ends.",
        derived=True,
    )
    transform: str = option(
        "none",
        title="transform",
        help=f"How the matrix's entries are transformed: {', '.join(TRANSFORMS)}.",
        choices=TRANSFORMS,
    )

    @model_validator(mode="after")
    def _check_boundary(self) -> Self:
        if self.statistic == "suffix" and (self.bounded or self.transform != "none"):
            raise ValueError(LINEAR_ONLY)
        if self.bounded and self.statistic == "string":
            raise ValueError(
                "bounded must be false with string statistics: boundary symbols are for "
                "prefix and factor statistics"
            )
        if self.transform != "none" and self.statistic != "string" and not self.bounded:
            raise ValueError(
                f"transform {self.transform!r} needs boundary symbols (bounded) with "
                f"{self.statistic} statistics"
            )
        return self
