"""What learners tell while they work, and how they are stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..errors import Cancelled
from ..strings.words import FloatArray, IntArray

# What losses are.
RELATIVE = "relative loss"  # the squared error divided by the squared norm of the targets: all zeros give 1.0
BITS = "bits per symbol"
# The rows whose states are shown while they form: the most frequent prefixes come first in a basis.
MAX_SHOWN = 100


@dataclass(frozen=True, eq=False)
class RowStates:
    """Where the most frequent prefixes are in the middle of a training.

    Attributes
    ----------
    rows : array, shape (n,)
        Rows of the Hankel matrix, all of them prefixes of its basis.
    states : array, shape (n, rank)
        As the stage has them by now.
    targets : array, shape (n, rank), or None
        Where the stage wants them, if that stays in one place.
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
        Steps done and steps in all (epochs, for networks).
    loss : float or None
        The stage's loss after `step` epochs.
    measure : str
        What the loss is: `RELATIVE` or `BITS`.
    look : callable or None
        Gives the states after this step. For whoever hears the report, before the next step: most never ask, so none are computed.
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
        falling = " at the last epoch (still falling: train longer)" if best == len(self.losses) - 1 > 0 else ""
        return f"{self.stage}: best {self.measure} {self.losses[best]:.4g}{falling}"

    @property
    def message(self) -> str | None:
        """A sentence for the user where something went wrong."""
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
    """Raise Cancelled if it was asked for."""
    if cancelled():
        raise Cancelled
