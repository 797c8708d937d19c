"""Strings of one's own: files that are dropped, strings that are pasted. Both go to the shelf under the hash of their content."""

from __future__ import annotations

import streamlit as st

from pages.shared import controls

SLOTS = {
    "upload": (
        "Training strings",
        "PAutomaC or SPiCe; one string a line, characters or tokens with spaces between; CSV: string, count.",
    ),
    "upload_test": ("Test strings (optional)", "Without them a part of the training file is set aside."),
    "upload_solution": ("Solution (optional)", "PAutomaC: the test strings' true probabilities, one a line."),
    "upload_model": ("Model (optional)", "PAutomaC: the automaton that drew the strings."),
}


def own_strings(opened: bool) -> None:
    """The places for them, behind one line where nobody needs them."""
    with st.expander("Your own strings", expanded=opened, icon=":material/upload:", key="own_strings"):
        pasted, dropped = st.tabs(["Paste", "Upload"])
        with pasted:
            controls.paste_control()
        with dropped:
            for column, (field, (label, text)) in zip(st.columns(2) * 2, SLOTS.items(), strict=True):
                with column:
                    controls.upload_control(field, label, text)
        st.caption("They stay on this server, named by their content. Nothing in them is ever run.")
