"""Linear algebra on one thread, so that numbers are the same to the last digit on any number of cores.

How OpenBLAS splits a product among threads changes how it rounds. A model far above the numerical rank makes that visible in its
scores. Nothing here is large enough to gain from a second thread; several experiments at once do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """The function, during which numpy and scipy compute on one thread."""

    @wraps(function)
    def limited(*arguments: P.args, **options: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*arguments, **options)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds: once a process, when numpy and scipy are loaded."""
    return ThreadpoolController()
