"""The two kinds of learners, as base classes of the records of options.

A new learner needs such a record in `learners`, a line in the registry there, and a module that the
record imports when it learns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .shared_options import LearnerOptions, Refined

if TYPE_CHECKING:
    from ..hankel.matrix import HankelMatrix
    from ..models.recurrent import RecurrentModel
    from ..models.wfa import WFA
    from ..strings.sample import Sample
    from .progress import CancelCheck, Report
    from .two_steps import FitCache, Learned


class HankelLearner(Refined):
    """The options of a learner that learns from a Hankel matrix: two steps, then a refinement."""

    def two_steps(
        self,
        hankel: HankelMatrix,
        validation: Sample | None,
        cache: FitCache,
        report: Report,
        cancelled: CancelCheck,
    ) -> Learned:
        """Carry out steps 1 and 2."""
        raise NotImplementedError


class StringLearner(LearnerOptions):
    """The options of a learner that learns from the strings themselves."""

    def fit(
        self, train: Sample, validation: Sample | None, report: Report, cancelled: CancelCheck
    ) -> WFA | RecurrentModel:
        """Learn a model."""
        raise NotImplementedError
