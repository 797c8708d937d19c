"""Keep rounding out of results: decide which numbers count as zero or as equal, and compute on one
thread.

On Dyck strings the Hankel matrix falls into blocks by bracket depth, and each singular vector lives
in one block. With k states, strings deeper than the blocks that fit have weight 0 in exact
arithmetic. Floating point gives them weights of 1e-16 … 1e-175, of either sign, which differ
between processors. This module holds the rule that tells such a number from a small true number.
Models apply it to their states, weights and next-symbol scores, and set such numbers to 0.

**The rule.** A computed product sᵀA is zero if both hold, entry by entry:

1. |sᵀA| ≤ τ |s|ᵀ|A|, with τ = `RELATIVE_ERROR` = 2⁻²⁹, so at least nine digits have cancelled.
2. |sᵀA| ≤ (e + γ |s|)ᵀ |A|, the error bound of the current product: e bounds the error of s, and γ
   is k times `UNIT_ERROR` = 2⁻⁴⁸. In that case, not even the sign of the product is known.

A state is zero if all its entries are. A zero state stays zero, whatever follows.

**Why.** A product of floating-point numbers satisfies |computed − exact| ≤ kε |s|ᵀ|A|, entry by
entry (Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, §3.5). The errors of earlier
steps are multiplied by |A|, which gives the bound e ← (e + γ|s|)ᵀ|A|, from e = 0 for α₀ (a running
error analysis: Higham, §3.3). γ is 16 times kε, because α₀ and the A_σ are themselves rounded.
Because of the second condition, a number that is certain to differ from 0 stays: 10⁹ − (1 − 10⁻⁹)
10⁹ is 1. The bound does not allow for errors that cancel, so for a learned automaton it soon
exceeds the states themselves; then the first condition decides.

Nothing cancels in a sum of numbers of one sign, where |sᵀA| = |s|ᵀ|A|. So the rule never touches
probabilistic automata: a true weight of 1e-30 or 1e-300 is unchanged. Networks have no bound e; for
their linear maps the first condition alone decides.

**How large τ is.** For SP on Dyck strings (2,000 and 20,000 strings, four draws each, k = 5 … 50,
states rotated at random, so no zero is exact), the measured |sᵀA| relative to |s|ᵀ|A| is at most
6e-11 (states) and 4e-10 (weights and scores) where the exact value is 0, and at least 6e-4 and 1e-5
elsewhere, except for f(λ), which is 0 in the language. τ = 2e-9 lies between.

**Why step by step.** The bound for a whole string, ‖|α₀|‖ Π‖|A_σ|‖ ‖|α∞|‖ times ε, grows faster
than states shrink: on the same data, from k = 10 on, it is larger than states that are known to
nine digits, at k = 20 by a factor of 1e10. docs/method-notes.md has the table.

**What it can't see.** The coefficients themselves may hold noise: 1e-17 where A should hold 0.
`learning.spectral` leaves none where H falls into blocks.

**Why on one thread.** The way OpenBLAS splits a product among threads affects rounding, and thereby
the scores of a model far above the numerical rank. No product here is large enough to gain from a
second thread, but several experiments run at once do gain from more cores. torch has its own
setting, `learning.tensors.one_thread`, because only modules that train with torch import torch.

**How numbers are written.** For people, numbers have three significant digits. A tiny or huge
number has a power of ten, "−3.23·10⁻⁸", never "-3.23e-08"; "−" is U+2212. Two numbers that are
compared have enough digits to be distinguished. `assets/numbers.js` writes the same texts in the
browser; `metrics.tables.format_score` writes scores, whose columns have a fixed number of decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from .errors import superscript

P = ParamSpec("P")
R = TypeVar("R")

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# A function () -> the bounds of the errors of some states, and of the matrix by which they are
# multiplied.
Bounds = Callable[[], tuple[FloatArray, FloatArray]]

# τ; scores whose difference is smaller than this, relative to the largest, are equal.
RELATIVE_ERROR = 2.0**-29
UNIT_ERROR = 2.0**-48  # the relative error of each of the k terms of a sum
# Numbers from 10^-4 up to 10^6 are written without a power of ten.
LEAST_POWER = -4
FIRST_LARGE_POWER = 6
# numbers that differ by no more than this, relative to the larger one, are written alike
SAME = 1e-9
NO_SHARE = 1e-12  # a share that is this near to 0 or 1 is written as 0 or 1
MOST_EXTRA = 12  # digits that are added to tell two numbers apart
NUMBERS_AT_ONCE = 2**20  # float64 numbers of a block: 8 MB
# The environment of a worker process: numpy, scipy and torch read it when they are loaded.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


def flush_rows(products: FloatArray, states: FloatArray, magnitudes: FloatArray) -> FloatArray:
    """Set to 0, in place, the rows of products that are zero by the rule.

    `products` (n, m): states @ A, as computed. `states` (n, k). `magnitudes` (k, m): |A|; for a
    product of matrices, the product of their magnitudes.

    >>> states, A = np.array([[0.1, 0.2, -0.3]]), np.ones((3, 1))
    >>> (states @ A).tolist(), flush_rows(states @ A, states, np.abs(A)).tolist()
    ([[5.551115123125783e-17]], [[0.0]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows = candidates(sizes(products), sizes(states) * largest_gain(magnitudes))
    if len(rows):
        bounds = RELATIVE_ERROR * (np.abs(states[rows]) @ magnitudes)
        products[rows[(np.abs(products[rows]) <= bounds).all(axis=1)]] = 0.0
    return products


def flush_entries(
    products: FloatArray, states: FloatArray, magnitudes: FloatArray, bounds: Bounds | None = None
) -> FloatArray:
    """Set to 0, in place, the single entries of products that are zero by the rule: for weights and
    next-symbol scores.

    `flush_rows` treats a row as one state; here, each column of A is a separate result.

    >>> states, A = np.array([[0.1, 0.2, -0.3]]), np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> flush_entries(states @ A, states, np.abs(A)).tolist()
    [[0.0, 0.1]]

    `products` (n, m): states @ A, as computed. `states` (n, k). `magnitudes` (k, m): |A|. `bounds`:
    called once, if the first condition of the rule holds for an entry. It returns the bounds of the
    errors of the states, shape (n, k), and of A, shape (k, m). Without it, the first condition
    decides.
    """
    errors: tuple[FloatArray, FloatArray] | None = None
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, columns in _cancelled(products, states, magnitudes):
            if bounds is not None:
                errors = errors or bounds()
                size = np.abs(states[rows])
                matrix = magnitudes[:, columns]
                largest = np.einsum(
                    "nk,kn->n", errors[0][rows] + error_of_sums(states) * size, matrix
                )
                largest += np.einsum("nk,kn->n", size, errors[1][:, columns])
                unknown = ~(np.abs(products[rows, columns]) > largest)
                rows = rows[unknown]
                columns = columns[unknown]
            products[rows, columns] = 0.0
    return products


def _cancelled(
    products: FloatArray, states: FloatArray, magnitudes: FloatArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows and columns of the entries other than 0 for which the first condition of the
    rule holds.
    """
    largest = RELATIVE_ERROR * magnitudes.max(axis=0, initial=0.0)
    size = sizes(states)
    high = max(1, NUMBERS_AT_ONCE // max(products.shape[1], 1))
    long = max(1, NUMBERS_AT_ONCE // max(states.shape[1], 1))
    for start in range(0, len(products), high):
        block = products[start : start + high]
        # Skip exact zeros: over a large alphabet, most entries are zero.
        rows, columns = np.nonzero(
            (np.abs(block) <= size[start : start + high, None] * largest) & (block != 0)
        )
        for first in range(0, len(rows), long):
            row = rows[first : first + long]
            column = columns[first : first + long]
            most = RELATIVE_ERROR * np.einsum(
                "nk,kn->n", np.abs(states[start + row]), magnitudes[:, column]
            )
            vanish = np.isfinite(most) & (np.abs(block[row, column]) <= most)
            if vanish.any():
                yield start + row[vanish], column[vanish]


def has_vanishing_states(
    states: FloatArray, parent: IntArray, symbol: IntArray, magnitudes: FloatArray
) -> bool:
    """Return whether the first condition of the rule holds for a state of a prefix tree.

    `states` (num_nodes, k): the state of each node, which is its parent's times A_σ. `parent` and
    `symbol` (num_nodes,): as in `trie.Trie`, where a parent comes before its children, and the
    first node is the root. `magnitudes` (num_symbols, k, k): |A_σ|.
    """
    size = sizes(states)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = 1 + candidates(size[1:], size[parent[1:]] * largest_gain(magnitudes)[symbol[1:]])
    return bool(len(vanishing(rows, states[rows], states[parent[rows]], symbol[rows], magnitudes)))


def step_with_errors(states: FloatArray, A: FloatArray, magnitudes: FloatArray) -> FloatArray:
    """Multiply states by A, update the bounds of their errors, and set to 0 the states that are
    zero by the rule (see the module).

    `states` (n, 2k): the states, and after them the bounds of the errors of their entries. `A` and
    `magnitudes` (k, k): A and |A|.

    Returns an array of shape (n, 2k).

    >>> state = np.array([[0.1, 0.2, -0.3, 0.0, 0.0, 0.0]])  # known to be exact
    >>> step_with_errors(state, np.ones((3, 3)), np.ones((3, 3))).tolist()
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
    """
    before, bounds = np.hsplit(states, 2)
    size = np.abs(before)
    products = before @ A
    new_bounds = (bounds + error_of_sums(before) * size) @ magnitudes
    # fmin: a bound that overflows may be nan, and then the first condition decides alone
    zero_below = np.fmin(RELATIVE_ERROR * (size @ magnitudes), new_bounds)
    is_zero = ((np.abs(products) <= zero_below) & np.isfinite(products)).all(axis=1)
    after = np.hstack((products, new_bounds))
    after[is_zero] = 0.0
    return after


def error_of_sums(states: FloatArray) -> float:
    """γ: the relative error of each term of a sum of k products, for states of shape (n, k)."""
    return float(states.shape[-1]) * UNIT_ERROR


def vanishing(
    rows: IntArray, after: FloatArray, before: FloatArray, symbols: IntArray, magnitudes: FloatArray
) -> IntArray:
    """Select the rows whose states are zero by the rule.

    `rows` (n,): numbers of the rows. `after` and `before` (n, k): the state of each row, and the
    state before its last symbol. `symbols` (n,): this symbol. `magnitudes` (num_symbols, k, k).
    """
    zero = np.zeros(len(rows), dtype=bool)
    for symbol in np.unique(symbols).tolist():
        members = np.flatnonzero(symbols == symbol)
        bounds = RELATIVE_ERROR * (np.abs(before[members]) @ magnitudes[symbol])
        zero[members] = (np.abs(after[members]) <= bounds).all(axis=1)
    return rows[zero]


def sizes(states: FloatArray) -> FloatArray:
    """Σ|s_i| of each row, shape (n,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        total: FloatArray = np.abs(states) @ np.ones(states.shape[-1])
    return total


def largest_gain(magnitudes: FloatArray) -> FloatArray:
    """τ times the largest row sum of |A|: the largest factor by which A can multiply a state's
    size, times τ.

    For a matrix (k, m), or for each of a stack (num_symbols, k, m).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gain: FloatArray = RELATIVE_ERROR * magnitudes.sum(axis=-1).max(axis=-1, initial=0.0)
    return gain


def candidates(after: FloatArray, bounds: FloatArray) -> IntArray:
    """Return the positions of the sizes that are small enough for the rule to apply, a condition
    that is necessary and cheap to check.

    Exact zeros and sizes that overflow are omitted.
    """
    return np.flatnonzero((after <= bounds) & (after > 0) & (bounds < np.inf))


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Make numpy and scipy compute on one thread while a function runs (a decorator)."""

    @wraps(function)
    def limited(*arguments: P.args, **options: P.kwargs) -> R:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*arguments, **options)

    return limited


@cache
def _controller() -> ThreadpoolController:
    """Return the process's controller.

    Finding the libraries takes milliseconds, and they must already be loaded.
    """
    return ThreadpoolController()


def format_significant(value: float | None, digits: int = 3) -> str:
    """Write a number with `digits` significant digits, without trailing zeros.

    From 1,000 on, it has no decimals; a tiny or huge number has a power of ten. Halves are rounded
    away from zero, as in the browser.

    >>> (
    ...     format_significant(0.123456),
    ...     format_significant(-0.25),
    ...     format_significant(999.7),
    ...     format_significant(12345.6),
    ... )
    ('0.123', '−0.25', '1,000', '12,346')
    >>> format_significant(1.464e-07), format_significant(-3.231e-08), format_significant(2.5e6)
    ('1.46·10⁻⁷', '−3.23·10⁻⁸', '2.5·10⁶')
    >>> (
    ...     format_significant(None),
    ...     format_significant(float("-inf")),
    ...     format_significant(float("nan")),
    ... )
    ('–', '−∞', 'undefined')
    """
    if value is None:
        return "–"
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(float(value))
    if not rounded:
        return "0"
    power = rounded.adjusted()
    if not LEAST_POWER <= power < FIRST_LARGE_POWER:
        mantissa = rounded.scaleb(-power).normalize()
        return f"{mantissa:f}·10{superscript(power)}".replace("-", "−")
    if power >= digits:
        rounded = Decimal(float(value)).quantize(Decimal(1), ROUND_HALF_UP)
    return f"{rounded.normalize():,f}".replace("-", "−")


def format_share(share: float, decimals: int = 1) -> str:
    """Write a share as a percentage. A share that would look like 0% or 100% but is neither is
    written as "<0.1%" or ">99.9%".

    >>> (
    ...     format_share(0.758),
    ...     format_share(0.0),
    ...     format_share(0.0004),
    ...     format_share(0.99999, 2),
    ...     format_share(0.004, 0),
    ... )
    ('75.8%', '0%', '<0.1%', '>99.99%', '<1%')
    """
    if not math.isfinite(share):
        return format_significant(share)
    if min(abs(share), abs(share - 1)) <= NO_SHARE:
        return f"{share:.0%}"
    text = f"{share:.{decimals}%}"
    step = 10.0**-decimals
    if text == f"{0:.{decimals}%}":
        return f"<{step:.{decimals}f}%"
    if text == f"{1:.{decimals}%}" and share < 1:
        return f">{100 - step:.{decimals}f}%"
    return text.replace("-", "−")


def power_of_ten(power: int) -> str:
    """Write a power of ten for an axis.

    >>> power_of_ten(0), power_of_ten(1), power_of_ten(-7)
    ('1', '10', '10⁻⁷')
    """
    return {0: "1", 1: "10"}.get(power, f"10{superscript(power)}")


def told_apart(
    values: Sequence[float | None], write: Callable[[float | None, int], str]
) -> tuple[str, ...]:
    """Write numbers that are compared, with more digits where two different numbers would look
    equal.

    Numbers that are equal up to rounding have equal texts.

    `write`: writes a number with a given number of digits more than usual.

    >>> format_apart(1.0, 0.99996), format_apart(0.005, 0.005), format_apart(0.3, 0.1 + 0.2)
    (('1', '0.99996'), ('0.005', '0.005'), ('0.3', '0.3'))
    """
    texts = tuple(write(value, 0) for value in values)
    for extra in range(1, MOST_EXTRA + 1):
        if not _look_equal(values, texts):
            break
        texts = tuple(write(value, extra) for value in values)
    return texts


def _look_equal(values: Sequence[float | None], texts: Sequence[str]) -> bool:
    """Return whether two numbers that differ have the same text."""
    first: dict[str, float | None] = {}
    return any(
        not _same(first.setdefault(text, value), value)
        for value, text in zip(values, texts, strict=True)
    )


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        one == other
        or (math.isnan(one) and math.isnan(other))
        or math.isclose(one, other, rel_tol=SAME)
    )


def format_apart(first: float | None, second: float | None, digits: int = 3) -> tuple[str, str]:
    """Write two numbers that are compared, with enough significant digits to tell them apart.

    >>> format_apart(0.0050, 0.004999), format_apart(2.0, 3.0)
    (('0.005', '0.004999'), ('2', '3'))
    """
    one, other = told_apart(
        (first, second), lambda value, extra: format_significant(value, digits + extra)
    )
    return one, other


def format_beside(value: float | None, limit: float, digits: int = 3) -> str:
    """Write a number with enough digits that it looks like the limit only if it equals the limit.

    >>> format_beside(0.99998, 1), format_beside(1.0, 1), format_beside(0.5, 1)
    ('0.99998', '1', '0.5')
    """
    return format_apart(value, limit, digits)[0]
