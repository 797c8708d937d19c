"""
Linear or not? The squared function
===================================

The square of a function with k states has a linear automaton with k (k + 1) / 2 states, but not
with fewer. A network of size k can square.
"""

from nlwfa_core import WFA, Alphabet, minimise

two = WFA(
    [1, 0], [[[0.5, 0.2], [0, 0.3]], [[0.1, 0], [0.4, 0.2]]], [0.2, 0.4], Alphabet(("a", "b"))
)
squared = two * two
print(squared("ab"), two("ab") ** 2)
print(squared.num_states, "states, and minimised:", minimise(squared).num_states)
