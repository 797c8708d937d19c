"""How cost grows: with the number of strings, of symbols, and the size of the basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nlwfa_core import fit
from nlwfa_core.words import Words

from . import work as works
from .report import Table
from .timing import clocked, interleave
from .work import Work

FLAT = 1.5  # the cost of a string may grow to this, of that of the smallest sample


def strings(sizes: Sequence[int], repeats: int) -> Table:
    """Merging equal strings, choosing a basis and estimating H, per string, over samples of growing size.

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
        rows.append([size, len(part.sample().words), timing.median * 1e3, cost * 1e6, f"{cost / smallest:.2f}×", f"≤ {FLAT}×"])
    columns = ("strings", "distinct", "ms", "µs a string", "to the smallest", "target")
    notes = ["Strings in memory: `Sample.of`, `select_basis`, `estimate_hankel`, basis 1000 × 1000."]
    return Table("Growth with the number of strings: Dyck", columns=columns, rows=rows, notes=notes)


def _first(drawn: Words, size: int) -> Work:
    symbols = drawn.symbols[: drawn.offsets[size]]
    return Work("Dyck", Words(symbols, drawn.offsets[: size + 1]), drawn, works.ALPHABET)


def symbols(numbers: Sequence[int], num_strings: int, repeats: int) -> Table:
    """Random automata over growing alphabets."""
    rows: list[list[Any]] = []
    for number in numbers:
        work = works.automaton(number, num_strings)
        hankel = work.counted(work.sample())
        sides = (clocked(work.counted, work.sample), clocked(lambda work=work: fit(work.counted(work.sample()), "SP", work.rank)))
        counted, fitted = interleave(sides, repeats)
        rows.append([number, len(work.sample().words), hankel.matrix.nnz, counted.median * 1e3, fitted.median * 1e3])
    columns = ("symbols", "distinct strings", "non-zeros", "basis and H, ms", "strings to SP, ms")
    notes = [f"Random automata with 5 states, {num_strings:,} strings of mean length 8, basis 1000 × 1000, k = 5."]
    return Table("Growth with the alphabet", columns=columns, rows=rows, notes=notes)


def bases(sizes: Sequence[tuple[int, int]], num_strings: int, repeats: int) -> Table:
    """Growing bases over one sample."""
    rows: list[list[Any]] = []
    for num_prefixes, num_suffixes in sizes:
        work = works.dyck(num_strings, num_prefixes, num_suffixes, num_words=1)
        hankel = work.counted(work.sample())
        sides = (clocked(work.counted, work.sample), clocked(lambda h=hankel, w=work: fit(w.counted(w.sample()), "SP", w.rank)))
        counted, fitted = interleave(sides, repeats)
        shape = f"{hankel.num_closure_rows:,} × {hankel.num_suffixes:,}"
        rows.append([shape, hankel.matrix.shape[0], hankel.matrix.nnz, counted.median * 1e3, fitted.median * 1e3])
    columns = ("H over P' × S", "rows kept", "non-zeros", "basis and H, ms", "strings to SP, ms")
    notes = [f"Dyck, {num_strings:,} strings, k = 10."]
    return Table("Growth with the basis", columns=columns, rows=rows, notes=notes)
