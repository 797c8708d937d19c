"""Well-bracketed strings from S → SS | [S] | [], with exact probabilities: no finite automaton computes this function.

A string is a row of *blocks* `[…]`, and so is what stands inside a block that is not empty: a *level*. Levels are independent, and
their numbers of blocks N are those of the leaves of the tree that S → SS grows: P(N = n) = Cat(n − 1) sⁿ⁻¹ (1 − s)ⁿ, Cat the
Catalan numbers, s the probability of S → SS. So what comes next depends on the blocks closed at the present level, and on no more.
λ is not in the language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import limits
from ..errors import RecipeError
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Words

ALPHABET = Alphabet(("[", "]"))
OPEN, CLOSE, END = 0, 1, 2
RULES_AT_ONCE = 2**20


@dataclass(frozen=True)
class Dyck:
    """The grammar with its rules' probabilities; the functions of a model, exactly.

    Attributes
    ----------
    split : float
        S → SS.
    wrap : float
        S → [S]; what is left over is S → [].

    Raises
    ------
    RecipeError
        If these are no probabilities, S → [] gets none, or strings would not end with probability 1 and finite mean length.

    Examples
    --------
    >>> Dyck().weights(Words.of([(0, 1), (0, 0, 1, 1), (1, 0)])).round(12).tolist()
    [0.4, 0.16, 0.0]
    """

    split: float = 0.2
    wrap: float = 0.4

    def __post_init__(self) -> None:
        for name, value in (("split", self.split), ("wrap", self.wrap)):
            if not 0 <= value <= 1:
                raise RecipeError(f"{name}: {value} given, a probability from 0 to 1 needed")
        if self.leaf <= 0:
            raise RecipeError(f"split + wrap: {self.split + self.wrap:g} given; it must stay below 1, to leave something to S → []")
        if 2 * self.split + self.wrap >= 1:
            given = 2 * self.split + self.wrap
            raise RecipeError(f"2·split + wrap, the expected number of S a rule makes: {given:g} given, it must stay below 1")

    @property
    def leaf(self) -> float:
        """The probability of S → []."""
        return 1 - self.split - self.wrap

    @property
    def num_symbols(self) -> int:
        return len(ALPHABET)

    @property
    def nesting(self) -> float:
        """The probability that a block is not empty, wrap / (wrap + leaf)."""
        return self.wrap / (self.wrap + self.leaf)

    @property
    def mean_length(self) -> float:
        """Mean length of a string, its end not counted: 2 (1 − split) / (1 − 2 split − wrap)."""
        return 2 * (1 - self.split) / (1 - 2 * self.split - self.wrap)

    def continue_probabilities(self, count: int) -> FloatArray:
        """p_1 … p_count, shape (count,), where p_n = P(N > n | N ≥ n): a level that has n blocks gets another one.

        >>> Dyck().continue_probabilities(3).round(3).tolist()
        [0.2, 0.36, 0.431]
        """
        return _continue_probabilities(self.split, 1 << max(count - 1, 0).bit_length())[:count]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Probabilities of what follows each prefix.

        Returns
        -------
        array, shape (num_nodes, 3)
            Of `[`, `]` and the end of the string: a row sums to 1, or is 0 where the prefix is impossible.
        """
        return self._roll_out(trie)[0]

    def log_weights(self, words: Words) -> FloatArray:
        """ln P(x), shape (num_words,); −∞ for what is not in the language."""
        trie = Trie.of(words, self.num_symbols)
        scores, log_prefixes = self._roll_out(trie)
        with np.errstate(divide="ignore"):
            log_ends: FloatArray = np.log(scores[trie.ends, END])
        return log_prefixes[trie.ends] + log_ends

    def weights(self, words: Words) -> FloatArray:
        """P(x), shape (num_words,); 0 for what is not in the language."""
        probabilities: FloatArray = np.exp(self.log_weights(words))
        return probabilities

    def _roll_out(self, trie: Trie) -> tuple[FloatArray, FloatArray]:
        """`next_scores`, and ln P(uΣ*) of each node u, shape (num_nodes,)."""
        if trie.num_symbols != self.num_symbols:
            raise RecipeError(f"a tree over {trie.num_symbols} symbols given, the grammar has {self.num_symbols}")
        going_on = np.concatenate(([self.nesting], self.continue_probabilities(max(len(trie.levels) - 2, 1))))
        scores = np.zeros((trie.num_nodes, 3))
        log_prefixes = np.full(trie.num_nodes, -np.inf)
        scores[0, OPEN], log_prefixes[0] = 1, 0
        # The node that opened the present level (0: the whole string), and the blocks closed at that level.
        opener, closed = np.zeros((2, trie.num_nodes), dtype=np.int64)
        for start, end in zip(trie.levels[1:-1], trie.levels[2:], strict=True):
            nodes = np.arange(start, end)
            with np.errstate(divide="ignore"):
                log_prefixes[nodes] = log_prefixes[trie.parent[nodes]] + np.log(scores[trie.parent[nodes], trie.symbol[nodes]])
            nodes = nodes[log_prefixes[nodes] > -np.inf]
            opening, closing = nodes[trie.symbol[nodes] == OPEN], nodes[trie.symbol[nodes] == CLOSE]
            opener[opening] = opening
            outside = trie.parent[opener[trie.parent[closing]]]
            opener[closing], closed[closing] = opener[outside], closed[outside] + 1
            scores[nodes, OPEN] = going_on[closed[nodes]]
            scores[nodes, np.where(opener[nodes] == 0, END, CLOSE)] = 1 - going_on[closed[nodes]]
        return scores, log_prefixes

    def sample(self, num_strings: int, seed: int | Sequence[int], max_length: int = limits.most("string_length")) -> Words:
        """Strings as drawn.

        Raises
        ------
        RecipeError
            If the numbers are out of range, or a string gets longer than `max_length`: to draw another in its place would change
            the distribution. Grammars that are not near 2·split + wrap = 1 do not come near the limit: by default, 20,000 strings
            reach a length of some 200.
        """
        if num_strings < 1:
            raise RecipeError(f"num_strings: {num_strings} given, at least 1 needed")
        limits.check_at_most("num_strings", num_strings, limits.most("generated_strings"))
        limits.check_at_most("num_strings × mean length", math.ceil(num_strings * self.mean_length), limits.most("file_bytes"))
        rng = np.random.default_rng(seed)
        at_once = max(1, int(RULES_AT_ONCE / self.mean_length))
        return Words.joined(
            [self._draw(min(at_once, num_strings - done), rng, max_length) for done in range(0, num_strings, at_once)]
        )

    def _draw(self, num_strings: int, rng: np.random.Generator, max_length: int) -> Words:
        """All derivations as one row of rules, leftmost S first: string i ends where the S still pending first fall by i + 1."""
        rules = np.empty(0, dtype=np.int64)
        ends = np.empty(0, dtype=np.int64)
        while len(ends) < num_strings:
            tail = len(rules) - (int(ends[-1]) + 1 if len(ends) else 0)
            if tail > max_length:  # a derivation has fewer rules than its string has symbols
                raise _too_long(max_length)
            missing = (num_strings - len(ends)) * self.mean_length
            rules = np.concatenate((rules, rng.choice(3, size=int(missing) + 1000, p=(self.split, self.wrap, self.leaf))))
            pending = np.cumsum(1 - rules)  # S → SS makes one more S, S → [] one fewer
            lowest = np.minimum.accumulate(np.minimum(pending, 0))
            ends = np.flatnonzero(np.diff(lowest, prepend=0) < 0)[:num_strings]
        rules, pending = rules[: ends[-1] + 1], pending[: ends[-1] + 1]

        # A wrap at time t closes when its inner S is done: at the first leaf from there on that leaves one S fewer pending.
        wraps, leaves = np.flatnonzero(rules == 1), np.flatnonzero(rules == 2)
        span, low = len(rules) + 1, int(pending.min())
        arrivals = np.sort((pending[leaves] - low) * span + leaves)
        finished = arrivals[np.searchsorted(arrivals, (pending[wraps] - 1 - low) * span + wraps)] % span
        emitted = np.array([0, 1, 2])[rules] + np.bincount(finished, minlength=len(rules))
        written = np.cumsum(emitted)
        offsets = np.concatenate(([0], written[ends]))
        if np.diff(offsets).max() > max_length:
            raise _too_long(max_length)
        symbols = np.full(int(written[-1]), CLOSE, dtype=np.int64)
        symbols[(written - emitted)[rules > 0]] = OPEN
        return Words(symbols, offsets)


def _too_long(max_length: int) -> RecipeError:
    return RecipeError(f"a string longer than {max_length:,} symbols was drawn: lower split or wrap, or allow longer strings")


def _terms(split: float) -> int:
    """After how many terms P(N ≥ n), which falls like (4 s (1 − s))ⁿ, is below rounding; at most 200,000, for s next to 1/2."""
    ratio = 4 * split * (1 - split)
    return 1 if ratio == 0 else 200_000 if ratio > 0.9998 else 1 + math.ceil(40 / -math.log(ratio))


@lru_cache(maxsize=16)
def _continue_probabilities(split: float, count: int) -> FloatArray:
    """p_1 … p_count. With h_n = 1 − p_n = P(N = n) / P(N ≥ n) and r_n = P(N = n + 1) / P(N = n): h_n = h_{n+1} / (r_n + h_{n+1}).

    From large n down: in that direction each step divides an error by more than 1, so it may start from a guess further up.
    """
    total = count + _terms(split)
    n = np.arange(1, total + 1)
    ratios = split * (1 - split) * 2 * (2 * n - 1) / (n + 1)
    stop = 1 - float(ratios[-1])
    going_on = np.empty(total)
    for index, ratio in zip(range(total - 1, -1, -1), ratios[::-1].tolist(), strict=True):
        going_on[index] = ratio / (ratio + stop)
        stop /= ratio + stop
    going_on.flags.writeable = False
    return going_on[:count]
