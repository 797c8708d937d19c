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
from ..files import MAX_JSON_BYTES, from_json, make_directory, read_capped, to_json, write_atomically
from ..strings.words import Alphabet, FloatArray
from ..version import __version__
from .model import model_of
from .nlwfa import NLWFA
from .reading import reading_named
from .recurrent import GATES, RecurrentModel
from .wfa import WFA

MODEL_FILES = ("model.json", "model.safetensors")
LearnedModel = WFA | NLWFA | RecurrentModel
RECURRENT_ARRAYS = ("inputs", "recurrent", "recurrent_bias", "output", "output_bias")
MODEL_FORMAT = 2
MAX_TENSOR_BYTES = 2 * 2**30


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model with its alphabet and information on its origin.

    Attributes
    ----------
    model : WFA, NLWFA or RecurrentModel
    alphabet : Alphabet
    info : dict
        Values that JSON can hold, such as parts of the recipe, the training file and messages. They are for people to read; nothing
        is computed from them.
    """

    model: LearnedModel
    alphabet: Alphabet
    info: dict[str, Any]

    def __post_init__(self) -> None:
        model_of(self.model)
        check_type("alphabet", self.alphabet, Alphabet)


@check_types
def save_model(directory: Path | str, saved: SavedModel, sync: bool = True) -> None:
    """Write a model to a folder, which is made if it does not exist. `load_model` can read every model that this accepts.

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
        If models of this kind can't be saved. (Counting an n-gram again is faster than reading it from a file.)
    """
    if not str(directory):
        raise RecipeError("directory must name a folder; got an empty text")
    directory, model = Path(directory), saved.model
    if not isinstance(model, LearnedModel):
        kinds = ", ".join(kind.__name__ for kind in get_args(LearnedModel))
        raise TypeError(f"only models of the kinds {kinds} can be saved; got {type(model).__name__}")
    if model.num_symbols != len(saved.alphabet) or model.alphabet not in (None, saved.alphabet):
        own = model.alphabet.summary if model.alphabet else plural(model.num_symbols, "symbol")
        raise RecipeError(f"a model with {own} can't be saved with an alphabet of {saved.alphabet.summary}")
    header: dict[str, Any] = {"format": MODEL_FORMAT, "version": __version__, "symbols": list(saved.alphabet.symbols)}
    arrays: dict[str, FloatArray]
    if isinstance(model, RecurrentModel):
        header["kind"] = model.kind
        arrays = {name: getattr(model, name) for name in RECURRENT_ARRAYS}
    elif isinstance(model, WFA):
        header["kind"] = "WFA"
        arrays = {"initial": model.initial, "transitions": model.transitions, "termination": model.termination}
    else:
        header |= {"kind": "NLWFA", "reading": model.reading.name, "link": model.reading.link}
        header["normalised"] = model.reading.normalised
        header["nonlinear_transitions"] = model.nonlinear_transitions
        header["nonlinear_termination"] = model.nonlinear_termination
        arrays = {"initial": model.initial, "output": model.output}
        arrays |= {f"transitions.{index}": layer for index, layer in enumerate(model.transitions)}
        arrays |= {f"decoder.{index}": layer for index, layer in enumerate(model.decoder)}
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


@check_types
def load_model(directory: Path | str) -> SavedModel:
    """Read a model from its folder.

    Shapes, types and finiteness are checked here, because safetensors accepts nan and impossible shapes.

    Raises
    ------
    RecipeError
        If the folder does not hold a valid model.
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
                reading_named(str(header["reading"]), str(header["link"]), bool(header["normalised"])),
            )
        elif header["kind"] in tuple(GATES):
            model = RecurrentModel(header["kind"], *(arrays[name] for name in RECURRENT_ARRAYS))
        else:
            kinds = ", ".join(("WFA", "NLWFA", *GATES))
            raise RecipeError(f"model.json in {directory}: kind must be one of {kinds}; got {header['kind']!r}")
    except (KeyError, IndexError) as error:
        raise RecipeError(f"the model in {directory} lacks {error}") from None
    if model.num_symbols != len(symbols):
        raise RecipeError(f"the model in {directory} has {model.num_symbols} symbols, but its alphabet has {len(symbols)}")
    info = header.get("info")
    alphabet = Alphabet(tuple(symbols))
    return SavedModel(replace(model, alphabet=alphabet), alphabet, info if isinstance(info, dict) else {})


def _numbered(arrays: Mapping[str, FloatArray], name: str) -> tuple[FloatArray, ...]:
    count = sum(key.startswith(f"{name}.") for key in arrays)
    return tuple(arrays[f"{name}.{index}"] for index in range(count))
