"""NL-WFA core: learning weighted finite automata, linear and nonlinear, from strings.

The names below do the whole of it: strings -> Hankel matrix -> model -> scores, step by step or, with a recipe, in one call.
Importing them does not import torch, which only training networks needs.
"""

__version__ = "0.1.0"

from .baselines import NGram
from .basis import select_basis
from .errors import RecipeError
from .estimation import estimate_hankel
from .experiment import run
from .learning.functions import fit_values
from .learning.learners import fit
from .metrics import TestSet, evaluate
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe, RefinementRecipe
from .selection import select_rank
from .sources.formats import read_strings
from .sources.valued import read_values
from .store import SavedModel, load_model, save_model
from .values import value_scores

__all__ = [
    "DataRecipe",
    "HankelRecipe",
    "LearningRecipe",
    "NGram",
    "Recipe",
    "RecipeError",
    "RefinementRecipe",
    "SavedModel",
    "TestSet",
    "estimate_hankel",
    "evaluate",
    "fit",
    "fit_values",
    "load_model",
    "read_strings",
    "read_values",
    "run",
    "save_model",
    "select_basis",
    "select_rank",
    "value_scores",
]
