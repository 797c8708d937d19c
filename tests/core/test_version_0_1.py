"""What people have from version 0.1 still works: links, recipes' keys, a history, a bundle,
programs and a notebook.

The files in tests/version_0_1 were made by that version, and are not to be made again. The models
in the bundle have since got the SHA-256 of their arrays.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nlwfa_core import Recipe, run
from nlwfa_core.experiment.recipe import recipe_code, recipe_of
from nlwfa_core.experiment.results import load_result
from nlwfa_core.history.bundles import import_runs
from nlwfa_core.history.listing import Query, list_runs
from nlwfa_core.history.runs import History

FILES = Path(__file__).resolve().parents[1] / "version_0_1"
RECIPES: dict[str, dict[str, Any]] = json.loads(
    (FILES / "recipes.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", RECIPES)
def test_links_and_keys(name: str) -> None:
    entry = RECIPES[name]
    recipe = recipe_of(entry["link"])
    assert recipe == Recipe.from_json(json.dumps(entry["recipe"]))
    assert recipe.key() == entry["key"]
    assert recipe_of(recipe_code(recipe)) == recipe


def test_a_history(tmp_path: Path) -> None:
    shutil.copy(FILES / "history.sqlite", tmp_path / "history.sqlite")
    history = History.open(tmp_path)
    rows = {row.key: row for row in list_runs(history, Query()).runs}
    linear, network = (rows[RECIPES[name]["key"]] for name in ("linear", "network"))
    assert (linear.name, linear.learner, linear.rank, linear.state) == (
        "kept from 0.1",
        "SP",
        2,
        "done",
    )
    assert (network.tags, network.learner) == (["class"], "both.non")
    history.close()


def test_a_bundle(tmp_path: Path) -> None:
    history = History.open(tmp_path)
    keys = {RECIPES[name]["key"] for name in ("linear", "network")}
    assert set(import_runs(tmp_path, history, (FILES / "bundle.zip").read_bytes()).new) == keys
    for key in keys:
        kept = load_result(tmp_path / "runs" / key)
        # which that version did not count
        assert kept.recipe.key() == key and kept.scores.share_tied is None
        assert kept.scores.num_predictions == run(kept.recipe).scores.num_predictions
    history.close()


def executed(code: str, folder: Path) -> str:
    """What a program prints."""
    environment = {**os.environ, "PYTHONPATH": str(FILES.parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program(tmp_path: Path) -> None:
    assert "wer" in executed((FILES / "run.txt").read_text(encoding="utf-8"), tmp_path)


def test_the_imports_of_programs_and_notebooks(tmp_path: Path) -> None:
    program = (FILES / "upload.txt").read_text(encoding="utf-8")
    cells = json.loads((FILES / "notebook.txt").read_text(encoding="utf-8"))["cells"]
    lines = (
        "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
        + program
    )
    imports = sorted({line for line in lines.splitlines() if line.startswith("from nlwfa_core")})
    assert (
        "from nlwfa_core.data import FileShelf" in imports
        and "from nlwfa_core.experiment import prepare, reference_models" in imports
    )
    executed("\n".join(imports), tmp_path)
