"""Roll a model out along a prefix tree, with gradients: all states of one length and last symbol in one product."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch

from ..strings.sample import Sample
from ..strings.trie import Trie

Step = Callable[[torch.Tensor, int], torch.Tensor]


class Rollout:
    """The order in which the states of a tree's nodes are computed: by length, then by last symbol.

    Attributes
    ----------
    row : tensor, shape (num_nodes,)
        The row of each node in what `states` returns.
    """

    def __init__(self, trie: Trie) -> None:
        order = np.lexsort((trie.symbol, trie.depth))
        row = np.empty_like(order)
        row[order] = np.arange(len(order))
        self.row = torch.from_numpy(row)
        parents, symbols = row[trie.parent[order[1:]]], trie.symbol[order[1:]]
        self._levels = []
        bounds = (trie.levels - 1).tolist()
        for above, (start, end) in zip(trie.levels.tolist(), pairwise(bounds[1:]), strict=False):
            cuts = np.flatnonzero(np.diff(symbols[start:end])) + 1
            runs = [(int(part[0]), len(part)) for part in np.split(symbols[start:end], cuts)]
            self._levels.append((torch.from_numpy(parents[start:end] - above), runs))

    def states(self, initial: torch.Tensor, step: Step) -> torch.Tensor:
        """Compute the state of every node, shape (num_nodes, num_states); that of node i is in row `self.row[i]`.

        Parameters
        ----------
        initial : tensor, shape (num_states,)
        step : callable
            (states (n, num_states), symbol) -> the states after that symbol.
        """
        level = initial[None]
        levels = [level]
        for parents, runs in self._levels:
            before = torch.split(level[parents], [size for _, size in runs])
            level = torch.cat([step(part, symbol) for part, (symbol, _) in zip(before, runs, strict=True)])
            levels.append(level)
        return torch.cat(levels)


def theta(values: torch.Tensor, nonlinear: bool) -> torch.Tensor:
    """`losses.activate` with torch's own tanh, because `refine_values` needs torch's function transforms."""
    return torch.tanh(values) if nonlinear else values


def transition_step(layers: Sequence[torch.Tensor], nonlinear: bool, unit: bool = False) -> Step:
    """G_σ as a step, from its layers, shapes (num_maps, width_i, width_{i+1}).

    With `unit`, each state is divided by its norm, or those of long prefixes would vanish. That is for linear models whose scores
    matter up to a factor.
    """
    by_symbol = [layer.unbind() for layer in layers]

    def step(states: torch.Tensor, symbol: int) -> torch.Tensor:
        for layer in by_symbol:
            states = theta(states @ layer[symbol], nonlinear)
        return states / (states.detach().norm(dim=1, keepdim=True) + torch.finfo(states.dtype).tiny) if unit else states

    return step


class Continuations(Rollout):
    """The prefix tree of some strings, and what followed each prefix: each pair of prefix and symbol (or end) once.

    Attributes
    ----------
    rows, symbols : tensors, shape (num_continuations,)
        The prefix's row in `states`, and the symbol that followed; num_symbols is the end.
    shares : tensor, shape (num_continuations,)
        How often the pair occurs, as a share of all.
    """

    def __init__(self, sample: Sample, num_symbols: int) -> None:
        trie = Trie.of(sample.words, num_symbols)
        super().__init__(trie)
        begins, ends = trie.prefix_counts(sample.counts), trie.end_counts(sample.counts)
        last = np.flatnonzero(ends)
        self.rows = self.row[torch.from_numpy(np.concatenate((trie.parent[1:], last)))]
        self.symbols = torch.from_numpy(np.concatenate((trie.symbol[1:], np.full(len(last), num_symbols))))
        times = np.concatenate((begins[1:], ends[last]))
        self.shares = torch.from_numpy(times / times.sum())
