"""Pack finished runs into bundles, zip archives for safekeeping or for another lab. Uploaded
strings are not included.

`bundle.json` lists the runs' names and tags; `runs/<key>/` is each run's folder as it is on disk.
Imports are not trusted: names, sizes and contents are checked before anything is stored.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any

from ..errors import RecipeError
from ..experiment.results import load_result
from ..files import (
    MAX_JSON_BYTES,
    SHA256,
    UNREADABLE_ZIP,
    __version__,
    from_json,
    make_directory,
    read_capped,
    to_json,
    write_atomically,
    zipped,
)
from ..limits import check_at_most, check_limit
from .listing import get_runs
from .runs import MAX_NAME, MAX_TAG, MAX_TAGS, History, Run, run_of_result

FORMAT = 1
LISTING = "bundle.json"
# the last one marks a folder as complete
FILES = ("model.json", "model.safetensors", "result.json")
RUN_FILE = re.compile(rf"runs/({SHA256.pattern})/({'|'.join(map(re.escape, FILES))})")
MAX_RUNS = 1000
MAX_BYTES = 2**30  # unpacked
PIECE_BYTES = 2**20


@dataclass(frozen=True)
class Imported:
    """The outcome of an import: the keys of new runs, and of runs that existed already, which are
    not changed.
    """

    new: tuple[str, ...]
    present: tuple[str, ...]


def export_runs(
    home: Path, history: History, keys: Collection[str], owner: str | None = None
) -> bytes:
    """Pack finished runs; for an owner (see `owners`), only those on the owner's list, with the
    owner's names.

    Raises RecipeError if a run is not finished, or the bundle would have too many runs or bytes.
    """
    check_at_most("the number of runs in a bundle", len(keys), MAX_RUNS)
    listing: dict[str, Any] = {"format": FORMAT, "version": __version__, "runs": {}}
    files: dict[str, bytes] = {}
    rows = get_runs(history, keys, owner)
    for key in keys:
        row = rows.get(key)
        if row is None or row.state != "done":
            raise RecipeError(
                f"Only finished runs {'of your list ' if owner else ''}can go into a bundle."
            )
        listing["runs"][key] = {"name": row.name, "tags": row.tags}
        files |= {
            f"runs/{key}/{name}": read_capped(home / "runs" / key / name, MAX_BYTES)
            for name in FILES
        }
        check_at_most("a bundle", sum(map(len, files.values())), MAX_BYTES, unit="bytes")
    return zipped({LISTING: to_json(listing).encode(), **files})


def import_runs(home: Path, history: History, data: bytes) -> Imported:
    """Import a bundle's runs, all or none. New runs get the bundle's names and tags; deleted runs
    are restored.

    Raises RecipeError if the bundle is not valid; then nothing is changed.
    """
    check_limit("the file", len(data), "file_bytes", unit="bytes")
    with TemporaryDirectory(prefix="nlwfa-bundle-") as folder:
        unpacked = Path(folder)
        labels = _unpack(data, unpacked)
        runs = {key: _sound_run(unpacked / "runs" / key, key) for key in labels}
        new = tuple(key for key in labels if not (home / "runs" / key / "result.json").exists())
        for key in new:
            make_directory(home / "runs" / key)
            for name in FILES:
                write_atomically(
                    home / "runs" / key / name, (unpacked / "runs" / key / name).read_bytes()
                )
            history.note([runs[key]])
            name, tags = labels[key]
            history.rename(key, name)
            history.tag(key, tags)
    history.restore(set(labels) - set(new))
    return Imported(new, tuple(key for key in labels if key not in new))


def _unpack(data: bytes, folder: Path) -> dict[str, tuple[str, list[str]]]:
    """Write an archive's files into a folder. Returns key -> name and tags of a run."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            _check_entries(entries)
            num_bytes = 0
            for entry in entries:
                path = folder / entry.filename
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, path.open("wb") as target:
                    while piece := source.read(PIECE_BYTES):
                        num_bytes += len(piece)
                        # its stated size may be wrong
                        check_at_most("a bundle", num_bytes, MAX_BYTES, unit="bytes")
                        target.write(piece)
    except UNREADABLE_ZIP as error:
        if isinstance(error, RecipeError):
            raise
        raise RecipeError(f"This file can't be read as a bundle of runs: {error}") from None
    return _labels(
        from_json(read_capped(folder / LISTING, MAX_JSON_BYTES)),
        {path.name for path in folder.glob("runs/*")},
    )


def _check_entries(entries: Collection[zipfile.ZipInfo]) -> None:
    """Refuse an archive that does not contain exactly a bundle's files, or whose stated size is too
    large.
    """
    check_at_most("the number of files in a bundle", len(entries), MAX_RUNS * len(FILES) + 1)
    names = [entry.filename for entry in entries]
    if LISTING not in names or len(set(names)) != len(names):
        raise RecipeError(
            f"This is not a bundle of runs: it must have one {LISTING}, and no duplicate files."
        )
    for name in names:
        if name != LISTING and not RUN_FILE.fullmatch(name):
            raise RecipeError(f"This bundle contains an unexpected file: {name[:100]!r}")
    if any(
        entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries
    ):
        raise RecipeError(
            "The files in a bundle must be stored or deflated; this bundle uses another "
            "compression method."
        )
    check_at_most("a bundle", sum(entry.file_size for entry in entries), MAX_BYTES, unit="bytes")


def _sound_run(folder: Path, key: str) -> Run:
    """Return the row of an unpacked run.

    Raises RecipeError unless its folder is complete and its key is that of its recipe.
    """
    result = load_result(folder)
    if result.recipe.key() != key:
        raise RecipeError(
            f"This bundle lists a run under the key {key[:12]}…, but its recipe has the key "
            f"{result.recipe.key()[:12]}…: the bundle is damaged, or was edited."
        )
    try:
        return run_of_result(key, result, time())
    except (ValueError, ArithmeticError, LookupError) as error:
        raise RecipeError(f"A result in this bundle is not valid: {error}") from None


def _labels(listing: Any, keys: Collection[str]) -> dict[str, tuple[str, list[str]]]:
    """Read the labels of the runs in a bundle, key -> (name, tags), cut to the lengths that the
    history allows.
    """
    if (
        not isinstance(listing, dict)
        or listing.get("format") != FORMAT
        or not isinstance(listing.get("runs"), dict)
    ):
        raise RecipeError(f"{LISTING}: this version can only read bundles of format {FORMAT}.")
    if set(listing["runs"]) != set(keys):
        raise RecipeError(f"{LISTING} must list the runs that the bundle contains, and no others.")
    labels = {}
    for key, label in listing["runs"].items():
        name, tags = (
            (label.get("name"), label.get("tags")) if isinstance(label, dict) else (None, None)
        )
        if not isinstance(tags, list) or not all(isinstance(text, str) for text in (name, *tags)):
            raise RecipeError(
                f"{LISTING}: each run must have a name and a list of tags, all of them text."
            )
        labels[key] = (str(name)[:MAX_NAME], [tag[:MAX_TAG] for tag in tags[:MAX_TAGS]])
    return labels
