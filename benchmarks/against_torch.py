"""Compare the training of a GRU and of an LSTM with the same network that calls torch's own layer
and cross-entropy.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import PackedSequence

from nlwfa_core.learning.recurrent_networks import Network, batches

from .checks import equal_arrays
from .report import Comparison
from .timing import clocked, interleave
from .work import Work

OPPONENT = "torch.nn"
TOLERANCE = 1e-6


class Plain(Network):
    """The network as most programs write it: the layer of torch.nn, and the scores of all steps in
    one table.
    """

    def loss(self, batch: PackedSequence) -> torch.Tensor:
        read, followed, times = batch.data.T
        hidden = self.layer(batch._replace(data=self.embedding(read)))[0].data
        each = cross_entropy(self.output(hidden), followed, reduction="none")
        mean: torch.Tensor = (each * times).sum() / times.sum()
        return mean


def gradients(work: Work, kind: str, num_states: int, num_batches: int, repeats: int) -> Comparison:
    """Time the loss and the gradient of some batches, with 32-bit floats on both sides."""
    drawn = list(islice(batches(work.sample(), np.random.default_rng(0)), num_batches))

    def network(side: type[Network], dtype: torch.dtype) -> Network:
        torch.manual_seed(0)
        return side(kind, len(work.alphabet), num_states, 0.0, dtype)

    def pass_over(side: Network, parts: list[PackedSequence]) -> list[float]:
        losses = []
        for part in parts:
            loss = side.loss(part)
            loss.backward()  # type: ignore[no-untyped-call]
            losses.append(float(loss.detach()))
        return losses

    ours, theirs = (network(side, torch.float64) for side in (Network, Plain))
    pairs = [(np.array(pass_over(ours, drawn[:2])), np.array(pass_over(theirs, drawn[:2])))]
    pairs += [
        (p.grad.numpy(), q.grad.numpy())
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True)
    ]  # type: ignore[union-attr]
    error = max(equal_arrays("losses and gradients", one, other, TOLERANCE) for one, other in pairs)
    timed = [network(side, torch.float32) for side in (Network, Plain)]
    sides = [clocked(lambda side=side: pass_over(side, drawn)) for side in timed]
    mine, others = interleave(sides, repeats)
    title = (
        f"{kind}, {work.name}: {num_batches} batches of 64 strings, |Σ| = "
        f"{len(work.alphabet):,}, k = {num_states}"
    )
    return Comparison(
        title, mine, OPPONENT, others, None, f"losses and gradients: {TOLERANCE:g} ({error:.0e})"
    )
