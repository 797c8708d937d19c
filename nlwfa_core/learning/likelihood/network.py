"""Define a network that predicts what follows a prefix, what is minimised, and its gradient.

z_λ = α₀, z_{uσ} = tanh(tanh(z_u E_σ) F_σ), p(· | u) = softmax(tanh(z_u C) D). In fac.non the maps
are linear, z_{uσ} = z_u A_σ; in tran.non the decoder is, p(· | u) = softmax(z_u D). What is
minimised is J = −(1/N) Σ_u Σ_σ c(uσ) ln p(σ | u) + (ρ/2N) ‖θ‖², over all prefixes u of the training
strings, the end of a string being one of the σ, with N = Σ c. The second term is the prior: each
weight is normal with variance 1/ρ, whatever the size of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...models.nlwfa import NLWFA
from ...models.reading import ConditionalReading
from ...strings.words import FloatArray
from .prefixes import PrefixCounts


@dataclass(frozen=True, eq=False)
class Network:
    """The weights θ of a network.

    Attributes
    ----------
    initial : array, shape (num_states,)
        α₀.
    maps : tuple of arrays, shapes (num_symbols, width_i, width_{i+1})
        The layers of the maps: E and F, with tanh after both, or A alone, without tanh.
    decoder : tuple of arrays, shapes (width_i, width_{i+1})
        C, with tanh after it, or nothing.
    output : array, shape (decoder_width, num_symbols + 1)
        D.
    """

    initial: FloatArray
    maps: tuple[FloatArray, ...]
    decoder: tuple[FloatArray, ...]
    output: FloatArray

    @property
    def num_states(self) -> int:
        return len(self.initial)

    @property
    def has_tanh(self) -> bool:
        """Return whether the maps are nonlinear."""
        return len(self.maps) > 1

    @property
    def layers(self) -> tuple[FloatArray, ...]:
        """List all weights, in the order of `vector`."""
        return (self.initial, *self.maps, *self.decoder, self.output)

    @cached_property
    def vector(self) -> FloatArray:
        """Return all weights as one vector θ."""
        return np.concatenate([layer.ravel() for layer in self.layers])

    def with_vector(self, vector: FloatArray) -> Network:
        """Make a network of the same shape with other weights."""
        ends = np.cumsum([layer.size for layer in self.layers])
        initial, *others, output = (
            part.reshape(layer.shape)
            for part, layer in zip(np.split(vector, ends[:-1]), self.layers, strict=True)
        )
        num_maps = len(self.maps)
        return Network(initial, tuple(others[:num_maps]), tuple(others[num_maps:]), output)

    def model(self) -> NLWFA:
        """Make the network an automaton, which is a distribution over strings."""
        reading = ConditionalReading("softmax", normalised=True)
        return NLWFA(
            self.initial,
            self.maps,
            self.decoder,
            self.output,
            nonlinear_transitions=self.has_tanh,
            nonlinear_termination=len(self.decoder) > 0,
            reading=reading,
        )


class Outputs(NamedTuple):
    """What a network computes for each prefix of a tree.

    Attributes
    ----------
    hidden : tuple of arrays, shapes (num_prefixes, width_i)
        The output of each layer of the map that made the prefix; the last are the states. λ has 0
        in all but the last.
    decoded : tuple of arrays, shapes (num_prefixes, width_i)
        The output of each layer of the decoder.
    logs : array, shape (num_prefixes, num_symbols + 1)
        ln p(σ | u).
    """

    hidden: tuple[FloatArray, ...]
    decoded: tuple[FloatArray, ...]
    logs: FloatArray

    @property
    def states(self) -> FloatArray:
        return self.hidden[-1]

    @property
    def last(self) -> FloatArray:
        """Return what the output layer reads."""
        return self.decoded[-1] if self.decoded else self.states


def outputs(network: Network, prefixes: PrefixCounts) -> Outputs:
    """Compute the states of all prefixes, level by level, and what follows them."""
    hidden = tuple(np.zeros((prefixes.num_prefixes, layer.shape[2])) for layer in network.maps)
    hidden[-1][0] = network.initial
    # linear maps may let states grow beyond all bounds
    with np.errstate(over="ignore", invalid="ignore"):
        for step in prefixes.steps:
            values = hidden[-1][step.parents]
            for layer, outcome in zip(network.maps, hidden, strict=True):
                values = _times(values, layer[step.symbols])
                if network.has_tanh:
                    np.tanh(values, out=values)
                outcome[step.start : step.end] = values
        values = hidden[-1]
        decoded = []
        for layer in network.decoder:
            values = np.tanh(values @ layer)
            decoded.append(values)
        logs = values @ network.output
        logs -= logs.max(axis=1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return Outputs(hidden, tuple(decoded), logs)


def objective(network: Network, prefixes: PrefixCounts, ridge: float) -> float:
    """Compute J, in nats per prediction; ∞ where it is not a number.

    Parameters
    ----------
    ridge : float
        ρ / N.
    """
    return _objective(network, prefixes, ridge, outputs(network, prefixes).logs)


def objective_and_gradient(
    network: Network, prefixes: PrefixCounts, ridge: float
) -> tuple[float, FloatArray]:
    """Compute J and ∂J/∂θ, by back-propagation from long prefixes to short ones."""
    computed = outputs(network, prefixes)
    value = _objective(network, prefixes, ridge, computed.logs)
    if not np.isfinite(value):
        return np.inf, np.zeros(len(network.vector))
    with np.errstate(over="ignore", invalid="ignore"):
        parts = _gradients(network, prefixes, computed)
    vector = np.concatenate([part.ravel() for part in parts]) + ridge * network.vector
    return (value, vector) if np.isfinite(vector).all() else (np.inf, np.zeros(len(vector)))


def _objective(network: Network, prefixes: PrefixCounts, ridge: float, logs: FloatArray) -> float:
    vector = network.vector
    with np.errstate(over="ignore", invalid="ignore"):
        value = -np.vdot(prefixes.counts, logs) / prefixes.total + ridge * (vector @ vector) / 2
    return float(value) if np.isfinite(value) else np.inf


def _gradients(network: Network, prefixes: PrefixCounts, computed: Outputs) -> Sequence[FloatArray]:
    """Compute the gradient of the cross-entropy by each layer, in the order of
    `Network.layers`.
    """
    surplus = np.exp(computed.logs) * prefixes.totals[:, None] - prefixes.counts
    surplus /= prefixes.total
    of_output = computed.last.T @ surplus
    passed = surplus @ network.output.T
    of_decoder = []
    inputs = (computed.states, *computed.decoded)[:-1] if network.decoder else ()
    for layer, before, after in zip(
        network.decoder[::-1], inputs[::-1], computed.decoded[::-1], strict=True
    ):
        passed *= 1 - after * after
        of_decoder.append(before.T @ passed)
        passed = passed @ layer.T
    # `passed` is now ∂/∂z of each prefix by its own outputs. Longer prefixes add to it.
    slopes = [1 - values * values for values in computed.hidden] if network.has_tanh else ()
    before_layers = [np.empty_like(values) for values in computed.hidden]
    transposed = [layer.transpose(0, 2, 1) for layer in network.maps]
    for step in reversed(prefixes.steps):
        here = slice(step.start, step.end)
        values = passed[here]
        for index in range(len(network.maps) - 1, -1, -1):
            if slopes:
                values = values * slopes[index][here]
            before_layers[index][here] = values
            values = _times(values, transposed[index][step.symbols])
        if isinstance(step.symbols, int):  # then each parent occurs only once
            passed[step.parents] += values
        else:
            np.add.at(passed, step.parents, values)
    of_maps = [np.zeros_like(layer) for layer in network.maps]
    for symbol, ending in enumerate(prefixes.of_symbol):
        above = computed.states[prefixes.parent[ending]]
        inputs = (above, *(values[ending] for values in computed.hidden[:-1]))
        for gradient, values, below in zip(of_maps, inputs, before_layers, strict=True):
            gradient[symbol] = values.T @ below[ending]
    return (passed[0], *of_maps, *of_decoder[::-1], of_output)


def _times(values: FloatArray, layers: FloatArray) -> FloatArray:
    """Multiply rows by one matrix, or each row by a matrix of its own."""
    if layers.ndim == 2:
        return values @ layers
    product: FloatArray = np.matmul(values[:, None], layers)[:, 0]
    return product
