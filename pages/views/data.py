"""Draw the Data page: take a visitor's own strings, as uploaded files or pasted text, and show the
strings.

Files and pasted text are stored under the hash of their content.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from nlwfa_core import DataRecipe, HankelRecipe, RecipeError, limits
from nlwfa_core.display.figures.bars import bars_figure, lengths_figure
from nlwfa_core.display.formulas import recipe_formulas as formulas
from nlwfa_core.display.string_labels import (
    length_counts,
    most_frequent,
    most_frequent_word,
    shares_payload,
    split_sentence,
    symbol_counts,
    usual_length,
)
from nlwfa_core.experiment.datasets import Data, reading_alone, tests_on_training_strings
from nlwfa_core.experiment.recipe import READING_FIELDS, UPLOADS, reading_fields
from nlwfa_core.hankel.boundary import counted_string
from nlwfa_core.records import options_of
from nlwfa_core.rounding import format_share
from nlwfa_core.sources.preview import HEAD, preview
from nlwfa_core.sources.reading import Reading, as_controls
from nlwfa_core.sources.recognition import reading_of
from nlwfa_core.strings.sample import Sample
from pages.shared import (
    assignments,
    components,
    contents,
    navigation,
    open_lesson,
    sidebar,
    uploads,
    widgets,
)
from pages.shared.context import Context
from pages.shared.open_lesson import SHARES
from pages.shared.widgets import escape_markdown, refusal_text

# Two dicts of the session: field -> how often its uploader was emptied; field -> SHA-256 of a file
# that waits for another file.
EMPTIED = "uploads.emptied"
WAITING = "uploads.waiting"
# Training strings that can't be read yet: the SHA-256 of the file, and how it was tried.
UNREAD = "uploads.unread"
# Lists of file types that all allow every file. Streamlit empties an uploader when its list
# changes.
ANY_TYPE: tuple[Sequence[str] | None, ...] = (None, (), [], "")
PASTED = "data.paste"
PASTE_ERROR = "uploads.paste_error"
PASTED_TITLE = "pasted strings"
# with fewer pasted strings, none are set aside: all of them are used both for training and for
# testing
MIN_SPLIT = 30
MAX_ROWS = 200  # of the table of frequent strings
FEW_SYMBOLS = 2  # too few for a chart
TRAINING = (
    "Training strings",
    "PAutomaC or SPiCe; one string per line, as characters or as tokens separated by spaces; a "
    "table with a string and its count in each row (CSV); JSON lines; logs of events (CSV or XES); "
    "CoNLL, FASTA, FASTQ, SPMF, uniq -c, Abbadingo.",
)
OTHERS = {
    "upload_test": (
        "Test strings",
        "Without a file of test strings, part of the training file is set aside.",
    ),
    "upload_solution": (
        "Solution",
        "PAutomaC: the true probabilities of the test strings, one per line.",
    ),
    "upload_prefixes": (
        "Prefixes",
        "SPiCe: prefixes, one per line. A model's predictions after them are scored against the "
        "targets.",
    ),
    "upload_targets": (
        "Targets",
        "SPiCe: what followed each prefix, or how probable each symbol was; −1 is the end.",
    ),
    "upload_model": (
        "Model",
        "PAutomaC: the automaton that the strings were drawn from.",
    ),
}


# Field -> the field of the file without which its own file has no effect.
NEEDS = {
    "upload_solution": "upload_test",
    "upload_prefixes": "upload_targets",
    "upload_targets": "upload_prefixes",
}
NEEDED = {"upload_test": "test strings", "upload_targets": "targets", "upload_prefixes": "prefixes"}


ALL_STRINGS: dict[str, object] = {
    "source": "upload",
    "num_strings": limits.most("generated_strings"),
}


def own_strings(opened: bool) -> None:
    """Draw the widgets for a visitor's own strings in an expander, which is closed at first unless
    `opened`.
    """
    with (
        st.container(key="own_strings"),
        st.expander("Your own strings", expanded=opened, icon=":material/upload:"),
    ):
        pasted, dropped, others = st.tabs(["Paste", "Upload", "Tests and true models"])
        name, reading = _training_file()
        from_box = bool(name) and uploads.title(name) == PASTED_TITLE
        with pasted:
            box, beside_box = st.columns([3, 2], gap="medium")
        with dropped:
            uploader, beside_uploader = st.columns([2, 3], gap="medium")
        with box:
            _paste_control()
        with uploader:
            _upload_control("upload", *TRAINING)
        if name:
            with beside_box if from_box else beside_uploader:
                _reading_controls(name, reading, lines=not from_box)
        with others:
            # row by row: on a phone, test strings and their solution stay together
            columns = [column for _ in range(0, len(OTHERS), 2) for column in st.columns(2)]
            for column, (field, text) in zip(columns, OTHERS.items(), strict=False):
                with column:
                    _upload_control(field, *text)
        if name and st.button(
            "See them in Explore",
            key="data.explore",
            icon=":material/arrow_forward:",
            disabled=UNREAD in st.session_state,
            help="These strings can't be read yet" if UNREAD in st.session_state else None,
        ):
            navigation.switch("explore")
        st.caption("Your strings stay on this server, and are only ever read as text.")


def _training_file() -> tuple[str, Reading]:
    """Return the SHA-256 of the file with the training strings, empty without one, and how it is
    read: the one that can't be read yet, or the one in use.
    """
    unread: tuple[str, Reading] | None = st.session_state.get(UNREAD)
    recipe = sidebar.current().data
    used = st.session_state.get("upload", "") if recipe.source == "upload" else ""
    return unread or (used, recipe.reading)


def _reading_controls(name: str, reading: Reading, lines: bool = True) -> None:
    """Draw the first lines of the training strings, and what can be chosen about this file."""
    shown = preview(contents.uploads().head(name, HEAD + 1), reading)
    if shown is None:
        return
    st.markdown(f"**How {escape_markdown(uploads.label(name))} is read**")
    if lines:
        st.code("\n".join(shown.lines), language=None)
    declared = options_of(Reading)
    columns = st.columns(2)
    for place, (field, values) in enumerate(shown.choices.items()):
        # what is recognised becomes a choice with the first of its columns that is chosen
        used = reading if reading.has(field) else shown.reading
        value = getattr(used, field)
        options = list(dict.fromkeys([value, *values])) if value not in values else list(values)
        st.session_state[f"reading.{field}"] = value
        title = declared[field].title
        with columns[place % len(columns)]:
            st.selectbox(
                f"{title[0].upper()}{title[1:]}",
                options,
                key=f"reading.{field}",
                format_func=lambda option: option or "–",
                help=declared[field].help,
                on_change=_read_as,
                args=(name, used, field),
            )
    if shown.is_sequence:
        entry = declared["window"]
        st.session_state["reading.window"] = reading.window
        with columns[len(shown.choices) % len(columns)]:
            st.number_input(
                f"{entry.title[0].upper()}{entry.title[1:]}",
                min_value=0,
                max_value=entry.largest,
                key="reading.window",
                help=entry.help,
                on_change=_read_as,
                args=(name, reading, "window"),
            )


def _read_as(name: str, reading: Reading, field: str) -> None:
    """Read the training strings with another choice; if they can't be read in this way, explain why
    not, and change nothing.
    """
    uploads.forget_refusals()
    chosen = Reading.adapted(reading.changes(), **{field: st.session_state[f"reading.{field}"]})
    try:
        _use_training_file(name, chosen)
    except RecipeError as error:
        st.session_state[UNREAD] = name, chosen
        uploads.refuse("upload.upload", uploads.label(name), error)


def _use_training_file(name: str, reading: Reading) -> None:
    """Make a file the training strings. Raises RecipeError if it can't be read."""
    names = {key: st.session_state.get(key, "") for key in UPLOADS} | {"upload": name}
    _check(names, ALL_STRINGS | reading_fields(reading))
    _set_training_strings(names, reading)


def _set_training_strings(names: dict[str, str], reading: Reading) -> None:
    """Set the sidebar to uploaded files, all of whose strings are used, even if there were fewer
    strings before.
    """
    st.session_state.pop(UNREAD, None)
    hidden = {field: getattr(reading, name) for field, name in READING_FIELDS.items()}
    sidebar.set_values(names | ALL_STRINGS | hidden)


def _upload_control(field: str, label: str, text: str) -> None:
    """Draw an uploader for one file, and the file in use. The recipe names the file by the hash of
    its content.

    If the uploader's file was refused or removed, the uploader is drawn as a new one, which is
    empty.
    """
    emptied = st.session_state.get(EMPTIED, {}).get(field, 0)
    st.file_uploader(
        label,
        ANY_TYPE[emptied % len(ANY_TYPE)],
        key=f"upload.{field}",
        help=text,
        max_upload_size=limits.upload_megabytes(),
        on_change=_use_upload,
        args=(field,),
    )
    uploads.refusal(f"upload.{field}")
    name = st.session_state.get(field)
    if name:
        label = f"Remove the file {escape_markdown(uploads.label(name))}"
        st.button(
            label,
            key=f"take_out.{field}",
            icon=":material/close:",
            help="The lab is using this file now",
            on_click=_take_out,
            args=(field,),
        )
    elif name := st.session_state.get(WAITING, {}).get(field):
        st.caption(
            escape_markdown(
                f"{uploads.label(name)} waits for its {NEEDED[NEEDS[field]]}: upload them too."
            )
        )


def _use_upload(field: str) -> None:
    """Make an uploaded file part of the recipe if it can be read; otherwise explain why not, and
    change nothing.

    Files that were refused before do not matter. An empty uploader has no effect, because the
    browser also empties the uploader before it sends the next file.
    """
    file = st.session_state.get(f"upload.{field}")
    if file is None:
        return
    uploads.forget_refusals()
    before = {key: st.session_state.get(key, "") for key in UPLOADS}
    try:
        data = file.getvalue()
        reading = sidebar.current().data.reading
        new: dict[str, object] = {}
        if field == "upload":
            st.session_state.pop(UNREAD, None)
            # the choice of columns belongs to the previous file
            if not {"format", "encoding", "window"}.issuperset(reading.changes()):
                reading = Reading()
            new = ALL_STRINGS | reading_fields(reading)
            if (
                before["upload_test"] == before["upload"]
            ):  # few pasted strings, tested on themselves
                before["upload_test"] = ""
        if not before["upload"] or field in NEEDS:
            reading_alone(field, data, reading)
        names = before | {field: uploads.store(data, file.name)}
        waiting: dict[str, str] = st.session_state.setdefault(WAITING, {})
        needed = NEEDS.get(field)
        if needed and not before[needed] and needed not in waiting:
            waiting[field] = names[field]
            text = (
                f"{file.name} is stored. It will be used as soon as you upload its "
                f"{NEEDED[needed]}."
            )
            st.toast(escape_markdown(text), icon=":material/check:", duration="long")
            return
        if field == "upload_test" and "upload_solution" in waiting:
            names = _with_solution(names, waiting.pop("upload_solution"), new)
        elif needed in waiting:
            names |= {needed: waiting[needed]}
        _check(names, new)
        for used in (field, needed):
            waiting.pop(used, None)
    except RecipeError as error:
        _empty(field)
        uploads.refuse(f"upload.{field}", file.name, error)
        if field == "upload" and preview(data, reading):
            with suppress(RecipeError):  # the server's disk is full, as the error may have said
                st.session_state[UNREAD] = uploads.store(data, file.name), reading
        return
    if field == "upload":
        _set_training_strings(names, reading)
    else:
        sidebar.set_values(names)


def _check(names: dict[str, str], new: dict[str, object]) -> None:
    """Raise RecipeError if files can't be read together.

    Without training strings nothing is checked: they decide the alphabet.
    """
    if names["upload"]:
        _read(**{"source": "upload", **new, **names})


def _read(**fields: Any) -> Data:
    """Read the strings of the sidebar's recipe with other fields. Raises RecipeError if they can't
    be read.
    """
    recipe = sidebar.current()
    return Context(recipe.changed(data=recipe.data.changed(**fields))).data


def _with_solution(names: dict[str, str], solution: str, new: dict[str, object]) -> dict[str, str]:
    """Add the solution that was uploaded before these test strings.

    If it does not fit them, explain this and leave it out.
    """
    try:
        _check(names | {"upload_solution": solution}, new)
    except RecipeError as error:
        _check(names | {"upload_solution": ""}, new)
        uploads.refuse("upload.upload_solution", uploads.label(solution), error, "It was left out.")
        return names | {"upload_solution": ""}
    return names | {"upload_solution": solution}


def overview(recipe: DataRecipe, data: Data) -> None:
    """Draw what the strings are, how the files were read, and how many strings there are."""
    st.subheader(escape_markdown(f"{data.title[:1].upper()}{data.title[1:]}"), anchor=False)
    readings = (
        reading_of(uploads.label(getattr(recipe, field)), reading)
        for field, reading in data.readings.items()
    )
    for sentence in dict.fromkeys(readings):  # once if the test strings are the training strings
        st.caption(escape_markdown(sentence))
    train = data.train
    cells = {
        "training strings": f"{train.num_strings:,}",
        "distinct": f"{len(train.words):,}",
        "symbols": f"{train.num_symbols:,}",
        "mean length": f"{train.mean_length:.2f}",
        "test strings": f"{data.test.sample.num_strings:,}",
        "seen in training": format_share(data.share_seen()),
    }
    with st.container(horizontal=True, key="data.summary"):
        for label, value in cells.items():
            st.metric(label, value, width="content")
    if not tests_on_training_strings(recipe):  # a note says so
        st.caption(split_sentence(recipe, data))


def strings(recipe: HankelRecipe, train: Sample) -> None:
    """Draw the most frequent strings, and next to them how long strings are and how often each
    symbol occurs.
    """
    left, right = st.columns([3, 2], gap="medium")
    with left:
        frequent_strings(recipe, train)
    with right:
        string_lengths(train)
        symbols(train)


def string_lengths(train: Sample) -> None:
    """Draw how many strings have each length."""
    st.markdown("**Length** (without the end of the string)")
    lengths = length_counts(train)
    usual = usual_length(lengths)
    st.plotly_chart(
        lengths_figure(lengths, usual), key="data.lengths", alt="Histogram of string lengths"
    )
    longer = int(lengths[usual + 1 :].sum())
    if longer:
        st.caption(
            f"{longer:,} of {train.num_strings:,} strings are longer, with up to "
            f"{len(lengths) - 1:,} symbols."
        )


def symbols(train: Sample) -> None:
    """Draw how often each symbol occurs: a chart, or a line if there are too few for one."""
    names = train.alphabet.symbols
    occurrences = symbol_counts(train)
    if len(names) <= FEW_SYMBOLS:
        counted = [
            f"{widgets.written_string(name)} {number:,} times"
            for name, number in zip(names, occurrences.tolist(), strict=True)
        ]
        st.markdown(f"**Symbols**: {', '.join(counted)}")
        return
    st.markdown("**Symbols**")
    st.plotly_chart(
        bars_figure(names, occurrences, "symbol", "occurrences"),
        key="data.symbols",
        alt="Occurrences of each symbol in the training strings",
    )


def frequent_strings(recipe: HankelRecipe, train: Sample) -> None:
    """Draw a table of the most frequent strings and, if strings are counted with boundary symbols,
    an example; or, in its place, the picture in which a lesson's question is answered.
    """
    if _shares(train):
        return
    st.markdown("**Most frequent training strings**")
    with st.container(key="data.strings.table"):
        alt = "The most frequent training strings with their counts"
        widgets.draw_table(most_frequent(train, MAX_ROWS), "data.strings", alt)
    if recipe.bounded:
        word = most_frequent_word(train)
        string = widgets.written_string(train.alphabet.decode(word))
        marked = widgets.written_string(
            counted_string(word, train.alphabet, recipe.statistic, recipe.bounded)
        )
        st.markdown(f"{formulas.marks(recipe)} {string} becomes {marked}.")


def _shares(train: Sample) -> bool:
    """If the open lesson asks for the height of a bar, draw how often each string occurs, as bars
    of which this one is to be drawn by hand. Returns whether the lesson asks for it.
    """
    asked = open_lesson.asked_share()
    payload = shares_payload(train, *asked) if asked else None
    if payload:
        st.markdown("**Share of each string**")
        components.shares(SHARES, payload, _drew_share)
    return payload is not None


def _drew_share() -> None:
    share = st.session_state[SHARES].get("share")
    if isinstance(share, int | float) and 0 <= share <= 1:
        open_lesson.answer_by_share(share)


def _paste_control() -> None:
    """Draw a text box for strings, which are then used like a file.

    Text that can't be read stays in the box, with the reason.
    """
    st.text_area(
        "Strings, one per line",
        key=PASTED,
        height=160,
        persist_state="session",
        placeholder="ab\nabb\nλ",
        help="Characters, or tokens separated by spaces; λ alone is the empty string. Or CSV: "
        "string, count.",
    )
    reason = st.session_state.pop(PASTE_ERROR, None)
    if reason:
        st.error(refusal_text(reason), icon=":material/error:")
    st.button("Use these strings", key="data.use", icon=":material/check:", on_click=_use_pasted)


def _use_pasted() -> None:
    content = (st.session_state.get(PASTED) or "").encode()
    try:
        limits.check_at_most(
            "pasted strings (a file may be larger)",
            len(content),
            limits.most("pasted_bytes"),
            unit="bytes",
        )
        name = uploads.store(content, PASTED_TITLE)
        # There are too few strings to set some aside for a test.
        test = name if content.count(b"\n") < MIN_SPLIT else ""
        names = dict.fromkeys(UPLOADS, "") | {"upload": name, "upload_test": test}
        data = _read(**names, **ALL_STRINGS, **reading_fields(Reading()))
    except RecipeError as error:
        st.session_state[PASTE_ERROR] = as_controls(str(error))
        return
    _set_training_strings(names, Reading())
    text = reading_of(PASTED_TITLE, data.readings["upload"])
    st.toast(escape_markdown(text), icon=":material/check:", duration="long")


def _take_out(field: str) -> None:
    for name in (field, *(other for other, needed in NEEDS.items() if needed == field)):
        assignments.assign({name: ""})
        _empty(name)


def _empty(field: str) -> None:
    emptied = st.session_state.setdefault(EMPTIED, {})
    emptied[field] = emptied.get(field, 0) + 1
