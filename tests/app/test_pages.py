"""Every page is drawn, whatever the sidebar says, and what it shows is what the library
computes.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from nlwfa_core import run
from nlwfa_core.display.formulas.recipe_formulas import steps
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.learning.learners import HANKEL_LEARNERS
from nlwfa_core.metrics.pautomac_score import CONVENTIONS
from nlwfa_core.metrics.score_table import SCORE_OF
from nlwfa_core.metrics.tables import format_score
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.reading import READINGS
from pages.shared.context import Context
from pages.shared.navigation import PAGES
from tests.app.lab import (
    QUICK,
    ROOT,
    all_pages,
    complaints,
    figure,
    go,
    lens_payload,
    open_lab,
    recipe_of,
    results_of,
    trained,
    written,
)
from tests.quick import TITLES
from tests.waiting import PATIENCE_SECONDS

# Small and odd experiments, as parameters of a link.
ODD = {
    "a random automaton": {"source": "automaton"},
    "a hidden Markov model": {"source": "hmm"},
    "a squared automaton": {"source": "squared", "num_states": 2},
    "shipped verbs": {"source": "verbs"},
    "one symbol, one state": {"source": "automaton", "num_symbols": 1, "num_states": 1},
    "symbols that need numbers": {"source": "automaton", "num_symbols": 30},
    "one string": {"num_strings": 1, "num_validation": 1, "num_test": 1},
    "all strings alike": {"split_probability": 0, "wrap_probability": 0},
    "a basis of one cell, which is zero": {"num_prefixes": 1, "num_suffixes": 1},
    "one prefix": {"num_prefixes": 1, "rank": 1},
    "a rank above the basis": {"rank": 1000},
    "factors, linear": {"learner": "SP", "statistic": "factor"},
    "roots of prefixes of verbs": {
        "source": "verbs",
        "statistic": "prefix",
        "transform": "sqrt",
        "refine": "hankel",
    },
    "rows of factors of one string": {
        "num_strings": 1,
        "statistic": "factor",
        "transform": "row",
        "refine": "likelihood",
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_drawn_for_the_default_recipe(page: str) -> None:
    app = open_lab(page)
    assert not complaints(app)
    assert [title.value for title in app.main.title] == [TITLES[page]]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_drawn_for_a_recipe_in_the_address(page: str) -> None:
    app = open_lab(page, **QUICK | {"learner": "SP", "data_seed": 5})
    assert not complaints(app)
    recipe = recipe_of(app)
    assert (
        recipe.learning.learner,
        recipe.learning.rank,
        recipe.data.seed,
        recipe.data.num_strings,
    ) == ("SP", 2, 5, 300)


@pytest.mark.slow
@pytest.mark.parametrize("odd", ODD)
def test_pages_are_drawn_at_the_edges(odd: str) -> None:
    for _, app in all_pages(open_lab(**QUICK | ODD[odd])):
        assert not complaints(app)


@pytest.mark.parametrize(
    "odd",
    ["one symbol, one state", "one string", "a basis of one cell, which is zero", "shipped verbs"],
)
def test_pages_show_what_was_learned_at_the_edges(odd: str) -> None:
    app = trained(open_lab("train", **QUICK | ODD[odd] | {"learner": "SP", "rank": 1}))
    for _, shown in all_pages(app):
        assert not complaints(shown)


def test_the_score_table_holds_the_librarys_numbers() -> None:
    app = trained(open_lab("train", **QUICK | {"learner": "SP", "data_seed": 11}))
    assert not complaints(app)
    scores = run(recipe_of(app)).scores
    row = app.dataframe[0].value.set_index("model").loc["SP"]
    text = written(app, "model").set_index("model").loc["SP"]
    for title, value in (
        ("WER", scores.wer),
        ("log₂ Pautomac", scores.log2_pauto),
        ("bits / symbol", scores.bits_per_symbol),
    ):
        assert row[title] == value and text[title] == format_score(value)
    assert row["negative"] == scores.num_negative


def test_all_four_learners_are_seen_on_every_page_once_they_are_trained() -> None:
    app = trained(open_lab("train", **QUICK | {"data_seed": 12}))
    trained(app, "train.others.start")
    assert list(app.dataframe[1].value["model"]) == list(HANKEL_LEARNERS)
    learner = recipe_of(app).learning.learner
    assert go(app, "states").segmented_control(key=f"states.learner.{learner}").options == list(
        HANKEL_LEARNERS
    )
    assert figure(app, "states.pca")["data"]
    assert list(go(app, "predict").dataframe[0].value["model"])[: len(HANKEL_LEARNERS)] == list(
        HANKEL_LEARNERS
    )
    assert not complaints(app)


def test_compare_trains_what_is_missing_and_draws_a_curve_beside_the_reference_lines() -> None:
    app = open_lab("compare", **QUICK | {"data_seed": 13, "learners": "SP"})
    app.pills(key="ranks").set_value([1, 2, 3]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    curves = figure(app, "compare.curves")
    assert [(trace["name"], list(trace["x"])) for trace in curves["data"]] == [("SP", [1, 2, 3])]
    named = " ".join(note["text"] for note in curves["layout"]["annotations"])
    assert all(name in named for name in ("uniform", "5-gram", "true model"))
    assert not [button for button in app.button if button.key == "compare.start"]


def test_compare_shows_diagnostics_and_one_models_perplexities() -> None:
    app = open_lab("compare", **QUICK | {"data_seed": 15, "learners": "SP", "metric": "kl"})
    app.pills(key="ranks").set_value([2, 3]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    result = run(recipe_of(app).with_learner("SP", 2))
    health, _, conventions = (table.value for table in app.dataframe[-3:])
    health = health.set_index("run")
    conventions = conventions.set_index("convention")
    assert health.loc["SP, k = 2", "radius of ΣA"] == result.report.spectral_radius
    assert conventions.loc["abs", "log₂"] == pytest.approx(result.scores.log2_pauto)
    assert list(conventions.index) == list(CONVENTIONS)
    curves = figure(app, "compare.curves")
    assert curves["layout"]["yaxis"]["title"]["text"] == SCORE_OF["kl"].title
    app.selectbox(key="compare.model").set_value("SP, k = 3").run()
    assert not complaints(app)


COUNTED = [
    ({"learner": "SP", "statistic": "prefix"}, "WFA", ""),
    (
        {"learner": "SP", "statistic": "factor", "transform": "row", "refine": "likelihood"},
        "conditional",
        "⊣⊢",
    ),
    (
        {"learner": "both.non", "statistic": "prefix", "transform": "sqrt", "refine": "hankel"},
        "boundary",
        "⊣",
    ),
    ({"learner": "fac.non", "statistic": "factor", "refine": "likelihood"}, "boundary", "⊣⊢"),
    ({"learner": "tran.non", "transform": "row"}, "conditional", ""),
    (
        {"learner": "fac.non", "statistic": "factor", "transform": "row", "refine": "likelihood"},
        "conditional",
        "⊣⊢",
    ),
]


@pytest.mark.parametrize(
    ("options", "reading", "marks"),
    [COUNTED[0], *(pytest.param(*case, marks=pytest.mark.slow) for case in COUNTED[1:])],
    ids=str,
)
def test_all_that_can_be_counted_and_refined_is_seen_on_every_page(
    options: dict[str, str], reading: str, marks: str
) -> None:
    app = trained(
        open_lab("train", **QUICK | {"rank": 3, "epochs_refinement": 3, "data_seed": 16} | options)
    )
    result = run(recipe_of(app))
    assert not complaints(app)
    row = app.dataframe[0].value.set_index("model").loc[options["learner"]]
    assert (row["WER"], row["bits / symbol"]) == (result.scores.wer, result.scores.bits_per_symbol)
    assert (result.model.reading.name if isinstance(result.model, NLWFA) else "WFA") == reading
    charts = [chart.key.split(".")[-1] for chart in app.get("echarts_chart")]
    measures = list(dict.fromkeys(log.measure for log in result.report.logs))[::-1]
    assert charts == ([*measures, "picture"] if measures else [])
    if options["learner"] != "SP":
        assert len(app.latex) == len(list(steps(recipe_of(app))))
    assert ("refine" in options) == any("Step 3" in entry.value for entry in app.main.markdown)
    trained(app, "train.others.start")
    assert list(app.dataframe[1].value["model"]) == list(HANKEL_LEARNERS)
    for _, shown in all_pages(app):
        assert not complaints(shown)
    go(app, "hankel")
    labels = "".join(lens_payload(app)["prefixes"])
    assert set(labels) & set("⊣⊢") <= set(marks) and set(marks[-1:]) <= set(labels)
    assert len(app.selectbox(key="hankel.block").options) == 1 + 2 + len(marks)
    points = figure(go(app, "states"), "states.pca")["data"]
    assert not set("⊣⊢") & set(str([trace.get("text") for trace in points]))
    captions = [entry.value for entry in go(app, "predict").main.caption]
    assert reading == "WFA" or any(READINGS[reading].sentence in text for text in captions)


@pytest.mark.slow
def test_compare_trains_opponents_in_workers_and_finds_them_again() -> None:
    given = QUICK | {
        "num_strings": 12,
        "num_validation": 6,
        "data_seed": 17,
        "learners": "SP",
        "opponents": "HMM",
        "ranks": 2,
        "statistic": "factor",
    }
    app = trained(open_lab("compare", **given), "compare.start")
    assert not complaints(app)
    learners = {"SP", "HMM", "GRU", "LSTM"}
    # bars, as there is one rank
    assert learners & set(figure(app, "compare.curves")["data"][0]["y"]) == {"SP", "HMM"}
    again = open_lab("compare", **given | {"statistic": "string", "num_prefixes": 20})
    app.pills(key="opponents").set_value(["HMM", "GRU", "LSTM"]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    named = [f"{name}, k = 2" for name in ("SP", "HMM", "GRU", "LSTM")]
    assert list(app.dataframe[0].value["model"])[:4] == named
    # the best first
    assert app.selectbox(key="compare.model").options == list(app.dataframe[1].value["run"])
    # opponents count nothing
    assert learners & set(figure(again, "compare.curves")["data"][0]["y"]) == {"HMM"}
    for _, shown in all_pages(app):
        assert not complaints(shown)
    learner = Context(recipe_of(go(app, "states"))).default_learner
    assert "LSTM" in app.segmented_control(key=f"states.learner.{learner}").options


def test_compare_counts_for_each_learner_as_it_needs() -> None:
    app = open_lab(
        "compare",
        **QUICK
        | {"learner": "SP", "statistic": "factor", "data_seed": 18, "learners": "SP", "ranks": 2},
    )
    app.pills(key="learners").set_value(["SP", "fac.non"]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    found = results_of(app)
    assert {name: entry.recipe.hankel.bounded for name, entry in found.items()} == {
        "SP": False,
        "fac.non": True,
    }


def test_compare_offers_only_scores_that_the_data_allow() -> None:
    app = open_lab("compare", **QUICK | {"source": "verbs", "learners": "SP"})
    app.pills(key="ranks").set_value([2]).run()
    trained(app, "compare.start")
    assert not complaints(app)
    assert app.selectbox(key="metric").options == [
        "WER",
        "WER, no end",
        "log₂ Pautomac",
        "bits / symbol",
        "bits / symbol, no end",
        "NDCG@5",
    ]


def test_a_recipe_that_can_not_be_trained_is_told_in_words_and_nothing_is_lost() -> None:
    app = trained(open_lab("train", **QUICK | {"learner": "SP", "rank": 31}))
    assert complaints(app) == [
        "SP, k = 31: rank must be between 1 and 30 (the basis has 30 prefixes and 30 "
        "suffixes); got 31"
    ]
    assert recipe_of(app).learning.rank == 31
    app.number_input(key="rank").set_value(2).run()
    assert not complaints(trained(app))
    assert len(app.dataframe[0].value)


def test_an_impossible_grammar_is_one_error_and_everything_is_back_once_it_is_mended() -> None:
    app = open_lab("data", **QUICK | {"split_probability": 0.2})
    before = [metric.value for metric in app.metric]
    app.number_input(key="split_probability").set_value(0.4).run()
    assert len(complaints(app)) == 1 and "must be below 1" in complaints(app)[0]
    assert app.number_input(key="wrap_probability").value == 0.4
    for _, shown in all_pages(app):
        assert len(complaints(shown)) <= 1
    go(app, "data").number_input(key="split_probability").set_value(0.2).run()
    assert not complaints(app)
    assert [metric.value for metric in app.metric] == before


def test_a_basis_larger_than_the_sample_is_noted() -> None:
    app = open_lab("hankel", **QUICK | {"num_prefixes": 5000, "num_suffixes": 20})
    assert not complaints(app)
    notes = [note.value for note in app.info]
    assert len(notes) == 1 and notes[0].startswith(
        "You asked for 5,000 prefixes; the sample has only "
    )


@pytest.mark.slow
def test_the_server_never_imports_torch() -> None:
    """Workers own it: it would cost the server a quarter of a gigabyte and a tenth of a second each
    rerun.
    """
    script = (
        "import sys; from tests.app.lab import QUICK, all_pages, open_lab, trained; from "
        "pages.shared import visitor_runs\n"
        "app = trained(open_lab('train', **QUICK | {'data_seed': 14}))\n"
        "assert not app.exception and len(app.dataframe[0].value)\n"
        "assert all(not shown.exception for _, shown in all_pages(app))\n"
        "visitor_runs.runner().close()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=PATIENCE_SECONDS)


def test_an_experiment_sets_its_recipe_and_goes_to_train() -> None:
    app = open_lab("learn")
    for _ in range(2):  # also if it is set already
        app.button(key="learn.paper-dyck").click().run()
        assert recipe_of(app) == PRESETS["paper-dyck"][1] and app.main.title[0].value == "Train"
        go(app, "learn")


def test_a_rank_above_the_basis_is_told_before_training() -> None:
    app = go(open_lab(**QUICK | {"learner": "SP", "rank": 31}), "train")
    assert (
        app.info[0].value.replace("\\", "")
        == "Rank 31 is above what 30 prefixes and 30 suffixes allow: the model will have at "
        "most 30 states."
    )
