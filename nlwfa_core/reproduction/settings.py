"""How a learner is set up: as in the paper, and as well as we know how to. Change `REFINED` here, and its runs are run anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..experiment.recipe import HankelRecipe, LearningRecipe, Recipe, RefinementRecipe
from ..learning.names import LEARNERS, needs_boundary

TWO_STEPS = RefinementRecipe()
MOST_EPOCHS = 300


@dataclass(frozen=True)
class Settings:
    """What all learners of an experiment have in common.

    Attributes
    ----------
    title : str
        For people.
    learners : tuple of str
        Those that are run.
    linear, networks : dict
        Fields of `HankelRecipe` that differ from the experiment's own, for SP and for the others; boundary symbols are counted
        where a learner needs them.
    learning : dict
        The same of `LearningRecipe`.
    refinement : RefinementRecipe
        The third step, of the network learners.
    steps : int, optional
        How many steps the third step takes, whatever the number of strings; its batch is at most a quarter of them. Without it the
        refinement's epochs and batch are taken as they are.
    """

    title: str
    learners: Sequence[str] = tuple(LEARNERS)
    linear: Mapping[str, object] = field(default_factory=dict)
    networks: Mapping[str, object] = field(default_factory=dict)
    learning: Mapping[str, object] = field(default_factory=dict)
    refinement: RefinementRecipe = TWO_STEPS
    steps: int | None = None

    def recipe(self, base: Recipe, learner: str, rank: int, seed: int, num_strings: int) -> Recipe:
        """An experiment's recipe with these settings, for so many training strings."""
        networks = LEARNERS[learner].networks
        hankel = {**dict(base.hankel), **(self.networks if networks else self.linear)}
        hankel["bounded"] = needs_boundary(learner, hankel["statistic"], hankel["transform"])
        learning = {**dict(base.learning), **self.learning, "learner": learner, "rank": rank, "seed": seed}
        refinement = self._refinement(num_strings).changed(seed=seed) if networks else TWO_STEPS
        return base.changed(hankel=HankelRecipe(**hankel), learning=LearningRecipe(**learning), refinement=refinement)

    def _refinement(self, num_strings: int) -> RefinementRecipe:
        if self.steps is None:
            return self.refinement
        batch = int(np.clip(num_strings // 4, 1, self.refinement.batch))
        epochs = int(np.clip(round(self.steps * batch / num_strings), 1, MOST_EPOCHS))
        return self.refinement.changed(batch=batch, epochs=epochs)

    def describe(self) -> str:
        """One sentence, for a page."""
        third = self.refinement
        told = [f"{who}: {_listed(fields)}" for who, fields in (("SP", self.linear), ("networks", self.networks)) if fields]
        told += [_listed(self.learning)] if self.learning else []
        if third.objective != "none":
            steps = f"{third.epochs} epochs" if self.steps is None else f"{self.steps:,} steps (at most {MOST_EPOCHS} epochs)"
            decay = f", weight decay {third.weight_decay:g}" if third.weight_decay else ""
            told.append(f"networks are refined by {third.objective} in {steps} at rate {third.rate:g}{decay}")
        return "; ".join(told) or "statistic string, no transform, two steps"


def _listed(fields: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in fields.items())


PAPER = Settings("the paper's settings")
# As in `best`, which says how they were found.
REFINED = Settings(
    "refined settings",
    ("SP", "both.non"),
    linear={"statistic": "factor"},
    networks={"statistic": "prefix", "transform": "row", "num_prefixes": 500, "num_suffixes": 200},
    learning={"hidden": (1, 1, 1), "width_transitions": 0, "epochs_factorisation": 20, "epochs_transitions": 20},
    refinement=RefinementRecipe(objective="likelihood", batch=250, weight_decay=0.3),
    steps=3_000,
)
SETTINGS = {"paper": PAPER, "refined": REFINED}
