"""The shelf of uploaded files: content under its hash, and beside it the name that people know it
by.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from nlwfa_core.display.recipe_differences import difference_table
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import DataRecipe, Recipe
from nlwfa_core.files import MAX_NAME, FileShelf, make_room, without_folders


def test_a_file_keeps_the_first_of_its_names(tmp_path: Path) -> None:
    shelf = FileShelf(tmp_path / "uploads")
    name = shelf.put(b"ab\n", "one.txt")
    assert (
        name
        == shelf.put(b"ab\n", "two.txt")
        == shelf.put(b"ab\n")
        == hashlib.sha256(b"ab\n").hexdigest()
    )
    assert (shelf.title(name), shelf.get(name)) == ("one.txt", b"ab\n")
    assert (
        shelf.title(shelf.put(b"ba\n")) == shelf.title("0" * 64) == shelf.title("../one.txt") == ""
    )


@pytest.mark.parametrize(
    ("title", "stored"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\é λ.csv", "é λ.csv"),
        ("two\nlines\x00.txt", "two lines .txt"),
        ("\udc80.txt", "?.txt"),
        ("x" * 300, "x" * MAX_NAME),
    ],
)
def test_a_name_is_one_short_line(tmp_path: Path, title: str, stored: str) -> None:
    shelf = FileShelf(tmp_path)
    assert shelf.title(shelf.put(b"ab\n", title)) in (stored, stored.replace("?", "").strip())
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.parametrize(
    "name",
    [
        "../secret",
        "secret",
        "/etc/hostname",
        "",
        ".",
        "0" * 63,
        "0" * 65,
        "A" * 64,
        f"{'0' * 64}\n",
    ],
)
def test_only_the_hash_of_a_file_is_a_name(tmp_path: Path, name: str) -> None:
    """A link may hold any text as the name of an uploaded file."""
    (tmp_path / "secret").write_bytes(b"ab\n")
    shelf = FileShelf(tmp_path / "uploads")
    shelf.put(b"ab\n")
    (shelf.directory / "secret").write_bytes(b"ab\n")
    with pytest.raises(RecipeError, match="no longer on the server"):
        shelf.get(name)


def test_files_that_nobody_has_used_for_longest_make_room(tmp_path: Path) -> None:
    shelf = FileShelf(tmp_path)
    names = [shelf.put(bytes([number]) * 100, f"{number}.txt") for number in range(5)]
    for number, name in enumerate(names):
        os.utime(tmp_path / name, (number, number))
    shelf.get(names[0])
    shelf.put(bytes([1]) * 100)  # uploaded again
    make_room(shelf, 100, 600, pytest.fail)  # there is room
    make_room(shelf, 100, 400, lambda: {names[2], "0" * 64})
    assert [(tmp_path / name).exists() for name in names] == [True, True, True, False, False]
    assert not (tmp_path / f"{names[3]}.name").exists() and (tmp_path / f"{names[2]}.name").exists()
    with pytest.raises(
        RecipeError, match="uploaded files in use must be at most 300 bytes in total; got 400"
    ):
        make_room(shelf, 200, 300, lambda: {names[1], names[2]})
    assert [(tmp_path / name).exists() for name in names[:3]] == [False, True, True]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "can't write /srv/lab/runs/0a/model.safetensors: No space left",
            "can't write model.safetensors: No space left",
        ),
        (
            "[Errno 2] No such file: '/srv/lab/runs/0a/result.json'",
            "[Errno 2] No such file: 'result.json'",
        ),
        ("can't write to /srv/lab: Permission denied", "can't write to lab: Permission denied"),
        ("can't write to /srv/lab/: Permission denied", "can't write to lab: Permission denied"),
        ("/srv/lab/a.txt and /srv/lab/b.txt, too", "a.txt and b.txt, too"),
        ('the file "/srv/lab/uploads/x" (in /srv/lab/uploads/y)', 'the file "x" (in y)'),
        ("/srv/laboratory/a and srv/lab are others", "/srv/laboratory/a and srv/lab are others"),
        ("the symbols /, // and a/b", "the symbols /, // and a/b"),
    ],
)
def test_a_message_shows_no_folder_of_the_server(text: str, shown: str) -> None:
    assert without_folders(text, Path("/srv/lab"), Path("/")) == shown


def test_tables_of_options_show_the_name_beside_the_hash() -> None:
    recipe = Recipe(data=DataRecipe(source="upload", upload="0" * 64))
    table = difference_table({"run": recipe}, True, {"0" * 64: "train.txt"})
    assert (
        dict(zip(table["option"], table["run"], strict=True))["file of training strings"]
        == f"train.txt ({'0' * 64})"
    )
