"""Check, before a command computes anything, that its files may be written, and write them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ..errors import RecipeError
from ..files import MAX_JSON_BYTES, from_json, read_capped, write_atomically

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace the file or model that an earlier command wrote there."),
]


def write_file(path: Path, text: str) -> None:
    """Write a file completely or not at all.

    Links are followed; a device or pipe is written to directly.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(Path(os.path.realpath(path)), text.encode())
    except OSError as error:
        raise RecipeError(f"can't write {path}: {error.strerror}") from None


def check_writable(directory: Path) -> None:
    """Raise RecipeError if a folder can't be made or written to, so this is known before hours
    of training.
    """
    try:
        parent = next(
            path for path in (directory.absolute(), *directory.absolute().parents) if path.exists()
        )
        writable = os.access(parent, os.W_OK | os.X_OK)
        not_folder = (
            "it is a file, and a folder is needed"
            if parent == directory.absolute()
            else f"{parent} is a file"
        )
        reason = not_folder if not parent.is_dir() else "" if writable else "Permission denied"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        raise RecipeError(f"can't write to {directory}: {reason}")


def check_new_model(directory: Path, force: bool) -> None:
    """Raise RecipeError if a model can't be written to a folder, or would replace something.

    An empty folder may be used. With `force`, the model of an earlier command is replaced; other
    files are never touched.
    """
    from ..models.model_files import MODEL_FILES

    check_writable(directory)
    if not directory.is_dir() or not any(directory.iterdir()):
        return
    files = [name for name in MODEL_FILES if (directory / name).exists()]
    if files and not _holds_model(directory):
        raise RecipeError(
            f"{directory} exists, and nlwfa did not write its {' and '.join(files)}: "
            "choose another folder"
        )
    if not force:
        content = (
            "a model, which --force replaces"
            if files
            else "other files, which stay if you add the model with --force"
        )
        raise RecipeError(
            f"{directory} exists and holds {content}; otherwise choose another folder"
        )


def _holds_model(directory: Path) -> bool:
    """Return whether a folder has a model.json that `save` wrote."""
    try:
        header = from_json(read_capped(directory / "model.json", MAX_JSON_BYTES))
    except RecipeError:
        return False
    return isinstance(header, dict) and {"format", "kind", "symbols"} <= header.keys()


def check_new_file(path: Path | None, force: bool, used: Iterable[Path | None] = ()) -> None:
    """Raise RecipeError if a file would be replaced without `force`, or if it is part of a model or
    one of the files in `used`, even with `force`.

    Devices and pipes can be written to at any time.

    `used`: the other files that the command reads or writes.
    """
    if path is None:
        return
    if path.is_dir():
        raise RecipeError(f"can't write {path}: it is a folder, and a file is needed")
    if not path.parent.is_dir():
        raise RecipeError(f"can't write {path}: there is no folder {path.parent}")
    with suppress(FileNotFoundError):
        # raises OSError for a loop of links, which `is_file` calls no file
        if not stat.S_ISREG(path.stat().st_mode):
            return
    target = Path(os.path.realpath(path))
    if any(other is not None and _is_same_file(target, other) for other in used):
        raise RecipeError(
            f"can't write {path}: this command uses that file for something else; choose "
            "another name"
        )
    if path.is_file() and not force:
        raise RecipeError(f"{path} exists: choose another name, or replace it with --force")
    if _is_part_of_model(target):
        raise RecipeError(
            f"can't write {path}: it is part of a model, which would be lost; choose another name"
        )


def _is_same_file(target: Path, other: Path) -> bool:
    return target == Path(os.path.realpath(other)) or (
        target.exists() and other.exists() and target.samefile(other)
    )


def _is_part_of_model(path: Path) -> bool:
    """Return whether a path is that of a model's file, or of another link to it."""
    from ..models.model_files import MODEL_FILES

    return path.name in MODEL_FILES and _holds_model(path.parent)
