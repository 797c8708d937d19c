"""Who is looking: whether Status is shown, how a browser and a person are recognised, and signing
in.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from pages.shared import access, visitor
from pages.shared.standing import MEMBER, standing
from tests.app.lab import complaints, open_lab

ROOT = Path(__file__).resolve().parents[2]
HERE = "localhost:8501"


def request(
    host: str = HERE, key: bool = True, origin: str | None = "", **headers: str
) -> SimpleNamespace:
    """What a browser sends when it connects, with the cookie that it got for the key if `key`, and
    an address that it claims.
    """
    sent = {"Host": host, **headers} | (
        {} if origin is None else {"Origin": origin or f"http://{host}"}
    )
    cookies = {access.cookie_name(host): access.cookie_value()} if key else {}
    return SimpleNamespace(
        ip_address=None, url="http://localhost:8501/", headers=sent, cookies=cookies
    )


AT_THE_MACHINE = True
NO_KEY = False


@pytest.mark.parametrize(
    ("history", "status", "has_key", "runs", "seen"),
    [
        ("", "", AT_THE_MACHINE, "all", True),
        ("", "", NO_KEY, "own", False),
        ("all", "", NO_KEY, "all", False),
        ("all", "", AT_THE_MACHINE, "all", True),
        ("own", "", AT_THE_MACHINE, "own", False),
        ("own", "on", NO_KEY, "own", True),
        ("off", "", AT_THE_MACHINE, "off", False),
        ("nonsense", "", AT_THE_MACHINE, "off", False),
        ("", "off", AT_THE_MACHINE, "all", False),
        ("", "nonsense", AT_THE_MACHINE, "all", False),
    ],
)
def test_who_sees_which_runs_and_the_status(
    monkeypatch: pytest.MonkeyPatch, history: str, status: str, has_key: bool, runs: str, seen: bool
) -> None:
    monkeypatch.setenv(visitor.HISTORY, history)
    monkeypatch.setenv(visitor.STATUS, status)
    monkeypatch.setattr(visitor.st, "context", request(key=has_key))
    assert visitor.mode() == runs and visitor.may_see_status() is seen


@pytest.mark.parametrize(
    "host", [HERE, "127.0.0.1:8501", "[::1]:8501", "localhost", "lab.localhost:8501"]
)
def test_who_has_the_key_is_at_the_machine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    # a browser always sends one with a websocket, and none with a plain request
    for origin in ("", None):
        monkeypatch.setattr(visitor.st, "context", request(host, origin=origin))
        assert visitor.at_the_machine()


@pytest.mark.parametrize(
    "sent",
    [
        # says http://localhost:8501/ as its address, which a client may claim
        lambda: request(key=False),
        lambda: request("evil.example:8501"),  # a name that leads here: DNS rebinding
        lambda: request("lab.example.org", origin="https://lab.example.org"),
        lambda: request("0.0.0.0:8501"),
        lambda: request("192.0.2.7:8501"),
        lambda: request("localhost.evil.example:8501"),
        lambda: request("localhost@evil.example:8501"),
        lambda: request("evil.example@localhost:8501"),
        lambda: request(""),
        lambda: request("[::1"),
        lambda: request(origin="http://localhost:9999"),  # a page of another server on this machine
        lambda: request(origin="http://127.0.0.1:8501"),
        lambda: request(origin="null"),
        *(partial(request, **{name: value}) for name in access.FORWARDED for value in ("127.0.0.1", "")),  # noqa: E501
        lambda: SimpleNamespace(headers={}, cookies={}),
        lambda: SimpleNamespace(headers={"Host": HERE}, cookies={"nlwfa_machine_8501": ""}),
        lambda: SimpleNamespace(headers={"Host": HERE}, cookies={"nlwfa_machine_8501": access.KEY}),
        lambda: SimpleNamespace(headers={"Host": HERE}, cookies={"nlwfa_machine_8501": "\udc80" * 64}),  # noqa: E501
        lambda: SimpleNamespace(headers={"Host": HERE}, cookies={"nlwfa_machine_8502": access.cookie_value()}),  # noqa: E501
    ],
)  # fmt: skip
def test_nobody_else_is_at_the_machine(
    monkeypatch: pytest.MonkeyPatch, sent: Callable[[], SimpleNamespace]
) -> None:
    monkeypatch.setattr(visitor.st, "context", sent())
    assert not visitor.at_the_machine()


@pytest.mark.slow
def test_the_key_is_new_with_each_start_and_the_cookie_lasts_with_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = "from pages.shared import access; print(access.KEY, access.cookie_value())"
    outputs = []
    for folder in ("a", "a", "b"):
        environment = os.environ | {"NLWFA_HOME": str(tmp_path / folder), "PYTHONPATH": str(ROOT)}
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.append(run.stdout.split())
    keys, cookies = zip(*outputs, strict=True)
    assert len(set(keys)) == 3 and cookies[0] == cookies[1] != cookies[2]
    assert (tmp_path / "a" / "secret").stat().st_mode & 0o077 == 0
    assert access.is_right_key(access.KEY)
    for wrong in ("", access.KEY[:-1], access.KEY + "A", "\udc80", access.cookie_value()):
        assert not access.is_right_key(wrong)


def test_a_browser_is_known_by_what_stays_the_same_in_its_cookie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from streamlit.web.server.starlette.starlette_app_utils import generate_xsrf_token_string

    token = bytes(range(16))
    cookies = [generate_xsrf_token_string(token, 1) for _ in range(2)]
    assert (
        cookies[0] != cookies[1]
        and access.browser_token(cookies[0]) == access.browser_token(cookies[1]) == token.hex()
    )
    for broken in ("", "2||ab|1", "2|zz|ab|1", "1|00|00|0|0", "x"):
        assert access.browser_token(broken) == ""
    who = {}
    for cookie in (cookies[0], cookies[1], generate_xsrf_token_string(bytes(16), 1)):
        context = SimpleNamespace(headers={}, cookies={access.XSRF_COOKIE: cookie})
        monkeypatch.setattr(visitor.st, "context", context)
        who[cookie] = visitor.identity()
    assert who[cookies[0]] == who[cookies[1]] and len(set(who.values())) == 2


def test_the_person_at_the_machine_is_the_same_in_each_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visitor, "at_the_machine", lambda: True)
    identities = []
    for token in ("one", "two"):
        monkeypatch.setattr(visitor, "browser", lambda token=token: token)
        identities.append(visitor.identity())
    assert identities[0] == identities[1]


def test_who_has_signed_in_is_the_same_in_every_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    signed = {"is_logged_in": True, "iss": "https://id.example.org", "sub": "42", "name": "Ada <b>"}
    monkeypatch.setattr(visitor.st, "user", signed)
    known = visitor.identity()
    monkeypatch.setattr(visitor.st, "user", signed | {"name": "Ada L."})
    assert visitor.identity() == known
    monkeypatch.setattr(visitor.st, "context", request(key=False))
    monkeypatch.setattr(visitor, "browser", lambda: "5157")
    try:
        # before strangers
        assert visitor.is_known() and visitor.rank()[0] == MEMBER and standing.is_member("5157")
    finally:
        standing.forget_members([visitor.identity()])
    monkeypatch.undo()
    monkeypatch.setattr(visitor.st, "user", signed | {"sub": "43"})
    assert visitor.identity() != known
    app = open_lab("data")
    assert not complaints(app) and [
        button.key for button in app.sidebar.button if "sign" in button.key
    ] == ["people.sign_out"]
    app = open_lab("learn")  # its sidebar is hidden
    assert [button.key for button in app.main.button if "sign" in button.key] == ["people.sign_out"]


def test_signing_in_is_offered_where_it_is_set_up_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def offered() -> list[str]:
        start = open_lab("learn")
        data = open_lab("data")
        assert not complaints(start) and not complaints(data)
        places = [
            [button.label for button in place.button if "sign_in" in button.key]
            for place in (start.main, data.sidebar)
        ]
        assert places[0] == places[1]
        return places[0]

    assert offered() == []
    monkeypatch.setattr(visitor.st, "user", {"is_logged_in": False})
    monkeypatch.setattr(visitor.st, "secrets", {"auth": {"client_id": "x", "redirect_uri": "y"}})
    assert offered() == ["Sign in"]
    monkeypatch.setattr(
        visitor.st,
        "secrets",
        {"auth": {"redirect_uri": "y", "school": {"client_id": "x"}, "google": {"client_id": "z"}}},
    )
    assert offered() == ["Sign in with school", "Sign in with google"]
    app = open_lab("learn")
    app.button(key="people.sign_in.school").click().run()
    assert len(complaints(app)) == 1 and "not set up completely" in complaints(app)[0]
