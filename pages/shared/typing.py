"""A text field that reruns the script while one types: no button, no Enter."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.navigation import ASSETS

LONGEST = 1000  # characters

_field = st.components.v2.component(
    "nlwfa_typing", **{kind: (ASSETS / "typing" / f"typing.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js")}
)


def typed(label: str, default: str, key: str, help: str = "") -> str:
    """What stands in the field; `default` until somebody types. It is kept when one looks at another page and comes back."""
    kept: dict[str, Any] | None = st.session_state.get(_place(key))
    text, version = (kept["text"], kept["version"]) if kept else (default, f"default {default}")
    data = {"label": label, "help": help, "text": text, "version": version, "longest": LONGEST}
    said = _field(key=key, data=data, on_typed_change=lambda: None).typed
    if isinstance(said, dict) and said.get("version") == version and isinstance(said.get("text"), str):
        text = said["text"][:LONGEST]
        st.session_state[_place(key)] = {"text": text, "version": version}
    return text


def _place(key: str) -> str:
    return f"typing.{key}"
