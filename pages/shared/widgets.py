"""Draw what several pages need: escaped text, errors as messages, tables, a text field that updates
the page while you type.
"""

from __future__ import annotations

import logging
import math
import pickle
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from streamlit.delta_generator import DeltaGenerator

from nlwfa_core import RecipeError
from nlwfa_core.errors import plural
from nlwfa_core.files import LAB_FOLDER, without_folders
from nlwfa_core.learning.progress import UNFINISHED
from nlwfa_core.metrics.tables import TABLE_FORMATS, Column, Numbers, write_table
from nlwfa_core.rounding import format_significant
from pages.shared.server import home

MAX_TYPED = 1000  # characters
BRACKETS = re.compile(r"(?<=[][(){}<>|])(?=[][(){}<>|])")  # the place between two of them
MAX_REMEMBERED = 2**18  # bytes of a table whose message is cached
FEW_COLUMNS = 3  # fit a phone
# Of a column that stays visible. Streamlit draws it at 60 % of its strength: this black then has a
# contrast of 5.7 to 1 on white, and the theme's own ink 4.2 to 1; the ink of the dark theme has
# enough contrast.
PINNED_INK = "#000000"
# pixels, in a column of strings
CHARACTER_WIDTH = 9
WIDEST_STRINGS = 360
MEASURED_ROWS = 10  # by Streamlit, to find a column's width
PAUSE = "150ms"  # in typing, after which the page answers
TRAINING_HELP = (
    "How training ended: finished at a stationary point, stopped before one, or not finished after "
    "all its epochs. “–” means that this is not known: the learner is trained in another way."
)
MISSING = "–"  # is shown in place of a number that is not known
TABLE_TITLES = {"latex": "LaTeX", "markdown": "Markdown", "csv": "CSV"}
TABLE_HELPS = {"latex": " for the package booktabs", "csv": " with all digits"}

log = logging.getLogger(__name__)


def escape_markdown(text: str) -> str:
    """Escape text so that Markdown shows its characters unchanged, because sentences may quote a
    user's symbols.

    After parsing Markdown, Streamlit replaces strings such as ":smile:" and "->" by icons and
    arrows. Backslashes do not prevent that, so a word joiner, a character without width, is put
    between their characters. Paths of the server lose their folders.
    """
    text = without_folders(text, home(), LAB_FOLDER)
    apart = re.sub(r":(?=material/|streamlit:)|(?<!\S)[-<>~](?=[-=>])", "\\g<0>\u2060", text)
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:~<>|&^=])", r"\\\1", apart)


def refusal_text(reason: str, outcome: str = "Nothing was changed.") -> str:
    """Write as Markdown why something was refused, and what came of it. If the reason ends with
    advice for several cases, each "; if …", these become the items of a list.

    >>> print(refusal_text("got 1 column", "It was left out."))
    got 1 column – It was left out\\.
    >>> print(refusal_text("got 3 columns: name one; if one has labels, classify; if not, wait"))
    got 3 columns\\: name one
    <BLANKLINE>
    - If one has labels, classify
    - If not, wait
    <BLANKLINE>
    Nothing was changed\\.
    """
    first, *cases = reason.split("; if ")
    if not cases:
        return escape_markdown(f"{reason} – {outcome}")
    items = "\n".join(f"- If {escape_markdown(case)}" for case in cases)
    return f"{escape_markdown(first)}\n\n{items}\n\n{escape_markdown(outcome)}"


def written_string(text: str) -> str:
    """Write a user's string as code in Markdown: in monospace, so its brackets are easy to
    tell apart.

    Streamlit looks for the names of icons even there, hence a word joiner as in `escape_markdown`.

    >>> written_string("[[]]"), written_string("a`b")
    ('`[[]]`', '``a`b``')
    """
    text = re.sub(r":(?=material/|streamlit:)", ":\u2060", text)
    ticks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{space}{text}{space}{ticks}"


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Show an error that is raised in this block as a message, and end the page there.

    The message of a RecipeError says how to fix it. Any other error is logged under an id, and the
    message shows only the id. Streamlit's own stops and reruns pass through, because they are not
    subclasses of `Exception`.
    """
    try:
        yield
    except RecipeError as error:
        log.warning("%s", error)
        st.error(escape_markdown(str(error)), icon=":material/error:")
    except Exception:
        name = secrets.token_hex(4)
        log.exception("unexpected error %s", name)
        st.error(
            f"Something went wrong here (id {name}). Your settings are saved in this page's web "
            "address. Try another page, or *Undo* in the sidebar; if it happens again, give the id "
            "to the person who runs this server.",
            icon=":material/error:",
        )
    else:
        return
    st.stop()


def room_for_results() -> None:
    """Keep a page as high as the window while its results are awaited, so it does not scroll."""
    with st.container(key="room_for_results"):  # assets/lab.css gives it its height
        st.html("<i></i>")


def notes(*sentences: str) -> None:
    for sentence in sentences:
        st.info(escape_markdown(sentence), icon=":material/info:")


def warnings(*sentences: str) -> None:
    for sentence in sentences:
        st.warning(escape_markdown(sentence), icon=":material/warning:")


def warning_list(sentences: Sequence[str]) -> None:
    """Draw warnings in one expander, because a model may have several."""
    _list(sentences, "warning", "warning")


def note_list(sentences: Sequence[str]) -> None:
    """Draw notes in one expander."""
    _list(sentences, "note", "info")


def _list(sentences: Sequence[str], noun: str, icon: str) -> None:
    if sentences:
        with st.expander(plural(len(sentences), noun), icon=f":material/{icon}:"):
            st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))


def error_toast(error: Exception | str) -> None:
    """Show an error in a corner of the screen.

    Call this in callbacks, which can't draw on the page.
    """
    st.toast(escape_markdown(str(error)), icon=":material/error:", duration="long")


def dark() -> bool:
    """Return whether the page has a dark theme."""
    return bool(st.context.theme.type == "dark")


def training_lines(learner: str, lines: Iterable[tuple[str, str]]) -> None:
    """Draw a line for each stage of a learner's training, from its state and its summary.

    Training that ended after all its epochs did what was asked, so it has no warning; training that
    diverged has a message of its own.
    """
    for state, summary in lines:
        icon = ":material/hourglass_bottom:" if state == UNFINISHED else ":material/check:"
        st.caption(f"{icon} {escape_markdown(f'{learner}, {summary}.')}")


def opened(title: str, key: str, icon: str | None = None) -> Any:
    """Draw a list that opens. Returns its container, or None while it is closed: what is in it is
    neither made nor sent then.
    """
    box = st.expander(title, icon=icon and f":material/{icon}:", key=key, on_change="rerun")
    return box if box.open else None


def draw_table(
    table: Mapping[str, Column],
    key: str,
    alt: str,
    columns: Mapping[str, Any] | None = None,
    remember: bool = True,
    **options: Any,
) -> Any:
    """Draw a table. If it has many columns, the first stays visible while scrolling. Returns the
    selection of a table with `on_select`.

    A table that was drawn before, with the same content, is not made again: its message is in a
    cache that all visitors share.

    A click on a heading sorts `Numbers` by value. Streamlit sorts missing numbers like 0, and can't
    show undefined ones (nan). So an undefined number is sorted and exported like ∞, which is no
    better; its text is still "undefined".

    Parameters
    ----------
    columns : mapping of str to st.column_config.Column, optional
        Title -> widths and helps of columns.
    remember : bool
        Must be false in a function whose messages Streamlit caches itself: it would send the table
        to the end of the page again, not into the expander or container where it was drawn.
    options : dict
        Further options of `st.dataframe`.
    """
    first = next(iter(table))
    # Streamlit measures the first rows only, and cuts the texts of others.
    texts = [] if isinstance(table[first], Numbers) else list(table[first])
    longest = max(map(len, texts), default=0)
    width = (
        min(CHARACTER_WIDTH * longest + 2 * CHARACTER_WIDTH, WIDEST_STRINGS)
        if longest > len(first) and len(texts) > MEASURED_ROWS
        else None
    )
    is_pinned = len(table) > FEW_COLUMNS
    ink = pinned_ink() if is_pinned else ""
    config = {
        first: st.column_config.Column(pinned=is_pinned, width=width),
        **(columns or {}),
    }
    config = {title: config[title] for title in config if title in table}
    options |= {
        "hide_index": True,
        "key": key,
        "alt": alt,
        "column_config": config,
        "placeholder": MISSING,
    }
    if "on_select" in options or not remember:
        return st.dataframe(written_table(table, ink), **options)
    # and not its `repr`, which shortens long arrays
    content = pickle.dumps((dict(table), options, ink))
    if len(content) > MAX_REMEMBERED:
        return st.dataframe(written_table(table, ink), **options)
    _draw_again(sha256(content).hexdigest(), table, ink, options)
    return None


def pinned_ink() -> str:
    """Return the colour of a table's column that stays visible; empty for the theme's own."""
    return "" if dark() else PINNED_INK


@st.cache_data(max_entries=256, show_spinner=False)
def _draw_again(
    content: str, _table: Mapping[str, Column], _ink: str, _options: Mapping[str, Any]
) -> None:
    """Draw a table.

    Streamlit also caches the messages of a cached function, and sends them again; `content`
    identifies them.
    """
    st.dataframe(written_table(_table, _ink), **_options)


def table_downloads(
    tables: Mapping[str, Mapping[str, Column]], name: str, key: str, caption: str = ""
) -> DeltaGenerator | None:
    """Draw a button that opens a list of the forms in which a table can be downloaded.

    The files are written while the list is open. If a table changes each time a run ends, Streamlit
    would remove its files before the browser has asked for them.

    Parameters
    ----------
    tables : mapping
        One of `metrics.tables.TABLE_FORMATS` -> the table that is written in this form.
    name : str
        The name of the files, without an ending.
    caption : str
        Written with the table in LaTeX and Markdown.

    Returns
    -------
    DeltaGenerator or None
        The list, for more files; None while it is closed.
    """
    popover = st.popover(
        "Download", icon=":material/download:", key=key, type="tertiary", on_change="rerun"
    )
    if not popover.open:
        return None
    with popover:
        for form, table in tables.items():
            st.download_button(
                TABLE_TITLES[form],
                write_table(table, form, caption),
                f"{name}.{TABLE_FORMATS[form]}",
                "text/plain",
                key=f"{key}.{form}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
                help=f"This table as {TABLE_TITLES[form]}{TABLE_HELPS.get(form, '')}",
            )
    return popover


def written_table(table: Mapping[str, Column], ink: str = "") -> Styler:
    """Make a styled data frame that has a table's values and displays its texts, the first column
    in a colour of its own if there is one.
    """
    frame = pd.DataFrame({title: _values(column) for title, column in table.items()})
    return displayed_as(frame, list(map(_texts, table.values())), ink)


def _texts(column: Column) -> Sequence[str]:
    """Return what a column shows in place of its values; nothing if it shows its values, as counts
    do.
    """
    if isinstance(column, Numbers):
        return column.texts
    return _spaced(column) if all(isinstance(value, str) for value in column) else ()


def written_frame(frame: pd.DataFrame, digits: int = 3, ink: str = "") -> Styler:
    """Make a styled data frame that displays numbers with `digits` significant digits, and brackets
    with a little space between; `ink` as in `written_table`.
    """
    return displayed_as(frame, [_column_texts(values, digits) for _, values in frame.items()], ink)


def _column_texts(values: pd.Series, digits: int) -> Sequence[str]:
    if values.dtype.kind == "f":
        return [format_significant(value, digits) for value in values.tolist()]
    return _spaced(values) if values.dtype.kind in "OU" else ()


def displayed_as(frame: pd.DataFrame, texts: Sequence[Sequence[str]], ink: str = "") -> Styler:
    """Make a styled data frame that displays these texts in place of the values: one list a column,
    empty where values are shown. If there is an ink, it is the colour of the first column.

    Streamlit calls the methods `_compute` and `_translate` of a styler to get the texts. Those of
    pandas build HTML that is never shown, which takes half a second for 200 rows of 20 numbers, so
    both are replaced here.
    """
    styler = frame.style
    rows: list[list[dict[str, str]]] = [[] for _ in range(len(frame))]
    for number, column in enumerate(texts):
        for row, text in enumerate(column):
            rows[row].append({"id": f"row{row}_col{number}", "display_value": text})
    styler._compute = lambda: styler
    first = [f"row{row}_col0" for row in range(len(frame))]
    styles = [{"props": [("color", ink)], "selectors": first}] if ink and first else []
    styler._translate = lambda *_: {"body": rows, "cellstyle": styles}
    return styler


def _spaced(texts: Iterable[str]) -> list[str]:
    """Put a thin space between brackets that touch.

    A table's cells have a proportional font, in which they can't be told apart.
    """
    return [BRACKETS.sub("\N{THIN SPACE}", text) for text in texts]


def _values(column: Column) -> Any:
    if not isinstance(column, Numbers):
        return column
    values = [
        math.nan if value is None else math.inf if math.isnan(value) else value
        for value in column.values
    ]
    return pd.array(values, dtype="float64")


def typed_text(
    label: str, default: str, key: str, help: str = "", scope: str = "", linked: str | None = None
) -> str:
    """Draw a text field that reruns the script at each pause in typing. Returns its text; raises
    RecipeError if it is too long.

    The text is `default` until the visitor types, and is kept while the visitor looks at another
    page. Each `scope`, for example an alphabet, has its own text: a string over one alphabet may
    not be valid in another. `linked` is a link's text, which replaces it.
    """
    field = f"{key}.{scope}"
    proposed = f"{field}.proposed"
    if linked is not None:
        st.session_state[field] = linked
    # nothing has been typed
    elif st.session_state.get(field) in (None, st.session_state.get(proposed)):
        st.session_state[field] = st.session_state[proposed] = default
    with st.container(key=key, gap="xxsmall"):  # assets/lab.css draws its text in monospace
        text = st.text_input(
            label, key=field, live=PAUSE, autocomplete="off", persist_state="session"
        )
        if help:
            st.caption(help)
    check_typed(label, text)
    return text


def check_typed(label: str, text: str) -> None:
    """Raise RecipeError if the text of a field, which may come from a link, is too long."""
    if len(text) > MAX_TYPED:
        raise RecipeError(
            f"{label} may have at most {MAX_TYPED:,} characters on this page; got {len(text):,}"
        )
