"""The lab as a test sees it: a script that is run, and whose elements are read.

There is no browser.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from google.protobuf.message import Message
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test

from nlwfa_core import Recipe
from nlwfa_core.experiment.recipe import with_fields
from nlwfa_core.experiment.results import Result
from nlwfa_core.learning.learners import LEARNERS
from pages.shared import sidebar, visitor_runs
from pages.shared.context import Context
from pages.shared.navigation import PAGES
from tests import quick
from tests.waiting import PATIENCE_SECONDS, wait_for

ROOT = Path(__file__).resolve().parents[2]
QUICK = quick.QUICK | {"epochs_factorisation": 5, "epochs_transitions": 5}
# What a browser shows as it is; every other text of an element may be read as Markdown.
SHOWN_PLAIN = ("plotly_chart", "bidi_component", "code")  # whole elements
PLAIN = {
    "id",
    "options",
    "default",
    "value",
    "set_value",
    "form_id",
    "alt",
    "placeholder",
    "query_param_key",
    "url",
    "css",
    "key",
}


class VisitedServer(PagesManager):
    """A server that has had a visitor. On a fresh one, and AppTest makes it fresh for each run,
    Streamlit runs the files in `pages` without the entry file; what the lab does then is tested in
    a browser."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        PagesManager.uses_pages_directory = False


app_test.PagesManager = VisitedServer
# AppTest reads what every installed package says of itself for each session, which takes five times
# as long as drawing a page.
manifest_scanner.scan_component_manifests = functools.cache(
    manifest_scanner.scan_component_manifests
)
config.set_option("client.showErrorDetails", "full")


CLOSED = ("compare.all", "compare.perplexities", "states.as_graph")  # lists that visitors open


def open_lab(page: str = "explore", **parameters: Any) -> AppTest:
    """A session of its own, as from a link to a page with these parameters."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=PATIENCE_SECONDS)
    for key in (sidebar.DRAWER, *sidebar.EXPANDERS.values(), *CLOSED):  # draw all controls
        app.session_state[key] = True
    app.query_params.update({name: str(value) for name, value in parameters.items()})
    return go(app, page)


def go(app: AppTest, page: str) -> AppTest:
    """The same session on another page."""
    return app.switch_page(f"pages/{page}.py").run()


def all_pages(app: AppTest) -> Iterator[tuple[str, AppTest]]:
    """One page after the other in the same session."""
    for page in PAGES:
        yield page, go(app, page)


def recipe_of(app: AppTest) -> Recipe:
    """What the sidebar says."""
    recipe: Recipe = app.session_state["controls.current"]
    return recipe


def results_of(app: AppTest) -> dict[str, Result]:
    """The finished runs of all learners, with the options that the sidebar remembers."""
    contexts = {
        learner: Context(
            with_fields(recipe_of(app), {"learner": learner}, app.session_state["controls.hidden"])
        )
        for learner in LEARNERS
    }
    return {
        learner: context.result
        for learner, context in contexts.items()
        if context.result is not None
    }


def complaints(app: AppTest) -> list[str]:
    """All errors that a person sees, without the backslashes of Markdown; none of them is a
    crash.
    """
    assert not app.exception, [(crash.message, *crash.stack_trace[-4:]) for crash in app.exception]
    # which says that all is well
    told = [toast for toast in app.toast if toast.icon != ":material/check:"]
    return [entry.value.replace("\\", "") for entry in (*app.error, *told)]


def trained(app: AppTest, button: str = "train.start") -> AppTest:
    """Presses a button that trains, if there is one, waits for what it or the page started, and
    draws the page again.
    """
    if any(there.key == button for there in app.button):
        app.button(key=button).click().run()
    elif not any(there.key == f"{button.rpartition('.')[0]}.cancel" for there in app.button):
        return app  # a test before has trained it
    return ended(app)


def ended(app: AppTest) -> AppTest:
    """Waits for what is training, and draws the page again."""
    wait_for(
        lambda: (
            not any(
                "test session id" in job.sessions and not job.over
                for job in [*visitor_runs.runner()._jobs.values()]
            )
        )
    )
    return app.run()


def learned(page: str, **parameters: Any) -> AppTest:
    """A page whose recipe has been run, by this test or by one before."""
    return go(trained(open_lab("train", **parameters)), page)


def type_text(app: AppTest, text: str) -> AppTest:
    """Writes into the Predict page's field; what it does in a browser is tested there."""
    symbols = " ".join(Context(recipe_of(app)).data.alphabet.symbols)
    app.session_state[f"predict.string.{symbols}"] = text
    return app.run()


def typed(app: AppTest) -> str:
    """The text in the Predict page's field."""
    [field] = [field for field in app.text_input if (field.key or "").startswith("predict.string.")]
    return str(field.value)


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """A Plotly chart's data and layout."""
    found = next(node for node in app.get("plotly_chart") if node.key == key)
    figure: dict[str, Any] = json.loads(found.proto.spec)
    return figure


def lens_payload(app: AppTest) -> dict[str, Any]:
    """What the linked lens is given, the points beside it among it."""
    return given_to(app, "nlwfa.lens") | {"points": given_to(app, "nlwfa.lens_points")["points"]}


def given_to(app: AppTest, component: str) -> dict[str, Any]:
    """What one of the lab's own components is given."""
    [node] = [node for node in app.get("bidi_component") if node.proto.component_name == component]
    payload: dict[str, Any] = json.loads(node.proto.json)
    return payload


def written(app: AppTest, column: str) -> pd.DataFrame:
    """The texts that the first table with this column shows in place of its values."""
    node = next(node for node in app.dataframe if column in node.value)
    return convert_arrow_bytes_to_pandas_df(node.proto.arrow_data.styler.display_values)


def markdown_texts(app: AppTest) -> list[str]:
    """Every text of a page, its sidebar and its labels that may be read as Markdown."""
    texts = []
    for node in app:
        proto = getattr(node, "proto", None)
        if isinstance(proto, Message) and getattr(node, "type", "") not in SHOWN_PLAIN:
            texts += _texts(proto)
    return texts


def _texts(message: Message) -> Iterator[str]:
    for field, value in message.ListFields():
        for entry in value if field.is_repeated and not hasattr(value, "items") else [value]:
            if isinstance(entry, Message):
                yield from _texts(entry)
            elif isinstance(entry, str) and field.name not in PLAIN:
                yield entry
