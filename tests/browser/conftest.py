"""The real server, and a real browser that looks at it.

Tests that run side by side have one of each a process.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from tests.browser.screen import DESKTOP
from tests.waiting import DRAWING_SECONDS, PATIENCE_SECONDS, wait_for

ROOT = Path(__file__).resolve().parents[2]
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)
# Without a graphics card a page that moves takes as much of the processor as all that the lab
# computes: what is drawn by scripts stands still, too (`emulate_media` in those tests that watch it
# move). Animations still begin and end, because Streamlit waits for their events.
CALM = """addEventListener("DOMContentLoaded", () => {
    const style = document.createElement("style");
    style.textContent = `*, ::before, ::after {
        animation-duration: 1ms !important; animation-delay: 0s !important; animation-iteration-count: 1 !important;
    }`;
    document.head.append(style);
});"""  # noqa: E501

# what `make test` walks through, but for tests that are marked; all other files are slow
WALKS = ("test_lab.py",)

expect.set_options(timeout=DRAWING_SECONDS * 1000)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name not in WALKS:
            item.add_marker(pytest.mark.slow)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(home: Path, script: Path = ROOT / "app.py", port: int = 0) -> Iterator[str]:
    """A server of its own, as a user starts it; yields its address.

    NLWFA_INSTALLED is an installed `nlwfa` to start instead.
    """
    port = port or free_port()
    installed = os.environ.get("NLWFA_INSTALLED")
    if installed:
        command = [installed, "lab", "--port", str(port), "--address", "127.0.0.1"]
    else:
        command = [
            sys.executable,
            "-m",
            "streamlit",
            "run",
            str(script),
            "--server.port",
            str(port),
            "--server.address",
            "127.0.0.1",
        ]
    environment = {**os.environ, "NLWFA_HOME": str(home)}
    log = home / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            cwd=home if installed else ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(lambda: is_healthy(address) or server.poll() is not None)
        assert server.poll() is None, log.read_text(encoding="utf-8")
        yield address
    finally:
        server.terminate()
        try:
            server.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def is_healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, Any]:
    """Show the end of the server's log with a failure: the page itself hides what went wrong."""
    report = yield
    homes = [getattr(item, "funcargs", {}).get(name) for name in ("lab_home", "tmp_path")]
    for home in homes if report.failed else []:
        if home is not None and (log := home / "server.log").exists():
            report.sections.append((str(log), log.read_text(encoding="utf-8")[-4_000:]))
    return report


@pytest.fixture(scope="session")
def lab_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the server that most tests share."""
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="session")
def lab(lab_home: Path) -> Iterator[str]:
    """The address of the server that most tests share."""
    with serving(lab_home) as address:
        yield address


@pytest.fixture
def fresh_lab(tmp_path: Path) -> Iterator[str]:
    """The address of a server that nobody has visited yet."""
    with serving(tmp_path) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or whatever `chromium` is on this machine."""
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        if os.environ.get("NLWFA_NEEDS_BROWSER") == "1":
            pytest.fail(
                "there is no chromium on this machine, and NLWFA_NEEDS_BROWSER=1 asks for one"
            )
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path,
            chromium_sandbox=False,
            args=[*FLAGS, "--disable-sync", "--enable-unsafe-swiftshader", "--process-per-site"],
        )
        yield browser
        browser.close()


class People:
    """The browsers of several persons, which tests use one after the other.

    What one page has fetched and compiled of Streamlit's JavaScript the next page of the same
    person need not; an empty page keeps their process. Cookies and storage do not outlive a test.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []

    def context(self, number: int) -> BrowserContext:
        """The browser of one person."""
        while len(self._contexts) <= number:
            context = self._browser.new_context(viewport=DESKTOP, reduced_motion="reduce")
            context.set_default_timeout(DRAWING_SECONDS * 1000)
            context.add_init_script(CALM)
            empty = context.new_page()
            empty.route("**", lambda route: route.fulfill(body=""))
            empty.goto("http://127.0.0.1")
            self._contexts.append(context)
        return self._contexts[number]

    @contextmanager
    def page(self, number: int) -> Iterator[Page]:
        """A new page of one person, who has never been here."""
        context = self.context(number)
        page = context.new_page()
        yield page
        with suppress(Error):  # a file has no storage
            page.evaluate("localStorage.clear()")
        page.close()
        context.clear_cookies()


@pytest.fixture(scope="session")
def people(browser: Browser) -> People:
    return People(browser)


@pytest.fixture
def page(people: People) -> Iterator[Page]:
    with people.page(0) as page:
        yield page


@pytest.fixture
def new_page(people: People) -> Iterator[Callable[[], Page]]:
    """Opens the page of another person each time it is called."""
    numbers = count(1)
    with ExitStack() as pages:
        yield lambda: pages.enter_context(people.page(next(numbers)))
