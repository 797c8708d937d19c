"""Make the files of a run's download, name -> bytes: its model, its strings and its figures.

`files.zipped` makes one archive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..display.graph import dot
from ..display.result_tables import BETTER, score_column, scores_csv, shown_scores
from ..errors import RecipeError
from ..experiment.datasets import Data
from ..experiment.recipe import run_title
from ..experiment.results import Result
from ..hankel.matrix import HankelMatrix
from ..metrics.evaluate import evaluate
from ..metrics.score_table import Scores, conventions
from ..metrics.tables import Table, write_table
from ..metrics.testset import TestSet
from ..models.model_files import MODEL_FILES, StoredModel, save
from ..models.wfa import WFA
from ..sources.pautomac import write_pautomac, write_solution
from ..strings.sample import Sample
from ..strings.words import Alphabet, Words
from .automaton_formats import openfst, pautomac, weights_json
from .figures import FORMATS, linear_of_rank, run_figures
from .tikz import tikz

AUTOMATA: dict[str, Callable[[WFA], str]] = {
    "automaton.pautomac.txt": pautomac,
    "automaton.openfst.txt": openfst,
}


def model_files(result: Result) -> dict[str, bytes]:
    """Write a run's model as `saved_files` does."""
    info = {"recipe": result.recipe.model_dump(mode="json")}
    return saved_files(result.model, result.alphabet, info)


def saved_files(
    model: StoredModel, alphabet: Alphabet, info: Mapping[str, Any]
) -> dict[str, bytes]:
    """Write a model in the form that `models.model_files.load` reads; a linear model also as text,
    in
    all formats that can express it.
    """
    with TemporaryDirectory() as folder:
        save(model, folder, info, alphabet=alphabet)
        files = {name: Path(folder, name).read_bytes() for name in MODEL_FILES}
    if isinstance(model, WFA):
        files["automaton.dot"] = dot(model, alphabet.symbols).encode()
        files["automaton.json"] = weights_json(model, alphabet).encode()
        with suppress(RecipeError):
            files["automaton.tex"] = tikz(model, alphabet.symbols).encode()
        files |= _automata(model)
    return files


def refusals(model: WFA) -> tuple[str, ...]:
    """Explain why a linear model can't be written for other programs: one sentence for each format
    of AUTOMATA that refuses it, and TikZ.
    """
    sentences = []
    symbols = [str(symbol) for symbol in range(model.num_symbols)]
    writers: list[Callable[[WFA], str]] = [*AUTOMATA.values(), partial(tikz, symbols=symbols)]
    for write in writers:
        try:
            write(model)
        except RecipeError as error:
            sentences.append(str(error))
    return tuple(sentences)


def _automata(model: WFA) -> dict[str, bytes]:
    """Write a linear model in those formats of AUTOMATA that can express it."""
    files = {}
    for name, write in AUTOMATA.items():
        try:
            files[name] = write(model).encode()
        except RecipeError:
            continue
    return files


def data_files(data: Data) -> dict[str, bytes]:
    """Write the strings in PAutomaC's format, the names of the symbols, and the true probabilities
    and automaton if known.
    """
    files = {"train.txt": _strings(_repeated(data.train), data)}
    if data.validation is not None:
        files["validation.txt"] = _strings(_test_words(data.validation), data)
    files["test.txt"] = _strings(_test_words(data.test), data)
    files["symbols.json"] = (
        json.dumps(list(data.test.alphabet.symbols), ensure_ascii=False) + "\n"
    ).encode()
    if data.test.target_is_true:
        files["test-solution.txt"] = write_solution(data.test.target).encode()
    if isinstance(data.true_model, WFA):
        files |= {f"true-{name}": text for name, text in _automata(data.true_model).items()}
    return files


def score_files(
    result: Result,
    data: Data,
    hankel: HankelMatrix | None,
    references: Mapping[str, Scores],
    others: Sequence[Result] = (),
) -> dict[str, bytes]:
    """Write the scores of a run, of SP of its rank if the matrix allows it, of other runs, and of
    references: all of them with all digits as CSV, and the main ones as a table in LaTeX.
    """
    rows = {result.recipe.title: result.scores}
    linear = linear_of_rank(result, hankel)
    if linear is not None:
        rows[run_title("SP", result.recipe.learning.rank)] = evaluate(linear, data.test)
    rows |= {one.recipe.title: one.scores for one in others}
    rows |= references
    entries = list(rows.values())
    table: Table = {"model": list(rows)}
    table |= {score.column: score_column(entries, score) for score in shown_scores(entries)}
    caption = f"{conventions(result.scores.num_strings)}. {BETTER}."
    return {
        "scores.csv": scores_csv(rows),
        "scores.tex": write_table(table, "latex", caption).encode(),
    }


def figure_files(
    result: Result, data: Data, hankel: HankelMatrix | None, others: Sequence[Result] = ()
) -> dict[str, bytes]:
    """Draw a run's Hankel matrix and its singular values (if there is a matrix), the weights of
    deeper and deeper strings (also under the models `others`), and its loss curves (if there was
    training), each as PDF, SVG and PNG.
    """
    return {
        f"{name}.{suffix}": content
        for name, figure in run_figures(result, data, hankel, others).items()
        for suffix, content in figure.files(FORMATS).items()
    }


def _test_words(test: TestSet) -> Words:
    """Return the test strings in the order of their true probabilities if these are known,
    otherwise as often as each occurs.
    """
    return test.words if test.target_is_true else _repeated(test.sample)


def _repeated(sample: Sample) -> Words:
    """Return each string of a sample as often as it occurs."""
    return sample.words.take(np.repeat(np.arange(len(sample.words)), sample.counts))


def _strings(words: Words, data: Data) -> bytes:
    return write_pautomac(words, len(data.test.alphabet)).encode()
