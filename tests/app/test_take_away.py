"""Take away: what is offered before and after training, and a recipe's file that sets the sidebar,
or is refused in words.
"""

from __future__ import annotations

import io
import zipfile

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core import HankelRecipe, Recipe, RecipeError, load, options
from nlwfa_core import run as run_recipe
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import flat, recipe_code
from pages.shared import contents, sidebar
from pages.shared.context import Context
from pages.views import take_away
from tests.app.lab import QUICK, complaints, go, open_lab, recipe_of, trained
from tests.app.test_data import LINES, upload


def offered(app: AppTest) -> list[str]:
    return [button.label for button in app.get("download_button")]


def bring(app: AppTest, data: bytes) -> AppTest:
    return (
        app.file_uploader(key=take_away.RECIPE_FILE)
        .set_value(("recipe.json", data, "application/json"))
        .run()
    )


def test_programs_are_offered_at_once_and_the_rest_after_training() -> None:
    app = open_lab("take_away", **QUICK | {"learner": "SP", "data_seed": 1021})
    assert not complaints(app) and offered(app) == ["run.py", "run.ipynb", "recipe.json"]
    assert any("has not been trained yet" in text.value for text in app.main.markdown)
    trained(app, "take_away.start")
    assert not complaints(app)
    assert offered(app)[3:] == [
        "report.html",
        "model.zip",
        "scores.csv",
        "scores.tex",
        "figures.zip",
        "strings.zip",
        "nlwfa-run.zip",
    ]
    assert any("Not a probabilistic automaton" in caption.value for caption in app.main.caption)


def test_nothing_is_made_on_demand_while_a_run_is_polled() -> None:
    """A callable beside a polling fragment is lost in Streamlit 1.67."""
    app = open_lab(
        "take_away",
        **QUICK | {"learner": "fac.non", "epochs_factorisation": 100_000, "data_seed": 1022},
    )
    app.button(key="take_away.start").click().run()
    assert [button.key for button in app.button if button.key == "take_away.cancel"]
    assert not [
        button for button in app.get("download_button") if button.proto.HasField("deferred_file_id")
    ]
    app.button(key="take_away.cancel").click().run()
    assert not complaints(app)


def test_the_archive_of_everything_holds_the_run(tmp_path) -> None:
    app = upload(open_lab("data", **QUICK | {"learner": "SP"}), LINES)
    recipe = recipe_of(app)
    result = run_recipe(recipe, files=contents.uploads().get)
    archive = zipfile.ZipFile(io.BytesIO(take_away.finished(recipe, result, "").everything()))
    names = archive.namelist()
    assert {
        "run.py",
        "run.ipynb",
        "recipe.json",
        "report.html",
        "scores.csv",
        "scores.tex",
        "data/train.txt",
        "figures/hankel.pdf",
    } <= set(names)
    assert (
        f"uploads/{recipe.data.upload}" in names
        and archive.read(f"uploads/{recipe.data.upload}") == LINES
    )
    assert Recipe.from_json(archive.read("recipe.json").decode()) == recipe
    archive.extractall(tmp_path)
    assert load(tmp_path / "model").num_states == 2


def test_a_pinned_run_can_be_taken_away_too() -> None:
    pinned = Recipe(learning=options("SP", rank=7))
    app = open_lab("take_away", **QUICK, a=recipe_code(pinned))
    assert "rank=2," in take_away.programs(recipe_of(app))[0].files["run.py"].decode()
    app.segmented_control(key="take_away.run").set_value("A").run()
    assert not complaints(app)
    assert f"/train?a={recipe_code(pinned)}" in app.main.code[0].value


def test_an_opponents_run_has_the_matrix_of_its_strings_and_is_a_probabilistic_automaton(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = open_lab("take_away", **QUICK | {"num_strings": 60, "data_seed": 1023})
    recipe = recipe_of(app).with_learner("HMM")
    app = open_lab(
        "take_away", **QUICK | {"num_strings": 60, "data_seed": 1023, "a": recipe_code(recipe)}
    )
    app.segmented_control(key="take_away.run").set_value("A").run()
    trained(app, "take_away.start")
    assert not complaints(app) and len(offered(app)) == 10
    assert not any("Not a probabilistic automaton" in caption.value for caption in app.main.caption)
    monkeypatch.setattr(sidebar, "matrix", lambda: HankelRecipe(num_prefixes=9, num_suffixes=9))
    names = zipfile.ZipFile(
        io.BytesIO(take_away.finished(recipe, Context(recipe).result, "").everything())
    ).namelist()
    assert {
        "model/automaton.pautomac.txt",
        "model/automaton.openfst.txt",
        "model/automaton.dot",
        "model/automaton.tex",
        "figures/hankel.svg",
        "figures/singular-values.pdf",
    } <= set(names)


def test_the_models_of_other_ranks_in_explore_are_taken_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the linear model of the same rank stands beside the run's scores."""
    fields = flat(PRESETS["first-steps"][1]) | {
        "learner": "both.non",
        "rank": 3,
        "objective": "likelihood",
    }
    app = open_lab("take_away", **fields)
    assert not complaints(app) and "figures.zip" in offered(app)
    recipe = recipe_of(app)
    monkeypatch.setattr(sidebar, "matrix", lambda: PRESETS["first-steps"][1].hankel)
    run = take_away.finished(recipe, Context(recipe).result, "")
    scores = pd.read_csv(io.BytesIO(run.scores()["scores.csv"]), index_col="model")
    assert list(scores.index[:2]) == ["both.non, k = 3", "SP, k = 3"]
    ranks = pd.read_csv(io.BytesIO(run.figures()["ranks.csv"]))
    assert ranks.groupby("learner")["rank"].nunique()["SP"] == 20
    seeds = ranks[(ranks["learner"] == "both.non") & (ranks["rank"] == 3)]
    assert seeds["seed"].tolist() == [0, 1, 2] and set(seeds["objective"]) == {"likelihood"}
    same = ranks[(ranks["learner"] == "SP") & (ranks["rank"] == 3)]["wer"].item()
    assert scores.loc["SP, k = 3", "wer"] == same


@pytest.mark.parametrize(
    "preset", [name for name, (_, recipe) in PRESETS.items() if recipe.data.source != "upload"]
)
def test_a_recipe_goes_out_and_comes_back(preset: str) -> None:
    wanted = PRESETS[preset][1]
    app = bring(open_lab("take_away", **QUICK), take_away.recipe_file(wanted))
    assert not [text for text in complaints(app) if "Nothing was changed" in text]
    assert recipe_of(app).key() == wanted.key()
    assert recipe_of(go(app, "data")).key() == wanted.key()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "must be valid JSON"),
        (b"[1]", "the recipe must be an object; got"),
        (b'{"learning": {"rank": -1}}', "rank must be at least 1; got -1"),
        (b'{"learning": {"rang": 1}}', "rang"),
        (b'{"hankel": {"statistic": "**bigram**"}}', "; got '**bigram**'"),
        (b" " * 30_000, "must be at most 20,000 bytes; got 30,000"),
        (b"\xff\xfe\x00", "recipe"),
        (b'{"learning": {"learner": "HMM"}}', "the others are on the Compare page"),
        (
            b'{"hankel": {"statistic": "factor", "bounded": true}}',
            "bounded is True, but the sidebar",
        ),
        (
            b'{"data": {"source": "upload", "upload": "' + b"c" * 64 + b'"}}',
            "no longer on the server",
        ),
    ],
)
def test_a_recipe_that_can_not_be_followed_changes_nothing(data: bytes, said: str) -> None:
    app = open_lab("take_away", **QUICK)
    before = recipe_of(app)
    bring(app, data)
    (complaint,) = complaints(app)
    assert said in complaint and "Nothing was changed" in complaint
    assert recipe_of(app) == before


def test_what_the_sidebar_can_say_is_let_through() -> None:
    for _, recipe in PRESETS.values():
        sidebar.check_settable(recipe)
    with pytest.raises(RecipeError):
        sidebar.check_settable(Recipe().with_learner("GRU"))
