"""Define the command `mix`, which combines models into one, with the weights that fit validation
strings best.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import RecipeError
from ..models.unseen import has_known_symbols
from ..sources.reading import Reading
from ..strings.sample import Sample
from ..strings.words import Alphabet
from .inputs import STRINGS, file_name, read_model, read_scored_words
from .outputs import Force, check_new_model
from .recipe_options import no_effect, takes_reading, typed
from .terminal import Output
from .text import mixture_summary


@takes_reading
def mix(
    models: Annotated[
        list[Path], typer.Argument(help="The folders of two or more models over the same symbols.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the mixture to.")],
    reading: Reading,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="Strings that the models did not learn from; without them, all weights are "
            f"equal. {STRINGS}"
        ),
    ] = None,
    force: Force = False,
) -> Output:
    """Combine models: the weighted mean of their probabilities.

    A mixture of linear models is a linear model with all their states.
    """
    from ..metrics.evaluate import next_symbol_score
    from ..models.mixture import fit_mixture, mixture
    from ..models.model_files import save

    if len(models) < 2:
        raise RecipeError(f"a mixture needs at least two models; got only {models[0]}")
    if validation is None and (chosen := reading.changes()):
        raise no_effect(typed(next(iter(chosen))), "no --validation", "--validation")
    check_new_model(out, force)
    parts = [read_model(path) for path in models]
    first = parts[0].alphabet
    for path, part in zip(models, parts, strict=True):
        own = part.alphabet
        if own != first:
            raise RecipeError(
                f"the models must have the same symbols in the same order; {models[0]} has "
                f"{first.summary}, {path} has {own.summary}"
            )
        if own.unknown != first.unknown:
            raise RecipeError(
                "the models must have the same symbol for the unknown; "
                f"{models[0]} has {first.unknown or 'none'}, {path} has {own.unknown or 'none'}"
            )
    functions = [part.model for part in parts]
    notes = tuple[str, ...]()
    bits = None
    if validation is None:
        combined = mixture(functions)
        weights = [1 / len(functions)] * len(functions)
    else:
        file = read_scored_words(validation, reading, parts[0].alphabet, "validation")
        notes = file.notes
        sample = _without_unknown(file.sample(), parts[0].alphabet)
        combined, shares = fit_mixture(functions, sample)
        weights = shares.tolist()
        bits = [
            next_symbol_score(model, sample).bits_per_symbol for model in (*functions, combined)
        ]
    record = [
        {"model": file_name(path), "weight": weight, "info": part.info}
        for path, weight, part in zip(models, weights, parts, strict=True)
    ]
    info: dict[str, Any] = {"mixture": record}
    if validation is not None:
        info["validation_file"] = file_name(validation)
    save(combined, out, info, alphabet=parts[0].alphabet)
    return Output(
        f"{mixture_summary([str(path) for path in models], weights, bits, combined.num_states)}\nmodel "  # noqa: E501
        f"   {out}",
        notes,
    )


def _without_unknown(sample: Sample, alphabet: Alphabet) -> Sample:
    """Leave out the strings that have a symbol which no model knows: all models give them 0, so
    they reveal nothing about the models' weights in the mixture. If there is a symbol for the
    unknown, it stands for such symbols, and the strings stay.
    """
    if alphabet.unknown is not None:
        return sample.in_alphabet(alphabet)
    known = np.flatnonzero(has_known_symbols(sample.words, len(alphabet)))
    words = sample.words.take(known)
    return Sample(replace(words, alphabet=alphabet), sample.counts[known], alphabet)
