"""Layers point one way, proved from the syntax tree of every file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# A module imports only what stands above it. A new module fails here until it has its place.
ORDER = (
    "errors",
    "limits",
    "threads",
    "spread",
    "words",
    "rounding",
    "rolling",
    "trie",
    "sample",
    "wfa",
    "nlwfa",
    "basis",
    "hankel",
    "estimation",
    "values",
    "transforms",
    "perplexity",
    "next_symbols",
    "metrics",
    "learning.progress",
    "learning.pace",
    "learning.snapshots",
    "learning.spectral",
    "learning.completion",
    "learning.steps",
    "learning.networks",
    "learning.factorisation",
    "learning.transitions",
    "learning.rollout",
    "learning.refinement",
    "learning.likelihood",
    "learning.least_squares",
    "learning.learners",
    "learning.functions",
    "baselines",
    "diagnostics",
    "opponents.stopping",
    "opponents.hmm",
    "opponents.recurrent",
    "opponents.training",
    "opponents.table",
    "sources.text",
    "sources.cells",
    "sources.pautomac",
    "sources.formats",
    "sources.valued",
    "counting",
    "sources.dyck",
    "sources.automata",
    "sources.tomita",
    "recipe",
    "links",
    "fields",
    "lessons",
    "formulas",
    "latex",
    "store",
    "data",
    "experiment",
    "ready",
    "selection",
    "best",
    "alignment",
    "sampling",
    "calculation",
    "by_hand",
    "graph",
    "views",
    "colourings",
    "stepping",
    "tables",
    "sweeps",
    "differences",
    "queueing",
    "durations",
    "gate",
    "worker",
    "pool",
    "pausing",
    "overview",
    "machine",
    "finished",
    "migrations.env",
    "migrations.versions.revision_1",
    "migrations.versions.revision_2",
    "database",
    "history",
    "ownership",
    "listing",
    "history_tables",
    "presence",
    "recorder",
    "jobs",
    "grids",
    "errands",
    "lanes",
    "sweeping",
    "palette",
    "approximations",
    "cut",
    "lens",
    *(f"figures.{name}" for name in ("parts", "bars", "metrics", "parallel", "states", "trajectory", "graph")),
    "charts",
    "summaries",
    *(f"reproduction.{name}" for name in ("settings", "runs", "squared", "experiments", "runner", "statistics", "svg", "claims")),
    *(f"reproduction.{name}" for name in ("reasons", "markdown", "curves", "table_1", "squares", "report")),
    *(f"export.{name}" for name in ("drawings", "script", "notebook", "automata", "report", "bundle")),
    "bundles",
    "terminal",
    "cli_learn",
    "cli_reproduce",
    "cli_sweep",
    "cli_values",
    "cli",
    "__main__",
)
PACKAGES = (
    "__init__",
    *(
        f"{name}.__init__"
        for name in ("export", "figures", "learning", "migrations", "migrations.versions", "opponents", "reproduction", "sources")
    ),
)
TORCH = (
    *(
        f"learning.{name}"
        for name in ("networks", "factorisation", "transitions", "rollout", "refinement", "likelihood", "least_squares")
    ),
    "opponents.training",
)

CORE = {".".join(path.relative_to(ROOT / "nlwfa_core").with_suffix("").parts): path for path in (ROOT / "nlwfa_core").rglob("*.py")}
PAGES = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / "pages").rglob("*.py")}
APP = {"app": ROOT / "app.py"} if (ROOT / "app.py").exists() else {}


def imports(module: str, path: Path) -> Iterator[str]:
    """Absolute dotted names of all that a file imports, at whatever depth; `from a import b` gives a.b."""
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ["nlwfa_core", *package][: len(package) + 2 - node.level] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def top_level(path: Path) -> set[str]:
    """What a file imports from outside, by the first part of the name."""
    return {name.split(".")[0] for name in imports("", path)}


def core_imports(module: str) -> set[str]:
    """The modules of nlwfa_core that one of them imports; a package's own name stands for its `__init__`."""
    found = set()
    for name in imports(module, CORE[module]):
        if name.split(".")[0] != "nlwfa_core":
            continue
        parts = name.split(".")[1:]
        if parts == ["__version__"]:
            continue
        known = [".".join(parts[:end]) for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in CORE]
        found.add(known[0] if known else "__init__")
    return found


def test_every_module_has_its_place() -> None:
    assert set(CORE) - set(PACKAGES) == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("module", ORDER)
def test_a_module_imports_only_what_stands_above_it(module: str) -> None:
    above = set(ORDER[: ORDER.index(module)])
    assert core_imports(module) <= above


def test_the_reader_of_imports_sees_them() -> None:
    """The proof is worth what it finds: relative, lazy and absolute imports."""
    assert {"errors", "hankel", "learning.progress", "learning.factorisation"} <= core_imports("learning.learners")
    assert {"errors", "limits", "words", "wfa", "sources.text"} == core_imports("sources.pautomac")
    assert "experiment" in core_imports("__init__")


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_neither_the_app_nor_its_libraries(module: str) -> None:
    used = top_level(CORE[module])
    assert not used & {"streamlit", "pages", "app", "pandas"}
    assert "plotly" not in used or module.startswith("figures.")
    assert "torch" not in used or module in TORCH


@pytest.mark.parametrize("module", CORE)
def test_torch_is_reached_only_when_networks_are_trained(module: str) -> None:
    """Modules with torch are imported inside a function, or by each other."""
    tree = ast.parse(CORE[module].read_text(encoding="utf-8"))
    eager = {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.level and node.module}
    reached = {name for name in TORCH if name.split(".")[-1] in {path.split(".")[-1] for path in eager}}
    assert not reached or module in TORCH


@pytest.mark.parametrize("module", [*PAGES, *APP])
def test_pages_import_no_pages(module: str) -> None:
    for name in imports(module, {**PAGES, **APP}[module]):
        if name.split(".")[0] == "pages":
            assert name.startswith("pages.shared"), name
        assert name != "app"


@pytest.mark.parametrize("module", [*PAGES, *APP])
def test_pages_compute_and_draw_nothing_themselves(module: str) -> None:
    used = top_level({**PAGES, **APP}[module])
    assert not used & {"torch", "plotly"}
    if not module.startswith("pages.shared"):
        assert not used & {"numpy", "scipy", "sklearn"}
