"""Write the scores of models of every rank, as Explore draws them: a table, and figures for
papers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Any, TypeAlias

from .. import plot
from ..display.explore import MAX_RANK, linear_scores
from ..experiment.datasets import Data
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import hankel_svd
from ..metrics.score_table import SCORE_OF, Scores
from ..metrics.tables import csv_text
from .figures import FORMATS, RunFigure

FIGURES = {"total_variation": "tv", "wer": "wer", "bits_per_symbol": "bits-per-symbol"}
WAYS = {"hankel": "from the matrix", "likelihood": "by likelihood"}
# learner -> rank -> the results of its seeds
ResultsByRank: TypeAlias = Mapping[str, Mapping[int, Sequence[Result]]]


def rank_files(data: Data, hankel: HankelMatrix | None, results: ResultsByRank) -> dict[str, bytes]:
    """Write the scores of SP at every rank that Explore draws, and of results, as `files_of` does;
    without a matrix, those of the results alone.
    """
    linear: dict[int, Scores] = {}
    if hankel is not None:
        linear = linear_scores(hankel, hankel_svd(hankel, MAX_RANK), data.test)
    return files_of(linear, results)


def files_of(linear: Mapping[int, Scores], results: ResultsByRank) -> dict[str, bytes]:
    """Write "ranks.csv", one line for each model, and figures of three scores on the test strings,
    such as "ranks-wer.pdf"; a score that no model has gets no figure.

    Parameters
    ----------
    linear : mapping
        Rank -> the scores of SP.
    results : mapping
        Learner -> rank -> the results of its seeds: first the one on the line; circles show the
        others. All networks have the same objective.
    """
    scores = {"SP": {rank: [one] for rank, one in linear.items()}}
    for learner, by_rank in results.items():
        scores[learner] = {rank: [one.scores for one in same] for rank, same in by_rank.items()}
    heading = _heading(results)
    files = {"ranks.csv": _table(linear, results)}
    for field, name in FIGURES.items():
        curves = _curves(scores, field)
        title = SCORE_OF[field].title
        if curves:
            figure = RunFigure(
                f"{title}, at each rank",
                partial(_draw, curves=curves, title=title, heading=heading),
            )
            files |= {
                f"ranks-{name}.{suffix}": file for suffix, file in figure.files(FORMATS).items()
            }
    return files


def _heading(results: ResultsByRank) -> str:
    """Return how the networks were trained and, if there are circles, what they show."""
    options = [
        same[0].recipe.learning.fields()
        for by_rank in results.values()
        for same in by_rank.values()
    ]
    way = next((each["objective"] for each in options if "objective" in each), None)
    seeds = max((len(same) for by_rank in results.values() for same in by_rank.values()), default=0)
    lines = [f"networks trained {WAYS[way]}"] if way else []
    return "\n".join([*lines, "circles: other seeds"] if seeds > 1 else lines)


def _curves(
    scores: Mapping[str, Mapping[int, Sequence[Scores]]], field: str
) -> dict[str, dict[int, list[float]]]:
    """Select one score of the ranks whose first model has it, with those of the other models that
    have it.
    """
    curves: dict[str, dict[int, list[float]]] = {}
    for learner, by_rank in scores.items():
        for rank, same in by_rank.items():
            values = [getattr(one, field) for one in same]
            known = [value for value in values if value is not None and not math.isnan(value)]
            if known[:1] == values[:1]:  # otherwise the first, which is on the line, has no score
                curves.setdefault(learner, {})[rank] = known
    return curves


def _draw(
    figure: Any, curves: Mapping[str, Mapping[int, Sequence[float]]], title: str, heading: str
) -> None:
    label = title.split(" over ")[0]  # the longest is wider than the axis is high
    first = {
        name: {rank: values[0] for rank, values in by_rank.items()}
        for name, by_rank in curves.items()
    }
    axes = plot.curves(first, figure.subplots(), y_label=label)
    colours = {line.get_label(): line.get_color() for line in axes.lines}
    for name, by_rank in curves.items():
        others = [
            (rank, value)
            for rank, values in by_rank.items()
            for value in values[1:]
            if math.isfinite(value)
        ]
        ranks, values = zip(*others, strict=True) if others else ((), ())
        axes.scatter(ranks, values, s=24, facecolors="none", edgecolors=colours[name])
    axes.set_title(heading, fontsize="small", loc="left")


def _table(linear: Mapping[int, Scores], results: ResultsByRank) -> bytes:
    names = [field.name for field in fields(Scores)]
    lines: list[list[Any]] = [["learner", "rank", "objective", "seed", "training", *names]]
    for rank, scores in linear.items():
        lines.append(["SP", rank, "hankel", None, None, *asdict(scores).values()])
    for learner, by_rank in results.items():
        for rank, same in by_rank.items():
            for one in same:
                about = [learner, rank, _way(one), one.recipe.seed, one.report.training]
                lines.append([*about, *asdict(one.scores).values()])
    return csv_text(lines).encode()


def _way(result: Result) -> str:
    """Return what a model was trained on: EM uses the likelihood alone."""
    way: str = result.recipe.learning.fields().get("objective", "likelihood")
    return way
