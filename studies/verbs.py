"""Compare networks by likelihood for many symbols with other models on verbs (SPiCe 4).

`python -m studies.verbs --data FOLDER [--ranks 10 20 50] [--learners both.non SP GRU]` prints the
word error rate and the bits per symbol of each model on the validation strings, and the processor
seconds of its training. `--problem N` learns from problem N of SPiCe instead and prints NDCG5 on
its public prefixes. FOLDER holds `spice/`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

from nlwfa_core import read_strings
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.learning.fitting import fit
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model, model_of
from nlwfa_core.models.ngram import NGram
from nlwfa_core.strings.sample import Sample

from .competitions import read_problem

NETWORKS = ("fac.non", "tran.non", "both.non")
BASIS = (1000, 300)  # prefixes and suffixes, for SP


def learned(
    train: Sample, learners: Sequence[str], ranks: Sequence[int]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each model, and how it is learned."""
    for order in (3, 5):
        yield f"{order}-gram", partial(NGram.fit, train, order)
    for rank in ranks:
        for learner in learners:
            name = f"{learner}, k = {rank}"
            if learner in NETWORKS:
                yield name, partial(fit, train, learner, rank, objective="likelihood")
            elif learner == "SP":
                basis = select_basis(train, *BASIS, "factor")
                hankel = estimate_hankel(train, basis, "factor")
                yield f"{name}, factors", partial(fit, hankel, "SP", rank)
            else:
                yield name, partial(fit, train, learner, rank)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=(10, 20, 50))
    parser.add_argument("--learners", nargs="+", default=("both.non", "SP", "GRU"))
    parser.add_argument("--problem", type=int)
    arguments = parser.parse_args()
    folder = arguments.data / "spice"
    train, score = (
        read_problem("spice", folder, arguments.problem) if arguments.problem else verbs(folder)
    )
    for name, learn in learned(train, arguments.learners, arguments.ranks):
        started = process_time()
        model = model_of(learn())
        seconds = process_time() - started
        scores = score(model)
        text = f"NDCG5 {scores:.3f}" if isinstance(scores, float) else scores
        print(f"{name}: {text}; {seconds:.0f} s", flush=True)


def verbs(folder: Path) -> tuple[Sample, Callable[[Model], str]]:
    """Read the training strings of the verbs, and return a function that scores a model."""
    train = read_strings(folder / "4.spice.dev.train").sample()
    strings = read_strings(folder / "4.spice.dev.validation").sample()
    test = TestSet.empirical(strings.in_alphabet(train.alphabet))

    def score(model: Model) -> str:
        scores = evaluate(model, test)
        return f"WER {scores.wer:.3f}, {scores.bits_per_symbol:.3f} bits"

    return train, score


if __name__ == "__main__":
    main()
