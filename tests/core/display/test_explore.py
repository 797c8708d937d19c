"""The payload of Explore, read back."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nlwfa_core import HankelMatrix, TestSet, as_sample, evaluate, fit, limits
from nlwfa_core.display import explore
from nlwfa_core.display.explore import (
    HANKEL_RANKS,
    MAX_RANK,
    MOST_NUMBERS,
    MOST_POINTS,
    NETWORKS,
    PFA_STARTS,
    WHY_NO_LINEAR,
    WHY_NO_NETWORK,
    WHY_TOO_LARGE,
    explore_payload,
    further_payload,
    influences_of_runs,
    margins_payload,
    network_payload,
    preview_payload,
    trained_payload,
)
from nlwfa_core.display.lens import MAX_SINGULAR_VALUES
from nlwfa_core.experiment.datasets import Data, load_data
from nlwfa_core.experiment.pipeline import build_hankel, run
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import Recipe, with_fields
from nlwfa_core.experiment.results import Result, load_result
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.learning.spectral import hankel_svd
from nlwfa_core.metrics.influences import influences, margins
from nlwfa_core.metrics.intervals import string_scores
from nlwfa_core.models.model_files import model_as_json
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import Dyck
from tests.quick import QUICK

FIRST = PRESETS["first-steps"][1]
SHIPPED = LAB_FOLDER / "assets" / "results"


def numbers(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(b64decode(text), "<f8").reshape(shape or -1)


def prepared(recipe: Recipe) -> tuple[Data, HankelMatrix]:
    data = load_data(recipe.data)
    return data, build_hankel(data.train, recipe.hankel)


def payload_of(recipe: Recipe) -> dict[str, Any]:
    data, hankel = prepared(recipe)
    payload = explore_payload(data, hankel, hankel_svd(hankel, MAX_RANK))
    text = json.dumps(payload, allow_nan=False)
    found: dict[str, Any] = json.loads(text)
    return found


def shipped_pfa(rank: int) -> Result:
    fields = {"learner": "PFA", "rank": rank, "starts": PFA_STARTS}
    return load_result(SHIPPED / with_fields(FIRST, fields).key())


def quick(**fields: Any) -> Recipe:
    return with_fields(FIRST, {"learner": "SP"} | fields, QUICK)


def of_lines(lines: bytes, **fields: Any) -> dict[str, Any]:
    """The payload of uploaded strings."""
    name = hashlib.sha256(lines).hexdigest()
    recipe = quick(source="upload", upload=name, num_prefixes=5, num_suffixes=5, **fields)
    data = load_data(recipe.data, {name: lines}.__getitem__)
    hankel = build_hankel(data.train, recipe.hankel)
    return explore_payload(data, hankel, hankel_svd(hankel, MAX_RANK))


def test_few_test_strings_are_said_to_be_too_few_for_a_verdict() -> None:
    """A fifth of sixty strings each is set aside for validation and for the test."""
    lines = b"a\nab\nb\n" * 20
    few = of_lines(lines)
    assert few["counted"] == ("36 for training (3 different), 12 for validation, 12 for test")
    assert few["few"] == "12 test strings: too few for a verdict, which needs 30"
    assert few["tests"] == 12
    assert payload_of(quick(num_test=30))["few"] == ""


def test_test_strings_that_are_the_training_strings_are_told() -> None:
    lines = b"a\na\nab\nb\n"
    same = of_lines(lines, upload_test=hashlib.sha256(lines).hexdigest())
    assert same["counted"] == "4 for training (3 different), the same for test"


def test_the_leading_blocks_are_the_models_of_smaller_ranks() -> None:
    recipe = quick()
    data, hankel = prepared(recipe)
    linear = payload_of(recipe)["linear"]
    most = len(linear["scores"])
    A = numbers(linear["model"]["transitions"], 2, most, most)
    initial, termination = (numbers(linear["model"][name]) for name in ("initial", "termination"))
    for rank in range(1, most + 1):
        model = fit(hankel, "SP", rank).model
        assert isinstance(model, WFA)
        np.testing.assert_allclose(A[:, :rank, :rank], model.transitions, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(initial[:rank], model.initial, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(termination[:rank], model.termination, rtol=1e-14, atol=1e-15)
        sums = numbers(linear["model"]["sums"][rank - 1])
        np.testing.assert_allclose(sums, model.prefix_termination)
        scores = evaluate(model, data.test)
        assert linear["scores"][rank - 1][1] == scores.wer
        assert linear["scores"][rank - 1][3:] == [scores.num_zero, scores.num_negative]


def test_test_strings_are_sent_with_their_counts_up_to_a_number_of_symbols(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sample = prepared(FIRST)[0].test.sample
    payload = payload_of(FIRST)
    assert {tuple(word): count for word, count in payload["tested"]} == dict(
        zip(sample.words, sample.counts, strict=True)
    )
    assert payload["distinctTests"] == len(sample.words)
    assert payload["tested"][0] == [[0, 1], int(sample.counts.max())]
    monkeypatch.setattr(explore, "MOST_TESTED", 7)
    tested = payload_of(FIRST)["tested"]
    assert sum(len(word) for word, _ in tested) <= 7
    assert tested == payload["tested"][: len(tested)]


def test_a_linear_model_of_a_higher_rank_is_sent_alone() -> None:
    data, hankel = prepared(FIRST)
    svd = hankel_svd(hankel, MAX_SINGULAR_VALUES)
    most = explore_payload(data, hankel, svd)["linear"]["most"]
    assert MAX_RANK < most <= svd.numerical_rank
    sent = further_payload(data, hankel, svd, most, {})
    model = fit(hankel, "SP", most).model
    assert isinstance(model, WFA) and sent["rank"] == most
    np.testing.assert_array_equal(
        numbers(sent["model"]["transitions"], 2, most, most), model.transitions
    )
    np.testing.assert_array_equal(numbers(sent["model"]["termination"]), model.termination)
    assert sent["scores"][1] == evaluate(model, data.test).wer


def test_cells_rows_and_columns_are_those_of_the_matrix() -> None:
    recipe = quick()
    data, hankel = prepared(recipe)
    payload = payload_of(recipe)
    H = np.zeros((len(payload["prefixes"]), len(payload["suffixes"])))
    H.flat[payload["cells"]["places"]] = payload["cells"]["values"]
    np.testing.assert_array_equal(H, hankel.block.toarray())
    assert payload["hasCounts"] and payload["total"] == data.train.num_strings
    # u v with u = [[ and v = ]]: two brackets open, so both are in the third group
    groups = payload["groups"]
    row = payload["prefixes"].index([0, 0])
    column = payload["suffixes"].index([1, 1])
    assert (groups["rows"][row], groups["columns"][column]) == (2, 2)
    assert groups["names"] == ["0", "1", "2", "3", "4", "5+"]
    assert payload["word"] == [0, 0, 0, 1, 1, 1]


def test_the_shipped_networks_are_sent_whole_and_the_picture_is_small() -> None:
    """The first picture has the networks of one learner; a page gets it in at most 150 kB."""
    results = {
        learner: {
            rank: load_result(SHIPPED / with_fields(FIRST, fields).key())
            for rank in HANKEL_RANKS
            if (fields := {"learner": learner, "rank": rank})
        }
        for learner in NETWORKS
    }
    shown = {"both.non": results["both.non"]}
    data, hankel = prepared(FIRST)
    runs = influences_of_runs(shown, data.test)
    sure = margins_payload(runs, hankel, hankel_svd(hankel, MAX_RANK), data)
    first = payload_of(FIRST), trained_payload(shown), sure["between"]
    assert len(json.dumps(first, separators=(",", ":"))) <= 150_000
    networks = trained_payload(results)
    for learner, by_rank in results.items():
        for rank, result in by_rank.items():
            sent = networks[learner][str(rank)]
            assert sent["scores"][1] == result.scores.wer
            assert sent["training"] == result.report.training
            assert sent["starts"] is None
            widths = sent["model"]["widths"]
            model = result.model
            layers = [
                numbers(layer, 2, before, after)
                for layer, before, after in zip(
                    sent["model"]["layers"], widths[:-1], widths[1:], strict=True
                )
            ]
            for mine, own in zip(layers, model.transitions, strict=True):
                np.testing.assert_array_equal(mine, own)


def test_margins_of_differences_are_those_of_the_two_models() -> None:
    """SP's of the ranks that are sent, and those of a linear model by likelihood."""
    network = load_result(SHIPPED / with_fields(FIRST, {"learner": "both.non", "rank": 2}).key())
    data, hankel = prepared(FIRST)
    svd = hankel_svd(hankel, MAX_RANK)
    runs = influences_of_runs({"both.non": {2: network}, "PFA": {3: shipped_pfa(3)}}, data.test)
    sent = margins_payload(runs, hankel, svd, data)
    between = sent["between"]["both.non"]["2"]
    assert list(between["SP"]) == [str(rank) for rank in range(1, MAX_RANK + 1)]
    linear = {"SP": fit(hankel, "SP", 5), "PFA": shipped_pfa(3).model}
    for name, rank in (("SP", "5"), ("PFA", "3")):
        own = [string_scores(model, data.test) for model in (network.model, linear[name])]
        counts = data.test.sample.counts
        expected = margins(*map(influences, own), counts)
        np.testing.assert_allclose(np.array(between[name][rank], float), expected, rtol=6e-3)
    # SP with 5 states gives some test string no weight, so its bits are infinite
    assert between["SP"]["5"][2] is None


def test_a_linear_model_of_a_higher_rank_is_sent_with_how_sure_its_scores_are() -> None:
    network = load_result(SHIPPED / with_fields(FIRST, {"learner": "both.non", "rank": 2}).key())
    data, hankel = prepared(FIRST)
    svd = hankel_svd(hankel, MAX_SINGULAR_VALUES)
    runs = influences_of_runs({"both.non": {2: network}}, data.test)
    sent = further_payload(data, hankel, svd, 30, runs)["margins"]
    scores = [string_scores(model, data.test) for model in (fit(hankel, "SP", 30), network.model)]
    [linear, other], counts = map(influences, scores), data.test.sample.counts
    for margin, expected in (
        (sent["own"]["SP"]["30"], margins(linear, np.zeros_like(linear), counts)),
        (sent["between"]["both.non"]["2"]["SP"]["30"], margins(other, linear, counts)),
    ):
        np.testing.assert_allclose(np.array(margin, float), expected, rtol=6e-3)


@pytest.mark.parametrize("objective", ["hankel", "likelihood"])
@pytest.mark.parametrize("learner", ["fac.non", "both.non"])
def test_loss_curves_are_those_of_the_training(learner: str, objective: str) -> None:
    fields = {"learner": learner, "rank": 3, "objective": objective}
    result = load_result(SHIPPED / with_fields(FIRST, fields).key())
    curves = trained_payload({learner: {3: result}})[learner]["3"]["curves"]
    assert [curve["stage"] for curve in curves] == [log.stage for log in result.report.logs]
    for curve, log in zip(curves, result.report.logs, strict=True):
        epochs = [epoch for epoch, _ in curve["points"]]
        assert len(epochs) <= MOST_POINTS and epochs == sorted(set(epochs))
        if log.epochs:  # a stage that was solved exactly is a point at epoch 1
            assert epochs[-1] == len(log.losses) - 1
            losses = [loss for _, loss in curve["points"]]
            np.testing.assert_allclose(losses, log.losses[epochs], rtol=1e-5)
        assert curve["verdict"] == log.verdict
        assert curve["isLogarithmic"] == (objective == "hankel")


def test_linear_models_by_likelihood_are_sent_whole_each_with_its_own_sums() -> None:
    """No weight of theirs is below 0, and the probabilities of all strings sum to 1."""
    results = {rank: shipped_pfa(rank) for rank in range(1, MAX_RANK + 1)}
    sent = trained_payload({"PFA": results})["PFA"]
    for rank, result in results.items():
        entry = sent[str(rank)]
        own = result.model
        assert isinstance(own, WFA) and entry["starts"] == PFA_STARTS
        scores = result.scores
        assert entry["scores"][:3] == [scores.total_variation, scores.wer, scores.bits_per_symbol]
        initial = numbers(entry["model"]["initial"])
        transitions = numbers(entry["model"]["transitions"], 2, rank, rank)
        np.testing.assert_array_equal(initial, own.initial)
        np.testing.assert_array_equal(transitions, own.transitions)
        termination = numbers(entry["model"]["termination"])
        np.testing.assert_array_equal(termination, own.termination)
        assert min(initial.min(), transitions.min(), termination.min()) >= 0
        [sums] = map(numbers, entry["model"]["sums"])
        assert initial @ sums == pytest.approx(1)


def test_a_linear_model_of_too_many_numbers_is_not_sent() -> None:
    rank = int((MOST_NUMBERS / 2) ** 0.5) + 1
    result = shipped_pfa(1)
    large = WFA(np.full(rank, 1 / rank), np.zeros((2, rank, rank)), np.ones(rank))
    sent = trained_payload({"PFA": {rank: replace(result, model=large)}})["PFA"][str(rank)]
    assert sent["model"] is None and sent["why"] == WHY_TOO_LARGE


@pytest.mark.parametrize(
    "fields", [{"statistic": "prefix"}, {"transform": "row"}], ids=lambda fields: next(iter(fields))
)
def test_matrices_whose_linear_model_is_no_leading_block_have_none(fields: dict[str, Any]) -> None:
    linear = payload_of(quick(**fields))["linear"]
    assert linear == {"model": None, "why": WHY_NO_LINEAR, "scores": [], "most": 0}


def test_a_network_that_is_read_in_another_way_is_not_drawn() -> None:
    epochs = dict.fromkeys(("epochs_factorisation", "epochs_transitions", "epochs_refinement"), 2)
    read_from_rows = {"statistic": "prefix", "transform": "row", "refine": "likelihood"}
    result = run(with_fields(FIRST, read_from_rows, QUICK | epochs))
    sent = trained_payload({"both.non": {2: result}})["both.non"]["2"]
    assert sent["model"] is None and sent["why"] == WHY_NO_NETWORK
    assert sent["scores"][1] == result.scores.wer


def test_the_truth_is_the_grammar_an_automaton_or_shares_of_test_strings() -> None:
    assert payload_of(quick())["truth"] | {"scores": None} == {
        "name": "truth",
        "scores": None,
        "kind": "brackets",
        "split": Dyck().split,
        "wrap": Dyck().wrap,
    }
    recipe = quick(source="hmm", num_states=3)
    truth = payload_of(recipe)["truth"]
    true_model = load_data(recipe.data).true_model
    assert truth["kind"] == "linear" and isinstance(true_model, WFA)
    sums = numbers(truth["model"]["sums"][0])
    np.testing.assert_allclose(sums, true_model.prefix_termination)


def test_shares_of_what_follows_are_counted_in_the_test_strings() -> None:
    recipe = quick(source="verbs")
    data = load_data(recipe.data)
    truth = payload_of(recipe)["truth"]
    words = [
        word
        for word, count in zip(data.test.sample.words, data.test.sample.counts, strict=True)
        for _ in range(count)
    ]
    first = truth["next"][0]  # after λ
    assert truth["kind"] == "shares" and sum(first.values()) == pytest.approx(1)
    for symbol in range(len(data.alphabet)):
        share = np.mean([word[:1] == (symbol,) for word in words])
        assert first.get(str(symbol), 0.0) == pytest.approx(share)


def test_ranks_are_sent_up_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"rank": 3})
    assert len(payload_of(quick())["linear"]["scores"]) == 3


def test_large_alphabets_have_fewer_ranks() -> None:
    words = [[f"w{number}", f"w{number + 1}"] for number in range(1_000)]
    sample = as_sample(words)
    data = Data(sample, None, TestSet.empirical(sample), None, "")
    hankel = build_hankel(data.train, FIRST.hankel)
    payload = explore_payload(data, hankel, hankel_svd(hankel, MAX_RANK))
    most = len(payload["linear"]["scores"])
    num_symbols = len(payload["symbols"])
    assert num_symbols * most**2 <= MOST_NUMBERS < num_symbols * (most + 1) ** 2


def shipped_network() -> NLWFA:
    fields = {"learner": "both.non", "rank": 2, "objective": "likelihood"}
    model = load_result(SHIPPED / with_fields(FIRST, fields).key()).model
    assert isinstance(model, NLWFA)
    return model


@pytest.mark.parametrize(("change", "grown"), [({}, MAX_RANK), ({"source": "verbs"}, 1)])
def test_what_is_trained_and_from_what_depends_on_the_strings(
    change: dict[str, Any], grown: int
) -> None:
    """Networks of many symbols are trained alone; of a matrix of prefixes none is drawn."""
    payload = payload_of(with_fields(FIRST, change))
    assert payload["grown"] == grown
    assert all(set(of) == {*NETWORKS, "PFA"} for of in payload["costs"].values())
    prefixes = payload_of(with_fields(FIRST, change | {"statistic": "prefix"}))
    assert set(prefixes["costs"]["hankel"]) == {"PFA"}


def test_a_preview_is_sent_as_a_result_is() -> None:
    model = shipped_network()
    assert preview_payload(json.loads(json.dumps(model_as_json(model))), 2) == network_payload(
        model
    )


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "WFA"},
        {"kind": ["NLWFA"]},
        {"reading": "boundary"},
        {"reading": "luck"},
        {"nonlinear_transitions": "yes"},
        {"arrays": None},
        {"arrays": {}},
        {"initial": [1.0]},
        {"initial": "[1, 2]"},
        {"initial": [1.0, float("nan")]},
        {"output": [[1.0], [2.0, float("inf")]]},
        {"decoder.0": {}},
    ],
)
def test_what_is_no_preview_is_not_sent(change: dict[str, Any]) -> None:
    fields = model_as_json(shipped_network())
    arrays = fields["arrays"] | change
    odd = fields | (change if change.keys() <= fields.keys() else {"arrays": arrays})
    assert preview_payload(odd, 2) is None


@pytest.mark.parametrize("odd", [None, [], "NLWFA", {}, {"kind": "NLWFA"}])
def test_what_is_no_model_is_no_preview(odd: Any) -> None:
    assert preview_payload(odd, 2) is None


def test_a_preview_of_another_alphabet_is_not_sent() -> None:
    assert preview_payload(model_as_json(shipped_network()), 3) is None
