"""Draw figures for papers with Matplotlib: each function takes Axes, or makes new ones, draws on
them and returns them.

New Axes are as wide as a column of a two-column page (`WIDTH`), in the small type of captions
(`STYLE`). `save` writes a figure at a size in inches: as PDF with TrueType fonts (type 42), which
publishers ask for, as SVG, PGF or PNG. Any other setting is that of Matplotlib.

The functions draw what the lab's pages draw, with the same colours: a Hankel matrix, its singular
values, the states of prefixes, the ways of strings through the states, an automaton's graph, and
scores with their intervals over seeds. Needs the extra [plot].
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from scipy import sparse

from ..display.layout import LINE, RADIUS
from ..display.palette import (
    ACCENT,
    BLUES,
    COLOURS,
    DASHES,
    GREY,
    MARK,
    MARKERS,
    class_colours,
    colour_of,
    kind_of,
)
from ..display.projection import colouring, prefix_states, project
from ..display.walk import automaton_graph
from ..errors import RecipeError, check_at_least, check_extra, check_one_of, check_type
from ..hankel.matrix import HankelMatrix
from ..learning.spectral import truncated_svd, weighted_block
from ..metrics.intervals import CONFIDENCE, Interval
from ..metrics.seeds import Spread
from ..models.model import alphabet_of
from ..models.model_files import LearnedModel
from ..models.wfa import WFA
from ..rounding import RELATIVE_ERROR
from ..strings.plain import WordsLike, as_words
from ..strings.words import LAMBDA, Alphabet, FloatArray, Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
R = TypeVar("R")
WIDTH, HEIGHT = 3.4, 2.5  # inches
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
SHAPES = {
    "circle": "o", "square": "s", "diamond": "D", "triangle-up": "^", "x": "x", "pentagon": "p", "star": "*", "cross": "P",  # noqa: E501
}  # fmt: skip
MATHS = {"α₀": r"$\alpha_0$", "α∞": r"$\alpha_\infty$"}
LINES = {"solid": "-", "dash": "--", "dot": ":"}


@contextmanager
def style() -> Iterator[None]:
    """Use the settings of `STYLE` for all figures that are made within a `with` statement.

    >>> import matplotlib as mpl
    >>> with style():
    ...     mpl.rcParams["font.size"]
    8.0
    """
    check_extra("plot", "matplotlib")
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


def _in_style(function: Callable[P, R]) -> Callable[P, R]:
    """Draw in `STYLE` on new Axes; on a caller's own Axes, in the caller's settings (a
    decorator).
    """
    signature = inspect.signature(function)

    @wraps(function)
    def draw(*arguments: P.args, **options: P.kwargs) -> R:
        if signature.bind(*arguments, **options).arguments.get("ax") is not None:
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
    for name, size in (("width", width), ("height", height)):
        check_type(name, size, float)
        check_at_least(name, size, 0.1)
    with style():
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


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
    target, figure = Path(path), ax.get_figure(root=True)
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
    date = {".pdf": "CreationDate", ".svg": "Date"}.get(target.suffix)
    with style():
        figure.savefig(target, dpi=300, metadata={date: None} if date else None)
    return target


@_in_style
def hankel(matrix: HankelMatrix | FloatArray, ax: Axes | None = None, *, log: bool = True) -> Axes:
    """Draw a Hankel matrix as an image: rows are prefixes, columns are suffixes.

    Positive entries are blue and 0 is white; if some are negative, those are red. Up to `MAX_NAMES`
    rows or columns have names.

    >>> from nlwfa_core import estimate_hankel, select_basis
    >>> strings = ["ab", "ab", "b", "abb"]
    >>> ax = hankel(estimate_hankel(strings, select_basis(strings, 4, 4)))
    >>> ax.get_ylabel(), ax.images[0].get_array().shape
    ('prefix', (4, 4))

    Parameters
    ----------
    matrix : HankelMatrix, or array of shape (num_prefixes, num_suffixes)
        Of a HankelMatrix, the block H_λ.
    ax : Axes, optional
    log : bool
        Whether colours are on a logarithmic scale.

    Raises
    ------
    RecipeError
        If the array does not have two dimensions, or has an entry that is not finite.
    """
    values = _entries(matrix)
    axes = _axes(ax)
    from matplotlib import colors
    from matplotlib.ticker import MaxNLocator

    sizes, negative = np.abs(values[values != 0]), bool((values < 0).any())
    largest = float(sizes.max(initial=0.0)) or 1.0
    least = float(sizes.min(initial=largest))
    blues = colors.LinearSegmentedColormap.from_list(
        "blues", BLUES if log else ("#ffffff", *BLUES)
    ).with_extremes(bad="#ffffff")
    norm: colors.Normalize
    if negative:
        norm = (
            colors.SymLogNorm(max(least, largest / 1e4), vmin=-largest, vmax=largest)
            if log
            else colors.Normalize(-largest, largest)
        )
        image = axes.imshow(values, cmap="RdBu", norm=norm, aspect="auto", interpolation="nearest")
    else:
        norm = (
            colors.LogNorm(least if least < largest else largest / 10, largest)
            if log
            else colors.Normalize(0.0, largest)
        )
        shown = np.ma.masked_equal(values, 0.0) if log else values
        image = axes.imshow(shown, cmap=blues, norm=norm, aspect="auto", interpolation="nearest")
    axes.set(xlabel="suffix", ylabel="prefix")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if isinstance(matrix, HankelMatrix):
        basis = matrix.basis
        if len(basis.suffixes) <= MAX_NAMES:
            axes.set_xticks(
                range(len(basis.suffixes)),
                _names(basis.suffixes, basis.alphabet),
                rotation=90,
                family="monospace",
            )
        if len(basis.prefixes) <= MAX_NAMES:
            axes.set_yticks(
                range(len(basis.prefixes)),
                _names(basis.prefixes, basis.alphabet),
                family="monospace",
            )
    if (figure := axes.get_figure()) is not None:
        figure.colorbar(image, ax=axes)
    return axes


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
        How many values to draw at most. Values that are 0 up to rounding are left out.

    Raises
    ------
    RecipeError
        As in `hankel`; or if the rank or the number is below 1.
    """
    for name, value in (("number", number), ("rank", 1 if rank is None else rank)):
        check_type(name, value, int)
        check_at_least(name, value, 1)
    block = (
        weighted_block(matrix)
        if isinstance(matrix, HankelMatrix)
        else sparse.csr_array(_entries(matrix))
    )
    svd = truncated_svd(block, min(number, *block.shape))
    values = svd.singular_values[: svd.numerical_rank]
    axes = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    numbers, kept = (
        np.arange(1, len(values) + 1),
        len(values) if rank is None else min(rank, len(values)),
    )
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
    axes.set(xlabel="number", ylabel="singular value")
    if rank is not None:
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
        Of a HankelMatrix, its prefixes.
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
            axes.scatter(chosen[:, 0], chosen[:, 1], s=9, color=own, label=name, linewidths=0)
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
        if (figure := axes.get_figure()) is not None:
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
    """Draw the way of each string through the states: a line from the state of λ, over one point
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
        Drawn in grey behind the lines. Their states, and not the strings' own, then decide the
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
    arrow is orange if a weight of it is negative. The graph is that of the States page, and depends
    on the basis in which the model is written.

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
    first, last = _without_rounding(wfa.initial), _without_rounding(wfa.termination)
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
        if arrow["free"]:
            label = "\n".join(f"{symbol} {weight}" for symbol, weight in arrow["lines"])
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
def curves(
    scores: Mapping[str, Mapping[float, float | Iterable[float] | Interval | Spread]],
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
        Of the intervals over seeds.

    Raises
    ------
    RecipeError
        If a list of numbers is empty, or the confidence is not between 0 and 1.
    """
    from matplotlib.ticker import MaxNLocator

    check_type("scores", scores, Mapping)
    axes = _axes(ax)
    spare = iter([colour for name, colour in COLOURS.items() if name not in scores])
    for name, points in scores.items():
        kind = kind_of(name)
        colour = colour_of(name) if kind in COLOURS else next(spare, GREY)
        ordered = sorted(points.items())
        bands = [_band(name, x, value, confidence) for x, value in ordered]
        xs = np.array([x for x, _ in ordered], dtype=float)
        middles = np.array([band.estimate for band, _ in bands])
        axes.plot(
            xs,
            middles,
            LINES[DASHES.get(kind, "solid")],
            color=colour,
            label=name,
            marker=SHAPES.get(MARKERS.get(kind, ""), ""),
        )
        lows, highs = (
            np.array([getattr(band, end) for band, _ in bands]) for end in ("low", "high")
        )
        wide = np.isfinite(lows) & np.isfinite(highs)
        if (wide & (lows < highs)).any():
            axes.fill_between(
                xs, lows, highs, where=wide.tolist(), color=colour, alpha=0.15, linewidth=0
            )
        for x, (_, infinite) in zip(xs.tolist(), bands, strict=True):
            if infinite:
                axes.text(
                    x,
                    0.99,
                    "∞",
                    color=colour,
                    ha="center",
                    va="top",
                    transform=axes.get_xaxis_transform(),
                )
    axes.set(xlabel=x_label, ylabel=y_label)
    ticks = sorted({x for points in scores.values() for x in points})
    locator = axes.xaxis.get_major_locator()
    if isinstance(locator, MaxNLocator) and all(float(x).is_integer() for x in ticks):
        locator.set_params(integer=True)
    if log_x:
        axes.set_xscale("log")
        if len(ticks) <= MAX_TICKS:
            axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
            axes.xaxis.minorticks_off()
    if log_y:
        axes.set_yscale("log")
    if scores:
        axes.legend(frameon=False)
    return axes


def _axes(ax: Axes | None, width: float = WIDTH, height: float = HEIGHT) -> Axes:
    """Return the Axes that a caller gave, or new ones."""
    if ax is None:
        return new_axes(width, height)
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be Axes of Matplotlib, as plt.subplots() makes them; got {type(ax).__name__}"
        )
    return ax


def _band(
    name: str, x: float, value: float | Iterable[float] | Interval | Spread, confidence: float
) -> tuple[Interval, bool]:
    """Make one point of a line: its interval, and whether it has infinite scores, which the line
    leaves out.
    """
    if isinstance(value, Interval):
        infinite = not np.isfinite(value.estimate)
        return Interval(
            *(float("nan") if infinite else end for end in (value.estimate, value.low, value.high))
        ), infinite
    spread = (
        value
        if isinstance(value, Spread)
        else Spread.of(value if isinstance(value, Iterable) else [value])
    )
    if not spread.count:
        raise RecipeError(f"each point needs at least one score; got none for {name!r} at {x:g}")
    mean = float("nan") if spread.mean is None else spread.mean
    return spread.interval(confidence) or Interval(mean, mean, mean), spread.num_infinite > 0


def _entries(matrix: HankelMatrix | FloatArray) -> FloatArray:
    """Return a matrix's entries as an array, shape (num_prefixes, num_suffixes)."""
    try:
        values: FloatArray = np.asarray(
            matrix.block.toarray() if isinstance(matrix, HankelMatrix) else matrix, dtype=float
        )
    except (TypeError, ValueError):
        raise TypeError(
            f"matrix must be a HankelMatrix or an array of numbers; got {type(matrix).__name__}"
        ) from None
    if values.ndim != 2 or not values.size:
        raise RecipeError(
            f"matrix must have two dimensions and at least one entry; got shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise RecipeError(
            "all entries of a matrix must be finite to be drawn; got nan or an infinite one"
        )
    return values


def _without_rounding(weights: FloatArray) -> FloatArray:
    """Set to 0 what is only a rounding error of a model's initial or final weights."""
    sizes = np.abs(weights)
    return np.where(sizes > RELATIVE_ERROR * sizes.max(initial=0.0), weights, 0.0)


def _prefixes(
    model: LearnedModel, strings: HankelMatrix | WordsLike
) -> tuple[Words, Alphabet | None]:
    """Return strings in a model's alphabet, and this alphabet.

    Of a Hankel matrix, those without boundary symbols.
    """
    alphabet = alphabet_of(model)
    if not isinstance(strings, HankelMatrix):
        return as_words(strings, alphabet), alphabet
    number = model.num_symbols
    rows = [word for word in strings.basis.prefixes if not any(symbol >= number for symbol in word)]
    return Words.of(rows), alphabet or strings.alphabet


def _names(words: Words, alphabet: Alphabet | None) -> Sequence[str]:
    if alphabet is not None:
        return [alphabet.decode(word) for word in words]
    return [" ".join(map(str, word)) or LAMBDA for word in words]


def _name_components(axes: Axes, explained: FloatArray) -> None:
    first, second = (
        f"component {number} ({share:.0%} of variance)"
        for number, share in enumerate(explained.tolist(), 1)
    )
    axes.set(xlabel=first, ylabel=second)
