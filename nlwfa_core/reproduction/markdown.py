"""Pieces of the pages that all experiments share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..lab.palette import METRIC_TITLES

TITLES = {**METRIC_TITLES, "kl": "log₂ Pauto above the true model's", "relative_rmse": "RMSE / that of zeros"}
# Paragraphs, and figures by file name.
Body = tuple[list[str], dict[str, str]]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """
    >>> print(table(("k", "WER"), [("5", "0.433")]))
    | k | WER |
    | --- | --- |
    | 5 | 0.433 |
    """
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, ["---"] * len(header), *rows))


def figure(title: str, name: str) -> str:
    return f"![{title}]({name})"


def why(reasons: Iterable[str]) -> str:
    return "\n".join(["## Why results can differ", "", *(f"- {reason}" for reason in reasons)])
