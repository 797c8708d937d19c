"""What the paper claims, and how runs are held against it."""

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
    """A sentence of the paper about NL-WFA beside SP.

    Attributes
    ----------
    text : str
        As the paper says it.
    metric : str
        What is compared: lower is better.
    low, high : int
        The ranks or sample sizes that it is about.
    similar : bool
        Whether the paper says that they are alike; else that NL-WFA is better.
    """

    text: str
    metric: str
    low: int
    high: int
    similar: bool = False


# The paper gives no numbers in its text: where "small" ends is our reading.
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
    """SP beside the nonlinear learner of the best mean, at one rank or size: chosen with hindsight, so it flatters NL-WFA a little.

    Attributes
    ----------
    x : int
    linear, nonlinear : Spread
        Over the seeds that both have.
    learner : str
        The nonlinear one.
    ahead, count : int
        In how many seeds its value is lower, of how many.
    """

    x: int
    linear: Spread
    nonlinear: Spread
    learner: str
    ahead: int
    count: int


def compare(curves: Curves) -> list[Comparison]:
    """At every x where SP and some nonlinear learner were run.

    >>> one = compare({"SP": {5: {0: math.inf, 1: 7.0}}, "fac.non": {5: {0: 8.0, 1: 7.5}}})[0]
    >>> one.learner, one.ahead, one.count
    ('fac.non', 1, 2)
    """
    rows = []
    for x, linear in sorted(curves.get("SP", {}).items()):
        others = {name: by_x[x] for name in NONLINEAR if x in (by_x := curves.get(name, {}))}
        if not others:
            continue
        learner = min(others, key=lambda name: Spread.of(others[name].values()).order)
        seeds = sorted(set(linear) & set(others[learner]))
        best = others[learner]
        sides = [Spread.of(values[seed] for seed in seeds) for values in (linear, best)]
        ahead = sum(best[seed] < linear[seed] for seed in seeds)
        rows.append(Comparison(x, sides[0], sides[1], learner, ahead, len(seeds)))
    return rows


def verdict(claim: Claim, rows: Sequence[Comparison], x_name: str, planned: Sequence[int]) -> str:
    """Whether runs agree with a claim: at each x, most seeds ahead, or means that are close.

    Parameters
    ----------
    planned : sequence of int
        Every x of the experiment; the verdict says at which of them nothing was run.
    """
    about = [row for row in rows if claim.low <= row.x <= claim.high]
    yes = [row.x for row in about if (_alike(row) if claim.similar else 2 * row.ahead > row.count)]
    places = {
        "yes": yes,
        "no": [row.x for row in about if row.x not in yes],
        "not yet run": [x for x in planned if claim.low <= x <= claim.high and x not in {row.x for row in about}],
    }
    if not about:
        return "not yet run"
    word = "does not agree" if not yes else "agrees in part" if places["no"] else "agrees"
    where = (f"{answer} at {x_name} {', '.join(f'{x:,}' for x in xs)}" for answer, xs in places.items() if xs)
    return f"**{'so far ' * bool(places['not yet run'])}{word}** ({'; '.join(where)})"


def _alike(row: Comparison) -> bool:
    if row.linear.mean is None or row.nonlinear.mean is None or row.linear.num_infinite or row.nonlinear.num_infinite:
        return False
    return math.fabs(row.linear.mean - row.nonlinear.mean) <= SIMILAR
