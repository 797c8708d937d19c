"""Draw the sidebar: the widgets of the one recipe that all pages share, and undo. Only this file
has keys of recipe widgets.

There is a widget for each field of the recipe's records that has an effect. What it looks like
follows from the field's declaration (`records.Option`). A widget's key is the field's flat name.
The address has a parameter of that name if the value differs from the lab's initial one.

Widgets take a third of the time needed to draw a page, so those that nobody sees are not drawn: on
pages that do not use them, in closed expanders, and in lessons. Their values stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from math import floor, log10
from typing import Any

import streamlit as st

from nlwfa_core import Recipe, RecipeError, limits
from nlwfa_core.display.result_tables import as_sentence
from nlwfa_core.errors import alternatives
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import (
    FIELDS,
    MOST_SYMBOLS,
    OF_ALL_SOURCES,
    OPTIONS,
    SYMBOL_FIELDS,
    UPLOADS,
    differences,
    flat,
    flat_name,
    over_limit,
    reading_fields,
    with_fields,
)
from nlwfa_core.files import SHA256
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.hankel.statistics import FOR_ALL_LEARNERS, STATISTICS, TRANSFORMS
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.shared_options import LearnerOptions, Networks, Refined
from nlwfa_core.records import options_of
from nlwfa_core.sources.tomita import LANGUAGES
from pages.shared import assignments, uploads, url_parameters
from pages.shared.navigation import navigation
from pages.shared.widgets import escape_markdown, opened

# The recipe with which a visitor begins, and the values of all its controls: the matrix is shown,
# though networks that are trained by likelihood do not read it. A link contains the fields that
# differ from them.
FIRST = with_fields(PRESETS["first-steps"][1], {"objective": "likelihood"})
FIRST_VALUES = flat(PRESETS["first-steps"][1]) | flat(FIRST)
# Flat names of the fields that have a control while they have an effect.
CONTROLS = tuple(
    name
    for name, (part, field) in FIELDS.items()
    if part != "learning" or any(LEARNERS[kind].could_have(field) for kind in HANKEL_LEARNERS)
)
# Flat name -> the values among which the sidebar offers a choice, each with a description.
CHOICES: dict[str, Mapping[str, str]] = {
    name: OPTIONS[name].choices for name in CONTROLS if OPTIONS[name].choices
} | {
    "learner": {name: LEARNERS[name].title for name in HANKEL_LEARNERS},
    "statistic": {name: STATISTICS[name] for name in FOR_ALL_LEARNERS},
}


# Flat names of fields that decide whether others have an effect.
CONDITIONS = {other for entry in OPTIONS.values() for each in entry.when for other in each}


def _options_of(kind: type[LearnerOptions]) -> list[str]:
    """List the flat names of a group of options that only some learners have."""
    shared = options_of(LearnerOptions)
    return [flat_name("learning", name) for name in options_of(kind) if name not in shared]


NETWORKS = _options_of(Networks)
REFINEMENT = _options_of(Refined)
VALUES = "controls.kept"
CURRENT = "controls.current"
HIDDEN = "controls.hidden"
LINKED = "controls.linked"
DRAWER = "controls.drawer"  # whether Explore's settings are open
EXPANDERS = {
    name: f"controls.{name}" for name in ("symbols", "held_out", "networks", "refinement")
}  # the sidebar's expanders -> their keys
ENTRIES = "controls.entries"
NUMBERS = "controls.num_strings"  # whether it is for uploads -> the last number of training strings
# What pages do not use: the sidebar, which on Explore is a drawer, or all of it but *Share*.
UNUSED = {"explore": "drawer", "learn": "no_sidebar"} | dict.fromkeys(
    ("classify", "practice", "build", "classroom", "history", "status"), "no_recipe"
)
UNDO_STACK = "undo.stack"
UNDO_LAST = "undo.last"
REDO_STACK = "undo.redo"
MOST_CHARACTERS = 200  # of a field that is text, such as the name of a column
MAX_CHANGES = 50

SidebarState = tuple[Recipe, dict[str, Any]]
# identifies an entry in the browser's history by its parameters
Entry = tuple[tuple[str, str], ...]


def recipe_controls(page: str, shown: Collection[str] = ()) -> Recipe:
    """Draw what a page uses of the sidebar.

    Parameters
    ----------
    page : str
    shown : collection of str
        The controls to draw; if there are none, all.

    Returns
    -------
    Recipe
        The sidebar's recipe, which `current()` then also returns.

    Raises
    ------
    RecipeError
        If the values are not a valid recipe.
    """
    refused = _read_address()
    _restore()
    effective = _effective()
    used = {*effective, *_of_part("hankel", FIRST_VALUES)}
    _upload_fields(st.session_state.get("source", _default("source")))
    with st.sidebar, st.container(key="recipe"):
        if shown and UNUSED.get(page) in (None, "drawer"):
            for name in [name for name in CONTROLS if name in used and name in shown]:
                _control(name, caption=False)
        elif not shown and _is_open(page):
            _all_controls(effective)
        assignments.receipt()
    there = {name: st.session_state[name] for name in CONTROLS if name in st.session_state}
    absent = [name for name in CONTROLS if name in used and name not in there]
    values = there | {name: _default(name) for name in absent}
    st.session_state[VALUES] = values
    recipe = with_fields(FIRST, {}, values)
    st.session_state[CURRENT] = recipe
    st.session_state.setdefault(NUMBERS, {})[recipe.data.source == "upload"] = (
        recipe.data.num_strings
    )
    st.session_state[HIDDEN] = _hidden_options(recipe, values)
    _write_address({name: value for name, value in values.items() if name in used})
    for name in refused.keys() & used:
        url_parameters.report_refused(name, refused[name], values[name])
    return recipe


def _is_open(page: str) -> bool:
    """Return whether a page shows all controls. In a lesson, Explore has no drawer, and the
    controls follow the lesson's text.
    """
    if UNUSED.get(page) == "drawer":
        return st.session_state.get(DRAWER, False) or bool(url_parameters.value("lesson"))
    return page not in UNUSED


def _all_controls(effective: list[str]) -> None:
    st.selectbox(
        "Begin with",
        list(PRESETS),
        index=None,
        format_func=lambda name: PRESETS[name][0],
        key="controls.preset",
        on_change=_apply_chosen_preset,
        placeholder="Choose a preset",
    )
    _data_controls(effective)
    _hankel_controls()
    if "num_prefixes" not in effective:
        st.caption(
            "Networks trained by likelihood don't use this matrix; *Hankel* and *Explore* show it."
        )
    _learning_controls(effective)


def _read_address() -> dict[str, str]:
    """Set the controls to the values of the address, in a session's first run and after Back;
    controls without a value there then have their defaults, or the values that they had at that
    entry of the history.

    Returns the values that are refused, flat name -> text.
    """
    came_back = url_parameters.came_back()
    if LINKED in st.session_state and not came_back:
        return {}
    st.session_state[LINKED] = True
    entry = st.session_state.get(ENTRIES, {}).get(_entry()) if came_back else None
    if entry is not None:
        _forget_other(entry)
        assignments.assign(entry)
        return {}
    linked = {
        name: st.query_params[name]
        for name in CONTROLS
        if name in st.query_params and name not in UPLOADS
    }
    values = {name: _parsed(name, text) for name, text in linked.items()}
    valid = {name: value for name, value in values.items() if value is not None}
    if came_back:
        _forget_other(valid)
    assignments.assign(valid)
    return {name: linked[name] for name in linked.keys() - valid.keys()}


def _parsed(name: str, text: str) -> Any:
    """Return the value that a string is for a field, None if its control does not accept it."""
    if name in CHOICES:
        return text if text in CHOICES[name] else None
    kind = OPTIONS[name].kind
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower())
    if kind not in (int, float):
        return text if len(text) <= _most_characters(name) else None
    number = url_parameters.number(text, whole=kind is int)
    smallest, largest = _bounds(name)
    if number is None or (smallest is not None and number < smallest):
        return None
    return number if largest is None or number <= largest else None


def _write_address(values: Mapping[str, Any]) -> None:
    """Set the address to the values that are not those with which the lab begins."""
    texts = {name: str(value) if value != _default(name) else "" for name, value in values.items()}
    url_parameters.put({name: texts.get(name, "") for name in CONTROLS if name not in UPLOADS})


def _hidden_options(recipe: Recipe, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the matrix and of learning that have no effect in a recipe: flat name
    -> value.

    A value that a learner refuses, and that nobody can see now, is left out.
    """

    def are_valid(options: Mapping[str, Any]) -> bool:
        with suppress(RecipeError):
            for learner in HANKEL_LEARNERS:
                of_learner(recipe, learner, options)
            return True
        return False

    effective = flat(recipe)
    # what the controls would begin with on a server that allows less than a field's default
    clamped = {
        name: entry.largest
        for name, entry in OPTIONS.items()
        if entry.largest is not None and not entry.by and entry.default > entry.largest
    }
    options = {
        name: value
        for name, value in {**clamped, **values}.items()
        if FIELDS[name][0] != "data" and name not in effective
    }
    if are_valid(options):
        return options
    valid: dict[str, Any] = {}
    for name, value in options.items():
        if are_valid({**valid, name: value}):
            valid[name] = value
    return valid


def _effective() -> list[str]:
    """List the flat names of the fields that have an effect with the choices in this session."""
    choices = {
        name: st.session_state[name]
        for name in CONTROLS
        if name in st.session_state
        and (name in CHOICES or name in CONDITIONS or OPTIONS[name].kind is bool)
    }
    return list(flat(with_fields(FIRST, {}, choices)))


def remember_values() -> None:
    """Remember the values of all controls, including hidden ones, for when Back returns to this
    address.
    """
    entries: dict[Entry, dict[str, Any]] = st.session_state.setdefault(ENTRIES, {})
    entry = _entry()
    entries.pop(entry, None)
    entries[entry] = saved_values()
    for oldest in list(entries)[:-MAX_CHANGES]:
        del entries[oldest]


def _entry() -> Entry:
    return tuple(sorted(st.query_params.to_dict().items()))


def saved_values() -> dict[str, Any]:
    """Return the values of all controls, including hidden ones."""
    return dict(st.session_state[VALUES])


def hidden_options() -> dict[str, Any]:
    """Return the options of the matrix and of learning that the sidebar remembers, and that have no
    effect in its recipe, for recipes of other learners: flat name -> value.
    """
    return dict(st.session_state.get(HIDDEN, {}))


def of_learner(recipe: Recipe, learner: str, options: Mapping[str, Any]) -> Recipe:
    """Copy a recipe with another learner, and with those of some options that have an effect there:
    flat name -> value.

    A page asks for the same recipes again and again, so the last ones are kept. Raises RecipeError
    if an option is not valid.
    """
    typed = ((name, type(value), value) for name, value in options.items())
    return _of_learner(recipe, learner, tuple(typed))


@lru_cache(maxsize=1024)
def _of_learner(recipe: Recipe, learner: str, options: tuple[tuple[str, type, Any], ...]) -> Recipe:
    return with_fields(recipe, {"learner": learner}, {name: value for name, _, value in options})


def set_values(values: dict[str, Any]) -> None:
    """Set controls, including hidden ones.

    Call this in callbacks, because widgets can't be set once they are drawn.
    """
    assignments.assign(values | {"controls.preset": None})


def current() -> Recipe:
    """Return the recipe that the sidebar holds in this rerun."""
    if CURRENT not in st.session_state:
        # When a server's very first visitor opens a page, Streamlit runs that page without the
        # entry file, because there is a folder called `pages`. A call of st.navigation ends that
        # mode permanently; then the same page runs again.
        navigation()
        st.rerun()
    recipe: Recipe = st.session_state[CURRENT]
    return recipe


def matrix() -> HankelRecipe:
    """Return the Hankel matrix that the sidebar's controls describe, whether or not its learner
    reads it.
    """
    recipe = current()
    if recipe.needs_hankel:
        return recipe.hankel
    return of_learner(recipe, HANKEL_LEARNERS[0], hidden_options()).hankel


def set_drawer(is_open: bool) -> None:
    """Remember whether Explore's settings are open."""
    st.session_state[DRAWER] = is_open


def page_recipe(title: str, text: str) -> Recipe:
    """Draw a page's heading. Returns the sidebar's recipe."""
    recipe = current()
    st.title(title)
    st.markdown(text)
    return recipe


def hide_unused(page: str) -> None:
    """Hide the parts of the sidebar that a page does not use, by a mark that the style sheet looks
    for: the controls keep their values.

    Call this before the sidebar is drawn, so nobody sees them disappear.
    """
    mark = UNUSED.get(page)
    if mark:
        with st.container(key=mark):
            st.html("<i></i>")


def restore_values(values: Mapping[str, Any]) -> None:
    """Set controls to all values that the sidebar had, and forget those of other controls.

    Call this in callbacks, because widgets can't be set once they are drawn.
    """
    _forget_other(values)
    set_values(dict(values))


def _forget_other(values: Mapping[str, Any]) -> None:
    """Forget what the session remembers of all fields that have no value."""
    others = OPTIONS.keys() - values.keys()
    assignments.remove(others)
    for name in others:
        st.session_state.get(VALUES, {}).pop(name, None)


def set_recipe(recipe: Recipe, *, forget: bool = True) -> None:
    """Set all controls to a recipe.

    Call this in callbacks, because widgets can't be set once they are drawn.

    Parameters
    ----------
    forget : bool
        Whether to forget the values of fields that the recipe does not have; otherwise other
        learners keep the options that were set for them.
    """
    values = flat(recipe)
    if not recipe.needs_hankel and forget:
        first = _of_part("hankel", FIRST_VALUES)
        values = {name: FIRST_VALUES[name] for name in first} | values
    if forget:
        _forget_other(values)
    refused = over_limit(recipe)
    assignments.assign(values | refused)
    for key, most in refused.items():
        text = (
            f"{OPTIONS[key].title}: at most {most:,} on this server, so {most:,} is used instead "
            f"of {values[key]:,}."
        )
        st.toast(escape_markdown(text), icon=":material/info:", duration="long")


def set_rank(rank: int) -> None:
    """Set the rank. Call this in callbacks."""
    assignments.assign({"rank": min(rank, limits.most("rank"))})


def _apply_chosen_preset() -> None:
    name = st.session_state["controls.preset"]
    if name and not assignments.is_outdated():
        apply_preset(name)


def apply_preset(name: str) -> None:
    """Set all controls to a preset; a preset for uploaded files keeps the session's files.

    Call this in callbacks, because widgets can't be set once they are drawn.
    """
    recipe = PRESETS[name][1]
    if recipe.data.source == "upload":
        uploads = {key: st.session_state.get(key, "") for key in UPLOADS}
        reading = reading_fields(current().data.reading)
        recipe = recipe.changed(data=recipe.data.changed(**uploads, **reading))
    set_recipe(recipe)


def _restore() -> None:
    """Restore the values of controls that were not drawn."""
    for key, value in st.session_state.get(VALUES, {}).items():
        if key not in st.session_state:
            st.session_state[key] = value


def _data_controls(effective: list[str]) -> None:
    st.subheader("Strings", divider="grey")
    source = _control("source")
    names = [
        name
        for name in _of_part("data", effective)
        if FIELDS[name][1] not in OF_ALL_SOURCES and name not in (*UPLOADS, *SYMBOL_FIELDS)
    ]
    columns = st.columns(2) if len(names) == 2 else [st.container()] * len(names)
    for name, column in zip(names, columns, strict=True):
        with column:
            _control(name)
    if source == "tomita":
        st.caption(as_sentence(LANGUAGES[st.session_state["grammar"]].title))
    elif source == "upload":
        for name in UPLOADS:
            value = st.session_state[name]
            if value:
                text = as_sentence(f"{OPTIONS[name].title}: {uploads.label(value)}")
                st.caption(escape_markdown(text.removesuffix(".")))
        _expander("Symbols", "symbols", [name for name in SYMBOL_FIELDS if name in effective])
    _control("num_strings")
    held_out = ["num_validation", "num_test", "data_seed"]
    _expander("Held-out strings and seed", "held_out", held_out)


def _of_part(part: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if FIELDS[name][0] == part]


def _upload_fields(source: str) -> None:
    """Write the hashes of uploaded files into the address, because they have no widget that does
    so.
    """
    for key in UPLOADS:
        linked = st.query_params.get(key, "")
        if linked and url_parameters.came_back():
            st.session_state.pop(key, None)
        name = st.session_state.setdefault(key, linked if SHA256.fullmatch(linked) else "")
        if source == "upload" and name:
            if linked != name:
                st.query_params[key] = name
        elif key in st.query_params:
            del st.query_params[key]


def _hankel_controls() -> None:
    st.subheader("Hankel matrix", divider="grey")
    left, right = st.columns(2)
    with left:
        _control("num_prefixes")
    with right:
        _control("num_suffixes")
    with left:
        statistic = _control("statistic", caption=False)
    with right:
        transform = _control("transform", caption=False)
    st.caption(f"{STATISTICS[statistic]}. Entries: {TRANSFORMS[transform]}.")


def _learning_controls(effective: list[str]) -> None:
    names = _of_part("learning", effective)
    networks = [name for name in names if name in NETWORKS]
    refinement = [name for name in names if name in REFINEMENT and name != "refine"]
    st.subheader("Learning", divider="grey")
    _controls(*(name for name in names if name not in (*NETWORKS, *REFINEMENT)))
    if networks:
        _expander("Networks", "networks", networks)
    if "refine" in names:
        _control("refine")
    if refinement:
        _expander("Refinement options", "refinement", refinement)


def _expander(title: str, name: str, names: Iterable[str]) -> None:
    """Draw an expander with controls, which are drawn while it is open."""
    box = opened(title, EXPANDERS[name])
    if box:
        with box:
            _controls(*names)


def _controls(*names: str) -> None:
    for name in names:
        _control(name)


def _control(name: str, caption: bool = True) -> Any:
    """Draw the control of a field, and return its value. The kind of the control follows from the
    field's type, and whether it has choices.

    A caption below it explains the chosen value, if the choices have texts; otherwise the field's
    help explains the control.
    """
    entry = OPTIONS[name]
    choices = CHOICES.get(name, {})
    # A browser that first sees the control in the next run begins with this value.
    now = st.session_state.get(name, _default(name))
    explained = any(choices.values())
    title = entry.title
    if name == "num_strings" and st.session_state.get("source") == "upload":
        title += ", at most"
    shared: dict[str, Any] = {
        "label": f"{title[0].upper()}{title[1:]}",
        "help": None if explained else entry.help,
        "key": name,
        "persist_state": "session",  # what is not drawn keeps its value
    }
    if choices:
        words = list(choices)
        value = st.selectbox(
            options=words,
            index=words.index(now),
            on_change=_follow_defaults,
            args=(name,),
            **shared,
        )
        if explained and caption:
            st.caption(as_sentence(choices[value].removesuffix(".")))
        return value
    if entry.kind is bool:
        return st.checkbox(value=now, on_change=_follow_defaults, args=(name,), **shared)
    if entry.kind in (int, float):
        return _number(name, now, shared)
    return st.text_input(value=now, max_chars=_most_characters(name), **shared)


def _most_characters(name: str) -> int:
    return MOST_SYMBOLS if name == "alphabet" else MOST_CHARACTERS


def _number(name: str, now: float, shared: dict[str, Any]) -> float:
    entry = OPTIONS[name]
    smallest, largest = _bounds(name)
    numbers = {"min_value": smallest, "max_value": largest, "value": now}
    typed = {key: None if number is None else entry.kind(number) for key, number in numbers.items()}
    if entry.kind is int:
        return st.number_input(**typed, **shared)
    default = _default(name)
    # a tenth of its first digit
    step = 10.0 ** (floor(log10(abs(default))) - 1) if default else 0.01
    return st.number_input(step=step, format="%g", **typed, **shared)


def _bounds(name: str) -> tuple[float | None, float | None]:
    """Return the smallest and the largest number that a control takes.

    They are those of the field, both included: the record refuses a bound that is not.
    """
    entry = OPTIONS[name]
    bounds = entry.bounds
    largest = bounds.get("le", bounds.get("lt")) if entry.largest is None else entry.largest
    return bounds.get("ge", bounds.get("gt")), largest


def _default(name: str) -> Any:
    """Return the value of a control that nobody has set: that of the first recipe or, if it does
    not have the field, of the record. For uploads, all strings are used.
    """
    if name == "num_strings" and st.session_state.get("source") == "upload":
        return limits.most("generated_strings")
    entry = OPTIONS[name]
    if name in FIRST_VALUES and not entry.by:
        return _allowed(name, FIRST_VALUES[name])
    choice = st.session_state.get(entry.by, FIRST_VALUES.get(entry.by)) if entry.by else None
    value = entry.default_in({entry.by: choice})
    return ",".join(map(str, value)) if isinstance(value, tuple) else _allowed(name, value)


def _allowed(name: str, value: Any) -> Any:
    """Return a value, or the largest one that this server allows."""
    largest = OPTIONS[name].largest
    return value if largest is None else min(value, largest)


def _follow_defaults(choice: str) -> None:
    """Set the fields whose defaults depend on a choice, after that choice, if they have a
    default.
    """
    if assignments.is_outdated():
        return
    if choice == "source":
        _follow_source()
    for name, entry in OPTIONS.items():
        defaults = [_allowed(name, value) for value in entry.defaults]
        if entry.by == choice and st.session_state.get(name) in defaults:
            st.session_state[name] = _default(name)


def _follow_source() -> None:
    """If the source changes from uploads to another one or back, set the number of training strings
    to the last one for uploads, of which all are used at first, or for the other sources.
    """
    is_upload = st.session_state["source"] == "upload"
    if is_upload == (current().data.source == "upload"):
        return
    name = "num_strings"
    assignments.assign({name: st.session_state[NUMBERS].get(is_upload, _default(name))})


def check_settable(recipe: Recipe) -> None:
    """Raise RecipeError if the sidebar can't be set to a recipe, though the library could run
    it.
    """
    learning = recipe.learning
    hankel = recipe.hankel
    if learning.learner not in CHOICES["learner"]:
        raise RecipeError(
            f"learner is {learning.learner}, but the sidebar offers only "
            f"{', '.join(HANKEL_LEARNERS)}; the others are on the Compare page"
        )
    if hankel.statistic not in CHOICES["statistic"]:
        raise RecipeError(
            f"statistic is {hankel.statistic}, but the sidebar offers only "
            f"{alternatives(FOR_ALL_LEARNERS)}; a script from Take away can use other values"
        )
    bounded = learning.needs_boundary(hankel.statistic, hankel.transform)
    if hankel.bounded != bounded:
        raise RecipeError(
            f"bounded is {hankel.bounded}, but the sidebar uses {bounded} for "
            f"{learning.learner}; a script from Take away can use other values"
        )


def undo_control(recipe: Recipe) -> None:
    """Remember a change, and draw the buttons that undo the last one and make it again; their
    labels name the change.
    """
    stack: list[SidebarState] = st.session_state.setdefault(UNDO_STACK, [])
    redo_stack: list[SidebarState] = st.session_state.setdefault(REDO_STACK, [])
    last: SidebarState | None = st.session_state.get(UNDO_LAST)
    if last is not None and last[0] != recipe:
        stack.append(last)
        del stack[:-MAX_CHANGES]
        redo_stack.clear()
    now = (recipe, saved_values())
    st.session_state[UNDO_LAST] = now
    # where there is no room next to them for the change
    in_lesson = bool(url_parameters.value("lesson"))
    label = f"Undo {describe_change(stack[-1][0], recipe)}" if stack else "Undo"
    look: dict[str, Any] = {
        "key": "undo",
        "icon": ":material/undo:",
        "type": "tertiary",
        "help": label if stack else None,
    }
    st.button(
        "Undo" if in_lesson else label,
        **look,
        on_click=_step_back,
        args=(stack, redo_stack, now),
        disabled=not stack,
    )
    if redo_stack:
        label = f"Redo {describe_change(recipe, redo_stack[-1][0])}"
        look |= {"key": "redo", "icon": ":material/redo:", "help": label}
        st.button(
            "Redo" if in_lesson else label,
            **look,
            on_click=_step_back,
            args=(redo_stack, stack, now),
        )


def _step_back(stack: list[SidebarState], other: list[SidebarState], now: SidebarState) -> None:
    """Set the sidebar to the last state of a stack, and put the present one on the other stack.

    A second click that comes before the page is drawn again finds no present state, and does
    nothing.
    """
    if not stack or st.session_state.get(UNDO_LAST) != now:
        return
    st.session_state[UNDO_LAST] = None
    other.append(now)
    restore_values(stack.pop()[1])


def describe_change(before: Recipe, after: Recipe) -> str:
    """Describe a change of the recipe in a few words, for a label.

    >>> describe_change(Recipe(), Recipe.from_json('{"learning": {"rank": 3}}'))
    'rank k: 10 → 3'
    """
    changes = differences(before, after)
    if not changes:
        return "the last change"
    # if possible, those of fields that have an effect in both
    changes = {name: pair for name, pair in changes.items() if None not in pair} or changes
    name, (old, new) = next(iter(changes.items()))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{OPTIONS[name].title}: {_written(name, old)} → {_written(name, new)}{more}"


def _written(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if name in UPLOADS:
        return escape_markdown(uploads.title(value) or value[:6]) if value else "none"
    return escape_markdown(f"{value:,}" if isinstance(value, int) else str(value))
