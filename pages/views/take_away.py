"""Draw the Take away page: cards with files to download, and an uploader that sets the sidebar to a
recipe's file.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.experiment.datasets import Data
from nlwfa_core.experiment.recipe import recipe_code
from nlwfa_core.experiment.results import Result
from nlwfa_core.export.downloads import (
    data_files,
    figure_files,
    model_files,
    refusals,
    score_files,
)
from nlwfa_core.export.notebook import notebook
from nlwfa_core.export.ranks import rank_files
from nlwfa_core.export.report import report
from nlwfa_core.export.script import UPLOADS, script
from nlwfa_core.files import zipped
from nlwfa_core.hankel.estimate import build_hankel
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.learning.learners import PFA
from nlwfa_core.limits import check_at_most
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.models.wfa import WFA
from pages.shared import class_session, contents, pins, rank_runs, sidebar, uploads
from pages.shared.context import Context, run_folders
from pages.shared.widgets import escape_markdown

MAX_RECIPE_BYTES = 20_000
RECIPE_FILE = "take_away.recipe"
# A download's bytes, or a function that makes them on demand. On a page whose fragment polls,
# Streamlit loses the function.
Content = bytes | Callable[[], bytes]
MIME = {
    "csv": "text/csv",
    "html": "text/html",
    "ipynb": "application/x-ipynb+json",
    "json": "application/json",
    "py": "text/x-python",
    "tex": "application/x-tex",
    "zip": "application/zip",
}


@dataclass(frozen=True)
class Card:
    """Describes one download: its icon, title and description, and its files, name -> content."""

    icon: str
    title: str
    text: str
    files: dict[str, Content]


@dataclass(frozen=True, eq=False)
class FinishedRun:
    """Holds a finished run with everything that its files are made from."""

    result: Result
    data: Data
    hankel: HankelMatrix | None
    # the recipe of the matrix in the figures, from which the model need not have been learned
    matrix_recipe: HankelRecipe
    references: dict[str, Scores]
    link: str
    # SHA-256 -> title of uploaded files; read beforehand, because a download runs outside the
    # session
    titles: dict[str, str]
    # the finished runs of Explore's picture of the same strings
    runs_by_rank: rank_runs.Keys

    def report(self) -> bytes:
        return report(
            self.result, self.data, self.hankel, self.references, self.link, self.titles
        ).encode()

    def matrix(self) -> HankelMatrix | None:
        """Return the run's matrix, or the sidebar's; None if these strings don't allow it."""
        if self.hankel is not None:
            return self.hankel
        with suppress(RecipeError):
            return build_hankel(self.data.train, self.matrix_recipe)
        return None

    def alike(self) -> list[Result]:
        """Return the PFA of the same rank, if it is trained: for a network trained by likelihood,
        the linear model with the same objective.
        """
        learning = self.result.recipe.learning
        if learning.fields().get("objective") != "likelihood":
            return []
        same = self.runs_by_rank[PFA.name()].get(learning.rank)
        return [run_folders().result(same[0])] if same else []

    def scores(self) -> dict[str, bytes]:
        return score_files(self.result, self.data, self.matrix(), self.references, self.alike())

    def figures(self) -> dict[str, bytes]:
        matrix = self.matrix()
        ranks = rank_files(self.data, matrix, rank_runs.results(self.runs_by_rank))
        return figure_files(self.result, self.data, matrix, self.alike()) | ranks

    def everything(self) -> bytes:
        recipe = self.result.recipe
        files = {
            "run.py": script(recipe).encode(),
            "run.ipynb": notebook(recipe).encode(),
            "recipe.json": recipe_file(recipe),
        }
        files |= {"report.html": self.report(), **self.scores()}
        parts = {
            "model": model_files(self.result),
            "data": data_files(self.data),
            "figures": self.figures(),
        }
        files |= {
            f"{folder}/{name}": content
            for folder, part in parts.items()
            for name, content in part.items()
        }
        return zipped(
            files
            | {f"{UPLOADS}/{name}": contents.uploads().get(name) for name in recipe.data.uploads}
        )


def chosen_run(recipe: Recipe) -> tuple[str, Recipe]:
    """Draw the choice among the pinned runs and the sidebar's run.

    Returns the chosen run's name and recipe.
    """
    recipes = pins.shown_runs(recipe)
    if len(recipes) == 1:
        st.markdown(f"**{escape_markdown(recipe.title)}**")
        return next(iter(recipes.items()))
    names = list(recipes)
    name = st.segmented_control(
        "Run",
        names,
        default="now" if "now" in recipes else names[-1],
        format_func=lambda name: f"{name}: {escape_markdown(recipes[name].title)}",
        required=True,
        key="take_away.run",
        persist_state="session",
    )
    return name, recipes[name]


def link_to(name: str, recipe: Recipe) -> str:
    """Return the address that opens the lab with a run, in the sidebar or pinned."""
    lab = str(st.context.url or "").split("?")[0].rsplit("/", 1)[0]
    now = {
        key: text
        for key, text in st.query_params.to_dict().items()
        if key not in class_session.PARAMETERS
    }
    parameters: dict[str, Any] = now if name == "now" else {name.lower(): recipe_code(recipe)}
    return f"{lab}/train" + (f"?{urlencode(parameters)}" if parameters else "")


def recipe_file(recipe: Recipe) -> bytes:
    """Write a recipe's file: every option as JSON, indented for people."""
    return (recipe.model_dump_json(indent=1) + "\n").encode()


def programs(recipe: Recipe) -> list[Card]:
    """Make the cards of the downloads that need no trained model."""
    return [
        Card(
            ":material/code:",
            "Python script",
            "Repeats the run with every option written out, and prints its scores.",
            {"run.py": script(recipe).encode()},
        ),
        Card(
            ":material/menu_book:",
            "Jupyter notebook",
            "Does the same step by step, with formulas, the heat map, loss curves and a table.",
            {"run.ipynb": notebook(recipe).encode()},
        ),
        Card(
            ":material/tune:",
            "Recipe",
            "All options as JSON: load it back below, or use it with nlwfa_core.",
            {"recipe.json": recipe_file(recipe)},
        ),
    ]


def finished(recipe: Recipe, result: Result, link: str) -> FinishedRun:
    """Collect what a finished run's files are made from.

    Raises RecipeError if its uploaded strings are not on the server.
    """
    context = Context(recipe)
    hankel = context.hankel if recipe.learning.needs_hankel else None
    return FinishedRun(
        result,
        context.data,
        hankel,
        context.matrix_recipe,
        context.reference_scores,
        link,
        uploads.titles(recipe),
        rank_runs.finished_keys(rank_runs.keys(recipe)),
    )


def results(run: FinishedRun) -> list[Card]:
    """Make the cards of a finished run's downloads, whose files are made on demand."""
    linear = isinstance(run.result.model, WFA)
    losses = ", the losses of training" if run.result.report.logs else ""
    deep = "how deep the model reaches" + ("" if linear else ", compared with SP")
    figures = (
        f"The Hankel matrix, its singular values{losses}, {deep}, and Explore's scores at each "
        "rank (with a CSV): each as PDF, SVG and PNG, ready for a paper."
    )
    model = "Weights (safetensors) and their meaning (JSON), for nlwfa_core.load"
    return [
        Card(
            ":material/article:",
            "Report",
            "One HTML page with recipe, scores, definitions, pictures and warnings. Works offline.",
            {"report.html": run.report},
        ),
        Card(
            ":material/account_tree:",
            "Model",
            f"{model}{'; also the automaton as JSON, for Graphviz and LaTeX' if linear else ''}.",
            {"model.zip": lambda: zipped(model_files(run.result))},
        ),
        Card(
            ":material/table:",
            "Scores",
            "On the test strings, with those of SP of this rank (and PFA, if trained) and the "
            "reference models: all digits as CSV, or a table in LaTeX.",
            {
                "scores.csv": lambda: run.scores()["scores.csv"],
                "scores.tex": lambda: run.scores()["scores.tex"],
            },
        ),
        Card(
            ":material/image:",
            "Figures",
            figures,
            {"figures.zip": lambda: zipped(run.figures())},
        ),
        Card(
            ":material/database:",
            "Strings",
            "Training, validation and test strings in PAutomaC's format, with the symbols' names.",
            {"strings.zip": lambda: zipped(data_files(run.data))},
        ),
        Card(
            ":material/folder_zip:",
            "Everything",
            "All of this in one folder, including your own files, so that the script and the "
            "notebook run there.",
            {"nlwfa-run.zip": run.everything},
        ),
    ]


def cards(group: list[Card]) -> None:
    """Draw three cards in a row."""
    for start in range(0, len(group), 3):
        for column, card in zip(st.columns(3), group[start : start + 3], strict=False):
            with column.container(border=True, height="stretch", vertical_alignment="distribute"):
                with st.container():
                    st.markdown(f"{card.icon} **{card.title}**")
                    st.caption(card.text)
                with st.container(horizontal=True, gap="xsmall"):
                    for name, content in card.files.items():
                        st.download_button(
                            name,
                            content,
                            name,
                            MIME[name.rsplit(".")[-1]],
                            key=f"take_away.{name}",
                            icon=":material/download:",
                            on_click="ignore",
                            width="stretch",
                            help=f"Download {card.title.lower()}",
                        )


def limits_of_formats(result: Result) -> None:
    """Draw a caption with the formats that can't hold this linear model, and why."""
    if isinstance(result.model, WFA) and (sentences := refusals(result.model)):
        st.caption(
            escape_markdown(f"{' '.join(sentences)} automaton.json has the weights in any case.")
        )


def recipe_upload() -> None:
    """Draw an uploader that sets the sidebar to the recipe in a file."""
    text = "The recipe.json of any run."
    st.file_uploader(
        "Recipe (JSON)",
        type="json",
        key=RECIPE_FILE,
        max_upload_size=1,
        on_change=_load_recipe,
        help=text,
    )
    uploads.refusal(RECIPE_FILE)


def _load_recipe() -> None:
    file = st.session_state.get(RECIPE_FILE)
    if file is None:
        return
    uploads.forget_refusals()
    try:
        check_at_most("a recipe", file.size, MAX_RECIPE_BYTES, unit="bytes")
        recipe = Recipe.from_json(file.getvalue().decode("utf-8", errors="replace"))
        sidebar.check_settable(recipe)
        for name in recipe.data.uploads:
            contents.uploads().get(name)
    except RecipeError as error:
        uploads.refuse(RECIPE_FILE, file.name, error)
        return
    sidebar.set_recipe(recipe)
    st.toast(escape_markdown(f"The sidebar is now set to {recipe.title}."), icon=":material/check:")
