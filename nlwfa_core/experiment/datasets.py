"""Make the training, validation and test strings that a data recipe describes, and the true model
if it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import RecipeError, check_types
from ..metrics.ranking import Prefixes
from ..metrics.testset import TestSet
from ..models.model import Model
from ..models.unseen import check_some_known
from ..rounding import format_apart
from ..sources.pautomac import model_reading, read_pautomac_model, read_solution, solution_reading
from ..sources.reading import Reading
from ..sources.registry import GENERATORS, Generator, TrueModel
from ..sources.spice import read_prefixes, read_targets, targets_of, targets_reading
from ..sources.string_files import StringFile, read_strings, shipped_verbs
from ..strings.plain import frequent_symbols
from ..strings.sample import Sample
from ..strings.words import Alphabet, FloatArray, Words, distinct
from .notes import (
    mapped_notes,
    overlap_notes,
    skipped_notes,
    symbol_for_unknown_notes,
    unseen_notes,
)
from .recipe import OPTIONS, SKIP, SYMBOL, DataRecipe

# Largest share of a file's strings for validation, and for testing.
LARGEST_SHARE = 1 / 5
# A solution's probabilities of equal strings may differ by this share, because they are rounded to
# some digits.
SOLUTION_ERROR = 1e-4
WINDOWS_NOTE = (
    "Windows are split in their order, not at random: first those for training, then those for "
    "validation and test."
)
# Streams of random numbers under one seed. Training strings use the seed itself.
VALIDATION_STREAM = 1
TEST_STREAM = 2
MODEL_STREAM = 3


@dataclass(frozen=True, eq=False)
class Data:
    """Strings to learn from and to score on.

    Attributes
    ----------
    train : Sample
    validation : TestSet or None
        The strings that choose a rank or options; None if the recipe asks for none, or the sample
        is too small to set any aside.
    test : TestSet
    true_model : WFA, Dyck or None
        The model that drew the strings: it can be called, and has `next` and `sample`.
    title : str
        The name of the source, for users.
    notes : tuple of str
        Sentences for the user.
    format : str
        The format of the uploaded training strings, one of FORMATS; empty for other sources.
    readings : mapping of str to str
        Field of the recipe that names an uploaded file -> a description of how the file was read.
    """

    train: Sample
    validation: TestSet | None
    test: TestSet
    true_model: TrueModel | None
    title: str
    notes: tuple[str, ...] = ()
    format: str = ""
    readings: Mapping[str, str] = field(default_factory=dict)

    @property
    def alphabet(self) -> Alphabet:
        """Return the alphabet of the training strings. The alphabet of a test file may have further
        symbols, after these.
        """
        return self.train.alphabet

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Return how many strings there are for training, validation and test."""
        validation = self.validation.sample.num_strings if self.validation else 0
        return self.train.num_strings, validation, self.test.sample.num_strings

    def share_seen(self) -> float:
        """Return the share of the test strings, counted with repetitions, that are also training
        strings.
        """
        _, inverse = distinct(Words.joined([self.train.words, self.test.sample.words]))
        seen = inverse[len(self.train.words) :] < len(self.train.words)
        return float(self.test.sample.counts[seen].sum() / self.test.sample.num_strings)


Files = Callable[[str], bytes]


def no_files(name: str) -> bytes:
    """Raise an error in place of reading an uploaded file, because nothing has been uploaded."""
    raise RecipeError(
        "There are no strings yet: the recipe's source is 'upload', but it names no file of "
        "training strings."
    )


@check_types
def load_data(recipe: DataRecipe, files: Files = no_files) -> Data:
    """Generate or read the strings that a recipe describes.

    Parameters
    ----------
    recipe : DataRecipe
    files : callable
        SHA-256 of an uploaded file -> its bytes.

    Raises
    ------
    RecipeError
        If strings can't be generated with these settings, or a file can't be read.

    Examples
    --------
    >>> from nlwfa_core import DataRecipe, load_data
    >>> data = load_data(DataRecipe(num_strings=100, num_validation=0, num_test=20))
    >>> data.train.num_strings, data.alphabet.symbols
    (100, ('[', ']'))
    """
    if recipe.source in GENERATORS:
        return _generate(generator_of(recipe), recipe)
    return _upload(recipe, files) if recipe.source == "upload" else _verbs(recipe)


def _generate(generator: Generator, recipe: DataRecipe) -> Data:
    # Each set has its own random stream, so more training strings do not change the test
    # strings.
    validation, test = (
        TestSet.of(
            generator.draw(size, [recipe.seed, stream]),
            generator.alphabet,
            true_model=generator.model,
        )
        if size
        else None
        for stream, size in (
            (VALIDATION_STREAM, recipe.num_validation),
            (TEST_STREAM, recipe.num_test),
        )
    )
    assert test is not None  # a recipe has at least one test string
    train = Sample.of(generator.draw(recipe.num_strings, recipe.seed), generator.alphabet)
    return Data(train, validation, test, generator.model, generator.title)


def generator_of(recipe: DataRecipe) -> Generator:
    """Make the generator of a source whose strings are drawn at random.

    Raises RecipeError for sources that are files.
    """
    if recipe.source not in GENERATORS:
        raise RecipeError(
            "source must be one that draws its strings, not one that reads them from a "
            f"file; got {recipe.source!r}"
        )
    # The automaton has a random stream of its own, so it is independent of the strings drawn from
    # it.
    return GENERATORS[recipe.source]([recipe.seed, MODEL_STREAM], **recipe.source_options())


def _verbs(recipe: DataRecipe) -> Data:
    sample = shipped_verbs().sample()
    return _split(recipe, sample, None, "English verb forms, shipped with the lab", ())


def _upload(recipe: DataRecipe, files: Files) -> Data:
    if bool(recipe.upload_prefixes) != bool(recipe.upload_targets):
        missing = "targets" if recipe.upload_prefixes else "prefixes"
        raise RecipeError(
            f"A file of prefixes and a file of targets belong together: upload the {missing} too."
        )
    for name in ("upload_model", "upload_prefixes"):
        if recipe.unseen == SYMBOL and getattr(recipe, name):
            raise RecipeError(
                f"a {OPTIONS[name].title} can't be used with a symbol for the unknown: its symbols "
                "are those of the strings"
            )
    file = read_strings(files(recipe.upload), recipe.reading, recipe.declared, extend=False)
    sample = file.packed_sample()
    notes = list(file.notes)
    format = file.format
    readings = {"upload": file.reading}
    windows = Words.joined(file.parts, packed=True) if recipe.reading.window else None
    del file
    ranked = (
        read_prefixes(files(recipe.upload_prefixes), recipe.reading, sample.alphabet)
        if recipe.upload_prefixes
        else None
    )
    if ranked:
        notes += ranked.notes
        readings["upload_prefixes"] = ranked.reading
        sample = Sample(sample.words, sample.counts, ranked.alphabet)
    rows = (
        read_strings(files(recipe.upload_test), recipe.reading, alphabet=sample.alphabet)
        if recipe.upload_test
        else None
    )
    if rows:
        notes += rows.notes
        readings["upload_test"] = rows.reading
        # the true model determines which symbols there are; without it, a model knows those of its
        # training strings
        if recipe.upload_model:
            sample = Sample(sample.words, sample.counts, rows.alphabet)
        check_some_known(rows.words, sample.alphabet)
    model = (
        read_pautomac_model(files(recipe.upload_model), alphabet=sample.alphabet)
        if recipe.upload_model
        else None
    )
    if recipe.upload_solution and not rows:
        raise RecipeError("A solution belongs to a test file: upload that file too.")
    test = None
    if rows:
        solution = read_solution(files(recipe.upload_solution)) if recipe.upload_solution else None
        if solution is not None:
            readings["upload_solution"] = solution_reading(solution)
        test = file_test_set(rows, solution, model)
    title = f"own strings ({format})"
    data = _split(recipe, sample, test, title, tuple(notes), model, windows)
    if model is not None:
        readings["upload_model"] = model_reading(model)
    if ranked:
        targets = read_targets(
            files(recipe.upload_targets), data.alphabet if ranked.names else None
        )
        readings["upload_targets"] = targets_reading(targets)
        words = replace(ranked.words, alphabet=data.alphabet)
        targets, more = targets_of(targets, len(words))
        data = replace(
            data,
            test=replace(data.test, prefixes=Prefixes(words, targets)),
            notes=data.notes + more,
        )
    return replace(data, format=format, readings=readings)


def file_test_set(
    file: StringFile, solution: FloatArray | None = None, model: Model | None = None
) -> TestSet:
    """Make the test set of a file's strings, with a solution, the true model, both or neither; see
    `TestSet.of`.

    Raises RecipeError if the solution and the file have different lengths, or if the solution gives
    two equal strings different probabilities: it then belongs to another file.
    """
    if solution is not None and len(solution) == len(file.words):
        first, string = distinct(file.words)
        differing = np.abs(solution - solution[first][string]) > SOLUTION_ERROR * np.maximum(
            solution, solution[first][string]
        )
        for row in np.flatnonzero(differing)[:1].tolist():
            other = int(first[string[row]])
            one, another = format_apart(float(solution[other]), float(solution[row]), 6)
            raise RecipeError(
                f"the solution gives the probabilities {one} and {another} to strings "
                f"{other + 1:,} and {row + 1:,}, which are equal, so the solution belongs to "
                "another file"
            )
    return TestSet.of(file.words, file.alphabet, file.counts, solution, model)


def reading_alone(field: str, data: bytes, format: str | Reading = "auto") -> str:
    """Describe how an uploaded file would be read if it were the only one.

    `field`: the recipe's field for this file: "upload", "upload_test", "upload_solution",
    "upload_model", "upload_prefixes" or "upload_targets". `format`: how strings are read, as in
    `read_strings`.

    Raises RecipeError if the file can't be read.
    """
    if field == "upload_solution":
        return solution_reading(read_solution(data))
    if field == "upload_model":
        return model_reading(read_pautomac_model(data))
    if field == "upload_prefixes":
        return read_prefixes(data, format).reading
    # the prefixes will determine what symbols are called; until then, they may have any names
    if field == "upload_targets":
        return targets_reading(read_targets(data, Alphabet.numbered(1)))
    return read_strings(data, format).reading


def tests_on_training_strings(recipe: DataRecipe) -> bool:
    """Return whether the test file is the training file, a choice that users make for samples that
    are too small to split.
    """
    return recipe.source == "upload" and bool(recipe.upload) and recipe.upload_test == recipe.upload


def _split(
    recipe: DataRecipe,
    sample: Sample,
    test: TestSet | None,
    title: str,
    notes: tuple[str, ...],
    model: TrueModel | None = None,
    windows: Words | None = None,
) -> Data:
    """Split a sample into training, validation and, unless there is a test set, test strings: at
    random or, if its strings are windows of sequences, in the order of these `windows`.
    """
    total = sample.num_strings
    if not total:
        raise RecipeError("the file holds no strings")
    largest = int(total * LARGEST_SHARE) or (1 if total >= 3 else 0)
    if tests_on_training_strings(recipe):
        largest = 0
        notes += (
            f"All {total:,} strings are used both for learning and for scoring, so scores "
            "measure memory, not generalisation.",
        )
    num_validation = min(recipe.num_validation, largest)
    num_test = 0 if test else min(recipe.num_test, largest)
    if test is None and num_test == 0:
        raise RecipeError(
            "the file must have at least 3 strings to set some aside for testing, unless "
            f"there is a test file; got {total}"
        )
    num_gaps = 0 if windows is None else (num_validation > 0) + (num_test > 0)
    remaining = total - num_validation - num_test - num_gaps
    if remaining < 1:
        raise RecipeError(
            "the file must have at least 5 windows to set some aside for validation and for "
            f"testing; got {total}"
        )
    num_train = min(recipe.num_strings, remaining)
    if num_train < remaining:
        notes += (
            f"Only {num_train:,} of {remaining:,} training strings are used, because the "
            "recipe asks for no more.",
        )
    sizes = [num_train, num_validation, num_test]
    if windows is None:
        train, validation, rest = sample.split(sizes, recipe.seed)
    else:
        train, validation, rest = blocks(windows, sample.alphabet, sizes)
        notes += (WINDOWS_NOTE,)
    held_out = test or _test_of(rest, model)
    if recipe.unseen == SYMBOL:
        alphabet = recipe.declared or frequent_symbols(train, recipe.min_count, recipe.unknown)
        notes += mapped_notes(train, alphabet, "training")
        notes += mapped_notes(held_out.sample, alphabet)
        mapped = train.in_alphabet(alphabet)
        notes += symbol_for_unknown_notes(train, mapped)
        train = mapped
        validation = validation.in_alphabet(alphabet)
        held_out = held_out.in_alphabet(alphabet)
    elif recipe.unseen == SKIP:
        notes += skipped_notes(held_out.sample, train.alphabet)
        held_out = held_out.known_to(train.alphabet)
    notes += unseen_notes(train, held_out.sample)
    if test is not None and not tests_on_training_strings(recipe):
        notes += overlap_notes(train, held_out.sample)
    return Data(
        train,
        _test_of(validation, model) if num_validation else None,
        held_out,
        model,
        title,
        notes,
    )


def blocks(windows: Words, alphabet: Alphabet, sizes: Sequence[int]) -> list[Sample]:
    """Make a sample of each of several blocks of consecutive windows, the first at the beginning,
    the others one after the other up to the end, with a window left out before each of them.

    Adjacent windows are not independent: after a random split, a model would be tested on strings
    that it has all but seen.

    >>> windows = Words.of([(n,) for n in range(9)])
    >>> parts = blocks(windows, Alphabet.numbered(9), [4, 1, 2])
    >>> [list(part.words) for part in parts]
    [[(0,), (1,), (2,), (3,)], [(5,)], [(7,), (8,)]]

    `sizes`: how many windows each part has; parts without windows take up no space.
    """
    parts = list[Sample]()
    end = len(windows)
    for number, size in reversed(list(enumerate(sizes))):
        start = end - size if number else 0
        rows = windows.take(np.arange(start, start + size))
        parts.append(Sample.of(rows, alphabet))
        end = start - (size > 0)
    return parts[::-1]


def _test_of(sample: Sample, model: Model | None) -> TestSet:
    if model is None:
        return TestSet.empirical(sample)
    return TestSet.of(sample.words, sample.alphabet, sample.counts, true_model=model)
