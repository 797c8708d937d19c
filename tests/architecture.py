"""`make map`: draws docs/architecture.svg, the packages of the project as floors of a house, from
what they import.
"""

from __future__ import annotations

import ast
import textwrap
from html import escape

from tests.imports import CORE, PAGES, ROOT, core_imports, imports, package_of
from tests.test_layers import ORDER

PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH, MARGIN, GAP, STEP, LINE = (
    1000,
    20,
    40,
    34,
    17,
)  # pixels: picture, its edge, between two rooms, between floors, a line of text
CHARACTER = 7.3  # pixels of a character of the small print
STYLE = """
text { font-family: system-ui, sans-serif; font-size: 13px; fill: #1f2937 }
.name { font-size: 16px; font-weight: 600 }
.modules { fill: #4b5563; font-family: ui-monospace, monospace; font-size: 12px }
rect { fill: #f8fafc; stroke: #94a3b8 }
path { fill: none; stroke: #2563eb; stroke-width: 1.5; marker-end: url(#arrow) }
"""


def rooms() -> dict[str, tuple[str, ...]]:
    """Room -> its modules: a package each, the files that all may use in one, and all pages in
    one.
    """
    inside: dict[str, list[str]] = {}
    for module, path in CORE.items():
        if module in ("__init__", "__main__"):
            continue
        alone = path.parent == CORE["__init__"].parent
        inside.setdefault("ground" if alone else package_of(module), []).append(
            module if alone else module.split(".", 1)[1]
        )
    inside["pages"] = [name.removeprefix("pages.") for name in PAGES]
    return {
        room: tuple(name for name in names if name.split(".")[-1] != "__init__")
        for room, names in inside.items()
    }


def listed(names: tuple[str, ...]) -> str:
    """Modules by name, those of a folder behind its name."""
    folders = dict.fromkeys(name.rpartition(".")[0] for name in names)
    inside = {
        folder: [name.rpartition(".")[2] for name in names if name.rpartition(".")[0] == folder]
        for folder in sorted(folders)
    }
    return " · ".join(
        f"{folder.replace('.', '/')}/ {', '.join(inside[folder])}"
        if folder
        else " · ".join(inside[folder])
        for folder in inside
    )


def needs() -> dict[str, set[str]]:
    """Room -> the rooms that it imports from."""
    alone = {module for module, path in CORE.items() if path.parent == CORE["__init__"].parent}
    arrows: dict[str, set[str]] = {room: set() for room in rooms()}
    for module in CORE:
        if module not in ("__init__", "__main__"):
            start = "ground" if module in alone else package_of(module)
            arrows[start] |= {
                "ground" if name in alone else package_of(name) for name in core_imports(module)
            } - {start}
    for module, path in PAGES.items():
        names = [
            name.split(".") for name in imports(module, path) if name.startswith("nlwfa_core.")
        ]
        arrows["pages"] |= {
            "ground" if parts[1] in alone or f"{parts[1]}.__init__" not in CORE else parts[1]
            for parts in names
        }
    return arrows


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Room -> its floor: one above the highest that it needs. Pages stand above all."""
    height: dict[str, int] = {}

    def floor(room: str) -> int:
        if room not in height:
            height[room] = 1 + max((floor(below) for below in arrows[room]), default=-1)
        return height[room]

    for room in arrows:
        floor(room)
    return height


def direct(arrows: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that no way over another room replaces."""

    def below(room: str) -> set[str]:
        return arrows[room].union(*(below(other) for other in arrows[room]))

    return [
        (room, other)
        for room in arrows
        for other in sorted(arrows[room])
        if not any(other in below(way) for way in arrows[room])
    ]


def story(room: str) -> str:
    """The first sentence of a package's docstring."""
    if room == "ground":
        return "Files that everything may use."
    path = (
        PAGES["pages.shared.__init__"].parents[1] / "start.py"
        if room == "pages"
        else CORE[f"{room}.__init__"]
    )
    if room == "pages":
        return (
            "The Streamlit app: one thin file a page, its widgets in views, what two pages need "
            "in shared."
        )
    return (
        (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        .split("\n\n")[0]
        .replace("\n", " ")
        .split(": ")[0]
    )


def picture() -> str:
    """The whole drawing as SVG."""
    inside = rooms()
    arrows = needs()
    height = floors(arrows)
    ordered = sorted(inside, key=lambda room: ORDER.index(room) if room in ORDER else len(ORDER))
    levels = [
        [room for room in ordered if height[room] == floor]
        for floor in range(max(height.values()), -1, -1)
    ]
    boxes: dict[str, tuple[float, float, float, float]] = {}  # x, y, width, height
    parts = []
    top = float(MARGIN)
    for level in levels:
        width = (WIDTH - 2 * MARGIN - GAP * (len(level) - 1)) / len(level)
        columns = int((width - 24) / CHARACTER)
        texts = {
            room: (
                textwrap.wrap(story(room), columns),
                textwrap.wrap(listed(inside[room]), columns),
            )
            for room in level
        }
        tall = max(14 + LINE * (1 + len(says) + len(names)) for says, names in texts.values()) + 6
        for column, room in enumerate(level):
            x = MARGIN + column * (width + GAP)
            boxes[room] = x, top, width, tall
            parts.append(
                f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{tall:g}" rx="6"/>'
            )
            says, names = texts[room]
            rows = [
                ("name", f"{room}/" if room != "ground" else "files"),
                *(("", line) for line in says),
                *(("modules", line) for line in names),
            ]
            for row, (kind, line) in enumerate(rows):
                parts.append(
                    f'<text class="{kind}" x="{x + 12:g}" '
                    f'y="{top + 22 + LINE * row:g}">{escape(line)}</text>'
                )
        top += tall + STEP
    # below the rooms that they pass
    lines = [f'<path d="{_way(boxes, height, start, end)}"/>' for start, end in direct(arrows)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} '
        f'{top - STEP + MARGIN:g}" role="img" '
        f'aria-label="Packages of the project, each above those that it imports">'
        f"<style>{STYLE}</style>"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#2563eb;stroke:none;marker-end:none"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{top - STEP + MARGIN:g}" style="fill:#fff;stroke:none"/>'
        + "\n".join([*lines, *parts])
        + "</svg>\n"
    )


def _way(
    boxes: dict[str, tuple[float, float, float, float]],
    height: dict[str, int],
    start: str,
    end: str,
) -> str:
    """An arrow from the foot of one room to the head of another; one that passes a floor goes down
    the middle.
    """
    x, y, width, tall = boxes[start]
    below_x, below_y, below_width, _ = boxes[end]
    left = max(x, below_x)
    right = min(x + width, below_x + below_width)
    foot = y + tall
    if height[start] - height[end] == 1 and left < right:
        middle = (left + right) / 2
        return f"M{middle:g} {foot:g}L{middle:g} {below_y:g}"
    lane = WIDTH / 2 + GAP / 5 * (list(boxes).index(end) % 5 - 2)  # arrows to one room share a line
    leave = min(max(lane, x + 30), x + width - 30)
    arrive = min(max(lane, below_x + 30), below_x + below_width - 30)
    foot_bend = foot + STEP / 3
    head_bend = below_y - STEP / 3
    return f"M{leave:g} {foot:g}V{foot_bend:g}H{lane:g}V{head_bend:g}H{arrive:g}V{below_y:g}"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {len(rooms())} rooms, {len(direct(needs()))} arrows")
