"""Define the training loop that all networks share: seeded random weights, the optimisers, their
stopping rules, and the log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch

from ...errors import check_one_of
from ...strings.words import FloatArray
from ..early_stopping import Best
from ..names import OPTIMIZERS, SCHEDULES, WINDOW
from ..options import Networks
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
from .losses import DTYPE

# pairs of steps and changes of the gradient from which L-BFGS guesses the curvature
CORRECTIONS = 30
STEPS_PER_CALL = 20  # of torch's L-BFGS, which evaluates its starting point again in each call
# Noise that `nudge` adds, relative to a layer's root mean square: enough to leave a saddle in a few
# steps, small beside what is learned.
NUDGE = 1e-3


@dataclass(frozen=True)
class Descent:
    """How a loss is minimised, and when to stop.

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

        With the optimiser "lm", it is L-BFGS, which then trains whatever Levenberg–Marquardt does
        not.
        """
        epochs = getattr(options, f"epochs_{step}")
        rate = getattr(options, f"rate_{step}")
        optimizer = "adamax" if options.optimizer == "adamax" else "lbfgs"
        return cls(epochs, rate, options.schedule, optimizer, options.tolerance)

    def rate_in(self, epoch: int) -> float:
        """Adamax's learning rate in an epoch; the first is 0."""
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


def seeded_layers(
    shapes: Sequence[tuple[int, ...]], generator: torch.Generator
) -> list[torch.Tensor]:
    """Draw Glorot-uniform weights (Glorot and Bengio 2010).

    The last two axes of each shape are (inputs, outputs).
    """
    layers = []
    for shape in shapes:
        bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        layers.append(
            ((torch.rand(shape, generator=generator, dtype=DTYPE) * 2 - 1) * bound).requires_grad_()
        )
    return layers


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread, so that sums do not depend on the number of cores.

    Products this small gain nothing from more.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def to_arrays(layers: Sequence[torch.Tensor]) -> tuple[FloatArray, ...]:
    """Copy tensors to numpy arrays."""
    return tuple(layer.detach().numpy().copy() for layer in layers)


@torch.no_grad()
def nudge(layers: Sequence[torch.Tensor], seed: int) -> None:
    """Add a little seeded noise to each layer, `NUDGE` times the layer's root mean square.

    If a matrix consists of parts that share no entry, SP's model of it is a saddle point of the
    refinement's objective: the states of the parts that the model leaves out are exactly 0, and so
    are all derivatives that could change them. Seeded noise leaves the saddle point in the same
    direction on every processor.
    """
    rng = np.random.default_rng(seed)
    for layer in layers:
        layer += (
            NUDGE
            * layer.square().mean().sqrt()
            * torch.from_numpy(rng.standard_normal(tuple(layer.shape)))
        )


def train(epochs: Epochs, *, first_step: Callable[[], None] | None = None) -> TrainingLog:
    """Minimise a loss over some layers, in place, by the optimiser of `epochs.descent`.

    At the end, the layers have the weights with the smallest loss. So a loss that is not finite
    ends the training without harm.

    Parameters
    ----------
    epochs : Epochs
        The layers, their loss, and when to stop.
    first_step : callable, optional
        A function to call instead of the first step, for a start that is a saddle point (see
        `nudge`).

    Raises
    ------
    Cancelled
        If `epochs.cancelled()` returns true. It is called before every epoch.
    """
    with suppress(StopTraining):
        if epochs.descent.optimizer == "lbfgs":
            _lbfgs(epochs, first_step)
        else:
            _adamax(epochs, first_step)
    return epochs.finish()


@torch.no_grad()
def solved(
    loss_of: Callable[[], torch.Tensor], stage: str, report: Report, look: Look | None
) -> TrainingLog:
    """Make the log of a stage that has a closed form.

    It holds one loss, since nothing was trained.
    """
    loss = float(loss_of())
    report(Progress(stage, 1, 1, loss, look=look))
    return TrainingLog(stage, np.array([loss]), stopped="exact", gradient=0.0)


class StopTraining(Exception):
    """Raised by the last evaluation of a training, to leave the optimiser."""


class Epochs:
    """One training: it evaluates the loss and its gradient, records the losses and the best
    weights, and decides when to stop.

    Calling the object is one epoch: it evaluates the loss at the current weights and stores the
    gradient in the layers.

    `layers`: the weights to train, which change in place. `loss_of`: () -> the loss at the current
    weights, a tensor with one number that autograd can differentiate with respect to the layers.
    `stage`: the training's name in reports and in the log. `descent`: the optimiser and its
    stopping rule. `report`: called with a Progress after each epoch. `cancelled`: called before
    each epoch; if it returns true, the training stops. `look`: the field `look` of every Progress
    that is reported.

    `losses`: the loss of each epoch so far; the first is that of the start. `stopped`: why the
    training ended: one of the values of `TrainingLog.stopped`.
    """

    def __init__(
        self,
        layers: Sequence[torch.Tensor],
        loss_of: Callable[[], torch.Tensor],
        stage: str,
        descent: Descent,
        report: Report = silent,
        cancelled: CancelCheck = never,
        look: Look | None = None,
    ) -> None:
        self.layers, self.loss_of, self.stage, self.descent = layers, loss_of, stage, descent
        self.report, self.cancelled, self.look = report, cancelled, look
        self.losses: list[float] = []
        self.lowest: list[float] = []  # of the losses so far
        self.best = Best(self._weights())
        self.stopped = "epochs"
        self.diverged_at: int | None = None

    def __call__(self) -> torch.Tensor:
        """Evaluate the loss and its gradient at the current weights.

        Raises StopTraining if this evaluation is the last one, or its loss is not finite. Raises
        Cancelled.
        """
        check_cancelled(self.cancelled)
        for layer in self.layers:
            layer.grad = None
        loss, epoch = self.loss_of(), len(self.losses)
        value = float(loss.detach())
        if not np.isfinite(value):
            self.diverged_at, self.stopped = epoch, "diverged"
            raise StopTraining
        loss.backward()  # type: ignore[no-untyped-call]
        # torch's L-BFGS needs gradients that lie in memory as their tensors do
        if self.descent.optimizer == "lbfgs":
            for layer in self.layers:
                layer.grad = None if layer.grad is None else layer.grad.contiguous()
        self.losses.append(value)
        self.best.offer(value, self._weights)
        self.lowest.append(self.best.loss)
        self.report(Progress(self.stage, epoch, self.descent.epochs, value, look=self.look))
        if epoch >= self.descent.epochs:
            raise StopTraining
        if self.descent.optimizer == "lbfgs" and epoch >= WINDOW:
            before = self.lowest[-1 - WINDOW]
            if self.best.loss >= (1 - self.descent.tolerance) * before:
                self.stopped = "tolerance"
                raise StopTraining
        return loss

    @torch.no_grad()
    def finish(self) -> TrainingLog:
        """Give the layers their best weights, and return the log."""
        weights, gradients = self.best.value
        for layer, weight in zip(self.layers, weights, strict=True):
            layer.copy_(weight)
        norm = (
            float(sum(gradient.square().sum() for gradient in gradients) ** 0.5)
            if gradients
            else float("nan")
        )
        return TrainingLog(
            self.stage, np.array(self.losses), self.diverged_at, stopped=self.stopped, gradient=norm
        )

    def _weights(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """Return copies of the weights, and their gradients, which need no copy: every evaluation
        makes new ones.
        """
        gradients = [layer.grad for layer in self.layers if layer.grad is not None]
        return [layer.detach().clone() for layer in self.layers], gradients


def _adamax(epochs: Epochs, first_step: Callable[[], None] | None) -> None:
    """Adamax (Kingma and Ba 2015, §7.1), until an evaluation stops it."""
    optimizer = torch.optim.Adamax(epochs.layers, lr=epochs.descent.rate)
    for epoch in count():
        epochs()
        if epoch == 0 and first_step is not None:
            first_step()
            continue
        optimizer.param_groups[0]["lr"] = epochs.descent.rate_in(epoch)
        optimizer.step()


def _lbfgs(epochs: Epochs, first_step: Callable[[], None] | None) -> None:
    """L-BFGS with a strong Wolfe line search (Nocedal and Wright 2006, §7.2, §3.5), until an
    evaluation stops it.

    This is torch's version: with so many weights, scipy's spends most of its time outside the loss.
    """
    if first_step is not None:
        epochs()
        first_step()
    optimizer = torch.optim.LBFGS(
        epochs.layers,
        max_iter=STEPS_PER_CALL,
        max_eval=2**31,
        tolerance_grad=0.0,
        tolerance_change=0.0,
        history_size=CORRECTIONS,
        line_search_fn="strong_wolfe",
    )
    for _ in count():
        before = len(epochs.losses)
        optimizer.step(epochs)  # type: ignore[no-untyped-call]
        if len(epochs.losses) - before <= 2:  # rounding hides every way down
            epochs.stopped = "tolerance"
            return
