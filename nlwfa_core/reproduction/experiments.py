"""The four experiments: which runs each is made of, and how one run is done."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product

from ..errors import RecipeError
from ..experiment.data import load_data
from ..experiment.pipeline import Prepared, prepare, reference_models, run
from ..experiment.presets import PRESETS
from ..experiment.recipe import GENERATION, DataRecipe, HankelRecipe, LearningRecipe, Recipe
from ..metrics.scores import Scores, evaluate
from .runs import Finished, Run, Value
from .settings import SETTINGS
from .squared import SQUARED_COLUMNS, squared_errors

REFERENCE = "reference"
NGRAM_ORDER = 5
LINES = ("uniform", f"{NGRAM_ORDER}-gram", "true model")
# Columns by name, so that files of runs outlive new scores.
VALIDATION = ("log2_pauto", "wer", "bits_per_symbol", "num_zero")
TEST = (
    *("log2_pauto", "kl", "wer", "wer_without_end", "bits_per_symbol", "ndcg5", "next_kl", "total_variation", "rmse"),
    *("num_words", "num_zero", "num_negative", "num_nonfinite", "num_impossible", "uniform_log2_pauto", "true_log2_pauto"),
    "share_tied",
)
# What a weight of 0 is raised to, as a share of all, so that log₂ Pauto is finite; the result has its own column.
FLOOR = 1e-30
FLOORED = "kl_floored"
SCORE_COLUMNS = ("num_states", *TEST, FLOORED, *(f"validation_{name}" for name in VALIDATION), "seconds")
# The paper says k from 1 to 50, and samples from 200 to 20,000; for the verbs no list of ranks.
RANKS, SAMPLE_RANKS, VERB_RANKS = (1, 2, 3, 5, 10, 20, 30, 50), (2, 5, 10, 20), (5, 10, 20, 50)
SIZES = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
SQUARED_SIZES = (3, 4, 5, 6)
TINY = LearningRecipe(epochs_factorisation=20, epochs_transitions=10)


@dataclass(frozen=True)
class Experiment:
    """What to run.

    Attributes
    ----------
    name : str
        Of the command and the page.
    file : str
        The CSV file's stem; experiments that share runs share the file.
    runs : tuple of Run
        In the order in which they are done: neighbours start from the same Hankel matrix.
    base : Recipe or None
        The paper's data, basis and layers; None for squared functions.
    files : dict
        Content hash -> bytes, where the recipe has uploads.
    epochs : (int, int)
        For squared functions.
    quick : bool
        Whether refinement is cut short, too.
    """

    name: str
    file: str
    runs: tuple[Run, ...]
    base: Recipe | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    epochs: tuple[int, int] = (3000, 1000)
    quick: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return SCORE_COLUMNS if self.base else SQUARED_COLUMNS

    @property
    def ranks(self) -> list[int]:
        """Those that learners are run with."""
        return sorted({place.rank for place in self.runs if place.rank})

    @property
    def settings(self) -> dict[str, list[Run]]:
        """Settings -> their runs."""
        names = dict.fromkeys(place.settings for place in self.runs)
        return {name: [place for place in self.runs if place.settings == name] for name in names}

    def recipe(self, place: Run) -> Recipe:
        """Of a run that has one; a reference line's is that of its data."""
        if self.base is None:
            raise RecipeError(f"{self.name}: its runs have no recipe")
        data = self.base.data.changed(seed=place.seed, **({"num_strings": place.size} if self.base.data.source == "dyck" else {}))
        base = self.base.changed(data=data)
        if place.settings == REFERENCE:
            return base
        recipe = SETTINGS[place.settings].recipe(base, place.learner, place.rank, place.seed, place.size)
        return recipe.changed(refinement=recipe.refinement.changed(epochs=2)) if self.quick else recipe

    def key(self, place: Run) -> str:
        """Names a run by all that its result depends on."""
        if self.base is None:
            content: Sequence[object] = (GENERATION, asdict(place), self.epochs)
        elif place.settings == REFERENCE:
            content = (place.learner, self.recipe(place).data.key())
        else:
            content = (self.recipe(place).key(),)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


class Bench:
    """Does runs, one after the other; data and Hankel matrix are kept for the next."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.prepared: Prepared | None = None

    def do(self, place: Run) -> Finished:
        """Raises RecipeError if the run's recipe can't be followed."""
        return Finished(self.experiment.key(place), place, self._values(place))

    def _values(self, place: Run) -> Mapping[str, Value]:
        experiment = self.experiment
        if experiment.base is None:
            return squared_errors(place.seed, place.size, place.rank, place.learner, place.settings, experiment.epochs)
        recipe = experiment.recipe(place)
        if place.settings == REFERENCE:
            data = load_data(recipe.data, experiment.files.__getitem__)
            scores = evaluate(reference_models(data, NGRAM_ORDER)[place.learner], data.test)
            return _columns(scores, scores.kl, None, 0, 0.0)
        if self.prepared is None or not self.prepared.fits(recipe):
            self.prepared = None  # not two at once in memory
            self.prepared = prepare(recipe, files=experiment.files.__getitem__)
        result = run(recipe, prepared=self.prepared)
        scores = result.scores
        floored = evaluate(result.model, self.prepared.data.test, FLOOR).kl if scores.num_zero else scores.kl
        return _columns(scores, floored, result.validation, result.report.num_states, result.seconds["learning"])


def _columns(scores: Scores, floored: float | None, validation: Scores | None, num_states: int, seconds: float) -> dict[str, Value]:
    tested = {name: getattr(scores, name) for name in TEST}
    chosen = {f"validation_{name}": getattr(validation, name) if validation else None for name in VALIDATION}
    return {"num_states": num_states, **tested, FLOORED: floored, **chosen, "seconds": seconds}


def dyck(name: str, seeds: int, quick: bool) -> Experiment:
    """Figures 2 and 3 ("dyck-rank") or 4 and 5 ("dyck-samples"); runs that both have are the same runs."""
    base = PRESETS["paper-dyck"][1]
    ranks: Sequence[int] = RANKS if name == "dyck-rank" else SAMPLE_RANKS
    sizes: Sequence[int] = SIZES[-1:] if name == "dyck-rank" else SIZES
    if quick:
        base = _tiny(base)
        ranks, sizes = (1, 2), (100,) if name == "dyck-rank" else (50, 100)
    return Experiment(name, "dyck", _learner_runs(LINES, ranks, sizes, seeds), base, quick=quick)


def verbs(seeds: int, quick: bool, train: bytes | None = None, test: bytes | None = None) -> Experiment:
    """Table 1: on the files given (training strings, and those to score on), else on the shipped verbs."""
    if (train is None) != (test is None):
        raise RecipeError("verbs: one of --train and --validation given, both or neither needed")
    base, files = PRESETS["paper-verbs"][1], {}
    if train is None or test is None:
        data = DataRecipe(source="verbs", num_validation=300, num_test=300)
    else:
        files = {hashlib.sha256(content).hexdigest(): content for content in (train, test)}
        upload, upload_test = (hashlib.sha256(content).hexdigest() for content in (train, test))
        data = DataRecipe(source="upload", num_validation=450, upload=upload, upload_test=upload_test)
    if quick:
        data = data.changed(num_strings=200)
    base = _tiny(base.changed(data=data)) if quick else base.changed(data=data)
    # What the random split leaves for training is the same number for each seed.
    size = load_data(data, files.__getitem__).train.num_strings
    name = "verbs" if files else "verbs-shipped"
    ranks = (1, 2) if quick else VERB_RANKS
    return Experiment(name, name, _learner_runs(LINES[:2], ranks, (size,), seeds), base, files, quick=quick)


def squared(seeds: int, quick: bool) -> Experiment:
    """SP and fac.non on f², from H and from H^{1/2}, around the ranks that matter: k, 2k and k (k + 1) / 2."""
    runs = [
        Run(transform, learner, rank, k, seed)
        for seed, k in product(range(seeds), SQUARED_SIZES[:1] if quick else SQUARED_SIZES)
        for transform, learner in product(("none", "sqrt"), ("SP", "fac.non"))
        for rank in sorted({k - 1, k, k + 1, 2 * k, k * (k + 1) // 2 - 1, k * (k + 1) // 2})
    ]
    return Experiment("squared", "squared", tuple(runs), epochs=(30, 10) if quick else (3000, 1000))


def _tiny(base: Recipe) -> Recipe:
    hankel = HankelRecipe(num_prefixes=20, num_suffixes=20)
    return base.changed(hankel=hankel, learning=TINY.changed(hidden=base.learning.hidden))


def _learner_runs(lines: Sequence[str], ranks: Sequence[int], sizes: Sequence[int], seeds: int) -> tuple[Run, ...]:
    """Reference lines first, then the paper's settings of all seeds, then the refined ones."""
    references = [Run(REFERENCE, line, 0, size, seed) for seed, size, line in product(range(seeds), sizes, lines)]
    learned = [
        Run(name, learner, rank, size, seed)
        for name, settings in SETTINGS.items()
        for seed, size, learner, rank in product(range(seeds), sizes, settings.learners, ranks)
    ]
    return (*references, *learned)
