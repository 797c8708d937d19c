"""The paper's four experiments: the settings of their learners, the runs they consist of, and what one run measures.

Runs are planned first (`Experiment.runs`). `measure_missing` does those that are not in the experiment's CSV file yet, and stores
each as soon as it is done, so that an interrupted command can resume. The learners' runs are a sweep of recipes (`jobs.sweep`).
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from functools import lru_cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from .. import limits
from ..errors import RecipeError
from ..experiment.data import load_data
from ..experiment.pipeline import reference_models
from ..experiment.presets import PRESETS
from ..experiment.recipe import GENERATION, DataRecipe, HankelRecipe, LearningRecipe, Recipe, RefinementRecipe
from ..experiment.results import Result, load_result
from ..files import FileShelf, make_directory, read_capped, write_atomically
from ..jobs.sweep import run_missing
from ..learning.names import HANKEL_LEARNERS, LEARNERS, needs_boundary
from ..learning.progress import Progress, Report, silent
from ..metrics.scores import Scores, TestSet, evaluate
from .squared import SQUARED_COLUMNS, squared_errors

REFERENCE = "reference"
NGRAM_ORDER = 5
LINES = ("uniform", f"{NGRAM_ORDER}-gram", "true model")
# Columns are stored by name, so that files of runs stay readable when new scores are added.
VALIDATION = ("log2_pauto", "wer", "bits_per_symbol", "num_zero")
TEST = (
    *("log2_pauto", "kl", "wer", "wer_without_end", "bits_per_symbol", "ndcg5"),
    *("ndcg5_true", "next_kl", "total_variation", "rmse"),
    *("num_words", "num_zero", "num_negative", "num_nonfinite", "num_impossible", "uniform_log2_pauto", "true_log2_pauto"),
    "share_tied",
)
# A weight of 0 is raised to this share of the total weight, so that log₂ Pauto is finite; the result has a column of its own.
FLOOR = 1e-30
FLOORED = "kl_floored"
SCORE_COLUMNS = ("num_states", *TEST, FLOORED, *(f"validation_{name}" for name in VALIDATION), "seconds")
# The paper says that k goes from 1 to 50, and samples from 200 to 20,000; it lists no ranks for the verbs.
RANKS, SAMPLE_RANKS, VERB_RANKS = (1, 2, 3, 5, 10, 20, 30, 50), (2, 5, 10, 20), (5, 10, 20, 50)
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
SQUARED_SIZES = (3, 4, 5, 6)
SQUARED_EPOCHS, QUICK_SQUARED_EPOCHS = (3000, 1000), (30, 10)
QUICK = LearningRecipe(epochs_factorisation=20, epochs_transitions=10)

# Settings: as in the paper, and as well as we know how to


TWO_STEPS = RefinementRecipe()
MAX_EPOCHS = 300


@dataclass(frozen=True)
class Settings:
    """What all learners of an experiment have in common.

    Attributes
    ----------
    title : str
        For people.
    learners : tuple of str
        The learners to run.
    linear, networks : dict
        Fields of `HankelRecipe` that differ from the experiment's own, for SP and for the other learners. Boundary symbols are
        added where a learner needs them.
    learning : dict
        Fields of `LearningRecipe` that differ.
    refinement : RefinementRecipe
        The third step, for learners that train networks.
    steps : int, optional
        Number of gradient steps in the third step, whatever the number of strings; its batch is then at most a quarter of the
        strings. By default the refinement's own epochs and batch are used.
    """

    title: str
    learners: Sequence[str] = HANKEL_LEARNERS
    linear: Mapping[str, object] = field(default_factory=dict)
    networks: Mapping[str, object] = field(default_factory=dict)
    learning: Mapping[str, object] = field(default_factory=dict)
    refinement: RefinementRecipe = TWO_STEPS
    steps: int | None = None

    def recipe(self, base: Recipe, learner: str, rank: int, seed: int, num_strings: int) -> Recipe:
        """Apply these settings to an experiment's recipe with `num_strings` training strings."""
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
        epochs = int(np.clip(round(self.steps * batch / num_strings), 1, MAX_EPOCHS))
        return self.refinement.changed(batch=batch, epochs=epochs)

    def describe(self) -> str:
        """Describe the settings in one sentence, for a page."""
        third = self.refinement
        parts = [f"{who}: {_listed(options)}" for who, options in (("SP", self.linear), ("networks", self.networks)) if options]
        parts += [_listed(self.learning)] if self.learning else []
        if third.objective != "none":
            steps = f"{third.epochs} epochs" if self.steps is None else f"{self.steps:,} steps (at most {MAX_EPOCHS} epochs)"
            decay = f", weight decay {third.weight_decay:g}" if third.weight_decay else ""
            parts.append(f"networks are refined by {third.objective} in {steps} at rate {third.rate:g}{decay}")
        return "; ".join(parts) or "statistic string, no transform, two steps"


def _listed(options: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())


PAPER = Settings("the paper's settings")
# The settings of `--preset best`, which explains how they were chosen. After a change here the refined runs are run again.
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

# Runs, and the file that stores them


Value = float | int | None


@dataclass(frozen=True)
class Planned:
    """A run of an experiment. The names of the fields are part of the keys of stored runs.

    Attributes
    ----------
    settings : str
        One of `SETTINGS`, or "reference"; for squared functions a transform of H.
    learner : str
        A learner, or the name of a reference line.
    rank : int
        0 for a reference line.
    size : int
        Number of training strings; for squared functions the number of states of f.
    seed : int
        Of the draw or split of the strings, and of the learner.
    """

    settings: str
    learner: str
    rank: int
    size: int
    seed: int


@dataclass(frozen=True)
class Measured:
    """A run and its results.

    Attributes
    ----------
    key : str
        Identifies everything that the values depend on.
    planned : Planned
    values : dict
        Column -> value; None if it is unknown.
    """

    key: str
    planned: Planned
    values: Mapping[str, Value]


RUN_FIELDS = tuple(field.name for field in fields(Planned))


class RunFile:
    """A CSV file with a row for each run: its key, its fields, and its values in full precision (∞ is written as inf).

    Parameters
    ----------
    path : Path
    columns : sequence of str
        The names of the values.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)

    def read(self) -> list[Measured]:
        """Read all runs; a file that does not exist has none.

        Raises
        ------
        RecipeError
            If the file is not a file of such runs.
        """
        if not self.path.exists():
            return []
        rows = csv.reader(io.StringIO(read_capped(self.path, limits.most("file_bytes")).decode(errors="replace")))
        try:
            if tuple(next(rows, ())) != self._header:
                raise RecipeError(f"{self.path} does not have the columns of these runs: move it away, or choose another folder")
            return [self._parsed(row) for row in rows]
        except RecipeError:
            raise
        except (ValueError, csv.Error):
            raise RecipeError(f"{self.path}: line {rows.line_num}: not a run") from None

    def add(self, measured: Measured) -> None:
        """Store a run, replacing an older one with the same fields. The file is replaced as a whole, never left half-written."""
        make_directory(self.path.parent)
        by_plan = {one.planned: one for one in self.read()} | {measured.planned: measured}
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(self._header)
        for one in by_plan.values():
            writer.writerow((one.key, *astuple(one.planned), *(_text(one.values[column]) for column in self.columns)))
        write_atomically(self.path, buffer.getvalue().encode())

    @property
    def _header(self) -> tuple[str, ...]:
        return ("key", *RUN_FIELDS, *self.columns)

    def _parsed(self, row: Sequence[str]) -> Measured:
        """Parse a row; raises ValueError if it is not a run."""
        key, settings, learner, rank, size, seed, *values = row
        named = zip(self.columns, map(_value, values), strict=True)
        return Measured(key, Planned(settings, learner, int(rank), int(size), int(seed)), dict(named))


def _text(value: Value) -> str:
    return "" if value is None else repr(value)


def _value(text: str) -> Value:
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else float(text)


def select(runs: Iterable[Measured], **values: object) -> Iterator[Measured]:
    """Select the runs whose fields have the given values.

    >>> runs = [Measured("", Planned("paper", "SP", rank, 100, 0), {}) for rank in (1, 2)]
    >>> [one.planned.rank for one in select(runs, learner="SP", rank=2)]
    [2]
    """
    return (one for one in runs if all(getattr(one.planned, name) == value for name, value in values.items()))


def distinct(runs: Iterable[Measured], name: str) -> list[int]:
    """List the ranks, sizes or seeds of runs, ascending, without the rank 0 of reference lines."""
    return sorted({getattr(one.planned, name) for one in runs if name != "rank" or one.planned.rank})


# Experiments


@dataclass(frozen=True)
class Experiment:
    """The plan of an experiment.

    Attributes
    ----------
    name : str
        The name of the page.
    file : str
        The stem of the CSV file; experiments that share runs share the file.
    runs : tuple of Planned
        In the order in which they are run: neighbours share strings and Hankel matrix.
    base : Recipe or None
        The paper's data, basis and layers; None for squared functions.
    uploads : dict
        Content hash -> bytes, for recipes with uploaded strings.
    epochs : (int, int)
        Epochs of the two steps, for squared functions.
    quick : bool
        Whether refinement is shortened, too.
    """

    name: str
    file: str
    runs: tuple[Planned, ...]
    base: Recipe | None = None
    uploads: Mapping[str, bytes] = field(default_factory=dict)
    epochs: tuple[int, int] = SQUARED_EPOCHS
    quick: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return SCORE_COLUMNS if self.base else SQUARED_COLUMNS

    @property
    def ranks(self) -> list[int]:
        """The ranks of all learners, ascending."""
        return sorted({planned.rank for planned in self.runs if planned.rank})

    def is_learned(self, planned: Planned) -> bool:
        """Whether a run learns from a recipe: reference lines and squared functions do not."""
        return self.base is not None and planned.settings != REFERENCE

    @property
    def runs_by_settings(self) -> dict[str, list[Planned]]:
        names = dict.fromkeys(planned.settings for planned in self.runs)
        return {name: [planned for planned in self.runs if planned.settings == name] for name in names}

    def recipe(self, planned: Planned) -> Recipe:
        """Make the recipe of a run; a reference line gets the recipe of its data. Raises RecipeError for squared functions."""
        if self.base is None:
            raise RecipeError(f"the runs of {self.name} have no recipe")
        size = {"num_strings": planned.size} if self.base.data.source == "dyck" else {}
        base = self.base.changed(data=self.base.data.changed(seed=planned.seed, **size))
        if not self.is_learned(planned):
            return base
        recipe = SETTINGS[planned.settings].recipe(base, planned.learner, planned.rank, planned.seed, planned.size)
        return recipe.changed(refinement=recipe.refinement.changed(epochs=2)) if self.quick else recipe

    def key(self, planned: Planned) -> str:
        """Name a run by all that its values depend on: 16 hexadecimal digits."""
        if self.base is None:
            content: Sequence[object] = (GENERATION, asdict(planned), self.epochs)
        elif not self.is_learned(planned):
            content = (planned.learner, self.recipe(planned).data.key())
        else:
            content = (self.recipe(planned).key(),)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def dyck(name: str, seeds: int, quick: bool) -> Experiment:
    """Plan Figures 2 and 3 ("dyck-rank") or 4 and 5 ("dyck-samples"); the runs that both need are the same runs."""
    base = PRESETS["paper-dyck"][1]
    ranks: Sequence[int] = RANKS if name == "dyck-rank" else SAMPLE_RANKS
    sizes: Sequence[int] = SIZES[-1:] if name == "dyck-rank" else SIZES
    if quick:
        base = _shortened(base)
        ranks, sizes = (1, 2), (100,) if name == "dyck-rank" else (50, 100)
    return Experiment(name, "dyck", _learner_runs(LINES, ranks, sizes, seeds), base, quick=quick)


def verbs(seeds: int, quick: bool, train: bytes | None = None, test: bytes | None = None) -> Experiment:
    """Plan Table 1, on two files (strings to train on and strings to score on) or, without files, on the shipped verbs."""
    if (train is None) != (test is None):
        raise RecipeError("verbs needs both --train and --validation, or neither; got one")
    base, uploads = PRESETS["paper-verbs"][1], {}
    if train is None or test is None:
        data = DataRecipe(source="verbs", num_validation=300, num_test=300)
    else:
        uploads = {hashlib.sha256(content).hexdigest(): content for content in (train, test)}
        upload, upload_test = (hashlib.sha256(content).hexdigest() for content in (train, test))
        data = DataRecipe(source="upload", num_validation=450, upload=upload, upload_test=upload_test)
    if quick:
        data = data.changed(num_strings=200)
    base = _shortened(base.changed(data=data)) if quick else base.changed(data=data)
    # The random split leaves the same number of strings for training, whatever the seed.
    size = load_data(data, uploads.__getitem__).train.num_strings
    name = "verbs" if uploads else "verbs-shipped"
    ranks = (1, 2) if quick else VERB_RANKS
    return Experiment(name, name, _learner_runs(LINES[:2], ranks, (size,), seeds), base, uploads, quick=quick)


def squared(seeds: int, quick: bool) -> Experiment:
    """Plan SP and fac.non on f², from H and from H^{1/2}, at ranks around k, 2k and k (k + 1) / 2."""
    runs = [
        Planned(transform, learner, rank, k, seed)
        for seed, k in product(range(seeds), SQUARED_SIZES[:1] if quick else SQUARED_SIZES)
        for transform, learner in product(("none", "sqrt"), ("SP", "fac.non"))
        for rank in sorted({k - 1, k, k + 1, 2 * k, k * (k + 1) // 2 - 1, k * (k + 1) // 2})
    ]
    return Experiment("squared", "squared", tuple(runs), epochs=QUICK_SQUARED_EPOCHS if quick else SQUARED_EPOCHS)


def _shortened(base: Recipe) -> Recipe:
    hankel = HankelRecipe(num_prefixes=20, num_suffixes=20)
    return base.changed(hankel=hankel, learning=QUICK.changed(hidden=base.learning.hidden))


def _learner_runs(lines: Sequence[str], ranks: Sequence[int], sizes: Sequence[int], seeds: int) -> tuple[Planned, ...]:
    """Plan reference lines first, then the paper's settings for all seeds, then the refined ones."""
    references = [Planned(REFERENCE, line, 0, size, seed) for seed, size, line in product(range(seeds), sizes, lines)]
    learned = [
        Planned(name, learner, rank, size, seed)
        for name, settings in SETTINGS.items()
        for seed, size, learner, rank in product(range(seeds), sizes, settings.learners, ranks)
    ]
    return (*references, *learned)


# Measuring


def measure_missing(
    experiment: Experiment, folder: Path, jobs: int = 1, seconds: float | None = None, report: Report = silent
) -> list[Measured]:
    """Measure the runs that the experiment's file lacks, or has with other settings or data, and store each as soon as it is done.

    Parameters
    ----------
    folder : Path
        The folder of the file.
    jobs : int
        Worker processes.
    seconds : float, optional
        After this time no run is begun; those already running are finished.
    report : callable
        Called with a Progress, in which a step is a run.

    Returns
    -------
    list of Measured
        All measured runs of the experiment, in its order.

    Raises
    ------
    RecipeError
        If a run fails, or the file can't be read or written. Runs that were finished before are kept.
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
    """Sweep over the recipes of runs, in a temporary folder."""
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
                store(by_key[key], _of_result(load_result(home / "runs" / key), test_set))

        to_run = {key: recipes[planned] for key, planned in by_key.items()}
        swept = run_missing(to_run, home, jobs, seconds=seconds, each=store_result, history=False)
    for key, message in swept.failed.items():
        planned = by_key[key]
        raise RecipeError(f"{planned.learner}, k = {planned.rank}, n = {planned.size:,}, seed {planned.seed}: {message}")


def _measure_others(
    experiment: Experiment, others: Sequence[Planned], jobs: int, deadline: float | None
) -> Iterator[tuple[Planned, Mapping[str, Value]]]:
    """Measure the runs that do not learn from a recipe: reference lines and squared functions."""
    from joblib import Parallel, delayed

    in_time = (planned for planned in others if deadline is None or monotonic() < deadline)
    if jobs == 1:
        yield from (_measure(experiment, planned) for planned in in_time)
    else:
        parallel = Parallel(jobs, return_as="generator_unordered", pre_dispatch=jobs, batch_size=1)
        yield from parallel(delayed(_measure)(experiment, planned) for planned in in_time)


def _measure(experiment: Experiment, planned: Planned) -> tuple[Planned, Mapping[str, Value]]:
    if experiment.base is None:
        size, transform = planned.size, planned.settings
        return planned, squared_errors(planned.seed, size, planned.rank, planned.learner, transform, experiment.epochs)
    data = load_data(experiment.recipe(planned).data, experiment.uploads.__getitem__)
    scores = evaluate(reference_models(data, NGRAM_ORDER)[planned.learner], data.test)
    return planned, _columns(scores, scores.kl, None, 0, 0.0)


def _of_result(result: Result, test_set: Callable[[DataRecipe], TestSet]) -> Mapping[str, Value]:
    scores = result.scores
    floored = evaluate(result.model, test_set(result.recipe.data), FLOOR).kl if scores.num_zero else scores.kl
    return _columns(scores, floored, result.validation, result.report.num_states, result.seconds["learning"])


def _columns(scores: Scores, floored: float | None, validation: Scores | None, num_states: int, seconds: float) -> dict[str, Value]:
    test_scores = {name: getattr(scores, name) for name in TEST}
    validation_scores = {f"validation_{name}": getattr(validation, name) if validation else None for name in VALIDATION}
    return {"num_states": num_states, **test_scores, FLOORED: floored, **validation_scores, "seconds": seconds}
