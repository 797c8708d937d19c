"""Draw the sidebar: the widgets of the one recipe that all pages share, and undo. Only this file
has keys of recipe widgets.

A widget's key is the field's flat name and also the parameter in the address, so sidebar and
address agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

from nlwfa_core import (
    DataRecipe,
    HankelRecipe,
    LearningRecipe,
    Recipe,
    RecipeError,
    RefinementRecipe,
    limits,
)
from nlwfa_core.errors import alternatives, format_exact
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import (
    FIELDS,
    HELP,
    clamped,
    differences,
    flat,
    over_limit,
    whole_numbers,
    with_fields,
)
from nlwfa_core.files import SHA256
from nlwfa_core.hankel.names import FOR_ALL_LEARNERS, STATISTICS, TRANSFORMS
from nlwfa_core.lab.options import LABELS
from nlwfa_core.lab.tables import as_sentence
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS
from nlwfa_core.learning.names import (
    CONVERGED_EPOCHS,
    OPTIMIZERS,
    REFINEMENTS,
    STARTS,
    STEP_OPTIMIZERS,
    needs_boundary,
)
from nlwfa_core.sources.files import FORMATS
from nlwfa_core.sources.registry import RANDOM, SOURCES
from nlwfa_core.sources.tomita import LANGUAGES
from pages.shared import uploads, url_parameters
from pages.shared.navigation import navigation
from pages.shared.widgets import escape_markdown

LAYERS = ("2,1,2", "4,2,1,2,4", "1")
UPLOADS = (
    "upload",
    "upload_test",
    "upload_solution",
    "upload_model",
    "upload_prefixes",
    "upload_targets",
)
DATA_SEED, LEARNING_SEED = "data_seed", "learning_seed"
# The recipe with which a visitor begins whose link sets no field.
FIRST = PRESETS["first-steps"][1]
# The values of fields that a link does not contain. They must never change, because old links would
# then mean something else.
DEFAULT = with_fields(
    FIRST,
    {
        "rank": 3,
        "optimizer": "adamax",
        "start": "random",
        "starts": 1,
        "tolerance": 0.01,
        "epochs_factorisation": 600,
        "epochs_transitions": 300,
        "optimizer_refinement": "adamax",
        "tolerance_refinement": 0.01,
        "epochs_refinement": 40,
    },
)
DEFAULTS = flat(DEFAULT)
# Fields of controls that are drawn only for learners with networks, and only with a refinement.
NETWORKS = [
    name
    for name, (part, own) in FIELDS.items()
    if part == "learning" and own not in ("learner", "rank")
]
REFINING = [
    name for name, (part, own) in FIELDS.items() if part == "refinement" and own != "objective"
]
VALUES, CURRENT, LINKED = "controls.kept", "controls.current", "controls.linked"
IN_A_SCRIPT = "a script from Take away can use other values"
LARGEST_RATE, SMALLEST_RATE, LARGEST_DROPOUT, LARGEST_TOLERANCE, LARGEST_SEED = (
    10.0,
    1e-6,
    0.99,
    0.99,
    2**31 - 1,
)
# whether the refinement's epochs were set when its optimiser was chosen
CONVERGED = "controls.converged"
ENTRIES = "controls.entries"
UNDO_STACK, UNDO_LAST, REDO_STACK = "undo.stack", "undo.last", "undo.redo"
MAX_CHANGES = 50
# Fields whose controls have no help, because a caption below them explains the chosen value.
CAPTIONED = ("source", "statistic", "transform", "learner", "optimizer", "start")

SidebarState = tuple[Recipe, dict[str, Any]]
# identifies an entry in the browser's history by its parameters
Entry = tuple[tuple[str, str], ...]


def recipe_controls() -> Recipe:
    """Draw the sidebar.

    Returns its recipe, as `current()` then does; raises RecipeError if the values are not a valid
    recipe.
    """
    linked = _linked()
    _restore()
    with st.sidebar, st.container(key="recipe"):
        st.selectbox(
            "Begin with",
            list(PRESETS),
            index=None,
            format_func=lambda name: PRESETS[name][0],
            key="controls.preset",
            on_change=_apply_preset,
            placeholder="Choose a preset",
        )
        data = _data_controls(DEFAULT.data)
        hankel = _hankel_controls(DEFAULT.hankel)
        learning = _learning_controls(DEFAULT.learning)
        refinement = _refinement_controls(
            DEFAULT.refinement, LEARNERS[learning["learner"]].networks
        )
    hankel["bounded"] = needs_boundary(
        learning["learner"], hankel["statistic"], hankel["transform"]
    )
    st.session_state[VALUES] = {
        key: st.session_state[key] for key in DEFAULTS if key in st.session_state
    }
    st.session_state[VALUES] |= {key: data[key] for key in UPLOADS}
    recipe = Recipe(
        data=DataRecipe(**data),
        hankel=HankelRecipe(**hankel),
        learning=LearningRecipe(**learning),
        refinement=RefinementRecipe(**refinement),
    )
    st.session_state[CURRENT] = recipe
    _report_refused(linked, flat(recipe))
    return recipe


def _linked() -> dict[str, str]:
    """Return the fields that this session's link sets.

    In the session's first run, set the controls that it does not affect.
    """
    if LINKED not in st.session_state:
        linked = st.session_state[LINKED] = {
            key: st.query_params[key] for key in DEFAULTS if key in st.query_params
        }
        learner = linked.get("learner")
        kind = LEARNERS[learner] if learner in HANKEL_LEARNERS else DEFAULT.learning.kind
        first, free = flat(FIRST), DEFAULTS if not linked else () if kind.networks else NETWORKS
        first |= clamped(first)
        for key in free:
            if key not in linked:
                st.session_state.setdefault(key, first[key])
    values: dict[str, str] = st.session_state[LINKED]
    return values


def _report_refused(linked: dict[str, str], used: dict[str, Any]) -> None:
    """Report once a session the values of a link that a control refuses, and for which Streamlit
    uses the control's default.
    """
    for key in list(linked):
        text, value = linked.pop(key), used[key]
        with suppress(ValueError):
            if text == str(value) or ("_" not in text and float(text) == value):
                continue
        if key not in st.session_state or (key in UPLOADS and not value):
            continue  # the control is not drawn now, or the file is missing, which the page reports
        url_parameters.report_refused(key, text, value)


def remember_values() -> None:
    """Remember the values of all controls, including hidden ones, for when Back returns to this
    address.
    """
    entries: dict[Entry, dict[str, Any]] = st.session_state.setdefault(ENTRIES, {})
    entries.pop(entry := _entry(), None)
    entries[entry] = saved_values()
    for oldest in list(entries)[:-MAX_CHANGES]:
        del entries[oldest]


def _entry() -> Entry:
    return tuple(sorted(st.query_params.to_dict().items()))


def saved_values() -> dict[str, Any]:
    """Return the values of all controls, including hidden ones."""
    return dict(st.session_state[VALUES])


def set_values(values: dict[str, Any]) -> None:
    """Set controls, including hidden ones.

    To be called in callbacks, because widgets can't be set once they are drawn.
    """
    st.session_state.update(values)
    st.session_state["controls.preset"] = None


def current() -> Recipe:
    """Return the recipe that the sidebar holds in this rerun."""
    if CURRENT not in st.session_state:
        # When a server's very first visitor opens a page, Streamlit runs that page without the
        # entry file, because there is a folder called `pages`. A call of st.navigation ends that
        # mode for good; then the same page runs again.
        navigation()
        st.rerun()
    recipe: Recipe = st.session_state[CURRENT]
    return recipe


def page_recipe(title: str, text: str) -> Recipe:
    """Draw a page's heading. Returns the sidebar's recipe."""
    recipe = current()
    st.title(title)
    st.markdown(text)
    return recipe


def hide_recipe() -> None:
    """Hide the recipe on a page that does not use it, by a style sheet: its controls keep their
    values.
    """
    st.html(
        "<style>:is(.st-key-recipe, .st-key-pins, .st-key-undo, .st-key-redo) { display: "
        "none; }</style>"
    )


def set_recipe(recipe: Recipe) -> None:
    """Set all controls to a recipe.

    To be called in callbacks, because widgets can't be set once they are drawn.
    """
    values = flat(recipe)
    # a control refuses values above its maximum
    for key, value in (values | clamped(values)).items():
        st.session_state[key] = value
    for key, most in over_limit(recipe).items():
        text = (
            f"{LABELS[key]}: at most {most:,} on this server, so {most:,} is used instead of "
            f"{values[key]:,}."
        )
        st.toast(escape_markdown(text), icon=":material/info:", duration="long")


def set_rank(rank: int) -> None:
    """Set the rank. To be called in callbacks."""
    st.session_state["rank"] = min(rank, limits.most("rank"))


def _apply_preset() -> None:
    name = st.session_state["controls.preset"]
    if name:
        uploads = {key: st.session_state.get(key, "") for key in UPLOADS}
        recipe = PRESETS[name][1]
        if recipe.data.source == "upload":
            recipe = recipe.changed(data=recipe.data.changed(**uploads))
        set_recipe(recipe)


def _restore() -> None:
    """Restore the values of controls that were not drawn; after Back, the values that they had at
    that entry of the history.
    """
    if url_parameters.came_back():
        st.session_state.update(st.session_state.get(ENTRIES, {}).get(_entry(), {}))
    for key, value in st.session_state.get(VALUES, {}).items():
        if key not in st.session_state:
            st.session_state[key] = value


def _data_controls(default: DataRecipe) -> dict[str, Any]:
    st.subheader("Strings", divider="grey")
    # The options of all selections are the words of the recipe, so the address shows the same words
    # as the widget.
    source = st.selectbox(options=list(SOURCES), **_control("source"))
    st.caption(SOURCES[source].description)
    values: dict[str, Any] = dict(default) | {"source": source}
    files = _upload_fields(source)
    if source == "dyck":
        left, right = st.columns(2)
        for column, field in ((left, "split_probability"), (right, "wrap_probability")):
            with column:
                values[field] = st.number_input(
                    min_value=0.0,
                    max_value=1.0,
                    value=getattr(default, field),
                    step=0.05,
                    **_control(field),
                )
    elif source == "tomita":
        values["grammar"] = _whole("grammar", default.grammar, len(LANGUAGES))
        st.caption(
            f"{LANGUAGES[values['grammar']].title[0].upper()}{LANGUAGES[values['grammar']].title[1:]}."
        )
    elif source in RANDOM:
        left, right = st.columns(2)
        with left:
            values["num_states"] = _whole("num_states", default.num_states, 50, label="States")
        with right:
            values["num_symbols"] = _whole("num_symbols", default.num_symbols, 100, label="Symbols")
    elif source == "upload":
        values["upload_format"] = st.selectbox(options=FORMATS, **_control("upload_format"))
        for key, name in files.items():
            if name:
                st.caption(
                    escape_markdown(
                        as_sentence(f"{LABELS[key]}: {uploads.label(name)}").removesuffix(".")
                    )
                )
    values["num_strings"] = _whole(
        "num_strings", default.num_strings, limits.most("generated_strings")
    )
    with st.expander("Held-out strings and seed"):
        for field in ("num_validation", "num_test"):
            smallest = 0 if field == "num_validation" else 1
            values[field] = _whole(
                field, getattr(default, field), limits.most("generated_strings"), smallest
            )
        values["seed"] = _whole(DATA_SEED, default.seed, LARGEST_SEED, smallest=0)
    return values | files


def _upload_fields(source: str) -> dict[str, str]:
    """Write the hashes of uploaded files into the address, because they have no widget that does
    so. Returns field -> hash.
    """
    hashes = {}
    for key in UPLOADS:
        linked = st.query_params.get(key, "")
        if linked and url_parameters.came_back():
            st.session_state.pop(key, None)
        name = st.session_state.setdefault(key, linked if SHA256.fullmatch(linked) else "")
        hashes[key] = name
        if source == "upload" and name:
            if linked != name:
                st.query_params[key] = name
        elif key in st.query_params:
            del st.query_params[key]
    return hashes


def _hankel_controls(default: HankelRecipe) -> dict[str, Any]:
    st.subheader("Hankel matrix", divider="grey")
    left, right = st.columns(2)
    with left:
        prefixes = _whole("num_prefixes", default.num_prefixes, limits.most("basis"))
    with right:
        suffixes = _whole("num_suffixes", default.num_suffixes, limits.most("basis"))
    with left:
        statistic = _choice("statistic", FOR_ALL_LEARNERS, default.statistic)
    with right:
        transform = _choice("transform", TRANSFORMS, default.transform)
    st.caption(f"{STATISTICS[statistic]}. Entries: {TRANSFORMS[transform]}.")
    return {
        "num_prefixes": prefixes,
        "num_suffixes": suffixes,
        "statistic": statistic,
        "transform": transform,
    }


def _learning_controls(default: LearningRecipe) -> dict[str, Any]:
    st.subheader("Learning", divider="grey")
    values: dict[str, Any] = dict(default)
    values["learner"] = _choice("learner", HANKEL_LEARNERS, default.learner)
    st.caption(LEARNERS[values["learner"]].title.capitalize() + ".")
    values["rank"] = _whole("rank", default.rank, limits.most("rank"))
    if not LEARNERS[values["learner"]].networks:
        return values | _hidden_values(NETWORKS)
    with st.expander("Networks"):
        widths = st.selectbox(options=LAYERS, **_control("hidden"))
        values["hidden"] = whole_numbers("hidden", widths)
        values["optimizer"] = _choice("optimizer", STEP_OPTIMIZERS, default.optimizer)
        st.caption(as_sentence(STEP_OPTIMIZERS[values["optimizer"]]))
        values["start"] = _choice("start", STARTS, default.start)
        st.caption(as_sentence(STARTS[values["start"]]))
        values["starts"] = _whole("starts", default.starts, 100, smallest=0)
        for field in ("epochs_factorisation", "epochs_transitions"):
            values[field] = _whole(
                field, getattr(default, field), limits.most("epochs"), smallest=0
            )
        if values["optimizer"] != "adamax":
            values["tolerance"] = _tolerance("tolerance", default.tolerance)
        else:
            for field in ("rate_factorisation", "rate_transitions"):
                values[field] = _rate(field, getattr(default, field))
            values["schedule"] = st.selectbox(
                options=["constant", "cosine"], **_control("schedule")
            )
        values["seed"] = _whole(LEARNING_SEED, default.seed, LARGEST_SEED, smallest=0)
    return values


def _hidden_values(fields: list[str]) -> dict[str, Any]:
    """Return the values of controls that are not drawn.

    They are part of the recipe, with which other learners are trained, too.
    """
    values = {FIELDS[name][1]: st.session_state.get(name, DEFAULTS[name]) for name in fields}
    return {
        name: whole_numbers(name, value) if name == "hidden" else value
        for name, value in values.items()
    }


def _refinement_controls(default: RefinementRecipe, networks: bool) -> dict[str, Any]:
    values: dict[str, Any] = dict(default)
    values["objective"] = _choice("refine", REFINEMENTS, default.objective, _set_refinement_epochs)
    st.caption(as_sentence(REFINEMENTS[values["objective"]]))
    if values["objective"] == "none":
        return values | _hidden_values(REFINING)
    with st.expander("Options of the refinement"):
        if values["objective"] == "hankel":
            values["optimizer"] = _choice(
                "optimizer_refinement", OPTIMIZERS, default.optimizer, _set_refinement_epochs
            )
        values["epochs"] = _whole(
            "epochs_refinement", default.epochs, limits.most("epochs"), smallest=0
        )
        if values["objective"] == "hankel" and values["optimizer"] == "lbfgs":
            values["tolerance"] = _tolerance("tolerance_refinement", default.tolerance)
        else:
            values["rate"] = _rate("rate_refinement", default.rate)
        if values["objective"] == "likelihood":
            values["batch"] = _whole("batch", default.batch, limits.most("generated_strings"))
            values["weight_decay"] = st.number_input(
                min_value=0.0,
                max_value=100.0,
                value=default.weight_decay,
                step=0.01,
                format="%g",
                **_control("weight_decay"),
            )
            if networks:
                values["dropout"] = st.number_input(
                    min_value=0.0,
                    max_value=LARGEST_DROPOUT,
                    value=default.dropout,
                    step=0.05,
                    **_control("dropout"),
                )
            values["restarts"] = _whole("restarts", default.restarts, 100, smallest=0)
            values["seed"] = _whole("refinement_seed", default.seed, LARGEST_SEED, smallest=0)
    return values


def _control(key: str, label: str = "") -> dict[str, Any]:
    """Make the arguments that every recipe widget has: the field's label and help, its key, and its
    parameter in the address.

    A control that appears with a value set earlier (by a preset or a lesson) does not update the
    browser's address, so the value is written there before the control is bound. Afterwards the
    browser keeps the two equal, and Streamlit refuses this.
    """
    value = st.session_state.get(key)
    if (
        value is not None
        and value != DEFAULTS[key]
        and key not in st.query_params
        and not url_parameters.came_back()
    ):
        with suppress(StreamlitAPIException):
            st.query_params[key] = str(value)
    is_number = isinstance(DEFAULTS[key], int | float)
    bound = (
        url_parameters.number_binding(key, isinstance(DEFAULTS[key], int))
        if is_number
        else "query-params"
    )
    text = label or LABELS[key]
    explanation = None if key in CAPTIONED else HELP[key]
    return {"label": f"{text[0].upper()}{text[1:]}", "help": explanation, "key": key, "bind": bound}


def _set_refinement_epochs() -> None:
    """Set the refinement's epochs after the refinement or its optimiser was chosen: L-BFGS stops by
    itself, so it gets more epochs.

    Only the default of the other optimiser is replaced. Links and recipes contain the number of
    epochs, so it is not set for them.
    """
    default, converged = DEFAULT.refinement.epochs, min(CONVERGED_EPOCHS, limits.most("epochs"))
    by_lbfgs = (
        st.session_state["refine"] == "hankel"
        and st.session_state.get("optimizer_refinement") == "lbfgs"
    )
    epochs = st.session_state.get("epochs_refinement", default)
    if by_lbfgs and epochs == default:
        st.session_state["epochs_refinement"], st.session_state[CONVERGED] = converged, True
    elif not by_lbfgs and st.session_state.pop(CONVERGED, False) and epochs == converged:
        st.session_state["epochs_refinement"] = default


def _choice(
    key: str, options: Iterable[str], default: str, on_change: Callable[[], None] | None = None
) -> str:
    words = list(options)
    return st.selectbox(
        options=words, index=words.index(default), on_change=on_change, **_control(key)
    )


def _rate(key: str, default: float) -> float:
    return st.number_input(
        min_value=SMALLEST_RATE,
        max_value=LARGEST_RATE,
        value=default,
        step=0.001,
        format="%g",
        **_control(key),
    )


def _tolerance(key: str, default: float) -> float:
    return st.number_input(
        min_value=0.0,
        max_value=LARGEST_TOLERANCE,
        value=default,
        step=1e-4,
        format="%g",
        **_control(key),
    )


def _whole(key: str, default: int, largest: int, smallest: int = 1, label: str = "") -> int:
    return st.number_input(
        min_value=smallest, max_value=largest, value=min(default, largest), **_control(key, label)
    )


def check_settable(recipe: Recipe) -> None:
    """Raise RecipeError if the sidebar can't be set to a recipe, though the library could run
    it.
    """
    learning, hankel = recipe.learning, recipe.hankel
    if not learning.kind.needs_hankel:
        raise RecipeError(
            f"learner is {learning.learner}, but the sidebar offers only "
            f"{', '.join(HANKEL_LEARNERS)}; opponents are on Compare"
        )
    hidden = ",".join(map(str, learning.hidden))
    if hidden not in LAYERS:
        raise RecipeError(
            f"hidden is {hidden}, but the sidebar offers only {' and '.join(LAYERS)}; {IN_A_SCRIPT}"
        )
    width = DEFAULT.learning.width_transitions
    if learning.width_transitions != width:
        raise RecipeError(
            f"width_transitions is {learning.width_transitions}, but the sidebar offers only "
            f"{width}; {IN_A_SCRIPT}"
        )
    rates = {
        "rate_factorisation": learning.rate_factorisation,
        "rate_transitions": learning.rate_transitions,
    }
    least, most = SMALLEST_RATE, LARGEST_RATE
    for name, rate in (rates | {"rate_refinement": recipe.refinement.rate}).items():
        if not least <= rate <= most:
            allowed = f"{format_exact(least)} to {format_exact(most)}"
            raise RecipeError(
                f"{name} is {format_exact(rate)}, but the sidebar allows only {allowed}; "
                f"{IN_A_SCRIPT}"
            )
    for name, value, largest in (
        ("dropout", recipe.refinement.dropout, LARGEST_DROPOUT),
        ("tolerance", learning.tolerance, LARGEST_TOLERANCE),
        ("tolerance_refinement", recipe.refinement.tolerance, LARGEST_TOLERANCE),
    ):
        if value > largest:
            raise RecipeError(
                f"{name} is {value}, but the sidebar allows at most {largest}; {IN_A_SCRIPT}"
            )
    if hankel.statistic not in FOR_ALL_LEARNERS:
        raise RecipeError(
            f"statistic is {hankel.statistic}, but the sidebar offers only "
            f"{alternatives(FOR_ALL_LEARNERS)}; {IN_A_SCRIPT}"
        )
    if hankel.basis != DEFAULT.hankel.basis:
        raise RecipeError(
            f"basis is {hankel.basis}, but the sidebar offers only {DEFAULT.hankel.basis}; "
            f"{IN_A_SCRIPT}"
        )
    bounded = needs_boundary(learning.learner, hankel.statistic, hankel.transform)
    if hankel.bounded != bounded:
        raise RecipeError(
            f"bounded is {hankel.bounded}, but the sidebar uses {bounded} for "
            f"{learning.learner}; {IN_A_SCRIPT}"
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
    # where there is no room beside them for the change
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
    set_values(stack.pop()[1])


def describe_change(before: Recipe, after: Recipe) -> str:
    """Describe a change of the recipe in a few words, for a label.

    >>> describe_change(Recipe(), Recipe.from_json('{"learning": {"rank": 3}}'))
    'rank k: 10 → 3'
    """
    changes = differences(before, after)
    if not changes:
        return "the last change"
    name, (old, new) = next(iter(changes.items()))
    more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
    return f"{LABELS[name]}: {_written(name, old)} → {_written(name, new)}{more}"


def _written(name: str, value: Any) -> str:
    if name.startswith("upload"):
        return escape_markdown(uploads.title(value) or value[:6]) if value else "none"
    return escape_markdown(f"{value:,}" if isinstance(value, int) else str(value))
