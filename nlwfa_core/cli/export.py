"""Define the commands for other programs' files: `export` writes a model as text, `import` reads
one, `sample` draws strings.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import limits
from ..errors import RecipeError, check_between, check_one_of, plural
from .inputs import Model, errors_naming, file_name, read_bytes, read_model
from .outputs import Force, check_new_file, check_new_model, write_file
from .terminal import Output, Seed

if TYPE_CHECKING:
    from ..models.sampling import Drawn
    from ..strings.words import Alphabet

# Value of `export --to` -> its description in the help.
TARGETS = {
    "dot": "Graphviz",
    "tikz": "a picture for LaTeX",
    "json": "all weights and the symbols",
    "pautomac": "a PAutomaC model",
    "openfst": "OpenFst's text format",
    "jflap": "JFLAP, if all weights are 0 or 1",
}
SOURCES = ("auto", "json", "openfst", "pautomac", "jflap")
OutFile = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="The file to write; by default the text goes to stdout."),
]


def export(
    model: Model,
    to: Annotated[
        str, typer.Option(help="; ".join(f"{name}: {text}" for name, text in TARGETS.items()))
    ],
    out: OutFile = None,
    symbols: Annotated[
        Path | None, typer.Option(help="Also write OpenFst's symbol table to this file.")
    ] = None,
    force: Force = False,
) -> Output:
    """Write a linear model (of SP, HMM, PFA or PDFA) as text for other programs."""
    from ..display.graph import dot
    from ..export.automaton_formats import jflap, openfst, openfst_symbols, pautomac, weights_json
    from ..models.mixture import Mixture
    from ..models.ngram import NGram
    from ..models.wfa import WFA

    check_one_of("--to", to, TARGETS)
    if symbols is not None and to != "openfst":
        raise RecipeError(f"--symbols has no effect with --to {to}; it needs --to openfst")
    if force and out is None and symbols is None:
        raise RecipeError("--force has no effect without --out: there is no file to replace")
    check_new_file(out, force, (model, symbols))
    check_new_file(symbols, force, (model,))
    saved = read_model(model)
    automaton = saved.model
    if not isinstance(automaton, WFA):
        kinds = {Mixture: "a mixture with a model that is not linear", NGram: "an n-gram"}
        kind = kinds.get(type(automaton), "a network")
        raise RecipeError(
            "export needs a linear model, such as SP, HMM, PFA or PDFA; the model in "
            f"{model} is {kind}"
        )
    if to == "dot":
        text = dot(automaton, saved.alphabet.symbols)
    elif to == "tikz":
        from ..export.tikz import tikz  # slow to import

        text = tikz(automaton, saved.alphabet.symbols)
    elif to in ("json", "jflap"):
        text = (weights_json if to == "json" else jflap)(automaton, saved.alphabet)
    else:
        text = (pautomac if to == "pautomac" else openfst)(automaton)
    if symbols is not None:
        write_file(symbols, openfst_symbols(saved.alphabet))
    return _written(
        text,
        out,
        f"{plural(automaton.num_states, 'state')}, {plural(automaton.num_symbols, 'symbol')}",
    )


def import_model(
    file: Annotated[
        Path,
        typer.Argument(
            help="An automaton as text: JSON, a PAutomaC model, an OpenFst acceptor, or a JFLAP "
            "file."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    source: Annotated[
        str, typer.Option("--from", help=f"{', '.join(SOURCES)}; auto recognises it from the file.")
    ] = "auto",
    symbols: Annotated[
        Path | None,
        typer.Option(help="OpenFst's symbol table; without it, label n is symbol n − 1."),
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            help="Whether OpenFst's arcs name symbols by their numbers or by their names."
        ),
    ] = "numbers",
    semiring: Annotated[
        str,
        typer.Option(
            help="What OpenFst's numbers mean: log (−ln of a weight) or real (the weight)."
        ),
    ] = "log",
    force: Force = False,
) -> Output:
    """Read an automaton that another program wrote, and save it as a model that all commands can
    use.
    """
    from ..models.model_files import save
    from ..sources.exchange import (
        LABELS,
        SEMIRINGS,
        automaton_format,
        read_openfst,
        read_symbol_table,
        read_weights_json,
    )
    from ..sources.jflap import RUNS, is_deterministic, read_jflap
    from ..sources.pautomac import read_pautomac_model

    check_one_of("--from", source, SOURCES)
    check_one_of("--labels", labels, LABELS)
    check_one_of("--semiring", semiring, SEMIRINGS)
    check_new_model(out, force)
    data = read_bytes(file)
    with errors_naming(file):
        kind = (automaton_format(data) or "openfst") if source == "auto" else source
    if kind != "openfst":
        for option, is_used in (
            ("symbols", symbols is not None),
            ("labels", labels != "numbers"),
            ("semiring", semiring != "log"),
        ):
            if is_used:
                raise RecipeError(
                    f"--{option} has no effect with a file read as {kind}; it needs openfst"
                )
    if labels == "names" and symbols is None:
        raise RecipeError("--labels names needs the symbol table: --symbols")
    table = None
    if symbols is not None:
        names = read_bytes(symbols)
        with errors_naming(symbols):
            table = read_symbol_table(names)
    with errors_naming(file):
        if kind == "openfst":
            model = read_openfst(data, table, semiring, labels)
        else:
            read = {"json": read_weights_json, "jflap": read_jflap}.get(kind, read_pautomac_model)
            model = read(data)
    alphabet = model.alphabet
    assert alphabet is not None  # each reader sets it
    save(model, out, {"read from": file_name(file), "format": kind}, alphabet=alphabet)
    size = f"{plural(model.num_states, 'state')}, {plural(model.num_symbols, 'symbol')}"
    several_runs = kind == "jflap" and not is_deterministic(model)
    notes = (RUNS,) if several_runs else ()
    return Output(f"read as {kind}: {size}, written to {out}", notes)


def sample(
    model: Model,
    num_strings: Annotated[
        int, typer.Option("-n", "--num-strings", help="How many strings to draw.")
    ] = 100,
    seed: Seed = 0,
    max_length: Annotated[
        int, typer.Option(help="Strings that reach this length without ending are left out.")
    ] = 100,
    out: OutFile = None,
    force: Force = False,
) -> Output:
    """Draw strings from a model, and write them as CSV with counts, which all commands can read.

    Each next symbol is drawn with a probability proportional to the model's |score| for it. Strings
    that reach --max-length symbols without ending are left out; a message says how many. The most
    frequent strings come first.
    """
    from ..display.result_tables import drawn_warnings
    from ..models.sampling import draw

    if force and out is None:
        raise RecipeError("--force has no effect without --out: there is no file to replace")
    check_between("--num-strings", num_strings, 1, limits.most("generated_strings"))
    check_between("--max-length", max_length, 1, limits.most("string_length"))
    check_new_file(out, force, (model,))
    saved = read_model(model)
    drawn = draw(saved.model, num_strings, seed, max_length)
    summary = f"{plural(int(drawn.counts.sum()), 'string')}, {len(drawn.words):,} of them distinct"
    output = _written(_strings_csv(drawn, saved.alphabet), out, summary)
    return replace(output, notes=drawn_warnings(drawn, max_length))


def _strings_csv(drawn: Drawn, alphabet: Alphabet) -> str:
    """Write strings with counts as CSV that `sources.string_files.read_strings` reads back; the
    header states what a symbol is.

    This is data, not a table for people, so its strings are exact, without the marks of
    `metrics.tables.csv_text`.
    """
    from ..strings.words import LAMBDA

    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    if alphabet.separator and LAMBDA in alphabet.symbols:
        raise RecipeError(
            f"strings can't be written as text if {LAMBDA!r} is one of their symbols, because "
            f"{LAMBDA} alone is the empty string"
        )
    writer.writerow(("tokens" if alphabet.separator else "characters", "count"))
    writer.writerows(
        (alphabet.decode(word), count)
        for word, count in zip(drawn.words, drawn.counts.tolist(), strict=True)
    )
    return buffer.getvalue()


def _written(text: str, out: Path | None, summary: str) -> Output:
    """Write the text to a file, and return a summary to print; without a file, return the text
    itself.
    """
    if out is None:
        return Output(text.removesuffix("\n"), is_data=True)
    write_file(out, text)
    return Output(f"{summary}, written to {out}")
