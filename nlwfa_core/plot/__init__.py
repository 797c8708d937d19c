"""Draw figures for papers and reports with Matplotlib: each function takes Axes, or makes new ones,
draws on them and returns them.

New Axes are as wide as a column of a two-column page (`WIDTH`), in the small type of captions
(`STYLE`). `save` writes a figure at a size in inches: as PDF with TrueType fonts (type 42), which
publishers ask for, or as SVG, PGF or PNG. All other settings are Matplotlib's.

The functions draw what the lab's pages draw, with the same colours: a Hankel matrix, its singular
values, the losses of training, the states of prefixes, the paths of strings through the states, an
automaton's graph, the weights of deeper and deeper strings, and scores with their intervals over
seeds. Needs the extra [plot].

New Axes are those of pyplot, so notebooks show them. A server's threads call `render` instead,
which does not use pyplot. Matplotlib's settings belong to the whole process, so a lock lets only
one thread at a time draw in `STYLE`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from io import BytesIO
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from ..display.graph import without_rounding
from ..display.layout import LINE, RADIUS
from ..display.lens import pool
from ..display.palette import (
    ACCENT,
    BLUES,
    CLASSES,
    COLOURS,
    DASHES,
    GREY,
    LINEAR_LOSS,
    MARK,
    MARKERS,
    class_colours,
    colour_of,
    kind_of,
)
from ..display.projection import colouring, prefix_states, project
from ..display.string_labels import shortened
from ..display.walk import automaton_graph
from ..errors import (
    RecipeError,
    check_at_least,
    check_extra,
    check_one_of,
    check_type,
    printable,
)
from ..hankel.matrix import HankelMatrix
from ..learning.fitting import FitReport
from ..learning.progress import RELATIVE, loss_points
from ..learning.spectral import truncated_svd, weighted_block
from ..metrics.intervals import CONFIDENCE, Interval
from ..metrics.seeds import Spread
from ..models.model import alphabet_of
from ..models.model_files import LearnedModel
from ..models.wfa import WFA
from ..strings.plain import WordsLike, as_words
from ..strings.words import LAMBDA, Alphabet, FloatArray, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogFormatter

# Name of a line -> x -> a number, the numbers of all seeds, their `Spread`, or an `Interval`.
Score: TypeAlias = float | Iterable[float] | Interval | Spread
Scores: TypeAlias = Mapping[str, Mapping[float, Score] | Mapping[int, Score]]
# A function that draws on a figure.
Drawing: TypeAlias = "Callable[[Figure], object]"
P = ParamSpec("P")
R = TypeVar("R")
# inches
WIDTH = 3.4
HEIGHT = 2.5
PIXELS = 96.0  # of the graph's layout, per inch
FONT = 8.0  # points
STYLE: dict[Any, Any] = {  # settings of Matplotlib
    "font.size": FONT,
    "axes.titlesize": FONT,
    "axes.labelsize": FONT,
    "xtick.labelsize": FONT - 1,
    "ytick.labelsize": FONT - 1,
    "legend.fontsize": FONT - 1,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.0,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "nlwfa",  # the same figure gives the same file
}
MAX_TICKS = 12  # of a logarithmic axis that has a tick for each x
MAX_NAMES = 25  # rows or columns of a matrix; more have numbers, not names
MAX_LETTERS = 16  # of a row's or column's name
LINE_INCHES = 0.25  # of a string's row
MAX_CELLS = 200  # rows or columns of a matrix's image: a lone entry is as wide as a thin line
DIGIT = 0.06  # the width of a tick's digit in inches
ROW = 0.07  # the height of a row of ∞, as a share of the Axes' height
SHAPES = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "x", "pentagon": "p", "star": "*", "cross": "P",  # noqa: E501
}  # fmt: skip
MATHS = {"α₀": r"$\alpha_0$", "α∞": r"$\alpha_\infty$"}
LINES = {"solid": "-", "dash": "--", "dot": ":"}
# Matplotlib's settings are one dictionary for all threads.
_LOCK = RLock()


@contextmanager
def style() -> Iterator[None]:
    """Use the settings of `STYLE` for all figures that are made within a `with` statement.

    Other threads wait for its end before they draw in `STYLE`.

    >>> import matplotlib as mpl
    >>> with style():
    ...     mpl.rcParams["font.size"]
    8.0
    """
    check_extra("plot", "matplotlib")
    import matplotlib as mpl

    with _LOCK, mpl.rc_context(STYLE):
        yield


def _in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Draw in `STYLE` on new Axes; on a caller's own Axes, in the caller's settings (a
    decorator).
    """
    signature = inspect.signature(function)

    @wraps(function)
    def draw(*arguments: P.args, **options: P.kwargs) -> R:
        named = signature.bind(*arguments, **options).arguments
        if named.get("ax") is not None or named.get("axes") is not None:
            return function(*arguments, **options)
        with style():
            return function(*arguments, **options)

    return draw


def new_axes(width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """Make Axes of a new figure.

    >>> new_axes(width=7).get_figure().get_size_inches().tolist()
    [7.0, 2.5]

    Parameters
    ----------
    width, height : float
        The size of the figure in inches.
    """
    _check_size(width, height)
    with style():
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def _check_size(width: float, height: float) -> None:
    for name, size in (("width", width), ("height", height)):
        check_type(name, size, float)
        check_at_least(name, size, 0.1)


def save(
    ax: Axes, path: Path | str, width: float | None = None, height: float | None = None
) -> Path:
    """Write the figure of some Axes to a file, whose suffix determines the format: .pdf, .svg,
    .pgf, .eps or .png.

    The same figure gives the same bytes: no date is written.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(new_axes(), f"{folder}/empty.pdf", width=3.4, height=2).name
    'empty.pdf'

    Parameters
    ----------
    ax : Axes
    path : path
        Its folder must exist. A file of that name is replaced.
    width, height : float, optional
        The size in inches; without them the figure keeps its own.

    Raises
    ------
    RecipeError
        If Matplotlib does not write files with this suffix.
    """
    target = Path(path)
    figure = ax.get_figure(root=True)
    if figure is None:
        raise RecipeError("these Axes belong to no figure, so there is nothing to save")
    check_one_of(
        "the suffix of a figure's file",
        target.suffix.removeprefix("."),
        sorted(figure.canvas.get_supported_filetypes()),
    )
    if width is not None or height is not None:
        own_width, own_height = figure.get_size_inches()
        figure.set_size_inches(
            own_width if width is None else width, own_height if height is None else height
        )
    with style():
        _write(figure, target, target.suffix.removeprefix("."))
    return target


def render(
    draw: Drawing,
    formats: Sequence[str] = ("svg",),
    *,
    width: float = WIDTH,
    height: float = HEIGHT,
    title: str = "",
) -> dict[str, bytes]:
    """Draw a figure and return its files. Unlike `new_axes` this uses no pyplot, so threads may
    call it at the same time; they draw one after the other.

    The same figure gives the same bytes.

    >>> files = render(lambda figure: singular_values(np.eye(3), figure.subplots()), ["pdf", "svg"])
    >>> files["pdf"][:4], b"singular value</text>" in files["svg"]
    (b'%PDF', True)

    Parameters
    ----------
    draw : callable
        Draws on an empty Figure of Matplotlib.
    formats : sequence of str
        "pdf", "svg", "pgf", "eps" or "png".
    width, height : float
        The size in inches.
    title : str
        The name of the figure for screen readers: the title in an SVG, PDF or PNG file.

    Returns
    -------
    dict
        Format -> bytes of the file.

    Raises
    ------
    RecipeError
        If Matplotlib does not write a format.
    """
    _check_size(width, height)
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        for name in formats:
            check_one_of("a format", name, sorted(figure.canvas.get_supported_filetypes()))
        draw(figure)
        files = {}
        for name in formats:
            file = BytesIO()
            _write(figure, file, name, title)
            files[name] = file.getvalue()
    return files


def _write(figure: Figure, target: Path | BytesIO, suffix: str, title: str = "") -> None:
    dates = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}.get(suffix)
    metadata = {**dates, **({"Title": title} if title else {})} if dates is not None else None
    figure.savefig(target, format=suffix, dpi=300, metadata=metadata)


@_in_style
def hankel(matrix: HankelMatrix | FloatArray, ax: Axes | None = None, *, log: bool = True) -> Axes:
    """Draw a Hankel matrix as an image: rows are prefixes, columns are suffixes.

    Positive entries are blue, negative ones red, and 0 is white. Up to `MAX_NAMES` rows or columns
    have names. In a matrix of more than `MAX_CELLS` rows or columns, a cell shows the largest of
    the entries that it covers.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> ax = hankel(estimate_hankel(strings, select_basis(strings, 4, 4)))
    >>> ax.get_ylabel(), ax.images[0].get_array().shape
    ('prefix', (4, 4))

    Parameters
    ----------
    matrix : HankelMatrix, or array of shape (num_prefixes, num_suffixes)
        For a HankelMatrix, its block H_λ is drawn.
    ax : Axes, optional
    log : bool
        Whether colours are on a logarithmic scale.

    Raises
    ------
    RecipeError
        If the array does not have two dimensions, or has an entry that is not finite.
    """
    pooled = pool(_entries(matrix), MAX_CELLS, MAX_CELLS)
    values, (num_rows, num_columns) = pooled.values, pooled.shape
    axes = _axes(ax)
    from matplotlib import colors
    from matplotlib.ticker import MaxNLocator

    sizes = np.abs(values[values != 0])
    negative = bool((values < 0).any())
    largest = float(sizes.max(initial=0.0)) or 1.0
    least = float(sizes.min(initial=largest))
    colour_map: str | colors.Colormap = "RdBu"
    norm: colors.Normalize
    shown = values
    if negative:
        norm = (
            colors.SymLogNorm(max(least, largest / 1e4), vmin=-largest, vmax=largest)
            if log
            else colors.Normalize(-largest, largest)
        )
    else:
        colour_map = colors.LinearSegmentedColormap.from_list(
            "blues", BLUES if log else ("#ffffff", *BLUES)
        ).with_extremes(bad="#ffffff")
        norm = (
            colors.LogNorm(least if least < largest else largest / 10, largest)
            if log
            else colors.Normalize(0.0, largest)
        )
        shown = np.ma.masked_equal(values, 0.0) if log else values
    # the last tile may reach beyond the matrix
    right = values.shape[1] * pooled.column_factor
    bottom = values.shape[0] * pooled.row_factor
    image = axes.imshow(
        shown,
        cmap=colour_map,
        norm=norm,
        aspect="auto",
        interpolation="nearest",
        extent=(-0.5, right - 0.5, bottom - 0.5, -0.5),
    )
    axes.set(xlim=(-0.5, num_columns - 0.5), ylim=(num_rows - 0.5, -0.5))
    axes.set(xlabel="suffix", ylabel="prefix")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if isinstance(matrix, HankelMatrix):
        basis = matrix.basis
        if len(basis.suffixes) <= MAX_NAMES:
            axes.set_xticks(
                range(len(basis.suffixes)),
                _names(basis.suffixes, basis.alphabet, MAX_LETTERS),
                rotation=90,
                family="monospace",
            )
        if len(basis.prefixes) <= MAX_NAMES:
            axes.set_yticks(
                range(len(basis.prefixes)),
                _names(basis.prefixes, basis.alphabet, MAX_LETTERS),
                family="monospace",
            )
    figure = axes.get_figure()
    if figure is not None:
        bar = figure.colorbar(image, ax=axes)
        if log and not negative:
            bar.formatter = bar.minorformatter = _decimals()
    return axes


def _decimals() -> LogFormatter:
    """Make a formatter of a logarithmic axis that writes 0.5, not 5 × 10⁻¹."""
    from matplotlib.ticker import LogFormatter

    class Decimals(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:.4g}" if super().__call__(x, pos) else ""

    return Decimals()


@_in_style
def singular_values(
    matrix: HankelMatrix | FloatArray,
    ax: Axes | None = None,
    *,
    rank: int | None = None,
    number: int = 50,
) -> Axes:
    """Draw the singular values of a Hankel matrix, largest first, on a logarithmic axis.

    >>> ax = singular_values(np.diag([4.0, 1.0, 0.25]), rank=2)
    >>> ax.lines[0].get_ydata().tolist()
    [4.0, 1.0, 0.25]

    Parameters
    ----------
    matrix : HankelMatrix, or array of shape (num_prefixes, num_suffixes)
    ax : Axes, optional
    rank : int, optional
        A model's number of states: the values that it leaves out are grey.
    number : int
        The largest number of values to draw. Values that are 0 up to rounding are left out.

    Raises
    ------
    RecipeError
        As in `hankel`; or if the rank or the number is below 1.
    """
    for name, value in (("number", number), ("rank", 1 if rank is None else rank)):
        check_type(name, value, int)
        check_at_least(name, value, 1)
    block = weighted_block(matrix) if isinstance(matrix, HankelMatrix) else _entries(matrix)
    svd = truncated_svd(block, min(number, *block.shape))
    values = svd.singular_values[: svd.numerical_rank]
    axes = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    numbers = np.arange(1, len(values) + 1)
    kept = len(values) if rank is None else min(rank, len(values))
    axes.semilogy(numbers, values, "-", color=GREY, linewidth=0.8)
    axes.semilogy(
        numbers[:kept],
        values[:kept],
        "o",
        color=ACCENT,
        label=None if rank is None else f"k = {rank}",
    )
    axes.semilogy(numbers[kept:], values[kept:], "o", color=GREY, markerfacecolor="none")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="number", ylabel="singular value", xlim=(0.5, max(len(values), 1) + 0.5))
    if rank is not None:
        axes.legend(frameon=False)
    return axes


@_in_style
def losses(
    report: FitReport,
    ax: Axes | None = None,
    *,
    measure: str | None = None,
    linear_loss: float | None = None,
) -> Axes:
    """Draw the losses of training after each epoch: a line for each stage that has the same measure
    of loss. A stage that was solved exactly is a point.

    Relative losses are on logarithmic axes; other measures are on linear ones.

    >>> from nlwfa_core import fit
    >>> size = {"rank": 2, "epochs_factorisation": 3, "epochs_transitions": 3}
    >>> ax = losses(fit(["ab", "ab", "b", "abb"], "both.non", **size).report, linear_loss=0.1)
    >>> [line.get_label() for line in ax.lines]
    ['factorisation', 'transitions', 'SP, same rank']

    Parameters
    ----------
    report : FitReport
    ax : Axes, optional
    measure : str, optional
        The measure of loss, one of those in `report.logs`; by default the first one.
    linear_loss : float, optional
        SP's loss at the same rank (`learning.spectral.linear_loss`). It is drawn as a line if the
        factorisation is among the stages.

    Raises
    ------
    RecipeError
        If nothing was trained, or no stage has this measure.
    """
    check_type("report", report, FitReport)
    measures = list(dict.fromkeys(log.measure for log in report.logs))
    if not measures:
        raise RecipeError(f"{report.learner} has no losses to draw: it was not trained in epochs")
    if measure is None:
        measure = measures[0]
    check_one_of("measure", measure, measures)
    logs = [log for log in report.logs if log.measure == measure]
    axes = _axes(ax)
    if measure == RELATIVE:
        axes.set(xscale="log", yscale="log")
    for number, log in enumerate(logs):
        points = loss_points(*log.thinned(), measure)
        axes.plot(
            [epoch for epoch, _ in points],
            [loss for _, loss in points],
            "o" if len(points) == 1 else "-",
            color=CLASSES[number % len(CLASSES)],
            label=log.stage,
        )
    if linear_loss is not None and any(log.stage == "factorisation" for log in logs):
        check_type("linear_loss", linear_loss, float)
        for _, loss in loss_points([1], [linear_loss], measure):
            axes.axhline(loss, color=GREY, linestyle=LINES[DASHES[LINEAR_LOSS]], label=LINEAR_LOSS)
    axes.set(xlabel="epoch", ylabel=measure)
    axes.legend(frameon=False)
    return axes


@_in_style
def states(
    model: LearnedModel,
    prefixes: HankelMatrix | WordsLike,
    ax: Axes | None = None,
    *,
    colour: str = "last symbol",
    unit_length: bool = False,
) -> Axes:
    """Draw the states after some prefixes in the plane of their first two principal components.

    >>> from nlwfa_core import fit
    >>> model = fit(["ab", "ab", "b", "abb"], "SP", rank=2).model
    >>> ax = states(model, ["", "a", "ab", "b"])
    >>> ax.get_xlabel()
    'component 1 (97% of variance)'

    Parameters
    ----------
    model : WFA, NLWFA or RecurrentModel
    prefixes : HankelMatrix or strings
        For a HankelMatrix, its prefixes are used.
    ax : Axes, optional
    colour : str
        One of "last symbol", "length", "next symbol", "entropy" (see
        `display.projection.COLOURINGS`).
    unit_length : bool
        Whether states are divided by their length first, so only their direction counts. The
        states of a linear model shrink as prefixes become longer and rarer.

    Raises
    ------
    RecipeError
        If a state is not finite, or a prefix has a symbol that the model does not know.
    """
    words, alphabet = _prefixes(model, prefixes)
    vectors = prefix_states(model, words)
    projection = project(vectors, 2, unit_length)
    points = projection.coordinates(vectors)
    kinds = colouring(colour, words, alphabet or Alphabet.numbered(model.num_symbols), model)
    axes = _axes(ax)
    if all(isinstance(kind, str) for kind in kinds):
        for name, own in class_colours(map(str, kinds)).items():
            chosen = points[[kind == name for kind in kinds]]
            axes.scatter(
                chosen[:, 0], chosen[:, 1], s=9, color=own, label=_literal(name), linewidths=0
            )
        axes.legend(frameon=False, title=colour, markerscale=1.5, handletextpad=0.2)
    else:
        drawn = axes.scatter(
            points[:, 0],
            points[:, 1],
            s=9,
            c=np.asarray(kinds, dtype=float),
            cmap="viridis",
            linewidths=0,
        )
        figure = axes.get_figure()
        if figure is not None:
            figure.colorbar(drawn, ax=axes, label=colour)
    _name_components(axes, projection.explained)
    return axes


@_in_style
def trajectories(
    model: LearnedModel,
    strings: WordsLike,
    ax: Axes | None = None,
    *,
    prefixes: HankelMatrix | WordsLike | None = None,
    unit_length: bool = False,
) -> Axes:
    """Draw the path of each string through the states: a line from the state of λ through one point
    for each of its symbols.

    >>> from nlwfa_core import fit
    >>> model = fit(["ab", "ab", "b", "abb"], "SP", rank=2).model
    >>> ax = trajectories(model, ["ab", "abb"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['ab', 'abb']

    Parameters
    ----------
    model : WFA, NLWFA or RecurrentModel
    strings : strings
        At least one; a few are enough, because each has its own line in the legend.
    ax : Axes, optional
    prefixes : HankelMatrix or strings, optional
        Drawn in grey behind the lines. Their states, not those of the strings, then determine the
        principal components.
    unit_length : bool
        As in `states`.

    Raises
    ------
    RecipeError
        As in `states`, or if there is no string.
    """
    words, alphabet = _prefixes(model, strings)
    if not len(words):
        raise RecipeError("trajectories need at least one string; got none")
    ways = [
        prefix_states(model, Words.of(word[:end] for end in range(len(word) + 1))) for word in words
    ]
    background = None if prefixes is None else prefix_states(model, _prefixes(model, prefixes)[0])
    projection = project(np.concatenate(ways) if background is None else background, 2, unit_length)
    axes = _axes(ax)
    if background is not None:
        behind = projection.coordinates(background)
        axes.scatter(behind[:, 0], behind[:, 1], s=6, color="#d0d0d0", linewidths=0, zorder=1)
    colours = list(COLOURS.values())[:8]
    for number, (name, way) in enumerate(zip(_names(words, alphabet), ways, strict=True)):
        points = projection.coordinates(way)
        axes.plot(
            points[:, 0],
            points[:, 1],
            ".-",
            color=colours[number % len(colours)],
            label=name,
            zorder=2,
        )
    start = projection.coordinates(ways[0][:1])[0]
    axes.annotate(LAMBDA, start, xytext=(3, 3), textcoords="offset points")
    axes.legend(frameon=False, prop={"family": "monospace"})
    _name_components(axes, projection.explained)
    return axes


@_in_style
def automaton(wfa: WFA, ax: Axes | None = None, *, smallest: float = 0.0) -> Axes:
    """Draw a linear model as a graph: states from left to right by their distance from α₀, an arrow
    for each pair of states.

    An arrow's label has its symbols and weights; below a state are its weights in α₀ and α∞. An
    arrow is orange if one of its weights is negative. The graph is that of the States page, and
    depends on the basis in which the model is written.

    >>> from nlwfa_core import Alphabet
    >>> coin = WFA([1, 0], [[[0.5, 0.25], [0, 0.5]]], [0.25, 0.5], Alphabet(("a",)))
    >>> [text.get_text() for text in automaton(coin).texts if text.get_text().startswith("a")]
    ['a 0.5', 'a 0.25', 'a 0.5']

    Parameters
    ----------
    wfa : WFA
    ax : Axes, optional
        New ones are as wide as the graph needs at the size of the text.
    smallest : float
        Transitions with a smaller |weight| are not drawn.
    """
    check_type("wfa", wfa, WFA)
    check_type("smallest", smallest, float)
    check_at_least("smallest", smallest, 0)
    alphabet = alphabet_of(wfa) or Alphabet.numbered(wfa.num_symbols)
    large = np.where(np.abs(wfa.transitions) >= smallest, wfa.transitions, 0.0)
    first = without_rounding(wfa.initial)
    last = without_rounding(wfa.termination)
    graph = automaton_graph(
        replace(wfa, initial=first, transitions=large, termination=last), alphabet, ""
    )
    width, height = graph.view["size"]
    axes = _axes(ax, width / PIXELS, height / PIXELS)
    from matplotlib.patches import Circle, PathPatch, Polygon
    from matplotlib.path import Path as Outline

    figure = axes.get_figure(root=True)
    inches = axes.get_position().width * (
        figure.get_size_inches()[0] if figure is not None else WIDTH
    )
    font = FONT * min(1.0, PIXELS * inches / width)
    codes = [Outline.MOVETO, *[Outline.CURVE4] * 3]
    for arrow in graph.view["arrows"]:
        source, target = arrow["ends"]
        colour = MARK if (large[:, source, target] < 0).any() else GREY
        axes.add_patch(
            PathPatch(Outline(arrow["curve"], codes), facecolor="none", edgecolor=colour)
        )
        axes.add_patch(Polygon(arrow["head"], facecolor=colour, linewidth=0))
        if arrow["hasRoom"]:
            label = "\n".join(f"{_literal(symbol)} {weight}" for symbol, weight in arrow["lines"])
            x, y = arrow["at"]
            axes.text(x, y, label, ha="center", va="center", size=font, family="monospace")
    for node in graph.view["nodes"]:
        axes.add_patch(
            Circle(
                (node["x"], node["y"]), RADIUS, facecolor="white", edgecolor=ACCENT, linewidth=1.2
            )
        )
        axes.text(node["x"], node["y"], node["label"], ha="center", va="center", size=font)
        for row, line in enumerate(node["caption"]):
            at = node["y"] + RADIUS + (row + 0.7) * LINE
            name, value = line.split(" ")
            axes.text(
                node["x"],
                at,
                f"{MATHS[name]} {value}",
                ha="center",
                va="center",
                size=0.85 * font,
                color="#555555",
            )
    axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal")
    axes.axis("off")
    return axes


@_in_style
def weights(
    models: Mapping[str, Iterable[float]],
    labels: Sequence[str],
    ax: Axes | None = None,
    *,
    truth: Iterable[float] | None = None,
    truth_label: str = "truth",
) -> Axes:
    """Draw the weights that models give to some strings, such as deeper and deeper ones, on a
    logarithmic axis: a line for each model, and a wide grey one for the truth.

    A weight of 0 is drawn as × at the small end of the axis, and a negative weight as an empty
    circle at its absolute value. Long labels stand one below the other, to the left of the weights,
    and are shortened in the middle; short ones stand below the weights.

    >>> ax = weights({"SP": [0.4, 0.0], "both.non": [0.4, 0.2]}, ["[]", "[[]]"], truth=[0.4, 0.16])
    >>> [line.get_label() for line in ax.lines if line.get_label()[0] != "_"]
    ['truth', 'SP', 'both.non']

    Parameters
    ----------
    models : mapping
        Name of a model -> the weight of each string. Models have their own colours and markers.
    labels : sequence of str
        The label of each string.
    ax : Axes, optional
    truth : iterable of float, optional
        The true weights, or others to compare with.
    truth_label : str

    Raises
    ------
    RecipeError
        If there are not as many weights as labels.
    """
    check_type("models", models, Mapping)
    named = {} if truth is None else {truth_label: np.array([*truth], dtype=np.float64)}
    named |= {name: np.array([*values], dtype=np.float64) for name, values in models.items()}
    for name, values in named.items():
        if len(values) != len(labels):
            raise RecipeError(
                f"there must be as many weights as labels ({len(labels)}); "
                f"got {len(values)} for {name}"
            )
    long = max(map(len, labels), default=0) > MAX_LETTERS // 4  # then strings are on the y axis
    axes = _axes(ax, height=max(HEIGHT, LINE_INCHES * len(labels)) if long else HEIGHT)
    (axes.set_xscale if long else axes.set_yscale)("log")
    edge = axes.get_yaxis_transform() if long else axes.get_xaxis_transform()

    def draw(places: FloatArray, values: FloatArray, *style: str, **options: Any) -> None:
        axes.plot(*((values, places) if long else (places, values)), *style, **options)

    places = np.arange(1, len(labels) + 1, dtype=np.float64)
    colours = _line_colours(list(models))
    zeros = [name for name in models if (named[name] == 0).any()]  # each has its own row
    for name, values in named.items():
        above = np.where(values > 0, values, np.nan)
        if name not in models:
            draw(places, above, color=GREY, alpha=0.4, linewidth=6, label=name)
            continue
        kind = kind_of(name)
        marks: dict[str, Any] = {"color": colours[name], "linestyle": "none", "label": "_"}
        draw(
            places,
            above,
            LINES[DASHES.get(kind, "solid")],
            color=colours[name],
            label=name,
            marker=SHAPES.get(MARKERS.get(kind, ""), ""),
        )
        below = values < 0
        draw(places[below], -values[below], marker="o", markerfacecolor="none", **marks)
        if name in zeros:
            height = np.full((values == 0).sum(), ROW * (zeros.index(name) + 0.5))
            draw(places[values == 0], height, marker="x", transform=edge, clip_on=False, **marks)
    if zeros:
        low, high = np.log(axes.get_xlim() if long else axes.get_ylim())
        limits = (np.exp(low - ROW * len(zeros) * (high - low)), np.exp(high))
        (axes.set_xlim if long else axes.set_ylim)(limits)
    if long:
        axes.set_yticks(places, [_literal(shortened(label)) for label in labels])
        axes.yaxis.minorticks_off()
        axes.yaxis.set_inverted(True)
        axes.set_xlabel("weight")
    else:
        axes.set_xticks(places, list(map(_literal, labels)))
        axes.xaxis.minorticks_off()
        axes.set_ylabel("weight")
    axes.legend(frameon=False)
    return axes


@_in_style
def curves(
    scores: Scores,
    ax: Axes | None = None,
    *,
    x_label: str = "rank",
    y_label: str = "score",
    log_x: bool = False,
    log_y: bool = False,
    confidence: float = CONFIDENCE,
) -> Axes:
    """Draw scores against a number, such as the rank: a line for each model through its means, and
    bands for their intervals. If every x is a whole number, so is every tick.

    A band is Student's t interval of the mean over seeds (`Spread.interval`), or an interval that
    you give. There is none where a score has a single value. Where a seed's score is ∞, "∞" stands
    at the upper edge, and the mean is that of the other seeds.

    >>> ax = curves(
    ...     {"SP": {1: [0.5, 0.6], 2: [0.3, 0.4]}, "5-gram": {1: 0.45, 2: 0.45}},
    ...     y_label="WER",
    ... )
    >>> [line.get_label() for line in ax.lines], ax.lines[0].get_ydata().round(9).tolist()
    (['SP', '5-gram'], [0.55, 0.35])

    Parameters
    ----------
    scores : mapping
        Name of a line -> x -> a number, the numbers of all seeds, their `Spread`, or an `Interval`.
        Models have their own colours and markers.
    ax : Axes, optional
    x_label, y_label : str
    log_x, log_y : bool
        Whether the axes are logarithmic.
    confidence : float
        The confidence of the intervals over seeds.

    Raises
    ------
    RecipeError
        If a list of numbers is empty, or the confidence is not between 0 and 1.
    """
    check_type("scores", scores, Mapping)
    axes = _axes(ax)
    _draw_curves([scores], [axes], log_x, log_y, confidence)
    axes.set(xlabel=x_label, ylabel=y_label)
    if scores:
        axes.legend(frameon=False)
    return axes


@_in_style
def panels(
    scores: Mapping[str, Scores],
    axes: Sequence[Axes] | None = None,
    *,
    x_label: str = "rank",
    y_label: str = "score",
    log_x: bool = False,
    log_y: bool = False,
    confidence: float = CONFIDENCE,
) -> list[Axes]:
    """Draw curves in panels side by side, with the same y-axis and one legend above them.

    Each panel is as in `curves`. Bands that are far wider than the differences between the means
    are cut at the edge. On a logarithmic y-axis, values at or below 0 are left out.

    >>> first, second = panels({"few": {"SP": {1: 0.5, 2: 0.3}}, "many": {"SP": {1: 0.4}}})
    >>> first.get_title(), second.get_title(), first.get_ylim() == second.get_ylim()
    ('few', 'many', True)

    Parameters
    ----------
    scores : mapping
        Title of a panel -> scores as in `curves`.
    axes : sequence of Axes, optional
        As many as there are panels.
    x_label, y_label, log_x, log_y, confidence
        As in `curves`.

    Raises
    ------
    RecipeError
        As in `curves`; or if there is no panel, or there are not as many Axes as panels.
    """
    check_type("scores", scores, Mapping)
    if not scores:
        raise RecipeError("scores must hold at least one panel; got none")
    if axes is None:
        import matplotlib.pyplot as plt

        size = len(scores) * WIDTH / 2, HEIGHT
        _, grid = plt.subplots(
            1, len(scores), sharey=True, squeeze=False, figsize=size, layout="constrained"
        )
        axes = grid[0].tolist()
    every = [_axes(ax) for ax in axes]
    if len(every) != len(scores):
        raise RecipeError(
            f"there must be as many Axes as panels; got {len(every)} Axes for {len(scores)} panels"
        )
    _draw_curves(list(scores.values()), every, log_x, log_y, confidence, cut=True)
    for ax, title in zip(every, scores, strict=True):
        ax.set(xlabel=x_label, title=title)
    every[0].set_ylabel(y_label)
    lines = {str(line.get_label()): line for ax in every for line in ax.lines}
    figure = every[0].get_figure(root=True)
    if lines and figure is not None:
        # the width of a name's entry is about that of its letters and 0.6 inches more
        entry = 0.6 + 0.06 * max(map(len, lines))
        columns = max(1, min(len(lines), int(figure.get_size_inches()[0] / entry)))
        figure.legend(
            list(lines.values()),
            list(lines),
            loc="outside upper center",
            ncols=columns,
            frameon=False,
        )
    return every


def _axes(ax: Axes | None, width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """Return the Axes that a caller gave, or new ones."""
    if ax is None:
        return new_axes(width, height)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be Matplotlib Axes, as plt.subplots() returns; got {type(ax).__name__}"
        )
    return ax


class _Point(NamedTuple):
    """A point of a line. Infinite scores are left out of its interval."""

    x: float
    interval: Interval
    is_infinite: bool  # whether any of its scores is


Lines: TypeAlias = Mapping[str, Sequence[_Point]]  # of a panel, by name


def _draw_curves(
    panels: Sequence[Scores],
    axes: Sequence[Axes],
    log_x: bool,
    log_y: bool,
    confidence: float,
    cut: bool = False,
) -> None:
    """Draw the lines, bands and ∞ of each panel on its Axes. `cut`: use the same y limits on all
    panels, even if they cut off wide bands.
    """
    panel_lines = [
        {
            name: [_point(name, x, value, confidence) for x, value in sorted(points.items())]
            for name, points in scores.items()
        }
        for scores in panels
    ]
    names = list(dict.fromkeys(chain.from_iterable(panels)))
    colours = _line_colours(names)
    # each has its own row at the upper edge
    infinite = [name for name in names if _has_infinite(name, panel_lines)]
    visible = _visible_intervals(panel_lines, log_y)
    limits = _limits(visible, log_y) if visible else None
    floor = (1.0 if limits is None else limits[0]) if log_y else None
    for ax, lines in zip(axes, panel_lines, strict=True):
        if log_x:
            ax.set_xscale("log")
        if log_y:
            ax.set_yscale("log")
        for name, line in lines.items():
            _draw_line(ax, name, colours[name], line, floor)
        _set_ticks(ax, sorted({point.x for line in lines.values() for point in line}), log_x)
    for ax, lines in zip(axes, panel_lines, strict=True):
        if cut and limits is not None:
            ax.set_ylim(*limits)
        if infinite:
            _make_room(ax, ROW * len(infinite))
        for name, line in lines.items():
            for point in line:
                if not point.is_infinite:
                    continue
                ax.text(
                    point.x,
                    1 - ROW * (infinite.index(name) + 0.5),
                    "∞",
                    color=colours[name],
                    ha="center",
                    va="center",
                    transform=ax.get_xaxis_transform(),
                )


def _line_colours(names: Sequence[str]) -> dict[str, str]:
    """Choose a colour for each line. Lines of unknown kinds get those that no other line has."""
    spare = iter([colour for name, colour in COLOURS.items() if name not in names])
    return {
        name: colour_of(name) if kind_of(name) in COLOURS else next(spare, GREY) for name in names
    }


def _has_infinite(name: str, panel_lines: Sequence[Lines]) -> bool:
    """Return whether a line has an infinite score on any panel."""
    return any(point.is_infinite for lines in panel_lines for point in lines.get(name, ()))


def _visible_intervals(panel_lines: Sequence[Lines], log_y: bool) -> list[Interval]:
    """List the intervals whose mean can be drawn."""
    intervals = [
        point.interval for lines in panel_lines for line in lines.values() for point in line
    ]
    return [
        interval
        for interval in intervals
        if np.isfinite(interval.estimate) and (interval.estimate > 0 or not log_y)
    ]


def _draw_line(
    ax: Axes, name: str, colour: str, points: Sequence[_Point], floor: float | None
) -> None:
    """Draw a line through the means, with its markers and its band. On a logarithmic axis, means at
    or below 0 are left out, and a band whose end is there goes down to `floor`.
    """
    kind = kind_of(name)
    # (num_points, 4): x, and the middle and the ends of the interval
    values = np.array([(x, band.estimate, band.low, band.high) for x, band, _ in points])
    xs, middles, lows, highs = values.reshape(-1, 4).T
    if floor is not None:
        middles = np.where(middles > 0, middles, np.nan)
        lows = np.where(lows > 0, lows, floor)
        highs = np.where(highs > 0, highs, floor)
    ax.plot(
        xs,
        middles,
        LINES[DASHES.get(kind, "solid")],
        color=colour,
        label=name,
        marker=SHAPES.get(MARKERS.get(kind, ""), ""),
    )
    # the x of an infinite score is also visible
    ax.update_datalim([(x, 0.0) for x in xs if x > 0 or ax.get_xscale() == "linear"], updatey=False)
    ax.autoscale_view()
    finite = np.isfinite(middles) & np.isfinite(lows) & np.isfinite(highs)
    if (finite & (lows < highs)).any():
        ax.fill_between(
            xs, lows, highs, where=finite.tolist(), color=colour, alpha=0.15, linewidth=0
        )


def _set_ticks(ax: Axes, xs: Sequence[float], log: bool) -> None:
    """Put ticks at whole numbers if every x is one, and on a logarithmic axis at each x, unless
    there are many; those too near to the tick before have no number.
    """
    from matplotlib.ticker import MaxNLocator

    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator) and all(x.is_integer() for x in xs):
        locator.set_params(integer=True)
    if not log or not 0 < len(xs) <= MAX_TICKS:
        return
    figure = ax.get_figure(root=True)
    width = ax.get_position().width * (WIDTH if figure is None else figure.get_size_inches()[0])
    labels = [f"{xs[0]:g}"]
    last = xs[0]
    for x in xs[1:]:
        label = f"{x:g}"
        gap = width * np.log(x / last) / np.log(xs[-1] / xs[0]) if last > 0 else width
        labels.append(label if gap > DIGIT * (len(label) + 1) else "")
        last = x if labels[-1] else last
    ax.set_xticks(xs, labels)
    ax.xaxis.minorticks_off()


def _limits(bands: Sequence[Interval], log: bool) -> tuple[float, float]:
    """Find the limits of a y-axis that shows all means, and the bands as far as they take at most
    as much room again as the means. On a logarithmic axis it need not show the bands.

    The interval of two or three seeds may be far wider than the differences between models.

    >>> _limits([Interval(1, 1, 1), Interval(2, -10, 14)], False)
    (0.4, 2.6)
    """
    means = [band.estimate for band in bands]
    low = min(means)
    high = max(means)
    if log:
        margin = (high / low) ** 0.05 if low < high else 2.0
        return low / margin, high * margin
    room = (high - low) / 2
    least = min(band.low for band in bands)
    most = max(band.high for band in bands)
    if room:
        least = max(least, low - room)
        most = min(most, high + room)
    margin = 0.05 * (most - least) or 0.05 * abs(most) or 1.0
    return least - margin, most + margin


def _make_room(ax: Axes, share: float) -> None:
    """Raise the upper limit of the y-axis: a share of the Axes is then above what was visible."""
    scale = ax.yaxis.get_transform()
    low, high = scale.transform(ax.get_ylim())
    _, top = scale.inverted().transform((low, low + (high - low) / (1 - share)))
    ax.set_ylim(top=top)


def _point(
    name: str, x: float, value: float | Iterable[float] | Interval | Spread, confidence: float
) -> _Point:
    """Make one point of a line."""
    if isinstance(value, Interval):
        infinite = not np.isfinite(value.estimate)
        unknown = float("nan")
        interval = (
            Interval(unknown, unknown, unknown)
            if infinite
            else Interval(value.estimate, value.low, value.high)
        )
        return _Point(float(x), interval, infinite)
    spread = (
        value
        if isinstance(value, Spread)
        else Spread.of(value if isinstance(value, Iterable) else [value])
    )
    if not spread.count:
        raise RecipeError(f"each point needs at least one score; got none for {name!r} at {x:g}")
    mean = float("nan") if spread.mean is None else spread.mean
    interval = spread.interval(confidence) or Interval(mean, mean, mean)
    return _Point(float(x), interval, spread.num_infinite > 0)


def _entries(matrix: HankelMatrix | FloatArray) -> sparse.csr_array:
    """Return a matrix's entries, shape (num_prefixes, num_suffixes)."""
    if isinstance(matrix, HankelMatrix):
        entries = matrix.block
    else:
        try:
            values = np.asarray(matrix, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"matrix must be a HankelMatrix or an array of numbers; got {type(matrix).__name__}"
            ) from None
        if values.ndim != 2 or not values.size:
            raise RecipeError(
                f"matrix must have two dimensions and at least one entry; got shape {values.shape}"
            )
        entries = sparse.csr_array(values)
    if not np.isfinite(entries.data).all():
        raise RecipeError(
            "all entries of a matrix must be finite to be drawn; got nan or an infinite entry"
        )
    return entries


def _prefixes(
    model: LearnedModel, strings: HankelMatrix | WordsLike
) -> tuple[Words, Alphabet | None]:
    """Return strings in a model's alphabet, and this alphabet.

    For a Hankel matrix, those without boundary symbols.
    """
    alphabet = alphabet_of(model)
    if not isinstance(strings, HankelMatrix):
        return as_words(strings, alphabet), alphabet
    number = model.num_symbols
    rows = [word for word in strings.basis.prefixes if not any(symbol >= number for symbol in word)]
    return Words.of(rows), alphabet or strings.alphabet


def _names(words: Words, alphabet: Alphabet | None, longest: int | None = None) -> list[str]:
    """Name strings; a name of more than `longest` letters ends in "…"."""
    names = [
        " ".join(map(str, word)) or LAMBDA if alphabet is None else printable(alphabet.decode(word))
        for word in words
    ]
    return [
        _literal(name if longest is None or len(name) <= longest else f"{name[: longest - 1]}…")
        for name in names
    ]


def _name_components(axes: Axes, explained: FloatArray) -> None:
    first, second = (
        f"component {number} ({share:.0%} of variance)"
        for number, share in enumerate(explained.tolist(), 1)
    )
    axes.set(xlabel=first, ylabel=second)


def _literal(text: str) -> str:
    """Escape text of other people: Matplotlib reads $…$ as mathematics, and no control character
    may be in an SVG file.
    """
    return printable(text).replace("$", r"\$")
