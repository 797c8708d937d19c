"""Plan and measure the paper's experiments: the settings of their learners, their runs, and the
values that a run measures.

An `Experiment` lists all its runs. `measure_missing` does those that are not yet in the
experiment's CSV file, and stores each as soon as it is done, so an interrupted command can
resume. The learners' runs are a sweep of recipes (`jobs.sweep`). *Reference lines* are models
without learning from a recipe: the uniform model, the 5-gram and the true model.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import numpy as np

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError, RunsFailed
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import reference_models
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, flat, with_fields
from nlwfa_core.experiment.results import Result, load_result
from nlwfa_core.files import FileShelf, make_directory, read_capped, write_atomically
from nlwfa_core.jobs.sweep import ATTEMPTS, run_missing
from nlwfa_core.jobs.worker import died
from nlwfa_core.learning.learners import HANKEL_LEARNERS, LEARNERS, NETWORK_LEARNERS, SP
from nlwfa_core.learning.names import CONVERGED_EPOCHS
from nlwfa_core.learning.progress import UNFINISHED, Progress, Report, silent
from nlwfa_core.metrics.evaluate import evaluate
from nlwfa_core.metrics.ranking import Prefixes
from nlwfa_core.metrics.score_table import Scores
from nlwfa_core.metrics.tables import csv_text
from nlwfa_core.metrics.testset import TestSet
from nlwfa_core.models.model import Model
from nlwfa_core.models.ngram import NGRAM_ORDER
from nlwfa_core.records import GENERATION
from nlwfa_core.sources.spice import read_targets, targets_of
from nlwfa_core.sources.string_files import read_strings

from .prefixes import PrefixScores, prefix_scores
from .squared import SQUARED_COLUMNS, squared_errors

REFERENCE = "reference"
LINES = ("uniform", f"{NGRAM_ORDER}-gram", "true model")
# Columns are stored by name, so files of runs stay readable when new scores are added.
VALIDATION = ("log2_pauto", "wer", "bits_per_symbol", "num_zero")
TEST = (
    *("log2_pauto", "kl", "wer", "wer_without_end", "bits_per_symbol", "ndcg5"),
    *("ndcg5_true", "next_kl", "total_variation", "rmse"),
    *(
        "num_words",
        "num_zero",
        "num_negative",
        "num_nonfinite",
        "num_impossible",
        "uniform_log2_pauto",
        "true_log2_pauto",
    ),
    "share_tied",
)
# For one of the columns, weights of 0 are raised to this share of the total weight, so log₂
# Pauto is finite.
FLOOR = 1e-30
FLOORED = "kl_floored"
# The name of the column with the number of stages that ended at their limit of epochs while the
# loss was still falling.
UNFINISHED_STAGES = "unfinished_stages"
SCORE_COLUMNS = (
    "num_states",
    *TEST,
    FLOORED,
    *(f"validation_{name}" for name in VALIDATION),
    UNFINISHED_STAGES,
    "seconds",
)
# The paper says that k goes from 1 to 50, and samples from 200 to 20,000; it lists no ranks for the
# verbs.
RANKS = (1, 2, 3, 5, 10, 20, 30, 50)
SAMPLE_RANKS = (2, 5, 10, 20)
VERB_RANKS = (5, 10, 20, 50)
CONTROL_RANKS = (5, 10, 20)
# Networks by likelihood are grown state by state, so large ranks take minutes.
FEW_RANKS = (1, 2, 3, 5, 10)
FEW_SAMPLE_RANKS = (2, 3, 5)
# SPiCe problem 4, in the published version of the paper: training sizes below that of the whole
# file, and the units of its LSTM.
SPICE_SIZES = (1_000, 2_000, 3_000, 4_000)
LSTM_UNITS = 128
READINGS = tuple(f"prefix_wer_{field.name}" for field in fields(PrefixScores))
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
SQUARED_SIZES = (3, 4, 5, 6)
SQUARED_EPOCHS = (3000, 1000)
QUICK_SQUARED_EPOCHS = (30, 10)
QUICK = {"epochs_factorisation": 20, "epochs_transitions": 10, "epochs_refinement": 2}
# learners that `--quick` leaves out, because their training can't be shortened
SLOW = ("GRU", "LSTM")

# Settings: the paper's with a fixed number of epochs, the same trained to convergence, refined
# ones, and controls


MAX_EPOCHS = 300


@dataclass(frozen=True)
class Settings:
    """Holds options that all learners of an experiment share.

    Attributes
    ----------
    title, note : str
        A name for pages, and a note on what the fields below do not cover.
    learners : tuple of str
        The learners to run. The refinement and the fields below apply only to those that learn from
        a Hankel matrix.
    linear, networks : dict
        Fields of `HankelRecipe` that differ from those of the experiment, for SP and for the other
        learners. Boundary symbols are added where a learner needs them.
    learning : dict
        Options of networks that differ from those of the experiment.
    refinement : dict
        Options of the third step, for learners that train networks.
    refines_linear : bool
        Whether SP is also refined.
    steps : int, optional
        The number of gradient steps in the refinement, for any number of strings; its batch is then
        at most a quarter of the strings. By default, the epochs and the batch are those of
        `refinement`.
    """

    title: str
    note: str = ""
    learners: Sequence[str] = HANKEL_LEARNERS
    linear: Mapping[str, object] = field(default_factory=dict)
    networks: Mapping[str, object] = field(default_factory=dict)
    learning: Mapping[str, object] = field(default_factory=dict)
    refinement: Mapping[str, Any] = field(default_factory=dict)
    refines_linear: bool = False
    steps: int | None = None

    def recipe(self, base: Recipe, learner: str, rank: int, seed: int, num_strings: int) -> Recipe:
        """Make the recipe of a learner from that of an experiment, with these settings and
        `num_strings` training strings.
        """
        kind = LEARNERS[learner]
        options: dict[str, Any] = {**self.learning, "learning_seed": seed, "refinement_seed": seed}
        if kind.networks or self.refines_linear:
            options |= self._refinement(num_strings)
        options |= self.networks if kind.networks else self.linear
        return with_fields(base, {"learner": learner, "rank": rank}, options)

    def _refinement(self, num_strings: int) -> Mapping[str, Any]:
        if self.steps is None:
            return self.refinement
        batch = int(np.clip(num_strings // 4, 1, self.refinement["batch"]))
        epochs = int(np.clip(round(self.steps * batch / num_strings), 1, MAX_EPOCHS))
        return {**self.refinement, "batch": batch, "epochs_refinement": epochs}

    def describe(self) -> str:
        """Describe the settings in one or two sentences, for a page."""
        parts = [
            f"{who}: {_listed(options)}"
            for who, options in (("SP", self.linear), ("networks", self.networks))
            if options
        ]
        parts += [_listed(self.learning)] if self.learning else []
        if self.refinement:
            third = SP(**self.refinement)
            steps = (
                f"{third.epochs_refinement} epochs"
                if self.steps is None
                else f"{self.steps:,} steps (at most {MAX_EPOCHS} epochs)"
            )
            decay = f", weight decay {third.weight_decay:g}" if third.weight_decay else ""
            who = "SP is" if self.refines_linear else "networks are"
            parts.append(
                f"{who} refined by {third.refine} in {steps} at rate "
                f"{third.rate_refinement:g}{decay}"
            )
        return ". ".join(filter(None, (self.note, "; ".join(parts)))) + "."


def _listed(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())


# The paper states neither the number of epochs nor the initial weights; these are the library's
# first defaults.
PAPER = Settings(
    "1,000 + 500 epochs of Adamax",
    "The paper's two steps: statistic string, no transform, Adamax at the paper's constant "
    "rates from random weights. The paper does not state a number of epochs; after these, the "
    "second step's loss is still falling",
)
# SP is not among these learners, because its result is the same as with PAPER.
CONVERGED = Settings(
    "training to convergence",
    "The same two steps and losses, trained with L-BFGS from the SVD until 100 epochs lower "
    "the loss by less than 1 % "
    "([convergence](../convergence.md)). SP has nothing to train, so its results are those of "
    "*paper*",
    NETWORK_LEARNERS,
    learning={
        "optimizer": "lbfgs",
        "start": "svd",
        "starts": 1,
        "epochs_factorisation": CONVERGED_EPOCHS,
        "epochs_transitions": CONVERGED_EPOCHS,
    },
)
# After a change here, the refined runs have to be done again.
REFINED = Settings(
    "refined settings",
    "Not the paper's method: a network over conditional probabilities, trained by likelihood in "
    "a third step ([what it is](README.md#what-the-refined-networks-are))",
    ("SP", "both.non"),
    linear={"statistic": "factor"},
    networks={"statistic": "prefix", "transform": "row", "num_prefixes": 500, "num_suffixes": 200},
    learning={
        "hidden": (1, 1, 1),
        "width_transitions": 0,
        "epochs_factorisation": 20,
        "epochs_transitions": 20,
    },
    refinement={"refine": "likelihood", "batch": 250, "weight_decay": 0.3},
    steps=3_000,
)
# Models with the same number of states that are trained by the likelihood of the strings: HMM, GRU,
# and a linear model that starts from SP. The linear model differs from the refined both.non only in
# that it has no tanh.
CONTROLS = Settings(
    "controls, trained by likelihood",
    "HMM and GRU with the library's defaults ([opponents](../opponents.md)), and SP + "
    "likelihood: SP on the matrix of the refined networks, refined for the same number of steps",
    ("HMM", "GRU", "SP"),
    linear={"statistic": "prefix", "transform": "row", "num_prefixes": 500, "num_suffixes": 200},
    refinement={"refine": "likelihood", "batch": 250},
    refines_linear=True,
    steps=3_000,
)
FEW_STATES = Settings(
    "networks of few states, trained by likelihood",
    "Not the paper's method either: the networks that Explore shows, trained by the likelihood of "
    "the next symbol or the end after each prefix, without a Hankel matrix "
    "([how](../likelihood.md))",
    ("both.non",),
    learning={"objective": "likelihood"},
)
# Do not change these names: they are part of stored runs.
SETTINGS = {"paper": PAPER, "converged": CONVERGED, "refined": REFINED, "likelihood": CONTROLS}
DYCK_SETTINGS = {**SETTINGS, "few states": FEW_STATES}
SPICE_SETTINGS = {
    "converged": replace(
        CONVERGED, note=CONVERGED.note.partition(". SP")[0], learners=HANKEL_LEARNERS
    ),
    "likelihood": Settings(
        CONTROLS.title,
        "HMM and LSTM with the library's defaults ([opponents](../opponents.md))",
        ("HMM", "LSTM"),
    ),
}

# Runs, and the file that stores them


Value = float | int | None


@dataclass(frozen=True)
class Planned:
    """Describes a run of an experiment. The names of the fields are part of the keys of stored
    runs.

    Attributes
    ----------
    settings : str
        A name in `Experiment.settings`, or "reference" for a reference line; for squared functions
        a transform of H.
    learner : str
        A learner, or the name of a reference line.
    rank : int
        The requested rank; 0 for a reference line.
    size : int
        The number of training strings; for squared functions the number of states of f.
    seed : int
        The seed with which the strings are drawn or split, and of the learner.
    """

    settings: str
    learner: str
    rank: int
    size: int
    seed: int


@dataclass(frozen=True)
class Measured:
    """Holds a run with its results.

    Attributes
    ----------
    key : str
        A hash of everything that the values depend on.
    planned : Planned
    values : dict
        Column -> value; None if the value is unknown.
    """

    key: str
    planned: Planned
    values: Mapping[str, Value]


FIELDS = ("key", *(field.name for field in fields(Planned)))


class RunFile:
    """Reads and writes a CSV file with a row for each run: its key, its fields, and its values in
    full precision (∞ is "inf").

    Parameters
    ----------
    path : Path
    columns : sequence of str
        The names of the columns of values.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)

    def read(self) -> list[Measured]:
        """Read all runs; a file that does not exist has none.

        Raises
        ------
        RecipeError
            If the file has other columns, or a row is not a run.
        """
        if not self.path.exists():
            return []
        rows = csv.reader(
            io.StringIO(read_capped(self.path, limits.most("file_bytes")).decode(errors="replace"))
        )
        try:
            header = tuple(next(rows, ()))
            if header != (*FIELDS, *self.columns):
                raise RecipeError(
                    f"{self.path} does not have the columns of these runs: move it away, or "
                    "choose another folder"
                )
            return [self._parsed(row) for row in rows]
        except RecipeError:
            raise
        except (ValueError, csv.Error):
            raise RecipeError(
                f"{self.path}: line {rows.line_num} is not a run, which has "
                f"{', '.join(FIELDS)}, and then only numbers or empty "
                "cells: move the file away, or choose another folder"
            ) from None

    def add(self, measured: Measured) -> None:
        """Add a run's row, in place of the row with the same settings, learner, rank, size and
        seed, if there is one.

        The file is replaced as a whole, so it is never left half-written.
        """
        make_directory(self.path.parent)
        by_plan = {one.planned: one for one in self.read()} | {measured.planned: measured}
        rows = [
            (one.key, *astuple(one.planned), *(one.values[column] for column in self.columns))
            for one in by_plan.values()
        ]
        write_atomically(self.path, csv_text([(*FIELDS, *self.columns), *rows]).encode())

    def _parsed(self, row: Sequence[str]) -> Measured:
        """Parse a row. Raises ValueError if the row is not a run."""
        key, settings, learner, rank, size, seed, *values = row
        planned = Planned(settings, learner, int(rank), int(size), int(seed))
        return Measured(key, planned, dict(zip(self.columns, map(_value, values), strict=True)))


def _value(text: str) -> Value:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def select(runs: Iterable[Measured], **values: object) -> Iterator[Measured]:
    """Yield the runs whose fields have certain values.

    >>> runs = [Measured("", Planned("paper", "SP", rank, 100, 0), {}) for rank in (1, 2)]
    >>> [one.planned.rank for one in select(runs, learner="SP", rank=2)]
    [2]
    """
    return (
        one
        for one in runs
        if all(getattr(one.planned, name) == value for name, value in values.items())
    )


def distinct(runs: Iterable[Measured], name: str) -> list[int]:
    """List the ranks, sizes or seeds of runs, ascending, without the rank 0 of reference lines."""
    return sorted(
        {getattr(one.planned, name) for one in runs if name != "rank" or one.planned.rank}
    )


# Experiments


@dataclass(frozen=True)
class Experiment:
    """Holds the plan of an experiment.

    Attributes
    ----------
    name : str
        The name of the page.
    file : str
        The name of the CSV file without its ending; experiments that share runs share the file.
    runs : tuple of Planned
        The runs in the order in which they are done; successive runs share strings and Hankel
        matrix.
    base : Recipe or None
        The paper's data, basis and layers; None for squared functions.
    uploads : dict
        SHA-256 -> bytes of each file of strings that the recipes read.
    settings : dict
        Name -> settings.
    prefixes : Prefixes or None
        Prefixes with targets, on which models are also scored.
    epochs : (int, int)
        The epochs of the two steps, for squared functions.
    quick : bool
        Whether all training is shortened, to check that everything works.
    """

    name: str
    file: str
    runs: tuple[Planned, ...]
    base: Recipe | None = None
    uploads: Mapping[str, bytes] = field(default_factory=dict)
    settings: Mapping[str, Settings] = field(default_factory=lambda: SETTINGS)
    prefixes: Prefixes | None = None
    epochs: tuple[int, int] = SQUARED_EPOCHS
    quick: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        if self.base is None:
            return SQUARED_COLUMNS
        return (*SCORE_COLUMNS, *READINGS) if self.prefixes else SCORE_COLUMNS

    def ranks(self, settings: str = "paper", learner: str = "SP") -> list[int]:
        """List the ranks of a learner with some settings, ascending; by default those of SP with
        the paper's settings.
        """
        return sorted(
            {
                planned.rank
                for planned in self.runs
                if (planned.settings, planned.learner) == (settings, learner)
            }
        )

    def is_learned(self, planned: Planned) -> bool:
        """Return whether a run learns a model from a recipe, as all do except reference lines and
        squared functions.
        """
        return self.base is not None and planned.settings != REFERENCE

    @property
    def runs_by_settings(self) -> dict[str, list[Planned]]:
        names = dict.fromkeys(planned.settings for planned in self.runs)
        return {
            name: [planned for planned in self.runs if planned.settings == name] for name in names
        }

    def recipe(self, planned: Planned) -> Recipe:
        """Make the recipe of a run; a reference line gets the recipe of its data.

        Raises RecipeError for squared functions.
        """
        if self.base is None:
            raise RecipeError(f"the runs of {self.name} have no recipe")
        size = (
            {"num_strings": planned.size}
            if self.base.data.source == "dyck" or self.prefixes
            else {}
        )
        base = self.base.changed(data=self.base.data.changed(seed=planned.seed, **size))
        if not self.is_learned(planned):
            return base
        recipe = self.settings[planned.settings].recipe(
            base, planned.learner, planned.rank, planned.seed, planned.size
        )
        return _quick(recipe) if self.quick else recipe

    def key(self, planned: Planned) -> str:
        """Hash everything that the values of a run depend on: 16 hexadecimal digits."""
        if self.base is None:
            content: Sequence[object] = (GENERATION, asdict(planned), self.epochs)
        elif not self.is_learned(planned):
            content = (planned.learner, self.recipe(planned).data.key())
        else:
            content = (self.recipe(planned).key(),)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def dyck(name: str, seeds: int, quick: bool) -> Experiment:
    """Plan the experiment of Figures 2 and 3 ("dyck-rank") or 4 and 5 ("dyck-samples").

    Both share the runs that both need.
    """
    base = PRESETS["paper-dyck"][1]
    ranks: Sequence[int] = RANKS if name == "dyck-rank" else SAMPLE_RANKS
    sizes: Sequence[int] = SIZES[-1:] if name == "dyck-rank" else SIZES
    if quick:
        base = _shortened(base)
        ranks = (1, 2)
        sizes = (100,) if name == "dyck-rank" else (50, 100)
    own_ranks: dict[str, Sequence[int]] = {}
    if name == "dyck-rank" and not quick:
        own_ranks = {"likelihood": CONTROL_RANKS, "few states": FEW_RANKS}
    elif not quick:
        own_ranks = {"few states": FEW_SAMPLE_RANKS}

    def ranks_of(settings: str, learner: str) -> Sequence[int]:
        return own_ranks.get(settings, ranks)

    runs = _learner_runs(DYCK_SETTINGS, LINES, sizes, seeds, ranks_of)
    runs = _without_slow(runs) if quick else runs
    return Experiment(name, "dyck", runs, base, settings=DYCK_SETTINGS, quick=quick)


def verbs(
    seeds: int, quick: bool, train: bytes | None = None, test: bytes | None = None
) -> Experiment:
    """Plan the experiment of Table 1 with the strings of two files, for training and for scoring,
    or with the shipped verbs.
    """
    if (train is None) != (test is None):
        raise RecipeError("verbs needs both --train and --validation, or neither; got one")
    base = PRESETS["paper-verbs"][1]
    uploads = {}
    if train is None or test is None:
        data = DataRecipe(source="verbs", num_validation=300, num_test=300)
    else:
        uploads = {hashlib.sha256(content).hexdigest(): content for content in (train, test)}
        upload, upload_test = (hashlib.sha256(content).hexdigest() for content in (train, test))
        data = DataRecipe(
            source="upload", num_validation=450, upload=upload, upload_test=upload_test
        )
    if quick:
        data = data.changed(num_strings=200)
    base = _shortened(base.changed(data=data)) if quick else base.changed(data=data)
    # A random split leaves the same number of strings for training with each seed.
    size = load_data(data, uploads.__getitem__).train.num_strings
    name = "verbs" if uploads else "verbs-shipped"
    ranks = (1, 2) if quick else VERB_RANKS
    runs = _learner_runs(SETTINGS, LINES[:2], (size,), seeds, lambda settings, learner: ranks)
    return Experiment(
        name, name, _without_slow(runs) if quick else runs, base, uploads, quick=quick
    )


def spice(seeds: int, quick: bool, train: bytes, prefixes: bytes, targets: bytes) -> Experiment:
    """Plan the experiment of the table in the published version: SPiCe problem 4 by training size,
    scored on prefixes with targets.

    Raises
    ------
    RecipeError
        If a file can't be read, or prefixes and targets don't belong together.
    """
    uploads = {hashlib.sha256(content).hexdigest(): content for content in (train, prefixes)}
    upload, upload_test = (hashlib.sha256(content).hexdigest() for content in (train, prefixes))
    data = DataRecipe(source="upload", num_validation=450, upload=upload, upload_test=upload_test)
    base = PRESETS["paper-verbs"][1].changed(data=data)
    loaded = load_data(data, uploads.__getitem__)
    words = read_strings(prefixes, alphabet=loaded.alphabet).words
    total = loaded.train.num_strings
    smaller = (50,) if quick else SPICE_SIZES
    sizes = (*(size for size in smaller if size < total), 100 if quick and total > 100 else total)
    ranks = (1, 2) if quick else VERB_RANKS

    def ranks_of(settings: str, learner: str) -> Sequence[int]:
        return (LSTM_UNITS,) if learner == "LSTM" else ranks

    runs = _learner_runs(SPICE_SETTINGS, LINES[:2], sizes, seeds, ranks_of)
    runs = _without_slow(runs) if quick else runs
    scored = Prefixes(words, targets_of(read_targets(targets), len(words))[0])
    base = _shortened(base) if quick else base
    return Experiment(
        "spice-4", "spice-4", runs, base, uploads, SPICE_SETTINGS, scored, quick=quick
    )


def squared(seeds: int, quick: bool) -> Experiment:
    """Plan the experiment on squared functions f²: SP and fac.non on H and on H^{1/2}, at ranks
    near k, 2k and k (k + 1) / 2.
    """
    runs = [
        Planned(transform, learner, rank, k, seed)
        for seed, k in product(range(seeds), SQUARED_SIZES[:1] if quick else SQUARED_SIZES)
        for transform, learner in product(("none", "sqrt"), ("SP", "fac.non"))
        for rank in sorted({k - 1, k, k + 1, 2 * k, k * (k + 1) // 2 - 1, k * (k + 1) // 2})
    ]
    return Experiment(
        "squared", "squared", tuple(runs), epochs=QUICK_SQUARED_EPOCHS if quick else SQUARED_EPOCHS
    )


def _quick(recipe: Recipe) -> Recipe:
    values = flat(recipe)
    epochs = {name: min(values[name], most) for name, most in QUICK.items() if name in values}
    return with_fields(recipe, epochs)


def _shortened(base: Recipe) -> Recipe:
    return with_fields(base, {"num_prefixes": 20, "num_suffixes": 20}, QUICK)


def _learner_runs(
    settings: Mapping[str, Settings],
    lines: Sequence[str],
    sizes: Sequence[int],
    seeds: int,
    ranks_of: Callable[[str, str], Sequence[int]],
) -> tuple[Planned, ...]:
    """Plan the runs of an experiment: first reference lines, then the settings one after another,
    each for all seeds.

    Parameters
    ----------
    ranks_of : callable
        A function (name of settings, learner) -> ranks.
    """
    references = [
        Planned(REFERENCE, line, 0, size, seed)
        for seed, size, line in product(range(seeds), sizes, lines)
    ]
    learned = [
        Planned(name, learner, rank, size, seed)
        for name in settings
        for seed, size, learner in product(range(seeds), sizes, settings[name].learners)
        for rank in ranks_of(name, learner)
    ]
    return (*references, *learned)


def _without_slow(runs: Iterable[Planned]) -> tuple[Planned, ...]:
    return tuple(planned for planned in runs if planned.learner not in SLOW)


# Measuring


def measure_missing(
    experiment: Experiment,
    folder: Path,
    jobs: int = 1,
    seconds: float | None = None,
    report: Report = silent,
) -> list[Measured]:
    """Do the runs that the experiment's file lacks, or has with other settings or data, and store
    each as soon as it is done.

    Parameters
    ----------
    folder : Path
        The folder of the experiment's CSV file.
    jobs : int
        The number of worker processes.
    seconds : float, optional
        After this time no run is started; those that are running are finished.
    report : callable
        Called with a Progress, in which a step is a run.

    Returns
    -------
    list of Measured
        All runs of the experiment that are done, in its order.

    Raises
    ------
    RunsFailed
        If a run fails; it is raised after all other runs are done.
    RecipeError
        If the file can't be read or written. Runs that were finished before stay in the file.
    """
    file = RunFile(folder / f"{experiment.file}.csv", experiment.columns)
    deadline = None if seconds is None else monotonic() + seconds
    keys = {planned: experiment.key(planned) for planned in experiment.runs}
    measured = {one.planned: one for one in file.read() if one.key == keys.get(one.planned)}
    missing = [planned for planned in experiment.runs if planned not in measured]
    report(Progress("runs", len(measured), len(keys)))

    def store(planned: Planned, values: Mapping[str, Value]) -> None:
        measured[planned] = Measured(keys[planned], planned, values)
        file.add(measured[planned])
        report(Progress("runs", len(measured), len(keys)))

    others = [planned for planned in missing if not experiment.is_learned(planned)]
    for planned, values in _measure_others(experiment, others, jobs, deadline):
        store(planned, values)
    learned = [planned for planned in missing if experiment.is_learned(planned)]
    _measure_learned(experiment, learned, jobs, deadline, store)
    return [measured[planned] for planned in experiment.runs if planned in measured]


def _measure_learned(
    experiment: Experiment,
    learned: Sequence[Planned],
    jobs: int,
    deadline: float | None,
    store: Callable[[Planned, Mapping[str, Value]], None],
) -> None:
    """Do runs that learn from recipes, by a sweep in a temporary folder."""
    seconds = None if deadline is None else deadline - monotonic()
    if not learned or (seconds is not None and seconds <= 0):
        return
    recipes = {planned: experiment.recipe(planned) for planned in learned}
    by_key = {recipe.key(): planned for planned, recipe in recipes.items()}

    @lru_cache(maxsize=1)
    def test_set(data: DataRecipe) -> TestSet:
        return load_data(data, experiment.uploads.__getitem__).test

    with TemporaryDirectory(prefix="nlwfa-reproduce-") as name:
        home = Path(name)
        for content in experiment.uploads.values():
            FileShelf(home / "uploads").put(content)

        def store_result(key: str, failure: str | None) -> None:
            if failure is None:
                result = load_result(home / "runs" / key)
                store(
                    by_key[key],
                    _of_result(result, test_set) | _prefix_columns(experiment, result.model),
                )

        to_run = {key: recipes[planned] for key, planned in by_key.items()}
        swept = run_missing(to_run, home, jobs, seconds=seconds, each=store_result, history=False)
    if swept.failed:
        runs = [(by_key[key], message) for key, message in swept.failed.items()]
        raise RunsFailed(
            "; ".join(
                f"{run.learner}, k = {run.rank}, n = {run.size:,}, seed {run.seed}: {text}"
                for run, text in runs
            )
        )


def _measure_others(
    experiment: Experiment, others: Sequence[Planned], jobs: int, deadline: float | None
) -> Iterator[tuple[Planned, Mapping[str, Value]]]:
    """Do the runs that do not learn from a recipe: reference lines and squared functions."""
    from joblib import Parallel, delayed

    remaining = list(others)
    deaths = 0
    while remaining:
        in_time = (
            planned for planned in tuple(remaining) if deadline is None or monotonic() < deadline
        )
        if jobs == 1:
            yield from (_measure(experiment, planned) for planned in in_time)
            return
        parallel = Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs, batch_size=1)
        try:
            for planned, values in parallel(
                delayed(_measure)(experiment, planned) for planned in in_time
            ):
                remaining.remove(planned)
                deaths = 0
                yield planned, values
            return
        except BrokenExecutor:  # a process was killed; joblib then starts others
            deaths += 1
            if deaths == ATTEMPTS:
                raise RunsFailed(died(ATTEMPTS)) from None


def _measure(experiment: Experiment, planned: Planned) -> tuple[Planned, Mapping[str, Value]]:
    if experiment.base is None:
        size = planned.size
        transform = planned.settings
        return planned, squared_errors(
            planned.seed, size, planned.rank, planned.learner, transform, experiment.epochs
        )
    data = load_data(experiment.recipe(planned).data, experiment.uploads.__getitem__)
    model = reference_models(data, NGRAM_ORDER)[planned.learner]
    scores = evaluate(model, data.test)
    others: dict[str, Value] = {"num_states": 0, UNFINISHED_STAGES: None, "seconds": 0.0}
    return planned, _columns(scores, scores.kl, None) | others | _prefix_columns(experiment, model)


def _prefix_columns(experiment: Experiment, model: Model) -> dict[str, Value]:
    if experiment.prefixes is None:
        return {}
    return dict(zip(READINGS, astuple(prefix_scores(model, experiment.prefixes)), strict=True))


def _of_result(result: Result, test_set: Callable[[DataRecipe], TestSet]) -> dict[str, Value]:
    scores = result.scores
    floored = (
        evaluate(result.model, test_set(result.recipe.data), FLOOR).kl
        if scores.num_zero
        else scores.kl
    )
    unfinished = (
        sum(log.state == UNFINISHED for log in result.report.logs) if result.report.logs else None
    )
    return _columns(scores, floored, result.validation) | {
        "num_states": result.report.num_states,
        UNFINISHED_STAGES: unfinished,
        "seconds": result.seconds["learning"],
    }


def _columns(scores: Scores, floored: float | None, validation: Scores | None) -> dict[str, Value]:
    test_scores = {name: getattr(scores, name) for name in TEST}
    validation_scores = {
        f"validation_{name}": getattr(validation, name) if validation else None
        for name in VALIDATION
    }
    return {**test_scores, FLOORED: floored, **validation_scores}
