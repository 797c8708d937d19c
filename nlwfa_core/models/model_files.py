"""Save and load models: arrays as safetensors, everything else as JSON. Nothing is ever unpickled.

A model's folder holds `model.safetensors` and `model.json`. The JSON names the SHA-256 of the other
file, so the parts of two models are never read as one model. A model is replaced by a single
rename, that of the JSON. The new arrays are written to another file before this rename, and get
their final name after it. Even if the process is killed, the folder holds the old model or the new
model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from .. import limits
from ..errors import RecipeError, check_type, check_types, plural
from ..files import (
    MAX_JSON_BYTES,
    __version__,
    from_json,
    make_directory,
    read_capped,
    to_json,
    write_atomically,
)
from ..strings.words import Alphabet, FloatArray, check_written
from .mixture import Mixture
from .model import HasModel, Model, model_of
from .ngram import NGram
from .nlwfa import NLWFA
from .reading import reading_named
from .recurrent import GATES, RecurrentModel
from .wfa import WFA

MODEL_FILES = ("model.json", "model.safetensors")
NEW_ARRAYS = "model.safetensors.new"  # until model.json is replaced, and its own name is free
LearnedModel = WFA | NLWFA | RecurrentModel
Part = LearnedModel | NGram  # of a mixture
StoredModel = Part | Mixture
RECURRENT_ARRAYS = ("inputs", "recurrent", "recurrent_bias", "output", "output_bias")
MODEL_FORMAT = 1
UNKNOWN = "unknown"  # the field that names the symbol for the unknown, if there is one
# the kinds of a `Mixture` and an `NGram` in model.json
MIXTURE = "mixture"
NGRAM = "ngram"
# The fields of model.json, all of them required except UNKNOWN: those of every model, and those of
# each kind, also as part of a mixture.
FIELDS: dict[str, type] = {
    "format": int,
    "version": str,
    "symbols": list,
    "kind": str,
    "arrays_sha256": str,
    "info": dict,
}
KIND_FIELDS: dict[str, dict[str, type]] = {
    "WFA": {},
    "NLWFA": {
        "reading": str,
        "link": str,
        "normalised": bool,
        "nonlinear_transitions": bool,
        "nonlinear_termination": bool,
    },
    **{kind: {} for kind in GATES},
    NGRAM: {"smoothing": str, "num_symbols": int},
    MIXTURE: {"level": str, "models": list},
}
MAX_ORDER = 100  # of an n-gram: each symbol of a history takes a step of a loop
MAX_TENSOR_BYTES = 2 * 2**30


@check_types
def save(
    model: Model | HasModel,
    path: Path | str,
    info: Mapping[str, Any] | None = None,
    *,
    alphabet: Alphabet | None = None,
    sync: bool = True,
) -> None:
    """Write a model and its alphabet to a folder, which is made if it does not exist. `load` can
    read every model that `save` accepts.

    >>> from tempfile import TemporaryDirectory
    >>> from nlwfa_core import WFA, Alphabet, load, save
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> with TemporaryDirectory() as folder:
    ...     save(half, folder)
    ...     load(folder)("aa")
    0.125

    Parameters
    ----------
    model : WFA, NLWFA, RecurrentModel, NGram or Mixture
        A model, or an object that holds one, such as a `Fit`.
    path : Path or str
        The folder for the files `model.json` and `model.safetensors`, which replace those of any
        model in it.
    info : mapping, optional
        Values that JSON can hold, such as parts of the recipe, the training file and messages;
        `load_info` reads them. They are for people. Only a note on test strings that are training
        strings is computed from them (`experiment.notes.key_notes`).
    alphabet : Alphabet, optional
        The symbols of a model that has no alphabet. By default they are "0" … "n − 1".
    sync : bool
        Whether to wait until the files are safely on disk (see `files.write_atomically`).

    Raises
    ------
    RecipeError
        If the model holds nan or ∞, its alphabet is not `alphabet`, `info` can't be
        written as JSON, a file would be too large, or the folder can't be written.
    TypeError
        If models of this kind can't be saved.
    """
    if not str(path):
        raise RecipeError("path must name a folder; got empty text")
    directory = Path(path)
    model = model_of(model)
    if not isinstance(model, StoredModel):
        kinds = ", ".join(kind.__name__ for kind in get_args(StoredModel))
        raise TypeError(
            f"only models of the kinds {kinds} can be saved; got {type(model).__name__}"
        )
    alphabet = alphabet or model.alphabet or Alphabet.numbered(model.num_symbols)
    if model.num_symbols != len(alphabet) or model.alphabet not in (None, alphabet):
        symbols = model.alphabet.summary if model.alphabet else plural(model.num_symbols, "symbol")
        raise RecipeError(
            f"a model with {symbols} can't be saved with an alphabet of {alphabet.summary}"
        )
    alphabet = model.alphabet or alphabet
    own_header, arrays = _parts_of(model)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RecipeError(
                f"array {name!r} of a model must hold finite numbers to be saved; got "
                f"{array[~np.isfinite(array)][0]}"
            )
    limits.check_at_most(
        "model.safetensors",
        sum(a.nbytes for a in arrays.values()) + 2**16,
        MAX_TENSOR_BYTES,
        unit="bytes",
    )
    tensors = save_tensors({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    header = {
        "format": MODEL_FORMAT,
        "version": __version__,
        "symbols": list(alphabet.symbols),
        **({} if alphabet.unknown is None else {UNKNOWN: alphabet.unknown}),
        **own_header,
        "arrays_sha256": _digest(tensors),
        "info": dict(info or {}),
    }
    try:
        text = to_json(header).encode()
    # half of a surrogate pair also raises a ValueError
    except (TypeError, ValueError, RecursionError) as error:
        raise RecipeError(
            f"a model's symbols and info must be valid JSON to be saved: {error}"
        ) from None
    limits.check_at_most("model.json", len(text), MAX_JSON_BYTES, unit="bytes")
    _model_of(from_json(text), arrays, directory)
    _replace_files(directory, text, tensors, sync)


def _replace_files(directory: Path, text: bytes, tensors: bytes, sync: bool) -> None:
    """Write a model's two files, so the folder holds its old model until `model.json` is
    renamed, and then the new one.
    """
    make_directory(directory)
    new = directory / NEW_ARRAYS
    named = directory / "model.safetensors"
    try:
        with suppress(RecipeError):  # no model yet, or none that can be read
            if (
                new.is_file()
                and _digest(read_capped(new, MAX_TENSOR_BYTES))
                == _header_of(directory)["arrays_sha256"]
            ):
                new.replace(named)  # an earlier replacement was stopped just before this
        write_atomically(new, tensors, sync)
        try:
            write_atomically(directory / "model.json", text, sync)
        except RecipeError:
            new.unlink()
            raise
        new.replace(named)
    except OSError as error:
        raise RecipeError(f"can't write {named}: {error.strerror}") from None


def _digest(tensors: bytes) -> str:
    return hashlib.sha256(tensors).hexdigest()


def _parts_of(model: Model) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Split a model into the entries of model.json that depend on its kind, and the arrays of
    model.safetensors.

    Raises TypeError if models of this kind can't be saved.
    """
    if isinstance(model, RecurrentModel):
        return {"kind": model.kind}, {name: getattr(model, name) for name in RECURRENT_ARRAYS}
    if isinstance(model, WFA):
        arrays = {
            "initial": model.initial,
            "transitions": model.transitions,
            "termination": model.termination,
        }
        return {"kind": "WFA"}, arrays
    if isinstance(model, NLWFA):
        header = {
            "kind": "NLWFA",
            "reading": model.reading.name,
            "link": model.reading.link,
            "normalised": model.reading.normalised,
            "nonlinear_transitions": model.nonlinear_transitions,
            "nonlinear_termination": model.nonlinear_termination,
        }
        arrays = {"initial": model.initial, "output": model.output}
        arrays |= {f"transitions.{index}": layer for index, layer in enumerate(model.transitions)}
        arrays |= {f"decoder.{index}": layer for index, layer in enumerate(model.decoder)}
        return header, arrays
    if isinstance(model, NGram):
        windows, totals = model.windows
        header = {"kind": NGRAM, "smoothing": model.smoothing, "num_symbols": model.num_symbols}
        return header, {"windows": windows.astype(np.float64), "totals": totals}
    if isinstance(model, Mixture):
        parts = [_parts_of(part) for part in model.models if not isinstance(part, Mixture)]
        if len(parts) < len(model.models):
            raise TypeError("a mixture that holds mixtures of another level can't be saved")
        arrays = {
            f"{number}.{name}": array
            for number, (_, part_arrays) in enumerate(parts)
            for name, array in part_arrays.items()
        }
        return {"kind": MIXTURE, "level": model.level, "models": [header for header, _ in parts]}, {
            "shares": model.shares,
            **arrays,
        }
    kinds = ", ".join(kind.__name__ for kind in get_args(Part))
    raise TypeError(
        f"a mixture can be saved only if each of its models is one of {kinds}; got "
        f"{type(model).__name__}"
    )


def model_as_json(model: LearnedModel) -> dict[str, Any]:
    """Write a small model as JSON, without its alphabet. `model_from_json` reads it."""
    header, arrays = _parts_of(model)
    return header | {"arrays": {name: array.tolist() for name, array in arrays.items()}}


def model_from_json(fields: Mapping[str, Any]) -> Part:
    """Make the model that `model_as_json` wrote.

    Raises KeyError if a field is missing.
    """
    arrays = {name: np.array(array, dtype=float) for name, array in fields["arrays"].items()}
    return _part_of(fields, arrays)


@check_types
def load(path: Path | str) -> StoredModel:
    """Read a model from its folder, with its alphabet.

    Shapes, types and finiteness are checked here, because safetensors accepts nan and impossible
    shapes.

    >>> from tempfile import TemporaryDirectory
    >>> from nlwfa_core import NGram, load, save
    >>> with TemporaryDirectory() as folder:
    ...     save(NGram.fit(["ab", "b"], 2), folder)
    ...     load(folder).alphabet.symbols
    ('a', 'b')

    Raises
    ------
    RecipeError
        If the folder does not hold a valid model.
    """
    directory = Path(path)
    header = _header_of(directory)
    try:
        arrays = load_tensors(_tensors_of(directory, header["arrays_sha256"]))
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise RecipeError(f"model.safetensors in {directory} can't be read: {error}") from None
    return _model_of(header, arrays, directory)


@check_types
def load_info(path: Path | str) -> dict[str, Any]:
    """Read the information that was saved with a model.

    >>> from tempfile import TemporaryDirectory
    >>> from nlwfa_core import WFA, load_info, save
    >>> with TemporaryDirectory() as folder:
    ...     save(WFA([1], [[[0.5]]], [0.5]), folder, {"by": "hand"})
    ...     load_info(folder)
    {'by': 'hand'}

    Raises
    ------
    RecipeError
        If the folder does not hold a valid `model.json`.
    """
    info: dict[str, Any] = _header_of(Path(path))["info"]
    return info


def _header_of(directory: Path) -> dict[str, Any]:
    """Read model.json.

    Raises RecipeError unless it has the fields of its kind of model, each of the right type.
    """
    header = from_json(read_capped(directory / "model.json", MAX_JSON_BYTES))
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        file_format = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise RecipeError(
            f"model.json in {directory}: format must be {MODEL_FORMAT}; got {file_format!r:.40}"
        )
    fields = {**FIELDS, **({UNKNOWN: str} if UNKNOWN in header else {})}
    _check_fields(header, fields, KIND_FIELDS, directory)
    if header["kind"] == MIXTURE:
        kinds = {kind: fields for kind, fields in KIND_FIELDS.items() if kind != MIXTURE}
        for part in header["models"]:
            if not isinstance(part, dict):
                raise RecipeError(
                    f"model.json in {directory}: the models of a mixture must be a list of objects"
                )
            _check_fields(part, {"kind": str}, kinds, directory)
    return header


def _check_fields(
    header: Mapping[str, Any],
    fields: Mapping[str, Any],
    kinds: Mapping[str, Mapping[str, Any]],
    directory: Path,
) -> None:
    """Raise RecipeError unless an object has exactly these fields and those of its kind, with
    values of these types.
    """
    kind = header.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise RecipeError(
            f"model.json in {directory}: kind must be one of {', '.join(kinds)}; got {kind!r:.40}"
        )
    fields = {**fields, **kinds[kind]}
    unknown = header.keys() - fields.keys()
    if unknown:
        raise RecipeError(
            f"model.json in {directory}: a model of the kind {kind} has no field "
            f"{min(unknown)!r:.40}"
        )
    for name, kind_of_value in fields.items():
        if name not in header:
            raise RecipeError(f"the model in {directory} lacks {name!r}")
        try:
            check_type(name, header[name], kind_of_value)
        except TypeError as error:
            raise RecipeError(f"model.json in {directory}: {error}") from None


def _tensors_of(directory: Path, digest: str) -> bytes:
    """Read the arrays that a model.json names.

    Raises RecipeError if there are none, or they belong to another model.
    """
    new = directory / NEW_ARRAYS
    if new.is_file():
        tensors = read_capped(new, MAX_TENSOR_BYTES)
        if _digest(tensors) == digest:
            return tensors
    tensors = read_capped(directory / "model.safetensors", MAX_TENSOR_BYTES)
    if _digest(tensors) != digest:
        raise RecipeError(
            f"model.json and model.safetensors in {directory} do not belong together: the "
            "JSON names arrays with the SHA-256 "
            f"{digest[:12]!r}…, and the file has {_digest(tensors)[:12]}…"
        )
    return tensors


def _model_of(
    header: Mapping[str, Any], arrays: Mapping[str, FloatArray], directory: Path
) -> StoredModel:
    """Make a model from the contents of its folder's two files."""
    for name, array in arrays.items():
        is_float64 = array.dtype == np.float64
        if not is_float64 or not np.isfinite(array).all():
            value = array[~np.isfinite(array)][0] if is_float64 else array.dtype
            raise RecipeError(
                f"array {name!r} of the model in {directory} must hold finite float64 numbers; "
                f"got {value}"
            )
    symbols = header["symbols"]
    if not all(isinstance(symbol, str) for symbol in symbols):
        raise RecipeError(f"model.json in {directory}: the symbols must be a list of strings")
    limits.check_at_most("the number of symbols", len(symbols), limits.ceiling("symbols"))
    alphabet = Alphabet(tuple(symbols), header.get(UNKNOWN))
    try:
        check_written(alphabet)
        model: StoredModel
        if header["kind"] == MIXTURE:
            parts = [
                _part_of(part_arrays, _below(arrays, f"{number}."))
                for number, part_arrays in enumerate(header["models"])
            ]
            with_alphabet = tuple(replace(part, alphabet=alphabet) for part in parts)
            model = Mixture(with_alphabet, arrays["shares"], level=header["level"])
        else:
            model = _part_of(header, arrays)
    except (KeyError, IndexError) as error:
        raise RecipeError(f"the model in {directory} lacks {error}") from None
    if model.num_symbols != len(symbols):
        raise RecipeError(
            f"the model in {directory} has {model.num_symbols} symbols, but its alphabet has "
            f"{len(symbols)}"
        )
    return replace(model, alphabet=alphabet)


def _part_of(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> Part:
    """Make a model, other than a mixture, from the parts that `_parts_of` returned.

    Raises KeyError if an array is missing.
    """
    if header["kind"] == "WFA":
        return WFA(arrays["initial"], arrays["transitions"], arrays["termination"])
    if header["kind"] == "NLWFA":
        return NLWFA(
            arrays["initial"],
            _numbered(arrays, "transitions"),
            _numbered(arrays, "decoder"),
            arrays["output"],
            header["nonlinear_transitions"],
            header["nonlinear_termination"],
            reading_named(header["reading"], header["link"], header["normalised"]),
        )
    if header["kind"] == NGRAM:
        return _ngram_of(header, arrays)
    return RecurrentModel(header["kind"], *(arrays[name] for name in RECURRENT_ARRAYS))


def _ngram_of(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> NGram:
    """Make an n-gram.

    Raises KeyError if an array is missing, and RecipeError if a number is not possible.
    """
    windows = arrays["windows"]
    num_symbols = header["num_symbols"]
    if not 0 < num_symbols <= limits.ceiling("symbols"):
        raise RecipeError(
            "the number of symbols of an n-gram's alphabet must be between 1 and "
            f"{limits.ceiling('symbols'):,}; got {num_symbols!r:.40}"
        )
    limits.check_at_most(
        "the order of an n-gram in a file", windows.shape[-1] if windows.ndim else 1, MAX_ORDER
    )
    if (
        windows.size
        and not ((windows == np.floor(windows)) & (np.abs(windows) <= num_symbols)).all()
    ):
        raise RecipeError(
            "the windows of an n-gram must hold the numbers of symbols; its alphabet has "
            f"{num_symbols:,}"
        )
    return NGram.of_windows(
        windows.astype(np.int64), arrays["totals"], num_symbols, header["smoothing"]
    )


def _below(arrays: Mapping[str, FloatArray], prefix: str) -> dict[str, FloatArray]:
    """Return the arrays whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def _numbered(arrays: Mapping[str, FloatArray], name: str) -> tuple[FloatArray, ...]:
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{index}"] for index in range(count))
