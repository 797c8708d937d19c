"""The command line: draw strings, learn a model, score it and use it. What all commands share stands in `terminal`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Annotated, Literal

import typer

from . import __version__, limits
from .data import GENERATORS, unseen_notes
from .errors import RecipeError
from .experiment import basis_notes, build_hankel, fit_recipe, select_rank
from .learning.learners import LEARNERS, mass_messages
from .metrics import TestSet, evaluate
from .recipe import DataRecipe, HankelRecipe, LearningRecipe
from .sources.pautomac import read_solution, write_pautomac, write_solution
from .sources.text import plural
from .store import SavedModel, load_model, save_model
from .summaries import fit_summary, json_text, next_record, next_summary, ranks_summary, score_summary
from .terminal import (
    Output,
    blaming,
    check_writable,
    execute,
    file_name,
    peak_memory,
    progress_bar,
    read_bytes,
    read_known_words,
    read_sample,
    read_words,
    write_file,
)
from .trie import Trie
from .words import Words

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help="Learn weighted finite automata from strings.")
generate = typer.Typer(help="Draw strings, and write them as a PAutomaC file.")
app.add_typer(generate, name="generate")

DATA, HANKEL, LEARNING = DataRecipe(), HankelRecipe(), LearningRecipe()
STRINGS = "PAutomaC or SPiCe, a string a line, or CSV with counts."

Count = Annotated[int, typer.Option("-n", "--num-strings", help="How many strings.")]
Seed = Annotated[int, typer.Option(help="Equal seeds, equal results.")]
File = Annotated[Path, typer.Option("-o", "--out", help="The file to write.")]
Solution = Annotated[Path | None, typer.Option(help="Also write each string's exact probability, as a PAutomaC solution.")]
States = Annotated[int, typer.Option(help="States of the automaton.")]
Symbols = Annotated[int, typer.Option(help="Symbols of its alphabet.")]
Train = Annotated[Path, typer.Option(help=f"Training strings: {STRINGS}")]
Format = Annotated[str, typer.Option(help="auto, pautomac, characters, tokens or csv.")]
MaxDistinct = Annotated[int, typer.Option(help="Distinct training strings to hold; rare ones beyond are dropped (PAutomaC files).")]
Learner = Annotated[str, typer.Option(help=", ".join(LEARNERS))]
Prefixes = Annotated[int, typer.Option(help="The most frequent prefixes make the Hankel matrix's rows.")]
Suffixes = Annotated[int, typer.Option(help="The most frequent suffixes make its columns.")]
Statistic = Annotated[str, typer.Option(help="What the Hankel matrix counts.")]
Hidden = Annotated[str, typer.Option(help="Hidden layers of the factorisation, in multiples of the rank.")]
Epochs = Annotated[int, typer.Option(help="Passes of training, at most; the best one's weights are kept.")]
Rate = Annotated[float, typer.Option(help="Learning rate.")]
Schedule = Annotated[Literal["constant", "cosine"], typer.Option(help="Of the learning rates.")]
Model = Annotated[Path, typer.Option(help="The folder that `fit` wrote.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

LAYERS = ",".join(map(str, LEARNING.hidden))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return execute(app, arguments)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"nlwfa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


@generate.command()
def dyck(
    out: File,
    num_strings: Count = DATA.num_strings,
    seed: Seed = DATA.seed,
    split: Annotated[float, typer.Option(help="Probability of S → SS.")] = DATA.split_probability,
    wrap: Annotated[float, typer.Option(help="Probability of S → [S]; S → [] has the rest.")] = DATA.wrap_probability,
    solution: Solution = None,
) -> Output:
    """Well-bracketed strings: 0 is [ and 1 is ]."""
    recipe = DataRecipe(source="dyck", num_strings=num_strings, seed=seed, split_probability=split, wrap_probability=wrap)
    return _write_strings(recipe, out, solution)


@generate.command()
def automaton(
    out: File,
    num_strings: Count = DATA.num_strings,
    states: States = DATA.num_states,
    symbols: Symbols = DATA.num_symbols,
    seed: Seed = DATA.seed,
    solution: Solution = None,
) -> Output:
    """Strings of a random probabilistic automaton."""
    recipe = DataRecipe(source="automaton", num_strings=num_strings, num_states=states, num_symbols=symbols, seed=seed)
    return _write_strings(recipe, out, solution)


@generate.command()
def squared(
    out: File,
    num_strings: Count = DATA.num_strings,
    states: States = DATA.num_states,
    symbols: Symbols = DATA.num_symbols,
    seed: Seed = DATA.seed,
    solution: Solution = None,
) -> Output:
    """Strings of the square of a random WFA: up to k² states that a nonlinear model does with k."""
    recipe = DataRecipe(source="squared", num_strings=num_strings, num_states=states, num_symbols=symbols, seed=seed)
    return _write_strings(recipe, out, solution)


def _write_strings(recipe: DataRecipe, out: Path, solution: Path | None) -> Output:
    if out == solution:
        raise RecipeError(f"solution: {solution} given, which is where the strings go")
    source = GENERATORS[recipe.source](recipe)
    words = source.words(recipe)
    write_file(out, write_pautomac(words, len(source.alphabet)))
    lines = [source.title, f"{plural(len(words), 'string')}, {plural(len(source.alphabet), 'symbol')}, written to {out}"]
    if solution is not None:
        write_file(solution, write_solution(source.model.weights(words)))
        lines.append(f"their probabilities written to {solution}")
    return Output("\n".join(lines))


@app.command()
def fit(
    train: Train,
    learner: Learner,
    rank: Annotated[int, typer.Option(help="Number of states.")],
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")],
    format: Format = "auto",
    max_distinct: MaxDistinct = limits.MAX_DISTINCT,
    prefixes: Prefixes = HANKEL.num_prefixes,
    suffixes: Suffixes = HANKEL.num_suffixes,
    statistic: Statistic = HANKEL.statistic,
    seed: Seed = LEARNING.seed,
    hidden: Hidden = LAYERS,
    epochs_factorisation: Epochs = LEARNING.epochs_factorisation,
    epochs_transitions: Epochs = LEARNING.epochs_transitions,
    rate_factorisation: Rate = LEARNING.rate_factorisation,
    rate_transitions: Rate = LEARNING.rate_transitions,
    schedule: Schedule = LEARNING.schedule,
) -> Output:
    """Learn a model and write it to a folder."""
    basis = HankelRecipe(num_prefixes=prefixes, num_suffixes=suffixes, statistic=statistic)
    learning = LearningRecipe(
        learner=learner,
        rank=rank,
        hidden=_whole_numbers("hidden", hidden),
        epochs_factorisation=epochs_factorisation,
        epochs_transitions=epochs_transitions,
        rate_factorisation=rate_factorisation,
        rate_transitions=rate_transitions,
        schedule=schedule,
        seed=seed,
    )
    check_writable(out)
    times = [perf_counter()]
    sample, notes = read_sample(train, format, max_distinct)
    times.append(perf_counter())
    hankel = build_hankel(sample, basis)
    times.append(perf_counter())
    with progress_bar() as report:
        learned = fit_recipe(hankel, learning, report)
    recipe = {"hankel": basis.model_dump(mode="json"), "learning": learning.model_dump(mode="json")}
    info = {"recipe": recipe, "training_file": file_name(train), "messages": list(learned.report.messages)}
    save_model(out, SavedModel(learned.model, sample.alphabet, info))
    seconds = {"reading": times[1] - times[0], "hankel": times[2] - times[1], **learned.report.seconds}
    text = fit_summary(sample, hankel, learned.report, seconds | {"total": perf_counter() - times[0]}, peak_memory())
    return Output(f"{text}\nmodel    {out}", (*notes, *basis_notes(hankel, basis), *learned.report.messages))


def _whole_numbers(name: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(entry) for entry in text.split(","))
    except ValueError:
        raise RecipeError(f"{name}: {text[:60]!r} given, whole numbers with commas between them needed, as 2,1,2") from None


@app.command()
def score(
    model: Model,
    test: Annotated[Path, typer.Option(help=f"Test strings: {STRINGS}")],
    solution: Annotated[Path | None, typer.Option(help="Their true probabilities, a PAutomaC solution file.")] = None,
    floor: Annotated[float, typer.Option(help="Raise normalised outputs to this number, where they are below.")] = 0.0,
    format: Format = "auto",
    as_json: AsJson = False,
) -> Output:
    """Score a model on test strings."""
    saved = load_model(model)
    file = read_known_words(test, format, saved.alphabet)
    sample = file.sample()
    if solution is None:
        test_set = TestSet.empirical(sample)
    else:
        data = read_bytes(solution)
        with blaming(solution):
            test_set = TestSet.as_drawn(file.words, read_solution(data), sample)
    scores = evaluate(saved.model, test_set, floor)
    text = json_text(asdict(scores)) if as_json else score_summary(scores, sample)
    return Output(text, (*file.notes, *mass_messages(saved.model)))


@app.command()
def weights(
    model: Model,
    words: Annotated[Path, typer.Option(help=f"The words: {STRINGS}")],
    format: Format = "auto",
) -> Output:
    """Print a model's weight of each word, a line each, in the file's order and with all digits."""
    saved = load_model(model)
    file = read_known_words(words, format, saved.alphabet)
    return Output("\n".join(map(repr, saved.model.weights(file.words).tolist())), file.notes)


@app.command("next")
def next_symbol(
    model: Model,
    prefix: Annotated[str, typer.Option(help='Symbols, as "0 1 1" or "abba"; "" or λ is the empty prefix.')],
    as_json: AsJson = False,
) -> Output:
    """Print the scores of what can follow a prefix, the end of the string included."""
    saved = load_model(model)
    word = saved.alphabet.encode(prefix)
    trie = Trie.of(Words.of([word]), len(saved.alphabet))
    scores = saved.model.next_scores(trie)[trie.ends[0]]
    text = next_record(saved.alphabet, word, scores) if as_json else next_summary(saved.alphabet, word, scores)
    return Output(text, mass_messages(saved.model))


@app.command("select-rank")
def choose_rank(
    train: Train,
    validation: Annotated[Path, typer.Option(help=f"Validation strings: {STRINGS}")],
    learner: Learner,
    ranks: Annotated[str, typer.Option(help="Ranks to try, as 1,2,5,10.")],
    metric: Annotated[str, typer.Option(help="wer or log2_pauto.")] = "wer",
    format: Format = "auto",
    max_distinct: MaxDistinct = limits.MAX_DISTINCT,
    prefixes: Prefixes = HANKEL.num_prefixes,
    suffixes: Suffixes = HANKEL.num_suffixes,
    statistic: Statistic = HANKEL.statistic,
    seed: Seed = LEARNING.seed,
    hidden: Hidden = LAYERS,
    epochs_factorisation: Epochs = LEARNING.epochs_factorisation,
    epochs_transitions: Epochs = LEARNING.epochs_transitions,
    rate_factorisation: Rate = LEARNING.rate_factorisation,
    rate_transitions: Rate = LEARNING.rate_transitions,
    schedule: Schedule = LEARNING.schedule,
    as_json: AsJson = False,
) -> Output:
    """Learn with each rank, score on validation strings, and say which rank is best."""
    basis = HankelRecipe(num_prefixes=prefixes, num_suffixes=suffixes, statistic=statistic)
    tried = _whole_numbers("ranks", ranks)
    learning = LearningRecipe(
        learner=learner,
        rank=tried[0],
        hidden=_whole_numbers("hidden", hidden),
        epochs_factorisation=epochs_factorisation,
        epochs_transitions=epochs_transitions,
        rate_factorisation=rate_factorisation,
        rate_transitions=rate_transitions,
        schedule=schedule,
        seed=seed,
    )
    read, read_notes = read_sample(train, format, max_distinct)
    held_out = read_words(validation, format, read.alphabet)
    # Both over the larger alphabet, as in the lab: what validation alone uses costs every model its zeros.
    sample, test_set = replace(read, alphabet=held_out.alphabet), TestSet.empirical(held_out.sample())
    with progress_bar() as report:
        chosen = select_rank(sample, test_set, tried, metric=metric, hankel=basis, learning=learning, report=report)
    notes = (*read_notes, *held_out.notes, *unseen_notes(sample, test_set.sample, "validation"), *chosen.notes)
    if not as_json:
        return Output(ranks_summary(learner, chosen), notes)
    tried_ranks = [{"rank": rank, **asdict(scores)} for rank, scores in chosen.scores]
    return Output(json_text({"learner": learner, "metric": chosen.metric, "rank": chosen.rank, "scores": tried_ranks}), notes)
