"""The page about squared functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from ..metrics.seeds import Spread
from .experiments import Experiment
from .markdown import TITLES, Body, figure, table, why
from .reasons import SQUARED
from .runs import Finished, found, of
from .statistics import values_of
from .svg import Panel, line_chart

LEARNED_FROM = {"none": "H", "sqrt": "H^{1/2}"}
METRIC = "relative_rmse"


def squares_body(experiment: Experiment, done: Sequence[Finished]) -> Body:
    """Of "squared"."""
    sizes = found(done, "size")
    ranks = [
        (str(k), str(k * (k + 1) // 2), *(_range(of(done, settings=transform, size=k)) for transform in LEARNED_FROM))
        for k in sizes
    ]
    body = ["## Ranks", table(("states k of f", "k (k + 1) / 2", "rank of H", "rank of H^{1/2}"), ranks), "## Error by rank"]
    files = {}
    errors = {
        (k, transform, learner): {
            rank: Spread.of(values_of(of(done, settings=transform, learner=learner, rank=rank, size=k), METRIC).values())
            for rank in found(of(done, settings=transform, learner=learner, size=k), "rank")
        }
        for k, transform, learner in product(sizes, LEARNED_FROM, ("SP", "fac.non"))
    }
    for transform, root in LEARNED_FROM.items():
        panels = [
            Panel(f"k = {k}", {name: errors[k, transform, name] for name in ("SP", "fac.non")})
            for k in found(of(done, settings=transform), "size")
        ]
        title = f"Error on f² by rank, learned from {root}"
        what = "A panel for each number of states of f; mean over automata, bands of one standard deviation; logarithmic."
        files[f"squared-{transform}.svg"] = line_chart(panels, title, what, "rank", TITLES[METRIC], log_y=True)
        body.append(figure(title, f"squared-{transform}.svg"))
    for k in sizes:
        columns = {f"{name}, {LEARNED_FROM[transform]}": curve for (of_k, transform, name), curve in errors.items() if of_k == k}
        rows = [
            (str(rank), *(curve[rank].text(".1e") if rank in curve else "" for curve in columns.values()))
            for rank in found(of(done, size=k), "rank")
        ]
        body.append(f"f with {k} states, {TITLES[METRIC]}:\n\n{table(('rank', *columns), rows)}")
    return [*body, why(SQUARED)], files


def _range(done: Iterable[Finished]) -> str:
    """The rank of a matrix, over seeds."""
    values = sorted(set(values_of(done, "rank_h").values()))
    return " … ".join(f"{value:g}" for value in sorted({values[0], values[-1]})) if values else ""
