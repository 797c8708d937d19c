"""Compare state merging, AALpy's ALERGIA and ours: time, states found and the score of the model,
on strings of random PDFAs.

Results are not checked for equality: ALERGIA compares two states symbol by symbol, by Hoeffding's
bound with the parameter ε; ours compares all that follows, by likelihood.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nlwfa_core import WFA, Alphabet, Sample, TestSet, evaluate
from nlwfa_core.learning.merging import PDFATraining, fit_pdfa
from nlwfa_core.sources.random_automata import random_pdfa, sample_words
from nlwfa_core.strings.words import Words

from .opponents import Opponents
from .report import Table
from .timing import clocked, interleave

# AALpy's default, the best found by hand, and 10 divided by the length of the data
EPSILONS = (0.05, 0.5, "auto")
MOST_STATES = 200
NUM_SYMBOLS = 4
ALPHABET = Alphabet.numbered(NUM_SYMBOLS)


def table(
    opponents: Opponents | None, sizes: tuple[int, ...], num_strings: int, repeats: int
) -> Table:
    """Measure the time from the same strings to a model, its states, and its score on the same test
    strings.
    """
    title = f"State merging: strings of random PDFAs, {num_strings:,} strings, |Σ| = {NUM_SYMBOLS}"
    columns = (
        "true states",
        "learner",
        "ms",
        "AALpy's time / ours",
        "states",
        "log₂ Pauto above the true model's",
        "test strings with weight 0",
    )
    if opponents is None:
        return Table(title, notes=["Skipped: AALpy's environment is not set up."])
    rows = []
    for size in sizes:
        truth = random_pdfa(size, NUM_SYMBOLS, 2)
        train, words = (
            sample_words(truth, number, seed) for number, seed in ((num_strings, 0), (1000, 1))
        )
        sample = Sample.of(train, ALPHABET)
        test = TestSet.as_drawn(words, truth.weights(words), Sample.of(words, ALPHABET))
        ours = fit_pdfa(sample, MOST_STATES, PDFATraining())
        (timing,) = interleave([clocked(lambda train=train: _learn(train))], repeats)
        rows.append([size, "ours", timing.median * 1e3, 1.0, ours.num_states, *_scores(ours, test)])
        for epsilon in EPSILONS:
            seconds, theirs = _alergia(opponents, train, epsilon)
            name = f"AALpy's ALERGIA, ε = {epsilon}"
            rows.append(
                [
                    size,
                    name,
                    seconds * 1e3,
                    seconds / timing.median,
                    theirs.num_states,
                    *_scores(theirs, test),
                ]
            )
    notes = [
        "Both learn from the same strings. AALpy learns a stochastic Mealy machine with a single "
        "input, whose outputs are the symbols and the end; this is a PDFA. Scores are on 1,000 "
        "test strings as drawn, with their exact probabilities. AALpy ran once for each row."
    ]
    return Table(title, columns=columns, rows=rows, notes=notes)


def _learn(train: Words) -> WFA:
    return fit_pdfa(Sample.of(train, ALPHABET), MOST_STATES, PDFATraining())


def _scores(model: WFA, test: TestSet) -> tuple[float, int]:
    scores = evaluate(model, test)
    assert scores.true_log2_pauto is not None
    return scores.log2_pauto - scores.true_log2_pauto, scores.num_zero


def _alergia(opponents: Opponents, train: Words, epsilon: float | str) -> tuple[float, WFA]:
    """Return the seconds of AALpy's learning, and its model as a WFA."""
    with TemporaryDirectory() as folder:
        file, answer_file = (str(Path(folder, name)) for name in ("work.npz", "model.npz"))
        np.savez(file, train_symbols=train.symbols, train_offsets=train.offsets)
        seconds = opponents.seconds(
            "alergia", file=file, out=answer_file, epsilon=epsilon, num_symbols=NUM_SYMBOLS
        )
        with np.load(answer_file) as arrays:
            moves = arrays["moves"]
            ends = arrays["ends"]
    return seconds, WFA(np.eye(len(ends))[0], moves, ends, alphabet=ALPHABET)
