"""Define the commands `fit-values` and `score-values`, for functions of strings that are not
probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import plural
from ..experiment.recipe import OPTIONS
from ..files import ascii_json
from ..hankel.recipe import HankelRecipe
from ..learning.learners import HANKEL_LEARNERS, VALUE_LEARNERS
from ..learning.names import VALUE_TRANSFORMS
from ..learning.shared_options import options_from
from ..records import options_of
from ..sources.recognition import reading_of
from ..sources.string_files import read_as
from .inputs import Model, errors_naming, file_name, notes_on_unknown, read_bytes, read_model
from .outputs import Force, check_new_model
from .recipe_options import SHORT, Options, takes_fields
from .running import progress_bar
from .terminal import AsJson, Output, print_notes
from .text import value_score_summary, values_summary

if TYPE_CHECKING:
    from ..sources.value_files import ValueFile
    from ..strings.words import Alphabet

VALUES = (
    "a table (CSV) with two columns, string and value, and a first line that names them, such as "
    "`string,value`; or an Abbadingo file. A file of strings without values is for `fit` and "
    "`score`."
)
BASIS = ("num_prefixes", "num_suffixes")
# The fields of all learners from values.
DECLARED = {name: OPTIONS[name] for name in BASIS} | {
    name: entry
    for kind in VALUE_LEARNERS.values()
    for name, entry in options_of(kind).items()
    if name not in ("learner", "rank") and kind.could_have(name)
}
VALUE_OPTIONS: Options = {SHORT.get(name, name): (name,) for name in DECLARED}
Rank = Annotated[int, typer.Option(help=OPTIONS["rank"].help)]
Learner = Annotated[str, typer.Option(help=f"How to learn: {', '.join(HANKEL_LEARNERS)}.")]


def _read(path: Path, alphabet: Alphabet | None = None) -> ValueFile:
    """Read a file of strings and values; the first note says how it was read.

    Errors name the file.
    """
    from ..sources.value_files import read_values

    data = read_bytes(path)
    with errors_naming(path):
        read = read_values(data, alphabet)
    words = read.strings.words
    symbols = read.strings.alphabet.symbols
    detail = "; ".join(
        filter(None, (f"{plural(len(words), 'string')} with a value each", read.detail))
    )
    return replace(
        read,
        notes=(reading_of(file_name(path), read_as(read.format, symbols, detail)), *read.notes),
    )


@takes_fields(VALUE_OPTIONS, DECLARED)
def fit_values(
    train: Annotated[Path, typer.Option(help=f"Strings with known values: {VALUES}")],
    learner: Learner,
    rank: Rank,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    field_values: Mapping[str, Any],
    transform: Annotated[
        str,
        typer.Option(
            help=f"{' or '.join(VALUE_TRANSFORMS)}; sqrt learns the roots of the values and "
            "squares the output."
        ),
    ] = "none",
    force: Force = False,
) -> Output:
    """Learn a function of strings from some of its values, and write the model to a folder."""
    from ..learning.functions.fit_values import fit_values as learn
    from ..models.model_files import save

    basis = {name: value for name, value in field_values.items() if name in BASIS}
    fields = {name: value for name, value in field_values.items() if name not in BASIS}
    hankel = HankelRecipe(**basis)
    learning = options_from(VALUE_LEARNERS, learner, {**fields, "rank": rank})
    options = learning.fields() | {
        "num_prefixes": hankel.num_prefixes,
        "num_suffixes": hankel.num_suffixes,
        "transform": transform,
    }
    check_new_model(out, force)
    read = _read(train)
    print_notes(read.notes)
    with progress_bar() as report:
        learned = learn(
            read.strings,
            learning,
            basis=read.strings.basis(hankel.num_prefixes, hankel.num_suffixes),
            transform=transform,
            report=report,
        )
    messages = learned.report.messages
    info = {"values": options, "training_file": file_name(train), "messages": list(messages)}
    save(learned, out, info, alphabet=read.strings.alphabet)
    return Output(
        f"{values_summary(read.strings, learned.report)}\nmodel    {out}", tuple(messages)
    )


def score_values(
    model: Model,
    test: Annotated[Path, typer.Option(help=f"Strings to score on: {VALUES}")],
    as_json: AsJson = False,
) -> Output:
    """Print a model's error on strings with known values."""
    from ..hankel.valued_strings import value_scores
    from ..models.unseen import extended
    from ..strings.sample import Sample

    saved = read_model(model)
    read = _read(test, saved.alphabet)
    strings = read.strings
    model_over_all = extended(saved.model, strings.alphabet)
    scores = value_scores(
        model_over_all.weights(replace(strings.words, alphabet=strings.alphabet)), strings.values
    )
    notes = (
        *read.notes,
        *notes_on_unknown(test, Sample.of(strings.words, strings.alphabet), saved.alphabet),
    )
    return Output(ascii_json(asdict(scores)) if as_json else value_score_summary(scores), notes)
