"""Define the recipe: a whole experiment as one small frozen value of numbers and names, which can
be written as JSON and read back.

It has four parts, for the data, the Hankel matrix, learning and refinement. Each step of a run
depends only on its own part and the parts before it, so a change of rank, for example, changes
neither the data nor the Hankel matrix.

Controls, command-line options and lessons use the fields under flat names (`FIELDS`), without the
part: a field name that occurs in several parts, such as `seed`, has a different flat name for each.
`bounded` has none, because it follows from other fields. A link has a recipe as a short text
(`recipe_code`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from .. import limits
from ..errors import FieldError, RecipeError, check_one_of, check_types, did_you_mean, format_exact
from ..files import SHA256
from ..hankel.names import BASES, LINEAR_ONLY, STATISTICS, TRANSFORMS
from ..learning.names import (
    BY_RANK,
    CONVERGED_EPOCHS,
    EM_LEARNERS,
    EM_STARTS,
    FEW_STATES,
    HANKEL_LEARNERS,
    LEARNERS,
    NETWORK_LEARNERS,
    PSEUDO_COUNT,
    PSEUDO_COUNT_LEARNERS,
    REFINEMENTS,
    STARTS,
    STARTS_OF_FEW_STATES,
    STEP_OPTIMIZERS,
    TOLERANCE,
    WINDOW,
    Learner,
    needs_boundary,
    number_of_starts,
)

# A part of every key. Raise it when equal recipes start to give other numbers than before.
GENERATION = 1

# Options that only Adamax reads.
ADAMAX_ONLY = ("rate_factorisation", "rate_transitions", "schedule")

# What steps 1 and 2 have in training to convergence, in place of the paper's options.
CONVERGED: dict[str, Any] = {
    "optimizer": "lbfgs",
    "start": "svd",
    "epochs_factorisation": CONVERGED_EPOCHS,
    "epochs_transitions": CONVERGED_EPOCHS,
}

ContentHash = Annotated[str, StringConstraints(pattern=rf"^({SHA256.pattern})?$")]
Seed = Annotated[int, Field(ge=0, lt=2**31)]
# pydantic's names of bounds -> as messages say them
BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


class Record(BaseModel):
    """A frozen, validated value. Unknown fields are refused."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False
    )

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _error_of(error, type(self).model_fields) from None

    @field_validator("*")
    @classmethod
    def _without_negative_zero(cls, value: Any) -> Any:
        """Write −0 as 0: they are equal, so recipes with them must have the same key."""
        return value + 0.0 if isinstance(value, float) else value

    def changed(self, **fields: Any) -> Self:
        """Copy the value with some fields replaced.

        Raises RecipeError if the new values are not valid.
        """
        return type(self)(**{**dict(self), **fields})

    def key(self) -> str:
        """Compute a name of 64 hexadecimal digits from the value's content.

        It is computed only once.
        """
        return self._key

    @cached_property
    def _key(self) -> str:
        return self._key_without(())

    def _key_without(self, fields: Collection[str]) -> str:
        """Compute the key that the value would have if its class did not have some fields."""
        text = json.dumps(
            [GENERATION, type(self).__name__, self.model_dump(mode="json", exclude=set(fields))],
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()


class DataRecipe(Record):
    """Where the strings come from, and how they are split.

    Fields for sources other than `source` have no effect on the strings, but they do change the
    key. The exceptions are `grammar`, `upload_prefixes` and `upload_targets`, which were added
    later: they change the key only for the source that uses them, because older keys must not
    change.

    Attributes
    ----------
    source : str
        "dyck", "tomita" (a small regular language), "automaton" (random, probabilistic), "hmm",
        "pfa" and "pdfa" (random automata of a narrower kind), "squared" (the square of a random
        WFA), "verbs" (shipped), "upload".
    num_strings, num_validation, num_test : int
        The numbers of training, validation and test strings. Sources that generate strings draw
        each set independently. The strings of "verbs" and "upload" are split at random: validation
        and test get these numbers, but at most a fifth of the strings each, and training gets the
        rest, but at most num_strings. With num_validation 0, more strings are left for training,
        but nothing can be chosen by validation strings.
    seed : int
        The seed of the random draws and of the split.
    split_probability, wrap_probability : float
        The probabilities of the Dyck grammar's rules S → SS and S → [S]. The remaining probability
        is that of S → [].
    grammar : int
        The number of the Tomita language, from 1 to 7.
    num_states, num_symbols : int
        The numbers of states and symbols of random automata.
    upload, upload_test, upload_solution, upload_model : str
        The SHA-256 of each uploaded file: training strings and, optionally, test strings, a
        PAutomaC solution, and a PAutomaC model, which is the true model. Empty if there is no such
        file.
    upload_prefixes, upload_targets : str
        The SHA-256 of a file of prefixes, and of a file that says what followed each of them. A
        recipe has both or neither.
    upload_format : str
        The format of the uploaded strings.

    Examples
    --------
    >>> from nlwfa_core import DataRecipe
    >>> recipe = DataRecipe(source="tomita", grammar=4, num_strings=500, seed=1)
    >>> recipe.num_strings, recipe.changed(seed=2).seed
    (500, 2)
    """

    source: Literal[
        "dyck", "tomita", "automaton", "hmm", "pfa", "pdfa", "squared", "verbs", "upload"
    ] = "dyck"
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
        return self._key_without(
            omitted if self._ranks_prefixes else omitted | {"upload_prefixes", "upload_targets"}
        )

    @property
    def _ranks_prefixes(self) -> bool:
        return self.source == "upload" and bool(self.upload_prefixes or self.upload_targets)

    @property
    def uploads(self) -> tuple[str, ...]:
        """SHA-256 of each uploaded file that the recipe reads."""
        names = [
            name
            for name in type(self).model_fields
            if name.startswith("upload") and name != "upload_format"
        ]
        hashes = [getattr(self, name) for name in names] if self.source == "upload" else []
        return tuple(content for content in hashes if content)


class HankelRecipe(Record):
    """Basis, statistic and transform of the Hankel matrix.

    Attributes
    ----------
    num_prefixes, num_suffixes : int
    basis : str
        "frequent": the most frequent prefixes and suffixes (`hankel.basis.select_basis`).
        "matching": some that can be matched (`hankel.matching.matching_basis`).
    statistic : str
        "string", "prefix", "factor" or "suffix": see `hankel.names.STATISTICS`.
    bounded : bool
        Whether strings are counted with boundary symbols; see `learning.names.needs_boundary`.
    transform : str
        "none", "sqrt" or "row": see `hankel.names.TRANSFORMS`.

    Examples
    --------
    >>> from nlwfa_core import HankelRecipe
    >>> HankelRecipe(num_prefixes=200, statistic="factor").changed(num_suffixes=50).num_suffixes
    50
    """

    num_prefixes: int = Field(default=1000, ge=1, le=limits.ceiling("basis"))
    num_suffixes: int = Field(default=1000, ge=1, le=limits.ceiling("basis"))
    statistic: str = "string"
    bounded: bool = False
    transform: str = "none"
    basis: Literal["frequent", "matching"] = "frequent"

    @cached_property
    def _key(self) -> str:
        # recipes from before have no basis
        return self._key_without({"basis"} if self.basis == "frequent" else ())

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_one_of("statistic", self.statistic, STATISTICS)
        check_one_of("transform", self.transform, TRANSFORMS)
        if self.statistic == "suffix" and (self.bounded or self.transform != "none"):
            raise ValueError(LINEAR_ONLY)
        if self.bounded and self.statistic == "string":
            raise ValueError(
                "bounded must be false with string statistics: boundary symbols are for "
                "prefix and factor statistics"
            )
        if self.transform != "none" and self.statistic != "string" and not self.bounded:
            raise ValueError(
                f"transform {self.transform!r} needs boundary symbols (bounded) with "
                f"{self.statistic} statistics"
            )
        return self


class LearningRecipe(Record):
    """A learner and its options, under the names of `learning.options.Options`.

    The rank is the number of states of a learner that learns from the strings themselves
    (`learning.names.STRING_LEARNERS`).

    The defaults are those of the paper, whose networks are *not* trained to the end, because
    recipes of earlier versions do not say how they are trained. `LearningRecipe.converged` makes a
    recipe that trains to convergence, as `fit` and `nlwfa fit` do.

    >>> from nlwfa_core import LearningRecipe
    >>> recipe = LearningRecipe.converged(learner="both.non", rank=5)
    >>> recipe.learner, recipe.rank, recipe.optimizer, LearningRecipe().optimizer
    ('both.non', 5, 'lbfgs', 'adamax')
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
            len(self.hidden) in (1, 3, 5, 7)
            and self.hidden == self.hidden[::-1]
            and self.hidden[len(self.hidden) // 2] == 1
        )
        if not symmetric or not 1 <= min(self.hidden) <= max(self.hidden) <= 16:
            text = ",".join(map(str, self.hidden))
            raise ValueError(
                "hidden must list at most 7 widths as multiples (1 to 16) of the rank, "
                "symmetric around a 1 in the middle, "
                f"such as 2,1,2 or 4,2,1,2,4; got {text}"
            )
        return self

    @classmethod
    def converged(cls, **fields: Any) -> Self:
        """Make a recipe whose networks are trained until their loss hardly falls any more
        (`CONVERGED`), with some other fields.
        """
        return cls(**{**CONVERGED, **fields})

    @property
    def kind(self) -> Learner:
        """Return the learner's entry in the registry."""
        return LEARNERS[self.learner]

    @cached_property
    def _key(self) -> str:
        """Compute the key without the options that have no effect.

        These are the options of networks for other learners, the seed for SP and PDFA, and the
        options of the optimiser that is not used. Because older keys must not change, options that
        were added later are left out as well where they say what older versions did: `optimizer`,
        `start`, `starts` and `tolerance` if a recipe trains as in the paper, `starts` if there is
        only one, and `em_start` and `pseudo_count` at their defaults.
        """
        counted, omitted, of_em = (
            self,
            {"optimizer", "start", "tolerance"},
            ("em_start", "pseudo_count"),
        )
        used = of_em if self.kind.em_options else of_em[1:] if self.kind.merging else ()
        fields = type(self).model_fields
        if used:
            names = ("learner", "rank", *(["seed"] if self.kind.is_random else []), *used)
            counted = LearningRecipe.model_construct(
                **{name: getattr(self, name) for name in names}
            )
        elif not self.kind.needs_hankel:
            counted = LearningRecipe.model_construct(
                learner=self.learner, rank=self.rank, seed=self.seed
            )
        elif not self.kind.networks:
            counted = LearningRecipe.model_construct(learner=self.learner, rank=self.rank)
        elif self.optimizer != "adamax":
            defaults = type(self).model_construct()
            counted, omitted = (
                self.model_copy(update={name: getattr(defaults, name) for name in ADAMAX_ONLY}),
                set(),
            )
        elif self.start != "random":
            omitted = {"optimizer", "tolerance"}
        omitted |= {
            name
            for name in of_em
            if name not in used or getattr(self, name) == fields[name].default
        }
        starts = number_of_starts(self.starts, self.learner, self.rank, self.optimizer)
        if starts > 1:
            return counted.model_copy(update={"starts": starts})._key_without(omitted)
        return counted._key_without({*omitted, "starts"})


class RefinementRecipe(Record):
    """The third step; see `learning.options.Refinement`.

    >>> from nlwfa_core import RefinementRecipe
    >>> RefinementRecipe(objective="likelihood", epochs=20).epochs
    20
    """

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
        """Compute the key without options that have no effect: all if nothing is refined, else
        those of the unused optimiser.
        """
        defaults = type(self).model_construct()
        if self.objective == "hankel" and self.optimizer == "lbfgs":
            return self.model_copy(update={"rate": defaults.rate})._key_without(())
        return (self if self.objective != "none" else defaults)._key_without(
            {"optimizer", "tolerance"}
        )


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
        if hankel.statistic == "suffix" and self.learning.kind.networks:
            raise ValueError(LINEAR_ONLY)
        if (
            needs_boundary(self.learning.learner, hankel.statistic, hankel.transform)
            and not hankel.bounded
        ):
            raise ValueError(
                f"{self.learning.learner} needs boundary symbols (bounded) with "
                f"{hankel.statistic} statistics"
            )
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
        """Copy the recipe with another learner (and rank), and with boundary symbols if that
        learner needs them.
        """
        learning = self.learning.changed(learner=learner, rank=rank or self.learning.rank)
        hankel = self.hankel
        if learning.kind.needs_hankel:
            hankel = hankel.changed(
                bounded=needs_boundary(learner, hankel.statistic, hankel.transform)
            )
        return self.changed(learning=learning, hankel=hankel)

    @property
    def title(self) -> str:
        """Return the name of the recipe's run in tables and on pages, such as "SP, k = 10"."""
        return run_title(self.learning.learner, self.learning.rank)

    @cached_property
    def _key(self) -> str:
        """Combine the keys of the parts that have an effect.

        Without a Hankel matrix, refinement has none either.
        """
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


def check_json_types(kind: type[Record], content: Any, owner: str = "") -> None:
    """Raise RecipeError if JSON has something else where a record has numbers, or true or false:
    pydantic would convert "1".

    `owner` is what stands in front of a field's name in the message, such as "base.learning.".
    """
    if not isinstance(content, dict):
        return
    for name in kind.model_fields.keys() & content.keys():
        annotation = kind.model_fields[name].annotation
        value = content[name]
        if isinstance(annotation, type) and issubclass(annotation, Record):
            check_json_types(annotation, value, f"{owner}{name}.")
        elif annotation is bool and not isinstance(value, bool):
            raise FieldError(
                f"{owner}{name} must be true or false; got {repr(value)[:60]}", f"{owner}{name}"
            )
        elif _innermost(annotation) <= {int, float} and (
            isinstance(value, list) or get_origin(annotation) is not tuple
        ):
            for entry in value if isinstance(value, list) else [value]:
                if isinstance(entry, str | bool):
                    raise FieldError(
                        f"{owner}{name} must be a number; got {repr(entry)[:60]}", f"{owner}{name}"
                    )


def _innermost(annotation: Any) -> set[Any]:
    """Return the classes that an annotation of a value, or of a tuple's entries, consists of."""
    parts = [part for part in get_args(annotation) if isinstance(part, type) or get_args(part)]
    return set().union(*map(_innermost, parts)) if parts else {annotation}


def _error_of(error: ValidationError, names: Iterable[str]) -> RecipeError:
    """Say what is wrong with the first invalid field: its name, what is allowed, and its value.

    `names` are those of all fields.
    """
    first = error.errors()[0]
    kind, context = first["type"], first.get("ctx", {})
    if kind == "value_error":
        return RecipeError(str(context["error"]))
    field = ".".join(str(part) for part in first["loc"]) or "the recipe"
    if kind == "extra_forbidden":
        return RecipeError(
            f"unknown field {field!r}"
            + (did_you_mean(field, names) or f"; the fields are {', '.join(names)}")
        )
    if kind == "json_invalid":
        allowed = f"be valid JSON ({context['error']})"
    elif kind == "literal_error":
        allowed = f"be {context['expected']}"
    elif bounds := [
        f"{words} {format_exact(context[name])}"
        for name, words in BOUNDS.items()
        if name in context
    ]:
        allowed = f"be {bounds[0]}"
    elif kind == "tuple_type":
        allowed = "be a list"
    elif kind.startswith("int_"):
        allowed = "be a whole number"
    else:  # such as "Input should be a valid number, unable to parse string as a number"
        allowed = first["msg"].partition(" should ")[2].partition(", ")[0]
    return FieldError(f"{field} must {allowed}; got {repr(first['input'])[:60]}", field)


# Flat name -> (part, name in that part), for names that differ.
RENAMED = {
    "data_seed": ("data", "seed"),
    "learning_seed": ("learning", "seed"),
    "refine": ("refinement", "objective"),
    "optimizer_refinement": ("refinement", "optimizer"),
    "tolerance_refinement": ("refinement", "tolerance"),
    "epochs_refinement": ("refinement", "epochs"),
    "rate_refinement": ("refinement", "rate"),
    "refinement_seed": ("refinement", "seed"),
}
PARTS: dict[str, type[Record]] = {
    "data": DataRecipe,
    "hankel": HankelRecipe,
    "learning": LearningRecipe,
    "refinement": RefinementRecipe,
}
# Flat name -> (part, name in that part), for all fields.
FIELDS = {
    name: (part, name)
    for part, record in PARTS.items()
    for name in record.model_fields
    if name != "bounded" and (part, name) not in RENAMED.values()
} | RENAMED
FLAT_NAMES = {own: name for name, own in FIELDS.items()}

# Flat name -> one line of help.
HELP = {
    "source": "Where the strings come from.",
    "num_strings": "How many strings to draw, or to learn from at most.",
    "num_validation": "How many strings to hold back for choices, such as a rank or an epoch; "
    "with 0, training "
    "gets these, too.",
    "num_test": "How many strings to hold back for scores.",
    "data_seed": "Equal seeds draw and split equal strings.",
    "split_probability": "Probability of S → SS.",
    "wrap_probability": "Probability of S → [S]; S → [] has the rest.",
    "grammar": "Which of Tomita's languages.",
    "num_states": "States of the random automaton.",
    "num_symbols": "Symbols of its alphabet.",
    "upload": "Training strings: the SHA-256 of a file.",
    "upload_test": "Test strings: the SHA-256 of a file.",
    "upload_solution": "Probabilities of the test strings: the SHA-256 of a PAutomaC solution.",
    "upload_model": "The true model: the SHA-256 of a PAutomaC model.",
    "upload_prefixes": "Beginnings of strings, to be scored as SPiCe does: the SHA-256 of a file.",
    "upload_targets": "What followed each of these prefixes: the SHA-256 of a SPiCe target file.",
    "upload_format": "How to read the uploaded strings.",
    "num_prefixes": "How many prefixes are the rows of the Hankel matrix.",
    "num_suffixes": "How many suffixes are its columns.",
    "basis": "How they are chosen: "
    f"{'; '.join(f'{name}: {text}' for name, text in BASES.items())}.",
    "statistic": f"What the Hankel matrix counts: {', '.join(STATISTICS)}.",
    "transform": f"What is done to its entries: {', '.join(TRANSFORMS)}.",
    "learner": f"How to learn: {', '.join(LEARNERS)}.",
    "rank": "Number of states.",
    "hidden": "Hidden layers of the factorisation, in multiples of the rank.",
    "width_transitions": "Hidden units of the transitions, in multiples of the rank; 0: no hidden "
    "layer.",
    "epochs_factorisation": "Epochs of step 1 at most; the weights of the best one are kept.",
    "epochs_transitions": "Epochs of step 2 at most; the weights of the best one are kept.",
    "rate_factorisation": "Learning rate of step 1 (Adamax).",
    "rate_transitions": "Learning rate of step 2 (Adamax).",
    "schedule": "How the learning rates of steps 1 and 2 develop (Adamax).",
    "optimizer": "How steps 1 and 2 are trained: "
    f"{'; '.join(f'{name}: {text}' for name, text in STEP_OPTIMIZERS.items())}.",
    "start": "Where steps 1 and 2 start: "
    f"{'; '.join(f'{name}: {text}' for name, text in STARTS.items())}.",
    "starts": "Starts of steps 1 and 2, or of EM (PFA); validation strings, or else the rows of H "
    "or "
    "the likelihood, choose one. "
    f"0: {STARTS_OF_FEW_STATES} for networks up to rank {FEW_STATES} unless Adamax trains, else 1.",
    "tolerance": f"L-BFGS stops when {WINDOW} epochs lowered the loss by less than this share.",
    "learning_seed": "Equal seeds give equal models.",
    "em_start": "Where EM of a PFA starts: "
    f"{'; '.join(f'{name}: {text}' for name, text in EM_STARTS.items())}.",
    "pseudo_count": "PFA and PDFA: a number added to the (expected) count of each symbol, and of "
    "the end, in "
    "each state.",
    "refine": f"A third step that trains all parameters together: {', '.join(REFINEMENTS)}.",
    "optimizer_refinement": "How step 3 is trained on the rows of H: adamax or lbfgs.",
    "tolerance_refinement": f"L-BFGS stops when {WINDOW} epochs lowered the loss of step 3 by "
    "less than this share.",
    "epochs_refinement": "Epochs of step 3 at most; the weights of the best one are kept.",
    "rate_refinement": "Learning rate of step 3 (Adamax, or by likelihood).",
    "batch": "Strings in a step of the refinement by likelihood.",
    "weight_decay": "Weight decay (AdamW) of the refinement by likelihood.",
    "dropout": "Share of the states' entries left out in a step of the refinement by likelihood.",
    "restarts": "Random starts of the refinement by likelihood, beside the model of the two steps.",
    "refinement_seed": "Equal seeds refine equal models alike.",
}

# Flat name -> name of the limit on its value.
LIMITED = {
    **dict.fromkeys(("num_strings", "num_validation", "num_test"), "generated_strings"),
    **dict.fromkeys(("num_prefixes", "num_suffixes"), "basis"),
    "rank": "rank",
    **dict.fromkeys(("epochs_factorisation", "epochs_transitions", "epochs_refinement"), "epochs"),
}

# A number, or first-last, or first-last:step.
RANGE = re.compile(r"([0-9]{1,18})(?:\s*-\s*([0-9]{1,18})(?:\s*:\s*([0-9]{1,18}))?)?")
MAX_LINK = 2_000  # characters
MAX_TEXT = 20_000  # bytes of JSON in a link: a short text must not unpack to a long one


def flat(recipe: Recipe) -> dict[str, Any]:
    """List a recipe's fields: flat name -> value. The hidden layers are text, such as "2,1,2".

    >>> flat(Recipe())["data_seed"], flat(Recipe())["hidden"]
    (0, '2,1,2')
    """
    values = {name: getattr(getattr(recipe, part), own) for name, (part, own) in FIELDS.items()}
    return values | {"hidden": ",".join(map(str, values["hidden"]))}


def with_fields(recipe: Recipe, fields: Mapping[str, Any]) -> Recipe:
    """Copy a recipe with other values for some fields, which are given by their flat names. Text is
    converted to the field's type.

    >>> with_fields(Recipe(), {"rank": "3", "learner": "both.non"}).learning.rank
    3

    Raises
    ------
    RecipeError
        If there is no such field, or the value is not allowed.
    """
    if unknown := [name for name in fields if name not in FIELDS]:
        raise RecipeError(
            f"{unknown[0]!r} is not a field of a recipe; the fields are {', '.join(sorted(FIELDS))}"
        )
    by_part: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, value in fields.items():
        part, own = FIELDS[name]
        by_part[part][own] = (
            whole_numbers(name, value) if name == "hidden" and isinstance(value, str) else value
        )
    learning = recipe.learning.changed(**by_part["learning"])
    hankel = {**dict(recipe.hankel), **by_part["hankel"]}
    if learning.kind.needs_hankel:
        hankel["bounded"] = needs_boundary(
            learning.learner, hankel["statistic"], hankel["transform"]
        )
    return recipe.changed(
        data=recipe.data.changed(**by_part["data"]),
        hankel=HankelRecipe(**hankel),
        learning=learning,
        refinement=recipe.refinement.changed(**by_part["refinement"]),
    )


# What a field needs to have an effect: the flat name of another field, and the values of which that
# one must have one.
Condition = tuple[str, tuple[str, ...]]
HANKEL_FIELDS = ("num_prefixes", "num_suffixes", "basis", "statistic", "transform", "refine")
NETWORK_FIELDS = (
    "hidden",
    "width_transitions",
    "epochs_factorisation",
    "epochs_transitions",
    "optimizer",
    "start",
    "tolerance",
    *ADAMAX_ONLY,
)
LIKELIHOOD_FIELDS = ("batch", "weight_decay", "dropout", "restarts")


def unmet_conditions(recipe: Recipe) -> dict[str, Condition]:
    """Find the fields that have no effect in a recipe, and what would have to change for each of
    them to have one.

    This depends on the learner and the refinement. Fields of the data are left out.

    Returns
    -------
    dict
        Flat name -> (another field, the values of that field with which this one has an effect).

    >>> unmet_conditions(Recipe())["dropout"], unmet_conditions(Recipe())["hidden"]
    (('refine', ('likelihood',)), ('learner', ('fac.non', 'tran.non', 'both.non')))
    """
    kind, unmet = recipe.learning.kind, dict[str, Condition]()
    objective = recipe.refinement.objective if kind.needs_hankel else "none"

    def need(fields: Iterable[str], name: str, *values: str) -> None:
        unmet.update({field: (name, values) for field in fields if field not in unmet})

    if not kind.needs_hankel:
        refinement = [FLAT_NAMES["refinement", own] for own in RefinementRecipe.model_fields]
        need((*HANKEL_FIELDS, *refinement), "learner", *HANKEL_LEARNERS)
    if not kind.em_options:
        need(["em_start"], "learner", *EM_LEARNERS)
    if not kind.pseudo_counts:
        need(["pseudo_count"], "learner", *PSEUDO_COUNT_LEARNERS)
    if not (kind.networks or kind.em_options):
        need(["starts"], "learner", *NETWORK_LEARNERS, *EM_LEARNERS)
    if not kind.networks:
        need(NETWORK_FIELDS, "learner", *NETWORK_LEARNERS)
    elif recipe.learning.optimizer == "adamax":
        need(["tolerance"], "optimizer", "lbfgs", "lm")
    else:
        need(ADAMAX_ONLY, "optimizer", "adamax")
        # a linear step is solved exactly; refinement trains all layers, of any widths
        if not kind.nonlinear_factorisation:
            need(
                ["epochs_factorisation", "start", *(["hidden"] if objective == "none" else [])],
                "optimizer",
                "adamax",
            )
        if not kind.nonlinear_transitions:
            need(["width_transitions", "epochs_transitions"], "optimizer", "adamax")
    if not kind.is_random:
        need(
            ["learning_seed"],
            "learner",
            *(name for name, learner in LEARNERS.items() if learner.is_random),
        )
    if objective != "likelihood":
        need(LIKELIHOOD_FIELDS, "refine", "likelihood")
    # a WFA, whose states are not dropped
    elif not kind.networks and recipe.hankel.transform == "none":
        need(["dropout"], "learner", *NETWORK_LEARNERS)
    if objective != "hankel":
        need(["optimizer_refinement", "tolerance_refinement"], "refine", "hankel")
    elif recipe.refinement.optimizer == "adamax":
        need(["tolerance_refinement"], "optimizer_refinement", "lbfgs")
    else:
        need(["rate_refinement"], "optimizer_refinement", "adamax")
    if objective == "none":
        need(
            ["epochs_refinement", "rate_refinement", "refinement_seed"],
            "refine",
            "hankel",
            "likelihood",
        )
    return unmet


def ignored_fields(recipe: Recipe) -> set[str]:
    """List the flat names of the fields that have no effect with the recipe's learner and
    refinement, leaving out the data.

    >>> sorted(
    ...     ignored_fields(Recipe(learning=LearningRecipe(learner="GRU")))
    ...     - ignored_fields(Recipe())
    ... )
    ['basis', 'num_prefixes', 'num_suffixes', 'refine', 'statistic', 'transform']
    """
    return set(unmet_conditions(recipe))


def clamped(fields: Mapping[str, Any]) -> dict[str, int]:
    """Find the fields that are above this installation's limits: flat name -> the largest value
    allowed.
    """
    return {
        name: most
        for name, limit in LIMITED.items()
        if fields[name] > (most := limits.IN_FORCE[limit])
    }


def over_limit(recipe: Recipe) -> dict[str, int]:
    """Find the fields that are above this installation's limits and have an effect: flat name ->
    the largest value allowed.
    """
    ignored = ignored_fields(recipe)
    # both numbers of epochs are checked before training, even if a linear step needs none
    if recipe.learning.kind.networks:
        ignored -= {"epochs_factorisation", "epochs_transitions"}
    return clamped(flat(recipe) | dict.fromkeys(ignored, 0))


def check_allowed(recipe: Recipe) -> None:
    """Raise RecipeError if a field that has an effect is above its limit."""
    for name, most in over_limit(recipe).items():
        limits.check_at_most(name, flat(recipe)[name], most)


def differences(before: Recipe, after: Recipe) -> dict[str, tuple[Any, Any]]:
    """Compare two recipes: flat name -> (value before, value after), for each field that
    differs.
    """
    old, new = flat(before), flat(after)
    return {name: (old[name], new[name]) for name in old if old[name] != new[name]}


def recipe_code(recipe: Recipe) -> str:
    """Write a recipe as short text for the address of a page. It holds only the fields that are not
    at their defaults, compressed.

    >>> recipe_of(recipe_code(Recipe())) == Recipe()
    True
    """
    text = json.dumps(
        recipe.model_dump(mode="json", exclude_defaults=True), separators=(",", ":"), sort_keys=True
    )
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def recipe_of(code: str) -> Recipe:
    """Read the text of `recipe_code`. Raises RecipeError for any other text."""
    if len(code) > MAX_LINK:
        raise RecipeError(
            f"The recipe in this link is too long: it has {len(code):,} characters, and at "
            f"most {MAX_LINK:,} are allowed."
        )
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        text = zlib.decompressobj().decompress(packed, MAX_TEXT + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise RecipeError(
            "This link does not contain a valid recipe: it was cut short or altered."
        ) from None
    if len(text) > MAX_TEXT:
        raise RecipeError(f"The recipe in this link is larger than {MAX_TEXT:,} bytes.")
    return Recipe.from_json(text.decode(errors="replace"))


def whole_numbers(name: str, text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas, such as "2,1,2".

    For other text, raises a RecipeError that names the field.
    """
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise RecipeError(
            f"{name} must be whole numbers separated by commas, such as 2,1,2; got {text[:60]!r}"
        ) from None


def number_ranges(name: str, text: str, most: int) -> tuple[int, ...]:
    """Read whole numbers and ranges, separated by commas. A range includes both ends, and may have
    a step after a colon.

    >>> number_ranges("ranks", "1,2-5,10-20:5", most=1000)
    (1, 2, 3, 4, 5, 10, 15, 20)

    Parameters
    ----------
    name : str
        The field's name, for error messages.
    most : int
        The largest number allowed.

    Returns
    -------
    tuple of int
        In the order of the text, each number once.

    Raises
    ------
    RecipeError
        If the text has another form, a range ends before it begins, or a number is too large.
    """
    numbers: list[int] = []
    for part in text.split(","):
        match = RANGE.fullmatch(part.strip())
        if match is None:
            raise RecipeError(
                f"{name} must be whole numbers and ranges separated by commas, such as 1,2,5 "
                f"or 2-20; got {text[:60]!r}"
            )
        first, last, step = (
            int(number) for number in (match[1], match[2] or match[1], match[3] or 1)
        )
        limits.check_at_most(name, last, most)
        if last < first or step < 1:
            raise RecipeError(
                f"a range in {name} must go up, such as 2-20 or 5-50:5; got {part.strip()[:60]!r}"
            )
        numbers += range(first, last + 1, step)
    return tuple(dict.fromkeys(numbers))
