"""Define the tables of the report, and write them as JSON with the times of all repeats and as
Markdown with medians.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import pages
from .timing import Timing


@dataclass(frozen=True)
class Comparison:
    """Holds a row that compares our time with an opponent's.

    Attributes
    ----------
    work : str
    ours, theirs : Timing
    opponent : str
    target : float or None
        The smallest ratio of their time to ours that the project wants to reach.
    checked : str
        A description of the results that were checked to be equal before timing.
    """

    work: str
    ours: Timing
    opponent: str
    theirs: Timing
    target: float | None = None
    checked: str = ""

    @property
    def ratio(self) -> float:
        return self.theirs.median / self.ours.median

    @property
    def cells(self) -> list[str]:
        wanted = (
            ""
            if self.target is None
            else f"≥ {self.target:.3g}×{'' if self.ratio >= self.target else ' (not reached)'}"
        )
        return [
            self.work,
            format_timing(self.ours),
            self.opponent,
            format_timing(self.theirs),
            f"**{self.ratio:.3g}×**",
            wanted,
            self.checked,
        ]

    @property
    def record(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio}


COMPARED = ("work", "ours, ms", "opponent", "theirs, ms", "ratio", "target", "checked equal")


@dataclass(frozen=True)
class Table:
    """Holds a table, either of comparisons or of any columns and rows.

    Attributes
    ----------
    title : str
    comparisons : list of Comparison
    columns, rows : sequences
        The titles of the columns, and rows of numbers and texts.
    notes : list of str
        Sentences below the table.
    """

    title: str
    comparisons: list[Comparison] = field(default_factory=list)
    columns: Sequence[str] = ()
    rows: list[list[Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        parts = [f"## {self.title}"]
        if self.comparisons:
            parts.append(_grid(COMPARED, [comparison.cells for comparison in self.comparisons]))
        if self.rows:
            parts.append(
                _grid(self.columns, [[_cell(value) for value in row] for row in self.rows])
            )
        parts += ["\n".join(f"- {note}" for note in self.notes)] if self.notes else []
        return "\n\n".join(parts)

    @property
    def record(self) -> dict[str, Any]:
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return {
            "title": self.title,
            "comparisons": [c.record for c in self.comparisons],
            "rows": rows,
            "notes": self.notes,
        }


def format_timing(timing: Timing) -> str:
    """Format median and quartiles in milliseconds.

    >>> format_timing(Timing((0.001, 0.002, 0.003)))
    '2 (1.5–2.5)'
    """
    low, high = timing.quartiles
    quartiles = (
        f" ({_three(low * 1e3)}–{_three(high * 1e3)})" if len(timing.seconds) > 1 else " (once)"
    )
    return _three(timing.median * 1e3) + quartiles


def write(directory: Path, machine: dict[str, Any], tables: Sequence[Table]) -> tuple[Path, Path]:
    """Write benchmarks.json, and the measured part of benchmarks.md, into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    numbers = directory / "benchmarks.json"
    text = directory / "benchmarks.md"
    record = {"machine": machine, "tables": [table.record for table in tables]}
    numbers.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if not text.exists():
        text.write_text("# Benchmarks\n", encoding="utf-8")
    head = pages.head("python -m benchmarks", machine)
    pages.put(text, "measured", "\n\n".join([head[0], *(table.markdown() for table in tables)]))
    return numbers, text


def _grid(columns: Sequence[str], rows: list[list[str]]) -> str:
    written = [[cell.replace("|", "\\|") for cell in line] for line in (columns, *rows)]
    return "\n".join(
        f"| {' | '.join(line)} |" for line in (written[0], ["---"] * len(columns), *written[1:])
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return _three(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _three(value: float) -> str:
    """Format with three significant digits, never with an exponent: 0.0123, 12.3, 12,300."""
    if value == 0 or abs(value) < 1e-4 or value != value or abs(value) == float("inf"):
        return f"{value:.3g}"
    return f"{float(f'{value:.3g}'):,.10g}"
