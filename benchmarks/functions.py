"""Measure how well models learn functions that are not distributions: squares of automata, and
functions with missing values.

Every error is a root mean square over strings that no model was trained on, divided by the same
error of a model whose outputs are all 0. The last table, of the masked loss, has times instead of
errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.hankel.basis import Basis
from nlwfa_core.hankel.matrix import HankelMatrix, exact_hankel
from nlwfa_core.hankel.valued_strings import (
    ValuedStrings,
    observed_hankel,
    observed_transitions,
    value_scores,
)
from nlwfa_core.learning.assembly import as_network
from nlwfa_core.learning.completion import complete, fit_completed, linear_transitions
from nlwfa_core.learning.functions.fit_values import fit_values
from nlwfa_core.learning.learners import BothNon, FacNon, ValueFacNon
from nlwfa_core.learning.refine.values import STARTS_PER_BATCH
from nlwfa_core.learning.spectral import fit_spectral, truncated_svd
from nlwfa_core.learning.steps.factorisation import fit_factorisation
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.random_automata import random_automaton, random_wfa
from nlwfa_core.strings.words import Alphabet, FloatArray, Words

from .report import Table
from .timing import clocked, interleave

FAMILIES: dict[str, Callable[[int, int], WFA]] = {
    "probabilistic": lambda k, seed: random_automaton(k, 2, seed, density=0.4),
    "signed": lambda k, seed: random_wfa(k, 2, seed),
}
RECOVERED = 1e-6


def _all_words(longest: int) -> Words:
    return Words.of(
        word for length in range(longest + 1) for word in product(range(2), repeat=length)
    )


def _long_words() -> Words:
    """Draw 1,000 random strings of 10–13 symbols."""
    rng = np.random.default_rng(0)
    return Words.of(
        [
            tuple(rng.integers(0, 2, size=length).tolist())
            for length in rng.integers(10, 14, size=1000)
        ]
    )


def _fac_non(hankel: HankelMatrix, rank: int, masked: bool = False, **options: Any) -> NLWFA:
    """Learn fac.non with transitions by least squares, the solution to which their training with
    Adamax would converge.
    """
    factors = fit_factorisation(hankel, FacNon(rank=rank, **PAPER | options), masked)
    known = observed_transitions(hankel, 1 if masked else 0)
    last = factors.decoder[-1] * factors.scale
    transitions = linear_transitions(factors.latent, hankel.shifted, known)
    decoder = (*factors.decoder[:-1], last)
    return as_network(
        hankel, factors.latent[0], (transitions,), decoder, (False, factors.nonlinear)
    )


def _relative(outputs: FloatArray, values: FloatArray) -> float:
    scores = value_scores(outputs, values)
    return scores.rmse / scores.zero_rmse


def _spread(values: Sequence[float]) -> str:
    """Write the median, and in brackets the mean ± standard deviation."""
    return f"{np.median(values):.1e} ({np.mean(values):.1e} ± {np.std(values):.1e})"


def squares(sizes: Sequence[int], num_automata: int, epochs: int) -> list[Table]:
    """Learn f² of random automata f with k states from its exact Hankel matrix (Li, Rabusseau and
    Precup 2018, §3).
    """
    basis = Basis(_all_words(4), _all_words(4), 2)
    held_out = _long_words()
    names = (
        "SP, k",
        "SP, 2k",
        "SP, one below the rank",
        "SP, k²",
        "√: SP, k",
        "fac.non, k",
        "√: fac.non, k",
        "√: fac.non from the SVD, k",
    )
    tables = []
    for family, automaton in FAMILIES.items():
        rows: list[list[Any]] = []
        for k in sizes:
            errors = []
            ranks = []
            beaten = []
            for seed in range(num_automata):
                f = automaton(k, seed).weights
                H = exact_hankel(lambda words, f=f: f(words) ** 2, basis)
                root = exact_hankel(lambda words, f=f: np.abs(f(words)), basis)
                svd, root_svd = (
                    truncated_svd(matrix.block, len(basis.prefixes)) for matrix in (H, root)
                )
                ranks.append((svd.numerical_rank, root_svd.numerical_rank))
                below = k * (k + 1) // 2 - 1
                direct = [fit_spectral(H, svd, rank) for rank in (k, 2 * k, below, k * k)]
                trained: dict[str, Any] = {
                    "epochs_factorisation": epochs,
                    "schedule": "cosine",
                    "rate_factorisation": 0.03,
                }
                outputs = [model.weights(held_out) for model in direct]
                outputs.append(fit_spectral(root, root_svd, k).weights(held_out) ** 2)
                outputs.append(_fac_non(H, k, **trained).weights(held_out))
                outputs.append(_fac_non(root, k, **trained).weights(held_out) ** 2)
                outputs.append(
                    _fac_non(root, k, start="svd", epochs_factorisation=0).weights(held_out) ** 2
                )
                errors.append([_relative(values, f(held_out) ** 2) for values in outputs])
                smaller = min(
                    _relative(fit_spectral(H, svd, rank).weights(held_out), f(held_out) ** 2)
                    for rank in range(1, below + 1)
                )
                beaten.append([error < smaller for error in errors[-1]])
            rank, root_rank = np.median(ranks, axis=0).astype(int).tolist()
            ahead = np.sum(beaten, axis=0).tolist()
            columns_of = zip(names, map(_spread, zip(*errors, strict=True)), ahead, strict=True)
            rows += [[k, rank, root_rank, *cells] for cells in columns_of]
        columns = (
            "k",
            "rank of H",
            "rank of √H",
            "model, states",
            "median (mean ± sd) relative RMSE",
            "ahead",
        )
        notes = [
            f"The table is for {num_automata} automata with 2 symbols and a basis of all prefixes "
            "and suffixes up to length 4. Errors are on 1,000 strings of 10–13 symbols.",
            "√ means that the element-wise square root |f| is learned, and the model's output is "
            "squared.",
            "*ahead* is the number of automata on which the model's error is below SP's at every "
            "rank below k (k + 1) / 2.",
            f"fac.non has least-squares transitions. It is trained for {epochs} epochs at a rate "
            "that falls from 0.03 along a cosine; from the SVD, it is not trained further.",
        ]
        if tables:
            notes = ["The notes on the table above apply here too."]
        tables.append(
            Table(f"Squared function: {family} f", columns=columns, rows=rows, notes=notes)
        )
    return tables


def refined_squares(sizes: Sequence[int], num_automata: int, restarts: int) -> Table:
    """Learn squares of signed automata with squared output, refined on the values of all strings up
    to length 9.
    """
    basis = Basis(_all_words(4), _all_words(4), 2)
    words = _all_words(9)
    held_out = _long_words()
    rows: list[list[Any]] = []
    for k in sizes:
        errors = []
        starts = []
        for seed in range(num_automata):
            f = random_wfa(k, 2, seed).weights
            H = exact_hankel(lambda words, f=f: f(words) ** 2, basis)
            svd = truncated_svd(H.block, len(basis.prefixes))
            full = k * (k + 1) // 2
            given = ValuedStrings(words, f(words) ** 2, Alphabet.numbered(2))
            true = f(held_out) ** 2
            below = min(
                _relative(fit_spectral(H, svd, rank).weights(held_out), true)
                for rank in range(1, full)
            )
            # The two steps have no epochs, because it hardly matters from which weights the
            # refinement starts.
            options = ValueFacNon(
                rank=k,
                hidden=(1,),
                optimizer="adamax",
                start="random",
                epochs_factorisation=0,
                refine="values",
                restarts=restarts,
            )
            learned = fit_values(given, options, transform="sqrt")
            models = (fit_spectral(H, svd, full), fit_spectral(H, svd, k * k), learned.model)
            errors.append([below, *(_relative(model.weights(held_out), true) for model in models)])
            starts.append(
                min(restarts, STARTS_PER_BATCH * max(len(learned.report.logs[-1].losses) - 2, 0))
            )
        below, *others, refined = np.array(errors).T
        counts = (
            int((refined < RECOVERED).sum()),
            int((refined < below).sum()),
            int(np.median(starts)),
        )
        rows.append([k, *map(_spread, (below, *others, refined)), *counts])
    columns = (
        "k",
        "SP, best below k (k + 1) / 2",
        "SP, k (k + 1) / 2",
        "SP, k²",
        "fac.non, k, refined",
        "recovered",
        "ahead",
        "starts",
    )
    notes = [
        f"The errors are median (mean ± sd) relative RMSEs of {num_automata} automata with 2 "
        "symbols, on 1,000 strings of 10–13 symbols.",
        "fac.non has `hidden` 1, so only its encoder has tanh, and `transform` sqrt, so its "
        "output is squared. It is refined on all strings up to length 9.",
        f"*recovered* counts the automata with an error below {RECOVERED:g}, and *ahead* those "
        "with an error below SP's best under the full rank. *starts* is the median number of "
        f"random starts, at most {restarts:,}, in addition to the start at the square root of the "
        "linear model.",
    ]
    return Table(
        "Squared function: signed f, refined on the values", columns=columns, rows=rows, notes=notes
    )


def missing(sizes: Sequence[int], num_functions: int, epochs: int) -> Table:
    """Learn from the values of all strings up to length 9, 30 % of them missing, with each
    treatment of unknown cells.
    """
    basis = Basis(_all_words(4), _all_words(4), 2)
    words = _all_words(9)
    rows: list[list[Any]] = []
    for noise, k in product((0.0, 0.05), sizes):
        errors = []
        for seed in range(num_functions):
            drawn = random_wfa(k, 2, seed, radius=0.5)
            # about 1 at every length
            values = WFA(drawn.initial, drawn.transitions * 2, drawn.termination).weights(words)
            wrong = values + noise * values.std() * np.random.default_rng(seed).normal(
                size=len(values)
            )
            number = round(0.7 * len(words))
            order = np.random.default_rng(seed).permutation(len(words))
            hankel = observed_hankel(
                ValuedStrings(words, wrong, Alphabet.numbered(2)).take(order[:number]), basis
            )
            trained: dict[str, Any] = {"epochs_factorisation": epochs, "schedule": "cosine"}
            models: list[WFA | NLWFA] = [
                fit_spectral(hankel, truncated_svd(hankel.block, k), k),
                *(
                    fit_completed(hankel, complete(hankel, k, ridge=ridge))
                    for ridge in (1e-6, 1e-3)
                ),
                *(_fac_non(hankel, k, masked=masked, **trained) for masked in (False, True)),
            ]
            unseen = order[number:]
            errors.append(
                [_relative(model.weights(words.take(unseen)), values[unseen]) for model in models]
            )
        rows.append([f"{noise:.0%}", k, *(_spread(column) for column in zip(*errors, strict=True))])
    columns = (
        "noise",
        "k",
        "SP, zeros",
        "SP, completed (1e-6)",
        "SP, completed (1e-3)",
        "fac.non, zeros",
        "fac.non, masked",
    )
    notes = [
        "The errors are median (mean ± sd) relative RMSEs on the missing strings, for "
        f"{num_functions} signed random functions of rank k.",
        "*zeros*: unknown cells are set to 0. *completed*: they are filled in by alternating "
        "least squares, with the ridge in brackets. *masked*: only known cells count in the loss.",
    ]
    return Table("Values with 30 % of the strings missing", columns=columns, rows=rows, notes=notes)


def masked_steps(hankel: HankelMatrix, rank: int, epochs: int, repeats: int) -> Table:
    """Time the masked loss and the exact one on the same stored cells."""
    options = BothNon(rank=rank, **PAPER | {"epochs_factorisation": epochs})
    sides = [
        clocked(lambda masked=masked: fit_factorisation(hankel, options, masked))
        for masked in (False, True)
    ]
    exact, masked = (timing.median / epochs * 1e3 for timing in interleave(sides, repeats))
    row = [
        f"{hankel.matrix.shape[0]:,} × {hankel.num_suffixes:,}",
        hankel.matrix.nnz,
        rank,
        exact,
        masked,
        f"{masked / exact:.2f}×",
    ]
    columns = ("rows × suffixes", "stored cells", "k", "exact, ms", "masked, ms", "masked / exact")
    return Table("One step with the masked loss", columns=columns, rows=[row])
