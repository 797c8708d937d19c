"""Define the commands `generate …`: each draws strings from a source, and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import limits
from ..errors import check_between, plural
from ..experiment.recipe import DataRecipe, Recipe, with_fields
from ..sources.pautomac import write_pautomac, write_solution
from .outputs import Force, check_new_file, write_file
from .recipe_options import Options, takes_fields
from .terminal import Output

generate = typer.Typer(help="Draw strings, and write them as a PAutomaC file.")

Count = Annotated[int, typer.Option("-n", "--num-strings", help="How many strings to draw.")]
File = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]
Solution = Annotated[
    Path | None,
    typer.Option(help="Also write each string's exact probability, as a PAutomaC solution."),
]

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
