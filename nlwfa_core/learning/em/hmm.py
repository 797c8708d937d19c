"""Learn a hidden Markov model by EM (Baum, Petrie, Soules, Weiss 1970; Rabiner 1989, §III), as a
WFA of string probabilities.

The end of a string is a symbol, ⊣: for a string x, the model emits x⊣. A state emits a symbol and
then moves to the next state, so A_σ = diag(probability of emitting σ) T and α∞ = probability of
emitting ⊣, where T has the probabilities of the moves. The WFA with these weights computes exactly
the model's probabilities.

(hmmlearn processes one string at a time and takes no counts. The tests compare our results with its
forward pass; docs/benchmarks.md gives its time.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ... import limits
from ...errors import check_at_least, check_between
from ...models.wfa import WFA
from ...rounding import on_one_thread
from ...strings.sample import Sample
from ...strings.words import FloatArray, IntArray
from ..names import PSEUDO_COUNT
from ..progress import CancelCheck, Report, never, silent
from .loop import Loop
from .prefix_tree import Level, Models, PrefixTree, added, with_equal_shares


@dataclass(frozen=True, eq=False)
class HMMs(Models):
    """The probabilities of several hidden Markov models with the same number of states."""

    initial: FloatArray  # (num_models, num_states): each row sums to 1
    # (num_models, num_states, num_states): the matrix T: row i has the probabilities of moving from
    # state i to each state
    moves: FloatArray
    # (num_models, num_symbols, num_states): the probability of emitting each symbol in each state.
    # With the probability of the end, it sums to 1 in each state.
    emissions: FloatArray
    termination: FloatArray  # (num_models, num_states): the probability of the end in each state

    def automaton(self, model: int) -> WFA:
        """Return the same distribution as a WFA."""
        return WFA(
            self.initial[model],
            self.emissions[model, :, :, None] * self.moves[model],
            self.termination[model],
        )

    def _emitted(self, symbols: IntArray) -> FloatArray:
        """Return the probability of each symbol: (num_nodes, num_models, num_states)."""
        return self.emissions.take(symbols, axis=1).swapaxes(0, 1)

    def down(self, states: FloatArray, level: Level, out: FloatArray) -> None:
        """See `Models`."""
        _multiply(states * self._emitted(level.symbols), self.moves, out)

    def up(self, behind: FloatArray, level: Level) -> None:
        """See `Models`."""
        below = behind[level.start : level.stop]
        before = _multiply(below, self.moves.swapaxes(1, 2), np.empty_like(below))
        before *= self._emitted(level.symbols)
        order, first = level.siblings
        behind[level.parents[order[first]]] += np.add.reduceat(before[order], first, axis=0)

    def counts(
        self, tree: PrefixTree, states: FloatArray, behind: FloatArray, termination: FloatArray
    ) -> HMMs:
        """See `Models`."""
        below = behind[1:]
        # how often each node's symbol is emitted, in each state and with the move to each next one
        emitted = states[tree.parent[1:]] * self._emitted(tree.symbol[1:])
        moves = self.moves * np.matmul(emitted.transpose(1, 2, 0), below.swapaxes(0, 1))
        emitted *= _multiply(below, self.moves.swapaxes(1, 2), np.empty_like(below))
        by_symbol = tree.incidence @ emitted.reshape(len(emitted), self.initial.size)
        emissions = by_symbol.reshape(-1, *states.shape[1:]).swapaxes(0, 1)
        return HMMs(states[0] * behind[0], moves, emissions.astype(states.dtype), termination)

    def plus(self, pseudo_count: float, possible: HMMs) -> HMMs:
        """See `Models`."""
        return HMMs(
            self.initial,
            self.moves,
            added(self.emissions, pseudo_count, possible.emissions > 0),
            added(self.termination, pseudo_count, possible.termination > 0),
        )

    def normalised(self, possible: HMMs | None = None) -> HMMs:
        """See `Models`."""
        _, can_move, can_emit, can_end = possible.arrays if possible else [None] * 4
        # a state without moves may only end; one without symbols or an end is never reached
        moves = with_equal_shares(self.moves, self.moves.sum(axis=2, keepdims=True), can_move)
        totals = self.emissions.sum(axis=1) + self.termination
        emissions = with_equal_shares(self.emissions, totals[:, None], can_emit)
        termination = with_equal_shares(self.termination, totals, can_end)
        totals = emissions.sum(axis=1) + termination
        return HMMs(
            self.initial / self.initial.sum(axis=1, keepdims=True),
            moves / moves.sum(axis=2, keepdims=True),
            emissions / totals[:, None],
            termination / totals,
        )


def _multiply(states: FloatArray, matrices: FloatArray, out: FloatArray) -> FloatArray:
    """Multiply the rows of each model by its matrix.

    `states`, `out` (num_nodes, num_models, num_states). `matrices` (num_models, num_states,
    num_states).
    """
    np.matmul(states.swapaxes(0, 1), matrices, out=out.swapaxes(0, 1))
    return out


def random_hmm(tree: PrefixTree, num_states: int, rng: np.random.Generator) -> HMMs:
    """Draw one model as a start for EM: its moves are drawn uniformly from all distributions, and
    its emissions are near the frequencies of the symbols.
    """
    symbols = np.append(tree.symbol_counts, tree.ends.sum())
    emissions = (symbols + 1.0)[:, None] * rng.gamma(1.0, size=(len(symbols), num_states))
    initial, *moves = rng.dirichlet(np.ones(num_states), size=num_states + 1)
    counts = HMMs(initial[None], np.array(moves)[None], emissions[None, :-1], emissions[None, -1])
    return counts.normalised()


@dataclass(frozen=True)
class EM:
    """The settings of EM.

    Attributes
    ----------
    iterations : int
        The largest number of iterations.
    pseudo_count : float
        A number added to every expected emission, so no string has probability 0 and a string can
        end in every state. With 0, the likelihood of the training strings never falls from one
        iteration to the next. With another number c, the likelihood times the product of all
        emission probabilities to the power of c never falls.
    patience : int
        With validation strings, EM stops after this many iterations in a row without a better
        model.
    seed : int
        The seed of the random start.

    Raises
    ------
    RecipeError
        If a number is out of range.
    """

    iterations: int = 500
    pseudo_count: float = PSEUDO_COUNT
    patience: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_at_least("iterations", self.iterations, 1)
        check_at_least("pseudo_count", self.pseudo_count, 0)


@on_one_thread
def fit_hmm(
    train: Sample,
    num_states: int,
    settings: EM = EM(),
    *,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> WFA:
    """Learn a hidden Markov model by EM.

    Parameters
    ----------
    train : Sample
    num_states : int
    settings : EM
    validation : Sample, optional
        Strings for early stopping: `fit_hmm` returns the model with the fewest bits per symbol on
        them. Without validation strings, it returns the last model.
    report, cancelled : callables
        The reported loss is the bits per symbol on the training strings.

    Returns
    -------
    WFA
        The model, as an automaton that computes the probabilities of strings.

    Raises
    ------
    RecipeError
        If a number is out of range or a sample is empty.
    Cancelled
        If `cancelled()` returns true.
    """
    check_between("the number of states of an HMM", num_states, 1, limits.most("rank"))
    loop = Loop(
        train,
        validation,
        settings.iterations,
        settings.pseudo_count,
        settings.patience,
        report=report,
        cancelled=cancelled,
    )
    start = random_hmm(loop.tree, num_states, np.random.default_rng(settings.seed))
    return loop.run(start)[0].automaton(0)
