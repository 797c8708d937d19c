"""What the package tells those who install it: a licence, types, and how to cite it."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_it_has_a_licence() -> None:
    assert PROJECT["project"]["license"] == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")


def test_its_types_are_for_everybody() -> None:
    """Without this file type checkers ignore the annotations of an installed package (PEP 561)."""
    assert files("nlwfa_core").joinpath("py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["nlwfa_core"]


def test_the_citation_names_software_and_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^license: BSD-3-Clause$", text, re.MULTILINE) and "Nonlinear Weighted Finite Automata" in text
