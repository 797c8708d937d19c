"""A session of a class: opened, joined, answered, revealed, handed in, exported, closed and
deleted; quizzes without a class.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import time

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from nlwfa_core import limits
from nlwfa_core.display.palette import RIGHT, RIGHT_SIGN, WRONG
from nlwfa_core.errors import RecipeError
from nlwfa_core.history import database
from nlwfa_core.teaching.answers import ChoiceKey
from nlwfa_core.teaching.class_board import lesson_steps
from nlwfa_core.teaching.class_plan import step_plan
from pages.shared import class_session, contents, following, visitor
from pages.shared.widgets import escape_markdown
from pages.views import classroom
from tests.app.lab import complaints, figure, go, markdown_texts, open_lab, recipe_of
from tests.quick import HOSTILE
from tests.waiting import wait_for


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Says whose browser the next runs come from: a simulated page has no cookie."""
    yield lambda name: monkeypatch.setattr(visitor, "identity", lambda: f"browser\0{name}")


@pytest.fixture
def session(person: Callable[[str], None]) -> Iterator[tuple[str, AppTest]]:
    """A session with its code, and the teacher's page."""
    person("teacher")
    app = open_lab("classroom")
    app.button(key="class.open").click().run()
    code = app.query_params["class"]
    yield code, app
    store = class_session.store()
    if store.exists(code):
        store.delete(code, _token(code, person))


def _token(code: str, person: Callable[[str], None]) -> str:
    person("teacher")
    return class_session.browsers_token(code)


def _join(code: str, nickname: str = "") -> AppTest:
    app = open_lab("classroom", **{"class": code})
    app.text_input(key="class.nickname").set_value(nickname)
    app.button(key="class.join_button").click().run()
    assert not complaints(app)
    return app


def _answer(app: AppTest, text: str) -> AppTest:
    app.text_input(key="exercise.rank_1_0.entry").set_value(text)
    return app.button(key="exercise.rank_1_0.check").click().run()


def _step(app: AppTest) -> Selectbox[str]:
    """What the board shows."""
    return next(box for box in app.selectbox if box.label == "Step")


def _texts(app: AppTest) -> str:
    return "\n".join(markdown_texts(app))


def test_a_class_from_its_code_to_its_end(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    assert (
        not complaints(teacher)
        and teacher.title[0].value == f"Class {code}"
        and "teacher" not in teacher.query_params
    )
    person("ada")
    ada = open_lab("hankel", **{"class": code.lower(), "lesson": "rank", "step": 1})
    assert "Nothing is sent to class" in _texts(ada)
    ada = open_lab("classroom", **{"class": code, "lesson": "rank", "step": 1})
    assert (
        "at the latest 30 days after it was opened" in _texts(ada)
        and not class_session.store().read(code, _token(code, person)).members
    )
    person("ada")
    ada.text_input(key="class.nickname").set_value("**Ada** <b>")
    ada.button(key="class.join_button").click().run()
    assert not complaints(ada)
    _answer(ada, "2")
    assert not complaints(ada)
    _answer(ada, "3")
    person("bob")
    bob = _join(code)
    bob.query_params.update({"lesson": "rank", "step": "1"})
    bob = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    _answer(bob, "3")

    person("teacher")
    record = class_session.store().read(code, class_session.browsers_token(code))
    assert [(entry.answer, entry.attempt, entry.credit) for entry in record.answers] == [
        ("2", 1, 0),
        ("3", 2, 1),
        ("3", 1, 1),
    ]
    assert all(0 <= entry.seconds < time() - record.opened for entry in record.answers)
    assert [entry.nickname for entry in record.members] == ["**Ada** <b>", ""]
    assert {entry.place for entry in record.members} == {"rank/1"}
    _step(teacher).set_value("rank/1").run()
    assert not complaints(teacher) and "The answers are hidden until you press" in _texts(teacher)
    assert not teacher.get("plotly_chart")
    teacher.button(key="class.reveal").click().run()
    assert (
        not complaints(teacher)
        and teacher.get("plotly_chart")
        and "The answer is **3**" in _texts(teacher)
    )
    counts = "**2 of 2** have answered · **1** right at once (50 %) · **1** after a hint"
    assert counts in _texts(teacher)
    where = next(frame.value for frame in teacher.dataframe if "place" in frame.value)
    assert where.values.tolist() == [
        ["Why rank matters · 1. Predict the rank", 2, "**Ada** <b>, student 2"]
    ]

    person("bob")
    bob = go(bob, "classroom")
    bob.text_area(key="class.hand_in").set_value("=http://lab/?rank=3")
    bob.button(key="class.hand_in_button").click().run()
    assert not complaints(bob) and bob.text_area(key="class.hand_in").value == ""
    bob = go(bob, "take_away")
    bob.button(key="take_away.hand_in").click().run()
    assert not complaints(bob)
    person("teacher")
    teacher.run()
    handed = next(frame.value for frame in teacher.dataframe if "handed in" in frame.value)
    assert (
        handed["student"].tolist() == ["student 2", "student 2"]
        and handed["handed in"].tolist()[1] == "=http://lab/?rank=3"
    )
    assert (
        "/train?" in handed["handed in"].tolist()[0] and code not in handed["handed in"].tolist()[0]
    )
    answers, hand_ins = (
        classroom.table_as_csv(name, code, _token(code, person)) for name in ("answers", "hand-ins")
    )
    assert b"'=http://lab/?rank=3" in hand_ins and answers.count(b"rank/1") == 3

    teacher.button(key="class.close").click().run()
    assert "This session is closed" in teacher.info[0].value
    person("ada")
    ada.button(key="lesson.next").click().run()
    ada.run()
    person("teacher")
    teacher.button(key="class.delete_now").click().run()
    assert (
        not complaints(teacher)
        and not class_session.store().exists(code)
        and "class" not in teacher.query_params
    )


def test_who_comes_back_finds_their_answers(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    """After a reload, or a server that has died: the address and the browser are enough."""
    code, _ = session
    person("ada")
    _join(code, "Ada")
    app = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    _answer(app, "2")
    again = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    assert "not right yet" in again.warning[0].value
    _answer(again, "3")
    assert again.success[0].value.startswith("Right on the second try.")
    back = open_lab("classroom", **{"class": code})
    assert back.text_input(key="class.nickname").value == "Ada"
    back.button(key="class.leave_now").click().run()
    assert not class_session.store().read(code, _token(code, person)).answers


def test_only_the_teacher_sees_the_board(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, _ = session
    token = _token(code, person)
    person("mallory")
    for parameters in ({}, {"teacher": "x" * 64}, {"teacher": token[:-1]}):
        app = open_lab("classroom", **{"class": code, **parameters})
        assert not complaints(app) and not any(
            button.key in ("class.reveal", "class.close") for button in app.button
        )
    # the teacher's own link, in another browser
    other = open_lab("classroom", **{"class": code, "teacher": token})
    assert not complaints(other) and any(button.key == "class.reveal" for button in other.button)
    assert "teacher" not in go(other, "data").query_params
    assert "teacher" in go(other, "classroom").query_params


def test_answers_wait_for_the_database(
    person: Callable[[str], None], session: tuple[str, AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = session
    person("ada")
    _join(code)
    app = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    with monkeypatch.context() as patch:

        def away(*_: object) -> None:
            raise OSError("the disk is full")

        patch.setattr(class_session.store(), "record", away)
        _answer(app, "3")
        assert "Your answer was not recorded" in app.toast[0].value.replace("\\", "")
    app.run()
    assert [
        entry.answer for entry in class_session.store().read(code, _token(code, person)).answers
    ] == ["3"]


def test_answers_wait_for_a_locked_database(
    person: Callable[[str], None],
    session: tuple[str, AppTest],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One wait, in the callback; the page that is drawn next, and those of others, do not wait
    again.
    """
    monkeypatch.setattr(database, "REST_SECONDS", 1.0)
    code, _ = session
    person("ada")
    _join(code)
    app = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    with closing(sqlite3.connect(home / "history.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        _answer(app, "3")
        assert "Your answer was not recorded" in app.toast[0].value.replace("\\", "")
        assert "will be sent again when you open the next page" in app.warning[0].value
        other.execute("COMMIT")
    wait_for(lambda: not complaints(app.run()) and not app.warning)
    assert [
        entry.answer for entry in class_session.store().read(code, _token(code, person)).answers
    ] == ["3"]


def test_an_answer_is_not_acknowledged_into_a_removed_database(
    person: Callable[[str], None], session: tuple[str, AppTest], home: Path
) -> None:
    code, teacher = session
    person("ada")
    _join(code)
    app = open_lab("data", **{"class": code, "lesson": "rank", "step": 1})
    (home / "history.sqlite").rename(home / "aside.sqlite")
    try:
        _answer(app, "3")
        text = app.toast[0].value.replace("\\", "")
        assert (
            "Your answer was not recorded. The history's database was removed or replaced" in text
        )
        assert str(home) not in text
        person("teacher")
        teacher.run()
        assert "was removed or replaced" in complaints(teacher)[0]
    finally:
        (home / "aside.sqlite").rename(home / "history.sqlite")
    person("ada")
    app.run()
    assert [
        entry.answer for entry in class_session.store().read(code, _token(code, person)).answers
    ] == ["3"]


def test_a_teacher_is_rid_of_an_intruder_in_two_clicks(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    person("ada")
    ada = _join(code, "Ada")
    person("mallory")
    mallory = _join(code, "**Mallory**")
    person("teacher")
    teacher.session_state["class.people"] = True  # the first click opens the list
    teacher.run()
    [newest] = [
        button
        for button in teacher.button
        if button.label.startswith(escape_markdown("**Mallory**"))
    ]
    newest.click().run()
    assert [
        entry.nickname for entry in class_session.store().read(code, _token(code, person)).members
    ] == ["Ada"]
    person("mallory")
    mallory = open_lab("classroom", **{"class": code})
    mallory.button(key="class.join_button").click().run()
    assert "has removed you from it" in complaints(mallory)[0]
    person("teacher")
    teacher.button(key="class.readmit").click().run()
    person("ada")
    assert not complaints(ada.run())
    assert len(class_session.store().read(code, _token(code, person)).members) == 2


def test_a_teacher_is_rid_of_a_flood(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    person("ada")
    _join(code, "Ada")
    _answer(open_lab("data", **{"class": code, "lesson": "rank", "step": 1}), "3")
    for number in range(15):
        class_session.store().join(code, f"{number:064x}", f"bot {number}")
    person("teacher")
    teacher.session_state["class.people"] = True
    teacher.run()
    assert len([button for button in teacher.button if "joined" in button.label]) == 10
    moments = teacher.selectbox(key="class.since").options
    teacher.selectbox(key="class.since").select(moments[-1]).run()
    assert teacher.button(key="class.remove_flood").label == "Remove 15 members"  # Ada has answered
    teacher.button(key="class.remove_flood").click().run()
    assert [
        entry.nickname for entry in class_session.store().read(code, _token(code, person)).members
    ] == ["Ada"]
    teacher.button(key="class.lock").click().run()
    assert "Joining is locked" in teacher.info[0].value
    person("late")
    late = open_lab("classroom", **{"class": code})
    late.button(key="class.join_button").click().run()
    assert "its teacher has locked it" in complaints(late)[0]


def test_wrong_codes_and_limits(
    person: Callable[[str], None], session: tuple[str, AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = session
    person("ada")
    app = open_lab(**{"class": "OOO"})
    assert complaints(app) == [
        "class: a code consists of 5 letters and digits, such as CDF34, without ABEGILOSUZ01258; "
        "got 'OOO'"
    ]
    assert "class" not in app.query_params
    app = go(app, "classroom")
    app.text_input(key="class.code").set_value("<b>")
    app.button(key="class.enter").click().run()
    assert "got '<b>'" in complaints(app)[0]
    gone = open_lab("classroom", **{"class": "CCCCC" if code != "CCCCC" else "DDDDD"})
    assert "There is no class session" in complaints(gone)[0]
    monkeypatch.setattr(
        limits, "IN_FORCE", limits.IN_FORCE | {"class_members": 0, "class_sessions": 0}
    )
    full = open_lab("classroom", **{"class": code})
    full.button(key="class.join_button").click().run()
    assert "the number of people in a class session must be at most 0; got 1" in complaints(full)[0]
    new = open_lab("classroom")
    new.button(key="class.open").click().run()
    assert "the number of class sessions on this server must be at most 0" in complaints(new)[0]


def _lesson(app: AppTest) -> list[str]:
    return [app.query_params[name] for name in ("lesson", "step") if name in app.query_params]


def test_a_code_leads_where_the_link_would(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    lessons = list(contents.lessons())
    person("by code")
    app = open_lab("classroom")
    app.text_input(key="class.code").set_value(code)
    app.button(key="class.enter").click().run()
    assert (
        not complaints(app) and _lesson(app) == [lessons[0], "1"] and app.title[0].value == "Data"
    )
    app.button(key="lesson.close").click().run()
    app = go(app, "classroom")
    app.button(key="class.go").click().run()  # who comes back later
    assert not complaints(app) and _lesson(app) == [lessons[0], "1"]
    app.button(key="lesson.next").click().run()
    app = go(app, "classroom")
    assert not any(button.key == "class.go" for button in app.button)  # the open lesson is there
    app.text_input(key="class.nickname").set_value("Ada")
    app.button(key="class.join_button").click().run()  # changes the nickname, and leads nowhere
    assert (
        not complaints(app) and _lesson(app) == [lessons[0], "2"] and app.title[0].value == "Class"
    )

    for chosen in (lessons[2], lessons[1], ""):
        person("teacher")
        teacher.selectbox(key="class.opens").set_value(chosen).run()
        assert not complaints(teacher) and (f"lesson={chosen}" in teacher.code[0].value) == bool(
            chosen
        )
        # and after a reload
        assert open_lab("classroom", **{"class": code}).selectbox(key="class.opens").value == chosen
        person(f"by code, {chosen}")
        assert _lesson(_join(code)) == ([chosen, "1"] if chosen else [])
        person(f"by link, {chosen}")
        app = open_lab("classroom", **{"class": code, "lesson": "dyck", "step": 3})
        app.button(key="class.join_button").click().run()
        assert not complaints(app) and _lesson(app) == ["dyck", "3"]


def test_the_class_follows_its_teacher_and_may_step_back(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    first, second, third = list(lesson_steps(contents.lessons()))[:3]
    person("ada")
    ada = _join(code)
    assert "/".join(_lesson(ada)) == first
    for place in (second, third):
        person("teacher")
        teacher.run().button(key="class.move").click().run()
        assert not complaints(teacher) and _step(teacher).value == place
        person("ada")
        ada.run()
        assert not complaints(ada) and "/".join(_lesson(ada)) == place
    ada.button(key="lesson.back").click().run()
    ada.run()
    assert "/".join(_lesson(ada)) == second
    # a page that is opened anew stays where its member has stepped, unless the class was moved
    # while it was away
    again = open_lab("hankel", **{"class": code, "lesson": "hankel-matrix", "step": 2, "rank": 7})
    assert "/".join(_lesson(again)) == second
    person("teacher")
    _step(teacher).set_value("rank/1").run()
    assert teacher.button(key="class.move").label == "Move everyone to this step"
    teacher.button(key="class.move").click().run()
    person("ada")
    again = open_lab("hankel", **{"class": code, "lesson": "hankel-matrix", "step": 2, "rank": 7})
    assert not complaints(again) and "/".join(_lesson(again)) == "rank/1"
    assert recipe_of(again).key() == contents.lessons()["rank"].steps[0].recipe.key()
    person("late")
    assert "/".join(_lesson(_join(code))) == "rank/1"


def test_the_teacher_sees_what_to_say_and_who_has_answered(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    for name, entered in (("*Ada*", "2"), ("Bob", "")):
        person(name)
        _join(code, name)
        if entered:
            _answer(open_lab("data", **{"class": code, "lesson": "rank", "step": 1}), entered)
    person("teacher")
    teacher.run()
    plan = step_plan(contents.lessons()["rank"].steps[0], contents.teaching_notes()["rank/1"])
    texts = _texts(teacher)
    assert f"**Say.** {plan.say}" in texts and "**Expect.** 3" in texts
    assert all(f"- {mistake}" in texts for mistake in plan.mistakes)
    assert rf"**Answered:** {escape_markdown('*Ada*')}" in texts and "**Not yet:** Bob" in texts
    slide = open_lab("classroom", **{"class": code, "view": "slide"})
    assert not complaints(slide) and "**2 students** here" in _texts(slide)
    assert "How many states" not in _texts(slide)
    slide.button(key="class.switch_slide").click().run()
    assert not complaints(slide) and "How many states" in _texts(slide)
    assert escape_markdown("*Ada*") not in _texts(slide) and plan.say not in _texts(slide)


def test_a_teacher_finds_sessions_again(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, _ = session
    person("ada")
    _join(code)
    assert not any(button.key == f"class.own.{code}" for button in open_lab("classroom").button)
    person("teacher")
    later = open_lab("classroom")
    assert later.button(key=f"class.own.{code}").label.endswith("1 student")
    later.button(key=f"class.own.{code}").click().run()
    assert later.title[0].value == f"Class {code}"


def test_who_joins_a_class_has_nothing_of_their_own_to_keep(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, _ = session
    person("ada")
    app = _join(code)
    assert "/".join(_lesson(app)) == "hankel-matrix/1"
    assert not any(button.key == "lesson.mine" for button in app.button)


def test_green_is_right_on_the_board(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    for number, entered in enumerate(("3", "3", "2")):
        person(f"student {number}")
        _join(code)
        _answer(open_lab("data", **{"class": code, "lesson": "rank", "step": 1}), entered)
    person("teacher")
    _step(teacher).set_value("rank/1").run()
    teacher.button(key="class.reveal").click().run()
    [bar] = figure(teacher, "class.histogram")["data"]
    assert dict(zip(bar["x"], bar["marker"]["color"], strict=True)) == {"2 ✗": WRONG, "3 ✓": RIGHT}
    choice = next(
        name
        for name, (_, step) in lesson_steps(contents.lessons()).items()
        if step.question and isinstance(step.question.key, ChoiceKey)
    )
    _step(teacher).set_value(choice).run()
    teacher.button(key="class.reveal").click().run()
    question = lesson_steps(contents.lessons())[choice][1].question
    key = question and question.key
    assert isinstance(key, ChoiceKey) and not complaints(teacher)
    [bar] = figure(teacher, "class.histogram")["data"]
    assert [colour == RIGHT for colour in bar["marker"]["color"]] == [
        option.right for option in key.options
    ]
    assert [name[-1] == RIGHT_SIGN for name in bar["x"]] == [option.right for option in key.options]
    assert _texts(teacher).count(":green[**✓**]") == sum(option.right for option in key.options)


def test_hostile_nicknames_are_shown_as_they_are(
    person: Callable[[str], None], session: tuple[str, AppTest]
) -> None:
    code, teacher = session
    person("student")
    app = go(_join(code), "classroom")
    for number, text in enumerate(HOSTILE):
        app.text_input(key="class.nickname").set_value(text[:30])
        app.button(key="class.join_button").click().run()
        assert not complaints(app)
        assert f"as {escape_markdown(text[:30])}. Your answers" in _texts(app)
        class_session.store().join(code, f"{number:064x}", text[:30])
    person("teacher")
    teacher.session_state["class.people"] = True
    teacher.run()
    assert not complaints(teacher)
    assert escape_markdown(HOSTILE[-1][:30]) in " ".join(entry.label for entry in teacher.button)


def _take(app: AppTest, quiz: str, when: str, wrong: int = 0) -> AppTest:
    for number, task in enumerate(contents.quizzes()[quiz].tasks(when), 1):
        key = task.question.key
        name = f"quiz.{quiz}.{when}.{number}"
        if number <= wrong:
            continue
        if any(field.key == name for field in app.text_input):
            app.text_input(key=name).set_value(key.best)
        elif any(field.key == name for field in app.radio):
            app.radio(key=name).set_value(key.best)
        else:
            for index, option in enumerate(key.options):
                if option.right:
                    app.checkbox(key=f"{name}.{index}").check()
    app.button(key="practice.quiz").click().run()
    if wrong:  # empty items are named first
        assert app.warning[0].value.startswith("Item")
        app.button(key="practice.quiz").click().run()
    return app


def test_a_quiz_without_a_class() -> None:
    app = open_lab("practice", quiz="rank/before")
    assert not complaints(app)
    solution = contents.quizzes()["rank"].tasks("before")[0].question.solution
    app.text_input(key="quiz.rank.before.1").set_value("many")
    app.button(key="practice.quiz").click().run()
    assert "Item 1: write a number" in complaints(app)[0]
    assert app.warning[0].value.startswith("Items 2, 3, 4, 5, 6, 7 and 8 have no answer.")
    app.text_input(key="quiz.rank.before.1").set_value("")
    _take(app, "rank", "before", wrong=6)
    assert app.success[
        0
    ].value == "2 of 8 right before the lesson." and solution not in markdown_texts(app)
    app.button_group(key="practice.when").set_value("after").run()
    assert app.query_params["quiz"] == "rank/after"
    _take(app, "rank", "after", wrong=2)
    assert not complaints(app)
    assert any(
        "Before 2, after 6 of 8 right. Normalised gain: **0.67**." in text
        for text in markdown_texts(app)
    )
    assert contents.quizzes()["rank"].tasks("after")[0].question.solution in markdown_texts(app)


def test_the_class_gain(person: Callable[[str], None], session: tuple[str, AppTest]) -> None:
    code, teacher = session
    person("ada")
    _join(code)
    app = open_lab("practice", **{"class": code, "quiz": "rank/before"})
    _take(app, "rank", "before", wrong=8)
    app = open_lab("practice", **{"class": code, "quiz": "rank/after"})
    _take(app, "rank", "after", wrong=4)
    person("teacher")
    teacher.run()
    gains = next(frame.value for frame in teacher.dataframe if "normalised gain" in frame.value)
    *row, minutes_before, minutes_after = gains.iloc[1].tolist()
    assert row == ["Why rank matters", 1, 1, 1, "0 %", "50 %", "0.50"]
    assert 0 <= float(minutes_before) < 10 > float(minutes_after) >= 0


def test_a_token_is_no_secret_of_the_code_alone(person: Callable[[str], None]) -> None:
    person("one")
    first = class_session.browsers_token("CDF34")
    person("two")
    assert first != class_session.browsers_token("CDF34") and len(first) == 64
    with pytest.raises(RecipeError):
        class_session.read_code("")


def test_all_open_pages_of_a_class_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A member may have several; one that has not checked for a while is closed."""
    now = 100.0
    monkeypatch.setattr(following, "monotonic", lambda: now)
    number = 0
    for page in ("first", "second", "first", "third"):
        monkeypatch.setattr(following.visitor, "session", lambda page=page: page)
        number = following.note_page("COUNTED")
    assert number == 3
    now += following.OPEN_SECONDS + 1
    assert following.note_page("COUNTED") == 1
    assert following.note_page("OTHER") == 1
