"""Recognise the public problems of two competitions by their files, and compare runs with published
figures.

`assets/records.json` has the problems' hashes and figures, and none of their data. In a checkout,
`python -m studies.records` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from ..errors import RecipeError
from ..experiment.recipe import DataRecipe
from ..metrics.score_table import Scores
from ..metrics.tables import Numbers, Table, format_score

TRUE_MODELS = {"Hmm": "HMM", "Pfa": "PFA", "Dpfa": "DPFA"}  # PAutomaC's names -> the usual ones


class Problem(BaseModel):
    """A public problem of a competition."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str  # the competition and the problem's number
    score: str  # what the score is
    higher_is_better: bool
    # the type of PAutomaC's true model, such as "Pfa", or the origin of SPiCe's strings, such as
    # "Spanish POS"; empty if it is not known
    kind: str
    # the SHA-256 of the two files from which a score follows: PAutomaC's test strings and solution,
    # or SPiCe's prefixes and targets
    files: tuple[str, str]
    figures: dict[str, float]  # who -> published score on these files

    @property
    def kind_sentence(self) -> str:
        """State the true model's type or the strings' origin; empty if it is not known."""
        if self.kind in TRUE_MODELS:
            return f"Type of the true model: {TRUE_MODELS[self.kind]}."
        return f"Origin of the strings: {self.kind}." if self.kind else ""

    def score_of(self, scores: Scores) -> float | None:
        """Return the competition's score of a model; None if it is not known.

        SPiCe's is NDCG5 over the prefixes. PAutomaC's is the perplexity on the test strings,
        divided by the true model's.
        """
        if self.higher_is_better:
            return scores.prefix_ndcg5
        truth = scores.true_log2_pauto
        return None if truth is None else float(2.0 ** (scores.log2_pauto - truth))


def read_problems(path: Path) -> tuple[Problem, ...]:
    """Read the file of problems. Raises RecipeError if it is not valid."""
    try:
        problems = tuple(
            Problem.model_validate(problem)
            for problem in json.loads(path.read_text(encoding="utf-8"))
        )
    except (ValueError, TypeError) as error:  # also of pydantic
        raise RecipeError(
            f"{path} must be a list of problems that `python -m studies.records` wrote: {error}"
        ) from None
    return problems


def problem_of(recipe: DataRecipe, problems: Iterable[Problem]) -> Problem | None:
    """Return the problem whose files a recipe scores on; None if there is no such problem."""
    if recipe.source != "upload":
        return None
    pairs = {
        (recipe.upload_test, recipe.upload_solution),
        (recipe.upload_prefixes, recipe.upload_targets),
    }
    return next((problem for problem in problems if problem.files in pairs), None)


def record_table(problem: Problem, runs: Mapping[str, Scores]) -> Table:
    """Tabulate runs among published figures, the best first; runs without the competition's score
    are left out.

    Equal scores have the same place.
    """
    scores = {(name, "published"): score for name, score in problem.figures.items()}
    scores |= {
        (name, "run"): score
        for name, one in runs.items()
        if (score := problem.score_of(one)) is not None
    }
    sign = -1.0 if problem.higher_is_better else 1.0
    order = sorted(scores, key=lambda entry: sign * scores[entry])
    places = [
        1 + sum(sign * other < sign * scores[entry] for other in scores.values()) for entry in order
    ]
    return {
        "model": [name for name, _ in order],
        "place": Numbers.written(map(float, places), lambda place: format_score(place, ".0f")),
        problem.score: Numbers.written(
            [scores[entry] for entry in order], lambda score: format_score(score, ".4f")
        ),
        "source": [source for _, source in order],
    }
