"""Show classifiers of strings: a sentence that compares two, and the strings that only one of them
gets right.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..experiment.classifier import Confusion
from ..metrics.tables import Table
from ..rounding import format_share
from ..strings.words import LAMBDA, shortened

LEVEL = 0.05  # from this p value on two classifiers are called level


def accuracy_sentence(scores: Confusion) -> str:
    """Write the accuracy, its interval, and the accuracy of guessing."""
    interval = scores.interval()
    low = format_share(interval.low)
    high = format_share(interval.high)
    return (
        f"{scores.num_right:,} of {scores.num_strings:,} strings get their true label: "
        f"{format_share(scores.accuracy)} (95 % interval {low} to {high}). "
        f"Always choosing the commonest label would get {format_share(scores.majority)}."
    )


def verdict(scores: Mapping[str, Confusion]) -> str:
    """State which of two classifiers is ahead on the same strings, by McNemar's test."""
    (first, one), (second, other) = scores.items()
    gap = one.against(other)
    if gap.first_alone == gap.second_alone == 0:
        return f"{first} and {second} get the same strings right"
    alone = (
        f"{first} alone gets {gap.first_alone:,} strings right, {second} alone gets "
        f"{gap.second_alone:,}"
    )
    p = "p\u00a0<\u00a00.001" if gap.p_value < 0.001 else f"p\u00a0=\u00a0{gap.p_value:.2g}"
    if gap.p_value >= LEVEL:
        return f"{first} and {second} are level: {alone} ({p})"
    ahead = first if gap.first_alone > gap.second_alone else second
    return f"{ahead} is ahead: {alone} ({p})"


def alone_table(scores: Mapping[str, Confusion], most: int) -> Table:
    """List at most `most` strings that only one of two classifiers gets right, the most frequent
    first.
    """
    (first, one), (second, other) = scores.items()
    rows = []
    for label, (sample, is_right) in one.right.items():
        others = other.right[label][1]
        for index in np.flatnonzero(is_right != others).tolist():
            text = shortened(sample.words, index) or LAMBDA
            rows.append(
                (-int(sample.counts[index]), text, label, first if is_right[index] else second)
            )
    rows.sort()
    table: Table = {
        "string": [text for _, text, _, _ in rows[:most]],
        "true label": [label for _, _, label, _ in rows[:most]],
        "right alone": [name for _, _, _, name in rows[:most]],
        "occurs": [f"{-count:,}" for count, _, _, _ in rows[:most]],
    }
    return table
