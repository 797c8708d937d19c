"""A plain recurrent network trained on next symbols: padded batches, a loop over positions,
autograd.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from .plain import Word, through

AVERAGING = 0.998
LARGEST_GRADIENT = 1.0


class Batch:
    """Strings side by side, each followed by its end (symbol `end`) and padding."""

    def __init__(self, words: Sequence[Word], end: int) -> None:
        longest = max(map(len, words)) + 1
        self.symbols = torch.full((len(words), longest), end)
        self.real = torch.zeros((len(words), longest), dtype=torch.bool)
        for row, word in enumerate(words):
            self.symbols[row, : len(word)] = torch.tensor(word, dtype=torch.long)
            self.real[row, : len(word) + 1] = True


class Network:
    """States by one map for each symbol (a common part plus its own) and tanh; next symbols by the
    decoder and a softmax.
    """

    def __init__(
        self,
        initial: np.ndarray,
        transitions: np.ndarray,
        decoder: Sequence[np.ndarray],
        output: np.ndarray,
        dtype: torch.dtype,
    ) -> None:
        def parameter(array: np.ndarray) -> torch.Tensor:
            return torch.tensor(array, dtype=dtype, requires_grad=True)

        self.initial = parameter(initial)
        self.own = parameter(transitions)
        self.output = parameter(output)
        self.common = torch.zeros((1, *transitions.shape[1:]), dtype=dtype, requires_grad=True)
        self.decoder = [parameter(layer) for layer in decoder]

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [self.initial, self.common, self.own, *self.decoder, self.output]

    def bits_per_symbol(self, batch: Batch) -> torch.Tensor:
        """Bits per symbol, including the ends."""
        maps = self.common + self.own
        state = self.initial.expand(len(batch.symbols), -1)
        total = torch.zeros((), dtype=state.dtype)
        for symbols, real in zip(batch.symbols.T, batch.real.T, strict=True):
            logs = torch.log_softmax(through(state, self.decoder, True) @ self.output, dim=1)
            total = total - logs.gather(1, symbols[:, None])[real].sum()
            step = symbols.clamp(max=len(maps) - 1)  # nothing counts after an end
            state = torch.tanh(torch.bmm(state[:, None], maps[step])[:, 0])
        return total / (int(batch.real.sum()) * math.log(2))


class Training:
    """AdamW with a decreasing rate; the model is a running average of the steps."""

    def __init__(
        self, trained: Network, averaged: Network, epochs: int, rate: float, weight_decay: float
    ) -> None:
        self.trained = trained
        self.averaged = averaged
        self.epochs = epochs
        self.rate = rate
        self.optimizer = torch.optim.AdamW(trained.tensors, lr=rate, weight_decay=weight_decay)

    def epoch(self, number: int, batches: Sequence[Batch], judges: Batch) -> float:
        """Make a pass over the batches; return the running average's bits per symbol on the
        validation strings.
        """
        for index, batch in enumerate(batches):
            done = (number + index / len(batches)) / self.epochs
            self.optimizer.param_groups[0]["lr"] = self.rate * 0.5 * (1 + math.cos(math.pi * done))
            self.optimizer.zero_grad()
            self.trained.bits_per_symbol(batch).backward()
            torch.nn.utils.clip_grad_norm_(self.trained.tensors, LARGEST_GRADIENT)
            self.optimizer.step()
            share = max(1 - AVERAGING, 1 / (2 + (number * len(batches) + index) / 10))
            with torch.no_grad():
                for average, tensor in zip(
                    self.averaged.tensors, self.trained.tensors, strict=True
                ):
                    average.lerp_(tensor, share)
        with torch.no_grad():
            return float(self.averaged.bits_per_symbol(judges))
