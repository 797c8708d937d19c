"""What every training of networks shares: seeded weights, the learning rate's schedule, and the Adamax loop with its log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from ..errors import check_one_of
from ..strings.words import FloatArray
from .early_stopping import Best
from .losses import DTYPE
from .progress import CancelCheck, Look, Progress, Report, TrainingLog, check_cancelled

SCHEDULES = ("constant", "cosine")
# Noise that `nudge` adds, relative to a layer's root mean square: enough to leave a saddle in a few steps, small beside what is
# learned.
NUDGE = 1e-3


@dataclass(frozen=True)
class Schedule:
    """How many epochs a training takes, and its learning rate in each.

    Attributes
    ----------
    epochs : int
    rate : float
        The learning rate of the first epoch.
    shape : str
        One of `SCHEDULES`: "constant" (the paper names no other), or "cosine", by which the rate falls to 0 along half a cosine.

    Raises
    ------
    RecipeError
        If the shape is unknown.
    """

    epochs: int
    rate: float
    shape: str = "constant"

    def __post_init__(self) -> None:
        check_one_of("schedule", self.shape, SCHEDULES)

    def rate_in(self, epoch: int) -> float:
        """The learning rate of an epoch; the first is 0."""
        return half_cosine(self.rate, math.pi * epoch / self.epochs) if self.shape == "cosine" else self.rate


def half_cosine(rate: float, phase: float) -> float:
    """A learning rate that falls along half a cosine: all of `rate` at phase 0, nothing at phase π.

    >>> [round(half_cosine(2.0, phase), 12) for phase in (0.0, math.pi / 2, math.pi)]
    [2.0, 1.0, 0.0]
    """
    return rate * 0.5 * (1 + math.cos(phase))


def seeded_layers(shapes: Sequence[tuple[int, ...]], generator: torch.Generator) -> list[torch.Tensor]:
    """Glorot-uniform weights (Glorot and Bengio 2010); the last two axes of each shape are (inputs, outputs)."""
    layers = []
    for shape in shapes:
        bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        layers.append(((torch.rand(shape, generator=generator, dtype=DTYPE) * 2 - 1) * bound).requires_grad_())
    return layers


@contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: sums are then the same on every machine, and these products are too small to gain from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def to_arrays(layers: Sequence[torch.Tensor]) -> tuple[FloatArray, ...]:
    """Copies of some tensors as numpy arrays."""
    return tuple(layer.detach().numpy().copy() for layer in layers)


@torch.no_grad()
def nudge(layers: Sequence[torch.Tensor], seed: int) -> None:
    """Add a little seeded noise to each layer, `NUDGE` of its root mean square.

    If a matrix falls into parts, SP's model of it is a saddle point of the refinement's objective: the states of the parts that it
    leaves out are exactly 0, and so is every derivative that could change this. Noise leaves the saddle the same way everywhere.
    """
    rng = np.random.default_rng(seed)
    for layer in layers:
        layer += NUDGE * layer.square().mean().sqrt() * torch.from_numpy(rng.standard_normal(tuple(layer.shape)))


def train(
    layers: Sequence[torch.Tensor],
    loss_of: Callable[[], torch.Tensor],
    stage: str,
    schedule: Schedule,
    report: Report,
    cancelled: CancelCheck,
    *,
    look: Look | None = None,
    first_step: Callable[[], None] | None = None,
) -> TrainingLog:
    """Minimise `loss_of()` over `layers` by full-batch Adamax, in place.

    The layers end with the weights of the smallest loss, so a loss that is not finite ends the training but loses nothing.

    Parameters
    ----------
    stage : str
        The training's name in reports and in the log.
    look : callable, optional
        Passed on with every report.
    first_step : callable, optional
        Replaces the first step, for a start that is a saddle point (see `nudge`).

    Raises
    ------
    Cancelled
        When `cancelled()` returns true; it is asked before every epoch.
    """
    epochs = schedule.epochs
    optimizer = torch.optim.Adamax(layers, lr=schedule.rate)
    losses = np.empty(epochs + 1)

    def weights() -> list[torch.Tensor]:
        return [layer.detach().clone() for layer in layers]

    best = Best(weights())
    num_losses, diverged_at = epochs + 1, None
    for epoch in range(epochs + 1):
        check_cancelled(cancelled)
        optimizer.zero_grad()
        loss = loss_of()
        losses[epoch] = value = float(loss.detach())
        if not np.isfinite(value):
            num_losses, diverged_at = epoch, epoch
            break
        best.offer(value, weights)
        report(Progress(stage, epoch, epochs, value, look=look))
        if epoch == 0 and first_step is not None:
            first_step()
        elif epoch < epochs:
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.param_groups[0]["lr"] = schedule.rate_in(epoch)
            optimizer.step()
    with torch.no_grad():
        for layer, weight in zip(layers, best.value, strict=True):
            layer.copy_(weight)
    return TrainingLog(stage, losses[:num_losses], diverged_at)
