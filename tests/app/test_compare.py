"""Compare: axes, seeds, runs side by side, what is too much, and ranks that can't be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from nlwfa_core import information_criteria, run
from nlwfa_core.display import result_tables as tables_of_the_lab
from nlwfa_core.display.pairs import interval_text
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.recipe import recipe_code
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.metrics.intervals import leader, paired_differences, string_scores
from nlwfa_core.metrics.score_table import SCORE_OF
from nlwfa_core.metrics.seeds import Spread
from nlwfa_core.metrics.tables import format_score
from pages.shared.context import Context
from tests.app.lab import QUICK, complaints, figure, go, open_lab, recipe_of, trained, written


def tables(app):
    return [entry.value for entry in app.dataframe]


def named(app, trace):
    return next(entry for entry in figure(app, "compare.curves")["data"] if entry["name"] == trace)


def test_seeds_give_means_and_bands():
    app = open_lab(
        "compare", **QUICK | {"data_seed": 31, "learners": "fac.non", "ranks": 2, "seeds": 3}
    )
    trained(app, "compare.start")
    assert not complaints(app)
    recipe = recipe_of(app).with_learner("fac.non", 2)
    wers = [
        run(recipe.changed(learning=recipe.learning.changed(seed=seed))).scores.wer
        for seed in range(3)
    ]
    [bars] = figure(app, "compare.curves")["data"]  # one rank: bars, not a curve
    place = bars["y"].index("fac.non")
    assert bars["x"][place] == Spread.of(wers).mean and {"uniform", "5-gram", "true model"} < {
        *bars["y"]
    }
    assert (len(set(wers)) > 1) == (bars["error_x"]["array"][place] > 0)
    chosen = tables(app)[0].set_index("model")
    assert (
        chosen.loc["fac.non, k = 2", "WER"] == Spread.of(wers).mean
        and chosen.loc["fac.non, k = 2", "seeds"] == 3
    )
    assert (
        written(app, "sd of WER").set_index("model").loc["fac.non, k = 2", "WER"]
        == Spread.of(wers).text()
    )
    listed = tables(app)[1]
    assert sorted(listed["WER"]) == sorted(wers) and list(listed["seed of the networks"]) != [0] * 3
    assert list(written(app, "place")["WER"]) == [format_score(wer) for wer in listed["WER"]]
    assert list(listed["place"]) == ["best", "", "last"]
    # it is in a closed list
    assert not any(node.key == "compare.parallel" for node in app.get("plotly_chart"))
    app.session_state["compare.lines"] = True
    assert figure(app.run(), "compare.parallel")["data"][0]["type"] == "parcoords"


def test_a_rerun_reads_no_run_again(monkeypatch):
    app = trained(
        open_lab(
            "compare", **QUICK | {"data_seed": 44, "learner": "SP", "learners": "SP", "ranks": 2}
        ),
        "compare.start",
    )
    app.pills(key="ranks").set_value([1, 2, 3, 4, 5, 8, 10]).run()
    trained(app, "compare.start")
    reads = []
    for name in ("job", "result"):
        method = getattr(RunFolders, name)
        monkeypatch.setattr(
            RunFolders, name, lambda self, key, read=method: reads.append(key) or read(self, key)
        )
    monkeypatch.setattr(tables_of_the_lab, "conventions_table", lambda *given: reads.append(given))
    app.toggle(key="compare.every").set_value(True).run()
    assert not complaints(app) and len(tables(app)[1]) == 7 and not reads
    app.number_input(key="rank").set_value(6).run()  # a run that there is not
    assert len(set(reads)) <= 1


def test_a_seed_may_draw_other_strings():
    app = open_lab(
        "compare", **QUICK | {"data_seed": 132, "learners": "SP", "ranks": 2, "seeds": 2}
    )
    assert app.button(key="compare.start").label.startswith("Train SP")
    app.segmented_control(key="compare.new_strings").set_value(True).run()
    assert app.button(key="compare.start").label.startswith("Train 2 of 2 models")
    trained(app, "compare.start")
    assert not complaints(app)
    assert list(tables(app)[1]["seed of the strings"]) in ([132, 133], [133, 132])


def test_curves_against_the_number_of_strings():
    app = open_lab("compare", **QUICK | {"data_seed": 33, "learners": "SP", "against": "strings"})
    assert app.pills(key="sizes").value == [100, 200, 300]
    trained(app, "compare.start")
    assert not complaints(app)
    base = recipe_of(app).with_learner("SP")
    wers = [
        run(base.changed(data=base.data.changed(num_strings=size))).scores.wer
        for size in (100, 200, 300)
    ]
    assert named(app, "SP")["y"] == wers and list(named(app, "5-gram")["x"]) == [100, 200, 300]
    assert len(set(named(app, "uniform")["y"])) == 1
    assert list(tables(app)[0]["training strings"]) in (
        [300, 200, 100],
        list(tables(app)[0]["training strings"]),
    )
    assert "SP, k = 2, 300 strings" in app.selectbox(key="compare.model").options


def test_settings_without_runs_keep_the_last_curves_until_they_have_their_own():
    query = QUICK | {"data_seed": 47, "learner": "SP", "rank": 2, "learners": "SP", "ranks": 2}
    app = trained(open_lab("compare", **query), "compare.start")
    before = figure(app, "compare.curves")
    app.number_input(key="num_strings").set_value(280).run()
    assert figure(app, "compare.curves") == before
    assert any(
        "The last result: **the curves of SP**" in entry.value for entry in app.main.markdown
    )
    trained(app, "compare.start")
    assert figure(app, "compare.curves") != before
    assert not any(button.key == "last_result.back" for button in app.button)
    app.number_input(key="num_strings").set_value(260).run()
    app.button(key="last_result.back").click().run()
    assert recipe_of(app).data.num_strings == 280 and not complaints(app)


def test_a_file_has_no_more_strings_than_it_has():
    app = open_lab(
        "compare",
        **QUICK | {"source": "verbs", "num_strings": 700, "learners": "SP", "against": "strings"},
    )
    assert not complaints(app)
    assert app.pills(key="sizes").options == ["100", "200", "500", "700"]


def test_runs_in_play_stand_side_by_side():
    app = open_lab("compare", **QUICK | {"data_seed": 34, "learner": "SP"})
    pinned = recipe_of(app).with_learner("SP", 3)
    app = open_lab(
        "compare", **QUICK | {"data_seed": 34, "learner": "SP", "a": recipe_code(pinned)}
    )
    trained(app, "compare.in_play.start")
    assert not complaints(app)
    scores, differences = tables(app)[:2]
    assert list(scores["model"]) == ["A: SP, k = 3", "now: SP, k = 2"]
    assert scores["WER"].iloc[0] == run(pinned).scores.wer
    assert differences.to_dict("list") == {
        "option": ["rank k"],
        "A: SP, k = 3": ["3"],
        "now: SP, k = 2": ["2"],
    }
    app.toggle(key="compare.in_play.every").set_value(True).run()
    assert len(tables(app)[1]) > 25
    app.number_input(key="data_seed").set_value(35).run()
    assert any(
        "These runs use different strings" in note.value
        for note in trained(app, "compare.in_play.start").info
    )
    assert any("For the first row" in caption.value for caption in app.caption)


def test_too_many_runs_are_refused_in_one_sentence():
    app = open_lab("compare", **QUICK | {"learners": ["fac.non"], "seeds": 10})
    app.pills(key="learners").set_value(["fac.non", "tran.non", "both.non"]).run()
    app.pills(key="ranks").set_value([1, 2, 3, 4, 5, 8, 10]).run()
    assert complaints(app) == [
        "the number of runs (learners × values × seeds) must be at most 200; got 210"
    ]
    app.pills(key="ranks").set_value([1, 2]).run()
    assert not complaints(app) and app.button(key="compare.start").label.startswith(
        "Train 60 of 60 models"
    )


def test_ranks_do_not_depend_on_the_sidebars_learner_and_impossible_ones_are_told():
    offered = {}
    for learner in ("SP", "both.non"):
        app = open_lab(
            "compare", **QUICK | {"learner": learner, "num_strings": 3, "statistic": "prefix"}
        )
        offered[learner] = app.pills(key="ranks").options
        app.pills(key="ranks").set_value([1, 30]).run()
        assert not complaints(app)
        assert any("ranks up to" in note.value for note in app.info)
        assert app.button(key="compare.start").label.startswith("Train SP")
    assert (
        offered["SP"]
        == offered["both.non"]
        == ["1", "2", "3", "4", "5", "8", "10", "15", "20", "30"]
    )


def test_runs_that_fail_are_told_together():
    given = QUICK | {
        "rank": 20,
        "learners": "SP",
        "against": "strings",
        "num_suffixes": 200,
        "num_prefixes": 200,
        "data_seed": 36,
    }
    app = open_lab("compare", **given | {"num_strings": 1})
    app.pills(key="sizes").set_value([1, 500]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    assert [entry.label for entry in app.expander if "could not be trained" in entry.label] == [
        "1 of 2 models could not be trained"
    ]
    assert len(named(app, "SP")["y"]) == 1 and np.isfinite(named(app, "SP")["y"]).all()
    trained(app, "compare.again")
    assert not complaints(app) and app.button(key="compare.again")
    assert len(Grid(base=recipe_of(app), learners=("SP",), sample_sizes=(1, 500)).points()) == 2


def test_a_metric_is_chosen_by_its_title_and_named_by_its_field_in_the_address():
    app = trained(
        open_lab(
            "compare", **QUICK | {"data_seed": 35, "learners": "SP", "ranks": 2, "metric": "kl"}
        ),
        "compare.start",
    )
    assert app.selectbox(key="metric").value == "kl" and "KL" in app.selectbox(key="metric").options
    app.selectbox(key="metric").set_value("log2_pauto").run()
    assert app.query_params["metric"] == "log2_pauto"
    assert (
        figure(app, "compare.curves")["layout"]["xaxis"]["title"]["text"]
        == SCORE_OF["log2_pauto"].title
    )
    # A metric that the next strings do not allow, and a link that asks for none that there is.
    app.selectbox(key="metric").set_value("kl").run()
    app.selectbox(key="source").set_value("verbs").run()
    trained(app, "compare.start")
    assert not complaints(app) and app.selectbox(key="metric").value == "wer"
    assert app.query_params["metric"] == "wer"
    app = open_lab(
        "compare", **QUICK | {"data_seed": 35, "learners": "SP", "ranks": 2, "metric": "<b>"}
    )
    assert not complaints(app) and app.selectbox(key="metric").value == "wer"


def test_two_models_are_compared_on_the_same_test_strings():
    app = open_lab("compare", **QUICK | {"data_seed": 41, "learners": "SP"})
    trained(app, "compare.start")
    assert not complaints(app)
    pair = [app.selectbox(key=f"compare.{name}").value for name in ("first", "second")]
    listed = next(entry.value for entry in app.dataframe if "place" in entry.value)
    assert pair == list(listed["run"])[:2]  # the two best
    first, second = [
        name for name in app.selectbox(key="compare.first").options if name.startswith("SP, k = ")
    ][:2]
    app.selectbox(key="compare.first").set_value(first).run()
    app.selectbox(key="compare.second").set_value(second).run()
    pair = next(entry.value for entry in app.dataframe if "ahead" in entry.value)
    base = recipe_of(app).with_learner("SP")
    test = load_data(base.data).test
    ranks = [int(name.removeprefix("SP, k = ")) for name in (first, second)]
    models = [string_scores(run(base.with_learner("SP", rank)).model, test) for rank in ranks]
    wer = pair.set_index("score").loc["WER"]
    gap = paired_differences(*models)["wer"]
    assert (wer["difference"], wer["95 % interval"]) == (
        gap.estimate,
        interval_text(gap, signed=True),
    )
    assert wer["p value"] == gap.p_value
    assert not app.get("download_button")  # closed lists are empty
    for name in ("runs", "pair"):
        app.session_state[f"compare.{name}.files"] = True
    app.run()
    labels = [button.label for button in app.get("download_button")]
    assert labels == ["LaTeX", "Markdown", "All numbers as CSV", "CSV", "LaTeX", "Markdown"]
    app.selectbox(key="compare.second").set_value("true model").run()
    pair = next(entry.value for entry in app.dataframe if "ahead" in entry.value)
    assert not complaints(app) and set(pair["ahead"]) <= {"true model", "level", "no verdict"}


def test_without_validation_strings_no_rank_is_chosen():
    app = open_lab("compare", **QUICK | {"data_seed": 42, "learners": "SP", "num_validation": 0})
    assert app.number_input(key="num_validation").value == 0
    trained(app, "compare.start")
    assert any(
        "no validation strings to choose a rank by" in entry.value.replace("\\", "")
        for entry in app.info
    )
    listed = next(entry.value for entry in app.dataframe if "place" in entry.value)
    assert set(listed["place"]) == {""}


def test_the_verdict_on_top_is_the_paired_difference_from_the_ngram():
    app = trained(
        open_lab("compare", **QUICK | {"data_seed": 43, "learners": "SP"}), "compare.start"
    )
    assert not complaints(app)
    [verdict] = [
        text.value.replace("\\", "")
        for text in app.main.markdown
        if "The best on validation strings by WER" in text.value
    ]
    chosen, rank = re.findall(r"WER: (SP, k = (\d+))\.", verdict)[0]
    recipe = recipe_of(app).with_learner("SP", int(rank))
    model = Context(recipe).string_scores
    ngram = Context(recipe).reference_string_scores("5-gram")
    gap = paired_differences(model, ngram)["wer"]
    expected = {"first": "is ahead of", "second": "is behind", "level": "and"}[leader("wer", gap)]
    wer = f"{model.estimates['wer']:#.3g} against {ngram.estimates['wer']:#.3g}"
    assert f"{chosen} {expected} the 5-gram: WER on the test strings {wer} (" in verdict


def test_aic_chooses_among_models_by_likelihood_and_names_the_others():
    link = QUICK | {"data_seed": 44, "learners": "SP", "opponents": "PFA"}
    app = trained(open_lab("compare", **link), "compare.start")
    app.segmented_control(key="compare.by").set_value("aic").run()
    assert not complaints(app)
    recipe = recipe_of(app).with_learner("PFA", 1)
    train = load_data(recipe.data).train
    ranks = app.pills(key="ranks").value
    aic = {
        rank: information_criteria(run(recipe.with_learner("PFA", rank)).model, train).aic
        for rank in ranks
    }
    best = min(aic, key=aic.get)
    texts = [text.value.replace("\\", "") for text in app.main.markdown]
    assert any(f"The best by AIC: PFA, k = {best}." in text for text in texts)
    chosen = tables(app)[0]["model"].tolist()
    assert f"PFA, k = {best}" in chosen and not any(name.startswith("SP") for name in chosen)
    notes = [entry.value.replace("\\", "") for entry in app.info]
    assert any(text.startswith("No AIC for SP: AIC and BIC need a distr") for text in notes)
    runs = next(table for table in tables(app) if "place" in table)
    assert runs["AIC"].tolist()[: len(ranks)] == sorted(aic.values())
    app.segmented_control(key="against").set_value("strings").run()
    assert not complaints(app)


def opening_pair(app):
    return app.selectbox(key="compare.first").value, app.selectbox(key="compare.second").value


def pins_of(app, **ranks):
    """Runs of the sidebar's recipe with other ranks, as parameters of a link."""
    return {
        name: recipe_code(recipe_of(app).with_learner("SP", rank)) for name, rank in ranks.items()
    }


SP = QUICK | {"data_seed": 51, "learner": "SP", "learners": "SP"}


@pytest.mark.parametrize(
    ("rank", "ranks", "pinned", "pair"),
    [
        (2, 5, {"a": 3, "b": 4}, ("A: SP, k = 3", "B: SP, k = 4")),
        # one of which the grid has, too
        (2, 3, {"a": 4, "b": 3}, ("A: SP, k = 4", "B: SP, k = 3")),
        (3, 5, {"a": 3, "b": 4}, ("A: SP, k = 3", "B: SP, k = 4")),  # one of which is the sidebar's
        (2, 5, {"a": 3}, ("A: SP, k = 3", "now: SP, k = 2")),
        (2, 2, {"a": 3}, ("A: SP, k = 3", "now: SP, k = 2")),
        (2, 5, {"b": 3}, ("B: SP, k = 3", "now: SP, k = 2")),
    ],
)
def test_the_pinned_pair_is_compared_first(rank, ranks, pinned, pair):
    base = open_lab("data", **SP)
    app = open_lab("compare", **SP | {"rank": rank, "ranks": ranks} | pins_of(base, **pinned))
    for button in ("compare.in_play.start", "compare.start"):
        trained(app, button)
    assert not complaints(app)
    assert opening_pair(app) == pair
    table = next(table for table in tables(app) if "95 % interval" in table)
    assert [*table][1:3] == [*pair]
    expected = [run(recipe_of(base).with_learner("SP", int(name[-1]))).scores.wer for name in pair]
    assert table.set_index("score").loc["WER", [*pair]].tolist() == pytest.approx(expected)
    headings = [heading.value for heading in app.subheader]
    assert headings.index("Two models on the same test strings") < headings.index("Learners")


def test_a_pin_of_the_sidebars_own_run_is_compared_with_the_next_one():
    base = open_lab("data", **SP)
    app = trained(
        open_lab("compare", **SP | {"rank": 3, "ranks": 3} | pins_of(base, a=3)), "compare.start"
    )
    assert not complaints(app) and opening_pair(app) == ("A: SP, k = 3", "uniform")


def test_a_new_pin_opens_the_pair_anew_and_a_choice_stays():
    app = open_lab("compare", **SP | {"rank": 3, "ranks": 5})
    for button in ("compare.in_play.start", "compare.start"):
        trained(app, button)
    headings = [heading.value for heading in app.subheader]
    assert headings.index("Two models on the same test strings") > headings.index("Learners")
    app.selectbox(key="compare.first").set_value("5-gram").run()
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(2).run()
    assert not complaints(trained(app, "compare.in_play.start"))
    assert opening_pair(app) == ("A: SP, k = 3", "now: SP, k = 2")
    app.button(key="pins.B").click().run()
    assert opening_pair(app) == ("A: SP, k = 3", "B: SP, k = 2")
    app.selectbox(key="compare.second").set_value("5-gram").run()
    app.toggle(key="compare.every").set_value(True).run()
    assert opening_pair(app) == ("A: SP, k = 3", "5-gram")
    app.button(key="pins.A.remove").click().run()
    assert not complaints(app) and opening_pair(app)[0] == "B: SP, k = 2"


def test_a_pin_without_a_result_is_named_and_comes_first_when_it_has_one():
    base = open_lab("data", **SP | {"data_seed": 52})
    slow = recipe_of(base).with_learner("fac.non", 2)
    app = open_lab(
        "compare",
        **SP | {"data_seed": 52, "ranks": 1} | pins_of(base, a=3) | {"b": recipe_code(slow)},
    )
    trained(app, "compare.start")
    assert any("B can be chosen here once trained." in caption.value for caption in app.caption)
    assert opening_pair(app) == ("A: SP, k = 3", "now: SP, k = 2")
    trained(app, "compare.in_play.start")
    assert not complaints(app) and opening_pair(app) == ("A: SP, k = 3", "B: fac.non, k = 2")


def test_other_learners_have_the_options_that_were_set_before():
    app = open_lab("train", **QUICK | {"data_seed": 54, "rank": 1})
    app.number_input(key="tolerance").set_value(1.0).run()
    assert complaints(app)
    app.selectbox(key="learner").set_value("SP").run()
    assert not complaints(app)  # of a value that nobody can see
    trained(app)
    trained(app, "train.others.start")
    go(app, "compare")
    app.pills(key="learners").set_value(["SP", "both.non", "tran.non"]).run()
    app.pills(key="ranks").set_value([1]).run()
    assert not complaints(app)
    assert not any(button.key == "compare.start" for button in app.button)  # Train trained them
    learned = recipe_of(app).with_learner("both.non")
    epochs = {"epochs_factorisation": 5, "epochs_transitions": 5}
    assert Context(learned.changed(learning=learned.learning.changed(**epochs))).result is not None


def test_buttons_say_how_many_models_they_train():
    base = QUICK | {"data_seed": 53}
    for number, learner in ((3, "both.non"), (2, "fac.non"), (1, "tran.non")):
        app = trained(open_lab("train", **base | {"learner": learner}))
        assert app.button(key="train.others.start").label.startswith(f"Train {number} of 4 models")
    trained(app, "train.others.start")
    assert not any(button.key == "train.others.start" for button in app.button)
    app = open_lab("compare", **base | {"learners": "both.non"})  # of ranks 1, 2, 3, 5, 10
    assert app.button(key="compare.start").label.startswith("Train 4 of 5 models")
    pinned = {
        name: recipe_code(recipe_of(app).with_learner(learner, 1))
        for name, learner in (("a", "fac.non"), ("b", "tran.non"))
    }
    for page, key in (
        ("compare", "compare.in_play.start"),
        ("states", "states.start"),
        ("predict", "predict.start"),
    ):
        app = open_lab(page, **base | pinned)
        assert app.button(key=key).label.startswith("Train 2 of 3 models"), page
