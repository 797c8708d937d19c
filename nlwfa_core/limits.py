"""What the readers and recipes accept, checked before anything is allocated. One place, so that a server can be sized from it."""

from __future__ import annotations

from .errors import RecipeError

MAX_FILE_BYTES = 200 * 2**20
MAX_STRINGS = 20_000_000
MAX_STRING_LENGTH = 10_000
MAX_SYMBOLS = 5_000
# Distinct strings held while a file of any size is counted, unless more are asked for.
MAX_DISTINCT = 1_000_000
MAX_GENERATED = 1_000_000
MAX_BASIS = 50_000
MAX_RANK = 1_000
MAX_EPOCHS = 100_000
# |Σ| · k² float64 numbers of a model, and the |P| · |Σ| integers of the row index of a Hankel matrix.
MAX_TRANSITION_NUMBERS = 100_000_000
MAX_SHIFTED_ROWS = 200_000_000
# Starts × strings × parameters where values refine a model: a gigabyte, and a copy or two.
MAX_JACOBIAN_NUMBERS = 2**27


def check_at_most(what: str, given: int, allowed: int) -> None:
    """Raise RecipeError if `given` is above `allowed`."""
    if given > allowed:
        raise RecipeError(f"{what}: {given:,} given, at most {allowed:,} allowed")
