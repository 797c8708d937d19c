"""Draw the History page.

The functions follow the order of the page: the visitor's list of runs, filters, a part of the
table, one run in full, and the actions: open, run again, pin, name and tag, delete and restore,
export and import.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

import streamlit as st

from nlwfa_core import Recipe, RecipeError, limits
from nlwfa_core.display import result_tables
from nlwfa_core.display import run_tables as history_tables
from nlwfa_core.display.pairs import COVERS, interval_sentence, interval_table
from nlwfa_core.display.recipe_differences import difference_table
from nlwfa_core.display.result_tables import BETTER
from nlwfa_core.history import listing
from nlwfa_core.history.bundles import MAX_RUNS, export_runs, import_runs
from nlwfa_core.history.database import database_errors_as_sentences
from nlwfa_core.history.listing import MAX_SEARCH, NEWEST, Choices, Listing, Query
from nlwfa_core.history.runs import MAX_NAME, MAX_TAG, MAX_TAGS, STATES, History, Run, RunLabels
from nlwfa_core.metrics.intervals import Interval
from nlwfa_core.metrics.score_table import METRICS, SCORE_OF
from pages.shared import (
    contents,
    pins,
    score_tables,
    server,
    sidebar,
    uploads,
    visitor,
    visitor_runs,
    widgets,
)
from pages.shared.context import Context
from pages.shared.navigation import switch
from pages.shared.training import linear_loss, loss_charts
from pages.shared.widgets import error_toast, errors_as_messages, escape_markdown

PAGE_SIZE = 50
MAX_SHOWN_ROWS = 12  # a longer table scrolls
ROW_PIXELS = 35
WATCH_SECONDS = 2.0
EXPECT_SECONDS = 10.0
EXPECTED = "history.expected"
UNDER_WAY = ("queued", "running")
FILTERS = ("history.states", "history.learners", "history.sources", "history.tags")
DELETED = "history.deleted"
OPENED = "history.opened"
PACKED = "history.packed"
BUNDLE = "history.bundle"
AT_ONCE_BYTES = 5_000_000  # a bundle smaller than this is packed before anybody presses its button
SEARCH = "history.text"
ORDER = "history.order"
LAST = "history.last"
PAGE = "history.page"


@dataclass(frozen=True, eq=False)
class RunList:
    """Identifies the list of runs that this visitor sees and edits: everyone's list, or the
    visitor's own.
    """

    history: History
    labels: RunLabels
    owner: str | None


def stop_if_off() -> None:
    if visitor.mode() == visitor.OFF:
        widgets.notes(
            "The history is switched off on this server. Links to finished runs still work."
        )
        st.stop()


def run_list() -> RunList:
    """Return the visitor's list of runs. Raises RecipeError if the history can't be reached."""
    mine = visitor_runs.own()
    return RunList(
        visitor_runs.history(), mine or visitor_runs.history(), mine.owner if mine else None
    )


def choices(run_list: RunList) -> Choices:
    with database_errors_as_sentences():
        return listing.choices(run_list.history, run_list.owner)


def nothing_yet(run_list: RunList) -> None:
    """Draw an empty history, and suggest what to do next."""
    st.subheader("No run yet", anchor=False)
    st.markdown(
        "Train something, and it appears here at once: *Train* runs the sidebar's recipe, and "
        "*Compare* runs a whole grid."
        + (
            ""
            if run_list.owner
            else " Or import a bundle below that someone exported from another lab."
        )
    )
    if st.button("Go to Train", key="history.train", type="primary", icon=":material/play_arrow:"):
        switch("train")


def query_controls(run_list: RunList, choices: Choices) -> Query:
    """Draw the widgets for search, filters and order. Returns the query."""
    first, second, third, fourth = st.columns([4, 4, 3, 2], vertical_alignment="bottom")
    text = first.text_input(
        "Search",
        key=SEARCH,
        max_chars=MAX_SEARCH,
        persist_state="session",
        icon=":material/search:",
        placeholder="fac.non, k = 10, a name, tag, error …",
        help="Each word must occur in the run's row: in its name or title (such as SP, k = 10), "
        "status, source, file, statistic, transform, refinement, tags, version or error message; "
        "or the run's key must begin with it.",
    )
    order = second.selectbox(
        "Order by",
        [NEWEST, *(score.field for score in METRICS)],
        format_func=lambda name: "time" if name == NEWEST else SCORE_OF[name].title,
        key=ORDER,
        persist_state="session",
    )
    directions = ("newest", "oldest") if order == NEWEST else ("best", "worst")
    last = third.segmented_control(
        "First",
        [False, True],
        default=False,
        format_func=lambda worst: directions[worst],
        required=True,
        key=LAST,
        persist_state="session",
    )
    filters = (
        ("Status", [state for state in STATES if state in choices.states]),
        ("Learner", list(choices.learners)),
        ("Source", list(choices.sources)),
        ("Tag", list(choices.tags)),
    )
    used = sum(bool(st.session_state.get(key)) for key in FILTERS)
    with fourth.popover(
        f"Filter ({used})" if used else "Filter",
        icon=":material/filter_list:",
        width="stretch",
        key="history.filter",
    ):
        filter_values = [
            _several(label, options, key)
            for (label, options), key in zip(filters, FILTERS, strict=True)
        ]
    titles = tuple(uploads.all_titles().items()) if text else ()
    return Query(
        text or "",
        *map(tuple, filter_values),
        order=order,
        last=last,
        owner=run_list.owner,
        titles=titles,
    )


def _several(label: str, options: list[str], key: str) -> list[str]:
    """Draw a filter.

    A chosen value stays an option when the last run with it is deleted, because the run may be
    restored.
    """
    options = [
        *options,
        *(option for option in st.session_state.get(key) or [] if option not in options),
    ]
    write = history_tables.state_word if label == "Status" else str
    values: list[str] = st.multiselect(
        label,
        options,
        format_func=write,
        key=key,
        persist_state="session",
        placeholder="all",
        disabled=not options,
    )
    return values


def page_of(run_list: RunList, query: Query) -> Listing:
    """Return the runs on the current page of the table; those of the last page if the current page
    no longer exists.
    """
    with database_errors_as_sentences():
        page = listing.list_runs(run_list.history, query, _offset(), PAGE_SIZE)
        if page.total and not page.runs:
            st.session_state[PAGE] = _num_pages(page)
            page = listing.list_runs(run_list.history, query, _offset(), PAGE_SIZE)
    return page


def _offset() -> int:
    return (max(1, st.session_state.get(PAGE) or 1) - 1) * PAGE_SIZE


def _num_pages(page: Listing) -> int:
    return -(-page.total // PAGE_SIZE)


def table(run_list: RunList, page: Listing, query: Query) -> list[Run]:
    """Draw the table. Returns the runs that the visitor has ticked."""
    if not page.runs:
        st.markdown("**No matching runs.** Try fewer words or clear the filters.")
        st.button("Show all runs", key="history.all", on_click=_clear)
        return []
    first = _offset() + 1
    some = f"Runs {first:,}–{first + len(page.runs) - 1:,} of {page.total:,}"
    st.markdown(
        f"{page.total:,} run{'' if page.total == 1 else 's'}"
        if page.total == len(page.runs)
        else some
    )
    titles = uploads.titles(*map(history_tables.recipe_of, page.runs))
    columns = history_tables.runs_table(page.runs, query.order, st.context.timezone, titles)
    helps = {
        "time": st.column_config.Column(help="Wall time of all stages"),
        "tags": st.column_config.Column(width=120),
    }
    state = widgets.draw_table(
        columns,
        f"history.runs.{_digest(page.runs)}",
        "Runs of the history, with the options that differ and their scores",
        helps,
        height=ROW_PIXELS * (min(len(page.runs), MAX_SHOWN_ROWS) + 1) + 4,
        on_select="rerun",
        selection_mode="multi-row",
    )
    files = {"csv": history_tables.export_table(page.runs), "latex": columns, "markdown": columns}
    widgets.table_downloads(files, "runs", "history.runs.files")
    _pager(page)
    return [page.runs[row] for row in state["selection"]["rows"] if row < len(page.runs)]


def _digest(rows: Sequence[Run]) -> str:
    """Make a key for the table's widget that changes with the rows, so ticks do not move to
    other runs.
    """
    return hashlib.sha256("".join(run.key for run in rows).encode()).hexdigest()[:12]


def _clear() -> None:
    st.session_state[SEARCH] = ""
    for key in FILTERS:
        st.session_state[key] = []


def _pager(page: Listing) -> None:
    left, right = st.columns([3, 2], vertical_alignment="top")
    left.caption(
        "Only options that differ between these rows are shown. Each run's scores are on its "
        f"own test strings, so compare only runs with the same strings. {BETTER}."
    )
    if _num_pages(page) > 1:
        right.pagination(_num_pages(page), key=PAGE, max_visible_pages=5, persist_state="session")


def one_run(run_list: RunList, picked: Sequence[Run]) -> None:
    """Draw a ticked run in full: how it ended, its scores, curves and diagnostics, and all its
    options.
    """
    if len(picked) != 1:
        return
    with database_errors_as_sentences():
        rows = listing.get_runs(run_list.history, [picked[0].key], run_list.owner)
    for run in rows.values():
        st.subheader(escape_markdown(history_tables.run_name(run)), anchor=False)
        zone = st.context.timezone
        moments = (
            f"Submitted {history_tables.format_time(run.submitted, zone)}, ended "
            f"{history_tables.format_time(run.ended, zone)}"
        )
        st.caption(escape_markdown(f"{moments}. Version {run.version}, key {run.key[:12]}…"))
        reason = history_tables.reason(run)
        if reason:
            widgets.warnings(f"{history_tables.state_word(run.state).capitalize()}. {reason}")
        if history_tables.is_from_upload(run):
            widgets.notes(
                "The history and bundles contain only a hash of this run's strings, not the "
                "strings."
            )
        _results(run)
        recipe = history_tables.recipe_of(run)
        if recipe is not None:
            with st.expander("All options"):
                widgets.draw_table(
                    difference_table({"value": recipe}, True, uploads.titles(recipe)),
                    "history.options",
                    "All options of the run",
                )


def _results(run: Run) -> None:
    """Draw a run's scores, times, loss curves, diagnostics and warnings."""
    scores = history_tables.scores_of(run)
    if scores:
        score_tables.score_table({history_tables.run_name(run): scores}, "history.scores")
        intervals = _intervals(run)
        if intervals and not any(interval.is_known for interval in intervals.values()):
            st.caption(interval_sentence({history_tables.run_name(run): intervals}))
        elif intervals:
            with st.expander("95 % intervals of the scores"):
                widgets.draw_table(
                    interval_table(intervals), "history.intervals", "Intervals of the run's scores"
                )
                st.caption(COVERS)
    if run.seconds:
        st.caption(result_tables.time_sentence(run.seconds))
    curves = history_tables.loss_curves(run)
    left, right = st.columns(2, gap="medium")
    if curves:
        with left:
            recipe = history_tables.recipe_of(run)
            loss_charts(
                curves, "history.losses", linear_loss(Context(recipe), curves) if recipe else None
            )
            widgets.training_lines(run.learner, history_tables.training_lines(run))
    diagnostics = history_tables.diagnostics_table(run)
    if diagnostics:
        with right if curves else left:
            widgets.draw_table(diagnostics, "history.diagnostics", "Diagnostics of the run")
    widgets.warning_list(history_tables.warnings(run))
    widgets.note_list(history_tables.notes(run))


def _intervals(run: Run) -> dict[str, Interval]:
    """Compute the intervals of a run's scores; empty if its result or its test strings are not on
    this server.
    """
    recipe = history_tables.recipe_of(run)
    if recipe is None or run.state != "done":
        return {}
    try:
        return Context(recipe).score_intervals
    except RecipeError:
        return {}


def expect() -> None:
    """Let the table update itself for a while, because it does not yet show runs that were just
    submitted.
    """
    st.session_state[EXPECTED] = monotonic() + EXPECT_SECONDS


def watch(run_list: RunList, page: Listing, query: Query) -> None:
    """Update the table at short intervals while runs on this page are queued or running."""
    if (
        any(run.state in UNDER_WAY for run in page.runs)
        or st.session_state.get(EXPECTED, 0.0) > monotonic()
    ):
        st.fragment(_look, run_every=WATCH_SECONDS)(run_list, page, query)


@errors_as_messages()
def _look(run_list: RunList, page: Listing, query: Query) -> None:
    with database_errors_as_sentences():
        now = listing.list_runs(run_list.history, query, _offset(), PAGE_SIZE)
    if [(run.key, run.state) for run in now.runs] != [(run.key, run.state) for run in page.runs]:
        st.rerun()
    number = sum(run.state in UNDER_WAY for run in now.runs)
    if number:
        st.caption(
            f"{number} of these runs {'are' if number > 1 else 'is'} queued or running: the "
            "table updates itself."
        )


def actions(run_list: RunList, picked: Sequence[Run], tags: Sequence[str]) -> None:
    """Draw the buttons for the ticked runs."""
    if not picked:
        st.markdown(
            "Tick a run at the left of its row to open, pin, name or delete it and to see "
            "its curves. Tick several to act on all "
            "of them."
        )
        return
    over = [run for run in picked if run.state not in UNDER_WAY]
    again = [run for run in over if run.state != "done"]
    done = [run for run in over if run.state == "done"]
    with st.container(horizontal=True, key="history.actions", vertical_alignment="center"):
        if len(picked) == 1:
            text = "Set the sidebar to this run, and see its results on Train"
            st.button(
                "Open",
                key="history.open",
                type="primary",
                icon=":material/open_in_new:",
                on_click=_open,
                args=(picked[0],),
                help=text,
            )
            for name in pins.NAMES:
                st.button(
                    f"Pin {name}",
                    key=f"history.pin.{name}",
                    icon=":material/keep:",
                    on_click=_pin,
                    args=(name, picked[0]),
                )
        if again:
            text = "Start the unfinished runs again, from the beginning"
            st.button(
                "Run again",
                key="history.again",
                icon=":material/replay:",
                on_click=_again,
                args=(again,),
                help=text,
            )
        _labels(run_list, picked, tags)
        if done:
            _export(run_list, done)
        if over:
            label = "Delete" if len(over) == 1 else f"Delete {len(over)}"
            st.button(
                label,
                key="history.delete",
                icon=":material/delete:",
                on_click=_delete,
                args=(run_list, [run.key for run in over]),
            )
    if len(over) < len(picked):
        st.caption("To delete a running job, open it and cancel it first.")
    if st.session_state.pop(OPENED, False):
        switch("train")


def _open(run: Run) -> None:
    try:
        recipe = _settable_recipe(run)
    except RecipeError as error:
        error_toast(f"{error} Nothing was changed.")
        return
    sidebar.set_recipe(recipe)
    st.session_state[OPENED] = True


def _settable_recipe(run: Run) -> Recipe:
    """Return a run's recipe.

    Raises RecipeError if the sidebar can't be set to it, or its strings are not on this server.
    """
    recipe = _recipe(run)
    sidebar.check_settable(recipe)
    for name in recipe.data.uploads:
        try:
            contents.uploads().get(name)
        except RecipeError:
            raise RecipeError(
                "The strings of this run are not on this server, and the history keeps only a "
                "hash of them. Upload the same file on the Data page, or paste the same strings, "
                "then open the run again."
            ) from None
    return recipe


def _recipe(run: Run) -> Recipe:
    recipe = history_tables.recipe_of(run)
    if recipe is None:
        raise RecipeError(
            f"The options of this run, made by version {run.version} of the lab, can't be read."
        )
    return recipe


def _pin(name: str, run: Run) -> None:
    try:
        pins.pin(name, _recipe(run))
    except RecipeError as error:
        error_toast(error)
    else:
        st.toast(
            f"Pinned as {name}: Compare shows the pinned runs side by side.", icon=":material/keep:"
        )


def _again(unfinished: Iterable[Run]) -> None:
    try:
        visitor_runs.submit(*(_recipe(run) for run in unfinished))
    except RecipeError as error:
        error_toast(error)
    expect()


def interrupted_bar(run_list: RunList, choices: Choices) -> None:
    """Draw the runs that were interrupted when a server stopped, with a button that starts them
    again.
    """
    number = choices.states.get("interrupted")
    if number:
        with st.container(horizontal=True, key="history.interrupted", vertical_alignment="center"):
            st.markdown(
                f"**{number:,} run{'s were' if number > 1 else ' was'} interrupted** when a "
                "server stopped."
            )
            st.button(
                "Run again",
                key="history.go_on",
                icon=":material/replay:",
                on_click=_run_interrupted,
                args=(run_list,),
            )


def _run_interrupted(run_list: RunList) -> None:
    try:
        with database_errors_as_sentences():
            interrupted = listing.list_runs(
                run_list.history, Query(states=("interrupted",), owner=run_list.owner), 0, MAX_RUNS
            )
    except RecipeError as error:
        error_toast(error)
    else:
        _again(run for run in interrupted.runs if history_tables.recipe_of(run))


def _labels(run_list: RunList, picked: Sequence[Run], tags: Sequence[str]) -> None:
    """Draw a form for the name and the tags of one run, or for tags to add to several runs."""
    one = picked[0] if len(picked) == 1 else None
    with st.popover(
        "Name and tags" if one else f"Tag {len(picked)}",
        icon=":material/label:",
        key="history.labels",
    ):
        form = one.key[:12] if one else "several"
        with st.form(f"history.form.{form}", border=False):
            if one:
                st.text_input(
                    "Name",
                    one.name,
                    max_chars=MAX_NAME,
                    key=f"history.name.{form}",
                    placeholder=history_tables.run_name(one),
                )
            st.multiselect(
                "Tags" if one else "Tags to add",
                sorted({*tags, *(one.tags if one else ())}),
                default=one.tags if one else None,
                key=f"history.tags_of.{form}",
                accept_new_options=True,
                max_selections=MAX_TAGS,
                placeholder="choose, or type a new one",
                help=f"At most {MAX_TAGS}, each with at most {MAX_TAG} characters.",
            )
            st.form_submit_button(
                "Save",
                key="history.save",
                icon=":material/check:",
                on_click=_save,
                args=(run_list, picked, form),
            )


def _save(run_list: RunList, picked: Sequence[Run], form: str) -> None:
    tags = list(st.session_state.get(f"history.tags_of.{form}") or [])
    try:
        with database_errors_as_sentences():
            for run in picked:
                if len(picked) == 1:
                    run_list.labels.rename(
                        run.key, (st.session_state.get(f"history.name.{form}") or "").strip()
                    )
                run_list.labels.tag(run.key, tags if len(picked) == 1 else [*run.tags, *tags])
    except RecipeError as error:
        error_toast(error)


def _delete(run_list: RunList, keys: list[str]) -> None:
    try:
        with database_errors_as_sentences():
            run_list.labels.delete(keys)
    except RecipeError as error:
        error_toast(error)
    else:
        st.session_state[DELETED] = keys


def undo_bar(run_list: RunList) -> None:
    """Draw a sentence about the last deletion, with a button that undoes it."""
    keys = st.session_state.get(DELETED)
    if keys:
        with st.container(horizontal=True, key="history.deleted_bar", vertical_alignment="center"):
            suffix = " from your list" if run_list.owner else ""
            st.markdown(f"**{len(keys)} run{'s' if len(keys) > 1 else ''} deleted**{suffix}.")
            st.button(
                "Undo",
                key="history.undo",
                icon=":material/undo:",
                type="primary",
                on_click=_restore,
                args=(run_list, keys),
            )
            st.button(
                "Dismiss",
                key="history.dismiss",
                type="tertiary",
                on_click=st.session_state.pop,
                args=(DELETED, None),
            )


def _restore(run_list: RunList, keys: list[str]) -> None:
    try:
        with database_errors_as_sentences():
            run_list.labels.restore(keys)
    except RecipeError as error:
        error_toast(error)
    else:
        st.session_state.pop(DELETED, None)


def _export(run_list: RunList, done: Sequence[Run]) -> None:
    """Draw the download of finished runs as one file, a bundle. A large bundle is packed only on
    demand.

    The button gets bytes, not a function that makes them, because Streamlit loses the function if a
    part of the page redraws itself.
    """
    keys = tuple(run.key for run in done)
    label = "Export" if len(done) == 1 else f"Export {len(done)}"
    if (
        st.session_state.get(PACKED) != keys
        and sum(server.bytes_on_disk(f"runs/{key}") for key in keys) > AT_ONCE_BYTES
    ):
        text = "Pack these runs into one file, to keep or to import into another lab"
        st.button(
            label,
            key="history.pack",
            icon=":material/folder_zip:",
            on_click=_pack,
            args=(keys,),
            help=text,
        )
        return
    try:
        with database_errors_as_sentences():
            data = _bundle(keys, run_list.owner, tuple(f"{run.name}\0{run.tags}" for run in done))
    except RecipeError as error:
        st.caption(escape_markdown(str(error)))
        return
    st.download_button(
        label,
        data,
        "nlwfa-runs.zip",
        "application/zip",
        key="history.export",
        icon=":material/download:",
        on_click="ignore",
        help="Finished runs as one file, to keep or to import into another lab. Your own strings "
        "are not in it",
    )


@st.cache_data(max_entries=4, ttl=600, show_spinner="Packing…")
def _bundle(keys: tuple[str, ...], owner: str | None, labels: tuple[str, ...]) -> bytes:
    """Pack finished runs into one file.

    `labels`, the runs' names and tags, are in the file, so the cache depends on them.
    """
    return export_runs(server.home(), visitor_runs.history(), keys, owner)


def _pack(keys: tuple[str, ...]) -> None:
    st.session_state[PACKED] = keys


def import_control(run_list: RunList) -> None:
    """Draw an uploader for bundles, unless visitors have their own lists.

    All visitors with the same recipe share one result. So nobody may import results that others
    would take for results of this server.
    """
    if run_list.owner is not None:
        return
    with st.expander("Import a bundle", icon=":material/upload:", key="history.bring"):
        st.markdown(
            "A file made by *Export*, here or in another lab. Runs that are already here "
            "stay as they are."
        )
        st.file_uploader(
            "Bundle (zip)",
            type="zip",
            key=BUNDLE,
            max_upload_size=limits.upload_megabytes(),
            on_change=_import,
        )
        uploads.refusal(BUNDLE)
        st.caption(
            "Every file in it is checked before anything is saved, and nothing in it is ever "
            "executed. A bundle never contains strings that somebody uploaded or pasted."
        )


def _import() -> None:
    file = st.session_state.get(BUNDLE)
    if file is None:
        return
    uploads.forget_refusals()
    try:
        with database_errors_as_sentences():
            imported = import_runs(server.home(), visitor_runs.history(), file.getvalue())
    except RecipeError as error:
        uploads.refuse(BUNDLE, file.name, error)
    else:
        new = len(imported.new)
        old = len(imported.present)
        already = f"; {old} {'was' if old == 1 else 'were'} already here" if old else ""
        # no undo for deleted runs, because the import may have brought them back
        st.session_state.pop(DELETED, None)
        st.toast(f"{new} run{'' if new == 1 else 's'} imported{already}.", icon=":material/check:")
