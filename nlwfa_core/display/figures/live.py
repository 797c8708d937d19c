"""Make ECharts options for the loss curves and the plane of states, which change during training.

ECharts updates a figure in place, whereas Plotly would redraw it each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...jobs.snapshots import Snapshot
from ...learning.progress import BITS, LOWEST_LOSS, PENALISED_BITS, RELATIVE, loss_points
from ...rounding import format_significant, power_of_ten
from ..palette import ACCENT, COLOURS, GREY, LINEAR_LOSS, MONOSPACE, MUTED, class_colours

MOST_TICKS = 6
STEPS = (1, 1.5, 2, 3, 5, 7, 10)  # ends of axes, times a power of ten
SLACK = 1 + 1e-9  # a size that rounding puts above a step is on it
# A point is an epoch, a loss, and the loss as text, which a tooltip shows.
TEXT_IN_TOOLTIP = {
    "dimensions": ["epoch", "loss", {"name": "text", "type": "ordinal"}],
    "encode": {"x": 0, "y": 1, "tooltip": 2},
}
STAGE_COLOURS = {
    "factorisation": ACCENT,
    "transitions": COLOURS["fac.non"],
    "refinement": COLOURS["tran.non"],
}
LOSS_NOTES = {
    RELATIVE: "The relative loss is the squared error divided by the targets' squared norm: "
    "outputs of "
    "0 everywhere have loss 1.",
    BITS: "Bits per symbol are measured on the validation strings; the end of each string counts "
    "as a symbol. Epoch 0 is the model "
    "before refinement.",
    PENALISED_BITS: "Bits per symbol are measured on the training strings, and include the prior "
    "of the weights; the end of each string counts as a symbol. The curve shows the last part of "
    "the training, after many starts.",
}


LINEAR_NOTE = (
    "The dashed line is the loss of SP at the same rank, which is the lowest loss of a "
    "linear factorisation. Where the curve is "
    "below this line, the network with tanh describes the rows better than any linear model "
    "with as many states."
)


def loss_options(
    curves: Mapping[str, tuple[Sequence[int], Sequence[float]]],
    measure: str = RELATIVE,
    linear_loss: float | None = None,
) -> dict[str, Any]:
    """Make the options for loss curves with the same measure. Relative losses have logarithmic
    axes, other losses linear ones.

    A logarithmic axis begins at epoch 1. A stage that was solved exactly, without epochs, is drawn
    as a point at epoch 1.

    `curves`: stage of training -> (epochs, losses). `linear_loss`: SP's loss at the same rank
    (`learning.spectral.linear_loss`), drawn as a dashed line if the factorisation is among the
    stages.
    """
    relative = measure == RELATIVE
    series: list[dict[str, Any]] = []
    for stage, (epochs, losses) in curves.items():
        points = loss_points(epochs, losses, measure)
        colour = STAGE_COLOURS.get(stage, ACCENT)
        look = {
            "showSymbol": len(points) == 1,
            "symbolSize": 9,
            "lineStyle": {"width": 2.5},
            "color": colour,
        }
        data = [_point(epoch, loss) for epoch, loss in points]
        series.append({"type": "line", "name": stage, "data": data, **TEXT_IN_TOOLTIP, **look})
    if linear_loss is not None and "factorisation" in curves:
        series.append(
            _linear_line(
                max(linear_loss, LOWEST_LOSS),
                max(epoch for epochs, _ in curves.values() for epoch in epochs),
            )
        )
    y_axis: dict[str, Any] = {"type": "value", "scale": True, "name": measure}
    if relative:
        powers = _powers([point[1] for one in series for point in map(_values, one["data"])])
        y_axis = _power_axis(powers) | {"name": measure}
        series[0] |= {"markLine": _power_labels(powers)}
    return {
        "animation": False,
        "grid": {"left": 52 if relative else 16, "right": 16, "top": 52, "bottom": 8},
        "legend": {"top": 0, "data": list(curves)},
        "tooltip": {"trigger": "axis"},
        "xAxis": {
            "type": "log" if relative else "value",
            "name": "epoch",
            "nameLocation": "middle",
            "nameGap": 26,
            "min": 1 if relative else 0,
        },
        "yAxis": y_axis,
        "series": series,
    }


def _point(epoch: int, loss: float) -> list[Any]:
    return [epoch, loss, format_significant(loss)]


def _values(point: Any) -> list[Any]:
    values: list[Any] = point["value"] if isinstance(point, dict) else point
    return values


def _powers(losses: Sequence[float]) -> list[int]:
    """Return the powers of ten around some losses that a logarithmic axis has room for.

    >>> _powers([0.3, 0.02]), _powers([1.0]), _powers([1e-15, 0.5])
    ([-2, -1, 0], [-1, 0], [-15, -12, -9, -6, -3, 0])
    """
    lowest = int(np.floor(np.log10(min(losses, default=1.0)) + 1e-9))
    highest = int(np.ceil(np.log10(max(losses, default=1.0)) - 1e-9))
    lowest = min(lowest, highest - 1)
    step = -(-(highest - lowest) // MOST_TICKS)
    return list(range(highest, lowest - step, -step))[::-1]


def _power_axis(powers: Sequence[int]) -> dict[str, Any]:
    """Make a logarithmic axis without labels: its own would be "1e-7"."""
    return {
        "type": "log",
        "min": 10.0 ** powers[0],
        "max": 10.0 ** powers[-1],
        "axisLabel": {"show": False},
        "splitLine": {"show": False},
    }


def _power_labels(powers: Sequence[int]) -> dict[str, Any]:
    """Make the lines and labels of a logarithmic axis at powers of ten, "10⁻⁷"."""
    return {
        "silent": True,
        "symbol": "none",
        "animation": False,
        "lineStyle": {"type": "solid", "width": 1, "color": "rgba(138,138,138,.25)"},
        "label": {"position": "start", "formatter": "{b}", "color": GREY, "textBorderWidth": 0},
        "data": [{"name": power_of_ten(power), "yAxis": 10.0**power} for power in powers],
    }


def _linear_line(loss: float, last: int) -> dict[str, Any]:
    """Make a dashed horizontal line at a loss, labelled with its name."""
    text = {
        "show": True,
        "formatter": LINEAR_LOSS,
        "position": [4, -18],
        "align": "left",
        "color": GREY,
        "textBorderWidth": 0,
    }
    return {
        "type": "line",
        "name": LINEAR_LOSS,
        "data": [{"value": _point(1, loss), "label": text}, _point(max(last, 1), loss)],
        **TEXT_IN_TOOLTIP,
        "symbolSize": 0.1,  # ECharts draws labels only for points that have a symbol
        "color": GREY,
        "lineStyle": {"width": 2, "type": "dashed"},
    }


def picture_options(
    picture: Snapshot, labels: Sequence[str], classes: Sequence[str]
) -> dict[str, Any]:
    """Make the options for a figure of states in the plane; ECharts animates the points from one
    figure to the next.

    `picture`: the positions of the states at one epoch. `labels`: the prefix of each point.
    `classes`: the class of each point; each class is a series, in an order that does not depend on
    the positions.
    """
    symbol = {"type": "scatter", "symbolSize": 9, "emphasis": {"focus": "series"}}
    rings = [
        {
            "name": label,
            "value": list(point),
            "itemStyle": {"color": "transparent", "borderColor": MUTED, "borderWidth": 1.5},
        }
        for label, point in zip(labels, picture.targets, strict=False)
    ]
    series: list[dict[str, Any]] = [
        {**symbol, "name": "", "symbolSize": 13, "silent": True, "data": rings}
    ]
    for name, colour in class_colours(classes).items():
        members = [index for index, each in enumerate(classes) if each == name]
        series.append(
            {
                **symbol,
                "name": name,
                "color": colour,
                "itemStyle": {"opacity": 0.85},
                "label": {
                    "show": True,
                    "formatter": "{b}",
                    "position": "right",
                    "fontSize": 11,
                    "fontFamily": MONOSPACE["family"],
                    "minMargin": 6,
                    "distance": 3,
                    "textBorderWidth": 0,
                },
                "labelLayout": {"hideOverlap": True},
                "data": [
                    {"name": labels[index], "value": list(picture.points[index])}
                    for index in members
                ],
            }
        )
    end = _round_up(
        max((abs(x) for point in (*picture.points, *picture.targets) for x in point), default=1.0)
    )
    axis = {
        "type": "value",
        "min": -end,
        "max": end,
        "splitNumber": 2,
        "axisLabel": {"showMinLabel": False, "showMaxLabel": False},
    }
    return {
        "animationDuration": 0,
        "animationDurationUpdate": 350,
        "grid": {"left": 24, "right": 24, "top": 40, "bottom": 16},
        "legend": {
            "top": 0,
            "type": "scroll",
            "textStyle": {"fontFamily": MONOSPACE["family"]},
            "data": list(class_colours(classes)),
        },
        "tooltip": {"trigger": "item", "renderMode": "richText", "formatter": "{b}"},
        "xAxis": axis,
        "yAxis": axis,
        "series": series,
    }


def _round_up(size: float) -> float:
    """Round up to one of `STEPS` times a power of ten, so axes stay the same while points move a
    little.

    >>> _round_up(0.21), _round_up(5.0), _round_up(2e-13), _round_up(0.0)
    (0.3, 5.0, 2e-13, 1.0)
    """
    if size <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(size))
    step = next(step for step in STEPS if size <= step * power * SLACK)
    return float(f"{step * power:.12g}")  # without digits that are only rounding error
