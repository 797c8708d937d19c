"""What is in front of Streamlit: the key, headers, uploads, and strangers who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from nlwfa_core import limits
from pages.shared import access, web
from pages.shared.render_lock import RenderLock
from pages.shared.standing import STRANGER, Standing, standing

HOST = "localhost:8501"
PUT = "/_stcore/upload_file/session/file"


@pytest.fixture(autouse=True)
def uploads(monkeypatch: pytest.MonkeyPatch) -> web.Uploads:
    """No file is held."""
    monkeypatch.setattr(web, "uploads", web.Uploads())
    return web.uploads


@pytest.fixture
def member() -> Iterator[str]:
    """The token of a browser that has joined a class."""
    standing.note_member("ab", "a member", 1.0)
    yield "ab"
    standing.forget_members(["a member"])


def complete(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a thread of its own.

    In this one, Playwright's loop still runs if browser tests came before.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def cookie(token: str) -> str:
    return f"{access.XSRF_COOKIE}=2|00|{token}|1700000000"


async def answers_204(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands for Streamlit."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asked(
    path: str, query: str = "", method: str = "GET", app: Any = answers_204, **headers: str
) -> tuple[int, dict[str, str], str]:
    """The status, the headers and the text with which a request is answered."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    lines = {"host": HOST} | {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in lines.items()],
        "client": ("127.0.0.1", 1),
    }
    complete(web.Gate(app)(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return (
        sent[0]["status"],
        {name.decode(): value.decode() for name, value in sent[0]["headers"]},
        body.decode(),
    )


def test_the_key_is_exchanged_for_a_cookie_and_leaves_the_address() -> None:
    status, headers, _ = asked("/train", f"rank=3&key={access.KEY}&show=rank")
    assert (status, headers["location"]) == (303, "/train?rank=3&show=rank")
    assert headers["set-cookie"].startswith(f"nlwfa_machine_8501={access.cookie_value()};")
    assert {"HttpOnly", "SameSite=strict"} <= set(
        headers["set-cookie"].split("; ")
    ) and access.KEY not in str(headers)


@pytest.mark.parametrize(
    ("path", "key", "headers", "location"),
    [
        ("/", "wrong", {}, "/"),
        ("/", "", {}, "/"),
        ("/", access.KEY[:-1], {}, "/"),
        ("//evil.example/", "wrong", {}, "/"),
        ("/", access.KEY, {"host": "evil.example:8501"}, "/"),
        ("/", access.KEY, {"host": "192.0.2.7:8501"}, "/"),
        ("/", access.KEY, {"x_forwarded_for": "127.0.0.1"}, "/"),
        ("/", access.KEY, {"origin": "http://localhost:9999"}, "/"),
    ],
    ids=range(8),  # the key is another one in each process
)
def test_without_the_right_key_from_here_there_is_no_cookie(
    path: str, key: str, headers: dict[str, str], location: str
) -> None:
    status, answer, _ = asked(path, f"key={key}", **headers)
    assert (status, answer["location"]) == (303, location) and "set-cookie" not in answer


@pytest.mark.parametrize("path", ["/", "/train", "/_stcore/health", "/static/x.js", "/media/x"])
def test_no_other_site_may_frame_the_lab(path: str) -> None:
    _, headers, _ = asked(path)
    assert (
        headers["content-security-policy"] == "frame-ancestors 'self'"
        and headers["x-frame-options"] == "SAMEORIGIN"
    )


def test_metrics_are_for_the_person_at_the_machine() -> None:
    key = f"nlwfa_machine_8501={access.cookie_value()}"
    assert asked("/_stcore/metrics")[0] == 404 and asked("/lab/_stcore/metrics")[0] == 404
    assert asked("/_stcore/metrics", cookie=key)[0] == 204
    assert asked("/_stcore/metrics", cookie=key, host="evil.example:8501")[0] == 404
    assert asked("/_stcore/metrics", cookie=key, forwarded="for=127.0.0.1")[0] == 404


def put(size: int, token: str = "cd", file: str = "file") -> int:
    return asked(
        f"/_stcore/upload_file/session/{file}",
        method="PUT",
        content_length=str(size),
        cookie=cookie(token),
    )[0]


def test_uploads_are_limited_in_sum_by_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"browser_upload_bytes": 100})
    assert [put(40, file=name) for name in ("a", "b", "c")] == [204, 204, 413]
    assert put(60, file="b") == 204  # in place of the one before
    assert put(40, token="ef", file="d") == 204
    assert asked("/_stcore/upload_file/session/a", method="DELETE", cookie=cookie("cd"))[0] == 204
    assert put(40, file="c") == 204
    _, _, text = asked(
        "/_stcore/upload_file/session/x", method="PUT", content_length="41", cookie=cookie("cd")
    )
    assert "must be at most 100 bytes in total; with this one they would come to 141" in text


def test_fresh_cookies_have_a_share_of_the_memory_and_members_the_rest(
    monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"upload_memory_bytes": 200})
    removed = list[tuple[str, str]]()
    manager = SimpleNamespace(remove_file=lambda session, file: removed.append((session, file)))
    monkeypatch.setattr(
        "streamlit.runtime.get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager)
    )
    flood = [put(10, token=f"{number:04x}", file=f"{number}") for number in range(1, 50)]
    assert flood.count(204) == 10 and put(90, token=member, file="mine") == 204 and not removed
    # a stranger's file has given way
    assert put(20, token=member, file="more") == 204 and len(removed) == 1
    assert put(90, token=member, file="even more") == 204 and len(removed) == 10
    assert put(20, token=member, file="too much") == 413


def test_members_who_hold_much_give_way_to_those_who_hold_little(
    monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    """Whoever fills the memory as a member of a class of their own does not shut out others."""
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"upload_memory_bytes": 100})
    removed = list[tuple[str, str]]()
    manager = SimpleNamespace(remove_file=lambda session, file: removed.append((session, file)))
    monkeypatch.setattr(
        "streamlit.runtime.get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager)
    )
    standing.note_member("1234", "another member", 0.0)
    try:
        assert [put(45, token="1234", file=name) for name in ("a", "b")] == [204, 204]
        assert put(30, token=member, file="mine") == 204 and removed == [("session", "b")]
        # who has more gets no more
        assert put(60, token="1234", file="c") == 413 and len(removed) == 1
    finally:
        standing.forget_members(["another member"])


def test_what_arrives_is_counted_whatever_else_the_browser_does(uploads: web.Uploads) -> None:
    """A file is removed, or sent again in vain, while it arrives: what Streamlit holds in the end
    is counted.
    """
    answer = {"type": "http.response.body", "body": b""}

    async def removes_meanwhile(scope: Scope, receive: Receive, send: Send) -> None:
        uploads.release("session", "file")
        assert uploads.refusal("other", "x", "cd", limits.most("browser_upload_bytes") - 39)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send(answer)

    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 400, "headers": []})
        await send(answer)

    assert (
        asked(PUT, method="PUT", app=removes_meanwhile, content_length="40", cookie=cookie("cd"))[0]
        == 204
    )
    assert asked(PUT, method="PUT", app=refuses, content_length="10", cookie=cookie("cd"))[0] == 400
    assert uploads._files == {("session", "file"): ("cd", 40)} and not uploads._arriving


def test_an_upload_in_pieces_of_no_stated_size_is_not_read() -> None:
    headers = {"content_length": "1", "transfer_encoding": "chunked"}
    assert asked(PUT, method="PUT", app=None, cookie=cookie("cd"), **headers)[0] == 411


@pytest.mark.parametrize("length", ["", "-1", "1e3", "٣", "1, 2"])
def test_an_upload_without_its_size_is_not_read(length: str) -> None:
    headers = {"content_length": length} if length.isascii() and length else {}
    assert asked(PUT, method="PUT", app=None, cookie=cookie("cd"), **headers)[0] == 411


def test_what_streamlit_refuses_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, uploads: web.Uploads
) -> None:
    async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError

    assert asked(PUT, method="PUT", app=refuses, content_length="40", cookie=cookie("cd"))[0] == 403
    with pytest.raises(OSError):
        asked(PUT, method="PUT", app=breaks, content_length="40", cookie=cookie("cd"))
    assert uploads._files == {}


def test_sessions_with_files_are_closed_when_their_visitor_has_left(
    monkeypatch: pytest.MonkeyPatch, uploads: web.Uploads
) -> None:
    now = [0.0]
    closed = list[str]()
    runtime = SimpleNamespace(
        is_active_session=lambda session: session == "here", close_session=closed.append
    )
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: runtime)
    monkeypatch.setattr(web, "monotonic", lambda: now[0])
    uploads.hold("here", "a", "cd", 10)
    uploads.hold("away", "b", "cd", 10)
    for now[0], expected in ((1000.0, []), (1090.0, []), (1100.0, ["away"]), (1200.0, ["away"])):
        uploads.sweep()
        assert closed == expected
    assert [session for session, _ in uploads._files] == ["here"]


def turns(is_busy: Callable[[], bool], addresses: str) -> list[str]:
    """The order in which requests go on, of which none may before all have come."""
    order: list[str] = []

    async def come(queue: web.Turns, address: str) -> None:
        await queue.wait(address)
        order.append(address)

    async def all_come() -> None:
        queue = web.Turns(is_busy)
        await asyncio.gather(*(come(queue, address) for address in addresses))

    complete(all_come())
    return order


def test_addresses_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "PAUSE", 0.0)
    looks = iter([True] * 20)
    assert "".join(turns(lambda: next(looks, False), "aaaaabc")) == "abcaaaa"
    assert turns(lambda: False, "aab") == list("aab")


def test_strangers_pages_wait_while_a_class_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = RenderLock(60.0)
    here = Standing()
    monkeypatch.setattr(web, "render_lock", lock)
    monkeypatch.setattr(web, "standing", here)
    here.note_member("ab", "a member", 1.0)
    with ExitStack() as pages:
        for _ in range(web.STRANGERS_PAGES):
            assert not web._is_busy()
            pages.enter_context(lock.hold((STRANGER, False, 0.0)))
            lock._expires_at = 0.0  # it computes for long, and has lost the lock
        assert not web._is_busy()  # nobody is disturbed
        here.note_page("ab")
        assert web._is_busy()
    assert not web._is_busy() and lock.num_strangers == 0


class Socket:
    """A browser's websocket that never sends anything by itself."""

    def __init__(self, gate: web.Gate, address: str, token: str) -> None:
        self.scope = {
            "type": "websocket",
            "path": "/_stcore/stream",
            "query_string": b"",
            "headers": [(b"host", HOST.encode()), (b"cookie", cookie(token).encode())],
            "client": (address, 1),
        }
        self.task = asyncio.create_task(gate(self.scope, self.receive, self.send))

    async def receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(self, message: Message) -> None:
        pass


async def until_closed(scope: Scope, receive: Receive, send: Send) -> None:
    """Stands for Streamlit, which ends when the browser leaves."""
    assert (await receive())["type"] == "websocket.disconnect"


def test_too_many_strangers_push_out_each_other_and_no_member(
    monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    monkeypatch.setattr(limits, "IN_FORCE", limits.IN_FORCE | {"strangers": 5})

    async def scenario() -> None:
        gate = web.Gate(until_closed)
        class_ = Socket(gate, "192.0.2.1", member)
        lone = Socket(gate, "192.0.2.2", "cc")
        await asyncio.sleep(0)
        flood = []
        for number in range(20):
            flood.append(Socket(gate, "192.0.2.3", f"{number:04x}"))
            for _ in range(5):
                await asyncio.sleep(0)
        assert not class_.task.done() and not lone.task.done()
        assert [socket.task.done() for socket in flood] == [True] * 16 + [False] * 4
        for socket in (class_, lone, *flood):
            socket.task.cancel()
        await asyncio.gather(
            *(socket.task for socket in (class_, lone, *flood)), return_exceptions=True
        )

    complete(scenario())


def test_the_greeting_has_the_address_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {
        "server.port": 8600,
        "server.address": None,
        "server.baseUrlPath": "",
        "server.sslCertFile": None,
    }
    monkeypatch.setattr(web.st, "get_option", options.get)
    monkeypatch.setattr(web, "lan_address", lambda: "192.0.2.7")
    text = web.greeting()
    assert (
        f"http://localhost:8600/?key={access.KEY}" in text
        and "http://192.0.2.7:8600/\n" in f"{text}\n"
    )
    options |= {
        "server.address": "::1",
        "server.baseUrlPath": "/lab/",
        "server.sslCertFile": "x.pem",
    }
    assert (
        f"https://[::1]:8600/lab/?key={access.KEY}" in web.greeting()
        and "192.0.2.7" not in web.greeting()
    )
