"""What learners report while they work, and how they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..errors import Cancelled
from ..strings.words import FloatArray, IntArray

# Kinds of loss.
RELATIVE = "relative loss"  # the squared error divided by the squared norm of the targets: all zeros give 1.0
BITS = "bits per symbol"
# How many states are shown during training: those of the first rows, because the most frequent prefixes come first in a basis.
MAX_SHOWN = 100


@dataclass(frozen=True, eq=False)
class RowStates:
    """The states of the most frequent prefixes during training.

    Attributes
    ----------
    rows : array, shape (n,)
        Rows of the Hankel matrix, all of them prefixes of its basis.
    states : array, shape (n, rank)
        The states so far.
    targets : array, shape (n, rank), or None
        The states that the stage aims at, if they stay the same during training.
    """

    rows: IntArray
    states: FloatArray
    targets: FloatArray | None = None


Look = Callable[[], RowStates]


@dataclass(frozen=True)
class Progress:
    """One step of a stage.

    Attributes
    ----------
    stage : str
        "data", "hankel", "factorisation", "transitions", "scores", …
    step, total : int
        Steps done, and all steps (epochs, for networks).
    loss : float or None
        The stage's loss after `step` epochs.
    measure : str
        The kind of loss: `RELATIVE` or `BITS`.
    look : callable or None
        Returns the states after this step. Only valid before the next step; states are computed only if it is called.
    """

    stage: str
    step: int
    total: int
    loss: float | None = None
    measure: str = RELATIVE
    look: Look | None = field(default=None, compare=False, repr=False)


Report = Callable[[Progress], None]
CancelCheck = Callable[[], bool]


def silent(progress: Progress) -> None:
    """Ignore a report: the default callback."""


def never() -> bool:
    """Never cancel."""
    return False


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """How a training went.

    Attributes
    ----------
    stage : str
    losses : array, shape (epochs + 1,) or fewer
        Loss after 0, 1, … epochs. A learner returns the weights of the smallest loss.
    diverged_at : int or None
        The epoch after which the loss was no longer a finite number, if that happened.
    measure : str
        The kind of loss: `RELATIVE` or `BITS`.
    """

    stage: str
    losses: FloatArray
    diverged_at: int | None = None
    measure: str = RELATIVE

    def thinned(self, num_points: int = 300) -> tuple[list[int], list[float]]:
        """Evenly spaced epochs and their losses, for a curve; the last epoch is included."""
        count = len(self.losses)
        epochs = (
            np.unique(np.linspace(0, count - 1, min(num_points, count)).round().astype(int)) if count else np.empty(0, dtype=int)
        )
        return epochs.tolist(), self.losses[epochs].tolist()

    @property
    def summary(self) -> str:
        """The stage with its best loss, and whether the loss was still falling at the last epoch."""
        if not len(self.losses):
            return f"{self.stage}: no loss"
        best = int(np.argmin(self.losses))
        falling = " at the last epoch; more epochs may lower it" if best == len(self.losses) - 1 > 0 else ""
        return f"{self.stage}: best {self.measure} {self.losses[best]:.4g}{falling}"

    @property
    def message(self) -> str | None:
        """A sentence for the user if something went wrong, else None."""
        best = float(np.min(self.losses)) if len(self.losses) else float("nan")
        if self.diverged_at is not None:
            return (
                f"Training diverged: the {self.stage} loss was no longer a finite number after epoch {self.diverged_at}. "
                f"The model keeps the weights of its best epoch (loss {best:.4g}); try a smaller learning rate."
            )
        if len(self.losses) > 1 and self.losses[-1] > self.losses[0] == best:
            return (
                f"Training made the {self.stage} worse: its {self.measure} was {best:.4g} before the first epoch, never less, "
                f"and {self.losses[-1]:.4g} after the last. The model keeps the weights it began with; try a smaller learning rate."
            )
        return None


def check_cancelled(cancelled: CancelCheck) -> None:
    """Raise Cancelled if `cancelled()` returns true."""
    if cancelled():
        raise Cancelled
