"""Files on disk and as bytes.

Files are written completely or not at all, and read up to a size limit. JSON may hold ∞ and nan,
zip archives of the same files have the same bytes, and uploaded files are stored under the hash of
their content.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from . import limits
from .errors import RecipeError, check_types

__version__ = "1.0.0"  # of the library and the lab, which write it to their files
# in hexadecimal digits: names of uploaded files, keys of recipes
SHA256 = re.compile("[0-9a-f]{64}")
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_JSON_BYTES = 64 * 2**20
_PIECE_BYTES = 2**20  # what is read at once beyond a file's reported size
# The folder of app.py, pages and assets: the top of a checkout or, once installed, one inside the
# package.
_INSTALLED = Path(__file__).with_name("_lab")
LAB_FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).resolve().parents[1]
# What `zipfile` raises while it reads somebody else's archive.
UNREADABLE_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OSError,
)


def make_directory(directory: Path) -> None:
    """Make a folder. Raises RecipeError if a file or a missing permission prevents it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecipeError(f"can't write to {directory}: {error.strerror}") from None


def write_atomically(path: Path, data: bytes, sync: bool = True) -> None:
    """Write a temporary file next to `path`, then rename it to `path`. The file's permissions
    follow the process's umask.

    `sync`: whether to wait until the content, and then the name, are on the disk. Without it, a
    power cut may leave an empty file.

    Raises RecipeError if the file can't be written; no part of it remains.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if sync:
            _sync_folder(path.parent)
    except OSError as error:
        raise RecipeError(f"can't write {path}: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk, on systems that can."""
    if os.name == "posix":
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def read_capped(path: Path, max_bytes: int) -> bytes:
    """Read a file's bytes.

    Raises RecipeError if it does not exist, can't be read or is larger than `max_bytes`. A pipe or
    a device, whose size is unknown, is read up to that limit.
    """
    try:
        if path.is_dir():
            raise RecipeError(f"can't read {path}: it is a folder, and a file is needed")
        with path.open("rb") as file:
            limits.check_at_most(
                str(path), os.fstat(file.fileno()).st_size, max_bytes, unit="bytes"
            )
            data = read_rest(file, max_bytes + 1)
    except RecipeError:
        raise
    except (OSError, ValueError) as error:  # a ValueError if the path has a zero character
        raise RecipeError(
            f"can't read {path}: {getattr(error, 'strerror', None) or error}"
        ) from None
    if len(data) > max_bytes:
        raise RecipeError(f"{path} must be at most {max_bytes:,} bytes; it is larger")
    return data


def read_rest(file: BinaryIO, max_bytes: int) -> bytes:
    """Read a file from its current position, up to `max_bytes`, using only as much memory as its
    content needs.

    `file.read(max_bytes)` would first allocate all of `max_bytes`, even for a file of a few bytes.
    A pipe or a device has no size, and a file may grow in the meantime.
    """
    pieces = list[bytes]()
    wanted = os.fstat(file.fileno()).st_size + 1
    while max_bytes > 0:
        wanted = min(wanted, max_bytes)
        piece = file.read(wanted)
        pieces.append(piece)
        if len(piece) < wanted:
            break
        max_bytes -= wanted
        wanted = _PIECE_BYTES
    return b"".join(pieces)


def to_json(value: object) -> str:
    """Return a value as JSON text, in which ∞, −∞ and nan are the strings "inf", "-inf" and
    "nan".
    """
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False)


def ascii_json(value: object) -> str:
    """Return a value as `to_json` does, in printable ASCII only."""
    return json.dumps(plain(value), allow_nan=False).replace("\x7f", "\\u007f")


def plain(value: Any) -> Any:
    """Convert a value to numbers, strings, lists and dicts only.

    Numbers that are not finite become strings.
    """
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # an array or a number of numpy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def from_json(data: bytes) -> Any:
    """Read JSON.

    Raises RecipeError if the bytes are not JSON, or hold text that can't be encoded: half of a
    surrogate pair.
    """
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"not JSON: {error}") from None
    return value


ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that the format allows


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Make a zip archive whose bytes depend only on the files and their order.

    >>> zipped({"a.txt": b"a"}) == zipped({"a.txt": b"a"})
    True
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


MAX_NAME = 100  # characters of an uploaded file's name


class FileShelf:
    """A folder of uploaded files, each stored under the hash of its content. Worker processes read
    the files that a recipe names.

    Each file is stored with the name under which it was uploaded. Names are for people: no recipe
    or key contains them.

    >>> from pathlib import Path, PurePath
    >>> from tempfile import TemporaryDirectory
    >>> from nlwfa_core import FileShelf
    >>> with TemporaryDirectory() as folder:
    ...     shelf = FileShelf(Path(folder))
    ...     key = shelf.put(b"ab\\nb\\n")
    ...     content = shelf.get(key)
    >>> len(key), content
    (64, b'ab\\nb\\n')
    """

    @check_types
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @check_types
    def put(self, data: bytes, title: str = "") -> str:
        """Store a file, and return its SHA-256 as 64 hexadecimal digits.

        Parameters
        ----------
        title : str
            The name by which people know the file. If the same content is stored again, the first
            title stays.
        """
        limits.check_limit("the file", len(data), "file_bytes", unit="bytes")
        name = hashlib.sha256(data).hexdigest()
        if (self.directory / name).exists():
            self._touch(name)
        else:
            make_directory(self.directory)
            write_atomically(self.directory / name, data)
        if title and not self._title_file(name).exists():
            write_atomically(self._title_file(name), short_title(title).encode(errors="replace"))
        return name

    @check_types
    def get(self, name: str) -> bytes:
        """Read the file of this name. Raises RecipeError if there is no such file."""
        if not SHA256.fullmatch(name) or not (self.directory / name).exists():
            raise RecipeError(
                "This file is no longer on the server: please upload it again, or paste the "
                "strings again."
            )
        self._touch(name)
        return read_capped(self.directory / name, limits.most("file_bytes"))

    @check_types
    def head(self, name: str, size: int) -> bytes:
        """Read at most the first `size` bytes of the file of this name; empty if there is no such
        file.
        """
        if SHA256.fullmatch(name):
            with suppress(OSError), (self.directory / name).open("rb") as file:
                return file.read(size)
        return b""

    @check_types
    def title(self, name: str) -> str:
        """Return the name by which people know a file; empty if it was uploaded without one."""
        if SHA256.fullmatch(name):
            with suppress(OSError):
                return short_title(
                    self._title_file(name).read_bytes()[: 4 * MAX_NAME].decode("utf-8", "replace")
                )
        return ""

    def titles(self) -> dict[str, str]:
        """Return the title of every file that has one: SHA-256 -> title."""
        names = (path.stem for path in self.directory.glob("*.name"))
        return {name: title for name in names if (title := self.title(name))}

    def _touch(self, name: str) -> None:
        """Record that a file has just been used."""
        with suppress(OSError):
            os.utime(self.directory / name)

    def _title_file(self, name: str) -> Path:
        return self.directory / f"{name}.name"


def make_room(
    shelf: FileShelf, num_bytes: int, max_bytes: int, needed: Callable[[], Collection[str]]
) -> None:
    """Remove the least recently used files of a shelf until another file fits in a total size.

    `num_bytes` and `max_bytes`: the size of the new file, and the largest total size. `needed`:
    called if there is too little room; returns the names of files that must stay.

    Raises RecipeError if the files that must stay leave too little room.
    """
    files = _sizes_and_times(shelf.directory)
    total = num_bytes + sum(size for size, _ in files.values())
    if total <= max_bytes:
        return
    names = set(files) - set(needed())
    for name in sorted(names, key=lambda name: files[name][1]):
        with suppress(OSError):
            (shelf.directory / name).unlink()
            (shelf.directory / f"{name}.name").unlink(missing_ok=True)
            total -= files[name][0]
        if total <= max_bytes:
            return
    limits.check_at_most("the uploaded files in use", total, max_bytes, unit="bytes in total")


def _sizes_and_times(directory: Path) -> dict[str, tuple[int, float]]:
    """Return the size of each uploaded file, and when it was last used."""
    files = {}
    for path in directory.glob("?" * 64):
        with suppress(OSError):  # another process has removed it
            status = path.stat()
            files[path.name] = status.st_size, status.st_mtime
    return {name: entry for name, entry in files.items() if SHA256.fullmatch(name)}


def short_title(name: str) -> str:
    """Return the name of an uploaded file as one short line, without the folders above it.

    >>> short_title("C:\\\\data\\\\one\\ntwo.txt")
    'one two.txt'
    """
    printable = "".join(
        character if character.isprintable() else " " for character in re.split(r"[/\\]", name)[-1]
    )
    return " ".join(printable.split())[:MAX_NAME]


def without_folders(text: str, *folders: Path) -> str:
    """Shorten each path below some folders to the name of its file, for people who must not see a
    server's folders.

    >>> without_folders("can't write /srv/lab/runs/0a/model.json: No space left", Path("/srv/lab"))
    "can't write model.json: No space left"
    """
    for folder in sorted(
        {str(folder) for folder in folders if len(folder.parts) > 1}, key=len, reverse=True
    ):
        if folder not in text:
            continue
        text = re.sub(
            rf"{re.escape(folder)}(?:[/\\][^\s'\":;,)\]]*)?(?![\w-])",
            lambda match: PurePath(match[0]).name,
            text,
        )
    return text


def file_label(name: str, title: str) -> str:
    """Name an uploaded file by its title, if it has one, and the beginning of its SHA-256.

    >>> file_label("0123456789abcdef", "train.txt"), file_label("0123456789abcdef", "")
    ('train.txt (01234567…)', '01234567…')
    """
    short = f"{name[:8]}…"
    return f"{title} ({short})" if title else short
