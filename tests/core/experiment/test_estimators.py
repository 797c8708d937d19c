"""Estimators for scikit-learn give what the library gives, and stand in its grids and pipelines."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks as checks

from nlwfa_core import (
    NLWFA,
    WFA,
    RecipeError,
    as_sample,
    estimate_hankel,
    evaluate,
    fit,
    read_strings,
    select_basis,
)
from nlwfa_core.experiment.classifier import fit_classifier
from nlwfa_core.experiment.datasets import generator_of
from nlwfa_core.experiment.estimators import HMM, NonlinearWFA, SpectralWFA, StringClassifier
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.strings.plain import as_words
from nlwfa_core.strings.trie import Trie
from tests.references import Fixed

SOURCE = generator_of(DataRecipe())  # brackets
DYCK = [SOURCE.alphabet.decode(word) for word in SOURCE.draw(400, 0)]
ESTIMATORS = (
    SpectralWFA(rank=3),
    NonlinearWFA(rank=2, num_prefixes=10, num_suffixes=10, epochs=3),
    HMM(rank=2),
)


def test_spectral_learning_is_that_of_the_library() -> None:
    model = SpectralWFA(rank=3, statistic="factor").fit(DYCK)
    hankel = estimate_hankel(DYCK, select_basis(DYCK, 100, 100, "factor"), "factor")
    own = fit(hankel, "SP", rank=3).model
    assert (model.model_.initial == own.initial).all() and (
        model.model_.transitions == own.transitions
    ).all()
    assert model.score(DYCK) == -evaluate(own, DYCK, floor=1e-6).bits_per_symbol
    assert model.score_samples(["[]", "[[]]"]) == pytest.approx(
        np.log2(np.abs(own(["[]", "[[]]"])))
    )
    assert model.predict_proba(["["])[0].tolist() == list(own.next("[").values())
    assert model.predict(["[["]).shape == (1,) and set(model.predict(DYCK)) <= {"[", "]", ""}


def test_the_other_families() -> None:
    network = ESTIMATORS[1].fit(DYCK)
    assert isinstance(network.model_, NLWFA) and network.model_.num_states == 2
    assert (
        NonlinearWFA(rank=2, statistic="prefix", num_prefixes=10, num_suffixes=10, epochs=3)
        .fit(DYCK)
        .model_.num_symbols
        == 2
    )
    own = fit(DYCK[:100], "HMM", 2).model
    hmm = ESTIMATORS[2].fit(DYCK[:100])
    assert (hmm.model_.transitions == own.transitions).all()
    drawn = hmm.sample(50, seed=1)
    assert (
        len(drawn) == 50
        and drawn == hmm.sample(50, seed=1)
        and as_sample(drawn, hmm.alphabet_).num_strings == 50
    )


@pytest.mark.parametrize(
    "estimator", [*ESTIMATORS, StringClassifier()], ids=lambda one: type(one).__name__
)
def test_parameters_follow_the_conventions_of_scikit_learn(estimator: SpectralWFA) -> None:
    """`check_estimator` passes by skipping: all its data are arrays of numbers.

    Its checks of parameters hold.
    """
    with pytest.warns(SkipTestWarning):
        checks.check_estimator(estimator)
    name = type(estimator).__name__
    for check in (
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_valid_tag_types,
    ):
        check(name, clone(estimator))
    with pytest.raises(NotFittedError):
        clone(estimator).predict(DYCK)


def test_a_grid_over_rank_and_statistic_finds_what_the_scores_say() -> None:
    grid = {"rank": [1, 3, 6], "statistic": ["string", "factor"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as that a score is not finite
        search = GridSearchCV(
            SpectralWFA(alphabet=["[", "]"]), grid, cv=3, error_score="raise"
        ).fit(DYCK)
    table = pd.DataFrame(search.cv_results_)
    assert (
        search.best_score_ == table["mean_test_score"].max()
        and np.isfinite(table["mean_test_score"]).all()
    )
    best = clone(search.best_estimator_)
    assert np.mean(cross_val_score(best, DYCK, cv=3)) == pytest.approx(search.best_score_)


def test_a_series_of_verbs_in_a_pipeline() -> None:
    verbs = read_strings(LAB_FOLDER / "assets" / "verbs.txt")
    series = pd.Series([verbs.alphabet.decode(word).upper() for word in list(verbs.words)[:300]])
    lower = FunctionTransformer(lambda strings: strings.str.lower())
    model = Pipeline([("lower", lower), ("model", SpectralWFA(alphabet=verbs.alphabet.symbols))])
    search = GridSearchCV(model, {"model__rank": [1, 5]}, cv=2, error_score="raise").fit(series)
    assert search.best_params_["model__rank"] in (1, 5) and np.isfinite(search.score(series))


def test_what_is_wrong_is_said_when_it_learns() -> None:
    for estimator, message in (
        (SpectralWFA(rank=0), "rank"),
        (SpectralWFA(statistic="words"), "statistic must be one of"),
        (SpectralWFA(alphabet=["a"]), "is not in the alphabet"),
        (
            NonlinearWFA(learner="SP"),
            "learner must be one of fac.non, tran.non, both.non; got 'SP'",
        ),
        (NonlinearWFA(objective="values"), "objective must be one of hankel, likelihood"),
    ):
        with pytest.raises(RecipeError, match=message):
            estimator.fit(DYCK)
    with pytest.raises(
        RecipeError, match="every test string contains a symbol that is not in the model"
    ):
        SpectralWFA().fit(DYCK).score(["x"])


def test_networks_are_learned_by_likelihood_without_a_matrix() -> None:
    strings = DYCK[:30]
    model = NonlinearWFA("fac.non", rank=1, objective="likelihood", seed=3).fit(strings)
    expected: Any = fit(strings, "fac.non", 1, objective="likelihood", seed=3).model
    words = as_words(strings, model.alphabet_)
    assert (model.score_samples(strings) == expected.log2_weights(words)).all()


def test_a_guess_is_the_highest_score_and_not_the_largest() -> None:
    """As in the word error rate: a large negative score speaks against a symbol."""
    model = SpectralWFA(rank=1).fit(["[]"])
    model.model_ = WFA([1.0], [[[1.8]], [[-2.2]]], [0.25])
    scores = model.model_.next_scores(Trie.of(as_words([""], model.alphabet_), 2))[0]
    assert scores[1] < 0 < scores[2] < scores[0] < abs(scores[1])
    assert (
        model.predict([""])[0] == "[" and model.classes_[model.predict_proba([""]).argmax()] == "]"
    )


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score", "score_samples", "sample"])
def test_what_is_not_fitted_says_so(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(SpectralWFA(), method)(["[]"] if method != "sample" else 1)


FEW = ["[]", "[[]]", "[][]", "[]", "[[][]]"] * 5


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("floor", [1e-6, 0, 1e-3, 0.0])
def test_the_floor_stands_in_the_repr(estimator: SpectralWFA, floor: float) -> None:
    text = repr(clone(estimator).set_params(floor=floor))
    assert (
        text.count(f"floor={floor!r}") == 1
        and text.startswith(f"{type(estimator).__name__}(")
        and text.endswith(")")
    )


def test_with_the_floor_0_the_score_is_minus_the_bits_per_symbol() -> None:
    model = SpectralWFA(rank=3, floor=0).fit(FEW)
    assert model.score(FEW) == -evaluate(model.model_, FEW).bits_per_symbol
    assert model.score(["[["]) == -np.inf


@pytest.mark.parametrize("impossible", ["[[", "]", "[]]"])
def test_without_a_distribution_there_is_no_guess(impossible: str) -> None:
    model = SpectralWFA(alphabet=["[", "]"])
    model.fit(["[]"])
    # only [] repeated
    model.model_ = WFA([1, 0], [[[0, 1], [0, 0]], [[0, 0], [0.5, 0]]], [0.5, 0], model.alphabet_)
    expected = model.predict_proba(["", "["])
    both = model.predict_proba(["", impossible, "["])
    assert np.isnan(both[1]).all() and (both[[0, 2]] == expected).all()
    assert model.predict(["", impossible, "["]).tolist() == ["[", None, "]"]


def test_scores_that_are_not_numbers_give_no_guess_and_no_score() -> None:
    model = SpectralWFA().fit(["[]", "[[]]"])
    for broken in (np.nan, np.inf, -np.inf):
        model.model_ = Fixed((1.0, broken, 0.5))
        assert np.isnan(model.predict_proba(["["])).all() and model.predict(["["]).tolist() == [
            None
        ]
        assert np.isnan(model.score(["[]"]))


def test_a_grid_search_ranks_infinite_scores_last() -> None:
    """With the floor 0, the spectral models are infinitely bad on the strings of some fold, and
    hidden Markov models are not.
    """
    grid = [
        {"model": [SpectralWFA(floor=0)], "model__rank": [2, 3]},
        {"model": [HMM(floor=0)], "model__rank": [1, 2]},
    ]
    search = GridSearchCV(Pipeline([("model", SpectralWFA(floor=0))]), grid, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that some scores are not finite
        search.fit(FEW)
    scores = search.cv_results_["mean_test_score"]
    assert np.isneginf(scores[:2]).all() and np.isfinite(scores[2:]).all()
    assert search.best_score_ == scores.max() and type(search.best_estimator_["model"]) is HMM


def test_a_classifier_is_that_of_the_library_and_stands_in_a_grid() -> None:
    X = pd.Series(["ab", "aab", "abb", "ba", "bba", "baa"] * 6)
    y = ["up", "up", "up", "down", "down", "down"] * 6
    model = StringClassifier("SP", rank=2).fit(X, y)
    own = fit_classifier({"down": list(X[3:6]) * 6, "up": list(X[:3]) * 6}, "SP", rank=2).classifier
    assert model.classes_.tolist() == ["down", "up"]
    assert model.predict_proba(["aab"]) == pytest.approx(own.probabilities(["aab"]))
    search = GridSearchCV(
        StringClassifier(), {"rank": [1, 2], "learner": ["SP", "HMM"]}, cv=3, error_score="raise"
    ).fit(X, y)
    assert search.best_score_ == 1.0 and search.score(X, y) == 1.0
    with pytest.raises(RecipeError, match="X and y must have the same length; got 1 and 2"):
        StringClassifier().fit(["a"], ["x", "y"])
