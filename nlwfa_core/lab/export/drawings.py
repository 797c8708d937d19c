"""Pictures that need no library and no network: curves and bars as SVG text, a heat map as PNG bytes."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...hankel.matrix import HankelMatrix
from ...learning.learners import FitReport
from ...learning.progress import RELATIVE
from ...learning.spectral import truncated_svd, weighted_block
from ...strings.words import FloatArray
from ..palette import ACCENT, BLUES, CLASSES, MUTED, REDS
from ..views import pool

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 80, 16, 44, 52
TEXT, GRID = "#222222", "#dddddd"
MAX_SINGULAR_VALUES = 50
LOWEST = 1e-15  # losses cancel to about rounding
Points = tuple[Sequence[float], Sequence[float]]


def curves_svg(curves: Mapping[str, Points], title: str, x_title: str, y_title: str, log_y: bool = False) -> str:
    """Lines through (x, y), a colour a name. Values that are not finite are left out, on a logarithmic axis those up to 0 are
    drawn at the lower edge."""
    kept = {name: _kept(points, log_y) for name, points in curves.items()}
    ys = [y for points in kept.values() for _, y in points] or [0.1, 1.0]
    xs = [x for points in kept.values() for x, _ in points] or [0.0, 1.0]
    low, high, ticks = _range(ys, log_y)
    x_low, x_high, x_ticks = _range(xs, False)
    parts = []
    for number, (name, points) in enumerate(kept.items()):
        colour = CLASSES[number % len(CLASSES)]
        path = " ".join(f"{_x(x, x_low, x_high):.1f},{_y(y, low, high, log_y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        at = LEFT + 150 * number
        parts.append(f'<line x1="{at}" y1="32" x2="{at + 24}" y2="32" stroke="{colour}" stroke-width="3"/>')
        parts.append(_words(at + 30, 36, name, "start"))
    parts += [_words(_x(tick, x_low, x_high), HEIGHT - BOTTOM + 18, f"{tick:g}") for tick in x_ticks]
    return _framed(parts, ticks, low, high, log_y, (title, x_title, y_title))


def bars_svg(values: FloatArray, kept: int, title: str, x_title: str, y_title: str) -> str:
    """Bars on a logarithmic axis, the first `kept` of them coloured; what is not above 0 has no bar."""
    low, high, ticks = _range([float(value) for value in values if value > 0] or [1.0], True)
    step = (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    parts = []
    for number, value in enumerate(values.tolist()):
        if value > 0:
            top = _y(value, low, high, True)
            colour = ACCENT if number < kept else MUTED
            box = f'x="{LEFT + number * step + step * 0.12:.1f}" y="{top:.1f}" width="{step * 0.76:.1f}"'
            parts.append(f'<rect {box} height="{HEIGHT - BOTTOM - top:.1f}" fill="{colour}"/>')
        if len(values) <= 20 or number % 5 == 4:
            parts.append(_words(LEFT + (number + 0.5) * step, HEIGHT - BOTTOM + 18, str(number + 1)))
    return _framed(parts, ticks, low, high, True, (title, x_title, y_title))


def singular_values_svg(hankel: HankelMatrix, rank: int) -> str:
    """Singular values of H_λ, largest first, those of the first `rank` coloured."""
    values = truncated_svd(weighted_block(hankel), MAX_SINGULAR_VALUES).singular_values
    return bars_svg(values, rank, f"Singular values of H_λ; a model of rank {rank} keeps the blue ones", "number", "singular value")


def loss_svgs(report: FitReport) -> dict[str, str]:
    """A drawing a measure of loss, of all stages that have it; none where nothing was trained step by step."""
    drawings = {}
    for measure in dict.fromkeys(log.measure for log in report.logs):
        curves = {log.stage: log.thinned() for log in report.logs if log.measure == measure}
        drawings[measure] = curves_svg(curves, f"{measure[0].upper()}{measure[1:]}", "epoch", measure, measure == RELATIVE)
    return drawings


def heat_map_png(matrix: sparse.csr_array, pixels: int = 480) -> bytes:
    """A matrix as a picture: |entries| on a logarithmic scale, positive ones blue, negative ones red, 0 white.

    Larger matrices are pooled as on the lab's page: a pixel is the largest of the entries it covers. Small ones are enlarged.
    """
    values = pool(matrix, pixels, pixels).values
    image = np.full((*values.shape, 3), 255, dtype=np.uint8)
    magnitudes = np.abs(values)
    if (magnitudes > 0).any():
        logs = np.log(magnitudes, out=np.full_like(values, np.nan), where=magnitudes > 0)
        low, high = np.nanmin(logs), np.nanmax(logs)
        places = np.nan_to_num((logs - low) / ((high - low) or 1.0))
        for mask, colours in ((values > 0, BLUES), (values < 0, REDS)):
            table = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours], dtype=np.uint8)
            image[mask] = table[np.minimum((places[mask] * len(table)).astype(int), len(table) - 1)]
    factor = max(1, pixels // max(values.shape))
    return png(image.repeat(factor, axis=0).repeat(factor, axis=1))


def png(image: npt.NDArray[np.uint8]) -> bytes:
    """PNG bytes of an image, shape (height, width, 3). Source: ISO/IEC 15948 (signature, IHDR, IDAT, IEND).

    >>> png(np.zeros((1, 2, 3), dtype=np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    height, width, _ = image.shape
    rows = np.concatenate((np.zeros((height, 1), dtype=np.uint8), image.reshape(height, 3 * width)), axis=1)  # 0: no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def _kept(points: Points, log_y: bool) -> list[tuple[float, float]]:
    pairs = [(float(x), float(y)) for x, y in zip(*points, strict=True) if math.isfinite(y)]
    return [(x, max(y, LOWEST)) for x, y in pairs] if log_y else pairs


def _range(values: Sequence[float], log: bool) -> tuple[float, float, list[float]]:
    """Lowest, highest, and ticks between, as round as can be."""
    if log:
        least = math.floor(math.log10(min(values)))
        most = max(math.ceil(math.log10(max(values))), least + 1)
        return 10.0**least, 10.0**most, [10.0**power for power in range(least, most + 1, max(1, -(-(most - least) // 8)))]
    low, high = min(values), max(values)
    if high == low:
        low, high = low - 0.5, high + 0.5
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(step for step in (size / 5, size / 2, size, 2 * size, 5 * size) if (high - low) / step <= 7)
    edges = math.floor(low / step), math.ceil(high / step)
    return edges[0] * step, edges[1] * step, [number * step for number in range(edges[0], edges[1] + 1)]


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def _y(value: float, low: float, high: float, log: bool) -> float:
    at, bottom, top = (math.log10(number) for number in (value, low, high)) if log else (value, low, high)
    return HEIGHT - BOTTOM - (at - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM)


def _framed(parts: Sequence[str], ticks: Sequence[float], low: float, high: float, log: bool, titles: tuple[str, str, str]) -> str:
    """The document around a chart: title, grid, axes."""
    title, x_title, y_title = titles
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{TEXT}"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    )
    grid = []
    for tick in ticks:
        at = _y(tick, low, high, log)
        grid.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" stroke="{GRID}"/>')
        grid.append(_words(LEFT - 8, at + 4, f"{tick:g}", "end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    named = [
        _words(LEFT, 18, title, "start"),
        _words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_title),
        f'<text transform="translate(16 {middle:g}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>',
    ]
    return "\n".join([begin, *grid, *parts, *named, "</svg>\n"])


def _words(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
