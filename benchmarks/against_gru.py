"""Compare the training of networks by likelihood, rank by rank, with that of a GRU with as many
units.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.recurrent_networks import Training, fit_recurrent
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.strings.sample import Sample

from .report import Comparison
from .timing import Timing
from .work import Work

OPPONENT = "GRU, torch.nn"


def ranks(work: Work, largest: int, training: Training) -> Sequence[Comparison]:
    """Train `both.non` by likelihood at ranks 1 … `largest`, and a GRU with as many units, once
    each, and time them in processor seconds. The seconds of a rank are those that it takes once the
    ranks below it are done.
    """
    train = work.sample()
    test = TestSet.empirical(Sample.of(work.words, work.alphabet))
    cache = FitCache()
    rows = []
    for rank in range(1, largest + 1):
        started = process_time()
        network = fit(train, "both.non", rank, objective="likelihood", cache=cache).model
        ours = process_time() - started
        started = process_time()
        gru = fit_recurrent(train, "GRU", rank, training)
        theirs = process_time() - started
        bits = [evaluate(model, test).bits_per_symbol for model in (network, gru)]
        rows.append(
            Comparison(
                f"{work.name}, {len(work.train):,} strings, k = {rank}",
                Timing((ours,)),
                OPPONENT,
                Timing((theirs,)),
                None,
                f"not equal, but scored: {bits[0]:.3f} and {bits[1]:.3f} bits per symbol",
            )
        )
    return rows
