"""The last net: what nobody foresaw becomes one calm sentence with an id, and stands in the server's log under that id."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from nlwfa_core import RecipeError
from pages.shared.text import literal

log = logging.getLogger(__name__)


@contextmanager
def calm() -> Iterator[None]:
    """Streamlit's own stops and reruns are no errors (they are no `Exception`), and pass."""
    try:
        yield
    except RecipeError as error:
        st.error(literal(str(error)), icon=":material/error:")
    except Exception:
        name = secrets.token_hex(4)
        log.exception("unexpected error %s", name)
        st.error(
            f"Something went wrong here that should not have (id {name}). Your settings are safe in the address. Try another page, "
            "or *Undo* in the sidebar; if it comes back, tell whoever runs this server the id.",
            icon=":material/error:",
        )
