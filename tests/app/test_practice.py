"""Practice: a task from a link is answered, the score follows, and the address says what is on the
screen.
"""

from __future__ import annotations

import pytest

from pages.shared import contents
from tests.app.lab import complaints, go, markdown_texts, open_lab

BANK = contents.tasks()


def test_tasks_are_answered_and_scored():
    app = open_lab("practice", tasks="weight-two", task=3)
    task = BANK["weight-two"].task(3)
    assert (
        not complaints(app)
        and task.text in markdown_texts(app)
        and task.question.solution not in markdown_texts(app)
    )
    app.text_input(key="exercise.weight_two_3.entry").set_value("-1")
    app.button(key="exercise.weight_two_3.check").click().run()
    assert "not right yet" in app.warning[0].value
    app.text_input(key="exercise.weight_two_3.entry").set_value(task.question.key.best)
    app.button(key="exercise.weight_two_3.check").click().run()
    assert app.success[0].value.startswith(
        "Right on the second try."
    ) and task.question.solution in markdown_texts(app)
    assert any(
        "0.5 of 1 point**: 1 of 1 task right, 0 of them on the first try" in text
        for text in markdown_texts(app)
    )
    app.button(key="practice.next").click().run()
    assert app.query_params["task"] == "4" and app.query_params["tasks"] == "weight-two"
    following = BANK["weight-two"].task(4)
    app.text_input(key="exercise.weight_two_4.entry").set_value(following.question.key.best)
    app.button(key="exercise.weight_two_4.check").click().run()
    assert any(
        "1.5 of 2 points**: 2 of 2 tasks right, 1 of them on the first try" in text
        for text in markdown_texts(app)
    )
    elsewhere = go(app, "data")
    assert not {"task", "tasks"} & set(elsewhere.query_params)
    assert app.session_state["practice.number"] == 4 and following.text in markdown_texts(
        go(app, "practice")
    )


# A number, several, a choice, a choice of several, a string, a cell, an order.
@pytest.mark.parametrize(
    "name", ["kl", "state-one", "product", "closure", "close-brackets", "other-cell", "order"]
)
def test_each_form_of_answer_can_be_entered(name):
    app = open_lab("practice", tasks=name)
    assert not complaints(app)
    task = BANK[name].task(1)
    prefix = f"exercise.{name.replace('-', '_')}_1"
    parts = task.question.key.best.split(" | ")
    if app.radio:
        app.radio(key=f"{prefix}.entry").set_value(parts[0])
    elif [box for box in app.checkbox if box.key.startswith(prefix)]:
        for number, option in enumerate(task.question.key.options):
            if option.right:
                app.checkbox(key=f"{prefix}.entry.{number}").check()
    elif len(parts) == 2 and name == "other-cell":
        app.selectbox(key=f"{prefix}.entry.row").set_value(parts[0])
        app.selectbox(key=f"{prefix}.entry.column").set_value(parts[1])
    elif name == "order":
        app.multiselect(key=f"{prefix}.entry").set_value(parts)
    else:
        app.text_input(key=f"{prefix}.entry").set_value(task.question.key.best)
    app.button(key=f"{prefix}.check").click().run()
    assert not complaints(app) and app.success[0].value.startswith("Right. You answered")


def test_a_link_with_kinds_that_are_not_there():
    app = open_lab("practice", tasks="cel,kl,<b>x</b>", task="-3")
    assert (
        app.multiselect(key="practice.kinds").value == ["kl"]
        and app.number_input(key="practice.number").value == 1
    )
    assert [toast.value.replace("\\", "")[:60] for toast in app.toast] == [
        "tasks: no kind of task is called 'cel', so it was ignored. D",
        '"task = -3" in this link is not valid; 1 is used instead.',
    ]
