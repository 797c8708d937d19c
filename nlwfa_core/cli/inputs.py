"""Read the strings and models that commands take. Errors name the file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from .. import limits
from ..errors import FormatError, RecipeError, quoted
from ..files import read_capped, read_rest
from ..records import options_of
from ..sources.counting import MAX_DISTINCT, count_strings
from ..sources.reading import Reading, in_terms_of
from ..sources.recognition import reading_of
from ..sources.string_files import (
    PIECE_BYTES,
    StringFile,
    begins_as_pautomac,
    over_declared,
    read_as,
    read_strings,
)
from ..strings.plain import MIN_COUNT, frequent_symbols
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words, check_unknown
from .recipe_options import typed

if TYPE_CHECKING:
    from ..models.model_files import StoredModel

# Options that several commands have.
STRINGS = "PAutomaC or SPiCe, one string per line, a table, JSON lines, or a log: see --format."
Model = Annotated[
    Path,
    typer.Option(
        help="The folder that `fit` or `fit-values` wrote, or an automaton in JSON or PAutomaC "
        "format."
    ),
]
DeclaredAlphabet = Annotated[
    str | None,
    typer.Option(
        "--alphabet",
        help="All symbols of the model, separated by spaces; by default those of the strings.",
    ),
]
Unknown = Annotated[
    str | None,
    typer.Option(
        help="A symbol, such as <unk>, that stands for every symbol the model does not know; by "
        "default there is none."
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --unknown: how often a symbol has to occur in the training strings to be "
        f"known, by default {MIN_COUNT}.",
    ),
]


@dataclass(frozen=True)
class Symbols:
    """The symbols that a model should know, set by `--alphabet`, `--unknown` and `--min-count`."""

    declared: Alphabet | None  # with the symbol for the unknown, if there is one
    unknown: str | None
    min_count: int

    @classmethod
    def of(cls, alphabet: str | None, unknown: str | None, min_count: int | None) -> Symbols:
        """Raise RecipeError if an option has no effect, or if its value makes no valid alphabet."""
        if min_count is not None and unknown is None:
            raise RecipeError("--min-count has no effect without --unknown")
        if min_count is not None and alphabet is not None:
            raise RecipeError(
                "--min-count has no effect with --alphabet, which lists all known symbols"
            )
        if alphabet is not None and not alphabet.split():
            raise RecipeError("--alphabet must have at least one symbol; got none")
        if unknown is not None:
            check_unknown(unknown)
        declared = None if alphabet is None else Alphabet.of(alphabet.split(), unknown)
        return cls(declared, unknown, MIN_COUNT if min_count is None else min_count)

    def known_in(self, train: Sample) -> Alphabet:
        """Return the alphabet of a model of some strings."""
        if self.unknown is None or self.declared is not None:
            return self.declared or train.alphabet
        return frequent_symbols(train, self.min_count, self.unknown)


@contextmanager
def errors_naming(path: Path) -> Iterator[None]:
    """Prefix RecipeErrors raised in this block with a file's path, and replace the fields that they
    name with options.
    """
    try:
        yield
    except FormatError as error:
        raise RecipeError(f"{path}: {as_options(str(error))}") from None


def as_options(text: str) -> str:
    """Rewrite the fields of `Reading` that a sentence names as options of commands.

    >>> as_options("say which column has the cases (case_column)")
    'say which column has the cases (--case-column)'
    >>> as_options("set the format to csv and the header to yes")
    'set --format csv and --header yes'
    """
    return in_terms_of({name: typed(name) for name in options_of(Reading)}, text)


def read_bytes(path: Path) -> bytes:
    """Read a file. Raises RecipeError if the file can't be read, or is larger than the limit."""
    return read_capped(path, limits.most("file_bytes"))


def read_words(path: Path, reading: Reading, alphabet: Alphabet | None = None) -> StringFile:
    """Read the strings of a file with `sources.string_files.read_strings`; the first note says how
    it was read. Errors name the file.
    """
    data = read_bytes(path)
    with errors_naming(path):
        file = read_strings(data, reading, alphabet)
    sentence = reading_of(file_name(path), as_options(file.reading))
    return replace(file, notes=(sentence, *map(as_options, file.notes)))


def read_sample(
    path: Path, reading: Reading, max_distinct: int | None, declared: Alphabet | None = None
) -> tuple[Sample, tuple[str, ...]]:
    """Read and count training strings, with notes, the first on how the file was read. PAutomaC and
    SPiCe files may have any size.

    `declared`: the alphabet of the strings, if one is declared. If it has a symbol for the unknown,
    other symbols are numbered after its own.

    Raises RecipeError if the file can't be read, has a symbol that is not in the declared alphabet,
    or has another format although `max_distinct` is not None.
    """
    try:
        if path.is_dir():
            raise RecipeError(f"can't read {path}: it is a folder, and a file is needed")
        with path.open("rb") as file, errors_naming(path):
            head = file.read(PIECE_BYTES)
            is_open = reading == Reading()
            if reading == Reading("pautomac") or (is_open and begins_as_pautomac(head)):
                most = MAX_DISTINCT if max_distinct is None else max_distinct
                counts = count_strings(
                    chain([head], iter(partial(file.read, PIECE_BYTES), b"")), most
                )
                sample = counts.sample()
                sentence = read_as("pautomac", sample.alphabet.symbols)
                if declared is not None:
                    sample = over_declared(sample, declared)
                return sample, (
                    reading_of(file_name(path), sentence),
                    *counts.notes,
                    *filter(None, [counts.bound]),
                )
            if max_distinct is not None:
                raise RecipeError(
                    f"--max-distinct has no effect with {path}; it needs a PAutomaC or SPiCe file"
                )
            limits.check_limit(
                str(path), os.fstat(file.fileno()).st_size, "file_bytes", unit="bytes"
            )
            content = head + read_rest(file, limits.most("file_bytes"))
            whole = read_strings(content, reading, declared, extend=False)
            sentence = reading_of(file_name(path), as_options(whole.reading))
            return whole.sample(), (sentence, *map(as_options, whole.notes))
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None


def read_scored_words(
    path: Path, reading: Reading, alphabet: Alphabet, role: str = "test"
) -> StringFile:
    """Read strings that a model over `alphabet` scores, with a note on those that have other
    symbols. Errors name the file.

    Raises RecipeError if the file can't be read, or every string has a symbol that is not in the
    alphabet, because the file then belongs to another model.
    """
    file = read_words(path, reading, alphabet)
    if len(file.alphabet) == len(alphabet):
        return file
    return replace(
        file, notes=(*file.notes, *notes_on_unknown(path, file.packed_sample(), alphabet, role))
    )


def notes_on_unknown(
    path: Path, sample: Sample, alphabet: Alphabet, role: str = "test"
) -> tuple[str, ...]:
    """Make a note on strings with symbols outside `alphabet`: their weight is 0, or these symbols
    are read as its symbol for the unknown. Raises RecipeError if all strings have such symbols or,
    with a symbol for the unknown, if they have no others.

    The strings are over an alphabet that begins with the symbols of `alphabet`.
    """
    from ..experiment.notes import mapped_notes, unknown_notes
    from ..models.unseen import check_some_known, has_known_symbols

    if alphabet.unknown is not None:
        try:
            check_some_known(sample.words, alphabet)
        except RecipeError as error:
            raise RecipeError(f"{path}: {error}") from None
        return mapped_notes(sample, alphabet, role)
    known = has_known_symbols(sample.words, len(alphabet))
    if not (known & (sample.words.lengths > 0)).any():
        check_known(path, sample.words, sample.alphabet, alphabet)
    return unknown_notes(sample, len(alphabet), role)


def check_known(path: Path, words: Words, used: Alphabet, alphabet: Alphabet) -> None:
    """Raise RecipeError if a word has a symbol outside `alphabet`.

    The words are over the alphabet `used`, which begins with the symbols of `alphabet`.
    """
    for position in np.flatnonzero(words.symbols >= len(alphabet))[:1]:
        number = int(np.searchsorted(words.offsets, position, side="right"))
        symbol = quoted(used.symbols[words.symbols[position]])
        raise RecipeError(
            f"{path}: string {number:,}: symbol {symbol} is not in the model's alphabet of "
            f"{alphabet.summary}"
        )


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model with its alphabet and the information that was saved with it."""

    model: StoredModel
    alphabet: Alphabet
    info: dict[str, Any]


def read_model(path: Path) -> ModelFile:
    """Read a model from its folder, from the path of a file in it, or from an automaton file in
    JSON or PAutomaC format.

    Raises RecipeError if there is no valid model.
    """
    from ..models.model_files import MODEL_FILES, load, load_info
    from ..sources.exchange import automaton_format, read_weights_json
    from ..sources.pautomac import read_pautomac_model

    data = read_bytes(path) if path.is_file() and path.name not in MODEL_FILES else b""
    kind = automaton_format(data)
    if kind:
        with errors_naming(path):
            automaton = read_weights_json(data) if kind == "json" else read_pautomac_model(data)
        assert automaton.alphabet is not None  # each reader sets it
        return ModelFile(automaton, automaton.alphabet, {})

    directory = path.parent if path.name in MODEL_FILES else path
    if not (directory / "model.json").is_file():
        reason = (
            "is a file"
            if directory.is_file()
            else "holds no model"
            if directory.is_dir()
            else "does not exist"
        )
        raise RecipeError(
            f"a model must be a folder that nlwfa wrote, or a file in it; {directory} {reason}"
        )
    loaded = load(directory)
    assert loaded.alphabet is not None  # `load` sets it
    return ModelFile(loaded, loaded.alphabet, load_info(directory))


def file_name(path: Path) -> str:
    """Return the last part of a path as text; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.name).decode("utf-8", "replace")
