"""The runs in play on a page: which can be put side by side, and a button that trains those that are missing."""

from __future__ import annotations

from nlwfa_core import Recipe, RecipeError
from nlwfa_core.experiment.data import Data
from pages.shared import blocks, pins, runs


def train_controls(recipe: Recipe, key: str) -> None:
    """One button for the sidebar's run and the pinned ones, where one of them has not been trained."""
    waiting = [run for run in pins.in_play(recipe).values() if runs.result(run) is None]
    if waiting:
        label = f"Train {recipe.learning.learner}" if waiting == [recipe] else "Train what is in play"
        blocks.train_controls(waiting, label, key)


def comparable(playing: dict[str, Recipe], data: Data) -> dict[str, Recipe]:
    """Runs over the alphabet of these strings; of others it is said why they are left out."""
    kept = {}
    for name, run in playing.items():
        try:
            alphabet = runs.data(run.data).alphabet
        except RecipeError as error:  # a link's pin, whose file is not on this server
            blocks.notes(f"{name} is left out: {error}")
            continue
        if alphabet == data.alphabet:
            kept[name] = run
        else:
            blocks.notes(f"{name} is left out: it was learned from another alphabet than the sidebar's strings.")
    return kept
