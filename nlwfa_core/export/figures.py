"""Draw the figures of a run: the Hankel matrix, its singular values, the weights of deeper and
deeper strings, and the losses of training.

`nlwfa_core.plot` draws them, as it does for papers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from .. import plot
from ..display.explore import is_plain
from ..display.string_labels import word_labels
from ..display.walk import is_bracketed, ladder_truth, ladder_words
from ..errors import RecipeError
from ..experiment.datasets import Data
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..learning.fitting import fit
from ..learning.spectral import linear_loss
from ..models.model_files import LearnedModel
from ..models.wfa import WFA

FORMATS = ("pdf", "svg", "png")
STRINGS = "the most frequent training string of each length"


@dataclass(frozen=True)
class RunFigure:
    """A figure of a run: its title, and a function that draws it."""

    title: str
    drawing: plot.Drawing

    def files(self, formats: Sequence[str]) -> dict[str, bytes]:
        """Draw the figure. Returns format -> bytes of the file."""
        return plot.render(self.drawing, formats, title=self.title)


def run_figures(
    result: Result, data: Data, hankel: HankelMatrix | None, others: Sequence[Result] = ()
) -> dict[str, RunFigure]:
    """List the figures of a run by name: "hankel" and "singular-values" if there is a matrix,
    "weights", and one for each measure of loss, such as "relative-loss", if there was training.

    The rank and the linear model's loss are marked if the model was learned from the matrix. Next
    to the weights of a nonlinear model are those of SP of the same rank, if there is a matrix of
    whole strings, and those of `others`.
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
    strings = "[ⁿ]ⁿ, n brackets deep" if is_bracketed(data.alphabet) else STRINGS
    figures["weights"] = RunFigure(
        f"Weights of {strings}; ×: exactly 0", partial(_draw_weights, result, data, hankel, others)
    )
    for measure in dict.fromkeys(log.measure for log in result.report.logs):
        figures[measure.replace(" ", "-")] = RunFigure(
            f"{measure[0].upper()}{measure[1:]} after each epoch, a line for each stage",
            partial(_draw_losses, report=result.report, measure=measure, linear_loss=linear),
        )
    return figures


def linear_of_rank(result: Result, hankel: HankelMatrix | None) -> LearnedModel | None:
    """Fit SP at the rank of a run, to be shown next to the run's model; None if that model is SP
    itself, or there is no matrix to which SP can be fitted at that rank.
    """
    learning = result.recipe.learning
    if hankel is None or not is_plain(hankel) or learning.learner == "SP":
        return None
    with suppress(RecipeError):  # the matrix may be too small for the rank
        return fit(hankel, "SP", learning.rank).model
    return None


def _draw_weights(
    result: Result,
    data: Data,
    hankel: HankelMatrix | None,
    others: Sequence[Result],
    figure: Any,
) -> None:
    learning = result.recipe.learning
    words = ladder_words(data)
    models = {}
    linear = None if isinstance(result.model, WFA) else linear_of_rank(result, hankel)
    if linear is not None:
        models["SP"] = linear
    models |= {one.recipe.learning.learner: one.model for one in others}
    models[learning.learner] = result.model
    is_nested = is_bracketed(data.alphabet)
    labels = list(map(str, range(1, len(words) + 1)))
    truth = ladder_truth(data)
    ax = plot.weights(
        {name: model.weights(words) for name, model in models.items()},
        labels if is_nested else word_labels(words, data.alphabet),
        figure.subplots(),
        truth=truth.weights,
        truth_label=truth.name,
    )
    if is_nested:
        ax.set_xlabel("n")


def _draw_losses(figure: Any, **options: Any) -> None:
    plot.losses(ax=figure.subplots(), **options)
