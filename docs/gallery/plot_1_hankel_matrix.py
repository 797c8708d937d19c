"""
What is a Hankel matrix?
========================

Rows are prefixes and columns are suffixes. A cell shows how often the two together form a string.
"""

from nlwfa_core import estimate_hankel, plot, select_basis

strings = ["[]", "[[]]", "[][]", "[]", "[[][]]"]
hankel = estimate_hankel(strings, select_basis(strings, 8, 8))
plot.hankel(hankel, log=False)
