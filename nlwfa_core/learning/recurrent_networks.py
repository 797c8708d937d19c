"""Train recurrent networks to predict the next symbol or the end of the string, with AdamW on the
cross-entropy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import perf_counter

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy, linear
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from .. import limits
from ..errors import RecipeError, check_between, check_one_of
from ..models.recurrent import GATES, RecurrentModel
from ..strings.sample import Sample
from .early_stopping import EarlyStopping
from .next_symbol_loss import in_blocks, log_likelihood
from .progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent
from .steps.descent import half_cosine
from .tensors import DTYPE, one_thread

BATCH = 64  # strings
MAX_GRADIENT_NORM = 1.0
TIMED_UPDATES = 8  # updates whose mean time is taken as that of all
# The largest number of times that each string is read. Only with fewer than 400 strings is this
# less than the default number of updates.
MOST_EPOCHS = 1_000
# Training ends when the loss is this close to the lowest possible one, in bits per symbol: further
# training can't make the model better.
SMALLEST_GAIN = 0.01


class Network(nn.Module):
    """A network that consists of an embedding, one recurrent layer and a softmax.

    Each string begins with a special symbol, read from a state of zeros.
    """

    def __init__(
        self,
        kind: str,
        num_symbols: int,
        num_states: int,
        dropout: float,
        dtype: torch.dtype = DTYPE,
    ) -> None:
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(num_symbols + 1, num_states, dtype=dtype)
        self.layer = (nn.GRU if kind == "GRU" else nn.LSTM)(num_states, num_states, dtype=dtype)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_states, num_symbols + 1, dtype=dtype)

    def loss(self, batch: PackedSequence) -> torch.Tensor:
        """Compute the mean of −ln of the probability of what followed.

        Each step of a sequence in the batch holds three numbers: the symbol read, the symbol that
        followed, and the count.
        """
        read, followed, times = batch.data.T
        packed = batch._replace(data=self.dropout(self.embedding(read)))
        hidden = self.dropout(self._hidden(packed))
        if in_blocks(len(hidden), self.output.out_features):
            with_one = torch.cat((hidden, hidden.new_ones((len(hidden), 1))), dim=1)  # for the bias
            columns = torch.cat((self.output.weight.T, self.output.bias[None]))
            total = -log_likelihood(
                with_one, columns, torch.arange(len(hidden)), followed, times, softmax=True
            )
        else:
            total = (cross_entropy(self.output(hidden), followed, reduction="none") * times).sum()
        mean: torch.Tensor = total / times.sum()
        return mean

    def _hidden(self, packed: PackedSequence) -> torch.Tensor:
        """Compute the outputs of the recurrent layer, in the order of `packed.data`: shape
        (num_steps, num_states).

        These are torch's operations in torch's order, so the results are torch's to the last digit.
        But torch takes each step's rows from the table of all steps by a slice, and the gradient of
        each slice is another table, of zeros with these rows in it. So torch's time grows with the
        square of the longest string's length. `split` computes the gradient of all parts at once.
        """
        read, carried, read_bias, carried_bias = self.layer.all_weights[0]
        sizes = packed.batch_sizes.tolist()
        inputs = torch.split(linear(packed.data, read, read_bias), sizes)
        hidden = cell = packed.data.new_zeros((sizes[0], self.layer.hidden_size))
        outputs = []
        for size, gates in zip(sizes, inputs, strict=True):
            if size < len(hidden):  # some strings have ended
                hidden = hidden[:size]
                cell = cell[:size]
            from_state = linear(hidden, carried, carried_bias)
            if self.kind == "GRU":
                of_symbol = gates.unsafe_chunk(3, 1)
                of_state = from_state.unsafe_chunk(3, 1)
                reset = of_state[0].add_(of_symbol[0]).sigmoid_()
                update = of_state[1].add_(of_symbol[1]).sigmoid_()
                new = of_symbol[2].add(of_state[2].mul_(reset)).tanh_()
                hidden = (hidden - new).mul_(update).add_(new)
            else:
                i, f, g, o = from_state.add_(gates).unsafe_chunk(4, 1)
                cell = (f.sigmoid_() * cell).add_(i.sigmoid_() * g.tanh_())
                hidden = o.sigmoid_() * cell.tanh()
            outputs.append(hidden)
        return torch.cat(outputs)

    def frozen(self) -> RecurrentModel:
        """Copy the network's current weights into a model."""
        with torch.no_grad():
            read, carried, read_bias, carried_bias = self.layer.all_weights[0]
            inputs = self.embedding.weight @ read.T + read_bias
            tensors = (inputs, carried.T, carried_bias, self.output.weight.T, self.output.bias)
            return RecurrentModel(
                self.kind, *(tensor.numpy().astype(np.float64, order="C") for tensor in tensors)
            )


def batches(train: Sample, rng: np.random.Generator) -> Iterator[PackedSequence]:
    """Yield the batches of one epoch: all strings, including repeated strings, in random order.

    Equal strings in a batch become one sequence with a count.
    """
    drawn = rng.permutation(np.repeat(np.arange(len(train.words)), train.counts))
    for start in range(0, len(drawn), BATCH):
        chosen, counts = np.unique(drawn[start : start + BATCH], return_counts=True)
        words = train.words.take(chosen)
        end = train.num_symbols  # what is read first, and what follows last
        steps = [
            np.stack(
                (np.append(end, word), np.append(word, end), np.full(len(word) + 1, count)), axis=1
            )
            for word, count in zip(
                np.split(words.symbols, words.offsets[1:-1]), counts, strict=True
            )
        ]
        yield pack_sequence([torch.from_numpy(step) for step in steps], enforce_sorted=False)


@dataclass(frozen=True)
class Training:
    """The settings for training a recurrent network.

    Attributes
    ----------
    updates : int
        The largest number of steps of AdamW, each on one batch of strings, rounded up to whole
        epochs. Because steps and not epochs are counted, a larger sample does not take longer. A
        small sample takes less time: there are at most `MOST_EPOCHS` epochs, and training ends when
        the network has memorised the strings, so that hardly any other model could make them more
        probable.
    rate : float
        The learning rate of the first epoch; it falls to 0 along half a cosine.
    dropout : float
        The share of the embedded symbols and of the layer's outputs that is set to 0 at random.
    weight_decay : float
    patience : int
        With validation strings, training stops after this many epochs in a row without a better
        model.
    seed : int
        The seed of the initial weights, of the order of the strings, and of dropout.
    single_precision : bool
        Whether training uses 32-bit floats, which take about half the time, rather than 64-bit
        floats. The model always has 64-bit floats.

    Raises
    ------
    RecipeError
        If a number is out of range.
    """

    updates: int = 6000
    rate: float = 0.02
    dropout: float = 0.0
    weight_decay: float = 0.01
    patience: int = 10
    seed: int = 0
    single_precision: bool = False

    def __post_init__(self) -> None:
        check_between("updates", self.updates, 1, limits.ceiling("epochs"))
        if not (self.rate > 0 and 0 <= self.dropout < 1 and self.weight_decay >= 0):
            raise RecipeError(
                f"rate must be above 0 (got {self.rate}), dropout at least 0 and below 1 "
                f"(got {self.dropout}), "
                f"and weight_decay at least 0 (got {self.weight_decay})"
            )


def fit_recurrent(
    train: Sample,
    kind: str,
    num_states: int,
    training: Training = Training(),
    *,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> RecurrentModel:
    """Learn a recurrent network with AdamW (Loshchilov and Hutter 2019), with a learning rate that
    falls to 0 along half a cosine.

    Parameters
    ----------
    train : Sample
    kind : str
        "GRU" or "LSTM".
    num_states : int
        The number of units of the layer, and the width of the embedding.
    training : Training
    validation : Sample, optional
        Strings for early stopping: the model with the fewest bits per symbol on them is returned.
        Without validation strings, it is the last model. A training run that diverges stops, and
        returns its last model before that.
    report, cancelled : callables
        The reported loss is the bits per symbol on the training strings, averaged over the epoch.

    Raises
    ------
    RecipeError
        If a number is out of range or a sample is empty.
    Cancelled
        If `cancelled()` returns true.
    """
    check_one_of("kind", kind, GATES)
    check_between(f"the number of states of the {kind}", num_states, 1, limits.most("rank"))
    if not len(train.words):
        raise RecipeError(f"the sample has no strings: the {kind} has nothing to learn from")
    stopping: EarlyStopping[RecurrentModel] = EarlyStopping(
        validation, train.num_symbols, training.patience
    )
    rng = np.random.default_rng(training.seed)
    epochs = min(-(-training.updates // updates_per_epoch(train)), MOST_EPOCHS)
    lowest = lowest_loss(train)
    with one_thread(), torch.random.fork_rng(devices=[]):
        network, optimizer = _initial(train.num_symbols, kind, num_states, training)
        stopping.offer(network.frozen())
        for epoch in range(epochs):
            losses = []
            optimizer.param_groups[0]["lr"] = half_cosine(training.rate, math.pi * epoch / epochs)
            for batch in batches(train, rng):
                check_cancelled(cancelled)
                losses.append(_update(network, optimizer, batch))
            if not np.isfinite(losses).all():
                break
            loss = float(np.mean(losses)) / math.log(2)
            report(Progress(kind, epoch + 1, epochs, loss, BITS))
            stopping.offer(network.frozen())
            if stopping.is_late or loss < lowest + SMALLEST_GAIN:
                break
    return stopping.best


def lowest_loss(train: Sample) -> float:
    """Return the fewest bits per symbol that a model can have on its training strings: each
    string's probability is its frequency.

    >>> from nlwfa_core import as_sample
    >>> (
    ...     lowest_loss(as_sample(["ab", "ab"])),
    ...     lowest_loss(as_sample(["a", "", "a", ""])),
    ... )  # 4 bits for 6 symbols and ends
    (0.0, 0.6666666666666666)
    """
    counts = train.counts
    num_predictions = int(counts @ (train.words.lengths + 1))
    return float(counts @ np.log2(counts.sum() / counts)) / num_predictions


def updates_per_epoch(train: Sample) -> int:
    """Return the number of steps of AdamW in which each string is read once."""
    return -(-int(train.counts.sum()) // BATCH)


def seconds_per_update(
    train: Sample,
    kind: str,
    num_states: int,
    training: Training = Training(),
    timer: Callable[[], float] = perf_counter,
) -> float:
    """Measure how long a step of AdamW takes: the time of a few batches, divided by their number.
    The parameters are those of `fit_recurrent`.

    `timer`: returns a time in seconds.
    """
    with one_thread(), torch.random.fork_rng(devices=[]):
        network, optimizer = _initial(train.num_symbols, kind, num_states, training)
        drawn = batches(train, np.random.default_rng(training.seed))
        _update(network, optimizer, next(drawn))  # the first one allocates memory
        started = timer()
        number = 0
        for batch in islice(drawn, TIMED_UPDATES):
            _update(network, optimizer, batch)
            number += 1
        return (timer() - started) / max(number, 1)


def _initial(
    num_symbols: int, kind: str, num_states: int, training: Training
) -> tuple[Network, torch.optim.Optimizer]:
    torch.manual_seed(training.seed)
    dtype = torch.float32 if training.single_precision else DTYPE
    network = Network(kind, num_symbols, num_states, training.dropout, dtype)
    return network, torch.optim.AdamW(
        network.parameters(), lr=training.rate, weight_decay=training.weight_decay
    )


def _update(network: Network, optimizer: torch.optim.Optimizer, batch: PackedSequence) -> float:
    """Take one step of AdamW. Returns the loss before it."""
    optimizer.zero_grad()
    loss = network.loss(batch)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT_NORM)
    optimizer.step()
    return float(loss.item())
