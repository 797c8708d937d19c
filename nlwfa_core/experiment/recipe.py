"""Define the recipe: a whole experiment as one small frozen value of numbers and names, which can be written as JSON and read back.

It has four parts, for the data, the Hankel matrix, learning and refinement. Each step of a run depends only on its own part and the
parts before it, so a change of rank, for example, changes neither the data nor the Hankel matrix.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from .. import limits
from ..errors import FieldError, RecipeError, check_one_of, check_types, did_you_mean
from ..files import SHA256
from ..hankel.names import STATISTICS, TRANSFORMS
from ..learning.names import (
    BY_RANK,
    LEARNERS,
    PSEUDO_COUNT,
    REFINEMENTS,
    TOLERANCE,
    Learner,
    needs_boundary,
    number_of_starts,
)

# A part of every key. Raise it when equal recipes start to give other numbers than before.
GENERATION = 1

# Options that only Adamax reads.
ADAMAX_ONLY = ("rate_factorisation", "rate_transitions", "schedule")

ContentHash = Annotated[str, StringConstraints(pattern=rf"^({SHA256.pattern})?$")]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}  # pydantic's names of bounds -> as messages say them


class Record(BaseModel):
    """A frozen, validated value. Unknown fields are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _error_of(error, type(self).model_fields) from None

    def changed(self, **fields: Any) -> Self:
        """Copy the value with some fields replaced. Raises RecipeError if the new values are not valid."""
        return type(self)(**{**dict(self), **fields})

    def key(self) -> str:
        """Compute a name of 64 hexadecimal digits from the value's content. It is computed only once."""
        return self._key

    @cached_property
    def _key(self) -> str:
        return self._key_without(())

    def _key_without(self, fields: Collection[str]) -> str:
        """Compute the key that the value would have if its class did not have some fields."""
        text = json.dumps([GENERATION, type(self).__name__, self.model_dump(mode="json", exclude=set(fields))], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


class DataRecipe(Record):
    """Where the strings come from, and how they are split.

    Fields for sources other than `source` have no effect on the strings, but they do change the key. The exceptions are `grammar`,
    `upload_prefixes` and `upload_targets`, which were added later: they change the key only for the source that uses them, because
    older keys must not change.

    Attributes
    ----------
    source : str
        "dyck", "tomita" (a small regular language), "automaton" (random, probabilistic), "squared" (the square of a random WFA),
        "verbs" (shipped), "upload".
    num_strings, num_validation, num_test : int
        The numbers of training, validation and test strings. Sources that generate strings draw each set independently. The strings
        of "verbs" and "upload" are split at random: validation and test get these numbers, but at most a fifth of the strings each,
        and training gets the rest, but at most num_strings. With num_validation 0, more strings are left for training, but nothing
        can be chosen by validation strings.
    seed : int
        The seed of the random draws and of the split.
    split_probability, wrap_probability : float
        The probabilities of the Dyck grammar's rules S → SS and S → [S]. The remaining probability is that of S → [].
    grammar : int
        The number of the Tomita language, from 1 to 7.
    num_states, num_symbols : int
        The numbers of states and symbols of random automata.
    upload, upload_test, upload_solution, upload_model : str
        The SHA-256 of each uploaded file: training strings and, optionally, test strings, a PAutomaC solution, and a PAutomaC
        model, which is the true model. Empty if there is no such file.
    upload_prefixes, upload_targets : str
        The SHA-256 of a file of prefixes, and of a file that says what followed each of them. A recipe has both or neither.
    upload_format : str
        The format of the uploaded strings.
    """

    source: Literal["dyck", "tomita", "automaton", "squared", "verbs", "upload"] = "dyck"
    num_strings: int = Field(default=20_000, ge=1, le=limits.ceiling("generated_strings"))
    num_validation: int = Field(default=250, ge=0, le=limits.ceiling("generated_strings"))
    num_test: int = Field(default=250, ge=1, le=limits.ceiling("generated_strings"))
    seed: Seed = 0
    split_probability: float = Field(default=0.2, ge=0, le=1)
    wrap_probability: float = Field(default=0.4, ge=0, le=1)
    grammar: int = Field(default=1, ge=1, le=7)
    num_states: int = Field(default=5, ge=1, le=50)
    num_symbols: int = Field(default=4, ge=1, le=100)
    upload: ContentHash = ""
    upload_test: ContentHash = ""
    upload_solution: ContentHash = ""
    upload_model: ContentHash = ""
    upload_prefixes: ContentHash = ""
    upload_targets: ContentHash = ""
    upload_format: Literal["auto", "pautomac", "characters", "tokens", "csv", "json"] = "auto"

    @cached_property
    def _key(self) -> str:
        omitted = set() if self.source == "tomita" else {"grammar"}
        return self._key_without(omitted if self._ranks_prefixes else omitted | {"upload_prefixes", "upload_targets"})

    @property
    def _ranks_prefixes(self) -> bool:
        return self.source == "upload" and bool(self.upload_prefixes or self.upload_targets)

    @property
    def uploads(self) -> tuple[str, ...]:
        """SHA-256 of each uploaded file that the recipe reads."""
        names = [name for name in type(self).model_fields if name.startswith("upload") and name != "upload_format"]
        hashes = [getattr(self, name) for name in names] if self.source == "upload" else []
        return tuple(content for content in hashes if content)


class HankelRecipe(Record):
    """Basis, statistic and transform of the Hankel matrix.

    Attributes
    ----------
    num_prefixes, num_suffixes : int
    statistic : str
        One of `hankel.names.STATISTICS`.
    bounded : bool
        Whether strings are counted with boundary symbols; see `learning.names.needs_boundary`.
    transform : str
        One of `hankel.names.TRANSFORMS`.
    """

    num_prefixes: int = Field(default=1000, ge=1, le=limits.ceiling("basis"))
    num_suffixes: int = Field(default=1000, ge=1, le=limits.ceiling("basis"))
    statistic: str = "string"
    bounded: bool = False
    transform: str = "none"

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_one_of("statistic", self.statistic, STATISTICS)
        check_one_of("transform", self.transform, TRANSFORMS)
        if self.bounded and self.statistic == "string":
            raise ValueError("bounded must be false with string statistics: boundary symbols are for prefix and factor statistics")
        if self.transform != "none" and self.statistic != "string" and not self.bounded:
            raise ValueError(f"transform {self.transform!r} needs boundary symbols (bounded) with {self.statistic} statistics")
        return self


class LearningRecipe(Record):
    """A learner and its options, under the names of `learning.options.Options`.

    The rank is the number of states of a learner that learns from the strings themselves (`learning.names.STRING_LEARNERS`).

    The defaults are those of the paper, because recipes from before 0.2 do not say how they are trained. `presets.CONVERGED` has
    what a new experiment should use.
    """

    learner: str = "SP"
    rank: int = Field(default=10, ge=1, le=limits.ceiling("rank"))
    hidden: tuple[int, ...] = (2, 1, 2)
    width_transitions: int = Field(default=2, ge=0, le=16)
    epochs_factorisation: int = Field(default=1000, ge=0, le=limits.ceiling("epochs"))
    epochs_transitions: int = Field(default=500, ge=0, le=limits.ceiling("epochs"))
    rate_factorisation: float = Field(default=0.015, gt=0, le=1e300)
    rate_transitions: float = Field(default=0.001, gt=0, le=1e300)
    schedule: Literal["constant", "cosine"] = "constant"
    optimizer: Literal["adamax", "lbfgs", "lm"] = "adamax"
    start: Literal["random", "svd"] = "random"
    starts: int = Field(default=1, ge=BY_RANK, le=100)
    tolerance: float = Field(default=TOLERANCE, ge=0, lt=1)
    seed: Seed = 0
    em_start: Literal["random", "spectral", "split"] = "random"
    pseudo_count: float = Field(default=PSEUDO_COUNT, ge=0, le=1e6)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_one_of("learner", self.learner, LEARNERS)
        symmetric = (
            len(self.hidden) in (1, 3, 5, 7) and self.hidden == self.hidden[::-1] and self.hidden[len(self.hidden) // 2] == 1
        )
        if not symmetric or not 1 <= min(self.hidden) <= max(self.hidden) <= 16:
            text = ",".join(map(str, self.hidden))
            raise ValueError(
                "hidden must list at most 7 widths as multiples (1 to 16) of the rank, symmetric around a 1 in the middle, "
                f"such as 2,1,2 or 4,2,1,2,4; got {text}"
            )
        return self

    @property
    def kind(self) -> Learner:
        """Return the learner's entry in the registry."""
        return LEARNERS[self.learner]

    @cached_property
    def _key(self) -> str:
        """Compute the key without the options that have no effect.

        These are the options of networks for other learners, the seed for SP and PDFA, and the options of the optimiser that is not
        used. Because older keys must not change, options that were added later are left out as well where they say what older
        versions did: `optimizer`, `start`, `starts` and `tolerance` if a recipe trains as in the paper, `starts` if there is only
        one, and `em_start` and `pseudo_count` at their defaults.
        """
        counted, omitted, of_em = self, {"optimizer", "start", "tolerance"}, ("em_start", "pseudo_count")
        used = of_em if self.kind.em_options else of_em[1:] if self.kind.merging else ()
        fields = type(self).model_fields
        if used:
            names = ("learner", "rank", *(["seed"] if self.kind.is_random else []), *used)
            counted = LearningRecipe.model_construct(**{name: getattr(self, name) for name in names})
        elif not self.kind.needs_hankel:
            counted = LearningRecipe.model_construct(learner=self.learner, rank=self.rank, seed=self.seed)
        elif not self.kind.networks:
            counted = LearningRecipe.model_construct(learner=self.learner, rank=self.rank)
        elif self.optimizer != "adamax":
            defaults = type(self).model_construct()
            counted, omitted = self.model_copy(update={name: getattr(defaults, name) for name in ADAMAX_ONLY}), set()
        elif self.start != "random":
            omitted = {"optimizer", "tolerance"}
        omitted |= {name for name in of_em if name not in used or getattr(self, name) == fields[name].default}
        starts = number_of_starts(self.starts, self.learner, self.rank, self.optimizer)
        if starts > 1:
            return counted.model_copy(update={"starts": starts})._key_without(omitted)
        return counted._key_without({*omitted, "starts"})


class RefinementRecipe(Record):
    """The third step; see `learning.options.Refinement`."""

    objective: str = "none"
    optimizer: Literal["adamax", "lbfgs"] = "adamax"
    tolerance: float = Field(default=TOLERANCE, ge=0, lt=1)
    epochs: int = Field(default=40, ge=0, le=limits.ceiling("epochs"))
    rate: float = Field(default=0.01, gt=0, le=1e300)
    batch: int = Field(default=500, ge=1, le=limits.ceiling("generated_strings"))
    weight_decay: float = Field(default=0.0, ge=0, le=100)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    restarts: int = Field(default=0, ge=0, le=100)
    seed: Seed = 0

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_one_of("refine", self.objective, REFINEMENTS)
        return self

    @cached_property
    def _key(self) -> str:
        """Compute the key without options that have no effect: all if nothing is refined, else those of the unused optimiser."""
        defaults = type(self).model_construct()
        if self.objective == "hankel" and self.optimizer == "lbfgs":
            return self.model_copy(update={"rate": defaults.rate})._key_without(())
        return (self if self.objective != "none" else defaults)._key_without({"optimizer", "tolerance"})


class Recipe(Record):
    """A whole experiment.

    >>> recipe = Recipe().changed(learning=LearningRecipe(rank=3))
    >>> Recipe.from_json(recipe.to_json()) == recipe
    True
    """

    data: DataRecipe = DataRecipe()
    hankel: HankelRecipe = HankelRecipe()
    learning: LearningRecipe = LearningRecipe()
    refinement: RefinementRecipe = RefinementRecipe()

    @model_validator(mode="after")
    def _check_boundary(self) -> Self:
        hankel = self.hankel
        if needs_boundary(self.learning.learner, hankel.statistic, hankel.transform) and not hankel.bounded:
            raise ValueError(f"{self.learning.learner} needs boundary symbols (bounded) with {hankel.statistic} statistics")
        return self

    def to_json(self) -> str:
        """Return the recipe as JSON text."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Read a recipe from JSON text. Raises RecipeError if the text is not a valid recipe."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise _error_of(error, cls.model_fields) from None

    @check_types
    def with_learner(self, learner: str, rank: int | None = None) -> Recipe:
        """Copy the recipe with another learner (and rank), and with boundary symbols if that learner needs them."""
        learning = self.learning.changed(learner=learner, rank=rank or self.learning.rank)
        hankel = self.hankel
        if learning.kind.needs_hankel:
            hankel = hankel.changed(bounded=needs_boundary(learner, hankel.statistic, hankel.transform))
        return self.changed(learning=learning, hankel=hankel)

    @property
    def title(self) -> str:
        """Return the name of the recipe's run in tables and on pages, such as "SP, k = 10"."""
        return run_title(self.learning.learner, self.learning.rank)

    @cached_property
    def _key(self) -> str:
        """Combine the keys of the parts that have an effect. Without a Hankel matrix, refinement has none either."""
        parts: tuple[Record, ...] = (self.data, self.learning)
        if self.learning.kind.needs_hankel:
            parts = (self.data, self.hankel, self.learning, self.refinement)
        return hashlib.sha256("".join(part.key() for part in parts).encode()).hexdigest()


def run_title(learner: str, rank: int) -> str:
    """Name a run by its learner and its rank, as pages, tables and programs do.

    >>> run_title("SP", 10)
    'SP, k = 10'
    """
    return f"{learner}, k = {rank}"


def _error_of(error: ValidationError, names: Iterable[str]) -> RecipeError:
    """Say what is wrong with the first invalid field: its name, what is allowed, and its value. `names` are those of all fields."""
    first = error.errors()[0]
    kind, context = first["type"], first.get("ctx", {})
    if kind == "value_error":
        return RecipeError(str(context["error"]))
    field = ".".join(str(part) for part in first["loc"]) or "the recipe"
    if kind == "extra_forbidden":
        return RecipeError(f"unknown field {field!r}" + (did_you_mean(field, names) or f"; the fields are {', '.join(names)}"))
    if kind == "json_invalid":
        allowed = f"be valid JSON ({context['error']})"
    elif kind == "literal_error":
        allowed = f"be {context['expected']}"
    elif bounds := [f"{words} {context[name]:,.15g}" for name, words in BOUNDS.items() if name in context]:
        allowed = f"be {bounds[0]}"
    elif kind == "tuple_type":
        allowed = "be a list"
    elif kind.startswith("int_"):
        allowed = "be a whole number"
    else:  # such as "Input should be a valid number, unable to parse string as a number"
        allowed = first["msg"].partition(" should ")[2].partition(", ")[0]
    return FieldError(f"{field} must {allowed}; got {repr(first['input'])[:60]}", field)
