"""What the two training steps share: seeded weights, and the Adamax loop with its log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from ..errors import RecipeError
from ..strings.words import FloatArray
from .kernels import DTYPE
from .progress import CancelCheck, Look, Progress, Report, TrainingLog, check_cancelled

SCHEDULES = ("constant", "cosine")
# Of a layer's root mean square: large enough to leave a saddle in a few steps, small beside what is learned.
NUDGE = 1e-3


def seeded_layers(shapes: Sequence[tuple[int, ...]], generator: torch.Generator) -> list[torch.Tensor]:
    """Glorot-uniform weights (Glorot and Bengio 2010); the last two axes of each shape are (inputs, outputs)."""
    layers = []
    for shape in shapes:
        bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        layers.append(((torch.rand(shape, generator=generator, dtype=DTYPE) * 2 - 1) * bound).requires_grad_())
    return layers


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread: sums come out the same on every machine, and these products are too small to gain from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def to_arrays(layers: Sequence[torch.Tensor]) -> tuple[FloatArray, ...]:
    return tuple(layer.detach().numpy().copy() for layer in layers)


@torch.no_grad()
def nudge(layers: Sequence[torch.Tensor], seed: int) -> None:
    """Add a little noise from a seed to each layer, `NUDGE` of its root mean square.

    SP's model of a matrix that falls into parts is a saddle point of what refinement minimises: the states of the parts that it
    leaves out are exactly 0, and so is every derivative that could change this. Noise leaves the saddle the same way everywhere.
    """
    rng = np.random.default_rng(seed)
    for layer in layers:
        layer += NUDGE * layer.square().mean().sqrt() * torch.from_numpy(rng.standard_normal(tuple(layer.shape)))


def train(
    layers: Sequence[torch.Tensor],
    loss_of: Callable[[], torch.Tensor],
    *,
    stage: str,
    epochs: int,
    learning_rate: float,
    schedule: str,
    report: Report,
    cancelled: CancelCheck,
    look: Look | None = None,
    first_step: Callable[[], None] | None = None,
) -> TrainingLog:
    """Minimise `loss_of()` over `layers` by full-batch Adamax, in place.

    The weights of the smallest loss are kept, so a loss that is not finite ends the training without losing what was learned.

    Parameters
    ----------
    schedule : str
        One of `SCHEDULES`: the learning rate stays as it is (the paper names none other), or falls to 0 along half a cosine.
    look : callable, optional
        Passed on with every report.
    first_step : callable, optional
        Replaces the first step where the start is a saddle point (see `nudge`).

    Raises
    ------
    Cancelled
        When `cancelled()` answers true; it is asked before every epoch.
    """
    if schedule not in SCHEDULES:
        raise RecipeError(f"schedule: {schedule!r} given, allowed: {', '.join(SCHEDULES)}")
    optimizer = torch.optim.Adamax(layers, lr=learning_rate)
    losses = np.empty(epochs + 1)
    best_loss, best = np.inf, [layer.detach().clone() for layer in layers]
    done, diverged_at = epochs + 1, None
    for epoch in range(epochs + 1):
        check_cancelled(cancelled)
        optimizer.zero_grad()
        loss = loss_of()
        losses[epoch] = value = float(loss.detach())
        if not np.isfinite(value):
            done, diverged_at = epoch, epoch
            break
        if value < best_loss:
            best_loss = value
            for layer, kept in zip(layers, best, strict=True):
                kept.copy_(layer.detach())
        report(Progress(stage, epoch, epochs, value, look=look))
        if epoch == 0 and first_step is not None:
            first_step()
        elif epoch < epochs:
            loss.backward()  # type: ignore[no-untyped-call]
            if schedule == "cosine":
                optimizer.param_groups[0]["lr"] = learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
            optimizer.step()
    with torch.no_grad():
        for layer, kept in zip(layers, best, strict=True):
            layer.copy_(kept)
    return TrainingLog(stage, losses[:done], diverged_at)
