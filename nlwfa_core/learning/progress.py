"""What learners tell while they work, and how they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import Cancelled
from ..words import FloatArray

# What losses are.
RELATIVE = "relative loss"  # the squared error divided by the squared norm of the targets: all zeros give 1.0
BITS = "bits per symbol"


@dataclass(frozen=True)
class Progress:
    """One step of a stage.

    Attributes
    ----------
    stage : str
        "data", "hankel", "factorisation", "transitions", "scores", …
    step, total : int
        Steps done and steps in all (epochs, for networks).
    loss : float or None
        The stage's loss after `step` epochs.
    measure : str
        What the loss is: `RELATIVE` or `BITS`.
    """

    stage: str
    step: int
    total: int
    loss: float | None = None
    measure: str = RELATIVE


Report = Callable[[Progress], None]
CancelCheck = Callable[[], bool]


def silent(progress: Progress) -> None:
    """A report that nobody reads."""


def never() -> bool:
    """A cancel check that never cancels."""
    return False


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """How the training of a network went.

    Attributes
    ----------
    stage : str
    losses : array, shape (epochs + 1,) or fewer
        Loss after 0, 1, … epochs; the weights that a learner gives back are those of the smallest.
    diverged_at : int or None
        The epoch after which the loss was no longer a finite number, where that happened.
    measure : str
        What the losses are: `RELATIVE` or `BITS`.
    """

    stage: str
    losses: FloatArray
    diverged_at: int | None = None
    measure: str = RELATIVE

    def thinned(self, num_points: int = 300) -> tuple[list[int], list[float]]:
        """Epochs and losses for a curve: evenly spaced, the last one among them."""
        count = len(self.losses)
        epochs = (
            np.unique(np.linspace(0, count - 1, min(num_points, count)).round().astype(int)) if count else np.empty(0, dtype=int)
        )
        return epochs.tolist(), self.losses[epochs].tolist()

    @property
    def summary(self) -> str:
        """The stage with its best loss, and whether it was still falling when the epochs ran out."""
        if not len(self.losses):
            return f"{self.stage}: no loss"
        best = int(np.argmin(self.losses))
        falling = " at the last epoch: more epochs would lower it" if best == len(self.losses) - 1 > 0 else ""
        return f"{self.stage}: best {self.measure} {self.losses[best]:.4g}{falling}"

    @property
    def message(self) -> str | None:
        """A sentence for the user where something went wrong."""
        if self.diverged_at is None:
            return None
        best = float(np.min(self.losses)) if len(self.losses) else float("nan")
        return (
            f"Training diverged: the {self.stage} loss was no longer a finite number after epoch {self.diverged_at}. "
            f"The model keeps the weights of its best epoch (loss {best:.4g}); try a smaller learning rate."
        )


def check_cancelled(cancelled: CancelCheck) -> None:
    """Raise Cancelled if it was asked for."""
    if cancelled():
        raise Cancelled
