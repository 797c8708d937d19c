"""Define the command `rank`, which lists the likeliest next symbols after each prefix of a file, as
in the SPiCe competition.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RecipeError
from ..files import ascii_json
from ..sources.reading import Reading
from ..strings.sample import Sample
from .inputs import (
    Model,
    check_known,
    errors_naming,
    file_name,
    notes_on_unknown,
    read_bytes,
    read_model,
)
from .outputs import Force, check_new_file, write_file
from .recipe_options import takes_reading
from .terminal import Output
from .text import prefixes_text, ranking_summary

if TYPE_CHECKING:
    from ..metrics.ranking import Targets
    from ..sources.string_files import StringFile
    from ..strings.words import Alphabet


@takes_reading
def rank(
    model: Model,
    prefixes: Annotated[
        Path,
        typer.Option(help="The prefixes: SPiCe, or any other format of strings, without counts."),
    ],
    reading: Reading,
    targets: Annotated[
        Path | None,
        typer.Option(
            help="What followed each prefix: a SPiCe target file, or one symbol per line, -1 "
            "for the end."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Write the ranking to this file instead of stdout."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scores as one JSON object, not the ranking.")
    ] = False,
    force: Force = False,
) -> Output:
    """Print a line for each prefix with the five likeliest next symbols (-1 is the end), and score
    them against the targets.
    """
    from ..metrics.diagnostics import divergence_warnings
    from ..metrics.ranking import RankingScore, rank_finite, score_ranking
    from ..sources.spice import write_ranking

    if force and out is None:
        raise RecipeError("--force has no effect without --out: there is no file to replace")
    check_new_file(out, force, (model, prefixes, targets))
    saved = read_model(model)
    file, notes = _read_prefixes(prefixes, reading, saved.alphabet)
    words = file.words
    target: Targets | None = None
    if targets is not None:
        target, target_notes = _read_targets(targets, file, len(saved.alphabet))
        notes += target_notes
    ranking, num_nonfinite = rank_finite(saved.model, words)
    text = write_ranking(ranking, file.names)
    score = None if target is None else score_ranking(ranking, target)
    if num_nonfinite:
        notes += (
            f"{prefixes_text(num_nonfinite)} with scores that are not finite numbers, so "
            "NDCG5 and the error are undefined",
        )
        score = None if score is None else RankingScore(math.nan, math.nan, score.num_prefixes)
    if out is not None:
        write_file(out, text)
    notes += tuple(divergence_warnings(saved.model))
    if as_json:
        record = (
            {"ndcg5": None, "error": None, "num_prefixes": len(words)}
            if score is None
            else asdict(score)
        )
        return Output(ascii_json(record), notes)
    summary = "" if score is None else ranking_summary(score)
    if out is None:
        return Output(text.removesuffix("\n"), (*notes, *filter(None, [summary])), is_data=True)
    return Output(
        "\n".join(
            filter(None, [summary, f"ranking of {prefixes_text(len(words))} written to {out}"])
        ),
        notes,
    )


def _read_prefixes(
    path: Path, reading: Reading, alphabet: Alphabet
) -> tuple[StringFile, tuple[str, ...]]:
    """Read prefixes for a model over `alphabet`, with notes.

    Raises RecipeError if a symbol is not in that alphabet and there is none for the unknown; or if
    there is one, but symbols are SPiCe's numbers, because targets and rankings then also use
    numbers.
    """
    from ..sources.spice import read_prefixes

    data = read_bytes(path)
    with errors_naming(path):
        file = read_prefixes(data, reading, alphabet)
    words = file.words
    notes = file.notes
    if alphabet.unknown is None:
        check_known(path, words, file.alphabet, alphabet)
    elif file.names is None:
        raise RecipeError(
            f"{path}: prefixes of numbers can't be ranked by a model that reads unseen symbols as "
            f"{alphabet.unknown!r}: its symbols are numbered differently from those of the targets"
        )
    else:
        sample = Sample.of(words, file.alphabet)
        notes += notes_on_unknown(path, sample, alphabet, "prefix")
    return file, (f"{file_name(path)}: {file.reading}; {prefixes_text(len(words))}", *notes)


def _read_targets(
    path: Path, prefixes: StringFile, num_symbols: int
) -> tuple[Targets, tuple[str, ...]]:
    """Read the targets of prefixes for a model with `num_symbols` symbols, with notes.

    Raises RecipeError if they don't fit.
    """
    from ..sources.spice import read_targets, targets_of

    data = read_bytes(path)
    with errors_naming(path):
        targets, notes = targets_of(read_targets(data, prefixes.names), len(prefixes.words))
    unknown = int((targets.likeliest >= num_symbols).sum())
    if unknown:
        notes += (
            f"{unknown:,} of {len(targets):,} targets are symbols that the model does not "
            "know, so no ranking contains them.",
        )
    return targets, tuple(f"{file_name(path)}: {note}" for note in notes)
