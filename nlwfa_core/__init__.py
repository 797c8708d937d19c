"""NL-WFA core: learning weighted finite automata, linear and nonlinear, from strings.

The public names cover strings -> Hankel matrix -> model -> scores, step by step or, with a recipe,
in one call. Each name is loaded when it is first used, so importing the package takes no time, and
torch is imported only to train networks.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any


def _read_modules() -> dict[str, str]:
    """Read the module of each public name from `__init__.pyi`, which type checkers also read."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        alias.name: f"nlwfa_core.{statement.module}"
        for statement in stub.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


_MODULES = _read_modules()
__all__ = sorted(name for name in _MODULES if not name.startswith("_"))


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'nlwfa_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
