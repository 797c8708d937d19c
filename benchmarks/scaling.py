"""Measure how cost grows with strings, symbols and the basis, and the cost of each step over a
large alphabet.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from nlwfa_core import NGram, TestSet, evaluate, fit, read_strings
from nlwfa_core.sources.pautomac import write_pautomac
from nlwfa_core.strings.words import Words

from . import work as works
from .report import Table
from .timing import clocked, interleave
from .work import Work

FLAT = 1.5  # the cost of a string may grow to this multiple of that in the smallest sample


def strings(sizes: Sequence[int], repeats: int) -> Table:
    """Time merging equal strings, choosing a basis and estimating H, per string, for samples of
    growing size.

    The smaller samples are parts of the largest, and take turns with it.
    """
    drawn = works.draw_dyck(max(sizes))
    parts = [_first(drawn, size) for size in sizes]
    sides = [clocked(lambda part=part: part.counted(part.sample())) for part in parts]
    timings = interleave(sides, repeats)
    smallest = timings[0].median / sizes[0]
    rows: list[list[Any]] = []
    for size, part, timing in zip(sizes, parts, timings, strict=True):
        cost = timing.median / size
        rows.append(
            [
                size,
                len(part.sample().words),
                timing.median * 1e3,
                cost * 1e6,
                f"{cost / smallest:.2f}×",
                f"≤ {FLAT}×",
            ]
        )
    columns = ("strings", "distinct", "ms", "µs a string", "relative to the smallest", "target")
    notes = [
        "The strings are in memory. Times are for `Sample.of`, `select_basis` and "
        "`estimate_hankel`, with basis 1000 × 1000."
    ]
    return Table("Growth with the number of strings: Dyck", columns=columns, rows=rows, notes=notes)


def _first(drawn: Words, size: int) -> Work:
    symbols = drawn.symbols[: drawn.offsets[size]]
    return Work("Dyck", Words(symbols, drawn.offsets[: size + 1]), drawn, works.ALPHABET)


def symbols(numbers: Sequence[int], num_strings: int, repeats: int) -> Table:
    """Time the same for random automata over growing alphabets."""
    rows: list[list[Any]] = []
    for number in numbers:
        work = works.automaton(number, num_strings)
        hankel = work.counted(work.sample())
        sides = (
            clocked(work.counted, work.sample),
            clocked(
                lambda work=work: fit(work.counted(work.sample()), learner="SP", rank=work.rank)
            ),
        )
        counted, fitted = interleave(sides, repeats)
        rows.append(
            [
                number,
                len(work.sample().words),
                hankel.matrix.nnz,
                counted.median * 1e3,
                fitted.median * 1e3,
            ]
        )
    columns = ("symbols", "distinct strings", "non-zeros", "basis and H, ms", "strings to SP, ms")
    notes = [
        f"Random automata with 5 states, {num_strings:,} strings of mean length 8, basis "
        "1000 × 1000, k = 5."
    ]
    return Table("Growth with the alphabet", columns=columns, rows=rows, notes=notes)


def bases(sizes: Sequence[tuple[int, int]], num_strings: int, repeats: int) -> Table:
    """Time growing bases of one sample."""
    rows: list[list[Any]] = []
    for num_prefixes, num_suffixes in sizes:
        work = works.dyck(num_strings, num_prefixes, num_suffixes, num_words=1)
        hankel = work.counted(work.sample())
        sides = (
            clocked(work.counted, work.sample),
            clocked(lambda h=hankel, w=work: fit(w.counted(w.sample()), learner="SP", rank=w.rank)),
        )
        counted, fitted = interleave(sides, repeats)
        shape = f"{hankel.num_closure_rows:,} × {hankel.num_suffixes:,}"
        rows.append(
            [
                shape,
                hankel.matrix.shape[0],
                hankel.matrix.nnz,
                counted.median * 1e3,
                fitted.median * 1e3,
            ]
        )
    columns = ("H over P' × S", "rows kept", "non-zeros", "basis and H, ms", "strings to SP, ms")
    notes = [f"Dyck, {num_strings:,} strings, k = 10."]
    return Table("Growth with the basis", columns=columns, rows=rows, notes=notes)


def step_by_step(works: Sequence[Work], num_test: int, repeats: int) -> Table:
    """Measure seconds and peak memory of reading, counting, learning and scoring; the works take
    turns.
    """
    sides = [_actions(work, num_test) for work in works]
    rows: list[list[Any]] = []
    for name in sides[0]:
        timings = interleave([clocked(side[name]) for side in sides], repeats)
        measured = [
            (timing.median, _peak(side[name])) for timing, side in zip(timings, sides, strict=True)
        ]
        rows.append([name, *(number for pair in measured for number in pair)])
    sizes = [f"{len(work.alphabet):,} symbols" for work in works]
    columns = ("step", *(f"{size}, {unit}" for size in sizes for unit in ("s", "peak MiB")))
    notes = [
        f"{'; '.join(work.title for work in works)}; k = {works[0].rank}. The rows "
        f"“scores of …” time all of `evaluate` on {num_test:,} strings.",
        "The peak is the memory that a step allocates, measured in a separate run that is not "
        "timed.",
    ]
    return Table("A large alphabet, step by step", columns=columns, rows=rows, notes=notes)


def _actions(work: Work, num_test: int) -> dict[str, Callable[[], Any]]:
    data = write_pautomac(work.train, len(work.alphabet)).encode()
    sample = work.sample()
    (drawn,) = sample.split([num_test], seed=0)
    test = TestSet.empirical(drawn)
    hankel = work.counted(sample)
    factors = work.counted(sample, "factor")
    of_strings, of_factors = (
        fit(matrix, learner="SP", rank=work.rank).model for matrix in (hankel, factors)
    )
    ngram = NGram.fit(sample, 5)
    return {
        "read": lambda: read_strings(data, "pautomac").sample(),
        "basis and H, strings": lambda: work.counted(sample),
        "basis and H, factors": lambda: work.counted(sample, "factor"),
        "SP of strings": lambda: fit(hankel, learner="SP", rank=work.rank),
        "SP of factors": lambda: fit(factors, learner="SP", rank=work.rank),
        "scores of SP of strings": lambda: evaluate(of_strings, test),
        "scores of SP of factors": lambda: evaluate(of_factors, test),
        "5-gram": lambda: NGram.fit(sample, 5),
        "scores of the 5-gram": lambda: evaluate(ngram, test),
    }


def _peak(action: Callable[[], Any]) -> float:
    """MiB that an action allocates at its peak, including numpy's arrays."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
