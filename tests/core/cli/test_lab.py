"""The command that starts the lab."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from nlwfa_core.cli.lab import streamlit_arguments
from nlwfa_core.cli.main import main
from nlwfa_core.files import LAB_FOLDER


def test_it_hands_the_lab_to_streamlit(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = list[tuple[str, list[str]]]()

    def run_module(name: str, **_: Any) -> None:
        calls.append((name, sys.argv))
        raise SystemExit(0)

    monkeypatch.setattr(sys, "argv", ["nlwfa"])
    monkeypatch.setattr("nlwfa_core.cli.lab.runpy.run_module", run_module)
    assert main(["lab", "--port", "8600", "--address", "localhost"]) == 0
    assert calls == [
        (
            "streamlit",
            [
                "streamlit",
                "run",
                str(LAB_FOLDER / "app.py"),
                "--server.port=8600",
                "--server.address=localhost",
            ],
        )
    ]
    assert (LAB_FOLDER / "app.py").is_file()
    assert streamlit_arguments(1, None)[2:] == ["--server.port=1"]


def test_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "nlwfa_core.errors.find_spec", lambda name: None if name == "streamlit" else name
    )
    assert main(["lab"]) == 2
    assert (
        capsys.readouterr().err
        == "error: streamlit is not installed; pip install 'nlwfa-lab[lab]' installs it\n"
    )
