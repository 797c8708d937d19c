"""A run as a Python program of a few lines, every option written out.

Nothing of a user's text is pasted: a recipe holds numbers, allowed words and hashes, and each is written by `repr`.
"""

from __future__ import annotations

from ...experiment.recipe import Recipe, Record
from ...version import __version__

UPLOADS = "uploads"  # the folder where a program looks for uploaded files
IMPORTS = "DataRecipe, HankelRecipe, LearningRecipe, Recipe, RefinementRecipe"

SCRIPT = '''\
"""A run of NL-WFA Lab {version}, done again: {title}.

Needs the library: `pip install --editable .` in the lab's folder.
"""
{note}
from dataclasses import asdict
{path}
from nlwfa_core import {imports}, run
{shelf}
{recipe}

result = run(recipe{files})
print(f"{{result.recipe.learning.learner}}, {{result.model.num_states}} states, on the test strings:")
for name, value in asdict(result.scores).items():
    print(f"  {{name}}: {{value!r}}")
for sentence in result.notes:
    print(sentence)
'''
NOTE = """
# The uploaded files belong in the folder "{folder}" beside this program, each under its SHA-256 as its name:
# {names}
"""


def script(recipe: Recipe) -> str:
    """A program that prints the scores of a recipe's run.

    >>> print(script(Recipe()).splitlines()[0])
    \"\"\"A run of NL-WFA Lab 0.1.0, done again: SP, k = 10.
    """
    files = uploads_of(recipe)
    return SCRIPT.format(
        version=__version__,
        title=recipe.title,
        note=NOTE.format(folder=UPLOADS, names=", ".join(files)) if files else "",
        path="from pathlib import Path\n" if files else "",
        imports=IMPORTS,
        shelf=shelf_lines(recipe),
        recipe=recipe_code_lines(recipe),
        files=", files=files" if files else "",
    )


def shelf_lines(recipe: Recipe) -> str:
    """The lines that say where uploaded files are; none where a recipe has none."""
    if not uploads_of(recipe):
        return ""
    return f"from nlwfa_core import FileShelf\n\nfiles = FileShelf(Path({UPLOADS!r})).get\n"


def uploads_of(recipe: Recipe) -> tuple[str, ...]:
    """Content hashes of the uploaded files that a recipe reads."""
    data = recipe.data
    names = (data.upload, data.upload_test, data.upload_solution, data.upload_model) if data.source == "upload" else ()
    return tuple(name for name in names if name)


def recipe_code_lines(recipe: Recipe) -> str:
    """The recipe as Python, one option a line.

    >>> print("\\n".join(recipe_code_lines(Recipe()).splitlines()[:3]))
    recipe = Recipe(
        data=DataRecipe(
            source='dyck',
    """
    parts = [f"    {name}={_part(part)},\n" for name, part in recipe]
    return f"recipe = Recipe(\n{''.join(parts)})"


def _part(part: Record) -> str:
    options = "".join(f"        {name}={value!r},\n" for name, value in part)
    return f"{type(part).__name__}(\n{options}    )"
