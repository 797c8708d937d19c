"""Training of recurrent networks: AdamW on the cross-entropy of the next symbol, the end of the string among them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from .. import limits
from ..errors import RecipeError
from ..models.recurrent import GATES, RecurrentModel
from ..strings.sample import Sample
from .early_stopping import BestSoFar
from .kernels import DTYPE
from .networks import one_thread
from .progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent

BATCH = 64  # strings
CLIP = 1.0  # norm of a gradient, at most


class Network(nn.Module):
    """Embedding, one recurrent layer, softmax. The beginning of a string is a symbol of its own, read from a state of zeros."""

    def __init__(self, kind: str, num_symbols: int, num_states: int, dropout: float) -> None:
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(num_symbols + 1, num_states, dtype=DTYPE)
        self.layer = (nn.GRU if kind == "GRU" else nn.LSTM)(num_states, num_states, dtype=DTYPE)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(num_states, num_symbols + 1, dtype=DTYPE)

    def loss(self, batch: PackedSequence) -> torch.Tensor:
        """Mean −ln of the probability of what followed; steps are (symbol read, symbol that followed, how often)."""
        read, followed, times = batch.data.T
        packed = batch._replace(data=self.dropout(self.embedding(read)))
        hidden, _ = self.layer(packed)
        each = cross_entropy(self.output(self.dropout(hidden.data)), followed, reduction="none")
        mean: torch.Tensor = (each * times).sum() / times.sum()
        return mean

    def frozen(self) -> RecurrentModel:
        """The model that this network is by now."""
        with torch.no_grad():
            read, carried, read_bias, carried_bias = self.layer.all_weights[0]
            inputs = self.embedding.weight @ read.T + read_bias
            tensors = (inputs, carried.T, carried_bias, self.output.weight.T, self.output.bias)
            return RecurrentModel(self.kind, *(tensor.numpy().copy() for tensor in tensors))


def batches(train: Sample, rng: np.random.Generator) -> Iterator[PackedSequence]:
    """One epoch: all strings as drawn, in random order; equal ones of a batch are one sequence with their number."""
    drawn = rng.permutation(np.repeat(np.arange(len(train.words)), train.counts))
    for start in range(0, len(drawn), BATCH):
        chosen, counts = np.unique(drawn[start : start + BATCH], return_counts=True)
        words = train.words.take(chosen)
        end = train.num_symbols  # read at the beginning, follows at the end
        steps = [
            np.stack((np.append(end, word), np.append(word, end), np.full(len(word) + 1, count)), axis=1)
            for word, count in zip(np.split(words.symbols, words.offsets[1:-1]), counts, strict=True)
        ]
        yield pack_sequence([torch.from_numpy(step) for step in steps], enforce_sorted=False)


def fit_recurrent(
    train: Sample,
    kind: str,
    num_states: int,
    *,
    updates: int = 6000,
    rate: float = 0.02,
    dropout: float = 0.0,
    weight_decay: float = 0.01,
    seed: int = 0,
    validation: Sample | None = None,
    patience: int = 10,
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
    updates : int
        Steps of AdamW, at most, each on a batch of strings; rounded up to whole epochs. So the time does not follow the sample.
    rate : float
    dropout : float
        Of the embedded symbols and of the layer's output.
    weight_decay : float
    seed : int
        Of the first weights, the order of the strings and dropout.
    validation : Sample, optional
        The model with the fewest bits per symbol on it is kept, and training stops when `patience` epochs brought none better.
        Without it the last model is kept. Training that diverges ends, with the model of the epochs before.
    report, cancelled : callables
        The loss that is reported is the mean of the epoch's bits per symbol.

    Raises
    ------
    RecipeError
        If a number is not possible or a sample is empty.
    Cancelled
    """
    if kind not in GATES:
        raise RecipeError(f"kind of recurrent network: {kind!r} given, allowed: {', '.join(GATES)}")
    if not 1 <= num_states <= limits.most("rank") or not 1 <= updates <= limits.ceiling("epochs"):
        allowed = f"1 … {limits.most('rank'):,} and 1 … {limits.ceiling('epochs'):,}"
        raise RecipeError(f"states and updates of a {kind}: {num_states:,} and {updates:,} given, allowed are {allowed}")
    if not (rate > 0 and 0 <= dropout < 1 and weight_decay >= 0):
        given = f"rate {rate}, dropout {dropout} and weight decay {weight_decay}"
        raise RecipeError(f"{kind}: {given} given; above 0, from 0 to below 1, and at least 0 needed")
    if not len(train.words):
        raise RecipeError(f"the sample has no strings: the {kind} has nothing to learn from")
    best: BestSoFar[RecurrentModel] = BestSoFar(validation, train.num_symbols, patience)
    rng = np.random.default_rng(seed)
    epochs = -(-updates // -(-int(train.counts.sum()) // BATCH))
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(kind, train.num_symbols, num_states, dropout)
        optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=weight_decay)
        best.offer(network.frozen())
        for epoch in range(epochs):
            losses = []
            optimizer.param_groups[0]["lr"] = rate * 0.5 * (1 + math.cos(math.pi * epoch / epochs))
            for batch in batches(train, rng):
                check_cancelled(cancelled)
                optimizer.zero_grad()
                loss = network.loss(batch)
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), CLIP)
                optimizer.step()
                losses.append(loss.item())
            if not np.isfinite(losses).all():
                break
            report(Progress(kind, epoch + 1, epochs, float(np.mean(losses)) / math.log(2), BITS))
            best.offer(network.frozen())
            if best.is_late:
                break
    return best.kept()
