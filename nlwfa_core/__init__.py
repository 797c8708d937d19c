"""NL-WFA core: learning weighted finite automata, linear and nonlinear, from strings.

The names below do the whole of it; importing them does not import torch, which only training networks needs.
"""

__version__ = "0.1.0"

from .baselines import NGram
from .data import load_data
from .errors import RecipeError
from .experiment import Result, run, select_rank
from .hankel import estimate_hankel, select_basis
from .learning.learners import fit
from .metrics import TestSet, evaluate
from .nlwfa import NLWFA
from .recipe import DataRecipe, HankelRecipe, LearningRecipe, Recipe
from .sources.formats import read_strings
from .store import load_model, save_model
from .wfa import WFA
from .words import Alphabet, Sample, Words

__all__ = [
    "NLWFA",
    "WFA",
    "Alphabet",
    "DataRecipe",
    "HankelRecipe",
    "LearningRecipe",
    "NGram",
    "Recipe",
    "RecipeError",
    "Result",
    "Sample",
    "TestSet",
    "Words",
    "estimate_hankel",
    "evaluate",
    "fit",
    "load_data",
    "load_model",
    "read_strings",
    "run",
    "save_model",
    "select_basis",
    "select_rank",
]
