"""The Train page step by step: spectral learning on the board, and trainings that are held."""

from __future__ import annotations

from typing import Any

import pytest
import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.display.formulas import spectral_steps as stepping
from nlwfa_core.display.formulas.latex import number
from nlwfa_core.jobs.runner import JobStatus, Runner
from nlwfa_core.strings.words import Words
from pages.shared import training, visitor_runs
from pages.shared.context import Context
from pages.shared.training import _ordinal
from tests.app.lab import (
    QUICK,
    complaints,
    figure,
    go,
    open_lab,
    recipe_of,
    results_of,
    trained,
)
from tests.waiting import wait_for

STEPS = ["estimate", "decompose", "begin and end", "move", "weight"]
SP = QUICK | {"learner": "SP", "data_seed": 1121}
ENDLESS = QUICK | {
    "learner": "both.non",
    "optimizer": "adamax",
    "start": "random",
    "epochs_factorisation": 100_000,
}


def board(app: Any) -> list[str]:
    return [entry.value for entry in app.latex]


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick runs end after a page has looked for their results and before it looks whether they are
    running.
    """
    draw = training.train_controls

    def draw_late(recipes: list[Recipe], *arguments: Any, **options: Any) -> None:
        jobs = [one.key() for one in recipes]
        wait_for(
            lambda: (
                not any(
                    (job := visitor_runs.runner().status(key))
                    and job.state in ("queued", "running")
                    for key in jobs
                )
            )
        )
        draw(recipes, *arguments, **options)

    monkeypatch.setattr(training, "train_controls", draw_late)


@pytest.mark.usefixtures("late")
def test_a_run_that_ends_while_the_states_page_is_drawn_is_shown() -> None:
    app = open_lab("states", **SP | {"data_seed": 1122})
    assert figure(app, "states.pca") and not complaints(app)
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(4).run()
    assert app.segmented_control(key="states.pair").options == ["now over A"] and not complaints(
        app
    )


@pytest.mark.usefixtures("late")
def test_runs_that_end_while_the_compare_page_is_drawn_are_shown() -> None:
    app = open_lab("compare", **SP | {"data_seed": 1123, "learners": "SP", "ranks": "2,3"})
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(4).run()
    assert not complaints(app)
    rows = [list(table.value["model"]) for table in app.dataframe if "model" in table.value]
    assert ["A: SP, k = 2", "now: SP, k = 4"] in rows


@pytest.mark.parametrize("step", STEPS)
def test_a_link_leads_to_a_step(step: str) -> None:
    app = open_lab("train", **SP | {"train.step": step})
    assert not complaints(app)
    assert app.segmented_control(key="train.step").value == step
    place = STEPS.index(step) + 1
    assert any(f"Step {place} of 5" in entry.value for entry in app.main.markdown)
    assert app.button(key="train.back").disabled == (place == 1)
    assert app.button(key="train.next").disabled == (place == 5)


def test_back_and_next_walk_through_the_steps() -> None:
    app = open_lab("train", **SP)
    for step in STEPS[1:]:
        app.button(key="train.next").click().run()
        assert app.segmented_control(key="train.step").value == step
        assert not complaints(app)
    app.button(key="train.back").click().run()
    assert app.segmented_control(key="train.step").value == "move"


def test_what_no_step_is_called_is_the_first() -> None:
    app = open_lab("train", **SP | {"train.step": "back to strings"})
    assert not complaints(app)
    assert app.segmented_control(key="train.step").value == "estimate"


def test_a_step_that_another_matrix_does_not_have() -> None:
    app = open_lab("train", **SP | {"statistic": "prefix", "train.step": "back to strings"})
    assert app.segmented_control(key="train.step").value == "back to strings"
    assert any("Step 5 of 6" in entry.value for entry in app.main.markdown)
    app.selectbox(key="statistic").set_value("string").run()
    assert not complaints(app)
    assert app.segmented_control(key="train.step").value == "estimate"


def test_the_numbers_are_those_of_the_model_that_is_trained() -> None:
    app = trained(open_lab("train", **SP | {"train.step": "weight"}))
    app.text_input(key="train.string").set_value("[[]]").run()
    assert not complaints(app)
    result = Context(recipe_of(app)).result
    assert result is not None
    weight = float(result.model.weights(Words.of([(0, 0, 1, 1)]))[0])
    assert board(app)[-1].endswith(f"={number(weight)}\\end{{aligned}}\n$$")
    app.text_input(key="train.string").set_value("[x]").run()
    assert len(complaints(app)) == 1
    app.text_input(key="train.string").set_value("[]" * 600).run()
    assert complaints(app) == ["String may have at most 1,000 characters on this page; got 1,200"]


def test_the_symbol_of_the_map_can_be_chosen() -> None:
    app = open_lab("train", **SP | {"train.step": "move"})
    first = board(app)
    app.selectbox(key="train.symbol").set_value(1).run()
    assert not complaints(app)
    assert (
        r"\mathbf{A}_{\texttt{{[}}}" in first[1] and r"\mathbf{A}_{\texttt{{]}}}" in board(app)[1]
    )
    learned = stepping.spectral(Context(recipe_of(app)).hankel, 2)
    assert number(float(learned.maps.transitions[1][0, 1])) in board(app)[1]


def test_a_rank_that_the_basis_does_not_allow_is_said_before_it_is_trained() -> None:
    app = open_lab("train", **SP | {"rank": 31})
    assert not complaints(app)
    assert any("rank must be between 1 and 30" in note.value for note in app.info)


def status(app: Any) -> JobStatus:
    found = visitor_runs.status(recipe_of(app))
    assert found is not None
    return found


def test_a_training_is_started_before_its_first_epoch_stepped_and_cancelled() -> None:
    app = open_lab("train", **ENDLESS | {"data_seed": 1122})
    app.button(key="train.hold").click().run()
    wait_for(lambda: status(app).held)
    app.run()
    assert not complaints(app)
    for epochs, epoch in ((1, 1), (10, 11), (100, 111)):
        app.button(key=f"train.step.{epochs}").click().run()
        wait_for(lambda there=epoch: status(app).held and status(app).progress.step == there)
    app.run()
    assert not complaints(app)
    keys = [chart.key for chart in app.get("echarts_chart")]
    assert keys == ["train.live.losses.relative loss", "train.live.picture"]
    assert not [button for button in app.button if button.key == "train.pause"]
    app.button(key="train.play").click().run()
    wait_for(lambda: not status(app).held)
    app.run().button(key="train.pause").click().run()
    wait_for(lambda: status(app).held)
    app.run().button(key="train.cancel").click().run()
    assert status(app).state == "cancelled"
    assert not complaints(go(app, "train"))
    assert app.button(key="train.start")


def test_the_click_of_a_draw_that_is_interrupted_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Streamlit calls back again for a click if the run that it began is interrupted, by the page
    that is still loading.
    """
    app = open_lab("train", **ENDLESS | {"data_seed": 1127})
    app.button(key="train.hold").click().run()
    wait_for(lambda: status(app).held)
    app.run()
    with monkeypatch.context() as patch:
        patch.setattr(training, "_progress", lambda *drawn: st.stop())
        app.button(key="train.step.10").click().run()
    wait_for(lambda: status(app).held and status(app).progress.step == 10)
    # the same click once more; now the page is drawn to its end
    app.button(key="train.step.10").click().run()
    assert status(app).held and status(app).progress.step == 10
    app.button(key="train.step.10").click().run()
    wait_for(lambda: status(app).held and status(app).progress.step == 20)
    app.button(key="train.cancel").click().run()
    assert not complaints(app)


@pytest.mark.parametrize(
    ("field", "stage"),
    [("rate_factorisation", "factorisation"), ("rate_transitions", "transitions")],
)
def test_a_learning_rate_that_is_far_too_large_is_told_in_words(field: str, stage: str) -> None:
    options = {
        "learner": "fac.non",
        "optimizer": "adamax",
        "start": "random",
        "epochs_factorisation": 60,
        "epochs_transitions": 60,
        "data_seed": 1123,
        field: 10,
    }
    app = trained(open_lab("train", **QUICK | options))
    assert not complaints(app)
    warnings = [entry.value.replace("\\", "") for entry in app.warning]
    assert any(f"the {stage}" in text and "smaller learning rate" in text for text in warnings), (
        warnings
    )


def test_places_in_the_queue() -> None:
    assert [_ordinal(place) for place in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th",
    ]  # fmt: skip


def test_the_page_says_whether_the_training_is_finished() -> None:
    app = trained(open_lab("train", **QUICK, learner="tran.non", optimizer="lbfgs", data_seed=1122))
    result = Context(recipe_of(app)).result
    assert result is not None and [log.state for log in result.report.logs] == [
        "exact",
        "not finished",
    ]
    lines = [entry.value.replace("\\", "") for entry in app.caption]
    for log in result.report.logs:
        (line,) = [line for line in lines if log.stage in line.lower() and log.verdict in line]
        icon = "hourglass_bottom" if log.state == "not finished" else "check"
        assert line == f":material/{icon}: tran.non, {log.summary}."
    assert any("stopped after all" in line for line in lines) and not app.warning
    trained(app, "train.others.start")
    (table,) = [frame.value for frame in app.dataframe if "training" in frame.value]
    assert dict(zip(table["model"], table["training"], strict=True)) == {
        learner: result.report.training for learner, result in results_of(app).items()
    }
    assert not complaints(app)


def test_what_trains_for_other_settings_is_named_on_every_page_and_can_be_stopped() -> None:
    app = open_lab("train", **ENDLESS | {"data_seed": 1155})
    app.button(key="train.start").click().run()
    # the page itself shows it
    assert not [button for button in app.button if button.key == "elsewhere.stop"]
    app.number_input(key="rank").set_value(3).run()
    for page in ("train", "data", "history"):
        go(app, page)
        assert not complaints(app)
        assert any("both\\.non, k \\= 2** " in entry.value for entry in app.main.markdown)
    go(app, "train").button(key="train.start").click().run()
    app.button(key="elsewhere.stop").click().run()
    assert not [button for button in app.button if button.key == "elsewhere.stop"]
    app.button(key="train.cancel").click().run()


def test_settings_without_a_result_lead_back_to_the_last_one() -> None:
    app = trained(open_lab("train", **QUICK | {"learner": "fac.non", "data_seed": 140}))
    drawn = len(app.get("echarts_chart"))
    app.number_input(key="rank").set_value(3).run()
    # its charts and scores stay until there are others
    assert len(app.get("echarts_chart")) == drawn > 0 and app.dataframe
    assert any(
        "fac.non, k = 2" in line and "rank k: 2 → 3" in line
        for line in (entry.value.replace("\\", "") for entry in app.main.markdown)
    )
    app.button(key="last_result.back").click().run()
    assert recipe_of(app).learning.rank == 2 and not complaints(app)


def test_a_result_leads_to_the_next_seed_that_nobody_has_used_at_its_rank() -> None:
    quick = QUICK | {"learner": "fac.non", "data_seed": 142}
    trained(open_lab("train", **quick, learning_seed=1))
    app = trained(open_lab("train", **quick))
    another = app.button(key="train.another")
    rank = QUICK["rank"]
    assert another.label.startswith(f"Watch training: k = {rank}, seed 2 (about ")
    trained(app, "train.another")
    recipe = recipe_of(app)
    assert (recipe.learning.rank, recipe.seed) == (rank, 2) and Context(recipe).result is not None
    assert not complaints(app)


def keys(app: Any) -> list[str]:
    return [button.key for button in app.button]


@pytest.mark.parametrize("page", ["train", "states", "predict", "take_away"])
def test_spectral_learning_needs_no_button(page: str) -> None:
    app = open_lab(page, **SP | {"data_seed": 150 + len(page)})
    for rank in (2, 3):  # at first, and after each change
        app.number_input(key="rank").set_value(rank).run()
        assert f"{page}.start" not in keys(app)
        wait_for(lambda: status(app).state == "done")
        assert Context(recipe_of(app)).result is not None
        assert not complaints(app.run())


@pytest.mark.parametrize("options", [{"learner": "fac.non"}, {"refine": "hankel"}, {"rank": 31}])
def test_what_takes_time_or_can_not_be_trained_waits_for_the_button(
    options: dict[str, Any],
) -> None:
    app = open_lab("train", **SP | {"data_seed": 161} | options)
    assert "train.start" in keys(app) and visitor_runs.status(recipe_of(app)) is None


def test_a_spectral_run_that_takes_long_waits_for_the_button(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Runner, "estimate", lambda *asked: 31.0)
    app = open_lab("train", **SP | {"data_seed": 162})
    assert (
        visitor_runs.status(recipe_of(app)) is None
        and app.button(key="train.start").label == "Train SP (about 40 s)"
    )


@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_run_that_failed_or_was_cancelled_is_not_started_again_by_itself(end: str) -> None:
    app = open_lab(
        "train", **SP | {"data_seed": 163 if end == "failed" else 164, "num_strings": 301}
    )
    job = visitor_runs.runner()._jobs[recipe_of(app).key()]
    wait_for(lambda: job.over)
    job.state = end  # as if it had ended so
    folder = visitor_runs.runner()._folders.folder(job.key)
    (folder / "result.json").unlink()
    for page in ("train", "states", "train"):
        assert f"{page}.start" in keys(go(app, page)) and status(app).state == end
    # nor for the next visitor
    assert status(go(open_lab(**dict(app.query_params.items())), "train")).state == end
    app.button(key="train.start").click().run()  # the button still does
    assert status(app).state in ("queued", "running", "done")


def test_a_full_queue_is_said_once_and_leaves_the_button(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(*recipe: Any, **options: Any) -> None:
        asked.append(recipe)
        raise RecipeError("The queue is full")

    monkeypatch.setattr(Runner, "submit", refuse)
    app = open_lab("train", **SP | {"data_seed": 165})
    assert complaints(app) == ["The queue is full"] and "train.start" in keys(app)
    assert not complaints(app.run()) and len(asked) == 1


def test_a_run_that_waits_for_settings_that_are_gone_is_withdrawn_and_started_again_with_them() -> (
    None
):
    app = open_lab("data", **SP | {"data_seed": 166})
    runner = visitor_runs.runner()
    with pytest.MonkeyPatch.context() as busy:
        busy.setattr(runner, "_next_worker", lambda: None)  # every run waits
        go(app, "train")
        first = recipe_of(app)
        assert status(app).state == "queued"
        app.number_input(key="rank").set_value(3).run()
        there = visitor_runs.status(first)
        assert status(app).state == "queued" and there is not None and there.state == "cancelled"
        assert not [button for button in app.button if button.key == "elsewhere.stop"]
        app.number_input(key="rank").set_value(2).run()
        assert status(app).state == "queued"
    with runner._changed:
        runner._changed.notify_all()
    wait_for(lambda: status(app).state == "done")
    assert not complaints(app.run())


def test_many_short_runs_do_not_hide_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visitor_runs, "MAX_STARTED", 2)
    app = open_lab("train", **ENDLESS | {"data_seed": 168})
    app.button(key="train.hold").click().run()
    endless = recipe_of(app)
    wait_for(lambda: status(app).held)
    app.selectbox(key="learner").set_value("SP").run()
    for rank in (2, 3, 4):
        app.number_input(key="rank").set_value(rank).run()
        wait_for(lambda: status(app).state == "done")
    assert (
        endless in app.session_state[visitor_runs.STARTED]
        and len(app.session_state[visitor_runs.STARTED]) == 2
    )
    app.button(key="elsewhere.stop").click().run()
    assert not complaints(app.run())


def test_the_button_says_how_long_a_training_takes_and_when_that_is_not_known() -> None:
    link = QUICK | {"learner": "tran.non", "num_strings": 307, "data_seed": 167}
    app = open_lab("train", **link)
    assert (
        app.button(key="train.start").label == "Train tran.non"
        and "not known" in app.button(key="train.start").help
    )
    trained(app)
    app.number_input(key="rank").set_value(3).run()
    button = app.button(key="train.start")
    assert button.label.startswith("Train tran.non (about ") and "rank and seeds" in button.help


def test_three_scores_are_shown_first_with_what_says_that_a_model_fails_and_a_switch_shows_all() -> (  # noqa: E501
    None
):
    app = open_lab("train", learner="SP")  # a preset's, with results
    assert list(app.dataframe[0].proto.column_order) == [
        "model",
        "WER",
        "log₂ Pautomac",
        "bits / symbol",
        "zero",
        "impossible",
    ]
    app.toggle(key="train.scores.every").set_value(True).run()
    assert not app.dataframe[0].proto.column_order and "KL" in app.dataframe[0].value
    lesson = open_lab("train", lesson="squared", step=4)  # its text emphasises *KL*
    assert "KL" in lesson.dataframe[0].proto.column_order
    assert not complaints(app) and not complaints(lesson)
