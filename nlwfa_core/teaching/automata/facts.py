"""Facts about an automaton: its Hankel matrix, the rank, whether it is a probability distribution,
and what a state is needed for.

The matrix is a finite block of the infinite one: its rows are all strings up to one length, its
columns all strings up to another. Its rank is at most the smallest number of states, and equals it
if both lengths are at least that number (`models.algebra.minimise` has the theorem).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...display.panels import MAX_SIDE
from ...errors import RecipeError, check_at_least, check_between, plural
from ...hankel.basis import Basis
from ...hankel.matrix import HankelMatrix, exact_hankel
from ...models.algebra import counterexample, minimise, trim
from ...models.wfa import WFA
from ...rounding import format_significant
from ...sources.random_automata import ROUNDING
from ...strings.words import Alphabet, Words

MAX_LENGTH = 8  # of the strings of a block
MAX_TRIED = 2_000  # strings among which a negative weight is looked for
MAX_NAMED = 4  # states that a sentence names


def all_words(num_symbols: int, longest: int) -> Words:
    """List all words of up to `longest` symbols, by length and then in the order of the symbols.

    >>> list(all_words(2, 1))
    [(), (0,), (1,)]
    """
    check_at_least("num_symbols", num_symbols, 1)
    check_at_least("longest", longest, 0)
    return Words.of(
        word for length in range(longest + 1) for word in product(range(num_symbols), repeat=length)
    )


def longest_within(num_symbols: int, most: int, longest: int) -> int:
    """Return the largest length, at most `longest`, up to which there are at most `most` words; at
    least 1.

    >>> longest_within(2, 100, 8), longest_within(1, 100, 8), longest_within(200, 100, 8)
    (5, 8, 1)
    """
    number = 1
    length = 0
    while length < longest and number + num_symbols ** (length + 1) <= most:
        length += 1
        number += num_symbols**length
    return max(length, 1)


def block_lengths(num_symbols: int) -> int:
    """Return the largest length of prefixes and suffixes for which a block is small enough to be
    drawn.
    """
    return longest_within(num_symbols, MAX_SIDE, MAX_LENGTH)


def hankel_block(wfa: WFA, prefixes: int, suffixes: int) -> HankelMatrix:
    """Compute the block H[u, v] = f(uv) of all prefixes u and suffixes v of up to some numbers of
    symbols.
    """
    for name, length in (("prefixes", prefixes), ("suffixes", suffixes)):
        check_between(f"the length of {name}", length, 0, block_lengths(wfa.num_symbols))
    rows, columns = (all_words(wfa.num_symbols, length) for length in (prefixes, suffixes))
    plain = WFA(wfa.initial, wfa.transitions, wfa.termination)
    return exact_hankel(plain.weights, Basis(rows, columns, wfa.num_symbols))


@dataclass(frozen=True)
class Mass:
    """The sum of the weights of all strings, and whether they are probabilities."""

    total: float  # Σ f(x); ∞ if the sum diverges
    radius: float  # the spectral radius of Σ_σ A_σ; the sum converges if it is below 1
    is_distribution: bool  # whether the weights sum to 1 and none of them was found to be negative
    sentence: str  # whether it is a distribution, and why not

    @property
    def is_scalable(self) -> bool:
        """Return whether dividing all weights by their sum would make a distribution."""
        return (
            not self.is_distribution and 0 < self.total < np.inf and "negative" not in self.sentence
        )


def mass(wfa: WFA, names: tuple[str, ...]) -> Mass:
    """Find out whether an automaton is a probability distribution.

    Whether a weight is negative is decided by trying strings, unless no entry is negative, because
    no algorithm decides it for all automata (the problem is undecidable, like the threshold problem
    of probabilistic automata: Paz 1971).

    `names`: the names of the states.
    """
    alphabet = wfa.alphabet or Alphabet.numbered(wfa.num_symbols)
    total = wfa.total_weight()
    radius = wfa.spectral_radius
    has_signs = (
        min(
            float(part.min(initial=0.0)) for part in (wfa.initial, wfa.transitions, wfa.termination)
        )
        < 0
    )
    longest = longest_within(wfa.num_symbols, MAX_TRIED, 40)
    words = all_words(wfa.num_symbols, longest) if has_signs else Words.of([])
    weights = wfa.weights(words)
    below = np.flatnonzero(weights < 0)
    if len(below):
        word = words[int(below[0])]
        why = f"f({alphabet.decode(word)}) = {written(float(weights[below[0]]))} is negative"
    elif not len(wfa.useful_states):
        why = "every string has the weight 0"
    elif radius >= 1:
        why = (
            "the weights of all strings have no finite sum, because the spectral radius is "
            f"{written(radius)}, not below 1. Too much weight stays {_heaviest(wfa, names)}"
        )
    elif not abs(total - 1) <= ROUNDING:
        why = f"the weights of all strings sum to {written(total)}, not to 1"
    else:
        tried = (
            f"; no string of up to {plural(longest, 'symbol')} has a negative weight"
            if has_signs
            else ""
        )
        sentence = f"It is a probability distribution: the weights of all strings sum to 1{tried}."
        return Mass(total, radius, True, sentence)
    return Mass(total, radius, False, f"It is not a probability distribution: {why}.")


def _heaviest(wfa: WFA, names: tuple[str, ...]) -> str:
    """Name the states among which weight circulates most: the strongly connected part of the
    largest spectral radius.
    """
    useful = wfa.useful_states
    A = wfa.summed_transitions[np.ix_(useful, useful)]
    count, part = connected_components(A != 0, directed=True, connection="strong")
    radii = [
        float(np.abs(np.linalg.eigvals(A[np.ix_(part == i, part == i)])).max())
        for i in range(count)
    ]
    members = [names[useful[i]] for i in np.flatnonzero(part == int(np.argmax(radii)))]
    if len(members) == 1:
        return f"in state {members[0]}"
    return (
        "among the states "
        f"{', '.join(members[:MAX_NAMED])}{', …' if len(members) > MAX_NAMED else ''}"
    )


def scaled_to_one(wfa: WFA) -> WFA:
    """Make the probabilistic automaton of f / Σ f: the weights of the arrows and
    the end of each state sum to 1.

    With d = (I − A)⁻¹ α∞, the sums of the weights of all strings read from each state, the new
    weights are A_σ[i, j] d_j / d_i, α∞[i] / d_i and α₀[i] d_i / Σ f (weight pushing: Mohri 2009,
    §5). Superfluous states are left out.

    >>> scaled_to_one(WFA([3], [[[0.5]]], [1])).termination.tolist()
    [0.5]

    Raises RecipeError if an entry is negative, the sum is 0, or it diverges.
    """
    useful = trim(wfa)
    lowest = min(
        float(part.min(initial=0.0))
        for part in (useful.initial, useful.transitions, useful.termination)
    )
    total = useful.total_weight()
    if lowest < 0 or not 0 < total < np.inf:
        raise RecipeError(
            "weights can be scaled to the sum 1 if none is negative and their sum is "
            "positive and finite; got the lowest weight "
            f"{written(lowest)} and the sum {written(total)}"
        )
    d = useful.prefix_termination
    return WFA(
        useful.initial * d / total,
        useful.transitions * d[None, None, :] / d[None, :, None],
        useful.termination / d,
        useful.alphabet,
    )


def rank_sentence(numerical_rank: int, wfa: WFA) -> str:
    """Compare the rank of a block with the smallest number of states, and with the automaton's
    own.
    """
    smallest = minimise(wfa).num_states
    k = wfa.num_states
    theorem = (
        f"The smallest automaton of this function has **{plural(smallest, 'state')}**: that "
        "is the rank of its infinite Hankel "
        "matrix (theorem of Schützenberger, Carlyle and Paz, and Fliess)."
    )
    if numerical_rank < smallest:
        theorem += (
            f" This block has only rank {numerical_rank}: its prefixes or suffixes are too short."
        )
    if k > smallest:
        theorem += f" Yours has {plural(k, 'state')}, so {k - smallest} could be dropped."
    elif k:
        theorem += " Yours has no more than that."
    return theorem


def without(wfa: WFA, state: int) -> WFA:
    """Remove a state, with all arrows from it and to it."""
    check_between("state", state, 0, wfa.num_states - 1)
    rest = np.delete(np.arange(wfa.num_states), state)
    return WFA(
        wfa.initial[rest], wfa.transitions[:, rest][:, :, rest], wfa.termination[rest], wfa.alphabet
    )


def removal_sentence(wfa: WFA, state: int, name: str) -> str:
    """Describe how removing a state changes the rank and the function."""
    smaller = without(wfa, state)
    before = minimise(wfa).num_states
    after = minimise(smaller).num_states
    word = counterexample(wfa, smaller)
    if word is None:
        return (
            f"Without state {name} nothing changes: the rank stays {before}, and every string "
            "keeps its weight."
        )
    rank = (
        f"falls from {before} to {after}"
        if after < before
        else f"stays {before}"
        if after == before
        else f"rises to {after}"
    )
    decoded = (wfa.alphabet or Alphabet.numbered(wfa.num_symbols)).decode(word)
    old, new = (written(one(word)) for one in (wfa, smaller))
    change = (
        f"The shortest string whose weight changes is {decoded}: f = {old} before, {new} after."
    )
    return f"Without state {name} the rank {rank}. {change}"


def written(value: float) -> str:
    """Write a number with at most six digits, and a minus sign.

    >>> written(-0.5), written(float("inf"))
    ('−0.5', '∞')
    """
    return format_significant(value, 6)
