"""Read automata from files, and write them: a model's folder (as a zip archive), PAutomaC, JSON,
JFLAP, and lines; DOT, TikZ and OpenFst are only written.

A file is recognised by its content. What can't be read, or is too large to be drawn, is refused
with one error.
"""

from __future__ import annotations

import io
import re
import zipfile
from contextlib import suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from ...errors import RecipeError
from ...export.automaton_formats import jflap
from ...export.downloads import saved_files
from ...export.tikz import tikz
from ...files import UNREADABLE_ZIP, from_json
from ...limits import check_at_most
from ...models.algebra import trim
from ...models.model_files import MODEL_FILES, load
from ...models.wfa import WFA
from ...sources.exchange import read_weights_json
from ...sources.jflap import read_jflap
from ...sources.other_files import check_no_other_file
from ...sources.pautomac import read_pautomac_model
from ...sources.string_files import clean, first_rows
from .draft import MAX_STATES, Draft, read_draft

# the size of a file, and of what a zip archive holds: an automaton that can be drawn takes 100 kB
MAX_BYTES = 4 * 2**20
MAX_ENTRIES = 200  # files in a zip archive
LINES = re.compile(r"^\s*(symbols|state|arrow)\s", re.MULTILINE)
FORMS = (
    "a zip archive with model.json and model.safetensors, automaton.json, a PAutomaC model, a "
    "JFLAP file (.jff), or lines of states and arrows"
)


def read_automaton(data: bytes) -> Draft:
    """Read an automaton from a file, in one of the forms that `automaton_files` and the lab's
    downloads have.

    Raises RecipeError if it is none of these, is damaged, is not a linear model, or is too large to
    be drawn.
    """
    check_at_most("the file", len(data), MAX_BYTES, unit="bytes")
    if not data.strip():
        raise RecipeError(f"the file is empty; it must be {FORMS}")
    if data.startswith(b"PK"):
        return _small(_from_archive(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise RecipeError(
            f"the file is neither text nor a zip archive; it must be {FORMS}"
        ) from None
    if text.lstrip().startswith("{"):
        return _small(_from_json(data))
    if text.lstrip().startswith(("digraph", "strict digraph")) or r"\begin{tikzpicture}" in text:
        raise RecipeError(
            "DOT and TikZ can be written, but not read, because their weights are rounded; the "
            f"file must be {FORMS}"
        )
    if text.lstrip().startswith("<"):
        return _small(read_jflap(data))
    if LINES.search(text):
        return read_draft(text)
    if "I:" in text or "F:" in text:
        return _small(read_pautomac_model(data))
    check_no_other_file(first_rows(clean(data)), f"the file must be {FORMS}")
    raise RecipeError(
        f"this is not an automaton file; got {text.strip()[:40]!r}; it must be {FORMS}"
    )


def _small(wfa: WFA) -> Draft:
    """Make a draft; if there are too many states, without those that no string visits."""
    return Draft.of(wfa if wfa.num_states <= MAX_STATES else trim(wfa))


def _from_archive(data: bytes) -> WFA:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, TemporaryDirectory() as folder:
            entries = archive.infolist()
            check_at_most("the number of files in the zip archive", len(entries), MAX_ENTRIES)
            for name in MODEL_FILES:
                matching = [
                    entry for entry in entries if PurePosixPath(entry.filename).name == name
                ]
                if len(matching) != 1:
                    raise RecipeError(f"the zip archive must hold one {name}; got {len(matching)}")
                with archive.open(matching[0]) as source:
                    content = source.read(MAX_BYTES + 1)
                check_at_most(name, len(content), MAX_BYTES, unit="bytes")
                Path(folder, name).write_bytes(content)
            try:
                model = load(folder)
            except RecipeError as error:
                raise RecipeError(str(error).replace(f" in {folder}", "")) from None
    except RecipeError:
        raise
    except UNREADABLE_ZIP as error:
        raise RecipeError(f"the zip archive can't be read: {error}") from None
    if not isinstance(model, WFA):
        raise RecipeError(
            f"only linear models (WFA) can be drawn; got one of the kind {type(model).__name__}"
        )
    return model


def _from_json(data: bytes) -> WFA:
    value: Any = from_json(data)
    needed = ("symbols", "initial", "transitions", "termination")
    missing = [name for name in needed if name not in value]
    if missing:
        hint = (
            "; model.json needs model.safetensors with it: upload both in a zip archive"
            if "kind" in value
            else ""
        )
        raise RecipeError(
            f"automaton.json must have the keys {', '.join(needed)}; {missing[0]} is missing{hint}"
        )
    try:
        return read_weights_json(data)
    except RecipeError as error:
        raise RecipeError(f"automaton.json: {error}") from None


def automaton_files(draft: Draft) -> dict[str, bytes]:
    """Write a draft's automaton in all forms that can express it, name -> bytes."""
    wfa = draft.automaton
    assert wfa.alphabet is not None
    files = {"automaton.txt": draft.text.encode()}
    with suppress(RecipeError):
        files["automaton.jff"] = jflap(wfa, wfa.alphabet).encode()
    files |= saved_files(wfa, wfa.alphabet, {"made": "on the Build page"})
    with suppress(RecipeError):
        files["automaton.tex"] = tikz(wfa, wfa.alphabet.symbols, names=draft.names).encode()
    return files
