"""Learn a probabilistic finite automaton (PFA) by EM (Baum et al. 1970; for this model Dupont,
Denis, Esposito 2005, §4), as a WFA.

In each state, a PFA either ends or emits a symbol and moves to a next state: P(σ, j | i) = A_σ[i,
j], and P(end | i) = α∞[i]. So it has a number for each symbol and each move, where an HMM (`hmm`)
has only the product of an emission and a move; every HMM is a PFA with as many states. The WFA with
these weights computes exactly the model's probabilities.

As in `hmm`, the E step makes one pass down and one pass up the prefix tree, whose nodes are the
distinct prefixes of the strings: the backward vectors of all strings with a common prefix are added
up, weighted by counts. An iteration costs O(num_nodes · num_states²), whatever the number of
strings. Several starts run side by side: each product of matrices has one more axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ... import limits
from ...errors import RecipeError, check_at_least, check_between, check_one_of, plural
from ...hankel.basis import select_basis
from ...hankel.estimate import estimate_hankel
from ...models.conversion import to_string_probabilities
from ...models.wfa import WFA
from ...rounding import on_one_thread
from ...strings.sample import Sample
from ...strings.trie import Trie
from ...strings.words import FloatArray, IntArray, by_symbol
from ..early_stopping import check_validation
from ..names import EM_STARTS, PSEUDO_COUNT
from ..progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent
from ..spectral import fit_spectral, truncated_svd, weighted_block

BoolArray = npt.NDArray[np.bool_]
# Rows of two arrays that are multiplied at once: 32 MB with 40 states and one start.
MAX_ROWS = 2**16
# Numbers in the largest arrays of an E step (512 MB each): with more, fewer starts run side by
# side.
MAX_NUMBERS = 2**26
# The prefixes and suffixes that a spectral start counts.
SPECTRAL_BASIS = 500
# The share of a random model in a spectral start, and how far the two halves of a split state are
# apart.
NOISE = 0.1
SUM_ERROR = 1e-6  # of probabilities that must sum to 1: model files may hold few digits


@dataclass(frozen=True, eq=False)
class PFAs:
    """The probabilities of several PFA with equally many states."""

    initial: FloatArray  # (num_models, num_states): each row sums to 1
    # (num_models, num_symbols, num_states, num_states): P(σ, j | i): the probability of emitting σ
    # and moving to state j, in state i
    transitions: FloatArray
    # (num_models, num_states): P(end | i). With all transitions from state i, it sums to 1.
    termination: FloatArray

    def __len__(self) -> int:
        return len(self.initial)

    def take(self, models: IntArray) -> PFAs:
        """Select some of the models by their numbers."""
        return PFAs(self.initial[models], self.transitions[models], self.termination[models])

    def automaton(self, model: int) -> WFA:
        """Return one of the models as a WFA."""
        return WFA(self.initial[model], self.transitions[model], self.termination[model])

    @classmethod
    def joined(cls, parts: list[PFAs]) -> PFAs:
        """Put the models of several parts, all with equally many states, into one value."""
        names = ("initial", "transitions", "termination")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @classmethod
    def of_counts(
        cls,
        initial: FloatArray,
        transitions: FloatArray,
        termination: FloatArray,
        *,
        possible: PFAs | None = None,
    ) -> PFAs:
        """Turn (expected) counts into probabilities: divide initial ones by their sum, and moves
        and ends by the sum of each state.

        A count of 0 becomes a probability of exactly 0, except in a state without any counts, where
        all moves and the end get equal shares: all that have a probability above 0 in `possible`,
        if it is passed.
        """
        totals = transitions.sum(axis=(1, 3)) + termination
        if not totals.all():
            empty = (totals == 0).astype(totals.dtype)
            equal, equal_end = empty[:, None, :, None], empty
            if possible is not None:
                equal = equal * (possible.transitions > 0)
                equal_end = empty * (possible.termination > 0)
            transitions = transitions + equal
            termination = termination + equal_end
            totals = transitions.sum(axis=(1, 3)) + termination
        return cls(
            initial / initial.sum(axis=1, keepdims=True),
            transitions / totals[:, None, :, None],
            termination / totals,
        )


@dataclass(frozen=True, eq=False)
class PFAExpectations:
    """The result of the E step: the expected counts of hidden events, and the likelihood."""

    # initial, transitions, termination, with the shapes of the fields of `PFAs`: how often strings
    # are expected to start in each state, to make each move with each symbol, and to end in each
    # state
    initial: FloatArray
    transitions: FloatArray
    termination: FloatArray
    log_likelihoods: FloatArray  # (num_models,): Σ_x count(x) log₂ P(x)
    models: PFAs  # the models of the E step

    def maximised(self, pseudo_count: float) -> PFAs:
        """Carry out the M step: relative frequencies, after adding `pseudo_count` for each symbol
        and for the end in each state.

        That of a symbol is shared out evenly among the states that follow. So the result is the
        mode of the posterior if each state has a Dirichlet prior with the parameters 1 +
        pseudo_count / num_states for moves, and 1 + pseudo_count for the end.

        Nothing is added to what has the probability 0 in the models of the E step, so it keeps the
        probability 0.
        """
        shared = pseudo_count / self.initial.shape[1]
        return PFAs.of_counts(
            self.initial,
            _added(self.transitions, shared, self.models.transitions > 0),
            _added(self.termination, pseudo_count, self.models.termination > 0),
            possible=self.models,
        )

    def maximised_as_hmms(self, pseudo_count: float) -> PFAs:
        """The M step if moves do not depend on the symbol, so each PFA is an HMM: that of
        `hmm.Expectations.maximised`.
        """
        possible = self.models.transitions > 0
        # (num_models, num_symbols, num_states)
        emissions = _added(
            self.transitions.sum(axis=3), pseudo_count, np.asarray(possible.any(axis=3))
        )
        moves = self.transitions.sum(axis=1)
        # equal shares without counts
        moves = moves + possible.any(axis=1) * (moves.sum(axis=2, keepdims=True) == 0)
        # a state may only end
        moves /= np.maximum(moves.sum(axis=2, keepdims=True), np.finfo(moves.dtype).tiny)
        ends = _added(self.termination, pseudo_count, self.models.termination > 0)
        return PFAs.of_counts(
            self.initial, emissions[..., None] * moves[:, None], ends, possible=self.models
        )


def _added(counts: FloatArray, number: float, where: BoolArray) -> FloatArray:
    """Add a number to some counts, in the precision of the counts."""
    added: FloatArray = np.add(counts, number, out=counts.copy(), where=where)
    return added


class MoveTree:
    """Computes the E step of EM over the prefix tree of a sample.

    Within each level, nodes are in the order of their symbols, so all products with one A_σ in
    a level are one product.

    `num_predictions`: symbols and ends of all strings, repeated ones included.
    """

    def __init__(self, sample: Sample) -> None:
        trie = Trie.of(sample.words, sample.num_symbols)
        order = np.lexsort((trie.symbol, trie.depth))
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        self.num_nodes, self.num_symbols = trie.num_nodes, sample.num_symbols
        self.begins, self.ends = (
            trie.prefix_counts(sample.counts)[order],
            trie.end_counts(sample.counts)[order],
        )
        self.num_predictions = int(self.begins.sum())
        self.final = np.flatnonzero(self.ends)
        self.parent, symbol = number[trie.parent[order]], trie.symbol[order]
        self.levels = list(pairwise(trie.levels[1:].tolist()))
        # Of each level: the symbols in it, each with the first of its nodes and the node after the
        # last.
        self.parts: list[list[tuple[int, int, int]]] = []
        for start, stop in self.levels:
            first = start + np.flatnonzero(np.diff(symbol[start:stop], prepend=-1))
            bounds = [*first.tolist(), stop]
            self.parts.append([(int(symbol[a]), a, b) for a, b in pairwise(bounds)])
        self.by_symbol = (
            [(one, 1 + nodes) for one, nodes in by_symbol(symbol[1:])] if self.num_nodes > 1 else []
        )

    def forward(self, models: PFAs) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Run the forward recursion: from the root of the tree down.

        Returns `states` (num_nodes, num_models, num_states): the probability of each state after
        each prefix, given the prefix: scaled to sum to 1, so nothing underflows. `chances`
        (num_nodes, num_models): the probability of each prefix's last symbol, given the symbols
        before it. `stops` (num_final, num_models): the probability of the end after each prefix
        that is a whole string.
        """
        states = np.empty((self.num_nodes, *models.initial.shape), dtype=models.initial.dtype)
        chances = np.ones(states.shape[:2], dtype=states.dtype)
        states[0] = models.initial
        with np.errstate(invalid="ignore"):  # a string that is not possible has no states: nan
            for (start, stop), parts in zip(self.levels, self.parts, strict=True):
                before = states.take(self.parent[start:stop], axis=0)
                for symbol, a, b in parts:
                    rows = before[a - start : b - start].swapaxes(0, 1)
                    np.matmul(rows, models.transitions[:, symbol], out=states[a:b].swapaxes(0, 1))
                chances[start:stop] = states[start:stop].sum(axis=2)
                states[start:stop] /= chances[start:stop, :, None]
        stops = np.einsum("nbk,bk->nb", states[self.final], models.termination)
        return states, chances, stops

    def log_likelihoods(self, models: PFAs) -> FloatArray:
        """Σ_x count(x) log₂ P(x), shape (num_models,); −∞ if a string is not possible."""
        _, chances, stops = self.forward(models)
        return self._log_likelihoods(chances, stops)

    def _log_likelihoods(self, chances: FloatArray, stops: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            logs = self.begins @ np.log2(chances) + self.ends[self.final] @ np.log2(stops)
        likelihoods: FloatArray = np.where(np.isnan(logs), -np.inf, logs)
        return likelihoods

    def expect(self, models: PFAs) -> PFAExpectations:
        """Carry out the E step: the forward recursion, then the backward recursion from the leaves
        up.
        """
        states, chances, stops = self.forward(models)
        weights = self.ends[self.final, None].astype(stops.dtype) / stops
        termination = np.einsum("nbk,nb->bk", states[self.final], weights) * models.termination
        # Σ over the strings below a node: count × P(rest | state) / P(rest | prefix). Then the same
        # over the chance of its symbol.
        behind = np.zeros_like(states)
        behind[self.final] = weights[:, :, None] * models.termination
        backward = models.transitions.swapaxes(2, 3)
        for (start, stop), parts in zip(reversed(self.levels), reversed(self.parts), strict=True):
            behind[start:stop] /= chances[start:stop, :, None]
            # a node has one child with each symbol, so no parent occurs twice
            for symbol, a, b in parts:
                before = np.matmul(behind[a:b].swapaxes(0, 1), backward[:, symbol])
                behind[self.parent[a:b]] += before.swapaxes(0, 1)
        transitions = np.zeros_like(models.transitions)
        for symbol, nodes in self.by_symbol:
            for first in range(0, len(nodes), MAX_ROWS):
                some = nodes[first : first + MAX_ROWS]
                before, after = states.take(self.parent[some], axis=0), behind.take(some, axis=0)
                transitions[:, symbol] += np.matmul(before.transpose(1, 2, 0), after.swapaxes(0, 1))
        transitions *= models.transitions
        log_likelihoods = self._log_likelihoods(chances, stops)
        return PFAExpectations(
            states[0] * behind[0], transitions, termination, log_likelihoods, models
        )


@dataclass(frozen=True)
class PFATraining:
    """Options of EM for a PFA.

    Raises RecipeError if a number is not possible, or the start is unknown.
    """

    # one of `learning.names.EM_STARTS`: a random model; a spectral model, projected on
    # distributions (`spectral_pfa`); or a small random model whose states are split again and
    # again, with EM in between (`split_states`)
    start: str = "random"
    starts: int = 1  # how many starts are tried, each with its own random numbers
    iterations: int = 500  # the largest number of iterations
    # A number added to the expected count of each symbol, and of the end, in each state, so no
    # string has probability 0 and a string can end in every state. With 0, the likelihood of the
    # training strings never falls from one iteration to the next. It is not added to what has the
    # probability 0 at the start.
    pseudo_count: float = PSEUDO_COUNT
    # with validation strings, EM stops after this many iterations in a row without a better model
    patience: int = 20
    # without validation strings, EM stops when `patience` iterations lowered the bits per symbol by
    # less than this share
    tolerance: float = 1e-5
    seed: int = 0  # the seed of the random numbers

    def __post_init__(self) -> None:
        check_one_of("em_start", self.start, EM_STARTS)
        for name, least in (
            ("starts", 1),
            ("iterations", 1),
            ("pseudo_count", 0),
            ("patience", 1),
            ("tolerance", 0),
            ("seed", 0),
        ):
            check_at_least(name, getattr(self, name), least)


@on_one_thread
def fit_pfa(
    train: Sample,
    num_states: int,
    training: PFATraining = PFATraining(),
    *,
    initial: WFA | None = None,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> WFA:
    """Learn a PFA by EM, and return the best model of all starts.

    `initial`: a probabilistic automaton from which EM starts, in place of the starts of `training`:
    with `num_states` states and the symbols of `train`. EM keeps its zeros: what it holds
    impossible stays impossible, so it can fix a structure, such as moves from left to right only.
    `validation`: strings that decide when EM stops, and which start and iteration has the best
    model: the one with the fewest bits per symbol on them. Without validation strings, it is the
    last model of the start with the largest likelihood. `report` and `cancelled`: the reported loss
    is the bits per symbol on the training strings, of the best start.

    Returns the model, as an automaton that computes the probabilities of strings.

    Raises RecipeError if a number is not possible, a sample is empty, or `initial` is not such an
    automaton, or gives a training string the probability 0. Raises Cancelled.
    """
    models, losses = fit_pfas(
        train,
        num_states,
        training,
        initial=initial,
        validation=validation,
        report=report,
        cancelled=cancelled,
    )
    return models.automaton(int(np.argmin(losses)))


def fit_pfas(
    train: Sample,
    num_states: int,
    training: PFATraining = PFATraining(),
    *,
    initial: WFA | None = None,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[PFAs, FloatArray]:
    """Learn a PFA from each start, with the parameters and errors of `fit_pfa`.

    Returns `models`: the best model of each start. `losses` (starts,): its bits per symbol, on the
    validation strings if there are any, and otherwise on the training strings.
    """
    check_between("the number of states of a PFA", num_states, 1, limits.most("rank"))
    limits.check_limit("symbols × rank²", train.num_symbols * num_states**2, "transition_numbers")
    if not len(train.words):
        raise RecipeError("the sample has no strings: EM has nothing to learn from")
    check_validation(validation, train.num_symbols)
    check_cancelled(cancelled)
    tree, held_out = MoveTree(train), MoveTree(validation) if validation else None
    if initial is not None:
        start = _start_at(initial, num_states, train.num_symbols)
        if not np.isfinite(tree.log_likelihoods(start)).all():
            impossible = np.flatnonzero(np.isneginf(start.automaton(0).log2_weights(train.words)))
            named = (
                f": {train.alphabet.decode(train.words[impossible[0]])!r}"
                if len(impossible)
                else ""
            )
            raise RecipeError(
                "initial must give all training strings a probability above 0; got one that "
                f"has 0{named}"
            )
        return _EM(tree, held_out, training, report, cancelled).run(start)
    rng = np.random.default_rng(training.seed)
    at_once = max(1, MAX_NUMBERS // (tree.num_nodes * num_states))
    parts = []
    for first in range(0, training.starts, at_once):
        number = min(at_once, training.starts - first)
        em = _EM(tree, held_out, training, report, cancelled)
        if training.start == "spectral":
            models = PFAs.joined([spectral_pfa(train, num_states, rng) for _ in range(number)])
        else:
            models = random_pfas(tree, number, num_states if training.start == "random" else 1, rng)
        while models.initial.shape[1] < num_states:
            models = split_states(models, num_states, tree, rng)
            if models.initial.shape[1] < num_states:
                models, _ = em.run(models)
        parts.append(em.run(models))
    return PFAs.joined([models for models, _ in parts]), np.concatenate(
        [losses for _, losses in parts]
    )


def _start_at(initial: WFA, num_states: int, num_symbols: int) -> PFAs:
    """Check an automaton from which EM starts, and return its probabilities."""
    if initial.transitions.shape != (num_symbols, num_states, num_states):
        given = f"{plural(initial.num_states, 'state')} and {plural(initial.num_symbols, 'symbol')}"
        raise RecipeError(
            f"initial must have {plural(num_states, 'state')} and "
            f"{plural(num_symbols, 'symbol')}; got {given}"
        )
    totals = initial.transitions.sum(axis=(0, 2)) + initial.termination
    least = min(initial.initial.min(), initial.transitions.min(), initial.termination.min())
    if (
        least < 0
        or abs(initial.initial.sum() - 1) > SUM_ERROR
        or np.abs(totals - 1).max() > SUM_ERROR
    ):
        raise RecipeError(
            "initial must be a probabilistic automaton: entries of at least 0, and a sum of "
            "1 at the start and in each state"
        )
    return PFAs(initial.initial[None], initial.transitions[None], initial.termination[None])


class _EM:
    """Runs EM on several models side by side, and keeps the best of each.

    A model that has ended is taken out, so the others no longer wait for it.
    """

    def __init__(
        self,
        tree: MoveTree,
        held_out: MoveTree | None,
        training: PFATraining,
        report: Report,
        cancelled: CancelCheck,
    ) -> None:
        self.tree, self.held_out, self.training = tree, held_out, training
        self.report, self.cancelled = report, cancelled

    def run(self, models: PFAs) -> tuple[PFAs, FloatArray]:
        """Run EM from some models. Returns the best model of each start, and its loss."""
        training, tree, held_out = self.training, self.tree, self.held_out
        best = models.take(np.arange(len(models)))
        # of the best, and its iteration
        losses, last = np.full(len(models), np.inf), np.zeros(len(models), dtype=np.int64)
        active, history = np.arange(len(models)), list[FloatArray]()
        bits = np.full(len(models), np.inf)
        for iteration in range(training.iterations):
            check_cancelled(self.cancelled)
            expected = tree.expect(models)
            bits[active] = -expected.log_likelihoods / tree.num_predictions
            history.append(bits.copy())
            self.report(Progress("EM", iteration, training.iterations, float(bits.min()), BITS))
            models = expected.maximised(training.pseudo_count)
            if held_out is None:
                self._keep(best, active, models)
                earlier = history[max(0, len(history) - 1 - training.patience)]
                over = (len(history) > training.patience) & (
                    earlier - bits < training.tolerance * earlier
                )[active]
            else:
                loss = -held_out.log_likelihoods(models) / held_out.num_predictions
                better = (loss < losses[active]) | ((iteration == 0) & ~np.isfinite(loss))
                self._keep(best, active[better], models.take(np.flatnonzero(better)))
                losses[active[better]], last[active[better]] = loss[better], iteration
                over = iteration - last[active] >= training.patience
            models, active = models.take(np.flatnonzero(~over)), active[~over]
            if not len(active):
                break
        if held_out is None:
            losses = -tree.log_likelihoods(best) / tree.num_predictions
        return best, losses

    @staticmethod
    def _keep(best: PFAs, places: IntArray, models: PFAs) -> None:
        best.initial[places], best.transitions[places], best.termination[places] = (
            models.initial,
            models.transitions,
            models.termination,
        )


def random_pfas(tree: MoveTree, num_models: int, num_states: int, rng: np.random.Generator) -> PFAs:
    """Starts for EM: symbols and ends near their frequencies in each state, each with moves drawn
    from all distributions.
    """
    symbols = np.zeros(tree.num_symbols)
    for symbol, nodes in tree.by_symbol:
        symbols[symbol] = tree.begins[nodes].sum()
    shape = (num_models, tree.num_symbols, num_states)
    emissions = (symbols + 1.0)[:, None] * rng.gamma(1.0, size=shape)
    ends = (tree.ends.sum() + 1.0) * rng.gamma(1.0, size=(num_models, num_states))
    moves = rng.dirichlet(np.ones(num_states), size=shape)
    return PFAs.of_counts(
        rng.dirichlet(np.ones(num_states), size=num_models), emissions[..., None] * moves, ends
    )


def random_hmms(tree: MoveTree, num_models: int, num_states: int, rng: np.random.Generator) -> PFAs:
    """Starts for EM of HMMs: those of `random_pfas`, with the moves of symbol 0 for all symbols."""
    models = random_pfas(tree, num_models, num_states, rng)
    emissions = models.transitions.sum(axis=3, keepdims=True)
    moves = models.transitions[:, :1] / emissions[:, :1]
    return PFAs.of_counts(models.initial, emissions * moves, models.termination)


def split_states(models: PFAs, num_states: int, tree: MoveTree, rng: np.random.Generator) -> PFAs:
    """Split the states that strings visit most often in two, until each model has twice as many
    states, or `num_states` if that is fewer.

    Both halves have the transitions of the state that was split, and half of the probability of
    each move that led to it and of starting in it. Then all transitions are multiplied by random
    numbers between 1 − NOISE and 1 + NOISE.
    """
    expected = tree.expect(models)
    visits = expected.transitions.sum(axis=(1, 3)) + expected.termination
    k = visits.shape[1]
    split = np.argsort(-visits, axis=1, kind="stable")[:, : num_states - k]
    parts = []
    for model, states in enumerate(split):
        origin = np.concatenate((np.arange(k), states))
        shares = 1.0 / np.bincount(origin, minlength=k)[origin]
        transitions = models.transitions[model][:, origin][:, :, origin] * shares
        noise = rng.uniform(1 - NOISE, 1 + NOISE, size=transitions.shape)
        initial, termination = (
            models.initial[model][origin] * shares,
            models.termination[model][origin],
        )
        parts.append(PFAs.of_counts(initial[None], (transitions * noise)[None], termination[None]))
    return PFAs.joined(parts)


def spectral_pfa(train: Sample, num_states: int, rng: np.random.Generator) -> PFAs:
    """Make a start for EM by spectral learning: a linear model of the strings, projected on
    distributions.

    A spectral model computes with states in an arbitrary basis, where signs mean nothing. Here the
    basis is changed to the states of `num_states` prefixes, each divided by its prefix's
    probability: those that a QR decomposition with pivots picks among the frequent prefixes. In
    this basis, row i of the A_σ and of α∞ says what follows prefix i, as a combination of the same
    prefixes. It sums to 1, but some numbers are negative. These are set to 0, each row is divided
    by its sum, and the result is mixed with a random model, whose share is NOISE.

    Returns one model. It has fewer states than `num_states` if the numerical rank is smaller.
    """
    basis = select_basis(train, SPECTRAL_BASIS, SPECTRAL_BASIS, "prefix")
    hankel = estimate_hankel(train, basis, "prefix")
    rank = min(num_states, hankel.num_prefixes, hankel.num_suffixes)
    model = to_string_probabilities(
        fit_spectral(hankel, truncated_svd(weighted_block(hankel), rank), rank), "prefix"
    )
    trie = Trie.of(hankel.basis.prefixes, train.num_symbols)
    states = model.states(trie)[trie.ends]
    masses = states @ model.prefix_termination
    usable = np.flatnonzero(np.isfinite(masses) & (masses > 1e-9))
    tree = MoveTree(train)
    if len(usable) < model.num_states:
        return random_pfas(tree, 1, num_states, rng)
    states = states[usable] / masses[usable, None]
    weights = np.sqrt(masses[usable])
    picked = scipy.linalg.qr((states * weights[:, None]).T, mode="r", pivoting=True)[1][
        : model.num_states
    ]
    change = states[picked]  # (k, k)
    inverse = np.linalg.pinv(change)
    initial, termination = model.initial @ inverse, change @ model.termination
    transitions = change @ model.transitions @ inverse
    positive = PFAs.of_counts(
        *(np.maximum(part, 0)[None] for part in (initial, transitions, termination))
    )
    noise = random_pfas(tree, 1, model.num_states, rng)
    pairs = (
        (getattr(positive, name), getattr(noise, name))
        for name in ("initial", "transitions", "termination")
    )
    return PFAs(*((1 - NOISE) * own + NOISE * other for own, other in pairs))
