"""The settings of a learner: `Options` for steps 1 and 2, and `Refinement` for step 3."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from ..errors import check_at_least, check_fields, check_one_of
from .names import (
    CONVERGED_EPOCHS,
    LEARNERS,
    PSEUDO_COUNT,
    REFINEMENTS,
    TOLERANCE,
    VALUE_REFINEMENTS,
    Learner,
    number_of_starts,
)

# Fields of `Options` for training as in the paper: a number of epochs, from random weights.
AS_IN_THE_PAPER: dict[str, Any] = {"optimizer": "adamax", "start": "random"}


@dataclass(frozen=True)
class Refinement:
    """The third step: how all parameters are trained together, after steps 1 and 2.

    Attributes
    ----------
    objective : str
        One of `REFINEMENTS`, or of `VALUE_REFINEMENTS` for `fit_values`.
    epochs : int
        For "hankel": the largest number of evaluations of the loss and its gradient. For
        "likelihood": the number of passes over the training strings.
    rate : float
        For "likelihood", and for "hankel" with "adamax": the learning rate of the first epoch,
        which falls to 0 along half a cosine.
    batch : int
        For "likelihood": the number of strings per step.
    weight_decay : float
        For "likelihood": the weight decay of AdamW (Loshchilov and Hutter 2019).
    dropout : float
        For "likelihood", and for networks only: the share of the entries of states that is set to 0
        at random in a step.
    restarts : int
        For "likelihood" and "values": the number of random starts besides the model of steps 1 and
        2. The best result is returned: the best on the validation strings if there are any, and
        otherwise on the training data.
    seed : int
    optimizer : str
        For "hankel": one of `OPTIMIZERS`.
    tolerance : float
        For "hankel" with "lbfgs": training ends when the last `names.WINDOW` epochs lowered the
        loss by less than this share.

    Raises
    ------
    RecipeError
        If the objective is unknown.

    Examples
    --------
    >>> from nlwfa_core import Options, Refinement
    >>> Options("both.non", 5, refinement=Refinement("likelihood", epochs=20)).refinement.objective
    'likelihood'
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
        The number of states to learn. (SP has fewer where the numerical rank is smaller.)
    hidden : tuple of int
        The widths of the auto-encoder's hidden layers, as multiples of the rank: (2, 1, 2) or (4,
        2, 1, 2, 4) in the paper.
    width_transitions : int
        The number of hidden units of each symbol's map, as a multiple of the rank: 2 in the paper;
        0 for no hidden layer.
    optimizer : str
        How steps 1 and 2 are trained, one of `STEP_OPTIMIZERS`. All but "adamax" solve exactly
        whatever has a closed form.
    start : str
        Where training in steps 1 and 2 starts, one of `STARTS`.
    starts : int
        How many starts of steps 1 and 2 are tried, each with its own random weights, or
        `names.BY_RANK` (0) to let `names.number_of_starts` decide. `fit` uses the start with the
        fewest bits per symbol on the validation strings. Without validation strings, it uses the
        start whose model computes the rows of H with the smallest error
        (`refine_hankel.rolled_out_error`). For a PFA it is the number of starts of EM, of which the
        one with the fewest bits per symbol is used.
    tolerance : float
        For L-BFGS: a step ends when the last `names.WINDOW` epochs lowered its loss by less than
        this share.
    epochs_factorisation, epochs_transitions : int
        The largest number of evaluations of the loss and its gradient on all data, in step 1 and in
        step 2.
    rate_factorisation, rate_transitions : float
        For "adamax": the learning rates of steps 1 and 2, in the paper 0.015 and 0.001.
    schedule : str
        For "adamax": one of `networks.SCHEDULES`. The rates stay constant, or fall to 0 along half
        a cosine.
    ridge : float
        For SP, when it learns from values: the ridge of the matrix completion (see
        `completion.complete`).
    seed : int
        The seed of all random numbers in steps 1 and 2.
    refinement : Refinement or str
        The third step. The name of an objective stands for the refinement with that objective and
        default settings.
    em_start : str
        For a PFA: where EM starts, one of `names.EM_STARTS`.
    pseudo_count : float
        For a PFA and a PDFA: a number added to each (expected) count (see `pfa.PFATraining` and
        `merging.PDFATraining`).

    Raises
    ------
    TypeError
        If an option has another type.
    RecipeError
        If the seed is negative.

    Examples
    --------
    >>> from nlwfa_core import Options
    >>> options = Options("tran.non", 5, tolerance=0.001)
    >>> options.rank, options.optimizer, options.start
    (5, 'lbfgs', 'svd')
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
    em_start: str = "random"
    pseudo_count: float = PSEUDO_COUNT

    def __post_init__(self) -> None:
        if isinstance(self.refinement, str):
            object.__setattr__(self, "refinement", Refinement(self.refinement))
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))
        check_fields(self)
        check_at_least("seed", self.seed, 0)

    @property
    def kind(self) -> Learner:
        """Return the learner's entry in the registry."""
        return LEARNERS[self.learner]

    @property
    def number_of_starts(self) -> int:
        """Return how many starts are tried, as `names.number_of_starts` says."""
        return number_of_starts(self.starts, self.learner, self.rank, self.optimizer)


def with_shortcuts(
    options: Options | str | None, rank: int | None, shortcuts: dict[str, Any]
) -> Options:
    """Combine the forms in which a caller can pass options: `Options` or a learner's name, a rank,
    and fields as keywords.

    Keywords and the rank replace fields of `options`. If `options` is only a learner's name, the
    other fields have their defaults.

    >>> with_shortcuts("SP", 5, {}) == with_shortcuts(
    ...     None, None, {"learner": "SP", "rank": 5}
    ... ) == Options("SP", 5)
    True
    >>> with_shortcuts(Options("SP", 5), 7, {}).rank
    7

    Raises
    ------
    TypeError
        If a keyword is not a field of `Options`, the learner or the rank is missing, or one of them
        is passed twice.
    """
    names = [field.name for field in fields(Options)]
    if unknown := [name for name in shortcuts if name not in names]:
        raise TypeError(
            f"{unknown[0]!r} is not an option of a learner; the options are {', '.join(names)}"
        )
    positional: dict[str, Any] = {"learner": options} if isinstance(options, str) else {}
    if rank is not None:
        positional["rank"] = rank
    if twice := [name for name in positional if name in shortcuts]:
        raise TypeError(
            f"{twice[0]} is passed twice: {positional[twice[0]]!r} and {shortcuts[twice[0]]!r}"
        )
    if isinstance(options, Options):
        return replace(options, **positional, **shortcuts)
    if not (options is None or isinstance(options, str)):
        raise TypeError(
            "options must be Options, or a learner's name followed by a rank, such as 'SP', "
            f"5; got {options!r}"
        )
    values = {**positional, **shortcuts}
    required = [field.name for field in fields(Options) if field.default is MISSING]
    if missing := [name for name in required if name not in values]:
        raise TypeError(
            f"{' and '.join(missing)} missing: pass a learner and a rank, such as 'SP', 5"
        )
    return Options(**values)
