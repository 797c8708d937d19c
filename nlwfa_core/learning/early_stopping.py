"""Keep the best model of a training run so far, and decide when to stop training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

from ..errors import RecipeError, plural
from ..metrics.next_symbols import total_bits
from ..models.model import Model
from ..strings.sample import Sample
from ..strings.trie import batches

T = TypeVar("T")
M = TypeVar("M", bound=Model)


class Best(Generic[T]):
    """The value with the smallest loss so far.

    >>> best = Best("start")
    >>> (
    ...     [
    ...         best.offer(loss, lambda name=name: name)
    ...         for loss, name in ((2.0, "a"), (1.0, "b"), (1.0, "c"))
    ...     ],
    ...     best.value,
    ... )
    ([True, True, False], 'b')

    Attributes
    ----------
    value : T
        The value that was passed to the constructor, until a better one is offered.
    loss : float
        The loss of `value`; ∞ before the first offer.
    """

    def __init__(self, value: T) -> None:
        self.value = value
        self.loss = float("inf")

    def offer(self, loss: float, value: Callable[[], T]) -> bool:
        """Store `value()` if `loss` is smaller than all previous losses, and return whether it was
        stored.
        """
        if not loss < self.loss:  # nan is not smaller
            return False
        self.value = value()
        self.loss = loss
        return True


class EarlyStopping(Generic[M]):
    """Keeps the model with the fewest bits per symbol on validation strings, or the last model if
    there are no such strings.

    `num_symbols`: the number of symbols of the training sample. `patience`: the number of models in
    a row, none better than the best, after which `is_late` becomes true.

    Raises RecipeError if the validation sample is empty or has a different number of symbols.
    """

    def __init__(self, validation: Sample | None, num_symbols: int, patience: int) -> None:
        check_validation(validation, num_symbols)
        self.validation = validation
        self.parts = (
            []
            if validation is None
            else [
                (validation.counts[rows], trie)
                for rows, trie in batches(validation.words, num_symbols)
            ]
        )
        self.patience = patience
        self.models_since_best = 0
        self._best: Best[M | None] = Best(None)

    def offer(self, model: M) -> None:
        """Score the next model of the run, and keep it if it is the best so far."""
        self.models_since_best += 1
        if self.validation is None:
            self._best.value, self.models_since_best = model, 0
            return
        num_predictions = [int(counts @ np.diff(trie.starts)) for counts, trie in self.parts]
        totals = [total_bits(model.next_scores(trie), trie, counts) for counts, trie in self.parts]
        # the mean over all predictions, as a weighted sum of the parts' means: exact for a single
        # part
        shares = [number / num_predictions[0] for number in num_predictions]
        bits = sum(
            total / number * share
            for total, number, share in zip(totals, num_predictions, shares, strict=True)
        ) / sum(shares)
        if self._best.offer(bits, lambda: model):
            self.models_since_best = 0
        # the first model is kept even if its score is infinite or not a number
        elif self._best.value is None:
            self._best.value, self.models_since_best = model, 0

    @property
    def is_late(self) -> bool:
        """Return whether none of the last `patience` models was the best so far.

        Always false without validation strings.
        """
        return self.models_since_best >= self.patience

    @property
    def best(self) -> M:
        """Return the best model offered so far."""
        if self._best.value is None:
            raise ValueError("no model was offered")
        return self._best.value


def check_validation(validation: Sample | None, num_symbols: int) -> None:
    """Raise RecipeError if there is a validation sample that is empty, or whose number of symbols
    is not `num_symbols`.
    """
    if validation and (validation.num_symbols != num_symbols or not len(validation.words)):
        raise RecipeError(
            "the validation sample must have strings over the training sample's "
            f"{plural(num_symbols, 'symbol')}; "
            f"got {plural(len(validation.words), 'string')} over "
            f"{plural(validation.num_symbols, 'symbol')}"
        )
