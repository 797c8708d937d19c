"""Compute the generalised Gauss–Newton matrix of the cross-entropy, by forward sensitivities, and
from it the evidence for a network.

G = (1/N) Σ_u n_u J_uᵀ (diag p_u − p_u p_uᵀ) J_u with J_u = ∂(logits of u)/∂θ (Schraudolph, *Fast
curvature matrix-vector products for second-order gradient descent*, Neural Computation 14, 2002;
Martens, *Deep learning via Hessian-free optimization*, ICML 2010). It is the Hessian without the
curvature of the network itself, and never has a negative eigenvalue.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...strings.words import FloatArray
from .network import Network, objective, outputs
from .prefixes import PrefixCounts

Float32 = npt.NDArray[np.float32]
# The largest norm of a state's sensitivities ∂z_u/∂θ. Larger ones, of long strings where a network
# is chaotic, are scaled down to it: a Cholesky decomposition in float32 would fail.
LARGEST_SENSITIVITY = 100.0
ROWS_AT_ONCE = 3_000  # rows of the Jacobian that are held in memory together


def gauss_newton(network: Network, prefixes: PrefixCounts) -> FloatArray:
    """Compute G, shape (num_weights, num_weights), without the prior.

    It has entries that are not finite if the states of linear maps grow beyond float32.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _Accumulation(network, prefixes).matrix()


def evidence(
    network: Network, prefixes: PrefixCounts, curvature: FloatArray, prior: float
) -> float:
    """Approximate the logarithm of the probability of the training strings, the weights integrated
    out (Laplace's method: MacKay, *A practical Bayesian framework for backpropagation networks*,
    Neural Computation 4, 1992): −N J − ½ ln det(N G / ρ + I).

    The second term is the price of the weights that the strings determine. A weight on which
    nothing depends costs nothing. The evidence is −∞ if G is not finite.

    Parameters
    ----------
    curvature : array, shape (num_weights, num_weights)
        G.
    prior : float
        ρ.
    """
    if not np.isfinite(curvature).all():
        return -np.inf
    value = prefixes.total * objective(network, prefixes, prior / prefixes.total)
    stretched = np.linalg.eigvalsh(curvature * (prefixes.total / prior))
    return -value - float(np.log1p(stretched.clip(min=0)).sum()) / 2


class _Accumulation:
    """G while it is summed over prefixes, a level at a time."""

    def __init__(self, network: Network, prefixes: PrefixCounts) -> None:
        self.network, self.prefixes = network, prefixes
        computed = outputs(network.with_vectors(network.vector[None]), prefixes)
        self.probabilities = np.exp(computed.logs[0])
        self.states = computed.states[0].astype(np.float32)
        self.hidden = [values[0].astype(np.float32) for values in computed.hidden]
        self.decoded = [values[0].astype(np.float32) for values in computed.decoded]
        self.maps = [layer.astype(np.float32) for layer in network.maps]
        self.decoder = [layer.astype(np.float32) for layer in network.decoder]
        self.output = network.output.astype(np.float32)
        sizes = [layer.size for layer in network.layers]
        self.starts = np.concatenate(([0], np.cumsum(sizes))).tolist()
        # weights on which states depend: α₀ and the maps
        self.num_recurrent = self.starts[1 + len(network.maps)]
        self.total = np.zeros((self.starts[-1], self.starts[-1]))
        self.held: list[Float32] = []
        self.num_held = 0

    def matrix(self) -> FloatArray:
        """Pass over the tree from λ, with the sensitivities of the last level only."""
        k = self.network.num_states
        above = np.zeros((1, k, self.num_recurrent), dtype=np.float32)
        above[0, :, :k] = np.eye(k)
        self._add(above, 0, 1)
        first = 0
        for level in self.prefixes.levels:
            parts = []
            for step in level:
                assert isinstance(step.symbols, int)
                sensitivities = self._sensitivities(
                    above[step.parents - first], step.start, step.end, step.symbols
                )
                parts.append(sensitivities)
                self._add(sensitivities, step.start, step.end)
            above = np.concatenate(parts) if len(parts) > 1 else parts[0]
            first = level[0].start
        self._flush()
        return self.total

    def _sensitivities(self, above: Float32, start: int, end: int, symbol: int) -> Float32:
        """Compute ∂z_{uσ}/∂θ from ∂z_u/∂θ, shape (n, num_states, num_recurrent)."""
        number, k = end - start, self.network.num_states
        parents = self.prefixes.parent[start:end]
        inputs = [self.states[parents], *(values[start:end] for values in self.hidden[:-1])]
        direct = []
        # ∂z/∂(output of a layer before tanh), from the last layer to the first
        slope: Float32 = np.broadcast_to(np.eye(k, dtype=np.float32), (number, k, k))
        for index in range(len(self.maps) - 1, -1, -1):
            if self.network.has_tanh:
                values = self.hidden[index][start:end]
                slope = slope * (1 - values * values)[:, None, :]
            layer = self.maps[index]
            direct.append((index, inputs[index][:, None, :, None] * slope[:, :, None, :]))
            slope = slope @ layer[symbol].T
        result: Float32 = np.matmul(slope, above)
        for index, block in direct:
            size = block.shape[2] * block.shape[3]
            first = self.starts[1 + index] + symbol * size
            result[:, :, first : first + size] += block.reshape(number, k, size)
        norms = np.sqrt(np.einsum("nkp,nkp->n", result, result))
        large = norms > LARGEST_SENSITIVITY
        result[large] *= (LARGEST_SENSITIVITY / norms[large])[:, None, None]
        return result

    def _add(self, sensitivities: Float32, start: int, end: int) -> None:
        """Add the prefixes `start` … `end − 1`."""
        number, here = end - start, slice(start, end)
        root = self._roots(here)
        jacobian = np.empty((number, root.shape[1], self.starts[-1]), dtype=np.float32)
        slope, layers = root, [self.output, *self.decoder[::-1]]
        values = [v[here] for v in self.decoded[::-1]]
        inputs = [*values, self.states[here]]
        places = range(len(self.network.layers) - 1, -1, -1)
        for index, (layer, before, place) in enumerate(zip(layers, inputs, places, strict=False)):
            block = before[:, None, :, None] * slope[:, :, None, :]
            first, last = self.starts[place], self.starts[place + 1]
            jacobian[:, :, first:last] = block.reshape(number, root.shape[1], last - first)
            slope = slope @ layer.T
            if index < len(values):
                slope = slope * (1 - before * before)[:, None, :]
        np.matmul(slope, sensitivities, out=jacobian[:, :, : self.num_recurrent])
        self.held.append(jacobian.reshape(-1, self.starts[-1]))
        self.num_held += len(self.held[-1])
        if self.num_held > ROWS_AT_ONCE:
            self._flush()

    def _roots(self, here: slice) -> Float32:
        """Compute B with Bᵀ B = (n_u/N)(diag p − p pᵀ) for each prefix, shape (n, num_symbols,
        num_symbols + 1).

        (I − r rᵀ) diag r, with r = √p, is such a matrix. The Householder reflection that takes r to
        −e_m makes its last row 0, so it has a row less.
        """
        roots = np.sqrt(self.probabilities[here])
        normal = roots.copy()
        normal[:, -1] += 1.0
        first = roots[:, :-1]
        result = np.zeros((len(roots), first.shape[1], roots.shape[1]))
        diagonal = np.arange(first.shape[1])
        result[:, diagonal, diagonal] = first
        scaled = first / (1 + roots[:, -1:])
        result -= scaled[:, :, None] * (normal * roots)[:, None, :]
        result *= np.sqrt(self.prefixes.totals[here] / self.prefixes.total)[:, None, None]
        return result.astype(np.float32)

    def _flush(self) -> None:
        if self.held:
            rows = np.concatenate(self.held)
            self.total += rows.T @ rows
            self.held.clear()
            self.num_held = 0
