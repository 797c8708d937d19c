"""NL-WFA core: learning weighted finite automata, linear and nonlinear, from strings.

The public names cover strings -> Hankel matrix -> model -> scores, step by step or, with a recipe,
in one call. Each name is loaded when it is first used, so importing the package takes no time, and
torch is imported only to train networks.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import RecipeError
    from .experiment.cross_validation import cross_validate
    from .experiment.data import load_data
    from .experiment.pipeline import prepare, reference_models, run
    from .experiment.recipe import DataRecipe, HankelRecipe, Recipe
    from .experiment.selection import fit_best, select_rank
    from .files import FileShelf
    from .files import __version__ as __version__
    from .hankel.basis import Basis, select_basis
    from .hankel.estimate import estimate_hankel
    from .hankel.matching import matching_basis
    from .hankel.matrix import HankelMatrix, dense_hankel, exact_hankel
    from .hankel.values import value_scores
    from .lab.svg import heat_map_png, loss_svgs, singular_values_svg
    from .learning.fitting import fit, fit_strings
    from .learning.learners import options
    from .learning.queries import (
        conformance_oracle,
        conformance_words,
        exact_oracle,
        learn_by_queries,
        sampling_oracle,
    )
    from .learning.spectral import linear_loss
    from .learning.values import fit_values
    from .metrics.intervals import intervals, paired_differences, string_scores
    from .metrics.ranking import Targets, rank_next, score_ranking
    from .metrics.scores import Scores, TestSet, evaluate
    from .models.algebra import (
        approximate,
        converges_absolutely,
        counterexample,
        distance,
        equivalent,
        minimise,
        norm,
        posterior,
        relative_entropy,
        reverse,
        singular_value_automaton,
        trim,
        viterbi,
    )
    from .models.files import SavedModel, load_model, save_model
    from .models.mixture import Mixture, fit_mixture, mixture
    from .models.ngram import NGram
    from .models.nlwfa import NLWFA
    from .models.sampling import draw
    from .models.wfa import WFA
    from .sources.automata import sample_words
    from .sources.files import read_strings
    from .sources.pautomac import read_pautomac_model, read_solution
    from .sources.prefixes import read_prefixes, read_ranking, read_targets, write_ranking
    from .sources.values import read_values
    from .strings.plain import as_sample
    from .strings.sample import Sample
    from .strings.words import Alphabet, Words

# Public name -> the module that holds it.
HOMES = {
    "Alphabet": "strings.words",
    "Basis": "hankel.basis",
    "DataRecipe": "experiment.recipe",
    "FileShelf": "files",
    "HankelMatrix": "hankel.matrix",
    "HankelRecipe": "experiment.recipe",
    "Mixture": "models.mixture",
    "NGram": "models.ngram",
    "NLWFA": "models.nlwfa",
    "Recipe": "experiment.recipe",
    "RecipeError": "errors",
    "Sample": "strings.sample",
    "SavedModel": "models.files",
    "Scores": "metrics.scores",
    "Targets": "metrics.ranking",
    "TestSet": "metrics.scores",
    "WFA": "models.wfa",
    "Words": "strings.words",
    "approximate": "models.algebra",
    "as_sample": "strings.plain",
    "conformance_oracle": "learning.queries",
    "conformance_words": "learning.queries",
    "converges_absolutely": "models.algebra",
    "counterexample": "models.algebra",
    "cross_validate": "experiment.cross_validation",
    "dense_hankel": "hankel.matrix",
    "distance": "models.algebra",
    "draw": "models.sampling",
    "equivalent": "models.algebra",
    "estimate_hankel": "hankel.estimate",
    "evaluate": "metrics.scores",
    "exact_hankel": "hankel.matrix",
    "exact_oracle": "learning.queries",
    "fit": "learning.fitting",
    "fit_best": "experiment.selection",
    "fit_mixture": "models.mixture",
    "fit_strings": "learning.fitting",
    "fit_values": "learning.values",
    "heat_map_png": "lab.svg",
    "intervals": "metrics.intervals",
    "learn_by_queries": "learning.queries",
    "linear_loss": "learning.spectral",
    "load_data": "experiment.data",
    "load_model": "models.files",
    "loss_svgs": "lab.svg",
    "matching_basis": "hankel.matching",
    "minimise": "models.algebra",
    "mixture": "models.mixture",
    "norm": "models.algebra",
    "options": "learning.learners",
    "paired_differences": "metrics.intervals",
    "posterior": "models.algebra",
    "prepare": "experiment.pipeline",
    "rank_next": "metrics.ranking",
    "read_pautomac_model": "sources.pautomac",
    "read_prefixes": "sources.prefixes",
    "read_ranking": "sources.prefixes",
    "read_solution": "sources.pautomac",
    "read_strings": "sources.files",
    "read_targets": "sources.prefixes",
    "read_values": "sources.values",
    "reference_models": "experiment.pipeline",
    "relative_entropy": "models.algebra",
    "reverse": "models.algebra",
    "run": "experiment.pipeline",
    "sample_words": "sources.automata",
    "sampling_oracle": "learning.queries",
    "save_model": "models.files",
    "score_ranking": "metrics.ranking",
    "select_basis": "hankel.basis",
    "select_rank": "experiment.selection",
    "singular_value_automaton": "models.algebra",
    "singular_values_svg": "lab.svg",
    "string_scores": "metrics.intervals",
    "trim": "models.algebra",
    "value_scores": "hankel.values",
    "viterbi": "models.algebra",
    "write_ranking": "sources.prefixes",
}
# Programs and notebooks that version 0.1 gave away import these modules under the names on the
# left.
FORMER = {
    "nlwfa_core.data": "nlwfa_core.files",
    "nlwfa_core.export": "nlwfa_core.lab.export",
    "nlwfa_core.export.drawings": "nlwfa_core.lab.svg",
}

__all__ = [
    "Alphabet",
    "Basis",
    "DataRecipe",
    "FileShelf",
    "HankelMatrix",
    "HankelRecipe",
    "Mixture",
    "NGram",
    "NLWFA",
    "Recipe",
    "RecipeError",
    "Sample",
    "SavedModel",
    "Scores",
    "Targets",
    "TestSet",
    "WFA",
    "Words",
    "approximate",
    "as_sample",
    "conformance_oracle",
    "conformance_words",
    "converges_absolutely",
    "counterexample",
    "cross_validate",
    "dense_hankel",
    "distance",
    "draw",
    "equivalent",
    "estimate_hankel",
    "evaluate",
    "exact_hankel",
    "exact_oracle",
    "fit",
    "fit_best",
    "fit_mixture",
    "fit_strings",
    "fit_values",
    "heat_map_png",
    "intervals",
    "learn_by_queries",
    "linear_loss",
    "load_data",
    "load_model",
    "loss_svgs",
    "matching_basis",
    "minimise",
    "mixture",
    "norm",
    "options",
    "paired_differences",
    "posterior",
    "prepare",
    "rank_next",
    "read_pautomac_model",
    "read_prefixes",
    "read_ranking",
    "read_solution",
    "read_strings",
    "read_targets",
    "read_values",
    "reference_models",
    "relative_entropy",
    "reverse",
    "run",
    "sample_words",
    "sampling_oracle",
    "save_model",
    "score_ranking",
    "select_basis",
    "select_rank",
    "singular_value_automaton",
    "singular_values_svg",
    "string_scores",
    "trim",
    "value_scores",
    "viterbi",
    "write_ranking",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from .files import __version__

        return __version__
    if name not in HOMES:
        raise AttributeError(f"module 'nlwfa_core' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"nlwfa_core.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])


class _FormerNames(MetaPathFinder, Loader):
    """Finds modules under the names that they had."""

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        return (
            spec_from_loader(fullname, self, is_package=fullname == "nlwfa_core.export")
            if fullname in FORMER
            else None
        )

    def exec_module(self, module: ModuleType) -> None:
        now = importlib.import_module(FORMER[module.__name__])
        vars(module).update(
            {name: value for name, value in vars(now).items() if not name.startswith("__")}
        )


if not any(type(finder).__name__ == "_FormerNames" for finder in sys.meta_path):
    sys.meta_path.append(_FormerNames())
