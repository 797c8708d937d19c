"""Compare training steps, whole training runs and the default lesson with a plain implementation of
the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
import torch

from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.learning.learners import BothNon
from nlwfa_core.learning.progress import Progress
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.steps.transitions import fit_transitions

from . import plain
from .checks import equal_arrays
from .plain import AutoEncoder, PlainHankel
from .report import Comparison
from .timing import Timing, clocked, interleave, keeping_memory, on_two_threads
from .work import Work

OPPONENT = "plain PyTorch, float32"
CHECKED_STEPS = 5
DEFAULT_EPOCHS = (1000, 500)


class Clock:
    """A report callback that records the time of every epoch of every stage."""

    def __init__(self) -> None:
        self.marks: dict[str, list[tuple[int, float]]] = {}

    def __call__(self, progress: Progress) -> None:
        self.marks.setdefault(progress.stage, []).append((progress.step, perf_counter()))

    def epoch(self, stage: str) -> float:
        """Median seconds of an epoch."""
        steps, times = np.array(self.marks[stage]).T
        return float(np.median(np.diff(times) / np.diff(steps)))


def dense(hankel: HankelMatrix) -> PlainHankel:
    """The dense H, with a row for every uσ; zero rows, which the core shares, are repeated."""
    prefixes = hankel.num_prefixes
    shifted = hankel.shifted.astype(np.int64)
    outside = np.flatnonzero(shifted.ravel() >= prefixes)
    rows = np.concatenate((np.arange(prefixes), shifted.ravel()[outside]))
    own = shifted.ravel().copy()
    own[outside] = prefixes + np.arange(len(outside))
    return PlainHankel(hankel.matrix[rows].toarray(), own.reshape(shifted.shape), prefixes)


def counting(work: Work, statistic: str, repeats: int) -> Comparison:
    """Time basis selection and Hankel estimation of prefixes or factors; the plain program is given
    the basis.
    """
    hankel = work.counted(work.sample(), statistic)
    words = list(work.train)
    basis = list(hankel.basis.prefixes), list(hankel.basis.suffixes)

    def count() -> PlainHankel:
        return plain.count_anywhere(words, len(work.alphabet), *basis, statistic)

    ours = dense(hankel)
    theirs = count()
    equal_arrays("rows of u and each symbol", ours.shifted, theirs.shifted, 0)
    equal_arrays("Hankel matrix", ours.matrix, theirs.matrix, 1e-12)
    timings = interleave(
        (clocked(lambda: work.counted(work.sample(), statistic)), clocked(count)), repeats
    )
    checked = f"{ours.matrix.size:,} cells, 1e-12"
    return Comparison(
        f"{statistic}, {work.title}",
        timings[0],
        "plain Python, dictionaries",
        timings[1],
        None,
        checked,
    )


def transition_options(latent: np.ndarray, epochs: int) -> BothNon:
    """Return the paper's options of step 2."""
    return BothNon(rank=latent.shape[1], **PAPER | {"epochs_transitions": epochs})


def factorisation_options(rank: int, epochs: int, hidden: tuple[int, ...] = (2, 1, 2)) -> BothNon:
    """Return the paper's options of step 1."""
    return BothNon(rank=rank, hidden=hidden, **PAPER | {"epochs_factorisation": epochs})


def initial_weights(
    hankel: HankelMatrix, rank: int, hidden: tuple[int, ...] = (2, 1, 2)
) -> tuple[np.ndarray, ...]:
    """Return the core's initial weights."""
    start = fit_factorisation(hankel, factorisation_options(rank, 0, hidden))
    return start.encoder + start.decoder


def check_factorisation(
    hankel: HankelMatrix, full: PlainHankel, rank: int, hidden: tuple[int, ...]
) -> str:
    """Check the losses of some steps, and every weight after them: a gradient off by 1e-5 would
    change the weights by more.
    """
    ours = fit_factorisation(hankel, factorisation_options(rank, CHECKED_STEPS, hidden))
    coder = AutoEncoder(full.matrix, initial_weights(hankel, rank, hidden), True, torch.float64)
    losses = coder.training.run(CHECKED_STEPS)
    error = equal_arrays("factorisation losses", ours.log.losses, np.array(losses), 1e-5)
    for mine, theirs in zip(ours.encoder + ours.decoder, coder.layers, strict=True):
        error = max(
            error, equal_arrays("weights after some steps", mine, theirs.detach().numpy(), 1e-6)
        )
    return f"losses, weights of {CHECKED_STEPS} steps: 1e-6 ({error:.0e})"


def check_transitions(latent: np.ndarray, hankel: HankelMatrix, full: PlainHankel) -> str:
    """Check the transitions as `check_factorisation` does, for all symbols together."""
    start, _ = fit_transitions(latent, hankel.shifted, transition_options(latent, 0))
    layers, log = fit_transitions(latent, hankel.shifted, transition_options(latent, CHECKED_STEPS))
    trainings = plain.transition_trainings(every_row(latent, hankel, full), full, start, True)
    losses = np.sum([training.run(CHECKED_STEPS) for training in trainings], axis=0)
    error = equal_arrays("transition losses", log.losses, losses, 1e-5)
    for number, mine in enumerate(layers):
        theirs = np.stack([training.layers[number].detach().numpy() for training in trainings])
        error = max(error, equal_arrays("transition weights after some steps", mine, theirs, 1e-6))
    return f"losses, weights of {CHECKED_STEPS} steps: 1e-6 ({error:.0e})"


def every_row(latent: np.ndarray, hankel: HankelMatrix, full: PlainHankel) -> torch.Tensor:
    """Our latent rows, in the row order of the plain matrix."""
    rows = np.empty(len(full.matrix), dtype=np.int64)
    rows[: full.num_prefixes] = np.arange(full.num_prefixes)
    rows[full.shifted.ravel()] = hankel.shifted.ravel()
    return torch.from_numpy(latent[rows])


def factorisation_side(
    hankel: HankelMatrix, rank: int, hidden: tuple[int, ...], epochs: int
) -> Callable[[], float]:
    """Make a side whose turn is a short training through the public function; it returns the median
    seconds of an epoch.
    """

    def turn() -> float:
        clock = Clock()
        fit_factorisation(hankel, factorisation_options(rank, epochs, hidden), report=clock)
        return clock.epoch("factorisation")

    return turn


def transitions_side(latent: np.ndarray, hankel: HankelMatrix, epochs: int) -> Callable[[], float]:
    """Make the same side for the transitions of all symbols."""

    def turn() -> float:
        clock = Clock()
        fit_transitions(latent, hankel.shifted, transition_options(latent, epochs), report=clock)
        return clock.epoch("transitions")

    return turn


def steps(
    hankel: HankelMatrix, rank: int, repeats: int, target: float | None, two_threads: bool = False
) -> list[Comparison]:
    """Time one factorisation step: loss, gradient, Adamax."""
    hidden = (2, 1, 2)
    full = dense(hankel)
    checked = check_factorisation(hankel, full, rank, hidden)
    coder = AutoEncoder(full.matrix, initial_weights(hankel, rank), True, torch.float32)
    step = clocked(coder.training.step)
    variants = {OPPONENT: step, f"{OPPONENT}, memory kept": keeping_memory(step)}
    if two_threads:
        variants[f"{OPPONENT}, memory kept, two threads"] = keeping_memory(on_two_threads(step))
    ours, *others = interleave(
        [factorisation_side(hankel, rank, hidden, 20), *variants.values()], repeats
    )
    rows, columns = full.matrix.shape
    work = (
        f"factorisation step, {rows:,} × {columns:,}, {hankel.matrix.nnz:,} non-zeros, k = {rank}"
    )
    named = zip(variants, others, (target, None, None), strict=False)
    return [
        Comparison(work, ours, opponent, theirs, wanted, checked)
        for opponent, theirs, wanted in named
    ]


def training(
    work: Work, hidden: tuple[int, ...], repeats: int, epochs: int, target: float | None
) -> list[Comparison]:
    """Time the whole training of both.non: some epochs, extrapolated."""
    hankel = work.counted(work.sample())
    rank = work.rank
    full = dense(hankel)
    checked = check_factorisation(hankel, full, rank, hidden)
    start = fit_factorisation(hankel, factorisation_options(rank, epochs, hidden))
    checked_too = check_transitions(start.latent, hankel, full)
    coder = AutoEncoder(full.matrix, initial_weights(hankel, rank, hidden), True, torch.float32)
    layers, _ = fit_transitions(start.latent, hankel.shifted, transition_options(start.latent, 0))
    trainings = plain.transition_trainings(
        every_row(start.latent, hankel, full).float(), full, layers, True
    )

    def plain_transitions() -> None:
        for one in trainings:
            one.step()

    sides = (
        factorisation_side(hankel, rank, hidden, epochs),
        clocked(coder.training.step),
        transitions_side(start.latent, hankel, epochs),
        clocked(plain_transitions),
    )
    ours, theirs, ours_too, theirs_too = interleave(sides, repeats)
    first, second = DEFAULT_EPOCHS
    totals = [
        Timing(tuple(first * a + second * b for a, b in zip(one.seconds, two.seconds, strict=True)))
        for one, two in ((ours, ours_too), (theirs, theirs_too))
    ]
    shape = (
        f"{work.name}, |Σ| = {len(work.alphabet)}, {full.matrix.shape[0]:,} × "
        f"{full.matrix.shape[1]}, k = {rank}, hidden {hidden}"
    )
    return [
        Comparison(f"factorisation epoch, {shape}", ours, OPPONENT, theirs, None, checked),
        Comparison(
            f"transitions epoch, {work.name}", ours_too, OPPONENT, theirs_too, None, checked_too
        ),
        Comparison(
            f"both.non, {work.name}, {first:,} + {second} epochs, extrapolated",
            totals[0],
            OPPONENT,
            totals[1],
            target,
            "as above",
        ),
    ]
