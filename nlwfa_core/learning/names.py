"""The registry of learners and refinements: their names and the properties that can be looked up by
name.

Recipes, pages and the command line use it without importing a learner.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import check_one_of


@dataclass(frozen=True)
class Learner:
    """What a learner needs, and which options change its result.

    Attributes
    ----------
    title : str
        The learner's name in words, for menus and tables.
    needs_hankel : bool
        Whether it learns from a Hankel matrix (`learners.fit`), which allows a refinement.
        Otherwise it learns from the strings themselves (`learners.fit_strings`), and the rank is
        its number of states.
    networks : bool
        Whether it trains the networks of steps 1 and 2, so that the options of their widths, epochs
        and learning rates have an effect.
    em_options : bool
        Whether `starts` and `em_start` have an effect, because it is learned by `pfa.fit_pfa`.
    merging : bool
        Whether it merges states of the prefix tree (`merging.fit_pdfa`), which needs no random
        numbers. The rank is then the largest number of states.
    nonlinear_factorisation, nonlinear_transitions : bool
        Whether θ is tanh in step 1, and in step 2; otherwise it is the identity.
    """

    title: str
    needs_hankel: bool = True
    networks: bool = False
    nonlinear_factorisation: bool = False
    nonlinear_transitions: bool = False
    em_options: bool = False
    merging: bool = False

    @property
    def is_random(self) -> bool:
        """Return whether the seed changes its result: all learners but SP and PDFA start at random
        parameters.
        """
        return self.networks or not (self.needs_hankel or self.merging)

    @property
    def pseudo_counts(self) -> bool:
        """Return whether `pseudo_count` has an effect."""
        return self.em_options or self.merging


LEARNERS = {
    "SP": Learner("spectral learning, linear"),
    "fac.non": Learner(
        "tanh in the factorisation, linear transitions", networks=True, nonlinear_factorisation=True
    ),
    "tran.non": Learner(
        "tanh in the transitions, linear termination", networks=True, nonlinear_transitions=True
    ),
    "both.non": Learner(
        "tanh in the factorisation and in the transitions",
        networks=True,
        nonlinear_factorisation=True,
        nonlinear_transitions=True,
    ),
    "HMM": Learner("a hidden Markov model, by EM", needs_hankel=False),
    "PFA": Learner("a probabilistic automaton, by EM", needs_hankel=False, em_options=True),
    "PDFA": Learner(
        "a deterministic probabilistic automaton, by merging states",
        needs_hankel=False,
        merging=True,
    ),
    "GRU": Learner("a recurrent network with gated units", needs_hankel=False),
    "LSTM": Learner("a recurrent network with long short-term memory", needs_hankel=False),
}
HANKEL_LEARNERS = tuple(name for name, learner in LEARNERS.items() if learner.needs_hankel)
NETWORK_LEARNERS = tuple(name for name, learner in LEARNERS.items() if learner.networks)
EM_LEARNERS = tuple(name for name, learner in LEARNERS.items() if learner.em_options)
PSEUDO_COUNT_LEARNERS = tuple(name for name, learner in LEARNERS.items() if learner.pseudo_counts)
STRING_LEARNERS = tuple(name for name, learner in LEARNERS.items() if not learner.needs_hankel)

REFINEMENTS = {
    "none": "none: the paper's two steps",
    "hankel": "all parameters together, on the rows of H",
    "likelihood": "all parameters together, on what follows each prefix of the training strings",
}
LARGEST_MAP = 2_000  # a step of Levenberg–Marquardt solves a system with this many unknowns
OPTIMIZERS = {
    "adamax": "Adamax, the paper's: a given number of epochs",
    "lbfgs": "L-BFGS, until the loss hardly falls any more",
}
# Of the two steps.
STEP_OPTIMIZERS = OPTIMIZERS | {
    "lm": "L-BFGS for the factorisation, Levenberg–Marquardt for nonlinear transitions of at most "
    f"{LARGEST_MAP:,} weights a symbol, L-BFGS for larger ones",
}
STARTS = {
    "random": "random weights, the paper's",
    "svd": "the linear model: the SVD of H, then least squares",
}
# Where EM of a PFA starts.
EM_STARTS = {
    "random": "random probabilities",
    "spectral": "a spectral model, projected on distributions",
    "split": "one state, split again and again, with EM in between",
}
# What a PFA and a PDFA add to the count of each symbol, and of the end, in each state.
PSEUDO_COUNT = 0.1
# Of training to convergence: see `options.Options`. The epochs are a limit, which most trainings do
# not reach.
WINDOW = 100  # epochs
TOLERANCE = 0.01
CONVERGED_EPOCHS = 4000
# How many starts of the two steps are tried by `number_of_starts`: networks of few states end in
# minima that depend on the start.
BY_RANK, FEW_STATES, STARTS_OF_FEW_STATES = 0, 5, 8
# For functions learned from values (`values.fit_values`).
VALUE_REFINEMENTS = {
    "none": "the two steps alone",
    "values": "all parameters together, on the given values, from random starts too",
}
VALUE_TRANSFORMS = ("none", "sqrt")

PROCESSOR_DEPENDENT = (
    "Refined by likelihood, this model comes out differently on another type of processor: "
    "its word error rate changes by a few "
    "hundredths. fac.non and both.non with the row transform do not, because a softmax keeps "
    "their outputs positive."
)

LBFGS_DEPENDENT = (
    "On another type of processor, L-BFGS ends at another model with nearly the same loss: "
    "its word error rate may differ by a few "
    "hundredths, and with very few states so may every score."
)


def number_of_starts(starts: int, learner: str, rank: int, optimizer: str) -> int:
    """Say how many starts of steps 1 and 2, or of EM, are tried. A learner without networks or
    `em_options` has one.

    Parameters
    ----------
    starts : int
        The number of starts, or BY_RANK to let the rank decide: STARTS_OF_FEW_STATES for networks
        that are trained to convergence and have at most FEW_STATES states, and 1 for all others.
    """
    if LEARNERS[learner].em_options:
        return starts or 1
    if not LEARNERS[learner].networks:
        return 1
    several = optimizer != "adamax" and rank <= FEW_STATES
    return starts or (STARTS_OF_FEW_STATES if several else 1)


def check_learner(name: str, allowed: tuple[str, ...] = HANKEL_LEARNERS) -> None:
    """Raise RecipeError unless `name` is one of the allowed learners."""
    check_one_of("learner", name, allowed)


def depends_on_processor(learner: str, transform: str, objective: str) -> bool:
    """Return whether another type of processor changes the result so much that the digits shown on
    pages differ.

    By measurement (docs/method-notes.md), this is so for refinement by likelihood, unless a softmax
    keeps the outputs positive. Other outputs may pass through 0 during training. There the
    likelihood, a function of |outputs|, has a pole and a kink, which magnify differences in the
    last digit.
    """
    softmax = transform == "row" and LEARNERS[learner].nonlinear_factorisation
    return objective == "likelihood" and LEARNERS[learner].needs_hankel and not softmax


def needs_boundary(learner: str, statistic: str, transform: str) -> bool:
    """Return whether strings have to be counted with boundary symbols.

    Prefix and factor statistics need them unless the model is linear and the matrix untransformed:
    only then is there a formula that converts the model to string probabilities
    (`models.conversion`).
    """
    kind = LEARNERS[learner]
    return kind.needs_hankel and statistic != "string" and (kind.networks or transform != "none")
