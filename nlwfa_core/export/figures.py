"""Draw the figures of a run: the Hankel matrix, its singular values and the losses of training.

The drawings are those of `nlwfa_core.plot`, which papers use, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import plot
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import linear_loss


@dataclass(frozen=True)
class RunFigure:
    """A figure of a run: its title, and how it is drawn."""

    title: str
    drawing: plot.Drawing

    def files(self, formats: Sequence[str]) -> dict[str, bytes]:
        """Draw the figure. Returns format -> bytes of the file."""
        return plot.render(self.drawing, formats, title=self.title)


def run_figures(result: Result, hankel: HankelMatrix | None) -> dict[str, RunFigure]:
    """List the figures of a run by name: "hankel" and "singular-values" if there is a matrix, and
    one for each measure of loss, such as "relative-loss", if there was a training.

    The rank and the linear model's loss are marked if the model was learned from the matrix.
    """
    learning = result.recipe.learning
    linear = None
    figures: dict[str, RunFigure] = {}
    if hankel is not None:
        rank = learning.rank if learning.needs_hankel else None
        kept = "" if rank is None else f"; a model of rank {rank} keeps the blue ones"
        figures["hankel"] = RunFigure(
            "Hankel matrix H_λ", lambda figure: plot.hankel(hankel, figure.subplots())
        )
        figures["singular-values"] = RunFigure(
            f"Singular values of H_λ{kept}",
            lambda figure: plot.singular_values(hankel, figure.subplots(), rank=rank),
        )
        if learning.needs_hankel and result.report.logs:
            linear = linear_loss(hankel, learning.rank)
    for measure in dict.fromkeys(log.measure for log in result.report.logs):
        figures[measure.replace(" ", "-")] = RunFigure(
            f"{measure[0].upper()}{measure[1:]} after each epoch, a line for each stage",
            partial(_draw_losses, report=result.report, measure=measure, linear_loss=linear),
        )
    return figures


def _draw_losses(figure: Any, **options: Any) -> None:
    plot.losses(ax=figure.subplots(), **options)
