"""Convert a linear model of prefix or factor probabilities to one of string probabilities.

Source: Balle, Carreras, Luque and Quattoni (2014), on learning from prefix and factor statistics. A nonlinear model has no such
conversion; `reading` explains what replaces it.
"""

from __future__ import annotations

from .wfa import WFA


def to_string_probabilities(wfa: WFA, statistic: str) -> WFA:
    """Return the automaton of string probabilities whose statistic ("string", "prefix" or "factor") an automaton computes.

    "prefix": α∞ becomes (I − A) α∞, where A is the sum of the A_σ, because f(x) = f(xΣ*) − Σ_σ f(xσΣ*). "factor": α₀ᵀ becomes
    α₀ᵀ (I − A) too. "string": nothing changes.
    """
    initial, termination = wfa.initial, wfa.termination
    if statistic == "factor":
        initial = initial - initial @ wfa.summed_transitions
    if statistic != "string":
        termination = termination - wfa.summed_transitions @ termination
    return WFA(initial, wfa.transitions, termination, wfa.alphabet)
