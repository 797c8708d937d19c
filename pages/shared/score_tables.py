"""Draw tables of scores: the main ones first, all others on demand, and below them what the numbers
rest on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from nlwfa_core import Recipe
from nlwfa_core.display.result_tables import BETTER, score_column, scores_in, shown_scores, verdicts
from nlwfa_core.metrics.score_table import SCORE_OF, SCORES, Scores
from nlwfa_core.metrics.tables import Column, format_score
from pages.shared import open_lesson, sidebar
from pages.shared.context import Context, is_level
from pages.shared.widgets import TRAINING_HELP, draw_table, escape_markdown, table_downloads


def score_table(
    rows: Mapping[str, Scores],
    key: str,
    training: Mapping[str, str] | None = None,
    recipes: Mapping[str, Recipe] | None = None,
    note: bool = True,
) -> None:
    """Draw a table with one row per model. Each column's help explains its numbers; the caption
    below covers all of them.

    Three scores are shown first, with those that say where a model fails and those that the open
    lesson names. A switch shows the others.

    Parameters
    ----------
    training : mapping of str to str, optional
        Model -> text on whether its training is finished, shown in a column next to its name.
    recipes : mapping of str to Recipe, optional
        Model -> the recipe of its finished run. With these, a sentence on which model is ahead says
        whether that may be chance.
    note : bool
        Whether the caption is drawn; a second table on the same test strings does not need it.
    """
    scores = list(rows.values())
    table: dict[str, Column] = {"model": list(rows)}
    if training is not None:
        table["training"] = [training[name] for name in rows]
    before = list(table)
    table |= {score.short_title: score_column(scores, score) for score in scores_in(scores)}
    columns = {score.short_title: st.column_config.Column(help=score.meaning) for score in SCORES}
    columns["training"] = st.column_config.Column(help=TRAINING_HELP, width=100)
    is_full = st.session_state.get(f"{key}.every", False)
    error_rate = sidebar.current().data.error_rate
    named = {*open_lesson.emphasised()}
    if error_rate != "wer":
        named |= {SCORE_OF[field].short_title for field in (error_rate, "bits_without_end")}
    shown = [score.short_title for score in shown_scores(scores, named)]
    order = None if is_full else [*before, *shown]
    with st.container(key=f"{key}.table"):
        alt = "Scores of the models on the test strings"
        draw_table(
            table, key, alt, columns, column_order=order, width="stretch" if is_full else "content"
        )
    hidden = len(table) - len(before) - len(shown)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.toggle(f"All scores: {hidden} more", key=f"{key}.every", persist_state="session")
        table_downloads(
            dict.fromkeys(("csv", "latex", "markdown"), table), "scores", f"{key}.files", BETTER
        )

    def is_open(first: str, second: str) -> bool:
        return _is_level(recipes, first, second, error_rate)

    for sentence in verdicts(rows, is_open, error_rate):
        st.markdown(f"**{escape_markdown(sentence)}**")
    if note:
        _note(scores)


def _note(scores: Sequence[Scores]) -> None:
    """Describe what the scores are about, and what the best and the plainest model would have."""
    first = scores[0]
    has_truth = first.true_log2_pauto is not None
    strings = {
        (entry.num_words, entry.num_predictions, entry.uniform_log2_pauto, entry.true_log2_pauto)
        for entry in scores
    }
    st.caption(
        f"{BETTER}. "
        f"{'' if has_truth else '– means that the score needs the true model. '}"
        f"{'' if len(strings) == 1 else 'For the first row: '}"
        f"{first.num_words:,} {'' if has_truth else 'distinct '}test strings, weighted by their "
        f"{'true probabilities' if has_truth else 'frequencies'}; {first.num_predictions:,} "
        "next-symbol predictions. "
        f"{SCORE_OF['log2_pauto'].short_title} would be "
        f"{format_score(first.uniform_log2_pauto)} if all test strings had the same "
        "weight"
        f"{f', and is {format_score(first.true_log2_pauto)} at best' if has_truth else ''}. "
        "No output is floored."
    )


def _is_level(recipes: Mapping[str, Recipe] | None, first: str, second: str, field: str) -> bool:
    return (
        recipes is not None
        and first in recipes
        and second in recipes
        and is_level(Context(recipes[first]), Context(recipes[second]), field)
    )
