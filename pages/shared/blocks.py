"""Pieces that several pages draw: errors in one place, scores as a table, notes, the state of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.figures import loss_options
from nlwfa_core.metrics import Scores
from pages.shared import controls, runs

POLL_SECONDS = 0.4
STAGES = {
    "data": "reading the strings",
    "hankel": "counting into the Hankel matrix",
    "spectral": "decomposing",
    "factorisation": "training the factorisation",
    "transitions": "training the transitions",
    "scores": "scoring",
}


@contextmanager
def errors_shown() -> Iterator[None]:
    """What a user can fix is said on the page, and the page ends there."""
    try:
        yield
    except RecipeError as error:
        st.error(str(error), icon=":material/error:")
        st.stop()


def number(value: float | None, digits: int = 3) -> str:
    """How scores are written: ∞ and "undefined" in words that can't be overlooked, "–" where there is none."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "undefined"
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:.{digits}f}"


def score_table(rows: Mapping[str, Scores], key: str) -> None:
    """A row a model. Everything that a figure means stands in its column's help."""
    st.dataframe(
        pd.DataFrame(
            {
                "model": list(rows),
                "log₂ Pautomac": [number(scores.log2_pauto) for scores in rows.values()],
                "WER": [number(scores.wer) for scores in rows.values()],
                "WER, no end": [number(scores.wer_without_end) for scores in rows.values()],
                "bits / symbol": [number(scores.bits_per_symbol) for scores in rows.values()],
                "zero": [scores.num_zero for scores in rows.values()],
                "negative": [scores.num_negative for scores in rows.values()],
                "impossible": [scores.num_impossible for scores in rows.values()],
            }
        ),
        hide_index=True,
        key=key,
        column_config={name: st.column_config.Column(help=text, alignment="right") for name, text in COLUMN_HELP.items()},
        alt="Scores of the models on the test strings",
    )
    first = next(iter(rows.values()))
    known = first.true_log2_pauto is not None
    st.caption(
        f"Lower is better everywhere. {first.num_words:,} test strings, weighed by their "
        f"{'true probabilities' if known else 'frequencies'}; {first.num_predictions:,} next-symbol predictions. "
        f"log₂ Pautomac would be {number(first.uniform_log2_pauto)} if all test strings were given the same weight"
        f"{f', and is {number(first.true_log2_pauto)} at best' if known else ''}. No output is floored."
    )


COLUMN_HELP = {
    "log₂ Pautomac": "−Σ P*(x) log₂ P(x), both normalised over the test strings, |·| of negative outputs; ∞ if one that has mass gets 0.",
    "WER": "Word error rate: share of wrong most-likely next symbols, over every prefix of every test string, the end counted.",
    "WER, no end": "The same among symbols only, where a symbol follows.",
    "bits / symbol": "Mean −log₂ of the probability of what followed, the end counted; |scores| normalised over what may follow.",
    "zero": "Test strings whose output is exactly 0.",
    "negative": "Test strings whose output is below 0: no probability.",
    "impossible": "Predictions that gave 0 to what followed.",
}


def notes(*sentences: str) -> None:
    for sentence in sentences:
        st.info(sentence, icon=":material/info:")


def warnings(*sentences: str) -> None:
    for sentence in sentences:
        st.warning(sentence, icon=":material/warning:")


def train_controls(recipes: list[Recipe], label: str, key: str, show_losses: bool = False) -> None:
    """A button that starts what has not been run yet, and what becomes of it, live, with a button to cancel."""
    states = [runs.status(recipe) for recipe in recipes]
    missing = [
        recipe for recipe, status in zip(recipes, states, strict=True) if not status or status.state in ("failed", "cancelled")
    ]
    active = [recipe for recipe, status in zip(recipes, states, strict=True) if status and status.state in ("queued", "running")]
    if missing:
        st.button(label, key=f"{key}.start", type="primary", on_click=_start, args=missing, icon=":material/play_arrow:")
    if active:
        st.button("Cancel", key=f"{key}.cancel", on_click=runs.cancel, args=active, icon=":material/stop:")
    for recipe, status in zip(recipes, states, strict=True):
        if status and status.state == "failed":
            st.error(f"{recipe.learning.learner}, k = {recipe.learning.rank}: {status.message}", icon=":material/error:")
        elif status and status.state == "cancelled":
            st.info(f"{recipe.learning.learner}, k = {recipe.learning.rank}: cancelled.", icon=":material/info:")
    st.fragment(_watch, run_every=POLL_SECONDS if active else None)(active, len(recipes), key, show_losses)


def _start(*recipes: Recipe) -> None:
    try:
        runs.submit(*recipes)
    except RecipeError as error:
        st.toast(str(error), icon=":material/error:", duration="long")


def _watch(active: list[Recipe], total: int, key: str, show_losses: bool) -> None:
    """Redrawn while something runs; when the last one is done the page is run once more, and the polling ends."""
    if not active:
        return
    states = [status for recipe in active if (status := runs.status(recipe))]
    going = [status for status in states if status.state in ("queued", "running")]
    if len(going) < len(active) and (not going or total > 1):
        st.rerun()
    for status in [status for status in going if status.state == "running"][:2]:
        progress = status.progress
        name = f"{status.recipe.learning.learner}, k = {status.recipe.learning.rank}"
        if progress is None:
            st.progress(0.0, f"{name}: starting")
            continue
        loss = f", relative loss {progress.loss:.4g}" if progress.loss is not None else ""
        stage = STAGES.get(progress.stage, progress.stage)
        st.progress(
            min(progress.step / max(progress.total, 1), 1.0), f"{name}: {stage}, {progress.step:,} of {progress.total:,}{loss}"
        )
    waiting = [status.place for status in going if status.place]
    if waiting:
        st.caption(f"{len(waiting)} waiting; the next of them is number {min(waiting)} in the queue.")
    if show_losses and going:
        losses = {stage: (curve.epochs, curve.losses) for stage, curve in going[0].losses.items()}
        st.echarts_chart(loss_options(losses), key=f"{key}.losses", height=320, alt="Relative loss of each stage against the epoch")


def page_recipe(title: str, text: str) -> Recipe:
    """A page's heading; returns the recipe that the sidebar holds."""
    recipe = controls.current()
    st.title(title)
    st.markdown(text)
    return recipe
