"""
Linear or not? The squared function
===================================

In general, a linear automaton for the square of a function with k states needs k (k + 1) / 2
states. A network with k states can compute the square.
"""

from nlwfa_core import WFA, Alphabet, minimise

two = WFA(
    [1, 0], [[[0.5, 0.2], [0, 0.3]], [[0.1, 0], [0.4, 0.2]]], [0.2, 0.4], Alphabet(("a", "b"))
)
squared = two * two
print(squared("ab"), two("ab") ** 2)
print(squared.num_states, "states, and minimised:", minimise(squared).num_states)
