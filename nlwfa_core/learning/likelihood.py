"""A third step of learning: all parameters together, on what follows each prefix of the training strings.

The model is rolled out along the tree of the strings, each distinct prefix once. It makes of an NL-WFA a recurrent network, the
link that the paper's conclusion names; a WFA goes the same way, so linear and nonlinear are compared on equal terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..metrics import next_symbol_score
from ..nlwfa import NLWFA
from ..sample import Sample
from ..trie import Trie
from ..wfa import WFA
from ..words import FloatArray
from .networks import activate, one_thread
from .progress import BITS, CancelCheck, Progress, Report, TrainingLog, check_cancelled, never, silent
from .rollout import Continuations, through
from .steps import Refinement

# Stochastic steps need no more digits; what is reported of them is computed in float64.
STEP_DTYPE = torch.float32
TINY = 1e-12
LARGEST_GRADIENT = 1.0
SMALLEST_CONDITIONAL = 1e-3
# Random divisions of the strings into batches, taken in turn: their trees are built once.
DIVISIONS = 4


@dataclass
class _Trained:
    """A model's parameters as tensors, and what it says with them. A WFA's only layer is its transitions."""

    model: WFA | NLWFA
    initial: torch.Tensor
    transitions: list[torch.Tensor]
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
            torch.tensor(array, dtype=STEP_DTYPE, requires_grad=True) for array in (model.initial, *transitions, *decoder, output)
        )
        return cls(model, initial, layers[: len(transitions)], layers[len(transitions) :], last)

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.initial, *self.transitions, *self.decoder, self.output]

    def learned(self) -> WFA | NLWFA:
        initial, *layers, output = (tensor.detach().numpy().astype(np.float64) for tensor in self.tensors)
        if isinstance(self.model, WFA):
            return WFA(initial, layers[0], output[:, 0])
        count = len(self.transitions)
        return replace(self.model, initial=initial, transitions=tuple(layers[:count]), decoder=tuple(layers[count:]), output=output)

    def surprise(self, tree: Continuations, dropout: float = 0.0) -> torch.Tensor:
        """Bits per symbol on some strings, as `metrics.next_symbol_score` has it: of |scores|, normalised."""
        scores = self._scores(tree, lambda values: torch.nn.functional.dropout(values, dropout) if dropout else values)
        if isinstance(self.model, NLWFA) and self.model.link == "softmax":
            logs = torch.log_softmax(scores, dim=1)[tree.nodes, tree.symbols]
        else:
            sizes = scores.abs()
            logs = torch.log(sizes[tree.nodes, tree.symbols] + TINY) - torch.log(sizes.sum(dim=1) + TINY)[tree.nodes]
        bits: torch.Tensor = -(logs * tree.shares).sum() / math.log(2)
        return bits

    def _scores(self, tree: Continuations, drop: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """As the model's `next_scores`, before a softmax: shape (num_nodes, num_symbols + 1)."""
        model = self.model
        if isinstance(model, WFA):
            # Scores of a prefix may all be divided by one number: without it, states of long prefixes vanish.
            step = through(self.transitions, False)
            states = tree.states(self.initial, lambda before, symbol: _unit(step(before, symbol)))
            A = self.transitions[0]
            goes_on = torch.linalg.solve(torch.eye(model.num_states) - A.sum(dim=0), self.output)
            scores: torch.Tensor = states @ torch.cat([(A @ goes_on)[:, :, 0].T, self.output], dim=1)
            return scores
        step = through(self.transitions, model.nonlinear_transitions)
        states = tree.states(self.initial, lambda before, symbol: step(drop(before), symbol))
        if model.reading == "conditional":
            return self._decoded(drop(states)) @ self.output
        goes_on = self.output[:, 1:] if model.reading == "string" else self.output
        ending = step(states, model.num_symbols) if model.reading == "boundary" else states
        followed = [(step(states, symbol), goes_on) for symbol in range(model.num_symbols)] + [(ending, self.output[:, :1])]
        outputs = (self._decoded(after) @ columns for after, columns in followed)
        sums: list[torch.Tensor] = [(z.square() if model.link == "square" else z).sum(dim=1) for z in outputs]
        return torch.stack(sums, dim=1)

    def _decoded(self, states: torch.Tensor) -> torch.Tensor:
        for layer in self.decoder:
            states = activate(states @ layer, isinstance(self.model, NLWFA) and self.model.nonlinear_termination)
        return states


def _unit(states: torch.Tensor) -> torch.Tensor:
    scaled: torch.Tensor = states / (states.detach().norm(dim=1, keepdim=True) + 1e-30)
    return scaled


@one_thread()
def refine_likelihood(
    model: WFA | NLWFA,
    train: Sample,
    validation: Sample | None,
    options: Refinement,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> tuple[WFA | NLWFA, TrainingLog]:
    """Minimise the bits per symbol of the training strings over all parameters of a model.

    A network whose outputs are conditional probabilities, with a nonlinear termination, goes on with a softmax over them, fitted to
    what it said before. Kept are the parameters of the epoch with the fewest bits per symbol on the validation strings (without
    any, on the training strings); if no epoch has fewer than the given model, it comes back as it was.

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
    starts: list[WFA | NLWFA] = [_with_softmax(model, train)]
    starts += [_random_like(starts[0], seed) for seed in range(options.seed + 1, options.seed + 1 + options.restarts)]
    total = options.epochs * len(starts)
    runs = []
    for number, start in enumerate(starts):

        def told(epoch: int, bits: float, done: int = number * options.epochs) -> None:
            check_cancelled(cancelled)
            report(Progress("refinement", done + epoch, total, bits, BITS))

        runs.append(_climb(start, train, judges, options, told))
    best, losses = min(runs, key=lambda run: min(run[1], default=math.inf))
    after = next_symbol_score(best, judges).bits_per_symbol
    better = after < before or (np.isfinite(after) and not np.isfinite(before))
    return best if better else model, TrainingLog("refinement", np.array([before, *losses]), measure=BITS)


def _climb(
    model: WFA | NLWFA, train: Sample, judges: Sample, options: Refinement, told: Callable[[int, float], None]
) -> tuple[WFA | NLWFA, list[float]]:
    """One training from one start: the best epoch's model, and each epoch's bits per symbol on the strings that choose."""
    torch.manual_seed(options.seed)  # of dropout
    trained = _Trained.of(model)
    optimizer = torch.optim.AdamW(trained.tensors, lr=options.rate, weight_decay=options.weight_decay)
    strings = int(train.counts.sum())
    count = max(1, round(strings / options.batch))
    divisions = [train.split([strings // count] * count, options.seed + number) for number in range(min(DIVISIONS, options.epochs))]
    batches = [[Continuations(part, model.num_symbols, STEP_DTYPE) for part in parts] for parts in divisions]
    judging = Continuations(judges, model.num_symbols, STEP_DTYPE)
    best, fewest, losses = model, math.inf, list[float]()
    for epoch in range(options.epochs):
        for number, batch in enumerate(batches[epoch % len(batches)]):
            done = (epoch + number / count) / options.epochs
            optimizer.param_groups[0]["lr"] = options.rate * 0.5 * (1 + math.cos(math.pi * done))
            optimizer.zero_grad()
            trained.surprise(batch, options.dropout).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained.tensors, LARGEST_GRADIENT)
            optimizer.step()
        with torch.no_grad():
            bits = float(trained.surprise(judging))
        told(epoch + 1, bits)
        if not np.isfinite(bits):
            break
        losses.append(bits)
        if bits < fewest:
            best, fewest = trained.learned(), bits
    return best, losses


def _with_softmax(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """A conditional model with a nonlinear termination: logits fitted, by least squares, to the logarithms of what it said."""
    if isinstance(model, WFA) or (model.reading, model.link) != ("conditional", "identity") or not model.nonlinear_termination:
        return model
    trie = Trie.of(train.words, model.num_symbols)
    weights = np.sqrt(trie.prefix_counts(train.counts))[:, None]
    logs = np.log(np.maximum(model.next_scores(trie), SMALLEST_CONDITIONAL))
    hidden = model.decode(model.states(trie))
    return replace(model, output=np.linalg.lstsq(weights * hidden, weights * logs)[0], link="softmax")


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
