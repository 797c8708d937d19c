"""States along words, many at a time: those of one length and one symbol take a step together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from .words import FloatArray, IntArray, Words, check_symbols, ranked

# (states (n, num_states), symbol) -> the states one symbol further, (n, num_states)
Transition = Callable[[FloatArray, int], FloatArray]


def end_states(words: Words, num_symbols: int, initial: FloatArray, transition: Transition) -> FloatArray:
    """The state at each word's end. A prefix that many words share is computed once.

    Parameters
    ----------
    initial : array, shape (num_states,)
        The state of λ.
    transition : Transition

    Returns
    -------
    array, shape (num_words, num_states)
    """
    check_symbols(words, num_symbols)
    order, going_on = words.long_first()
    begins = words.offsets[order]
    symbols = words.symbols.astype(np.min_scalar_type(num_symbols - 1))  # numpy sorts small numbers digit by digit
    ends = np.empty((len(words), len(initial)))
    states, at, depth = initial[None], np.zeros(len(words), dtype=np.int64), 0
    with np.errstate(over="ignore", invalid="ignore"):
        # While two words or more stand at a prefix, on average: a row of `states` for each prefix; `at` says where each word is.
        while depth < len(going_on) and 2 * len(states) <= going_on[depth]:
            alive = going_on[depth]
            ends[alive : len(at)] = states.take(at[alive:], axis=0)
            children, at = ranked(at[:alive] * num_symbols + symbols[begins[:alive] + depth], len(states) * num_symbols)
            parents, last = np.divmod(children, num_symbols)
            above, states = states, np.empty((len(children), len(initial)))
            for symbol, places in by_symbol(last.astype(symbols.dtype)):
                states[places] = transition(above.take(parents[places], axis=0), symbol)
            depth += 1
        ends[: len(at)] = states.take(at, axis=0)
        # From then on finding what they share would cost more than it saves: a row for each word.
        for further in range(depth, len(going_on)):
            for symbol, places in by_symbol(symbols[begins[: going_on[further]] + further]):
                ends[places] = transition(ends.take(places, axis=0), symbol)
    states = np.empty_like(ends)
    states[order] = ends
    return states


def by_symbol(symbols: IntArray) -> Iterator[tuple[int, IntArray]]:
    """The places of each symbol: (symbol, places), both ascending."""
    order = np.argsort(symbols, kind="stable")
    counts = np.bincount(symbols)
    present = np.flatnonzero(counts)
    bounds = pairwise([0, *np.cumsum(counts[present]).tolist()])
    for symbol, (start, end) in zip(present.tolist(), bounds, strict=True):
        yield symbol, order[start:end]
