"""Write a run as a short Python program that sets every option explicitly.

The program contains no text written by a user, so nobody can put code into it: a recipe holds
numbers, words from fixed lists and hashes, and each is written by `repr`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..experiment.recipe import Recipe
from ..files import __version__
from ..learning.shared_options import LearnerOptions
from ..records import Record

UPLOADS = "uploads"  # the folder in which a program looks for uploaded files
RECORDS = ("DataRecipe", "HankelRecipe", "Recipe", "options")

# How to get the library, in two lines of a program or a notebook.
INSTALL = (
    "`pip install --editable .` in a copy of the lab's folder,\n"
    "or `pip install` with the wheel that `python -m build` makes there"
)
SCRIPT = '''\
"""Repeats a run of NL-WFA Lab {version}: {title}.

Needs the lab's library, in the same version: run
{install}.
"""
{note}
from dataclasses import asdict
{path}
{imports}
{shelf}
{recipe}

result = run(recipe{files})
print(f"{{result.recipe.learning.learner}} with {{result.model.num_states}} states, on the test strings:")
for name, value in asdict(result.scores).items():
    print(f"  {{name}}: {{value!r}}")
for note in result.notes:
    print(note)
'''  # noqa: E501
NOTE = """
# Put the uploaded files into a folder "{folder}" next to this program. The name of each is its SHA-256:
# {names}
"""  # noqa: E501


def script(recipe: Recipe) -> str:
    """Write a program that repeats a run and prints its scores.

    >>> print(script(Recipe()).splitlines()[0])
    \"\"\"Repeats a run of NL-WFA Lab 1.0.0: SP, k = 10.
    """
    files = recipe.data.uploads
    return SCRIPT.format(
        version=__version__,
        title=recipe.title,
        install=INSTALL,
        note=NOTE.format(folder=UPLOADS, names=", ".join(files)) if files else "",
        path="from pathlib import Path\n" if files else "",
        imports=import_line(recipe, ("run",)),
        shelf=shelf_line(recipe, "Path(__file__).parent"),
        recipe=recipe_code(recipe),
        files=", files=files" if files else "",
    )


def import_line(recipe: Recipe, names: Iterable[str]) -> str:
    """Write a program's import line: it imports `names` from the library, and the names that the
    code of a recipe needs.

    >>> import_line(Recipe(), ["run"])
    'from nlwfa_core import DataRecipe, HankelRecipe, Recipe, options, run'
    """
    shelf = ("FileShelf",) if recipe.data.uploads else ()
    records = [name for name in RECORDS if name != "HankelRecipe" or recipe.learning.needs_hankel]
    return f"from nlwfa_core import {', '.join(sorted((*records, *shelf, *names)))}"


def shelf_line(recipe: Recipe, home: str) -> str:
    """Write the line of a program that opens the folder of uploaded files, `UPLOADS` in the folder
    of the expression `home`; empty if the recipe reads no uploaded file.
    """
    folder = f"{home} / {UPLOADS!r}"
    return f"\nfiles = FileShelf({folder}).get" if recipe.data.uploads else ""


def recipe_code(recipe: Recipe) -> str:
    """Write a recipe as Python code, with one option per line.

    >>> print("\\n".join(recipe_code(Recipe()).splitlines()[:3]))
    recipe = Recipe(
        data=DataRecipe(
            source='dyck',
    """
    parts = [f"    {name}={_part(part)},\n" for name, part in recipe.fields().items()]
    return f"recipe = Recipe(\n{''.join(parts)})"


def _part(part: Record) -> str:
    fields = part.fields()
    call = f"{type(part).__name__}(\n"
    if isinstance(part, LearnerOptions):
        call = f"options(\n        {fields.pop('learner')!r},\n"
    lines = "".join(f"        {name}={value!r},\n" for name, value in fields.items())
    return f"{call}{lines}    )"
