"""Measure how long training to convergence takes to reach the final loss of the paper's optimiser,
and how it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np

from nlwfa_core.experiment.presets import PAPER, PRESETS
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.learning.assembly import mapped_rows
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import HANKEL_LEARNERS, BothNon, FacNon, TranNon
from nlwfa_core.learning.progress import Progress, TrainingLog, percentage
from nlwfa_core.learning.shared_options import Networks
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.steps.transitions import fit_transitions
from nlwfa_core.sources.dyck import Dyck

from .report import Comparison, Table
from .timing import Timing
from .work import Work

OPPONENT = "Adamax"
Training = Callable[[Networks, Callable[[Progress], None]], TrainingLog]


class ReachedAt:
    """Serves as a `report` callback that records when a loss was first reached."""

    def __init__(self, loss: float) -> None:
        self.loss = loss
        self.seconds = math.inf
        self.started = perf_counter()

    def __call__(self, progress: Progress) -> None:
        if progress.loss is not None and progress.loss <= self.loss and math.isinf(self.seconds):
            self.seconds = perf_counter() - self.started


def compare(
    name: str, training: Training, options: Networks, epochs: int, repeats: int
) -> Comparison:
    """Train once with the paper's optimiser for some epochs, then with L-BFGS until the loss is as
    low.
    """
    paper = options.changed(
        **PAPER
        | {"epochs_factorisation": epochs, "epochs_transitions": epochs, "schedule": "cosine"}
    )
    # loads what torch loads late
    training(paper.changed(epochs_factorisation=1, epochs_transitions=1), lambda progress: None)
    started = perf_counter()
    theirs = training(paper, lambda progress: None)
    seconds = perf_counter() - started
    ours = []
    note = f"their loss {theirs.losses.min():.3g}"
    for _ in range(repeats):
        reached = ReachedAt(float(theirs.losses.min()))
        log = training(options, reached)
        ours.append(min(reached.seconds, perf_counter() - reached.started))
    if math.isinf(reached.seconds):
        note += ", which ours does not reach"
    note += f"; ours ends at {log.losses.min():.3g} after {log.epochs:,} epochs"
    return Comparison(
        name, Timing(tuple(ours)), f"{OPPONENT}, {epochs:,} epochs", Timing((seconds,)), 50.0, note
    )


def to_the_same_loss(
    work: Work, hankel: HankelMatrix, ranks: Sequence[int], epochs: int, repeats: int
) -> list[Comparison]:
    """Compare both steps: the factorisation, and the transitions between states of SP and of our
    nonlinear factorisation.
    """
    rows: list[Comparison] = []
    maps = mapped_rows(hankel)

    def factorisation(options: Networks, report: Callable[[Progress], None]) -> TrainingLog:
        return fit_factorisation(hankel, options, report=report).log

    for rank in ranks:
        for coder in (FacNon, BothNon):
            called = work.name if rows else work.title
            name = f"{called}, k = {rank}, factorisation of {coder.name()}"
            rows.append(compare(name, factorisation, coder(rank=rank), epochs, repeats))
        for learner in (TranNon, BothNon):
            options = learner(rank=rank)
            latent = fit_factorisation(hankel, options).latent
            name = f"{work.name}, k = {rank}, transitions of {learner.name()}"

            def training(
                options: Networks, report: Callable[[Progress], None], latent: np.ndarray = latent
            ) -> TrainingLog:
                return fit_transitions(latent, maps, options, report=report)[1]

            rows.append(compare(name, training, options, epochs, repeats))
    return rows


def first_steps() -> Table:
    """Time all four learners on the lab's first experiment, and tabulate how each stage ended."""
    recipe = PRESETS["first-steps"][1]
    hankel = build_hankel(Dyck().sample(recipe.data.num_strings, seed=0), recipe.hankel)
    rows = []
    for learner in HANKEL_LEARNERS:
        started = perf_counter()
        logs = fit(hankel, learner, rank=recipe.learning.rank).report.logs
        seconds = perf_counter() - started
        rows.append([learner, f"{seconds:.2f}", "; ".join(map(ending, logs)) or "closed form"])
    note = "The percentages state by how much the last 100 epochs lowered the loss."
    return Table(
        "The first experiment, to convergence",
        columns=("learner", "seconds", "how it ended"),
        rows=rows,
        notes=[note],
    )


def ending(log: TrainingLog) -> str:
    """Write how a stage ended, and by how much its last epochs lowered the loss."""
    return f"{log.stage} {log.stopped}" + (
        f", {log.epochs:,} epochs, {percentage(log.decrease)}" if log.epochs else ""
    )
