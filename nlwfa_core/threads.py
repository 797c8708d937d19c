"""Linear algebra on one thread, so that results are the same to the last digit on any number of cores.

How OpenBLAS splits a product among threads changes how the product is rounded, and the scores of a model far above the numerical
rank show it. No product here is large enough to gain from a second thread; several experiments at once do gain from more cores.

torch has its own setting, in `learning.networks.one_thread`, because only modules that train networks import torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")

# The environment of a worker process: numpy, scipy and torch read it when they are loaded.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Make numpy and scipy compute on one thread while a function runs (a decorator)."""

    @wraps(function)
    def limited(*arguments: P.args, **options: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*arguments, **options)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Return the process's controller. Finding the libraries takes milliseconds, and they must be loaded by then."""
    return ThreadpoolController()
