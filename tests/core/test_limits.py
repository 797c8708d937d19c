"""Errors that a user can fix, and the limits that they state."""

from __future__ import annotations

import pytest

from nlwfa_core import limits
from nlwfa_core.errors import Cancelled, FormatError, RecipeError


def test_a_limit_is_allowed_and_one_more_is_not() -> None:
    limits.check_at_most("strings", 1000, 1000)
    with pytest.raises(RecipeError, match="^strings: 1,001 given, at most 1,000 allowed$"):
        limits.check_at_most("strings", 1001, 1000)


def test_format_errors_carry_their_line() -> None:
    assert (str(FormatError("bad", 3)), FormatError("bad", 3).line) == ("line 3: bad", 3)
    assert (str(FormatError("bad")), FormatError("bad").line) == ("bad", None)
    assert issubclass(FormatError, RecipeError) and not issubclass(Cancelled, RecipeError)
