"""Pictures of the states: principal components, turned onto the picture before."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from pydantic import TypeAdapter

from nlwfa_core.display.autoencoder import network_drawing
from nlwfa_core.display.projection import prefix_states
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import DataRecipe
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.jobs.snapshots import Snapshot, snapshot
from nlwfa_core.learning.assembly import first_strings
from nlwfa_core.learning.fitting import fit
from nlwfa_core.learning.progress import MAX_SHOWN, Progress, RowStates
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from tests.core.records import AS_IN_THE_PAPER

RNG = np.random.default_rng(0)
QUICK = {"epochs_factorisation": 20, "epochs_transitions": 20, **AS_IN_THE_PAPER}


def seen(states: np.ndarray, targets: np.ndarray | None = None) -> RowStates:
    return RowStates(np.arange(len(states)), states, targets)


def test_states_that_turn_or_flip_leave_the_picture_where_it_was() -> None:
    states = RNG.normal(size=(40, 4)) * [3, 2.9, 1, 1]
    first = snapshot("factorisation", 0, seen(states))
    assert first is not None
    for turn in (-np.eye(4), 3 * np.linalg.qr(RNG.normal(size=(4, 4)))[0]):
        second = snapshot("transitions", 1, seen(states @ turn, states @ turn), first)
        assert second is not None
        np.testing.assert_allclose(second.points, first.points, atol=2e-3)
        np.testing.assert_allclose(second.targets, first.points, atol=2e-3)


def test_it_survives_json() -> None:
    found = snapshot("transitions", 3, seen(RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))))
    assert (
        found is not None
        and TypeAdapter(Snapshot).validate_python(json.loads(json.dumps(asdict(found)))) == found
    )


def test_odd_states() -> None:
    assert snapshot("s", 0, seen(np.full((3, 2), np.nan))) is None
    assert snapshot("s", 0, seen(np.empty((0, 2)))) is None
    for states in (np.ones((5, 3)), np.ones((1, 3)), np.zeros((5, 1))):
        found = snapshot("s", 0, seen(states))
        assert found is not None and set(found.points) == {(0.0, 0.0)} and found.explained == 1
    line = snapshot("s", 0, seen(np.array([[2.0], [-3.0], [0.5], [-7.0], [0.0]])))
    assert line is not None and sorted(abs(x) for x, _ in line.points) == [0, 1, 1, 1, 1]
    known = Snapshot("s", 0, (7, 8), ((0, 1), (1, 0)), (), 1.0)
    assert snapshot("s", 1, seen(RNG.normal(size=(3, 2))), known) is not None  # no row in common


def dyck_sample(num_strings: int) -> Sample:
    return load_data(DataRecipe(num_strings=num_strings, num_validation=1, num_test=1)).train


def dyck(**options: object) -> HankelMatrix:
    sample = dyck_sample(400)
    return build_hankel(sample, HankelRecipe(**{"num_prefixes": 30, "num_suffixes": 30, **options}))


def looks(
    hankel: HankelMatrix, learner: str, **options: object
) -> tuple[dict[str, list[RowStates]], object]:
    """All that can be looked at of each stage."""
    found: dict[str, list[RowStates]] = {}

    def report(progress: Progress) -> None:
        if progress.look:
            found.setdefault(progress.stage, []).append(progress.look())

    return found, fit(hankel, learner, 3, report=report, **QUICK, **options).model


@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_what_is_seen_is_what_the_stage_computes(learner: str) -> None:
    hankel = dyck()
    found, model = looks(hankel, learner)
    factors = found["factorisation"]
    maps = found["transitions"]
    assert len(factors) == len(maps) == 21
    assert [part.targets for part in factors] == [None] * 21
    best = np.stack([part.states for part in factors])
    # the best epoch's states are the second stage's targets
    assert (np.abs(best - maps[0].targets).max(axis=(1, 2)) < 1e-12).any()
    reached = prefix_states(model, hankel.basis.prefixes)
    # the best epoch's maps are the model's
    assert any(np.allclose(part.states, reached) for part in maps)
    np.testing.assert_allclose(maps[0].states[0], maps[0].targets[0])  # λ is where it begins


@pytest.mark.parametrize("converged", [False, True])
@pytest.mark.parametrize("learner", ["fac.non", "tran.non", "both.non"])
def test_the_network_that_is_seen_is_the_one_that_is_trained(learner: str, converged: bool) -> None:
    hankel = dyck()
    found = []

    def report(progress: Progress) -> None:
        if progress.stage == "factorisation" and progress.look:
            found.append((progress.loss, progress.look()))

    paper = {} if converged else AS_IN_THE_PAPER | {"epochs_factorisation": 20}
    fit(hankel, learner, 3, report=report, **paper)
    H = hankel.matrix.toarray() / abs(hankel.matrix).max()
    for _, seen in found:
        network = seen.network
        assert network is not None and network.nonlinear == (learner != "tran.non")
        theta = np.tanh if network.nonlinear else np.asarray
        np.testing.assert_allclose(network.inputs, H[:24, :16], rtol=1e-12)
        np.testing.assert_allclose(network.layers[network.waist], seen.states[:24], atol=1e-12)
        values = network.layers[0]
        for weights, units in zip(
            network.weights[1:], (*network.layers[1:], network.outputs), strict=True
        ):
            values = values @ weights if units is network.outputs else theta(values @ weights)
            np.testing.assert_allclose(values, units, atol=1e-12)
    best = min(range(len(found)), key=lambda place: found[place][0])
    error = np.abs(found[best][1].network.outputs - H[:24, :16]).max()
    # no cell's error is larger than that of all cells
    assert error**2 <= found[best][0] * (H**2).sum() * (1 + 1e-9)
    picture = snapshot("factorisation", 0, found[-1][1])
    assert TypeAdapter(Snapshot).validate_python(json.loads(json.dumps(asdict(picture)))) == picture
    later = snapshot(
        "transitions", 0, seen_states := RowStates(np.arange(3), RNG.normal(size=(3, 2))), picture
    )
    assert seen_states.network is None and later is not None and later.network == picture.network
    drawing = network_drawing(picture.network, hankel.basis, hankel.alphabet, training=True)
    assert drawing["prefixes"][:2] == ["λ", "["] and (
        len(drawing["prefixes"]),
        len(drawing["suffixes"]),
    ) == (24, 16)
    assert drawing["whole"] == [30, 30] and drawing["outputs"] == picture.network.outputs


def test_a_network_that_is_too_wide_is_not_drawn() -> None:
    found: list[Progress] = []
    fit(
        dyck(),
        learner="fac.non",
        rank=21,
        epochs_factorisation=1,
        report=found.append,
    )
    looks = (progress.look() for progress in found if progress.look)
    assert next(looks).network is None


@pytest.mark.parametrize(
    "options",
    [{}, {"statistic": "prefix", "bounded": True}, {"statistic": "factor", "bounded": True}],
    ids=str,
)
@pytest.mark.parametrize("objective", ["hankel", "likelihood"])
def test_the_third_stage_is_seen_too(options: dict[str, object], objective: str) -> None:
    hankel = dyck(**options)
    sample = dyck_sample(400)
    third = {"refine": objective, "epochs_refinement": 3}
    if objective == "likelihood":
        third["batch"] = 200
    found, model = looks(hankel, "both.non", **third, strings=sample)
    rows, strings = first_strings(hankel)
    assert found["refinement"]
    for part in found["refinement"]:
        assert set(part.rows.tolist()) <= set(range(hankel.num_prefixes)) and part.states.shape == (
            len(part.rows),
            3,
        )
        if objective == "likelihood":
            assert part.rows.tolist() == rows.tolist()
    if objective == "likelihood":
        reached = model.states(tree := Trie.of(strings, 2))[tree.ends]
        assert any(np.allclose(part.states, reached) for part in found["refinement"])
    assert all(0 <= symbol < 2 for word in strings for symbol in word)
    marks = hankel.num_marks == 2
    assert [hankel.basis.prefixes[row][marks:] for row in rows.tolist()] == list(strings)


def test_who_looks_changes_nothing() -> None:
    hankel = dyck()
    _, watched = looks(hankel, "both.non")
    alone = fit(hankel, "both.non", 3, **QUICK).model
    for mine, theirs in zip(
        (*watched.transitions, *watched.decoder), (*alone.transitions, *alone.decoder), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_only_the_most_frequent_prefixes_are_looked_at() -> None:
    hankel = build_hankel(dyck_sample(3000), HankelRecipe(num_prefixes=200, num_suffixes=50))
    found, _ = looks(hankel, "fac.non")
    for stage in found.values():
        assert {len(part.rows) for part in stage} == {MAX_SHOWN}
