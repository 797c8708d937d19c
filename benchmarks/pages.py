"""Measured parts of pages that people write: what stands between two marks is made anew, the rest is left alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def head(command: str, facts: Mapping[str, Any]) -> list[str]:
    """Where and how it was measured."""
    return [f"Measured by `{command}`:", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]


def put(page: Path, name: str, text: str) -> None:
    """Write a part of a page; a page that is not there, or has no such part, gets it at its end."""
    begin, end = f"<!-- {name}: made by a command -->", f"<!-- end of {name} -->"
    part = f"{begin}\n\n{text.strip()}\n\n{end}"
    written = page.read_text(encoding="utf-8") if page.exists() else ""
    changed, count = re.subn(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: part, written, flags=re.DOTALL)
    page.write_text(changed if count else f"{written.rstrip()}\n\n{part}\n".lstrip(), encoding="utf-8")
