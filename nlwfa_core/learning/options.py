"""What is asked of a learner: one frozen value for the two steps, and one for the third."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from ..errors import check_at_least, check_fields, check_one_of
from .names import CONVERGED_EPOCHS, LEARNERS, REFINEMENTS, TOLERANCE, VALUE_REFINEMENTS, Learner, number_of_starts

# Fields of `Options` for training as in the paper: a number of epochs, from random weights.
AS_IN_THE_PAPER: dict[str, Any] = {"optimizer": "adamax", "start": "random"}


@dataclass(frozen=True)
class Refinement:
    """How all parameters are trained together, after the two steps.

    Attributes
    ----------
    objective : str
        One of `REFINEMENTS`, or of `VALUE_REFINEMENTS` for `fit_values`.
    epochs : int
        "hankel": evaluations of the loss and its gradient, at most; "likelihood": passes over the training strings.
    rate : float
        "hankel" with "adamax", "likelihood": the learning rate, which falls to 0 along half a cosine.
    batch : int
        "likelihood": strings per step.
    weight_decay : float
        "likelihood": of AdamW (Loshchilov and Hutter 2019).
    dropout : float
        "likelihood": share of the states' entries that a step leaves out; for networks.
    restarts : int
        "likelihood", "values": random starts besides the model of the two steps. The best result wins: on the validation strings if
        there are any, else on the data it was trained on.
    seed : int
    optimizer : str
        "hankel": one of `OPTIMIZERS`.
    tolerance : float
        "hankel", with "lbfgs": training ends when `names.WINDOW` epochs lowered the loss by less than this share.

    Raises
    ------
    RecipeError
        If the objective is unknown.
    """

    objective: str = "none"
    epochs: int = 40
    rate: float = 0.01
    batch: int = 500
    weight_decay: float = 0.0
    dropout: float = 0.0
    restarts: int = 0
    seed: int = 0
    optimizer: str = "adamax"
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check_fields(self)
        check_one_of("refine", self.objective, REFINEMENTS | VALUE_REFINEMENTS)
        check_at_least("seed", self.seed, 0)


@dataclass(frozen=True)
class Options:
    """A learner, its rank, and how it is trained.

    Attributes
    ----------
    learner : str
        One of `LEARNERS`.
    rank : int
        The number of states asked for. (SP has fewer where the numerical rank is smaller.)
    hidden : tuple of int
        Widths of the auto-encoder's hidden layers, in multiples of the rank: (2, 1, 2) or (4, 2, 1, 2, 4) in the paper.
    width_transitions : int
        Hidden units of a symbol's map, in multiples of the rank (the paper's 2); 0: no hidden layer.
    optimizer : str
        One of `STEP_OPTIMIZERS`: how the two steps are trained. Unless it is "adamax", whatever has a closed form is solved
        exactly.
    start : str
        One of `STARTS`: where they start.
    starts : int
        How many starts of the two steps are tried, each with other random weights. `fit` takes the one with the fewest bits per
        symbol on the validation strings or, without such strings, with the smallest error on the rows of H when it is rolled out
        (`refine_hankel.rolled_out_error`). `names.BY_RANK`, which is 0: as many as `names.number_of_starts` says.
    tolerance : float
        L-BFGS: a step ends when `names.WINDOW` epochs lowered its loss by less than this share.
    epochs_factorisation, epochs_transitions : int
        Evaluations of the loss and its gradient on all data, at most, in step 1 and in step 2.
    rate_factorisation, rate_transitions : float
        "adamax": learning rates (the paper's 0.015 and 0.001).
    schedule : str
        "adamax": one of `networks.SCHEDULES`. The rates stay constant, or fall to 0 along half a cosine.
    ridge : float
        Of the matrix completion, by which SP learns from values (see `completion.complete`).
    seed : int
        Of all random numbers of the two steps.
    refinement : Refinement
        The third step; an objective's name stands for the refinement with that objective and the defaults.

    Raises
    ------
    TypeError
        If an option has another type.
    RecipeError
        If the seed is negative.
    """

    learner: str
    rank: int
    hidden: tuple[int, ...] = (2, 1, 2)
    width_transitions: int = 2
    optimizer: str = "lbfgs"
    start: str = "svd"
    starts: int = 1
    tolerance: float = TOLERANCE
    epochs_factorisation: int = CONVERGED_EPOCHS
    epochs_transitions: int = CONVERGED_EPOCHS
    rate_factorisation: float = 0.015
    rate_transitions: float = 0.001
    schedule: str = "constant"
    ridge: float = 1e-6
    seed: int = 0
    refinement: Refinement = Refinement()

    def __post_init__(self) -> None:
        if isinstance(self.refinement, str):
            object.__setattr__(self, "refinement", Refinement(self.refinement))
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))
        check_fields(self)
        check_at_least("seed", self.seed, 0)

    @property
    def kind(self) -> Learner:
        """The learner's entry in the registry."""
        return LEARNERS[self.learner]

    @property
    def number_of_starts(self) -> int:
        """How many starts are tried, as `names.number_of_starts` says."""
        return number_of_starts(self.starts, self.learner, self.rank, self.optimizer)


def with_shortcuts(options: Options | str | None, rank: int | None, shortcuts: dict[str, Any]) -> Options:
    """Options with some fields replaced by keywords; without options, a learner's name, a rank, keywords and the defaults.

    >>> with_shortcuts("SP", 5, {}) == with_shortcuts(None, None, {"learner": "SP", "rank": 5}) == Options("SP", 5)
    True
    >>> with_shortcuts(Options("SP", 5), 7, {}).rank
    7

    Raises
    ------
    TypeError
        If a keyword is no field of `Options`, the learner or the rank is missing, or one of them is passed twice.
    """
    names = [field.name for field in fields(Options)]
    if unknown := [name for name in shortcuts if name not in names]:
        raise TypeError(f"{unknown[0]!r} is not an option of a learner; the options are {', '.join(names)}")
    positional: dict[str, Any] = {"learner": options} if isinstance(options, str) else {}
    if rank is not None:
        positional["rank"] = rank
    if twice := [name for name in positional if name in shortcuts]:
        raise TypeError(f"{twice[0]} is passed twice: {positional[twice[0]]!r} and {shortcuts[twice[0]]!r}")
    if isinstance(options, Options):
        return replace(options, **positional, **shortcuts)
    if not (options is None or isinstance(options, str)):
        raise TypeError(f"options must be Options, or a learner's name followed by a rank, such as 'SP', 5; got {options!r}")
    values = {**positional, **shortcuts}
    required = [field.name for field in fields(Options) if field.default is MISSING]
    if missing := [name for name in required if name not in values]:
        raise TypeError(f"{' and '.join(missing)} missing: pass a learner and a rank, such as 'SP', 5")
    return Options(**values)
