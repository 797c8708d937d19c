"""A visitor's own strings: uploaded files, pasted text. Both are stored under the hash of their content."""

from __future__ import annotations

import streamlit as st

from nlwfa_core import RecipeError, limits
from nlwfa_core.experiment.data import tests_on_training_strings
from pages.shared import cache, sidebar
from pages.shared.widgets import error_toast, escape_markdown

REFUSED = "uploads.refused"
PASTED, PASTE_ERROR = "data.paste", "uploads.paste_error"
READ_AS = {
    "pautomac": "numbers in PAutomaC's format",
    "characters": "one string on each line, each character a symbol",
    "tokens": "one string on each line, tokens separated by spaces",
    "csv": "CSV, string and count",
}
MAX_SYMBOLS = 12  # named in a message
MIN_SPLIT = 30  # pasted strings; fewer are all learned from and tested on
SLOTS = {
    "upload": (
        "Training strings",
        "PAutomaC or SPiCe; one string on each line, as characters or as tokens separated by spaces; CSV: string, count.",
    ),
    "upload_test": ("Test strings (optional)", "Without a file of test strings, part of the training file is set aside."),
    "upload_solution": ("Solution (optional)", "PAutomaC: the true probabilities of the test strings, one on each line."),
    "upload_model": ("Model (optional)", "PAutomaC: the automaton that the strings were drawn from."),
}


def own_strings(opened: bool) -> None:
    """Draw widgets for a visitor's own strings, folded away unless needed."""
    with st.expander("Your own strings", expanded=opened, icon=":material/upload:", key="own_strings"):
        pasted, dropped = st.tabs(["Paste", "Upload"])
        with pasted:
            _paste_control()
        with dropped:
            for column, (field, (label, text)) in zip(st.columns(2) * 2, SLOTS.items(), strict=True):
                with column:
                    _upload_control(field, label, text)
        st.caption("Your strings stay on this server and are never executed.")


def _upload_control(field: str, label: str, text: str) -> None:
    """Draw an uploader for one file. The recipe names the file by the hash of its content."""
    file = st.file_uploader(
        label, key=f"upload.{field}", help=text, max_upload_size=limits.upload_megabytes(), on_change=_keep_uploads, args=(field,)
    )
    name = st.session_state.get(field)
    if name and (file is None or file.file_id == st.session_state.get(REFUSED)):
        label = f"In use: the file {name[:8]}…"
        st.button(
            label, key=f"take_out.{field}", icon=":material/close:", help="Remove this file", on_click=_take_out, args=(field,)
        )


def _keep_uploads(field: str) -> None:
    """Make the uploaded files part of the recipe if they can be read together; otherwise say why not and change nothing.

    An empty uploader means nothing: the browser also empties it before it sends the next file.
    """
    files = {key: file for key in sidebar.UPLOADS if (file := st.session_state.get(f"upload.{key}"))}
    before = {key: st.session_state.get(key, "") for key in sidebar.UPLOADS}
    try:
        names = before | {key: cache.uploads().put(file.getvalue()) for key, file in files.items()}
        # People who upload strings want all of them used, however many the last example had.
        is_new = field == "upload" and files.get(field)
        new = {"source": "upload", "num_strings": limits.most("generated_strings")} if is_new else {}
        if names["upload"]:
            cache.data(sidebar.current().data.changed(**{"source": "upload", **new, **names}))
    except RecipeError as error:
        st.session_state[REFUSED] = files[field].file_id if field in files else None
        error_toast(f"{error} – Nothing was changed.")
        return
    sidebar.set_values(names | new)


def _paste_control() -> None:
    """Draw a box for strings, which become part of the recipe like a file. Unreadable text stays in the box, with the reason."""
    st.text_area(
        "Strings, one on each line",
        key=PASTED,
        height=160,
        persist_state="session",
        placeholder="ab\nabb\nλ",
        help="Characters, or tokens separated by spaces; λ alone is the empty string. Or CSV: string, count.",
    )
    if reason := st.session_state.pop(PASTE_ERROR, None):
        st.error(escape_markdown(f"{reason} – Nothing was changed."), icon=":material/error:")
    st.button("Use these strings", key="data.use", icon=":material/check:", on_click=_use_pasted)


def _use_pasted() -> None:
    content = (st.session_state.get(PASTED) or "").encode()
    try:
        limits.check_at_most(
            "the size of pasted strings in bytes (a file may be larger)", len(content), limits.most("pasted_bytes")
        )
        name = cache.uploads().put(content)
        # A handful of strings is too few to set some aside for a test.
        test = name if content.count(b"\n") < MIN_SPLIT else ""
        fields = dict.fromkeys(sidebar.UPLOADS, "") | {"upload": name, "upload_test": test}
        fields |= {"source": "upload", "num_strings": limits.most("generated_strings"), "upload_format": "auto"}
        recipe = sidebar.current().data.changed(**fields)
        data = cache.data(recipe)
    except RecipeError as error:
        st.session_state[PASTE_ERROR] = str(error)
        return
    sidebar.set_values(fields)
    symbols = " ".join(data.alphabet.symbols[:MAX_SYMBOLS]) + (" …" if data.train.num_symbols > MAX_SYMBOLS else "")
    total = data.train.num_strings if tests_on_training_strings(recipe) else sum(data.sizes)
    number = f"{total:,} strings over {data.train.num_symbols} symbols"
    text = f"Read as {READ_AS[data.format]}: {number}: {symbols}"
    st.toast(escape_markdown(text), icon=":material/check:", duration="long")


def _take_out(field: str) -> None:
    st.session_state[field] = ""
    if field == "upload_test":
        st.session_state["upload_solution"] = ""
