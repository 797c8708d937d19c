"""A WFA as a weighted graph: its states, and an edge wherever a weight is large enough to be shown.

A WFA that was learned is unique up to a change of basis only, and with it the graph: M⁻¹ A_σ M for each A_σ gives the same weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..models.wfa import WFA
from ..strings.words import Alphabet

MAX_STATES = 15  # beyond that, lines cover each other whatever the threshold
ROUNDING = 1e-12  # weights below this share of the largest are never shown
READABLE = 18  # transitions


@dataclass(frozen=True)
class Edge:
    """All shown transitions of one sign between two states; symbol and weight of each."""

    source: int
    target: int
    negative: bool
    weights: tuple[tuple[int, float], ...]


def largest_weight(wfa: WFA) -> float:
    """The largest |weight| of a transition."""
    return float(np.abs(wfa.transitions).max(initial=0.0))


def edges(wfa: WFA, smallest: float) -> list[Edge]:
    """Transitions with |weight| ≥ smallest, and more than rounding, by source, target and sign.

    >>> wfa = WFA(np.ones(2), np.array([[[0.5, -0.2], [0.0, 0.01]]]), np.ones(2))
    >>> [(edge.source, edge.target, edge.negative, edge.weights) for edge in edges(wfa, 0.1)]
    [(0, 0, False, ((0, 0.5),)), (0, 1, True, ((0, -0.2),))]
    """
    found: dict[tuple[int, int, bool], list[tuple[int, float]]] = {}
    sizes = np.abs(wfa.transitions)
    shown = (sizes >= smallest) & (sizes > ROUNDING * largest_weight(wfa))
    for symbol, source, target in np.argwhere(shown).tolist():
        weight = float(wfa.transitions[symbol, source, target])
        found.setdefault((source, target, weight < 0), []).append((symbol, weight))
    return [Edge(*place, tuple(weights)) for place, weights in sorted(found.items())]


def readable_share(wfa: WFA) -> float:
    """The smallest threshold, in steps of 5 % of the largest |weight|, that shows at most READABLE transitions."""
    sizes = np.abs(wfa.transitions)
    steps = (step / 100 for step in range(0, 95, 5))
    largest = largest_weight(wfa)
    return next((share for share in steps if (sizes >= max(share, ROUNDING) * largest).sum() <= READABLE), 0.95)


def weights_table(wfa: WFA, alphabet: Alphabet, smallest: float) -> dict[str, list[str]]:
    """Columns from, symbol, to and weight, the largest |weight| first; initial and final weights, all of them, at the end."""
    rows = [(e.source, e.target, symbol, weight) for e in edges(wfa, smallest) for symbol, weight in e.weights]
    rows.sort(key=lambda row: -abs(row[3]))
    cells = [(f"{i + 1}", alphabet.symbols[symbol], f"{j + 1}", f"{weight:.4g}") for i, j, symbol, weight in rows]
    cells += [("α₀", "", f"{state + 1}", f"{weight:.4g}") for state, weight in enumerate(wfa.initial)]
    cells += [(f"{state + 1}", "", "α∞", f"{weight:.4g}") for state, weight in enumerate(wfa.termination)]
    return dict(zip(("from", "symbol", "to", "weight"), map(list, zip(*cells, strict=True)), strict=True))
