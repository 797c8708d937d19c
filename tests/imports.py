"""Read from the syntax tree which module imports what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def modules(folder: str) -> dict[str, Path]:
    """The Python files below a folder of the project, by dotted name within it; a package has the
    name of its `__init__`.
    """
    return {
        ".".join(path.relative_to(ROOT / folder).with_suffix("").parts): path
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


CORE = modules("nlwfa_core")
PAGES = {f"pages.{name}": path for name, path in modules("pages").items()}
APP = {"app": ROOT / "app.py"}


@cache
def syntax_tree(path: Path) -> ast.Module:
    """The syntax tree of a file and, after it, of the stub next to it, if there is one."""
    files = (path, path.with_suffix(".pyi"))
    return ast.parse("\n".join(file.read_text(encoding="utf-8") for file in files if file.exists()))


def imports(module: str, path: Path, eager: bool = False) -> Iterator[str]:
    """Absolute dotted names of all that a file imports, at any depth or only when it is loaded;
    `from a import b` gives a.b.
    """
    package = module.split(".")[:-1]
    tree = syntax_tree(path)
    for node in tree.body if eager else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ["nlwfa_core", *package][: len(package) + 2 - node.level] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{start}.{alias.name}" for alias in node.names)


def top_level(path: Path) -> set[str]:
    """The first part of every name that a file imports from outside."""
    return {name.split(".")[0] for name in imports("", path)}


def core_imports(module: str, eager: bool = False) -> set[str]:
    """The modules of nlwfa_core that one of them imports; a package's own name stands for its
    `__init__`.
    """
    imported = set()
    for name in imports(module, CORE[module], eager):
        if name.split(".")[0] != "nlwfa_core":
            continue
        parts = name.split(".")[1:]
        existing = [
            ".".join(parts[:end])
            for end in range(len(parts), 0, -1)
            if ".".join(parts[:end]) in CORE
        ]
        imported.add(existing[0] if existing else ".".join([*parts[:1], "__init__"]))
    return imported


def package_of(module: str) -> str:
    return module.split(".")[0]


def defined(path: Path) -> set[str]:
    """The names that a file defines or imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in aliases}
    return names


def unresolved(
    projects: tuple[str, ...] = ("nlwfa_core", "pages", "tests", "benchmarks", "studies"),
) -> list[str]:
    """Names that one file of the project imports from another one that doesn't define them."""
    files = {
        f"{folder}.{name}".removesuffix(".__init__"): path
        for folder in projects
        for name, path in modules(folder).items()
    }
    names = {module: defined(path) for module, path in files.items()}
    missing = []
    for module, path in {**files, **APP}.items():
        for node in ast.walk(syntax_tree(path)):
            if not isinstance(node, ast.ImportFrom):
                continue
            package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            if source.split(".")[0] in projects:
                missing += [
                    f"{module}: {source}.{alias.name}"
                    for alias in node.names
                    if f"{source}.{alias.name}" not in files
                    and alias.name not in names.get(source, ())
                ]
    return missing
