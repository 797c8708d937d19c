"""Find the square root of a weighted automaton: a model of f with k states, from a model of f² with
k (k + 1) / 2 states.

If z is a state of f, the corresponding state of f² holds the products z_i z_j, in unknown
coordinates. The map of f² for a word w acts on these products as f's map A_w acts on z. So if A_w
has the eigenvalues λ_i, the map of f² has the eigenvalues μ_ij = λ_i λ_j. The method looks for k
eigenvalues μ_ii for which each product μ_ii μ_jj is the square of another eigenvalue μ_ij.

In the basis of the eigenvectors, scaled so that the initial state is 1 in each coordinate, the
states of f² are the products z_i z_j themselves. In this basis, a map's column for the product z_i²
is a symmetric matrix of rank one, x xᵀ, where x is column i of A_σ up to its sign. The columns for
mixed products z_i z_j determine the signs of the columns relative to each other. The sign of a
whole A_σ does not matter, because it does not change f².

Li, Rabusseau and Precup (2018), section 3, show that f² has such states. Tensor methods use
eigenvectors in a similar way to find the parameters of latent variable models (Anandkumar, Ge, Hsu,
Kakade and Telgarsky 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from ...hankel.basis import Basis
from ...hankel.matrix import exact_hankel
from ...models.wfa import WFA
from ...strings.words import FloatArray, Words
from ..spectral import fit_spectral, truncated_svd

ComplexArray = npt.NDArray[np.complex128]
LONGEST_WORD = 3  # words whose maps' eigenvectors are tried
# μ_ii μ_jj and μ_ij² may differ by this share. Noisy values need this much, but all pairs must not
# meet it by chance.
NEARLY_EQUAL = 0.03
SMALLEST_EIGENVALUE = 1e-9  # relative to the largest: a map with smaller ones has lost a direction


def square_root(model: WFA, num_states: int, basis: Basis) -> WFA | None:
    """Find a model of f from a model of f².

    `model`: a model of f² with k (k + 1) / 2 states. With any other number of states, there is no
    result. `num_states`: the number k of states of f. `basis`: prefixes and suffixes on which the
    values of f determine k states.

    Returns a model of f with at most k states; None if the states of `model` could not be
    recognised as products of k numbers.
    """
    if model.num_states != num_states * (num_states + 1) // 2:
        return None
    products = _eigenbasis(model, num_states)
    if products is None:
        return None
    initial, transitions, termination = products.factors(model)

    def values(words: Words) -> ComplexArray:
        outputs = np.empty(len(words), dtype=np.complex128)
        for number, word in enumerate(words):
            state = initial
            for symbol in word:
                state = state @ transitions[symbol]
            outputs[number] = state @ termination
        return outputs

    largest = values(basis.prefixes)
    phase = largest[np.abs(largest).argmax()]
    if not (np.isfinite(phase) and phase):
        return None

    def real_values(words: Words) -> FloatArray:
        """Compute f without the phase that all values share: f is real, but its coordinates in
        terms of eigenvectors may be complex.
        """
        return np.real(values(words) * (abs(phase) / phase))

    hankel = exact_hankel(real_values, basis)
    if not np.isfinite(hankel.matrix.data).all():
        return None
    return fit_spectral(hankel, truncated_svd(hankel.block, num_states), num_states)


@dataclass(frozen=True, eq=False)
class _Products:
    """Coordinates in which the states of a model of f² are products of k numbers."""

    # (num_products, num_products): a state, as a row vector, times column p is product number p
    vectors: ComplexArray
    places: npt.NDArray[np.int64]  # (k, k): entry (i, j) is the number p of the product z_i z_j
    error: float  # the largest relative error of an equation μ_ii μ_jj = μ_ij² between eigenvalues

    def factors(self, model: WFA) -> tuple[ComplexArray, ComplexArray, ComplexArray]:
        """Compute α₀, all A_σ and α∞ of f, as complex numbers, from the model of f²."""
        inverse = np.linalg.inv(self.vectors)
        k = len(self.places)
        # a product z_i z_j stands for both z_i z_j and z_j z_i
        halves = np.where(np.eye(k, dtype=bool), 1.0, 0.5)
        termination = _factor((inverse @ model.termination)[self.places] * halves)
        transitions = np.empty((model.num_symbols, k, k), dtype=np.complex128)
        for symbol, matrix in enumerate(inverse @ model.transitions @ self.vectors):
            columns = [_factor(matrix[self.places, self.places[i, i]] * halves) for i in range(k)]
            for j in range(1, k):
                agreement = 0.0
                for i in range(j):
                    mixed = np.outer(columns[i], columns[j])
                    mixed = (mixed + mixed.T) * halves
                    agreement += float(
                        np.real(
                            np.sum(matrix[self.places, self.places[i, j]] * halves * mixed.conj())
                        )
                    )
                if agreement < 0:
                    columns[j] = -columns[j]
            transitions[symbol] = np.stack(columns, axis=1)
        return np.ones(k, dtype=np.complex128), transitions, termination


def _factor(matrix: ComplexArray) -> ComplexArray:
    """Find the vector x, up to its sign, for which x xᵀ is nearest to a symmetric matrix that has
    nearly rank one.
    """
    direction = np.linalg.svd(matrix)[0][:, 0]
    size = direction.conj() @ matrix @ direction.conj()
    root: ComplexArray = np.sqrt(size + 0j) * direction
    return root


def _eigenbasis(model: WFA, k: int) -> _Products | None:
    """Try the maps of all short words, and take coordinates from the one whose eigenvalues are
    nearest to products λ_i λ_j.
    """
    best: _Products | None = None
    for length in range(1, LONGEST_WORD + 1):
        for word in product(range(model.num_symbols), repeat=length):
            values, vectors = np.linalg.eig(reduce(np.matmul, model.transitions[list(word)]))
            places = _places(values, k)
            coordinates = vectors.astype(np.complex128)
            firsts = coordinates.T @ model.initial
            if places is None or not np.abs(firsts).min() > 0:
                continue
            if best is None or places[1] < best.error:
                best = _Products(coordinates / firsts, *places)
    return best


def _places(values: ComplexArray, k: int) -> tuple[npt.NDArray[np.int64], float] | None:
    """Assign eigenvalues to products λ_i λ_j.

    Returns the number of the eigenvalue of each product, shape (k, k), and the largest relative
    error; None if they do not fit.
    """
    sizes = np.abs(values)
    if not sizes.min() > SMALLEST_EIGENVALUE * sizes.max():
        return None
    pairs = values[:, None] * values
    misses = np.abs(values**2 - pairs[:, :, None]) / np.abs(pairs[:, :, None])  # (i, i, j, j; ij)
    numbers = np.arange(len(values))
    misses[numbers, :, numbers] = misses[:, numbers, numbers] = np.inf
    miss = misses.min(axis=2)
    mixed = misses.argmin(axis=2)
    best: tuple[list[int], float] | None = None

    def extend(squares: list[int], taken: set[int], error: float, rest: list[int]) -> None:
        """Add each eigenvalue that can be another λ_i²: its products with those chosen so far must
        also be eigenvalues.
        """
        nonlocal best
        if best is not None and error >= best[1]:
            return
        if len(squares) == k:
            best = squares, error
            return
        for number, each in enumerate(rest):
            larger = max([error, *miss[each, squares].tolist()])
            products = {*mixed[each, squares].tolist()}
            if (
                each in taken
                or larger > NEARLY_EQUAL
                or len(products) < len(squares)
                or products & {*taken, *squares, each}
            ):
                continue
            extend([*squares, each], taken | products, larger, rest[number + 1 :])

    extend([], set(), 0.0, np.argsort(-sizes).tolist())
    if best is None:
        return None
    places = np.diag(best[0])
    for i, j in combinations(range(k), 2):
        places[i, j] = places[j, i] = mixed[best[0][i], best[0][j]]
    return places, best[1]
