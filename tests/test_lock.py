"""Test the lock file for deployment: it pins all that the lab needs and nothing else, with hashes
and without addresses.
"""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "deployment" / "requirements.lock").read_text(encoding="utf-8")
PINS = dict(re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", TEXT, flags=re.MULTILINE))


def needed() -> list[Requirement]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(text) for line in lines if (text := line.partition("#")[0].strip())]


def test_it_pins_what_the_lab_needs() -> None:
    for requirement in needed():
        assert requirement.specifier.contains(PINS[requirement.name.lower()]), requirement
    assert PINS["torch"] == "2.13.0"


def test_every_pin_has_hashes() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^\s*#.*\n", "", TEXT, flags=re.MULTILINE))
    assert len(entries) == len(PINS)
    for entry in entries:
        assert re.fullmatch(
            r"\S+==\S+( ; [^\\]*)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\)?\n?)+", entry
        ), entry[:100]


def test_it_names_no_host_and_no_path_and_no_tool_of_development() -> None:
    assert not re.search(r"https?:|file:/|--index|--extra|--find|--trusted|(^|\s)/", TEXT)
    development = (
        "pytest pytest-randomly hypothesis ruff mypy playwright pip-tools pip-audit distributed"
    )
    assert not set(development.split()) & set(PINS)
    assert not [name for name in PINS if name.startswith("nvidia")]  # torch's CPU-only build
