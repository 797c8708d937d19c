"""Define estimators for scikit-learn: SP, networks and HMMs with `fit`, `predict`, `predict_proba`,
`score` and `sample`, and a classifier of strings.

They work with `clone`, `Pipeline`, `GridSearchCV` and `cross_val_score`. X is a list or Series of
strings, in any form that `strings.plain` takes.

`score` is minus the bits per symbol, so larger is better, with probabilities of next symbols raised
to `floor`: by default 1e-6. So one surprising symbol costs 20 bits, not ∞, and a grid search can
still distinguish models. The score then depends on the floor, which every estimator's repr shows.
With `floor=0`, the score is minus the bits per symbol of `evaluate`. It may then be −∞, which a
grid search ranks last; if all candidates have −∞, the first is chosen. It is nan if a score of the
model is not a finite number.

The estimators pass those checks of scikit-learn's `check_estimator` that are about parameters
(constructor, `get_params`, `set_params`, `clone`). Its other checks do not apply: they pass arrays
of numbers as X. Needs the extra [scikit-learn].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..errors import RecipeError, check_extra, check_one_of
from ..hankel.estimate import build_hankel
from ..hankel.recipe import HankelRecipe
from ..learning.fitting import fit
from ..learning.learners import LEARNERS, NETWORK_LEARNERS
from ..learning.names import COUNTS, OBJECTIVES
from ..metrics.evaluate import evaluate
from ..metrics.testset import TestSet
from ..models.model import (
    LogModel,
    Model,
    alphabet_of,
    next_distributions,
    scaled_next_scores,
)
from ..models.unseen import extended
from ..strings.plain import WordLike, as_sample, as_words
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Words
from .classifier import FLOOR, fit_classifier

check_extra("scikit-learn", "sklearn")
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.utils import Tags  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

Strings = Iterable[WordLike]
END = ""  # in `classes_`: the end of the string


class _StringEstimator(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """The methods that all estimators share.

    Each subclass defines `_learn`, which learns a model from a sample.
    """

    alphabet: Alphabet | Sequence[str] | None
    floor: float
    model_: Any

    def fit(self, X: Strings, y: object = None) -> Self:
        """Learn a model from strings; y is not used.

        Raises
        ------
        RecipeError
            If a parameter is out of range, or a string has a symbol that is not in `alphabet`.
        """
        alphabet = self.alphabet
        if not isinstance(alphabet, Alphabet | None):
            alphabet = Alphabet(tuple(alphabet))
        sample = as_sample(X, alphabet, "X")
        self.model_ = self._learn(sample)
        self.alphabet_ = sample.alphabet
        self.classes_ = np.array([*sample.alphabet.symbols, END], dtype=object)
        return self

    def _learn(self, sample: Sample) -> Model:
        raise NotImplementedError

    def predict_proba(self, X: Strings) -> FloatArray:
        """Compute the probabilities of what follows each string, (num_strings, num_symbols + 1), in
        the order of `classes_`.

        They are the model's |scores| of next symbols, divided by their sum. A row is nan if the
        model has no distribution there: all scores are 0, as after a symbol that the model does not
        know, or one is not a finite number.
        """
        scores = self._next_scores(X)
        probabilities = next_distributions(scores)
        probabilities[~_is_defined(scores)] = np.nan
        return probabilities

    def predict(self, X: Strings) -> npt.NDArray[np.object_]:
        """Guess the next symbol after each string, shape (num_strings,): "" for the end; of tied
        symbols, the first.

        It is the symbol with the highest score (not the highest absolute value), as in the word
        error rate. Where a score is negative, another one may have the highest probability in
        `predict_proba`. Where that has no distribution, there is no guess: None.
        """
        scores = self._next_scores(X)
        best: npt.NDArray[np.object_] = self.classes_[scores.argmax(axis=1)]
        best[~_is_defined(scores)] = None
        return best

    def _next_scores(self, X: Strings) -> FloatArray:
        """Compute the model's scores of what follows each string, shape (num_strings, num_symbols +
        1), up to a factor each.
        """
        model, words = self._over_all(X)
        trie = Trie.of(words, model.num_symbols)
        scores = scaled_next_scores(model, trie)[0][trie.ends]
        return scores[:, [*range(len(self.alphabet_)), -1]]

    def _over_all(self, X: Strings) -> tuple[Model, Words]:
        """Return the model and some strings over the same alphabet: symbols that the model does not
        know have the weight 0, unless they are read as its symbol for the unknown.
        """
        check_is_fitted(self)
        rows = X if isinstance(X, Sample | Words) else list(X)
        every = as_sample(rows, self.alphabet_, "X", extend=True).alphabet
        model = extended(self.model_, every)
        return model, as_words(rows, every).in_alphabet(alphabet_of(model))

    def score_samples(self, X: Strings) -> FloatArray:
        """log₂ |f(x)| of each string, shape (num_strings,); −∞ for 0."""
        model, words = self._over_all(X)
        if isinstance(model, LogModel):
            return model.log2_weights(words)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log2(np.abs(model.weights(words)))
        return logs

    def score(self, X: Strings, y: object = None) -> float:
        """Compute minus the bits per symbol of the strings, with their ends; probabilities below
        `floor` are raised to it.

        With `floor=0`, a single symbol that the model considers impossible makes the score −∞, and
        scikit-learn warns.
        """
        check_is_fitted(self)
        test = TestSet.empirical(as_sample(X, self.alphabet_, "X", extend=True))
        return -evaluate(self.model_, test, self.floor).bits_per_symbol

    def sample(self, n_samples: int = 1, seed: int = 0) -> list[str]:
        """Draw strings as text, sorted so that equal ones are adjacent.

        Raises RecipeError if some of them would not end.
        """
        check_is_fitted(self)
        drawn = self.model_.sample(n_samples, seed)
        written = ["" if not word else self.alphabet_.decode(word) for word in drawn.words]
        return [
            text
            for text, count in zip(written, drawn.counts.tolist(), strict=True)
            for _ in range(count)
        ]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Write the parameters that were changed, as scikit-learn does, and always the floor, on
        which `score` depends.
        """
        text: str = super().__repr__(N_CHAR_MAX)
        if f"floor={self.floor!r}" in text:
            return text
        start = text[:-1]
        end = text[-1]
        return f"{start}{'' if start.endswith('(') else ', '}floor={self.floor!r}{end}"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.target_tags.required = False
        return tags


def _is_defined(scores: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows of next-symbol scores can be normalised: all are finite, and not all
    are 0.
    """
    return np.asarray(np.isfinite(scores).all(axis=1) & scores.any(axis=1))


class SpectralWFA(_StringEstimator):
    """Spectral learning of a linear model (SP).

    Parameters
    ----------
    rank : int
    statistic : str
        What the Hankel matrix counts: "string", "prefix", "factor" or "suffix".
    num_prefixes, num_suffixes : int
        The size of the basis. If the strings have fewer, all are used, and the rank is lowered to
        what the basis allows.
    alphabet : Alphabet or sequence of str, optional
        All symbols, which may include one that stands for others (`Alphabet.of`); by default those
        of the training strings.
    floor : float
        The smallest probability of a next symbol in `score`, so one surprising symbol does not
        make it −∞; 0 for none.

    Attributes
    ----------
    model_ : WFA
    alphabet_ : Alphabet
    classes_ : array
        The symbols, and "" for the end of the string.

    Examples
    --------
    >>> model = SpectralWFA(rank=2, num_prefixes=10, num_suffixes=10).fit(["ab", "ab", "b", "abb"])
    >>> model.predict(["a", "ab"]).tolist(), model.predict_proba(["a"]).shape
    (['b', ''], (1, 3))
    >>> model
    SpectralWFA(num_prefixes=10, num_suffixes=10, rank=2, floor=1e-06)
    """

    def __init__(
        self,
        rank: int = 5,
        statistic: str = "string",
        num_prefixes: int = 100,
        num_suffixes: int = 100,
        alphabet: Alphabet | Sequence[str] | None = None,
        floor: float = FLOOR,
    ) -> None:
        self.rank = rank
        self.statistic = statistic
        self.num_prefixes = num_prefixes
        self.num_suffixes = num_suffixes
        self.alphabet = alphabet
        self.floor = floor

    def _learn(self, sample: Sample) -> Model:
        recipe = HankelRecipe(
            num_prefixes=self.num_prefixes, num_suffixes=self.num_suffixes, statistic=self.statistic
        )
        hankel = build_hankel(sample, recipe)
        rank = min(self.rank, hankel.num_prefixes, hankel.num_suffixes)
        return fit(hankel, "SP", rank=rank).model


class NonlinearWFA(_StringEstimator):
    """Networks trained on the Hankel matrix, NL-WFA (Li, Rabusseau, Precup 2018), or by likelihood,
    without a matrix.

    Parameters
    ----------
    learner : str
        "fac.non", "tran.non" or "both.non".
    objective : str
        "hankel" or "likelihood". By likelihood the parameters of the matrix, `statistic`,
        `num_prefixes` and `num_suffixes`, and `epochs` have no effect.
    epochs : int, optional
        The largest number of epochs of steps 1 and 2; by default, until they converge.
    seed : int
    rank, statistic, num_prefixes, num_suffixes, alphabet, floor
        As in `SpectralWFA`, but not "suffix". Prefix and factor statistics are counted with
        boundary symbols.

    Attributes
    ----------
    model_ : NLWFA
    alphabet_, classes_
        As in `SpectralWFA`.

    Examples
    --------
    >>> model = NonlinearWFA("fac.non", rank=3, num_prefixes=10, num_suffixes=10).fit(
    ...     ["ab", "ab", "b", "abb"]
    ... )
    >>> model.predict(["a"]).tolist()
    ['b']
    """

    def __init__(
        self,
        learner: str = "both.non",
        rank: int = 5,
        statistic: str = "string",
        num_prefixes: int = 100,
        num_suffixes: int = 100,
        alphabet: Alphabet | Sequence[str] | None = None,
        floor: float = FLOOR,
        epochs: int | None = None,
        seed: int = 0,
        objective: str = "hankel",
    ) -> None:
        self.learner = learner
        self.rank = rank
        self.statistic = statistic
        self.num_prefixes = num_prefixes
        self.num_suffixes = num_suffixes
        self.alphabet = alphabet
        self.floor = floor
        self.epochs = epochs
        self.seed = seed
        self.objective = objective

    def _learn(self, sample: Sample) -> Model:
        check_one_of("learner", self.learner, NETWORK_LEARNERS)
        check_one_of("objective", self.objective, OBJECTIVES)
        if self.objective == "likelihood":
            return fit(
                sample, self.learner, self.rank, objective="likelihood", seed=self.seed
            ).model
        recipe = HankelRecipe(
            num_prefixes=self.num_prefixes,
            num_suffixes=self.num_suffixes,
            statistic=self.statistic,
            bounded=self.statistic != "string",
        )
        hankel = build_hankel(sample, recipe)
        rank = min(self.rank, hankel.num_prefixes, hankel.num_suffixes)
        steps = ("epochs_factorisation", "epochs_transitions")
        epochs = {} if self.epochs is None else dict.fromkeys(steps, self.epochs)
        # a linear step, which is solved exactly, has no epochs
        learning = LEARNERS[self.learner].adapted(epochs, rank=rank, seed=self.seed)
        return fit(hankel, learning).model


class StringClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """One model for each label, and Bayes' rule (`experiment.classifier`).

    Parameters
    ----------
    learner : str
        One of `LEARNERS`, such as "SP", "both.non", "HMM" or "GRU".
    rank : int
    options : mapping, optional
        Further fields of the learner and of its matrix, such as `{"objective": "likelihood"}`.
    priors : str
        "counts", the labels' shares of the training strings, or "uniform".
    floor : float
        The smallest probability of a next symbol.

    Attributes
    ----------
    classifier_ : Classifier
    classes_ : array
        The labels, in order.

    Examples
    --------
    >>> X, y = ["ab", "aab", "ba", "bba"] * 5, ["up", "up", "down", "down"] * 5
    >>> StringClassifier("SP", rank=2).fit(X, y).predict(["aab"]).tolist()
    ['up']
    """

    def __init__(
        self,
        learner: str = "SP",
        rank: int = 5,
        options: Mapping[str, Any] | None = None,
        priors: str = COUNTS,
        floor: float = FLOOR,
    ) -> None:
        self.learner = learner
        self.rank = rank
        self.options = options
        self.priors = priors
        self.floor = floor

    def fit(self, X: Strings, y: Sequence[Any]) -> Self:
        """Learn a model of the strings of each label.

        Raises RecipeError if there are fewer than two labels, X and y differ in length, or a
        parameter is out of range.
        """
        rows = list(X)
        labels = np.asarray(y)
        if len(rows) != len(labels):
            raise RecipeError(
                f"X and y must have the same length; got {len(rows)} and {len(labels)}"
            )
        self.classes_ = np.unique(labels)
        every = as_sample(rows, name="X").alphabet
        strings = {
            str(label): [row for row, its in zip(rows, labels, strict=True) if its == label]
            for label in self.classes_
        }
        self.classifier_ = fit_classifier(
            strings,
            self.learner,
            self.rank,
            priors=self.priors,
            floor=self.floor,
            alphabet=every,
            **(self.options or {}),
        ).classifier
        return self

    def predict_proba(self, X: Strings) -> FloatArray:
        """Compute P(label | string), (num_strings, num_labels), in the order of `classes_`."""
        check_is_fitted(self)
        return self.classifier_.probabilities(list(X))

    def predict(self, X: Strings) -> npt.NDArray[Any]:
        """Return the likeliest label of each string, shape (num_strings,)."""
        check_is_fitted(self)
        best: npt.NDArray[Any] = self.classes_[self.classifier_.log2_joint(list(X)).argmax(axis=1)]
        return best

    def score(
        self, X: Strings, y: Sequence[Any], sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Compute the share of strings that get their true label, each counted with its weight."""
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags


class HMM(_StringEstimator):
    """A hidden Markov model with an end, learned by expectation–maximisation (`learning.em.hmm`).

    Parameters
    ----------
    rank : int
        The number of states.
    seed : int
    alphabet, floor
        As in `SpectralWFA`.

    Attributes
    ----------
    model_ : WFA
    alphabet_, classes_
        As in `SpectralWFA`.

    Examples
    --------
    >>> model = HMM(rank=2).fit(["ab", "ab", "b", "abb"])
    >>> model.predict(["a"]).tolist()
    ['b']
    """

    def __init__(
        self,
        rank: int = 5,
        alphabet: Alphabet | Sequence[str] | None = None,
        floor: float = FLOOR,
        seed: int = 0,
    ) -> None:
        self.rank = rank
        self.alphabet = alphabet
        self.floor = floor
        self.seed = seed

    def _learn(self, sample: Sample) -> Model:
        return fit(sample, "HMM", self.rank, seed=self.seed).model
