"""A third step: train all parameters together, on the rows of H (Li, Rabusseau, Precup 2018, §4.4).

The first two steps fit rows of H, then maps between codes of rows. Neither sees how errors add up when one map follows another.
Here the model itself is rolled out along the basis, each prefix once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy import sparse

from ..hankel.matrix import HankelMatrix
from ..strings.trie import Trie
from ..strings.words import IntArray, Words
from .losses import SparseRows, activate, reconstruction_error
from .networks import Descent, nudge, one_thread, to_arrays, train
from .options import Refinement
from .progress import MAX_SHOWN, CancelCheck, Report, RowStates, never, silent
from .reading import Steps
from .rollout import Rollout, transition_step


@one_thread()
def refine_hankel(
    hankel: HankelMatrix, steps: Steps, options: Refinement, report: Report = silent, cancelled: CancelCheck = never
) -> Steps:
    """Minimise Σ_{u ∈ P'} w_u ‖φ'(G_u(α₀)) − H_u‖² ([P] §4.4) over all parameters.

    It uses the rows that the model's own states reach; with boundary symbols, those of prefixes that begin with ⊢. Rows that were
    never observed count as zeros, unless rows have weights. Returns the parameters of the best epoch, or those of `steps` if no
    epoch improves on them.
    """
    transitions, decoder, nonlinear = steps.transitions, steps.decoder, steps.nonlinear
    tree, rows = _reached(hankel, len(transitions[0]))
    rollout = Rollout(tree)
    tensors = [torch.tensor(array, requires_grad=True) for array in (steps.initial, *transitions, *decoder)]
    start, maps, hidden, last = tensors[0], tensors[1 : 1 + len(transitions)], tensors[1 + len(transitions) : -1], tensors[-1]
    edges = []
    for symbol in range(len(transitions[0])):
        following = hankel.shifted[rows, symbol]
        outside = np.flatnonzero(following >= hankel.num_prefixes)  # else it is a node of its own
        edges.append((symbol, rollout.row[torch.from_numpy(outside)], following[outside]))
    in_order = np.empty_like(rows)
    in_order[rollout.row.numpy()] = rows
    matched = np.concatenate((in_order, *(following for _, _, following in edges)))
    weights = None if hankel.row_weights is None else hankel.row_weights[matched]
    scale = float(abs(hankel.matrix).max())  # losses and gradients of the size that the first step has
    H = SparseRows(sparse.csr_array(hankel.matrix[matched] / scale), weights)

    def loss() -> torch.Tensor:
        step = transition_step(maps, nonlinear[0])
        states = rollout.states(start, step)
        Y = torch.cat([states, *(step(states[nodes], symbol) for symbol, nodes, _ in edges)])
        for layer in hidden:
            Y = activate(Y @ layer, nonlinear[1])
        return reconstruction_error(H, Y, last / scale) / H.squared_norm

    nodes_shown = np.flatnonzero(rows < MAX_SHOWN)
    nodes_shown = nodes_shown[np.argsort(rows[nodes_shown])]

    @torch.no_grad()
    def look() -> RowStates:
        states = rollout.states(start, transition_step(maps, nonlinear[0]))
        return RowStates(rows[nodes_shown], states[rollout.row[torch.from_numpy(nodes_shown)]].numpy())

    descent = Descent(options.epochs, options.rate, "cosine", options.optimizer, options.tolerance)
    leave_saddle = None if any(nonlinear) else lambda: nudge(tensors, options.seed)
    log = train(tensors, loss, "refinement", descent, report, cancelled, look=look, first_step=leave_saddle)
    first, *others = to_arrays(tensors)
    maps_learned, decoder_learned = tuple(others[: len(transitions)]), tuple(others[len(transitions) :])
    return replace(steps, initial=first, transitions=maps_learned, decoder=decoder_learned, logs=(*steps.logs, log))


def _reached(hankel: HankelMatrix, num_maps: int) -> tuple[Trie, IntArray]:
    """The tree of the prefixes that a model's maps reach from its first state, and the row of each node."""
    prefixes, before = hankel.basis.prefixes, int(hankel.num_marks == 2)
    chosen = [row for row, u in enumerate(prefixes) if len(u) >= before and max(u[before:], default=0) < num_maps]
    if before:
        chosen = [row for row in chosen if prefixes[row][0] == hankel.num_symbols - 1]
    tree = Trie.of(Words.of(prefixes[row][before:] for row in chosen), num_maps)
    rows = np.empty(tree.num_nodes, dtype=np.int64)
    rows[tree.ends] = chosen
    return tree, rows
