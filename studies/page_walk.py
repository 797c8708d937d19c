"""Count how often control enters another module of the project on the way to a figure.

`python -m studies.page_walk` opens the lab with empty caches, each time in a new process, and
follows three routes:

- *rank → bar chart*: a run of the page Hankel, to the drawing of the singular values;
- *upload → heat map*: a run of the page Hankel with an uploaded file, to the drawing of the lens;
- *Train → worker*: a press of *Train*, to the message that brings a worker process its recipe.

A *module* is a file of `nlwfa_core` or `pages`, or `app.py`. An *entry* is a call from one module
of a function of another; code of libraries in between, such as Streamlit's caches, is looked
through. Each entry has one return, so returns are not counted. A loop counts once: if a function is
called again from the same place in the same activation of its caller, neither this call nor what it
calls is counted. So the count is that of somebody who follows the source, and does not depend on
the data's size. Code that runs while a module is imported does not count.

A page draws several figures in a run. On the route to one of them, which begins with the first
line of the page's file, the other figures are not drawn (`Route.other_figures`), and the page's
texts and controls do not count (`Route.other_calls`). *Pages* are the entries from or into a module
of `pages`; the other ones are between two modules of the library. The entries are counted again
with `nlwfa_core.errors` looked through like Streamlit, because its checks of types stand before
many functions.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ERRORS = "nlwfa_core.errors"
# Small numbers, because the count does not depend on them.
SMALL = {
    "learner": "both.non",
    "rank": 2,
    "num_strings": 300,
    "num_prefixes": 30,
    "num_suffixes": 30,
    "epochs_factorisation": 5,
    "epochs_transitions": 5,
}
STRINGS = b"ab\nba\nabab\nb\n" * 50


@dataclass(frozen=True)
class Route:
    """The ends of a walk, and the calls that are left out.

    Attributes
    ----------
    page : str
        The page that is opened.
    begin, end : (str, str)
        Module and function whose calls begin and end the route.
    other_figures : tuple of str
        Functions of the page's view that do nothing here.
    other_calls : tuple of str
        Functions that are left out, with all that they call, where a module of `pages` calls them.
    upload : bytes
        The file with the strings; empty if they are generated.
    button : str
        The key of the button that is pressed; empty if opening the page is enough.
    """

    page: str
    begin: tuple[str, str]
    end: tuple[str, str]
    other_figures: tuple[str, ...] = ()
    other_calls: tuple[str, ...] = ()
    upload: bytes = b""
    button: str = ""


HANKEL = ("pages.hankel", "<module>")
TEXTS = ("page_recipe", "matrix_sentence", "basis_notes", "notes", "controls")
ROUTES = {
    "rank → bar chart": Route(
        "hankel",
        begin=HANKEL,
        end=("pages.shared.components", "cut"),
        other_figures=("linked_lens",),
        other_calls=TEXTS,
    ),
    "upload → heat map": Route(
        "hankel",
        begin=HANKEL,
        end=("pages.views.hankel", "_position"),  # called when the heat map is drawn
        other_figures=("rank_cut",),
        other_calls=TEXTS,
        upload=STRINGS,
    ),
    "Train → worker": Route(
        "train",
        begin=("pages.shared.training", "_start"),
        end=("nlwfa_core.jobs.worker", "send"),
        button="train.start",
    ),
}


@dataclass
class Activation:
    """A function of the project that runs in a thread."""

    module: str
    function: str
    frame: FrameType
    is_left_out: bool
    calls: set[tuple[int, CodeType]] = field(default_factory=set)


@dataclass
class Thread:
    """What a thread does on a route.

    Attributes
    ----------
    entries : list of (str, str, str, str)
        Module and function that called, module and function that were called.
    num_repeated : int
        How many entries are left out because a loop repeats them.
    """

    stack: list[Activation] = field(default_factory=list)
    entries: list[tuple[str, str, str, str]] = field(default_factory=list)
    num_repeated: int = 0


class Walk:
    """Counts the entries of a route: those of the thread that begins it, and of the one that ends
    it.

    Parameters
    ----------
    transparent : tuple of str
        Modules that are looked through like libraries.
    """

    def __init__(self, route: Route, transparent: tuple[str, ...] = ()) -> None:
        self._route = route
        self._transparent = transparent
        self._threads: dict[int, Thread] = {}
        self._first: Thread | None = None
        self._last: Thread | None = None
        self._modules: dict[str, str] = {}

    @property
    def threads(self) -> list[Thread]:
        """Return the thread that begins the route and, if it is another one, the last one."""
        assert self._first is not None and self._last is not None, "the route was not walked"
        return [self._first] if self._first is self._last else [self._first, self._last]

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Follow a call or a return, as a function for `threading.setprofile`."""
        if event not in ("call", "return") or self._last is not None:
            return
        module = self._module(frame.f_code.co_filename)
        if not module:
            return
        thread = self._threads.setdefault(threading.get_ident(), Thread())
        if event == "return":
            if thread.stack and thread.stack[-1].frame is frame:
                thread.stack.pop()
            return
        function = (module, frame.f_code.co_name)
        if self._first is None and function == self._route.begin:
            self._first = thread
            for activation in thread.stack:
                activation.is_left_out = True  # the thread's calls after the route
            thread.stack.append(Activation(*function, frame, is_left_out=False))
            return
        is_left_out = self._first is not None and self._count(thread, module, frame)
        thread.stack.append(Activation(*function, frame, is_left_out))
        if self._first is not None and function == self._route.end:
            self._last = thread

    def _module(self, path: str) -> str:
        """Return the dotted name of a file of the project; empty for all other files."""
        if path not in self._modules:
            name = ""
            if path.startswith(f"{ROOT}/"):
                parts = Path(path).relative_to(ROOT).with_suffix("").parts
                if parts[0] in ("nlwfa_core", "pages", "app"):
                    name = ".".join(parts)
            self._modules[path] = "" if name in self._transparent else name
        return self._modules[path]

    def _count(self, thread: Thread, module: str, frame: FrameType) -> bool:
        """Count a call if it enters another module. Return whether what it calls is left out."""
        if not thread.stack:
            return thread is self._first
        caller = thread.stack[-1]
        code = frame.f_code
        is_other = caller.module.startswith("pages.") and code.co_name in self._route.other_calls
        if caller.is_left_out or is_other or code.co_name == "<module>":
            return True
        call = (caller.frame.f_lasti, code)
        is_repeated = call in caller.calls
        caller.calls.add(call)
        if module != caller.module and is_repeated:
            thread.num_repeated += 1
        elif module != caller.module:
            thread.entries.append((caller.module, caller.function, module, code.co_name))
        return is_repeated


def walk(route: Route, transparent: tuple[str, ...] = ()) -> Walk:
    """Follow a route in a lab whose caches are empty."""
    from pages.shared import contents
    from tests.app.lab import complaints, open_lab

    parameters: dict[str, object] = dict(SMALL)
    if route.upload:
        parameters["source"] = "upload"
        parameters["upload"] = contents.uploads().put(route.upload, "strings.txt")
    view = import_module(f"pages.views.{route.page}")
    for name in route.other_figures:
        setattr(view, name, lambda *_: None)
    steps = Walk(route, transparent)
    threading.setprofile(steps.profile)
    app = open_lab(route.page, **parameters)  # a page before it would fill the caches
    if route.button:
        app.button(key=route.button).click().run()
    threading.setprofile(None)
    assert not complaints(app)
    return steps


def report(title: str, walks: Mapping[str, Walk]) -> str:
    """Return the rows of a route in the table: one for each way to count."""
    rows = []
    for counted, steps in walks.items():
        entries = [entry for thread in steps.threads for entry in thread.entries]
        of_pages = [
            entry
            for entry in entries
            if "pages" in (entry[0].split(".")[0], entry[2].split(".")[0])
        ]
        modules = {entry[0] for entry in entries} | {entry[2] for entry in entries}
        functions = {entry[2:] for entry in entries}
        repeated = sum(thread.num_repeated for thread in steps.threads)
        rows.append(
            f"| {title} | {counted} | {len(entries)} | {len(of_pages)} | "
            f"{len(entries) - len(of_pages)} | {len(modules)} | {len(functions)} | {repeated} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count entries into modules on three routes.")
    parser.add_argument("--route", choices=ROUTES, help="only this route, in this process")
    parser.add_argument("--look-through-errors", action="store_true")
    parser.add_argument("--entries", action="store_true", help="print each entry")
    arguments = parser.parse_args()
    if arguments.route is None:
        print("| route | counted | entries | pages | library | modules | functions | in loops |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        for title in ROUTES:
            for option in ([], ["--look-through-errors"]):
                command = [sys.executable, "-m", "studies.page_walk", "--route", title, *option]
                subprocess.run(command, check=True, cwd=ROOT, stderr=subprocess.DEVNULL)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ["NLWFA_HOME"] = home
        os.environ["NLWFA_HISTORY"] = "all"
        is_short = arguments.look_through_errors
        steps = walk(ROUTES[arguments.route], (ERRORS,) if is_short else ())
        if arguments.entries:
            for thread in steps.threads:
                for caller, calling, module, function in thread.entries:
                    print(f"{caller}.{calling} → {module}.{function}")
        counted = "without errors.py" if is_short else "all"
        print(report(arguments.route, {counted: steps}), flush=True)
        from pages.shared import visitor_runs

        visitor_runs.runner().close()


if __name__ == "__main__":
    main()
