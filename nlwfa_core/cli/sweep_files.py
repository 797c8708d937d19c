"""Read the files that a sweep names by their paths, and store them in the lab's folder, from which
its workers read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import limits
from ..errors import RecipeError
from ..experiment.recipe import READING_FIELDS, Recipe
from ..files import SHA256, FileShelf, from_json, to_json
from ..sources.reading import Reading
from ..sources.recognition import kind_of, reading_of
from ..sources.string_files import clean, first_rows
from .inputs import as_options, errors_naming, file_name, read_bytes

# The key of a file in a sweep, which is also the name of its option -> the field of a recipe that
# holds the file's hash.
FIELDS = {
    "train": "upload",
    "test": "upload_test",
    "solution": "upload_solution",
    "true_model": "upload_model",
    "prefixes": "upload_prefixes",
    "targets": "upload_targets",
}
NEEDS = (
    ("test", "train"),
    ("true_model", "train"),
    ("solution", "test"),
    ("prefixes", "train"),
    ("prefixes", "targets"),
    ("targets", "prefixes"),
)


def read_sweep(
    content: bytes,
    folder: Path,
    options: Mapping[str, Path | None],
    reading: Reading,
    shelf: FileShelf,
) -> tuple[bytes, list[str]]:
    """Read a sweep, and store the files that the sweep or the command's options name by their
    paths.

    `content`: the content of the sweep's file. `folder`: the folder of that file, to which the
    paths in the file are relative. `options`: key of `FIELDS` -> path of a file, which replaces the
    path in the sweep's file. `reading`: how the strings are read; what it sets replaces `format` in
    the sweep's file, and fields of its base recipe. `shelf`: the place where files are stored under
    their hashes.

    Returns the sweep as JSON that names the files by their hashes, and for each file a sentence on
    how it was read.

    Raises RecipeError if a file can't be read.
    """
    kind = kind_of(first_rows(clean(content)))
    if kind:
        raise RecipeError(f"a sweep must be a JSON file with base, learners, ranks, …; got {kind}")
    lists: Any = from_json(content)
    if not isinstance(lists, dict):
        return content, []
    named = {key: lists.pop(key) for key in FIELDS if key in lists}
    wrong = [key for key, value in named.items() if not isinstance(value, str) or not value]
    if wrong:
        raise RecipeError(
            f"{wrong[0]} must be the path of a file; got {str(named[wrong[0]])[:60]!r}"
        )
    paths = {key: folder / value for key, value in named.items()}
    paths |= {key: value for key, value in options.items() if value is not None}
    chosen = ({"format": lists.pop("format")} if "format" in lists else {}) | reading.changes()
    base = lists.setdefault("base", {})
    data = base.setdefault("data", {}) if isinstance(base, dict) else None
    if not isinstance(data, dict):
        return to_json(lists).encode(), []  # the caller's check will raise the error
    for key, field in FIELDS.items():
        value = data.get(field)
        if value and not (isinstance(value, str) and SHA256.fullmatch(value)):
            raise RecipeError(
                f'base.data.{field} can\'t hold a path; write "{key}": "PATH" next to "base", '
                f"or use {_option(key)}"
            )
    if paths:
        _check(paths, data)
        data["source"] = "upload"
        # by default, use all strings of the file
        data.setdefault("num_strings", limits.most("generated_strings"))
    data |= {f"upload_{name}": value for name, value in chosen.items()}
    readings = _shelve(paths, data, shelf)
    return to_json(lists).encode(), readings


def _check(paths: Mapping[str, Path], data: Mapping[str, Any]) -> None:
    """Raise RecipeError if a sweep names files that have no effect."""
    if data.get("source", "upload") != "upload":
        raise RecipeError(
            "source must be upload, or left out, if files are named; got "
            f"{str(data['source'])[:60]!r}"
        )
    for key, needed in NEEDS:
        if key in paths and needed not in paths and not data.get(FIELDS[needed]):
            raise RecipeError(
                f"{key} has no effect without {needed}: name it too, in the sweep's file or with "
                f"{_option(needed)}"
            )


def _shelve(paths: Mapping[str, Path], data: dict[str, Any], shelf: FileShelf) -> list[str]:
    """Store each file, put its hash into the base recipe's data, and return for each file a
    sentence on how it was read.
    """
    from ..experiment.datasets import reading_alone

    reading = Reading(
        **{name: data[field] for field, name in READING_FIELDS.items() if field in data}
    )
    readings = []
    for key, path in paths.items():
        content = read_bytes(path)
        with errors_naming(path):
            readings.append(
                reading_of(
                    file_name(path),
                    as_options(reading_alone(FIELDS[key], content, reading)),
                )
            )
        data[FIELDS[key]] = shelf.put(content, file_name(path))
    return readings


def check_files(recipes: Mapping[str, Recipe], shelf: FileShelf) -> None:
    """Raise RecipeError if a recipe has the source "upload" without a file, or if its file is not
    on the shelf.
    """
    advice = 'name it by its path: "train": "PATH" in the sweep\'s file, or --train PATH'
    for data in {recipe.data for recipe in recipes.values() if recipe.data.source == "upload"}:
        if not data.upload:
            raise RecipeError(
                f"a recipe with the source 'upload' needs a file of training strings; {advice}"
            )
        for name in data.uploads:
            if not (shelf.directory / name).exists():
                raise RecipeError(f"the file {name[:8]}… is not in {shelf.directory}; {advice}")


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"
