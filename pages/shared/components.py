"""The lab's own components in the browser that more than one page draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from pages.shared.server import ASSETS


def component(name: str, *scripts: str) -> Any:
    """Make a component from its three files.

    Its script may use the functions of `assets/numbers.js`, `assets/drawing.js`, and other scripts
    in its folder, and its style sheet extends `assets/drawing.css`.
    """
    html, css, js = (
        (ASSETS / name / f"{name}.{kind}").read_text(encoding="utf-8")
        for kind in ("html", "css", "js")
    )
    own = (ASSETS / name / f"{script}.js" for script in scripts)
    paths = (ASSETS / "numbers.js", ASSETS / "drawing.js", *own)
    before = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    shared = (ASSETS / "drawing.css").read_text(encoding="utf-8")
    return st.components.v2.component(
        f"nlwfa.{name}", html=html, css=f"{shared}\n{css}", js=f"{before}\n{js}"
    )


_walk, _cut, _panels, _story, _network, _fold, _shares = (
    component(name) for name in ("walk", "cut", "panels", "story", "network", "fold", "shares")
)
_explore = component("explore", "models", "verdict", "material", "lane", "cut")
# Sends a part of a picture that comes later, or changes more often, than the picture itself.
_part = st.components.v2.component(
    "nlwfa.part", js=(ASSETS / "lens" / "part.js").read_text(encoding="utf-8")
)
_charts = st.components.v2.component(
    "nlwfa.charts", js=(ASSETS / "charts" / "charts.js").read_text(encoding="utf-8")
)


def _nothing() -> None:
    """Do nothing: Streamlit gives a component a state only if it has a callback."""


def keep_charts() -> None:
    """Keep a copy of each Plotly chart on the page while Streamlit redraws it."""
    with st.container(key="charts"):
        _charts(key="nlwfa.charts", height=1)


def fold() -> None:
    """Draw the button that folds the sheet of a lesson; where there is none, draw nothing."""
    _fold(key="lesson.fold", width="content", height="content")


def walk(
    key: str,
    drawing: dict[str, Any],
    steps: dict[str, Any],
    on_edit: Callable[[], None] = _nothing,
    on_tapped: Callable[[], None] = _nothing,
) -> None:
    """Draw an automaton with a string that walks through it. The state has "typed", the string;
    "edit", a change by hand; and "tapped", the name of the column of a state.

    Parameters
    ----------
    drawing : dict
        The payload of the drawing, with "name" and "id".
    steps : dict
        The payload of the string's walk, which changes more often.
    """
    _walk(
        key=key,
        data=drawing,
        on_typed_change=_nothing,
        on_edit_change=on_edit,
        on_tapped_change=on_tapped,
    )
    _part(
        key=f"{key}_steps",
        data={"lens": drawing["name"], "id": drawing["id"], "walk": steps},
        height=1,
    )


def cut(key: str, data: dict[str, Any], on_rank: Callable[[], None]) -> None:
    """Draw singular values with a cut at a rank, which can be dragged. The state has "rank"."""
    _cut(key=key, data=data, on_rank_change=on_rank)


def shares(key: str, data: dict[str, Any], on_share: Callable[[], None]) -> None:
    """Draw how often strings occur, with one bar to be drawn by hand. The state has "share"."""
    _shares(key=key, data=data, on_share_change=on_share)


def panels(key: str, data: dict[str, Any]) -> None:
    """Draw H, Ĥ and H − Ĥ. They follow the rank of the cut whose "id" is their "basis"."""
    _panels(key=key, data=data)


def story(key: str, data: dict[str, Any]) -> None:
    """Tell the story of a sample in five scenes; it begins to play when its "id" is new."""
    _story(key=key, data=data)


def network(key: str, data: dict[str, Any]) -> None:
    """Draw the auto-encoder, and H minus its output."""
    _network(key=key, data=data)


def explore(
    key: str,
    now: dict[str, Any],
    text: str,
    first: str,
    rest: str,
    further: str,
    on_chosen: Callable[[], None],
    on_looks: Callable[[], None],
    on_room: Callable[[], None],
    on_settings: Callable[[], None],
) -> Any:
    """Draw Explore. The state has "chosen": the rank, the learner, the objective, the linear
    learner and the linear rank that were chosen in it; and "looks": what is looked at, each of
    `LOOKS`, "" for its initial value. In one run it has "settings", whether they were opened.

    The parts that change are sent separately; otherwise Streamlit would also send the component's
    script again.

    Parameters
    ----------
    now : dict
        "id" of the payload, "trained", that of the trained models, "rank", "learner", "objective",
        "linear", the learner of the linear model, "linearRank", its rank where it is not "rank",
        each of `LOOKS`, "" for its initial value; "parts": those of `PARTS` that are drawn, all if
        it is empty; "scene": the step of a lesson; and "isFirst": whether it begins in motion.
    text : str
        The payload, as JSON.
    first, rest : str
        The trained models without which there is no first picture, and those that come after it,
        as JSON.
    further : str
        The linear model of "linearRank" if it is not among those of the payload, as JSON.

    Returns
    -------
    component state
        What happened in this run, each None if nothing did: "room", the page that was entered;
        "train", what is to be trained, with "learner", "objective" and "ranks"; and "cancel", the
        learner whose training is to end.
    """
    answer = _explore(
        key=key,
        data={},
        on_chosen_change=on_chosen,
        on_looks_change=on_looks,
        on_room_change=on_room,
        on_settings_change=on_settings,
        on_train_change=_nothing,
        on_cancel_change=_nothing,
    )
    # the first picture does not wait for "rest"
    parts = {
        "further": {"id": now["id"], "json": further},
        "now": now,
        "text": {"id": now["id"], "json": text},
        "first": {"id": now["trained"], "json": first},
        "rest": {"id": now["trained"], "json": rest},
    }
    for name, part in parts.items():
        _part(key=f"{key}_{name}", data={"lens": "explore", name: part}, height=1)
    return answer


def explore_training(
    key: str, picture: str, told: dict[str, dict[str, Any]], preview: dict[str, Any] | None
) -> None:
    """Tell Explore what is being trained.

    Parameters
    ----------
    picture : str
        The "id" of the payload.
    told : dict
        Learner -> "text", how far its training is, "doing", the same in a word or two, and "ranks",
        those that are not trained yet; or "failed", why it failed.
    preview : dict, optional
        The network that is being trained for the nonlinear lane, as it is now: "learner", and
        "model", see `nlwfa_core.display.explore.preview_payload`.
    """
    parts = {"training": {"id": picture, "told": told}, "preview": {"id": picture, "now": preview}}
    for name, part in parts.items():
        _part(key=f"{key}_{name}", data={"lens": "explore", name: part}, height=1)
