"""Signing in with a real provider of this machine: what docs/deployment.md asks for, followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import free_port, serving
from tests.browser.screen import (
    QUICK,
    eventually,
    go,
    heading,
    keyed,
    press,
    rows,
    train,
    visit,
    visit_first,
)

SECRETS = """[auth]
redirect_uri = "{lab}/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "lab"
client_secret = "secret"
server_metadata_url = "http://localhost:{provider}/.well-known/openid-configuration"
"""


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from oidc_provider_mock import User, run_server_in_thread

    people = [
        User(sub="ada", claims={"name": "Ada <b>L</b>"}),
        User(sub="bob", claims={"name": "Bob"}),
    ]
    port = free_port()
    secrets = tmp_path / "secrets.toml"
    with run_server_in_thread(user_claims=people) as provider:
        secrets.write_text(
            SECRETS.format(lab=f"http://127.0.0.1:{port}", provider=provider.server_port)
        )
        monkeypatch.setenv("STREAMLIT_SECRETS_FILES", str(secrets))
        monkeypatch.setenv("NLWFA_HISTORY", "own")
        with serving(tmp_path, port=port) as address:
            yield address


def sign_in(page: Page, name: str) -> None:
    press(page, "people.sign_in")
    page.get_by_role("button", name=name, exact=True).click()
    expect(keyed(page, "people.sign_out")).to_be_visible()


# the provider's own, in a thread of this process
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_runs_follow_who_signs_in_to_another_browser_and_nobody_else(
    new_page: Callable[[], Page], lab: str
) -> None:
    first = new_page()
    visit_first(first, lab, **QUICK | {"data_seed": 54})
    sign_in(first, "ada")
    expect(first.get_by_text("Signed in as Ada <b>L</b>", exact=True)).to_be_visible()  # as text
    visit(first, lab, "train", **QUICK | {"data_seed": 54})
    train(first)

    bobs = new_page()
    second = new_page()
    for page, name in ((bobs, "bob"), (second, "ada")):
        visit(page, lab, **QUICK | {"data_seed": 55})
        sign_in(page, name)
        expect(heading(page, "")).to_be_visible()
        go(page, "history")
    expect(bobs.get_by_text("No run yet")).to_be_visible()
    assert eventually(lambda: [row[0] for row in rows(second)], ["SP, k = 2"])

    press(second, "people.sign_out")
    second.wait_for_url(re.compile("/end_session"))  # the provider's own page
    visit(second, lab, "history", **QUICK | {"data_seed": 55})
    expect(keyed(second, "people.sign_in")).to_be_visible()
    expect(second.get_by_text("No run yet")).to_be_visible()
