"""Define the table of commands, and the commands `generate`, `weights` and `next`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .. import limits
from ..errors import check_between, plural
from ..experiment.recipe import DataRecipe, Recipe, with_fields
from ..files import __version__
from ..sources.pautomac import write_pautomac, write_solution
from ..sources.reading import Reading
from ..strings.trie import Trie
from ..strings.words import Words
from .classes import classes
from .classify import classify
from .compete import compete
from .count import count
from .export import export, import_model, sample
from .history import history
from .lab import lab
from .learn import fit, select_rank
from .mix import mix
from .rank import rank
from .recipe_options import Options, takes_fields, takes_reading
from .reproduce import reproduce
from .score import compare, score
from .sweep import sweep
from .terminal import (
    STRINGS,
    AsJson,
    Force,
    Model,
    Output,
    check_new_file,
    execute,
    read_model,
    read_scored_words,
    write_file,
)
from .text import next_record, next_summary, weight_lines
from .value_commands import fit_values, score_values

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Learn weighted finite automata from strings.",
)
generate = typer.Typer(help="Draw strings, and write them as a PAutomaC file.")
app.add_typer(generate, name="generate")

Count = Annotated[int, typer.Option("-n", "--num-strings", help="How many strings.")]
File = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]
Solution = Annotated[
    Path | None,
    typer.Option(help="Also write each string's exact probability, as a PAutomaC solution."),
]


app.command()(count)
app.command()(fit)
app.command("select-rank")(select_rank)
app.command()(score)
app.command()(compare)
app.command()(rank)
app.command()(mix)
app.command()(classify)
app.command()(compete)
app.command()(reproduce)
app.command()(sweep)
app.command("fit-values")(fit_values)
app.command("score-values")(score_values)
app.command()(export)
app.command("import")(import_model)
app.command()(sample)
app.command()(history)
app.command()(classes)
app.command()(lab)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with some arguments, by default those of this process.

    Returns the exit code.
    """
    return execute(app, arguments)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"nlwfa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


NUM_STRINGS = Recipe().data.num_strings


def _add_generator(source: str, own: Options, text: str) -> None:
    """Add the command that draws strings from a source, with options for the fields of that
    source.
    """

    @takes_fields({"seed": ("data_seed",), **own})
    def command(
        out: File,
        field_values: Mapping[str, Any],
        num_strings: Count = NUM_STRINGS,
        solution: Solution = None,
        force: Force = False,
    ) -> Output:
        check_new_file(out, force, (solution,))
        check_new_file(solution, force)
        check_between("--num-strings", num_strings, 1, limits.most("generated_strings"))
        recipe = with_fields(
            Recipe(), {**field_values, "source": source, "num_strings": num_strings}
        )
        return _write_strings(recipe.data, out, solution)

    generate.command(source, help=text)(command)


AUTOMATON: Options = {"states": ("num_states",), "symbols": ("num_symbols",)}
_add_generator(
    "dyck",
    {"split": ("split_probability",), "wrap": ("wrap_probability",)},
    "Well-bracketed strings: 0 is [ and 1 is ].",
)
_add_generator("automaton", AUTOMATON, "Strings of a random probabilistic automaton.")
_add_generator("hmm", AUTOMATON, "Strings of a random hidden Markov model.")
_add_generator(
    "pfa",
    AUTOMATON,
    "Strings of a random probabilistic automaton in which each state has few likely moves.",
)
_add_generator("pdfa", AUTOMATON, "Strings of a random deterministic probabilistic automaton.")
_add_generator(
    "squared",
    AUTOMATON,
    "Strings of the square of a random WFA: a linear model needs up to k² states, a "
    "nonlinear one k.",
)


def _write_strings(recipe: DataRecipe, out: Path, solution: Path | None) -> Output:
    from ..experiment.datasets import generator_of

    source = generator_of(recipe)
    words = source.draw(recipe.num_strings, recipe.seed)
    write_file(out, write_pautomac(words, len(source.alphabet)))
    lines = [
        source.title,
        f"{plural(len(words), 'string')}, {plural(len(source.alphabet), 'symbol')}, written "
        f"to {out}",
    ]
    if solution is not None:
        write_file(solution, write_solution(source.model.weights(words)))
        lines.append(f"their probabilities written to {solution}")
    return Output("\n".join(lines))


@app.command()
@takes_reading
def weights(
    model: Model,
    words: Annotated[Path, typer.Option(help=f"The words: {STRINGS}")],
    reading: Reading,
) -> Output:
    """Print a model's weight of each word, one per line, in the file's order and in full
    precision.
    """
    from ..models.model import scaled_weights
    from ..models.unseen import has_known_symbols

    saved = read_model(model)
    file = read_scored_words(words, reading, saved.alphabet, role="")
    own = file.words if saved.alphabet.unknown is None else file.words.in_alphabet(saved.alphabet)
    known = np.flatnonzero(has_known_symbols(own, len(saved.alphabet)))
    numbers, exponents = np.zeros(len(own)), np.zeros(len(own), dtype=np.int64)
    numbers[known], exponents[known] = scaled_weights(
        saved.model, replace(own.take(known), alphabet=saved.alphabet)
    )
    lines, notes = weight_lines(numbers, exponents)
    return Output("\n".join(lines), (*file.notes, *notes))


@app.command("next")
def next_symbol(
    model: Model,
    prefix: Annotated[
        str, typer.Option(help='Symbols, such as "0 1 1" or "abba"; "" or λ is the empty prefix.')
    ],
    as_json: AsJson = False,
) -> Output:
    """Print the score of every symbol that can follow a prefix, and of the end of the string."""
    from ..metrics.diagnostics import divergence_warnings
    from ..models.model import scaled_next_scores

    saved = read_model(model)
    word = saved.alphabet.encode(prefix)
    limits.check_limit("the length of --prefix", len(word), "string_length")
    trie = Trie.of(Words.of([word]), len(saved.alphabet))
    scores, exponents = scaled_next_scores(saved.model, trie)
    end = trie.ends[0]
    row = saved.alphabet, word, scores[end], 0 if exponents is None else int(exponents[end])
    text = next_record(*row) if as_json else next_summary(*row)
    notes = filter(None, [saved.alphabet.unknown_note(prefix)])
    return Output(text, (*notes, *divergence_warnings(saved.model)))
