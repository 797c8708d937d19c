"""Write a run as a Jupyter notebook: the program of `script` in cells, with text, formulas, figures
and tables between them.

The notebook is written as JSON (format 4.5), so the same recipe always gives the same bytes; the
library nbformat would give cells random IDs. As in `script`, it contains no text written by a user.
"""

from __future__ import annotations

import json
from typing import Any

from ..display.formulas.recipe_formulas import entries, entry_formula, marks, steps
from ..display.result_tables import BETTER
from ..experiment.recipe import Recipe
from ..files import __version__
from ..metrics.score_table import SCORE_OF
from .script import INSTALL, UPLOADS, import_line, recipe_code, shelf_line

NAMES = (
    "evaluate",
    "linear_loss",
    "plot",
    "prepare",
    "reference_models",
    "run",
)
SETUP = """\
import json
from dataclasses import asdict
from pathlib import Path

from IPython.display import Markdown, display

{imports}
{shelf}
{recipe}"""
DATA = """\
prepared = prepare(recipe{files})
data, hankel = prepared.data, prepared.hankel
print(data.title)
print(f"{{data.train.num_strings:,}} training strings, {{len(data.train.words):,}} distinct, {{data.train.num_symbols}} symbols")
print(f"{{data.test.sample.num_strings:,}} test strings")"""  # noqa: E501
HANKEL = """\
print(f"{hankel.num_prefixes:,} prefixes, {hankel.num_suffixes:,} suffixes")
plot.hankel(hankel);"""
SVD = "plot.singular_values(hankel, rank=recipe.learning.rank);"
LEARN = """\
result = run(recipe, prepared=prepared{files})
for note in result.notes:
    print(note)
for measure in dict.fromkeys(log.measure for log in result.report.logs):
    plot.losses(result.report, measure=measure{linear})"""
COLUMNS = (
    "log2_pauto",
    "wer",
    "share_tied",
    "bits_per_symbol",
    "ndcg5",
    "num_zero",
    "num_negative",
)
SCORES = """\
models = {recipe.learning.learner: result.scores}
models |= {name: evaluate(model, data.test) for name, model in reference_models(data, 5).items()}
columns = COLUMNS
lines = ["| model | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
for name, scores in models.items():
    lines.append(f"| {name} | " + " | ".join(f"{getattr(scores, column):.4g}" for column in columns) + " |")
display(Markdown("\\n".join(lines)))""".replace("COLUMNS", json.dumps(COLUMNS))  # noqa: E501
ALL_SCORES = "print(json.dumps(asdict(result.scores), indent=1))"


def notebook(recipe: Recipe) -> str:
    """Write a notebook that repeats a run, as JSON text."""
    files = ", files=files" if recipe.data.uploads else ""
    learning = recipe.learning
    has_linear = learning.networks and learning.needs_hankel
    linear = ", linear_loss=linear_loss(hankel, recipe.learning.rank)" if has_linear else ""
    cells = [
        _text(
            f"# A run of NL-WFA Lab {__version__}: {recipe.title}\n\n"
            "The first cell has every option of the experiment. Change one and run all cells "
            "again; "
            "the same options always give the same model.\n\n"
            "The notebook needs Jupyter and Matplotlib (`pip install jupyterlab matplotlib`) and "
            f"the lab's library, in the same version: run {INSTALL}."
            + (
                f" It reads uploaded files from a folder `{UPLOADS}` next to it, as in the "
                "download *Everything*."
                if files
                else ""
            )
        ),
        _code(
            SETUP.format(
                imports=import_line(recipe, NAMES),
                shelf=shelf_line(recipe, "Path()"),
                recipe=recipe_code(recipe),
            )
        ),
        _text(
            "## Strings\n\nThe strings are generated or read from a file. Nothing is learned "
            "from the test strings."
        ),
        _code(DATA.format(files=files)),
    ]
    if recipe.learning.needs_hankel:
        cells += [
            _text(
                "## The Hankel matrix\n\n$\\mathbf{H}[u, v] = "
                f"{entry_formula(recipe.hankel)}$: a row for each prefix $u$, a "
                f"column for each suffix $v$. An entry is {entries(recipe.hankel)}. "
                f"{marks(recipe.hankel)}\n\n"
                "Dark is large (on a logarithmic scale), white is 0, red is negative. In a "
                "large matrix, each cell of the image "
                "shows the largest of the entries that it covers."
            ),
            _code(HANKEL),
            _text(
                "Its singular values, largest first. A model of the chosen rank keeps the "
                "blue ones."
            ),
            _code(SVD),
        ]
    if learning.from_hankel:
        method = "\n\n".join(f"{title}\n\n$$\n{formula}\n$$" for title, formula in steps(recipe))
    else:
        method = "The model is learned from the training strings themselves. "
        method += "Training stops when scores on the validation strings no longer improve."
    cells.append(_text(f"## Learning\n\n{method}"))
    cells += [
        _code(LEARN.format(files=files, linear=linear)),
        _text(
            "## Scores on the test strings\n\n"
            + "\n".join(
                f"- `{field}`: {SCORE_OF[field].meaning}".replace("*", r"\*") for field in COLUMNS
            )
            + f"\n\n{BETTER}."
        ),
        _code(SCORES),
        _text("All scores of the model, with all digits."),
        _code(ALL_SCORES),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    return (
        json.dumps(book | {"nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"
    )


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source,
    }
