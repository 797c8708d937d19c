"""Learn a hidden Markov model by EM (Baum, Petrie, Soules, Weiss 1970; Rabiner 1989, §III), as a
WFA of string probabilities.

The end of a string is a symbol, ⊣, that is emitted last: for a string x, the model emits x⊣. A
state emits a symbol and then moves to the next state, so A_σ = diag(probability of emitting σ) T
and α∞ = probability of emitting ⊣, where T has the probabilities of the moves. The WFA with these
weights computes exactly the model's probabilities.

The E step makes one forward and one backward pass over the prefix tree, whose nodes are the
distinct prefixes of the strings. One pass is enough for all strings with a prefix in common,
because only the sum of their backward passes, weighted by counts, matters. So an iteration costs
O(num_nodes · num_states²), whatever the number of strings. (hmmlearn processes one string at a time
and takes no counts. The tests compare with its forward pass; docs/benchmarks.md has its time.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ... import limits
from ...errors import RecipeError, check_at_least, check_between
from ...models.wfa import WFA
from ...rounding import on_one_thread
from ...strings.sample import Sample
from ...strings.trie import Trie
from ...strings.words import FloatArray
from ..early_stopping import EarlyStopping
from ..progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent


@dataclass(frozen=True, eq=False)
class HMM:
    """The probabilities of a hidden Markov model.

    Attributes
    ----------
    initial : array, shape (num_states,)
    moves : array, shape (num_states, num_states)
        The matrix T: row i has the probabilities of moving from state i to each state.
    emissions : array, shape (num_symbols + 1, num_states)
        The probability of emitting each symbol in each state. The last row is the end of the
        string. Columns sum to 1.
    """

    initial: FloatArray
    moves: FloatArray
    emissions: FloatArray

    def automaton(self) -> WFA:
        """Return the same distribution as a WFA."""
        return WFA(self.initial, self.emissions[:-1, :, None] * self.moves, self.emissions[-1])


@dataclass(frozen=True, eq=False)
class Expectations:
    """The result of the E step: the expected counts of hidden events, and the likelihood."""

    # initial, moves, emissions, with the shapes of the fields of `HMM`: how often strings are
    # expected to start in each state, to move from each state to each other, and to emit each
    # symbol or the end in each state
    initial: FloatArray
    moves: FloatArray
    emissions: FloatArray
    log_likelihood: float  # Σ_x count(x) log₂ P(x)
    model: HMM  # the model of the E step

    def maximised(self, pseudo_count: float) -> HMM:
        """Carry out the M step: compute relative frequencies, after adding `pseudo_count` to each
        emission.

        What has the probability 0 in the model of the E step keeps it: nothing is added to its
        count.
        """
        before = self.model
        return HMM(
            _shares(self.initial, before.initial),
            _shares(self.moves.T, before.moves.T).T,
            _shares(self.emissions + pseudo_count * (before.emissions > 0), before.emissions),
        )


def _shares(counts: FloatArray, possible: FloatArray) -> FloatArray:
    """Divide each column by its sum.

    A column of zeros, of a state that is never reached or that only ends, gets equal shares
    wherever `possible` is above 0.
    """
    counts = counts + (possible > 0) * (counts.sum(axis=0) == 0)
    shares: FloatArray = counts / counts.sum(axis=0)
    return shares


class PrefixTree:
    """The E step over the prefix tree of a sample."""

    def __init__(self, train: Sample) -> None:
        self.trie = Trie.of(train.words, train.num_symbols)
        self.begins, self.ends = (
            self.trie.prefix_counts(train.counts),
            self.trie.end_counts(train.counts),
        )
        num_nodes = self.trie.num_nodes
        ones = np.ones(num_nodes - 1)
        self.by_symbol = sparse.csr_array(
            (ones, (self.trie.symbol[1:], np.arange(1, num_nodes))), (train.num_symbols, num_nodes)
        )

    @property
    def num_predictions(self) -> int:
        """Symbols and ends of all strings, repeated ones included."""
        return int(self.begins.sum())

    def expect(self, model: HMM) -> Expectations:
        """Run one forward and one backward pass.

        Forward vectors are scaled to sum to 1, so long strings do not underflow.
        """
        trie, end = self.trie, model.emissions[-1]
        levels = list(zip(trie.levels[1:-1].tolist(), trie.levels[2:].tolist(), strict=True))
        # (num_nodes, k): of the symbol that led to each node; the root's row is not used
        emitted = model.emissions[trie.symbol]
        forward = np.empty((trie.num_nodes, len(end)))  # states of each prefix, given the prefix
        # states before the last symbol, times its emission, over its probability
        joint = np.zeros_like(forward)
        chances = np.ones(trie.num_nodes)  # of the last symbol, given the symbols before it
        forward[0] = model.initial
        for start, stop in levels:
            level = slice(start, stop)
            joint[level] = forward[trie.parent[level]] * emitted[level]
            chances[level] = joint[level].sum(axis=1)
            joint[level] /= chances[level, None]
            forward[level] = joint[level] @ model.moves
        stops = forward @ end
        final = self.ends > 0  # the model may hold an end after other prefixes for impossible
        ending = np.divide(self.ends, stops, out=np.zeros(len(stops)), where=final)
        # Σ over strings below: count × P(rest | state) / P(rest | prefix)
        backward = np.outer(ending, end)
        behind = np.zeros_like(backward)  # the same, before the move that follows the last symbol
        for start, stop in reversed(levels):
            level, parents = slice(start, stop), trie.parent[start:stop]
            behind[level] = backward[level] @ model.moves.T
            first = np.flatnonzero(np.diff(parents, prepend=-1))  # siblings are adjacent
            backward[parents[first]] += np.add.reduceat(
                behind[level] * (emitted[level] / chances[level, None]), first, axis=0
            )
        emissions = np.vstack(
            (np.asarray(self.by_symbol @ (joint * behind)), ending @ forward * end)
        )
        log_likelihood = self.begins @ np.log2(chances) + self.ends[final] @ np.log2(stops[final])
        moves = model.moves * (joint.T @ backward)
        return Expectations(
            forward[0] * backward[0], moves, emissions, float(log_likelihood), model
        )


def random_hmm(tree: PrefixTree, num_states: int, rng: np.random.Generator) -> HMM:
    """Return a start for EM: moves drawn uniformly from all distributions, emissions near the
    frequencies of the symbols.
    """
    symbols = np.append(tree.by_symbol @ tree.begins, tree.ends.sum())
    emissions = (symbols + 1.0)[:, None] * rng.gamma(1.0, size=(len(symbols), num_states))
    initial, *moves = rng.dirichlet(np.ones(num_states), size=num_states + 1)
    return HMM(initial, np.array(moves), emissions / emissions.sum(axis=0))


@dataclass(frozen=True)
class EM:
    """The settings of EM.

    Attributes
    ----------
    iterations : int
        The largest number of iterations.
    pseudo_count : float
        A number added to every expected emission, so no string has probability 0 and a string
        can end in every state. With 0, the likelihood of the training strings never falls from one
        iteration to the next. With another number c, what never falls is the likelihood times the
        product of all emission probabilities to the power of c.
    patience : int
        With validation strings, EM stops after this many iterations in a row without a better
        model.
    seed : int
        The seed of the random start.

    Raises
    ------
    RecipeError
        If a number is not possible.
    """

    iterations: int = 500
    pseudo_count: float = 0.1
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
        If a number is not possible or a sample is empty.
    Cancelled
    """
    check_between("the number of states of an HMM", num_states, 1, limits.most("rank"))
    if not len(train.words):
        raise RecipeError("the sample has no strings: EM has nothing to learn from")
    stopping: EarlyStopping[WFA] = EarlyStopping(validation, train.num_symbols, settings.patience)
    tree = PrefixTree(train)
    model = random_hmm(tree, num_states, np.random.default_rng(settings.seed))
    for iteration in range(settings.iterations):
        check_cancelled(cancelled)
        expected = tree.expect(model)
        report(
            Progress(
                "EM",
                iteration,
                settings.iterations,
                -expected.log_likelihood / tree.num_predictions,
                BITS,
            )
        )
        model = expected.maximised(settings.pseudo_count)
        stopping.offer(model.automaton())
        if stopping.is_late:
            break
    return stopping.best
