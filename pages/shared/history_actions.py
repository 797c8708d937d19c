"""What can be done with runs of the history: open, run again, pin, name and tag, delete and take that back, bundles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from nlwfa_core import Recipe, RecipeError, limits
from nlwfa_core.history import listing
from nlwfa_core.history.bundles import MAX_RUNS, import_runs
from nlwfa_core.history.database import told
from nlwfa_core.history.listing import Choices, Query
from nlwfa_core.history.runs import MAX_NAME, MAX_TAG, MAX_TAGS, Run
from nlwfa_core.lab import history as history_tables
from nlwfa_core.lab.export.script import uploads_of
from pages.shared import controls, exports, pins, runs
from pages.shared.history_view import UNDER_WAY, Shelf, expect
from pages.shared.navigation import switch
from pages.shared.text import literal

DELETED, OPENED, PACKED = "history.deleted", "history.opened", "history.packed"
BUNDLE = "history.bundle"
AT_ONCE_BYTES = 5_000_000  # a bundle of so much is packed before anybody asks


def actions(shelf: Shelf, picked: Sequence[Run], tags: Sequence[str]) -> None:
    """Buttons for the ticked runs."""
    if not picked:
        st.markdown(
            "Tick a run at the left of its row to open, pin, name or delete it and to see its curves; several to act on all."
        )
        return
    over = [run for run in picked if run.state not in UNDER_WAY]
    again = [run for run in over if run.state != "done"]
    done = [run for run in over if run.state == "done"]
    with st.container(horizontal=True, key="history.actions", vertical_alignment="center"):
        if len(picked) == 1:
            text = "The sidebar says what this run says; what came of it is there at once"
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
                st.button(f"Pin {name}", key=f"history.pin.{name}", icon=":material/keep:", on_click=_pin, args=(name, picked[0]))
        if again:
            label = "Go on" if all(run.state == "interrupted" for run in again) else "Run again"
            text = "Whatever did not come to its end is run anew, from its beginning"
            st.button(label, key="history.again", icon=":material/replay:", on_click=_again, args=(again,), help=text)
        _labels(shelf, picked, tags)
        if done:
            _export(shelf, done)
        if over:
            label = "Delete" if len(over) == 1 else f"Delete {len(over)}"
            st.button(
                label, key="history.delete", icon=":material/delete:", on_click=_delete, args=(shelf, [run.key for run in over])
            )
    if len(over) < len(picked):
        st.caption("What is under way can be cancelled where it was started, and deleted then.")
    if st.session_state.pop(OPENED, False):
        switch("train")


def _open(run: Run) -> None:
    try:
        recipe = _sayable(run)
    except RecipeError as error:
        st.toast(literal(f"{error} Nothing was changed."), icon=":material/error:", duration="long")
        return
    controls.set_recipe(recipe)
    st.session_state[OPENED] = True


def _sayable(run: Run) -> Recipe:
    """Raises RecipeError where the sidebar can't say what a run was, or its strings are not here."""
    recipe = _recipe(run)
    exports.check_sayable(recipe)
    for name in uploads_of(recipe):
        try:
            runs.runner().files.get(name)
        except RecipeError:
            raise RecipeError(
                "The strings of this run were uploaded, and are not on this server: the history has their content hash alone. "
                "Upload the same file on the Data page, then open the run again."
            ) from None
    return recipe


def _recipe(run: Run) -> Recipe:
    recipe = history_tables.recipe_of(run)
    if recipe is None:
        raise RecipeError(f"Version {run.version} of the lab made this run, and this version can't read its options.")
    return recipe


def _pin(name: str, run: Run) -> None:
    try:
        pins.pin(name, _recipe(run))
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    else:
        st.toast(f"Pinned as {name}: Compare has both side by side.", icon=":material/keep:")


def _again(found: Iterable[Run]) -> None:
    try:
        runs.submit(*(_recipe(run) for run in found))
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    expect()


def go_on_bar(shelf: Shelf, choices: Choices) -> None:
    """Runs that a server left behind when it stopped: one click sets them going again."""
    if number := choices.states.get("interrupted"):
        with st.container(horizontal=True, key="history.interrupted", vertical_alignment="center"):
            st.markdown(f"**{number:,} run{'s were' if number > 1 else ' was'} interrupted** when a server stopped.")
            st.button("Go on", key="history.go_on", icon=":material/replay:", on_click=_go_on, args=(shelf,))


def _go_on(shelf: Shelf) -> None:
    try:
        with told():
            found = listing.listed(shelf.history, Query(states=("interrupted",), owner=shelf.owner), 0, MAX_RUNS)
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    else:
        _again(run for run in found.runs if history_tables.recipe_of(run))


def _labels(shelf: Shelf, picked: Sequence[Run], tags: Sequence[str]) -> None:
    """A form: name and tags of one run; tags that several runs get besides theirs."""
    one = picked[0] if len(picked) == 1 else None
    with st.popover("Name and tags" if one else f"Tag {len(picked)}", icon=":material/label:", key="history.labels"):
        place = one.key[:12] if one else "several"
        with st.form(f"history.form.{place}", border=False):
            if one:
                st.text_input(
                    "Name", one.name, max_chars=MAX_NAME, key=f"history.name.{place}", placeholder=history_tables.called(one)
                )
            st.multiselect(
                "Tags" if one else "Tags to add",
                sorted({*tags, *(one.tags if one else ())}),
                default=one.tags if one else None,
                key=f"history.tags_of.{place}",
                accept_new_options=True,
                max_selections=MAX_TAGS,
                placeholder="choose, or write a new one",
                help=f"At most {MAX_TAGS}, each of at most {MAX_TAG} characters.",
            )
            st.form_submit_button("Save", key="history.save", icon=":material/check:", on_click=_save, args=(shelf, picked, place))


def _save(shelf: Shelf, picked: Sequence[Run], place: str) -> None:
    chosen = list(st.session_state.get(f"history.tags_of.{place}") or [])
    try:
        with told():
            for run in picked:
                if len(picked) == 1:
                    shelf.labels.rename(run.key, (st.session_state.get(f"history.name.{place}") or "").strip())
                shelf.labels.tag(run.key, chosen if len(picked) == 1 else [*run.tags, *chosen])
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")


def _delete(shelf: Shelf, keys: list[str]) -> None:
    try:
        with told():
            shelf.labels.delete(keys)
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    else:
        st.session_state[DELETED] = keys


def undo_bar(shelf: Shelf) -> None:
    """What was deleted last, and the way back."""
    if keys := st.session_state.get(DELETED):
        with st.container(horizontal=True, key="history.deleted_bar", vertical_alignment="center"):
            whose = "from your list" if shelf.owner else ""
            st.markdown(f"**{len(keys)} run{'s' if len(keys) > 1 else ''} deleted** {whose}".strip() + ".")
            st.button("Undo", key="history.undo", icon=":material/undo:", type="primary", on_click=_restore, args=(shelf, keys))
            st.button("Dismiss", key="history.dismiss", type="tertiary", on_click=st.session_state.pop, args=(DELETED, None))


def _restore(shelf: Shelf, keys: list[str]) -> None:
    try:
        with told():
            shelf.labels.restore(keys)
    except RecipeError as error:
        st.toast(literal(str(error)), icon=":material/error:", duration="long")
    else:
        st.session_state.pop(DELETED, None)


def _export(shelf: Shelf, done: Sequence[Run]) -> None:
    """Bytes, not what makes them: Streamlit loses that beside a part of the page that draws itself again. Large ones on demand."""
    keys = tuple(run.key for run in done)
    label = "Export" if len(done) == 1 else f"Export {len(done)}"
    if st.session_state.get(PACKED) != keys and sum(runs.bytes_on_disk(f"runs/{key}") for key in keys) > AT_ONCE_BYTES:
        text = "Make one file of them, to keep, or to bring into another lab"
        st.button(label, key="history.pack", icon=":material/folder_zip:", on_click=_pack, args=(keys,), help=text)
        return
    try:
        with told():
            data = runs.bundle(keys, shelf.owner, tuple(f"{run.name}\0{run.tags}" for run in done))
    except RecipeError as error:
        st.caption(literal(str(error)))
        return
    st.download_button(
        label,
        data,
        "nlwfa-runs.zip",
        "application/zip",
        key="history.export",
        icon=":material/download:",
        on_click="ignore",
        help="Finished runs as one file, to keep, or to bring into another lab. Uploaded strings are not in it",
    )


def _pack(keys: tuple[str, ...]) -> None:
    st.session_state[PACKED] = keys


def import_control(shelf: Shelf) -> None:
    """A place for a bundle. Results are shared by all who follow the same recipe, so where people have lists of their own, nobody
    brings in what others would then take for this server's."""
    if shelf.owner is not None:
        return
    with st.expander("Bring in a bundle", icon=":material/upload:", key="history.bring"):
        st.markdown("A file that *Export* made, here or in another lab. Runs that are here already stay as they are.")
        st.file_uploader("Bundle (zip)", type="zip", key=BUNDLE, max_upload_size=limits.upload_megabytes(), on_change=_import)
        st.caption(
            "Every file in it is checked before anything is kept, and nothing in it is ever run. Uploaded strings are not in it."
        )


def _import() -> None:
    file = st.session_state.get(BUNDLE)
    if file is None:
        return
    try:
        with told():
            found = import_runs(runs.home(), runs.history(), file.getvalue())
    except RecipeError as error:
        st.toast(literal(f"{error} – Nothing was changed."), icon=":material/error:", duration="long")
    else:
        new, known = len(found.new), len(found.known)
        there = f"; {known} {'was' if known == 1 else 'were'} here already" if known else ""
        said = f"{new} run{'' if new == 1 else 's'} brought in{there}"
        st.session_state.pop(DELETED, None)  # it may be among them
        st.toast(f"{said}.", icon=":material/check:")
