"""Measures the candidates of the recommended preset on PAutomaC, and which of them held-out strings
choose, by two scores.

`python -m benchmarks.pautomac --out runs.csv [--states 40] [--problems 3 24]` trains, for each
problem, what `fit_best` tries, on nine tenths of the training strings (networks whose short
training was best by either score are trained for long), and appends a line for each candidate: its
scores on the held-out tenth, and its perplexity on the test strings divided by the true model's.
Problems that are in the file are not run again. `--report` prints the table: the choice of each
score, compared with SP from all training strings with its best rank of 5, 10, 20, 40 in hindsight.
`NLWFA_DATA` is the folder of the problems.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.work import data_folder
from nlwfa_core import read_strings
from nlwfa_core.experiment.pipeline import build_hankel, fit_recipe
from nlwfa_core.experiment.recipe import HankelRecipe, Recipe
from nlwfa_core.experiment.selection import (
    LONG_STEPS,
    REGULARISATIONS,
    SHORT_STEPS,
    candidate_title,
    linear_candidates,
    network_candidates,
)
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.learning.learners import SP
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.scores import TestSet, evaluate
from nlwfa_core.models.model import Model
from nlwfa_core.sources.pautomac import read_solution
from nlwfa_core.strings.sample import Sample

PROBLEMS = (24, 3, 9, 7, 28, 42, 39, 1, 6, 33, 46, 16)
HINDSIGHT = (5, 10, 20, 40)
RULES = ("bits", "pauto")


def problem(number: int) -> tuple[Sample, TestSet]:
    """Read all training strings, and the test strings with their true probabilities."""
    train, test, solution = (
        (data_folder() / "pautomac" / f"{number}.{name}").read_bytes()
        for name in ("pautomac.train", "pautomac.test", "pautomac_solution.txt")
    )
    strings = read_strings(train, "pautomac")
    tested = read_strings(test, "pautomac", strings.alphabet)
    return strings.sample(), TestSet.as_drawn(
        tested.words, read_solution(solution), tested.sample()
    )


def ratio(model: Model, test: TestSet) -> float:
    """The perplexity on the test strings, divided by the true model's."""
    scores = evaluate(model, test)
    return float(2 ** (scores.log2_pauto - (scores.true_log2_pauto or np.nan)))


def lines(number: int, states: int) -> Iterator[dict[str, object]]:
    """Make a line for each candidate: its title, its stage, its scores."""
    whole, test = problem(number)
    train, held_out = whole.split(
        [whole.num_strings - whole.num_strings // 10, whole.num_strings // 10], seed=0
    )
    validation = TestSet.empirical(held_out)
    matrices: dict[HankelRecipe, tuple[HankelMatrix, FitCache]] = {}

    def line(candidate: Recipe, stage: str) -> dict[str, object]:
        if candidate.hankel not in matrices:
            matrices[candidate.hankel] = build_hankel(train, candidate.hankel), FitCache()
        hankel, cache = matrices[candidate.hankel]
        rank = min(candidate.learning.rank, hankel.num_prefixes, hankel.num_suffixes)
        possible = candidate.changed(learning=candidate.learning.changed(rank=rank))
        model = fit_recipe(possible, hankel, (train, held_out), cache).model
        scores = evaluate(model, validation)
        found = {
            "bits": scores.bits_per_symbol,
            "pauto": scores.log2_pauto,
            "test": ratio(model, test),
        }
        return {
            "problem": number,
            "states": states,
            "stage": stage,
            "candidate": candidate_title(candidate),
        } | found

    for candidate in linear_candidates(states):
        yield line(candidate, "linear")
    tried = []
    for candidate in network_candidates(states, train, SHORT_STEPS, REGULARISATIONS, 0):
        tried.append((candidate.refinement, line(candidate, "short")))
        yield tried[-1][1]
    best = {rule: min(tried, key=lambda entry: float(str(entry[1][rule])))[0] for rule in RULES}
    for dropout, weight_decay in dict.fromkeys(
        (third.dropout, third.weight_decay) for third in best.values()
    ):
        yield line(
            *network_candidates(states, train, LONG_STEPS, ((dropout, weight_decay),), 0), "long"
        )
    for statistic in ("string", "factor"):
        counted = HankelRecipe(num_prefixes=1000, num_suffixes=1000, statistic=statistic)
        hankel, cache = build_hankel(whole, counted), FitCache()
        for rank in HINDSIGHT:
            candidate = Recipe(hankel=counted, learning=SP(rank=rank))
            found = {
                "bits": np.nan,
                "pauto": np.nan,
                "test": ratio(fit_recipe(candidate, hankel, cache=cache).model, test),
            }
            yield {
                "problem": number,
                "states": states,
                "stage": f"hindsight {statistic}",
                "candidate": candidate_title(candidate),
            } | found


def report(runs: pd.DataFrame) -> None:
    """Write a table in Markdown, and a summary of it."""
    for states, group in runs.groupby("states"):
        print(f"\nUp to {states} states\n")
        print(
            "| problem | by bits | chosen | by Pautomac score | chosen | SP, string, "
            "hindsight | SP, factor, hindsight |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- |")
        table = []
        for number, found in group.groupby("problem"):
            tried = found[found["stage"].isin(("linear", "short", "long"))]
            chosen = [tried.loc[tried[rule].idxmin()] for rule in RULES]
            behind = [
                found.loc[found[found["stage"] == f"hindsight {name}"]["test"].idxmin()]
                for name in ("string", "factor")
            ]
            table.append(
                [*(entry["test"] for entry in chosen), *(entry["test"] for entry in behind)]
            )
            cells = [f"{entry['test']:.4f} | {entry['candidate']}" for entry in chosen] + [
                f"{entry['test']:.4f}" for entry in behind
            ]
            print(f"| {number} | {' | '.join(cells)} |")
        values = np.array(table)
        for place, rule in enumerate(("bits per symbol", "Pautomac score")):
            ours = values[:, place]
            no_worse = [
                int((np.round(ours, 4) <= np.round(values[:, 2 + other], 4)).sum())
                for other in (0, 1)
            ]
            print(
                f"\nBy {rule}: median {np.median(ours):.4f}, worst {ours.max():.4f}; no "
                "worse than SP with hindsight on "
                f"{no_worse[0]} (string) and {no_worse[1]} (factor) of {len(ours)}."
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--states", type=int, default=40)
    parser.add_argument("--problems", type=int, nargs="*", default=PROBLEMS)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    runs = (
        pd.read_csv(arguments.out)
        if arguments.out.exists()
        else pd.DataFrame({"problem": [], "states": []})
    )
    if arguments.report:
        report(runs)
        return
    for number in arguments.problems:
        if ((runs["problem"] == number) & (runs["states"] == arguments.states)).any():
            continue
        runs = pd.concat((runs, pd.DataFrame(lines(number, arguments.states))), ignore_index=True)
        runs.to_csv(arguments.out, index=False)
        print(f"problem {number}: {len(runs)} lines in {arguments.out}", flush=True)


if __name__ == "__main__":
    main()
