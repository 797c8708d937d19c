"""Opponents by name: "uniform", "5-gram" (any order), "HMM", "GRU", "LSTM". Nothing here sees test strings."""

from __future__ import annotations

import re

from ..errors import RecipeError
from ..models.model import Model
from ..models.ngram import NGram, Uniform
from ..models.recurrent import GATES
from ..strings.sample import Sample
from .hmm import fit_hmm
from .names import OF_STATES
from .progress import CancelCheck, Report, never, silent


def fit_opponent(
    name: str,
    train: Sample,
    num_states: int,
    *,
    seed: int = 0,
    validation: Sample | None = None,
    report: Report = silent,
    cancelled: CancelCheck = never,
) -> Model:
    """The model of a name, learned with its defaults from training strings; `num_states` matters to those in `OF_STATES` alone.

    Parameters
    ----------
    validation : Sample, optional
        For early stopping of those in `OF_STATES`.

    Raises
    ------
    RecipeError
        If the name is unknown or learning not possible.
    Cancelled

    Examples
    --------
    >>> from nlwfa_core.strings.words import Alphabet, Words
    >>> fit_opponent("uniform", Sample.of(Words.of([(0,)]), Alphabet(("a", "b"))), num_states=1).weights(Words.of([()])).round(3)
    array([0.333])
    """
    if name == "uniform":
        return Uniform(train.num_symbols)
    if order := re.fullmatch(r"([0-9]{1,3})-gram", name):
        return NGram.fit(train, int(order[1]))
    if name == "HMM":
        return fit_hmm(train, num_states, seed=seed, validation=validation, report=report, cancelled=cancelled)
    if name in GATES:
        from .recurrent import fit_recurrent

        return fit_recurrent(train, name, num_states, seed=seed, validation=validation, report=report, cancelled=cancelled)
    raise RecipeError(f"opponent: {name!r} given, allowed: uniform, n-gram with a number for n, {', '.join(OF_STATES)}")
