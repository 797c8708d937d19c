"""
Algebra of automata
===================

Sums and products of automata are automata. They can be minimised, compared over all strings at
once, and approximated.
"""

import numpy as np

from nlwfa_core import (
    WFA,
    Alphabet,
    approximate,
    distance,
    equivalent,
    minimise,
    plot,
    singular_value_automaton,
)

ab = Alphabet(("a", "b"))
one = WFA([1, 0], [[[0.3, 0.1], [0, 0.2]], [[0.1, 0], [0.2, 0.3]]], [0.4, 0.4], ab)
other = WFA([1], [[[0.2]], [[0.4]]], [0.4], ab)
mean = 0.5 * one + 0.5 * other
print(
    mean.num_states,
    "states;",
    "the sum has the mean's weights:",
    bool(np.isclose(mean("ab"), (one("ab") + other("ab")) / 2)),
)
print(
    "minimal:", minimise(mean).num_states, "states; equivalent:", equivalent(mean, minimise(mean))
)
print("singular values:", singular_value_automaton(mean).singular_values.round(4))
print(
    "L2 distance of the best automaton with two states:",
    round(distance(approximate(mean, 2), mean), 5),
)
plot.automaton(minimise(mean))
