"""A third step of learning: all parameters together, on what follows each prefix of the training strings.

The model is rolled out along the tree of the strings, each distinct prefix once. It makes of an NL-WFA a recurrent network, the
link that the paper's conclusion names; a WFA goes the same way, so linear and nonlinear are compared on equal terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..metrics.scores import next_symbol_score
from ..models.nlwfa import NLWFA
from ..models.wfa import WFA
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import FloatArray, IntArray, Words
from .early_stopping import Best
from .kernels import DTYPE, activate
from .networks import half_cosine, nudge, one_thread, to_arrays
from .options import Refinement
from .progress import BITS, CancelCheck, Progress, Report, RowStates, TrainingLog, check_cancelled, never, silent
from .rollout import Continuations, Step, transition_step

SMALLEST_PROBABILITY = 1e-8  # what is impossible must not stop the training
LARGEST_GRADIENT = 1.0
SMALLEST_CONDITIONAL = 1e-3
SMALLEST_SHARE = 1e-8
# Random divisions of the strings into batches, taken in turn: their trees are built once.
DIVISIONS = 4
# What is judged and kept is a running average over about 1 / (1 − AVERAGING) steps (Polyak and Juditsky 1992), fewer at first.
AVERAGING = 0.998


@dataclass
class _Trained:
    """A model's parameters as tensors, and what it says with them. A WFA's only layer is its transitions.

    A layer of the transitions is `deviations`, a map for each symbol, plus `common`, which all share: what few strings say of a
    rare symbol adds to what many say of all, and weight decay draws symbols towards each other.
    """

    model: WFA | NLWFA
    initial: torch.Tensor
    common: list[torch.Tensor]
    deviations: list[torch.Tensor]
    decoder: list[torch.Tensor]
    output: torch.Tensor

    @classmethod
    def of(cls, model: WFA | NLWFA) -> _Trained:
        transitions, decoder, output = (
            ((model.transitions,), (), model.termination[:, None])
            if isinstance(model, WFA)
            else (model.transitions, model.decoder, model.output)
        )
        initial, *layers, last = (
            torch.tensor(array, dtype=DTYPE, requires_grad=True) for array in (model.initial, *transitions, *decoder, output)
        )
        common = [torch.zeros((1, *layer.shape[1:]), dtype=DTYPE, requires_grad=True) for layer in transitions]
        return cls(model, initial, common, layers[: len(transitions)], layers[len(transitions) :], last)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.initial, *self.common, *self.deviations, *self.decoder, self.output]

    @property
    def transitions(self) -> list[torch.Tensor]:
        return [shared + own for shared, own in zip(self.common, self.deviations, strict=True)]

    def learned(self) -> WFA | NLWFA:
        initial, output = to_arrays([self.initial, self.output])
        transitions = to_arrays(self.transitions)
        if isinstance(self.model, WFA):
            return WFA(initial, transitions[0], output[:, 0])
        return replace(self.model, initial=initial, transitions=transitions, decoder=to_arrays(self.decoder), output=output)

    def surprise(self, tree: Continuations, dropout: float = 0.0) -> torch.Tensor:
        """Bits per symbol on some strings, as `metrics.scores.next_symbol_score` has it: of |scores|, normalised."""
        scores = self._scores(tree, lambda values: torch.nn.functional.dropout(values, dropout) if dropout else values)
        if isinstance(self.model, NLWFA) and self.model.reading.link == "softmax":
            logs = torch.log_softmax(scores, dim=1)[tree.nodes, tree.symbols]
        else:
            sizes = scores.abs()
            sums = sizes.sum(dim=1) + torch.finfo(sizes.dtype).tiny
            logs = torch.log(sizes[tree.nodes, tree.symbols] / sums[tree.nodes] + SMALLEST_PROBABILITY)
        bits: torch.Tensor = -(logs * tree.shares).sum() / math.log(2)
        return bits

    def _scores(self, tree: Continuations, drop: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """As the model's `next_scores`, before a softmax: shape (num_nodes, num_symbols + 1)."""
        model = self.model
        transitions = self.transitions
        if isinstance(model, WFA):
            states = tree.states(self.initial, transition_step(transitions, False, unit=True))
            A = transitions[0]
            goes_on = torch.linalg.solve(torch.eye(model.num_states) - A.sum(dim=0), self.output)
            linear: torch.Tensor = states @ torch.cat([(A @ goes_on)[:, :, 0].T, self.output], dim=1)
            return linear
        reading = replace(model.reading, link="identity") if model.reading.link == "softmax" else model.reading
        homogeneous = reading.looks_ahead and not (model.nonlinear_transitions or model.nonlinear_termination)
        walk = transition_step(transitions, model.nonlinear_transitions, homogeneous)
        states = tree.states(self.initial, lambda before, symbol: walk(drop(before), symbol))
        network = _Network(self, transition_step(transitions, model.nonlinear_transitions))
        scores: torch.Tensor = reading.scores(network, states if reading.looks_ahead else drop(states))
        return scores


@dataclass
class _Network:
    """A network of tensors, as its reading needs it (`models.reading.Network`)."""

    trained: _Trained
    transition: Step

    @property
    def num_symbols(self) -> int:
        return self.trained.model.num_symbols

    @property
    def output(self) -> torch.Tensor:
        return self.trained.output

    def outputs(self, states: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        for layer in self.trained.decoder:
            states = activate(states @ layer, isinstance(self.trained.model, NLWFA) and self.trained.model.nonlinear_termination)
        return states @ columns

    def side_by_side(self, columns: Iterable[torch.Tensor], num_rows: int) -> torch.Tensor:
        return torch.stack(list(columns), dim=1)


@one_thread()
def refine_likelihood(
    model: WFA | NLWFA,
    train: Sample,
    validation: Sample | None,
    options: Refinement,
    report: Report = silent,
    cancelled: CancelCheck = never,
    shown: tuple[IntArray, Words] | None = None,
) -> tuple[WFA | NLWFA, TrainingLog]:
    """Minimise the bits per symbol of the training strings over all parameters of a model.

    A network becomes a distribution: what it gives a string is the product of its normalised scores from there on. If its outputs
    are conditional probabilities, with a nonlinear termination, it goes on with a softmax, fitted to what it said before. Kept are
    the parameters of the epoch with the fewest bits per symbol on the validation strings (without any, on the training strings);
    if no epoch has fewer than the given model, it comes back as it was.

    Parameters
    ----------
    shown : (array, Words), optional
        Rows of a Hankel matrix, and their prefixes as strings: their states can be looked at meanwhile.

    Returns
    -------
    model : WFA or NLWFA
    log : TrainingLog
        Bits per symbol, on the strings that choose; the first entry is the given model's.

    Raises
    ------
    Cancelled
    """
    judges = train if validation is None else validation
    before = next_symbol_score(model, judges).bits_per_symbol
    starts: list[WFA | NLWFA] = [_balanced(_as_distribution(model, train), train)]
    rows, prefixes = shown or (np.empty(0, dtype=np.int64), Words.of([]))
    tree = Trie.of(prefixes, model.num_symbols)
    starts += [_random_like(starts[0], seed) for seed in range(options.seed + 1, options.seed + 1 + options.restarts)]
    total = options.epochs * len(starts)
    runs = []
    for number, start in enumerate(starts):

        def told(epoch: int, bits: float, by_now: _Trained, done: int = number * options.epochs) -> None:
            def look() -> RowStates:
                return RowStates(rows, by_now.learned().states(tree)[tree.ends])

            report(Progress("refinement", done + epoch, total, bits, BITS, look if shown else None))

        runs.append(_train_from(start, train, judges, options, told, cancelled))
    best, losses = min(runs, key=lambda run: min(run[1], default=math.inf))
    after = next_symbol_score(best, judges).bits_per_symbol
    better = after < before or (np.isfinite(after) and not np.isfinite(before))
    if isinstance(best, WFA) and np.isfinite(mass := best.total_weight()) and mass != 0:
        best = replace(best, initial=best.initial / mass)  # next symbols don't say how much all strings weigh together
    return best if better else model, TrainingLog("refinement", np.array([before, *losses]), measure=BITS)


def _train_from(
    model: WFA | NLWFA,
    train: Sample,
    judges: Sample,
    options: Refinement,
    told: Callable[[int, float, _Trained], None],
    cancelled: CancelCheck,
) -> tuple[WFA | NLWFA, list[float]]:
    """One training from one start: the best epoch's model, and each epoch's bits per symbol on the strings that choose."""
    torch.manual_seed(options.seed)  # of dropout
    if not np.isfinite(next_symbol_score(model, train).bits_per_symbol):  # what happens has score 0, and no slope to climb
        start = _Trained.of(model)
        nudge(start.tensors, options.seed)
        model = start.learned()
    trained, averaged = _Trained.of(model), _Trained.of(model)
    optimizer = torch.optim.AdamW(trained.tensors, lr=options.rate, weight_decay=options.weight_decay)
    strings = int(train.counts.sum())
    count = max(1, round(strings / options.batch))
    divisions = [train.split([strings // count] * count, options.seed + number) for number in range(min(DIVISIONS, options.epochs))]
    batches = [[Continuations(part, model.num_symbols) for part in parts] for parts in divisions]
    judging = Continuations(judges, model.num_symbols)
    best, losses = Best(model), list[float]()
    for epoch in range(options.epochs):
        for number, batch in enumerate(batches[epoch % len(batches)]):
            check_cancelled(cancelled)
            done = (epoch + number / count) / options.epochs
            optimizer.param_groups[0]["lr"] = half_cosine(options.rate, math.pi * done)
            optimizer.zero_grad()
            trained.surprise(batch, options.dropout).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained.tensors, LARGEST_GRADIENT)
            optimizer.step()
            share = max(1 - AVERAGING, 1 / (2 + (epoch * count + number) / 10))
            with torch.no_grad():
                for average, tensor in zip(averaged.tensors, trained.tensors, strict=True):
                    average.lerp_(tensor, share)
        with torch.no_grad():
            bits = float(averaged.surprise(judging))
        told(epoch + 1, bits, averaged)
        if not np.isfinite(bits):
            break
        losses.append(bits)
        best.offer(bits, averaged.learned)
    return best.value, losses


def _as_distribution(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """A network with normalised scores; a softmax's logits are fitted, by least squares, to the logarithms of what it said."""
    if isinstance(model, WFA):
        return model
    normalised = replace(model.reading, normalised=True)
    if model.reading.looks_ahead or model.reading.link != "identity" or not model.nonlinear_termination:
        return replace(model, reading=normalised)
    trie = Trie.of(train.words, model.num_symbols)
    weights = np.sqrt(trie.prefix_counts(train.counts))[:, None]
    logs = np.log(np.maximum(model.next_scores(trie), SMALLEST_CONDITIONAL))
    hidden = model.decode(model.states(trie))
    logits = np.linalg.lstsq(weights * hidden, weights * logs)[0]
    return replace(model, output=logits, reading=replace(normalised, link="softmax"))


def _balanced(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """The same function in other coordinates, where maps are linear: states z T for z, with E[(z T)ᵀ z T] = I along the strings.

    What singular vectors give is of very different sizes, and steps of one size would break the small ones.
    """
    if isinstance(model, NLWFA) and model.nonlinear_transitions:
        return model
    trie = Trie.of(train.words, model.num_symbols)
    states, weights = model.states(trie), trie.prefix_counts(train.counts)
    sizes = np.linalg.norm(states, axis=1, keepdims=True)
    units = np.divide(states, sizes, out=np.zeros_like(states), where=np.isfinite(sizes) & (sizes > 0))
    values, vectors = np.linalg.eigh((units.T * weights) @ units / weights.sum())
    roots = np.sqrt(values.clip(values.max() * SMALLEST_SHARE))
    T, inverse = vectors / roots, (vectors * roots).T
    if isinstance(model, WFA):
        return WFA(model.initial @ T, inverse @ model.transitions @ T, inverse @ model.termination)
    transitions = [inverse @ model.transitions[0], *model.transitions[1:]]
    transitions[-1] = transitions[-1] @ T
    first, *others = (*model.decoder, model.output)
    *decoder, output = (inverse @ first, *others)
    return replace(model, initial=model.initial @ T, transitions=tuple(transitions), decoder=tuple(decoder), output=output)


def _random_like(model: WFA | NLWFA, seed: int) -> WFA | NLWFA:
    """A model of the same shapes with random layers (Glorot and Bengio 2010)."""
    rng = np.random.default_rng(seed)

    def drawn(array: FloatArray) -> FloatArray:
        bound = (6.0 / sum(array.shape[-2:])) ** 0.5
        return rng.uniform(-bound, bound, size=array.shape)

    if isinstance(model, WFA):
        near = drawn(model.transitions) / model.num_symbols
        return WFA(rng.uniform(size=model.num_states), near, rng.uniform(size=model.num_states))
    return replace(
        model,
        initial=rng.uniform(-0.5, 0.5, model.num_states),
        transitions=tuple(map(drawn, model.transitions)),
        decoder=tuple(map(drawn, model.decoder)),
        output=drawn(model.output),
    )
