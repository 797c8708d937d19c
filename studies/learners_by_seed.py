"""Compare SP with the three networks, trained to convergence, on Dyck strings, seed by seed.

`python -m studies.learners_by_seed [--ranks 5 10 20] [--seeds 10] [--strings 20000] [--basis 1000]
[--optimizer lbfgs] [--starts 1]` prints a line for each model, and then, for each rank and network,
on how many seeds it is ahead of SP in each score. All learn from counts of whole strings (statistic
"string"); nothing is refined. The score above the truth is the model's log₂ Pautomac score minus
the true model's.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from time import perf_counter

import numpy as np
from scipy import stats

from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import HANKEL_LEARNERS
from nlwfa_core.learning.names import STEP_OPTIMIZERS
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.evaluate import evaluate

SCORES = ("WER", "log₂ Pauto above the truth", "bits per symbol")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ranks", type=int, nargs="+", default=(5, 10, 20))
    for name, default in (("seeds", 10), ("strings", 20_000), ("basis", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--optimizer", choices=STEP_OPTIMIZERS, default="lbfgs")
    parser.add_argument("--starts", type=int, default=1)
    arguments = parser.parse_args()
    training = {"optimizer": arguments.optimizer, "starts": arguments.starts}
    scores = defaultdict[tuple[int, str], list[tuple[float, ...]]](list)
    for seed in range(arguments.seeds):
        data = load_data(DataRecipe(num_strings=arguments.strings, num_test=2_000, seed=seed))
        hankel = build_hankel(
            data.train, HankelRecipe(num_prefixes=arguments.basis, num_suffixes=arguments.basis)
        )
        truth = evaluate(data.true_model, data.test).log2_pauto if data.true_model else 0.0
        for rank in arguments.ranks:
            cache = FitCache()
            for learner in HANKEL_LEARNERS:
                started = perf_counter()
                learned = fit(hankel, learner, rank=rank, cache=cache, **training)
                seconds = perf_counter() - started
                one = evaluate(learned.model, data.test)
                scores[rank, learner].append((one.wer, one.log2_pauto - truth, one.bits_per_symbol))
                values = "  ".join(f"{value:.4g}" for value in scores[rank, learner][-1])
                ends = "; ".join(log.summary for log in learned.report.logs)
                print(
                    f"seed {seed}, k = {rank}, {learner}: {values}, {seconds:.1f} s; {ends}",
                    flush=True,
                )
    for (rank, learner), rows in scores.items():
        ours = np.array(rows)
        linear = np.array(scores[rank, "SP"])
        counts = (ours < linear).sum(axis=0).tolist()
        ahead = ", ".join(f"{name} {count}" for name, count in zip(SCORES, counts, strict=True))
        gain = linear[:, 0] - ours[:, 0]
        half = (
            stats.t.ppf(0.975, max(len(gain) - 1, 1))
            * gain.std(ddof=min(1, len(gain) - 1))
            / np.sqrt(len(gain))
        )
        print(
            f"k = {rank}, {learner}: means {', '.join(f'{mean:.4g}' for mean in ours.mean(axis=0))}"
        )
        print(
            f"    ahead of SP on {len(rows)} seeds: {ahead}; WER lower by {gain.mean():.4f} "
            f"± {half:.4f}"
        )


if __name__ == "__main__":
    main()
