"""Compare Hankel estimation, spectral learning and weights with scikit-splearn's, after checking
that the results are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nlwfa_core import fit
from nlwfa_core.hankel.matrix import HankelMatrix
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import FloatArray, Words

from .checks import equal_arrays
from .opponents import Opponents
from .report import Comparison, Table
from .timing import clocked, interleave
from .work import Work

OPPONENT = "scikit-splearn"
COUNT_TARGET = 30
FIT_TARGET = 20
WEIGHTS_TARGET = 20


def hand_over(opponents: Opponents, work: Work, hankel: HankelMatrix, directory: Path) -> None:
    """Give the worker the strings and our basis, since scikit-splearn can't choose one by
    frequency.
    """
    lists = {
        "train": work.train,
        "words": work.words,
        "prefixes": hankel.basis.prefixes,
        "suffixes": hankel.basis.suffixes,
    }
    arrays = {
        f"{name}_{part}": getattr(words, part)
        for name, words in lists.items()
        for part in ("symbols", "offsets")
    }
    np.savez(directory / "work.npz", num_symbols=len(work.alphabet), **arrays)
    opponents.ask("load", file=str(directory / "work.npz"))


def counting(opponents: Opponents, work: Work, repeats: int) -> list[Comparison]:
    """Time basis selection and Hankel estimation; scikit-splearn is given the basis."""
    hankel = work.counted(work.sample())
    with TemporaryDirectory() as folder:
        hand_over(opponents, work, hankel, Path(folder))
        opponents.ask("count", sparse=True, dictionaries=True)
        opponents.ask("cells", file=str(Path(folder, "cells.npz")))
        with np.load(Path(folder, "cells.npz")) as arrays:
            theirs = arrays["cells"]
    equal_arrays(
        "Hankel cells", _cells(hankel), _sorted(theirs / [[1], [1], [1], [len(work.train)]]), 1e-12
    )
    sides = (
        clocked(work.counted, work.sample),
        clocked(lambda: work.counted(work.sample())),
        lambda: opponents.seconds("count", sparse=True, dictionaries=True),
        lambda: opponents.seconds("count", sparse=False, dictionaries=True),
        lambda: opponents.seconds("count", sparse=False, dictionaries=False),
    )
    ours, from_strings, sparse, dense, matrix_alone = interleave(sides, repeats)
    checked = f"{theirs.shape[1]:,} cells, 1e-12"
    return [
        Comparison(
            f"{work.title}; from distinct strings",
            ours,
            f"{OPPONENT}, sparse (default)",
            sparse,
            COUNT_TARGET,
            checked,
        ),
        Comparison(
            f"{work.name}; from distinct strings",
            ours,
            f"{OPPONENT}, dense",
            dense,
            COUNT_TARGET,
            checked,
        ),
        Comparison(
            f"{work.name}; ours merges equal strings too",
            from_strings,
            f"{OPPONENT}, dense",
            dense,
            None,
            checked,
        ),
        Comparison(
            f"{work.name}; dictionaries given",
            ours,
            f"{OPPONENT}, dense, matrices alone",
            matrix_alone,
            None,
            checked,
        ),
    ]


def counting_anywhere(opponents: Opponents, work: Work, statistic: str, repeats: int) -> Comparison:
    """Time the same for prefixes or factors, with dense matrices, which are faster for
    scikit-splearn.
    """
    hankel = work.counted(work.sample(), statistic)
    with TemporaryDirectory() as folder:
        hand_over(opponents, work, hankel, Path(folder))
        opponents.ask("count_anywhere", version=statistic)
        opponents.ask("cells", file=str(Path(folder, "cells.npz")))
        with np.load(Path(folder, "cells.npz")) as arrays:
            theirs = arrays["cells"]
    equal_arrays(
        "Hankel cells", _cells(hankel), _sorted(theirs / [[1], [1], [1], [len(work.train)]]), 1e-12
    )
    sides = (
        clocked(lambda: work.counted(work.sample(), statistic)),
        lambda: opponents.seconds("count_anywhere", version=statistic),
    )
    ours, dense = interleave(sides, repeats)
    title = f"{statistic}, {work.title}"
    return Comparison(
        title, ours, f"{OPPONENT}, dense", dense, None, f"{theirs.shape[1]:,} cells, 1e-12"
    )


def learning(
    opponents: Opponents,
    work: Work,
    repeats: int,
    target: float | None = FIT_TARGET,
    dense: bool = True,
) -> list[Comparison]:
    """Time SP from the strings to the model, and then the weights of many words.

    `dense`: whether scikit-splearn's dense matrices, of |P| × |S| × |Σ| numbers, fit in memory; if
    they do, they are its fastest.
    """
    hankel = work.counted(work.sample())
    learned = fit(hankel, learner="SP", rank=work.rank)
    with TemporaryDirectory() as folder:
        hand_over(opponents, work, hankel, Path(folder))
        opponents.ask("fit", rank=work.rank, sparse=True)
        opponents.ask("predict")
        opponents.ask("outcome", rank=work.rank, file=str(Path(folder, "outcome.npz")))
        with np.load(Path(folder, "outcome.npz")) as arrays:
            values = arrays["singular_values"] / len(work.train)
            predicted = arrays["predicted"]
    assert learned.report.singular_values is not None
    equal_arrays("singular values", learned.report.singular_values, values, 1e-6)
    error = equal_arrays("weights", learned.model.weights(work.words), predicted, 1e-6)
    checked = f"singular values, {len(work.words):,} weights: 1e-6 ({error:.0e})"

    def whole(sample: Sample) -> None:
        fit(work.counted(sample), learner="SP", rank=work.rank)

    sides = (
        clocked(lambda: whole(work.sample())),
        clocked(whole, work.sample),
        lambda: opponents.seconds("fit", rank=work.rank, sparse=True),
        *([lambda: opponents.seconds("fit", rank=work.rank, sparse=False)] if dense else []),
        clocked(lambda: learned.model.weights(work.words)),
        lambda: opponents.seconds("predict"),
    )
    from_strings, from_distinct, *fits, weights, prediction = interleave(sides, repeats)
    # A randomised SVD is not exact, so nothing of a dense fit is checked.
    kind, check = ("dense", "") if dense else ("sparse (default)", checked)
    quickest = f"{OPPONENT}, {kind}"
    title = f"fit, {work.title}, k = {work.rank}; from all strings"
    comparisons = [Comparison(title, from_strings, quickest, fits[-1], target, check)]
    if dense:
        default = f"{OPPONENT}, sparse (default)"
        comparisons.append(
            Comparison(f"fit, {work.name}", from_strings, default, fits[0], None, checked)
        )
    title = f"fit, {work.name}; ours from distinct strings"
    return [
        *comparisons,
        Comparison(title, from_distinct, quickest, fits[-1], None, check),
        Comparison(
            f"weights of {len(work.words):,} words, {work.name}, k = {work.rank}",
            weights,
            OPPONENT,
            prediction,
            WEIGHTS_TARGET if len(work.words) >= 20_000 else None,
            checked,
        ),
    ]


def nonlinear_weights(work: Work, words: Words, repeats: int) -> Comparison:
    """Time the weights of an NL-WFA and of a WFA, both ours; the training is short, which makes no
    difference here.
    """
    hankel = work.counted(work.sample())
    linear = fit(hankel, learner="SP", rank=work.rank).model
    nonlinear = fit(
        hankel, learner="both.non", rank=work.rank, epochs_factorisation=5, epochs_transitions=5
    ).model
    sides = (clocked(lambda: nonlinear.weights(words)), clocked(lambda: linear.weights(words)))
    ours, theirs = interleave(sides, repeats)
    return Comparison(
        f"weights of {len(words):,} words, {work.name}, k = {work.rank}: NL-WFA",
        ours,
        "our SP",
        theirs,
        1 / 3,
    )


def tables(opponents: Opponents | None, works: Sequence[Work], repeats: int) -> list[Table]:
    """Make the tables of Hankel estimation, and of learning and weights."""
    count = Table("Basis selection and Hankel estimation, string statistic")
    learn = Table("Spectral learning and weights")
    for work in works if opponents else ():
        count.comparisons.extend(counting(opponents, work, repeats))
        learn.comparisons.extend(learning(opponents, work, repeats))
    learn.comparisons.append(nonlinear_weights(works[0], works[0].words, max(repeats, 3)))
    count.notes.extend(
        (
            "scikit-splearn's time is that of the part of `fit` before the SVD. It can't choose a "
            "basis by frequency, so it is given ours as sets.",
            "scikit-splearn fills dense matrices faster than its default sparse ones. It fits "
            "dense matrices by an inexact, randomised SVD, so only the times of those fits are "
            "compared.",
            "“Dictionaries given”: scikit-splearn is given its counts of strings, prefixes and "
            "suffixes. Our time still includes choosing the basis.",
        )
    )
    if opponents is None:
        count.notes.append("Skipped: scikit-splearn's environment is not set up.")
    return [count, learn]


def _cells(hankel: HankelMatrix) -> FloatArray:
    """Every non-zero of H_λ and each H_σ as (block, row, column, value), shape (4, n), in the order
    of scikit-splearn's basis.
    """
    rows, columns = (_places(words) for words in (hankel.basis.prefixes, hankel.basis.suffixes))
    blocks = [hankel.block, *(hankel.symbol_block(symbol) for symbol in range(hankel.num_symbols))]
    parts = []
    for number, block in enumerate(blocks):
        cells = block.tocoo()
        parts.append(
            np.stack([np.full(cells.nnz, number), rows[cells.row], columns[cells.col], cells.data])
        )
    return _sorted(np.concatenate(parts, axis=1))


def _places(words: Words) -> FloatArray:
    """Rank of each word by length, then alphabetically."""
    listed = list(words)
    places = np.empty(len(listed))
    places[sorted(range(len(listed)), key=lambda index: (len(listed[index]), listed[index]))] = (
        np.arange(len(listed))
    )
    return places


def _sorted(cells: FloatArray) -> FloatArray:
    return cells[:, np.lexsort(cells[2::-1])]
