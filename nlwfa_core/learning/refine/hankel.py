"""A third step: trains all parameters together, on the rows of H (Li, Rabusseau, Precup 2018,
§4.4).

Step 1 fits the rows of H, and step 2 fits maps between the codes of rows. Neither takes into
account how errors add up when one map follows another. Here the model itself computes the state of
every prefix from α₀, one map after another, each prefix once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from scipy import sparse

from ...hankel.matrix import HankelMatrix
from ...strings.trie import Trie
from ...strings.words import IntArray, Words
from ..assembly import Steps
from ..options import Refined
from ..progress import MAX_SHOWN, CancelCheck, Report, RowStates, never, silent
from ..steps.descent import Descent, Epochs, nudge, one_thread, to_arrays, train
from ..steps.losses import SparseRows, activate, reconstruction_error
from .rollout import Rollout, transition_step


@one_thread()
def refine_hankel(
    hankel: HankelMatrix,
    steps: Steps,
    options: Refined,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Steps:
    """Minimise Σ_{u ∈ P'} w_u ‖φ'(G_u(α₀)) − H_u‖² ([P] §4.4) over all parameters.

    The sum is over the rows that the model can reach from its initial state. If factors of strings
    ⊢x⊣ are counted, these are the rows of prefixes that begin with ⊢. A row that was never observed
    counts as a row of zeros, unless rows have weights. Returns the parameters of the best epoch, or
    those of `steps` if no epoch improves on them.
    """
    rows = _RolledOutRows(hankel, steps)
    descent = Descent(
        options.epochs_refinement,
        options.rate_refinement,
        "cosine",
        options.optimizer_refinement,
        options.tolerance_refinement,
    )
    seed = options.refinement_seed
    leave_saddle = None if any(steps.nonlinear) else lambda: nudge(rows.tensors, seed)
    log = train(
        Epochs(rows.tensors, rows.error, "refinement", descent, report, cancelled, rows.look),
        first_step=leave_saddle,
    )
    first, *others = to_arrays(rows.tensors)
    num_layers = len(steps.transitions)
    maps, decoder = tuple(others[:num_layers]), tuple(others[num_layers:])
    return replace(steps, initial=first, transitions=maps, decoder=decoder, logs=(*steps.logs, log))


@one_thread()
@torch.no_grad()
def rolled_out_error(hankel: HankelMatrix, steps: Steps) -> float:
    """Compute how far the rows that a model computes from α₀ are from those of H: the loss of
    `refine_hankel` at its start.

    It is relative to ‖H‖². The losses of the two steps of learning do not show this error, because
    they do not include how errors add up when one map follows another.
    """
    return float(_RolledOutRows(hankel, steps).error())


class _RolledOutRows:
    """The rows of H that a model can reach, and the model's parameters as tensors, from which its
    own rows are computed.

    `tensors`: α₀, the layers of the transitions, and the layers of the decoder.
    """

    def __init__(self, hankel: HankelMatrix, steps: Steps) -> None:
        self.nonlinear, num_layers = steps.nonlinear, len(steps.transitions)
        self.tensors = [
            torch.tensor(array, requires_grad=True)
            for array in (steps.initial, *steps.transitions, *steps.decoder)
        ]
        self.start, self.maps = self.tensors[0], self.tensors[1 : 1 + num_layers]
        self.hidden, self.last = self.tensors[1 + num_layers : -1], self.tensors[-1]
        tree, rows = _reached(hankel, len(steps.transitions[0]))
        self.rollout = Rollout(tree)
        self.edges = []
        for symbol in range(len(steps.transitions[0])):
            following = hankel.shifted[rows, symbol]
            # the others are nodes themselves
            outside = np.flatnonzero(following >= hankel.num_prefixes)
            self.edges.append(
                (symbol, self.rollout.row[torch.from_numpy(outside)], following[outside])
            )
        in_order = np.empty_like(rows)
        in_order[self.rollout.row.numpy()] = rows
        matched = np.concatenate((in_order, *(following for _, _, following in self.edges)))
        weights = None if hankel.row_weights is None else hankel.row_weights[matched]
        # losses and gradients of the size that the first step has
        self.scale = float(abs(hankel.matrix).max())
        self.H = SparseRows(sparse.csr_array(hankel.matrix[matched] / self.scale), weights)
        nodes_shown = np.flatnonzero(rows < MAX_SHOWN)
        self.nodes_shown = nodes_shown[np.argsort(rows[nodes_shown])]
        self.rows_shown = rows[self.nodes_shown]

    def error(self) -> torch.Tensor:
        """Σ_u w_u ‖φ'(G_u(α₀)) − H_u‖², relative to ‖H‖²."""
        step = transition_step(self.maps, self.nonlinear[0])
        states = self.rollout.states(self.start, step)
        Y = torch.cat([states, *(step(states[nodes], symbol) for symbol, nodes, _ in self.edges)])
        for layer in self.hidden:
            Y = activate(Y @ layer, self.nonlinear[1])
        return reconstruction_error(self.H, Y, self.last / self.scale) / self.H.squared_norm

    @torch.no_grad()
    def look(self) -> RowStates:
        """Return the states of the most frequent prefixes."""
        states = self.rollout.states(self.start, transition_step(self.maps, self.nonlinear[0]))
        return RowStates(
            self.rows_shown, states[self.rollout.row[torch.from_numpy(self.nodes_shown)]].numpy()
        )


def _reached(hankel: HankelMatrix, num_maps: int) -> tuple[Trie, IntArray]:
    """Make the tree of the prefixes that a model's maps reach from its initial state, and find the
    row of each node.
    """
    prefixes, before = hankel.basis.prefixes, int(hankel.num_marks == 2)
    chosen = [
        row
        for row, u in enumerate(prefixes)
        if len(u) >= before and max(u[before:], default=0) < num_maps
    ]
    if before:
        chosen = [row for row in chosen if prefixes[row][0] == hankel.num_symbols - 1]
    tree = Trie.of(Words.of(prefixes[row][before:] for row in chosen), num_maps)
    rows = np.empty(tree.num_nodes, dtype=np.int64)
    rows[tree.ends] = chosen
    return tree, rows
