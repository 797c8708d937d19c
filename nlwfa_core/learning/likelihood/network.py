"""Define a network that predicts what follows a prefix, its objective, and the gradient.

z_λ = α₀, z_{uσ} = tanh(tanh(z_u E_σ) F_σ), p(· | u) = softmax(tanh(z_u C) D). In fac.non the maps
are linear, z_{uσ} = z_u A_σ; in tran.non the decoder is linear, p(· | u) = softmax(z_u D). The
objective is J = −(1/N) Σ_u Σ_σ c(uσ) ln p(σ | u) + (ρ/2N) ‖θ‖², over all prefixes u of the training
strings, where the end of a string is one of the σ and N = Σ c. The second term is the prior: each
weight is normal with variance 1/ρ, whatever the size of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...models.nlwfa import NLWFA
from ...models.reading import ConditionalReading
from ...strings.words import FloatArray, IntArray
from .prefixes import Level, PrefixCounts

# A level with more last symbols than FEW_CALLS is computed with a matrix per prefix, where that is
# faster than a call for each symbol. The costs of a call, and of a prefix in addition to the
# numbers of its matrix, in copies of a number:
FEW_CALLS = 4
CALL_COST = 5_000
ROW_COST = 200
NO_SYMBOLS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Network:
    """The weights θ of a network, or of several networks of one shape, a *stack*, whose arrays have
    an additional first axis. A stack takes barely more time than one network, because most time is
    spent on calls for few prefixes.

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
        """Turn the network into an automaton, which is a distribution over strings."""
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
    """The values that a stack of networks computes for each prefix of a tree.

    Attributes
    ----------
    hidden : tuple of arrays, shapes (num_networks, num_prefixes, width_i)
        The output of each layer of the map that made the prefix; the last outputs are the states. λ
        has 0 in all but the last.
    decoded : tuple of arrays, shapes (num_networks, num_prefixes, width_i)
        The output of each layer of the decoder.
    logs : array, shape (num_networks, num_symbols + 1, num_prefixes)
        ln p(σ | u).
    """

    hidden: tuple[FloatArray, ...]
    decoded: tuple[FloatArray, ...]
    logs: FloatArray

    @property
    def states(self) -> FloatArray:
        return self.hidden[-1]


class Product(NamedTuple):
    """A product of matrices for each network: `left` @ `right`, written to `out`."""

    left: FloatArray
    right: FloatArray
    out: FloatArray


class Step(NamedTuple):
    """A layer of a map, forward or backward, at one level.

    Attributes
    ----------
    layers : array, shape (num_networks, num_symbols, width_i, width_j)
    symbols : array, shape (n,)
        The last symbols of the prefixes whose matrices are gathered, if each prefix has its own.
    gathered : array, shape (num_networks, n, width_i, width_j)
    products : tuple of Product
    """

    layers: FloatArray
    symbols: IntArray
    gathered: FloatArray
    products: tuple[Product, ...]

    def carry_out(self) -> None:
        if len(self.symbols):
            self.layers.take(self.symbols, 1, self.gathered, "clip")
        for left, right, out in self.products:
            np.matmul(left, right, out)


class LevelViews(NamedTuple):
    """The parts of the arrays of an `Evaluator` that belong to one level.

    Attributes
    ----------
    level : Level
    above : array, shape (num_networks, end - start, num_states)
        The array in which the parents' states are gathered.
    forward : tuple of (Step, array)
        For each layer of the map: its products, and the array to which they write.
    backward : tuple of (array, array, Step)
        For each layer of the map, from the last to the first: the slopes of tanh, which become the
        derivatives with respect to the layer's products; the derivatives with respect to its
        outputs; and the products that give the derivatives with respect to its inputs.
    below : array, shape (num_networks, end - start + 1, num_states)
        The results of the last of these products, and a row of 0 for missing children.
    taken, passed : arrays, shape (num_networks, start - first_parent, num_states)
        The arrays for the children's part, and for the derivatives with respect to the parents'
        states.
    """

    level: Level
    above: FloatArray
    forward: tuple[tuple[Step, FloatArray], ...]
    backward: tuple[tuple[FloatArray, FloatArray, Step], ...]
    below: FloatArray
    taken: FloatArray
    passed: FloatArray


class Evaluator:
    """Computes J and ∂J/∂θ of stacks of networks of one shape, on the prefixes of a tree.

    Most time would be spent on calls for few prefixes and on new memory, so all arrays, and all
    parts of them that the calls need, are made once.

    Parameters
    ----------
    shape : Network
        Any network of the shape.
    prefixes : PrefixCounts
    ridge : float
        ρ / N.
    number : int
        The largest number of networks.
    dtype : dtype
        The type of all arrays.
    """

    def __init__(
        self,
        shape: Network,
        prefixes: PrefixCounts,
        ridge: float,
        number: int,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        self.shape = shape
        self.prefixes = prefixes
        self.ridge = ridge
        self.dtype = np.dtype(dtype)
        self.number = 0
        self._blocks: dict[str, FloatArray] = {}
        total = prefixes.total or 1.0
        self.totals = (prefixes.totals / total).astype(dtype)
        self.shares = np.ascontiguousarray(prefixes.counts.T / total, dtype)
        # the prefixes by their last symbol
        self.by_symbol = np.concatenate(prefixes.of_symbol)
        self._lay_out(number)

    def outputs(self, vectors: FloatArray) -> Outputs:
        """Compute the states of all prefixes, level by level, and what follows them.

        The arrays are overwritten by the next call.
        """
        if len(vectors) != self.number:
            self._lay_out(len(vectors))
        self.vectors[...] = vectors
        states = self.hidden[-1]
        states[:, 0] = self.stack.initial
        has_tanh = self.stack.has_tanh
        # linear maps may let states grow beyond all bounds
        with np.errstate(over="ignore", invalid="ignore"):
            for views in self.levels:
                states.take(views.level.parents, 1, views.above, "clip")
                for step, values in views.forward:
                    step.carry_out()
                    if has_tanh:
                        np.tanh(values, values)
            values = states
            for layer, decoded in zip(self.stack.decoder, self.decoded, strict=True):
                np.matmul(values, layer, decoded)
                np.tanh(decoded, decoded)
                values = decoded
            logs = self.logs
            chances = self.chances
            np.matmul(_turned(self.stack.output), _turned(values), logs)
            logs -= logs.max(axis=1, keepdims=True)
            np.exp(logs, chances)
            sums = chances.sum(axis=1, keepdims=True)
            chances /= sums
            logs -= np.log(sums, sums)
        return Outputs(self.hidden, self.decoded, logs)

    def objectives(self, vectors: FloatArray) -> FloatArray:
        """Compute J of each network, in nats per prediction; ∞ where it is not a number."""
        self.outputs(vectors)
        return self._objectives()

    def objectives_and_gradients(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Compute J and ∂J/∂θ of each network, by back-propagation from long prefixes to short
        ones.

        Parameters
        ----------
        vectors : array, shape (num_networks, num_weights)
            The θ.

        Returns
        -------
        values : array, shape (num_networks,)
            ∞ where J or its gradient is not a number.
        gradients : array, shape (num_networks, num_weights)
            0 where the value is ∞.
        """
        self.outputs(vectors)
        values = self._objectives()
        with np.errstate(over="ignore", invalid="ignore"):
            self._back_propagate()
            gradients: FloatArray = self.gradients + self.ridge * self.vectors
        values[~np.isfinite(gradients).all(axis=1)] = np.inf
        gradients[~np.isfinite(values)] = 0
        return values, gradients

    def _objectives(self) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            values = -(self.logs.reshape(self.number, -1) @ self.shares.ravel())
            values += self.ridge / 2 * np.einsum("np,np->n", self.vectors, self.vectors)
        return np.where(np.isfinite(values), values, np.inf)

    def _back_propagate(self) -> None:
        """Compute the gradients of the cross-entropy; `outputs` has been called."""
        stack = self.stack
        of = self.of
        states = self.hidden[-1]
        surplus = self.chances
        surplus *= self.totals
        surplus -= self.shares
        last = self.decoded[-1] if self.decoded else states
        of.output[...] = _turned(surplus @ last)
        passed = self.passed
        if stack.decoder:
            layer = stack.decoder[0]
            decoded = self.decoded[0]
            inner = self.of_decoded
            np.matmul(_turned(surplus), _turned(stack.output), inner)
            _to_slopes(decoded, decoded)
            inner *= decoded
            np.matmul(_turned(states), inner, of.decoder[0])
            np.matmul(inner, _turned(layer), passed)
        else:
            np.matmul(_turned(surplus), _turned(stack.output), passed)
        # `passed` is now the derivative with respect to the state of each prefix, from its own
        # outputs alone. Longer prefixes add to it.
        if stack.has_tanh:
            for values, slopes in zip(self.hidden, self.before, strict=True):
                _to_slopes(values, slopes)
        for views in reversed(self.levels):
            for before, after, step in views.backward:
                if stack.has_tanh:
                    np.multiply(before, after, before)
                step.carry_out()
            for children in views.level.children:
                views.below.take(children, 1, views.taken, "clip")
                np.add(views.passed, views.taken, views.passed)
        of.initial[...] = passed[:, 0]
        states.take(self.prefixes.parent[self.by_symbol], 1, self.gathered[0], "clip")
        for values, gathered in zip(self.hidden[:-1], self.gathered[1:], strict=True):
            values.take(self.by_symbol, 1, gathered, "clip")
        for values, gathered in zip(self.before, self.gathered_before, strict=True):
            values.take(self.by_symbol, 1, gathered, "clip")
        for left, right, out in self.map_products:
            np.matmul(left, right, out)

    def _array(self, name: str, *shape: int) -> FloatArray:
        """Return an array for all networks; one of fewer networks is part of it."""
        size = prod(shape) * self.number
        if name not in self._blocks or len(self._blocks[name]) < size:
            self._blocks[name] = np.empty(size, self.dtype)
        return self._blocks[name][:size].reshape(self.number, *shape)

    def _lay_out(self, number: int) -> None:
        """Make the arrays for a number of networks."""
        self.number = number
        shape = self.shape
        prefixes = self.prefixes
        size = prefixes.num_prefixes
        k = shape.num_states
        weights = sum(layer.size for layer in shape.layers)
        self.vectors = self._array("vectors", weights)
        self.gradients = self._array("gradients", weights)
        self.stack, self.of = shape.with_vectors(self.vectors), shape.with_vectors(self.gradients)
        widths = [layer.shape[-1] for layer in shape.maps]
        self.hidden = tuple(self._array(f"hidden {n}", size, w) for n, w in enumerate(widths))
        self.decoded = tuple(
            self._array("decoded", size, layer.shape[-1]) for layer in shape.decoder
        )
        self.logs = self._array("logs", prefixes.num_symbols + 1, size)
        self.chances = self._array("chances", prefixes.num_symbols + 1, size)
        self.of_decoded = self._array("of decoded", size, len(shape.output))
        self.passed = self._array("passed", size, k)
        # the derivatives with respect to the products of each layer of the map
        self.before: tuple[FloatArray, ...] = (self.passed,)
        if shape.has_tanh:
            self.before = tuple(self._array(f"before {n}", size, w) for n, w in enumerate(widths))
        for values in self.hidden[:-1]:
            values[:, 0] = 0
        self.levels: list[LevelViews] = []
        for level in prefixes.levels:
            self.levels.append(self._level(level))
        inputs = [k, *widths[:-1]]
        count = len(self.by_symbol)
        self.gathered = [self._array(f"in {n}", count, w) for n, w in enumerate(inputs)]
        self.gathered_before = [self._array(f"out {n}", count, w) for n, w in enumerate(widths)]
        self.map_products = []
        first = 0
        for symbol, ending in enumerate(prefixes.of_symbol):
            here = slice(first, first + len(ending))
            first += len(ending)
            for left, right, out in zip(
                self.gathered, self.gathered_before, self.of.maps, strict=True
            ):
                self.map_products.append(
                    Product(_turned(left[:, here]), right[:, here], out[:, symbol])
                )

    def _level(self, level: Level) -> LevelViews:
        here = slice(level.start, level.end)
        size = level.end - level.start
        k = self.shape.num_states
        parents = level.start - level.first_parent
        above = self._array(f"above {size}", size, k)
        values = above
        forward = []
        for layer, outcome in zip(self.stack.maps, self.hidden, strict=True):
            out = outcome[:, here]
            forward.append((self._step(values, layer, out, level), out))
            values = out
        below = self._array(f"below {len(self.levels)}", size + 1, k)
        below[:, size] = 0
        values = self.passed[:, here]
        backward = []
        for index in range(len(self.hidden) - 1, -1, -1):
            width = self.stack.maps[index].shape[-2]
            out = self._array(f"between {index} {size}", size, width) if index else below[:, :size]
            before = self.before[index][:, here]
            layer = self.stack.maps[index]
            backward.append((before, values, self._step(before, layer, out, level, turned=True)))
            values = out
        taken = self._array(f"taken {parents}", parents, k)
        passed = self.passed[:, level.first_parent : level.start]
        return LevelViews(level, above, tuple(forward), tuple(backward), below, taken, passed)

    def _step(
        self,
        values: FloatArray,
        layers: FloatArray,
        out: FloatArray,
        level: Level,
        *,
        turned: bool = False,
    ) -> Step:
        """Multiply each prefix by the matrix of its last symbol, or by its transpose."""
        symbols = NO_SYMBOLS
        gathered = layers
        size = level.end - level.start
        calls = len(level.runs)
        row = self.number * (layers[0, 0].size + ROW_COST)
        is_scattered = calls > FEW_CALLS and size * row <= CALL_COST * calls
        if is_scattered:
            symbols = self.prefixes.symbol[level.start : level.end]
            gathered = self._array(f"gathered {size}", size, *layers.shape[2:])
        matrices = _turned(gathered) if turned else gathered
        if is_scattered:
            product = Product(values[:, :, None], matrices, out[:, :, None])
            return Step(layers, symbols, gathered, (product,))
        products = tuple(
            Product(values[:, first:last], matrices[:, symbol], out[:, first:last])
            for symbol, first, last in level.runs
        )
        return Step(layers, symbols, gathered, products)


def outputs(network: Network, prefixes: PrefixCounts) -> Outputs:
    """Compute one network's states after all prefixes, and what follows these. The arrays have the
    shapes of a stack's.
    """
    vectors = network.vector[None]
    return Evaluator(network, prefixes, 0.0, 1, vectors.dtype).outputs(vectors)


def objective(network: Network, prefixes: PrefixCounts, ridge: float) -> float:
    """Compute J of one network, in nats per prediction; ∞ where it is not a number.

    Parameters
    ----------
    ridge : float
        ρ / N.
    """
    vectors = network.vector[None]
    return float(Evaluator(network, prefixes, ridge, 1).objectives(vectors)[0])


def objectives_and_gradients(
    shape: Network, vectors: FloatArray, prefixes: PrefixCounts, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Compute J and ∂J/∂θ of several networks, as `Evaluator` does, once."""
    evaluator = Evaluator(shape, prefixes, ridge, len(vectors), vectors.dtype)
    return evaluator.objectives_and_gradients(vectors)


def _to_slopes(values: FloatArray, out: FloatArray) -> None:
    """Compute the derivatives of tanh from its values."""
    np.multiply(values, values, out)
    np.subtract(1, out, out)


def _turned(matrices: FloatArray) -> FloatArray:
    return np.swapaxes(matrices, -1, -2)
