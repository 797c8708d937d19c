"""Define the command `classify`, which learns a model of the strings of each label and applies
Bayes' rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ..errors import RecipeError, listed
from ..experiment.recipe import OPTIONS, Recipe, flat, with_fields
from ..files import ascii_json
from ..learning.names import COUNTS, PRIORS
from ..sources.reading import Reading
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words
from .inputs import (
    DeclaredAlphabet,
    MinCount,
    Symbols,
    Unknown,
    errors_naming,
    file_name,
    read_bytes,
    read_sample,
    read_words,
)
from .learn import LEARNER_HELP, learning_recipe
from .outputs import Force, check_new_model
from .recipe_options import LEARNING, no_effect, takes_fields, takes_reading
from .running import progress_bar
from .terminal import AsJson, Output, print_notes
from .text import table

if TYPE_CHECKING:
    from ..experiment.classifier import ClassifierFit, Confusion

LONGEST_NAME = 200  # bytes: file systems allow 255
LABEL_FILE = "LABEL=FILE, once for each label"


@takes_fields(LEARNING)
@takes_reading
def classify(
    train: Annotated[
        list[str],
        typer.Option(help=f"Training strings: {LABEL_FILE}; with --label-column, a table."),
    ],
    test: Annotated[
        list[str],
        typer.Option(help="Strings to classify, whose labels are known, in the same form."),
    ],
    learner: Annotated[str, typer.Option(help=LEARNER_HELP)],
    rank: Annotated[int, typer.Option(help=OPTIONS["rank"].help)],
    field_values: Mapping[str, Any],
    reading: Reading,
    label_column: Annotated[
        str | None,
        typer.Option(
            help="The column of the labels in the tables: its name, or its number from 1."
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help="Another learner, with the same rank, to compare with."),
    ] = None,
    priors: Annotated[
        str,
        typer.Option(
            help="The shares of the labels: "
            + ", or ".join(f"{name} ({text})" for name, text in PRIORS.items())
            + "."
        ),
    ] = COUNTS,
    alphabet: DeclaredAlphabet = None,
    unknown: Unknown = None,
    min_count: MinCount = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for the learner's models, with a subfolder for each label."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> Output:
    """Learn a model of the strings of each label, and classify other strings by Bayes' rule."""
    from ..models.model_files import save

    if force and out is None:
        raise no_effect("--force", "no --out", "--out")
    if against == learner:
        raise RecipeError(f"--against must be a different learner from --learner {learner}")
    other = None
    own_values = field_values
    if against is not None:  # an option has an effect if either learner has it
        other = with_fields(Recipe(), {"learner": against, "rank": rank}, field_values)
        chosen = flat(with_fields(Recipe(), {"learner": learner, "rank": rank}, field_values))
        only_others = flat(other).keys() - chosen.keys()
        own_values = {n: value for n, value in field_values.items() if n not in only_others}
    recipe = learning_recipe(learner, rank, own_values)
    with TemporaryDirectory() as folder:
        files, test_files = (
            _files(option, named)
            if label_column is None
            else _parts(option, named, label_column, reading, Path(folder))
            for option, named in (("--train", train), ("--test", test))
        )
        missing = [label for label in test_files if label not in files]
        if missing:
            raise RecipeError(
                f"--test has {listed(missing)}, but --train has only {listed(list(files))}"
            )
        folders = {label: out / label for label in files} if out else {}
        for new in folders.values():
            check_new_model(new, force)
        form = reading if label_column is None else Reading("csv")
        symbols = Symbols.of(alphabet, unknown, min_count)
        is_table = label_column is not None
        samples = _read_train(files, form, symbols, Path(train[0]) if is_table else None)
        test_table = Path(test[0]) if is_table else None
        tested = {
            label: _read_test(path, form, samples[label].alphabet, label, test_table)
            for label, path in test_files.items()
        }
    learned = _learned(samples, recipe, priors)
    for label, new in folders.items():
        info = {"recipe": recipe.model_dump(mode="json", exclude={"data"}), "label": label}
        save(learned.fits[label], new, info)
    scores = {learner: learned.classifier.score(tested)}
    if against is not None and other is not None:
        scores[against] = _learned(samples, other, priors).classifier.score(tested)
    notes = tuple(
        f"{label}: {message}"
        for label, fit in learned.fits.items()
        for message in fit.report.messages
    )
    return Output(_json(scores) if as_json else _text(scores), notes)


def _files(option: str, pairs: Sequence[str]) -> dict[str, Path]:
    """Read pairs such as good=good.txt: label -> file."""
    files: dict[str, Path] = {}
    for pair in pairs:
        label, equals, path = pair.partition("=")
        if not (equals and label and path):
            raise RecipeError(f"{option} must be LABEL=FILE, such as good=good.txt; got {pair!r}")
        _check_label(option, label)
        if label in files:
            raise RecipeError(f"{option} has the label {label!r} twice")
        files[label] = Path(path)
    return files


def _check_label(option: str, label: str) -> None:
    is_name = Path(label).name == label and label not in (".", "..") and "\0" not in label
    if not is_name or len(label.encode(errors="surrogateescape")) > LONGEST_NAME:
        raise RecipeError(
            f"{option}: labels are also used as folder names, so a label can't be {label!r}"
        )


def _parts(
    option: str, named: Sequence[str], label_column: str, reading: Reading, folder: Path
) -> dict[str, Path]:
    """Split a table into a file for each label, in a folder: label -> file."""
    from ..sources.labels import split_by_label

    if len(named) != 1:
        raise RecipeError(
            f"with --label-column, {option} must name exactly one table; got {len(named)}"
        )
    path = Path(named[0])
    with errors_naming(path):
        parts = split_by_label(read_bytes(path), label_column, reading)
    files = {}
    for label, data in parts.items():
        _check_label(option, label)
        files[label] = folder / option / f"{label}.csv"
        files[label].parent.mkdir(exist_ok=True)
        files[label].write_bytes(data)
    return files


def _named(notes: Sequence[str], path: Path, table: Path | None, label: str) -> tuple[str, ...]:
    """Replace `path`, the part of the table that was read as a file, by the label and its table,
    and leave out the part's columns, which are not those of the table.
    """
    if table is None:
        return tuple(notes)
    reading = notes[0].removeprefix(f"{file_name(path)}: ").rpartition("; strings in the column")[0]
    return (f"{file_name(table)}, {label}: {reading}", *notes[1:])


def _read_test(
    path: Path, reading: Reading, alphabet: Alphabet, label: str, table: Path | None
) -> Sample:
    from ..experiment.notes import mapped_notes

    file = read_words(path, reading, alphabet)
    print_notes(_named(file.notes, path, table, label))
    if alphabet.unknown is not None:
        print_notes(mapped_notes(file.sample(), alphabet, f"{label} test"))
    return file.sample()


def _read_train(
    files: Mapping[str, Path], reading: Reading, symbols: Symbols, table: Path | None
) -> dict[str, Sample]:
    """Read the strings of each label, perhaps of one table. With a symbol for the unknown, the
    known symbols are those that are frequent in the strings of all labels together.
    """
    from ..experiment.notes import mapped_notes

    samples = {}
    for label, path in files.items():
        samples[label], notes = read_sample(path, reading, None, symbols.declared)
        print_notes(_named(notes, path, table, label))
    if symbols.unknown is None:
        return samples
    every = Alphabet.of(chain.from_iterable(sample.alphabet for sample in samples.values()))
    parts = [sample.in_alphabet(every) for sample in samples.values()]
    counts = np.concatenate([part.counts for part in parts])
    known = symbols.known_in(Sample.of(Words.joined([part.words for part in parts]), every, counts))
    for label, sample in samples.items():
        print_notes(mapped_notes(sample, known, f"{label} training"))
    return {label: sample.in_alphabet(known) for label, sample in samples.items()}


def _learned(samples: Mapping[str, Sample], recipe: Recipe, priors: str) -> ClassifierFit:
    from ..experiment.classifier import fit_classifier
    from ..learning.fitting import MATRIX_FIELDS

    learning = recipe.learning
    counting = {name: getattr(recipe.hankel, name) for name in MATRIX_FIELDS}
    with progress_bar() as report:
        return fit_classifier(
            samples,
            learning,
            priors=priors,
            report=report,
            **(counting if learning.needs_hankel else {}),
        )


def _text(scores: Mapping[str, Confusion]) -> str:
    """Write the accuracies, the tables of labels, and how two classifiers disagree."""
    blocks = []
    for name, one in scores.items():
        head = (
            f"{name}: accuracy {one.interval().text()} of {one.num_strings:,} strings "
            f"(95 % interval; always the commonest label: {one.majority:.3f}), "
            f"{one.bits_per_string:.3f} bits per string"
        )
        undecided = bool(one.counts[:, -1].any())
        columns = [*one.labels, *(["none"] if undecided else [])]
        rows = [
            [label, *(f"{count:,}" for count in row[: len(columns)])]
            for label, row in zip(one.labels, one.counts.tolist(), strict=True)
        ]
        counts = table([["label", *columns], *rows])
        blocks.append(f"{head}\n{counts}")
    if len(scores) == 2:
        (first, one), (second, other) = scores.items()
        gap = one.against(other)
        blocks.append(
            f"right alone: {first} {gap.first_alone:,}, {second} {gap.second_alone:,} "
            f"(McNemar's test: p = {gap.p_value:.2g})"
        )
    return "\n\n".join(blocks)


def _json(scores: Mapping[str, Confusion]) -> str:
    records: dict[str, Any] = {}
    for name, one in scores.items():
        interval = one.interval()
        records[name] = {
            "accuracy": one.accuracy,
            "interval": [interval.low, interval.high],
            "num_strings": one.num_strings,
            "majority": one.majority,
            "bits_per_string": one.bits_per_string,
            "labels": list(one.labels),
            "counts": one.counts.tolist(),
        }
    if len(scores) == 2:
        one, other = scores.values()
        gap = one.against(other)
        records["right_alone"] = [gap.first_alone, gap.second_alone]
        records["p_value"] = gap.p_value
    return ascii_json(records)
