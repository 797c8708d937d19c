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
    """The weights θ of a network; or those of several networks of one shape, a *stack*, whose
    arrays have one more axis, the first. A stack is computed in hardly more time than one network:
    most time goes into calls for few prefixes.

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
        return int(self.initial.shape[-1])

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
        """Return all weights of one network as a vector θ."""
        return np.concatenate([layer.ravel() for layer in self.layers])

    def with_vectors(self, vectors: FloatArray) -> Network:
        """Make a stack of networks with the shape of this one from their θ, shape (num_networks,
        num_weights).
        """
        ends = np.cumsum([layer.size for layer in self.layers])
        initial, *others, output = (
            part.reshape(-1, *layer.shape)
            for part, layer in zip(np.split(vectors, ends[:-1], axis=1), self.layers, strict=True)
        )
        num_maps = len(self.maps)
        return Network(initial, tuple(others[:num_maps]), tuple(others[num_maps:]), output)

    def with_vector(self, vector: FloatArray) -> Network:
        """Make a network of the same shape with other weights."""
        stack = self.with_vectors(vector[None])
        return Network(
            stack.initial[0],
            tuple(layer[0] for layer in stack.maps),
            tuple(layer[0] for layer in stack.decoder),
            stack.output[0],
        )

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
    """What a stack of networks computes for each prefix of a tree.

    Attributes
    ----------
    hidden : tuple of arrays, shapes (num_networks, num_prefixes, width_i)
        The output of each layer of the map that made the prefix; the last are the states. λ has 0
        in all but the last.
    decoded : tuple of arrays, shapes (num_networks, num_prefixes, width_i)
        The output of each layer of the decoder.
    logs : array, shape (num_networks, num_prefixes, num_symbols + 1)
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


def outputs(stack: Network, prefixes: PrefixCounts) -> Outputs:
    """Compute the states of all prefixes, level by level, and what follows them."""
    number = len(stack.initial)
    hidden = tuple(
        np.zeros((number, prefixes.num_prefixes, layer.shape[-1]), layer.dtype)
        for layer in stack.maps
    )
    states = hidden[-1]
    states[:, 0] = stack.initial
    # linear maps may let states grow beyond all bounds
    with np.errstate(over="ignore", invalid="ignore"):
        for step in prefixes.steps:
            values = states[:, step.parents]
            for layer, outcome in zip(stack.maps, hidden, strict=True):
                values = _times(values, layer[:, step.symbols])
                if stack.has_tanh:
                    np.tanh(values, out=values)
                outcome[:, step.start : step.end] = values
        values = states
        decoded = []
        for layer in stack.decoder:
            values = np.tanh(values @ layer)
            decoded.append(values)
        logs = values @ stack.output
        logs -= logs.max(axis=2, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=2, keepdims=True))
    return Outputs(hidden, tuple(decoded), logs)


def objective(network: Network, prefixes: PrefixCounts, ridge: float) -> float:
    """Compute J of one network, in nats per prediction; ∞ where it is not a number.

    Parameters
    ----------
    ridge : float
        ρ / N.
    """
    vectors = network.vector[None]
    logs = outputs(network.with_vectors(vectors), prefixes).logs
    return float(_objectives(vectors, prefixes, ridge, logs)[0])


def objectives_and_gradients(
    shape: Network, vectors: FloatArray, prefixes: PrefixCounts, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Compute J and ∂J/∂θ of several networks, by back-propagation from long prefixes to short
    ones.

    Parameters
    ----------
    shape : Network
        Any network of the shape.
    vectors : array, shape (num_networks, num_weights)
        The θ.

    Returns
    -------
    values : array, shape (num_networks,)
        ∞ where J or its gradient is not a number.
    gradients : array, shape (num_networks, num_weights)
        0 there.
    """
    stack = shape.with_vectors(vectors)
    computed = outputs(stack, prefixes)
    values = _objectives(vectors, prefixes, ridge, computed.logs)
    with np.errstate(over="ignore", invalid="ignore"):
        parts = _gradients(stack, prefixes, computed)
        gradients = np.concatenate([part.reshape(len(vectors), -1) for part in parts], axis=1)
        gradients += ridge * vectors
    values[~np.isfinite(gradients).all(axis=1)] = np.inf
    gradients[~np.isfinite(values)] = 0
    return values, gradients


def _objectives(
    vectors: FloatArray, prefixes: PrefixCounts, ridge: float, logs: FloatArray
) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        values = -np.einsum("us,nus->n", prefixes.counts, logs) / prefixes.total
        values += ridge / 2 * np.einsum("np,np->n", vectors, vectors)
    return np.where(np.isfinite(values), values, np.inf)


def _gradients(stack: Network, prefixes: PrefixCounts, computed: Outputs) -> Sequence[FloatArray]:
    """Compute the gradient of the cross-entropy by each layer, in the order of
    `Network.layers`.
    """
    surplus = np.exp(computed.logs) * prefixes.totals[:, None] - prefixes.counts
    surplus /= prefixes.total
    of_output = _turned(computed.last) @ surplus
    passed = surplus @ _turned(stack.output)
    of_decoder = []
    inputs = (computed.states, *computed.decoded)[:-1] if stack.decoder else ()
    for layer, before, after in zip(
        stack.decoder[::-1], inputs[::-1], computed.decoded[::-1], strict=True
    ):
        passed *= 1 - after * after
        of_decoder.append(_turned(before) @ passed)
        passed = passed @ _turned(layer)
    # `passed` is now ∂/∂z of each prefix by its own outputs. Longer prefixes add to it.
    slopes = [1 - values * values for values in computed.hidden] if stack.has_tanh else ()
    before_layers = [np.empty_like(values) for values in computed.hidden]
    maps = [_turned(layer) for layer in stack.maps]
    for step in reversed(prefixes.steps):
        here = slice(step.start, step.end)
        values = passed[:, here]
        for index in range(len(maps) - 1, -1, -1):
            if slopes:
                values = values * slopes[index][:, here]
            before_layers[index][:, here] = values
            values = _times(values, maps[index][:, step.symbols])
        for first, last in step.runs:  # in each, a parent occurs only once
            passed[:, step.parents[first:last]] += values[:, first:last]
    of_maps = [np.zeros_like(layer) for layer in stack.maps]
    for symbol, ending in enumerate(prefixes.of_symbol):
        above = computed.states[:, prefixes.parent[ending]]
        inputs = (above, *(values[:, ending] for values in computed.hidden[:-1]))
        for gradient, values, below in zip(of_maps, inputs, before_layers, strict=True):
            gradient[:, symbol] = _turned(values) @ below[:, ending]
    return (passed[:, 0], *of_maps, *of_decoder[::-1], of_output)


def _turned(matrices: FloatArray) -> FloatArray:
    return np.swapaxes(matrices, -1, -2)


def _times(values: FloatArray, layers: FloatArray) -> FloatArray:
    """Multiply the rows of each network by its matrix, or each row by a matrix of its own."""
    if layers.ndim == 3:
        return values @ layers
    product: FloatArray = np.matmul(values[:, :, None], layers)[:, :, 0]
    return product
