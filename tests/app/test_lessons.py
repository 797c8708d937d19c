"""Lessons in the lab: every step is drawn on its page, does what it says at a click, and finds its
models trained.
"""

from __future__ import annotations

import re
import shutil

import pytest

from nlwfa_core.display.explore import VIEW, WORD
from nlwfa_core.teaching import lessons
from nlwfa_core.teaching.lessons import NO_CONTROLS
from pages.shared import contents, context, open_lesson, sidebar, visitor_runs
from pages.shared.navigation import PAGES
from pages.shared.open_lesson import PART, PICTURE
from tests.app.lab import QUICK, complaints, go, markdown_texts, open_lab, recipe_of, trained

LESSONS = contents.lessons()
READERS = ("lessons", "tasks", "quizzes", "challenges", "teaching_notes")
TITLES = {
    "explore": "Explore",
    "data": "Data",
    "hankel": "The Hankel matrix",
    "build": "Build an automaton",
}
STEPS = [(name, place) for name, lesson in LESSONS.items() for place in range(len(lesson.steps))]


def heading(app):
    return next(entry.value for entry in app.main.markdown if entry.value.startswith("#### "))[5:]


def test_a_step_may_name_all_pages_but_those_that_some_visitors_do_not_have():
    assert set(lessons.PAGES) == set(PAGES) - {"classroom", "history", "status"}


def test_the_elements_that_a_step_may_name_are_drawn():
    """Those inside Explore's picture and inside the matrix have no keys of their own."""
    drawn = keys(open_lab("data"))
    for page, name, step in (
        ("build", "asking", 1),
        ("data", "hankel-matrix", 1),
        ("hankel", "hankel-matrix", 3),
        ("train", "convergence", 2),
        ("states", "convergence", 2),
        ("predict", "rank", 5),
        ("compare", "rank", 8),
    ):
        drawn |= keys(open_lab(page, lesson=name, step=step, cell="1,1"))
    inside = {name for name in lessons.ELEMENTS if name.startswith(PART)} | {*open_lesson.DRAWN}
    assert inside <= {*lessons.ELEMENTS} <= inside | drawn


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), STEPS)
def test_a_step_is_drawn_on_its_page_does_what_it_says_and_points_at_what_is_there(name, place):
    """Words in italics that begin with a capital are headings, labels and buttons, at the latest
    after the first action.
    """
    step = LESSONS[name].steps[place]
    app = open_lab(open_lesson.page_of(step), lesson=name, step=place + 1)
    assert not complaints(app) and heading(app) == step.title
    assert app.query_params["step"] == str(place + 1)
    texts = markdown_texts(app)
    for number, action in enumerate(step.actions):
        wanted = action.applied(recipe_of(app), app.session_state[sidebar.HIDDEN])
        button = next(
            (button for button in app.button if button.key == f"lesson.do.{number}"), None
        )
        if button:
            button.click().run()
        else:  # the only one, and entering the step has done it
            assert len(step.actions) == 1 and recipe_of(app).key() == wanted.key()
        assert not complaints(app)
        texts = texts if number else markdown_texts(app)
        assert (
            sidebar.flat(recipe_of(app)).items()
            >= {name: sidebar.flat(wanted)[name] for name, _ in action.fields}.items()
        )
        if action.recipe:
            assert recipe_of(app).key() == wanted.key()
            drawn = {widget.key for widget in (*app.number_input, *app.selectbox)}
            assert set(step.show) - {NO_CONTROLS} <= drawn
        if open_lesson.page_of(step) == "explore":
            shown = {name: app.query_params.get(name, "") for name in VIEW if name != WORD}
            assert shown == {name: action.view.get(name, "") for name in shown}
    seen = "\n".join(text for text in texts if text != step.text)
    for words in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", step.text):
        assert words in seen, words
    if name == "your-own":
        return
    assert all(visitor_runs.runner().status(recipe.key()).state == "done" for recipe in step.models)


def keys(app):
    """The keys of what is drawn."""
    return {
        re.sub(r"^\$\$ID-[0-9a-f]+-", "", block.proto.id)
        for block in app
        if getattr(getattr(block, "proto", None), "id", "")
    }


@pytest.mark.slow
def test_next_alone_shows_what_each_step_speaks_about():
    """Words in italics that begin with a capital are headings, labels and buttons of the page."""
    app = open_lab("learn", **QUICK | {"rank": 7})
    app.button(key="learn.lesson.hankel-matrix").click().run()
    titles = {}
    missing = []
    for name, place in STEPS:
        step = LESSONS[name].steps[place]
        assert not complaints(app) and heading(app) == step.title
        titles.setdefault(name, []).append(app.main.title[0].value)
        if step.recipe:
            missing += [(name, place, "recipe")] * (recipe_of(app).key() != step.recipe.key())
        untrained = [
            button.key
            for button in app.button
            if (button.key or "").endswith(".start") and "others" not in button.key
        ]
        missing += [(name, place, key) for key in untrained if name != "your-own"]
        seen = "\n".join(text for text in markdown_texts(app) if text != step.text)
        words = re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", step.text)
        missing += [(name, place, word) for word in words if word not in seen]
        elements = {PICTURE if key.startswith(PART) else key for key in step.look}
        missing += [(name, place, key) for key in elements - keys(app)]
        end = place + 1 == len(LESSONS[name].steps)
        following = "lesson.following" if end and name != STEPS[-1][0] else "lesson.next"
        app.button(key=following).click().run()
    assert missing == []
    assert titles["rank"] == [
        "Data",
        "The Hankel matrix",
        "Explore",
        "Explore",
        "Train",
        "States",
        "Train",
        "Compare",
    ]
    assert "lesson" not in app.query_params and not [
        entry for entry in app.button if entry.key == "lesson.next"
    ]


def test_a_step_on_explore_sets_its_picture():
    """All of it: nothing stays of what the step before has set."""
    views = []
    app = open_lab("explore", lesson="dyck", step=4)
    for _ in range(2):
        assert not complaints(app)
        views.append(
            {name: app.query_params.get(name) for name in VIEW if name in app.query_params}
        )
        app.button(key="lesson.next").click().run()
    assert views == [{"linear_rank": "3"}, {"linear": "PFA"}]
    assert [button.label for button in app.button if button.key == "explore.lesson"]
    app = open_lab("explore", lesson="dyck", step=3)
    assert app.query_params["word"] == "[[[]]]"
    assert not [button for button in app.button if button.key == "explore.lesson"]


def test_one_button_sorts_the_matrix_by_state():
    app = open_lab("explore", lesson="rank", step=3)
    assert app.query_params["order"] == "frequency" and recipe_of(app).data.source == "tomita"
    app.button(key="lesson.do.0").click().run()
    assert not complaints(app) and "order" not in app.query_params
    assert app.button(key="lesson.do.0").icon == ":material/check:"
    app.button(key="lesson.next").click().run()
    assert app.query_params["order"] == "frequency" and recipe_of(app).data.source == "dyck"


def test_a_recipe_of_ones_own_can_be_kept_when_a_step_sets_another():
    app = open_lab("learn", **QUICK | {"rank": 7})
    mine = recipe_of(app)
    app.button(key="learn.lesson.rank").click().run()
    assert recipe_of(app).key() == LESSONS["rank"].steps[0].recipe.key()
    app.button(key="lesson.mine").click().run()
    assert recipe_of(app) == mine and not [
        button for button in app.button if button.key == "lesson.mine"
    ]
    app.button(key="lesson.next").click().run()
    app.button(key="lesson.next").click().run()
    # what a step has set is nobody's own
    assert not [button for button in app.button if button.key == "lesson.mine"]
    app.button(key="lesson.back").click().run()
    assert heading(app) == "Reveal it" and recipe_of(app).data.source == "tomita"


def test_a_closed_lesson_gives_back_what_was_set_before_it():
    app = open_lab(**QUICK | {"rank": 7}, matrix="difference", word="[[]]")
    mine = recipe_of(app)
    go(app, "learn").button(key="learn.lesson.dyck").click().run()
    assert recipe_of(app) != mine and "matrix" not in app.query_params
    go(app, "explore").button(key="screen.all").click().run()
    app.number_input(key="rank").set_value(2).run()
    app.button(key="lesson.close").click().run()
    assert recipe_of(app) == mine and not complaints(app)
    assert [toast.value for toast in app.toast] == [open_lesson.RESTORED]
    go(app, "explore")
    assert (app.query_params["matrix"], app.query_params["word"]) == ("difference", "[[]]")
    app.button(key="undo").click().run()
    assert recipe_of(app).learning.rank == 2


def test_on_explore_all_controls_can_be_shown_in_a_lesson():
    app = open_lab(lesson="dyck", step=2)
    app.session_state[sidebar.DRAWER] = False
    app.run()
    assert not [field for field in app.number_input if field.key == "rank"]
    app.button(key="screen.all").click().run()
    assert app.number_input(key="rank").value == recipe_of(app).learning.rank


def test_a_closed_lesson_leaves_strings_that_were_chosen_meanwhile():
    app = open_lab("learn", **QUICK)
    app.button(key="learn.lesson.hankel-matrix").click().run()
    app.selectbox(key="source").set_value("verbs").run()
    app.button(key="lesson.close").click().run()
    assert recipe_of(app).data.source == "verbs" and not app.toast


def test_a_link_of_a_step_alone_shows_what_the_step_speaks_about():
    app = open_lab("train", lesson="rank", step=5)
    assert recipe_of(app).key() == LESSONS["rank"].steps[
        4
    ].recipe.key() and "train.scores.table" in keys(app)
    app = open_lab("train", **QUICK, lesson="rank", step=5)
    assert recipe_of(app).learning.rank == QUICK["rank"]  # a link with a recipe shows that
    app.button(key="lesson.do.0").click().run()
    assert recipe_of(app).key() == LESSONS["rank"].steps[4].recipe.key()


def test_after_the_last_lesson_there_is_none():
    name, lesson = list(LESSONS.items())[-1]
    app = open_lab("build", **QUICK, lesson=name, step=len(lesson.steps))
    assert not [entry for entry in app.button if entry.key == "lesson.following"]


def test_a_lesson_stays_on_other_pages_and_leads_back():
    app = go(open_lab("hankel", **QUICK, lesson="rank", step=2), "data")
    assert heading(app) == "Reveal it" and app.query_params["lesson"] == "rank"
    app.button(key="lesson.there.hankel").click().run()
    assert app.main.title[0].value == "The Hankel matrix" and not complaints(app)


def test_buttons_lead_from_page_to_page_of_a_step_that_names_two():
    app = open_lab("data", lesson="hankel-matrix", step=6)
    for name, there in (("hankel", "The Hankel matrix"), ("data", "Data")):
        app.button(key=f"lesson.there.{name}").click().run()
        assert app.main.title[0].value == there and not complaints(app)
        assert heading(app) == "Your turn"


@pytest.mark.parametrize(
    ("step", "place"), [("0", 0), ("99", 7), ("x", 0), ("-1", 0), ("1" * 40, 0), ("", 0)]
)
def test_a_step_that_is_not_there_is_the_nearest(step, place):
    app = open_lab("data", **QUICK, lesson="rank", step=step)
    assert not complaints(app) and heading(app) == LESSONS["rank"].steps[place].title


def test_a_lesson_that_is_not_there_is_told():
    app = open_lab(**QUICK, lesson="<b>x</b>")
    assert len(complaints(app)) == 1 and "There is no lesson '<b>x</b>'" in complaints(app)[0]
    assert "lesson" not in app.query_params


@pytest.mark.parametrize(("name", "step"), [("hankel-matrix", 1), ("rank", 2), ("asking", 1)])
def test_a_link_to_the_start_opens_the_page_of_its_step(name, step):
    app = open_lab(lesson=name, step=step)
    page = LESSONS[name].steps[step - 1].pages[0]
    assert not complaints(app) and heading(app) == LESSONS[name].steps[step - 1].title
    assert app.main.title[0].value == TITLES[page]
    assert (app.query_params["lesson"], app.query_params["step"]) == (name, str(step))
    # who goes to Explore stays there
    assert go(app, "explore").main.title[0].value == TITLES["explore"] and not complaints(app)
    assert app.run().main.title[0].value == TITLES["explore"]
    assert app.button(key=f"lesson.there.{page}")


@pytest.mark.parametrize(
    "parameters",
    [
        {"lesson": "dyck", "step": 4},  # a step of Explore
        {"lesson": "rank", "step": 2, "word": "[[]]"},  # Explore's picture, shared in a lesson
        {"lesson": "rank", "step": 2, **QUICK},
    ],
)
def test_a_link_to_explore_in_a_lesson_opens_explore(parameters):
    assert open_lab(**parameters).main.title[0].value == TITLES["explore"]


@pytest.fixture
def own_assets(tmp_path, monkeypatch):
    """A copy of what teachers may write, which the lab reads in this test."""
    for name in ("lessons", "tasks", "quizzes", "automata"):
        shutil.copytree(contents.ASSETS / name, tmp_path / name)
    shutil.copy(contents.ASSETS / "teaching.md", tmp_path)
    readers = [getattr(contents, name) for name in READERS]
    contents.uploads()  # is filled once a process, with the strings of the lab's own lessons
    monkeypatch.setattr(contents, "ASSETS", tmp_path)
    for read in readers:
        read.cache_clear()
    yield tmp_path
    for read in readers:
        read.cache_clear()


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_a_file_with_an_error_is_left_out_and_the_learn_page_says_so(own_assets):
    edit(own_assets / "lessons" / "2-rank.md", "minutes: ", "minutes: ten")
    edit(own_assets / "tasks" / "6-networks.md", "generator: ", "generator: x")
    edit(own_assets / "quizzes" / "2-rank.md", "items: ", "items: x")
    edit(own_assets / "automata" / "1-languages.md", "name: ", "nam: ")
    notes = own_assets / "teaching.md"
    edit(notes, "minutes: ", "minutes: x")
    # its error names the line above, which has the step
    place = notes.read_text(encoding="utf-8").partition("minutes: x")[0].count("\n")
    app = open_lab("learn")
    assert not complaints(app)
    begin = {button.key for button in app.button if (button.key or "").startswith("learn.lesson.")}
    assert begin == {f"learn.lesson.{name}" for name in LESSONS if name != "rank"}
    [warning] = [entry.value.replace("\\", "") for entry in app.warning]
    for name, line in (
        ("lessons/2-rank.md", 3),
        ("tasks/6-networks.md", 5),
        ("quizzes/2-rank.md", 3),
        ("automata/1-languages.md", 6),
        ("teaching.md", place),
    ):
        assert re.search(rf"- {name}: line {line}: ", warning), (name, warning)
    app.button(key="learn.begin").click().run()
    assert not complaints(app) and app.query_params["lesson"] == "hankel-matrix"
    for page in ("explore", "practice", "build", "classroom"):
        assert not complaints(go(app, page)) and not app.warning, page
    app = open_lab(lesson="rank", step=1)
    assert "There is no lesson 'rank'" in complaints(app)[0]


def test_without_any_lesson_the_lab_has_no_first_one(own_assets):
    shutil.rmtree(own_assets / "lessons")
    for page in ("explore", "learn"):
        app = open_lab(page)
        assert not complaints(app)
        assert not [b for b in app.button if b.key in ("learn.begin", "explore.lesson")]


def test_files_without_errors_are_not_spoken_of():
    assert contents.errors() == [] and not open_lab("learn").warning


def test_the_learn_page_reads_no_strings(monkeypatch):
    def never(*_):
        raise AssertionError("the Learn page is light")

    monkeypatch.setattr(context, "load_data", never)
    app = open_lab("learn", **QUICK | {"data_seed": 477})
    assert not complaints(app)
    assert len(
        [button for button in app.button if (button.key or "").startswith("learn.lesson.")]
    ) == len(LESSONS)


def test_the_story_leads_to_the_first_lesson_and_to_own_strings():
    app = open_lab("learn")
    assert not [button for button in app.button if (button.key or "").startswith("learn.on.")]
    app.button(key="learn.story").click().run()
    go(app, "data")
    [box] = [box for box in app.expander if box.label == "Your own strings"]
    assert not box.proto.expanded
    go(app, "learn").button(key="learn.on.data").click().run()
    assert not complaints(app) and app.main.title[0].value == "Data"
    [box] = [box for box in app.expander if box.label == "Your own strings"]
    assert box.proto.expanded
    go(app, "learn").button(key="learn.on.lesson").click().run()
    assert not complaints(app) and app.query_params["lesson"] == "hankel-matrix"


def test_a_run_is_resumed_from_the_learn_page():
    app = trained(open_lab("train", **QUICK | {"learner": "SP", "data_seed": 421}))
    # on the Train page, this would train
    go(app, "data").number_input(key="rank").set_value(9).run()
    found = go(app, "learn").button(key="learn.run.0")
    assert found.label.replace("\\", "") == "SP, k = 2, finished"
    found.click().run()
    assert (
        app.main.title[0].value == "Train"
        and not complaints(app)
        and recipe_of(app).learning.rank == 2
    )
    assert not [
        button for button in open_lab("learn").button if (button.key or "").startswith("learn.run")
    ]


def test_a_question_is_entered_twice_and_then_opens_its_solution():
    app = open_lab("data", lesson="hankel-matrix", step=1)
    name = "exercise.hankel_matrix_1_0"
    solution = LESSONS["hankel-matrix"].steps[0].question.solution
    assert solution not in markdown_texts(app)
    app.text_input(key=f"{name}.entry").set_value("three")
    app.button(key=f"{name}.check").click().run()
    assert [error.value.replace("\\", "") for error in app.error] == [
        "Write a number: a decimal, a fraction or a percentage; got 'three'."
    ]
    assert not app.warning  # what can't be read is no try
    app.text_input(key=f"{name}.entry").set_value("0,2")
    app.button(key=f"{name}.check").click().run()
    assert (
        not app.error
        and "That is $f(a)$" in app.warning[0].value
        and solution not in markdown_texts(app)
    )
    app.text_input(key=f"{name}.entry").set_value("3/10")
    app.button(key=f"{name}.check").click().run()
    assert not app.warning and solution in markdown_texts(app)
    assert (
        app.success[0].value
        == "Right on the second try. You answered *0,2*, then *3/10*. The answer is 0.3."
    )
    app.button(key="lesson.next").click().run()
    app.text_input(key="exercise.hankel_matrix_2_0.entry").set_value("0.1")
    app.button(key="exercise.hankel_matrix_2_0.check").click().run()
    app.button(key="exercise.hankel_matrix_2_0.show").click().run()
    assert app.info[0].value.startswith("You answered *0.1*. That is $f(ba)$") and app.info[
        0
    ].value.endswith("The answer is **0.3**.")
    app.button(key="lesson.back").click().run()
    assert app.success[0].value.startswith("Right on the second try")  # the session remembers it


def test_an_open_quiz_hides_the_text_and_the_answer_of_the_step():
    step = LESSONS["dyck"].steps[-1]
    app = open_lab("compare", lesson="dyck", step=len(LESSONS["dyck"].steps))
    assert step.text in markdown_texts(app)
    app.button(key="lesson.quiz").click().run()
    texts = markdown_texts(app)
    assert not complaints(app) and app.main.title[0].value == "Practice"
    assert open_lesson.HIDDEN in texts and not {
        step.text,
        step.question.solution,
        step.question.text,
    } & set(texts)
    app.segmented_control(key="practice.mode").set_value("Tasks").run()
    assert step.text in markdown_texts(app)


def test_several_right_options_are_ticked():
    app = open_lab("hankel", lesson="hankel-matrix", step=3)
    name = "exercise.hankel_matrix_3_0"
    app.button(key=f"{name}.check").click().run()
    assert "Choose an answer first" in app.error[0].value
    app.checkbox(key=f"{name}.entry.0").check()
    app.button(key=f"{name}.check").click().run()
    assert "What you chose is right; 1 more is missing." in app.warning[0].value
    app.checkbox(key=f"{name}.entry.2").check()
    app.button(key=f"{name}.check").click().run()
    assert app.success[0].value.startswith("Right on the second try.")


def test_a_question_without_a_key_is_opened():
    app = open_lab("data", lesson="which-model", step=6)
    question = LESSONS["which-model"].steps[5].question
    assert [box.label for box in app.expander if "answer" in box.label] == [
        f"**{question.text}** :grey[· answer]"
    ]


def test_an_explanation_is_folded_below_the_solution():
    question = LESSONS["dyck"].steps[0].question
    app = open_lab("explore", lesson="dyck", step=1)
    assert question.solution not in markdown_texts(app) and question.why not in markdown_texts(app)
    app.radio(key="exercise.dyck_1_0.entry").set_value("the nonlinear model")
    app.button(key="exercise.dyck_1_0.check").click().run()
    assert question.solution in markdown_texts(app) and not complaints(app)
    [folded] = [box for box in app.expander if box.label == "Why?"]
    assert not folded.proto.expanded and [text.value for text in folded.markdown] == [question.why]


def test_the_terms_of_a_step_and_of_those_before_it_are_explained_at_a_click():
    app = open_lab("hankel", lesson="hankel-matrix", step=3)
    app.session_state["lesson.words"] = True
    app.run()
    assert not complaints(app)
    [words] = [text.value for text in app.main.markdown if text.value.startswith("- **")]
    # which the first, the second and the third step use
    assert "**sample**: A" in words and "**prefix**: A" in words and "**string**: A" in words


@pytest.mark.parametrize("name", LESSONS)
def test_each_step_of_a_lesson_can_explain_its_words(name):
    app = open_lab("learn", lesson=name, step=1)
    assert "lesson.words" in keys(app)
