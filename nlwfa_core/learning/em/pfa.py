"""Learn a probabilistic finite automaton (PFA) by EM (Baum et al. 1970; for this model Dupont,
Denis, Esposito 2005, §4), as a WFA.

In each state, a PFA either ends or emits a symbol and moves to a next state: P(σ, j | i) = A_σ[i,
j], and P(end | i) = α∞[i]. So it has a separate probability for each symbol and each move, whereas
an HMM (`hmm`) has only the product of an emission and a move. Every HMM is a PFA with the same
number of states. The WFA with these weights computes exactly the model's probabilities.

Several starts run at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
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
from ...strings.words import FloatArray
from ..names import EM_STARTS, PSEUDO_COUNT
from ..progress import CancelCheck, Report, never, silent
from ..spectral import fit_spectral, truncated_svd, weighted_block
from .loop import Loop
from .prefix_tree import Level, Models, PrefixTree, added, with_equal_shares

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
class PFAs(Models):
    """The probabilities of several PFAs with the same number of states."""

    initial: FloatArray  # (num_models, num_states): each row sums to 1
    # (num_models, num_symbols, num_states, num_states): P(σ, j | i): the probability of emitting σ
    # and moving to state j, in state i
    transitions: FloatArray
    # (num_models, num_states): P(end | i). With all transitions from state i, it sums to 1.
    termination: FloatArray

    def automaton(self, model: int) -> WFA:
        """Return one of the models as a WFA."""
        return WFA(self.initial[model], self.transitions[model], self.termination[model])

    def down(self, states: FloatArray, level: Level, out: FloatArray) -> None:
        """See `Models`. All products with one A_σ in a level are one product."""
        for symbol, a, b in level.parts:
            rows = states[a:b].swapaxes(0, 1)
            np.matmul(rows, self.transitions[:, symbol], out=out[a:b].swapaxes(0, 1))

    def up(self, behind: FloatArray, level: Level) -> None:
        """See `Models`."""
        backward = self.transitions.swapaxes(2, 3)
        below = behind[level.start : level.stop]
        for symbol, a, b in level.parts:
            before = np.matmul(below[a:b].swapaxes(0, 1), backward[:, symbol])
            behind[level.parents[a:b]] += before.swapaxes(0, 1)

    def counts(
        self, tree: PrefixTree, states: FloatArray, behind: FloatArray, termination: FloatArray
    ) -> PFAs:
        """See `Models`."""
        transitions = np.zeros_like(self.transitions)
        for symbol, nodes in tree.nodes_by_symbol:
            for first in range(0, len(nodes), MAX_ROWS):
                some = nodes[first : first + MAX_ROWS]
                before = states.take(tree.parent[some], axis=0)
                after = behind.take(some, axis=0)
                transitions[:, symbol] += np.matmul(before.transpose(1, 2, 0), after.swapaxes(0, 1))
        transitions *= self.transitions
        return PFAs(states[0] * behind[0], transitions, termination)

    def plus(self, pseudo_count: float, possible: PFAs) -> PFAs:
        """See `Models`.

        The pseudo-count of a symbol is divided evenly among the next states. So the M step gives
        the mode of the posterior if each state has a Dirichlet prior with the parameters 1 +
        pseudo_count / num_states for moves, and 1 + pseudo_count for the end.
        """
        return PFAs(
            self.initial,
            added(self.transitions, pseudo_count / self.num_states, possible.transitions > 0),
            added(self.termination, pseudo_count, possible.termination > 0),
        )

    def normalised(self, possible: PFAs | None = None) -> PFAs:
        """See `Models`."""
        _, can_move, can_end = possible.arrays if possible else [None] * 3
        transitions = self.transitions
        termination = self.termination
        totals = transitions.sum(axis=(1, 3)) + termination
        if not totals.all():
            transitions = with_equal_shares(transitions, totals[:, None, :, None], can_move)
            termination = with_equal_shares(termination, totals, can_end)
            totals = transitions.sum(axis=(1, 3)) + termination
        return PFAs(
            self.initial / self.initial.sum(axis=1, keepdims=True),
            transitions / totals[:, None, :, None],
            termination / totals,
        )


@dataclass(frozen=True)
class PFATraining:
    """Options of EM for a PFA.

    Raises RecipeError if a number is out of range, or the start is unknown.
    """

    # one of `learning.names.EM_STARTS`: a random model; a spectral model, projected onto
    # distributions (`spectral_pfa`); or a small random model whose states are split repeatedly,
    # with EM in between (`split_states`)
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
    # without validation strings, EM stops when `patience` iterations have lowered the bits per
    # symbol by less than this share
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

    `initial`: a probabilistic automaton with `num_states` states and the symbols of `train`, from
    which EM starts, in place of the starts of `training`. EM keeps its zeros, so `initial` can fix
    a structure, such as moves from left to right only. `validation`: strings that decide when EM
    stops. The result is the model, among all starts and iterations, with the fewest bits per symbol
    on these strings. Without them, it is the last model of the start with the largest likelihood.
    `report` and `cancelled`: the reported loss is the bits per symbol on the training strings, for
    the best start.

    Returns the model, as an automaton that computes the probabilities of strings.

    Raises RecipeError if a number is out of range, if a sample is empty, or if `initial` is not
    such an automaton or gives a training string probability 0. Raises Cancelled.
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
    validation strings if there are any, otherwise on the training strings.
    """
    check_between("the number of states of a PFA", num_states, 1, limits.most("rank"))
    limits.check_limit("symbols × rank²", train.num_symbols * num_states**2, "transition_numbers")
    loop = Loop(
        train,
        validation,
        training.iterations,
        training.pseudo_count,
        training.patience,
        training.tolerance,
        report=report,
        cancelled=cancelled,
    )
    tree = loop.tree
    if initial is not None:
        parts = [loop.run(_start_at(initial, num_states, train, tree))]
    else:
        rng = np.random.default_rng(training.seed)
        at_once = max(1, MAX_NUMBERS // (tree.num_nodes * num_states))
        parts = []
        for first in range(0, training.starts, at_once):
            number = min(at_once, training.starts - first)
            if training.start == "spectral":
                models = PFAs.joined([spectral_pfa(train, num_states, rng) for _ in range(number)])
            else:
                states = num_states if training.start == "random" else 1
                models = random_pfas(tree, number, states, rng)
            while models.num_states < num_states:
                models = split_states(models, num_states, tree, rng)
                if models.num_states < num_states:
                    models, _ = loop.run(models)
            parts.append(loop.run(models))
    best = PFAs.joined([models for models, _ in parts])
    if validation is None:
        return best, -tree.log_likelihoods(best) / tree.num_predictions
    return best, np.concatenate([losses for _, losses in parts])


def _start_at(initial: WFA, num_states: int, train: Sample, tree: PrefixTree) -> PFAs:
    """Check an automaton from which EM starts, and return its probabilities."""
    num_symbols = train.num_symbols
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
    start = PFAs(initial.initial[None], initial.transitions[None], initial.termination[None])
    if not np.isfinite(tree.log_likelihoods(start)).all():
        impossible = np.flatnonzero(np.isneginf(start.automaton(0).log2_weights(train.words)))
        named = (
            f": {train.alphabet.decode(train.words[impossible[0]])!r}" if len(impossible) else ""
        )
        raise RecipeError(
            "initial must give all training strings a probability above 0; got one that "
            f"has 0{named}"
        )
    return start


def random_pfas(
    tree: PrefixTree, num_models: int, num_states: int, rng: np.random.Generator
) -> PFAs:
    """Draw starts for EM: in each state, the probabilities of symbols and of ending are near their
    frequencies, and each symbol's moves are drawn from all distributions.
    """
    shape = (num_models, tree.num_symbols, num_states)
    emissions = (tree.symbol_counts + 1.0)[:, None] * rng.gamma(1.0, size=shape)
    ends = (tree.ends.sum() + 1.0) * rng.gamma(1.0, size=(num_models, num_states))
    moves = rng.dirichlet(np.ones(num_states), size=shape)
    initial = rng.dirichlet(np.ones(num_states), size=num_models)
    return PFAs(initial, emissions[..., None] * moves, ends).normalised()


def split_states(models: PFAs, num_states: int, tree: PrefixTree, rng: np.random.Generator) -> PFAs:
    """Split the states that strings visit most often, until each model has twice as many states, or
    `num_states` if that is fewer.

    Both halves have the transitions of the state that was split, and half of the probability of
    each move that led to it and of starting in it. Then all transitions are multiplied by random
    numbers between 1 − NOISE and 1 + NOISE.
    """
    counts = tree.expect(models).counts
    visits = counts.transitions.sum(axis=(1, 3)) + counts.termination
    k = visits.shape[1]
    split = np.argsort(-visits, axis=1, kind="stable")[:, : num_states - k]
    parts = []
    for model, states in enumerate(split):
        origin = np.concatenate((np.arange(k), states))
        shares = 1.0 / np.bincount(origin, minlength=k)[origin]
        transitions = models.transitions[model][:, origin][:, :, origin] * shares
        noise = rng.uniform(1 - NOISE, 1 + NOISE, size=transitions.shape)
        initial = models.initial[model][origin] * shares
        termination = models.termination[model][origin]
        counts = PFAs(initial[None], (transitions * noise)[None], termination[None])
        parts.append(counts.normalised())
    return PFAs.joined(parts)


def spectral_pfa(train: Sample, num_states: int, rng: np.random.Generator) -> PFAs:
    """Make a start for EM by spectral learning: a linear model of the strings, projected onto
    distributions.

    A spectral model computes with states in an arbitrary basis, in which signs have no meaning.
    Here the basis is changed to the states of `num_states` prefixes, each divided by its prefix's
    probability. A QR decomposition with pivots selects these among the frequent prefixes. In this
    basis, row i of the A_σ and of α∞ describes what follows prefix i, as a combination of the same
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
    tree = PrefixTree(train)
    if len(usable) < model.num_states:
        return random_pfas(tree, 1, num_states, rng)
    states = states[usable] / masses[usable, None]
    weights = np.sqrt(masses[usable])
    picked = scipy.linalg.qr((states * weights[:, None]).T, mode="r", pivoting=True)[1][
        : model.num_states
    ]
    change = states[picked]  # (k, k)
    inverse = np.linalg.pinv(change)
    initial = model.initial @ inverse
    termination = change @ model.termination
    transitions = change @ model.transitions @ inverse
    positive = PFAs(
        *(np.maximum(part, 0)[None] for part in (initial, transitions, termination))
    ).normalised()
    noise = random_pfas(tree, 1, model.num_states, rng)
    pairs = zip(positive.arrays, noise.arrays, strict=True)
    return PFAs(*((1 - NOISE) * own + NOISE * other for own, other in pairs))
