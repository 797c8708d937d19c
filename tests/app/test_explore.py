"""The Explore page: what its picture is given, and what it does with what is chosen there."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import limits
from nlwfa_core.display.explore import (
    HANKEL_RANKS,
    LIKELIHOOD_RANKS,
    MAX_RANK,
    OTHER_SEEDS,
    PFA_STARTS,
)
from nlwfa_core.experiment.recipe import with_fields
from pages.shared import components, rank_runs, rank_series, visitor_runs
from pages.shared.sidebar import FIRST
from tests.app.lab import complaints, ended, go, open_lab, recipe_of, trained
from tests.quick import QUICK
from tests.waiting import wait_for


def parts(app: AppTest) -> dict[str, Any]:
    """What the picture is given: "text", "first", "rest", "now", "training" and "preview"."""
    given = [
        json.loads(node.proto.json)
        for node in app.get("bidi_component")
        if node.proto.component_name == "nlwfa.part"
    ]
    return {name: part for one in given for name, part in one.items() if name != "lens"}


def sent(app: AppTest) -> dict[str, dict[str, Any]]:
    """The trained models: learner -> rank, as text -> a model and its scores."""
    found = parts(app)
    models: dict[str, dict[str, Any]] = json.loads(found["first"]["json"])["models"]
    return models | json.loads(found["rest"]["json"])["models"]


def seeds_of(app: AppTest) -> dict[str, dict[str, Any]]:
    """Learner -> rank, as text -> the scores of networks with other seeds."""
    found: dict[str, dict[str, Any]] = json.loads(parts(app)["rest"]["json"])["seeds"]
    return found


def ranks_of(app: AppTest) -> dict[str, list[int]]:
    return {learner: sorted(map(int, by_rank)) for learner, by_rank in sent(app).items()}


def test_the_lab_opens_on_the_shipped_models_of_every_rank() -> None:
    app = open_lab()
    assert not complaints(app)
    ranks = list(LIKELIHOOD_RANKS)
    linear = {"PFA": list(range(1, MAX_RANK + 1))}
    now = parts(app)["now"]
    assert (now["objective"], now["linear"], now["isFirst"]) == ("likelihood", "SP", True)
    assert ranks_of(app) == {"fac.non": ranks, "tran.non": ranks, "both.non": ranks} | linear
    seeds = seeds_of(app)
    assert {learner: len(by_rank) for learner, by_rank in seeds.items()} == {
        "fac.non": 0,
        "tran.non": 0,
        "both.non": len(ranks),
    }
    assert {len(same) for same in seeds["both.non"].values()} == {OTHER_SEEDS}
    # the first picture does not wait for them
    assert list(json.loads(parts(app)["first"]["json"])["models"]) == ["both.non"]
    ranks = list(HANKEL_RANKS)
    paper = ranks_of(open_lab(objective="hankel"))
    assert paper == {"fac.non": ranks, "tran.non": ranks, "both.non": ranks} | linear


def test_the_linear_model_of_a_link_is_shown_and_no_other_is_known() -> None:
    assert parts(open_lab(linear="PFA"))["now"]["linear"] == "PFA"
    app = open_lab(linear="HMM")
    assert parts(app)["now"]["linear"] == "SP" and not complaints(app)


@pytest.mark.parametrize(
    ("text", "rank"),
    [("30", 30), ("20", 20), ("1", 1), ("", None), ("0", None), ("99", None), ("2.5", None)],
)
def test_the_linear_rank_of_a_link_is_one_that_is_drawn(text: str, rank: int | None) -> None:
    app = open_lab(rank=2, linear_rank=text)
    assert parts(app)["now"]["linearRank"] == rank and parts(app)["now"]["rank"] == 2
    further = json.loads(parts(app)["further"]["json"])
    assert further is None if rank != 30 else further["rank"] == 30
    assert not complaints(app)


def test_linear_models_by_likelihood_have_no_higher_rank() -> None:
    found = parts(open_lab(rank=2, linear_rank=30, linear="PFA"))
    assert found["now"]["linearRank"] is None and found["further"]["json"] == "null"


def test_another_rank_sends_no_other_picture() -> None:
    app = open_lab(**QUICK)
    before = parts(app)
    assert (before["now"]["rank"], before["now"]["isFirst"]) == (2, False)
    app.number_input(key="rank").set_value(4).run()
    app.selectbox(key="learner").set_value("SP").run()
    after = parts(app)
    assert (after["now"]["rank"], after["now"]["learner"]) == (4, "SP")
    for name in ("text", "first", "rest"):
        assert after[name] == before[name]


def test_a_run_that_was_trained_is_in_the_picture() -> None:
    quick = {**QUICK, "learner": "tran.non", "data_seed": 611, "rank": 3}
    epochs = {"epochs_factorisation": 5, "epochs_transitions": 5}
    assert not any(ranks_of(open_lab(**quick, **epochs)).values())
    trained(open_lab("train", **quick, **epochs))
    found = ranks_of(open_lab(**quick, **epochs))
    assert found == {"fac.non": [], "tran.non": [3], "both.non": [], "PFA": []}


OWN = QUICK | {"learner": "both.non", "num_strings": 60, "objective": "likelihood"}


def asks(app: AppTest, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> AppTest:
    """The page is drawn again after its picture has sent something."""
    draw = components.explore

    def explore(*args: Any, **options: Any) -> SimpleNamespace:
        draw(*args, **options)
        return SimpleNamespace(**{"room": None, "train": None, "cancel": None} | asked)

    with monkeypatch.context() as patch:
        patch.setattr(components, "explore", explore)
        return app.run()


def wanted(*ranks: Any, learner: str = "both.non", objective: str = "likelihood") -> dict[str, Any]:
    return {"learner": learner, "objective": objective, "ranks": list(ranks)}


def going(app: AppTest) -> dict[str, str]:
    """The state of each run that this session has started, by its title."""
    with_states = (visitor_runs.runner().status(key) for key in [*visitor_runs.runner()._jobs])
    data = recipe_of(app).data
    return {job.recipe.title: job.state for job in with_states if job and job.recipe.data == data}


def test_ranks_are_trained_from_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_lab(**OWN, data_seed=613)
    assert parts(app)["training"]["told"] == {} and not ranks_of(app)["both.non"]
    asks(app, monkeypatch, train=wanted(1, 2))
    assert not complaints(app)
    told = parts(app)["training"]["told"]
    assert list(told) == ["both.non"] and told["both.non"]["ranks"][-1] == 2
    ended(app)
    assert ranks_of(app)["both.non"] == [1, 2] and not parts(app)["training"]["told"]
    for rank in (1, 2):
        fields = {"learner": "both.non", "rank": rank, "objective": "likelihood"}
        recipe = with_fields(recipe_of(app), fields)
        result = visitor_runs.runner().result(recipe.key())
        assert result.recipe == recipe
        assert sent(app)["both.non"][str(rank)]["scores"][1] == result.scores.wer
    asks(app, monkeypatch, train=wanted(1, 2, learner="PFA"))
    ended(app)
    models = sent(app)["PFA"]
    assert [models[rank]["starts"] for rank in "12"] == [PFA_STARTS] * 2


def test_networks_of_other_seeds_are_trained_from_the_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = asks(open_lab(**OWN, data_seed=614), monkeypatch, train=wanted(1))
    ended(app)
    name = "both.non, other seeds"
    asks(app, monkeypatch, train=wanted(1, learner=name))
    assert parts(app)["training"]["told"][name]["ranks"] == [1]
    ended(app)
    assert not complaints(app) and not parts(app)["training"]["told"]
    fields = {"learner": "both.non", "rank": 1, "objective": "likelihood"}
    results = [
        visitor_runs.runner().result(with_fields(recipe_of(app), again).key())
        for again in (fields | {"learning_seed": 1}, fields | {"learning_seed": 2})
    ]
    expected = [[each.scores.wer, each.scores.bits_per_symbol] for each in results]
    assert [scores[1:3] for scores in seeds_of(app)["both.non"]["1"]] == expected
    assert ranks_of(app)["both.non"] == [1]


def test_the_network_that_is_trained_is_in_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the rank that is shown, also while a smaller one is trained before it."""
    long = OWN | {"num_strings": 20_000, "data_seed": 621}
    app = asks(open_lab(**long), monkeypatch, train=wanted(1, 2))

    def shown() -> Any:
        return parts(app.run())["preview"]["now"]

    preview = wait_for(shown)
    assert preview["learner"] == "both.non" and preview["model"]["reading"] == "conditional"
    app.number_input(key="rank").set_value(3)
    assert shown() is None  # it is not trained
    app.number_input(key="rank").set_value(2)
    assert wait_for(shown)
    asks(app, monkeypatch, cancel="both.non")
    assert shown() is None and not complaints(app)


@pytest.mark.parametrize("odd", [{}, {"kind": "NLWFA", "arrays": {"initial": [[]]}}, {"kind": 1}])
def test_a_preview_that_is_none_is_ignored(monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    long = OWN | {"num_strings": 20_000, "data_seed": 622}
    app = asks(open_lab(**long), monkeypatch, train=wanted(2))
    monkeypatch.setattr(rank_series, "preview", lambda by_rank, rank: odd)
    app.run()
    assert parts(app)["preview"]["now"] is None and parts(app)["training"]["told"]
    assert not complaints(app)
    asks(app, monkeypatch, cancel="both.non")


def test_a_cancel_and_other_strings_end_the_training(monkeypatch: pytest.MonkeyPatch) -> None:
    long = OWN | {"num_strings": 20_000}
    app = asks(open_lab(**long, data_seed=614), monkeypatch, train=wanted(1, 2, 3, 4))
    assert set(going(app)) == {f"both.non, k = {rank}" for rank in (1, 2, 3, 4)}
    assert set(going(app).values()) <= {"queued", "running"}
    app.number_input(key="rank").set_value(4).run()
    assert set(going(app).values()) <= {"queued", "running"}
    asks(app, monkeypatch, cancel="both.non")
    assert set(going(app).values()) == {"cancelled"} and not parts(app)["training"]["told"]

    asks(app, monkeypatch, train=wanted(1, 2))
    before = recipe_of(app).data
    go(app, "data").number_input(key="data_seed").set_value(615).run()
    assert recipe_of(app).data != before
    app.number_input(key="data_seed").set_value(614).run()
    assert recipe_of(app).data == before
    assert set(going(app).values()) == {"cancelled"}
    assert not complaints(app)


def test_after_a_reload_a_training_is_still_seen_and_ended_by_other_strings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = OWN | {"num_strings": 20_000, "data_seed": 618}
    asks(open_lab(**long), monkeypatch, train=wanted(1, 2))
    app = open_lab(**long)
    assert list(parts(app)["training"]["told"]) == ["both.non"]
    assert len(going(app)) == 2 and set(going(app).values()) <= {"queued", "running"}
    app.number_input(key="data_seed").set_value(619).run()
    app.number_input(key="data_seed").set_value(618).run()
    assert set(going(app).values()) == {"cancelled"} and not complaints(app)


@pytest.mark.parametrize(
    "odd",
    [
        "both.non",
        {"learner": "both.non"},
        wanted(0, -1, 1.5, "2", 10**9, None, [1]),
        wanted(1, learner="SP"),
        wanted(1, learner="GRU"),
        wanted(1, objective="luck"),
    ],
)
def test_what_is_no_training_is_ignored(monkeypatch: pytest.MonkeyPatch, odd: Any) -> None:
    app = asks(open_lab(**OWN, data_seed=616), monkeypatch, train=odd, cancel=odd)
    assert not complaints(app) and not going(app)


def test_a_training_that_failed_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_lab(**OWN, data_seed=617)
    runner = visitor_runs.runner()
    asks(app, monkeypatch, train=wanted(1))
    [job] = [job for job in runner._jobs.values() if job.recipe.data == recipe_of(app).data]
    with runner._changed:
        runner._stop(job, "failed", "No memory.")
    app.run()
    assert parts(app)["training"]["told"] == {"both.non": {"failed": "No memory."}}


def test_a_linear_model_that_was_trained_on_compare_is_in_the_picture() -> None:
    """With as many starts as the sidebar says."""
    quick = QUICK | {"learner": "both.non", "data_seed": 612, "starts": 2}
    app = open_lab("compare", **quick, learners="SP", opponents="PFA", ranks=2)
    assert not complaints(trained(app, "compare.start"))
    found = sent(open_lab(**quick))["PFA"]
    assert list(found) == ["2"] and found["2"]["starts"] == 2


@pytest.mark.parametrize("starts", [1, 20])
def test_of_two_linear_models_that_with_more_starts_is_shown(starts: int) -> None:
    recipe = with_fields(FIRST, {"objective": "hankel", "starts": starts})
    by_starts = {
        number: with_fields(recipe, {"learner": "PFA", "rank": 3, "starts": number}).key()
        for number in (1, PFA_STARTS, 20)
    }
    recipes = rank_runs.recipes(recipe, "likelihood")["PFA"][3]
    assert [each.key() for each in recipes] == [
        by_starts[number] for number in sorted({PFA_STARTS, starts})[::-1]
    ]


def test_strings_that_are_not_there_are_asked_for() -> None:
    [told] = complaints(open_lab(source="upload"))
    assert "There are no strings yet" in told


def test_ranks_above_the_servers_limit_are_not_looked_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"rank": 4})
    app = open_lab(rank=4, data_seed=613)
    assert not complaints(app)
    assert all(max(ranks, default=0) <= 4 for ranks in ranks_of(app).values())
