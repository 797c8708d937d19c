"""The candidates that a search compares: models with their bits and their recipes, families, and
the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..experiment.recipe import Recipe
from ..learning.em.em_training import EMRecipe
from ..learning.merging import PDFATraining
from ..learning.progress import CancelCheck, Report, never, silent
from ..models.mixture import BY_STRING, BY_SYMBOL
from ..models.model import Model
from ..models.ngram import SMOOTHINGS, WITTEN_BELL
from ..models.recurrent import RecurrentModel
from ..strings.sample import Sample
from ..strings.words import FloatArray

OTHER_MODELS = ("n-gram", "LSTM")  # which are not automata
MOST_BITS = 1000.0  # of a string, so its perplexity is finite


@dataclass(frozen=True)
class NGramRecipe:
    """The settings of an n-gram: its order, and its smoothing, one of `ngram.SMOOTHINGS`."""

    order: int
    smoothing: str = WITTEN_BELL


@dataclass(frozen=True)
class LSTMRecipe:
    """The settings of an LSTM: its number of units, and its training
    (`recurrent_networks.Training`).
    """

    num_states: int
    updates: int
    patience: int
    seed: int
    rate: float = 0.01
    dropout: float = 0.2
    single_precision: bool = True

    def fit(
        self,
        train: Sample,
        validation: Sample | None = None,
        report: Report = silent,
        cancelled: CancelCheck = never,
    ) -> RecurrentModel:
        """Learn it from strings; the parameters are those of `recurrent_networks.fit_recurrent`."""
        from ..learning.recurrent_networks import Training, fit_recurrent

        training = Training(
            **{name: value for name, value in asdict(self).items() if name != "num_states"}
        )
        model = fit_recurrent(
            train,
            "LSTM",
            self.num_states,
            training,
            validation=validation,
            report=report,
            cancelled=cancelled,
        )
        return replace(model, alphabet=train.alphabet)


# Recipes that are plain dataclasses.
_PLAIN = (EMRecipe, PDFATraining, NGramRecipe, LSTMRecipe)


@dataclass(eq=False)
class Candidate:
    """A model of one family, and how good it is."""

    family: str  # "n-gram", "SP", "PDFA", "PFA", "HMM", "both.non" or "LSTM"
    model: Model
    bits: float  # bits per symbol on the validation strings
    seconds: float  # the time of its training
    recipe: EMRecipe | PDFATraining | Recipe | NGramRecipe | LSTMRecipe  # what it was learned by
    # what `mixture.next_log2_probabilities` returns on the validation strings, if it has been
    # computed
    logs: tuple[FloatArray, FloatArray] | None = None
    # whether the training came to its end, so one on all strings, which no validation strings
    # stop, is likely to be as good
    is_whole: bool = True

    @property
    def num_states(self) -> int:
        """Return the number of states, 0 for an n-gram."""
        return int(getattr(self.model, "num_states", 0))

    @property
    def title(self) -> str:
        """Name the candidate by its recipe."""
        recipe = self.recipe
        if isinstance(recipe, NGramRecipe):
            return f"{recipe.order}-gram, {SMOOTHINGS[recipe.smoothing]}"
        if isinstance(recipe, EMRecipe):
            return em_title(recipe)
        if isinstance(recipe, PDFATraining):
            return (
                f"PDFA, k = {self.num_states}, penalty {recipe.penalty:g}, counts from "
                f"{recipe.min_count}"
            )
        statistic = (
            f", {recipe.hankel.statistic} statistic"
            if isinstance(recipe, Recipe) and self.family == "SP"
            else ""
        )
        return f"{self.family}, k = {self.num_states}{statistic}"

    @property
    def record(self) -> dict[str, Any]:
        """Return the recipe, the number of states and the bits, as values that JSON can hold."""
        recipe = self.recipe
        fields = (
            asdict(recipe)
            if isinstance(recipe, _PLAIN)
            else recipe.model_dump(mode="json", exclude={"data"})
        )
        return {
            "family": self.family,
            "states": self.num_states,
            "bits_per_symbol": float(self.bits),
            "recipe": fields,
        }


def em_title(recipe: EMRecipe) -> str:
    """Name a model that EM learns.

    >>> em_title(EMRecipe("PFA", 10, seed=3))
    'PFA, k = 10, random start, seed 3'
    """
    return f"{recipe.learner}, k = {recipe.num_states}, {recipe.start} start, seed {recipe.seed}"


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
    """Compute the perplexity of strings with a mean number of symbols, ends counted."""
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
        """Return what was done, as values that JSON can hold."""
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
