"""Learners and refinements by name, and what follows from a name alone: recipes need no more of a learner."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import RecipeError


@dataclass(frozen=True)
class Learner:
    """Where a learner puts tanh.

    Attributes
    ----------
    title : str
        For people.
    networks : bool
        Whether it trains networks (else it is spectral learning).
    nonlinear_factorisation, nonlinear_transitions : bool
        tanh in step 1, in step 2.
    """

    title: str
    networks: bool
    nonlinear_factorisation: bool
    nonlinear_transitions: bool


LEARNERS = {
    "SP": Learner("spectral learning, linear", False, False, False),
    "fac.non": Learner("tanh in the factorisation, linear transitions", True, True, False),
    "tran.non": Learner("tanh in the transitions, linear termination", True, False, True),
    "both.non": Learner("tanh in both", True, True, True),
}


PROCESSOR_DEPENDENT = (
    "Refined by likelihood, this model ends elsewhere on another type of processor, by some hundredths in its word error rate. "
    "fac.non and both.non with the row transform do not: there a softmax keeps outputs positive."
)


def check_learner(learner: str) -> None:
    """Raise RecipeError unless it is one of `LEARNERS`."""
    if learner not in LEARNERS:
        raise RecipeError(f"learner: {learner!r} given, allowed: {', '.join(LEARNERS)}")


def depends_on_processor(learner: str, transform: str, objective: str) -> bool:
    """Whether training ends elsewhere on another processor, by more than the digits that pages show.

    Measured (docs/method-notes.md): so it is with refinement by likelihood, but where a softmax makes the outputs positive. Others
    pass through 0 while they are trained, where the likelihood of |outputs| has a pole and a kink, which magnify the last digit.
    """
    softmax = learner in LEARNERS and transform == "row" and LEARNERS[learner].nonlinear_factorisation
    return objective == "likelihood" and learner in LEARNERS and not softmax


def needs_boundary(learner: str, statistic: str, transform: str) -> bool:
    """Whether strings are to be counted with boundary symbols: prefix and factor statistics have linear conversions for plain
    linear models alone."""
    return statistic != "string" and (LEARNERS[learner].networks or transform != "none")


REFINEMENTS = {
    "none": "the two steps alone (the paper's experiments)",
    "hankel": "all parameters together, on the rows of H",
    "likelihood": "all parameters together, on what follows each prefix of the training strings",
}


# Opponents with as many states as the learners they are compared with.
OF_STATES = ("HMM", "GRU", "LSTM")
