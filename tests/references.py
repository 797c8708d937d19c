"""Automata worked out by hand, and slow, plain second opinions on what the core computes fast.

The series are the standard small examples of the field (Berstel and Reutenauer, *Noncommutative
Rational Series with Applications*, 2011, ch. 1–2; Droste, Kuich, Vogler (eds.), *Handbook of
Weighted Automata*, 2009); each value can be checked on paper.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log2
from pathlib import Path

import numpy as np

from nlwfa_core.hankel.basis import Basis
from nlwfa_core.metrics.ranking import END, Targets
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, FloatArray, Word, Words

# The competitions' files are not part of the project: tests that want them skip without them.
DATA = Path(os.environ.get("NLWFA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


@dataclass(frozen=True, eq=False)
class Reference:
    """An automaton with values that were computed without it.

    Attributes
    ----------
    name : str
    wfa : WFA
        Minimal, so `rank` is its number of states.
    values : dict
        Word -> f(word), by hand.
    square_rank : int
        The rank of f²: at most rank (rank + 1) / 2, the symmetric products of the states.
    """

    name: str
    wfa: WFA
    values: dict[Word, float]
    square_rank: int

    def __repr__(self) -> str:
        return self.name


def _wfa(
    initial: Sequence[float],
    transitions: Sequence[Sequence[Sequence[float]]],
    termination: Sequence[float],
) -> WFA:
    return WFA(
        np.array(initial, dtype=float),
        np.array(transitions, dtype=float),
        np.array(termination, dtype=float),
    )


GEOMETRIC = Reference(
    "geometric",  # stops with probability 1/2 after each a: f(aⁿ) = 2⁻ⁿ⁻¹
    _wfa([1], [[[0.5]]], [0.5]),
    {(): 0.5, (0,): 0.25, (0, 0, 0): 0.0625},
    square_rank=1,
)
COUNTER = Reference(
    "counter",  # |x|_a; its square has rank 3: 1, |x|_a and |x|_a² span what can follow
    _wfa([1, 0], [[[1, 1], [0, 1]], [[1, 0], [0, 1]]], [0, 1]),
    {(): 0, (0,): 1, (1,): 0, (0, 1, 0): 2, (1, 1, 0, 1): 1, (0, 0, 0, 0): 4},
    square_rank=3,
)
BINARY = Reference(
    "binary",  # the number that x writes in base 2: f(x0) = 2 f(x), f(x1) = 2 f(x) + 1
    _wfa([1, 0], [[[1, 0], [0, 2]], [[1, 1], [0, 2]]], [0, 1]),
    {(): 0, (1,): 1, (0, 1): 1, (1, 0): 2, (1, 0, 1): 5, (1, 1, 1, 1): 15},
    square_rank=3,
)
PARITY = Reference(
    "parity",  # 1 if |x|_a is even, else 0: f² = f
    _wfa([1, 0], [[[0, 1], [1, 0]], [[1, 0], [0, 1]]], [1, 0]),
    {(): 1, (0,): 0, (1,): 1, (0, 0): 1, (0, 1, 0): 1, (0, 1, 1): 0},
    square_rank=2,
)
FIBONACCI = Reference(
    "fibonacci",  # f(aⁿ) = F_{n+1}: 1, 1, 2, 3, 5, 8
    _wfa([1, 0], [[[1, 1], [1, 0]]], [1, 0]),
    {(): 1, (0,): 1, (0, 0): 2, (0,) * 3: 3, (0,) * 4: 5, (0,) * 5: 8},
    square_rank=3,
)
SIGNED = Reference(
    "signed",  # |x|_a − |x|_b: takes both signs
    _wfa([1, 0], [[[1, 1], [0, 1]], [[1, -1], [0, 1]]], [0, 1]),
    {(): 0, (0,): 1, (1,): -1, (0, 1): 0, (1, 1, 0): -1, (1, 1, 1): -3},
    square_rank=3,
)
COIN = Reference(
    # A probabilistic automaton. State 1: a (1/4) to itself, b (1/4) to state 2, stops (1/2). State
    # 2: a (1/2) to state 1, b (1/4) to itself, stops (1/4). The last symbol gives the state away,
    # so f² needs no more states.
    "coin",
    _wfa([1, 0], [[[1 / 4, 0], [1 / 2, 0]], [[0, 1 / 4], [0, 1 / 4]]], [1 / 2, 1 / 4]),
    {(): 1 / 2, (0,): 1 / 8, (1,): 1 / 16, (1, 0): 1 / 16, (1, 1): 1 / 64, (0, 1, 0): 1 / 64},
    square_rank=2,
)
REFERENCES = (GEOMETRIC, COUNTER, BINARY, PARITY, FIBONACCI, SIGNED, COIN)


def ring(num_states: int) -> WFA:
    """A probabilistic automaton that always knows its state, so that its Hankel blocks are well
    conditioned.

    States stand in a ring: a moves on, b stays. State 0 stops with probability 0.6, the others with
    0.1; a is three times as likely as b.
    """
    termination = np.full(num_states, 0.1)
    termination[0] = 0.6
    stays = np.diag(1 - termination)
    return WFA(
        np.eye(num_states)[0],
        np.stack([0.75 * np.roll(stays, 1, axis=1), 0.25 * stays]),
        termination,
    )


def all_words(num_symbols: int, longest: int) -> Words:
    """Every word up to a length, by length and then alphabetically."""
    return Words.of(
        word for length in range(longest + 1) for word in product(range(num_symbols), repeat=length)
    )


def full_basis(num_symbols: int, longest: int) -> Basis:
    """All words up to a length, as prefixes and as suffixes."""
    words = all_words(num_symbols, longest)
    return Basis(words, words, num_symbols)


def closure_words(basis: Basis) -> Words:
    """All words of P'·S, once each."""
    rows = {
        *basis.prefixes,
        *((*u, symbol) for u in basis.prefixes for symbol in range(basis.num_symbols)),
    }
    return Words.of(sorted({u + v for u in rows for v in basis.suffixes}))


def weight_by_matrices(wfa: WFA, word: Word) -> float:
    """f(x) of one word, α₀ᵀ A_{x₁} … A_{x_t} α∞ as written."""
    return float(state_by_matrices(wfa, word) @ wfa.termination)


def state_by_matrices(wfa: WFA, word: Word) -> FloatArray:
    """α₀ᵀ A_{x₁} … A_{x_t} of one word, shape (num_states,)."""
    state = wfa.initial
    for symbol in word:
        state = state @ wfa.transitions[symbol]
    return state


def weight_by_maps(model: NLWFA, word: Word) -> float:
    """G_λ(G_{x_t}(… G_{x₁}(α₀))) of one word, as written."""

    def theta(values: FloatArray, nonlinear: bool) -> FloatArray:
        return np.tanh(values) if nonlinear else values

    state = model.initial
    for symbol in word:
        for layer in model.transitions:
            state = theta(layer[symbol].T @ state, model.nonlinear_transitions)
    for layer in model.decoder:
        state = theta(layer.T @ state, model.nonlinear_termination)
    return float(model.termination @ state)


def random_nlwfa(
    num_states: int, num_symbols: int, seed: int, nonlinear: tuple[bool, bool] = (True, True)
) -> NLWFA:
    """Layers of the shapes that a learner makes: k → 2k → k, and a decoder k → 2k."""
    rng = np.random.default_rng(seed)
    k = num_states
    wide = 2 * num_states
    return NLWFA(
        rng.normal(size=k),
        (rng.normal(size=(num_symbols, k, wide)), rng.normal(size=(num_symbols, wide, k)) / wide),
        (rng.normal(size=(k, wide)),),
        rng.normal(size=(wide, 2)),
        *nonlinear,
    )


def as_nlwfa(wfa: WFA) -> NLWFA:
    """A WFA written as a nonlinear one with the identity for θ: one layer everywhere, nothing left
    out.
    """
    k = wfa.num_states
    output = np.column_stack((wfa.termination, wfa.prefix_termination))
    return NLWFA(wfa.initial, (wfa.transitions,), (np.eye(k),), output, False, False)


def hankel_by_dictionary(
    strings: Iterable[Word], rows: Sequence[Word], columns: Sequence[Word]
) -> FloatArray:
    """H[u, v] = the share of strings that are uv: a dictionary and two loops.

    Shape (num_rows, num_columns).
    """
    counts = Counter(strings)
    return np.array([[counts[u + v] for v in columns] for u in rows]) / counts.total()


def witten_bell(
    strings: Sequence[Word], num_symbols: int, order: int, history: Word, symbol: int
) -> float:
    """p(symbol | history) of an interpolated n-gram, from the definition (Witten and Bell 1991); a
    beginning is the symbol −1.

    p(a | h) = (c(ha) + d(h) p(a | h')) / (c(h) + d(h)), d(h) the different symbols seen after h, h'
    without its oldest one.
    """
    padded = (-1, *history)
    probability = 1 / (num_symbols + 1)
    for length in range(min(order - 1, len(padded)) + 1):
        context = padded[len(padded) - length :]
        wholes = [(-1, *string, num_symbols) for string in strings]
        following = Counter(
            whole[place]
            for whole in wholes
            for place in range(max(length, 1), len(whole))
            if whole[place - length : place] == context
        )
        if following:
            probability = (following[symbol] + len(following) * probability) / (
                following.total() + len(following)
            )
    return probability


def kneser_ney(
    strings: Sequence[Word], num_symbols: int, order: int, history: Word, symbol: int
) -> Fraction:
    """p(symbol | history) of an n-gram with interpolated, modified Kneser–Ney smoothing, from the
    definition.

    Source: Chen and Goodman (1999), §3. A beginning is the symbol −1. An n-gram of the highest
    order, or one that starts at the beginning, is counted by how often it occurs; any other by how
    many different symbols occur before it.
    """
    occurrences: Counter[tuple[int, ...]] = Counter()
    for string in strings:
        whole = (-1, *string, num_symbols)
        for last in range(1, len(whole)):
            occurrences.update(
                whole[first : last + 1] for first in range(max(0, last + 1 - order), last + 1)
            )
    counts = {
        gram: number
        if len(gram) == order or gram[0] == -1
        else len({one[0] for one in occurrences if one[1:] == gram})
        for gram, number in occurrences.items()
    }
    padded = (-1, *history)
    probability = Fraction(1, num_symbols + 1)
    for length in range(min(order - 1, len(padded)) + 1):
        context = padded[len(padded) - length :]
        following = {gram[-1]: number for gram, number in counts.items() if gram[:-1] == context}
        if not following:
            break
        n1, n2, n3, n4 = (
            sum(len(g) == length + 1 and c == number for g, c in counts.items())
            for number in (1, 2, 3, 4)
        )
        discounts = [Fraction(1, 2), Fraction(1), Fraction(3, 2)]
        if n1 and n2 and n3:
            share = Fraction(n1, n1 + 2 * n2)
            estimates = [1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3]
            discounts = [
                own if 0 < own <= most else usual
                for own, most, usual in zip(estimates, (1, 2, 3), discounts, strict=True)
            ]
        taken = {one: discounts[min(number, 3) - 1] for one, number in following.items()}
        own = following[symbol] - taken[symbol] if symbol in following else Fraction(0)
        probability = (own + sum(taken.values()) * probability) / sum(following.values())
    return probability


def write_lines(words: Words, alphabet: Alphabet) -> str:
    """A text file of one string a line, λ for the empty word."""
    return "".join(alphabet.decode(word) + "\n" for word in words)


def write_csv(sample: Sample) -> str:
    """A CSV file with the columns string and count."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("tokens" if sample.alphabet.separator else "characters", "count"))
    writer.writerows(
        zip(map(sample.alphabet.decode, sample.words), sample.counts.tolist(), strict=True)
    )
    return buffer.getvalue()


def prefix_automaton(wfa: WFA) -> WFA:
    """⟨α₀, A, (I − A)⁻¹ α∞⟩: from string probabilities to prefix probabilities f(uΣ*) ([B], A the
    sum of the A_σ).
    """
    return WFA(wfa.initial, wfa.transitions, wfa.prefix_termination)


def factor_automaton(wfa: WFA) -> WFA:
    """⟨(I − A)⁻ᵀ α₀, A, (I − A)⁻¹ α∞⟩: string probabilities to the mean number of occurrences of a
    factor in a string ([B]).
    """
    initial = WFA(
        wfa.termination, wfa.transitions.transpose(0, 2, 1), wfa.initial
    ).prefix_termination
    return WFA(initial, wfa.transitions, wfa.prefix_termination)


def suffix_automaton(wfa: WFA) -> WFA:
    """⟨(I − A)⁻ᵀ α₀, A, α∞⟩: from string probabilities to suffix probabilities f(Σ*u)."""
    return WFA(factor_automaton(wfa).initial, wfa.transitions, wfa.termination)


def bayes_wer(grammar: Dyck, end: bool = True) -> float:
    """The lowest possible word error rate on a Dyck grammar: expected wrong predictions of the true
    model's arg max per prediction.

    There are num_blocks · nesting levels inside blocks, and one at the top, where num_blocks is
    half the mean length. Wrong are min(q, 1 − q) predictions after each `[`, with q = `nesting`,
    and min(p_n, 1 − p_n) after the n-th block of a level.

    Parameters
    ----------
    end : bool
        Whether the end of a string is predicted too. If not, nothing but `[` can follow a block at
        the top level: no error there.
    """
    q = grammar.nesting
    num_blocks = grammar.mean_length / 2
    # P(N ≥ n) falls like (4 s (1 − s))ⁿ: enough for s up to 0.4
    p = grammar.continue_probabilities(2000)
    at_least = np.concatenate(([1.0], np.cumprod(p[:-1])))  # P(N ≥ n)
    num_levels = num_blocks * q + end
    wrong = num_blocks * min(q, 1 - q) + num_levels * float(at_least @ np.minimum(p, 1 - p))
    return wrong / (2 * num_blocks + end)


@dataclass(frozen=True, eq=False)
class Fixed:
    """A model with the same scores after every prefix, and one weight for all strings."""

    scores: tuple[float, ...]
    weight: float = 0.5

    @property
    def num_symbols(self) -> int:
        return len(self.scores) - 1

    def weights(self, words: Words) -> FloatArray:
        return np.full(len(words), self.weight)

    def next_scores(self, trie: Trie) -> FloatArray:
        return np.tile(np.array(self.scores, dtype=float), (trie.num_nodes, 1))


def write_targets(targets: Targets, names: Sequence[str] = ()) -> str:
    """Write targets as a SPiCe target file; symbols as numbers, or by their names."""
    lines = []
    for line, gain in enumerate(targets.best_gains.tolist()):
        cells = [repr(gain)]
        for place in range(*targets.offsets[line : line + 2].tolist()):
            symbol = int(targets.symbols[place])
            name = names[symbol] if names and symbol != END else symbol
            cells += [str(name), repr(float(targets.probabilities[place]))]
        lines.append(" ".join(cells) + "\n")
    return "".join(lines)


def best_gain(probabilities: Sequence[float]) -> float:
    """The largest Σ_{j ≤ 5} p(a_j) / log₂(j + 1) of a ranking, which begins a line of targets."""
    largest = sorted(probabilities, reverse=True)[:5]
    return sum(value / log2(place + 2) for place, value in enumerate(largest))
