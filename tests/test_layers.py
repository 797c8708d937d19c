"""Layers point one way, proved from the syntax tree of every file."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.imports import APP, CORE, PAGES, core_imports, imports, package_of, top_level, unresolved

# Each imports only from those before it. First files that all may use, then packages: the
# library's, the lab's, the command line. A new one fails here until it has its place.
ORDER = (
    "errors",
    "limits",
    "records",
    "rounding",
    "files",
    "strings",
    "models",
    "hankel",
    "metrics",
    "learning",
    "sources",
    "experiment",
    "search",
    "history",
    "jobs",
    "display",
    "plot",
    "export",
    "teaching",
    "cli",
    "__main__",
)
TORCH = tuple(
    f"learning.{name}"
    for name in (
        "tensors",
        "next_symbol_loss",
        "refine.torch_states",
        "refine.likelihood",
        "refine.values",
        "recurrent_networks",
    )
)
# results as data frames, made inside a function
PANDAS = ("strings.sample", "metrics.score_table", "history.runs")


def test_every_package_has_its_place_and_its_story() -> None:
    """A package's docstring names each of its modules, so that a reader knows where to begin."""
    assert {package_of(module) for module in CORE} - {"__init__"} == set(ORDER)
    for package in (
        module.removesuffix(".__init__") for module in CORE if module.endswith(".__init__")
    ):
        story = (
            ast.get_docstring(ast.parse(CORE[f"{package}.__init__"].read_text(encoding="utf-8")))
            or ""
        )
        inside = {
            module.removeprefix(f"{package}.").split(".")[0]
            for module in CORE
            if module.startswith(f"{package}.")
        }
        missing = [name for name in sorted(inside - {"__init__"}) if f"`{name}`" not in story]
        assert not missing, f"{package} does not tell of {', '.join(missing)}"


def test_every_imported_name_exists() -> None:
    assert unresolved() == []


def test_a_package_imports_only_from_those_before_it() -> None:
    """`__init__` is left out: the public names come from everywhere."""
    for module in set(CORE) - {"__init__"}:
        allowed = ORDER[: ORDER.index(package_of(module)) + 1]
        assert {package_of(name) for name in core_imports(module)} <= set(allowed), module


def test_no_module_imports_itself_by_a_way_round() -> None:
    try:
        TopologicalSorter(
            {module: core_imports(module) - {"__init__"} for module in CORE if module != "__init__"}
        ).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_reader_of_imports_sees_them() -> None:
    """The proof is worth what it finds: relative, lazy and absolute imports."""
    assert {
        "errors",
        "hankel.matrix",
        "learning.progress",
        "learning.steps.factorisation",
    } <= core_imports("learning.two_steps")
    assert {
        "errors",
        "limits",
        "rounding",
        "strings.words",
        "models.wfa",
        "sources.string_files",
        "sources.recognition",
    } == core_imports("sources.pautomac")
    assert "experiment.pipeline" in core_imports("__init__")


def test_the_core_knows_neither_the_app_nor_its_libraries() -> None:
    for module, path in CORE.items():
        used = top_level(path)
        eager = {name.split(".")[0] for name in imports(module, path, eager=True)}
        assert not used & {"streamlit", "pages", "app"}, module
        assert "studies" not in used or module in ("cli.compete", "cli.reproduce"), module
        assert "pandas" not in used or module in PANDAS, module
        assert "pandas" not in eager, module
        assert "plotly" not in used or module.startswith("display.figures."), module
        assert "matplotlib" not in used or module == "plot.__init__", module
        assert "torch" not in used or module in TORCH, module


def test_torch_is_reached_only_when_networks_are_trained() -> None:
    """Modules with torch are imported inside a function, or by each other."""
    for module in set(CORE) - set(TORCH):
        assert not core_imports(module, eager=True) & set(TORCH), module


def test_pages_import_views_and_views_import_what_is_shared() -> None:
    """A view is drawn by the page of its name, and by no other."""
    for module, path in {**PAGES, **APP}.items():
        is_page = module.count(".") == 1
        view = f"pages.views.{module.split('.')[-1]}"
        for name in imports(module, path):
            assert name != "app", module
            if name.split(".")[0] == "pages":
                is_view = is_page and name == view
                assert name.startswith("pages.shared.") or is_view, (module, name)


def test_what_is_shared_imports_itself_by_no_way_round() -> None:
    shared = {module: path for module, path in PAGES.items() if module.startswith("pages.shared.")}
    arrows = {
        module: {
            other
            for other in shared
            for name in imports(module, path)
            if f"{name}.".startswith(f"{other}.")
        }
        - {module}
        for module, path in shared.items()
    }
    assert "pages.shared.context" in arrows["pages.shared.training"]
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_pages_compute_and_draw_nothing_themselves() -> None:
    for module, path in {**PAGES, **APP}.items():
        used = top_level(path)
        assert not used & {"torch", "plotly"}, module
        if not module.startswith(("pages.shared", "pages.views")):
            assert not used & {"numpy", "scipy", "sklearn"}, module
