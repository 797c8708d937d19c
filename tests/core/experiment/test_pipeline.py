"""Whole experiments: repeatable, stoppable, reported, and saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import Prepared, prepare, reference_models, run
from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, with_fields
from nlwfa_core.experiment.results import Result, load_result, save_result
from nlwfa_core.files import FileShelf
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, STRING_LEARNERS
from nlwfa_core.learning.progress import BITS, Progress
from nlwfa_core.metrics.diagnostics import diagnostics
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.models.model_files import RECURRENT_ARRAYS, LearnedModel
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet

DATA = DataRecipe(num_strings=400, num_validation=40, num_test=50)
HANKEL = HankelRecipe(num_prefixes=25, num_suffixes=20)


def recipe_of(learner: str, rank: int = 3, seed: int = 0, **options: Any) -> Recipe:
    quick = {**PAPER, "epochs_factorisation": 15, "epochs_transitions": 10}
    base = Recipe(data=DATA, hankel=HANKEL)
    values = {**quick, **options, "learning_seed": seed}
    return with_fields(base, {"learner": learner, "rank": rank}, values)


def arrays(model: LearnedModel) -> list[np.ndarray]:
    if isinstance(model, RecurrentModel):
        return [getattr(model, name) for name in RECURRENT_ARRAYS]
    if isinstance(model, WFA):
        return [model.initial, model.transitions, model.termination]
    return [model.initial, *model.transitions, *model.decoder, model.output]


def bits(result: Result) -> list[bytes]:
    return [array.tobytes() for array in arrays(result.model)]


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_a_recipe_twice_gives_the_same_bits(learner: str) -> None:
    one = run(recipe_of(learner))
    same = run(recipe_of(learner))
    assert bits(one) == bits(same) and one.scores == same.scores and one.notes == same.notes
    other = run(recipe_of(learner, seed=1))
    assert (bits(one) == bits(other)) == (learner == "SP")
    elsewhere = run(recipe_of(learner).changed(data=DATA.changed(seed=1)))
    assert bits(one) != bits(elsewhere)


@pytest.mark.parametrize("source", ["dyck", "automaton", "hmm", "pfa", "pdfa", "squared", "verbs"])
@pytest.mark.parametrize("learner", ["SP", "both.non"])
def test_every_source_is_learned_by_linear_and_nonlinear_models(source: str, learner: str) -> None:
    size = {"num_states": 3, "num_symbols": 2}
    data = DataRecipe.adapted(DATA.changes() | size, source=source)
    result = run(recipe_of(learner).changed(data=data))
    assert result.scores.num_words > 0 and 0 <= result.scores.wer <= 1
    assert result.validation is not None and result.validation.num_words > 0
    assert result.model.num_symbols == len(result.alphabet)
    assert {"data", "hankel", "learning", "scores"} < set(result.seconds)


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_stages_are_reported_in_order_and_epochs_with_their_loss(learner: str) -> None:
    seen: list[Progress] = []
    result = run(recipe_of(learner), report=seen.append)
    stages = list(dict.fromkeys(step.stage for step in seen))
    inner = ["factorisation", "transitions"] if LEARNERS[learner].networks else ["spectral"]
    assert stages == ["data", "hankel", "learning", *inner, "scores"]
    for log in result.report.logs:
        assert [step.loss for step in seen if step.stage == log.stage] == log.losses.tolist()


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("after", [0, 1, 2, 4])
def test_cancelling_stops_promptly(learner: str, after: int) -> None:
    seen: list[Progress] = []
    with pytest.raises(Cancelled):
        run(recipe_of(learner), report=seen.append, cancelled=lambda: len(seen) >= after)
    assert after <= len(seen) <= after + (1 if LEARNERS[learner].networks else 2)


def test_a_basis_larger_than_the_sample_uses_what_exists_and_says_so() -> None:
    recipe = recipe_of("SP").changed(
        data=DATA.changed(num_strings=3), hankel=HankelRecipe(num_prefixes=900, num_suffixes=50_000)
    )
    result = run(recipe)
    told = [note for note in result.notes if "; the sample has only " in note]
    assert (
        len(told) == 2
        and "900 prefixes" in told[0]
        and "50,000 suffixes" in told[1]
        and "so all of them are used." in told[0]
    )


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_a_rank_above_the_basis_is_refused(learner: str) -> None:
    with pytest.raises(
        RecipeError,
        match=r"rank must be between 1 and 20 \(the basis has 25 prefixes and 20 suffixes\); got "
        r"30",
    ):
        run(recipe_of(learner, rank=30))


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("train", [b"6 2\n" + b"0\n" * 6, b"6 2\n" + b"2 0 1\n" * 6])
def test_empty_strings_and_equal_strings_are_learned(
    tmp_path: Path, learner: str, train: bytes
) -> None:
    shelf = FileShelf(tmp_path)
    recipe = recipe_of(learner, rank=1).changed(
        data=DataRecipe(source="upload", upload=shelf.put(train))
    )
    result = run(recipe, files=shelf.get)
    assert result.model.num_states == 1 and result.scores.num_words == 1
    if learner == "SP":
        # one word alone has all the mass, or rank 1 can't tell it
        assert result.scores.log2_pauto in (0, np.inf)


@pytest.mark.parametrize("learner", [*HANKEL_LEARNERS, "HMM", "PFA", "PDFA"])
def test_unseen_test_symbols_are_zeros_and_told(tmp_path: Path, learner: str) -> None:
    shelf = FileShelf(tmp_path)
    data = DataRecipe(
        source="upload", upload=shelf.put(b"ab\na\nb\n" * 9), upload_test=shelf.put(b"ac\nab\n")
    )
    result = run(recipe_of(learner, rank=2).changed(data=data), files=shelf.get)
    assert "1 of 2 test strings use symbols that no training string has: c." in result.notes
    assert result.model.alphabet == result.alphabet == Alphabet(("a", "b"))
    assert (result.scores.num_unknown, result.scores.num_zero, result.scores.log2_pauto) == (
        1,
        1,
        np.inf,
    )
    loaded = load_data(data, shelf.get)
    for model in (
        *reference_models(loaded, 3).values(),
        fit(["ab", "a", "b"] * 9, learner="HMM", rank=2).model,
    ):
        scores = evaluate(model, loaded.test)
        assert (scores.num_unknown, scores.num_zero) == (1, 1)


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_results_come_back_as_they_were(tmp_path: Path, learner: str) -> None:
    result = run(recipe_of(learner, rate_factorisation=1e200))
    save_result(tmp_path / "run", result)
    loaded = load_result(tmp_path / "run")
    assert (
        loaded.recipe == result.recipe
        and bits(loaded) == bits(result)
        and loaded.alphabet == result.alphabet
    )
    np.testing.assert_equal(vars(loaded.scores), vars(result.scores))  # nan equals nan here
    np.testing.assert_equal(vars(loaded.validation), vars(result.validation))
    assert (loaded.notes, loaded.seconds) == (result.notes, result.seconds)
    for log, before in zip(loaded.report.logs, result.report.logs, strict=True):
        assert (log.stage, log.losses.tolist(), log.diverged_at) == (
            before.stage,
            before.losses.tolist(),
            before.diverged_at,
        )
    assert loaded.report.messages == result.report.messages
    assert (loaded.report.singular_values is None) == (learner != "SP")


DAMAGE: list[Any] = [
    [],
    {},
    {"scores": []},
    {"scores": {}},
    {"report": []},
    {"report": {"x": 1}},
    {"notes": None},
    {"seconds": 3},
]
DAMAGE += [
    {"recipe": {"x": 1}},
    {"recipe": []},
    {"report": {"logs": [{"stage": 1}]}},
    {"validation": 3},
    {"validation": [1]},
]


@pytest.fixture(scope="module")
def learned() -> Result:
    return run(recipe_of("both.non"))


@pytest.mark.parametrize("change", DAMAGE)
def test_damaged_results_are_refused(tmp_path: Path, learned: Result, change: Any) -> None:
    save_result(tmp_path, learned)
    record = json.loads((tmp_path / "result.json").read_bytes())
    damaged = {**record, **change} if change else change
    (tmp_path / "result.json").write_text(json.dumps(damaged))
    with pytest.raises(RecipeError, match="is not a valid result"):
        load_result(tmp_path)


@pytest.mark.parametrize("path", [("num_train",), ("diagnostics",), ("scores", "share_tied")])
def test_results_with_a_field_missing_are_refused(
    tmp_path: Path, learned: Result, path: tuple[str, ...]
) -> None:
    save_result(tmp_path, learned)
    record = json.loads((tmp_path / "result.json").read_bytes())
    part = record
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    (tmp_path / "result.json").write_text(json.dumps(record))
    with pytest.raises(RecipeError, match=rf"{path[-1]}: Field required"):
        load_result(tmp_path)


def test_missing_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"can't read .*result\.json: No such file"):
        load_result(tmp_path)


def test_what_is_prepared_is_used_again() -> None:
    recipe = recipe_of("SP")
    prepared = prepare(recipe)
    assert isinstance(prepared, Prepared) and prepared.fits(recipe_of("both.non", rank=5))
    seen: list[Progress] = []
    assert bits(run(recipe, report=seen.append, prepared=prepared)) == bits(run(recipe))
    assert "data" not in {step.stage for step in seen}
    other = recipe.changed(hankel=HankelRecipe(num_prefixes=10, num_suffixes=10))
    assert not prepared.fits(other)
    assert bits(run(other, prepared=prepared)) == bits(run(other))


def test_reference_models_are_uniform_n_gram_and_truth() -> None:
    data = load_data(DATA)
    models = reference_models(data, 3)
    assert list(models) == ["uniform", "3-gram", "true model"]
    scores = {name: evaluate(model, data.test) for name, model in models.items()}
    assert scores["true model"].log2_pauto == scores["true model"].true_log2_pauto
    assert (
        scores["true model"].bits_per_symbol
        < scores["3-gram"].bits_per_symbol
        < scores["uniform"].bits_per_symbol
    )
    verbs = load_data(DataRecipe(source="verbs", num_test=50))
    assert list(reference_models(verbs, 2)) == ["uniform", "2-gram"]


@pytest.mark.slow
@pytest.mark.parametrize("name", STRING_LEARNERS)
def test_an_opponents_result_is_that_of_its_function_and_comes_back_from_disk(
    tmp_path: Path, name: str
) -> None:
    # so that it stops early
    recipe = recipe_of(name, seed=3).changed(data=DATA.changed(num_strings=20))
    seen: list[Progress] = []
    result = run(recipe, report=seen.append)
    assert {step.measure for step in seen if step.loss is not None} == {BITS}
    data = load_data(recipe.data)
    assert data.validation is not None
    model = fit(data.train, recipe.learning, validation=data.validation.sample).model
    assert result.model.weights(data.test.words).tolist() == model.weights(data.test.words).tolist()
    assert (result.scores, result.report.num_states) == (evaluate(model, data.test), 3)
    save_result(tmp_path, result)
    loaded = load_result(tmp_path)
    assert bits(loaded) == bits(result) and (loaded.recipe, loaded.scores) == (
        recipe,
        result.scores,
    )
    with pytest.raises(Cancelled):
        run(recipe, cancelled=lambda: len(seen) > 0, prepared=prepare(recipe))


def test_diagnostics_are_made_with_the_run_and_read_from_its_folder(tmp_path: Path) -> None:
    result = run(recipe_of("SP"))
    save_result(tmp_path, result)
    assert result.diagnostics == diagnostics(result.model, result.scores, result.report)
    assert load_result(tmp_path).diagnostics == result.diagnostics
    record = json.loads((tmp_path / "result.json").read_text())
    record["diagnostics"]["share_zero"] = 0.125  # what nobody would compute again
    (tmp_path / "result.json").write_text(json.dumps(record))
    assert load_result(tmp_path).diagnostics.share_zero == 0.125


def test_given_strings_take_the_place_of_those_that_a_recipe_describes() -> None:
    recipe = recipe_of("SP")
    elsewhere = recipe.changed(data=DATA.changed(seed=1))
    assert bits(run(recipe, data=load_data(elsewhere.data))) == bits(run(elsewhere))


def test_without_validation_strings_a_training_says_what_it_does_instead() -> None:
    data = DATA.changed(num_validation=0)
    linear = run(recipe_of("SP").changed(data=data))
    assert (
        linear.validation is None
        and linear.num_train == 400
        and not any("validation" in note for note in linear.notes)
    )
    assert bits(linear) == bits(run(recipe_of("SP")))  # validation strings are drawn apart
    hmm = run(recipe_of("SP").with_learner("HMM").changed(data=data))
    assert (
        "Without validation strings, HMM is not stopped early: it trains for all its epochs."
        in hmm.notes
    )
    refining = {"refine": "likelihood", "epochs_refinement": 2}
    counted = {"statistic": "prefix", "transform": "row"}
    refined = run(with_fields(recipe_of("both.non").changed(data=data), refining | counted))
    assert any(
        "keeps the epoch that is best on the training strings" in note for note in refined.notes
    )


def test_a_result_says_how_many_strings_it_was_learned_from(tmp_path: Path) -> None:
    """Of a file, validation and test strings are set aside first."""
    verbs = recipe_of("SP").changed(
        data=DataRecipe(source="verbs", num_validation=300, num_test=300)
    )
    result = run(verbs)
    assert (
        result.num_train
        == load_data(verbs.data).train.num_strings
        < verbs.data.num_strings
        == 20_000
    )
    save_result(tmp_path, result)
    assert load_result(tmp_path).num_train == result.num_train
