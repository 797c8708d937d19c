"""States along words, many at a time: those of one length and one symbol take a step together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from ..rounding import candidates, largest_gain, sizes, vanishing
from .words import FloatArray, IntArray, Words, check_symbols

# (states (n, num_states), symbol) -> the states one symbol further, (n, num_states)
Transition = Callable[[FloatArray, int], FloatArray]
# The same, or (states (n, 1, num_states), the symbol of each (n,)) -> (n, 1, num_states)
Transitions = Callable[[FloatArray, int | IntArray], FloatArray]

# Up to this many places a key, marking is quicker than sorting.
BOARD = 64
# Numbers of a copied map that cost about as much as one call more.
FEW = 3_000


def end_states(
    words: Words, num_symbols: int, initial: FloatArray, transition: Transitions, magnitudes: FloatArray | None = None
) -> FloatArray:
    """The state at each word's end. A prefix that many words share is computed once.

    Parameters
    ----------
    initial : array, shape (num_states,)
        The state of λ.
    transition : Transitions
    magnitudes : array, shape (num_symbols, num_states, num_states), optional
        |A_σ| where the steps are products with matrices: states that are zero but for rounding become 0 (see `rounding`).

    Returns
    -------
    array, shape (num_words, num_states)
    """
    check_symbols(words, num_symbols)
    order, going_on = words.long_first()
    begins = words.offsets[order]
    symbols = words.symbols.astype(np.min_scalar_type(num_symbols - 1))  # numpy sorts small numbers digit by digit
    ends = np.empty((len(words), len(initial)))
    states, at = initial[None], np.zeros(len(words), dtype=np.int64)  # `at`: in which row of `states` each word is
    gain = None if magnitudes is None else largest_gain(magnitudes)
    size, ones = sizes(states), np.ones(len(initial))
    with np.errstate(over="ignore", invalid="ignore"):
        for depth, alive in enumerate(going_on):
            ends[order[alive : len(at)]] = states.take(at[alive:], axis=0)
            at, following = at[:alive], symbols[begins[:alive] + depth]
            if 2 * len(states) <= alive:  # two words or more stand at a prefix, on average: a row for each prefix
                children, at = ranked(following.astype(np.int64) * len(states) + at, num_symbols * len(states))
                following, parents = np.divmod(children, len(states))
            elif _few(alive, len(initial), num_symbols):  # finding what they share would cost more: a row for each word
                parents, at = at, np.arange(alive)
            else:  # the same, symbol by symbol
                by = np.argsort(following, kind="stable")
                parents, at = at[by], np.empty_like(at)
                at[by] = np.arange(alive)
            before, states = states, states.take(parents, axis=0)
            if _few(len(states), len(initial), num_symbols):
                states = transition(states[:, None], following)[:, 0]
            else:
                starts = [0, *np.cumsum(np.bincount(following)).tolist()]
                for symbol, (start, end) in enumerate(pairwise(starts)):
                    if start < end:
                        states[start:end] = transition(states[start:end], symbol)
            if gain is not None and magnitudes is not None:
                bounds, size = size.take(parents) * gain.take(following), np.abs(states) @ ones
                if (size < bounds).any():
                    rows = candidates(size, bounds)
                    rows = vanishing(rows, states[rows], before[parents[rows]], following[rows], magnitudes)
                    states[rows], size[rows] = 0.0, 0.0
        ends[order[: len(at)]] = states.take(at, axis=0)
    return ends


def _few(num_rows: int, num_states: int, num_symbols: int) -> bool:
    """Whether a copy of its symbol's map for each row costs less than one call for each symbol. At most 2.4 MB are copied."""
    return num_rows * (num_states**2 + 100) < FEW * min(num_rows, num_symbols, 100)  # a row costs as much as 100 numbers


def by_symbol(symbols: IntArray) -> Iterator[tuple[int, IntArray]]:
    """The places of each symbol: (symbol, places), both ascending."""
    order = np.argsort(symbols, kind="stable")
    counts = np.bincount(symbols)
    present = np.flatnonzero(counts)
    bounds = pairwise([0, *np.cumsum(counts[present]).tolist()])
    for symbol, (start, end) in zip(present.tolist(), bounds, strict=True):
        yield symbol, order[start:end]


def ranked(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """`np.unique(keys, return_inverse=True)` for keys from 0 to below a bound: marks them on a board instead of sorting them."""
    if bound > BOARD * len(keys):
        return np.unique(keys, return_inverse=True)
    marked, rank = np.zeros(bound, dtype=bool), np.empty(bound, dtype=np.int64)
    marked[keys] = True
    found = np.flatnonzero(marked)
    rank[found] = np.arange(len(found))
    return found, rank[keys]
