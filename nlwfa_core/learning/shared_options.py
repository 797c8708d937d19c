"""The options that learners share: the base of their records, and the groups of fields of networks
and of the third step.

The record of each learner is in `learners`, as is `options`, which makes a record from a learner's
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import field_validator

from .. import limits
from ..errors import FieldError, RecipeError, check_one_of
from ..records import NoEffect, Record, option, options_of
from .names import (
    BY_RANK,
    CONVERGED_EPOCHS,
    FEW_STATES,
    LIKELIHOOD_EPOCHS,
    OBJECTIVES,
    OPTIMIZERS,
    REFINEMENTS,
    SCHEDULES,
    STARTS,
    STARTS_OF_FEW_STATES,
    STEP_OPTIMIZERS,
    TOLERANCE,
    VALUE_REFINEMENTS,
    WINDOW,
)

LARGEST_SEED = 2**31 - 1
LARGEST_RATE = 1e300
REFINED = ("hankel", "likelihood")
# the condition of options of the two steps and of the third
BY_MATRIX = {"objective": ["hankel"]}
RESTARTS = 128  # of the refinement by values


def _described(texts: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in texts.items())


def learner_option(name: str) -> Any:
    """Declare the field `learner`, whose value tells the learners' records apart."""
    return option(name, title="learner", help="How to learn.")


def seed_option(when: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] = ()) -> Any:
    """Declare the seed of a learner's random numbers."""
    return option(
        0,
        title="seed of the networks",
        help="Equal seeds give equal models.",
        when=when,
        ge=0,
        le=LARGEST_SEED,
    )


def starts_option(when: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] = ()) -> Any:
    """Declare the number of starts of networks, or of EM, which has no optimiser to choose."""
    return option(
        {"adamax": 1, "lbfgs": BY_RANK, "lm": BY_RANK},
        by="optimizer",
        title="number of starts",
        help="Number of starts of steps 1 and 2, or of EM (PFA). One is kept, chosen by the rows "
        "of H and validation strings, or by the likelihood. "
        f"{BY_RANK} means {STARTS_OF_FEW_STATES} for networks up to rank {FEW_STATES}, unless "
        "Adamax trains them, and otherwise 1.",
        when=when,
        ge=BY_RANK,
        le=100,
    )


class LearnerOptions(Record):
    """The options of a learner. Each learner has its own record, with the fields that it reads.

    Attributes
    ----------
    learner : str
        The learner's name.
    rank : int
        The number of states to learn. SP has fewer where the numerical rank is smaller; for a PDFA,
        the rank is the largest number of states.
    title : str
        The learner described in words, for menus and tables.
    from_hankel : bool
        Whether it can learn from a Hankel matrix; otherwise it learns from the strings themselves.
    networks : bool
        Whether it trains the networks of steps 1 and 2.
    is_random : bool
        Whether the seed changes its result.
    nonlinear_factorisation, nonlinear_transitions : bool
        Whether θ is tanh in step 1, and in step 2; otherwise it is the identity.
    from_values : bool
        Whether it learns a function from its values at some strings.
    """

    title: ClassVar[str] = ""
    from_hankel: ClassVar[bool] = False
    networks: ClassVar[bool] = False
    is_random: ClassVar[bool] = True
    nonlinear_factorisation: ClassVar[bool] = False
    nonlinear_transitions: ClassVar[bool] = False
    from_values: ClassVar[bool] = False
    # All records from which a user chooses this one.
    registry: ClassVar[Mapping[str, type[LearnerOptions]]] = {}

    learner: str
    rank: int = option(10, title="rank k", help="Number of states.", limit="rank", ge=1)

    @property
    def in_words(self) -> str:
        """Return the title with these options."""
        return self.title

    def needs(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return what would have to change for a field to have an effect; see `Record.needs`. This
        is the learner if no other field of this learner gives the field an effect.
        """
        needs = super().needs(name)
        if needs or self.has(name):
            return needs
        return needed_learners(self.registry, name, type(self))

    def setting(self, name: str) -> Mapping[str, Any]:
        """Return the learner and the other fields because of which a field has no effect."""
        return {"learner": self.learner, **super().setting(name)}

    @classmethod
    def could_have(cls, name: str) -> bool:
        """Return whether a field has an effect with some values of other fields."""
        declared = options_of(cls).get(name)
        return declared is not None and all(
            any(
                other in cls.model_fields or getattr(cls, other) in values
                for other, values in condition.items()
            )
            for condition in declared.when
        )

    @classmethod
    def unknown_field(cls, name: str) -> RecipeError:
        """Make the error for a field that the record does not have."""
        needs = needed_learners(cls.registry, name, cls)
        if needs:
            return NoEffect(name, {"learner": cls.name()}, needs)
        return super().unknown_field(name)

    @classmethod
    def name(cls) -> str:
        """Return the learner's name."""
        return str(cls.model_fields["learner"].default)

    @classmethod
    def class_of(cls, content: Mapping[str, Any]) -> type[Record]:
        """Return the record of the learner that JSON names."""
        return cls.registry.get(str(content.get("learner", "")), cls)

    @classmethod
    def needs_boundary(cls, statistic: str, transform: str) -> bool:
        """Return whether strings have to be counted with boundary symbols.

        Prefix and factor statistics need them unless the model is linear and the matrix
        untransformed: only then is there a formula that converts the model to string probabilities
        (`models.conversion`).
        """
        return cls.from_hankel and statistic != "string" and (cls.networks or transform != "none")

    def depends_on_processor(self, transform: str) -> bool:
        """Return whether another type of processor changes the result enough to alter the digits
        shown on pages. `transform` is that of the Hankel matrix.

        By measurement (docs/method-notes.md), this is the case for refinement by likelihood, unless
        a softmax keeps the outputs positive. Other outputs may pass through 0 during training. At
        0, the likelihood, a function of |outputs|, has a pole and a kink, which magnify differences
        in the last digit.
        """
        softmax = transform == "row" and self.nonlinear_factorisation
        return self.refinement == "likelihood" and not softmax

    @property
    def needs_hankel(self) -> bool:
        """Return whether it learns from a Hankel matrix with these options."""
        return self.from_hankel

    @property
    def learns_by_likelihood(self) -> bool:
        """Return whether it maximises the likelihood of the strings in the end."""
        return not self.needs_hankel or self.refinement == "likelihood"

    @property
    def refinement(self) -> str:
        """Return the third step, one of `names.REFINEMENTS`; "none" for learners that have none."""
        return "none"


def needed_learners(
    registry: Mapping[str, type[LearnerOptions]], name: str, but: type[LearnerOptions]
) -> dict[str, tuple[str, ...]]:
    """Return the learners that have a field, except one learner, as `Record.needs` does."""
    learners = tuple(
        learner for learner, kind in registry.items() if kind is not but and kind.could_have(name)
    )
    return {"learner": learners} if learners else {}


class ByObjective(LearnerOptions):
    """The options that choose whether networks are trained on the rows of a Hankel matrix, or by
    likelihood without one.

    Attributes
    ----------
    objective : str
        The objective on which networks are trained, one of `names.OBJECTIVES`. With "likelihood",
        the two steps and their options do not exist: see `learning.likelihood`.
    ridge : float
        For "likelihood": ρ, the strength of the prior. Each weight is normal with variance 1/ρ;
        with many symbols, the weights of each symbol's map are normal around those of a common map.
    """

    objective: str = option(
        "hankel",
        title="objective",
        help=f"What networks are trained on: {_described(OBJECTIVES)}.",
        choices=OBJECTIVES,
    )
    ridge: float = option(
        2.0,
        title="ridge",
        help="Strength of the prior on the weights, for likelihood: their variance is 1 / ridge.",
        when={"objective": ["likelihood"]},
        gt=0,
        le=1_000_000,
    )


class Networks(LearnerOptions):
    """The options of networks trained on a Hankel matrix: step 1 (factorisation) and step 2
    (transitions).
    """

    from_hankel: ClassVar[bool] = True
    networks: ClassVar[bool] = True

    # the widths of the auto-encoder's hidden layers, as multiples of the rank: (2, 1, 2) or (4, 2,
    # 1, 2, 4) in the paper
    hidden: tuple[int, ...] = option(
        (2, 1, 2),
        title="hidden layers (multiples of k)",
        help="Hidden layers of the factorisation, in multiples of the rank.",
        # a linear step is solved exactly; refinement trains all layers, of any widths
        when=(
            BY_MATRIX,
            {
                "nonlinear_factorisation": [True],
                "from_values": [True],
                "optimizer": ["adamax"],
                "refine": REFINED,
            },
        ),
    )
    # the number of hidden units of each symbol's map, as a multiple of the rank: 2 in the paper; 0
    # for no hidden layer
    width_transitions: int = option(
        2,
        title="hidden units of the transitions (multiples of k)",
        help="Hidden units of the transitions, in multiples of the rank; 0: no hidden layer.",
        when=(
            BY_MATRIX,
            {"nonlinear_transitions": [True], "from_values": [False]},
            {"nonlinear_transitions": [True], "optimizer": ["adamax"]},
        ),
        ge=0,
        le=16,
    )
    # How steps 1 and 2 are trained, one of `names.STEP_OPTIMIZERS`. All but "adamax" solve exactly
    # whatever has a closed form.
    optimizer: str = option(
        "lbfgs",
        title="optimiser",
        help=f"How steps 1 and 2 are trained: {_described(STEP_OPTIMIZERS)}.",
        choices=STEP_OPTIMIZERS,
        when=BY_MATRIX,
    )
    # where training in steps 1 and 2 starts, one of `names.STARTS`
    start: str = option(
        "svd",
        title="start",
        help=f"Where steps 1 and 2 start: {_described(STARTS)}.",
        choices=STARTS,
        when=(
            BY_MATRIX,
            {"nonlinear_factorisation": [True], "from_values": [True], "optimizer": ["adamax"]},
        ),
    )
    # How many starts of steps 1 and 2 are tried, each with its own random weights, or
    # `names.BY_RANK` (0) to let the rank decide. The first start is the one that `start` names; the
    # others begin at random weights. `fit` uses the start whose model computes the rows of H with
    # the smallest error (`learning.refine.hankel.rolled_out_error`). If there are validation
    # strings, it uses the one with the fewest bits per symbol among those whose error is at most
    # `names.NEAR_BEST` times the smallest.
    starts: int = starts_option(when=(BY_MATRIX, {"from_values": [False]}))
    # epochs_factorisation, epochs_transitions: the largest number of evaluations of the loss and
    # its gradient on all data, in step 1 and in step 2
    epochs_factorisation: int = option(
        CONVERGED_EPOCHS,
        title="epochs of the factorisation",
        help="The largest number of epochs of step 1; the weights of the best epoch are kept.",
        limit="epochs",
        when=(
            BY_MATRIX,
            {"nonlinear_factorisation": [True], "from_values": [True], "optimizer": ["adamax"]},
        ),
        ge=0,
    )
    epochs_transitions: int = option(
        CONVERGED_EPOCHS,
        title="epochs of the transitions",
        help="The largest number of epochs of step 2; the weights of the best epoch are kept.",
        limit="epochs",
        when=(
            BY_MATRIX,
            {"nonlinear_transitions": [True], "from_values": [False]},
            {"nonlinear_transitions": [True], "optimizer": ["adamax"]},
        ),
        ge=0,
    )
    # for L-BFGS: a step ends when the last `names.WINDOW` epochs lowered its loss by less than this
    # share
    tolerance: float = option(
        TOLERANCE,
        title="tolerance",
        help=f"L-BFGS stops when {WINDOW} epochs lower the loss by less than this fraction.",
        when=(BY_MATRIX, {"optimizer": ["lbfgs", "lm"]}),
        ge=0,
        lt=1,
    )
    # rate_factorisation, rate_transitions: for "adamax": the learning rates of steps 1 and 2, in
    # the paper 0.015 and 0.001
    rate_factorisation: float = option(
        0.015,
        title="learning rate of the factorisation",
        help="Learning rate of step 1 (Adamax).",
        when={"optimizer": ["adamax"]},
        gt=0,
        le=LARGEST_RATE,
    )
    rate_transitions: float = option(
        0.001,
        title="learning rate of the transitions",
        help="Learning rate of step 2 (Adamax).",
        when=(
            BY_MATRIX,
            {"nonlinear_transitions": [True], "from_values": [False]},
            {"optimizer": ["adamax"]},
        ),
        gt=0,
        le=LARGEST_RATE,
    )
    # For "adamax": one of `names.SCHEDULES`. The rates stay constant, or fall to 0 along half a
    # cosine.
    schedule: str = option(
        "constant",
        title="schedule of the learning rates",
        help="Schedule of the learning rates of steps 1 and 2 (Adamax).",
        choices=SCHEDULES,
        when={"optimizer": ["adamax"]},
    )
    seed: int = seed_option()  # the seed of all random numbers in steps 1 and 2

    @field_validator("hidden", mode="before")
    @classmethod
    def _read_hidden(cls, value: Any) -> Any:
        return whole_numbers("hidden", value) if isinstance(value, str) else value

    @field_validator("hidden")
    @classmethod
    def _check_hidden(cls, hidden: tuple[int, ...]) -> tuple[int, ...]:
        symmetric = (
            len(hidden) in (1, 3, 5, 7) and hidden == hidden[::-1] and hidden[len(hidden) // 2] == 1
        )
        if not symmetric or not 1 <= min(hidden) <= max(hidden) <= 16:
            raise FieldError(
                "hidden must list at most 7 widths as multiples (1 to 16) of the rank, "
                "symmetric around a 1 in the middle, "
                f"such as 2,1,2 or 4,2,1,2,4; got {','.join(map(str, hidden))}",
                "hidden",
            )
        return hidden

    @property
    def number_of_starts(self) -> int:
        """Return the number of starts that are tried. If `starts` leaves it to the rank, it is
        STARTS_OF_FEW_STATES for networks that are trained to convergence and have at most
        FEW_STATES states, otherwise 1.
        """
        several = self.optimizer != "adamax" and self.rank <= FEW_STATES
        return self.starts or (STARTS_OF_FEW_STATES if several else 1)


class Refined(LearnerOptions):
    """The options of the third step, which trains all parameters together after steps 1 and 2."""

    # what step 3 is trained on, one of `names.REFINEMENTS`
    refine: str = option(
        "none",
        title="refinement",
        help=f"A third step that trains all parameters together: {', '.join(REFINEMENTS)}.",
        choices=REFINEMENTS,
        when=BY_MATRIX,
    )
    # for "hankel": one of `names.OPTIMIZERS`
    optimizer_refinement: str = option(
        "lbfgs",
        title="optimiser of the refinement",
        help=f"How step 3 is trained on the rows of H: {' or '.join(OPTIMIZERS)}.",
        choices=OPTIMIZERS,
        when={"refine": ["hankel"]},
    )
    # For "hankel": the largest number of evaluations of the loss and its gradient. For
    # "likelihood": the number of passes over the training strings.
    epochs_refinement: int = option(
        {"hankel": CONVERGED_EPOCHS, "likelihood": LIKELIHOOD_EPOCHS},
        by="refine",
        title="epochs of the refinement",
        help="The largest number of epochs of step 3; the weights of the best epoch are kept.",
        limit="epochs",
        when={"refine": REFINED},
        ge=0,
    )
    # for "hankel" with "lbfgs": training ends when the last `names.WINDOW` epochs lowered the loss
    # by less than this share
    tolerance_refinement: float = option(
        TOLERANCE,
        title="tolerance of the refinement",
        help=f"L-BFGS stops when {WINDOW} epochs lower the loss of step 3 by less than this share.",
        when=({"refine": ["hankel"]}, {"optimizer_refinement": ["lbfgs"]}),
        ge=0,
        lt=1,
    )
    # for "likelihood", and for "hankel" with "adamax": the learning rate of the first epoch, which
    # falls to 0 along half a cosine
    rate_refinement: float = option(
        0.01,
        title="learning rate of the refinement",
        help="Learning rate of step 3 (Adamax, or by likelihood).",
        when=({"refine": REFINED}, {"refine": ["likelihood"], "optimizer_refinement": ["adamax"]}),
        gt=0,
        le=LARGEST_RATE,
    )
    # for "likelihood": the number of strings per step
    batch: int = option(
        500,
        title="strings per step",
        help="Strings in each step of the refinement by likelihood.",
        when={"refine": ["likelihood"]},
        ge=1,
        le=limits.ceiling("generated_strings"),
    )
    # for "likelihood": the weight decay of AdamW (Loshchilov and Hutter 2019)
    weight_decay: float = option(
        0.0,
        title="weight decay",
        help="Weight decay (AdamW) of the refinement by likelihood.",
        when={"refine": ["likelihood"]},
        ge=0,
        le=100,
    )
    # For "likelihood", and for networks only: the share of the entries of states that is set to 0
    # at random in a step. (SP becomes a network if the matrix is transformed or has boundary
    # symbols.)
    dropout: float = option(
        0.0,
        title="dropout of states",
        help="Share of the states' entries that each step of the refinement by likelihood leaves "
        "out.",
        when={"refine": ["likelihood"]},
        ge=0,
        lt=1,
    )
    # For "likelihood": the number of random starts, in addition to the model of steps 1 and 2. The
    # best result is returned: the best on the validation strings if there are any, and otherwise on
    # the training data.
    restarts: int = option(
        0,
        title="additional random starts",
        help="Random starts of the refinement by likelihood, in addition to the two-step model.",
        when={"refine": ["likelihood"]},
        ge=0,
        le=100,
    )
    refinement_seed: int = option(
        0,
        title="seed of the refinement",
        help="Equal seeds refine equal models in the same way.",
        when={"refine": REFINED},
        ge=0,
        le=LARGEST_SEED,
    )

    from_hankel: ClassVar[bool] = True

    @property
    def refinement(self) -> str:
        """Return the third step, one of `names.REFINEMENTS`."""
        return self.refine


class FromValues(LearnerOptions):
    """The options of the third step of learning from values
    (`learning.functions.fit_values.fit_values`).
    """

    from_hankel: ClassVar[bool] = True
    from_values: ClassVar[bool] = True
    objective: ClassVar[str] = "hankel"

    # one of `names.VALUE_REFINEMENTS`
    refine: str = option(
        "none",
        title="refinement",
        help=f"A third step: {', '.join(VALUE_REFINEMENTS)}.",
        choices=VALUE_REFINEMENTS,
    )
    # For "values": the number of random starts, in addition to the model of steps 1 and 2. The best
    # result is returned.
    restarts: int = option(
        RESTARTS,
        title="additional random starts",
        help="Random starts of the refinement by values, in addition to the two-step model.",
        when={"refine": ["values"]},
        ge=0,
        le=100_000,
    )


def registry_of(*kinds: type[LearnerOptions]) -> dict[str, type[LearnerOptions]]:
    """Make a registry of learners: name -> record. Each record knows its registry, so errors can
    name the learners that have a field.
    """
    registry = {kind.name(): kind for kind in kinds}
    for kind in kinds:
        kind.registry = registry
    return registry


def options_from(
    registry: Mapping[str, type[LearnerOptions]],
    options: LearnerOptions | str | None,
    fields: Mapping[str, Any],
) -> LearnerOptions:
    """Combine the forms in which a caller can pass options: a record or a learner's name, and
    fields as keywords, which replace those of the record.

    Raises RecipeError if the learner is not in the registry, or a field has no effect, or is not
    valid. Raises TypeError if there is no learner, or it is passed twice.
    """
    if isinstance(options, LearnerOptions):
        check_one_of("learner", options.learner, registry)
        if not isinstance(options, registry[options.learner]):
            raise RecipeError(
                f"options of {options.learner} for this use are a "
                f"{registry[options.learner].__name__}; got a {type(options).__name__}"
            )
        return options.changed(**fields) if fields else options
    if isinstance(options, str) and fields.get("learner", options) != options:
        raise TypeError(f"learner is passed twice: {options!r} and {fields['learner']!r}")
    learner = fields.get("learner") if options is None else options
    if learner is None:
        raise TypeError("learner missing: pass a learner and a rank, such as 'SP', 5")
    if not isinstance(learner, str):
        raise TypeError(
            "options must be the options of a learner, or a learner's name followed by a rank, "
            f"such as 'SP', 5; got {options!r}"
        )
    check_one_of("learner", learner, registry)
    return registry[learner](**{**fields, "learner": learner})


def called_options(
    registry: Mapping[str, type[LearnerOptions]],
    options: LearnerOptions | str | None,
    rank: int | None,
    fields: Mapping[str, Any],
) -> LearnerOptions:
    """Combine the forms in which a learning function takes options, as `options_from` does, with a
    rank, which a learner's name alone does not determine.
    """
    if rank is not None:
        fields = {**fields, "rank": rank}
    elif not isinstance(options, LearnerOptions) and "rank" not in fields:
        missing = "rank" if options or "learner" in fields else "learner and rank"
        raise TypeError(f"{missing} missing: pass a learner and a rank, such as 'SP', 5")
    return options_from(registry, options, fields)


def whole_numbers(name: str, text: str) -> tuple[int, ...]:
    """Read whole numbers separated by commas, such as "2,1,2".

    For other text, raises a RecipeError that names the field.
    """
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise FieldError(
            f"{name} must be whole numbers separated by commas, such as 2,1,2; got {text[:60]!r}",
            name,
        ) from None
