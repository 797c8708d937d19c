"""Networks by likelihood: counts, gradient and Gauss–Newton matrix against brute force, the path of
ranks, and what `fit` makes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path as File
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    Recipe,
    as_sample,
    draw,
    evaluate,
    fit,
    load,
    load_data,
    options,
    run,
    save,
)
from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.learning.fitting import Fit
from nlwfa_core.learning.likelihood import newton
from nlwfa_core.learning.likelihood.curvature import evidence, gauss_newton
from nlwfa_core.learning.likelihood.network import (
    Evaluator,
    Network,
    objective,
    objectives_and_gradients,
    outputs,
)
from nlwfa_core.learning.likelihood.path import Path, widened
from nlwfa_core.learning.likelihood.prefixes import PrefixCounts
from nlwfa_core.learning.progress import Progress, never, silent
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray

WORDS = ["ab", "ab", "abba", "b", "", "babab", "abb", "bb", "abab", "a"] * 4
NETWORKS = ("fac.non", "tran.non", "both.non")
TANH = {"fac.non": (False, True), "tran.non": (True, False), "both.non": (True, True)}
samples = st.lists(st.text("abc", max_size=6), min_size=1, max_size=12).map(
    lambda words: as_sample(words, Alphabet.of("abc"))
)


@pytest.fixture(autouse=True)
def few_starts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the slow tests hold for any number of starts."""
    if request.node.get_closest_marker("slow") is None:
        for name, value in {"FRESH": 4, "KEPT": (2,), "FRESH_UP_TO": 2, "GROWN": 2}.items():
            monkeypatch.setattr(f"nlwfa_core.learning.likelihood.path.{name}", value)


def network_of(learner: str, num_states: int = 2, num_symbols: int = 2, seed: int = 0) -> Network:
    """Random weights, none of which is 0."""
    random = np.random.default_rng(seed)
    tanh_maps, tanh_decoder = TANH[learner]

    def layer(*shape: int) -> FloatArray:
        weights: FloatArray = random.normal(size=shape) / 1.5
        return weights

    k = num_states
    hidden = 2 * num_states
    maps = (
        (layer(num_symbols, k, hidden), layer(num_symbols, hidden, k))
        if tanh_maps
        else (layer(num_symbols, k, k),)
    )
    decoder = (layer(k, hidden),) if tanh_decoder else ()
    return Network(layer(k), maps, decoder, layer(hidden if decoder else k, num_symbols + 1))


def logs_of(network: Network, prefixes: PrefixCounts) -> FloatArray:
    logs: FloatArray = outputs(network, prefixes).logs[0].T
    return logs


def differences(function: Callable[[FloatArray], Any], at: FloatArray) -> FloatArray:
    """The derivative of a function by each weight, (num_weights, …)."""
    step = 1e-5
    steps = step * np.eye(len(at))
    return np.array([(function(at + one) - function(at - one)) / (2 * step) for one in steps])


def minimised(model: NLWFA, sample: Sample, ridge: float) -> float:
    """J of a model in nats, N times: from the weights of whole strings, and the prior."""
    logs = np.log(2) * model.log2_weights(sample.words)
    layers = (model.initial, *model.transitions, *model.decoder, model.output)
    return float(-sample.counts @ logs + ridge / 2 * sum((layer**2).sum() for layer in layers))


@given(samples)
def test_counts_are_those_of_the_strings(sample: Sample) -> None:
    follows = Counter[tuple[tuple[int, ...], int]]()
    for word, count in zip(sample.words, sample.counts.tolist(), strict=True):
        for place, symbol in enumerate((*word, sample.num_symbols)):
            follows[word[:place], symbol] += count
    prefixes = PrefixCounts.of(sample)
    found = Counter[tuple[tuple[int, ...], int]]()
    names = [()]
    for parent, symbol in zip(prefixes.parent[1:], prefixes.symbol[1:], strict=True):
        names.append((*names[parent], int(symbol)))
    for name, row in zip(names, prefixes.counts, strict=True):
        found.update({(name, symbol): int(count) for symbol, count in enumerate(row)})
    assert +found == follows
    assert prefixes.total == sum(follows.values())
    assert [len(name) for name in names] == prefixes.depth.tolist()
    covered = []
    of_parent = Counter[int]()
    for level in prefixes.levels:
        for symbol, first, last in level.runs:
            covered += [
                (number, symbol) for number in range(level.start + first, level.start + last)
            ]
        for children in level.children:
            for parent, child in enumerate(children.tolist(), level.first_parent):
                if level.start + child < level.end:
                    assert prefixes.parent[level.start + child] == parent
                    of_parent[level.start + child] += 1
    assert covered == list(enumerate(prefixes.symbol.tolist()))[1:]
    assert of_parent == Counter(range(1, prefixes.num_prefixes))
    short = prefixes.up_to(2)
    assert short.counts.tolist() == [
        row.tolist() for name, row in zip(names, prefixes.counts, strict=True) if len(name) <= 2
    ]


@pytest.mark.parametrize("learner", NETWORKS)
def test_what_is_minimised_is_the_likelihood_of_the_model_with_its_prior(learner: str) -> None:
    sample = as_sample(WORDS)
    network = network_of(learner)
    prefixes = PrefixCounts.of(sample)
    value = objective(network, prefixes, 0.5 / prefixes.total) * prefixes.total
    assert value == pytest.approx(minimised(network.model(), sample, 0.5), rel=1e-10)


@pytest.mark.parametrize("learner", NETWORKS)
def test_the_gradient_is_that_of_finite_differences(learner: str) -> None:
    network = network_of(learner)
    prefixes = PrefixCounts.of(as_sample(WORDS))
    (value,), (gradient,) = objectives_and_gradients(network, network.vector[None], prefixes, 0.01)
    assert value == objective(network, prefixes, 0.01)
    expected = differences(
        lambda vector: objective(network.with_vector(vector), prefixes, 0.01), network.vector
    )
    assert np.allclose(gradient, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("learner", NETWORKS)
def test_networks_together_are_trained_as_each_alone(learner: str) -> None:
    """One of them diverges: linear maps of long strings, or weights of any size."""
    prefixes = PrefixCounts.of(as_sample([*WORDS, "a" * 400]))
    networks = [network_of(learner, 3, seed=seed) for seed in range(3)]
    networks.append(networks[0].with_vector(1e3 * networks[0].vector))
    vectors = np.stack([network.vector for network in networks])
    values, gradients = objectives_and_gradients(networks[0], vectors, prefixes, 0.01)
    evaluator = Evaluator(networks[0], prefixes, 0.01, 2)
    for number in (4, 1, 2):  # the arrays are used again
        again, slopes = evaluator.objectives_and_gradients(vectors[:number])
        assert again == pytest.approx(values[:number], rel=1e-12)
        assert np.allclose(slopes, gradients[:number], rtol=1e-9, atol=1e-12)
    for network, value, gradient in zip(networks, values, gradients, strict=True):
        (alone,), (its_gradient,) = objectives_and_gradients(
            network, network.vector[None], prefixes, 0.01
        )
        assert value == pytest.approx(alone, rel=1e-12)
        assert np.allclose(gradient, its_gradient, rtol=1e-9, atol=1e-12)
    ended = newton.descend(networks, prefixes, 0.01, rounds=2, steps=3)
    for network, descended in zip(networks, ended, strict=True):
        (alone,) = newton.descend([network], prefixes, 0.01, rounds=2, steps=3)
        assert descended.value == pytest.approx(alone.value, rel=1e-6)
        assert (np.diff(descended.values) <= 0).all()


@pytest.mark.parametrize("learner", NETWORKS)
@pytest.mark.parametrize("at_once", [1, 1_000])
def test_the_gauss_newton_matrix_is_that_of_the_models_probabilities(
    learner: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Σ_u (n_u/N) Σ_σ p(σ|u) ∇ln p ∇ln pᵀ is the same matrix, written as Fisher's, level by level
    or in one block.
    """
    monkeypatch.setattr("nlwfa_core.learning.likelihood.curvature.PREFIXES_AT_ONCE", at_once)
    sample = as_sample(WORDS)
    network = network_of(learner)
    prefixes = PrefixCounts.of(sample)
    trie = Trie.of(sample.words, 2)
    slopes = differences(
        lambda vector: np.log(network.with_vector(vector).model().next_scores(trie)),
        network.vector,
    )
    shares = trie.prefix_counts(sample.counts) / prefixes.total
    weights = shares[:, None] * network.model().next_scores(trie)
    expected = np.einsum("iuc,uc,juc->ij", slopes, weights, slopes)
    matrix = gauss_newton(network, prefixes)
    assert np.allclose(matrix, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("learner", NETWORKS)
def test_states_that_nothing_reads_change_nothing(learner: str) -> None:
    network = network_of(learner)
    prefixes = PrefixCounts.of(as_sample(WORDS))
    random = np.random.default_rng(1)
    wide = widened(network, 4, lambda shape, _: random.normal(size=shape))
    assert wide.num_states == 4 and np.abs(wide.vector).sum() > np.abs(network.vector).sum()
    assert np.allclose(logs_of(wide, prefixes), logs_of(network, prefixes), atol=1e-12)
    dead = widened(network, 4, lambda shape, _: np.zeros(shape))
    before, after = (
        evidence(each, prefixes, gauss_newton(each, prefixes), 1.0) for each in (network, dead)
    )
    assert after == pytest.approx(before, abs=0.01)  # weights without effect cost nothing
    assert evidence(wide, prefixes, gauss_newton(wide, prefixes), 1.0) < before - 1


def test_the_evidence_of_one_weight_is_its_integral() -> None:
    """A network of which only one weight has an effect: ∫ likelihood × prior, by a sum."""
    sample = as_sample(["a"] * 40 + [""] * 60)
    prefixes = PrefixCounts.of(sample)
    prior = 1.0
    ends = np.zeros((1, 2))

    def network(weight: float) -> Network:
        # z_λ = 1 and z_a = 0: only ln p(· | λ) depends on the weight
        ends[0, 0] = weight
        return Network(np.ones(1), (np.zeros((1, 1, 1)),), (), ends.copy())

    grid = np.linspace(-6, 6, 4001)
    logs = [-prefixes.total * objective(network(one), prefixes, 0.0) for one in grid]
    density = np.exp(np.array(logs) - prior * grid**2 / 2) * np.sqrt(prior / (2 * np.pi))
    exact = float(np.log(np.trapezoid(density, grid)))
    best = network(float(grid[density.argmax()]))
    free = np.zeros((4, 4))
    free[2, 2] = gauss_newton(best, prefixes)[2, 2]
    fixed = 1 / 2  # the prior of α₀, which is not integrated here
    assert evidence(best, prefixes, free, prior) + fixed == pytest.approx(exact, abs=0.02)


@pytest.mark.parametrize("learner", NETWORKS)
def test_what_is_minimised_never_rises_with_the_rank(learner: str) -> None:
    sample = Dyck().sample(30, seed=3)
    cache = FitCache()
    values = []
    for rank in range(1, 6):
        learned = fit(sample, learner, rank, objective="likelihood", cache=cache)
        assert isinstance(learned.model, NLWFA) and learned.model.num_states == rank
        (log,) = learned.report.logs
        values.append(minimised(learned.model, sample, 2.0))
        predictions = PrefixCounts.of(sample).total
        assert log.losses[-1] * np.log(2) * predictions == pytest.approx(values[-1], rel=1e-6)
        assert (np.diff(log.losses) <= 1e-9).all() or log.losses[-1] == log.losses.min()
    assert (np.diff(values) <= 1e-6).all()


def test_a_rank_does_not_depend_on_the_largest_one() -> None:
    """Nor on the form in which the strings are passed."""
    sample = Dyck().sample(20, seed=4)
    cache = FitCache()
    fit(sample, "both.non", 3, objective="likelihood", cache=cache)
    hankel = build_hankel(sample, HankelRecipe(num_prefixes=6, num_suffixes=6))
    models: list[Any] = [
        fit(sample, "both.non", 2, objective="likelihood", cache=cache).model,
        fit(sample, "both.non", 2, objective="likelihood").model,
        fit(hankel, "both.non", 2, objective="likelihood", strings=sample).model,
    ]
    for other in models[1:]:
        for layer, same in zip(models[0].transitions, other.transitions, strict=True):
            assert (layer == same).all()
        assert (models[0].output == other.output).all()
    changed: Any = fit(sample, "both.non", 2, objective="likelihood", seed=1, cache=cache).model
    assert not np.array_equal(changed.output, models[0].output)


def test_other_strings_do_not_use_the_cache() -> None:
    cache = FitCache()
    first = as_sample(["a", "b"] * 20)
    second = as_sample(["a"] * 40 + ["b"])
    one = fit(first, "both.non", 1, objective="likelihood", cache=cache).model
    other = fit(second, "both.non", 1, objective="likelihood", cache=cache).model
    assert one("b") > 0.4 > 0.1 > other("b")


def test_the_prior_holds_weights_back() -> None:
    sample = as_sample(WORDS)

    def size(ridge: float) -> float:
        path = Path(sample, True, True, ridge, 0)
        return float(np.linalg.norm(path.up_to(1, silent, never).network.vector))

    assert size(100.0) < size(1.0) / 2 < size(0.01)


@pytest.mark.parametrize("learner", NETWORKS)
def test_a_network_without_a_matrix_learns_too(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one with many symbols does; a state has then a price per weight."""
    monkeypatch.setattr(newton, "MOST_WEIGHTS", 0)
    sample = as_sample(["ab" * n for n in range(8)] * 5)
    path = Path(sample, *TANH[learner], 1.0, 0)
    stages = [path.up_to(rank, silent, never) for rank in (1, 2, 3)]
    values = [stage.descended.value for stage in stages]
    assert values[0] >= values[1] >= values[2] and values[2] < 0.9 * np.log(3)
    assert all(np.isnan(stage.evidence) for stage in stages)


def test_a_larger_sample_has_a_matrix_of_some_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlwfa_core.learning.likelihood.path.CURVATURE_STRINGS", 50)
    sample = Dyck().sample(200, seed=5)
    path = Path(sample, True, True, 1.0, 0)
    assert path.curvature_of.totals[0] == 50
    assert path.curvature_of.num_prefixes < path.prefixes.num_prefixes
    assert path.up_to(1, silent, never).descended.value < 0.95 * np.log(3)


def test_of_many_strings_more_networks_start_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a smaller one was not worth its weights."""
    sample = Dyck().sample(40, seed=7)
    trainings = []
    for many in (41, 40):
        monkeypatch.setattr("nlwfa_core.learning.likelihood.path.MANY_STRINGS", many)
        path = Path(sample, True, True, 1.0, 0)
        seen = list[Progress]()
        path.up_to(5, seen.append, never)
        assert seen[-1].step == seen[-1].total
        trainings.append(seen[-1].total)
        assert any(stage.network.num_states < stage.rank for stage in path.stages[:4])
    assert trainings[0] < trainings[1]


def test_progress_comes_to_an_end_and_can_be_cancelled() -> None:
    sample = as_sample(WORDS)
    seen: list[Progress] = []
    fit(sample, "both.non", 2, objective="likelihood", report=seen.append)
    done = [each.step for each in seen if each.preview is None]
    assert done == list(range(1, seen[0].total + 1))
    assert {each.stage for each in seen} == {"likelihood"}
    calls: list[int] = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 50

    with pytest.raises(Cancelled):
        fit(sample, "both.non", 2, objective="likelihood", cancelled=cancelled)
    assert len(calls) == 51


def test_the_best_network_so_far_can_be_seen() -> None:
    """Of the last training, on all prefixes, each preview is better than the one before."""
    sample = as_sample(WORDS)
    seen: list[Progress] = []
    model = fit(sample, "both.non", 2, objective="likelihood", report=seen.append).model
    assert isinstance(model, NLWFA)
    ends = [number for number, each in enumerate(seen) if each.preview is None]
    previews = [each.preview() for each in seen[ends[-2] : ends[-1]] if each.preview]
    values = [minimised(each, sample, 2.0) for each in [*previews, model]]
    assert len(values) > 2 and values == sorted(values, reverse=True)


def test_the_model_is_a_distribution_that_is_saved_and_sampled(tmp_path: File) -> None:
    sample = Dyck().sample(40, seed=6)
    learned = fit(sample, "both.non", 2, objective="likelihood")
    assert isinstance(learned, Fit) and learned.report.training in ("finished", "stopped")
    assert set(learned.report.seconds) == {"likelihood"} and learned.report.num_states == 2
    assert learned.model.alphabet == sample.alphabet
    scores = learned.model.next_scores(Trie.of(sample.words, 2))
    assert np.allclose(scores.sum(axis=1), 1) and (scores > 0).all()
    save(learned, tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.weights(sample.words) == learned.model.weights(sample.words)).all()
    drawn = draw(again, 20, seed=1)
    assert drawn.counts.sum() == 20


def test_a_recipe_by_likelihood_has_no_matrix() -> None:
    recipe = Recipe(
        data=DataRecipe(num_strings=60, num_validation=0, num_test=20),
        learning=options("tran.non", rank=2, objective="likelihood", ridge=3.0),
    )
    assert not recipe.has("hankel") and Recipe.from_json(recipe.to_json()) == recipe
    assert '"hankel"' not in recipe.to_json() and '"objective":"likelihood"' in recipe.to_json()
    result = run(recipe)
    assert result.model.num_states == 2 and "likelihood" in result.seconds
    assert not any("stopped early" in note for note in result.notes)
    with pytest.raises(RecipeError, match="hankel has no effect with learner tran.non, objective"):
        Recipe(hankel=HankelRecipe(num_prefixes=7), learning=recipe.learning)


def test_the_papers_objective_is_the_default() -> None:
    by_matrix = options("both.non", rank=3)
    assert by_matrix == options("both.non", rank=3, objective="hankel")
    by_likelihood = by_matrix.changed(objective="likelihood")
    assert set(by_likelihood.fields()) == {"learner", "rank", "objective", "ridge", "seed"}
    assert by_likelihood.changed(objective="hankel") == by_matrix
    assert by_likelihood.key() != by_matrix.key()


@pytest.mark.parametrize(
    ("learner", "fields", "message"),
    [
        ("both.non", {"starts": 3}, "starts has no effect .* it needs objective hankel"),
        ("both.non", {"refine": "hankel"}, "refine has no effect .* it needs objective hankel"),
        ("fac.non", {"batch": 3}, "batch has no effect .* it needs objective hankel"),
        ("fac.non", {"schedule": "cosine"}, "schedule has no effect .* objective hankel"),
        ("both.non", {"objective": "hankel", "ridge": 3.0}, "ridge .* needs objective likelihood"),
        ("both.non", {"objective": "values"}, "objective must be one of hankel, likelihood"),
        ("both.non", {"ridge": 0.0}, "ridge must be above 0"),
        ("SP", {}, "objective has no effect with learner SP; it needs learner fac.non, tran.non"),
        ("GRU", {}, "objective has no effect with learner GRU; it needs learner fac.non"),
    ],
)
def test_fields_without_effect_are_refused(
    learner: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        options(learner, rank=2, **{"objective": "likelihood", **fields})


def test_strings_are_needed_once() -> None:
    sample = as_sample(WORDS)
    hankel = build_hankel(sample, HankelRecipe(num_prefixes=4, num_suffixes=4))
    by_likelihood = options("both.non", rank=1, objective="likelihood")
    with pytest.raises(
        RecipeError, match="training by likelihood needs strings; got only a HankelMatrix"
    ):
        fit(hankel, by_likelihood)
    with pytest.raises(TypeError, match="strings can only be passed with a HankelMatrix"):
        fit(sample, by_likelihood, strings=sample)
    with pytest.raises(RecipeError, match="num_prefixes has no effect with objective likelihood"):
        fit(sample, by_likelihood, num_prefixes=4)
    with pytest.raises(RecipeError, match="no strings"):
        fit([], by_likelihood)


@pytest.mark.slow
def test_two_and_three_states_are_enough_for_brackets() -> None:
    """2,000 strings; SP has a total variation of 0.48 there."""
    data = load_data(DataRecipe(num_strings=2000, num_test=2000, seed=501))
    assert data.true_model is not None
    cache = FitCache()
    true = evaluate(data.true_model, data.test)
    two, three = (
        evaluate(
            fit(data.train, "both.non", k, objective="likelihood", cache=cache).model, data.test
        )
        for k in (2, 3)
    )
    assert two.wer < true.wer + 0.015
    assert three.total_variation is not None and three.total_variation <= 0.06
