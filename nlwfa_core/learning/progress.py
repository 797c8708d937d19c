"""Define the progress reports and training logs of learners, and the way in which a caller cancels
learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import Cancelled, plural
from ..models.nlwfa import NLWFA
from ..rounding import format_apart, format_beside, format_significant
from ..strings.words import FloatArray, IntArray
from .names import WINDOW

# Kinds of loss.
# the squared error divided by the squared norm of the targets: all zeros give 1.0
RELATIVE = "relative loss"
BITS = "bits per symbol"
# of the training strings, with the prior of the weights
PENALISED_BITS = "bits per symbol with prior"
# A training run is finished at a stationary point: where the norm of the gradient is at most this
# share of the loss.
STATIONARY = 1e-3
# A training run that has lowered the loss by less than this share in all its epochs has stayed
# where it began. That may be the best there is, or a place that this optimiser can't leave.
STAYED = 0.01
# A relative loss below this is 0 up to rounding.
NOTHING_LEFT = 1e-10
# Relative losses below this, also negative ones, are drawn at this value on a logarithmic axis.
LOWEST_LOSS = 1e-15
# States of a training run.
EXACT = "exact"
COMPLETE = "finished"
BY_VALIDATION = "by validation"
# Ended before a stationary point by the optimiser; and by its epochs, or because it diverged.
STOPPED = "stopped"
UNFINISHED = "not finished"
UNKNOWN = "–"
# How many states are shown during training: those of the first rows, because the most frequent
# prefixes come first in a basis.
MAX_SHOWN = 100


# How much of the auto-encoder is drawn during training: the first rows and columns of H, if no
# layer has more units than this.
NETWORK_ROWS = 24
NETWORK_COLUMNS = 16
MOST_UNITS = 40


@dataclass(frozen=True, eq=False)
class NetworkState:
    """The auto-encoder at one moment of its training, for the first rows and columns of H. H is
    divided by its largest entry.
    """

    # inputs, outputs (num_rows, num_columns): a part of H, and what the network computes from it
    inputs: FloatArray
    # (num_rows, width_i): what the units of each hidden layer compute, for each row
    layers: tuple[FloatArray, ...]
    outputs: FloatArray
    # (width_i, width_{i+1}): from the shown inputs to the first hidden layer, and so on, to the
    # shown outputs
    weights: tuple[FloatArray, ...]
    waist: int  # the index of the layer of k units, whose values are the states
    nonlinear: bool  # whether the hidden units are tanh units


@dataclass(frozen=True, eq=False)
class RowStates:
    """The states of the n most frequent prefixes at one moment of training."""

    rows: IntArray  # (n,): the numbers of the prefixes' rows in the Hankel matrix
    states: FloatArray  # (n, rank): the state of each prefix at this moment
    # (n, rank), or None: the states that the stage tries to reach; None if they change during
    # training
    targets: FloatArray | None = None
    network: NetworkState | None = None  # the auto-encoder, in the stage that trains it


Look = Callable[[], RowStates]


@dataclass(frozen=True)
class Progress:
    """A progress report on a stage."""

    stage: str  # "data", "hankel", "factorisation", "transitions", "scores", …
    # step, total: the number of steps done, and the number of all steps. When networks are trained,
    # steps are epochs.
    step: int
    total: int
    loss: float | None = None  # the stage's loss after `step` epochs
    measure: str = RELATIVE  # the kind of loss: `RELATIVE`, `BITS` or `PENALISED_BITS`
    # () -> the states after this step, as `RowStates`. They are computed only if this is called,
    # which must be before the next step.
    look: Look | None = field(default=None, compare=False, repr=False)
    # () -> the best model so far, where a stage has one
    preview: Callable[[], NLWFA] | None = field(default=None, compare=False, repr=False)


Report = Callable[[Progress], None]
CancelCheck = Callable[[], bool]


def silent(progress: Progress) -> None:
    """Ignore a report: the default callback."""


def never() -> bool:
    """Never cancel."""
    return False


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """The record of a training run.

    The run is finished if it ended at a stationary point of the loss that it minimised: if the norm
    of the gradient there is at most the share STATIONARY (0.001) of that loss, whatever the
    optimiser, or the loss is 0 up to rounding. Weights that move by 1 then lower the loss by a
    thousandth, to first order. Any other run has stopped, and `verdict` says why: the optimiser
    stopped it, its epochs ran out, or it diverged. If the gradient is not known, the tolerance of
    the optimiser decides.

    Attributes
    ----------
    stage : str
    losses : array, shape (epochs + 1,) or fewer
        The loss after 0, 1, … epochs. A learner returns the weights with the smallest loss.
    diverged_at : int or None
        The epoch after which the loss was no longer a finite number; None if that did not happen.
    measure : str
        The kind of loss: `RELATIVE`, `BITS` or `PENALISED_BITS`.
    stopped : str
        What ended the training: "epochs" (all of them are done), "tolerance" (the loss barely fell
        any more), "minimum" (the gradient is almost 0), "rounding" (no step lowered the loss),
        "exact" (there was a closed form, and nothing to train) or "diverged".
    gradient : float
        Euclidean norm of the gradient where the loss is smallest; nan if it is not known.
    last_layer_solved : bool
        Whether the last entry of `losses` is the loss after the last layer was solved exactly,
        which was not an epoch.
    start, starts : int
        The number of this run's start, counted from 1, and how many starts there were (see
        `options.Networks`).
    """

    stage: str
    losses: FloatArray
    diverged_at: int | None = None
    measure: str = RELATIVE
    stopped: str = "epochs"
    gradient: float = float("nan")
    last_layer_solved: bool = False
    start: int = 1
    starts: int = 1

    def with_last_layer(self, loss: float) -> TrainingLog:
        """Add the loss with a last layer that was solved after training."""
        return replace(self, losses=np.append(self.losses, loss), last_layer_solved=True)

    @property
    def epochs(self) -> int:
        """Return the number of epochs that the training took."""
        return max(len(self.losses) - 1 - self.last_layer_solved, 0)

    @property
    def decrease(self) -> float:
        """Return the share by which the last `names.WINDOW` epochs lowered the smallest loss.

        If there were fewer epochs, it is the share for all of them together; without epochs, it is
        nan.
        """
        if not self.epochs:
            return float("nan")
        before = float(self.losses[: max(self.epochs - WINDOW, 0) + 1].min())
        return 1 - float(self.losses[: self.epochs + 1].min()) / before if before > 0 else 0.0

    @property
    def minimised_loss(self) -> float:
        """Return the smallest loss of an epoch, before a last layer was solved; nan without
        losses.
        """
        return float(self.losses[: self.epochs + 1].min()) if len(self.losses) else float("nan")

    @property
    def is_finished(self) -> bool:
        """Return whether the training ended at a stationary point."""
        if self.stopped == "exact":
            return True
        if np.isnan(self.gradient) and self.stopped == "tolerance":
            return True
        loss = self.minimised_loss
        is_nothing_left = self.measure == RELATIVE and loss < NOTHING_LEFT
        return self.gradient <= STATIONARY * loss or is_nothing_left

    @property
    def state(self) -> str:
        """Return the state of the training: EXACT, COMPLETE, STOPPED, UNFINISHED, or BY_VALIDATION
        if validation strings chose the epoch.
        """
        if self.stopped == "exact":
            return EXACT
        if self.measure == BITS:
            return BY_VALIDATION
        if self.is_finished and self.diverged_at is None:
            return COMPLETE
        return STOPPED if self.stopped not in ("epochs", "diverged") else UNFINISHED

    @property
    def verdict(self) -> str:
        """State whether the training is finished, and give the evidence.

        >>> TrainingLog("transitions", np.array([0.5]), stopped="exact").verdict
        'solved exactly'
        >>> TrainingLog("transitions", 0.5 ** np.arange(3.0)).verdict
        'stopped after all 2 epochs: the last 2 epochs lowered the loss by 75%'
        >>> TrainingLog("transitions", np.append(2.0, np.ones(200)), gradient=4e-5).verdict
        'finished: the gradient is at most 0.1% of the loss'
        >>> TrainingLog(
        ...     "factorisation", np.linspace(2, 1.996, 101), stopped="tolerance", gradient=1
        ... ).verdict
        'stopped where it began: 100 epochs lowered the loss by only 0.2%; another optimiser or start might get further'
        >>> TrainingLog(
        ...     "likelihood", np.array([0.8]), measure=PENALISED_BITS, stopped="rounding"
        ... ).verdict
        'stopped where no step lowers the loss'
        """  # noqa: E501
        if self.stopped == "exact":
            return "solved exactly"
        if self.diverged_at is not None:
            return "diverged"
        # Networks by likelihood: many starts were trained before these losses.
        is_last_part = self.measure == PENALISED_BITS
        if not self.epochs and not is_last_part:
            return "not trained"
        if self.state == BY_VALIDATION:
            return "the best epoch is kept"
        first = float(self.losses[0])
        best = self.minimised_loss
        change = (
            f"the last {plural(min(self.epochs, WINDOW), 'epoch')} lowered the loss by "
            f"{percentage(self.decrease)}"
        )
        if self.is_finished:
            if np.isnan(self.gradient):
                return f"finished: {change}"
            if self.measure == RELATIVE and best < NOTHING_LEFT:
                return "finished: the loss is 0 up to rounding"
            return f"finished: the gradient is at most {percentage(STATIONARY)} of the loss"
        # A loss that only rose has a message of its own.
        has_stayed = best < first and 1 - best / first < STAYED
        if self.stopped != "epochs" and has_stayed and not is_last_part:
            return (
                f"stopped where it began: {plural(self.epochs, 'epoch')} lowered the loss by only "
                f"{percentage(1 - best / first)}; another optimiser or start might get further"
            )
        reason = {
            "epochs": f"after all {plural(self.epochs, 'epoch')}",
            "tolerance": "by the tolerance",
            "rounding": "where no step lowers the loss",
        }.get(self.stopped, "by the tolerance")
        return f"stopped {reason}: {change}" if self.epochs else f"stopped {reason}"

    def thinned(self, num_points: int = 300) -> tuple[list[int], list[float]]:
        """Choose epochs, with their losses, for a curve over a logarithmic axis: dense at the
        start, and including the last epoch.
        """
        count = len(self.losses)
        epochs = np.arange(count)
        if count > num_points:
            epochs = np.unique(np.geomspace(1, count, num_points).round().astype(int)) - 1
        return epochs.tolist(), self.losses[epochs].tolist()

    @property
    def summary(self) -> str:
        """Summarise the training: the stage, its smallest loss, its number of epochs, and whether
        it is finished.

        >>> TrainingLog("transitions", np.append(2.0, np.ones(200))).summary
        'transitions: relative loss 1 after 200 epochs, stopped after all 200 epochs: the last 100 epochs lowered the loss by 0%'
        >>> TrainingLog("transitions", np.array([0.5]), stopped="exact").summary
        'transitions: relative loss 0.5, solved exactly'
        >>> TrainingLog("transitions", np.array([0.5]), stopped="exact", start=3, starts=8).summary
        'transitions: relative loss 0.5, solved exactly; the best of 8 starts, number 3'
        """  # noqa: E501
        if not len(self.losses):
            return f"{self.stage}: no loss"
        effort = f" after {plural(self.epochs, 'epoch')}" if self.epochs else ""
        choice = (
            f"; the best of {self.starts} starts, number {self.start}" if self.starts > 1 else ""
        )
        return (
            f"{self.stage}: {self.measure} "
            f"{format_significant(float(self.losses.min()))}{effort}, {self.verdict}{choice}"
        )

    @property
    def message(self) -> str | None:
        """Return a sentence for the user if something went wrong, otherwise None."""
        best = float(np.min(self.losses)) if len(self.losses) else float("nan")
        if self.diverged_at is not None:
            return (
                f"Training diverged: the {self.stage} loss was no longer a finite number "
                f"after epoch {self.diverged_at}. "
                f"The model keeps the weights of its best epoch (loss {format_significant(best)}). "
                "If it was trained with Adamax, try a smaller learning rate."
            )
        if len(self.losses) > 1 and self.losses[-1] > self.losses[0] == best:
            before, after = format_apart(best, float(self.losses[-1]))
            return (
                f"Training made the {self.stage} worse: its {self.measure} was {before} "
                f"before the first epoch, never fell below that, and was {after} after the last. "
                "The model keeps its initial weights. "
                "If it was trained with Adamax, try a smaller learning rate."
            )
        return None


def loss_points(
    epochs: Iterable[int], losses: Iterable[float], measure: str
) -> list[tuple[int, float]]:
    """Return the points (epoch, loss) of a loss curve that can be drawn, which have a finite loss.

    A relative loss has logarithmic axes, so it is raised to LOWEST_LOSS, and epoch 0 is left out.
    The single point of a stage solved exactly moves to epoch 1.

    >>> loss_points([0, 1, 2], [1.0, 0.5, -1e-17], RELATIVE), loss_points([0], [0.5], RELATIVE)
    ([(1, 0.5), (2, 1e-15)], [(1, 0.5)])
    >>> loss_points([0, 1, 2], [1.0, float("inf"), 0.5], BITS)
    [(0, 1.0), (2, 0.5)]
    """
    points = [
        (epoch, loss) for epoch, loss in zip(epochs, losses, strict=True) if math.isfinite(loss)
    ]
    if measure != RELATIVE:
        return points
    return [
        (max(epoch, 1), max(loss, LOWEST_LOSS))
        for epoch, loss in points
        if epoch > 0 or len(points) == 1
    ]


def training_state(stages: Sequence[str]) -> str:
    """State in a word or two whether training is finished, from the states of its stages.

    >>> (
    ...     training_state([EXACT, COMPLETE]),
    ...     training_state([UNFINISHED, BY_VALIDATION]),
    ...     training_state([EXACT, STOPPED]),
    ...     training_state([EXACT]),
    ...     training_state([]),
    ... )
    ('finished', 'not finished', 'stopped', 'exact', '–')
    """
    return next(
        (
            state
            for state in (UNFINISHED, BY_VALIDATION, STOPPED, COMPLETE, EXACT)
            if state in stages
        ),
        UNKNOWN,
    )


def percentage(share: float) -> str:
    """Write a share as a percentage with two digits.

    >>> percentage(0.75), percentage(0.00034), percentage(0.0)
    ('75%', '0.034%', '0%')
    """
    return f"{format_beside(100 * share, 100, 2)}%"


def check_cancelled(cancelled: CancelCheck) -> None:
    """Raise Cancelled if `cancelled()` returns true."""
    if cancelled():
        raise Cancelled
