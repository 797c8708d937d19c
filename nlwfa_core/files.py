"""Files: written whole or not at all, read up to a cap; JSON that knows ∞; zips of the same bytes each time; uploads by content."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import secrets
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from . import limits
from .errors import RecipeError

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_JSON_BYTES = 64 * 2**20


def make_directory(directory: Path) -> None:
    """Make a folder, with a clear error where a file or a missing right stands in the way."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecipeError(f"can't write to {directory}: {error.strerror}") from None


def write_atomically(path: Path, data: bytes, sync: bool = True) -> None:
    """Write a file beside its place, then rename it into it. Who may read it, the process's umask says, as for any new file.

    With `sync`, it is on the disk before it has its name, and has its name there before this returns: without, a power cut may
    leave the name with nothing in it.

    Raises
    ------
    RecipeError
        If the disk refuses; no part of the file stays behind.
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
    """Where the system knows no such thing, it does nothing."""
    if os.name == "posix":
        with suppress(OSError):
            number = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


def read_capped(path: Path, max_bytes: int) -> bytes:
    """A file's bytes.

    Raises
    ------
    RecipeError
        If it is not there, can't be read or is larger than `max_bytes`.
    """
    try:
        size = path.stat().st_size
        limits.check_at_most(f"bytes in {path}", size, max_bytes)
        return path.read_bytes()
    except OSError as error:
        raise RecipeError(f"can't read {path}: {error.strerror}") from None


def to_json(value: object) -> str:
    """JSON text in which ∞, −∞ and nan are the strings "inf", "-inf" and "nan"."""
    return json.dumps(plain(value), allow_nan=False, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts only; numbers that are not finite become strings."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def from_json(data: bytes) -> Any:
    """Raises RecipeError if the bytes are not JSON, or a text in it is none that can be written: half of a pair of surrogates."""
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise RecipeError(f"not JSON: {error}") from None
    return value


MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip archive knows


def zipped(files: Mapping[str, bytes]) -> bytes:
    """An archive of files in the order given.

    >>> zipped({"a.txt": b"a"}) == zipped({"a.txt": b"a"})
    True
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


class FileShelf:
    """Uploaded files by the hash of their content, in one folder: what a recipe names, a worker process can read."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, data: bytes) -> str:
        """Keep a file; returns its SHA-256, 64 hexadecimal digits."""
        limits.check_at_most("bytes in the file", len(data), limits.most("file_bytes"))
        name = hashlib.sha256(data).hexdigest()
        if not (self.directory / name).exists():
            make_directory(self.directory)
            write_atomically(self.directory / name, data)
        return name

    def get(self, name: str) -> bytes:
        """Raises RecipeError if there is no such file."""
        if not re.fullmatch("[0-9a-f]{64}", name) or not (self.directory / name).exists():
            raise RecipeError("The uploaded file is no longer on the server: please upload it again.")
        return read_capped(self.directory / name, limits.most("file_bytes"))
