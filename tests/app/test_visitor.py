"""Who is looking: whether Status is shown, how a browser and a person are recognised, and signing in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pages.shared import visitor
from tests.app.lab import complaints, open_lab


@pytest.mark.parametrize(
    ("history", "status", "address", "host", "headers", "runs", "seen"),
    [
        ("", "", None, "localhost:8501", {}, "all", True),
        ("", "", None, "[::1]:8501", {}, "all", True),
        ("", "", "192.0.2.7", "192.0.2.1:8501", {}, "own", False),
        ("", "", None, "localhost", {"X-Forwarded-For": "192.0.2.7"}, "own", False),  # a proxy on the same machine
        ("", "", None, "lab.example.org", {}, "own", False),  # one that sends no such header
        ("all", "", "192.0.2.7", "192.0.2.1:8501", {}, "all", False),
        ("all", "", None, "localhost", {}, "all", True),
        ("own", "", None, "localhost", {}, "own", False),
        ("own", "on", "192.0.2.7", "192.0.2.1", {}, "own", True),
        ("off", "", None, "localhost", {}, "off", False),
        ("nonsense", "", None, "localhost", {}, "off", False),
        ("", "off", None, "localhost", {}, "all", False),
        ("", "nonsense", None, "localhost", {}, "all", False),
    ],
)
def test_who_sees_which_runs_and_the_status(
    monkeypatch: pytest.MonkeyPatch,
    history: str,
    status: str,
    address: str,
    host: str,
    headers: dict[str, str],
    runs: str,
    seen: bool,
) -> None:
    monkeypatch.setenv(visitor.HISTORY, history)
    monkeypatch.setenv(visitor.STATUS, status)
    monkeypatch.setattr(visitor.st, "context", SimpleNamespace(ip_address=address, url=f"http://{host}/data", headers=headers))
    assert visitor.mode() == runs and visitor.may_see_status() is seen


def test_a_browser_is_known_by_what_stays_the_same_in_its_cookie(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

    token = bytes(range(16))
    cookies = [generate_xsrf_token_string(token, 1) for _ in range(2)]
    assert cookies[0] != cookies[1] and visitor.browser_token(cookies[0]) == visitor.browser_token(cookies[1]) == token.hex()
    for broken in ("", "2||ab|1", "2|zz|ab|1", "1|00|00|0|0", "x"):
        assert visitor.browser_token(broken) == ""
    who = {}
    for cookie in (cookies[0], cookies[1], generate_xsrf_token_string(bytes(16), 1)):
        monkeypatch.setattr(visitor.st, "context", SimpleNamespace(cookies={visitor.COOKIE: cookie}))
        who[cookie] = visitor.identity()
    assert who[cookies[0]] == who[cookies[1]] and len(set(who.values())) == 2


def test_who_has_signed_in_is_the_same_in_every_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = {"is_logged_in": True, "iss": "https://id.example.org", "sub": "42", "name": "Ada <b>"}
    monkeypatch.setattr(visitor.st, "user", signed)
    known = visitor.identity()
    monkeypatch.setattr(visitor.st, "user", signed | {"name": "Ada L."})
    assert visitor.identity() == known
    monkeypatch.setattr(visitor.st, "user", signed | {"sub": "43"})
    assert visitor.identity() != known
    app = open_lab("data")
    assert not complaints(app) and [button.key for button in app.sidebar.button if "sign" in button.key] == ["people.sign_out"]
    app = open_lab("start")  # its sidebar is hidden
    assert [button.key for button in app.main.button if "sign" in button.key] == ["people.sign_out"]


def test_signing_in_is_offered_where_it_is_set_up_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered() -> list[str]:
        start, data = open_lab("start"), open_lab("data")
        assert not complaints(start) and not complaints(data)
        places = [[button.label for button in place.button if "sign_in" in button.key] for place in (start.main, data.sidebar)]
        assert places[0] == places[1]
        return places[0]

    assert offered() == []
    monkeypatch.setattr(visitor.st, "user", {"is_logged_in": False})
    monkeypatch.setattr(visitor.st, "secrets", {"auth": {"client_id": "x", "redirect_uri": "y"}})
    assert offered() == ["Sign in"]
    monkeypatch.setattr(
        visitor.st, "secrets", {"auth": {"redirect_uri": "y", "school": {"client_id": "x"}, "google": {"client_id": "z"}}}
    )
    assert offered() == ["Sign in with school", "Sign in with google"]
    app = open_lab("start")
    app.button(key="people.sign_in.school").click().run()
    assert len(complaints(app)) == 1 and "not set up completely" in complaints(app)[0]
