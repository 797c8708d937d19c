"""An experiment as one small value.

A recipe says everything that a run depends on: where the strings come from, which Hankel matrix is made of them, how a model is
learned, and how it is refined. Equal recipes give equal results, so a recipe names its run in folders, queues and the history.

- `recipe`: the recipe and its four parts, with their defaults, bounds and keys.
- `presets`: recipes to start from.
- `fields`: a recipe's fields under flat names, for controls, options and lessons, and as the short text of a link.
- `data`: from a recipe to training, validation and test strings.
- `pipeline`: from a recipe to a result: strings, Hankel matrix, learning, scores, diagnostics.
- `results`: a result, and its folder on disk.
- `selection`: what validation strings choose: a rank, or the recommended model with all its options.
- `cross_validation`: scores of every string by a model that was learned from the others.
- `sweeps`: many recipes, from lists of the fields to vary, and their outcomes.
- `sweep_table`: the CSV file of a sweep, with a row for each run.

Left out: the history of runs (`history`), and running them in other processes (`jobs`).
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Find `prepare` and `reference_models` here too, from where notebooks of version 0.1 import them."""
    if name in ("prepare", "reference_models"):
        from . import pipeline

        return getattr(pipeline, name)
    raise AttributeError(f"module 'nlwfa_core.experiment' has no attribute {name!r}")
