"""A third step, which trains all parameters together, on the rows of H (Li, Rabusseau, Precup 2018,
§4.4).

Step 1 fits the rows of H, and step 2 fits maps between the codes of rows. Neither takes into
account how errors add up when one map follows another. Here the model itself computes the state of
every prefix from α₀, each prefix once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...hankel.matrix import HankelMatrix
from ...strings.words import FloatArray, IntArray
from ..assembly import Steps
from ..progress import MAX_SHOWN, CancelCheck, Report, RowStates, never, silent
from ..shared_options import Refined
from ..steps.descent import Descent, Epochs, nudge, train
from ..steps.losses import SparseRows, backward, forward, reconstruction_error


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
    leave_saddle = None if any(steps.nonlinear) else lambda: nudge(rows.parameters, seed)
    log = train(
        Epochs(rows.parameters, rows.loss, "refinement", descent, report, cancelled, rows.look),
        first_step=leave_saddle,
    )
    return replace(
        steps,
        initial=rows.initial,
        transitions=tuple(rows.maps),
        decoder=tuple(rows.decoder),
        logs=(*steps.logs, log),
    )


def rolled_out_error(hankel: HankelMatrix, steps: Steps) -> float:
    """Compute the error of the rows that a model computes from α₀, compared with those of H: the
    loss of `refine_hankel` at its start.

    It is relative to ‖H‖². The losses of the two steps of learning do not show this error, because
    they do not include how errors add up when one map follows another.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _RolledOutRows(hankel, steps).loss()[0]


class _Level(NamedTuple):
    """The prefixes that the maps make from some shorter prefixes u, which are nodes of a tree.

    Nodes are numbered level by level; in a level, those of one symbol follow one another.
    """

    parents: IntArray  # (n,): the nodes u
    nodes: slice  # of all uσ
    rows: IntArray  # (num_maps · n,): the row of each uσ in H


class _RolledOutRows:
    """The rows of H that a model can reach, and the model's parameters, from which its own rows are
    computed.

    `initial`, `maps` and `decoder`: the parameters, as in `Steps`, which training changes in place.
    """

    def __init__(self, hankel: HankelMatrix, steps: Steps) -> None:
        self.of_maps, self.of_decoder = steps.nonlinear
        self.initial = steps.initial.copy()
        self.maps = [layer.copy() for layer in steps.transitions]
        self.decoder = [layer.copy() for layer in steps.decoder]
        self.levels = _levels(hankel, len(self.maps[0]))
        rows = np.concatenate(([hankel.start_row], *(level.rows for level in self.levels)))
        weights = None if hankel.row_weights is None else hankel.row_weights[rows]
        # losses and gradients then have the size of those of the first step
        self.scale = float(abs(hankel.matrix).max())
        self.H = SparseRows(sparse.csr_array(hankel.matrix[rows] / self.scale), weights)
        distinct, nodes = np.unique(rows, return_index=True)
        is_shown = distinct < min(MAX_SHOWN, hankel.num_prefixes)
        self.rows_shown = distinct[is_shown]
        self.nodes_shown = nodes[is_shown]

    @property
    def parameters(self) -> list[FloatArray]:
        return [self.initial, *self.maps, *self.decoder]

    def loss(self) -> tuple[float, list[FloatArray]]:
        """Compute Σ_u w_u ‖φ'(G_u(α₀)) − H_u‖², relative to ‖H‖², and its gradient with respect to
        each of the parameters.
        """
        states, map_units = self._rolled_out()
        *hidden, last = self.decoder
        units = forward(states, hidden, self.of_decoder)
        error = reconstruction_error(self.H, units[-1], last / self.scale)
        dZ, decoder_gradients = backward(error.Y, units, hidden, self.of_decoder)
        map_gradients = [np.zeros_like(layer) for layer in self.maps]
        for level, units in zip(reversed(self.levels), reversed(map_units), strict=True):
            dG = dZ[level.nodes].reshape(units[-1].shape)
            before_maps, gradients = backward(dG, units, self.maps, self.of_maps)
            dZ[level.parents] += before_maps.sum(axis=0)
            for total, gradient in zip(map_gradients, gradients, strict=True):
                total += gradient
        relative = 1 / self.H.squared_norm
        gradients = [dZ[0], *map_gradients, *decoder_gradients, error.D / self.scale]
        return error.value * relative, [relative * gradient for gradient in gradients]

    def look(self) -> RowStates:
        """Return the states of the most frequent prefixes."""
        return RowStates(self.rows_shown, self._rolled_out()[0][self.nodes_shown])

    def _rolled_out(self) -> tuple[FloatArray, list[list[FloatArray]]]:
        """Compute the state of every node, shape (num_nodes, k), and the units of the maps that
        lead to each level.
        """
        states = np.empty((self.H.matrix.shape[0], len(self.initial)))
        states[0] = self.initial
        map_units = []
        for level in self.levels:
            map_units.append(forward(states[level.parents], self.maps, self.of_maps))
            states[level.nodes] = map_units[-1][-1].reshape(-1, len(self.initial))
        return states, map_units


def _levels(hankel: HankelMatrix, num_maps: int) -> list[_Level]:
    """Make the tree of the prefixes that a model's maps reach from its initial state."""
    levels: list[_Level] = []
    rows = np.array([hankel.start_row])
    nodes = np.array([0])
    while True:
        # what follows a row outside P is not in H
        parents = nodes[rows < hankel.num_prefixes]
        inside = rows[rows < hankel.num_prefixes]
        if not len(parents):
            return levels
        rows = hankel.shifted[inside, :num_maps].T.ravel().astype(np.int64)
        nodes = np.arange(nodes[-1] + 1, nodes[-1] + 1 + len(rows))
        levels.append(_Level(parents, slice(int(nodes[0]), int(nodes[-1]) + 1), rows))
