"""Compare networks that are trained by likelihood with SP, with PFA by EM (the linear model of the
same objective), with a 5-gram, an HMM and a GRU, rank by rank, on several samples of a source.

`python -m studies.networks_by_likelihood [--source dyck] [--first 711] [--seeds 10] [--ranks 8]
[--learners both.non] [--opponents SP PFA 5-gram]` prints for each rank the median and the worst of
the total variation, and of word error rate and bits per symbol above the true model's, the median
of the processor seconds, and on how many samples the network is ahead of each opponent. The seconds
of a network are those of its rank, given the ranks below it. SP learns from 100 × 100 strings, PFA
has 4 starts, a GRU as many units as the others have states.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.models.ngram import NGram
from nlwfa_core.strings.sample import Sample

SCORES = ("TV", "WER", "bits")
# five states and four symbols, or what the source has
SOURCES: dict[str, dict[str, Any]] = {
    "dyck": {},
    "hmm": {"num_states": 5, "num_symbols": 4},
    "pdfa": {"num_states": 5, "num_symbols": 4},
    "pfa": {"num_states": 5, "num_symbols": 4},
    "automaton": {"num_states": 5, "num_symbols": 4},
    "tomita4": {"source": "tomita", "grammar": 4},
    "tomita6": {"source": "tomita", "grammar": 6},
}

# name -> (training strings, rank) -> the model
OPPONENTS: dict[str, Callable[[Sample, int], Any]] = {
    "SP": lambda train, rank: fit(train, "SP", rank),
    "PFA": lambda train, rank: fit(train, "PFA", rank, starts=4),
    "5-gram": lambda train, _: NGram.fit(train, 5),
    "HMM": lambda train, rank: fit(train, "HMM", rank),
    "GRU": lambda train, rank: fit(train, "GRU", rank),
}


def compared(
    data: Data, ranks: int, learners: Sequence[str], opponents: Sequence[str]
) -> Iterator[tuple[int, str, tuple[float, ...]]]:
    """Learn the models of all ranks; yield the rank, the name and a row of each: its scores, and
    seconds.
    """
    assert data.true_model is not None
    true = evaluate(data.true_model, data.test)
    cache = FitCache()
    for rank in range(1, ranks + 1):
        models: dict[str, Callable[[], Any]] = {
            name: partial(OPPONENTS[name], data.train, rank) for name in opponents
        }
        for learner in learners:
            models[learner] = partial(
                fit, data.train, learner, rank, objective="likelihood", cache=cache
            )
        for name, learn in models.items():
            started = process_time()
            model = learn()
            seconds = process_time() - started
            scores = evaluate(model, data.test)
            variation = np.nan if scores.total_variation is None else scores.total_variation
            wer = scores.wer - true.wer
            bits = scores.bits_per_symbol - true.bits_per_symbol
            yield rank, name, (variation, wer, bits, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--source", choices=SOURCES, default="dyck")
    parser.add_argument("--learners", nargs="+", default=("both.non",))
    parser.add_argument(
        "--opponents", nargs="+", choices=OPPONENTS, default=("SP", "PFA", "5-gram")
    )
    for name, default in (("first", 711), ("seeds", 10), ("ranks", 8), ("strings", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    fields = {"source": arguments.source, **SOURCES[arguments.source]}
    rows = defaultdict[tuple[int, str], list[tuple[float, ...]]](list)
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        sizes = {"num_strings": arguments.strings, "num_test": 2_000}
        data = load_data(DataRecipe(seed=seed, **sizes, **fields))
        for rank, name, row in compared(
            data, arguments.ranks, arguments.learners, arguments.opponents
        ):
            rows[rank, name].append(row)
        print(f"{arguments.source}, seed {seed} done", flush=True)
    for (rank, name), values in rows.items():
        table = np.array(values)
        parts = [
            f"{score} {np.median(column):.3f}, {column.max():.3f}"
            for score, column in zip(SCORES, table.T, strict=False)
        ]
        line = f"k = {rank}, {name}: {'; '.join(parts)}; {np.median(table[:, 3]):.1f} s"
        if name in arguments.learners:
            for other in arguments.opponents:
                ahead = (table < np.array(rows[rank, other])).sum(axis=0)[:3].tolist()
                line += f"; ahead of {other} on {', '.join(map(str, ahead))}"
        print(line)


if __name__ == "__main__":
    main()
