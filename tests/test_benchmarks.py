"""Test that the benchmarks run and that their results are equal, however fast."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks import checks, pages, plain, report, sweep, timing
from benchmarks.checks import Different, equal_arrays
from benchmarks.report import Comparison, Table
from benchmarks.timing import Timing, interleave
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.hankel.estimate import estimate_hankel
from nlwfa_core.sources.dyck import ALPHABET, Dyck
from nlwfa_core.strings.sample import Sample

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow  # each benchmark, once
def test_quick_run(tmp_path: Path) -> None:
    # Without the competitions' files, which are not part of the project.
    environment = os.environ | {"NLWFA_DATA": str(tmp_path / "absent")}
    command = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "benchmarks.json").read_text())
    titles = [table["title"] for table in record["tables"]]
    assert "One step of the factorisation: loss, gradient, Adamax" in titles
    assert "The default lesson" in titles
    assert "Basis selection and Hankel estimation, other statistics" in titles
    assert "Refinement by likelihood" in titles
    assert "A large alphabet, step by step" in titles
    assert all(row["ratio"] > 0 for table in record["tables"] for row in table["comparisons"])
    assert "| work | ours, ms |" in (tmp_path / "benchmarks.md").read_text()


def test_unequal_results_are_an_error() -> None:
    with pytest.raises(Different, match="weights"):
        equal_arrays("weights", np.array([1.0, 1.1]), np.array([1.0, 1.0]), 1e-6)
    with pytest.raises(Different):
        equal_arrays("weights", np.array([np.nan]), np.array([1.0]), 1e-6)
    with pytest.raises(Different):
        equal_arrays("weights", np.ones(2), np.ones(3), 1e-6)


def test_sides_take_turns() -> None:
    turns: list[str] = []

    def side(name: str) -> float:
        turns.append(name)
        return float(len(turns))

    timings = interleave([lambda: side("ours"), lambda: side("theirs")], repeats=2, warm_up=1)
    assert turns == ["ours", "theirs"] * 3
    assert timings == [Timing((3.0, 5.0)), Timing((4.0, 6.0))]


def test_bars_in_cells_do_not_end_them() -> None:
    row = Comparison("|Σ| = 2", Timing((1.0,)), "other", Timing((3.0,)), target=2)
    table = Table("title", [row]).markdown()
    assert r"\|Σ\| = 2" in table
    assert "**3×** | ≥ 2× |" in table


def test_the_plain_matrix_is_ours() -> None:
    words = Dyck().sample_words(300, 0)
    sample = Sample.of(words, ALPHABET)
    ours = estimate_hankel(sample, select_basis(sample, 30, 20))
    full = plain.estimate(list(words), 2, 30, 20)
    np.testing.assert_allclose(full.matrix[:30], ours.block.toarray(), rtol=1e-12)
    for symbol in range(2):
        np.testing.assert_allclose(
            full.matrix[full.shifted[:, symbol]], ours.symbol_block(symbol).toarray(), rtol=1e-12
        )


def test_a_measured_part_of_a_page_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    pages.put(page, "first", r"one \1")
    page.write_text(f"# Title\n\n{page.read_text()}\nWords.\n")
    pages.put(page, "second", "three")
    pages.put(page, "first", "two")
    written = page.read_text()
    assert written.startswith("# Title\n") and "one" not in written
    assert written.index("two") < written.index("Words.") < written.index("three")


def test_a_sweep_is_timed() -> None:
    recipes = dict(list(sweep.short(1).items())[:3])
    timed = sweep.timed(recipes, 1)
    assert timed.runs == 3 and 0 < timed.training < timed.wall and timed.there > 0


@pytest.mark.slow  # a server, a worker, and people who pause to think
def test_a_few_people_at_once() -> None:
    command = [sys.executable, "-m", "benchmarks.load", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| **0** | 0 |" in done.stdout


@pytest.mark.parametrize("module", [checks, report, timing])
def test_examples(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0
