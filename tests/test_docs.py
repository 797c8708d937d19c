"""The documentation site: its programs run, its listings run, and every public name has a page.

`make docs` builds it.
"""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import runpy
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import nlwfa_core
from nlwfa_core.cli.main import COMMANDS, program

pytest.importorskip("matplotlib")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "guide").glob("*.md"), *(DOCS / "howto").glob("*.md")])
SITE = sorted([*PAGES, *DOCS.glob("*.md"), *(DOCS / "reproduction").glob("*.md")])
FRONT = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")
]
GALLERY = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_program_of_the_gallery_runs(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script))
    plt.close("all")
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_the_gallery_has_eight_programs() -> None:
    assert len(GALLERY) == 8


def test_every_public_name_has_a_page() -> None:
    settings = runpy.run_path(str(DOCS / "conf.py"))
    names = [name for group in settings["public_names"]().values() for name in group]
    assert {f"nlwfa_core.{name}" for name in nlwfa_core.__all__} <= set(names) and len(
        names
    ) == len(set(names))
    own = {
        name
        for name, value in vars(nlwfa_core.plot).items()
        if callable(value)
        and getattr(value, "__module__", "") == "nlwfa_core.plot"
        and not name.startswith("_")
    }
    assert {f"nlwfa_core.plot.{name}" for name in own} == {
        name for name in names if name.startswith("nlwfa_core.plot.")
    }


def documented(settings: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Every public name and its methods, with the docstring as its page prints it."""
    for name in [name for group in settings["public_names"]().values() for name in group]:
        module, _, own = name.rpartition(".")
        found = getattr(importlib.import_module(module), own)
        methods = vars(found) if inspect.isclass(found) else {}
        parts = {
            f"{name}.{part}": method for part, method in methods.items() if not part.startswith("_")
        }
        for place, thing in ({name: found} | parts).items():
            lines = (inspect.getdoc(getattr(thing, "__func__", thing)) or "").splitlines()
            settings["add_imports"](None, "", place, getattr(thing, "__func__", thing), None, lines)
            yield place, lines


@pytest.mark.slow
def test_the_examples_of_the_api_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed on the site, each in a namespace of its own."""
    monkeypatch.chdir(tmp_path)
    settings = runpy.run_path(str(DOCS / "conf.py"))
    failed = []
    without = []
    names = {name for group in settings["public_names"]().values() for name in group}
    for name, lines in documented(settings):
        test = doctest.DocTestParser().get_doctest("\n".join(lines), {}, name, None, 0)
        said: list[str] = []
        if doctest.DocTestRunner().run(test, out=said.append).failed:
            failed.append("".join(said))
        if not test.examples and name in names:
            without.append(name)
    plt.close("all")
    assert not failed, "\n".join(failed)
    assert not without


def test_every_page_is_in_the_table_of_contents() -> None:
    """Or, of the reproduction, in the table of its own first page."""
    listed = set(
        re.findall(
            r"^([\w/-]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in SITE} - {"index"}
    others = {page for page in pages if page.startswith("reproduction/") and page not in listed}
    assert pages - others == listed - {"api/index", "auto_gallery/index"}
    first = (DOCS / "reproduction" / "README.md").read_text(encoding="utf-8")
    assert all(f"({Path(page).name}.md)" in first for page in others)


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    }


@pytest.mark.parametrize("page", [*SITE, *FRONT], ids=lambda path: path.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    text = re.sub(r"`[^`]*`", "", text)
    for link, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)", text):
        target = page.parent / link if link else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}#{anchor}"


def test_every_picture_is_on_a_page() -> None:
    text = "".join(page.read_text() for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))))
    assert [path.name for path in (DOCS / "screens").iterdir() if path.name not in text] == []


@pytest.mark.parametrize("page", SITE, ids=lambda path: path.stem)
def test_listings_are_python(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for listing in re.findall(r"^ *```python\n(.*?)```", text, flags=re.DOTALL | re.MULTILINE):
        compile(textwrap.dedent(listing), page.name, "exec")


SAYS = {
    "own-data": "'ran': 1.0",
    "hankel": "{'rank': 6, 'statistic': 'factor'}\n0.2",
    "figure": r"\begin{tabular}",
    "compare": "+0.083 [+0.065, +0.101] 0.001",
    "classify": "accuracy 0.568 [0.519, 0.615] of 400",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")],
    ids=lambda page: page.stem,
)
def test_the_programs_of_a_page_run_as_they_are_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = textwrap.dedent(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    if page.stem == "own-data":
        Path("sentences.csv").write_text(
            re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)[0], encoding="utf-8"
        )
    names: dict[str, object] = {}
    for _, listing in re.findall(r"^( *)```python\n(.*?)```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(textwrap.dedent(listing), page.name, "exec"), names)
    assert SAYS.get(page.stem, "") in capsys.readouterr().out
    figures = ("singular-values.pdf", "ranks.pdf") if page.stem == "figure" else ()
    assert all(Path(name).stat().st_size > 1000 for name in figures)


def commands(page: Path) -> list[list[str]]:
    """The lines of a page that call nlwfa, as arguments; synopses without brackets."""
    blocks = re.findall(
        r"^ *```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [
        shlex.split(re.split(" > ", line)[0].replace("[", "").replace("]", ""), comments=True)[1:]
        for line in lines
        if line.startswith("nlwfa ")
    ]


@pytest.mark.parametrize(
    "page", [page for page in [*SITE, *FRONT] if commands(page)], ids=lambda path: path.stem
)
def test_commands_have_the_options_that_pages_show(page: Path) -> None:
    for arguments in commands(page):
        command: Any = typer.main.get_command(program(*COMMANDS))
        rest = arguments
        while hasattr(command, "resolve_command"):
            context = command.make_context("nlwfa", list(rest), resilient_parsing=True)
            name, command, rest = command.resolve_command(context, rest)
        command.make_context(name, list(rest))  # an unknown option, or a missing one, raises
