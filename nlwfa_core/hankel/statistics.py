"""The names and meanings of the statistics and transforms of Hankel matrices, in a module that
recipes can import cheaply.
"""

from __future__ import annotations

STATISTICS = {
    "string": "f(x) is the probability of the string x",
    "prefix": "f(u) is the probability that a string begins with u",
    "factor": "f(u) is the mean number of times u occurs in a string",
    "suffix": "f(u) is the probability that a string ends with u",
}
# Statistics that can be counted with boundary symbols: what follows a prefix is then in the matrix,
# so every learner can use them.
WITH_BOUNDARY = ("prefix", "factor")
FOR_ALL_LEARNERS = ("string", *WITH_BOUNDARY)
# The error of a matrix's recipe, of a whole recipe, and of a network that gets a ready-made matrix.
LINEAR_ONLY = (
    "suffix statistics need the learner SP and the transform none: only a linear model can be "
    "converted to strings"
)
# the statistic of a matrix whose stored entries are the known values of a function
# (`hankel.valued_strings`)
VALUE = "value"
TRANSFORMS = {
    "none": "as counted (the paper)",
    "sqrt": "square roots; a model's outputs are squared, so they are never negative, and small "
    "entries weigh more",
    "row": "rows divided by their prefix's frequency: what follows a prefix, given the prefix",
}
