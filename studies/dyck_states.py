"""Compare NL-WFA, refined by likelihood, with every linear model of as many states on Dyck strings,
seed by seed.

`python -m studies.dyck_states [--states 5] [--strings 20000] [--seeds 10]` prints a line for
each seed, and means with 95 % intervals. The linear model is the best on the test strings of all
statistics and ranks up to the number of states: it is chosen with hindsight.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy import stats

from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.metrics.evaluate import evaluate, next_symbol_score
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.search.families.networks import refined

STEPS = 3_000
REGULARISATIONS = ((0.0, 0.0), (0.0, 0.3))  # pairs of dropout and weight decay
# Trainings from different seeds end in different models if there are few strings.
FEW_STRINGS = 1_000
STARTS_IF_FEW = 3
COLUMNS = (
    "NL-WFA WER",
    "linear WER",
    "true WER",
    "NL-WFA log₂ Pauto",
    "linear log₂ Pauto",
    "true log₂ Pauto",
)


def nonlinear(data: Data, states: int, seed: int) -> Scores:
    """Train refined networks.

    Validation strings decide when each stops, and choose the weight decay and, for few strings, the
    start.
    """
    validation = data.validation.sample if data.validation else data.train
    tried: list[tuple[float, int, Scores]] = []
    starts = STARTS_IF_FEW if data.train.num_strings <= FEW_STRINGS else 1
    for start in range(seed, seed + starts):
        for regularisation in REGULARISATIONS:
            candidate = refined(states, data.train, STEPS, regularisation, start)
            hankel = build_hankel(data.train, candidate.hankel)
            model = fit(hankel, candidate.learning, strings=data.train, validation=validation).model
            tried.append(
                (
                    next_symbol_score(model, validation).bits_per_symbol,
                    len(tried),
                    evaluate(model, data.test),
                )
            )
    return min(tried)[2]


def linear(data: Data, states: int) -> tuple[float, float]:
    """Compute the best word error rate and the best log₂ Pauto of spectral learning over statistics
    and ranks.
    """
    found = []
    for statistic in ("string", "prefix", "factor"):
        basis = HankelRecipe(num_prefixes=500, num_suffixes=500, statistic=statistic)
        hankel = build_hankel(data.train, basis)
        largest = min(states, hankel.num_prefixes, hankel.num_suffixes)
        models = [fit(hankel, "SP", rank=rank).model for rank in range(1, largest + 1)]
        found += [evaluate(model, data.test) for model in models]
    return min(scores.wer for scores in found), min(scores.log2_pauto for scores in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, default in (("states", 5), ("strings", 20_000), ("seeds", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    rows = []
    print("seed  " + "  ".join(COLUMNS))
    for seed in range(arguments.seeds):
        recipe = DataRecipe(
            num_strings=arguments.strings,
            num_validation=min(2_000, arguments.strings // 4),
            num_test=2_000,
            seed=seed,
        )
        data = load_data(recipe)
        ours = nonlinear(data, arguments.states, seed)
        theirs = linear(data, arguments.states)
        truth = evaluate(data.true_model, data.test) if data.true_model else ours
        rows.append((ours.wer, theirs[0], truth.wer, ours.log2_pauto, theirs[1], truth.log2_pauto))
        print(f"{seed:4d}  " + "  ".join(f"{value:.4f}" for value in rows[-1]), flush=True)
    table = np.array(rows)
    half = (
        stats.t.ppf(0.975, max(len(rows) - 1, 1)) * table.std(axis=0, ddof=1) / np.sqrt(len(rows))
    )
    for name, mean, interval in zip(COLUMNS, table.mean(axis=0), half, strict=True):
        print(f"{name:18}  {mean:.4f} ± {interval:.4f}")
    for name, a, b in (("WER", 0, 1), ("log₂ Pauto", 3, 4)):
        gain = table[:, b] - table[:, a]
        print(
            f"linear − NL-WFA, {name}: {gain.mean():.4f}, ahead on {int((gain > 0).sum())} "
            f"of {len(rows)} seeds"
        )


if __name__ == "__main__":
    main()
