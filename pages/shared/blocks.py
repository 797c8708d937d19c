"""Pieces that several pages draw: errors in one place, scores as a table, sentences for the user, the state of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.lab import tables
from nlwfa_core.lab.tables import number as number
from nlwfa_core.metrics.scores import Scores
from pages.shared import controls
from pages.shared.text import literal
from pages.shared.training import train_controls as train_controls

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
            "tied": [tables.percent(entry.share_tied) for entry in scores],
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
    strings = {(entry.num_words, entry.num_predictions, entry.uniform_log2_pauto, entry.true_log2_pauto) for entry in scores}
    st.caption(
        "Lower is better, but for NDCG@5: how well the five likeliest next symbols are ranked, 1 at best. "
        f"{'' if known else '– stands where the truth is not known. '}"
        f"{'' if len(strings) == 1 else 'What follows is of the first row alone: '}"
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
