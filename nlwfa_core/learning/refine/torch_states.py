"""Compute a model's states along a prefix tree in torch, so they can be differentiated with respect
to its parameters.

All prefixes of one length that end in the same symbol are computed in one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch

from ...strings.sample import Sample
from ...strings.trie import Trie

Step = Callable[[torch.Tensor, int], torch.Tensor]


class Rollout:
    """The order in which the states of a tree's nodes are computed: by length, then by last symbol.

    `row` (num_nodes,): the row of each node in the tensor that `states` returns.
    """

    def __init__(self, trie: Trie) -> None:
        order = np.lexsort((trie.symbol, trie.depth))
        row = np.empty_like(order)
        row[order] = np.arange(len(order))
        self.row = torch.from_numpy(row)
        parents = row[trie.parent[order[1:]]]
        symbols = trie.symbol[order[1:]]
        self._levels = []
        bounds = (trie.levels - 1).tolist()
        for above, (start, end) in zip(trie.levels.tolist(), pairwise(bounds[1:]), strict=False):
            cuts = np.flatnonzero(np.diff(symbols[start:end])) + 1
            runs = [(int(part[0]), len(part)) for part in np.split(symbols[start:end], cuts)]
            self._levels.append((torch.from_numpy(parents[start:end] - above), runs))

    def states(self, initial: torch.Tensor, step: Step) -> torch.Tensor:
        """Compute the state of every node of the tree.

        `initial` (num_states,): the state of λ, the root. `step`: (states, shape (n, num_states),
        symbol) -> the states after that symbol, of the same shape.

        Returns an array of shape (num_nodes, num_states): the state of node i is in row
        `self.row[i]`.
        """
        level = initial[None]
        levels = [level]
        for parents, runs in self._levels:
            before = torch.split(level[parents], [size for _, size in runs])
            level = torch.cat(
                [step(part, symbol) for part, (symbol, _) in zip(before, runs, strict=True)]
            )
            levels.append(level)
        return torch.cat(levels)


def theta(values: torch.Tensor, nonlinear: bool) -> torch.Tensor:
    """`learning.tensors.activate`, but with torch's own tanh, because `refine_values` needs torch's
    function transforms.
    """
    return torch.tanh(values) if nonlinear else values


def transition_step(layers: Sequence[torch.Tensor], nonlinear: bool, unit: bool = False) -> Step:
    """Make the maps G_σ into a function from states and a symbol to the next states.

    `layers` (num_maps, width_i, width_{i+1}): the layers of all maps. `nonlinear`: whether θ is
    tanh; otherwise it is the identity. `unit`: whether each new state is divided by its norm. This
    is only for linear models whose scores matter only up to a factor: without it, the states of
    long prefixes would vanish.
    """
    by_symbol = [layer.unbind() for layer in layers]

    def step(states: torch.Tensor, symbol: int) -> torch.Tensor:
        for layer in by_symbol:
            states = theta(states @ layer[symbol], nonlinear)
        return (
            states / (states.detach().norm(dim=1, keepdim=True) + torch.finfo(states.dtype).tiny)
            if unit
            else states
        )

    return step


class Continuations(Rollout):
    """The prefix tree of some strings, with the distinct pairs of a prefix and the symbol (or end)
    that follows it.

    `rows` and `symbols` (num_continuations,): for each pair, the row of the prefix in `states`, and
    the symbol that follows, where num_symbols stands for the end. `shares` (num_continuations,):
    how often each pair occurs, as a share of all occurrences.
    """

    def __init__(self, sample: Sample, num_symbols: int) -> None:
        trie = Trie.of(sample.words, num_symbols)
        super().__init__(trie)
        begins = trie.prefix_counts(sample.counts)
        ends = trie.end_counts(sample.counts)
        last = np.flatnonzero(ends)
        self.rows = self.row[torch.from_numpy(np.concatenate((trie.parent[1:], last)))]
        self.symbols = torch.from_numpy(
            np.concatenate((trie.symbol[1:], np.full(len(last), num_symbols)))
        )
        times = np.concatenate((begins[1:], ends[last]))
        self.shares = torch.from_numpy(times / times.sum())
