"""The README's example runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nlwfa_core import load_model

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if not line.startswith(" ")] == [
        "SP",
        "fac.non",
        "tran.non",
        "both.non",
        "5-gram",
    ]
    assert load_model(tmp_path / "models" / "both.non").model.num_states == 10


def test_the_tree_in_the_readme_names_what_there_is() -> None:
    (tree,) = re.findall(r"## The tree\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    entries = {path.stem for path in (ROOT / "nlwfa_core").iterdir() if path.suffix in ("", ".py")} - {
        "__init__",
        "__main__",
        "__pycache__",
    }
    assert {name for name in entries if not re.search(rf"\b{name}\b", tree)} == set()
