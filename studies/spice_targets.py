"""Check whether SPiCe's public targets agree with the training strings.

`python -m studies.spice_targets --data DIR [--problems 14,6]` prints, for each problem, NDCG5 of
n-grams on prefixes of held-out training strings and on the public prefixes. Then come two rankings
by the training strings' own frequencies, on the public prefixes with which at least `OFTEN`
training strings begin: what followed most often, and what followed one symbol later.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from nlwfa_core import NGram, Sample, Targets
from nlwfa_core.metrics.next_symbols import TOP
from nlwfa_core.metrics.ranking import END, NO_SYMBOL, prefix_score, score_ranking
from nlwfa_core.search.loop import hold_out
from nlwfa_core.search.mixing import held_out_prefixes
from nlwfa_core.sources.spice import read_prefixes, read_targets, targets_of
from nlwfa_core.sources.string_files import read_strings
from studies.competitions import read_problem

OFTEN = 20  # strings
ORDERS = range(1, 8)


def followers(train: Sample) -> dict[tuple[int, ...], Counter[int]]:
    """Count what follows each prefix of the strings, −1 for the end."""
    counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for word, count in zip(train.words, train.counts.tolist(), strict=True):
        for length in range(len(word) + 1):
            counts[word[:length]][word[length] if length < len(word) else END] += count
    return counts


def one_later(counts: dict[tuple[int, ...], Counter[int]], prefix: tuple[int, ...]) -> Counter[int]:
    """Count what follows a prefix and any one symbol after it."""
    later: Counter[int] = Counter()
    for symbol in counts[prefix]:
        if symbol != END:
            later.update(counts[(*prefix, symbol)])
    return later


def ranking(counters: list[Counter[int]]) -> np.ndarray:
    """Rank the most frequent symbols of each counter, shape (num_counters, TOP)."""
    rows = np.full((len(counters), TOP), NO_SYMBOL)
    for row, counter in zip(rows, counters, strict=True):
        best = [symbol for symbol, _ in counter.most_common(TOP)]
        row[: len(best)] = best
    return rows


def report(folder: Path, problem: int) -> None:
    """Print the figures of a problem."""
    train, public = read_problem("spice", folder, problem)
    own, held_out = hold_out(train, 0)
    beginnings = held_out_prefixes(held_out, 0)
    print(f"problem {problem}\norder  held out  public")
    for order in ORDERS:
        scores = (
            prefix_score(NGram.fit(own, order), beginnings).ndcg5,
            public(NGram.fit(train, order)),
        )
        print(f"{order:5d}  {scores[0]:8.4f}  {scores[1]:6.4f}")
    names = [
        folder / f"{problem}.spice.{kind}" for kind in ("train", "prefix.public", "target.public")
    ]
    alphabet = read_strings(names[0].read_bytes(), "pautomac").alphabet
    prefixes = read_prefixes(names[1].read_bytes(), "pautomac", alphabet)
    targets, _ = targets_of(
        read_targets(names[2].read_bytes(), prefixes.names), len(prefixes.words)
    )
    counts = followers(train)
    words = list(prefixes.words)
    rows = [row for row, word in enumerate(words) if counts[word].total() >= OFTEN]
    own_targets = _taken(targets, rows)
    for title, counters in (
        ("what follows", [counts[words[row]] for row in rows]),
        ("what follows one symbol later", [one_later(counts, words[row]) for row in rows]),
    ):
        print(
            f"{title} most often, on {len(rows):,} of {len(words):,}: "
            f"{score_ranking(ranking(counters), own_targets).ndcg5:.4f}"
        )


def _taken(targets: Targets, rows: list[int]) -> Targets:
    """Select the targets of some prefixes."""
    pairs = np.concatenate(
        [np.arange(targets.offsets[row], targets.offsets[row + 1]) for row in rows]
    )
    offsets = np.concatenate(
        ([0], np.cumsum([targets.offsets[row + 1] - targets.offsets[row] for row in rows]))
    )
    return Targets(
        targets.symbols[pairs], targets.probabilities[pairs], offsets, targets.best_gains[rows]
    )


def main() -> None:
    """Print the figures of all problems that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of SPiCe's files")
    parser.add_argument("--problems", default="14,6")
    arguments = parser.parse_args()
    for problem in arguments.problems.split(","):
        report(arguments.data, int(problem))


if __name__ == "__main__":
    main()
