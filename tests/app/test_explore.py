"""The Explore page: what its picture is given, and what it does with what is chosen there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import limits
from nlwfa_core.display.explore import LIKELIHOOD_RANKS, MAX_RANK, NETWORK_RANKS, PFA_STARTS
from nlwfa_core.experiment.recipe import with_fields
from pages.shared.sidebar import FIRST
from pages.views import explore as view
from tests.app.lab import complaints, open_lab, trained
from tests.quick import QUICK


def parts(app: AppTest) -> dict[str, Any]:
    """What the picture is given: "text", "rest" and "now"."""
    given = [
        json.loads(node.proto.json)
        for node in app.get("bidi_component")
        if node.proto.component_name == "nlwfa.part"
    ]
    return {name: part for one in given for name, part in one.items() if name != "lens"}


def sent(app: AppTest) -> dict[str, dict[str, Any]]:
    """The trained models: learner -> rank, as text -> a model and its scores."""
    found = parts(app)
    models: dict[str, dict[str, Any]] = json.loads(found["text"]["json"])["trained"]
    return models | json.loads(found["rest"]["json"])


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
    # the first picture does not wait for them
    assert list(json.loads(parts(app)["text"]["json"])["trained"]) == ["both.non"]
    ranks = list(NETWORK_RANKS)
    paper = ranks_of(open_lab(way="hankel"))
    assert paper == {"fac.non": ranks, "tran.non": ranks, "both.non": ranks} | linear


def test_the_linear_model_of_a_link_is_shown_and_no_other_is_known() -> None:
    assert parts(open_lab(linear="PFA"))["now"]["linear"] == "PFA"
    app = open_lab(linear="HMM")
    assert parts(app)["now"]["linear"] == "SP" and not complaints(app)


def test_another_rank_sends_no_other_picture() -> None:
    app = open_lab(**QUICK)
    before = parts(app)
    assert (before["now"]["rank"], before["now"]["isFirst"]) == (2, False)
    app.number_input(key="rank").set_value(4).run()
    app.selectbox(key="learner").set_value("SP").run()
    after = parts(app)
    assert (after["now"]["rank"], after["now"]["learner"]) == (4, "SP")
    assert (after["text"], after["rest"]) == (before["text"], before["rest"])


def test_a_run_that_was_trained_is_in_the_picture() -> None:
    quick = {**QUICK, "learner": "tran.non", "data_seed": 611, "rank": 3}
    epochs = {"epochs_factorisation": 5, "epochs_transitions": 5, "way": "hankel"}
    assert not any(ranks_of(open_lab(**quick, **epochs)).values())
    trained(open_lab("train", **quick, **epochs))
    found = ranks_of(open_lab(**quick, **epochs))
    assert found == {"fac.non": [], "tran.non": [3], "both.non": [], "PFA": []}


def test_a_linear_model_that_was_trained_on_compare_is_in_the_picture() -> None:
    """With as many starts as the sidebar says."""
    quick = QUICK | {"learner": "both.non", "data_seed": 612, "starts": 2}
    app = open_lab("compare", **quick, learners="SP", opponents="PFA", ranks=2)
    assert not complaints(trained(app, "compare.start"))
    found = sent(open_lab(**quick))["PFA"]
    assert list(found) == ["2"] and found["2"]["starts"] == 2


@pytest.mark.parametrize("starts", [1, 20])
def test_of_two_linear_models_that_with_more_starts_is_shown(starts: int) -> None:
    recipe = with_fields(FIRST, {"starts": starts})
    by_starts = {
        number: with_fields(recipe, {"learner": "PFA", "rank": 3, "starts": number}).key()
        for number in (1, PFA_STARTS, 20)
    }
    keys = view._keys(recipe, {}, "likelihood")["PFA"][3]
    assert keys == tuple(by_starts[number] for number in sorted({PFA_STARTS, starts})[::-1])


def test_strings_that_are_not_there_are_asked_for() -> None:
    [told] = complaints(open_lab(source="upload"))
    assert "No file was uploaded yet" in told


def test_ranks_above_the_servers_limit_are_not_looked_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"rank": 4})
    app = open_lab(rank=4)
    assert not complaints(app)
    assert all(max(ranks, default=0) <= 4 for ranks in ranks_of(app).values())
