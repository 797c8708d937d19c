"""The mathematics and the sentences of Explore's JavaScript, in an empty page: the same numbers as
the library's, and the right words for made-up scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from nlwfa_core import NLWFA, WFA, fit
from nlwfa_core.display.explore import (
    BROWSER_READINGS,
    MAX_RANK,
    PFA_STARTS,
    explore_payload,
    linear_payload,
    network_payload,
    trained_payload,
)
from nlwfa_core.display.projection import project
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import build_hankel
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.experiment.results import load_result
from nlwfa_core.files import LAB_FOLDER
from nlwfa_core.learning.spectral import hankel_svd
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.models.geometry import directions
from nlwfa_core.models.reading import Reading
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import FloatArray, Word, Words

FOLDER = LAB_FOLDER / "assets" / "explore"
CLOSE = {"rtol": 1e-9, "atol": 1e-15}
# (payload, words, kind, rank) -> the weight of each word, and the scores of what follows it
ASK = """([payload, words, kind, rank]) => {
    const make = { linear: (sent) => linearOf(sent, rank), network: networkOf, brackets: (sent) => new Brackets(sent) };
    const model = make[kind](payload);
    return words.map((word) => {
        const z = stateAfter(model, word);
        return [model.weight(z), model.scores(z)];
    });
}"""  # noqa: E501


@pytest.fixture(scope="module")
def script(browser: Browser) -> Iterator[Page]:
    """An empty page with the three scripts that draw nothing."""
    page = browser.new_page()
    for name in ("models", "verdict", "material"):
        page.add_script_tag(content=(FOLDER / f"{name}.js").read_text(encoding="utf-8"))
    yield page
    page.close()


def all_words(num_symbols: int, longest: int) -> Words:
    return Words.of(
        word for length in range(longest + 1) for word in product(range(num_symbols), repeat=length)
    )


def deep_words() -> Words:
    """[ᵈ]ᵈ, and what goes on behind it."""
    return Words.of(
        word
        for depth in range(1, 13)
        for word in ((0,) * depth + (1,) * depth, (0,) * depth + (1,) * (depth + 2))
    )


def compare(script: Page, payload: dict[str, Any], words: Words, kind: str, model: Any) -> None:
    rank = getattr(model, "num_states", 0)
    found = script.evaluate(ASK, [payload, [list(word) for word in words], kind, rank])
    weights = np.array([weight for weight, _ in found], dtype=float)
    scores = np.array([own for _, own in found], dtype=float)
    trie = Trie.of(words, model.num_symbols)
    same(weights, model.weights(words))
    same(scores, model.next_scores(trie)[trie.ends])


def same(found: FloatArray, expected: FloatArray) -> None:
    """Equal, and exactly 0 in the same places."""
    np.testing.assert_allclose(found, expected, **CLOSE)
    np.testing.assert_array_equal(found == 0, expected == 0)


def test_linear_models_of_every_rank_have_the_librarys_numbers(script: Page) -> None:
    recipe = PRESETS["first-steps"][1]
    data = load_data(recipe.data)
    hankel = build_hankel(data.train, recipe.hankel)
    cache = FitCache()
    models = [
        model
        for rank in range(1, MAX_RANK + 1)
        if isinstance(model := fit(hankel, "SP", rank, cache=cache).model, WFA)
    ]
    payload = json.loads(json.dumps(linear_payload(models)))
    for model in models:
        compare(script, payload, all_words(2, 5), "linear", model)
        compare(script, payload, deep_words(), "linear", model)


@pytest.mark.parametrize("rank", [1, 3, 20])
def test_linear_models_by_likelihood_have_the_librarys_numbers(script: Page, rank: int) -> None:
    fields = {"learner": "PFA", "rank": rank, "starts": PFA_STARTS}
    key = with_fields(PRESETS["first-steps"][1], fields).key()
    result = load_result(LAB_FOLDER / "assets" / "results" / key)
    sent = json.loads(json.dumps(trained_payload({"PFA": {rank: result}})))["PFA"][str(rank)]
    compare(script, sent["model"], all_words(2, 5), "linear", result.model)
    compare(script, sent["model"], deep_words(), "linear", result.model)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_only_rounding_is_0_in_both(script: Page, seed: int) -> None:
    """Two states in a rotated basis, and a symbol that leads from one into the other once."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    step = np.diag([0.3, 0.2], 1)  # nilpotent: 0 after three steps
    stay = np.diag([0.4, 0.1, 0.3])
    start, end = rng.normal(size=(2, 3))
    model = WFA(Q.T @ start, [Q.T @ step @ Q, Q.T @ stay @ Q], Q.T @ end)
    payload = json.loads(json.dumps(linear_payload([model])))
    words = all_words(2, 6)
    assert (model.weights(words) == 0).any()
    compare(script, payload, words, "linear", model)


@pytest.mark.parametrize("bends", list(product([False, True], repeat=2)), ids=str)
@pytest.mark.parametrize("num_symbols", [1, 3])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("reading", BROWSER_READINGS, ids=lambda reading: reading.name)
def test_networks_have_the_librarys_numbers(
    script: Page, bends: tuple[bool, bool], num_symbols: int, num_layers: int, reading: Reading
) -> None:
    rng = np.random.default_rng(num_symbols + 10 * num_layers)
    widths = [3, *[4] * (num_layers - 1), 3]
    model = NLWFA(
        rng.normal(size=3),
        tuple(rng.normal(size=(num_symbols, before, after)) for before, after in pairwise(widths)),
        (rng.normal(size=(3, 5)), rng.normal(size=(5, 2))),
        rng.normal(size=(2, num_symbols + 1 if reading.name == "conditional" else 4)),
        nonlinear_transitions=bends[0],
        nonlinear_termination=bends[1],
        reading=reading,
    )
    payload = json.loads(json.dumps(network_payload(model)))
    compare(script, payload, all_words(num_symbols, 4), "network", model)


@pytest.mark.parametrize("rules", [(0.2, 0.4), (0.0, 0.5), (0.35, 0.1), (0.49, 0.01)], ids=str)
def test_brackets_have_the_librarys_probabilities(script: Page, rules: tuple[float, float]) -> None:
    truth = Dyck(*rules)
    words = Words.of([*all_words(2, 7), *deep_words(), (0, 1) * 30])
    found = script.evaluate(
        ASK, [{"split": rules[0], "wrap": rules[1]}, [list(word) for word in words], "brackets", 0]
    )
    trie = Trie.of(words, 2)
    expected = truth.next_scores(trie)[trie.ends]
    same(np.array([own for _, own in found], dtype=float), expected)
    same(np.array([weight for weight, _ in found], dtype=float), truth.weights(words))


def test_cells_are_the_weights_of_each_prefix_followed_by_each_suffix(script: Page) -> None:
    """Prefixes and suffixes that share beginnings, and a prefix that begins no other one."""
    rng = np.random.default_rng(4)
    model = WFA(rng.normal(size=3), rng.normal(size=(2, 3, 3)), rng.normal(size=3))
    prefixes = [(), (1,), (0, 1, 1), (0,), (1, 0, 0, 1)]
    suffixes = [(0, 0), (), (0, 1), (1, 1, 0)]
    ask = """([payload, prefixes, suffixes]) => {
        const model = linearOf(payload, 3);
        const cells = new Cells(prefixes, suffixes);
        const { ends, cells: estimate } = cells.estimate(model);
        return [Array.from(estimate), ends.map((z) => cells.row(model, z)), ends.map((z) => model.weight(z))];
    }"""  # noqa: E501
    found, rows, weights = script.evaluate(ask, [linear_payload([model]), prefixes, suffixes])
    expected = model.weights(Words.of(u + v for u in prefixes for v in suffixes))
    same(np.array(found), expected)
    same(np.array(rows).ravel(), expected)
    same(np.array(weights), model.weights(Words.of(prefixes)))


# (points, weights) -> the plane, and where the points stand in it
PLANE = """([points, weights]) => {
    const { mean, axes, share, place } = principalPlane(points, weights);
    return { mean, axes, share, places: points.map(place) };
}"""


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_the_principal_plane_is_that_of_the_weighted_covariance(script: Page, size: int) -> None:
    rng = np.random.default_rng(size)
    points = rng.normal(size=(30, size)) @ rng.normal(size=(size, size))
    weights = rng.uniform(size=30)
    found = script.evaluate(PLANE, [points.tolist(), weights.tolist()])
    np.testing.assert_allclose(found["mean"], np.average(points, axis=0, weights=weights))
    covariance = np.atleast_2d(np.cov(points.T, aweights=weights, ddof=0))
    values, vectors = np.linalg.eigh(covariance)
    assert found["share"] == pytest.approx(values[::-1][:2].sum() / values.sum())
    for axis, own in zip(np.array(found["axes"]), vectors.T[::-1], strict=False):
        assert abs(axis @ own) == pytest.approx(1)
    places = np.array(found["places"])
    expected = (points - found["mean"]) @ np.transpose(found["axes"])
    np.testing.assert_allclose(places, expected, atol=1e-12)
    assert (places[0, : min(size, 2)] < 0).all()
    if size == 1:  # there is no second axis
        assert found["axes"][1] == [0] and not places[:, 1].any()


def test_points_that_count_the_same_stand_where_the_states_page_has_them(script: Page) -> None:
    """Up to the sides of the axes."""
    points = np.random.default_rng(3).normal(size=(12, 4))
    found = script.evaluate(PLANE, [points.tolist(), [2.0] * 12])
    projection = project(points, 2)
    assert found["share"] == pytest.approx(projection.explained_by(2))
    places = np.abs(projection.coordinates(points))
    np.testing.assert_allclose(np.abs(found["places"]), places, atol=1e-12)


def test_states_that_are_all_the_same_stand_in_the_middle(script: Page) -> None:
    found = script.evaluate(PLANE, [[[0.1, 0.7, 0.3]] * 9, [0.1] * 9])
    assert found["share"] == 0 and not np.array(found["axes"]).any()


def test_a_linear_state_is_a_direction_and_a_networks_state_is_as_it_is(script: Page) -> None:
    rng = np.random.default_rng(8)
    linear = WFA(rng.normal(size=3), rng.normal(size=(2, 3, 3)), rng.normal(size=3))
    words = all_words(2, 3)
    trie = Trie.of(words, 2)
    ask = """([payload, words]) => {
        const model = payload.layers ? networkOf(payload) : linearOf(payload, 3);
        return words.map((word) => model.pointOf(stateAfter(model, word)));
    }"""
    sent = [list(word) for word in words]
    found = script.evaluate(ask, [linear_payload([linear]), sent])
    np.testing.assert_allclose(found, directions(linear.states(trie)[trie.ends]), **CLOSE)
    for reading in BROWSER_READINGS:
        outputs = 3 if reading.name == "conditional" else 4
        network = NLWFA(
            rng.normal(size=3),
            (rng.normal(size=(2, 3, 3)),),
            (rng.normal(size=(3, 5)),),
            rng.normal(size=(5, outputs)),
            nonlinear_transitions=True,
            nonlinear_termination=True,
            reading=reading,
        )
        found = script.evaluate(ask, [network_payload(network), sent])
        np.testing.assert_allclose(found, network.states(trie)[trie.ends][:, :3], **CLOSE)


def lane(variation: Any, errors: float = 0.5, reach: int = 3, error: float = 0.2) -> dict[str, Any]:
    return {
        "scores": [variation, errors, 1.0, 0, 0],
        "reach": reach,
        "error": error,
        "training": "finished",
    }


VERDICTS = [
    (lane(0.2), lane(0.1), "the nonlinear model has 50% less error"),
    (lane(0.2), lane(0.05), "the nonlinear model has 75% less error"),
    (lane(0.2), lane(0.15), "the nonlinear model has 25% less error"),
    (lane(0.2), lane(0.19), "level: the curve gains nothing"),
    (lane(0.2), lane(0.2, reach=4), "level, but the nonlinear model goes deeper"),
    (lane(0.1), lane(0.2), "the linear model has 50% less error"),
    (lane(0.05), lane(0.2), "the linear model has 75% less error"),
    (lane(0.15), lane(0.2), "the linear model has 25% less error"),
    (lane(0.1), lane(0.2, reach=5), "the linear model is nearer, but not right up to that depth"),
    (lane(0.0), lane(0.0), "level: the curve gains nothing"),
    (lane(0.0), lane(0.1), "the linear model has 100% less error"),
    (lane(0.4, error=0.9), lane(0.1, error=0.95), "neither model comes near H"),
    (lane(None), lane(0.2), "only the nonlinear model can be scored"),
    (lane(0.2), lane(None), "the nonlinear model failed"),
    (lane(0.2), lane("∞"), "the nonlinear model failed"),
    (lane(None), lane(None), "neither model can be scored"),
    (lane(0.2), None, "the nonlinear model is not trained yet"),
    (None, None, "there is no model to draw yet"),
    (None, lane(0.2), "the linear model is not trained yet"),
]


@pytest.mark.parametrize(
    ("scores", "enough"),
    [
        ([0.4, 0.2, 0.105, 0.1, 0.3], 3),
        ([0.4, 0.111, 0.1], 3),  # 11 % above the best
        ([None, "∞", 0.2, 0.1], 4),
        ([0.3], 1),
        ([None, "∞"], None),
    ],
)
def test_enough_are_the_fewest_states_that_are_near_the_best(
    script: Page, scores: list[Any], enough: int | None
) -> None:
    assert script.evaluate("(scores) => enoughStates(scores, 0)", scores) == enough


def test_too_few_test_strings_give_no_verdict(script: Page) -> None:
    few = {"hasTruth": False, "isFew": True, "tests": 12}
    found = verdict(script, lane(None, 0.6), lane(None, 0.2), **few)
    assert found["head"] == "With 4 states, too few test strings for a verdict"


def test_what_cant_be_drawn_is_not_called_untrained(script: Page) -> None:
    found = verdict(script, None, lane(0.2), isUndrawn=True)
    assert found["head"] == "With 4 states, SP is not drawn for this matrix"


@pytest.mark.parametrize(("linear", "network", "expected"), VERDICTS)
def test_the_headline_is_made_from_the_scores(
    script: Page, linear: Any, network: Any, expected: str
) -> None:
    found = verdict(script, linear, network)
    assert found["head"] == f"With 4 states, {expected}"
    line = "".join(text for text, _ in found["line"])
    if network and network["scores"][0] == 0.05:
        assert (
            line == "distance to the truth 0.050 against 0.200 · both right for [ⁿ]ⁿ up to depth 3"
        )


@pytest.mark.parametrize("objectives", [("hankel", "likelihood"), ("likelihood", "hankel")])
def test_of_other_objectives_nothing_is_put_down_to_the_curve(
    script: Page, objectives: tuple[str, str]
) -> None:
    found = verdict(script, lane(0.2), lane(0.05), objectives=objectives)
    assert found["head"] == "With 4 states, the nonlinear model has 75% less error"
    assert found["line"][-1][0] == " · trained in different ways"
    alike = verdict(script, lane(0.2), lane(0.05), objectives=objectives, alike=[0.1, 0.3, 1.5])
    way = "by likelihood" if objectives[1] == "likelihood" else "from the matrix"
    told = "".join(text for text, _ in alike["line"])
    assert told.endswith("ways; the gap: 0.100 from the training, 0.050 from the curve")
    assert alike["head"].endswith("has 75% less error; trained alike, 50%")
    for unlike, rest in ((0.03, "behind"), (0.052, "level"), (0.3, "83%"), ("∞", "")):
        other = verdict(script, lane(0.2), lane(0.05), objectives=objectives, alike=[unlike, 0, 0])
        assert other["head"].endswith(f"error; trained alike, {rest}" if rest else "less error")
        told = "".join(text for text, _ in other["line"])
        if unlike == "∞":
            expected = "different ways"
        elif rest == "level":
            expected = "ways; the gap: 0.148 from the training, 0.002 from the curve"
        else:
            expected = f" (linear {way}: {unlike:.3f})"
        assert told.endswith(expected)
    level = verdict(script, lane(0.2), lane(0.2), objectives=objectives)
    assert level["head"] == "With 4 states, level"
    like = verdict(script, lane(0.2), lane(0.2), objectives=["likelihood", "likelihood"])
    assert like["head"] == "With 4 states, level: the curve gains nothing"
    assert "different ways" not in "".join(text for text, _ in like["line"])


UNEQUAL = [
    (lane(0.2), lane(0.1), [20, 2], "2 nonlinear states have 50% less error than 20 linear ones"),
    (lane(0.2), lane(0.05), [4, 1], "1 nonlinear state has 75% less error than 4 linear ones"),
    (lane(0.2), lane(0.15), [1, 2], "2 nonlinear states have 25% less error than 1 linear one"),
    (lane(0.2), lane(0.19), [20, 2], "2 nonlinear states are level with 20 linear ones"),
    (lane(0.2), lane(0.2), [20, 1], "1 nonlinear state is level with 20 linear ones"),
    (
        lane(0.2),
        lane(0.2, reach=4),
        [20, 2],
        "2 nonlinear states are level with 20 linear ones, and go deeper",
    ),
    (lane(0.05), lane(0.2), [20, 2], "20 linear states have 75% less error than 2 nonlinear ones"),
    (lane(0.1), lane(0.2), [1, 2], "1 linear state has 50% less error than 2 nonlinear ones"),
    (
        lane(0.1),
        lane(0.2, reach=5),
        [20, 2],
        "20 linear states are nearer, but not right up to that depth",
    ),
    (
        lane(0.1),
        lane("∞"),
        [20, 2],
        "With 2 nonlinear states and 20 linear ones, the nonlinear model failed",
    ),
    (
        lane(0.1),
        None,
        [20, 1],
        "With 1 nonlinear state and 20 linear ones, the nonlinear model is not trained yet",
    ),
    (lane(0.2), lane(0.1), [3, 3], "With 3 states, the nonlinear model has 50% less error"),
]


@pytest.mark.parametrize(("linear", "network", "ranks", "expected"), UNEQUAL)
def test_of_unequal_numbers_of_states_both_are_told(
    script: Page, linear: Any, network: Any, ranks: list[int], expected: str
) -> None:
    """Nothing is put down to the curve where one model has more states."""
    assert verdict(script, linear, network, ranks=ranks)["head"] == expected


def test_without_a_truth_unequal_numbers_of_states_are_compared_by_wrong_guesses(
    script: Page,
) -> None:
    found = verdict(script, lane(None, 0.8), lane(None, 0.4), ranks=[9, 2], hasTruth=False)
    assert found["head"] == "2 nonlinear states have 50% fewer wrong guesses than 9 linear ones"


def test_where_the_chart_ends_a_model_may_reach_farther(script: Page) -> None:
    line = verdict(script, lane(0.2, reach=2), lane(0.1, reach=8))["line"]
    told = "".join(text for text, _ in line)
    assert told.endswith("right for [ⁿ]ⁿ up to depth 8 or more against 2")


def test_a_network_that_is_not_trained_to_its_end_is_named_so(script: Page) -> None:
    found = verdict(script, lane(0.2), lane(0.1) | {"training": "not finished"})
    assert found["line"][-1][0] == " · training not finished"


SEEDS = [
    ([0.1, 0.12], "the nonlinear model has 50% less error", True),
    ([0.1, 0.19], "seeds disagree: the nonlinear model is ahead on 2 of 3, level on 1", False),
    (
        [0.25, 0.2],
        "seeds disagree: the nonlinear model is ahead on 1 of 3, level on 1, behind on 1",
        False,
    ),
    (["∞", 0.1], "seeds disagree: the nonlinear model is ahead on 2 of 3, behind on 1", False),
    ([None], "seeds disagree: the nonlinear model is ahead on 1 of 2, behind on 1", False),
]


@pytest.mark.parametrize(("others", "expected", "agree"), SEEDS)
def test_networks_of_other_seeds_agree_or_the_headline_says_so(
    script: Page, others: list[Any], expected: str, agree: bool
) -> None:
    scores = [[value, 0.5, 1.0, 0, 0] for value in others]
    found = verdict(script, lane(0.2), lane(0.1), others=scores)
    assert found["head"] == f"With 4 states, {expected}"
    assert (
        found["line"][-1][0] == f" · the same with {len(others) + 1} of {len(others) + 1} seeds"
    ) == agree


def test_of_a_model_that_is_not_drawn_the_scores_alone_are_told(script: Page) -> None:
    undrawn = {"scores": [0.2, 0.5, 1.0, 0, 0], "training": "–"}
    for linear, network in ((undrawn, lane(0.1)), (lane(0.2), undrawn)):
        line = "".join(text for text, _ in verdict(script, linear, network)["line"])
        assert "against 0.200" in line and "depth" not in line


def test_without_a_truth_wrong_guesses_are_compared(script: Page) -> None:
    found = verdict(script, lane(None, 0.8), lane(None, 0.4), hasTruth=False)
    assert found["head"] == "With 4 states, the nonlinear model has 50% fewer wrong guesses"
    line = "".join(text for text, _ in found["line"])
    assert line == (
        "next symbols guessed wrong 0.400 against 0.800 · bits per symbol 1.000 against 1.000"
    )
    level = verdict(script, lane(None, 0.8), lane(None, 0.79), hasTruth=False)
    assert level["head"] == "With 4 states, level: the curve gains nothing"
    linear = verdict(script, lane(None, 0.6), lane(None, 0.8), hasTruth=False)
    assert linear["head"] == "With 4 states, the linear model has 25% fewer wrong guesses"


BITS = [
    (1.0, 0.9, "the nonlinear model has 0.100 fewer bits per symbol"),
    (1.0, 1.05, "the linear model has 0.050 fewer bits per symbol"),
    (1.0, 1.01, "level: the curve gains nothing"),
    ("∞", 1.0, "only the nonlinear model gives every test string a weight above 0"),
]


@pytest.mark.parametrize(("linear", "network", "expected"), BITS)
def test_the_headline_follows_the_score_that_is_chosen(
    script: Page, linear: Any, network: Any, expected: str
) -> None:
    lanes = [lane(0.2) | {"scores": [0.2, 0.5, bits, 0, 0]} for bits in (linear, network)]
    assert verdict(script, *lanes, which=2)["head"] == f"With 4 states, {expected}"
    assert (
        verdict(script, *lanes, which=1)["head"] == "With 4 states, level: the curve gains nothing"
    )


NO_DIFFERENCE = "level: these 250 test strings show no difference"
CHANCE = [
    (0.1, 0.05, "the nonlinear model has 50% less error", {}),
    (0.1, 0.05, NO_DIFFERENCE, {"margins": [0.06, 0.1, 0.1]}),
    (0.1, 0.05, "the nonlinear model has 50% less error", {"margins": [0.04, 0.1, 0.1]}),
    (0.1, 0.05, "the nonlinear model has 50% less error", {"margins": [None, 0.1, 0.1]}),
    (0.1, 0.099, NO_DIFFERENCE, {"margins": [0.2, 0.1, 0.1]}),  # it may be a fifth
    (0.1, 0.1, NO_DIFFERENCE, {"margins": [0.011, 0.1, 0.1]}),
    (0.1, 0.1, "level: the curve gains nothing", {"margins": [0.009, 0.1, 0.1]}),  # below a tenth
    (0.1, 0.095, "level: the curve gains nothing", {"margins": [0.002, 0.1, 0.1]}),
    (0.1, 0.1, NO_DIFFERENCE, {"isFew": True}),
    ("∞", 0.1, "only the nonlinear model can be scored", {"margins": [0.2, 0.1, 0.1]}),
]


@pytest.mark.parametrize(("linear", "network", "expected", "sure"), CHANCE)
def test_a_difference_that_may_be_chance_is_level(
    script: Page, linear: Any, network: Any, expected: str, sure: dict[str, Any]
) -> None:
    found = verdict(script, lane(linear), lane(network), tests=250, **sure)
    assert found["head"] == f"With 4 states, {expected}"
    line = "".join(text for text, _ in found["line"])
    margin = (sure.get("margins") or [None])[0]
    known = margin and linear != "∞"
    gap = abs(linear - network) if known else 0
    assert (f"(gap {gap:.3f} ± {margin:.3f})" in line) if known else "±" not in line


def test_unequal_numbers_of_states_and_other_seeds_may_differ_by_chance(script: Page) -> None:
    sure = {"margins": [0.06, 0.1, 0.1], "tests": 1_000}
    found = verdict(script, lane(0.1), lane(0.05), ranks=[9, 2], **sure)
    assert found["head"] == (
        "2 nonlinear states are level with 9 linear ones: these 1,000 test strings show no "
        "difference"
    )
    deeper = lane(0.05, reach=4)
    found = verdict(script, lane(0.1), deeper, ranks=[9, 2], **sure)
    assert found["head"].endswith("show no difference, but the nonlinear ones go deeper")
    found = verdict(script, lane(0.1), deeper, **sure)
    assert found["head"].endswith("show no difference, but the nonlinear model goes deeper")
    others = [[0.01, 0.5, 1.0, 0, 0]]
    found = verdict(script, lane(0.1), lane(0.05), others=others, **sure)
    assert found["head"] == (
        "With 4 states, seeds disagree: the nonlinear model is ahead on 1 of 2, level on 1"
    )
    found = verdict(script, lane(0.1), lane(0.05), others=others, ranks=[9, 2], **sure)
    assert found["head"].endswith(
        "seeds disagree: the nonlinear ones are ahead on 1 of 2, level on 1"
    )


def test_without_a_bend_the_linear_model_stands_alone(script: Page) -> None:
    found = verdict(script, lane(0.2), None, learner="SP", rank=1)
    assert found["head"] == "With 1 state, matrices are right for [ⁿ]ⁿ up to depth 3"
    last = verdict(script, lane(0.2, reach=8), None, learner="SP", rank=1)
    assert last["head"] == "With 1 state, matrices are right for [ⁿ]ⁿ up to depth 8 or more"
    nothing = verdict(script, lane(0.2, reach=0), None, learner="SP", rank=1)
    assert nothing["head"] == "With 1 state, matrices are wrong at depth 1"
    nothing = verdict(script, lane(0.2, reach=0), None, learner="SP", rank=1, noun="string")
    assert nothing["head"] == "With 1 state, matrices get no string right"
    undrawn = {"scores": [0.2, 0.5, 1.0, 0, 0], "training": "–"}
    guessed = verdict(script, undrawn, None, learner="SP", rank=1)
    assert guessed["head"] == "With 1 state, matrices guess 50% of what follows"
    missing = verdict(script, None, None, learner="SP", rank=1)
    assert missing["head"] == "With 1 state, there is no model to draw yet"


def test_an_n_gram_that_a_network_does_not_beat_is_named(script: Page) -> None:
    told = " · a 5-gram has 0.400"
    for score, is_told in ((0.4, True), (0.6, False), (None, False), ("∞", False)):
        found = verdict(
            script,
            lane(0.9),
            lane(0.2, errors=0.5),
            which=1,
            ngram=["5-gram", [0.1, score, 1, 0, 0]],
        )
        assert (told in "".join(part for part, _ in found["line"])) == is_told


def test_strings_that_are_no_ladder_are_counted(script: Page) -> None:
    found = verdict(script, lane(0.9, reach=3), lane(0.2, reach=8), noun="string")
    assert " · right for 8 of 8 strings against 3 of 8 strings" in "".join(
        part for part, _ in found["line"]
    )


def verdict(
    script: Page, linear: Any, network: Any, rank: int = 4, **others: Any
) -> dict[str, Any]:
    asked = {
        "ranks": [rank, rank],
        "learner": "both.non",
        "objectives": ["hankel", "hankel"],
        "linear": linear,
        "network": network,
        "others": [],
        "hasTruth": True,
        "noun": "depth",
        "nested": "[ⁿ]ⁿ",
        "longest": 8,
    }
    found: dict[str, Any] = script.evaluate("(asked) => verdictOf(asked)", asked | others)
    return found


def test_a_network_counts_along_the_line_of_depths(script: Page) -> None:
    """Across, `[` leads to the right and `]` back, by about a depth each. SP with three states has
    two depths, and loses all others."""
    fields = {"learner": "both.non", "rank": 3, "objective": "likelihood"}
    recipe = with_fields(PRESETS["first-steps"][1], fields)
    data = load_data(recipe.data)
    hankel = build_hankel(data.train, recipe.hankel)
    payload = json.loads(json.dumps(explore_payload(data, hankel, hankel_svd(hankel, MAX_RANK))))
    network = load_result(LAB_FOLDER / "assets" / "results" / recipe.key())
    trained = json.loads(json.dumps(trained_payload({"both.non": {3: network}})))
    words = [[0] * depth + [1] * closed for depth in range(1, 6) for closed in range(depth + 1)]
    ask = """([payload, trained, learner, words]) => {
        const material = new Material(payload);
        material.trained = trained;
        const lane = material.lane(learner, 3);
        const { put, line } = material.plane(lane, "end");
        return [words.map((word) => put(stateAfter(lane.model, word))), line.points];
    }"""
    found = {}
    lines = {}
    for learner in ("SP", "both.non"):
        found[learner], lines[learner] = script.evaluate(ask, [payload, trained, learner, words])
    groups = len(payload["groups"]["names"])
    places = dict[Word, float]()
    for word, linear, nonlinear in zip(words, *found.values(), strict=True):
        depth = word.count(0) - word.count(1)
        place = (nonlinear[0] + 1) * groups / 2 - 0.5
        assert abs(place - depth) < 0.6, word  # the deeper a string has been, the less exact
        places[tuple(word)] = place
        assert (nonlinear[1] > 0.3) == (depth == 0)
        assert (linear is None) == (word.count(0) > 1)
    for word, place in places.items():
        assert places.get((*word, 1), -np.inf) < place < places.get((*word, 0), np.inf)
    # between the depths: the linear model's line is straight, and 0 at 1; the network's stays low
    line = np.array(lines["both.non"])
    depths = (line[:, 0] + 1) * groups / 2 - 0.5
    shares = (line[:, 1] + 0.4) / 1.4
    np.testing.assert_allclose([depths[0], depths[-1]], [0, groups - 1], atol=1e-9)
    assert shares[0] > 0.6 and (shares[depths > 0.99] < 0.01).all()
    assert (np.diff(shares) < 1e-4).all()
    line = np.array(lines["SP"])
    depths = (line[:, 0] + 1) * groups / 2 - 0.5
    shares = (line[:, 1] + 0.4) / 1.4
    assert shares[0] > 0.8 and shares[-1] == pytest.approx(-0.4)
    np.testing.assert_allclose(shares, shares[0] * (1 - depths), atol=0.01)
    # a PFA's falls so slowly that it would be that far below 0 only outside the plane
    fields = {"learner": "PFA", "rank": 3, "starts": PFA_STARTS}
    pfa = load_result(LAB_FOLDER / "assets" / "results" / with_fields(recipe, fields).key())
    flat = script.evaluate(
        """([payload, trained]) => {
            const material = new Material(payload);
            material.trained = trained;
            return material.plane(material.lane("PFA", 3), "end").line;
        }""",
        [payload, json.loads(json.dumps(trained_payload({"PFA": {3: pfa}})))],
    )
    assert not flat["goesOn"] and flat["points"] and np.abs(flat["points"]).max() <= 1.0


def test_each_state_has_the_depth_on_which_its_singular_vector_lives(script: Page) -> None:
    recipe = PRESETS["first-steps"][1]
    data = load_data(recipe.data)
    hankel = build_hankel(data.train, recipe.hankel)
    payload = json.loads(json.dumps(explore_payload(data, hankel, hankel_svd(hankel, MAX_RANK))))
    found = script.evaluate("(payload) => new Material(payload).depthsOfStates", payload)
    depths = np.array([word.count(0) - word.count(1) for word in hankel.basis.prefixes])
    vectors = np.linalg.svd(hankel.block.toarray())[0][:, : len(found)]
    expected = np.abs(vectors).argmax(axis=0)
    deepest = max(found)  # "5+"
    assert len(found) == 20 and deepest == 5
    assert found == np.minimum(depths[expected], deepest).tolist()
