"""Early stopping: which of the models that a training passes through is the one to keep."""

from __future__ import annotations

from typing import Generic, TypeVar

from ..errors import RecipeError
from ..metrics.next_symbols import score_next
from ..models.model import Model
from ..strings.sample import Sample
from ..strings.trie import Trie

M = TypeVar("M", bound=Model)


class BestSoFar(Generic[M]):
    """Keeps the model with the fewest bits per symbol on validation strings, or without such strings the last one.

    Parameters
    ----------
    validation : Sample or None
    num_symbols : int
        Of the training sample.
    patience : int
        After so many models in a row that were no better, `is_late` says so.

    Raises
    ------
    RecipeError
        If the validation sample is empty or over another number of symbols.
    """

    def __init__(self, validation: Sample | None, num_symbols: int, patience: int) -> None:
        if validation and (validation.num_symbols != num_symbols or not len(validation.words)):
            raise RecipeError(
                f"the validation sample has {len(validation.words)} strings over {validation.num_symbols} symbols; "
                f"some strings over the training sample's {num_symbols} symbols are needed"
            )
        self.validation = validation
        self.trie = Trie.of(validation.words, num_symbols) if validation else None
        self.patience = patience
        self.bits, self.age = float("inf"), 0
        self.model: M | None = None

    def offer(self, model: M) -> None:
        """The next model of the training."""
        self.age += 1
        if self.validation and self.trie:
            bits = score_next(model.next_scores(self.trie), self.trie, self.validation.counts).bits_per_symbol
            if self.model and not bits < self.bits:  # a score that is not a number is no better
                return
            self.bits = bits if bits == bits else float("inf")
        self.model, self.age = model, 0

    @property
    def is_late(self) -> bool:
        """Whether `patience` models in a row were no better; never without validation strings."""
        return self.age >= self.patience

    def kept(self) -> M:
        assert self.model is not None
        return self.model
