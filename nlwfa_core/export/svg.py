"""Draw figures as files without a plotting library: line charts and bars as SVG text, a matrix as
PNG bytes.

Reports, notebooks and the reproduction's pages use them. Models also differ in their markers and
dashes, so figures can be read without colour.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain

import numpy as np
from scipy import sparse

from ..display.lens import pool
from ..display.palette import (
    ACCENT,
    BLUES,
    CLASSES,
    COLOURS,
    DASHES,
    GREY,
    LINEAR_LOSS,
    MARKERS,
    MUTED,
    REDS,
    colour_of,
    kind_of,
)
from ..errors import check_at_least, check_extra, check_types
from ..hankel.matrix import HankelMatrix
from ..learning.fitting import FitReport
from ..learning.progress import RELATIVE, loss_points
from ..learning.spectral import hankel_svd
from ..metrics.intervals import Interval
from ..metrics.seeds import Spread
from ..rounding import format_significant
from ..strings.words import FloatArray

# Sizes in pixels. PANEL_WIDTHS: the width of each panel in a chart with one, two, and three or more
# panels.
PANEL_WIDTHS, HEIGHT, LEFT, TOP, BOTTOM, GAP = (540, 400, 240), 300, 70, 70, 60, 24
STROKES = {"solid": "none", "dot": "2 4", "dash": "8 5"}
TEXT, GRID, FRAME = "#222222", "#dddddd", "#888888"
MAX_SINGULAR_VALUES, MAX_TICKS = 50, 16


@dataclass(frozen=True)
class Panel:
    """One of a chart's coordinate systems."""

    title: str
    # name of a line -> x -> the mean and standard deviation of y over seeds, or a single value
    series: Mapping[str, Mapping[int, Spread]]


@dataclass(frozen=True)
class Scale:
    """Maps values from low … high to pixels from start … end, linearly or logarithmically; values
    outside are moved to the edge.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        low, high, at = (
            math.log10(v) if self.log else v
            for v in (self.low, self.high, min(max(value, self.low), self.high))
        )
        return self.start + (at - low) / ((high - low) or 1.0) * (self.end - self.start)


def line_chart(
    panels: Sequence[Panel],
    title: str,
    description: str,
    x_title: str,
    y_title: str,
    log_x: bool = True,
    log_y: bool = False,
) -> str:
    """Draw an SVG document of panels side by side that share one y-axis.

    Lines join the means, and bands show their 95 % t intervals (`Spread.interval`), cut where they
    would fill the chart. If a value is not finite for some seed, the point has no band, and an ∞ is
    drawn at the upper edge.

    `title` and `description`: what screen readers say instead of the figure. `log_x`: whether the
    x-axis is logarithmic; each x then has its own tick, unless there are too many. `log_y`: whether
    the y-axis is logarithmic; values at or below 0 are then omitted.
    """
    spreads = [
        spread for panel in panels for points in panel.series.values() for spread in points.values()
    ]
    low, high, ticks = _axis(
        [s.mean for s in spreads if s.mean is not None] if log_y else _visible(spreads), log_y
    )
    panel_width = PANEL_WIDTHS[min(max(len(panels), 1), 3) - 1]
    width = LEFT + len(panels) * (panel_width + GAP)
    names = list(dict.fromkeys(chain.from_iterable(panel.series for panel in panels)))
    infinite = [
        name
        for name in names
        if any(s.num_infinite for panel in panels for s in panel.series.get(name, {}).values())
    ]
    # above it, a row of ∞ for each series that needs one
    y = Scale(low, high, TOP + HEIGHT, TOP + 16 * len(infinite), log_y)
    parts = [*_legend(names), *_y_axis(y, ticks, y_title)]
    for number, panel in enumerate(panels):
        left = LEFT + number * (panel_width + GAP)
        right, middle = left + panel_width, left + panel_width / 2
        xs = sorted(set(chain.from_iterable(panel.series.values())))
        x_low, x_high, x_ticks = _axis(xs, log_x)
        if log_x:
            x_low, x_high = min(xs, default=1), max(xs, default=1)
            x_ticks = [tick for tick in (xs if len(xs) <= MAX_TICKS else x_ticks) if tick <= x_high]
        x = Scale(x_low, x_high, left + 14, right - 14, log_x)
        parts += [_line(left, y(tick), right, y(tick), GRID) for tick in ticks]
        parts += [
            _text(
                x(tick), TOP + HEIGHT + 18, f"{tick:,.0f}" if log_x else format_significant(tick, 6)
            )
            for tick in x_ticks
        ]
        parts += [_text(middle, TOP - 10, panel.title), _text(middle, TOP + HEIGHT + 42, x_title)]
        for name, points in panel.series.items():
            parts += _series(name, _colour(name, names), points, x, y)
            beyond = [at for at, spread in points.items() if spread.num_infinite]
            row = TOP + 14 + 16 * infinite.index(name) if beyond else 0
            parts += [_text(x(at), row, "∞", colour=_colour(name, names)) for at in beyond]
        parts.append(
            f'<rect x="{left}" y="{TOP}" width="{panel_width}" height="{HEIGHT}" fill="none" '
            f'stroke="{FRAME}"/>'
        )
    return _document(parts, width, title, description)


def bars(values: FloatArray, num_coloured: int, title: str, x_title: str, y_title: str) -> str:
    """Draw an SVG document of numbered bars on a logarithmic axis. Values at or below 0 have no
    bar.

    `values` (num_bars,). `num_coloured`: how many of the first bars are coloured; the others are
    grey.
    """
    low, high, ticks = _axis(values.tolist(), log=True)
    y, width = Scale(low, high, TOP + HEIGHT, TOP, log=True), PANEL_WIDTHS[0]
    step = width / max(len(values), 1)
    parts = [
        *_y_axis(y, ticks, y_title),
        *(_line(LEFT, y(tick), LEFT + width, y(tick), GRID) for tick in ticks),
    ]
    for number, value in enumerate(values.tolist()):
        if value > 0:
            box = (
                f'x="{LEFT + (number + 0.12) * step:.1f}" y="{y(value):.1f}" '
                f'width="{step * 0.76:.1f}"'
            )
            colour = ACCENT if number < num_coloured else MUTED
            parts.append(f'<rect {box} height="{TOP + HEIGHT - y(value):.1f}" fill="{colour}"/>')
        if len(values) <= 20 or number % 5 == 4:
            parts.append(_text(LEFT + (number + 0.5) * step, TOP + HEIGHT + 18, str(number + 1)))
    parts += [
        _text(LEFT + width / 2, TOP - 10, title),
        _text(LEFT + width / 2, TOP + HEIGHT + 42, x_title),
    ]
    parts.append(
        f'<rect x="{LEFT}" y="{TOP}" width="{width}" height="{HEIGHT}" fill="none" '
        f'stroke="{FRAME}"/>'
    )
    return _document(parts, LEFT + width + GAP, title, f"{x_title} and {y_title}, logarithmic")


# Figures of a run


@check_types
def singular_values_svg(hankel: HankelMatrix, rank: int) -> str:
    """Draw the singular values of H_λ, largest first, those up to the rank in colour.

    >>> from nlwfa_core import as_sample, estimate_hankel, select_basis, singular_values_svg
    >>> sample = as_sample(["ab", "ab", "b", ""])
    >>> singular_values_svg(estimate_hankel(sample, select_basis(sample, 3, 3)), 2)[:4]
    '<svg'
    """
    check_at_least("rank", rank, 1)
    values = hankel_svd(hankel, MAX_SINGULAR_VALUES).singular_values
    title = f"Singular values of H_λ; a model of rank {rank} keeps the blue ones"
    return bars(values, rank, title, "number", "singular value")


@check_types
def loss_svgs(report: FitReport, linear_loss: float | None = None) -> dict[str, str]:
    """Draw loss curves: a figure for each measure of loss, with a line for each stage. Empty if
    nothing was trained.

    Parameters
    ----------
    linear_loss : float, optional
        SP's loss at the same rank (`learning.spectral.linear_loss`), drawn as a line if the
        factorisation was trained.

    Returns
    -------
    dict
        Measure of loss -> SVG document.

    Examples
    --------
    >>> from nlwfa_core import fit, loss_svgs
    >>> loss_svgs(fit(["ab", "ab", "b", ""], "SP", rank=2).report)  # SP has a closed form
    {}
    """
    figures = {}
    for measure in dict.fromkeys(log.measure for log in report.logs):
        relative = measure == RELATIVE
        series = {
            log.stage: _curve(*log.thinned(), measure)
            for log in report.logs
            if log.measure == measure
        }
        if linear_loss is not None and "factorisation" in series:
            last = max(epoch for points in series.values() for epoch in points)
            series[LINEAR_LOSS] = _curve((1, last), (linear_loss, linear_loss), measure)
        title = f"{measure[0].upper()}{measure[1:]}"
        description = "The loss after each epoch, one line per stage."
        figures[measure] = line_chart(
            [Panel(title, series)], title, description, "epoch", measure, relative, relative
        )
    return figures


def _curve(epochs: Iterable[int], losses: Iterable[float], measure: str) -> dict[int, Spread]:
    """Make the points of a loss curve, epoch -> loss."""
    points = loss_points(epochs, losses, measure)
    return {epoch: Spread(loss, None, 1, 0) for epoch, loss in points}


@check_types
def heat_map_png(matrix: sparse.csr_array, pixels: int = 480) -> bytes:
    """Draw a matrix as a PNG picture: |entries| on a logarithmic scale, positive ones blue,
    negative ones red, 0 white.

    In a matrix of more than `pixels` rows or columns, a pixel shows the largest entry of those that
    it covers. A smaller matrix is enlarged by a whole factor, up to `pixels`. Raises MissingExtra
    without Pillow.

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from nlwfa_core import heat_map_png
    >>> heat_map_png(sparse.csr_array(np.eye(3)))[1:4]
    b'PNG'
    """
    check_at_least("pixels", pixels, 1)
    check_extra("plot", "PIL")
    from PIL import Image

    values = pool(matrix, pixels, pixels).values
    image = np.full((*values.shape, 3), 255, dtype=np.uint8)
    magnitudes = np.abs(values)
    if (magnitudes > 0).any():
        logs = np.log(magnitudes, out=np.full_like(values, np.nan), where=magnitudes > 0)
        low, high = np.nanmin(logs), np.nanmax(logs)
        shares = np.nan_to_num((logs - low) / ((high - low) or 1.0))
        for mask, colours in ((values > 0, BLUES), (values < 0, REDS)):
            table = np.array(
                [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours],
                dtype=np.uint8,
            )
            image[mask] = table[np.minimum((shares[mask] * len(table)).astype(int), len(table) - 1)]
    factor = max(1, pixels // max(values.shape))
    file = io.BytesIO()
    Image.fromarray(image.repeat(factor, axis=0).repeat(factor, axis=1)).save(file, "png")
    return file.getvalue()


# Parts of charts


def _document(parts: Sequence[str], width: float, title: str, description: str) -> str:
    height = TOP + HEIGHT + BOTTOM
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title)}" font-family="sans-serif" font-size="13" fill="{TEXT}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    return "\n".join([*head, *parts, "</svg>\n"])


def _y_axis(y: Scale, ticks: Sequence[float], title: str) -> list[str]:
    return [
        f'<text transform="translate(18 {TOP + HEIGHT / 2:g}) rotate(-90)" '
        f'text-anchor="middle">{escape(title)}</text>',
        *(_text(LEFT - 8, y(tick) + 4, format_significant(tick, 6), "end") for tick in ticks),
    ]


def _series(name: str, colour: str, points: Mapping[int, Spread], x: Scale, y: Scale) -> list[str]:
    """Draw a line, its band and its markers."""
    dash = STROKES[DASHES.get(kind_of(name), "solid")]
    finite_points = [
        (x(at), spread.mean, spread.interval() or Interval(spread.mean, spread.mean, spread.mean))
        for at, spread in sorted(points.items())
        if spread.mean is not None and (spread.mean > 0 or not y.log)
    ]
    parts = [f"<g><title>{escape(name)}</title>"]
    if any(band.low < band.high for _, _, band in finite_points) and name in MARKERS:
        upper = [f"{at:.1f},{y(band.high):.1f}" for at, _, band in finite_points]
        lower = [f"{at:.1f},{y(band.low):.1f}" for at, _, band in reversed(finite_points)]
        parts.append(
            f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" fill-opacity="0.15"/>'
        )
    path = " ".join(f"{at:.1f},{y(mean):.1f}" for at, mean, _ in finite_points)
    parts.append(
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2.2" '
        f'stroke-dasharray="{dash}"/>'
    )
    if len(finite_points) == 1 and name not in MARKERS:  # a line of one point can't be seen
        parts.append(
            f'<circle cx="{finite_points[0][0]:.1f}" cy="{y(finite_points[0][1]):.1f}" '
            f'r="4.5" fill="{colour}"/>'
        )
    parts += [_marker(name, at, y(mean)) for at, mean, _ in finite_points]
    return [*parts, "</g>"]


def _colour(name: str, names: Sequence[str]) -> str:
    """Return the colour of a series: a model has its own; other names take the colours of classes,
    in their order.
    """
    if name == LINEAR_LOSS:
        return GREY
    return (
        colour_of(name) if kind_of(name) in COLOURS else CLASSES[names.index(name) % len(CLASSES)]
    )


def _legend(names: Sequence[str]) -> list[str]:
    parts, at = [], float(LEFT)
    for name in names:
        parts.append(
            _line(
                at,
                22,
                at + 26,
                22,
                _colour(name, names),
                2.2,
                STROKES[DASHES.get(kind_of(name), "solid")],
            )
        )
        parts += [_marker(name, at + 13, 22), _text(at + 32, 26, name, "start")]
        at += 48 + 7 * len(name)
    return parts


def _marker(name: str, x: float, y: float) -> str:
    colour = colour_of(name)
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>',
        "square": f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>',
        "diamond": f'<path d="M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z" fill="{colour}"/>',
        "triangle-up": f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}"/>',
    }
    return shapes.get(MARKERS.get(name, ""), "")


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1, dash: str = "none"
) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = TEXT) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def _visible(spreads: Sequence[Spread]) -> list[float]:
    """List the means, and the ends of their intervals as far as these take at most as much room
    again as the means.

    The interval of two or three seeds may be far wider than the differences between models.

    >>> (
    ...     _visible([Spread.of([1.0]), Spread.of([2.0, 3.0])]),
    ...     [round(end, 1) for end in _visible([Spread.of([1.0, 3.0])])],
    ... )
    ([1.0, 2.5, 0.25, 3.25], [2.0, -10.7, 14.7])
    """
    means = [spread.mean for spread in spreads if spread.mean is not None]
    ends = [
        end for spread in spreads if (band := spread.interval()) for end in (band.low, band.high)
    ]
    room = (max(means) - min(means)) / 2 if means else 0.0
    return [
        *means,
        *(min(max(end, min(means) - room), max(means) + room) if room else end for end in ends),
    ]


def _axis(values: Sequence[float], log: bool) -> tuple[float, float, list[float]]:
    """Find the lowest and the highest value of an axis that shows some values, and its ticks."""
    if log:
        means = [value for value in values if value > 0] or [1.0]
        least = math.floor(math.log10(min(means)))
        most = max(math.ceil(math.log10(max(means))), least + 1)
        return (
            10.0**least,
            10.0**most,
            [10.0**power for power in range(least, most + 1, max(1, round((most - least) / 8)))],
        )
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = (high - low) or 1.0
    step = next(
        step
        for power in range(math.floor(math.log10(span)) - 1, 20)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if span / step <= 7
    )
    edges = math.floor(low / step), math.ceil(high / step)
    return (
        edges[0] * step,
        edges[1] * step,
        [round(n * step, 10) for n in np.arange(edges[0], edges[1] + 1).tolist()],
    )
