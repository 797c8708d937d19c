"""How a learner is set up: as in the paper, and as well as we know how to. Change `REFINED` here, and its runs are run anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..learning.learners import LEARNERS, needs_boundary
from ..recipe import HankelRecipe, LearningRecipe, Recipe, RefinementRecipe

TWO_STEPS = RefinementRecipe()


@dataclass(frozen=True)
class Settings:
    """What all learners of an experiment have in common.

    Attributes
    ----------
    title : str
        For people.
    statistic, transform : str
        As in `HankelRecipe`; boundary symbols are counted where a learner needs them.
    learning : dict
        Fields of `LearningRecipe` that differ from the experiment's own.
    refinement : RefinementRecipe
        The third step, of the network learners.
    """

    title: str
    statistic: str = "string"
    transform: str = "none"
    learning: Mapping[str, object] = field(default_factory=dict)
    refinement: RefinementRecipe = TWO_STEPS

    def recipe(self, base: Recipe, learner: str, rank: int, seed: int) -> Recipe:
        """An experiment's recipe with these settings."""
        bounded = needs_boundary(learner, self.statistic, self.transform)
        hankel = {**dict(base.hankel), "statistic": self.statistic, "transform": self.transform, "bounded": bounded}
        learning = {**dict(base.learning), **self.learning, "learner": learner, "rank": rank, "seed": seed}
        refinement = self.refinement.changed(seed=seed) if LEARNERS[learner].networks else TWO_STEPS
        return base.changed(hankel=HankelRecipe(**hankel), learning=LearningRecipe(**learning), refinement=refinement)

    def describe(self) -> str:
        """One sentence, for a page."""
        refined = f"refined by {self.refinement.objective} for {self.refinement.epochs} epochs at rate {self.refinement.rate:g}"
        third = "none" if self.refinement.objective == "none" else f"networks {refined}"
        others = "".join(f"; {name} {value}" for name, value in self.learning.items())
        return f"statistic {self.statistic}, transform {self.transform}, third step: {third}{others}"


PAPER = Settings("the paper's settings")
REFINED = Settings("refined settings", "factor", "row", refinement=RefinementRecipe(objective="likelihood", epochs=40, rate=0.01))
SETTINGS = {"paper": PAPER, "refined": REFINED}
