"""The command line, `nlwfa`.

- `main`: the table of commands, and those that draw strings, score a model and use it.
- `learn`: `fit` and `select-rank`.
- `export`: `export` and `sample`, which take a model to other programs.
- `rank`: `rank`, for prefixes and targets of the SPiCe competition.
- `values`: `fit-values` and `score-values`, for functions that are not distributions.
- `lab`: starts the lab.
- `sweep`, `reproduce`: many runs from a file, and the paper's experiments.
- `sweep_files`: the files of strings that a sweep names by their paths.
- `options`: options made from the fields of a recipe.
- `text`: results as text for a terminal.
- `terminal`: what all commands share: errors, exit codes, a progress bar, files.

Commands import numerical libraries only when they are called, so that help and usage errors appear at once. Left out: everything
that a page shows.
"""

from ..errors import check_extra

check_extra("cli", "typer", "rich")
