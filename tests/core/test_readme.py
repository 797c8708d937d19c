"""The README's example runs, and prints what the README says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlwfa_core import load_model

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_in_the_readme_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```.*?```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    code, expected = example
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    for line, wanted in zip(printed, map(str.split, expected.splitlines()), strict=True):
        assert line[0] == wanted[0]
        pauto, wer, zeros = (float(text) for text in line[2::2])
        assert pauto == pytest.approx(float(wanted[2]), abs=0.011)
        assert wer == pytest.approx(float(wanted[4]), abs=0.05)  # on another processor; see test_shipped.py
        assert zeros == float(wanted[6])
    assert load_model(tmp_path / "models" / "both.non").model.num_states == 10


def test_the_tree_in_the_readme_names_what_there_is() -> None:
    (tree,) = re.findall(r"## The tree\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    entries = {path.stem for path in (ROOT / "nlwfa_core").iterdir() if path.suffix in ("", ".py")} - {
        "__init__",
        "__main__",
        "__pycache__",
    }
    assert {name for name in entries if not re.search(rf"\b{name}\b", tree)} == set()
