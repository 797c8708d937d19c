"""Handle requests between the web server and Streamlit: the key, headers, uploads, and who is
served first.

Streamlit runs this as middleware of its `App` (`app.py`), before it reads a request. So a request
that is refused here costs no memory and no page, and nothing here relies on what a page's own
messages say.

Source of the interface: https://asgi.readthedocs.io/en/latest/specs/main.html.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nlwfa_core import limits
from nlwfa_core.display.addresses import EVERY_INTERFACE, lan_address
from pages.shared import access, server
from pages.shared.render_lock import render_lock
from pages.shared.standing import standing

HEADERS = {
    # no other site may put the lab into a frame
    "Content-Security-Policy": "frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
UPLOAD = "/_stcore/upload_file/"
METRICS = "/_stcore/metrics"
TRY_AGAIN_LATER = 1013  # the code with which a websocket is closed
STRANGERS_SHARE = 2  # strangers together may use half of what everyone may use
WAITING_PAGES = 3  # strangers' requests wait here while more pages than this wait to be drawn
STRANGERS_PAGES = 2  # or, while a class is at work, while this many of strangers' pages are drawn
PAUSE = 0.01  # seconds between two looks at the waiting pages
SWEEP_SECONDS = 10.0
# Sessions with files are closed this long after their visitor was first seen to be away: Streamlit
# takes a browser back for 120 s, and a session whose time is over can't be closed from outside.
ABSENCE_SECONDS = 95.0

log = logging.getLogger(__name__)


class Turns:
    """Lets strangers' requests through one after the other, for as long as few pages wait to be
    drawn.

    Addresses take turns: whoever sends thousands of requests delays mostly those from the same
    address.
    """

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        # address -> its requests; the first address is next
        self._rows: dict[str, deque[asyncio.Future[None]]] = {}
        self._pump: asyncio.Task[None] | None = None

    async def wait(self, address: str) -> None:
        """Wait until a request from an address may go on."""
        if not self._rows and not self._is_busy():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rows.setdefault(address, deque()).append(turn)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._let_through())
        await turn

    async def _let_through(self) -> None:
        while self._rows:
            await asyncio.sleep(PAUSE)
            if self._is_busy():
                continue
            address = next(iter(self._rows))
            row = self._rows.pop(address)
            turn = row.popleft()
            if row:
                self._rows[address] = row
            if not turn.done():  # otherwise its browser has left
                turn.set_result(None)


@dataclass(eq=False)
class Connection:
    """A stranger's open websocket."""

    address: str
    browser: str
    last_message: float = field(default_factory=monotonic)
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class Uploads:
    """Counts the bytes of uploaded files that Streamlit holds in memory, and drops those of
    visitors who have left.

    Streamlit takes any number of files for a page, even files that no widget has asked for, and
    limits only the size of each.
    """

    def __init__(self) -> None:
        # (session, file) -> its browser and bytes
        self._files: dict[tuple[str, str], tuple[str, int]] = {}
        # a request -> the browser and bytes of the file that it brings
        self._arriving: dict[object, tuple[str, int]] = {}
        self._left: dict[str, float] = {}  # session -> since when its browser has been away

    def refusal(self, session: str, file: str, browser: str, num_bytes: int) -> str:
        """Return why a file is not taken; "" if it is.

        The files of others give way to those of a member who has less.
        """
        if standing.is_member(browser):
            self._give_way(browser, num_bytes)
        others = [entry for key, entry in self._files.items() if key != (session, file)]
        others += self._arriving.values()
        sums = {
            "browser_upload_bytes": sum(size for owner, size in others if owner == browser),
            "upload_memory_bytes": sum(size for _, size in others),
        }
        allowed = {name: limits.most(name) for name in sums}
        if not standing.is_member(browser):
            sums["strangers"] = sum(size for owner, size in others if not standing.is_member(owner))
            allowed["strangers"] = allowed["upload_memory_bytes"] // STRANGERS_SHARE
        for name, size in sums.items():
            if size + num_bytes > allowed[name]:
                whose = "this browser" if name == "browser_upload_bytes" else "all visitors"
                return (
                    f"The uploaded files of {whose} must be at most {allowed[name]:,} bytes in "
                    f"total; with this one they would come to {size + num_bytes:,}. Remove a file, "
                    "or close a page that has files and wait two minutes."
                )
        return ""

    def _give_way(self, browser: str, num_bytes: int) -> None:
        """Drop the newest files of strangers, and of members who would still have more than this
        one, until there is room.
        """
        while True:
            sums: Counter[str] = Counter()
            for owner, size in (*self._files.values(), *self._arriving.values()):
                sums[owner] += size
            if sums.total() + num_bytes <= limits.most("upload_memory_bytes"):
                return
            least = sums[browser] + num_bytes
            owners = {owner for owner, _ in self._files.values()} - {browser}
            giving = [
                owner for owner in owners if not standing.is_member(owner) or sums[owner] > least
            ]
            if not giving:
                return
            owner = max(giving, key=lambda name: (not standing.is_member(name), sums[name]))
            session, file = [key for key, entry in self._files.items() if entry[0] == owner][-1]
            st.runtime.get_instance().uploaded_file_mgr.remove_file(session, file)
            self.release(session, file)

    @contextmanager
    def arriving(self, browser: str, num_bytes: int) -> Iterator[None]:
        """Count a file while it arrives, whatever other requests for the same file bring or
        remove.
        """
        request = object()
        self._arriving[request] = browser, num_bytes
        try:
            yield
        finally:
            del self._arriving[request]

    def hold(self, session: str, file: str, browser: str, num_bytes: int) -> None:
        self._files[session, file] = browser, num_bytes

    def release(self, session: str, file: str) -> None:
        self._files.pop((session, file), None)

    def sweep(self) -> bool:
        """Close the sessions that hold files and whose browsers have been away for a long time;
        returns whether there were any.

        Streamlit itself closes them only when the next browser leaves: on a quiet server, the last
        visitor's strings would stay for hours.
        """
        runtime = st.runtime.get_instance()
        now = monotonic()
        sessions = {session for session, _ in self._files}
        self._left = {
            session: self._left.get(session, now)
            for session in sessions
            if not runtime.is_active_session(session)
        }
        gone = {session for session, since in self._left.items() if now - since > ABSENCE_SECONDS}
        for session in gone:
            runtime.close_session(session)
        self._files = {key: entry for key, entry in self._files.items() if key[0] not in gone}
        return bool(gone)


class Gate:
    """The middleware. There is one for each server.

    Parameters
    ----------
    app : callable
        Streamlit's own application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turns = Turns(_is_busy)
        self._strangers: set[Connection] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        query, key = access.without_key(scope["query_string"].decode("latin-1"))
        path = scope["path"]
        if key is not None and not path.startswith("/_stcore"):
            # two slashes would begin the name of another server
            page = "/" if path.startswith("//") else path
            response = RedirectResponse(f"{page}?{query}" if query else page, 303)
            if access.is_right_key(key) and access.is_direct(request.headers):
                name = access.cookie_name(request.headers.get("host", ""))
                response.set_cookie(name, access.cookie_value(), httponly=True, samesite="strict")
            response.headers["Cache-Control"] = "no-store"
            await response(scope, receive, _with_headers(send))
        elif path.endswith(METRICS) and not access.is_at_the_machine(
            request.headers, request.cookies
        ):
            await PlainTextResponse("Not found", 404)(scope, receive, _with_headers(send))
        elif UPLOAD in path:
            await self._upload(request, receive, _with_headers(send))
        else:
            await self._app(scope, receive, _with_headers(send))

    async def _upload(self, request: HTTPConnection, receive: Receive, send: Send) -> None:
        """Pass on a file, or a request to remove one, unless all files together are too large."""
        scope = request.scope
        method = request.scope["method"]
        session, _, file = scope["path"].rpartition(UPLOAD)[2].partition("/")
        if method != "PUT":
            if method == "DELETE":
                send = _on_success(send, lambda: uploads.release(session, file))
            await self._app(scope, receive, send)
            return
        length = request.headers.get("content-length", "")
        # a file sent in pieces could have any size
        if not length.isdecimal() or "transfer-encoding" in request.headers:
            await PlainTextResponse("The size of the file is missing.", 411)(scope, receive, send)
            return
        browser = _browser(request)
        reason = uploads.refusal(session, file, browser, int(length))
        if reason:
            log.warning("An upload was refused: %s", reason)
            await PlainTextResponse(reason, 413)(scope, receive, send)
            return

        async def paced() -> Message:
            if not standing.is_member(browser):
                await self._turns.wait(_address(request))
            return await receive()

        with uploads.arriving(browser, int(length)):
            await self._app(
                scope,
                paced,
                _on_success(send, lambda: uploads.hold(session, file, browser, int(length))),
            )

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        if access.is_at_the_machine(request.headers, request.cookies):
            await self._app(scope, receive, send)
            return
        connection = Connection(_address(request), _browser(request))
        if not standing.is_member(connection.browser):
            await self._turns.wait(connection.address)
            self._make_room()
        self._strangers.add(connection)  # until it joins a class

        async def paced() -> Message:
            message = await _first(receive, connection.closed)
            connection.last_message = monotonic()
            if message["type"] == "websocket.receive" and not standing.is_member(
                connection.browser
            ):
                await self._turns.wait(connection.address)
            return message

        try:
            await self._app(scope, paced, send)
            if connection.closed.is_set():
                await send({"type": "websocket.close", "code": TRY_AGAIN_LATER})
        finally:
            self._strangers.discard(connection)

    def _make_room(self) -> None:
        """If there are too many strangers' connections, close one: of the address with most of
        them, the one that has been silent for longest.
        """
        strangers = [
            connection
            for connection in self._strangers
            if not standing.is_member(connection.browser)
        ]
        if len(strangers) < limits.most("strangers"):
            return
        rows: dict[str, list[Connection]] = {}
        for connection in strangers:
            rows.setdefault(connection.address, []).append(connection)
        busiest = max(rows.values(), key=len)
        oldest = min(busiest, key=lambda connection: connection.last_message)
        oldest.closed.set()
        self._strangers.discard(oldest)


def _is_busy() -> bool:
    """Return whether strangers' requests must wait."""
    if render_lock.num_waiting > WAITING_PAGES:
        return True
    return standing.serves_members and render_lock.num_strangers >= STRANGERS_PAGES


def _browser(request: HTTPConnection) -> str:
    return access.browser_token(request.cookies.get(access.XSRF_COOKIE, ""))


def _address(request: HTTPConnection) -> str:
    """Return the address that a request comes from; behind a proxy, that of the proxy, unless
    uvicorn is told to trust it.
    """
    return access.network(request.client.host if request.client else "")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


def _on_success(send: Send, action: Callable[[], None]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            action()
        await send(message)

    return sending


async def _first(receive: Receive, closed: asyncio.Event) -> Message:
    """Return the next message, or a disconnection as soon as the server has closed the
    connection.
    """
    if closed.is_set():
        return {"type": "websocket.disconnect", "code": TRY_AGAIN_LATER}
    message = asyncio.ensure_future(receive())
    closing = asyncio.ensure_future(closed.wait())
    try:
        await asyncio.wait({message, closing}, return_when=asyncio.FIRST_COMPLETED)
        return (
            message.result()
            if message.done()
            else {"type": "websocket.disconnect", "code": TRY_AGAIN_LATER}
        )
    finally:
        closing.cancel()
        if not message.done():
            message.cancel()


uploads = Uploads()


@asynccontextmanager
async def lifespan(app: object) -> AsyncIterator[None]:
    """Prepare the server, print its address, and tidy up while it runs."""
    server.prepare()
    print(greeting(), flush=True)
    tidying = asyncio.create_task(_tidy())
    try:
        yield
    finally:
        tidying.cancel()
        with suppress(asyncio.CancelledError):
            await tidying


async def _tidy() -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            if uploads.sweep():
                server.trim_later()
        except Exception:  # whatever happened, the next sweep must come
            log.exception("uploaded files could not be tidied")


def greeting() -> str:
    """Return the message of the lab's start: its address with the key and, if it listens on the
    network, the address for others.
    """
    scheme = "https" if st.get_option("server.sslCertFile") else "http"
    port = st.get_option("server.port")
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    end = f":{port}/{base}/" if base else f":{port}/"
    listens_on = str(st.get_option("server.address") or "")
    everywhere = listens_on in EVERY_INTERFACE
    host = "localhost" if everywhere else f"[{listens_on}]" if ":" in listens_on else listens_on
    lines = [
        "",
        "  NL-WFA Lab. On this computer, open",
        "",
        f"    {scheme}://{host}{end}?{access.PARAMETER}={access.KEY}",
        "",
        "  This address shows all runs. Keep it to yourself: others need no key to open the lab.",
    ]
    if everywhere and (lan := lan_address()):
        lines += ["  Others on your network open", "", f"    {scheme}://{lan}{end}"]
    return "\n".join([*lines, ""])
