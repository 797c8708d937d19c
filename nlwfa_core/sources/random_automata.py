"""Draw random automata, and draw strings from an automaton that computes probabilities.

`random_automaton` draws a probabilistic automaton in the usual sense; `random_hmm`, `random_pfa`
and `random_pdfa` draw automata of narrower kinds, with which families of learners can be compared.
`random_wfa` draws a WFA with signed entries, whose weights are not probabilities.
`squared_automaton` squares such a WFA: a probability distribution that needs many states although
its square root needs few (Li, Rabusseau, Precup 2018, §3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from .. import limits
from ..errors import RecipeError, check_at_least, check_entries, check_types, format_exact, plural
from ..models.wfa import WFA
from ..rounding import format_beside, format_significant
from ..strings.words import FloatArray, IntArray, Words

# of a Dirichlet distribution; below, draws may be 0 in all places
SMALLEST_CONCENTRATION = 0.01
LARGEST_CONCENTRATION = 1000.0
# the error allowed in sums of probabilities: model files hold 12 digits, and long sums lose some
ROUNDING = 1e-6
# so many strings are drawn together that their states have at most this many numbers: 32 MB
NUMBERS_AT_ONCE = 2**22


def random_automaton(
    num_states: int,
    num_symbols: int,
    seed: int | Sequence[int],
    mean_length: float = 8.0,
    density: float = 1.0,
) -> WFA:
    """Draw a probabilistic automaton: entries are at least 0, and each state's transitions and
    termination sum to 1.

    The probabilities of a state's transitions are drawn uniformly among all that sum to 1 (a
    Dirichlet distribution with parameters 1).

    `mean_length`: the mean length of the strings. It is reached exactly, by multiplying every
    state's odds of stopping by the same factor. `density`: the share of transitions that are not 0.
    There is always a cycle through all states, so every state can be reached.

    Returns an automaton with total weight 1 and a spectral radius below 1.

    Raises RecipeError if a number is out of range.
    """
    _check_size(num_states, num_symbols)
    if not 0 < density <= 1:
        raise RecipeError(f"density must be above 0 and at most 1; got {density}")
    _check_mean_length(mean_length)
    rng = np.random.default_rng(seed)
    initial = rng.dirichlet(np.ones(num_states))
    present = rng.random((num_symbols, num_states, num_states)) < density
    cycle = rng.permutation(num_states)
    present[rng.integers(num_symbols, size=num_states), cycle, np.roll(cycle, -1)] = True
    following = rng.standard_exponential(present.shape) * present
    following /= following.sum(axis=(0, 2))[:, None]
    return _with_mean_length(initial, following, rng.standard_exponential(num_states), mean_length)


def random_hmm(
    num_states: int,
    num_symbols: int,
    seed: int | Sequence[int],
    mean_length: float = 8.0,
    concentration: float = 0.3,
) -> WFA:
    """Draw a hidden Markov model: a state either stops or emits a symbol, and the next state does
    not depend on that symbol.

    So A_σ = diag(probability of emitting σ in each state) T, with one matrix T of moves for all
    symbols.

    `mean_length`: the mean length of the strings, reached as in `random_automaton`.
    `concentration`: the parameter of the Dirichlet distributions from which each state's emissions
    and moves are drawn. Far below 1, a state has few likely symbols and successors; far above 1,
    all of them are almost equally likely.

    Returns an automaton with total weight 1 and a spectral radius below 1.

    Raises RecipeError if a number is out of range.
    """
    rng = _rng(num_states, num_symbols, seed, mean_length, concentration)
    initial = rng.dirichlet(np.ones(num_states))
    moves = rng.dirichlet(np.full(num_states, concentration), num_states)
    emissions = rng.dirichlet(np.full(num_symbols, concentration), num_states)
    following = emissions.T[:, :, None] * moves
    return _with_mean_length(initial, following, rng.standard_exponential(num_states), mean_length)


def random_pfa(
    num_states: int,
    num_symbols: int,
    seed: int | Sequence[int],
    mean_length: float = 8.0,
    concentration: float = 0.1,
) -> WFA:
    """Draw a probabilistic automaton whose states have few likely transitions, each a pair of a
    symbol and a next state.

    Parameters, return value and errors are those of `random_hmm`; here `concentration` is that of a
    state's transitions. With the concentration 1, they are drawn as in `random_automaton`.
    """
    rng = _rng(num_states, num_symbols, seed, mean_length, concentration)
    initial = rng.dirichlet(np.ones(num_states))
    pairs = rng.dirichlet(np.full(num_states * num_symbols, concentration), num_states)
    following = pairs.reshape(num_states, num_symbols, num_states).swapaxes(0, 1)
    return _with_mean_length(initial, following, rng.standard_exponential(num_states), mean_length)


def random_pdfa(
    num_states: int,
    num_symbols: int,
    seed: int | Sequence[int],
    mean_length: float = 8.0,
    concentration: float = 0.6,
) -> WFA:
    """Draw a deterministic probabilistic automaton: it starts in one state, and a state and a
    symbol determine the next state.

    Next states are drawn uniformly, except for a cycle through all states that ensures that every
    state can be reached. Parameters, return value and errors are those of `random_hmm`; here
    `concentration` is that of a state's symbols.
    """
    rng = _rng(num_states, num_symbols, seed, mean_length, concentration)
    shares = rng.dirichlet(np.full(num_symbols, concentration), num_states)
    targets = rng.integers(num_states, size=(num_states, num_symbols))
    cycle = rng.permutation(num_states)
    targets[cycle, rng.integers(num_symbols, size=num_states)] = np.roll(cycle, -1)
    following = np.zeros((num_symbols, num_states, num_states))
    states, symbols = np.indices(targets.shape)
    following[symbols, states, targets] = shares
    return _with_mean_length(
        np.eye(num_states)[0], following, rng.standard_exponential(num_states), mean_length
    )


def _rng(
    num_states: int,
    num_symbols: int,
    seed: int | Sequence[int],
    mean_length: float,
    concentration: float,
) -> np.random.Generator:
    """Check the parameters of a random automaton, and return its generator of random numbers."""
    _check_size(num_states, num_symbols)
    _check_mean_length(mean_length)
    if not SMALLEST_CONCENTRATION <= concentration <= LARGEST_CONCENTRATION:
        bounds = (
            f"at least {format_exact(SMALLEST_CONCENTRATION)} and at most "
            f"{format_exact(LARGEST_CONCENTRATION)}"
        )
        raise RecipeError(f"concentration must be {bounds}; got {concentration}")
    return np.random.default_rng(seed)


def _check_mean_length(mean_length: float) -> None:
    if not 0 < mean_length <= limits.most("string_length"):
        raise RecipeError(
            f"mean_length must be above 0 and at most {limits.most('string_length'):,}; got "
            f"{mean_length}"
        )


def _with_mean_length(
    initial: FloatArray, following: FloatArray, odds: FloatArray, mean_length: float
) -> WFA:
    """Give each state a probability of stopping for which strings have the given mean length.

    `initial` (num_states,). `following` (num_symbols, num_states, num_states): the probability of
    each symbol and next state, if the state does not stop. `odds` (num_states,): the odds of
    stopping, up to a common factor, which is computed here.
    """

    def stopping(log_scale: float) -> FloatArray:
        scaled: FloatArray = np.exp(log_scale) * odds
        return scaled / (1 + scaled)

    def excess(log_scale: float) -> float:
        continuing = (1 - stopping(log_scale))[:, None] * following.sum(axis=0)
        return (
            float(
                initial @ np.linalg.solve(np.eye(len(initial)) - continuing, continuing.sum(axis=1))
            )
            - mean_length
        )

    low = high = -np.log(mean_length)
    while excess(low) < 0:
        low -= 1
    while excess(high) > 0:
        high += 1
    termination = stopping(brentq(excess, low, high, xtol=1e-13))
    return WFA(initial, (1 - termination)[:, None] * following, termination)


def random_wfa(
    num_states: int, num_symbols: int, seed: int | Sequence[int], radius: float = 0.8
) -> WFA:
    """Draw an automaton f with normally distributed entries of either sign, for which Σ f²
    converges.

    `num_states` and `num_symbols`: the limit on the rank applies to num_states², the number of
    states of the automaton's square. `radius`: the spectral radius of Σ_σ A_σ ⊗ A_σ, above 0 and
    below 1. Near 1, long strings carry much of Σ f².

    Raises RecipeError if a number is out of range.
    """
    _check_size(num_states, num_symbols)
    limits.check_limit("num_states²", num_states**2, "rank")
    if not 0 < radius < 1:
        raise RecipeError(f"radius must be above 0 and below 1; got {radius}")
    rng = np.random.default_rng(seed)
    initial, termination = rng.standard_normal((2, num_states))
    transitions = rng.standard_normal((num_symbols, num_states, num_states))
    # one (k², k²) matrix; `squared()` would need one for each symbol
    total = sum(np.kron(A, A) for A in transitions)
    transitions *= np.sqrt(radius / np.abs(np.linalg.eigvals(total)).max())
    return WFA(initial, transitions, termination)


def squared_automaton(
    num_states: int, num_symbols: int, seed: int | Sequence[int], radius: float = 0.8
) -> WFA:
    """Make f² / Σ f² from a `random_wfa` f: a probability distribution with num_states² states.

    Its entries may be negative, but the weights of strings are squares, so they are at least 0
    except for rounding errors. Its rank is at most num_states (num_states + 1) / 2, the dimension
    of the symmetric products of f's states with themselves.

    Raises RecipeError if a number is out of range, or the automaton would be too large.
    """
    _check_size(num_states**2, num_symbols)
    square = random_wfa(num_states, num_symbols, seed, radius).squared()
    return WFA(square.initial / square.total_weight(), square.transitions, square.termination)


def _check_size(num_states: int, num_symbols: int) -> None:
    for name, number in (("num_states", num_states), ("num_symbols", num_symbols)):
        check_at_least(name, number, 1)
    limits.check_limit("num_states", num_states, "rank")
    limits.check_limit("num_symbols", num_symbols, "symbols")
    limits.check_limit("num_symbols × states²", num_symbols * num_states**2, "transition_numbers")


@check_types
def sample_words(
    wfa: WFA,
    num_strings: int,
    seed: int | Sequence[int],
    max_length: int = limits.most("string_length"),
) -> Words:
    """Draw strings from an automaton that computes their probabilities: all strings together,
    symbol by symbol.

    Parameters
    ----------
    wfa : WFA
        An automaton with total weight 1. Its entries may be negative, but the weights of strings
        must not be.

    Raises
    ------
    RecipeError
        If the automaton turns out not to be a probability distribution, if a number is out of
        range, or if a string gets longer than `max_length`. (Drawing another string instead would
        change the distribution.)

    Examples
    --------
    >>> import numpy as np
    >>> from nlwfa_core import WFA, sample_words
    >>> words = sample_words(
    ...     WFA(np.ones(1), np.full((1, 1, 1), 0.5), np.array([0.5])), 1000, seed=0
    ... )
    >>> len(words), float(words.lengths.mean().round())
    (1000, 1.0)
    """
    check_at_least("num_strings", num_strings, 1)
    limits.check_limit("num_strings", num_strings, "generated_strings")
    seeds: Sequence[int] = seed if isinstance(seed, Sequence) else [seed]
    check_entries("seed", seeds, int)
    for number in seeds:
        check_at_least("seed", number, 0)
    check_at_least("max_length", max_length, 0)
    total = wfa.total_weight()
    if not abs(total - 1) <= ROUNDING:
        raise RecipeError(
            "not a probability distribution: the weights of all strings must sum to 1; got "
            f"{format_beside(total, 1.0, 6)}"
        )
    rng = np.random.default_rng(seed)
    at_once = max(1, NUMBERS_AT_ONCE // max(wfa.num_states, wfa.num_symbols + 1))
    parts = [
        _draw(wfa, min(at_once, num_strings - done), rng, max_length)
        for done in range(0, num_strings, at_once)
    ]
    lengths = np.concatenate([part.lengths for part in parts])
    symbols = np.concatenate([part.symbols for part in parts])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    return Words(symbols, offsets, wfa.alphabet)


def _draw(wfa: WFA, num_strings: int, rng: np.random.Generator, max_length: int) -> Words:
    end = wfa.num_symbols
    following = np.column_stack(
        (wfa.transitions.transpose(1, 0, 2) @ wfa.prefix_termination, wfa.termination)
    )
    # The unfinished strings, and their states. These are divided by the probability of the prefix,
    # so scores are conditional.
    alive = np.arange(num_strings)
    states = np.tile(wfa.initial / (wfa.initial @ wfa.prefix_termination), (num_strings, 1))
    lengths = np.zeros(num_strings, dtype=np.int64)
    # for each position, the strings that continue, and their symbols
    columns: list[tuple[IntArray, IntArray]] = []
    while True:
        scores = states @ following  # (num_alive, k) @ (k, num_symbols + 1)
        totals = scores.sum(axis=1)
        if not (np.abs(totals - 1) <= ROUNDING).all() or scores.min() < -ROUNDING:
            prefix = f"a prefix of {plural(len(columns), 'symbol')}"
            total = totals[np.abs(totals - 1).argmax()]
            interval = (
                f"from {format_significant(float(scores.min()), 6)} to "
                f"{format_significant(float(scores.max()), 6)}"
            )
            raise RecipeError(
                f"not a probability distribution: after {prefix}, the scores of the next "
                f"symbols range {interval}, "
                f"and their sum is {format_beside(float(total), 1.0, 6)}"
            )
        bounds = np.cumsum(np.maximum(scores, 0), axis=1)
        drawn = (bounds <= rng.random(len(alive))[:, None] * bounds[:, -1:]).sum(axis=1)
        order = np.argsort(drawn, kind="stable")
        order = order[drawn[order] < end]
        if not len(order):
            break
        if len(columns) == max_length:
            raise RecipeError(
                f"a string longer than {max_length:,} symbols was drawn; allow longer strings"
            )
        symbols = drawn[order]
        states = np.concatenate(
            [
                wfa.transition(states[order[symbols == symbol]], symbol)
                for symbol in np.unique(symbols).tolist()
            ]
        )
        states /= scores[order, symbols][:, None]
        alive = alive[order]
        lengths[alive] += 1
        columns.append((alive, symbols))
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    written = np.empty(int(offsets[-1]), dtype=np.int64)
    for position, (rows, symbols) in enumerate(columns):
        written[offsets[rows] + position] = symbols
    return Words(written, offsets)
