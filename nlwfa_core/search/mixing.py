"""Choose a model or a mixture among the candidates of a search.

A mixture of probabilities of strings has weights learned by EM; if the result need not be an
automaton, probabilities of next symbols may be mixed instead. If the model is to rank next symbols
after a prefix, the best models and mixtures are compared by NDCG5 (Balle et al. 2016) on prefixes
of validation strings, which are cut at random places, as in the SPiCe competition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from .. import limits
from ..metrics.evaluate import bits_per_symbol
from ..metrics.ranking import END, Prefixes, Targets, normalised_gains, rank_next
from ..models.mixture import (
    BY_STRING,
    BY_SYMBOL,
    log2_probabilities,
    mixed_log2_probabilities,
    mixture,
    mixture_weights,
    next_counts,
    next_log2_probabilities,
)
from ..models.wfa import WFA
from ..strings.sample import Sample
from ..strings.words import FloatArray, Words
from .budget import Clock
from .candidates import Candidate, title_of

# Components of a mixture, and the share by which each must lower the loss.
MAX_COMPONENTS = 16
COMPONENT_GAIN = 1e-5
CONSIDERED = 60
# Models of a mixture of next symbols are this near the best. Rankings are compared on at most this
# many prefixes, fewer if there would be more scores of next symbols than this; those of the best
# few models are compared with those of mixtures.
SYMBOL_MARGIN = 1.2
MOST_PREFIXES = 2000
MOST_SCORES = 2**25
RANKED = 3
# with which a model is tried in a mixture, in addition to larger ones: next to a much better model,
# half is too much
TRIAL_SHARE = 0.1


@dataclass(eq=False)
class Choice:
    """A model or a mixture that a search may return. The fields are those of `SearchResult`."""

    components: list[Candidate]
    shares: FloatArray
    bits: float
    level: str = BY_STRING
    ndcg5: float | None = None

    @property
    def title(self) -> str:
        """Name it."""
        return title_of(self.components, self.level)


@dataclass(eq=False)
class Mixing:
    """Chooses a model or a mixture by validation strings."""

    validation: Sample
    max_states: int  # of all components together
    seed: int  # of the places where validation strings are cut
    clock: Clock
    log: Callable[[str], None]
    other_models: Collection[str]
    for_ranking: bool

    def best(self, usable: Sequence[Candidate]) -> Choice:
        """Choose a model or a mixture: the one with the fewest bits or, if it is to rank, one with
        a clearly higher NDCG5.

        "Clearly" means by more than the standard error of the difference over the same prefixes.
        """
        choices = [Choice(*self.by_string(usable))]
        if self.other_models and (other := self.by_symbol(usable)) is not None:
            choices.append(other)
        choices.sort(key=lambda one: one.bits)
        if not self.for_ranking:
            return choices[0]
        alone = [one.components[0] for one in choices if len(one.components) == 1]
        choices += [
            Choice([one], np.ones(1), one.bits) for one in usable[:RANKED] if one not in alone
        ]
        prefixes = held_out_prefixes(self.validation, self.seed)
        best = choices[0]
        best_gains = np.zeros(len(prefixes.words))
        for number, one in enumerate(choices):
            if number and self.clock.stop.is_set():
                break
            models = [part.model for part in one.components]
            model = models[0] if len(models) == 1 else mixture(models, one.shares, one.level)
            gains = normalised_gains(rank_next(model, prefixes.words), prefixes.targets)
            one.ndcg5 = float(gains.mean())
            self.log(f"NDCG5 of {one.title} on prefixes of validation strings: {one.ndcg5:.4f}")
            gap = gains - best_gains
            if not number or gap.mean() > gap.std() / np.sqrt(len(gap)):
                best = one
                best_gains = gains
        return best

    def by_string(self, usable: Sequence[Candidate]) -> tuple[list[Candidate], FloatArray, float]:
        """Choose a mixture: for each limit on a component's states, add the model that helps most,
        as long as one helps and fits.
        """
        best = usable[0]
        chosen = [best]
        shares = np.ones(1)
        bits = best.bits
        parts = [one for one in usable if one.bits < best.bits * 1.3 and _is_distribution(one)]
        total = self.max_states
        tried = set[tuple[int, ...]]()
        logs: dict[int, FloatArray] = {}
        counts = self.validation.counts.astype(np.float64)
        symbols = counts @ (self.validation.words.lengths + 1)
        for limit in sorted({total, total // 2, total // 3, total // 5}, reverse=True):
            allowed = [one for one in parts if one.num_states <= limit][:CONSIDERED]
            if len(allowed) < 2:
                continue
            for one in allowed:
                if id(one) not in logs:
                    logs[id(one)] = (
                        one.logs[1]
                        if one.logs
                        else log2_probabilities(one.model, self.validation.words)
                    )
            table = np.stack([logs[id(one)] for one in allowed], axis=1)
            states = [one.num_states for one in allowed]
            picked = _greedy(table, counts, states, total)
            # their mixture is an automaton
            if all(isinstance(allowed[number].model, WFA) for number in picked):
                largest = largest_automaton(self.validation.num_symbols)
                if sum(states[number] for number in picked) > largest:
                    picked = _greedy(table, counts, states, largest)
            key = tuple(sorted(id(allowed[number]) for number in picked))
            if len(picked) < 2 or key in tried or not np.isfinite(table[:, picked]).any():
                continue
            tried.add(key)
            members = [allowed[number] for number in picked]
            weights = mixture_weights(table[:, picked], self.validation.counts)
            mixed = float(-(counts @ mixed_log2_probabilities(table[:, picked], weights)) / symbols)
            if not all(one.is_distribution for one in members):  # scores may be negative
                mixed = bits_per_symbol(
                    mixture([one.model for one in members], weights), self.validation
                )
            if mixed < bits:
                chosen = [one for one, w in zip(members, weights, strict=True) if w > 0]
                shares = weights[weights > 0]
                bits = mixed
        return chosen, shares, bits

    def by_symbol(self, usable: Sequence[Candidate]) -> Choice | None:
        """Choose a mixture of next-symbol probabilities, as `by_string` does; None if no other
        model improves on the best one.
        """
        counts = next_counts(self.validation, self.validation.num_symbols)
        near = [one for one in usable if one.bits < usable[0].bits * SYMBOL_MARGIN][:CONSIDERED]
        for one in near:
            if one.logs is None and self.clock.spent < self.clock.seconds:
                one.logs = next_log2_probabilities(one.model, self.validation.words)
        parts = [one for one in near if one.logs is not None]
        if len(parts) < 2:
            return None
        table = np.stack([one.logs[0] for one in parts if one.logs is not None], axis=1)
        total = self.max_states
        best = None
        for limit in sorted({total, total // 2, total // 3, total // 5}, reverse=True):
            allowed = np.array(
                [number for number, one in enumerate(parts) if one.num_states <= limit]
            )
            if len(allowed) < 2:
                continue
            picked = allowed[
                _greedy(
                    table[:, allowed],
                    counts.astype(np.float64),
                    [parts[number].num_states for number in allowed],
                    total,
                )
            ]
            if len(picked) < 2 or not np.isfinite(table[:, picked]).any(axis=1).all():
                continue
            shares = mixture_weights(table[:, picked], counts)
            bits = float(
                -(counts @ mixed_log2_probabilities(table[:, picked], shares)) / counts.sum()
            )
            if best is None or bits < best.bits:
                used = shares > 0
                members = [parts[number] for number in picked[used]]
                best = Choice(members, shares[used] / shares[used].sum(), bits, BY_SYMBOL)
        return best


def largest_automaton(num_symbols: int) -> int:
    """Return the largest number of states with which an automaton, or a mixture that is an
    automaton, has no more numbers than allowed.
    """
    return isqrt(limits.most("transition_numbers") // num_symbols)


def held_out_prefixes(strings: Sample, seed: int) -> Prefixes:
    """Cut strings at random places, each string equally often. The target is the symbol that
    follows, or the end.

    There are about MOST_PREFIXES, and fewer if there would be more than about MOST_SCORES scores of
    next symbols.

    `seed`: the seed of the random numbers.
    """
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(strings.words)), strings.counts)
    # for each prefix
    scores = (strings.words.lengths[rows].mean() / 2 + 1) * (strings.num_symbols + 1)
    most = max(1, min(MOST_PREFIXES, int(MOST_SCORES / scores)))
    rows = np.tile(rows, max(1, most // len(rows)))  # few prefixes would choose by chance
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    lengths = strings.words.lengths[rows]
    starts = strings.words.offsets[rows]
    cuts = rng.integers(0, lengths + 1)
    symbols = np.append(strings.words.symbols.astype(np.int64), END)
    targets = np.where(cuts < lengths, symbols[np.minimum(starts + cuts, len(symbols) - 1)], END)
    words = Words.of(
        [
            tuple(symbols[start : start + cut].tolist())
            for start, cut in zip(starts, cuts, strict=True)
        ]
    )
    return Prefixes(replace(words, alphabet=strings.alphabet), Targets.of(targets))


def _is_distribution(candidate: Candidate) -> bool:
    """Return whether a model's weights sum to 1, so that a mixture with it is a distribution."""
    model = candidate.model
    if candidate.is_distribution or not isinstance(model, WFA):
        return True
    return abs(model.total_weight() - 1) < 1e-3


def _greedy(logs: FloatArray, counts: FloatArray, states: Sequence[int], total: int) -> list[int]:
    """Choose columns of log probabilities whose mixture makes the strings likeliest, one after the
    other.

    `logs` (num_words, num_models). `counts` (num_words,). `states`: of each model; those of the
    chosen ones sum to at most `total`.
    """
    highest = logs.max(axis=1)
    possible = np.isfinite(highest)
    chances = np.exp2(logs[possible] - highest[possible, None])
    counts = counts[possible]
    floor = np.finfo(float).tiny

    def score(p: FloatArray) -> float:
        return float(counts @ np.log2(p + floor))

    scores = [score(chances[:, number]) for number in range(len(states))]
    picked = [int(np.argmax(scores))]
    mixed = chances[:, picked[0]].copy()
    value = max(scores)
    bits = -(value + float(counts @ highest[possible]))
    while len(picked) < MAX_COMPONENTS:
        used = sum(states[number] for number in picked)
        best: tuple[float, int, FloatArray] | None = None
        for number in range(len(states)):
            if number in picked or used + states[number] > total:
                continue
            for share in (0.5 / len(picked), 1 / (1 + len(picked)), TRIAL_SHARE / len(picked)):
                trial = (1 - share) * mixed + share * chances[:, number]
                its_score = score(trial)
                if its_score > (-np.inf if best is None else best[0]):
                    best = its_score, number, trial
        if best is None or best[0] - value < COMPONENT_GAIN * bits:
            break
        value = best[0]
        mixed = best[2]
        picked.append(best[1])
    return picked
