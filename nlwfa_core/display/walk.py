"""Prepare the picture of a string that walks through an automaton: its graph, the state after each
symbol, the weights of deeper and deeper strings.

A linear model is drawn with its k states as they are, one drawing for each rank. A nonlinear model
has no graph of its own, so the states of frequent prefixes are divided into groups by k-means
(Lloyd 1982, from `scipy.cluster.vq`), and the groups are drawn. An arrow for a symbol leads to the
groups of the prefixes that are one symbol longer. The initial state, before any symbol, is in no
group: it has a circle of its own at the left, so a walk begins where the drawing does.

Everything is a payload for assets/walk/walk.js, which only draws. Weights and states come from the
models, which set rounding errors to 0 (see `rounding`); transitions below the same limit are not
drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice, product
from typing import Any

import numpy as np
from scipy.cluster.vq import kmeans2

from ..errors import RecipeError, check_at_least
from ..experiment.datasets import Data
from ..hankel.matrix import HankelMatrix
from ..learning.fitting import fit
from ..learning.spectral import truncated_svd
from ..learning.two_steps import FitCache, svd_size
from ..models.geometry import directions
from ..models.model_files import LearnedModel
from ..models.nlwfa import NLWFA
from ..models.recurrent import RecurrentModel
from ..models.wfa import WFA
from ..rounding import RELATIVE_ERROR
from ..sources import dyck
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import LAMBDA, Alphabet, FloatArray, IntArray, Word, Words
from .layout import RADIUS, Layout, Point, distances, layered, placed
from .palette import ACCENT, BLUES, MARK
from .projection import prefix_states
from .string_labels import prefixes_of, word_labels, word_to_follow

MAX_RANK = 10  # of the drawings: with more states, lines hide each other
MAX_PREFIXES = 150  # whose states are grouped
MAX_SYMBOLS = 40  # of the string that walks
LADDER = 8  # strings whose weights are compared, each deeper or longer than the one before
MAX_LINES = 3  # of an arrow's label
MAX_NAME = 12  # characters of a symbol in a label
MAX_KEYS = 8  # symbols with a key of their own
MAX_EXAMPLES = 8  # prefixes that a group names
# the share of a group's prefixes that go to another group: rarer transitions are not drawn
SMALLEST_SHARE = 0.1
_NUMBERS = ("nothing", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


# The string, and strings that go deeper


TWO_NESTED: Word = (dyck.OPEN, dyck.OPEN, dyck.CLOSE, dyck.CLOSE)


def is_bracketed(alphabet: Alphabet) -> bool:
    """Return whether strings are made of [ and ], so states can be compared with the number of
    open brackets.
    """
    return alphabet.symbols == dyck.ALPHABET.symbols


def open_brackets(word: Word) -> int:
    """Count the brackets that are open after a word; at least 0.

    >>> open_brackets((0, 0, 1)), open_brackets((1, 1))
    (1, 0)
    """
    return max(0, sum(1 if symbol == dyck.OPEN else -1 for symbol in word))


def ladder_words(data: Data) -> Words:
    """Choose at most LADDER strings that require more and more states.

    These are [ᵈ]ᵈ with d = 1, 2, … if strings are made of brackets, and otherwise the most frequent
    training string of each of the smallest lengths.
    """
    if is_bracketed(data.alphabet):
        return nested_words()
    train = data.train
    order = np.lexsort((-train.counts, train.words.lengths))
    _, firsts = np.unique(train.words.lengths[order], return_index=True)
    return train.words.take(order[firsts[:LADDER]])


def nested_words() -> Words:
    """List [ᵈ]ᵈ for d = 1 … LADDER."""
    return Words.of((dyck.OPEN,) * depth + (dyck.CLOSE,) * depth for depth in range(1, LADDER + 1))


def shortest_words(num_symbols: int) -> Words:
    """List the first LADDER words by length and then in the order of the symbols."""
    return Words.of(
        islice(
            chain.from_iterable(product(range(num_symbols), repeat=length) for length in count()),
            LADDER,
        )
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """A reference for weights: its name, and its weights of some words, shape (num_words,)."""

    name: str
    weights: FloatArray


def ladder_truth(data: Data) -> Comparison:
    """Return what the weights of `ladder_words` are compared with: the true ones, or the shares of
    these strings among the test strings.
    """
    words = ladder_words(data)
    if data.true_model is not None:
        return Comparison("truth", data.true_model.weights(words))
    return Comparison("share of the test strings", _frequencies(data.test.sample, words))


def ladder_payload(data: Data) -> dict[str, Any]:
    """Make the payload of these strings: labels, and what the models' weights are compared with."""
    words = ladder_words(data)
    if data.true_model is not None:
        truth = Comparison("true model", data.true_model.weights(words))
    else:
        truth = Comparison("share of the training strings", _frequencies(data.train, words))
    return _ladder(data.alphabet, words, "f(x), the most frequent string of each length", truth)


def _ladder(
    alphabet: Alphabet, words: Words, title: str, truth: Comparison | None
) -> dict[str, Any]:
    names = word_labels(words, alphabet)
    nested = is_bracketed(alphabet)
    return {
        "title": "f([ᵈ]ᵈ), d brackets deep" if nested else title,
        "labels": [str(depth) for depth in range(1, len(words) + 1)] if nested else names,
        "names": names,
        "truth": _numbers(truth.weights) if truth else [],
        "truthName": truth.name if truth else "",
    }


def _frequencies(sample: Sample, words: Words) -> FloatArray:
    share = dict(zip(sample.words, sample.frequencies().tolist(), strict=True))
    return np.array([share.get(word, 0.0) for word in words])


def _numbers(values: FloatArray) -> list[float | None]:
    """Write numbers for JSON: seven significant digits; None if a number is not finite."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values.tolist()]


# Linear models: the k states as they are


@dataclass(frozen=True, eq=False)
class Graph:
    """A drawing of an automaton, with what is needed to draw a state into it."""

    view: dict[str, Any]  # the payload of the drawing
    layout: Layout
    model: LearnedModel
    # The groups that are the drawing's nodes, in their order, followed by the node of α₀; None if
    # the drawing's nodes are single states.
    groups: Groups | None = None


def automaton_graph(
    model: WFA, alphabet: Alphabet, title: str, names: Sequence[str] = (), digits: int = 2
) -> Graph:
    """Draw a WFA's states in columns by their distance from α₀.

    Transitions and initial weights up to RELATIVE_ERROR of the largest are rounding errors, and
    left out.

    `names`: the names of the states; by default 1, 2, … `digits`: significant digits of weights.
    """
    labels = _transitions(model)
    texts = {ends: _label(weights, alphabet, digits) for ends, weights in labels.items()}
    columns = _columns(model, labels)
    by_brackets = is_bracketed(alphabet) and _follows_brackets(model, columns)
    layout = layered(
        columns,
        {ends: [f"{symbol} {weight}" for symbol, weight in lines] for ends, lines in texts.items()},
        by_brackets,
    )
    by_brackets = by_brackets and bool(layout.columns)
    captions = [
        [
            f"{name} {_short(value, digits)}"
            for name, value in (("α₀", first), ("α∞", last))
            if value
        ]
        for first, last in zip(model.initial.tolist(), model.termination.tolist(), strict=True)
    ]
    names = names or [str(number) for number in range(1, model.num_states + 1)]
    nodes = [
        {"label": name, "caption": caption, "title": ", ".join(caption)}
        for name, caption in zip(names, captions, strict=True)
    ]
    heads = column_names(len(layout.columns), by_brackets)
    return Graph(
        _view(layout, nodes, labels, texts, heads, title) | {"byBrackets": by_brackets},
        layout,
        model,
    )


def automaton_places(model: WFA) -> tuple[Point, ...]:
    """Place the states of a WFA as `automaton_graph` does, before it makes room for labels."""
    pairs = _transitions(model)
    return placed(_columns(model, pairs), pairs).places


def _transitions(model: WFA) -> dict[tuple[int, int], list[tuple[int, float]]]:
    """Return (source, target) -> symbol and weight of each transition that is not rounding."""
    sizes = np.abs(model.transitions)
    weights: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for symbol, source, target in np.argwhere(
        sizes > RELATIVE_ERROR * sizes.max(initial=0.0)
    ).tolist():
        weights.setdefault((source, target), []).append(
            (symbol, float(model.transitions[symbol, source, target]))
        )
    return weights


def _columns(model: WFA, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return each state's distance from α₀; 0 if nothing leads to it."""
    sizes = np.abs(model.initial)
    starts = np.flatnonzero(sizes > RELATIVE_ERROR * sizes.max(initial=0.0)).tolist()
    return [distance or 0 for distance in distances(model.num_states, starts, pairs)]


def spectral_graphs(hankel: HankelMatrix, alphabet: Alphabet, most: int = MAX_RANK) -> list[Graph]:
    """Draw the automata of spectral learning with rank 1, 2, … up to `most` or the matrix's
    numerical rank.

    There are none if spectral learning makes no WFA of this matrix because its entries are
    transformed or bounded.
    """
    cache = FitCache()
    graphs = list[Graph]()
    if hankel.bounded or hankel.transform != "none":
        return graphs
    svd = truncated_svd(hankel.block, svd_size(hankel, min(most, *hankel.block.shape)))
    cache.svds[len(svd.singular_values)] = svd
    for rank in range(1, min(most, svd.numerical_rank) + 1):
        model = fit(hankel, learner="SP", rank=rank, cache=cache).model
        if isinstance(model, WFA):
            graphs.append(automaton_graph(model, alphabet, f"SP, k = {rank}"))
    return graphs


def column_names(number: int, by_brackets: bool) -> list[str]:
    """Name columns from the left.

    >>> column_names(3, by_brackets=True), column_names(3, by_brackets=False)
    (['nothing open', 'one open', 'two open'], ['start', '1 symbol on', '2 symbols on'])
    """
    if by_brackets:
        return [
            f"{_NUMBERS[column] if column < len(_NUMBERS) else column} open"
            for column in range(number)
        ]
    return [
        "start" if not column else f"{column} symbol{'s' * (column > 1)} on"
        for column in range(number)
    ]


def _follows_brackets(model: WFA, columns: Sequence[int]) -> bool:
    """Return whether the state after [ᵈ is 0 outside of column d, for all d."""
    deepest = max(columns) + 1
    states = prefix_states(model, Words.of((dyck.OPEN,) * depth for depth in range(deepest + 1)))
    outside = np.array([[column != depth for column in columns] for depth in range(deepest + 1)])
    return not (states * outside).any()


def _label(
    weights: Sequence[tuple[int, float]], alphabet: Alphabet, digits: int = 2
) -> list[tuple[str, str]]:
    """Write symbols and weights, the largest |weight| first; only the first of them if there are
    many.
    """
    lines = sorted(weights, key=lambda entry: -abs(entry[1]))
    texts = [(_named(alphabet, symbol), _short(weight, digits)) for symbol, weight in lines]
    return (
        texts
        if len(texts) <= MAX_LINES + 1
        else [*texts[:MAX_LINES], ("…", f"{len(texts) - MAX_LINES} more")]
    )


def _named(alphabet: Alphabet, symbol: int) -> str:
    name = alphabet.symbols[symbol]
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}g}".replace("-", "−")


def _view(
    layout: Layout,
    nodes: Sequence[Mapping[str, Any]],
    labels: Mapping[tuple[int, int], Sequence[tuple[int, float]]],
    texts: Mapping[tuple[int, int], Sequence[tuple[str, str]]],
    names: Sequence[str],
    title: str,
) -> dict[str, Any]:
    arrows = [
        {
            "ends": [arrow.source, arrow.target],
            "curve": arrow.curve,
            "head": arrow.head,
            "at": arrow.label,
            "hasRoom": arrow.has_room,
            "symbols": [symbol for symbol, _ in labels[arrow.source, arrow.target]],
            "lines": list(texts[arrow.source, arrow.target]),
        }
        for arrow in layout.arrows
    ]
    return {
        "title": title,
        "size": [layout.width, layout.height],
        "radius": RADIUS,
        "columns": [{"x": x, "name": name} for x, name in zip(layout.columns, names, strict=True)],
        "nodes": [
            {"x": round(x, 1), "y": round(y, 1), **node}
            for (x, y), node in zip(layout.places, nodes, strict=True)
        ],
        "arrows": arrows,
    }


# Nonlinear models: groups of states


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of states."""

    centres: FloatArray  # (num_groups, num_states)
    unit_length: bool  # whether states are divided by their length before they are compared

    def nearest(self, states: FloatArray) -> IntArray:
        """Return the group whose centre is nearest to each state, shape (n,)."""
        points = directions(states) if self.unit_length else states
        squares = ((points[:, None] - self.centres) ** 2).sum(axis=2)
        nearest: IntArray = squares.argmin(axis=1)
        return nearest


def group_states(
    states: FloatArray, number: int, unit_length: bool, seeds: Sequence[int] = ()
) -> Groups:
    """Divide states, shape (n, num_states), into at most `number` groups by k-means. Zero vectors
    belong to no group.

    The first centre is the first state, and each further one is the state farthest from all earlier
    ones, so the same states give the same groups. k-means may end far from the best grouping, so it
    starts a second time from the states in the rows `seeds`, if there are any, and the groups with
    the smaller sum of squared distances are kept. There are fewer groups if there are fewer
    different states.

    >>> groups = group_states(
    ...     np.array([[0.0, 1.0], [0.0, 1.1], [3.0, 0.0], [3.1, 0.0]]), 2, unit_length=False
    ... )
    >>> groups.centres.tolist(), groups.nearest(np.array([[0.2, 0.9]])).tolist()
    ([[0.0, 1.05], [3.05, 0.0]], [0])

    Raises RecipeError if the number is below 1, a state is not finite, or all are 0.
    """
    check_at_least("groups", number, 1)
    if not np.isfinite(states).all():
        raise RecipeError(
            "The model diverges: its states grow without bound, so there is nothing to draw."
        )
    has_direction = (states != 0).any(axis=1)
    points = (directions(states) if unit_length else states)[has_direction]
    if not len(points):
        raise RecipeError("All states are 0, so there are no groups of states to draw.")
    rows = np.cumsum(has_direction) - 1
    seed_rows = [int(rows[seed]) for seed in seeds if has_direction[seed]][:number]
    centres = [_k_means(points, first, number) for first in ([0], seed_rows) if first]
    return Groups(min(centres, key=lambda each: _spread(points, each)), unit_length)


def _k_means(points: FloatArray, first: Sequence[int], number: int) -> FloatArray:
    """Return the centres of at most `number` groups, starting from the points `first` and those
    that are farthest from them.
    """
    chosen = list[int]()
    gaps = np.full(len(points), np.inf)
    least = 1e-9 * np.abs(points).max()
    while len(chosen) < number and gaps.max() > least:
        index = first[0] if first else int(gaps.argmax())
        first = first[1:]
        if gaps[index] > least:
            chosen.append(index)
            gaps = np.minimum(gaps, np.linalg.norm(points - points[index], axis=1))
    centres = points[chosen]
    for _ in range(len(chosen)):  # until no group is empty
        moved, label = (
            kmeans2(points, centres, iter=100, minit="matrix", missing="warn")
            if len(centres) > 1
            else (
                points.mean(axis=0, keepdims=True),
                np.zeros(len(points), dtype=np.int64),
            )
        )
        sizes = np.bincount(label, minlength=len(moved))
        centres = moved[sizes > 0]
        if sizes.all():
            break
    return centres


def _spread(points: FloatArray, centres: FloatArray) -> float:
    """Sum the squared distances of points from their nearest centres."""
    squares = ((points[:, None] - centres) ** 2).sum(axis=2)
    return float(squares.min(axis=1).sum())


def grouped_graph(
    model: LearnedModel, prefixes: Words, data: Data, number: int, title: str
) -> Graph:
    """Draw groups of the states of prefixes, and the prefixes themselves as dots. λ has a node of
    its own, the last one, in the first column.

    Columns are numbers of open brackets if strings are made of brackets, and otherwise distances
    from λ. Only prefixes that occur in the training strings are followed by an arrow.

    `prefixes`: the most frequent prefixes, λ first. `number`: the largest number of groups.

    Raises RecipeError if a state is not finite, or if all of them are 0.
    """
    alphabet = data.alphabet
    states = prefix_states(model, prefixes)
    depths = (
        np.array([open_brackets(word) for word in prefixes]) if is_bracketed(alphabet) else None
    )
    # the most frequent prefix of each depth
    seeds = () if depths is None else np.unique(depths[1:], return_index=True)[1].tolist()
    groups = group_states(states[1:], number, _shrinks(model), seeds)
    start = num_groups = len(groups.centres)
    owner = np.where(states.any(axis=1), groups.nearest(states), -1)
    owner[0] = start
    flows = _flows(model, prefixes, data.train, groups, owner)
    if depths is not None:
        columns = [
            Counter(depths[owner == group].tolist()).most_common(1)[0][0]
            for group in range(num_groups)
        ]
    else:
        ways = distances(num_groups + 1, [start], {(i, j) for _, i, j in flows})
        columns = [distance or 1 for distance in ways[:num_groups]]
    columns.append(0)
    labels: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for (symbol, source, target), share in flows.items():
        if share >= SMALLEST_SHARE:
            labels.setdefault((source, target), []).append((symbol, share))
    texts = {
        ends: [(name, "" if share == "1" else share) for name, share in _label(shares, alphabet)]
        for ends, shares in labels.items()
    }
    layout = layered(
        columns,
        {ends: [f"{symbol} {share}" for symbol, share in lines] for ends, lines in texts.items()},
    )
    names = column_names(len(layout.columns), depths is not None)
    deepest = max(columns)
    if depths is not None and layout.columns and (depths[owner >= 0] > deepest).any():
        names[deepest] = names[deepest].replace(" open", " or more open")
    order = sorted(range(num_groups), key=lambda group: (columns[group], layout.places[group][1]))
    texts_of = word_labels(prefixes, alphabet)
    nodes = []
    for group in range(num_groups):
        members = np.flatnonzero(owner == group)
        examples = ", ".join(texts_of[member] for member in members[:MAX_EXAMPLES])
        title_of = f"{len(members)} prefixes: {examples}{', …' * (len(members) > MAX_EXAMPLES)}"
        caption = ["", f"{len(members)} prefix{'es' * (len(members) > 1)}"]  # below the dots
        nodes.append({"label": str(order.index(group) + 1), "caption": caption, "title": title_of})
    nodes.append({"label": LAMBDA, "caption": ["α₀"], "title": "α₀, before any symbol"})
    view = _view(layout, nodes, labels, texts, names, title)
    cells = (
        np.minimum(depths, deepest)
        if depths is not None and layout.columns
        else np.array(columns)[owner]
    )
    view["dots"] = _dots(layout, owner, cells, columns)
    return Graph(view, layout, model, groups)


def _shrinks(model: LearnedModel) -> bool:
    """Return whether states get shorter as prefixes get less probable, so only a state's direction
    shows what follows.
    """
    return not isinstance(model, RecurrentModel) and not (
        isinstance(model, NLWFA) and model.reading.is_chain
    )


def _flows(
    model: LearnedModel, prefixes: Words, train: Sample, groups: Groups, owner: IntArray
) -> dict[tuple[int, int, int], float]:
    """Compute (symbol, source, target) -> share of the source's prefixes whose continuation by the
    symbol is in the target.
    """
    tree = Trie.of(train.words, train.num_symbols)
    nodes, starts = tree.walk(prefixes)
    row_of = {
        int(nodes[end - 1]): row
        for row, end in enumerate(starts[1:])
        if end - starts[row] == prefixes.lengths[row] + 1
    }
    children = np.flatnonzero(np.isin(tree.parent, list(row_of)))
    moves_on = zip(tree.parent[children].tolist(), tree.symbol[children].tolist(), strict=True)
    longer = sorted((row_of[node], symbol) for node, symbol in moves_on)
    if not longer:
        return {}
    states = prefix_states(model, Words.of((*prefixes[row], symbol) for row, symbol in longer))
    target = np.where(states.any(axis=1), groups.nearest(states), -1).tolist()
    sources = [int(owner[row]) for row, _ in longer]
    moves = Counter(
        (symbol, i, j) for (_, symbol), i, j in zip(longer, sources, target, strict=True) if i >= 0
    )
    totals = Counter((symbol, i) for (_, symbol), i in zip(longer, sources, strict=True) if i >= 0)
    return {
        move: number / totals[move[:2]] for move, number in sorted(moves.items()) if move[2] >= 0
    }


def _dots(
    layout: Layout, owner: IntArray, cells: IntArray, columns: Sequence[int]
) -> list[dict[str, Any]]:
    """Place a dot for each prefix but λ: around its group, in the column of its own number of open
    brackets.
    """
    counts: Counter[tuple[int, int]] = Counter()
    dots = []
    for row, (group, cell) in enumerate(zip(owner.tolist(), cells.tolist(), strict=True)):
        if group < 0 or row == 0:  # λ is its node
            continue
        number = counts[group, cell]
        counts[group, cell] += 1
        at_home = cell == columns[group] or not layout.columns
        x, y = layout.places[group]
        x = x if at_home else layout.columns[cell]
        # the golden angle
        distance = np.sqrt((RADIUS + 7) ** 2 * at_home + 34.0 * number)
        angle = 2.399963 * number
        dots.append(
            {
                "x": round(float(x + distance * np.cos(angle)), 1),
                "y": round(float(y + distance * np.sin(angle)), 1),
            }
        )
        dots[-1] |= {"node": group, "row": row}
    return dots


# The walk


def drawing_payload(graph: Graph, ladder: Words) -> dict[str, Any]:
    """Make the payload of a graph: its drawing, "k", the number of a state's entries, and "ladder",
    the weights of these strings.

    A weight that is not finite is None.
    """
    return graph.view | {
        "k": int(graph.model.num_states),
        "ladder": _numbers(graph.model.weights(ladder)),
    }


def walk_payload(graph: Graph, word: Word) -> dict[str, Any]:
    """Make the payload of a word's walk through a graph.

    Returns "steps": for each prefix of the word, from λ, its "state", the "nodes" that are not 0
    with their "shares" of Σ|state|, and "at", the mean place of these nodes, None for the zero
    vector; "weight": f(word). Numbers that are not finite are None.
    """
    states = prefix_states(graph.model, prefixes_of(word))
    weight = _numbers(graph.model.weights(Words.of([word])))[0]
    steps = [_step(graph, state, is_first=not row) for row, state in enumerate(states)]
    return {"steps": steps, "weight": weight}


def _step(graph: Graph, state: FloatArray, is_first: bool) -> dict[str, Any]:
    step: dict[str, Any] = {"state": _numbers(state), "nodes": [], "shares": [], "at": None}
    if not np.isfinite(state).all() or not state.any():
        return step
    if graph.groups is not None:
        shares = np.zeros(len(graph.groups.centres) + 1)
        shares[-1 if is_first else graph.groups.nearest(state[None])] = 1.0
    else:
        shares = np.abs(state) / np.abs(state).sum()
    nodes = np.flatnonzero(shares > RELATIVE_ERROR)
    x, y = shares @ np.array(graph.layout.places)
    at: Point = (round(float(x), 1), round(float(y), 1))
    return step | {"nodes": nodes.tolist(), "shares": np.round(shares[nodes], 4).tolist(), "at": at}


def word_payload(data: Data, word: Word) -> dict[str, Any]:
    """Make the part of the payload that all walks of a word share: its symbols, its prefixes, and
    its true weight (None if it is not known).
    """
    truth = None if data.true_model is None else float(data.true_model.weights(Words.of([word]))[0])
    return spelled(data.alphabet, word, truth)


def spelled(alphabet: Alphabet, word: Word, truth: float | None) -> dict[str, Any]:
    """Write a word symbol by symbol, with its true weight (None if it is not known)."""
    return {
        "word": [alphabet.symbols[symbol] for symbol in word],
        "codes": list(word),
        "prefixes": [alphabet.decode(word[:length]) for length in range(len(word) + 1)],
        "truth": None if truth is None else _numbers(np.array([truth]))[0],
    }


def stage_payload(data: Data) -> dict[str, Any]:
    """Return the parts of the payload that the drawings of all models share, as values that JSON
    can hold.

    `ladder`: the strings whose weights are compared, with what they are compared with; `keys`: the
    symbols, if each can have a button (at most `MAX_KEYS` symbols of one character); `colours`.
    """
    return {"ladder": ladder_payload(data)} | _surroundings(data.alphabet)


def own_stage_payload(alphabet: Alphabet, words: Words, truth: Comparison | None) -> dict[str, Any]:
    """Return what `stage_payload` does, for an automaton without data, with the weights of these
    words.
    """
    return {
        "ladder": _ladder(alphabet, words, "f(x), the shortest strings", truth)
    } | _surroundings(alphabet)


def _surroundings(alphabet: Alphabet) -> dict[str, Any]:
    has_keys = len(alphabet) <= MAX_KEYS and not alphabet.separator
    return {
        "keys": list(alphabet.symbols) if has_keys else [],
        "colours": {"accent": ACCENT, "light": BLUES[2], "mark": MARK},
    }


def first_word(data: Data) -> Word:
    """Choose the string that walks first: [[]] if strings are made of brackets, otherwise the most
    frequent of length 3 or more.
    """
    return TWO_NESTED if is_bracketed(data.alphabet) else word_to_follow(data.train)[:MAX_SYMBOLS]
