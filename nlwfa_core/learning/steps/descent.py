"""Define the training loop that the two steps and the refinement on the rows of H share: seeded
random weights, the optimisers, their stopping rules, and the log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

import numpy as np

from ...errors import check_one_of
from ...strings.words import FloatArray
from ..early_stopping import Best
from ..lbfgs import minimise
from ..names import OPTIMIZERS, SCHEDULES, WINDOW
from ..progress import (
    CancelCheck,
    Look,
    Progress,
    Report,
    TrainingLog,
    check_cancelled,
    never,
    silent,
)
from ..shared_options import Networks

# For Adamax: the decay of its averages of the gradient and of the gradient's size, and what keeps
# the latter from being 0 (the paper's values).
BETAS = (0.9, 0.999)
EPSILON = 1e-8
# Noise that `nudge` adds, relative to a layer's root mean square: enough to leave a saddle in a few
# steps, small compared with what is learned.
NUDGE = 1e-3
# L-BFGS ends where the norm of the gradient is at most this share of the loss. Further epochs would
# change only rounding errors, which differ between processors.
SMALLEST_GRADIENT = 1e-4

# () -> the loss at the current weights, and its gradient with respect to each layer.
Loss = Callable[[], tuple[float, Sequence[FloatArray]]]


@dataclass(frozen=True)
class Descent:
    """The settings of a descent: how a loss is minimised, and when to stop.

    Raises RecipeError if the optimiser or the schedule is unknown.
    """

    # The largest number of epochs. An epoch is one evaluation of the loss and its gradient on all
    # data; a step of Adamax takes one epoch, a step of L-BFGS one or a few.
    epochs: int
    rate: float  # for Adamax: the learning rate of the first epoch
    # for Adamax, one of `learning.names.SCHEDULES`: "constant" (the paper mentions no schedule), or
    # "cosine", with which the rate falls to 0 along half a cosine
    schedule: str = "constant"
    optimizer: str = "adamax"  # one of `OPTIMIZERS`
    # for L-BFGS: training ends when the last `learning.names.WINDOW` epochs lowered the loss by
    # less than this share
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_one_of("schedule", self.schedule, SCHEDULES)
        check_one_of("optimizer", self.optimizer, OPTIMIZERS)

    @classmethod
    def of(cls, options: Networks, step: str) -> Descent:
        """Make the descent of a step, "factorisation" or "transitions", from a learner's options.

        With the optimiser "lm", it is L-BFGS, which then trains everything that Levenberg–Marquardt
        does not.
        """
        epochs = getattr(options, f"epochs_{step}")
        rate = getattr(options, f"rate_{step}")
        optimizer = "adamax" if options.optimizer == "adamax" else "lbfgs"
        return cls(epochs, rate, options.schedule, optimizer, options.tolerance)

    def rate_in(self, epoch: int) -> float:
        """Adamax's learning rate in an epoch; the first epoch is 0."""
        return (
            half_cosine(self.rate, math.pi * epoch / self.epochs)
            if self.schedule == "cosine"
            else self.rate
        )


def half_cosine(rate: float, phase: float) -> float:
    """Compute a learning rate that falls along half a cosine, from `rate` at phase 0 to 0 at phase
    π.

    >>> [round(half_cosine(2.0, phase), 12) for phase in (0.0, math.pi / 2, math.pi)]
    [2.0, 1.0, 0.0]
    """
    return rate * 0.5 * (1 + math.cos(phase))


def seeded_layers(shapes: Sequence[tuple[int, ...]], seed: int) -> list[FloatArray]:
    """Draw Glorot-uniform weights (Glorot and Bengio 2010).

    The last two axes of each shape are (inputs, outputs). The numbers are those that torch draws
    from the same seed: 53 bits of two outputs of a Mersenne Twister.
    """
    rng = np.random.RandomState(seed)
    layers = []
    for shape in shapes:
        bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        high, low = np.moveaxis(rng.randint(2**32, size=(*shape, 2), dtype=np.uint32), -1, 0)
        bits = (high.astype(np.uint64) << 32 | low) & (2**53 - 1)
        layers.append((bits * 2.0**-53 * 2 - 1) * bound)
    return layers


def nudge(layers: Sequence[FloatArray], seed: int) -> None:
    """Add a little seeded noise to each layer, `NUDGE` times the layer's root mean square.

    If a matrix consists of parts that share no entry, SP's model of it is a saddle point of the
    refinement's objective: the states of the parts that the model leaves out are exactly 0, and so
    are all derivatives that could change them. Seeded noise leaves the saddle point in the same
    direction on every processor.
    """
    rng = np.random.default_rng(seed)
    for layer in layers:
        layer += NUDGE * np.sqrt(np.mean(layer * layer)) * rng.standard_normal(layer.shape)


def train(epochs: Epochs, *, first_step: Callable[[], None] | None = None) -> TrainingLog:
    """Minimise a loss over some layers, in place, by the optimiser of `epochs.descent`.

    At the end, the layers have the weights with the smallest loss, even if a loss that is not
    finite ends the training.

    Parameters
    ----------
    epochs : Epochs
        The layers, their loss, and when to stop.
    first_step : callable, optional
        A function that changes the layers before the first step, for a start that is a saddle
        point (see `nudge`).

    Raises
    ------
    Cancelled
        If `epochs.cancelled()` returns true. It is called before every epoch.
    """
    with suppress(StopTraining):
        if first_step is not None:
            epochs()
            first_step()
        if epochs.descent.optimizer == "lbfgs":
            _lbfgs(epochs)
        else:
            _adamax(epochs)
    return epochs.finish()


def solved(loss: float, stage: str, report: Report, look: Look | None) -> TrainingLog:
    """Make the log of a stage that has a closed form.

    It holds one loss, because nothing was trained.
    """
    report(Progress(stage, 1, 1, loss, look=look))
    return TrainingLog(stage, np.array([loss]), stopped="exact", gradient=0.0)


class StopTraining(Exception):
    """Raised by the last evaluation of a training run, to leave the optimiser."""


class Epochs:
    """One training run: it evaluates the loss and its gradient, records the losses and the best
    weights, and decides when to stop.

    Each call of the object is one epoch: it evaluates the loss at the current weights.

    `layers`: the weights to train, which change in place. `loss_of`: () -> the loss at the current
    weights, and its gradient with respect to each layer. `stage`: the run's name in reports and in
    the log. `descent`: the optimiser and its stopping rule. `report`: called with a Progress after
    each epoch. `cancelled`: called before each epoch; if it returns true, the run stops. `look`:
    the field `look` of every Progress that is reported.

    `losses`: the loss of each epoch so far; the first is that of the start. `stopped`: why the run
    ended, one of the values of `TrainingLog.stopped`.
    """

    def __init__(
        self,
        layers: Sequence[FloatArray],
        loss_of: Loss,
        stage: str,
        descent: Descent,
        report: Report = silent,
        cancelled: CancelCheck = never,
        look: Look | None = None,
    ) -> None:
        self.layers = layers
        self.loss_of = loss_of
        self.stage = stage
        self.descent = descent
        self.report = report
        self.cancelled = cancelled
        self.look = look
        self.losses: list[float] = []
        self.lowest: list[float] = []  # of the losses so far
        self.best = Best((self.weights, np.full(1, np.nan)))
        self.stopped = "epochs"
        self.diverged_at: int | None = None

    @property
    def weights(self) -> FloatArray:
        """Return a copy of all weights, in one vector."""
        return _joined(self.layers)

    @weights.setter
    def weights(self, vector: FloatArray) -> None:
        start = 0
        for layer in self.layers:
            layer[...] = vector[start : start + layer.size].reshape(layer.shape)
            start += layer.size

    def __call__(self) -> tuple[float, FloatArray]:
        """Evaluate the loss and its gradient, as one vector, at the current weights.

        Raises StopTraining if this evaluation is the last one, or its loss is not finite. Raises
        Cancelled.
        """
        check_cancelled(self.cancelled)
        epoch = len(self.losses)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, gradients = self.loss_of()
        if not np.isfinite(loss):
            self.diverged_at = epoch
            self.stopped = "diverged"
            raise StopTraining
        gradient = _joined(gradients)
        self.losses.append(loss)
        self.best.offer(loss, lambda: (self.weights, gradient))
        self.lowest.append(self.best.loss)
        self.report(Progress(self.stage, epoch, self.descent.epochs, loss, look=self.look))
        if epoch >= self.descent.epochs:
            raise StopTraining
        if self.descent.optimizer == "adamax":
            return loss, gradient
        if np.linalg.norm(gradient) <= SMALLEST_GRADIENT * loss:
            self.stopped = "minimum"
            raise StopTraining
        if epoch >= WINDOW:
            before = self.lowest[-1 - WINDOW]
            if self.best.loss >= (1 - self.descent.tolerance) * before:
                self.stopped = "tolerance"
                raise StopTraining
        return loss, gradient

    def finish(self) -> TrainingLog:
        """Give the layers their best weights, and return the log."""
        self.weights, gradient = self.best.value
        return TrainingLog(
            self.stage,
            np.array(self.losses),
            self.diverged_at,
            stopped=self.stopped,
            gradient=float(np.linalg.norm(gradient)),
        )


def _joined(arrays: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([array.ravel() for array in arrays])


def _adamax(epochs: Epochs) -> None:
    """Adamax (Kingma and Ba 2015, §7.1), until an evaluation stops it."""
    weights = epochs.weights
    average = np.zeros_like(weights)
    size = np.zeros_like(weights)
    for step in count(1):
        epoch = len(epochs.losses)
        _, gradient = epochs()
        average += (1 - BETAS[0]) * (gradient - average)
        size = np.maximum(BETAS[1] * size, np.abs(gradient) + EPSILON)
        weights -= epochs.descent.rate_in(epoch) / (1 - BETAS[0] ** step) * (average / size)
        epochs.weights = weights


def _lbfgs(epochs: Epochs) -> None:
    """L-BFGS, until an evaluation stops it."""

    def loss_at(vector: FloatArray) -> tuple[float, FloatArray]:
        epochs.weights = vector
        return epochs()

    minimise(loss_at, epochs.weights)
    epochs.stopped = "rounding"
