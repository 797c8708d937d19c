"""Simulate a browser's session: one websocket, protobuf messages in both directions, and the state
kept between two reruns.

It does not draw, and does not fetch scripts and pictures, which are the same for everyone and
cached.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from time import perf_counter
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode

import websockets
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.WidgetStates_pb2 import WidgetState

MAX_BYTES = 60 * 2**20  # above server.maxMessageSize
PATIENCE = 60.0
UNFORESEEN = "Something went wrong here"  # `pages.shared.widgets`


@dataclass
class Seen:
    """Counts the messages that all sessions together have received, and collects errors.

    Attributes
    ----------
    faults : list of str
        Exceptions, unforeseen errors, broken connections, missing answers.
    errors : list of str
        Error messages of the lab.
    messages, num_bytes : int
    """

    faults: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    messages: int = 0
    num_bytes: int = 0


@dataclass
class Drawn:
    """What is on a page: number fields by their keys; of all others, key -> element id."""

    numbers: dict[str, NumberInput] = field(default_factory=dict)
    buttons: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    components: dict[str, str] = field(default_factory=dict)


class Session:
    """Simulates one person's browser tab.

    Parameters
    ----------
    address : str
        The server's address, for example ws://127.0.0.1:8501.
    seen : Seen
    query : dict
        The parameters of the link with which the session begins.
    cookie : str
        What the browser sends as its cookies.

    Attributes
    ----------
    fragment_seconds : list of float
        How long each part that refreshes itself took, from asking to the last message.
    """

    def __init__(self, address: str, seen: Seen, query: dict[str, Any], cookie: str = "") -> None:
        self._headers = {"Cookie": cookie} if cookie else {}
        self.fragment_seconds: list[float] = []
        self._address = f"{address}/_stcore/stream"
        self._seen = seen
        self.query = {name: str(value) for name, value in query.items()}
        self.page = Drawn()  # after the last run that has ended
        self._values: dict[str, WidgetState] = {}
        self._pages: dict[str, str] = {}
        self._page = ""
        self._cached: dict[str, tuple[ForwardMsg, int]] = {}
        self._runs = self._cached_runs = 0
        self._drawn = Drawn()
        self._finished = asyncio.Event()
        self._finished.set()
        self._fragments: dict[str, asyncio.Task[None]] = {}
        self._fragment_done = asyncio.Event()
        self._lost: str | None = None

    async def __aenter__(self) -> Self:
        self._socket = await websockets.connect(
            self._address,
            subprotocols=[websockets.Subprotocol("streamlit")],
            max_size=MAX_BYTES,
            open_timeout=PATIENCE,
            additional_headers=self._headers,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_fragments()
        self._reader.cancel()
        await self._socket.close()

    @property
    def watches(self) -> bool:
        """Return whether a part of the page refreshes itself, as it does during training."""
        return bool(self._fragments)

    @property
    def is_idle(self) -> bool:
        """Return whether the page has been drawn to its end."""
        return self._finished.is_set()

    async def visit(self, page: str = "") -> float:
        """Open a page, by its name in the address. Returns the seconds until it is drawn."""
        return await self._run(page=page)

    async def set_number(self, key: str, value: int) -> float:
        """Change a number field, and return the seconds until the page is drawn again."""
        widget = self.page.numbers[key]
        self._values[widget.id] = _number(widget, value)
        if widget.query_param_key:
            self.query[widget.query_param_key] = str(value)
        return await self._run()

    async def tell(self, key: str, event: str, value: Any) -> float:
        """Let a component of the lab send something, and return the seconds until the page is drawn
        again.
        """
        state = WidgetState(
            id=_make_trigger_id(self.page.components[key], "events"),
            json_trigger_value=json.dumps([{"event": event, "value": value}]),
        )
        return await self._run(trigger=state)

    async def press(self, key: str) -> float:
        """Press a button, and return the seconds until the page is drawn again."""
        return await self._run(trigger=WidgetState(id=self.page.buttons[key], trigger_value=True))

    async def type_text(self, key: str, text: str) -> float:
        """Fill in a text field that stands in no form, and return the seconds until the page is
        drawn again.
        """
        name = self.page.texts[key]
        self._values[name] = WidgetState(id=name, string_value=text)
        return await self._run()

    async def submit(self, key: str, texts: dict[str, str]) -> float:
        """Fill in text fields of a form, by their keys, and press its button.

        Returns the seconds until the page is drawn again.
        """
        for field_key, text in texts.items():
            name = self.page.texts[field_key]
            self._values[name] = WidgetState(id=name, string_value=text)
        return await self.press(key)

    def number(self, key: str) -> int:
        """Return the value of a number field."""
        widget = self.page.numbers[key]
        state = self._values.get(widget.id)
        return (
            state.int_value
            if state is not None
            else int(widget.value if widget.set_value else widget.default)
        )

    async def _run(self, page: str | None = None, trigger: WidgetState | None = None) -> float:
        # A page that draws itself, as it does after a training, is waited for; otherwise its end
        # would be taken for the answer, and each later answer for that of the action before.
        await self._finish()
        self._finished.clear()
        started = perf_counter()
        await self._send(page, trigger)
        await self._finish()
        return perf_counter() - started

    async def _finish(self) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._finished.wait()
        except TimeoutError:
            self._seen.faults.append(f"no answer within {PATIENCE:g} s")
            raise
        if self._lost:
            raise ConnectionError(self._lost)

    async def _send(
        self, page: str | None = None, trigger: WidgetState | None = None, fragment: str = ""
    ) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string = urlencode(self.query)
        state.widget_states.widgets.extend(
            [*self._values.values(), *([trigger] if trigger else [])]
        )
        state.page_script_hash = self._page
        if page is not None:
            state.page_name = page
            state.page_script_hash = self._pages.get(page, "")
        state.fragment_id = fragment
        state.is_auto_rerun = bool(fragment)
        state.cached_message_hashes.extend(self._cached)
        state.context_info.timezone, state.context_info.locale, state.context_info.url = (
            "UTC",
            "en",
            self._address,
        )
        await self._socket.send(message.SerializeToString())

    async def _read(self) -> None:
        try:
            async for data in self._socket:
                self._seen.messages += 1
                self._seen.num_bytes += len(data)
                message = ForwardMsg()
                message.ParseFromString(data if isinstance(data, bytes) else data.encode())
                self._take(message)
            self._end("the server closed the connection")
        except websockets.ConnectionClosed as error:
            self._end(f"the connection broke: {error}")

    def _end(self, why: str) -> None:
        self._lost = why
        self._seen.faults.append(why)
        self._stop_fragments()
        self._finished.set()

    def _take(self, message: ForwardMsg) -> None:
        if message.ref_hash:
            if message.ref_hash not in self._cached:
                self._end("the server referred to a message that the browser had forgotten")
                return
            cached, _ = self._cached[message.ref_hash]
            metadata = message.metadata
            message = ForwardMsg()
            message.CopyFrom(cached)
            message.metadata.CopyFrom(metadata)
        if message.hash and (message.metadata.cacheable or message.hash in self._cached):
            self._cached[message.hash] = message, self._runs
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self._stop_fragments()
            self._finished.clear()
            self._drawn = Drawn()
            self._runs += 1
            self._page = message.new_session.page_script_hash
            # as the browser's cache of messages
            self._cached_runs = message.new_session.config.max_cached_message_age
        elif kind == "navigation":
            pages = message.navigation.app_pages
            self._pages = {
                "" if page.is_default else page.url_pathname: page.page_script_hash
                for page in pages
            }
            self._page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self.query = dict(
                parse_qsl(message.page_info_changed.query_string, keep_blank_values=True)
            )
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._draw(message.delta.new_element)
        elif kind == "auto_rerun":
            repeat = self._repeat(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            if message.auto_rerun.fragment_id not in self._fragments:
                self._fragments[message.auto_rerun.fragment_id] = asyncio.create_task(repeat)
            else:
                repeat.close()
        elif kind == "stop_auto_rerun":
            self._stop_fragments()
        elif kind == "script_finished":
            self._end_run(message.script_finished)

    def _end_run(self, status: int) -> None:
        self._fragment_done.set()
        if status == ForwardMsg.FINISHED_SUCCESSFULLY:
            self.page = self._drawn
            here = {
                *(widget.id for widget in self.page.numbers.values()),
                *self.page.texts.values(),
            }
            # The browser sends the state of the widgets on the page and forgets all others.
            self._values = {name: state for name, state in self._values.items() if name in here}
            self._cached = {
                name: entry
                for name, entry in self._cached.items()
                if self._runs - entry[1] <= self._cached_runs
            }
            self._finished.set()
        elif status == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self._seen.faults.append("a script that does not compile")
            self._finished.set()

    def _draw(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind == "number_input":
            widget = element.number_input
            self._drawn.numbers[_key(widget.id)] = widget
            if widget.set_value or widget.id not in self._values:
                self._values[widget.id] = _number(
                    widget, widget.value if widget.set_value else widget.default
                )
        elif kind == "text_input":
            self._drawn.texts[_key(element.text_input.id)] = element.text_input.id
        elif kind == "button":
            self._drawn.buttons[_key(element.button.id)] = element.button.id
        elif kind == "bidi_component":
            self._drawn.components[_key(element.bidi_component.id)] = element.bidi_component.id
        elif kind == "exception":
            self._seen.faults.append(
                f"exception: {element.exception.type}: {element.exception.message}"
            )
        elif kind == "alert" and element.alert.format == Alert.ERROR:
            self._seen.errors.append(element.alert.body)
            if UNFORESEEN in element.alert.body:
                self._seen.faults.append(element.alert.body)

    async def _repeat(self, fragment: str, seconds: float) -> None:
        """Ask for a part of the page again and again, `seconds` after each answer, as a browser
        does for a fragment.
        """
        while True:
            await asyncio.sleep(seconds)
            self._fragment_done.clear()
            asked = perf_counter()
            try:
                await self._send(fragment=fragment)
            except websockets.ConnectionClosed:
                return
            await self._fragment_done.wait()
            self.fragment_seconds.append(perf_counter() - asked)

    def _stop_fragments(self) -> None:
        for task in self._fragments.values():
            task.cancel()
        self._fragments = {}


def _key(name: str) -> str:
    """Get a widget's key from the end of its id: $$ID-<hash>-<key>."""
    return name.split("-", 2)[-1]


def _number(widget: NumberInput, value: float) -> WidgetState:
    if widget.data_type == NumberInput.INT:
        return WidgetState(id=widget.id, int_value=int(value))
    return WidgetState(id=widget.id, double_value=value)
