"""The third step: the rolled-out model says what the finished one says, and learning never ends
above its start.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.names import REFINEMENTS
from nlwfa_core.learning.progress import never, silent
from nlwfa_core.learning.refine.hankel import _RolledOutRows
from nlwfa_core.learning.refine.likelihood import (
    PATIENCE,
    SCALES,
    TAME,
    WILD,
    _as_distribution,
    _balanced,
    _eigenvectors_by_part,
    _gradient_norm,
    _random_like,
    _refitted,
    _tamed,
    _train_from,
    _Trained,
    refine_likelihood,
)
from nlwfa_core.learning.refine.torch_states import Continuations, Rollout, transition_step
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.metrics.evaluate import next_symbol_score
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import ConditionalReading
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import ALPHABET
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Words
from tests.core.records import AS_IN_THE_PAPER, learning_of
from tests.references import all_words, random_nlwfa

QUICK = {**AS_IN_THE_PAPER, "epochs_factorisation": 40, "epochs_transitions": 30}
COUNTED = [
    ("string", "none"),
    ("string", "sqrt"),
    ("string", "row"),
    ("prefix", "none"),
    ("factor", "sqrt"),
    ("factor", "row"),
]
# Each learner and each matrix occurs in the cases that are not slow.
CASES = [
    pytest.param(
        learner,
        statistic,
        transform,
        marks=[] if (number - place) % 4 == 0 else pytest.mark.slow,
    )
    for place, learner in enumerate(HANKEL_LEARNERS)
    for number, (statistic, transform) in enumerate(COUNTED)
]
DATA = load_data(DataRecipe(num_strings=600, num_validation=100, num_test=100))
VALIDATION = DATA.validation.sample if DATA.validation else DATA.train


def counted(learner: str, statistic: str, transform: str) -> HankelMatrix:
    bounded = LEARNERS[learner].needs_boundary(statistic, transform)
    recipe = HankelRecipe(
        num_prefixes=40, num_suffixes=30, statistic=statistic, transform=transform, bounded=bounded
    )
    return build_hankel(DATA.train, recipe)


def test_states_are_those_of_the_model() -> None:
    model = random_nlwfa(3, 2, seed=1)
    trie = Trie.of(all_words(2, 4), 2)
    rollout = Rollout(trie)
    step = transition_step([torch.from_numpy(layer) for layer in model.transitions], True)
    states = rollout.states(torch.from_numpy(model.initial), step)[rollout.row]
    np.testing.assert_allclose(states.numpy(), model.states(trie), rtol=1e-12)


@pytest.mark.parametrize(("learner", "statistic", "transform"), CASES)
def test_what_is_minimised_is_what_is_reported(
    learner: str, statistic: str, transform: str
) -> None:
    """Before a step is taken: bits per symbol of the metric, also after a change of coordinates."""
    model = fit(counted(learner, statistic, transform), learning_of(learner, 3, **QUICK)).model
    start = _balanced(_as_distribution(model, DATA.train), DATA.train)
    tree = Continuations(VALIDATION, 2)
    if (
        isinstance(start, NLWFA)
        and start.scaled_states(Trie.of(VALIDATION.words, 2))[1] is not None
    ):
        # scores scale states that would underflow; training, whose states soon grow, does not
        return
    wanted = next_symbol_score(start, VALIDATION).bits_per_symbol
    if np.isfinite(wanted):
        assert float(_Trained.of(start).bits_per_symbol(tree).detach()) == pytest.approx(
            wanted, rel=1e-4
        )
    if not (isinstance(start, NLWFA) and start.reading.link == "softmax"):
        assert wanted == pytest.approx(
            next_symbol_score(model, VALIDATION).bits_per_symbol, rel=1e-6
        )


@pytest.mark.parametrize(("learner", "statistic", "transform"), CASES)
def test_likelihood_never_ends_above_its_start(
    learner: str, statistic: str, transform: str
) -> None:
    hankel = counted(learner, statistic, transform)
    before = fit(hankel, learning_of(learner, 3, **QUICK)).model
    third = {"refine": "likelihood", "epochs_refinement": 4, "batch": 200, "dropout": 0.1}
    options = learning_of(learner, 3, **QUICK, **third)
    after = fit(hankel, options, strings=DATA.train, validation=VALIDATION)
    scores = [
        next_symbol_score(model, VALIDATION).bits_per_symbol for model in (before, after.model)
    ]
    assert scores[1] <= scores[0] or (np.isfinite(scores[1]) and not np.isfinite(scores[0]))
    assert after.report.logs[-1].measure == "bits per symbol"
    again = fit(hankel, options, strings=DATA.train, validation=VALIDATION)
    np.testing.assert_array_equal(
        after.model.weights(DATA.test.words), again.model.weights(DATA.test.words)
    )


@pytest.mark.parametrize(("learner", "statistic", "transform"), CASES)
def test_the_loss_on_the_rows_never_ends_above_its_start(
    learner: str, statistic: str, transform: str
) -> None:
    learned = fit(
        counted(learner, statistic, transform),
        learning_of(
            learner,
            3,
            **QUICK,
            refine="hankel",
            optimizer_refinement="adamax",
            epochs_refinement=30,
            rate_refinement=0.003,
        ),
    )
    losses = learned.report.logs[-1].losses
    assert (
        learned.report.logs[-1].stage == "refinement"
        and losses.min() <= losses[0]
        and losses.min() < 1.5
    )


def test_the_loss_on_the_rows_is_that_of_the_rows() -> None:
    """The first loss against the dense sum over P', row by row."""
    hankel = counted("SP", "string", "none")
    learned = fit(hankel, learner="SP", rank=3)
    model = learned.model
    assert isinstance(model, WFA)
    refined = fit(hankel, "SP", rank=3, refine="hankel", epochs_refinement=0)
    V = np.linalg.svd(hankel.block.toarray(), full_matrices=False)[2][:3]
    largest = np.abs(V).argmax(axis=1)
    V *= np.sign(V[np.arange(3), largest])[:, None]  # as `truncated_svd` has the signs
    states = model.states(hankel.basis.prefix_tree)[hankel.basis.prefix_tree.ends]
    error = 0.0
    norm = 0.0
    dense = hankel.matrix.toarray()
    for row, state in enumerate(states):
        following = [
            (hankel.shifted[row, symbol], state @ model.transitions[symbol]) for symbol in range(2)
        ]
        for target, code in [
            (row, state),
            *(pair for pair in following if pair[0] >= hankel.num_prefixes),
        ]:
            error += ((code @ V - dense[target]) ** 2).sum()
            norm += (dense[target] ** 2).sum()
    assert refined.report.logs[-1].losses[0] == pytest.approx(error / norm, rel=1e-6)


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize(("statistic", "transform"), [("string", "none"), ("factor", "row")])
def test_the_gradient_on_the_rows_is_that_of_finite_differences(
    learner: str, statistic: str, transform: str
) -> None:
    rng = np.random.default_rng(0)
    hankel = counted(learner, statistic, transform)
    fields = {} if learner == "SP" else QUICK
    options = learning_of(learner, 3, **fields)
    steps = options.two_steps(hankel, None, FitCache(), silent, never).steps
    rows = _RolledOutRows(hankel, steps)
    slope = 0.0
    directions = [rng.normal(size=layer.shape) for layer in rows.parameters]
    for gradient, way in zip(rows.loss()[1], directions, strict=True):
        slope += np.vdot(gradient, way)

    def loss_at(step: float) -> float:
        for layer, way in zip(rows.parameters, directions, strict=True):
            layer += step * way
        value, _ = rows.loss()
        for layer, way in zip(rows.parameters, directions, strict=True):
            layer -= step * way
        return value

    assert slope == pytest.approx((loss_at(1e-6) - loss_at(-1e-6)) / 2e-6, rel=1e-4, abs=1e-7)


def test_refined_distributions_sum_to_one() -> None:
    """Conditional probabilities sum to 1, so do strings and what goes on from them, length by
    length.
    """
    learned = fit(
        counted("both.non", "factor", "row"),
        "both.non",
        rank=3,
        **QUICK,
        refine="likelihood",
        epochs_refinement=30,
        batch=100,
        strings=DATA.train,
        validation=VALIDATION,
    ).model
    assert (
        isinstance(learned, NLWFA)
        and learned.reading.link == "softmax"
        and learned.reading.normalised
    )
    words = all_words(2, 6)
    trie = Trie.of(words, 2)
    np.testing.assert_allclose(learned.next_scores(trie).sum(axis=1), 1, rtol=1e-12)
    assert learned.weights(words).sum() < 1
    refined = fit(
        counted("SP", "string", "none"),
        learner="SP",
        rank=3,
        refine="likelihood",
        epochs_refinement=5,
        rate_refinement=0.003,
        strings=DATA.train,
        validation=VALIDATION,
    ).model
    assert isinstance(refined, WFA)
    assert refined.spectral_radius >= 1 or refined.total_weight() == pytest.approx(1, abs=0.05)


def test_random_starts_are_tried_too() -> None:
    recipe = Recipe(
        data=DataRecipe(num_strings=300, num_validation=60, num_test=60),
        hankel=HankelRecipe(
            num_prefixes=30, num_suffixes=30, statistic="prefix", transform="row", bounded=True
        ),
        learning=learning_of(
            "tran.non",
            2,
            **QUICK,
            refine="likelihood",
            epochs_refinement=3,
            batch=100,
            restarts=2,
        ),
    )
    seen: list[float] = []
    result = run(
        recipe,
        lambda progress: seen.append(progress.step) if progress.stage == "refinement" else None,
    )
    assert max(seen) == 9 and result.report.seconds["refinement"] > 0
    assert result.validation is not None
    assert result.validation.bits_per_symbol <= result.report.logs[-1].losses[0]


def test_random_starts_lie_around_0() -> None:
    """Each of 300 uniform numbers from −½ to ½ is near an end with the probability 0.2."""
    drawn = _random_like(random_nlwfa(300, 1, 0), 0).initial
    assert -0.5 <= drawn.min() < -0.4 and 0.4 < drawn.max() <= 0.5


def test_what_is_refused() -> None:
    hankel = counted("SP", "string", "none")
    with pytest.raises(RecipeError, match="refine must be one of " + ", ".join(REFINEMENTS)):
        learning_of("SP", 2, refine="em")
    with pytest.raises(
        RecipeError, match="refining by likelihood needs training strings; got none"
    ):
        fit(hankel, "SP", rank=2, refine="likelihood")
    with pytest.raises(RecipeError, match="both.non needs boundary symbols"):
        Recipe(hankel=HankelRecipe(statistic="factor"), learning=learning_of("both.non", 2))


@pytest.mark.parametrize("objective", ["hankel", "likelihood"])
def test_refinement_can_be_cancelled(objective: str) -> None:
    stages: list[str] = []
    options = learning_of("SP", 2, refine=objective, epochs_refinement=50)
    with pytest.raises(Cancelled):
        fit(
            counted("SP", "string", "none"),
            options,
            strings=DATA.train,
            report=lambda progress: stages.append(progress.stage),
            cancelled=lambda: stages.count("refinement") >= 3,
        )
    assert stages.count("refinement") == 3


@pytest.mark.parametrize("rank", [3, 5])
def test_states_that_are_0_stay_0_in_balanced_coordinates(rank: int) -> None:
    """Rows of different bracket depths share no column, so SP gives deep strings the weight 0, and
    not 1e-16.
    """
    model = fit(counted("SP", "string", "row"), learner="SP", rank=rank).model
    start = _as_distribution(model, DATA.train)
    words = DATA.test.sample.words
    weights = _balanced(start, DATA.train).weights(words)
    before = start.weights(words)
    assert ((weights == 0) == (before == 0)).all() and (before == 0).any() and (before != 0).any()
    np.testing.assert_allclose(weights, before, rtol=1e-9)


def test_parts_may_hang_together_by_negative_entries() -> None:
    matrix = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])
    values, vectors = _eigenvectors_by_part(matrix)
    assert values == pytest.approx([1, 3, 5])
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12)


def test_the_model_of_an_epoch_is_an_average() -> None:
    """The first step of Adam has the size of the learning rate in every parameter; the first
    average is halfway.
    """
    rate = 0.01
    averages = list[np.ndarray]()
    options = learning_of(
        "SP",
        2,
        refine="likelihood",
        epochs_refinement=1,
        batch=int(DATA.train.counts.sum()),
        rate_refinement=rate,
        weight_decay=0.0,
        dropout=0.0,
    )
    start = WFA([0.6, 0.4], [[[0.2, 0.1], [0.1, 0.2]], [[0.1, 0.2], [0.3, 0.1]]], [0.4, 0.3])

    def note(_: int, __: float, average: _Trained) -> None:
        averages.extend(tensor.detach().numpy().copy() for tensor in average.tensors)

    _train_from(start, DATA.train, VALIDATION, options, note, never)
    for average, tensor in zip(averages, _Trained.of(start).tensors, strict=True):
        np.testing.assert_allclose(np.abs(average - tensor.detach().numpy()), rate / 2, rtol=1e-3)


def test_a_refinement_that_never_trains_returns_the_model() -> None:
    """SP gives training strings the weight 0, so its bits are infinite, and with no epochs they
    stay so.
    """
    model = fit(counted("SP", "string", "row"), learner="SP", rank=3).model
    assert isinstance(model, WFA | NLWFA)
    untrained = learning_of("SP", 3, refine="likelihood", epochs_refinement=0)
    refined, log = refine_likelihood(model, DATA.train, None, untrained)
    assert refined is model and log.losses.tolist() == [np.inf]


def test_a_refinement_that_only_makes_it_worse_returns_the_model() -> None:
    """On the validation strings, λ and ab, no model of one state is better than their shares of
    symbols and ends; the training strings pull it away.
    """
    model = WFA([1], [[[0.25]], [[0.25]]], [0.5])
    validation = Sample.of(Words.of([(), (0, 1)]), ALPHABET)
    options = learning_of("SP", 1, refine="likelihood", epochs_refinement=3)
    refined, log = refine_likelihood(model, strings_of_length(5, 50), validation, options)
    assert min(log.losses[1:]) > log.losses[0] == 1.5
    assert refined is model


def conditional_model(seed: int, factor: float) -> NLWFA:
    """A model of conditional probabilities by a softmax over two symbols and the end."""
    rng = np.random.default_rng(seed)
    model = random_nlwfa(3, 2, seed)
    return replace(
        model,
        transitions=tuple(factor * layer for layer in model.transitions),
        output=rng.normal(size=(6, 3)),
        reading=ConditionalReading(link="softmax", normalised=True),
    )


def strings_of_length(length: int, number: int) -> Sample:
    rng = np.random.default_rng(0)
    return Sample.of(Words.of(rng.integers(0, 2, size=(number, length)).tolist()), ALPHABET)


def test_chaotic_maps_are_scaled_down_before_they_are_trained() -> None:
    """Large maps multiply each difference of two states, along strings of 100 symbols."""
    train = strings_of_length(100, 20)
    tree = Continuations(train, 2)
    wild = conditional_model(0, 4.0)
    assert _gradient_norm(wild, tree) > WILD
    tamed = _tamed(wild, train)
    assert isinstance(tamed, NLWFA) and _gradient_norm(tamed, tree) <= TAME
    for scaled, layer in zip(tamed.transitions, wild.transitions, strict=True):
        ratio = scaled / layer
        np.testing.assert_allclose(ratio, ratio.flat[0])
        assert min(abs(ratio.flat[0] - scale) for scale in SCALES) < 1e-12
    assert _tamed(tamed, train) is tamed


def test_the_refitted_layer_is_the_best_one() -> None:
    """A convex problem: from its minimum, every way goes up."""
    train = strings_of_length(5, 50)
    model = conditional_model(1, 1.0)
    fitted = _refitted(model, Continuations(train, 2))
    least = next_symbol_score(fitted, train).bits_per_symbol
    assert least < next_symbol_score(model, train).bits_per_symbol
    for direction in np.random.default_rng(1).normal(size=(5, *fitted.output.shape)):
        moved = replace(fitted, output=fitted.output + 0.1 * direction)
        assert next_symbol_score(moved, train).bits_per_symbol > least


def test_a_refinement_ends_when_no_epoch_is_better() -> None:
    """At a rate at which no weight moves, every epoch is as good as the first."""
    train = strings_of_length(5, 50)
    options = learning_of(
        "both.non", 3, refine="likelihood", epochs_refinement=40, rate_refinement=1e-300
    )
    model = conditional_model(1, 1.0)
    _, losses = _train_from(model, train, train, options, lambda *report: None, never)
    assert len(losses) == 1 + PATIENCE
