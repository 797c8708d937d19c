"""Judge the paper's claims about NL-WFA and SP by measured runs.

Models are compared by paired differences, seed by seed, because the strings of two seeds differ
more than two models on the same strings. The network that is compared with SP is chosen for each
seed by its validation strings, never by test scores.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nlwfa_core.metrics.intervals import CONFIDENCE, Interval
from nlwfa_core.metrics.seeds import paired_t_interval, signed_rank_interval

# x -> seed -> value of a score, where x is a rank or a sample size.
Curve = Mapping[int, Mapping[int, float]]
Curves = Mapping[str, Curve]  # learner -> its curve
SIMILAR = 0.05  # two models are similar if their log₂ Pauto differs by at most this many bits
MIN_SEEDS = 5  # with fewer seeds, every claim is undecided
UNDECIDED = "undecided"
NOT_RUN = "not yet run"


@dataclass(frozen=True)
class Claim:
    """Holds a sentence of the paper that compares NL-WFA with SP.

    Attributes
    ----------
    text : str
        The sentence, in the paper's words and shortened.
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


# The paper does not say which sizes are "small" and "larger": these limits are our interpretation.
CLAIMS = {
    "dyck-rank": (
        Claim(
            "NL-WFA gives better results for small model sizes (Pautomac score)", "log2_pauto", 1, 5
        ),
        Claim("NL-WFA gives better results for small model sizes (WER)", "wer", 1, 5),
        Claim(
            "NL-WFA and WFA perform similarly in the Pautomac score for larger model sizes",
            "log2_pauto",
            10,
            50,
            similar=True,
        ),
        Claim("NL-WFA clearly outperforms WFA in WER for larger model sizes", "wer", 10, 50),
    ),
    "dyck-samples": (
        Claim(
            "NL-WFA achieves better results on small samples (Pautomac score)",
            "log2_pauto",
            200,
            1000,
        ),
        Claim(
            "NL-WFA consistently outperforms the linear model for all sample sizes (WER)",
            "wer",
            200,
            20_000,
        ),
    ),
}


@dataclass(frozen=True)
class Difference:
    """Holds by how much a model is ahead of another one, in a score for which lower is better.

    Attributes
    ----------
    interval : Interval
        The mean over seeds of the other model's score minus this model's score, with its interval:
        positive if this model is ahead. If a score is ∞, this is the interval of the signed-rank
        test.
    ahead : int
        The number of seeds in which this model is ahead.
    count : int
        The number of seeds in which both models were run.
    """

    interval: Interval
    ahead: int
    count: int

    @classmethod
    def of(cls, model: Mapping[int, float], other: Mapping[int, float]) -> Difference | None:
        """Compare the values of two models, seed -> value; None if they share no seed.

        >>> Difference.of({0: 1.0, 1: 1.0}, {0: 2.0, 1: 4.0, 2: 9.0})
        Difference(interval=Interval(estimate=2.0, low=-10.706204736174694, high=14.706204736174694), ahead=2, count=2)
        """  # noqa: E501
        seeds = sorted(set(model) & set(other))
        if not seeds:
            return None
        scores = [other[seed] for seed in seeds], [model[seed] for seed in seeds]
        interval = paired_t_interval(*scores, CONFIDENCE)
        if math.isinf(interval.estimate):
            interval = signed_rank_interval(*scores, CONFIDENCE)
        return cls(
            interval, sum(theirs > own for theirs, own in zip(*scores, strict=True)), len(seeds)
        )

    @property
    def sign(self) -> int:
        """Return 1 if the model is ahead, −1 if behind, 0 if the interval contains 0 or there are
        fewer than MIN_SEEDS seeds.
        """
        if self.count < MIN_SEEDS:
            return 0
        return int(self.interval.low > 0) - int(self.interval.high < 0)

    def text(self, form: str = ".3f") -> str:
        """Write the mean ± half the width of its interval.

        >>> one_seed = Difference(Interval(0.5, -math.inf, math.inf), 1, 1)
        >>> Difference(Interval(-0.0125, -0.0165, -0.0085), 0, 10).text(), one_seed.text()
        ('−0.013 ± 0.004', '0.500')
        """
        if not math.isfinite(self.interval.estimate):
            return str(self.interval.estimate).replace("-", "−").replace("inf", "∞")
        half = (self.interval.high - self.interval.low) / 2
        margin = f" ± {half:{form}}" if math.isfinite(half) else ""
        return f"{self.interval.estimate:{form}}{margin}".replace(
            "-", "−", 1 if self.interval.estimate < 0 else 0
        )


@dataclass(frozen=True)
class Comparison:
    """Holds the comparison of the network that validation strings choose with other models, at one
    rank or sample size.

    Attributes
    ----------
    x : int
        The rank or sample size.
    chosen : dict
        Seed -> score of the network chosen for that seed.
    choices : dict
        Network -> the number of seeds for which it was chosen.
    linear : Difference
        By how much the chosen network is ahead of SP.
    networks : dict
        Network -> by how much this network is ahead of SP in all seeds, chosen or not.
    baselines : dict
        Baseline -> by how much the chosen network is ahead of this baseline.
    """

    x: int
    chosen: Mapping[int, float]
    choices: Mapping[str, int]
    linear: Difference
    networks: Mapping[str, Difference]
    baselines: Mapping[str, Difference]

    @property
    def baselines_ahead(self) -> list[str]:
        """List the baselines that are ahead of the chosen network."""
        return [name for name, difference in self.baselines.items() if difference.sign < 0]

    def answer(self, similar: bool) -> str:
        """Answer whether NL-WFA is better than SP (with `similar`: whether both are alike): "yes",
        "no" or UNDECIDED.

        A "yes" also needs a network that is ahead of all baselines, because a model that is worse
        than these is of no use, even if SP is worse still. Otherwise the answer names the baselines
        that are ahead.
        """
        if self.linear.count < MIN_SEEDS:
            return UNDECIDED
        if similar:
            low = self.linear.interval.low
            high = self.linear.interval.high
            holds = low >= -SIMILAR and high <= SIMILAR
            fails = low > SIMILAR or high < -SIMILAR
        else:
            holds = self.linear.sign > 0
            fails = self.linear.sign < 0
        if fails:
            return "no"
        if not holds:
            return UNDECIDED
        if self.baselines_ahead:
            return (
                f"{'similar' if similar else 'ahead of SP'}, but behind "
                f"{' and '.join(map(model_name, self.baselines_ahead))},"
            )
        return (
            "yes"
            if all(difference.sign > 0 for difference in self.baselines.values())
            else UNDECIDED
        )


def chosen_network(
    values: Curves, validation: Curves, x: int
) -> tuple[dict[int, float], dict[str, int]]:
    """Choose for each seed the network with the best score on the validation strings; of tied
    networks, the first.

    Parameters
    ----------
    values, validation : Curves
        The scores of all networks on the test strings, and on the validation strings.

    Returns
    -------
    dict
        Seed -> test score of the chosen network, for the seeds in which all networks were run.
    dict
        Network -> the number of seeds for which it was chosen.
    """
    seeds = sorted(
        set.intersection(
            *(set(values[name].get(x, ())) & set(validation[name].get(x, ())) for name in values)
        )
    )
    choices = {
        seed: min(values, key=lambda name: _order(validation[name][x][seed])) for seed in seeds
    }
    return {seed: values[name][x][seed] for seed, name in choices.items()}, dict(
        Counter(choices.values())
    )


def compare(
    linear: Curve, values: Curves, validation: Curves, baselines: Curves
) -> list[Comparison]:
    """Compare the networks with SP and with baselines at every x where all of them were run.

    >>> curves = {"fac.non": {5: {0: 0.4, 1: 0.6}}, "tran.non": {5: {0: 0.3, 1: 0.5}}}
    >>> [one] = compare(
    ...     {5: {0: 0.6, 1: 0.6}},
    ...     curves,
    ...     {"fac.non": {5: {0: 1, 1: 1}}, "tran.non": {5: {0: 2, 1: 0}}},
    ...     {},
    ... )
    >>> one.chosen, one.choices, one.linear.ahead
    ({0: 0.4, 1: 0.5}, {'fac.non': 1, 'tran.non': 1}, 2)
    """
    comparisons = []
    for x, spectral in sorted(linear.items()):
        chosen, choices = chosen_network(values, validation, x)
        difference = Difference.of(chosen, spectral)
        if not difference:
            continue
        networks = {
            name: own
            for name in values
            if (own := Difference.of(values[name].get(x, {}), spectral))
        }
        others = {
            name: own
            for name in baselines
            if (own := Difference.of(chosen, baselines[name].get(x, {})))
        }
        comparisons.append(Comparison(x, chosen, choices, difference, networks, others))
    return comparisons


def verdict(
    claim: Claim, comparisons: Sequence[Comparison], x_name: str, planned: Sequence[int]
) -> str:
    """Write whether the runs agree with a claim, and at which ranks or sample sizes.

    Parameters
    ----------
    planned : sequence of int
        All ranks or sample sizes of the experiment; the verdict also lists those without runs.
    """
    answers = {
        one.x: one.answer(claim.similar) for one in comparisons if claim.low <= one.x <= claim.high
    }
    if not answers:
        return NOT_RUN
    missing = [x for x in planned if claim.low <= x <= claim.high and x not in answers]
    answers |= dict.fromkeys(missing, NOT_RUN)
    return (
        f"**{'so far ' * bool(missing)}{summary(answers.values())}** ({by_answer(answers, x_name)})"
    )


def summary(answers: Iterable[str]) -> str:
    """Summarise the answers at several ranks or sample sizes.

    >>> (
    ...     summary(["yes", "yes"]),
    ...     summary(["yes", "no"]),
    ...     summary(["no", UNDECIDED]),
    ...     summary([UNDECIDED, NOT_RUN]),
    ... )
    ('agrees', 'agrees in part', 'does not agree', 'undecided')
    """
    every = set(answers) - {NOT_RUN}
    if "yes" in every:
        return "agrees" if every == {"yes"} else "agrees in part"
    return "undecided" if every <= {UNDECIDED} else "does not agree"


def by_answer(answers: Mapping[int, str], x_name: str) -> str:
    """List for each answer the ranks or sample sizes at which it was given.

    >>> by_answer({1: "yes", 5: "no", 10: "yes"}, "k =")
    'yes at k = 1, 10; no at k = 5'
    """
    order = sorted(
        set(answers.values()),
        key=lambda answer: (answer == NOT_RUN, answer != "yes", answer == UNDECIDED, answer),
    )
    at = {
        answer: ", ".join(f"{x:,}" for x in sorted(answers) if answers[x] == answer)
        for answer in order
    }
    return "; ".join(f"{answer} at {x_name} {xs}" for answer, xs in at.items())


def _order(value: float) -> float:
    return math.inf if math.isnan(value) else value


def model_name(line: str) -> str:
    """Write the name of a reference model as part of a sentence.

    >>> model_name("uniform"), model_name("5-gram")
    ('the uniform model', 'the 5-gram')
    """
    return f"the {line} model" if line == "uniform" else f"the {line}"
