"""Compare the whole default lesson (strings → H → four learners → all scores) with a plain
implementation of the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from nlwfa_core import TestSet, evaluate, fit
from nlwfa_core.experiment.presets import PAPER
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, BothNon
from nlwfa_core.learning.steps.transitions import fit_transitions
from nlwfa_core.learning.two_steps import FitCache
from nlwfa_core.sources.dyck import Dyck
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import FloatArray, Words

from . import plain
from .against_plain import OPPONENT, initial_weights
from .checks import equal_arrays
from .report import Comparison, Table
from .timing import clocked, interleave
from .work import Work

SCORES = ("log2_pauto", "wer", "wer_without_end", "bits_per_symbol", "bits_without_end")
NETWORKS = [name for name, learner in LEARNERS.items() if learner.networks]
CHECKED_EPOCHS = (20, 20)
Scores = dict[str, tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class Lesson:
    """Runs the default lesson on Dyck strings, with as many test strings as in the lab, by our
    program and by the plain one.

    Attributes
    ----------
    work : Work
    epochs : (int, int)
        The epochs of the factorisation and of the transitions.
    """

    work: Work
    epochs: tuple[int, int]

    @cached_property
    def test(self) -> tuple[Words, FloatArray]:
        words = Dyck().sample_words(250, 3)
        return words, Dyck().weights(words)

    @cached_property
    def starts(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        """Return our initial weights of both steps, so both programs start from the same."""
        hankel = self.work.counted(self.work.sample())
        latent = np.zeros((hankel.matrix.shape[0], self.work.rank))
        options = BothNon(rank=self.work.rank, **PAPER | {"epochs_transitions": 0})
        return initial_weights(hankel, self.work.rank), fit_transitions(
            latent, hankel.shifted, options
        )[0]

    def ours(self) -> Scores:
        hankel = self.work.counted(self.work.sample())
        words, target = self.test
        test = TestSet.as_drawn(words, target, Sample.of(words, self.work.alphabet))
        scores_by_learner: Scores = {}
        cache = FitCache()
        epochs = {"epochs_factorisation": self.epochs[0], "epochs_transitions": self.epochs[1]}
        for learner in HANKEL_LEARNERS:
            options = LEARNERS[learner].adapted(PAPER | epochs, rank=self.work.rank)
            scores = evaluate(fit(hankel, options, cache=cache).model, test)
            scores_by_learner[learner] = tuple(getattr(scores, name) for name in SCORES)
        return scores_by_learner

    def plain(self, dtype: torch.dtype = torch.float32) -> Scores:
        work, (words, target) = self.work, self.test
        hankel = plain.estimate(
            list(work.train), len(work.alphabet), work.num_prefixes, work.num_suffixes
        )
        scores_by_learner: Scores = {}
        for name, learner in ((name, LEARNERS[name]) for name in HANKEL_LEARNERS):
            model: plain.Model = plain.SpectralModel(hankel, work.rank)
            if learner.networks:
                coder = plain.AutoEncoder(
                    hankel.matrix, self.starts[0], learner.nonlinear_factorisation, dtype
                )
                coder.training.run(self.epochs[0])
                trainings = plain.transition_trainings(
                    coder.latent(), hankel, self.starts[1], learner.nonlinear_transitions
                )
                for training in trainings:
                    training.run(self.epochs[1])
                model = plain.NetworkModel(coder, trainings, learner.nonlinear_transitions)
            scores = plain.scores(model, list(words), target, len(work.alphabet))
            scores_by_learner[name] = tuple(scores[score] for score in SCORES)
        return scores_by_learner

    def spectral_weights(self) -> tuple[FloatArray, FloatArray]:
        """Compute SP's weights of the test words by our program and by the plain one."""
        work, (words, _) = self.work, self.test
        hankel = plain.estimate(
            list(work.train), len(work.alphabet), work.num_prefixes, work.num_suffixes
        )
        model = plain.SpectralModel(hankel, work.rank)
        ours = fit(work.counted(work.sample()), learner="SP", rank=work.rank).model.weights(words)
        return ours, np.array([plain.weight(model, word) for word in words])


def compare(work: Work, epochs: tuple[int, int], repeats: int, target: float | None) -> Table:
    """Check that short trainings in float64 give equal scores, then time whole trainings."""
    short = Lesson(work, tuple(map(min, epochs, CHECKED_EPOCHS)))  # type: ignore[arg-type]
    ours, theirs = (
        np.array([scores[name] for name in NETWORKS])
        for scores in (short.ours(), short.plain(torch.float64))
    )
    error = max(
        equal_arrays("scores", ours, theirs, 1e-6),
        equal_arrays("weights of SP", *short.spectral_weights(), 1e-6),
    )
    after = f"after {short.epochs[0]} + {short.epochs[1]} epochs, float64"
    checked = f"four scores of {', '.join(NETWORKS)} {after}; weights of SP: 1e-6 ({error:.0e})"
    lesson = Lesson(work, epochs)
    assert lesson.test and lesson.starts  # computes both before the time is measured
    sides = (clocked(lesson.ours), clocked(lesson.plain))
    mine, others = interleave(sides, repeats, warm_up=0)  # the short trainings were the warm-up
    name = (
        f"{work.title}, k = {work.rank}, {epochs[0]:,} + {epochs[1]} epochs, all learners and "
        "scores"
    )
    note = (
        "For SP, weights are compared instead of scores: where our model gives exactly 0, the "
        "plain program gives a rounding error, whose logarithm would affect its scores."
    )
    shared = (
        "As in the lab, our program trains a single auto-encoder for fac.non and both.non, because "
        "their first steps are identical. The plain program trains each learner separately."
    )
    return Table(
        "The default lesson",
        [Comparison(name, mine, OPPONENT, others, target, checked)],
        notes=[note, shared],
    )
