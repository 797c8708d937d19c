"""The paper's claims about NL-WFA and SP, and verdicts on them from measured runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..metrics.seeds import Spread

# Learner -> x -> seed -> value.
Curves = Mapping[str, Mapping[int, Mapping[int, float]]]
NONLINEAR = ("fac.non", "tran.non", "both.non")
SIMILAR = 0.05  # bits of log₂ Pauto


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that compares NL-WFA with SP.

    Attributes
    ----------
    text : str
        The paper's words.
    metric : str
        The score that is compared; lower is better.
    low, high : int
        The range of ranks or sample sizes that the claim is about.
    similar : bool
        True if the paper says that both are alike, false if it says that NL-WFA is better.
    """

    text: str
    metric: str
    low: int
    high: int
    similar: bool = False


# The paper's text gives no numbers: the limits of "small" and "larger" are our reading.
CLAIMS = {
    "dyck-rank": (
        Claim("NL-WFA gives better results for small model sizes (Pautomac score)", "log2_pauto", 1, 5),
        Claim("NL-WFA gives better results for small model sizes (WER)", "wer", 1, 5),
        Claim("both perform similarly in the Pautomac score for larger model sizes", "log2_pauto", 10, 50, similar=True),
        Claim("NL-WFA clearly outperforms WFA in WER for larger model sizes", "wer", 10, 50),
    ),
    "dyck-samples": (
        Claim("NL-WFA achieves better results on small samples (Pautomac score)", "log2_pauto", 200, 1000),
        Claim("NL-WFA consistently outperforms the linear model for all sample sizes (WER)", "wer", 200, 20_000),
    ),
}


@dataclass(frozen=True)
class Comparison:
    """SP and the nonlinear learner with the best mean, at one rank or sample size.

    The best learner is chosen with hindsight, which favours NL-WFA a little.

    Attributes
    ----------
    x : int
        The rank or sample size.
    linear, nonlinear : Spread
        Over the seeds that both have.
    learner : str
        The name of the nonlinear learner.
    ahead, count : int
        The number of seeds in which the nonlinear learner's value is lower, and the number of all seeds.
    """

    x: int
    linear: Spread
    nonlinear: Spread
    learner: str
    ahead: int
    count: int


def compare(curves: Curves) -> list[Comparison]:
    """Compare at every x where SP and at least one nonlinear learner were run.

    >>> one = compare({"SP": {5: {0: math.inf, 1: 7.0}}, "fac.non": {5: {0: 8.0, 1: 7.5}}})[0]
    >>> one.learner, one.ahead, one.count
    ('fac.non', 1, 2)
    """
    comparisons = []
    for x, linear in sorted(curves.get("SP", {}).items()):
        by_learner = {name: by_x[x] for name in NONLINEAR if x in (by_x := curves.get(name, {}))}
        if not by_learner:
            continue
        learner = min(by_learner, key=lambda name: Spread.of(by_learner[name].values()).order)
        best = by_learner[learner]
        seeds = sorted(set(linear) & set(best))
        spreads = [Spread.of(values[seed] for seed in seeds) for values in (linear, best)]
        ahead = sum(best[seed] < linear[seed] for seed in seeds)
        comparisons.append(Comparison(x, spreads[0], spreads[1], learner, ahead, len(seeds)))
    return comparisons


def verdict(claim: Claim, comparisons: Sequence[Comparison], x_name: str, planned: Sequence[int]) -> str:
    """Say whether the runs agree with a claim, and at which x.

    NL-WFA is better where it is ahead in most seeds; both are similar where their means are close.

    Parameters
    ----------
    planned : sequence of int
        Every x of the experiment; the verdict lists those without runs.
    """
    relevant = [one for one in comparisons if claim.low <= one.x <= claim.high]
    if not relevant:
        return "not yet run"
    agreeing = [one.x for one in relevant if (_alike(one) if claim.similar else 2 * one.ahead > one.count)]
    answers = {
        "yes": agreeing,
        "no": [one.x for one in relevant if one.x not in agreeing],
        "not yet run": [x for x in planned if claim.low <= x <= claim.high and x not in {one.x for one in relevant}],
    }
    summary = "does not agree" if not agreeing else "agrees in part" if answers["no"] else "agrees"
    details = (f"{answer} at {x_name} {', '.join(f'{x:,}' for x in xs)}" for answer, xs in answers.items() if xs)
    return f"**{'so far ' * bool(answers['not yet run'])}{summary}** ({'; '.join(details)})"


def _alike(comparison: Comparison) -> bool:
    linear, nonlinear = comparison.linear, comparison.nonlinear
    if linear.mean is None or nonlinear.mean is None or linear.num_infinite or nonlinear.num_infinite:
        return False
    return math.fabs(linear.mean - nonlinear.mean) <= SIMILAR
