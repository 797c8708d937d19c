"""Run EM until validation strings, a tolerance or a number of iterations ends it.

`em_training` has the loop that can be stopped after any iteration and continued later.
"""

from __future__ import annotations

import numpy as np

from ...errors import RecipeError
from ...strings.sample import Sample
from ...strings.words import FloatArray
from ..early_stopping import check_validation
from ..progress import BITS, CancelCheck, Progress, Report, check_cancelled, never, silent
from .prefix_tree import BoolArray, M, PrefixTree


class Loop:
    """Runs EM on several models at once, and keeps the best of each.

    A model that is finished is removed, so the others no longer wait for it. With validation
    strings, a model is finished after `patience` iterations in a row without an improvement.
    Otherwise it is finished when `patience` iterations have lowered the bits per symbol by less
    than the share `tolerance`, if one is set.

    Raises RecipeError if a sample is empty.
    """

    def __init__(
        self,
        train: Sample,
        validation: Sample | None,
        iterations: int,
        pseudo_count: float,
        patience: int,
        tolerance: float | None = None,
        report: Report = silent,
        cancelled: CancelCheck = never,
    ) -> None:
        if not len(train.words):
            raise RecipeError("the sample has no strings: EM has nothing to learn from")
        check_validation(validation, train.num_symbols)
        check_cancelled(cancelled)
        self.tree = PrefixTree(train)
        self.held_out = PrefixTree(validation) if validation else None
        self.iterations = iterations
        self.pseudo_count = pseudo_count
        self.patience = patience
        self.tolerance = tolerance
        self.report = report
        self.cancelled = cancelled

    def run(self, models: M) -> tuple[M, FloatArray]:
        """Run EM from some models.

        Returns the best model of each start, and its bits per symbol on the validation strings; ∞
        if there are none.
        """
        best = models.take(np.arange(models.num_models))
        # loss of the best model, and its iteration
        losses = np.full(models.num_models, np.inf)
        last = np.zeros(models.num_models, dtype=np.int64)
        active = np.arange(models.num_models)
        history = list[FloatArray]()
        bits = np.full(models.num_models, np.inf)
        for iteration in range(self.iterations):
            check_cancelled(self.cancelled)
            expected = self.tree.expect(models)
            bits[active] = -expected.log_likelihoods / self.tree.num_predictions
            history.append(bits.copy())
            self.report(Progress("EM", iteration, self.iterations, float(bits.min()), BITS))
            models = expected.maximised(self.pseudo_count)
            if self.held_out is None:
                best.put(active, models)
                over = self._has_converged(history)[active]
            else:
                loss = -self.held_out.log_likelihoods(models) / self.held_out.num_predictions
                better = (loss < losses[active]) | ((iteration == 0) & ~np.isfinite(loss))
                best.put(active[better], models.take(np.flatnonzero(better)))
                losses[active[better]], last[active[better]] = loss[better], iteration
                over = iteration - last[active] >= self.patience
            if over.any():
                models = models.take(np.flatnonzero(~over))
                active = active[~over]
            if not len(active):
                break
        return best, losses

    def _has_converged(self, history: list[FloatArray]) -> BoolArray:
        """Return which models have hardly fewer bits than `patience` iterations ago."""
        if self.tolerance is None or len(history) <= self.patience:
            return np.zeros(len(history[-1]), dtype=bool)
        earlier = history[-1 - self.patience]
        converged: BoolArray = earlier - history[-1] < self.tolerance * earlier
        return converged
