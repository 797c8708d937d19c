"""Classify strings: one model for each label, and Bayes' rule.

A model of the strings of each label gives the probability of a string x under that label, P(x | y).
With P(y), the share of each label, P(y | x) is P(x | y) P(y) divided by its sum over the labels.
Training does not use the strings of other labels: the comparison is between models of strings,
linear and nonlinear alike (Li, Rabusseau, Precup 2018, §6, name classification as a next step).

P(x | y) is the product of the model's probabilities of next symbols, |scores| divided by their sum,
each raised to `floor` and divided by the sum again, as in `metrics.evaluate`. So one surprising
symbol costs a label 20 bits but does not rule it out. After a prefix that a model rules out, all
symbols are equally likely. With `floor=0`, one impossible symbol rules the label out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
from scipy.special import bdtr, logsumexp, ndtri

from ..errors import (
    RecipeError,
    check_between,
    check_one_of,
    check_type,
    check_types,
    listed,
    plural,
)
from ..hankel.estimate import build_hankel
from ..learning.fitting import MATRIX_FIELDS, Fit, fit, matrix_recipe
from ..learning.kinds import HankelLearner
from ..learning.learners import LEARNERS
from ..learning.names import COUNTS, PRIORS, UNIFORM
from ..learning.progress import CancelCheck, Report, never, silent
from ..learning.shared_options import LearnerOptions, called_options
from ..metrics.intervals import CONFIDENCE, Interval
from ..metrics.next_symbols import score_next_by_string
from ..models.mixture import check_models
from ..models.model import HasModel, Model, alphabet_of, model_of, scaled_next_scores
from ..models.unseen import extended
from ..rounding import on_one_thread
from ..strings.plain import SampleLike, WordLike, as_sample, as_words
from ..strings.sample import Sample
from ..strings.trie import batches
from ..strings.words import Alphabet, FloatArray, IntArray, Words, float64_array, in_order

FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Classifier:
    """A model for each label, and the shares of the labels.

    Attributes
    ----------
    labels : tuple of str, two or more
    models : tuple of Model, one for each label
        Each has an alphabet; the alphabets may differ.
    priors : array, shape (num_labels,)
        P(y): positive, with the sum 1.
    floor : float
        The smallest probability of a next symbol.

    Raises
    ------
    RecipeError
        If there are fewer than two labels, or two are equal; if there is not one model and one
        prior for each; if the priors are not positive with the sum 1; if `floor` is not between 0
        and 0.5; or if a model has no alphabet.

    Examples
    --------
    >>> from nlwfa_core import NGram
    >>> up, down = NGram.fit(["ab", "aab"], 2), NGram.fit(["ba"], 2)
    >>> classifier = Classifier.of({"up": up, "down": down})
    >>> classifier.predict(["ab", "ba"])
    ['up', 'down']
    """

    labels: tuple[str, ...]
    models: tuple[Model, ...]
    priors: FloatArray
    floor: float = FLOOR

    def __post_init__(self) -> None:
        check_type("labels", self.labels, tuple)
        _check_labels(self.labels)
        object.__setattr__(self, "models", check_models(self.models))
        object.__setattr__(self, "priors", float64_array("priors", self.priors))
        check_type("floor", self.floor, float)
        if len(self.models) != len(self.labels) or self.priors.shape != (len(self.labels),):
            raise RecipeError(
                f"{plural(len(self.labels), 'label')} need as many models and priors; got "
                f"{len(self.models)}, and priors of shape {self.priors.shape}"
            )
        check_between("floor", self.floor, 0, 0.5)
        if not (self.priors > 0).all() or abs(self.priors.sum() - 1) > 1e-9:
            raise RecipeError(f"priors must be positive and sum to 1; got {self.priors.tolist()}")
        missing = [
            label
            for label, model in zip(self.labels, self.models, strict=True)
            if alphabet_of(model) is None
        ]
        if missing:
            raise RecipeError(f"the model of {listed(missing)} has no alphabet")

    @classmethod
    @check_types
    def of(
        cls,
        models: Mapping[str, Model | HasModel],
        priors: Mapping[str, float] | None = None,
        floor: float = FLOOR,
    ) -> Classifier:
        """Make a classifier from models.

        A model without an alphabet knows its symbols by their numbers: "0", "1" …

        `priors`: in any unit, such as the number of strings of each label; without them, all labels
        are equally likely.

        Raises RecipeError if there are fewer than two labels, a label has no prior or one that is
        not positive, or the floor is not in 0 … 0.5.
        """
        labels = tuple(models)
        if priors is not None and priors.keys() != models.keys():
            raise RecipeError(
                f"priors must be for the labels {listed(labels)}; got {listed(list(priors))}"
            )
        shares = np.array([1.0 if priors is None else float(priors[label]) for label in labels])
        total = shares.sum()
        if len(labels) > 1 and not (np.isfinite(shares).all() and (shares > 0).all()):
            raise RecipeError(f"priors must be positive; got {shares.tolist()}")
        return cls(labels, tuple(map(_named, models.values())), shares / total, floor)

    @cached_property
    def alphabet(self) -> Alphabet:
        """Return the symbols of all models."""
        return _union(alphabet_of(model) for model in self.models)

    @check_types
    def log2_joint(self, strings: Sequence[WordLike] | Words) -> FloatArray:
        """log₂ P(x, y) of each string with each label, (num_strings, num_labels).

        −∞ if the label's model rules the string out, or has scores that are not finite.

        Raises RecipeError if a string is written in numbers, and one of them stands for no symbol.
        """
        words = _words(strings, self.alphabet)
        every = words.alphabet or self.alphabet
        logs = np.empty((len(words), len(self.labels)))
        for column, model in enumerate(self.models):
            bits = _bits(extended(model, every), words, self.floor)
            logs[:, column] = np.where(np.isnan(bits), -np.inf, -bits)
        return logs + np.log2(self.priors)

    @check_types
    def probabilities(self, strings: Sequence[WordLike] | Words) -> FloatArray:
        """P(y | x) of each string with each label, (num_strings, num_labels).

        A row is nan if all models rule the string out.

        Raises RecipeError if a string is written in numbers, and one of them stands for no symbol.
        """
        return _posteriors(self.log2_joint(strings))

    @check_types
    def predict(self, strings: Sequence[WordLike] | Words) -> list[str | None]:
        """Return the likeliest label of each string; of equally likely ones, the first.

        None if all models rule the string out.

        Raises RecipeError if a string is written in numbers, and one of them stands for no symbol.
        """
        joint = self.log2_joint(strings)
        return [
            self.labels[column] if np.isfinite(row[column]) else None
            for row, column in zip(joint, joint.argmax(axis=1).tolist(), strict=True)
        ]

    @check_types
    def score(self, strings: Mapping[str, SampleLike]) -> Confusion:
        """Count how often strings of each label get each label.

        `strings`: the strings of each label; labels without strings may be left out.

        Raises RecipeError if a label is unknown, or there are no strings.
        """
        unknown = [label for label in strings if label not in self.labels]
        if unknown:
            raise RecipeError(
                f"the classifier has the labels {listed(self.labels)}; got {listed(unknown)}"
            )
        samples = {
            label: as_sample(given, self.alphabet, label, extend=True)
            for label, given in strings.items()
            if not _is_empty(given)
        }
        if not samples:
            raise RecipeError("there are no strings to classify")
        counts = np.zeros((len(self.labels), len(self.labels) + 1), dtype=np.int64)
        bits = 0.0
        right = {}
        for label, sample in samples.items():
            row = self.labels.index(label)
            joint = self.log2_joint(sample.words)
            chosen = np.where(
                np.isfinite(joint.max(axis=1)), joint.argmax(axis=1), len(self.labels)
            )
            np.add.at(counts[row], chosen, sample.counts)
            with np.errstate(divide="ignore"):
                bits -= float(sample.counts @ np.log2(np.nan_to_num(_posteriors(joint)[:, row])))
            right[label] = sample, chosen == row
        return Confusion(self.labels, counts, bits / int(counts.sum()), right)


@dataclass(frozen=True, eq=False)
class Confusion:
    """The counts of strings by their own label and the label assigned to them.

    Attributes
    ----------
    labels : tuple of str
    counts : array of int, shape (num_labels, num_labels + 1)
        Rows are true labels, columns the assigned ones; the last column counts strings that all
        models rule out.
    bits_per_string : float
        The mean of −log₂ P(y | x) of the true label y; ∞ if one had the probability 0.
    """

    labels: tuple[str, ...]
    counts: IntArray
    bits_per_string: float
    right: Mapping[str, tuple[Sample, Any]]  # for each label, its strings and which were right

    @property
    def num_strings(self) -> int:
        """Return the number of strings, counting repeated ones."""
        return int(self.counts.sum())

    @property
    def num_right(self) -> int:
        """Return how many strings got their own label."""
        return int(np.trace(self.counts))

    @property
    def accuracy(self) -> float:
        """Return the share of strings that got their own label."""
        return self.num_right / self.num_strings

    @property
    def majority(self) -> float:
        """Return the accuracy of always giving the commonest of the true labels."""
        return int(self.counts.sum(axis=1).max()) / self.num_strings

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Compute the accuracy with Wilson's score interval (Wilson 1927), which treats the
        strings as independent draws.
        """
        share = self.accuracy
        number = self.num_strings
        z = float(ndtri((1 + confidence) / 2))
        middle = share + z**2 / (2 * number)
        half = z * math.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
        low, high = ((middle + sign * half) / (1 + z**2 / number) for sign in (-1, 1))
        return Interval(share, max(low, 0.0), min(high, 1.0))

    def against(self, other: Confusion) -> Disagreement:
        """Compare with another classifier on the same strings.

        Raises RecipeError if they are not the same.
        """
        alone = 0
        other_alone = 0
        if self.right.keys() != other.right.keys():
            raise RecipeError(
                "two classifiers must be compared on the same strings; got different ones"
            )
        for label, (sample, is_right) in self.right.items():
            other_sample, others = other.right[label]
            if list(sample) != list(other_sample) or (sample.counts != other_sample.counts).any():
                raise RecipeError(
                    "two classifiers must be compared on the same strings; got different ones"
                )
            alone += int(sample.counts @ (is_right & ~others))
            other_alone += int(sample.counts @ (others & ~is_right))
        return Disagreement(alone, other_alone)

    def __repr__(self) -> str:
        """Write the accuracy and the table."""
        table = "; ".join(
            f"{label}: {', '.join(map(str, row))}"
            for label, row in zip(self.labels, self.counts.tolist(), strict=True)
        )
        return f"<Confusion: accuracy {self.interval().text()} of {self.num_strings:,}; {table}>"


@dataclass(frozen=True)
class Disagreement:
    """The numbers of strings that only one of two classifiers gets right."""

    first_alone: int
    second_alone: int

    @property
    def p_value(self) -> float:
        """Compute how often the classifiers would differ this much if both were equally good:
        McNemar's test (1947), exact.
        """
        number = self.first_alone + self.second_alone
        fewer = min(self.first_alone, self.second_alone)
        return min(1.0, 2 * float(bdtr(fewer, number, 0.5)))


@dataclass(frozen=True, eq=False)
class ClassifierFit:
    """A learned classifier, and the fit of each label's model."""

    classifier: Classifier
    fits: Mapping[str, Fit]


@check_types
@on_one_thread
def fit_classifier(
    strings: Mapping[str, SampleLike],
    options: LearnerOptions | str | None = None,
    rank: int | None = None,
    *,
    priors: str | Mapping[str, float] = COUNTS,
    floor: float = FLOOR,
    alphabet: Alphabet | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
    **fields: Any,
) -> ClassifierFit:
    """Learn a model of the strings of each label, with the same options.

    >>> from nlwfa_core import fit_classifier
    >>> up, down = ["ab", "aab", "aabb"] * 5, ["ba", "bba", "bbaa"] * 5
    >>> learned = fit_classifier({"up": up, "down": down}, "SP", rank=2)
    >>> learned.classifier.predict(["aab", "bba"])
    ['up', 'down']
    >>> learned.classifier.score({"up": up, "down": down}).accuracy
    1.0

    Parameters
    ----------
    strings : mapping of label to Sample, or to strings as `strings.plain.as_sample` takes them
        Two labels or more.
    options, rank, fields
        As in `fitting.fit`. Where a label's strings have a smaller basis than the rank, its model
        has the largest rank that they allow.
    priors : str or mapping
        One of `PRIORS`, or a number for each label.
    floor : float
    alphabet : Alphabet, optional
        All symbols; without it, those of all labels' strings.
    report, cancelled
        As in `fitting.fit`.

    Raises
    ------
    RecipeError
        As `fitting.fit` does; or if there are fewer than two labels, or a label has no strings.
    """
    _check_labels(tuple(strings))
    if isinstance(priors, str):
        check_one_of("priors", priors, PRIORS)
    empty = [label for label, given in strings.items() if _is_empty(given)]
    if empty:
        raise RecipeError(f"each label needs strings; got none for {listed(empty)}")
    samples = _over_one_alphabet(strings, alphabet)
    counting = {name: fields.pop(name) for name in MATRIX_FIELDS if name in fields}
    settings = called_options(LEARNERS, options, rank, fields)

    def learned(sample: Sample) -> Fit:
        if not isinstance(settings, HankelLearner) or not settings.needs_hankel:
            return fit(sample, settings, report=report, cancelled=cancelled, **counting)
        hankel = build_hankel(sample, matrix_recipe(settings, counting))
        most = min(settings.rank, hankel.num_prefixes, hankel.num_suffixes)
        smaller = settings.changed(rank=most)
        return fit(hankel, smaller, strings=sample, report=report, cancelled=cancelled)

    fits = {label: learned(sample) for label, sample in samples.items()}
    if priors == UNIFORM:
        shares: Mapping[str, float] | None = None
    elif isinstance(priors, str):
        shares = {label: sample.num_strings for label, sample in samples.items()}
    else:
        shares = priors
    return ClassifierFit(Classifier.of(fits, shares, floor), fits)


def _check_labels(labels: Sequence[str]) -> None:
    for number, label in enumerate(labels):
        check_type(f"labels[{number}]", label, str)
    if len(labels) < 2:
        raise RecipeError(f"a classifier needs two labels or more; got {listed(labels) or 'none'}")
    if len(set(labels)) < len(labels):
        raise RecipeError(
            f"a classifier's labels must differ from each other; got {listed(labels)}"
        )


def _named(value: Model | HasModel) -> Model:
    """Return a model with an alphabet: its own, or the numbers of its symbols."""
    model: Any = model_of(value)
    if alphabet_of(model) is not None:
        return cast(Model, model)
    return cast(Model, replace(model, alphabet=Alphabet.numbered(model.num_symbols)))


def _is_empty(strings: SampleLike) -> bool:
    try:
        return not len(strings)  # type: ignore[arg-type]
    except TypeError:
        return False


def _union(alphabets: Iterable[Any]) -> Alphabet:
    """Join alphabets: the symbols of the first, then those of the others, in order."""
    first: Alphabet
    first, *others = alphabets
    new = set(chain.from_iterable(one.symbols for one in others)).difference(first.symbols)
    return first.extended(in_order(new)) if new else first


def _over_one_alphabet(
    strings: Mapping[str, SampleLike], alphabet: Alphabet | None
) -> dict[str, Sample]:
    """Make samples whose symbols have the same numbers.

    Raises RecipeError if a symbol is not in the alphabet that was passed, or labels differ in their
    symbol for the unknown.
    """
    samples = {label: as_sample(given, alphabet, label) for label, given in strings.items()}
    if alphabet is not None:
        return samples
    every = set(chain.from_iterable(sample.alphabet.symbols for sample in samples.values()))
    unknowns = {sample.alphabet.unknown for sample in samples.values()}
    if len(unknowns) > 1:
        raise RecipeError(
            "the strings of all labels need the same symbol for the unknown; got "
            f"{listed(sorted(map(str, unknowns)))}"
        )
    shared = Alphabet.of(every, *unknowns)
    return {label: sample.in_alphabet(shared) for label, sample in samples.items()}


def _words(strings: Sequence[WordLike] | Words, alphabet: Alphabet) -> Words:
    """Turn strings into words of an alphabet, to which their other symbols are added."""
    if isinstance(strings, Words):
        own = strings.alphabet
        if own is None or own == alphabet:
            return replace(strings, alphabet=own or alphabet)
        return strings.in_alphabet(_union((alphabet, own)))
    rows = list(strings)
    every = as_sample(rows, alphabet, "strings", extend=True).alphabet if rows else alphabet
    return as_words(rows, every)


def _bits(model: Model, words: Words, floor: float) -> FloatArray:
    """−log₂ P(x) by the model's probabilities of next symbols, the end included, (num_words,)."""
    own = alphabet_of(model)
    words = words.in_alphabet(own)
    bits = np.empty(len(words))
    for rows, trie in batches(words, model.num_symbols):
        scores, _ = scaled_next_scores(model, trie)
        bits[rows] = score_next_by_string(scores, trie, floor).bits
    return bits


def _posteriors(joint: FloatArray) -> FloatArray:
    """Divide probabilities by their sum, given their log₂: (num_strings, num_labels)."""
    with np.errstate(invalid="ignore"):
        logs = joint * np.log(2)
        posteriors: FloatArray = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    return posteriors
