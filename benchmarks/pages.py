"""Write the measured parts of hand-written pages: the text between two marker comments is replaced,
the rest stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

UNNAMED = ("processor", "memory", "system", "versions")


def summary(facts: Mapping[str, Any]) -> str:
    """Write the facts about a measurement as one line: date and commit first, then the machine.

    >>> summary({"processor": "AMD EPYC, 2 cores", "date": "2026-11-21", "commit": "7d88cab"})
    'on 2026-11-21, commit 7d88cab (AMD EPYC, 2 cores)'
    """
    machine = [
        str(value) if name in UNNAMED else f"{name}: {value}"
        for name, value in facts.items()
        if name not in ("date", "commit")
    ]
    return f"on {facts['date']}, commit {facts['commit']} ({'; '.join(machine)})"


def head(command: str, facts: Mapping[str, Any]) -> list[str]:
    """Write the first lines of a part: what measured it, on which tree, when and where."""
    return [f"Measured by `{command}` {summary(facts)}.", ""]


def put(page: Path, name: str, text: str) -> None:
    """Write a part of a page.

    If the page, or the part, does not exist yet, the part is appended.
    """
    begin = f"<!-- {name}: made by a command -->"
    end = f"<!-- end of {name} -->"
    part = f"{begin}\n\n{text.strip()}\n\n{end}"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    changed, count = re.subn(
        f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: part, written, flags=re.DOTALL
    )
    page.write_text(
        changed if count else f"{written.rstrip()}\n\n{part}\n".lstrip(), encoding="utf-8"
    )
