"""Combine models with weights w_m that are not negative and sum to 1, chosen by hand or by EM.

Mixed by string, the models give f(x) = Σ_m w_m f_m(x). Such a mixture of WFAs is a WFA, their
direct sum: states and transitions are placed side by side, and each model's initial weights are
multiplied by w_m. A mixture of other models is a `Mixture`, which evaluates all of them. After a
prefix u, the score of a next symbol σ is Σ_m w_m f_m(uσΣ*), so a model under which u is unlikely
has little influence; after a long prefix, often a single model decides.

Mixed by symbol, they give p(σ | u) = Σ_m w_m p_m(σ | u): each model has the same influence after
every prefix. This is how language models are usually interpolated (Jelinek and Mercer 1980). It
predicts next symbols better, but it is not an automaton, even if all models are automata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from .. import limits
from ..errors import RecipeError, check_one_of, check_type, check_types, format_exact, plural
from ..strings.sample import Sample
from ..strings.trie import Trie, batches, chain_log2_weights, chain_weights
from ..strings.words import Alphabet, FloatArray, IntArray, Words, float64_array
from .methods import Methods
from .model import (
    LogModel,
    Model,
    SharedModel,
    alphabet_of,
    model_of,
    model_words,
    next_distributions,
    scaled_next_scores,
)
from .wfa import WFA

BY_STRING = "string"
BY_SYMBOL = "symbol"
# what is averaged
LEVELS = {BY_STRING: "probabilities of strings", BY_SYMBOL: "probabilities of next symbols"}
# EM of the weights: its largest number of iterations, and the change of every weight below which it
# ends.
ITERATIONS = 10_000
CHANGE = 1e-9
# A model with a smaller weight than this is left out.
SMALLEST_WEIGHT = 1e-6
# The exponent of scores that are all 0: 2 to this power is 0. Scores with this exponent or a larger
# one fit into float64.
NONE = -(2**30)
SMALLEST_EXPONENT = -900


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Methods):
    """A convex combination of models.

    The function `mixture` makes one or, if all models are WFAs and strings are mixed, a WFA.

    Attributes
    ----------
    models : tuple of Model
    shares : array, shape (num_models,)
        The weights w_m, which are not negative and sum to 1.
    alphabet : Alphabet or None
        The alphabet of all models; None if symbols are known only by their numbers.
    level : str
        What is averaged, one of `LEVELS`.

    Raises
    ------
    RecipeError
        If there are no models, if they have different symbols, if there is not one share for each,
        if shares are negative or do not sum to 1, or if the level is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from nlwfa_core import Mixture, NGram, Words, as_sample
    >>> sample, words = as_sample(["ab", "ab", "b"]), Words.of([(0, 1)])
    >>> models = NGram.fit(sample, 1), NGram.fit(sample, 3)
    >>> both = Mixture(models, np.array([0.5, 0.5]))
    >>> bool(
    ...     np.isclose(
    ...         both.weights(words), np.mean([model.weights(words) for model in models], axis=0)
    ...     )[0]
    ... )
    True
    """

    models: tuple[Model, ...]
    shares: FloatArray
    alphabet: Alphabet | None = field(default=None, kw_only=True)
    level: str = field(default=BY_STRING, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "models", check_models(self.models))
        object.__setattr__(self, "shares", float64_array("shares", self.shares))
        check_type("alphabet", self.alphabet, Alphabet | None)
        check_type("level", self.level, str)
        check_one_of("level", self.level, LEVELS)
        check_shares(len(self.models), self.shares)
        common_alphabet(self.models)

    @property
    def is_chain(self) -> bool:
        """Return whether weights are products of next-symbol probabilities; see
        `model.SharedModel`.
        """
        return self.level == BY_SYMBOL

    @property
    def num_symbols(self) -> int:
        return self.models[0].num_symbols

    @property
    def _kind(self) -> str:
        return f"Mixture of {plural(len(self.models), 'model')}"

    @property
    def num_states(self) -> int:
        """Return the number of states of all models together.

        A model without states, such as an n-gram, counts as 0.
        """
        return sum(getattr(model, "num_states", 0) for model in self.models)

    def weights(self, words: Words) -> FloatArray:
        """f(x) of each word, shape (num_words,).

        Raises RecipeError if a word has a symbol that the model does not have.
        """
        words = model_words(words, self.alphabet)
        if self.is_chain:
            return self._chain(words, chain_weights)
        total = np.zeros(len(words))
        with np.errstate(over="ignore", invalid="ignore"):
            for model, share in self._parts():
                total += share * model.weights(words)
        return total

    def log2_weights(self, words: Words) -> FloatArray:
        """log₂ |f(x)|, shape (num_words,), −∞ for 0. This also works for long strings, whose
        weights may be too small for float64.
        """
        words = model_words(words, self.alphabet)
        if self.is_chain:
            return self._chain(words, chain_log2_weights)
        trie = Trie.of(words, self.num_symbols)
        scores, exponents = self.scaled_next_scores(trie)
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log2(np.abs(scores[trie.ends, -1]))
        return logs if exponents is None else logs + exponents[trie.ends]

    def next_scores(self, trie: Trie) -> FloatArray:
        """Compute scores of what follows each prefix u, the end of the string last: shape
        (num_nodes, num_symbols + 1).

        By string, they are Σ_m w_m f_m(uσΣ*) and, for the end, f(u); by symbol, the probabilities
        p(σ | u).
        """
        scores, exponents = self.scaled_next_scores(trie)
        return scores if exponents is None else np.ldexp(scores, exponents[:, None])

    def scaled_next_scores(self, trie: Trie) -> tuple[FloatArray, IntArray | None]:
        """Compute `next_scores` divided by 2ᵉ, and e of each prefix (see `model.ScaledModel`)."""
        if self.is_chain:
            return self._next_probabilities(trie), None
        parts = [(share, *_prefix_scores(model, trie)) for model, share in self._parts()]
        largest = np.max([exponents for _, _, exponents in parts], axis=0)
        largest[largest == NONE] = 0
        total = np.zeros((trie.num_nodes, self.num_symbols + 1))
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for share, scores, exponents in parts:
                total += share * np.ldexp(scores, np.maximum(exponents - largest, NONE)[:, None])
            if largest.min() >= SMALLEST_EXPONENT:
                return np.ldexp(total, largest[:, None]), None
        return total, largest

    def influences(self, trie: Trie) -> FloatArray:
        """Compute the share that each model has in the mixture's prediction after each prefix u.

        By string, it is w_m Σ |scores of model m| over the same sum for all models. For
        distributions, that is w_m P_m(uΣ*) / P(uΣ*), the probability that model m drew a string
        that begins with u. By symbol, it is w_m; where all scores of some models are 0, the other
        models share their weight.

        Returns
        -------
        array, shape (num_nodes, num_models)
            Each row sums to 1, or is 0 if all scores are.
        """
        amounts = np.zeros((trie.num_nodes, len(self.models)))
        used = np.flatnonzero(self.shares)
        if self.is_chain:
            for number in used:
                amounts[:, number] = scaled_next_scores(self.models[number], trie)[0].any(axis=1)
            return _row_shares(amounts * self.shares)
        parts = [_prefix_scores(self.models[number], trie) for number in used]
        largest = np.max([exponents for _, exponents in parts], axis=0)
        for number, (scores, exponents) in zip(used, parts, strict=True):
            amounts[:, number] = np.ldexp(
                np.abs(scores).sum(axis=1), np.maximum(exponents - largest, NONE)
            )
        return _row_shares(amounts * self.shares)

    def _parts(self) -> list[tuple[Model, float]]:
        """List the models with a positive weight: the others must not matter even where they
        overflow.
        """
        return [
            (model, share)
            for model, share in zip(self.models, self.shares.tolist(), strict=True)
            if share > 0
        ]

    def _next_probabilities(self, trie: Trie) -> FloatArray:
        """Compute p(σ | u).

        A model that gives everything after u the score 0 predicts nothing; the others then share
        its weight.
        """
        total = np.zeros((trie.num_nodes, self.num_symbols + 1))
        for model, share in self._parts():
            total += share * next_distributions(scaled_next_scores(model, trie)[0])
        return next_distributions(total)

    def _chain(
        self, words: Words, weights_of: Callable[[FloatArray, Trie], FloatArray]
    ) -> FloatArray:
        weights = np.empty(len(words))
        for rows, trie in batches(words, self.num_symbols):
            weights[rows] = weights_of(self._next_probabilities(trie), trie)
        return weights


def _row_shares(amounts: FloatArray) -> FloatArray:
    """Divide each row by its sum; rows of 0 stay 0."""
    sums = amounts.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(amounts, sums, out=np.zeros_like(amounts), where=sums > 0)
    return shares


def _prefix_scores(model: Model, trie: Trie) -> tuple[FloatArray, IntArray]:
    """Compute f(uσΣ*) for each prefix u, and f(u) in the last column, divided by 2ᵉ; and e of each
    prefix.

    The exponents put the largest score of a prefix between ½ and 1; e is NONE if all are 0.
    """
    scores, exponents = _joint_scores(model, trie)
    with np.errstate(invalid="ignore"):
        powers = np.frexp(np.abs(scores).max(axis=1))[1]
    zero = ~scores.any(axis=1)
    return np.ldexp(scores, -powers[:, None]), np.where(zero, NONE, exponents + powers)


def _joint_scores(model: Model, trie: Trie) -> tuple[FloatArray, IntArray]:
    """Compute the scores of `_prefix_scores` with any exponents.

    The scores of a chain are conditional, so they are multiplied by the score of u itself.
    """
    scores, exponents = scaled_next_scores(model, trie)
    exponents = np.zeros(trie.num_nodes, dtype=np.int64) if exponents is None else exponents
    if not (isinstance(model, SharedModel) and model.is_chain):
        return scores, exponents
    factors = np.ones(trie.num_nodes)
    exponents = np.zeros(trie.num_nodes, dtype=np.int64)
    for start, end in pairwise(trie.levels[1:].tolist()):
        above = trie.parent[start:end]
        # A fraction from ½ to 1 and a power of 2, so no product underflows.
        factors[start:end], powers = np.frexp(
            factors[above] * scores[above, trie.symbol[start:end]]
        )
        exponents[start:end] = exponents[above] + powers
    return scores * factors[:, None], exponents


def check_models(models: Sequence[Model]) -> tuple[Model, ...]:
    """Return the models of a mixture as a tuple.

    Raises TypeError unless they are a sequence of models.
    """
    check_type("models", models, Sequence)
    return tuple(model_of(model, f"models[{number}]") for number, model in enumerate(models))


def check_shares(num_models: int, shares: FloatArray) -> None:
    """Raise RecipeError unless there is at least one model, and one weight for each model, and the
    weights are not negative and sum to 1.
    """
    if not num_models:
        raise RecipeError("a mixture needs at least one model; got none")
    if shares.shape != (num_models,):
        raise RecipeError(
            f"a mixture needs a weight for each of its models ({num_models}); got an array of "
            f"shape {shares.shape}"
        )
    if not (shares >= 0).all() or abs(shares.sum() - 1) > 1e-9:
        text = ", ".join(f"{format_exact(share)}" for share in shares[:10].tolist())
        raise RecipeError(f"the weights of a mixture must be at least 0 and sum to 1; got {text}")


def common_alphabet(models: Sequence[Model]) -> Alphabet | None:
    """Return the alphabet of all models; None if no model has an alphabet.

    Raises RecipeError if two models have different alphabets.
    """
    alphabets = [alphabet for model in models if (alphabet := alphabet_of(model)) is not None]
    for model in models[1:]:
        if model.num_symbols != models[0].num_symbols:
            raise RecipeError(
                "the models of a mixture must have the same symbols; "
                f"got {plural(models[0].num_symbols, 'symbol')} and "
                f"{plural(model.num_symbols, 'symbol')}"
            )
    for alphabet in alphabets[1:]:
        if alphabet != alphabets[0]:
            raise RecipeError(
                "the models of a mixture must have the same symbols in the same order; "
                f"got {alphabets[0].summary} and {alphabet.summary}"
            )
    return alphabets[0] if alphabets else None


@check_types
def mixture(
    models: Sequence[Model],
    weights: Sequence[float] | FloatArray | None = None,
    level: str = BY_STRING,
) -> WFA | Mixture:
    """Combine models: f(x) = Σ_m w_m f_m(x), or p(σ | u) = Σ_m w_m p_m(σ | u).

    >>> from nlwfa_core import WFA
    >>> one, other = WFA([1], [[[0.5]]], [0.5]), WFA([1], [[[0.25]]], [0.75])
    >>> mixture([one, other], [0.5, 0.5])((0,)), (one((0,)) + other((0,))) / 2
    (0.21875, 0.21875)

    Parameters
    ----------
    models : sequence of Model
        Over the same symbols. A mixture of the same level among them is replaced by its own models.
    weights : sequence of float, optional
        The w_m, which are not negative and sum to 1; equal by default. A model with weight 0 is
        left out.
    level : str
        What is averaged: "string" or "symbol".

    Returns
    -------
    WFA or Mixture
        By string, a WFA if all models are WFAs: their direct sum, with Σ num_states states.

    Raises
    ------
    RecipeError
        If there are no models, if their symbols differ, if the weights are not as above, if the
        level is unknown, or if the direct sum would be too large.
    """
    models = check_models(models)
    check_one_of("level", level, LEVELS)
    shares = (
        np.full(len(models), 1 / max(len(models), 1))
        if weights is None
        else float64_array("weights", weights)
    )
    check_shares(len(models), shares)
    parts: list[tuple[Model, float]] = []
    for model, share in zip(models, shares.tolist(), strict=True):
        inner: Iterable[tuple[Model, float]] = [(model, share)]
        if isinstance(model, Mixture) and model.level == level:
            inner = zip(model.models, (share * model.shares).tolist(), strict=True)
        parts += ((one, own) for one, own in inner if own > 0)
    alphabet = common_alphabet([model for model, _ in parts])
    automata = [model for model, _ in parts if isinstance(model, WFA)]
    own_shares = np.array([share for _, share in parts])
    if len(automata) < len(parts) or level == BY_SYMBOL:
        return Mixture(
            tuple(model for model, _ in parts), own_shares, alphabet=alphabet, level=level
        )
    return _direct_sum(automata, own_shares)


def _direct_sum(automata: Sequence[WFA], shares: FloatArray) -> WFA:
    k = sum(automaton.num_states for automaton in automata)
    num_symbols = automata[0].num_symbols
    limits.check_limit("symbols × states² of a mixture", num_symbols * k * k, "transition_numbers")
    first, *others = (
        share * automaton for share, automaton in zip(shares.tolist(), automata, strict=True)
    )
    total: WFA = first
    for other in others:
        total = total + other
    return replace(total, alphabet=common_alphabet(automata))


@check_types
def fit_mixture(
    models: Sequence[Model], validation: Sample, level: str = BY_STRING
) -> tuple[WFA | Mixture, FloatArray]:
    """Combine models with the weights under which validation strings are most likely.

    The weights are found by EM. EM approaches the largest likelihood, because the logarithm of the
    likelihood is concave in the weights. It ends when an iteration changes no weight by 1e-9, or
    after 10,000 iterations; models that are nearly equal may then still share a weight. A negative
    f_m(x) counts as 0. A string (or, by symbol, a next symbol) to which no model gives a positive
    weight is left out. Models whose weight falls below SMALLEST_WEIGHT are left out of the mixture.

    Parameters
    ----------
    models : sequence of Model
        Models of string probabilities over the same symbols.
    validation : Sample
        Strings from which the models did not learn.
    level : str
        What is averaged: "string" or "symbol".

    Returns
    -------
    model : WFA or Mixture
        See `mixture`.
    weights : array, shape (num_models,)
        The weight of each model; 0 for models that are left out.

    Raises
    ------
    RecipeError
        If there are no models, their symbols differ, the level is unknown, there are no validation
        strings, or no model gives any of them a positive weight.

    Examples
    --------
    >>> from nlwfa_core import NGram, as_sample, fit_mixture
    >>> train, validation = as_sample(["ab", "ab", "b"]), as_sample(["ab", "b"])
    >>> model, weights = fit_mixture([NGram.fit(train, 1), NGram.fit(train, 3)], validation)
    >>> round(float(weights.sum()), 6)
    1.0
    """
    models = check_models(models)
    check_one_of("level", level, LEVELS)
    if not models:
        raise RecipeError("a mixture needs at least one model; got none")
    alphabet = common_alphabet(models)
    if alphabet is not None:
        validation = validation.in_alphabet(alphabet, "the models'")
    if level == BY_SYMBOL:
        logs = np.stack(
            [next_log2_probabilities(model, validation.words)[0] for model in models], axis=1
        )
        counts = next_counts(validation, models[0].num_symbols)
    else:
        # (num_words, num_models)
        logs = np.stack([log2_probabilities(model, validation.words) for model in models], axis=1)
        counts = validation.counts
    if not np.isfinite(logs).any():
        raise RecipeError(
            "no model gives any of the validation strings a positive weight: do they come "
            "from the same source as the training "
            f"strings? got {plural(len(validation.words), 'distinct string')}"
        )
    shares = mixture_weights(logs, counts)
    return mixture(models, shares, level), shares


def mixture_weights(logs: FloatArray, counts: IntArray) -> FloatArray:
    """Find the weights w, shape (num_models,), with the largest Σ_x count(x) log Σ_m w_m P_m(x), by
    EM from equal weights.

    Words to which no model gives a positive probability are left out; at least one other word is
    needed. Weights below SMALLEST_WEIGHT become 0.

    >>> mixture_weights(np.log2([[0.9, 0.1], [0.1, 0.9]]), np.array([5, 5])).tolist()
    [0.5, 0.5]

    `logs` (num_words, num_models): log₂ P_m(x); −∞ for 0. `counts` (num_words,).
    """
    highest = logs.max(axis=1)
    possible = np.isfinite(highest)
    chances = np.exp2(logs[possible] - highest[possible, None])
    frequencies = counts[possible] / counts[possible].sum()
    shares: FloatArray = np.full(chances.shape[1], 1 / chances.shape[1])
    for _ in range(ITERATIONS):
        joint = chances * shares
        new: FloatArray = frequencies @ (joint / joint.sum(axis=1, keepdims=True))
        change = np.abs(new - shares).max()
        shares = new
        if change < CHANGE:
            break
    shares = np.where(shares < SMALLEST_WEIGHT, 0.0, shares)
    total: float = shares.sum()
    return np.asarray(shares / total)


def mixed_log2_probabilities(logs: FloatArray, shares: FloatArray) -> FloatArray:
    """Compute log₂ Σ_m w_m P_m(x) of each word, shape (num_words,); −∞ for 0.

    >>> mixed_log2_probabilities(np.log2([[0.5, 0.25]]), np.array([0.5, 0.5])).tolist() == [
    ...     np.log2(0.375)
    ... ]
    True

    `logs` (num_words, num_models): log₂ P_m(x); −∞ for 0. `shares` (num_models,): the weights w_m.
    """
    highest = logs.max(axis=1)
    highest[~np.isfinite(highest)] = 0.0
    with np.errstate(divide="ignore"):
        mixed: FloatArray = np.log2(np.exp2(logs - highest[:, None]) @ shares) + highest
    return mixed


def next_log2_probabilities(model: Model, words: Words) -> tuple[FloatArray, FloatArray]:
    """log₂ p(σ | u) of the symbol that follows each distinct prefix of some words, and of the ends;
    −∞ for 0.

    Returns `next_logs` (num_events,): in an order that depends on the words alone; `next_counts`
    counts how often each event happens. `logs` (num_words,): the sum for each word and its end. If
    the model is a distribution, it is log₂ f(x).
    """
    parts = list[FloatArray]()
    logs = np.empty(len(words))
    for rows, trie in batches(words, model.num_symbols):
        shares = next_distributions(scaled_next_scores(model, trie)[0])
        parts += [shares[trie.parent[1:], trie.symbol[1:]], shares[trie.ends, -1]]
        logs[rows] = chain_log2_weights(shares, trie)
    with np.errstate(divide="ignore"):
        next_logs = np.log2(np.concatenate(parts))
    return tuple(np.where(np.isfinite(one), one, -np.inf) for one in (next_logs, logs))  # type: ignore[return-value]


def next_counts(sample: Sample, num_symbols: int) -> IntArray:
    """Count how often each of the events of `next_log2_probabilities` happens in a sample, shape
    (num_events,).
    """
    parts = []
    for rows, trie in batches(sample.words, num_symbols):
        parts += [trie.prefix_counts(sample.counts[rows])[1:], sample.counts[rows]]
    return np.concatenate(parts)


def log2_probabilities(model: Model, words: Words) -> FloatArray:
    """log₂ f(x), shape (num_words,); −∞ unless f(x) > 0. f(x) may be too small for float64."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(model, WFA):
            # a WFA's weight may be negative: scaled scores keep the sign of one too small for
            # float64
            trie = Trie.of(model_words(words, model.alphabet), model.num_symbols)
            scores, exponents = model.scaled_next_scores(trie)
            weights = scores[trie.ends, -1]
            logs = np.log2(np.abs(weights)) + (0 if exponents is None else exponents[trie.ends])
        else:
            weights = model.weights(words)
            logs = (
                model.log2_weights(words)
                if isinstance(model, LogModel)
                else np.log2(np.abs(weights))
            )
    return np.where(~np.signbit(weights) & np.isfinite(logs), logs, -np.inf)
