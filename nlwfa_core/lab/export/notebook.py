"""A run as a Jupyter notebook: the program of `script` in cells, with text, formulas, pictures and tables between.

Written as the JSON that it is (format 4.5), without the library nbformat, whose cells get random names: the same recipe gives the
same bytes. As in `script`, nothing of a user's text is pasted.
"""

from __future__ import annotations

import json
from typing import Any

from ...experiment.recipe import Recipe
from ...metrics.scores import SCORE_OF
from ...version import __version__
from ..formulas.recipe import entries, marks, steps
from ..tables import BETTER
from .script import IMPORTS, UPLOADS, recipe_code_lines, shelf_lines, uploads_of

SETUP = """\
import json
from dataclasses import asdict
from pathlib import Path

from IPython.display import SVG, Image, Markdown, display

from nlwfa_core import {imports}, evaluate, heat_map_png, loss_svgs, prepare, reference_models, run, singular_values_svg
{shelf}
{recipe}"""
DATA = """\
prepared = prepare(recipe{files})
data, hankel = prepared.data, prepared.hankel
print(data.title)
print(f"{{data.train.num_strings:,}} training strings, {{len(data.train.words):,}} distinct, {{data.train.num_symbols}} symbols")
print(f"{{data.test.sample.num_strings:,}} test strings")"""
HANKEL = """\
print(f"{hankel.num_prefixes:,} prefixes, {hankel.num_suffixes:,} suffixes")
Image(heat_map_png(hankel.block, 480))"""
SVD = "SVG(singular_values_svg(hankel, recipe.learning.rank))"
LEARN = """\
result = run(recipe, prepared=prepared{files})
for sentence in result.notes:
    print(sentence)
for stage, drawing in loss_svgs(result.report).items():
    display(SVG(drawing))"""
COLUMNS = ("log2_pauto", "wer", "share_tied", "bits_per_symbol", "ndcg5", "num_zero", "num_negative")
SCORES = """\
models = {recipe.learning.learner: result.scores}
models |= {name: evaluate(model, data.test) for name, model in reference_models(data, 5).items()}
columns = COLUMNS
lines = ["| model | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
for name, scores in models.items():
    lines.append(f"| {name} | " + " | ".join(f"{getattr(scores, column):.4g}" for column in columns) + " |")
display(Markdown("\\n".join(lines)))""".replace("COLUMNS", json.dumps(COLUMNS))
ALL_SCORES = "print(json.dumps(asdict(result.scores), indent=1))"


def notebook(recipe: Recipe) -> str:
    """The notebook's JSON text."""
    files = ", files=files" if uploads_of(recipe) else ""
    cells = [
        _text(
            f"# A run of NL-WFA Lab {__version__}: {recipe.title}\n\n"
            "Every option of the experiment stands in the first cell; change one and run all cells again. "
            "The same recipe gives the same numbers to the last digit.\n\n"
            "Needs the library and Jupyter: `pip install --editable . jupyterlab` in the lab's folder."
            + (f" The uploaded files belong in the folder `{UPLOADS}` beside it; *Everything* has them." if files else "")
        ),
        _code(SETUP.format(imports=IMPORTS, shelf=shelf_lines(recipe).replace("\n\n", "\n"), recipe=recipe_code_lines(recipe))),
        _text("## Strings\n\nGenerated or read as the recipe says; the test strings are never learned from."),
        _code(DATA.format(files=files)),
    ]
    if recipe.learning.kind.needs_hankel:
        cells += [
            _text(
                "## The Hankel matrix\n\n$\\mathbf{H}[u, v] = f(uv)$: a row for each prefix $u$, a column for each suffix $v$. "
                f"An entry is {entries(recipe.hankel)}. {marks(recipe.hankel)}\n\n"
                "Dark is large (logarithmic scale), white is 0, red is negative; a pixel is the largest of the entries it covers."
            ),
            _code(HANKEL),
            _text("Its singular values, largest first; those that the rank keeps are blue."),
            _code(SVD),
            _text("## Learning\n\n" + "\n\n".join(f"{title}\n\n$$\n{formula}\n$$" for title, formula in steps(recipe))),
        ]
    else:
        cells.append(_text("## Learning\n\nFrom the training strings themselves; the validation strings say when to stop."))
    cells += [
        _code(LEARN.format(files=files)),
        _text(
            "## Scores on the test strings\n\n"
            + "\n".join(f"- `{field}`: {SCORE_OF[field].meaning}".replace("*", r"\*") for field in COLUMNS)
            + f"\n\n{BETTER}."
        ),
        _code(SCORES),
        _text("All of the model's scores, with all digits."),
        _code(ALL_SCORES),
    ]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}
    return json.dumps(book | {"nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def _text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
