"""Draw the Classify page: the labels' strings, the two learners, and how well they tell the labels
apart.

Each label's model is a run like any other, of the label's strings.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from nlwfa_core import DataRecipe, Recipe, RecipeError, limits
from nlwfa_core.display.classification import accuracy_sentence, alone_table, verdict
from nlwfa_core.display.figures.confusion import confusion_figure
from nlwfa_core.experiment.classifier import Classifier, Confusion
from nlwfa_core.experiment.datasets import reading_alone
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.files import SHA256
from nlwfa_core.learning.learners import NETWORK_LEARNERS
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.rounding import format_share
from nlwfa_core.sources.labels import split_by_label
from nlwfa_core.sources.reading import Reading
from nlwfa_core.sources.tomita import LANGUAGES
from pages.shared import screen, training, uploads, widgets
from pages.shared.context import Context, computed
from pages.shared.widgets import escape_markdown

OWN = "own"
FILES = "classify.files"
UPLOADER = "classify.upload"
TIMES = "classify.uploads"  # how often files were uploaded: each time the uploader is a new one
FIRST = "SP"
SECOND = "both.non"
RANK = 3
MOST_LABELS = 10
MOST_RANK = 10
MOST_ROWS = 200
# Key of a control, its title and its help.
COLUMNS = (
    ("classify.label_column", "Column of the labels", "Its name, or its number from 1."),
    (
        "classify.text_column",
        "Column of the strings",
        "Its name, or its number from 1. Needed if there are several other columns.",
    ),
)
LIKELIHOOD = {"objective": "likelihood"}
# Name in the address -> the fields of the recipe.
WAYS: dict[str, dict[str, str]] = {
    "SP": {"learner": "SP"},
    **{name: {"learner": name} | LIKELIHOOD for name in reversed(NETWORK_LEARNERS)},
    "two-steps": {"learner": "both.non"},
    **{name: {"learner": name} for name in ("HMM", "PFA", "GRU")},
}
NAMES = {name: f"{name}, by likelihood" if name in NETWORK_LEARNERS else name for name in WAYS} | {
    "SP": "SP, linear",
    "two-steps": "both.non, the paper's two steps",
}
SHORT = {name: name for name in WAYS} | {"two-steps": "both.non in two steps"}
# Labels of each example -> their strings.
EXAMPLES: dict[str, dict[str, DataRecipe]] = {
    "tomita-56": {
        f"Tomita {number}": DataRecipe(source="tomita", grammar=number) for number in (5, 6)
    },
    "tomita": {
        f"Tomita {number}": DataRecipe(source="tomita", grammar=number) for number in LANGUAGES
    },
}
TITLES = {
    "tomita-56": "Tomita 5 and 6: even numbers, or equal modulo 3",
    "tomita": "Tomita's seven languages",
    OWN: "Your own files, one for each label",
}
# way of learning -> label -> the recipe of a run
Recipes = Mapping[str, Mapping[str, Recipe]]


def choices() -> Recipes:
    """Draw the controls. Returns the recipes of all runs; empty without two labels."""
    linked = screen.unread("classes")
    if linked is not None:
        names = [name for name in linked.split(",") if SHA256.fullmatch(name)]
        st.session_state[FILES] = {uploads.title(name) or name[:6]: name for name in names}
    ways = {name: name for name in WAYS}
    for name, values, default in (
        ("strings", {name: name for name in TITLES}, next(iter(TITLES))),
        ("first", ways, FIRST),
        ("second", ways, SECOND),
        ("states", {str(rank): rank for rank in range(1, MOST_RANK + 1)}, RANK),
    ):
        st.session_state.setdefault(f"classify.{name}", default)
        screen.follow(name, f"classify.{name}", values, default)
    left, right = st.columns(2, gap="large")
    with left:
        source = st.selectbox("Strings", TITLES, format_func=TITLES.get, key="classify.strings")
        sources = _own() if source == OWN else EXAMPLES[source]
    with right:
        chosen = [
            column.selectbox(label, WAYS, format_func=NAMES.get, key=f"classify.{key}")
            for column, label, key in zip(
                st.columns(2), ("Learner", "Compare with"), ("first", "second"), strict=True
            )
        ]
        rank = st.slider("States of each model", 1, MOST_RANK, key="classify.states")
    if len(sources) < 2:
        return {}
    return {
        way: {
            label: with_fields(Recipe(data=data), {**WAYS[way], "rank": rank})
            for label, data in sources.items()
        }
        for way in dict.fromkeys(chosen)
    }


def _own() -> dict[str, DataRecipe]:
    """Draw the uploader. Returns the labels' strings."""
    st.file_uploader(
        "A file of strings for each label",
        accept_multiple_files=True,
        key=_uploader(),
        help="The name of a file is its label. Part of each file is set aside as test strings.",
        max_upload_size=limits.upload_megabytes(),
        on_change=_use_files,
    )
    with st.expander("A table with a column of labels", icon=":material/table:"):
        for column, (name, title, help) in zip(st.columns(2), COLUMNS, strict=True):
            column.text_input(title, key=name, help=help, max_chars=200, persist_state="session")
        st.caption("Name the column of the labels first, then upload the table above.")
    uploads.refusal(UPLOADER)
    files: dict[str, str] = st.session_state.get(FILES, {})
    screen.write("classes", ",".join(files.values()))
    with st.container(horizontal=True):
        for number, label in enumerate(files):
            st.button(
                escape_markdown(label),
                key=f"classify.take_out.{number}",
                icon=":material/close:",
                help="Remove this label",
                on_click=_take_out,
                args=(label,),
            )
    if not files:
        st.caption("Upload at least two files, such as `spam.txt` and `other.txt`.")
    elif len(files) == 1:
        st.caption("One label so far. Upload another file.")
    most = limits.most("generated_strings")
    return {
        label: DataRecipe(source="upload", upload=name, num_strings=most)
        for label, name in files.items()
    }


def _uploader() -> str:
    return f"{UPLOADER}.{st.session_state.get(TIMES, 0)}"


def _use_files() -> None:
    """Store the uploaded files that can be read, each under its label, and empty the uploader. If a
    column of labels is named, each file is a table of the strings of several labels.
    """
    uploads.forget_refusals()
    files: dict[str, str] = dict(st.session_state.get(FILES, {}))
    for file in st.session_state[_uploader()]:
        try:
            parts = _parts(file.name, file.getvalue())
            number = len({*files, *parts})
            if number > MOST_LABELS:
                raise RecipeError(f"there must be at most {MOST_LABELS} labels; got {number}")
            files |= {label: uploads.store(data, label) for label, data in parts.items()}
        except RecipeError as error:
            uploads.refuse(UPLOADER, file.name, error)
    st.session_state[FILES] = files
    st.session_state[TIMES] = st.session_state.get(TIMES, 0) + 1


def _parts(name: str, data: bytes) -> dict[str, bytes]:
    """Split an uploaded file: label -> its strings. Raises RecipeError if it can't be read."""
    labels, strings = (st.session_state.get(key, "").strip() for key, _, _ in COLUMNS)
    if not labels:
        reading_alone("upload", data, "auto")
        return {name.rsplit(".", 1)[0][:40] or name: data}
    return split_by_label(data, labels, Reading("csv", text_column=strings))


def _take_out(label: str) -> None:
    del st.session_state[FILES][label]


def results(recipes: Recipes) -> None:
    """Draw the button that learns, and then what the classifiers get right."""
    if not recipes:
        return
    every = [recipe for by_label in recipes.values() for recipe in by_label.values()]
    training.train_at_once(every, "classify")
    training.train_controls(every, "classify")
    scores = {
        SHORT[way]: found for way, labelled in recipes.items() if (found := _scores(labelled))
    }
    if len(scores) == 2:
        st.subheader(escape_markdown(verdict(scores)), anchor=False)
    for column, (name, one) in zip(st.columns(2, gap="large"), scores.items(), strict=False):
        with column:
            st.markdown(f"**{escape_markdown(name)}**: {accuracy_sentence(one)}")
            st.plotly_chart(confusion_figure(one), key=f"classify.{name}", theme="streamlit")
    if len(scores) == 2 and (table := alone_table(scores, MOST_ROWS))["string"]:
        with st.expander("Strings that only one classifier gets right", icon=":material/rule:"):
            widgets.draw_table(table, "classify.alone", "Strings that one classifier gets right")
    if scores:
        best = _best(next(iter(recipes.values())))
        if best:
            st.markdown(
                f"The automata that drew the strings get {format_share(best.accuracy)} right."
            )
        st.caption(
            "$P(x \\mid y)$ is the product of the model's probabilities for the next symbols, the "
            "end included, each at least $10^{-6}$; $P(y)$ is the label's share of the training "
            "strings. The models did not learn from the test strings. The p value is McNemar's."
        )


def _scores(recipes: Mapping[str, Recipe]) -> Confusion | None:
    """Compute how one classifier does on the labels' test strings; None until all models are
    trained.
    """
    contexts = {label: Context(recipe) for label, recipe in recipes.items()}
    results = {label: context.result for label, context in contexts.items()}
    models = {label: result.model for label, result in results.items() if result is not None}
    if len(models) < len(contexts):
        return None
    key = " ".join(context.run_key for context in contexts.values())
    tests = {label: context.data.test for label, context in contexts.items()}
    counts = {label: context.data.train.num_strings for label, context in contexts.items()}
    return computed(_scored, f"{key} {[*contexts]}", models, counts, tests)


def _best(recipes: Mapping[str, Recipe]) -> Confusion | None:
    """Compute how the labels' true models do; None if they are not known."""
    contexts = {label: Context(recipe) for label, recipe in recipes.items()}
    models = {
        label: model
        for label, context in contexts.items()
        if (model := context.data.true_model) is not None
    }
    if len(models) < len(contexts):
        return None
    key = " ".join(context.data_key for context in contexts.values())
    tests = {label: context.data.test for label, context in contexts.items()}
    return computed(_scored, f"{key} {[*contexts]}", models, dict.fromkeys(models, 1), tests)


def _scored(
    models: Mapping[str, Model], counts: Mapping[str, int], tests: Mapping[str, TestSet]
) -> Confusion:
    strings = {label: test.sample for label, test in tests.items()}
    return Classifier.of(models, counts).score(strings)
