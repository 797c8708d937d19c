"""Draw well-bracketed strings from S → SS | [S] | [], and compute their exact probabilities, which
is impossible for a finite automaton.

A string is a sequence of *blocks* `[…]`, and the inside of every block is empty or another such
sequence. Each such sequence is a *level*. Levels are independent, and the number N of blocks in a
level is the number of leaves of a tree grown by S → SS: P(N = n) = Cat(n − 1) sⁿ⁻¹ (1 − s)ⁿ, where
Cat are the Catalan numbers and s is the probability of S → SS. So the next symbol depends only on
the number of blocks closed at the current level. λ is not in the language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import limits
from ..errors import RecipeError, check_at_least, check_between
from ..models.methods import Methods
from ..models.model import model_words
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import Alphabet, FloatArray, Words

ALPHABET = Alphabet(("[", "]"))
OPEN = 0
CLOSE = 1
END = 2
RULES_AT_ONCE = 2**20


@dataclass(frozen=True)
class Dyck(Methods):
    """Represents the grammar with the probabilities of its rules, as a model whose weights and
    next-symbol scores are exact.

    Attributes
    ----------
    split : float
        The probability of S → SS.
    wrap : float
        The probability of S → [S]; the probability of S → [] is 1 − split − wrap.

    Raises
    ------
    RecipeError
        If one of these is not a probability, if S → [] has probability 0, or if the mean length of
        strings would not be finite.

    Examples
    --------
    >>> truth = Dyck()
    >>> truth(["[]", "[[]]", "]["]).round(12).tolist()
    [0.4, 0.16, 0.0]
    >>> {symbol: round(share, 12) for symbol, share in truth.next("[").items()}
    {'[': 0.5, ']': 0.5, 'end': 0.0}
    """

    split: float = 0.2
    wrap: float = 0.4

    alphabet = ALPHABET
    num_symbols = len(ALPHABET)

    def __post_init__(self) -> None:
        for name, value in (("split", self.split), ("wrap", self.wrap)):
            check_between(name, value, 0, 1)
        if self.leaf <= 0:
            raise RecipeError(
                "split + wrap must be below 1, so S → [] is possible; got "
                f"{self.split + self.wrap:g}"
            )
        if 2 * self.split + self.wrap >= 1:
            expected = 2 * self.split + self.wrap
            raise RecipeError(
                "2·split + wrap, the expected number of S's that a rule produces, must be "
                f"below 1; got {expected:g}"
            )

    @property
    def leaf(self) -> float:
        """Return the probability of S → []."""
        return 1 - self.split - self.wrap

    @property
    def nesting(self) -> float:
        """Return the probability that a pair of brackets is not empty: wrap / (wrap + leaf)."""
        return self.wrap / (self.wrap + self.leaf)

    @property
    def mean_length(self) -> float:
        """Compute the mean length of a string in symbols: 2 (1 − split) / (1 − 2 split − wrap)."""
        return 2 * (1 - self.split) / (1 - 2 * self.split - self.wrap)

    def continue_probabilities(self, count: int) -> FloatArray:
        """Compute the probability that a level with n blocks gets another one, for n = 1 … count.

        A block is a pair of brackets with everything inside it, and a level is a sequence of
        adjacent blocks. With N the number of blocks of a level, entry n − 1 is P(N > n | N ≥ n),
        shape (count,).

        >>> Dyck().continue_probabilities(3).round(3).tolist()
        [0.2, 0.36, 0.431]
        """
        return _continue_probabilities(self.split, 1 << max(count - 1, 0).bit_length())[:count]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Compute the probabilities of the next symbol after each prefix.

        Returns
        -------
        array, shape (num_nodes, 3)
            The probabilities of `[`, of `]` and of the end of the string: a row sums to 1, or is 0
            if the prefix is impossible.
        """
        return self._roll_out(trie)[0]

    def log_weights(self, words: Words) -> FloatArray:
        """Compute ln P(x) of each word, shape (num_words,); −∞ for words outside the language."""
        trie = Trie.of(model_words(words, ALPHABET), self.num_symbols)
        scores, log_prefixes = self._roll_out(trie)
        with np.errstate(divide="ignore"):
            log_ends: FloatArray = np.log(scores[trie.ends, END])
        return log_prefixes[trie.ends] + log_ends

    def weights(self, words: Words) -> FloatArray:
        """Compute P(x) of each word, shape (num_words,); 0 for words outside the language."""
        probabilities: FloatArray = np.exp(self.log_weights(words))
        return probabilities

    def _roll_out(self, trie: Trie) -> tuple[FloatArray, FloatArray]:
        """Compute `next_scores`, and for each node u the log probability ln P(uΣ*) that a string
        begins with u, shape (num_nodes,).
        """
        if trie.num_symbols != self.num_symbols:
            raise RecipeError(
                f"the prefix tree has {trie.num_symbols} symbols, but the grammar has "
                f"{self.num_symbols}"
            )
        continues = np.concatenate(
            ([self.nesting], self.continue_probabilities(max(len(trie.levels) - 2, 1)))
        )
        scores = np.zeros((trie.num_nodes, 3))
        log_prefixes = np.full(trie.num_nodes, -np.inf)
        scores[0, OPEN], log_prefixes[0] = 1, 0
        # For each node: the node of the bracket that opened its present level (0 for the whole
        # string), and the number of blocks that are closed at that level.
        opener, closed = np.zeros((2, trie.num_nodes), dtype=np.int64)
        for start, end in zip(trie.levels[1:-1], trie.levels[2:], strict=True):
            nodes = np.arange(start, end)
            with np.errstate(divide="ignore"):
                log_prefixes[nodes] = log_prefixes[trie.parent[nodes]] + np.log(
                    scores[trie.parent[nodes], trie.symbol[nodes]]
                )
            nodes = nodes[log_prefixes[nodes] > -np.inf]
            opening = nodes[trie.symbol[nodes] == OPEN]
            closing = nodes[trie.symbol[nodes] == CLOSE]
            opener[opening] = opening
            outside = trie.parent[opener[trie.parent[closing]]]
            opener[closing], closed[closing] = opener[outside], closed[outside] + 1
            scores[nodes, OPEN] = continues[closed[nodes]]
            scores[nodes, np.where(opener[nodes] == 0, END, CLOSE)] = 1 - continues[closed[nodes]]
        return scores, log_prefixes

    def sample(
        self, num_strings: int, seed: int = 0, max_length: int = limits.most("string_length")
    ) -> Sample:
        """Draw strings by the grammar's rules. The same seed draws the same strings.

        >>> Dyck().sample(1_000, seed=1).num_strings
        1000

        Raises
        ------
        RecipeError
            As `sample_words` does.
        """
        return Sample.of(self.sample_words(num_strings, seed, max_length), ALPHABET)

    def sample_words(
        self,
        num_strings: int,
        seed: int | Sequence[int],
        max_length: int = limits.most("string_length"),
    ) -> Words:
        """Draw strings from the grammar, in the order in which they are drawn.

        Raises
        ------
        RecipeError
            If a number is out of range, or if a string gets longer than `max_length`. (Drawing
            another string instead would change the distribution.) Only grammars for which 2·split +
            wrap is near 1 come near the limit: with the default probabilities, the longest of
            20,000 strings has about 200 symbols.
        """
        check_at_least("num_strings", num_strings, 1)
        limits.check_limit("num_strings", num_strings, "generated_strings")
        limits.check_limit(
            "num_strings × mean length",
            math.ceil(num_strings * self.mean_length),
            "file_bytes",
        )
        rng = np.random.default_rng(seed)
        at_once = max(1, int(RULES_AT_ONCE / self.mean_length))
        return Words.joined(
            [
                self._draw(min(at_once, num_strings - done), rng, max_length)
                for done in range(0, num_strings, at_once)
            ]
        )

    def _draw(self, num_strings: int, rng: np.random.Generator, max_length: int) -> Words:
        """Draw the derivations of all strings as one sequence of rules, each applied to the
        leftmost S.

        In the code, `pending` counts, after each rule, the S that still have to be replaced, not
        counting the initial S of each string. The derivation of string i ends where `pending` first
        reaches −(i + 1).
        """
        rules = np.empty(0, dtype=np.int64)
        ends = np.empty(0, dtype=np.int64)
        while len(ends) < num_strings:
            tail = len(rules) - (int(ends[-1]) + 1 if len(ends) else 0)
            # the string will be too long, because it has more symbols than its derivation has rules
            if tail > max_length:
                raise _too_long(max_length)
            missing = (num_strings - len(ends)) * self.mean_length
            rules = np.concatenate(
                (
                    rules,
                    rng.choice(3, size=int(missing) + 1000, p=(self.split, self.wrap, self.leaf)),
                )
            )
            pending = np.cumsum(1 - rules)  # S → SS makes one more S, S → [] one fewer
            lowest = np.minimum.accumulate(np.minimum(pending, 0))
            ends = np.flatnonzero(np.diff(lowest, prepend=0) < 0)[:num_strings]
        rules = rules[: ends[-1] + 1]
        pending = pending[: ends[-1] + 1]

        # The bracket of a rule S → [S] closes when its inner S is derived: at the first S → [] that
        # leaves one S fewer pending.
        wraps = np.flatnonzero(rules == 1)
        leaves = np.flatnonzero(rules == 2)
        span = len(rules) + 1
        low = int(pending.min())
        # the rules S → [] by `pending`, then by position
        keys = np.sort((pending[leaves] - low) * span + leaves)
        closing = keys[np.searchsorted(keys, (pending[wraps] - 1 - low) * span + wraps)] % span
        # that each rule writes
        num_symbols = np.array([0, 1, 2])[rules] + np.bincount(closing, minlength=len(rules))
        symbol_ends = np.cumsum(num_symbols)
        offsets = np.concatenate(([0], symbol_ends[ends]))
        if np.diff(offsets).max() > max_length:
            raise _too_long(max_length)
        symbols = np.full(int(symbol_ends[-1]), CLOSE, dtype=np.int64)
        symbols[(symbol_ends - num_symbols)[rules > 0]] = OPEN
        return Words(symbols, offsets)


def _too_long(max_length: int) -> RecipeError:
    return RecipeError(
        f"a string longer than {max_length:,} symbols was drawn; lower split or wrap, or "
        "allow longer strings"
    )


def _terms(split: float) -> int:
    """Return the n from which P(N ≥ n), which falls like (4 s (1 − s))ⁿ, is below rounding errors;
    at most 200,000 (s near 1/2).
    """
    ratio = 4 * split * (1 - split)
    return 1 if ratio == 0 else 200_000 if ratio > 0.9998 else 1 + math.ceil(40 / -math.log(ratio))


@lru_cache(maxsize=16)
def _continue_probabilities(split: float, count: int) -> FloatArray:
    """Compute p_n = P(N > n | N ≥ n) for n = 1 … count by the recursion h_n = h_{n+1} / (r_n +
    h_{n+1}).

    Here h_n = 1 − p_n = P(N = n) / P(N ≥ n), and r_n = P(N = n + 1) / P(N = n). The recursion goes
    from large n down, because in this direction each step divides an error by more than 1. So it
    may start from a guess if n is large enough there.
    """
    total = count + _terms(split)
    n = np.arange(1, total + 1)
    ratios = split * (1 - split) * 2 * (2 * n - 1) / (n + 1)
    stop = 1 - float(ratios[-1])
    continues = np.empty(total)
    for index, ratio in zip(range(total - 1, -1, -1), ratios[::-1].tolist(), strict=True):
        continues[index] = ratio / (ratio + stop)
        stop /= ratio + stop
    continues.flags.writeable = False
    return continues[:count]
