"""docs/architecture.md is true: its picture is drawn from the imports as they are, and every module
that it names exists.
"""

from __future__ import annotations

import re

from tests import architecture
from tests.imports import CORE, PAGES, ROOT


def test_the_picture_is_up_to_date() -> None:
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.picture(), (
        "make map draws it again"
    )


def test_every_module_of_the_page_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = {
        name.removesuffix(".py")
        for name in re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+(?:\.py)?)`", text)
    }
    assert len(names) > 40
    modules = {name.replace(".", "/") for name in [*CORE, *PAGES]}
    files = {name for name in names if (ROOT / name).exists() or (ROOT / f"{name}.py").exists()}
    assert names - modules - files == set()


def test_arrows_point_down() -> None:
    arrows = architecture.needs()
    height = architecture.floors(arrows)
    assert all(height[room] > height[below] for room in arrows for below in arrows[room])
    assert set(architecture.direct({"a": {"b", "c"}, "b": {"c"}, "c": set()})) == {
        ("a", "b"),
        ("b", "c"),
    }
