"""Compare classifiers of strings: one model for each label, linear or nonlinear, an n-gram or a
GRU.

`python -m studies.classification [--sets tomita languages promoters] [--seeds 10]
[--learners SP HMM both.non 3-gram GRU] [--rank 3] [--strings 100]` prints, for each set of labels,
the accuracy of each learner on 100 other strings of each label: its mean over the seeds, its
smallest and largest, on how many seeds it is ahead of SP, and processor seconds.

The sets are Tomita's seven languages; words of five languages, the names of countries and of
languages in Babel's tables (`pip install babel`); and promoters of bacteria in the form of UCI's
set: 57 bases, random except for TTGACA and TATAAT at about their usual places, each base of which
is mutated with probability 0.2, against random ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

import numpy as np

from nlwfa_core.experiment.classifier import Classifier, fit_classifier
from nlwfa_core.learning.names import OBJECTIVES
from nlwfa_core.models.ngram import NGram
from nlwfa_core.sources.tomita import LANGUAGES, tomita_automaton

NUM_TEST = 100
Split = tuple[dict[str, list[str]], dict[str, list[str]]]


def tomita(num_strings: int, seed: int) -> Split:
    """Draw strings of the seven languages; a string may belong to several."""

    def drawn(number: int) -> list[str]:
        sample = tomita_automaton(number).sample(num_strings + NUM_TEST, 100 * seed + number)
        rows = np.repeat(np.arange(len(sample.words)), sample.counts)
        order = np.random.default_rng(seed).permutation(rows)
        return ["".join(map(str, sample.words[row])) for row in order.tolist()]

    return _split({f"Tomita {number}": drawn(number) for number in LANGUAGES}, num_strings)


def languages(num_strings: int, seed: int) -> Split:
    """Draw words, each once, of five languages."""
    from babel import Locale  # type: ignore[import-not-found, unused-ignore]

    drawn = {}
    for code in ("de", "en", "es", "fi", "pl"):
        names = " ".join([*Locale(code).territories.values(), *Locale(code).languages.values()])
        words = sorted({word.lower() for word in names.split() if word.isalpha() and len(word) > 3})
        order = np.random.default_rng(seed).permutation(len(words))
        drawn[code] = [words[index] for index in order[: num_strings + NUM_TEST].tolist()]
    return _split(drawn, num_strings)


def promoters(num_strings: int, seed: int) -> Split:
    """Generate promoters and other sequences of 57 bases."""
    rng = np.random.default_rng(seed)

    def bases(number: int) -> list[str]:
        return ["acgt"[base] for base in rng.integers(4, size=number).tolist()]

    def promoter() -> str:
        sequence = bases(57)
        for motif, place in (("ttgaca", 14), ("tataat", 37)):
            start = place + int(rng.integers(-2, 3))
            kept = rng.random(len(motif)) > 0.2
            for offset in np.flatnonzero(kept).tolist():
                sequence[start + offset] = motif[offset]
        return "".join(sequence)

    total = num_strings + NUM_TEST
    drawn = {
        "promoter": [promoter() for _ in range(total)],
        "other": ["".join(bases(57)) for _ in range(total)],
    }
    return _split(drawn, num_strings)


def _split(strings: Mapping[str, list[str]], num_strings: int) -> Split:
    train = {label: its[:num_strings] for label, its in strings.items()}
    return train, {label: its[num_strings:] for label, its in strings.items()}


SETS: dict[str, Callable[[int, int], Split]] = {
    "tomita": tomita,
    "languages": languages,
    "promoters": promoters,
}


def classifier(learner: str, train: Mapping[str, list[str]], rank: int) -> Classifier:
    """Learn a classifier by the name of a learner, perhaps with a statistic or an objective, such
    as "SP:factor" and "both.non:likelihood", or of an n-gram such as "3-gram".

    "truth" means the automata that Tomita's strings are drawn from.
    """
    if learner == "truth":
        automata = {number: tomita_automaton(number) for number in LANGUAGES}
        return Classifier.of({f"Tomita {number}": model for number, model in automata.items()})
    order, gram, _ = learner.partition("-gram")
    if gram:
        return Classifier.of({label: NGram.fit(its, int(order)) for label, its in train.items()})
    learner, _, how = learner.partition(":")
    fields: dict[str, Any] = {"objective" if how in OBJECTIVES else "statistic": how} if how else {}
    return fit_classifier(train, learner, rank, **fields).classifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--strings", type=int, default=100)
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument(
        "--learners", nargs="+", default=("SP", "HMM", "both.non:likelihood", "3-gram", "GRU")
    )
    arguments = parser.parse_args()
    print("| labels | model | accuracy | smallest, largest | ahead of SP | seconds |")
    print("|---|---|---|---|---|---|")
    for name in arguments.sets:
        accuracies: dict[str, list[float]] = {}
        for learner in arguments.learners:
            started = process_time()
            for seed in range(arguments.seeds):
                train, test = SETS[name](arguments.strings, seed)
                scores = classifier(learner, train, arguments.rank).score(test)
                accuracies.setdefault(learner, []).append(scores.accuracy)
            seconds = (process_time() - started) / arguments.seeds
            own = accuracies[learner]
            first = accuracies[arguments.learners[0]]
            ahead = sum(one > other for one, other in zip(own, first, strict=True))
            print(
                f"| {name} | {learner} | {np.mean(own):.3f} | {min(own):.3f}, {max(own):.3f} | "
                f"{ahead} of {len(own)} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
