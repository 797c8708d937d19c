"""Define the command line, `nlwfa`.

- `main`: the table of commands.
- `generate`: draws strings from random sources.
- `weights`: `weights` and `next`.
- `score`: `score` and `compare`.
- `history`: lists and exports the runs of a lab's folder.
- `classes`: lists and deletes the class sessions of a lab's folder.
- `count`: counts the strings of a file of any size.
- `learn`: `fit` and `select-rank`.
- `mix`: combines models.
- `classify`: a model of the strings of each label.
- `compete`: runs the problems of PAutomaC or SPiCe.
- `export`: `export`, `import` and `sample`, for files of other programs.
- `rank`: `rank`, for prefixes and targets of the SPiCe competition.
- `value_commands`: `fit-values` and `score-values`, for functions of strings that are not
  probabilities.
- `lab`: starts the lab.
- `sweep`, `reproduce`: many runs listed in a file, and the paper's experiments.
- `sweep_files`: reads the files of strings that a sweep names by their paths.
- `recipe_options`: options made from the fields of a recipe.
- `text`: results as text for a terminal.
- `terminal`: what a command prints: its output, notes and errors, and exit codes.
- `running`: a progress bar, and stopping with Ctrl-C, for commands that take a long time.
- `inputs`: reads strings and models. `outputs`: checks that files may be written, and writes them.

A command's module is imported when the command is used, and numerical libraries only when it runs,
so help and usage errors appear at once.
"""

from ..errors import check_extra

check_extra("cli", "typer", "rich")
