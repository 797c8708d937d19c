"""Train recurrent networks, by AdamW on the cross-entropy of the next symbol, the end of the string included."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from .. import limits
from ..errors import RecipeError, check_between, check_one_of
from ..models.recurrent import GATES, RecurrentModel
from ..strings.sample import Sample
from .early_stopping import EarlyStopping
from .losses import DTYPE
from .networks import half_cosine, one_thread
from .progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent

BATCH = 64  # strings
MAX_GRADIENT_NORM = 1.0


class Network(nn.Module):
    """Embedding, one recurrent layer, softmax. The beginning of a string is a symbol of its own; the first state is zero."""

    def __init__(self, kind: str, num_symbols: int, num_states: int, dropout: float) -> None:
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(num_symbols + 1, num_states, dtype=DTYPE)
        self.layer = (nn.GRU if kind == "GRU" else nn.LSTM)(num_states, num_states, dtype=DTYPE)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_states, num_symbols + 1, dtype=DTYPE)

    def loss(self, batch: PackedSequence) -> torch.Tensor:
        """Mean −ln of the probability of what followed. Steps are (symbol read, symbol that followed, count)."""
        read, followed, times = batch.data.T
        packed = batch._replace(data=self.dropout(self.embedding(read)))
        hidden, _ = self.layer(packed)
        each = cross_entropy(self.output(self.dropout(hidden.data)), followed, reduction="none")
        mean: torch.Tensor = (each * times).sum() / times.sum()
        return mean

    def frozen(self) -> RecurrentModel:
        """The network as it is now, as a model."""
        with torch.no_grad():
            read, carried, read_bias, carried_bias = self.layer.all_weights[0]
            inputs = self.embedding.weight @ read.T + read_bias
            tensors = (inputs, carried.T, carried_bias, self.output.weight.T, self.output.bias)
            return RecurrentModel(self.kind, *(tensor.numpy().copy() for tensor in tensors))


def batches(train: Sample, rng: np.random.Generator) -> Iterator[PackedSequence]:
    """One epoch: all strings, repeated ones included, in random order. Equal strings of a batch are one sequence with a count."""
    drawn = rng.permutation(np.repeat(np.arange(len(train.words)), train.counts))
    for start in range(0, len(drawn), BATCH):
        chosen, counts = np.unique(drawn[start : start + BATCH], return_counts=True)
        words = train.words.take(chosen)
        end = train.num_symbols  # what is read first, and what follows last
        steps = [
            np.stack((np.append(end, word), np.append(word, end), np.full(len(word) + 1, count)), axis=1)
            for word, count in zip(np.split(words.symbols, words.offsets[1:-1]), counts, strict=True)
        ]
        yield pack_sequence([torch.from_numpy(step) for step in steps], enforce_sorted=False)


@dataclass(frozen=True)
class Training:
    """How a recurrent network is trained.

    Attributes
    ----------
    updates : int
        Steps of AdamW, at most, each on a batch of strings; rounded up to whole epochs. So the time does not grow with the sample.
    rate : float
        The learning rate of the first epoch; it falls to 0 along half a cosine.
    dropout : float
        Of the embedded symbols and of the layer's output.
    weight_decay : float
    patience : int
        With validation strings, training stops after this many epochs in a row without a better model.
    seed : int
        Of the first weights, the order of the strings and dropout.

    Raises
    ------
    RecipeError
        If a number is not possible.
    """

    updates: int = 6000
    rate: float = 0.02
    dropout: float = 0.0
    weight_decay: float = 0.01
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        check_between("updates", self.updates, 1, limits.ceiling("epochs"))
        if not (self.rate > 0 and 0 <= self.dropout < 1 and self.weight_decay >= 0):
            raise RecipeError(
                f"rate must be above 0 (got {self.rate}), dropout at least 0 and below 1 (got {self.dropout}), "
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
    """Learn a recurrent network by AdamW (Loshchilov and Hutter 2019), its rate falling to 0 along half a cosine.

    Parameters
    ----------
    train : Sample
    kind : str
        "GRU" or "LSTM".
    num_states : int
        Units of the layer, and width of the embedding.
    training : Training
    validation : Sample, optional
        For early stopping: the model with the fewest bits per symbol on it is returned. Without it, the last model is. A training
        that diverges ends, with the model of the epochs before.
    report, cancelled : callables
        The reported loss is the mean of the epoch's bits per symbol.

    Raises
    ------
    RecipeError
        If a number is not possible or a sample is empty.
    Cancelled
    """
    check_one_of("kind", kind, GATES)
    check_between(f"the number of states of a {kind}", num_states, 1, limits.most("rank"))
    if not len(train.words):
        raise RecipeError(f"the sample has no strings: the {kind} has nothing to learn from")
    stopping: EarlyStopping[RecurrentModel] = EarlyStopping(validation, train.num_symbols, training.patience)
    rng = np.random.default_rng(training.seed)
    epochs = -(-training.updates // -(-int(train.counts.sum()) // BATCH))
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        network = Network(kind, train.num_symbols, num_states, training.dropout)
        optimizer = torch.optim.AdamW(network.parameters(), lr=training.rate, weight_decay=training.weight_decay)
        stopping.offer(network.frozen())
        for epoch in range(epochs):
            losses = []
            optimizer.param_groups[0]["lr"] = half_cosine(training.rate, math.pi * epoch / epochs)
            for batch in batches(train, rng):
                check_cancelled(cancelled)
                optimizer.zero_grad()
                loss = network.loss(batch)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT_NORM)
                optimizer.step()
                losses.append(loss.item())
            if not np.isfinite(losses).all():
                break
            report(Progress(kind, epoch + 1, epochs, float(np.mean(losses)) / math.log(2), BITS))
            stopping.offer(network.frozen())
            if stopping.is_late:
                break
    return stopping.best
