"""A third step, which trains all parameters together, to predict what follows each prefix of the
training strings.

The model computes the states of all distinct prefixes along the strings' prefix tree. This treats
an NL-WFA as a recurrent network, a connection that the paper's conclusion mentions. WFA are trained
in the same way, so linear and nonlinear models can be compared on equal terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp
from torch.utils.checkpoint import checkpoint

from ...metrics.evaluate import bits_per_symbol
from ...models.nlwfa import NLWFA
from ...models.wfa import WFA
from ...strings.sample import Sample
from ...strings.trie import SCORES_AT_ONCE, Trie
from ...strings.words import FloatArray, IntArray, Words
from ..early_stopping import Best
from ..next_symbol_loss import MIN_PROBABILITY, blocks, in_blocks, log_likelihood
from ..progress import (
    BITS,
    CancelCheck,
    Progress,
    Report,
    RowStates,
    TrainingLog,
    check_cancelled,
    never,
    silent,
)
from ..shared_options import Refined
from ..steps.descent import half_cosine, nudge
from ..tensors import DTYPE, activate, one_thread, to_arrays
from .torch_states import Continuations, Step, transition_step

MAX_GRADIENT_NORM = 1.0
# smaller conditional probabilities are raised to it before the softmax is fitted to their
# logarithms
MIN_CONDITIONAL = 1e-3
# the least variance of a direction of the states, relative to the largest one; smaller ones are
# raised to it
MIN_VARIANCE = 1e-8
# Random divisions of the strings into batches, used in turn, so their trees are built only
# once.
DIVISIONS = 4
# The model that is evaluated and returned is a running average over about 1 / (1 − AVERAGING) steps
# (Polyak and Juditsky 1992), and over fewer steps at first.
AVERAGING = 0.998
# A training run ends when none of the last PATIENCE epochs was the best so far.
PATIENCE = 10
# A start whose gradient is larger than WILD is not trained as it is: along long strings its maps
# multiply errors again and again. They are scaled by the largest of SCALES with which the gradient
# is at most TAME (see `_tamed`).
WILD = 100.0
TAME = 3.0
SCALES = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
# The share of the refitted last layer's squared norm that is added to the nats per symbol.
OUTPUT_RIDGE = 1e-5
OUTPUT_STEPS = 100  # steps of L-BFGS


@dataclass
class _Trained:
    """A model's parameters as tensors, and its bits per symbol as a function of them.

    Each layer of the transitions is the sum of `common`, which all symbols share, and `deviations`,
    with one map per symbol. So a rare symbol also learns from the strings of all other symbols, and
    weight decay draws the maps of the symbols towards each other. The transitions of a WFA are a
    single layer.
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
            torch.tensor(array, dtype=DTYPE, requires_grad=True)
            for array in (model.initial, *transitions, *decoder, output)
        )
        common = [
            torch.zeros((1, *layer.shape[1:]), dtype=DTYPE, requires_grad=True)
            for layer in transitions
        ]
        return cls(
            model, initial, common, layers[: len(transitions)], layers[len(transitions) :], last
        )

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
        return replace(
            self.model,
            initial=initial,
            transitions=transitions,
            decoder=to_arrays(self.decoder),
            output=output,
        )

    def bits_per_symbol(self, tree: Continuations, dropout: float = 0.0) -> torch.Tensor:
        """Compute the bits per symbol on some strings, from normalised |scores|, as
        `metrics.evaluate.next_symbol_score` does.
        """
        transitions = self.transitions

        def drop(values: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.dropout(values, dropout) if dropout else values

        states = self.tree_states(tree, transitions, drop)
        product = self._product(states, transitions, drop)
        num_outputs = self.model.num_symbols + 1
        if not in_blocks(len(states), num_outputs):
            scores = (
                self._scores(states, transitions) if product is None else product[0] @ product[1]
            )
            logs = self._logs(scores, tree.rows, tree.symbols)
            bits: torch.Tensor = -(logs * tree.shares).sum() / math.log(2)
            return bits
        if product is not None:
            return -log_likelihood(
                *product, tree.rows, tree.symbols, tree.shares, self._is_softmax
            ) / math.log(2)

        def of_block(
            part: torch.Tensor, rows: torch.Tensor, symbols: torch.Tensor, shares: torch.Tensor
        ) -> torch.Tensor:
            return (self._logs(self._scores(part, transitions), rows, symbols) * shares).sum()

        total = torch.zeros((), dtype=DTYPE)
        for part, chosen in blocks(
            tree.rows, len(states), SCORES_AT_ONCE // (num_outputs * self.model.num_states)
        ):
            pairs = tree.rows[chosen] - part.start, tree.symbols[chosen], tree.shares[chosen]
            # For the gradient, a block's scores are computed once more; those of all blocks are not
            # held.
            total = total + checkpoint(of_block, states[part], *pairs, use_reentrant=False)
        return -total / math.log(2)

    @property
    def _is_softmax(self) -> bool:
        return isinstance(self.model, NLWFA) and self.model.reading.link == "softmax"

    def _logs(
        self, scores: torch.Tensor, rows: torch.Tensor, symbols: torch.Tensor
    ) -> torch.Tensor:
        """Compute the logarithms of the probabilities of some symbols, given the scores after some
        prefixes.
        """
        if self._is_softmax:
            return torch.log_softmax(scores, dim=1)[rows, symbols]
        sizes = scores.abs()
        sums = sizes.sum(dim=1) + torch.finfo(sizes.dtype).tiny
        return torch.log(sizes[rows, symbols] / sums[rows] + MIN_PROBABILITY)

    def tree_states(
        self,
        tree: Continuations,
        transitions: list[torch.Tensor] | None = None,
        drop: Callable[[torch.Tensor], torch.Tensor] = lambda states: states,
    ) -> torch.Tensor:
        """Compute the state after each prefix, shape (num_nodes, num_states)."""
        model = self.model
        transitions = self.transitions if transitions is None else transitions
        if isinstance(model, WFA):
            return tree.states(self.initial, transition_step(transitions, False, unit=True))
        homogeneous = model.reading.looks_ahead and not (
            model.nonlinear_transitions or model.nonlinear_termination
        )
        walk = transition_step(transitions, model.nonlinear_transitions, homogeneous)
        return tree.states(self.initial, lambda before, symbol: walk(drop(before), symbol))

    def _product(
        self,
        states: torch.Tensor,
        transitions: list[torch.Tensor],
        drop: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor] | None:
        """Compute two matrices whose product is the `_scores`; None if there are none."""
        model = self.model
        if isinstance(model, WFA):
            A = transitions[0]
            goes_on = torch.linalg.solve(torch.eye(model.num_states) - A.sum(dim=0), self.output)
            return states, torch.cat([(A @ goes_on)[:, :, 0].T, self.output], dim=1)
        if model.reading.looks_ahead or model.reading.link == "square":
            return None
        return self.decoded(drop(states)), self.output

    def _scores(self, states: torch.Tensor, transitions: list[torch.Tensor]) -> torch.Tensor:
        """Compute a network's `next_scores`, before any softmax: shape (num_nodes, num_symbols +
        1).
        """
        assert isinstance(self.model, NLWFA)
        network = _Network(self, transition_step(transitions, self.model.nonlinear_transitions))
        scores: torch.Tensor = self.model.reading.scores(network, states)
        return scores

    def decoded(self, states: torch.Tensor) -> torch.Tensor:
        """Compute the last hidden layer of the decoder, shape (num_nodes, decoder_width)."""
        for layer in self.decoder:
            states = activate(
                states @ layer, isinstance(self.model, NLWFA) and self.model.nonlinear_termination
            )
        return states


@dataclass
class _Network:
    """Wraps a model in training as a `models.reading.Network`, so a `Reading` can compute
    scores from its tensors.
    """

    trained: _Trained
    transition: Step

    @property
    def num_symbols(self) -> int:
        return self.trained.model.num_symbols

    @property
    def output(self) -> torch.Tensor:
        return self.trained.output

    def outputs(self, states: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        return self.trained.decoded(states) @ columns

    def side_by_side(self, columns: Iterable[torch.Tensor], num_rows: int) -> torch.Tensor:
        return torch.stack(list(columns), dim=1)


@one_thread()
def refine_likelihood(
    model: WFA | NLWFA,
    train: Sample,
    validation: Sample | None,
    options: Refined,
    report: Report = silent,
    cancelled: CancelCheck = never,
    shown: tuple[IntArray, Words] | None = None,
) -> tuple[WFA | NLWFA, TrainingLog]:
    """Minimise the bits per symbol of the training strings over all parameters of a model.

    A network becomes a probability distribution: the weight of a string is then the product of its
    normalised scores. Scores are normalised by dividing |scores| by their sum, or, in a network
    with a nonlinear termination whose outputs are conditional probabilities, by a softmax whose
    logits are first fitted to the logarithms of the outputs. Chaotic maps are first scaled down
    (see `_tamed`).

    The result is the model of the epoch with the fewest bits per symbol on the validation strings,
    or on the training strings if there are no validation strings. If no epoch improves on the model
    that was passed in, that model is returned unchanged.

    `shown`: the rows of a Hankel matrix, and their prefixes as strings, whose states are part of
    progress reports.

    Returns `model`. `log`: its losses are bits per symbol on the validation strings, or on the
    training strings if there are none, first of the model that was passed in, then of each epoch of
    the best start.

    Raises Cancelled.
    """
    held_out = train if validation is None else validation
    before = bits_per_symbol(model, held_out)
    starts = [_tamed(_balanced(_as_distribution(model, train), train), train)]
    rows, prefixes = shown or (np.empty(0, dtype=np.int64), Words.of([]))
    tree = Trie.of(prefixes, model.num_symbols)
    first_seed = options.refinement_seed + 1
    starts += [
        _random_like(starts[0], seed) for seed in range(first_seed, first_seed + options.restarts)
    ]
    total = options.epochs_refinement * len(starts)
    runs = []
    for number, start in enumerate(starts):

        def report_epoch(
            epoch: int,
            bits: float,
            current: _Trained,
            first: int = number * options.epochs_refinement,
        ) -> None:
            def look() -> RowStates:
                return RowStates(rows, current.learned().states(tree)[tree.ends])

            report(
                Progress("refinement", first + epoch, total, bits, BITS, look if shown else None)
            )

        runs.append(_train_from(start, train, held_out, options, report_epoch, cancelled))
    best, losses = min(runs, key=lambda run: min(run[1], default=math.inf))
    after = bits_per_symbol(best, held_out)
    better = bool(losses) and (after < before or (np.isfinite(after) and not np.isfinite(before)))
    if isinstance(best, WFA):
        mass = best.total_weight()
        if np.isfinite(mass) and mass != 0:
            # scores of next symbols do not depend on the total weight
            best = replace(best, initial=best.initial / mass)
    return best if better else model, TrainingLog(
        "refinement", np.array([before, *losses]), measure=BITS
    )


def _train_from(
    model: WFA | NLWFA,
    train: Sample,
    validation: Sample,
    options: Refined,
    report_epoch: Callable[[int, float, _Trained], None],
    cancelled: CancelCheck,
) -> tuple[WFA | NLWFA, list[float]]:
    """Train from one start.

    Returns the best epoch's model, and the bits per symbol of every epoch on the validation
    strings.
    """
    torch.manual_seed(options.refinement_seed)  # of dropout
    # a string has score 0, where there is no gradient
    if not np.isfinite(bits_per_symbol(model, train)):
        start = _Trained.of(model)
        nudge([tensor.detach().numpy() for tensor in start.tensors], options.refinement_seed)
        model = start.learned()
    trained = _Trained.of(model)
    averaged = _Trained.of(model)
    optimizer = torch.optim.AdamW(
        trained.tensors, lr=options.rate_refinement, weight_decay=options.weight_decay
    )
    strings = int(train.counts.sum())
    count = max(1, round(strings / options.batch))
    divisions = [
        train.split([strings // count] * count, options.refinement_seed + number)
        for number in range(min(DIVISIONS, options.epochs_refinement))
    ]
    batches = [[Continuations(part, model.num_symbols) for part in parts] for parts in divisions]
    validation_tree = Continuations(validation, model.num_symbols)
    best = Best(model)
    losses = list[float]()
    since_best = 0
    for epoch in range(options.epochs_refinement):
        for number, batch in enumerate(batches[epoch % len(batches)]):
            check_cancelled(cancelled)
            done = (epoch + number / count) / options.epochs_refinement
            optimizer.param_groups[0]["lr"] = half_cosine(options.rate_refinement, math.pi * done)
            optimizer.zero_grad()
            trained.bits_per_symbol(batch, options.dropout).backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained.tensors, MAX_GRADIENT_NORM)
            optimizer.step()
            share = max(1 - AVERAGING, 1 / (2 + (epoch * count + number) / 10))
            with torch.no_grad():
                for average, tensor in zip(averaged.tensors, trained.tensors, strict=True):
                    average.lerp_(tensor, share)
        with torch.no_grad():
            bits = float(averaged.bits_per_symbol(validation_tree))
        report_epoch(epoch + 1, bits, averaged)
        if not np.isfinite(bits):
            break
        losses.append(bits)
        since_best = 0 if best.offer(bits, averaged.learned) else since_best + 1
        if since_best == PATIENCE:
            break
    return best.value, losses


def _as_distribution(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """Normalise a network's scores.

    If that takes a softmax, fit its logits by least squares to the logarithms of the outputs.
    """
    if isinstance(model, WFA):
        return model
    normalised = replace(model.reading, normalised=True)
    if (
        model.reading.looks_ahead
        or model.reading.link != "identity"
        or not model.nonlinear_termination
    ):
        return replace(model, reading=normalised)
    trie = Trie.of(train.words, model.num_symbols)
    weights = np.sqrt(trie.prefix_counts(train.counts))[:, None]
    states = model.states(trie)
    weighted = weights * model.decode(states)

    def logs(part: slice) -> FloatArray:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.log(np.maximum(model.reading.scores(model, states[part]), MIN_CONDITIONAL))
        return np.asarray(weights[part] * scores)

    at_once = max(1, SCORES_AT_ONCE // (model.num_symbols + 1))
    if len(states) <= at_once:
        logits = np.asarray(np.linalg.lstsq(weighted, logs(slice(None)))[0])
    else:  # the same by the pseudo-inverse, which needs only a part of the scores at a time
        inverse = np.linalg.pinv(weighted, rcond=float(np.finfo(np.float64).eps) * len(weighted))
        logits = np.zeros((weighted.shape[1], model.num_symbols + 1))
        for start in range(0, len(states), at_once):
            part = slice(start, start + at_once)
            logits += inverse[:, part] @ logs(part)
    return replace(model, output=logits, reading=replace(normalised, link="softmax"))


def _balanced(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """Change the coordinates of a model's states without changing its function, so all
    coordinates have similar sizes.

    Only models with linear maps are changed. A state z, a row vector, becomes z T, where T is such
    that E[(z T)ᵀ z T] = I for the states along the training strings, each divided by its norm.
    States from singular vectors have entries of very different sizes, so steps of the same
    size for all entries would ruin the small ones.

    Coordinates that are never both nonzero in a state stay apart: eigenvectors of the whole matrix
    would mix them by rounding errors, and weights that are exactly 0 would become 1e-16.
    """
    if isinstance(model, NLWFA) and model.nonlinear_transitions:
        return model
    trie = Trie.of(train.words, model.num_symbols)
    states = model.states(trie)
    weights = trie.prefix_counts(train.counts)
    sizes = np.linalg.norm(states, axis=1, keepdims=True)
    units = np.divide(
        states, sizes, out=np.zeros_like(states), where=np.isfinite(sizes) & (sizes > 0)
    )
    values, vectors = _eigenvectors_by_part((units.T * weights) @ units / weights.sum())
    roots = np.sqrt(values.clip(values.max() * MIN_VARIANCE))
    T = vectors / roots
    inverse = (vectors * roots).T
    if isinstance(model, WFA):
        return WFA(model.initial @ T, inverse @ model.transitions @ T, inverse @ model.termination)
    transitions = [inverse @ model.transitions[0], *model.transitions[1:]]
    transitions[-1] = transitions[-1] @ T
    first, *others = (*model.decoder, model.output)
    *decoder, output = (inverse @ first, *others)
    return replace(
        model,
        initial=model.initial @ T,
        transitions=tuple(transitions),
        decoder=tuple(decoder),
        output=output,
    )


def _eigenvectors_by_part(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the eigenvalues and eigenvectors (columns) of a symmetric matrix, in each of its
    parts that share no entry but 0.

    Those of each part are in its own columns, so a matrix of a single part gives what
    `np.linalg.eigh` does.
    """
    number, part = connected_components(matrix != 0, directed=False)
    values = np.zeros(len(matrix))
    vectors = np.zeros(matrix.shape)
    for rows in (np.flatnonzero(part == index) for index in range(number)):
        values[rows], vectors[np.ix_(rows, rows)] = np.linalg.eigh(matrix[np.ix_(rows, rows)])
    return values, vectors


def _tamed(model: WFA | NLWFA, train: Sample) -> WFA | NLWFA:
    """Scale a network's maps down if they are chaotic, until errors no longer grow along the
    strings.

    Step 2 fits the maps on the states of the basis only, and nothing bounds them elsewhere. Along a
    string of a hundred symbols, the derivative of a state then grows exponentially with the length.
    Gradients reach 10⁹ and more, and follow the wildest string alone. After each scaling, the last
    layer is fitted again if it feeds a softmax, which is a convex problem.
    """
    tree = Continuations(train, model.num_symbols)
    if isinstance(model, WFA) or not _gradient_norm(model, tree) > WILD:
        return model
    best = Best[WFA | NLWFA](model)
    for scale in SCALES:
        scaled = _refitted(
            replace(model, transitions=tuple(scale * layer for layer in model.transitions)), tree
        )
        norm = _gradient_norm(scaled, tree)
        best.offer(norm, lambda scaled=scaled: scaled)  # type: ignore[misc]
        if norm <= TAME:
            break
    return best.value


def _gradient_norm(model: WFA | NLWFA, tree: Continuations) -> float:
    """Compute the norm of the gradient of the bits per symbol."""
    trained = _Trained.of(model)
    bits = trained.bits_per_symbol(tree)
    gradients = torch.autograd.grad(bits, [trained.initial, *trained.deviations, *trained.decoder])
    return float(sum(gradient.square().sum() for gradient in gradients) ** 0.5)


def _refitted(model: NLWFA, tree: Continuations) -> NLWFA:
    """Fit the last layer to the symbols that follow each prefix by multinomial logistic regression,
    if it feeds a softmax.

    If there are too many prefixes to hold the scores of all, the most frequent are used.
    """
    if model.reading.link != "softmax":
        return model
    trained = _Trained.of(model)
    with torch.no_grad():
        units = trained.decoded(trained.tree_states(tree)).numpy()
    num_outputs = model.num_symbols + 1
    counts = sparse.csr_array(
        (tree.shares.numpy(), (tree.rows.numpy(), tree.symbols.numpy())),
        shape=(len(units), num_outputs),
    )
    totals = counts.sum(axis=1)
    frequent = np.argsort(-totals, kind="stable")[: max(1, SCORES_AT_ONCE // num_outputs)]
    units = units[frequent]
    totals = totals[frequent]
    shares = counts[frequent].toarray()

    def loss_at(vector: FloatArray) -> tuple[float, FloatArray]:
        output = vector.reshape(-1, num_outputs)
        logits = units @ output
        logs = logits - logsumexp(logits, axis=1, keepdims=True)
        gradient = units.T @ (np.exp(logs) * totals[:, None] - shares) + OUTPUT_RIDGE * output
        loss = OUTPUT_RIDGE / 2 * np.vdot(output, output) - np.vdot(shares, logs)
        return float(loss), gradient.ravel()

    fitted = minimize(
        loss_at,
        np.zeros(units.shape[1] * num_outputs),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": OUTPUT_STEPS},
    )
    return replace(model, output=fitted.x.reshape(-1, num_outputs))


def _random_like(model: WFA | NLWFA, seed: int) -> WFA | NLWFA:
    """Draw a random model with layers of the same shapes (Glorot and Bengio 2010)."""
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
