"""Prepare states for figures: principal components, the colours of prefixes, and two models' states
in one coordinate system.

A colour can show what a model predicts after a prefix. `figures.state_points` draws the points.

Sources: Procrustes analysis, Gower 1975; the residual is the disparity of
`scipy.spatial.procrustes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import RecipeError, check_one_of
from ..metrics.next_symbols import likeliest
from ..models.geometry import aligning_turn, directions, principal_axes
from ..models.model import Model, scaled_next_scores
from ..models.model_files import LearnedModel
from ..models.sampling import next_shares
from ..strings.sample import Sample
from ..strings.trie import Trie
from ..strings.words import LAMBDA, Alphabet, FloatArray, Words
from .palette import OTHERS
from .string_labels import prefix_shares

COLOURINGS = {
    "last symbol": "last symbol",
    "length": "length of the prefix",
    "next symbol": "most likely next symbol",
    "entropy": "next-symbol entropy, bits (end counted)",
    "row weight": "log₁₀ of the share of training strings that begin with it",
}
MAX_CLASSES = 7
TIED = "a tie"  # the class of prefixes after which several symbols share the highest score
NO_SCORES = "no scores"  # the class of prefixes after which all scores are 0, or one is not finite


def prefix_states(model: LearnedModel, prefixes: Words) -> FloatArray:
    """Compute the state after each prefix, shape (num_prefixes, state_size)."""
    trie = Trie.of(prefixes, model.num_symbols)
    return model.states(trie)[trie.ends]


def next_probabilities(model: Model, prefixes: Words) -> FloatArray:
    """Compute next-symbol probabilities after each prefix: shape (num_prefixes, num_symbols + 1),
    with the end of the string last.

    They are the absolute values of the model's scores, divided by their sum. A row is 0 if all its
    scores are 0 or one is not finite.
    """
    trie = Trie.of(prefixes, model.num_symbols)
    return next_shares(scaled_next_scores(model, trie)[0][trie.ends])[0]


def next_entropy(shares: FloatArray) -> FloatArray:
    """Compute the entropy of each row of `next_probabilities` in bits, shape (num_prefixes,); nan
    if a row is 0.

    >>> next_entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).tolist()
    [1.0, 0.0, nan]
    """
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: FloatArray = np.where(shares.any(axis=1), -(shares * logs).sum(axis=1) + 0.0, np.nan)
    return bits


@dataclass(frozen=True, eq=False)
class Projection:
    """Holds the principal components of some states, onto which these and other states can be
    projected.
    """

    mean: FloatArray  # (num_states,)
    axes: FloatArray  # (num_components, num_states)
    explained: FloatArray  # (num_components,): share of the variance along each axis
    unit_length: bool  # whether states are divided by their length before they are projected

    def explained_by(self, num_axes: int) -> float:
        """Sum the shares of the variance along the first axes."""
        return float(self.explained[:num_axes].sum())

    def coordinates(self, states: FloatArray) -> FloatArray:
        """Project states, shape (n, num_states), onto the axes: shape (n, num_components)."""
        coordinates: FloatArray = (
            (directions(states) if self.unit_length else states) - self.mean
        ) @ self.axes.T
        return coordinates


def project(states: FloatArray, num_components: int = 3, unit_length: bool = False) -> Projection:
    """Find the principal components of states, shape (n, num_states).

    If there are fewer directions of variance than `num_components`, the remaining axes explain a
    share of 0.

    Raises RecipeError if a state is not finite.
    """
    if not np.isfinite(states).all():
        raise RecipeError(
            "The model diverges: its states grow without bound, so there is nothing to draw."
        )
    points = directions(states) if unit_length else states
    mean, axes, shares = principal_axes(points, num_components)
    largest = np.abs(axes).argmax(axis=1)
    # so that the same states give the same picture
    axes *= np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    return Projection(mean, axes, shares, unit_length)


def colouring(
    kind: str,
    prefixes: Words,
    alphabet: Alphabet,
    model: Model | None = None,
    train: Sample | None = None,
) -> list[int] | list[float] | list[str]:
    """Compute what determines the colour of each prefix: a number, or the name of a class.

    At most MAX_CLASSES classes keep their names, the most frequent ones; all other prefixes are in
    the class "others".

    Raises RecipeError if the kind is not one of COLOURINGS, or if it needs something that is
    missing: training strings for the row weight, a model for entropy and next symbol.
    """
    check_one_of("colouring", kind, COLOURINGS)
    if kind == "row weight" and train is None:
        raise RecipeError("the colouring 'row weight' needs training strings")
    if kind in ("entropy", "next symbol") and model is None:
        raise RecipeError(f"the colouring {kind!r} needs a model")
    if kind == "length":
        lengths: list[int] = prefixes.lengths.tolist()
        return lengths
    if kind == "entropy" and model is not None:
        bits: list[float] = next_entropy(next_probabilities(model, prefixes)).tolist()
        return bits
    if kind == "row weight" and train is not None:
        shares = prefix_shares(train, prefixes)
        logs: list[float] = np.log10(
            shares, out=np.full_like(shares, np.nan), where=shares > 0
        ).tolist()
        return logs
    names = []
    if kind == "last symbol":
        names = [alphabet.symbols[word[-1]] if word else LAMBDA for word in prefixes]
    elif model is not None:
        following = [*alphabet.symbols, "end"]
        shares = next_probabilities(model, prefixes)
        names = [_likeliest(row, following) for row in shares]
    frequent = {name for name, _ in Counter(names).most_common(MAX_CLASSES)}
    return [name if name in frequent else OTHERS for name in names]


def _likeliest(shares: FloatArray, names: Sequence[str]) -> str:
    if not shares.any():
        return NO_SCORES
    highest = likeliest(shares)
    return names[highest[0]] if len(highest) == 1 else TIED


@dataclass(frozen=True, eq=False)
class Alignment:
    """Holds the points of two models A and B after B's points were moved onto A's. Both have as
    many dimensions as the model with more of them.
    """

    # target, moved (n, num_dimensions): a's points, padded with zeros if they have fewer
    # dimensions; B's after translation, rotation or reflection, and scaling
    target: FloatArray
    moved: FloatArray
    scale: float  # the factor by which B's points were multiplied
    # share of the variance of A's points that B's points do not explain: 0 if they coincide, 1 if
    # B's points explain none of it
    residual: float


def align(target: FloatArray, points: FloatArray) -> Alignment:
    """Move points, shape (n, k'), as close as possible to target points, shape (n, k): row i of one
    to row i of the other.

    All points are translated, rotated or reflected, and scaled together (Procrustes analysis).

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> turned = align(square, 3 * square @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 5)
    >>> (
    ...     np.round(turned.moved, 9).tolist() == square.tolist(),
    ...     round(turned.residual, 9),
    ...     round(turned.scale, 9),
    ... )
    (True, 0.0, 0.333333333)

    Raises RecipeError if the numbers of points differ or are 0, or a point is not finite.
    """
    if target.ndim != 2 or points.ndim != 2 or len(target) != len(points) or not len(target):
        raise RecipeError(
            f"aligning needs equal numbers of points, at least 1; got shapes {target.shape} "
            f"and {points.shape}"
        )
    if not (np.isfinite(target).all() and np.isfinite(points).all()):
        raise RecipeError(
            "The model diverges: its states grow without bound, so they can't be aligned."
        )
    width = max(target.shape[1], points.shape[1])
    a, b = (np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in (target, points))
    middle = a.mean(axis=0)
    A = a - middle
    B = b - b.mean(axis=0)
    size_a = float(np.linalg.norm(A))
    size_b = float(np.linalg.norm(B))
    # If all points of a model coincide, their spread is a rounding error and they have no direction
    # to rotate.
    if size_a <= _rounding(a) or size_b <= _rounding(b):
        return Alignment(
            a, np.tile(middle, (len(a), 1)), 0.0, 0.0 if size_a <= _rounding(a) else 1.0
        )
    turn, similarity = aligning_turn(B / size_b, A / size_a)
    scale = similarity * size_a / size_b
    return Alignment(a, scale * (B @ turn) + middle, scale, max(0.0, 1.0 - similarity**2))


def _rounding(points: FloatArray) -> float:
    return 1e-12 * float(np.abs(points).max(initial=0.0)) * float(np.sqrt(points.size))
