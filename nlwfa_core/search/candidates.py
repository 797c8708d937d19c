"""The candidates that a search compares: models with their bits and their recipes, families, and
the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from ..experiment.recipe import Recipe
from ..models.mixture import BY_STRING, BY_SYMBOL
from ..models.model import Model
from ..strings.words import FloatArray

MOST_BITS = 1000.0  # of a string, so its perplexity is finite


@dataclass(eq=False)
class Candidate:
    """A model of one family, with its score."""

    # whether the weights sum to 1 for certain, so a mixture with it is one of distributions
    is_distribution: ClassVar[bool] = True

    family: str
    model: Model
    bits: float  # bits per symbol on the validation strings
    seconds: float  # the time of its training
    recipe: Any  # what it was learned by: a `Recipe`, or the dataclass of its family
    # what `mixture.next_log2_probabilities` returns on the validation strings, if it has been
    # computed
    logs: tuple[FloatArray, FloatArray] | None = None
    # whether the training came to its end. If so, training on all strings, which no validation
    # strings stop, is likely to give as good a model.
    is_whole: bool = True

    @property
    def num_states(self) -> int:
        """Return the number of states, 0 for an n-gram."""
        return int(getattr(self.model, "num_states", 0))

    @property
    def title(self) -> str:
        """Name the candidate by its family and number of states; subclasses also name other
        settings.
        """
        return f"{self.family}, k = {self.num_states}"

    @property
    def record(self) -> dict[str, Any]:
        """Return the recipe, the number of states and the bits, as values that JSON can hold."""
        recipe = self.recipe
        fields = (
            recipe.model_dump(mode="json", exclude={"data"})
            if isinstance(recipe, Recipe)
            else asdict(recipe)
        )
        return {
            "family": self.family,
            "states": self.num_states,
            "bits_per_symbol": float(self.bits),
            "recipe": fields,
        }


def title_of(components: Sequence[Candidate], level: str) -> str:
    """Name a mixture, or a model alone, by its components."""
    if len(components) == 1:
        return components[0].title
    names = [
        f"{one.family} {one.num_states}" if one.num_states else one.title for one in components
    ]
    counted = [
        f"{names.count(name)} × {name}" if names.count(name) > 1 else name
        for name in dict.fromkeys(names)
    ]
    return f"mixture {'by symbol ' if level == BY_SYMBOL else ''}of {', '.join(counted)}"


def perplexity(bits: float, symbols: float) -> float:
    """Compute the perplexity of strings with a mean number of symbols, counting the ends."""
    return float(np.exp2(min(bits * symbols, MOST_BITS)))


@dataclass(frozen=True)
class FamilyResult:
    """The result of a family."""

    family: str
    title: str  # of its best candidate
    num_states: int  # num_states, num_candidates: of the best candidate; of the family
    num_candidates: int
    seconds: float  # the time of all its training runs, added up over the threads
    # bits, perplexity: of the best candidate, on the validation strings: bits per symbol, and 2 to
    # the power of the bits per string
    bits: float
    perplexity: float


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The model that `search` chose."""

    model: Model  # a WFA wherever possible
    components: tuple[Candidate, ...]  # the candidates in it; one, or those of a mixture
    shares: FloatArray  # (num_components,): their weights
    bits: float  # bits per symbol on the validation strings, before training on all strings
    # The best first; the mixture is the family "mixture". An n-gram, which has no states, may be
    # better than the model.
    families: tuple[FamilyResult, ...]
    # num_train, num_validation: the numbers of strings that the candidates learned from, and that
    # chose among them
    num_train: int
    num_validation: int
    # how many strings the final model learned from: all of them if the validation strings were held
    # out from the training strings and there was time to train on them
    num_trained_on: int
    seconds: float
    stopped: bool  # whether the search was stopped before its time
    converged: bool  # whether it ended before its time because no more training helped
    level: str = BY_STRING  # what a mixture averages, one of `mixture.LEVELS`
    # of the model's rankings on beginnings of validation strings, before training on all strings,
    # if it was chosen by that
    ndcg5: float | None = None

    @property
    def num_states(self) -> int:
        """Return the number of states of all components together."""
        return sum(component.num_states for component in self.components)

    @property
    def title(self) -> str:
        """Name the components."""
        return title_of(self.components, self.level)

    @property
    def record(self) -> dict[str, Any]:
        """Return the search and its result as values that JSON can hold."""
        return {
            "components": [
                {"weight": share, **one.record}
                for share, one in zip(self.shares.tolist(), self.components, strict=True)
            ],
            "level": self.level,
            "bits_per_symbol": self.bits,
            "ndcg5": self.ndcg5,
            "families": [asdict(family) for family in self.families],
            "training_strings": self.num_train,
            "validation_strings": self.num_validation,
            "trained_on": self.num_trained_on,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "converged": self.converged,
        }
