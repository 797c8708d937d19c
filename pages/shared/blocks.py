"""Pieces that several pages draw: errors in one place, scores as a table, sentences for the user, the state of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, RecipeError, tables
from nlwfa_core.charts import LOSS_NOTES, loss_options
from nlwfa_core.jobs import JobStatus
from nlwfa_core.metrics import Scores
from nlwfa_core.tables import number
from pages.shared import controls, runs
from pages.shared.safety import calm
from pages.shared.text import literal

POLL_SECONDS = 0.4
MAX_BARS = 2
STAGES = {
    "data": "reading the strings",
    "hankel": "counting into the Hankel matrix",
    "learning": "getting ready to learn",
    "spectral": "decomposing",
    "factorisation": "training the factorisation",
    "transitions": "training the transitions",
    "refinement": "refining",
    "EM": "learning by EM",
    "GRU": "training the network",
    "LSTM": "training the network",
    "scores": "scoring",
}
COLUMN_HELP = {name: text for name, (_, text) in tables.SCORE_COLUMNS.items()}


def page_recipe(title: str, text: str) -> Recipe:
    """A page's heading; returns the recipe that the sidebar holds."""
    recipe = controls.current()
    st.title(title)
    st.markdown(text)
    return recipe


def dark() -> bool:
    """Whether the page is dark."""
    return bool(st.context.theme.type == "dark")


@contextmanager
def errors_shown() -> Iterator[None]:
    """What a user can fix is said on the page, and the page ends there."""
    try:
        yield
    except RecipeError as error:
        st.error(literal(str(error)), icon=":material/error:")
        st.stop()


def notes(*sentences: str) -> None:
    for sentence in sentences:
        st.info(literal(sentence), icon=":material/info:")


def warnings(*sentences: str) -> None:
    for sentence in sentences:
        st.warning(literal(sentence), icon=":material/warning:")


def score_table(rows: Mapping[str, Scores], key: str) -> None:
    """A row a model. What a figure means stands in its column's help, what holds for all below."""
    scores = list(rows.values())
    table = pd.DataFrame(
        {
            "model": list(rows),
            "log₂ Pautomac": [number(entry.log2_pauto) for entry in scores],
            "WER": [number(entry.wer) for entry in scores],
            "WER, no end": [number(entry.wer_without_end) for entry in scores],
            "bits / symbol": [number(entry.bits_per_symbol) for entry in scores],
            "NDCG@5": [number(entry.ndcg5) for entry in scores],
            "KL": [number(entry.kl) for entry in scores],
            "TV": [number(entry.total_variation) for entry in scores],
            "RMSE": ["–" if entry.rmse is None else f"{entry.rmse:.3g}" for entry in scores],
            "next KL": [number(entry.next_kl) for entry in scores],
            "zero": [entry.num_zero for entry in scores],
            "negative": [entry.num_negative for entry in scores],
            "impossible": [entry.num_impossible for entry in scores],
        }
    )
    columns = {name: st.column_config.Column(help=text, alignment="right") for name, text in COLUMN_HELP.items()}
    columns["model"] = st.column_config.Column(pinned=True)
    st.dataframe(table, hide_index=True, key=key, column_config=columns, alt="Scores of the models on the test strings")
    for sentence in tables.verdicts(rows):
        st.markdown(f"**{literal(sentence)}**")
    first = scores[0]
    known = first.true_log2_pauto is not None
    st.caption(
        f"Lower is better, but for NDCG@5. {'' if known else '– stands where the truth is not known. '}"
        f"{first.num_words:,} {'' if known else 'distinct '}test strings, weighed by their "
        f"{'true probabilities' if known else 'frequencies'}; {first.num_predictions:,} next-symbol predictions. "
        f"log₂ Pautomac would be {number(first.uniform_log2_pauto)} if all test strings were given the same weight"
        f"{f', and is {number(first.true_log2_pauto)} at best' if known else ''}. No output is floored."
    )


def text_table(table: Mapping[str, list[str]], key: str, alt: str) -> None:
    """A table whose cells are written already; its first column stays in sight."""
    first = next(iter(table))
    st.dataframe(
        pd.DataFrame(table), hide_index=True, key=key, alt=alt, column_config={first: st.column_config.Column(pinned=True)}
    )


def warning_list(sentences: Sequence[str]) -> None:
    """All in one box that opens: there may be several a model."""
    if sentences:
        with st.expander(f"{len(sentences)} warning{'s' if len(sentences) > 1 else ''}", icon=":material/warning:"):
            st.markdown("\n".join(f"- {literal(sentence)}" for sentence in sentences))


def loss_charts(losses: Mapping[str, tuple[str, Sequence[int], Sequence[float]]], key: str) -> None:
    """A chart for each measure; stage -> (measure, epochs, losses)."""
    measures = list(dict.fromkeys(measure for measure, *_ in losses.values()))
    with st.container(key=key):
        for column, measure in zip(st.columns(max(len(measures), 1)), measures, strict=False):
            curves = {stage: (epochs, values) for stage, (given, epochs, values) in losses.items() if given == measure}
            alt = f"{measure[0].upper()}{measure[1:]} of each stage against the epoch"
            column.echarts_chart(loss_options(curves, measure), key=f"{key}.{measure}", height=320, alt=alt)
            column.caption(LOSS_NOTES[measure])


def train_controls(recipes: list[Recipe], label: str, key: str, show_losses: bool = False) -> None:
    """A button that starts what has not been run yet, and what becomes of it, live, with a button to cancel."""
    states = [(recipe, runs.status(recipe)) for recipe in recipes]
    missing = [recipe for recipe, status in states if status is None or status.state in ("failed", "cancelled")]
    active = [recipe for recipe, status in states if status and status.state in ("queued", "running")]
    for recipe, status in states:
        if status and status.state == "failed":
            st.error(literal(f"{_name(recipe)}: {status.message}"), icon=":material/error:")
        elif status and status.state == "cancelled":
            st.info(literal(f"{_name(recipe)}: cancelled."), icon=":material/info:")
    with st.container(horizontal=True):
        # No callback: it would get the recipes of the run before, and who presses right after writing a number means the new one.
        if missing and st.button(label, key=f"{key}.start", type="primary", icon=":material/play_arrow:"):
            _start(missing)
        if active:
            st.button("Cancel", key=f"{key}.cancel", on_click=_cancel, args=active, icon=":material/stop:")
    if active:
        st.fragment(_watch, run_every=POLL_SECONDS)(active, key, show_losses)


def _name(recipe: Recipe) -> str:
    return f"{recipe.learning.learner}, k = {recipe.learning.rank}"


def _start(recipes: list[Recipe]) -> None:
    try:
        runs.submit(*recipes)
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    else:
        st.rerun()


def _cancel(*recipes: Recipe) -> None:
    runs.cancel(*recipes)
    if any((status := runs.status(recipe)) and status.state in ("queued", "running") for recipe in recipes):
        st.toast("Somebody else waits for the same run: it goes on.", icon=":material/info:", duration="long")


@calm()
def _watch(active: list[Recipe], key: str, show_losses: bool) -> None:
    """What runs, redrawn again and again; each time something ends, the whole page is drawn anew, and the last time this stops."""
    going = [status for recipe in active if (status := runs.status(recipe)) and status.state in ("queued", "running")]
    if len(going) < len(active):
        st.rerun()
    for status in [status for status in going if status.state == "running"][:MAX_BARS]:
        st.progress(*_bar(status))
    waiting = [status.place for status in going if status.place]
    if waiting:
        st.caption(f"{len(waiting)} waiting; the first of them is number {min(waiting)} in the queue.")
    if show_losses:
        losses = {stage: (curve.measure, curve.epochs, curve.losses) for stage, curve in going[0].losses.items()}
        loss_charts(losses, f"{key}.live")


def _bar(status: JobStatus) -> tuple[float, str]:
    """How full, and what is said above."""
    name, progress = _name(status.recipe), status.progress
    if progress is None:
        return 0.0, f"{name}: starting"
    stage = STAGES.get(progress.stage, progress.stage)
    if progress.loss is None:
        return 0.0, f"{name}: {stage}"
    unit = "iteration" if progress.stage == "EM" else "epoch"
    share = min(progress.step / max(progress.total, 1), 1.0)
    return share, f"{name}: {stage}, {unit} {progress.step:,} of {progress.total:,}, {progress.measure} {progress.loss:.4g}"
