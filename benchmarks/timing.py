"""Time two sides that take turns, so other load on the machine affects both alike."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import starmap
from time import perf_counter
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class Timing:
    """Seconds of one side's repeats.

    >>> Timing((0.3, 0.1, 0.2)).median
    0.2
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def quartiles(self) -> tuple[float, float]:
        low, high = np.quantile(self.seconds, (0.25, 0.75))
        return float(low), float(high)

    def scaled(self, factor: float) -> Timing:
        return Timing(tuple(seconds * factor for seconds in self.seconds))


def clocked(
    action: Callable[[], Any], set_up: Callable[[], Any] | None = None
) -> Callable[[], float]:
    """Make a side for `interleave` that times `action`; `set_up` runs untimed before each turn, and
    passes its result on.
    """

    def turn() -> float:
        arguments = () if set_up is None else (set_up(),)
        started = perf_counter()
        action(*arguments)
        return perf_counter() - started

    return turn


def interleave(
    sides: Sequence[Callable[[], float]], repeats: int, warm_up: int = 1
) -> list[Timing]:
    """Let the sides take turns; each returns the seconds of its turn. Warm-up turns don't count."""
    seconds: list[list[float]] = [[] for _ in sides]
    for turn in range(warm_up + repeats):
        for taken, side in zip(seconds, sides, strict=True):
            value = side()
            if turn >= warm_up:
                taken.append(value)
    return [Timing(tuple(taken)) for taken in seconds]


def on_two_threads(side: Callable[[], float]) -> Callable[[], float]:
    """Give torch two threads in a side's turns; one untimed turn starts them."""

    def turn() -> float:
        before = torch.get_num_threads()
        torch.set_num_threads(2)
        try:
            side()
            return side()
        finally:
            torch.set_num_threads(before)

    return turn


# glibc's mallopt: M_TRIM_THRESHOLD (−1: never), M_MMAP_THRESHOLD, M_MMAP_MAX. Its own adaptation
# converges to the second row.
KEEP = ((-1, -1), (-4, 0))
USUAL = ((-1, 2**26), (-3, 2**25), (-4, 65_536))


def keeping_memory(side: Callable[[], float]) -> Callable[[], float]:
    """Keep freed memory in the process during a side's turns (with glibc; elsewhere nothing
    changes).

    Otherwise every large array is new memory that the kernel must clear first, which takes a plain
    program more than half of its time. One untimed turn allocates the memory.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return side

    def turn() -> float:
        list(starmap(library.mallopt, KEEP))
        try:
            side()
            return side()
        finally:
            list(starmap(library.mallopt, USUAL))
            library.malloc_trim(0)

    return turn
