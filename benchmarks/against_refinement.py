"""Compare an epoch of the refinement by likelihood with a plain recurrent training on the same
batches.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

import numpy as np
import torch

from nlwfa_core.learning.learners import SP
from nlwfa_core.learning.refine.likelihood import DIVISIONS, refine_likelihood
from nlwfa_core.learning.shared_options import Refined
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import ConditionalReading
from nlwfa_core.strings.sample import Sample

from .against_plain import OPPONENT, Clock
from .checks import equal_arrays
from .plain_refinement import Batch, Network, Training
from .report import Comparison
from .timing import clocked, interleave
from .work import Work

CHECKED_EPOCHS = 2
TIMED_EPOCHS = 4


def start(num_states: int, num_symbols: int, width: int) -> NLWFA:
    """Make a random network of the recommended kind: one layer for each map, one hidden layer
    before the softmax.
    """
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> np.ndarray:
        bound = (6 / sum(shape[-2:])) ** 0.5
        return rng.uniform(-bound, bound, size=shape)

    maps = (drawn(num_symbols, num_states, num_states),)
    output = drawn(width, num_symbols + 1)
    initial = rng.uniform(-0.5, 0.5, num_states)
    return NLWFA(
        initial,
        maps,
        (drawn(num_states, width),),
        output,
        True,
        True,
        ConditionalReading("softmax", normalised=True),
    )


def plain_training(model: NLWFA, options: Refined, dtype: torch.dtype) -> Training:
    trained, averaged = (
        Network(model.initial, model.transitions[0], model.decoder, model.output, dtype)
        for _ in range(2)
    )
    return Training(
        trained,
        averaged,
        options.epochs_refinement,
        options.rate_refinement,
        options.weight_decay,
    )


def refinement(epochs: int, batch: int) -> Refined:
    """Return the options of a refinement by likelihood."""
    return SP(refine="likelihood", epochs_refinement=epochs, batch=batch, weight_decay=0.5)


def batch_of(sample: Sample) -> Batch:
    """Make a batch of the strings as drawn, with repetitions."""
    return Batch(
        list(chain.from_iterable(map(repeat, sample.words, sample.counts.tolist()))),
        sample.num_symbols,
    )


def epochs(work: Work, rank: int, repeats: int, num_judges: int, batch: int = 250) -> Comparison:
    """Time epochs of both sides on the same batches, including the bits per symbol of the
    validation strings.
    """
    drawn = work.sample()
    train, judges = drawn.split([drawn.num_strings - num_judges, num_judges], 0)
    model = start(rank, drawn.num_symbols, rank)
    count = max(1, round(train.num_strings / batch))
    parts = [
        train.split([train.num_strings // count] * count, number) for number in range(DIVISIONS)
    ]
    batches = [[batch_of(part) for part in division] for division in parts]
    judging = batch_of(judges)

    def refined(num_epochs: int, report: Callable[..., None]) -> np.ndarray:
        options = refinement(num_epochs, batch)
        return refine_likelihood(model, train, judges, options, report)[1].losses[1:]

    checking = refinement(CHECKED_EPOCHS, batch)
    plain = plain_training(model, checking, torch.float64)
    theirs = np.array(
        [
            plain.epoch(number, batches[number % DIVISIONS], judging)
            for number in range(CHECKED_EPOCHS)
        ]
    )
    error = equal_arrays(
        "bits per symbol after each epoch",
        refined(CHECKED_EPOCHS, lambda progress: None),
        theirs,
        1e-6,
    )

    def turn() -> float:
        clock = Clock()
        refined(TIMED_EPOCHS, clock)
        return clock.epoch("refinement")

    timed = plain_training(model, checking, torch.float32)
    ours, others = interleave([turn, clocked(lambda: timed.epoch(0, batches[0], judging))], repeats)
    title = (
        f"epoch, {work.name}: {train.num_strings:,} strings in batches of {batch}, "
        f"{num_judges:,} for validation, k = {rank}"
    )
    checked = f"bits per symbol after each of {CHECKED_EPOCHS} epochs: 1e-6 ({error:.0e})"
    return Comparison(title, ours, f"{OPPONENT}, padded batches", others, None, checked)
