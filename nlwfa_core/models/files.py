"""Models and results on disk: safetensors for arrays, JSON for the rest. Nothing is ever unpickled.

A model's folder holds `model.safetensors` and `model.json`; a result's folder a model and `result.json`.
Files are written beside their place and then renamed, so a reader sees all or nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .. import limits
from ..errors import RecipeError
from ..strings.words import Alphabet, FloatArray
from ..version import __version__
from .nlwfa import NLWFA
from .recurrent import GATES, RecurrentModel
from .wfa import WFA

LearnedModel = WFA | NLWFA | RecurrentModel
RECURRENT_ARRAYS = ("inputs", "recurrent", "recurrent_bias", "output", "output_bias")
MODEL_FORMAT = 2
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
MAX_JSON_BYTES = 64 * 2**20
MAX_TENSOR_BYTES = 2 * 2**30


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with what is needed to use it and to say where it came from.

    Attributes
    ----------
    model : WFA, NLWFA or RecurrentModel
    alphabet : Alphabet
    info : dict
        JSON: recipe parts, the training file, messages; for people, nothing is computed from it.
    """

    model: LearnedModel
    alphabet: Alphabet
    info: dict[str, Any]


def save_model(directory: Path, saved: SavedModel, sync: bool = True) -> None:
    """Write a model's folder; it is made if it is not there. `sync` as in `write_atomically`."""
    model = saved.model
    header: dict[str, Any] = {"format": MODEL_FORMAT, "version": __version__, "symbols": list(saved.alphabet.symbols)}
    arrays: dict[str, FloatArray]
    if isinstance(model, RecurrentModel):
        header["kind"] = model.kind
        arrays = {name: getattr(model, name) for name in RECURRENT_ARRAYS}
    elif isinstance(model, WFA):
        header["kind"] = "WFA"
        arrays = {"initial": model.initial, "transitions": model.transitions, "termination": model.termination}
    else:
        header |= {"kind": "NLWFA", "reading": model.reading, "link": model.link, "normalised": model.normalised}
        header["nonlinear_transitions"] = model.nonlinear_transitions
        header["nonlinear_termination"] = model.nonlinear_termination
        arrays = {"initial": model.initial, "output": model.output}
        arrays |= {f"transitions.{index}": layer for index, layer in enumerate(model.transitions)}
        arrays |= {f"decoder.{index}": layer for index, layer in enumerate(model.decoder)}
    header["info"] = saved.info
    make_directory(directory)
    write_atomically(directory / "model.safetensors", save({name: np.ascontiguousarray(a) for name, a in arrays.items()}), sync)
    write_atomically(directory / "model.json", to_json(header).encode(), sync)


def load_model(directory: Path) -> SavedModel:
    """Read a model's folder back.

    Shapes, types and finiteness are checked here: safetensors itself lets NaN payloads and absurd shapes through.

    Raises
    ------
    RecipeError
        If the folder does not hold a sound model.
    """
    header = from_json(read_capped(directory / "model.json", MAX_JSON_BYTES))
    try:
        arrays = load(read_capped(directory / "model.safetensors", MAX_TENSOR_BYTES))
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise RecipeError(f"model.safetensors in {directory} can't be read: {error}") from None
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        given = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise RecipeError(f"model.json in {directory}: format {given!r} given, this version reads {MODEL_FORMAT}")
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise RecipeError(f"array {name!r} of the model in {directory} must hold finite float64 numbers")
    try:
        symbols = header["symbols"]
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise RecipeError(f"model.json in {directory}: the symbols must be a list of strings")
        limits.check_at_most("symbols", len(symbols), limits.ceiling("symbols"))
        model: LearnedModel
        if header["kind"] == "WFA":
            model = WFA(arrays["initial"], arrays["transitions"], arrays["termination"])
        elif header["kind"] == "NLWFA":
            model = NLWFA(
                arrays["initial"],
                _numbered(arrays, "transitions"),
                _numbered(arrays, "decoder"),
                arrays["output"],
                bool(header["nonlinear_transitions"]),
                bool(header["nonlinear_termination"]),
                str(header["reading"]),
                str(header["link"]),
                bool(header["normalised"]),
            )
        elif header["kind"] in tuple(GATES):
            model = RecurrentModel(header["kind"], *(arrays[name] for name in RECURRENT_ARRAYS))
        else:
            raise RecipeError(f"model.json in {directory}: kind {header['kind']!r} given, allowed: WFA, NLWFA, {', '.join(GATES)}")
    except (KeyError, IndexError) as error:
        raise RecipeError(f"the model in {directory} lacks {error}") from None
    if model.num_symbols != len(symbols):
        raise RecipeError(f"the model in {directory} has {model.num_symbols} symbols, its alphabet {len(symbols)}")
    info = header.get("info")
    return SavedModel(model, Alphabet(tuple(symbols)), info if isinstance(info, dict) else {})


def _numbered(arrays: dict[str, Any], name: str) -> tuple[FloatArray, ...]:
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{index}"] for index in range(count))


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
