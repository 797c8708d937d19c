"""Write linear models as text for other programs: PAutomaC, OpenFst, JFLAP, and JSON, which can
express every automaton.
"""

from __future__ import annotations

import json
from xml.sax.saxutils import escape

import numpy as np

from ..errors import RecipeError
from ..files import to_json
from ..models.wfa import WFA
from ..rounding import format_beside, format_significant
from ..strings.words import Alphabet

# How far sums of probabilities may be from 1 (files hold 12 digits), and how far rounding may take
# a probability below 0.
SUM_TOLERANCE = 1e-6
NEGATIVE_TOLERANCE = 1e-12
EPSILON = "<eps>"  # ε in a table of symbols
REFUSED = "Not a probabilistic automaton: PAutomaC's format needs"


def pautomac(wfa: WFA) -> str:
    """Write a PAutomaC model file; `sources.pautomac.read_pautomac_model` reads the same automaton
    back.

    The format's probabilities are conditional on not stopping: A_a[i, j] = (1 − F_i) S(i, a) T(i,
    a, j), α₀ = I, α∞ = F.

    Raises
    ------
    RecipeError
        If the automaton is not probabilistic: a weight is negative, the initial weights do not sum
        to 1, or a state's transitions and its termination do not. Automata from spectral learning
        are seldom probabilistic.
    """
    lowest = min(
        float(part.min(initial=0)) for part in (wfa.initial, wfa.transitions, wfa.termination)
    )
    if not lowest >= -NEGATIVE_TOLERANCE:
        raise RecipeError(
            f"{REFUSED} probabilities, but the lowest weight here is {format_significant(lowest)}."
        )
    initial, transitions, termination = (
        np.maximum(part, 0) for part in (wfa.initial, wfa.transitions, wfa.termination)
    )
    # (num_states,), (num_symbols, num_states)
    continuing = np.maximum(1 - termination, 0)
    emitted = transitions.sum(axis=2)
    if not abs(initial.sum() - 1) <= SUM_TOLERANCE:
        raise RecipeError(
            f"{REFUSED} sums of 1, but the initial weights sum to "
            f"{format_beside(float(initial.sum()), 1.0, 6)}."
        )
    for state in np.flatnonzero(
        ~(np.abs(emitted.sum(axis=0) - continuing) <= SUM_TOLERANCE * continuing)
    )[:1].tolist():
        total = emitted[:, state].sum() + termination[state]
        raise RecipeError(
            f"{REFUSED} sums of 1, but the transitions and the termination of state {state} "
            f"sum to {format_beside(total, 1.0, 6)}."
        )
    lines = ["I: (state)", *(f"\t({i}) {p!r}" for i, p in enumerate(initial.tolist()) if p > 0)]
    lines += ["F: (state)", *(f"\t({i}) {p!r}" for i, p in enumerate(termination.tolist()))]
    lines.append("S: (state,symbol)")
    for i, a in np.argwhere(emitted.T > 0).tolist():
        lines.append(f"\t({i},{a}) {float(emitted[a, i] / continuing[i])!r}")
    lines.append("T: (state,symbol,state)")
    for i, a, j in np.argwhere(transitions.transpose(1, 0, 2) > 0).tolist():
        lines.append(f"\t({i},{a},{j}) {float(transitions[a, i, j] / emitted[a, i])!r}")
    return "\n".join(lines) + "\n"


def openfst(wfa: WFA) -> str:
    """Write OpenFst's text format of an acceptor over the log semiring: `fstcompile --acceptor
    --arc_type=log64`.

    An arc's weight is −ln of the automaton's weight. State i becomes state i + 1: state 0 is a new
    initial state, with an arc of label 0 (ε) to state i + 1 for each α₀[i]. The label of symbol
    number σ is σ + 1.

    Raises
    ------
    RecipeError
        If a weight is negative or not finite: such a weight has no logarithm, and OpenFst has no
        semiring of all real numbers.
    """
    parts = (wfa.initial, wfa.transitions, wfa.termination)
    lowest = min(float(part.min(initial=0)) for part in parts)
    if not (lowest >= -NEGATIVE_TOLERANCE and all(np.isfinite(part).all() for part in parts)):
        raise RecipeError(
            "OpenFst's log semiring has no negative weights; the lowest here is "
            f"{format_significant(lowest)}."
        )
    lines = [
        f"0\t{i + 1}\t0\t{-np.log(p):.17g}" for i, p in enumerate(wfa.initial.tolist()) if p > 0
    ]
    # the first line begins with the initial state: one that never ends
    lines = lines or ["0\tInfinity"]
    for i, a, j in np.argwhere(wfa.transitions.transpose(1, 0, 2) > 0).tolist():
        lines.append(f"{i + 1}\t{j + 1}\t{a + 1}\t{-np.log(wfa.transitions[a, i, j]):.17g}")
    lines += [
        f"{i + 1}\t{-np.log(p):.17g}" for i, p in enumerate(wfa.termination.tolist()) if p > 0
    ]
    return "\n".join(lines) + "\n"


def openfst_symbols(alphabet: Alphabet) -> str:
    """Write the symbol table for the file of `openfst`: `fstcompile --isymbols`, `fstprint
    --isymbols`.

    >>> openfst_symbols(Alphabet(("a", "b"))).split()
    ['<eps>', '0', 'a', '1', 'b', '2']

    Raises RecipeError if a symbol contains white space, or is that of ε.
    """
    for symbol in alphabet.symbols:
        if symbol == EPSILON or len(symbol.split()) != 1:
            raise RecipeError(
                f"an OpenFst symbol table can't contain the symbol {symbol!r}: it stands for ε, or "
                "contains white space"
            )
    return "".join(
        f"{symbol}\t{number}\n" for number, symbol in enumerate((EPSILON, *alphabet.symbols))
    )


def jflap(wfa: WFA, alphabet: Alphabet) -> str:
    """Write a finite automaton for JFLAP; `sources.jflap.read_jflap` reads the same one back.

    >>> wfa = WFA([1, 0], [[[0, 1], [1, 0]]], [1, 0])
    >>> print(jflap(wfa, Alphabet(("a",))).splitlines()[4])
        <state id="0" name="q0"><x>320</x><y>200</y><initial/><final/></state>

    Raises
    ------
    RecipeError
        If a weight is neither 0 nor 1, or not exactly one state is initial (JFLAP's automata accept
        or reject a string, and begin in one state), or if XML can't express a symbol.
    """
    parts = (wfa.initial, wfa.transitions, wfa.termination)
    for weight in (float(w) for part in parts for w in part.flat if w not in (0.0, 1.0)):
        raise RecipeError(
            "JFLAP's automata accept or reject strings, so all weights must be 0 or 1; got "
            f"{format_significant(weight)}."
        )
    if np.count_nonzero(wfa.initial) != 1:
        number = np.count_nonzero(wfa.initial)
        raise RecipeError(f"JFLAP's automata have one initial state; this one has {number}.")
    odd = [symbol for symbol in alphabet.symbols if not symbol.isprintable()]
    if odd:
        raise RecipeError(f"A JFLAP file can't contain the symbol {odd[0]!r}.")
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="no"?>', "<structure>"]
    lines += ["  <type>fa</type>", "  <automaton>"]
    for state in range(wfa.num_states):
        angle = 2 * np.pi * state / wfa.num_states
        place = f"<x>{200 + 120 * np.cos(angle):.0f}</x><y>{200 + 120 * np.sin(angle):.0f}</y>"
        marks = "<initial/>" * int(wfa.initial[state]) + "<final/>" * int(wfa.termination[state])
        lines.append(f'    <state id="{state}" name="q{state}">{place}{marks}</state>')
    for source, symbol, target in np.argwhere(wfa.transitions.transpose(1, 0, 2) > 0).tolist():
        ends = f"<from>{source}</from><to>{target}</to>"
        read = f"<read>{escape(alphabet.symbols[symbol])}</read>"
        lines.append(f"    <transition>{ends}{read}</transition>")
    return "\n".join([*lines, "  </automaton>", "</structure>", ""])


def weights_json(wfa: WFA, alphabet: Alphabet) -> str:
    """Write α₀, the A_σ, α∞ (with all digits) and the symbols as JSON, with the symbol for the
    unknown, if there is one.

    A string's weight is α₀ᵀ A_{x₁} … A_{x_t} α∞.
    """
    arrays = {
        "initial": wfa.initial,
        "transitions": wfa.transitions,
        "termination": wfa.termination,
    }
    unknown = {} if alphabet.unknown is None else {"unknown": alphabet.unknown}
    content = {"symbols": list(alphabet.symbols), **unknown, **arrays}
    return json.dumps(json.loads(to_json(content)), ensure_ascii=False) + "\n"
