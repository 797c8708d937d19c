"""The person at the server's machine, told from everybody else by a running server, to clients that
may write what they like.
"""

from __future__ import annotations

import socket
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
import websockets.sync.client
from playwright.sync_api import Browser, expect
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.browser.screen import key_of
from tests.waiting import PATIENCE_SECONDS

XSRF = "_streamlit_xsrf=2|00000000|abababababababababababababababab|1700000000"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def cookie_for(lab: str, key: str, **headers: str) -> str:
    """The cookie that the server gives for a key; "" if none."""
    opener = urllib.request.build_opener(NoRedirect)
    try:
        opener.open(
            urllib.request.Request(f"{lab}/?key={key}", headers=headers), timeout=PATIENCE_SECONDS
        )
    except HTTPError as answer:
        assert answer.code == 303 and key not in answer.headers["Location"]
        return (answer.headers["Set-Cookie"] or "").partition(";")[0]
    raise AssertionError("the key stays in the address")


def pages_of(
    lab: str, cookie: str = "", host: str = "", claim: str = "http://localhost/", **headers: str
) -> set[str]:
    """The pages that the server offers to a client which claims an address for its page."""
    there = urlsplit(lab)
    name = host or there.netloc
    headers = {
        "Cookie": "; ".join(filter(None, (XSRF, cookie))),
        "Origin": f"http://{name}",
    } | headers
    message = BackMsg()
    message.rerun_script.query_string = ""
    message.rerun_script.context_info.url = claim
    with websockets.sync.client.connect(
        f"ws://{name}/_stcore/stream",
        sock=socket.create_connection((there.hostname, there.port), PATIENCE_SECONDS),
        subprotocols=[websockets.Subprotocol("streamlit")],
        origin=websockets.Origin(headers.pop("Origin")),
        additional_headers=headers,
        max_size=None,
        open_timeout=PATIENCE_SECONDS,
    ) as connection:
        connection.send(message.SerializeToString())
        offered: set[str] = set()
        while True:
            answer = ForwardMsg()
            answer.ParseFromString(connection.recv(PATIENCE_SECONDS))
            kind = answer.WhichOneof("type")
            # the last one counts: on a fresh server Streamlit begins with one of its own
            if kind == "navigation":
                offered = {
                    page.url_pathname for page in answer.navigation.app_pages if not page.is_hidden
                }
            elif kind == "script_finished" and "classroom" in offered:
                return offered


def test_only_the_key_shows_all(lab: str, lab_home: Path) -> None:
    key = key_of(lab_home)
    cookie = cookie_for(lab, key)
    assert "status" in pages_of(lab, cookie)
    port = urlsplit(lab).port
    for forged in (
        {},
        {"cookie": cookie.partition("=")[0] + "=" + "0" * 64},
        {"cookie": cookie.partition("=")[0] + "=" + key},
        {"cookie": cookie, "host": f"evil.example:{port}"},  # DNS rebinding
        {"host": f"evil.example:{port}", "claim": "http://127.0.0.1/"},
        {"cookie": cookie, "X-Forwarded-For": "127.0.0.1"},
        {"cookie": cookie, "Forwarded": "for=127.0.0.1"},
        {"claim": f"http://localhost:{port}/?key={key}"},
    ):
        assert "status" not in pages_of(lab, **forged), forged
    for origin in ("http://localhost:9999", "http://evil.example", "null"):
        with suppress(InvalidStatus, ConnectionClosed):  # Streamlit itself refuses some of them
            assert "status" not in pages_of(lab, cookie, Origin=origin), origin
    assert cookie_for(lab, "wrong") == cookie_for(lab, key, Host=f"evil.example:{port}") == ""
    assert cookie_for(lab, key, **{"X-Forwarded-For": "127.0.0.1"}) == ""


def test_the_key_leaves_the_address_and_is_in_no_link(
    lab: str, lab_home: Path, browser: Browser
) -> None:
    key = key_of(lab_home)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{lab}/data?key={key}&rank=7")
        expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
        page.get_by_role("button", name="More").click()
        expect(page.get_by_role("menuitem", name="Status")).to_be_visible()
        page.keyboard.press("Escape")
        assert "key" not in page.url and "rank=7" in page.url
        page.get_by_role("button", name="Share").click()
        expect(page.locator(".st-key-share_link code").first).to_be_visible()
        assert key not in page.content()
        other = context.new_page()  # another tab of the same browser
        other.goto(lab)
        expect(other.locator(".explore")).to_be_visible(timeout=PATIENCE_SECONDS * 1000)
        other.get_by_role("button", name="More", exact=True).click()
        expect(other.get_by_role("menuitem", name="Status")).to_be_visible()
    with browser.new_context() as context:
        stranger = context.new_page()
        stranger.goto(f"{lab}/data")
        expect(stranger.get_by_role("link", name="Class")).to_be_visible(
            timeout=PATIENCE_SECONDS * 1000
        )
        stranger.get_by_role("button", name="More").click()
        expect(stranger.get_by_role("menuitem", name="Practice")).to_be_visible()
        expect(stranger.get_by_role("menuitem", name="Status")).to_have_count(0)


def test_no_other_site_shows_the_lab_in_a_frame(lab: str) -> None:
    for path in ("/", "/_stcore/health", "/train"):
        with urllib.request.urlopen(f"{lab}{path}", timeout=PATIENCE_SECONDS) as answer:
            assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
            assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    with pytest.raises(HTTPError, match="404"):
        urllib.request.urlopen(f"{lab}/_stcore/metrics", timeout=PATIENCE_SECONDS)
