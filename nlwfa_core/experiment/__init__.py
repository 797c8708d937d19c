"""An experiment as one small value, a recipe, and following it: data, Hankel matrix, learning, scores."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`prepare` and `reference_models` under the name that notebooks of version 0.1 import them by."""
    if name in ("prepare", "reference_models"):
        from . import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'nlwfa_core.experiment' has no attribute {name!r}")
