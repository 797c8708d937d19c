"""Compare our kernels with the machine's limits: float64 matrix products and memory bandwidth."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nlwfa_core.hankel.matrix import HankelMatrix

from . import ROOT
from .report import Table
from .timing import clocked, interleave

PACKAGES = ("numpy", "scipy", "torch")


def facts(threads: int) -> dict[str, Any]:
    """Collect the facts for the top of the report."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "threads": f"{threads} for every party, unless a row says otherwise",
        "load average at the start": ", ".join(f"{value:.1f}" for value in os.getloadavg()),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")),
        platform.processor(),
    )


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = " and changes since" if git("status", "--porcelain", "--", "nlwfa_core") else ""
    return (git("rev-parse", "--short", "HEAD") or "unknown") + changed


class Limits:
    """Measure a float64 matrix product, and a triad a = b + s·c over arrays much larger than the
    caches.
    """

    def __init__(self, size: int, triad: int, repeats: int) -> None:
        rng = np.random.default_rng(0)
        A, B = rng.random((2, size, size))
        X = torch.from_numpy(A)
        Y = torch.from_numpy(B)
        b, c = rng.random((2, triad))
        a = np.empty(triad)

        def sweep() -> None:
            np.multiply(c, 3.0, out=a)
            np.add(a, b, out=a)

        sides = [clocked(lambda: A @ B), clocked(lambda: X @ Y), clocked(sweep)]
        numpy_product, torch_product, swept = (
            min(timing.seconds) for timing in interleave(sides, repeats)
        )
        self.numpy_flops = 2 * size**3 / numpy_product
        self.torch_flops = 2 * size**3 / torch_product
        # Two passes in numpy: read c, write a; read a and b, write a.
        self.bandwidth = 5 * 8 * triad / swept

    @property
    def flops(self) -> float:
        return max(self.numpy_flops, self.torch_flops)


def differing(hankel: HankelMatrix) -> tuple[list[int], list[int]]:
    """First row of each set of equal rows, among all rows and among the prefixes'; equal rows are
    computed once.
    """
    matrix = hankel.matrix
    firsts = {}
    for row, (a, b) in enumerate(pairwise(matrix.indptr.tolist())):
        firsts.setdefault((matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes()), row)
    rows = sorted(firsts.values())
    return rows, [row for row in rows if row < hankel.num_prefixes]


def factorisation_work(
    hankel: HankelMatrix, rank: int, hidden: Sequence[int]
) -> tuple[float, float]:
    """Count (flops, bytes) of one step (forward, backward, Adamax) by the sparse form of the loss,
    for distinct rows.

    Every array of a product is read or written once, in float64, as if caches kept nothing between
    products.
    """
    rows = hankel.matrix[differing(hankel)[0]]
    (m, n), nnz = rows.shape, rows.nnz
    widths = [multiple * rank for multiple in hidden]
    first = widths[0]
    last = widths[-1]
    flops = 0.0
    moved = 0.0
    # H A and its gradient; H Dᵀ and its gradient towards D
    for width in (first, first, last, last):
        flops += 2 * nnz * width
        moved += 12 * nnz + 8 * (m + n) * width  # value and column; the dense factor and the result
    for before, after in pairwise(widths):  # forward, and the gradients of both factors
        flops += 3 * 2 * m * before * after
        moved += 3 * 8 * m * (before + after)
    for length in (m, n):  # YᵀY and DDᵀ, and their gradients
        flops += 2 * 2 * length * last**2
        moved += 2 * 8 * 2 * length * last
    moved += 4 * 8 * m * sum(widths)  # tanh and its gradient: read and write
    parameters = n * (first + last) + sum(before * after for before, after in pairwise(widths))
    # Adamax reads p, g, m, u and writes p, m, u
    return flops + 10 * parameters, moved + 7 * 8 * parameters


def transitions_work(hankel: HankelMatrix, rank: int) -> tuple[float, float]:
    """Count (flops, bytes) of one step of all symbols' networks k → 2k → k, as `factorisation_work`
    does.
    """
    num_symbols = hankel.num_symbols
    pairs = len(differing(hankel)[1]) * num_symbols
    wide = 2 * rank
    # the first layer's input needs no gradient
    flops = 2 * 2 * pairs * rank * wide + 3 * 2 * pairs * wide * rank
    # products, tanh, difference and square
    moved = 8 * pairs * (2 * wide + 3 * (wide + rank) + 4 * (wide + rank) + 4 * rank)
    parameters = 2 * num_symbols * rank * wide
    return flops + 10.0 * parameters, moved + 7.0 * 8 * parameters


def table(limits: Limits, kernels: Sequence[tuple[str, tuple[float, float], float]]) -> Table:
    """Compare kernels, given as (name, (flops, bytes), seconds), with the machine's limits."""
    columns = (
        "kernel",
        "ms",
        "Mflop",
        "MB",
        "Gflop/s",
        "share of the matrix product",
        "GB/s",
        "share of the triad",
    )
    rows: list[list[Any]] = [
        [
            "matrix product, float64, numpy",
            "",
            "",
            "",
            limits.numpy_flops / 1e9,
            _share(limits.numpy_flops / limits.flops),
            "",
            "",
        ],
        [
            "matrix product, float64, torch",
            "",
            "",
            "",
            limits.torch_flops / 1e9,
            _share(limits.torch_flops / limits.flops),
            "",
            "",
        ],
        ["triad", "", "", "", "", "", limits.bandwidth / 1e9, "100 %"],
    ]
    for name, (flops, moved), seconds in kernels:
        achieved = flops / seconds
        rate = moved / seconds
        shares = _share(achieved / limits.flops), _share(rate / limits.bandwidth)
        rows.append(
            [
                name,
                seconds * 1e3,
                flops / 1e6,
                moved / 1e6,
                achieved / 1e9,
                shares[0],
                rate / 1e9,
                shares[1],
            ]
        )
    notes = [
        "Flops and bytes are not measured but counted from the shapes: each array of a product "
        "counts as read or written once, and tanh counts as bytes only. If the arrays fit in a "
        "cache, the share of the triad can exceed 100 %.",
    ]
    return Table("The machine's limits", columns=columns, rows=rows, notes=notes)


def _share(value: float) -> str:
    return f"{100 * value:.2g} %" if value < 1 else f"{100 * value:.0f} %"
