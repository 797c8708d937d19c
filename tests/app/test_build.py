"""The Build page: examples, edits in the drawing, tasks, links, files, and learning an automaton
back.
"""

from __future__ import annotations

import pytest

from nlwfa_core.models.algebra import equivalent
from nlwfa_core.teaching.automata.automaton_files import automaton_files
from nlwfa_core.teaching.automata.draft import ArrowRow, Draft, StateRow
from nlwfa_core.teaching.automata.examples import EXAMPLES, FIRST, example
from pages.shared import contents
from pages.shared.context import Context
from tests.app.lab import complaints, given_to, go, markdown_texts, open_lab, recipe_of


def numbers(app):
    """The line above the drawing: states, rank, sum."""
    [line] = [text for text in markdown_texts(app) if "· rank **" in text]
    parts = line.split("**")
    return {"states": parts[1], "rank": parts[3], "sum": parts[5]}


def linked(draft, **more):
    return open_lab("build", automaton=draft.link_text(), **more)


def test_each_example_is_drawn_with_what_it_is():
    app = open_lab("build")
    for name in [*(name for name in EXAMPLES if name != FIRST), FIRST]:  # which is there at first
        app.selectbox(key="build.example").set_value(name).run()
        assert not complaints(app), name
        draft = example(name)
        assert numbers(app)["states"] == numbers(app)["rank"] == str(len(draft.states))
        assert [node["label"] for node in given_to(app, "nlwfa.walk")["views"][0]["nodes"]] == list(
            draft.names
        )
        link = "" if name == FIRST else draft.link_text()
        assert app.query_params.get("automaton", "") == link


@pytest.mark.parametrize("name", [FIRST, "hmm"])
def test_an_example_is_undone_and_chosen_again(name):
    app = open_lab("build")
    app.button(key="build.empty").click().run()
    assert numbers(app)["rank"] == "0" and "automaton" in app.query_params
    empty = app.session_state["build.draft"]
    app.selectbox(key="build.example").set_value(name).run()
    app.button(key="build.undo").click().run()
    assert app.session_state["build.draft"] == empty
    app.button(key="build.undo").click().run()
    assert app.session_state["build.draft"] == example(FIRST)
    assert "automaton" not in app.query_params
    app.button(key="build.redo").click().run()
    app.button(key="build.redo").click().run()
    assert app.session_state["build.draft"] == example(name) and not complaints(app)


def test_a_task_from_its_link_to_its_solution():
    app = open_lab("build", build="even-a")
    challenge = contents.challenges()["even-a"]
    assert not complaints(app) and any(challenge.text in text for text in markdown_texts(app))
    app.button(key="build.check").click().run()
    assert "The shortest string whose weight differs is λ: yours gives 0" in app.warning[
        0
    ].value.replace("\\", "")
    for hint in challenge.hints:
        app.button(key="build.hint").click().run()
        assert hint in [entry.value for entry in app.info]
    assert app.button(key="build.hint").disabled
    app.button(key="build.solve").click().run()
    app.button(key="build.check").click().run()
    assert app.success[0].value.startswith("Right") and any(
        challenge.explanation in text for text in markdown_texts(app)
    )
    assert (
        given_to(app, "nlwfa.walk")["ladder"]["truth"][:4] == [1, 0, 1, 1]
        and app.query_params["build"] == "even-a"
    )
    assert not {"automaton", "build"} & set(go(app, "data").query_params)
    assert app.session_state["build.draft"] == challenge.solution and not complaints(
        go(app, "build")
    )


def test_mistakes_are_named_and_nothing_is_lost():
    draft = Draft(
        (StateRow("1", "1", "half"), StateRow("2", "1", "0.5"), StateRow("3", "0", "1")),
        (
            ArrowRow("2", "a", "9", "1"),
            ArrowRow("2", "b c", "2", "1"),
            ArrowRow("2", "a", "2", "0.5"),
        ),
        ("a",),
    )
    app = linked(draft)
    assert complaints(app) == [
        "States, row 1: α∞: write a number: a decimal, a fraction or a percentage; got 'half'",
        "Arrows, row 1: To: there is no state 9; the states are 2, 3",
        "Arrows, row 2: a symbol must have no spaces; got 'b c'",
    ]
    assert app.session_state["build.draft"] == draft and numbers(app)["states"] == "2"
    assert any(
        note.value.replace("\\", "").startswith("State 3 can't be reached") for note in app.info
    )
    nothing = linked(Draft(()))
    assert complaints(nothing) == ["an automaton needs at least one state; add one"]
    nothing.button(key="build.first").click().run()
    assert nothing.session_state["build.draft"].names == ("1",)


def test_a_state_is_left_out_and_removed():
    app = linked(example("even-a"))
    app.selectbox(key="build.leave_out").set_value("state odd").run()
    assert any(
        "Without state odd the rank falls from 2 to 1" in text.replace("\\", "")
        for text in markdown_texts(app)
    )
    app.button(key="build.remove").click().run()
    assert (
        not complaints(app)
        and app.session_state["build.draft"].names == ("even",)
        and numbers(app)["rank"] == "1"
    )
    app.button(key="build.undo").click().run()
    assert app.session_state["build.draft"] == example("even-a")


def test_weights_are_scaled_to_a_distribution_and_learned_back():
    app = linked(contents.challenges()["halves"].solution)
    assert numbers(app)["sum"] == "2" and any(
        "sum to 2, not to 1" in text for text in markdown_texts(app)
    )
    app.button(key="build.scale").click().run()
    assert numbers(app)["sum"] == "1" and not complaints(app)
    app.number_input(key="build.size").set_value(200).run()
    app.toggle(key="build.measure").set_value(True).run()
    assert not complaints(app) and any(
        "times smaller with 300 times as many strings" in text for text in markdown_texts(app)
    )
    wfa = app.session_state["build.draft"].automaton
    app.button(key="build.source").click().run()
    assert not complaints(app)
    recipe = recipe_of(app)
    assert (
        recipe.data.source == "upload"
        and recipe.data.num_strings == 200
        and recipe.learning.rank == 1
    )
    data = Context(recipe).data
    assert data.sizes == (200, 50, 1000) and equivalent(data.true_model, wfa)
    assert [title.value for title in app.main.title] == ["Train"]


def test_links_that_are_damaged_and_files_that_are_no_automata():
    app = open_lab("build", automaton="nonsense", build="evena")
    assert app.session_state["build.draft"] == example(FIRST)
    assert [text.split(":")[0] for text in complaints(app)] == [
        "build",
        "the automaton in this link is damaged",
    ]
    app.file_uploader(key="build.upload").set_value(("x.txt", b"hello", "text/plain")).run()
    assert [text[:49] for text in complaints(app)] == [
        "x.txt: this is not an automaton file; got 'hello'"
    ]
    assert len(complaints(app.run())) == 1  # it stays
    app.file_uploader(key="build.upload").set_value(
        ("hmm.json", automaton_files(example("hmm"))["automaton.json"], "application/json")
    ).run()
    assert not complaints(app) and equivalent(
        app.session_state["build.draft"].automaton, example("hmm").automaton
    )
    assert {button.proto.label for button in app.get("download_button")} >= {
        "automaton.dot",
        "automaton.tex",
        "automaton.pautomac.txt",
    }


def test_the_automaton_is_learned_by_asking():
    app = open_lab("build")
    app.slider(key="build.asked").set_value(2).run()
    assert not complaints(app)
    texts = " ".join(markdown_texts(app)).replace("\\", "")
    assert "has weight 0.0525, not 0" in texts and "the block has rank 2" in texts
    table = next(one.value for one in app.dataframe if "is" in one.value)
    assert list(table["prefix"]) == ["λ", "[", "]", "[[", "[]"]
    app.selectbox(key="build.example").set_value("even-a").run()
    assert not complaints(app) and app.slider(key="build.asked").max == 2


def test_the_automaton_is_learned_by_merging():
    app = open_lab("build")
    app.slider(key="build.choice").set_value(2).run()
    assert not complaints(app)
    texts = " ".join(markdown_texts(app)).replace("\\", "")
    assert "continues like `λ`: it is merged into that state." in texts
    table = next(one.value for one in app.dataframe if "gain" in one.value)
    assert list(table["state"]) == ["λ", "["]
    app.number_input(key="build.merged_strings").set_value(50).run()
    assert not complaints(app)
    app.selectbox(key="build.example").set_value("even-a").run()  # is no distribution
    assert not complaints(app) and not [one for one in app.slider if one.key == "build.choice"]
