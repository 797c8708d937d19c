"""Compute the generalised Gauss–Newton matrix of the cross-entropy, by forward sensitivities, and
from it the evidence for a network.

G = (1/N) Σ_u n_u J_uᵀ (diag p_u − p_u p_uᵀ) J_u with J_u = ∂(logits of u)/∂θ (Schraudolph, *Fast
curvature matrix-vector products for second-order gradient descent*, Neural Computation 14, 2002;
Martens, *Deep learning via Hessian-free optimization*, ICML 2010). It is the Hessian without the
curvature of the network itself, and has no negative eigenvalues.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...strings.words import FloatArray
from .network import Evaluator, Network, objective
from .prefixes import Level, PrefixCounts

Float32 = npt.NDArray[np.float32]
# The largest norm of a state's sensitivities ∂z_u/∂θ. Larger ones, of long strings where a network
# is chaotic, are scaled down to it; otherwise a Cholesky decomposition in float32 would fail.
LARGEST_SENSITIVITY = 100.0
PREFIXES_AT_ONCE = 1_000  # unless a level has more


def gauss_newton(
    network: Network, prefixes: PrefixCounts, evaluator: Evaluator | None = None
) -> FloatArray:
    """Compute G, shape (num_weights, num_weights), without the prior.

    It has entries that are not finite if the states of linear maps grow beyond float32. Passing an
    evaluator of one network of this shape on these prefixes saves the time to make it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _Accumulation(network, prefixes, evaluator).matrix()


def evidence(
    network: Network, prefixes: PrefixCounts, curvature: FloatArray, prior: float
) -> float:
    """Approximate the logarithm of the probability of the training strings, with the weights
    integrated out (Laplace's method: MacKay, *A practical Bayesian framework for backpropagation
    networks*, Neural Computation 4, 1992): −N J − ½ ln det(N G / ρ + I).

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
    """G while it is summed over the tree, some levels at a time.

    Only the sensitivities ∂z_u/∂θ need the shorter prefixes first. All else is computed for the
    prefixes of several levels together, in arrays that are made once.
    """

    def __init__(
        self, network: Network, prefixes: PrefixCounts, evaluator: Evaluator | None
    ) -> None:
        self.network = network
        self.prefixes = prefixes
        evaluator = evaluator or Evaluator(network, prefixes, 0.0, 1)
        computed = evaluator.outputs(network.vector[None])
        self.probabilities = np.exp(computed.logs[0].T)
        self.hidden = [values[0].astype(np.float32) for values in computed.hidden]
        self.decoded = [values[0].astype(np.float32) for values in computed.decoded]
        self.maps = [layer.astype(np.float32) for layer in network.maps]
        self.decoder = [layer.astype(np.float32) for layer in network.decoder]
        self.output = network.output.astype(np.float32)
        sizes = [layer.size for layer in network.layers]
        self.starts = np.concatenate(([0], np.cumsum(sizes))).tolist()
        # weights on which states depend: α₀ and the maps
        self.num_recurrent = self.starts[1 + len(network.maps)]
        self.blocks = _blocks(prefixes)
        self.largest = max(levels[-1].end - levels[0].start for levels in self.blocks)
        self.jacobian = np.empty(
            (self.largest, prefixes.num_symbols, self.starts[-1]), dtype=np.float32
        )

    def matrix(self) -> FloatArray:
        """Pass over the tree from λ."""
        k = self.network.num_states
        total = np.zeros((self.starts[-1], self.starts[-1]))
        shape = (self.largest, k, self.num_recurrent)
        sensitivities, above, others = np.empty((3, *shape), dtype=np.float32)
        for levels in self.blocks:
            first = levels[0].start
            end = levels[-1].end
            here = slice(first, end)
            slopes, direct = self._direct(here) if first else (None, [])
            for level in levels:
                result = sensitivities[level.start - first : level.end - first]
                if not level.start:
                    result[...] = 0
                    result[0, :, :k] = np.eye(k)
                    shorter = result
                    continue
                assert slopes is not None
                inside = slice(level.start - first, level.end - first)
                parents = level.parents - level.first_parent
                before = above[: len(parents)]
                shorter.take(parents, 0, before, "clip")
                np.matmul(slopes[inside], before, result)
                self._add_direct(result, level, [part[inside] for part in direct])
                shorter = result
            rows = self._jacobian(sensitivities[: end - first], here)
            total += rows.T @ rows
            # the next block begins with the children of the last level
            sensitivities, others = others, sensitivities
        return total

    def _direct(self, here: slice) -> tuple[Float32, list[Float32]]:
        """Compute for some prefixes uσ the matrices ∂z_{uσ}/∂z_u, shape (n, k, k), and for each
        layer of the map the part of ∂z_{uσ}/∂θ that does not come from z_u. For the last layer,
        which has a state's weights in a column of its own, this is the diagonal, shape (n, k,
        width); for the others, it is all of the part, shape (n, k, size).
        """
        k = self.network.num_states
        symbols = self.prefixes.symbol[here]
        parents = self.prefixes.parent[here]
        inputs = [self.hidden[-1][parents], *(values[here] for values in self.hidden[:-1])]
        layers = [np.swapaxes(layer, 1, 2).take(symbols, axis=0) for layer in self.maps]
        direct: list[Float32] = []
        slope: Float32 = np.broadcast_to(np.float32(1), (len(symbols), 1))
        if self.network.has_tanh:
            values = self.hidden[-1][here]
            slope = 1 - values * values
        direct.append(
            np.broadcast_to(
                slope[:, :, None] * inputs[-1][:, None, :], (len(symbols), k, inputs[-1].shape[1])
            )
        )
        result = layers[-1]
        result *= slope[:, :, None]
        for index in range(len(self.maps) - 2, -1, -1):
            values = self.hidden[index][here]
            result *= (1 - values * values)[:, None, :]
            block = inputs[index][:, None, :, None] * result[:, :, None, :]
            direct.insert(0, block.reshape(len(symbols), k, -1))
            result = np.matmul(result, layers[index])
        return result, direct

    def _add_direct(self, result: Float32, level: Level, direct: list[Float32]) -> None:
        """Add to the sensitivities of a level what does not come from the shorter prefixes."""
        k = self.network.num_states
        for symbol, begin, end in level.runs:
            for index, part in enumerate(direct):
                size = self.maps[index][symbol].size
                first = self.starts[1 + index] + symbol * size
                block = result[begin:end, :, first : first + size]
                if index == len(direct) - 1:
                    block = np.einsum("nkik->nki", block.reshape(end - begin, k, -1, k))
                block += part[begin:end]
        norms = np.sqrt(np.einsum("nkp,nkp->n", result, result))
        large = norms > LARGEST_SENSITIVITY
        if large.any():
            result[large] *= (LARGEST_SENSITIVITY / norms[large])[:, None, None]

    def _jacobian(self, sensitivities: Float32, here: slice) -> Float32:
        """Compute B_u J_u of some prefixes, with B_u from `_roots`, as rows."""
        number = len(sensitivities)
        jacobian = self.jacobian[:number]
        slope = self._roots(here)
        layers = [self.output, *self.decoder[::-1]]
        values = [each[here] for each in self.decoded[::-1]]
        inputs = [*values, self.hidden[-1][here]]
        places = range(len(self.network.layers) - 1, -1, -1)
        for index, (layer, before, place) in enumerate(zip(layers, inputs, places, strict=False)):
            first = self.starts[place]
            last = self.starts[place + 1]
            block = jacobian[:, :, first:last].reshape(*slope.shape[:2], *layer.shape)
            np.multiply(before[:, None, :, None], slope[:, :, None, :], block)
            slope = slope @ layer.T
            if index < len(values):
                slope *= (1 - before * before)[:, None, :]
        np.matmul(slope, sensitivities, jacobian[:, :, : self.num_recurrent])
        return jacobian.reshape(-1, self.starts[-1])

    def _roots(self, here: slice) -> Float32:
        """Compute B with Bᵀ B = (n_u/N)(diag p − p pᵀ) for each prefix, shape (n, num_symbols,
        num_symbols + 1).

        (I − r rᵀ) diag r, with r = √p, is such a matrix. The Householder reflection that takes r to
        −e_m makes its last row 0, so B has one row less.
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


def _blocks(prefixes: PrefixCounts) -> list[list[Level]]:
    """Divide the levels into blocks of up to PREFIXES_AT_ONCE prefixes; a larger level is a block
    of its own, and so is λ, whose state does not depend on any other.
    """
    root = Level(0, 0, 1, np.zeros(0, dtype=np.int64), (), ())
    blocks = [[root]]
    for level in prefixes.levels:
        if blocks[-1][0] is root or level.end - blocks[-1][0].start > PREFIXES_AT_ONCE:
            blocks.append([])
        blocks[-1].append(level)
    return blocks
