"""An automaton as the lab's source of strings, and how many strings spectral learning needs to
learn it.

The lab has no source for it: the strings are drawn here and written as files, which a recipe takes
as uploads, with the automaton as the true model. A probabilistic automaton goes into a
PAutomaC model file; for others, whose entries may be negative, a solution file holds the
probabilities of the test strings.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from ...errors import RecipeError, check_at_least, listed
from ...experiment.recipe import UPLOADS, DataRecipe, reading_fields
from ...export.automaton_formats import pautomac
from ...hankel.basis import select_basis
from ...hankel.estimate import estimate_hankel
from ...learning.fitting import fit
from ...models.algebra import minimise
from ...models.wfa import WFA
from ...rounding import format_apart
from ...sources.pautomac import write_solution
from ...sources.random_automata import sample_words
from ...sources.reading import Reading
from ...strings.sample import Sample
from ...strings.words import Alphabet, FloatArray, Words
from .facts import all_words, longest_within

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
NUM_SEEDS = 5
TEST_STRINGS = 1_000
TEST_STREAM = 2  # of random numbers, as in `experiment.datasets`
BASIS = 30  # prefixes, and suffixes
COMPARED = 1_000  # strings, at most, whose weights are compared
MAX_LENGTH = 500  # symbols of a drawn string


@dataclass(frozen=True)
class SourceFile:
    """A file for the lab's store of uploads: its title, and its content."""

    title: str
    data: bytes


def source_files(
    wfa: WFA, num_strings: int, seed: int, name: str = "drawn"
) -> dict[str, SourceFile]:
    """Draw strings from an automaton, and write them with the truth. Returns a file for each field
    of a data recipe.

    A quarter more strings than `num_strings` are drawn, for validation. The strings are JSON lines,
    which can express any symbols; the numbers in the other files stand for the symbols in their
    order.

    Raises RecipeError if the automaton is not a probability distribution, a drawn string is too
    long, or a symbol occurs in no string.
    """
    check_at_least("num_strings", num_strings, 5)
    alphabet = wfa.alphabet or Alphabet.numbered(wfa.num_symbols)
    train = sample_words(wfa, num_strings + num_strings // 4, [seed], MAX_LENGTH)
    test = sample_words(wfa, TEST_STRINGS, [seed, TEST_STREAM], MAX_LENGTH)
    present = np.unique(np.concatenate((train.symbols, test.symbols))).tolist()
    emitted = wfa.transitions[:, wfa.useful_states].any(axis=(1, 2))
    missing = [
        alphabet.symbols[symbol]
        for symbol in np.flatnonzero(emitted).tolist()
        if symbol not in present
    ]
    if missing:
        raise RecipeError(
            f"no drawn string contains the symbol {listed(missing)}; draw more strings, or give "
            "its arrows more weight"
        )
    if not present:
        raise RecipeError(
            "every drawn string is empty, so there is nothing to learn from; give some "
            "weight to an arrow that "
            "leaves a state in which a string can begin"
        )
    files = {
        "upload": SourceFile(f"{name}, strings.jsonl", _json_lines(train, alphabet)),
        "upload_test": SourceFile(f"{name}, test strings.jsonl", _json_lines(test, alphabet)),
    }
    # The recipe's alphabet is that of the strings: symbols that none has are left out.
    narrow = WFA(wfa.initial, wfa.transitions[present], wfa.termination)
    try:
        files["upload_model"] = SourceFile(f"{name}, automaton.txt", pautomac(narrow).encode())
    except RecipeError:
        weights = np.maximum(wfa.weights(test), 0.0)
        files["upload_solution"] = SourceFile(
            f"{name}, probabilities.txt", write_solution(weights).encode()
        )
    return files


def source_recipe(
    recipe: DataRecipe, hashes: dict[str, str], num_strings: int, seed: int
) -> DataRecipe:
    """Make the data recipe of such files.

    `recipe`: the one whose other fields stay. `hashes`: field -> SHA-256 of its file.
    """
    return recipe.changed(
        **(dict.fromkeys(UPLOADS, "") | hashes),
        **reading_fields(Reading("json")),
        source="upload",
        num_strings=num_strings,
        num_validation=num_strings // 4,
        num_test=TEST_STRINGS,
        seed=seed,
    )


def _json_lines(words: Words, alphabet: Alphabet) -> bytes:
    return "".join(
        f"{json.dumps([alphabet.symbols[symbol] for symbol in word], ensure_ascii=False)}\n"
        for word in words
    ).encode()


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The errors of learned weights."""

    sizes: tuple[int, ...]  # numbers of strings
    # (num_sizes, num_seeds): Σ |f̂(x) − f(x)| over the strings that are compared
    errors: FloatArray
    rank: int  # the rank that was learned: the smallest number of states of f
    longest: int  # all strings of up to this many symbols are compared
    compared_mass: float  # Σ f(x) over these


def learning_curve(
    wfa: WFA, sizes: tuple[int, ...] = SIZES, num_seeds: int = NUM_SEEDS
) -> LearningCurve:
    """Learn an automaton back by spectral learning from samples of several sizes and seeds, and
    measure the error of its weights.

    The rank is the true one. The Hankel matrix has the 30 most frequent prefixes and suffixes of
    each sample. If a sample is too small for the rank, the largest possible rank is used.

    Raises RecipeError if the automaton is not a probability distribution, or a drawn string is too
    long.
    """
    alphabet = wfa.alphabet or Alphabet.numbered(wfa.num_symbols)
    rank = minimise(wfa).num_states
    longest = longest_within(len(alphabet), COMPARED, 30)
    words = all_words(len(alphabet), longest)
    truth = wfa.weights(words)
    errors = np.empty((len(sizes), num_seeds))
    for row, size in enumerate(sizes):
        for seed in range(num_seeds):
            sample = Sample.of(sample_words(wfa, size, [seed], MAX_LENGTH), alphabet)
            hankel = estimate_hankel(sample, select_basis(sample, BASIS, BASIS))
            learned = fit(hankel, learner="SP", rank=min(rank, *hankel.block.shape)).model
            errors[row, seed] = np.abs(learned.weights(words) - truth).sum()
    return LearningCurve(tuple(sizes), errors, rank, longest, float(truth.sum()))


def curve_sentence(curve: LearningCurve) -> str:
    """Explain in a sentence how fast the error falls."""
    first, last = (float(np.median(row)) for row in (curve.errors[0], curve.errors[-1]))
    times = curve.sizes[-1] / curve.sizes[0]
    before, after = format_apart(first, last, 2)
    return (
        f"With {curve.sizes[0]:,} strings the error is {before}, with {curve.sizes[-1]:,} it "
        f"is {after} (medians): "
        f"{first / last if last else np.inf:,.0f} times smaller with {times:,.0f} times as "
        "many strings. Statistical errors fall "
        f"like 1/√n, which would be {np.sqrt(times):,.0f} times."
    )
