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
    "history",
    "jobs",
    "lab",
    "plot",
    "reproduction",
    "cli",
    "__main__",
)
TORCH = tuple(
    f"learning.{name}"
    for name in (
        "losses",
        "networks",
        "next_symbol_loss",
        "factorisation",
        "transition_networks",
        "rollout",
        "refine_hankel",
        "refine_likelihood",
        "refine_values",
        "recurrent",
    )
)
# results as data frames, made inside a function
PANDAS = ("strings.sample", "metrics.scores", "history.runs")


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


# A command has a parameter an option, which typer asks for, and no program calls it.
@pytest.mark.parametrize(
    "module", [module for module in (*CORE, *PAGES) if package_of(module) != "cli"]
)
def test_no_function_takes_more_than_eight_parameters(module: str) -> None:
    """Options that belong together are one frozen value."""
    for node in ast.walk(ast.parse({**CORE, **PAGES}[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = [
                argument.arg
                for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            ]
            assert len([name for name in names if name not in ("self", "cls")]) <= 8, node.name


def test_a_stranger_sees_at_most_twenty_entries() -> None:
    root = CORE["__init__"].parent
    assert len([entry for entry in root.iterdir() if entry.name != "__pycache__"]) <= 20


def test_every_imported_name_exists() -> None:
    assert unresolved() == []


# the public names come from everywhere
@pytest.mark.parametrize("module", sorted(set(CORE) - {"__init__"}))
def test_a_package_imports_only_from_those_before_it(module: str) -> None:
    allowed = ORDER[: ORDER.index(package_of(module)) + 1]
    assert {package_of(name) for name in core_imports(module)} <= set(allowed)


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
        "learning.factorisation",
    } <= core_imports("learning.two_steps")
    assert {
        "errors",
        "limits",
        "rounding",
        "strings.words",
        "models.wfa",
        "sources.files",
        "sources.recognition",
    } == core_imports("sources.pautomac")
    assert "experiment.pipeline" in core_imports("__init__")


@pytest.mark.parametrize("module", CORE)
def test_the_core_knows_neither_the_app_nor_its_libraries(module: str) -> None:
    used = top_level(CORE[module])
    assert not used & {"streamlit", "pages", "app"}
    assert "pandas" not in used or module in PANDAS
    assert "pandas" not in {
        name.split(".")[0] for name in imports(module, CORE[module], eager=True)
    }
    assert "plotly" not in used or module.startswith("lab.figures.")
    assert "matplotlib" not in used or module == "plot.__init__"
    assert "torch" not in used or module in TORCH


@pytest.mark.parametrize("module", CORE)
def test_torch_is_reached_only_when_networks_are_trained(module: str) -> None:
    """Modules with torch are imported inside a function, or by each other."""
    assert module in TORCH or not core_imports(module, eager=True) & set(TORCH)


@pytest.mark.parametrize("module", [*PAGES, *APP])
def test_pages_import_views_and_views_import_what_is_shared(module: str) -> None:
    """A view is drawn by the page of its name, and by no other."""
    for name in imports(module, {**PAGES, **APP}[module]):
        assert name != "app"
        if name.split(".")[0] == "pages":
            own_view = f"pages.views.{module.split('.')[-1]}"
            assert name.startswith("pages.shared.") or (
                module.count(".") == 1 and name == own_view
            ), name


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
    assert "pages.shared.cache" in arrows["pages.shared.runs"]
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("module", [*PAGES, *APP])
def test_pages_compute_and_draw_nothing_themselves(module: str) -> None:
    used = top_level({**PAGES, **APP}[module])
    assert not used & {"torch", "plotly"}
    if not module.startswith(("pages.shared", "pages.views")):
        assert not used & {"numpy", "scipy", "sklearn"}
