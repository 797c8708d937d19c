"""The Predict page: weights of what is in play, the calculation by hand, strings drawn."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from nlwfa_core.display.formulas.by_hand import by_hand
from nlwfa_core.models import sampling
from nlwfa_core.models.mixture import fit_mixture
from nlwfa_core.rounding import format_significant
from nlwfa_core.strings.words import Words
from pages.shared.context import Context
from tests.app.lab import (
    QUICK,
    complaints,
    figure,
    go,
    learned,
    open_lab,
    recipe_of,
    trained,
    type_text,
    typed,
    written,
)

SP = QUICK | {"learner": "SP", "data_seed": 722}


def test_pinned_runs_stand_beside_the_sidebars_and_the_references() -> None:
    app = learned("train", **SP)
    app.button(key="pins.A").click().run()
    app.number_input(key="rank").set_value(3).run()
    trained(go(app, "predict"), "predict.start")
    assert not complaints(app)
    app = type_text(app, "[[]]")
    table, text = (one.set_index("model") for one in (app.dataframe[0].value, written(app, "f(x)")))
    assert list(table.index) == ["A: SP, k = 2", "SP", "uniform", "5-gram", "true model"]
    recipe = recipe_of(app)
    for name, run in (("A: SP, k = 2", recipe.with_learner("SP", 2)), ("SP", recipe)):
        model = Context(run).result.model  # type: ignore[union-attr]
        weight = model.weights(Words.of([(0, 0, 1, 1)]))[0]
        assert table.loc[name, "f(x)"] == weight and text.loc[name, "f(x)"] == format_significant(
            weight
        )
    bars = figure(app, "predict.next")["data"]
    assert [trace["name"] for trace in bars] == list(table.index)
    assert bars[0]["marker"]["pattern"]["shape"] and not bars[1]["marker"]["pattern"]["shape"]


@pytest.mark.parametrize(("averaged", "level"), [("strings", "string"), ("next symbols", "symbol")])
def test_who_says_what_next_in_a_mixture(averaged: str, level: str) -> None:
    app = learned("predict", **SP | {"data_seed": 55})
    app = type_text(app, "[[]")
    assert not any("likeliest next" in one.value for one in app.dataframe)
    app.session_state["predict.mix"] = True
    app.run()
    app.segmented_control(key="predict.level").set_value(averaged).run()
    assert not complaints(app)
    table = next(one.value for one in app.dataframe if "likeliest next" in one.value).set_index(
        "model"
    )
    assert list(table.index) == ["SP", "5-gram", "mixture"]
    recipe = recipe_of(app)
    data, models = (
        Context(recipe).data,
        (Context(recipe).result.model, Context(recipe).references["5-gram"]),
    )  # type: ignore[union-attr]
    model, weights = fit_mixture(models, data.validation.sample, level)  # type: ignore[union-attr]
    assert table["weight"].tolist() == pytest.approx([*weights, 1])
    assert (
        table["share after the prefix"].tolist()[:2] == pytest.approx(table["weight"].tolist()[:2])
        or level == "string"
    )
    following = model.next((0, 0, 1))
    best = max(following, key=lambda symbol: following[symbol])
    assert table.loc["mixture", "likeliest next"] == best and table.loc[
        "mixture", "its probability"
    ] == pytest.approx(following[best])
    parts = table[f"adds to {best}"]
    assert parts[:2].sum() == pytest.approx(parts["mixture"])


def test_the_sidebars_run_is_named_once_where_it_is_pinned() -> None:
    # no other test trains with these strings
    app = learned("train", **SP | {"data_seed": 56})
    app.button(key="pins.B").click().run()
    assert list(go(app, "predict").dataframe[0].value["model"])[:2] == ["B: SP, k = 2", "uniform"]


def test_a_string_that_is_not_in_the_alphabet_is_one_error_and_the_page_goes_on() -> None:
    app = type_text(learned("predict", **SP), "[x")
    assert len(complaints(app)) == 1 and "'x' is not in the alphabet" in complaints(app)[0]
    assert app.expander
    assert not complaints(type_text(app, ""))


def test_a_string_is_kept_from_page_to_page() -> None:
    app = type_text(learned("predict", **SP), "[[[]]]")
    weight = app.dataframe[0].value
    assert go(go(app, "data"), "predict").dataframe[0].value.equals(weight)


@pytest.mark.parametrize("learner", ["SP", "both.non"])
def test_by_hand_writes_the_librarys_calculation(learner: str) -> None:
    app = learned("predict", **SP | {"learner": learner})
    app = type_text(app, "[]")
    app.toggle(key="predict.by_hand").set_value(True).run()
    app.slider(key="predict.digits").set_value(6).run()
    assert not complaints(app)
    recipe = recipe_of(app)
    found = by_hand(Context(recipe).result.model, (0, 1), Context(recipe).data.alphabet)  # type: ignore[union-attr]
    assert app.code[0].value.strip() == found.text(6).strip()
    assert [entry.value.strip().strip("$").strip() for entry in app.latex] == list(found.latex(6))


def test_a_link_opens_the_calculation() -> None:
    app = learned("train", **SP)
    again = open_lab("predict", **SP | {"predict.by_hand": "true"})
    assert again.toggle(key="predict.by_hand").value and again.code
    assert not complaints(app)


def opened(app: AppTest) -> AppTest:
    """With the list that draws strings."""
    app.session_state["predict.draw"] = True
    return app.run()


def test_the_sampler_draws_the_librarys_strings() -> None:
    app = opened(learned("predict", **SP))
    app.selectbox(key="predict.sampler").set_value("5-gram")
    app.number_input(key="predict.seed").set_value(4)
    app.number_input(key="predict.drawn_strings").set_value(300).run()
    assert not complaints(app)
    data = Context(recipe_of(app)).data
    expected = sampling.draw(Context(recipe_of(app)).references["5-gram"], 300, 4)
    table = next(entry.value for entry in app.dataframe if "expected" in entry.value)
    assert list(table["string"]) == [data.alphabet.decode(word) for word in expected.words]
    assert list(table["count"]) == expected.counts.tolist()


def test_the_sampler_tells_of_negative_mass() -> None:
    app = opened(learned("predict", **SP | {"rank": 8}))
    drawn = sampling.draw(Context(recipe_of(app)).result.model, 200, 0)  # type: ignore[union-attr]
    assert drawn.num_negative
    app.selectbox(key="predict.sampler").set_value("SP").run()
    assert any(
        "draws some scores were negative" in entry.value.replace("\\", "") for entry in app.warning
    )


def test_a_string_that_is_too_long_is_refused_not_cut():
    app = type_text(open_lab("predict", **QUICK), "[" * 20_000)
    assert complaints(app) == ["String may have at most 1,000 characters on this page; got 20,000"]


def test_each_alphabet_has_a_string_of_its_own():
    app = type_text(open_lab("predict", **QUICK), "[[]]")
    app.selectbox(key="source").set_value("tomita").run()
    assert not complaints(app) and typed(app) != "[[]]"
    app.selectbox(key="source").set_value("dyck").run()
    assert typed(app) == "[[]]"
