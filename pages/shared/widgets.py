"""Pieces that several pages draw: escaped text, errors as messages, tables, a text field that updates while you type."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core import RecipeError
from nlwfa_core.lab.tables import BETTER, as_sentence, format_score, verdicts
from nlwfa_core.learning.progress import UNFINISHED
from nlwfa_core.metrics.scores import SCORE_OF, SCORES, Score, Scores
from pages.shared.server import ASSETS

MAX_TYPED = 1000  # characters

log = logging.getLogger(__name__)

_live_text_field = st.components.v2.component(
    "nlwfa_typing", **{kind: (ASSETS / "typing" / f"typing.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")}
)


def escape_markdown(text: str) -> str:
    """Escape a text so that Markdown shows it exactly as it is: sentences may quote a user's symbols.

    Streamlit replaces icons and arrows once more after Markdown has been read, when backslashes no longer help; a word joiner,
    which has no width, separates their characters.
    """
    apart = re.sub(r":(?=material/|streamlit:)|(?<!\S)[-<>~](?=[-=>])", "\\g<0>\u2060", text)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:~<>|&^=])", r"\\\1", apart)


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Show an error as a message, and end the page there.

    The message of a RecipeError says how to fix it. Any other error is logged under an id, and the message shows only the id.
    Streamlit's own stops and reruns pass through: they are not `Exception`s.
    """
    try:
        yield
    except RecipeError as error:
        st.error(escape_markdown(str(error)), icon=":material/error:")
    except Exception:
        name = secrets.token_hex(4)
        log.exception("unexpected error %s", name)
        st.error(
            f"Something went wrong here that should not have (id {name}). Your settings are saved in this page's web address. "
            "Try another page, or *Undo* in the sidebar; if it happens again, give the id to whoever runs this server.",
            icon=":material/error:",
        )
    else:
        return
    st.stop()


def notes(*sentences: str) -> None:
    for sentence in sentences:
        st.info(escape_markdown(sentence), icon=":material/info:")


def warnings(*sentences: str) -> None:
    for sentence in sentences:
        st.warning(escape_markdown(sentence), icon=":material/warning:")


def warning_list(sentences: Sequence[str]) -> None:
    """Draw all warnings in one box that can be opened: a model may have several."""
    if sentences:
        with st.expander(f"{len(sentences)} warning{'s' if len(sentences) > 1 else ''}", icon=":material/warning:"):
            st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))


def error_toast(error: Exception | str) -> None:
    """Show an error in the corner. For callbacks, which can't draw on the page."""
    st.toast(escape_markdown(str(error)), icon=":material/error:", duration="long")


def dark() -> bool:
    """Whether the page is dark."""
    return bool(st.context.theme.type == "dark")


def training_lines(lines: Iterable[tuple[str, str]]) -> None:
    """Draw a line for each stage of a training, from its state and its summary; those not finished are in a warning."""
    unfinished = []
    for state, summary in lines:
        text = escape_markdown(as_sentence(summary))
        if state == UNFINISHED:
            unfinished.append(text)
        else:
            st.caption(f":material/check: {text}")
    if unfinished:
        st.warning("\n\n".join(unfinished), icon=":material/hourglass_bottom:")


def score_table(rows: Mapping[str, Scores], key: str, training: Mapping[str, str] | None = None) -> None:
    """Draw a table with one row per model. Each column's help explains its numbers; the caption below covers all of them.

    Parameters
    ----------
    training : mapping of str to str, optional
        Model -> text that says whether its training is finished; shown beside its name.
    """
    scores = list(rows.values())
    table: dict[str, list[Any]] = {"model": list(rows)}
    if training is not None:
        table["training"] = [training[name] for name in rows]
    table |= {score.short_title: [_cell(entry, score) for entry in scores] for score in SCORES}
    columns = {score.short_title: st.column_config.Column(help=score.meaning, alignment="right") for score in SCORES}
    columns["model"] = st.column_config.Column(pinned=True)
    alt = "Scores of the models on the test strings"
    st.dataframe(pd.DataFrame(table), hide_index=True, key=key, column_config=columns, alt=alt)
    for sentence in verdicts(rows):
        st.markdown(f"**{escape_markdown(sentence)}**")
    first = scores[0]
    has_truth = first.true_log2_pauto is not None
    strings = {(entry.num_words, entry.num_predictions, entry.uniform_log2_pauto, entry.true_log2_pauto) for entry in scores}
    st.caption(
        f"{BETTER}. "
        f"{'' if has_truth else '– means that it needs the true model. '}"
        f"{'' if len(strings) == 1 else 'For the first row: '}"
        f"{first.num_words:,} {'' if has_truth else 'distinct '}test strings, weighted by their "
        f"{'true probabilities' if has_truth else 'frequencies'}; {first.num_predictions:,} next-symbol predictions. "
        f"{SCORE_OF['log2_pauto'].short_title} would be {format_score(first.uniform_log2_pauto)} if all test strings had the same "
        "weight"
        f"{f', and is {format_score(first.true_log2_pauto)} at best' if has_truth else ''}. No output is floored."
    )


def _cell(scores: Scores, score: Score) -> str | int:
    """Write a score; counts stay numbers, so that the table can be sorted by them."""
    value = getattr(scores, score.field)
    return value if isinstance(value, int) else format_score(value, score.form)


def text_table(table: Mapping[str, list[str]], key: str, alt: str) -> None:
    """Draw a table of text; its first column stays visible."""
    first = next(iter(table))
    st.dataframe(
        pd.DataFrame(table), hide_index=True, key=key, alt=alt, column_config={first: st.column_config.Column(pinned=True)}
    )


def typed_text(label: str, default: str, key: str, help: str = "") -> str:
    """Draw a text field that reruns the script at each pause in typing. Returns its text, at most `MAX_TYPED` characters.

    The text is `default` until the visitor types, and is kept while the visitor looks at another page.
    """
    state_key = f"typing.{key}"
    saved: dict[str, Any] | None = st.session_state.get(state_key)
    text, version = (saved["text"], saved["version"]) if saved else (default, f"default {default}")
    data = {"label": label, "help": help, "text": text, "version": version, "longest": MAX_TYPED}
    typed = _live_text_field(key=key, data=data, on_typed_change=lambda: None).typed
    if isinstance(typed, dict) and typed.get("version") == version and isinstance(typed.get("text"), str):
        text = typed["text"][:MAX_TYPED]
        st.session_state[state_key] = {"text": text, "version": version}
    return text
