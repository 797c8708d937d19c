"""What the History page shows: whose runs, filters and order, a page of the table, one run at length."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pandas as pd
import streamlit as st

from nlwfa_core.history import listing
from nlwfa_core.history.database import told
from nlwfa_core.history.listing import NEWEST, Choices, Listing, Query
from nlwfa_core.history.owners import Own
from nlwfa_core.history.runs import STATES, History, Run
from nlwfa_core.lab import history as history_tables
from nlwfa_core.lab import tables
from nlwfa_core.lab.options import difference_table
from nlwfa_core.lab.palette import METRIC_TITLES
from pages.shared import blocks, people, runs
from pages.shared.navigation import switch
from pages.shared.safety import calm
from pages.shared.text import literal
from pages.shared.training import loss_charts

PAGE_SIZE = 50
MAX_SHOWN_ROWS = 12  # what the table shows before it scrolls
ROW_PIXELS = 35
WATCH_SECONDS, EXPECT_SECONDS = 2.0, 10.0
EXPECTED = "history.expected"
UNDER_WAY = ("queued", "running")
FILTERS = ("history.states", "history.learners", "history.sources", "history.tags")
SEARCH, ORDER, LAST, PAGE = "history.text", "history.order", "history.last", "history.page"


@dataclass(frozen=True, eq=False)
class Shelf:
    """The runs that this visitor may see; labels and deletions go to all, or to the visitor's own list."""

    history: History
    labels: History | Own
    owner: str | None


def stop_if_off() -> None:
    if people.mode() == people.OFF:
        blocks.notes("The history is switched off on this server. Trained runs are still found again by their links.")
        st.stop()


def shelf() -> Shelf:
    """Raises RecipeError if the history can't be reached."""
    mine = runs.own()
    return Shelf(runs.history(), mine or runs.history(), mine.owner if mine else None)


def choices(shelf: Shelf) -> Choices:
    with told():
        return listing.choices(shelf.history, shelf.owner)


def nothing_yet(shelf: Shelf) -> None:
    """What to do next."""
    st.subheader("No run yet", anchor=False)
    st.markdown(
        "Train something, and it is here at once: the *Train* page runs what the sidebar says, *Compare* a whole grid."
        + ("" if shelf.owner else " Or bring in a bundle below, that somebody exported from another lab.")
    )
    if st.button("Go to Train", key="history.train", type="primary", icon=":material/play_arrow:"):
        switch("train")


def query_controls(shelf: Shelf, choices: Choices) -> Query:
    """Search, filters and order."""
    first, second, third, fourth = st.columns([4, 4, 3, 2], vertical_alignment="bottom")
    text = first.text_input(
        "Search",
        key=SEARCH,
        persist_state="session",
        icon=":material/search:",
        placeholder="name, tag, error …",
        help="Each word is in the name, in a tag or in the sentence of a failure, or begins the run's key.",
    )
    order = second.selectbox(
        "Order by",
        [NEWEST, *METRIC_TITLES],
        format_func=lambda name: "time" if name == NEWEST else METRIC_TITLES[name],
        key=ORDER,
        persist_state="session",
    )
    said = ("newest", "oldest") if order == NEWEST else ("best", "worst")
    last = third.segmented_control(
        "First",
        [False, True],
        default=False,
        format_func=lambda worst: said[worst],
        required=True,
        key=LAST,
        persist_state="session",
    )
    known = (
        ("Status", [state for state in STATES if state in choices.states]),
        ("Learner", list(choices.learners)),
        ("Source", list(choices.sources)),
        ("Tag", list(choices.tags)),
    )
    used = sum(bool(st.session_state.get(key)) for key in FILTERS)
    with fourth.popover(
        f"Filter ({used})" if used else "Filter", icon=":material/filter_list:", width="stretch", key="history.filter"
    ):
        wanted = [_several(label, options, key) for (label, options), key in zip(known, FILTERS, strict=True)]
    return Query(text or "", *map(tuple, wanted), order=order, last=last, owner=shelf.owner)


def _several(label: str, options: list[str], key: str) -> list[str]:
    """A filter. What it is set to stays among its options when the last such run goes: the run may come back."""
    options = [*options, *(option for option in st.session_state.get(key) or [] if option not in options)]
    said = history_tables.state_word if label == "Status" else str
    found: list[str] = st.multiselect(
        label, options, format_func=said, key=key, persist_state="session", placeholder="all", disabled=not options
    )
    return found


def page_of(shelf: Shelf, query: Query) -> Listing:
    """The runs on the page that the person is on; on the last one where there are no longer so many."""
    with told():
        found = listing.listed(shelf.history, query, _offset(), PAGE_SIZE)
        if found.total and not found.runs:
            st.session_state[PAGE] = _num_pages(found)
            found = listing.listed(shelf.history, query, _offset(), PAGE_SIZE)
    return found


def _offset() -> int:
    return (max(1, st.session_state.get(PAGE) or 1) - 1) * PAGE_SIZE


def _num_pages(page: Listing) -> int:
    return -(-page.total // PAGE_SIZE)


def table(shelf: Shelf, page: Listing, query: Query) -> list[Run]:
    """The table; returns the runs whose rows are ticked."""
    if not page.runs:
        st.markdown("**No run fits.** Search for less, or take filters out.")
        st.button("Show all runs", key="history.all", on_click=_clear)
        return []
    first = _offset() + 1
    some = f"Runs {first:,}–{first + len(page.runs) - 1:,} of {page.total:,}"
    st.markdown(f"{page.total:,} run{'' if page.total == 1 else 's'}" if page.total == len(page.runs) else some)
    columns = history_tables.runs_table(page.runs, query.order, st.context.timezone)
    config: dict[str, Any] = {
        name: st.column_config.Column(alignment="right") for name in columns if name.split(" (")[0] in tables.SCORE_COLUMNS
    }
    config["time"] = st.column_config.Column(help="Wall time of all stages", alignment="right")
    config |= {"run": st.column_config.Column(pinned=True), "tags": st.column_config.Column(width=120)}
    state = st.dataframe(
        pd.DataFrame(columns),
        hide_index=True,
        key=f"history.runs.{_digest(page.runs)}",
        height=ROW_PIXELS * (min(len(page.runs), MAX_SHOWN_ROWS) + 1) + 4,
        on_select="rerun",
        selection_mode="multi-row",
        column_config={name: config[name] for name in config if name in columns},
        alt="Runs of the history with what differs in their recipes, and their scores",
    )
    _pager(page)
    return [page.runs[row] for row in state["selection"]["rows"] if row < len(page.runs)]


def _digest(shown: Sequence[Run]) -> str:
    """Another table for other rows: ticks must not move to runs that have come into their places."""
    return hashlib.sha256("".join(run.key for run in shown).encode()).hexdigest()[:12]


def _clear() -> None:
    st.session_state[SEARCH] = ""
    for key in FILTERS:
        st.session_state[key] = []


def _pager(page: Listing) -> None:
    left, right = st.columns([4, 1], vertical_alignment="top")
    left.caption(
        "Of the options those are shown that differ among these rows. Scores are on each run's own test strings: compare runs "
        "whose strings are the same. Lower is better, but for NDCG@5."
    )
    if _num_pages(page) > 1:
        right.number_input("Page", 1, _num_pages(page), key=PAGE, persist_state="session")


def one_run(shelf: Shelf, picked: Sequence[Run]) -> None:
    """A ticked run at length: how it went, its scores, curves and diagnostics, and all its options."""
    if len(picked) != 1:
        return
    with told():
        found = listing.chosen(shelf.history, [picked[0].key], shelf.owner)
    for run in found.values():
        st.subheader(literal(history_tables.called(run)), anchor=False)
        zone = st.context.timezone
        moments = f"Asked for {history_tables.moment(run.submitted, zone)}, ended {history_tables.moment(run.ended, zone)}"
        st.caption(literal(f"{moments}. Version {run.version}, key {run.key[:12]}…"))
        if reason := history_tables.why(run):
            blocks.warnings(f"{history_tables.state_word(run.state).capitalize()}. {reason}")
        if history_tables.uploads_named(run):
            blocks.notes("Its strings were uploaded. The history and bundles have their content hash alone, not the strings.")
        _came_of(run)
        recipe = history_tables.recipe_of(run)
        if recipe is not None:
            with st.expander("All options"):
                blocks.text_table(difference_table({"value": recipe}, every=True), "history.options", "All options of the run")


def _came_of(run: Run) -> None:
    if scores := history_tables.scores_of(run):
        blocks.score_table({history_tables.called(run): scores}, "history.scores")
    if run.seconds:
        st.caption(tables.time_sentence(run.seconds))
    curves = history_tables.curves(run)
    left, right = st.columns(2, gap="medium")
    if curves:
        with left:
            loss_charts(curves, "history.losses")
    diagnostics = history_tables.diagnostics_table(run)
    if diagnostics["value"]:
        with right if curves else left:
            blocks.text_table(diagnostics, "history.diagnostics", "Diagnostics of the run")
    blocks.warning_list(history_tables.sentences(run))


def expect() -> None:
    """Something was set going: look at it for a while, even before its row says so."""
    st.session_state[EXPECTED] = monotonic() + EXPECT_SECONDS


def watch(shelf: Shelf, page: Listing, query: Query) -> None:
    """While runs of the page are under way, look whether they still are."""
    if any(run.state in UNDER_WAY for run in page.runs) or st.session_state.get(EXPECTED, 0.0) > monotonic():
        st.fragment(_look, run_every=WATCH_SECONDS)(shelf, page, query)


@calm()
def _look(shelf: Shelf, page: Listing, query: Query) -> None:
    with told():
        now = listing.listed(shelf.history, query, _offset(), PAGE_SIZE)
    if [(run.key, run.state) for run in now.runs] != [(run.key, run.state) for run in page.runs]:
        st.rerun()
    going = sum(run.state in UNDER_WAY for run in now.runs)
    if going:
        st.caption(f"{going} run{'s' if going > 1 else ''} of these under way: the table follows.")
