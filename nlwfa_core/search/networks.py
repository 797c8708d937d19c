"""Define the NL-WFA that a search trains: by likelihood, which is better and quicker where ranks
grow (`learning.likelihood.path`), and refined by likelihood, whose steps can be chosen.
"""

from __future__ import annotations

import numpy as np

from ..experiment.presets import PAPER
from ..experiment.recipe import Recipe
from ..hankel.recipe import HankelRecipe
from ..learning.learners import BothNon, options
from ..learning.likelihood.many_symbols import GENERATIONS, MOST_DRAWN, MOST_PREDICTIONS
from ..learning.likelihood.network import Network
from ..learning.likelihood.newton import MOST_WEIGHTS, is_large
from ..learning.likelihood.path import FRESH_UP_TO, WIDTH, Path
from ..learning.two_steps import FitCache
from ..strings.sample import Sample

# The largest batch and number of epochs of a refinement.
MAX_BATCH, MAX_EPOCHS = 250, 300


def by_likelihood(rank: int, seed: int) -> Recipe:
    """Make the recipe of a network trained by likelihood."""
    return Recipe(learning=BothNon(rank=rank, objective="likelihood", seed=seed))


def path_of_ranks(train: Sample, seed: int) -> FitCache | None:
    """Prepare the networks of all ranks, trained by likelihood, so each goes on from the one below.

    Returns None where ranks do not grow, because there are too many symbols or prefixes.
    """
    num_symbols, rank, width = train.num_symbols, FRESH_UP_TO, WIDTH * FRESH_UP_TO
    network = Network(
        np.zeros(rank),
        (np.zeros((num_symbols, rank, width)), np.zeros((num_symbols, width, rank))),
        (np.zeros((rank, width)),),
        np.zeros((width, num_symbols + 1)),
    )
    if len(network.vector) > MOST_WEIGHTS:  # before all prefixes are counted
        return None
    learning = BothNon(objective="likelihood", seed=seed)
    tanh = learning.nonlinear_transitions, learning.nonlinear_factorisation
    path = Path(train, *tanh, learning.ridge, seed)
    if is_large(network, path.curvature_of):
        return None
    return FitCache(paths={(learning.learner, learning.ridge, seed): path})


def share_of_a_pass(train: Sample) -> float:
    """Return the share that the first pass over the strings has of all that a network trained by
    likelihood of many symbols, and the networks that teach it, compute.
    """
    own = train.num_strings * (1 + train.mean_length)
    total = 0.0
    for generation in GENERATIONS:
        in_a_pass = own + min(generation.drawn * own, MOST_DRAWN)
        all_passes = min(generation.passes * in_a_pass, MOST_PREDICTIONS)
        total += generation.networks * max(all_passes, in_a_pass)
    return own / total


def refined(
    rank: int, train: Sample, steps: int, regularisation: tuple[float, float], seed: int
) -> Recipe:
    """Make the recipe of a network that is refined by likelihood in about `steps` steps.

    Parameters
    ----------
    rank : int
    train : Sample
    steps : int
    regularisation : pair of float
        Dropout, and weight decay.
    seed : int
    """
    hankel = HankelRecipe(
        num_prefixes=500,
        num_suffixes=200,
        statistic="prefix",
        bounded=True,
        transform="row",
    )
    strings = int(train.counts.sum())
    batch = int(np.clip(strings // 4, 1, MAX_BATCH))
    epochs = int(np.clip(round(steps * batch / strings), 1, MAX_EPOCHS))
    dropout, weight_decay = regularisation
    learning = options(
        "both.non",
        **{**PAPER, "epochs_factorisation": 20, "epochs_transitions": 20},
        rank=rank,
        hidden=(1, 1, 1),
        width_transitions=0,
        seed=seed,
        refine="likelihood",
        epochs_refinement=epochs,
        batch=batch,
        refinement_seed=seed,
        dropout=dropout,
        weight_decay=weight_decay,
    )
    return Recipe(hankel=hankel, learning=learning)
