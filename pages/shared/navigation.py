"""The table of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

FOLDER = Path(__file__).resolve().parents[1]
PAGES = (
    ("start", "Start", ":material/home:"),
    ("data", "Data", ":material/text_snippet:"),
    ("hankel", "Hankel", ":material/grid_on:"),
    ("train", "Train", ":material/model_training:"),
    ("states", "States", ":material/scatter_plot:"),
    ("predict", "Predict", ":material/online_prediction:"),
    ("compare", "Compare", ":material/leaderboard:"),
)


def navigation() -> Any:
    """Draw the bar of pages; returns the one to run."""
    return st.navigation(
        [
            st.Page(FOLDER / f"{name}.py", title=title, icon=icon, url_path=name, default=name == "start")
            for name, title, icon in PAGES
        ],
        position="top",
    )
