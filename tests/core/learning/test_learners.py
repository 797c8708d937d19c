"""All learners: what they refuse, how they report, stop, diverge and repeat."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nlwfa_core import limits
from nlwfa_core.errors import Cancelled, RecipeError
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.boundary import bounded_sample
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.learning.fitting import Fit, fit
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.progress import Progress, TrainingLog
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.rounding import format_significant
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Words
from tests.core.records import AS_IN_THE_PAPER, learning_of
from tests.references import full_basis, ring

NETWORKS = [name for name, kind in LEARNERS.items() if kind.networks]
SAMPLE = Dyck().sample(500, seed=0)
QUICK = {**AS_IN_THE_PAPER, "epochs_factorisation": 20, "epochs_transitions": 10}


@pytest.fixture(scope="module")
def dyck() -> HankelMatrix:
    return estimate_hankel(SAMPLE, select_basis(SAMPLE, 30, 20))


def arrays(learned: Fit) -> list[np.ndarray]:
    model = learned.model
    if isinstance(model, WFA):
        return [model.initial, model.transitions, model.termination]
    return [model.initial, *model.transitions, *model.decoder, model.output]


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
def test_learning_twice_gives_the_same_bits(dyck: HankelMatrix, learner: str) -> None:
    one, same, other = (
        fit(dyck, learning_of(learner, 3, seed=seed, **QUICK)) for seed in (1, 1, 2)
    )
    assert [a.tobytes() for a in arrays(one)] == [a.tobytes() for a in arrays(same)]
    assert ([a.tobytes() for a in arrays(one)] == [a.tobytes() for a in arrays(other)]) == (
        learner == "SP"
    )


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("rank", [0, -1, 21, 1000])
def test_ranks_that_the_basis_does_not_allow_are_refused(
    dyck: HankelMatrix, learner: str, rank: int
) -> None:
    with pytest.raises(
        RecipeError,
        match=r"rank must be between 1 and 20 \(the basis has 30 prefixes and 20 suffixes\); got "
        rf"{rank:,}|rank must be at least 1; got {rank}",
    ):
        fit(dyck, learner=learner, rank=rank)


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("rank", [1, 20])
def test_every_allowed_rank_is_learned(dyck: HankelMatrix, learner: str, rank: int) -> None:
    learned = fit(dyck, learning_of(learner, rank, **QUICK))
    assert (learned.report.learner, learned.report.rank) == (learner, rank)
    assert learned.report.num_states == learned.model.num_states <= rank
    assert np.isfinite(learned.model.weights(Words.of([(), (0, 1), (0, 0, 1, 1)]))).all()


def test_options_out_of_range_are_refused(
    dyck: HankelMatrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        RecipeError,
        match="learner must be one of SP, fac.non, tran.non, both.non, HMM, .*; got 'RNN'",
    ):
        fit(dyck, learner="RNN", rank=3)
    with pytest.raises(RecipeError, match="schedule must be one of constant, cosine; got 'step'"):
        fit(dyck, learner="fac.non", rank=3, optimizer="adamax", schedule="step")
    with pytest.raises(RecipeError, match="hidden must list at most 7 widths .*; got 2,1$"):
        fit(dyck, learner="fac.non", rank=3, hidden=(2, 1))
    monkeypatch.setitem(limits.IN_FORCE, "transition_numbers", 10)
    with pytest.raises(RecipeError, match="symbols × rank² must be at most 10; got 18"):
        fit(dyck, learner="SP", rank=3)


@pytest.mark.parametrize("learner", NETWORKS)
def test_every_epoch_is_reported_with_its_loss(dyck: HankelMatrix, learner: str) -> None:
    seen: list[Progress] = []
    learned = fit(dyck, learning_of(learner, 3, **QUICK), report=seen.append)
    for log, epochs in zip(learned.report.logs, (20, 10), strict=True):
        stage = [step for step in seen if step.stage == log.stage]
        assert [(step.step, step.total) for step in stage] == [
            (epoch, epochs) for epoch in range(epochs + 1)
        ]
        assert [step.loss for step in stage] == log.losses.tolist()
        assert 0 < log.losses.min() < log.losses[0]
    assert (
        list(learned.report.seconds)
        == [log.stage for log in learned.report.logs]
        == ["factorisation", "transitions"]
    )


def test_spectral_learning_reports_its_stage(dyck: HankelMatrix) -> None:
    seen: list[Progress] = []
    report = fit(dyck, learner="SP", rank=3, report=seen.append).report
    assert seen == [Progress("spectral", 0, 1), Progress("spectral", 1, 1)]
    assert report.singular_values is not None and len(report.singular_values) == 3
    assert report.logs == () and list(report.seconds) == ["spectral"]


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("after", [0, 1, 7, 25])
def test_cancelling_stops_at_the_next_epoch(dyck: HankelMatrix, learner: str, after: int) -> None:
    seen: list[Progress] = []
    if learner == "SP" and after:
        fit(dyck, learner=learner, rank=3, report=seen.append, cancelled=lambda: len(seen) > after)
        return  # one stage: nothing to interrupt once it runs
    with pytest.raises(Cancelled):
        fit(
            dyck,
            learning_of(learner, 3, **QUICK),
            report=seen.append,
            cancelled=lambda: len(seen) >= after,
        )
    assert len(seen) == after


@pytest.mark.parametrize(
    ("learner", "stage"),
    [*((name, "factorisation") for name in NETWORKS), ("fac.non", "transitions")],
)
def test_divergence_is_told_and_the_best_weights_are_kept(
    dyck: HankelMatrix, learner: str, stage: str
) -> None:
    """A rate of 1e200 throws the weights so far that their squares are no numbers. (tanh units in
    step 2 don't mind: below.)
    """
    learned = fit(dyck, learner=learner, rank=3, **QUICK, **{f"rate_{stage}": 1e200})
    log = next(log for log in learned.report.logs if log.stage == stage)
    assert log.diverged_at == len(log.losses) == 1
    assert np.isfinite(log.losses).all()
    assert (
        f"Training diverged: the {stage} loss was no longer a finite number after epoch 1."
        in learned.report.messages[0]
    )
    assert (
        f"(loss {format_significant(log.losses.min())}). If it was trained with Adamax, try a "
        "smaller learning rate" in learned.report.messages[0]
    )
    assert all(np.isfinite(a).all() for a in arrays(learned))
    untrained = fit(dyck, learner=learner, rank=3, **{**QUICK, f"epochs_{stage}": 0})
    kept = arrays(learned)
    first = arrays(untrained)
    if stage == "factorisation":  # α₀ is φ(H_λ) before any training
        np.testing.assert_array_equal(kept[0], first[0])
    else:
        np.testing.assert_array_equal(kept[1], first[1])


def test_tanh_transitions_do_not_diverge(dyck: HankelMatrix) -> None:
    learned = fit(dyck, learner="both.non", rank=3, **QUICK, rate_transitions=1e200)
    assert np.isfinite(learned.report.logs[1].losses).all()
    (message,) = learned.report.messages
    assert message.startswith("Training made the transitions worse: ")


def test_a_loss_that_is_never_finite_is_told() -> None:
    assert TrainingLog("transitions", np.empty(0), 0).message == (
        "Training diverged: the transitions loss was no longer a finite number after epoch 0. "
        "The model keeps the weights of its best epoch (loss undefined). If it was trained "
        "with Adamax, try a smaller learning rate."
    )
    assert TrainingLog("transitions", np.ones(3)).message is None


def test_the_cosine_schedule_ends_at_rest() -> None:
    """Half a cosine: its last steps are small, a constant rate's are not."""
    hankel = exact_hankel(ring(3).weights, full_basis(2, 2))
    last: dict[str, float] = {}
    for schedule in ("constant", "cosine"):
        losses = (
            fit(
                hankel,
                learner="both.non",
                rank=2,
                schedule=schedule,
                rate_factorisation=0.2,
                **QUICK,
            )
            .report.logs[0]
            .losses
        )
        last[schedule] = abs(losses[-1] - losses[-2]) / losses[-1]
    assert last["cosine"] < 0.1 * last["constant"]


@pytest.mark.parametrize("learner", NETWORKS)
def test_no_epochs_leave_the_first_weights(dyck: HankelMatrix, learner: str) -> None:
    learned = fit(
        dyck,
        learner=learner,
        rank=2,
        **{**QUICK, "epochs_factorisation": 0, "epochs_transitions": 0},
    )
    assert [len(log.losses) for log in learned.report.logs] == [1, 1]
    assert isinstance(learned.model, NLWFA) and learned.model.num_states == 2


@pytest.mark.parametrize("learner", NETWORKS)
def test_models_hold_the_decoders_columns(dyck: HankelMatrix, learner: str) -> None:
    """G_λ is the λ-column of φ' and the row sum all of them, both in the units of H."""
    model = fit(
        dyck,
        learner=learner,
        rank=3,
        seed=4,
        epochs_factorisation=30,
        epochs_transitions=0,
        **AS_IN_THE_PAPER,
    ).model
    factors = fit_factorisation(
        dyck, learning_of(learner, 3, epochs_factorisation=30, seed=4, **AS_IN_THE_PAPER)
    )
    assert isinstance(model, NLWFA)
    np.testing.assert_array_equal(model.initial, factors.latent[0])
    np.testing.assert_allclose(
        model.output[:, 0], factors.scale * factors.decoder[-1][:, 0], rtol=1e-14
    )
    np.testing.assert_allclose(
        model.output[:, 1], factors.scale * factors.decoder[-1].sum(axis=1), rtol=1e-12
    )


def test_options_are_one_value_or_keywords(dyck: HankelMatrix) -> None:
    options = learning_of("both.non", 2, seed=3, **QUICK)
    models = [
        fit(dyck, options),
        fit(dyck, learner="both.non", rank=2, seed=3, **QUICK),
        fit(dyck, "both.non", 2, seed=3, **QUICK),
        fit(dyck, learning_of("both.non", 7, **QUICK), 2, seed=3),
    ]
    for other in models[1:]:
        for mine, expected in zip(arrays(other), arrays(models[0]), strict=True):
            np.testing.assert_array_equal(mine, expected)
    with pytest.raises(RecipeError, match="'num_prefix'; did you mean num_prefixes"):
        fit(["ab"], "SP", 1, num_prefix=3)
    with pytest.raises(RecipeError, match="unknown field 'depth'; the fields are learner"):
        fit(dyck, "SP", 2, depth=3)
    with pytest.raises(RecipeError, match="learner must be 'both.non'; got 'SP'"):
        fit(dyck, options, learner="SP")
    with pytest.raises(TypeError, match="learner and rank missing: pass a learner and a rank"):
        fit(dyck)
    with pytest.raises(TypeError, match="learner is passed twice: 'SP' and 'fac.non'"):
        fit(dyck, "SP", 2, learner="fac.non")
    with pytest.raises(TypeError, match="options must be .*; got 5"):
        fit(dyck, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("learner", "statistic", "marked"),
    [
        ("SP", "string", False),
        ("SP", "factor", False),
        ("fac.non", "string", False),
        ("both.non", "prefix", True),
    ],
)
def test_strings_are_counted_first(learner: str, statistic: str, marked: bool) -> None:
    """So their model is that of the matrix that anybody counts, with marks where networks need
    them.
    """
    options = learning_of(learner, 3, **QUICK)
    sample = bounded_sample(SAMPLE, statistic) if marked else SAMPLE
    basis = select_basis(sample, 30, 20, statistic)
    expected = fit(estimate_hankel(sample, basis, statistic, bounded=marked), options)
    for strings in (SAMPLE, list(SAMPLE), Counter(SAMPLE)):
        learned = fit(strings, options, num_prefixes=30, num_suffixes=20, statistic=statistic)
        for mine, others in zip(arrays(learned), arrays(expected), strict=True):
            np.testing.assert_array_equal(mine, others)


def test_strings_are_at_hand_for_a_refinement() -> None:
    third = {"refine": "likelihood", "epochs_refinement": 3}
    validation = Dyck().sample(50, seed=1)
    learned = fit(SAMPLE, "SP", 3, validation=validation, **third)
    hankel = estimate_hankel(SAMPLE, select_basis(SAMPLE, 1000, 1000))
    expected = fit(hankel, "SP", 3, strings=SAMPLE, validation=validation, **third)
    for mine, others in zip(arrays(learned), arrays(expected), strict=True):
        np.testing.assert_array_equal(mine, others)


def test_a_cache_changes_nothing(dyck: HankelMatrix) -> None:
    """Learners in turn, with what the ones before them left: the same models, and a first step that
    is trained once for two.
    """
    cache = FitCache()
    trained = []
    for learner, seed in (
        ("fac.non", 0),
        ("tran.non", 0),
        ("both.non", 0),
        ("both.non", 1),
        ("SP", 0),
        ("SP", 0),
    ):
        stages: list[Progress] = []
        options = learning_of(learner, 2, seed=seed, **QUICK)
        ours = fit(dyck, options, cache=cache, report=stages.append)
        alone = fit(dyck, options)
        for mine, expected in zip(arrays(ours), arrays(alone), strict=True):
            np.testing.assert_array_equal(mine, expected)
        trained.append("factorisation" in {step.stage for step in stages})
    assert trained == [True, True, False, True, False, False]
    assert (len(cache.factorisations), list(cache.svds)) == (2, [5])


@pytest.mark.parametrize("learner", HANKEL_LEARNERS)
@pytest.mark.parametrize("words", [[(), (), ()], [(0, 1)] * 5, [(0,)]])
def test_poor_samples_are_learned(learner: str, words: list[tuple[int, ...]]) -> None:
    """All empty, all the same, one alone: rank 1 is always there, and the model gives the sample's
    frequencies back.
    """
    sample = Sample.of(Words.of(words), ALPHABET)
    hankel = estimate_hankel(sample, select_basis(sample, 10, 10))
    rank = min(hankel.num_prefixes, hankel.num_suffixes)
    options = learning_of(learner, rank, epochs_factorisation=500, epochs_transitions=500)
    learned = fit(hankel, options)
    weights = learned.model.weights(Words.of([words[0]]))
    if learner == "SP":
        assert weights[0] == pytest.approx(1)
    assert np.isfinite(weights).all()
