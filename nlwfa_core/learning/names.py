"""The names and descriptions of the values of learning options, and the numbers that several
modules share.
"""

from __future__ import annotations

REFINEMENTS = {
    "none": "none: the paper's two steps",
    "hankel": "all parameters together, on the rows of H",
    "likelihood": "all parameters together, on what follows each prefix of the training strings",
}
OBJECTIVES = {
    "hankel": "the rows of the Hankel matrix, in the paper's two steps",
    "likelihood": "what follows each prefix of the training strings, without a matrix",
}
LARGEST_MAP = 2_000  # a step of Levenberg–Marquardt solves a system with this many unknowns
OPTIMIZERS = {
    "adamax": "Adamax for a given number of epochs, as in the paper",
    "lbfgs": "L-BFGS, until the loss barely falls",
}
# Optimisers of the two steps.
STEP_OPTIMIZERS = OPTIMIZERS | {
    "lm": "L-BFGS for the factorisation, Levenberg–Marquardt for nonlinear transitions of at most "
    f"{LARGEST_MAP:,} weights per symbol, L-BFGS for larger ones",
}
STARTS = {
    "random": "random weights, as in the paper",
    "svd": "the linear model (the SVD of H, then least squares)",
}
# Schedules of Adamax's learning rates.
SCHEDULES = ("constant", "cosine")
# Where EM of a PFA starts.
EM_STARTS = {
    "random": "random probabilities",
    "spectral": "a spectral model, projected onto distributions",
    "split": "one state, split repeatedly, with EM in between",
}
# What a PFA and a PDFA add to the count of each symbol, and of the end, in each state.
PSEUDO_COUNT = 0.1
# Settings of training to convergence. The epochs are a limit that most training runs do not reach.
WINDOW = 100  # epochs
TOLERANCE = 0.01
CONVERGED_EPOCHS = 4000
# Epochs of a refinement by likelihood.
LIKELIHOOD_EPOCHS = 40
# How many starts of the two steps are tried if the number is left to the rank: networks of few
# states end in minima that depend on the start.
BY_RANK = 0
FEW_STATES = 10
STARTS_OF_FEW_STATES = 6
# Validation strings choose among the starts whose error on the rows of H is at most this many times
# the smallest: what they say about the next symbols does not hold for a string's weight.
NEAR_BEST = 1.5
# For functions learned from values (`learning.functions.fit_values.fit_values`).
VALUE_REFINEMENTS = {
    "none": "the two steps alone",
    "values": "all parameters together, on the given values, also from random starts",
}
VALUE_TRANSFORMS = ("none", "sqrt")

PROCESSOR_DEPENDENT = (
    "Refinement by likelihood leads to a different model on another type of processor: its word "
    "error rate changes by a few hundredths. This does not happen for fac.non and both.non with "
    "the row transform, because a softmax keeps their outputs positive."
)

LBFGS_DEPENDENT = (
    "On another type of processor, L-BFGS ends at a different model with nearly the same loss. "
    "Its word error rate may differ by a few hundredths and, with very few states, so may every "
    "other score."
)

# The shares of the labels with which a classifier begins.
COUNTS = "counts"
UNIFORM = "uniform"
PRIORS = {
    COUNTS: "the labels' shares of the training strings",
    UNIFORM: "the same for all labels",
}
