"""The Explore page: what its picture is given, and what it does with what is chosen there."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from nlwfa_core import limits
from nlwfa_core.display.explore import LIKELIHOOD_RANKS, NETWORK_RANKS
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


def networks(app: AppTest) -> dict[str, list[int]]:
    found = parts(app)
    sent = json.loads(found["text"]["json"])["networks"] | json.loads(found["rest"]["json"])
    return {learner: sorted(map(int, by_rank)) for learner, by_rank in sent.items()}


def test_the_lab_opens_on_the_shipped_networks_of_every_rank() -> None:
    app = open_lab()
    assert not complaints(app)
    ranks = list(LIKELIHOOD_RANKS)
    assert parts(app)["now"]["objective"] == "likelihood"
    assert networks(app) == {"fac.non": ranks, "tran.non": ranks, "both.non": ranks}
    assert parts(app)["now"]["isFirst"]
    ranks = list(NETWORK_RANKS)
    paper = networks(open_lab(way="hankel"))
    assert paper == {"fac.non": ranks, "tran.non": ranks, "both.non": ranks}


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
    assert not any(networks(open_lab(**quick, **epochs)).values())
    trained(open_lab("train", **quick, **epochs))
    assert networks(open_lab(**quick, **epochs)) == {"fac.non": [], "tran.non": [3], "both.non": []}


def test_strings_that_are_not_there_are_asked_for() -> None:
    [told] = complaints(open_lab(source="upload"))
    assert "No file was uploaded yet" in told


def test_ranks_above_the_servers_limit_are_not_looked_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"rank": 4})
    app = open_lab(rank=4)
    assert not complaints(app)
    assert all(max(ranks, default=0) <= 4 for ranks in networks(app).values())
