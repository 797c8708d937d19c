"""Define recurrent networks as models of strings: GRU (Cho et al. 2014) and LSTM (Hochreiter,
Schmidhuber 1997, with forget gates).

They are evaluated with numpy alone; `learning.recurrent_networks` trains them with torch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import RecipeError, check_one_of
from ..strings.trie import Trie, check_tree
from ..strings.words import Alphabet, FloatArray, check_alphabet, float64_array
from .methods import Methods
from .model import ChainModel

GATES = {"GRU": 3, "LSTM": 4}


@dataclass(frozen=True, eq=False, repr=False)
class RecurrentModel(ChainModel, Methods):
    """A model with one recurrent layer and, on its output h, a softmax over all symbols and the end
    of the string.

    Gates are in torch's order.
    """

    kind: str  # "GRU" (gates r, z, n) or "LSTM" (gates i, f, g, o)
    # (num_symbols + 1, num_gates · num_states): the numbers that each symbol adds to the gates:
    # embedding, input weights and bias combined in one table. The last row is the beginning of a
    # string.
    inputs: FloatArray
    recurrent: FloatArray  # (num_states, num_gates · num_states)
    recurrent_bias: FloatArray  # (num_gates · num_states,)
    output: FloatArray  # (num_states, num_symbols + 1)
    output_bias: FloatArray  # (num_symbols + 1,)
    # the symbols of `inputs` and `output`; None if symbols are known only by their numbers
    alphabet: Alphabet | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_one_of("kind", self.kind, GATES)
        for name in ("inputs", "recurrent", "recurrent_bias", "output", "output_bias"):
            object.__setattr__(self, name, float64_array(name, getattr(self, name)))
        k = (*self.recurrent.shape, 0)[0]
        num_outputs = (*self.inputs.shape, 0)[0]
        wide = GATES[self.kind] * k
        expected_shapes = {
            "inputs": (num_outputs, wide),
            "recurrent": (k, wide),
            "recurrent_bias": (wide,),
            "output": (k, num_outputs),
            "output_bias": (num_outputs,),
        }
        shapes = {name: getattr(self, name).shape for name in expected_shapes}
        if shapes != expected_shapes:
            raise RecipeError(
                f"the arrays of the {self.kind} with {k} states must have the shapes "
                f"{expected_shapes}; got {shapes}"
            )
        check_alphabet(self.alphabet, self.num_symbols)

    @property
    def num_states(self) -> int:
        """Return the number of units of the layer.

        The state of an LSTM has two numbers per unit.
        """
        return len(self.recurrent)

    @property
    def num_symbols(self) -> int:
        return len(self.inputs) - 1

    @cached_property
    def initial(self) -> FloatArray:
        """Return the state of λ, shape (state_size,): the state after reading the beginning of a
        string, starting from zeros.

        It consists of h followed, for an LSTM, by the cell state.
        """
        zeros = np.zeros((1, self.num_states * (1 if self.kind == "GRU" else 2)))
        state: FloatArray = self.transition(zeros, self.num_symbols)[0]
        return state

    def transition(self, states: FloatArray, symbol: int) -> FloatArray:
        """Compute the states after one more symbol, shape (n, state_size)."""
        k = self.num_states
        h = states[:, :k]
        from_symbol = self.inputs[symbol]
        from_state = h @ self.recurrent + self.recurrent_bias
        if self.kind == "GRU":
            gates = _logistic(from_symbol[: 2 * k] + from_state[:, : 2 * k])
            new = np.tanh(from_symbol[2 * k :] + gates[:, :k] * from_state[:, 2 * k :])
            new_states: FloatArray = new + gates[:, k:] * (h - new)
            return new_states
        total = from_symbol + from_state
        i = _logistic(total[:, :k])
        f = _logistic(total[:, k : 2 * k])
        g = np.tanh(total[:, 2 * k : 3 * k])
        o = _logistic(total[:, 3 * k :])
        cell = f * states[:, k:] + i * g
        return np.hstack((o * np.tanh(cell), cell))

    def states(self, trie: Trie) -> FloatArray:
        """Return the state of every prefix of a tree, shape (num_nodes, state_size)."""
        check_tree(trie, self.num_symbols)
        return trie.roll_out(self.initial, self.transition)

    def next_scores(self, trie: Trie) -> FloatArray:
        """p(a | u) for each prefix u, with the end of the string last: shape (num_nodes,
        num_symbols + 1). Rows sum to 1.
        """
        scores = self.states(trie)[:, : self.num_states] @ self.output + self.output_bias
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: FloatArray = odds / odds.sum(axis=1, keepdims=True)
        return probabilities


def _logistic(x: FloatArray) -> FloatArray:
    """Compute 1 / (1 + exp(−x)) in a form that never overflows."""
    return 0.5 + 0.5 * np.tanh(x / 2)
