"""Convert a linear model of prefix, factor or suffix probabilities to a model of string
probabilities.

Source: Balle, Carreras, Luque and Quattoni (2014), on learning from prefix and factor statistics;
suffixes are the prefixes of reversed strings. Nonlinear models have no such conversion; `reading`
explains what replaces it.
"""

from __future__ import annotations

from .wfa import WFA


def to_string_probabilities(wfa: WFA, statistic: str) -> WFA:
    """Convert an automaton that computes a statistic of strings to an automaton that computes the
    probabilities of the strings.

    With A = Σ_σ A_σ, an automaton of prefix probabilities gets (I − A) α∞ in place of α∞, because
    f(x) = f(xΣ*) − Σ_σ f(xσΣ*). An automaton of factor frequencies also gets α₀ᵀ (I − A) in place
    of α₀ᵀ. An automaton of suffix probabilities gets only α₀ᵀ (I − A).

    `statistic`: what `wfa` computes, "prefix", "factor", "suffix" or, to change nothing, "string".
    """
    initial = wfa.initial
    termination = wfa.termination
    if statistic in ("factor", "suffix"):
        initial = initial - initial @ wfa.summed_transitions
    if statistic in ("prefix", "factor"):
        termination = termination - wfa.summed_transitions @ termination
    return WFA(initial, wfa.transitions, termination, wfa.alphabet)
