"""What tests with and without a browser share, and the load test: a quick recipe, the pages'
headings, hostile strings.
"""

from __future__ import annotations

from typing import Any

# A link's parameters: small enough for each page to be drawn, and each learner to be trained, in a
# moment, in the paper's two steps.
QUICK: dict[str, Any] = {
    "num_strings": 300,
    "num_validation": 40,
    "num_test": 40,
    "num_prefixes": 30,
    "num_suffixes": 30,
    "rank": 2,
    "objective": "hankel",
}

# Page -> its heading.
TITLES = {
    "explore": "Explore",
    "learn": "Learn automata from strings, and see it happen",
    "data": "Data",
    "hankel": "The Hankel matrix",
    "train": "Train",
    "states": "States",
    "predict": "Predict",
    "compare": "Compare",
    "classify": "Classify",
    "practice": "Practice",
    "build": "Build an automaton",
    "classroom": "Class",
    "take_away": "Take away",
    "history": "History",
    "status": "Status",
}

# Symbols that HTML, Markdown or Streamlit would read as more than text.
HOSTILE = (
    "<img/src=x/onerror=alert(1)>",
    "<b>b</b>",
    "<a/href='javascript:alert(1)'>a</a>",
    "![x](//x.example/x.png)",
    "[x](//x.example)",
    "**x**",
    "__x__",
    "~~x~~",
    "`x`",
    "$x$",
    ":material/home:",
    ":red[x]",
    ":smile:",
    ":streamlit:",
    "->",
    "&lt;",
)
