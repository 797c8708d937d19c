"""Saves and loads models: arrays as safetensors, everything else as JSON. Nothing is ever unpickled.

A model's folder holds `model.safetensors` and `model.json`. Each file is written whole or not at all (`files.write_atomically`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from .. import limits
from ..errors import RecipeError, check_type, check_types, plural
from ..files import MAX_JSON_BYTES, __version__, from_json, make_directory, read_capped, to_json, write_atomically
from ..strings.words import Alphabet, FloatArray
from .mixture import BY_STRING, Mixture
from .model import Model, model_of
from .ngram import NGram
from .nlwfa import NLWFA
from .reading import reading_named
from .recurrent import GATES, RecurrentModel
from .wfa import WFA

MODEL_FILES = ("model.json", "model.safetensors")
LearnedModel = WFA | NLWFA | RecurrentModel
Part = LearnedModel | NGram  # of a mixture
StoredModel = Part | Mixture
RECURRENT_ARRAYS = ("inputs", "recurrent", "recurrent_bias", "output", "output_bias")
MODEL_FORMAT = 2
MIXTURE, NGRAM = "mixture", "ngram"  # the kinds of a `Mixture` and an `NGram` in model.json
MAX_ORDER = 100  # of an n-gram: each symbol of a history takes a step of a loop
MAX_TENSOR_BYTES = 2 * 2**30


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with its alphabet and information on its origin.

    Attributes
    ----------
    model : WFA, NLWFA, RecurrentModel, NGram or Mixture
    alphabet : Alphabet
    info : dict
        Values that JSON can hold, such as parts of the recipe, the training file and messages. They are for people to read; only
        a note on test strings that are training strings is computed from them (`experiment.data.key_notes`).

    Examples
    --------
    >>> import numpy as np
    >>> from nlwfa_core import Alphabet, SavedModel, WFA
    >>> saved = SavedModel(WFA(np.ones(1), np.full((1, 1, 1), 0.5), np.array([0.5])), Alphabet(("a",)), {"by": "hand"})
    >>> saved.alphabet.symbols, saved.model.num_states
    (('a',), 1)
    """

    model: StoredModel
    alphabet: Alphabet
    info: dict[str, Any]

    def __post_init__(self) -> None:
        model_of(self.model)
        check_type("alphabet", self.alphabet, Alphabet)


@check_types
def save_model(directory: Path | str, saved: SavedModel, sync: bool = True) -> None:
    """Write a model to a folder, which is made if it does not exist. `load_model` can read every model that this accepts.

    >>> from tempfile import TemporaryDirectory
    >>> from nlwfa_core import Alphabet
    >>> half = WFA([1], [[[0.5]]], [0.5], Alphabet(("a",)))
    >>> with TemporaryDirectory() as folder:
    ...     save_model(folder, SavedModel(half, half.alphabet, {"by": "hand"}))
    ...     load_model(folder).model("aa")
    0.125

    Parameters
    ----------
    sync : bool
        Whether to wait until the files are safely on disk (see `files.write_atomically`).

    Raises
    ------
    RecipeError
        If the model holds nan or ∞, its alphabet is not `saved.alphabet`, `saved.info` can't be written as JSON, a file would be
        too large, or the folder can't be written.
    TypeError
        If models of this kind can't be saved.
    """
    if not str(directory):
        raise RecipeError("directory must name a folder; got an empty text")
    directory, model = Path(directory), saved.model
    if not isinstance(model, StoredModel):
        kinds = ", ".join(kind.__name__ for kind in get_args(StoredModel))
        raise TypeError(f"only models of the kinds {kinds} can be saved; got {type(model).__name__}")
    if model.num_symbols != len(saved.alphabet) or model.alphabet not in (None, saved.alphabet):
        own = model.alphabet.summary if model.alphabet else plural(model.num_symbols, "symbol")
        raise RecipeError(f"a model with {own} can't be saved with an alphabet of {saved.alphabet.summary}")
    header: dict[str, Any] = {"format": MODEL_FORMAT, "version": __version__, "symbols": list(saved.alphabet.symbols)}
    own_header, arrays = _parts_of(model)
    header |= own_header
    header["info"] = saved.info
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise RecipeError(
                f"array {name!r} of a model must hold finite numbers to be saved; got {array[~np.isfinite(array)][0]}"
            )
    try:
        text = to_json(header).encode()
        if not isinstance(saved.info, dict):
            raise TypeError(f"must be a dictionary; got {type(saved.info).__name__}")
    except (TypeError, ValueError, RecursionError) as error:  # half of a surrogate pair is a ValueError, too
        raise RecipeError(f"a model's symbols and info must be valid JSON to be saved: {error}") from None
    limits.check_at_most("the size of model.json in bytes", len(text), MAX_JSON_BYTES)
    limits.check_at_most("the size of model.safetensors in bytes", sum(a.nbytes for a in arrays.values()) + 2**16, MAX_TENSOR_BYTES)
    _model_of(from_json(text), arrays, directory)
    make_directory(directory)
    write_atomically(directory / "model.safetensors", save({name: np.ascontiguousarray(a) for name, a in arrays.items()}), sync)
    write_atomically(directory / "model.json", text, sync)


def _parts_of(model: Model) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Split a model into the entries of model.json that depend on its kind, and the arrays of model.safetensors.

    Raises TypeError if models of this kind can't be saved.
    """
    if isinstance(model, RecurrentModel):
        return {"kind": model.kind}, {name: getattr(model, name) for name in RECURRENT_ARRAYS}
    if isinstance(model, WFA):
        arrays = {"initial": model.initial, "transitions": model.transitions, "termination": model.termination}
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
            raise TypeError("a mixture of mixtures of another level can't be saved")
        arrays = {f"{number}.{name}": array for number, (_, own) in enumerate(parts) for name, array in own.items()}
        return {"kind": MIXTURE, "level": model.level, "models": [header for header, _ in parts]}, {
            "shares": model.shares,
            **arrays,
        }
    kinds = ", ".join(kind.__name__ for kind in get_args(Part))
    raise TypeError(f"a mixture can be saved if its models are of the kinds {kinds}; got {type(model).__name__}")


@check_types
def load_model(directory: Path | str) -> SavedModel:
    """Read a model from its folder.

    Shapes, types and finiteness are checked here, because safetensors accepts nan and impossible shapes.

    Raises
    ------
    RecipeError
        If the folder does not hold a valid model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from nlwfa_core import Alphabet, SavedModel, WFA, load_model, save_model
    >>> saved = SavedModel(WFA(np.ones(1), np.full((1, 1, 1), 0.5), np.array([0.5])), Alphabet(("a",)), {})
    >>> with TemporaryDirectory() as folder:
    ...     save_model(folder, saved)
    ...     again = load_model(folder)
    >>> again.model("aa")
    0.125
    """
    directory = Path(directory)
    header = from_json(read_capped(directory / "model.json", MAX_JSON_BYTES))
    try:
        arrays = load(read_capped(directory / "model.safetensors", MAX_TENSOR_BYTES))
    except (SafetensorError, ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise RecipeError(f"model.safetensors in {directory} can't be read: {error}") from None
    return _model_of(header, arrays, directory)


def _model_of(header: Any, arrays: Mapping[str, FloatArray], directory: Path) -> SavedModel:
    """Check the contents of a folder's two files, and make the model from them."""
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        file_format = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise RecipeError(f"model.json in {directory}: format must be {MODEL_FORMAT}; got {file_format!r}")
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise RecipeError(f"array {name!r} of the model in {directory} must hold finite float64 numbers")
    try:
        symbols = header["symbols"]
        if not isinstance(symbols, list) or not all(isinstance(symbol, str) for symbol in symbols):
            raise RecipeError(f"model.json in {directory}: the symbols must be a list of strings")
        limits.check_at_most("the number of symbols", len(symbols), limits.ceiling("symbols"))
        alphabet = Alphabet(tuple(symbols))
        model: StoredModel
        if header["kind"] == MIXTURE:
            if not isinstance(header["models"], list) or not all(isinstance(own, dict) for own in header["models"]):
                raise RecipeError(f"model.json in {directory}: the models of a mixture must be a list of objects")
            parts = [_part_of(own, _below(arrays, f"{number}."), directory) for number, own in enumerate(header["models"])]
            level = header.get("level", BY_STRING)  # files of older versions have none
            model = Mixture(tuple(replace(part, alphabet=alphabet) for part in parts), arrays["shares"], level=level)
        else:
            model = _part_of(header, arrays, directory)
    except (KeyError, IndexError) as error:
        raise RecipeError(f"the model in {directory} lacks {error}") from None
    if model.num_symbols != len(symbols):
        raise RecipeError(f"the model in {directory} has {model.num_symbols} symbols, but its alphabet has {len(symbols)}")
    info = header.get("info")
    return SavedModel(replace(model, alphabet=alphabet), alphabet, info if isinstance(info, dict) else {})


def _part_of(header: Mapping[str, Any], arrays: Mapping[str, FloatArray], directory: Path) -> Part:
    """Make a model, other than a mixture, from the parts that `_parts_of` returned. Raises KeyError if something is missing."""
    if header["kind"] == "WFA":
        return WFA(arrays["initial"], arrays["transitions"], arrays["termination"])
    if header["kind"] == "NLWFA":
        return NLWFA(
            arrays["initial"],
            _numbered(arrays, "transitions"),
            _numbered(arrays, "decoder"),
            arrays["output"],
            bool(header["nonlinear_transitions"]),
            bool(header["nonlinear_termination"]),
            reading_named(str(header["reading"]), str(header["link"]), bool(header["normalised"])),
        )
    if header["kind"] in tuple(GATES):
        return RecurrentModel(header["kind"], *(arrays[name] for name in RECURRENT_ARRAYS))
    if header["kind"] == NGRAM:
        return _ngram_of(header, arrays)
    kinds = ", ".join(("WFA", "NLWFA", *GATES, NGRAM, MIXTURE))
    raise RecipeError(f"model.json in {directory}: kind must be one of {kinds}; got {header['kind']!r}")


def _ngram_of(header: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> NGram:
    """Make an n-gram. Raises KeyError if something is missing, and RecipeError if a number is not possible."""
    windows, num_symbols = arrays["windows"], header["num_symbols"]
    if type(num_symbols) is not int or not 0 < num_symbols <= limits.ceiling("symbols"):
        raise RecipeError(f"an n-gram needs a number of symbols from 1 to {limits.ceiling('symbols'):,}; got {num_symbols!r:.40}")
    limits.check_at_most("the order of an n-gram in a file", windows.shape[-1] if windows.ndim else 1, MAX_ORDER)
    if windows.size and not ((windows == np.floor(windows)) & (np.abs(windows) <= num_symbols)).all():
        raise RecipeError(f"the windows of an n-gram must hold the numbers of symbols; its alphabet has {num_symbols:,}")
    return NGram.of_windows(windows.astype(np.int64), arrays["totals"], num_symbols, header["smoothing"])


def _below(arrays: Mapping[str, FloatArray], prefix: str) -> dict[str, FloatArray]:
    """Return the arrays whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _numbered(arrays: Mapping[str, FloatArray], name: str) -> tuple[FloatArray, ...]:
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{index}"] for index in range(count))
