"""Bundles: chosen runs as one zip archive, to keep, or to bring into another lab. Uploaded strings are not among them.

`bundle.json` has what people gave the runs; `runs/<key>/` has each run's folder as it is on disk. What is brought in is not
trusted: names, sizes and contents are checked before anything is kept.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import Any

from .. import limits
from ..errors import RecipeError
from ..experiment.results import Result, load_result, save_result
from ..files import MAX_JSON_BYTES, SHA256, from_json, read_capped, to_json, zipped
from ..limits import check_at_most
from ..version import __version__
from .listing import chosen
from .runs import History, done

FORMAT = 1
LISTING = "bundle.json"
FILES = ("model.json", "model.safetensors", "result.json")
PLACE = re.compile(rf"runs/({SHA256.pattern})/({'|'.join(map(re.escape, FILES))})")
MAX_RUNS = 1000
MAX_BYTES = 2**30  # unpacked
# A small archive must not unpack to a large one: numbers hardly shrink, the texts beside them to a fifth.
TIMES, FLOOR = 20, 16 * 2**20
PIECE = 2**20


@dataclass(frozen=True)
class Imported:
    """What came of a bundle: the keys of runs that are new here, and of those that were here already and stay as they are."""

    new: tuple[str, ...]
    known: tuple[str, ...]


def export_runs(home: Path, history: History, keys: Collection[str], owner: str | None = None) -> bytes:
    """A bundle of finished runs; with an owner (see `ownership`) only of those on their list, under their names.

    Raises
    ------
    RecipeError
        If one is not whole, or they are too many or too large.
    """
    check_at_most("runs in a bundle", len(keys), MAX_RUNS)
    listing: dict[str, Any] = {"format": FORMAT, "version": __version__, "runs": {}}
    files: dict[str, bytes] = {}
    rows = chosen(history, keys, owner)
    for key in keys:
        row = rows.get(key)
        if row is None or row.state != "done":
            raise RecipeError("Only finished runs can go into a bundle.")
        listing["runs"][key] = {"name": row.name, "tags": row.tags, "note": row.note}
        files |= {f"runs/{key}/{name}": read_capped(home / "runs" / key / name, MAX_BYTES) for name in FILES}
        check_at_most("bytes in a bundle", sum(map(len, files.values())), MAX_BYTES)
    return zipped({LISTING: to_json(listing).encode(), **files})


def import_runs(home: Path, history: History, data: bytes) -> Imported:
    """Bring a bundle's runs in, all or none. Names, tags and notes come with runs that are new here; what was deleted is back.

    Raises
    ------
    RecipeError
        If it is not a sound bundle; nothing is changed then.
    """
    check_at_most("bytes in the file", len(data), limits.most("file_bytes"))
    with TemporaryDirectory(prefix="nlwfa-bundle-") as folder:
        place = Path(folder)
        labels = _unpack(data, place)
        for key in labels:
            _sound(place / "runs" / key, key)
        new = [key for key in labels if not (home / "runs" / key / "result.json").exists()]
        for key in new:
            result = _sound(place / "runs" / key, key)
            save_result(home / "runs" / key, result)
            history.note([done(key, result, time())])
            _label(history, key, labels[key])
    history.restore(set(labels) - set(new))
    return Imported(tuple(new), tuple(key for key in labels if key not in new))


def _unpack(data: bytes, folder: Path) -> dict[str, dict[str, Any]]:
    """Write an archive's files below a folder; returns what `bundle.json` says of each run."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            left = allowed = min(MAX_BYTES, TIMES * len(data) + FLOOR)
            _check_names(entries, allowed)
            for entry in entries:
                target = folder / entry.filename
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    for piece in _pieces(archive, entry):
                        left -= len(piece)
                        if left < 0:  # whatever its directory says
                            raise RecipeError(f"This bundle unpacks to more than {allowed:,} bytes.")
                        file.write(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        if isinstance(error, RecipeError):
            raise
        raise RecipeError(f"This is not a bundle of runs that can be read: {error}") from None
    return _labels(from_json(read_capped(folder / LISTING, MAX_JSON_BYTES)), {path.name for path in folder.glob("runs/*")})


def _pieces(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(entry) as file:
        while piece := file.read(PIECE):
            yield piece


def _check_names(entries: Collection[zipfile.ZipInfo], allowed: int) -> None:
    """Nothing but the files that a bundle has, each once, goes to disk."""
    check_at_most("files in a bundle", len(entries), MAX_RUNS * len(FILES) + 1)
    names = [entry.filename for entry in entries]
    if LISTING not in names or len(set(names)) != len(names):
        raise RecipeError(f"This is not a bundle of runs: it needs one {LISTING}, and each file once.")
    for entry in entries:
        if entry.filename != LISTING and not PLACE.fullmatch(entry.filename):
            raise RecipeError(f"This bundle has a file that does not belong there: {entry.filename[:100]!r}")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RecipeError("This bundle is packed in a way that is not allowed: stored and deflated are.")
    check_at_most("bytes in a bundle", sum(entry.file_size for entry in entries), allowed)


def _labels(listing: Any, keys: Collection[str]) -> dict[str, dict[str, Any]]:
    if not isinstance(listing, dict) or listing.get("format") != FORMAT or not isinstance(listing.get("runs"), dict):
        raise RecipeError(f"{LISTING}: this version reads bundles of format {FORMAT}.")
    labels = listing["runs"]
    if set(labels) != set(keys):
        raise RecipeError(f"{LISTING} lists other runs than the bundle has.")
    for label in labels.values():
        tags = label.get("tags") if isinstance(label, dict) else None
        if not isinstance(tags, list) or not all(isinstance(text, str) for text in (label.get("name"), label.get("note"), *tags)):
            raise RecipeError(f"{LISTING}: a run has a name, a note and a list of tags, all text.")
    return dict(labels)


def _sound(folder: Path, key: str) -> Result:
    """A run, if its folder is whole, its numbers are numbers and its recipe is the one it is named by."""
    result = load_result(folder)
    if result.recipe.key() != key:
        raise RecipeError(f"This bundle says that a run is {key[:12]}…, but its recipe is {result.recipe.key()[:12]}….")
    try:
        scores = [asdict(scores) for scores in (result.scores, result.validation) if scores]
        numbers = [value for found in (*scores, result.seconds) for value in found.values()]
        if not all(value is None or isinstance(value, (int, float)) for value in numbers):
            raise TypeError("a score or a time is not a number")
        if not all(isinstance(text, str) for text in (*result.notes, *result.report.messages)):
            raise TypeError("a sentence is not text")
        done(key, result, 0.0)
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise RecipeError(f"A result in this bundle is not sound: {error}") from None
    return result


def _label(history: History, key: str, label: dict[str, Any]) -> None:
    history.rename(key, label["name"][:200])
    history.annotate(key, label["note"][:10_000])
    history.tag(key, [tag[:40] for tag in label["tags"][:20]])
