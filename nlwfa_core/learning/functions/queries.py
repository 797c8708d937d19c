"""Active learning of an automaton of a function that can only be queried for its values, such as a
recurrent network or a program.

Angluin's L* (1987) learns a deterministic automaton from two kinds of questions: membership (is x
in the language?) and equivalence (is this the automaton, and if not, on which string is it wrong?).
`learn_by_queries` is its form for weighted automata (Beimel, Bergadano, Bshouty, Kushilevitz,
Varricchio 2000, *Learning functions represented as multiplicity automata*; Balle and Mohri 2015,
§5): the first question asks for f(x). A language counts as the function that is 1 on its strings
and 0 on all others.

The second question can't be answered with certainty for a black box. It is put to an *oracle*, a
function from an automaton to a counterexample or None. There are three oracles: `exact_oracle`, if
the target is an automaton; `sampling_oracle` (Angluin 1987, §2.4: probably approximately correct);
and `conformance_oracle`, which asks for the values of a finite set of strings. That set is
sufficient if the target has at most a given number of states more than the hypothesis
(`conformance_words`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ... import limits
from ...errors import RecipeError, check_at_least, check_between, check_types
from ...models.algebra import counterexample, minimise, reaching_words, reverse
from ...models.wfa import WFA
from ...rounding import RELATIVE_ERROR
from ...strings.plain import as_alphabet
from ...strings.words import Alphabet, FloatArray, Word, Words, float64_array
from ..progress import CancelCheck, check_cancelled, never

Function = Callable[[Words], FloatArray]
Oracle = Callable[[WFA], Word | None]
# A hypothesis is wrong on a string if it is off by more than this share of the largest value seen.
TOLERANCE = 1e-8
# A part of a state after a symbol that is below this share of the largest is rounding error.
ROUNDING = 2.0**-40
# Limits on one question.
MAX_WORDS = 1_000_000
MAX_SYMBOLS = 100_000_000


@dataclass(frozen=True, eq=False)
class LearnedByQueries:
    """The result of `learn_by_queries`.

    Attributes
    ----------
    model : WFA
        Its state after a string is a row of coordinates over the rows of H that belong to
        `prefixes`.
    prefixes, suffixes : Words
        The rows and columns of a block of H whose rank is that of the model; as many of each as the
        model has states.
    counterexamples : tuple of Word
        The oracle's answers, in order.
    num_queries : int
        The number of different strings whose values the learner asked for. Strings that an oracle
        asks for are not counted.
    finished : bool
        Whether the oracle accepted the model. If not, there were `max_states` states, or the values
        on the last counterexample differ so little that it adds no state.
    """

    model: WFA
    prefixes: Words
    suffixes: Words
    counterexamples: tuple[Word, ...]
    num_queries: int
    finished: bool


@check_types
def learn_by_queries(
    weights: Callable[..., FloatArray],
    alphabet: Alphabet | str | Iterable[str] | int,
    oracle: Callable[..., Word | None],
    max_states: int = 100,
    *,
    cancelled: CancelCheck = never,
) -> LearnedByQueries:
    """Learn an automaton by asking for values of f, and by asking an oracle for counterexamples.

    At first, the hypothesis is 0 everywhere. Later it agrees with f on all strings uv and uσv, for
    the prefixes u and suffixes v so far. In a counterexample x, there is a symbol σ at which the
    hypothesis goes wrong: for some prefix u, and the rest v of x after σ, f(uσv) is not as
    predicted. Then uσ is added to the prefixes and v to the suffixes, and the rank of the block of
    H grows by 1. So a function of rank k is learned after at most k counterexamples, with O(k² ·
    num_symbols + k · length) values of f for each (Beimel et al. 2000, after Rivest and Schapire
    1993). No automaton of f has fewer states than the result.

    >>> even = lambda words: np.array([word.count(0) % 2 == 0 for word in words])
    >>> learned = learn_by_queries(even, "ab", conformance_oracle(even, extra_states=2))
    >>> (
    ...     learned.model.num_states,
    ...     learned.finished,
    ...     learned.model(["", "a", "aba"]).round(6).tolist(),
    ... )
    (2, True, [1.0, 0.0, 1.0])

    Parameters
    ----------
    weights : callable
        Words -> f of each, shape (num_words,): a model, its method `weights`, or any function of
        yours. It must always give the same value to the same string. True and False count as 1 and
        0.
    alphabet : Alphabet, iterable of symbols, or int
        A number n stands for the symbols "0" … "n − 1".
    oracle : callable
        WFA -> a string (a tuple of symbol numbers) to which the WFA gives a wrong weight, or None.
        See `exact_oracle`, `sampling_oracle` and `conformance_oracle`.
    max_states : int
        When the model has this many states, learning ends even if there is another counterexample.

    Raises
    ------
    RecipeError
        If a value of f is not a finite number, a counterexample has a symbol that is not in the
        alphabet, or `max_states` is not between 1 and the limit.
    TypeError
        If the oracle returns something other than a tuple or None.
    Cancelled
        If `cancelled()` returns true.
    """
    check_between("max_states", max_states, 1, limits.most("rank"))
    symbols = as_alphabet(alphabet)
    f = _Values(weights)
    prefixes: list[Word] = []
    suffixes: list[Word] = []
    counterexamples: list[Word] = []
    model = WFA(np.zeros(0), np.zeros((len(symbols), 0, 0)), np.zeros(0), symbols)

    def result(finished: bool) -> LearnedByQueries:
        return LearnedByQueries(
            model,
            Words.of(prefixes),
            Words.of(suffixes),
            tuple(counterexamples),
            len(f.values),
            finished,
        )

    while True:
        check_cancelled(cancelled)
        word = oracle(model)
        if word is None:
            return result(True)
        counterexamples.append(_checked(word, len(symbols)))
        if len(prefixes) == max_states:
            return result(False)
        cell = _new_cell(counterexamples[-1], model, prefixes, f)
        if cell is None:
            return result(False)
        prefixes.append(cell[0])
        suffixes.append(cell[1])
        model = _hypothesis(prefixes, suffixes, symbols, f)


class _Values:
    """The values of f, each asked for once."""

    def __init__(self, weights: Function) -> None:
        self.weights = weights
        self.values: dict[Word, float] = {}

    def __call__(self, rows: Sequence[Word], columns: Sequence[Word]) -> FloatArray:
        """Return f(uv), shape (num_rows, num_columns)."""
        words = [(*u, *v) for u in rows for v in columns]
        new = list(dict.fromkeys(word for word in words if word not in self.values))
        if new:
            self.values |= dict(
                zip(new, _evaluated(self.weights, Words.of(new)).tolist(), strict=True)
            )
        return np.array([self.values[word] for word in words]).reshape(len(rows), len(columns))


def _evaluated(weights: Function, words: Words) -> FloatArray:
    answers: object = weights(words)
    if isinstance(answers, np.ndarray) and answers.dtype == np.bool_:
        answers = answers.astype(np.float64)
    values = float64_array("weights", answers)  # type: ignore[arg-type]
    if values.shape != (len(words),):
        raise RecipeError(
            f"weights must return one number for each of {len(words):,} strings; got the "
            f"shape {values.shape}"
        )
    if not np.isfinite(values).all():
        raise RecipeError(
            f"weights must return finite numbers; got {values[~np.isfinite(values)][0]} for "
            "a string"
        )
    return values


def _checked(word: Word, num_symbols: int) -> Word:
    if not isinstance(word, tuple):
        raise TypeError(
            f"oracle must return a tuple of symbol numbers, or None; got {type(word).__name__}"
        )
    for symbol in word:
        check_between("a symbol of a counterexample", symbol, 0, num_symbols - 1)
    return word


def _new_cell(
    word: Word, model: WFA, prefixes: Sequence[Word], f: _Values
) -> tuple[Word, Word] | None:
    """Find a row uσ and a column v of H whose cell the model gets wrong; None if all are right up
    to rounding.

    Let s be the model's state after the first i symbols of x, and v the rest of x. The numbers Σ_u
    s_u f(uv) begin with f(x) and end with the model's weight of x. Where one of them differs from
    the next, some row uσ differs from the model in the column of the rest. The row with the
    largest relative difference keeps the block of H best conditioned. A difference that is small
    compared with the largest numbers of its sums does not count: the transitions are the solution
    of equations, so what should be 0 is a rounding error.
    """
    if not prefixes:
        return ((), word) if f([()], [word])[0, 0] != 0 else None
    rests = [word[place:] for place in range(len(word) + 1)]
    rows = f(prefixes, rests)  # (num_states, length + 1)
    best = None
    largest = RELATIVE_ERROR
    for place, symbol in enumerate(word):
        after = f([(*u, symbol) for u in prefixes], [rests[place + 1]])[:, 0]
        predicted = model.transitions[symbol] @ rows[:, place + 1]
        sizes = np.abs(after) + model.magnitudes[symbol] @ np.abs(rows[:, place + 1])
        gaps = np.abs(after - predicted)
        largest_product = model.magnitudes[symbol].max() * np.abs(rows[:, place + 1]).max()
        is_real = gaps > RELATIVE_ERROR * largest_product
        differences = np.divide(gaps, sizes, out=np.zeros_like(sizes), where=is_real & (sizes > 0))
        u = int(differences.argmax())
        if differences[u] > largest:
            best = ((*prefixes[u], symbol), rests[place + 1])
            largest = float(differences[u])
    return best


def _hypothesis(
    prefixes: Sequence[Word], suffixes: Sequence[Word], alphabet: Alphabet, f: _Values
) -> WFA:
    """Build the automaton whose states are coordinates over the rows of H(P, S): A_σ = H(Pσ, S)
    H(P, S)⁻¹, α∞ = f(P).

    In A_σ, the row of a string that is a prefix itself is known, and elsewhere what is only
    rounding error is set to 0. Otherwise strings whose weight should be 0 would be counterexamples.
    """
    H = f(prefixes, suffixes)
    shifted = [f([(*u, symbol) for u in prefixes], suffixes) for symbol in range(len(alphabet))]
    scale = np.abs(H).max(axis=0)  # of columns: the values of long strings may be tiny
    blocks = np.stack(shifted) / scale
    transitions = np.linalg.solve((H / scale).T, np.swapaxes(blocks, 1, 2))
    transitions = np.swapaxes(transitions, 1, 2)
    parts = np.abs(transitions) * np.abs(H / scale).max(axis=1)  # of each row of H in a row of Pσ
    transitions[parts <= ROUNDING * parts.max(axis=2, keepdims=True)] = 0.0
    number = {word: row for row, word in enumerate(prefixes)}
    for symbol in range(len(alphabet)):
        for row, word in enumerate(prefixes):
            known = number.get((*word, symbol))
            if known is not None:
                transitions[symbol, row] = np.eye(len(prefixes))[known]
    return WFA(np.eye(len(prefixes))[0], transitions, f(prefixes, [()])[:, 0], alphabet)


@check_types
def exact_oracle(target: WFA, *, tolerance: float = TOLERANCE) -> Oracle:
    """Make the oracle that knows an automaton of f: it finds the shortest counterexample, if there
    is one. `tolerance` is that of `models.algebra.counterexample`.

    >>> target = WFA([1, 0], [[[0.2, 0.3], [0, 0.5]]], [0.5, 0.5])
    >>> learn_by_queries(target, 1, exact_oracle(target)).model.num_states
    1
    """
    return lambda hypothesis: counterexample(
        target.in_symbols_of(hypothesis), hypothesis, tolerance
    )


@check_types
def sampling_oracle(
    weights: Callable[..., FloatArray],
    num_symbols: int,
    *,
    error: float = 0.01,
    failure: float = 0.05,
    max_length: int = 20,
    tolerance: float = TOLERANCE,
    seed: int = 0,
) -> Oracle:
    """Make an oracle that compares values on random strings, and returns the shortest string on
    which they differ.

    Theorem (Angluin 1987): if the i-th question (from 1) is answered by ⌈(ln(1/failure) + i ln 2) /
    error⌉ strings, then with a probability of at least 1 − failure, the accepted automaton is wrong
    on at most the share `error` of strings, drawn as these are: each length up to `max_length` is
    equally likely, and so is each symbol.

    >>> length = lambda words: 1.0 * words.lengths
    >>> learn_by_queries(length, 1, sampling_oracle(length, 1)).model((0,) * 9)
    9.0

    Parameters
    ----------
    weights : callable
        As in `learn_by_queries`.
    num_symbols : int
    error, failure : float
        Between 0 and 1, both excluded.
    max_length : int
    tolerance : float
        Weights are equal if they differ by no more than this share of the largest |f(x)| among the
        strings.
    seed : int
        Equal seeds give equal oracles.

    Raises
    ------
    RecipeError
        If a number is out of its range, or more than a million strings would be needed.
    """
    for name, share in (("error", error), ("failure", failure)):
        if not 0 < share < 1:
            raise RecipeError(f"{name} must be between 0 and 1, both excluded; got {share:,}")
    for name, number, least in (
        ("num_symbols", num_symbols, 1),
        ("max_length", max_length, 0),
        ("seed", seed, 0),
    ):
        check_at_least(name, number, least)
    check_at_least("tolerance", tolerance, 0)
    rng = np.random.default_rng(seed)
    questions = 0

    def oracle(hypothesis: WFA) -> Word | None:
        nonlocal questions
        questions += 1
        number = math.ceil((math.log(1 / failure) + questions * math.log(2)) / error)
        limits.check_at_most("the number of random strings for one question", number, MAX_WORDS)
        limits.check_at_most(
            "the number of random symbols for one question", number * max_length, MAX_SYMBOLS
        )
        lengths = rng.integers(0, max_length + 1, number)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        words = Words(rng.integers(0, num_symbols, int(offsets[-1])), offsets)
        return _first_difference(weights, hypothesis, words, tolerance)

    return oracle


@check_types
def conformance_oracle(
    weights: Callable[..., FloatArray], extra_states: int, *, tolerance: float = TOLERANCE
) -> Oracle:
    """Make an oracle that compares values on `conformance_words` of each hypothesis.

    An accepted hypothesis is f, provided that f has an automaton with at most `extra_states` more
    states. The number of strings grows with num_symbols to the power of `extra_states`.

    >>> ends_in_b = lambda words: np.array([word[-1:] == (1,) for word in words])
    >>> learn_by_queries(ends_in_b, "ab", conformance_oracle(ends_in_b, 1)).model(
    ...     ["ab", "ba"]
    ... ).tolist()
    [1.0, 0.0]

    Parameters
    ----------
    weights : callable
        As in `learn_by_queries`.
    extra_states : int
    tolerance : float
        Weights are equal if they differ by no more than this share of the largest |f(x)| among the
        strings.

    Raises
    ------
    RecipeError
        If a number is negative, or there would be too many strings.
    """
    check_at_least("extra_states", extra_states, 0)
    check_at_least("tolerance", tolerance, 0)
    return lambda hypothesis: _first_difference(
        weights, hypothesis, conformance_words(hypothesis, extra_states), tolerance
    )


def _first_difference(
    weights: Function, hypothesis: WFA, words: Words, tolerance: float
) -> Word | None:
    """Return the shortest of some words whose weights differ, the first of equally short ones; None
    if no weights differ.
    """
    values = _evaluated(weights, words)
    differences = np.abs(values - hypothesis.weights(words))
    wrong = np.flatnonzero(~(differences <= tolerance * np.abs(values).max(initial=0.0)))
    return words[int(wrong[words.lengths[wrong].argmin()])] if len(wrong) else None


@check_types
def conformance_words(wfa: WFA, extra_states: int) -> Words:
    """List strings on which agreement with an automaton proves that a function is the automaton's,
    if the function needs at most `extra_states` more states.

    This is the W-method for testing finite-state machines (Chow 1978, Vasilevskii 1973), applied to
    weighted automata. Let P and S be words, λ among both, whose rows and columns give the Hankel
    matrix of the automaton its full rank n. The strings are (P ∪ PΣ) · Σ^{≤ extra_states} · S.

    Why they suffice: let f be a function of rank at most n + e that agrees on them. On P · S it has
    rank n, so in an automaton of f the vectors A_v α∞ of v ∈ S span at least n dimensions, and
    those of v ∈ Σ^{≤ e} S span all dimensions, because each further symbol adds a dimension, or
    else no later symbol does. On these columns, the rows of P Σ are the same combinations of the
    rows of P for f as for the automaton. Because the columns span all dimensions, this holds for
    whole rows, so f is computed by the same automaton.

    >>> parity = WFA([1, 0], [[[0, 1], [1, 0]]], [1, 0])
    >>> list(conformance_words(parity, 0)), list(conformance_words(parity, 1))[-1]
    ([(), (0,), (0, 0), (0, 0, 0)], (0, 0, 0, 0))

    Parameters
    ----------
    wfa : WFA
        It may have more states than needed; n is the number of states of the smallest equivalent
        automaton.
    extra_states : int

    Returns
    -------
    Words
        Distinct words, ordered by length, then by their symbols.

    Raises
    ------
    RecipeError
        If `extra_states` is negative, or there would be more than a million strings.
    """
    check_at_least("extra_states", extra_states, 0)
    smallest = minimise(wfa)
    prefixes = reaching_words(smallest) or [()]
    suffixes = [word[::-1] for word in reaching_words(reverse(smallest))] or [()]
    symbols = range(wfa.num_symbols)
    cells = len(prefixes) * (1 + len(symbols)) * len(suffixes)
    number = 0
    for length in range(extra_states + 1):
        number += len(symbols) ** length
        limits.check_at_most("the number of conformance strings", cells * number, MAX_WORDS)
    rows = {*prefixes, *((*u, symbol) for u in prefixes for symbol in symbols)}
    middles = [
        word for length in range(extra_states + 1) for word in product(symbols, repeat=length)
    ]
    words = {(*u, *middle, *v) for u in rows for middle in middles for v in suffixes}
    return Words.of(sorted(words, key=lambda word: (len(word), word)))
