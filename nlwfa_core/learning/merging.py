"""A deterministic probabilistic automaton (PDFA) learned by merging states of the prefix tree, as a
WFA.

The prefix tree of a sample, with the number of strings that pass through each node, is a
deterministic automaton that repeats the sample exactly. Merging two of its nodes, and then all
nodes to which equal symbols lead from them, gives a smaller automaton. As in ALERGIA (Carrasco,
Oncina 1994) and in the red–blue framework (Lang, Pearlmutter, Price 1998), some nodes are already
states, at first only the root, and the children of states are candidates. The candidate with the
largest count is compared with every state, and is merged into a state or becomes a state itself. If
the target is a PDFA and the sample is large enough, the result has the target's states.

Merges are judged by likelihood, as in MDI (Thollard, Dupont, de la Higuera 2000) and in the tests
of Verwer, Eyraud, de la Higuera (2014): a merge lowers the log-likelihood of the sample by some
loss, and removes some parameters. It is good if loss ≤ penalty · parameters. With a penalty of 1,
this is Akaike's criterion. Nodes with small counts are weak evidence, and there are many of them,
so nodes with counts below `min_count` do not contribute to the loss or to the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from .. import limits
from ..errors import RecipeError, check_at_least, check_between
from ..models.wfa import WFA
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import FloatArray, IntArray, Word
from .early_stopping import check_validation
from .names import PSEUDO_COUNT
from .progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent

# Tried in this order if validation strings can choose; otherwise the first of each is used.
PENALTIES: tuple[float, ...] = (2.0, 1.0, 4.0)
MIN_COUNTS: tuple[int, ...] = (10, 30)
# Cells of the table of children, and of that of counts (512 MB each).
MAX_CELLS = 2**26
# If merges are equally good up to rounding, the first state is taken, on every processor.
NEARLY_EQUAL = 1e-9


@dataclass(frozen=True)
class PDFATraining:
    """The options of state merging.

    Raises RecipeError if a number is out of range.
    """

    # how many nats of log-likelihood a merge may lose for each parameter that it removes
    penalty: float | None = None
    # How many strings must pass through a node for it to be counted in comparing two states.
    # Without `penalty` or `min_count`, validation strings choose among PENALTIES and MIN_COUNTS,
    # and without validation strings the first of these are used.
    min_count: int | None = None
    # A number added to the count of each symbol, and of the end, in each state. A symbol that never
    # occurred in a state leads to the state to which this symbol leads most often.
    pseudo_count: float = PSEUDO_COUNT

    def __post_init__(self) -> None:
        for name in ("penalty", "min_count", "pseudo_count"):
            value = getattr(self, name)
            if value is not None:
                check_at_least(name, value, 0)


def fit_pdfa(
    train: Sample,
    max_states: int,
    training: PDFATraining = PDFATraining(),
    *,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> WFA:
    """Learn a PDFA by merging states of the prefix tree.

    Parameters
    ----------
    train : Sample
    max_states : int
        When there are this many states, every further candidate is merged into the state for which
        the loss of likelihood is smallest.
    training : PDFATraining
    validation : Sample, optional
        Strings for choosing the penalty and the smallest count: the pair with the fewest bits per
        symbol.
    report, cancelled : callables
        The reported loss is the bits per symbol on the training strings, for each combination of
        penalty and smallest count.

    Returns
    -------
    WFA
        The model, with at most `max_states` states. Each state has one transition for each symbol,
        and the weights are the probabilities of strings.

    Raises
    ------
    RecipeError
        If a number is out of range, a sample is empty, or the prefix tree is too large.
    Cancelled
        If `cancelled()` returns true.
    """
    tree = _checked_tree(train, max_states)
    check_validation(validation, train.num_symbols)
    penalties = PENALTIES if training.penalty is None else (training.penalty,)
    min_counts = MIN_COUNTS if training.min_count is None else (training.min_count,)
    if validation is None:
        penalties = penalties[:1]
        min_counts = min_counts[:1]
    settings = list(product(penalties, min_counts))
    best = None
    fewest = np.inf
    for step, (penalty, min_count) in enumerate(settings, 1):
        counts, targets = _Merging(tree, train, penalty, min_count).run(max_states, cancelled)
        model = _automaton(counts, targets, training.pseudo_count)
        bits = _bits(model, train)
        report(Progress("merging", step, len(settings), bits, BITS))
        if validation:
            bits = _bits(model, validation)
        if best is None or bits < fewest * (1 - NEARLY_EQUAL):
            best = model
            fewest = bits
    assert best is not None
    return best


class Choice(NamedTuple):
    """The decision to merge a candidate into a state, or to make it a state.

    Attributes
    ----------
    states : tuple of Word
        The first strings that lead to the states so far, in the order in which they became states.
    arrows : tuple of (int, int, int, float)
        Each has a state, a symbol, the state to which the symbol leads (−1 for a candidate), and
        how often it was read.
    origin, symbol : int
        The arrow that leads to the candidate.
    gains : array, shape (num_states,)
        The gain of merging the candidate into each state, in nats: penalty · (parameters
        removed) − (loss of log-likelihood).
    into : int or None
        The state into which the candidate is merged; None if it becomes a state.
    """

    states: tuple[Word, ...]
    arrows: tuple[tuple[int, int, int, float], ...]
    origin: int
    symbol: int
    gains: FloatArray
    into: int | None


def merging_choices(
    train: Sample, max_states: int, training: PDFATraining = PDFATraining()
) -> Iterator[Choice]:
    """Yield each choice that `fit_pdfa` makes without validation strings; after the last one, no
    candidate is left.

    Parameters and errors are those of `fit_pdfa`.
    """
    tree = _checked_tree(train, max_states)
    penalty = PENALTIES[0] if training.penalty is None else training.penalty
    min_count = MIN_COUNTS[0] if training.min_count is None else training.min_count
    merging = _Merging(tree, train, penalty, min_count)
    for states, children, position, gains, into in merging.choices(max_states, never):
        number = {node: state for state, node in enumerate(states)}
        arrows = tuple(
            (state, symbol, number.get(node, -1), float(merging.counts[states[state], symbol]))
            for state, row in enumerate(children.tolist())
            for symbol, node in enumerate(row)
            if node >= 0
        )
        words = tuple(_word(tree, node) for node in states)
        yield Choice(words, arrows, *position, gains, into)


def _word(tree: Trie, node: int) -> Word:
    """Return the prefix of a node of the tree."""
    symbols = []
    while node:
        symbols.append(int(tree.symbol[node]))
        node = int(tree.parent[node])
    return tuple(symbols[::-1])


def _checked_tree(train: Sample, max_states: int) -> Trie:
    """Make the prefix tree. Raises RecipeError if it, or the automaton, would be too large, or if
    there are no strings.
    """
    check_between("the number of states of a PDFA", max_states, 1, limits.most("rank"))
    limits.check_limit("symbols × rank²", train.num_symbols * max_states**2, "transition_numbers")
    if not len(train.words):
        raise RecipeError(
            "the sample has no strings: there is no prefix tree whose states could be merged"
        )
    tree = Trie.of(train.words, train.num_symbols)
    size = tree.num_nodes * (train.num_symbols + 1)
    if size > MAX_CELLS:
        raise RecipeError(
            "the table of state merging, prefixes × (symbols + 1), must have at most "
            f"{MAX_CELLS:,} cells; "
            f"this sample needs {tree.num_nodes:,} × {train.num_symbols + 1:,} = {size:,}"
        )
    return tree


def _bits(model: WFA, sample: Sample) -> float:
    """Compute the bits per symbol of a sample, counting its ends."""
    log_weights = model.log2_weights(sample.words)
    num_predictions = float(sample.counts @ (sample.words.lengths + 1))
    return float(-(sample.counts @ log_weights) / num_predictions)


def _automaton(counts: FloatArray, targets: IntArray, pseudo_count: float) -> WFA:
    """Turn the counts of a deterministic automaton into probabilities.

    `counts` (num_states, num_symbols + 1): how often each symbol, and last the end, followed in
    each state. State 0 is the start. `targets` (num_states, num_symbols): the state to which each
    symbol leads, or −1 if it never occurred there.
    """
    num_states, num_symbols = targets.shape
    visits = counts.sum(axis=1)
    shares = (counts + pseudo_count) / (visits + pseudo_count * (num_symbols + 1))[:, None]
    transitions = np.zeros((num_symbols, num_states, num_states))
    for symbol in range(num_symbols):
        occurs = targets[:, symbol] >= 0
        weights = np.bincount(targets[occurs, symbol], counts[occurs, symbol], num_states)
        usual = int((weights if occurs.any() else visits).argmax())
        transitions[symbol, np.arange(num_states), np.where(occurs, targets[:, symbol], usual)] = (
            shares[:, symbol]
        )
    return WFA(np.eye(num_states)[0], transitions, shares[:, -1].copy())


class _Fold(NamedTuple):
    """The nodes that are merged if a candidate is merged into each of several states."""

    states: IntArray  # (num_pairs,): the position of the state in the list of states
    into: IntArray  # into, nodes (num_pairs,): each node, and the node into which it is merged
    nodes: IntArray


class _Merging:
    """The prefix tree while its states are merged.

    `children` (num_nodes, num_symbols): the node to which each symbol leads, or −1. `counts`
    (num_nodes, num_symbols + 1): how often each symbol, and last the end, followed at each node.
    `log_likelihoods` and `num_parameters` (num_nodes,): Σ c log(c / n) of each node's counts c with
    their sum n, in nats; how many of the counts are not 0, minus 1.
    """

    def __init__(self, tree: Trie, train: Sample, penalty: float, min_count: int) -> None:
        self.penalty = penalty
        self.min_count = min_count
        self.children = np.full((tree.num_nodes, train.num_symbols), -1)
        self.children[tree.parent[1:], tree.symbol[1:]] = np.arange(1, tree.num_nodes)
        self.counts = np.zeros((tree.num_nodes, train.num_symbols + 1))
        self.counts[tree.parent[1:], tree.symbol[1:]] = tree.prefix_counts(train.counts)[1:]
        self.counts[:, -1] = tree.end_counts(train.counts)
        self.log_likelihoods, self.num_parameters = (
            _log_likelihoods(self.counts),
            _num_parameters(self.counts),
        )

    def run(self, max_states: int, cancelled: CancelCheck) -> tuple[FloatArray, IntArray]:
        """Merge until only states are left. Return their counts, and the state to which each symbol
        leads from each state (−1 if there is none).
        """
        states = [0]
        for choice in self.choices(max_states, cancelled):
            states = choice[0]
        numbers = np.full(len(self.counts), -1)
        numbers[states] = np.arange(len(states))
        children = self.children[states]
        return self.counts[states], np.where(children >= 0, numbers[children], -1)

    def choices(
        self, max_states: int, cancelled: CancelCheck
    ) -> Iterator[tuple[list[int], IntArray, tuple[int, int], FloatArray, int | None]]:
        """Merge, and yield before each merge or new state: the nodes that are states, a list that
        grows; their children; the state and the symbol that lead to the candidate; its gains; and
        the state into which it is merged (None if it becomes a state).
        """
        states = [0]
        is_state = np.zeros(len(self.counts), dtype=bool)
        is_state[0] = True
        while True:
            check_cancelled(cancelled)
            children = self.children[states]
            origins, symbols = np.nonzero(children >= 0)
            candidates = children[origins, symbols]
            new = np.flatnonzero(~is_state[candidates])
            if not len(new):
                break
            totals = self.counts[candidates[new]].sum(axis=1)
            position = new[totals.argmax()]
            candidate = int(candidates[position])
            total = float(totals.max())
            # A candidate with a small count never becomes a state, so all its counts are compared.
            gains = self._gains(states, candidate, self.min_count if total >= self.min_count else 0)
            best = int((gains >= gains.max() - NEARLY_EQUAL * max(abs(gains.max()), 1)).argmax())
            is_new = gains[best] < 0 and total >= self.min_count and len(states) < max_states
            arrow = int(origins[position]), int(symbols[position])
            yield states, children, arrow, gains, None if is_new else best
            if is_new:
                states.append(candidate)
                is_state[candidate] = True
            else:
                self._merge(states[best], candidate)
                self.children[states[arrow[0]], arrow[1]] = states[best]

    def _fold(self, states: list[int], candidate: int, min_count: int) -> _Fold:
        """Find all pairs of nodes that become one, level by level below the candidate.

        Below the candidate is a tree, so each node is merged once for each state. A node without a
        counterpart below the state is moved there, and later nodes that would have the same
        counterpart are merged into it.
        """
        num_nodes, num_symbols = self.children.shape
        state_rows = np.arange(len(states))
        into = np.array(states)
        nodes = np.full(len(states), candidate)
        moved_keys = np.empty(0, dtype=np.int64)
        moved_nodes = np.empty(0, dtype=np.int64)
        levels = []
        while len(nodes):
            levels.append(_Fold(state_rows, into, nodes))
            children = self.children[nodes]
            parents, symbols = np.nonzero(children >= 0)
            nodes = children[parents, symbols]
            if min_count:
                large = self.counts[nodes].sum(axis=1) >= min_count
                parents = parents[large]
                symbols = symbols[large]
                nodes = nodes[large]
            state_rows = state_rows[parents]
            parents_into = into[parents]
            into = self.children[parents_into, symbols]
            # The candidate is about to be replaced by the state.
            into = np.where(into == candidate, np.array(states)[state_rows], into)
            missing = np.flatnonzero(into < 0)
            if len(missing):
                places = state_rows[missing] * num_nodes + parents_into[missing]
                keys = places * num_symbols + symbols[missing]
                into[missing] = _look_up(keys, moved_keys, moved_nodes)
                is_new = into[missing] < 0
                missing = missing[is_new]
                new_keys, first_of_key, inverse = np.unique(
                    keys[is_new], return_index=True, return_inverse=True
                )
                moved = nodes[missing[first_of_key]]
                into[missing] = moved[inverse]
                moved_keys = np.concatenate((moved_keys, new_keys))
                moved_nodes = np.concatenate((moved_nodes, moved))
                order = np.argsort(moved_keys)
                moved_keys = moved_keys[order]
                moved_nodes = moved_nodes[order]
            merged = into != nodes  # a node that is moved takes its children along
            state_rows = state_rows[merged]
            into = into[merged]
            nodes = nodes[merged]
        return _Fold(*(np.concatenate(parts) for parts in zip(*levels, strict=True)))

    def _gains(self, states: list[int], candidate: int, min_count: int) -> FloatArray:
        """Compute penalty · (parameters removed) − (loss of log-likelihood) of merging the
        candidate into each state.
        """
        fold = self._fold(states, candidate, min_count)
        num_nodes = len(self.counts)
        keys, inverse = np.unique(fold.states * num_nodes + fold.into, return_inverse=True)
        owners, into = np.divmod(keys, num_nodes)
        counts: FloatArray = self.counts[into]
        np.add.at(counts, inverse, self.counts[fold.nodes])
        loss = self.log_likelihoods[into] - _log_likelihoods(counts)
        removed = self.num_parameters[into] - _num_parameters(counts)
        own = self.penalty * self.num_parameters[fold.nodes] - self.log_likelihoods[fold.nodes]
        gains = np.zeros(len(states))
        np.add.at(gains, owners, self.penalty * removed - loss)
        np.add.at(gains, fold.states, own)
        return gains

    def _merge(self, state: int, candidate: int) -> None:
        fold = self._fold([state], candidate, 0)
        np.add.at(self.counts, fold.into, self.counts[fold.nodes])
        for into, node in zip(fold.into.tolist(), fold.nodes.tolist(), strict=True):
            moved = (self.children[into] < 0) & (self.children[node] >= 0)
            self.children[into, moved] = self.children[node, moved]
        changed = np.unique(fold.into)
        self.log_likelihoods[changed] = _log_likelihoods(self.counts[changed])
        self.num_parameters[changed] = _num_parameters(self.counts[changed])


def _look_up(keys: IntArray, sorted_keys: IntArray, values: IntArray) -> IntArray:
    """Find the value of each key, or −1."""
    if not len(sorted_keys):
        return np.full(len(keys), -1)
    positions = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[positions] == keys, values[positions], -1)


def _log_likelihoods(counts: FloatArray) -> FloatArray:
    totals = counts.sum(axis=1)
    likelihoods: FloatArray = xlogy(counts, counts).sum(axis=1) - xlogy(totals, totals)
    return likelihoods


def _num_parameters(counts: FloatArray) -> IntArray:
    numbers: IntArray = np.maximum((counts > 0).sum(axis=1) - 1, 0)
    return numbers
