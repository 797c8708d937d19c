"""Models on disk: bit for bit what was saved, and nothing unsound is read."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import operator
import os
import stat
import subprocess
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save as save_tensors

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.files import from_json, plain, read_capped, to_json, write_atomically
from nlwfa_core.models.mixture import Mixture
from nlwfa_core.models.model_files import (
    RECURRENT_ARRAYS,
    LearnedModel,
    StoredModel,
    load,
    load_info,
    model_as_json,
    model_from_json,
    save,
)
from nlwfa_core.models.ngram import SMOOTHINGS, NGram, Uniform
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.recurrent import GATES, RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.trie import Trie
from nlwfa_core.strings.words import Alphabet, Words
from tests.core.small import posix
from tests.references import COIN, REFERENCES, all_words, random_nlwfa


def random_recurrent(kind: str, num_states: int, num_symbols: int) -> RecurrentModel:
    wide = GATES[kind] * num_states
    shapes = (
        (num_symbols + 1, wide),
        (num_states, wide),
        (wide,),
        (num_states, num_symbols + 1),
        (num_symbols + 1,),
    )
    return RecurrentModel(
        kind, *map(np.random.default_rng(wide).normal, [0.0] * 5, [1.0] * 5, shapes)
    )


SWITCHES = [(True, True), (True, False), (False, True), (False, False)]
MODELS: list[LearnedModel] = [
    *(r.wfa for r in REFERENCES),
    *(random_nlwfa(3, 2, 5, nonlinear) for nonlinear in SWITCHES),
]
PLAIN = random_nlwfa(2, 1, 0)
MODELS += [random_recurrent(kind, 3, 2) for kind in GATES]
# no hidden decoder layer
MODELS.append(NLWFA(PLAIN.initial, PLAIN.transitions, (), np.ones((2, 2)), True, False))


def arrays(model: LearnedModel) -> list[np.ndarray]:
    if isinstance(model, RecurrentModel):
        return [getattr(model, name) for name in RECURRENT_ARRAYS]
    if isinstance(model, WFA):
        return [model.initial, model.transitions, model.termination]
    return [model.initial, *model.transitions, *model.decoder, model.output]


def write_arrays(folder: Path, tensors: bytes) -> None:
    """Replace a folder's arrays, and tie model.json to them."""
    header = json.loads((folder / "model.json").read_bytes())
    (folder / "model.json").write_text(
        json.dumps(header | {"arrays_sha256": hashlib.sha256(tensors).hexdigest()})
    )
    (folder / "model.safetensors").write_bytes(tensors)


@pytest.mark.parametrize("model", MODELS)
def test_models_come_back_bit_for_bit(tmp_path: Path, model: WFA | NLWFA) -> None:
    alphabet = Alphabet(tuple("aλ\n"[: model.num_symbols]))
    info = {"recipe": {"rank": 3}, "score": float("inf"), "notes": ("é",)}
    save(model, tmp_path / "deep" / "down", info, alphabet=alphabet)
    loaded = load(tmp_path / "deep" / "down")
    assert type(loaded) is type(model)
    assert [a.tobytes() for a in arrays(loaded)] == [a.tobytes() for a in arrays(model)]
    assert loaded.alphabet == alphabet
    info = load_info(tmp_path / "deep" / "down")
    assert info == {"recipe": {"rank": 3}, "score": "inf", "notes": ["é"]}
    again = model_from_json(json.loads(json.dumps(model_as_json(model))))
    assert [a.tobytes() for a in arrays(again)] == [a.tobytes() for a in arrays(model)]
    words = all_words(model.num_symbols, 3)
    assert loaded.weights(words).tobytes() == model.weights(words).tobytes()
    assert sorted(path.name for path in (tmp_path / "deep" / "down").iterdir()) == [
        "model.json",
        "model.safetensors",
    ]


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_n_grams_come_back(tmp_path: Path, smoothing: str) -> None:
    """With the same probabilities, to the last bit; and strings that are drawn from them are the
    same.
    """
    train = Sample.of(
        Words.of([(0, 1), (0, 1, 1, 0), (), (1, 1, 1), (0, 0, 1)]), Alphabet(("a", "b"))
    )
    model = NGram.fit(train, 3, smoothing)
    save(model, tmp_path, {"by": "counting"}, alphabet=train.alphabet)
    loaded = load(tmp_path)
    assert (
        isinstance(loaded, NGram)
        and loaded.alphabet == train.alphabet
        and load_info(tmp_path) == {"by": "counting"}
    )
    assert (loaded.order, loaded.smoothing) == (3, smoothing)
    words = all_words(2, 5)
    assert loaded.weights(words).tobytes() == model.weights(words).tobytes()
    assert (
        loaded.sample(50, seed=3).words.symbols.tolist()
        == model.sample(50, seed=3).words.symbols.tolist()
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "model.safetensors"]


UNSOUND_NGRAMS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"smoothing": "none"}, {}, "smoothing must be one of witten-bell, kneser-ney; got 'none'"),
    (
        {"num_symbols": 0},
        {},
        "the number of symbols of an n-gram's alphabet must be between 1 and 10,000; got 0",
    ),
    (
        {"num_symbols": -1},
        {},
        "the number of symbols of an n-gram's alphabet must be between 1 and 10,000; got -1",
    ),
    ({"num_symbols": True}, {}, "num_symbols must be a whole number; got True"),
    ({"num_symbols": 3}, {}, "has 3 symbols, but its alphabet has 2"),
    ({}, {"windows": np.array([[0.5, 1.0]])}, "must hold the numbers of symbols"),
    ({}, {"windows": np.array([[0.0, 1e300]])}, "must hold the numbers of symbols"),
    ({}, {"windows": np.array([[0.0, -1.0]])}, "must be part of a string"),
    ({}, {"windows": np.zeros((0, 2)), "totals": np.zeros(0)}, "must have the shape"),
    ({}, {"windows": np.zeros(2)}, "must have the shape"),
    (
        {},
        {"windows": np.zeros((1, 101))},
        "the order of an n-gram in a file must be at most 100; got 101",
    ),
    ({}, {"totals": np.array([1e300])}, "must be part of a string"),
    ({}, {"totals": np.zeros(1)}, "must be part of a string"),
    ({}, {"totals": None}, "lacks 'totals'"),
]


@pytest.mark.parametrize(("header", "own_arrays", "message"), UNSOUND_NGRAMS)
def test_unsound_n_grams_are_refused(
    tmp_path: Path, header: dict[str, Any], own_arrays: dict[str, Any], message: str
) -> None:
    save(NGram.fit(["ab"], 2), tmp_path, alphabet=Alphabet(("a", "b")))
    sound = json.loads((tmp_path / "model.json").read_bytes())
    tensors = {"windows": np.array([[2.0, 1.0]]), "totals": np.ones(1)} | own_arrays
    (tmp_path / "model.json").write_text(json.dumps(sound | header))
    write_arrays(
        tmp_path,
        save_tensors({name: array for name, array in tensors.items() if array is not None}),
    )
    with pytest.raises(RecipeError, match=message):
        load(tmp_path)


def test_what_is_not_contiguous_is_saved_as_it_reads(tmp_path: Path) -> None:
    model = WFA(
        COIN.wfa.initial, COIN.wfa.transitions.transpose(0, 2, 1), COIN.wfa.termination[::-1]
    )
    save(model, tmp_path, alphabet=Alphabet(("a", "b")))
    loaded = load(tmp_path)
    assert all(
        (ours == theirs).all() for ours, theirs in zip(arrays(loaded), arrays(model), strict=True)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(random_nlwfa(3, 2, 0), tmp_path, alphabet=Alphabet(("a", "b")))
    return tmp_path


HEADERS: list[tuple[Any, str]] = [
    ({"format": 3}, "format must be 1; got 3"),
    ([], "format must be 1; got 'list'"),
    ({"symbols": ["a"]}, "has 2 symbols, but its alphabet has 1"),
    ({"symbols": ["a", "a"]}, "symbols must differ"),
    ({"symbols": "ab"}, "symbols must be a list; got 'ab'"),
    ({"symbols": ["", "b"]}, "a symbol must have at least one character; got ''"),
    ({"symbols": ["a b", "b"]}, "a symbol must be written without white space, .* got 'a b'"),
    ({"symbols": ["a\nb", "b"]}, r"a symbol must be written without white space, .* got 'a\\nb'"),
    ({"symbols": ["aa", " "]}, "a symbol must be written without white space, .* got ' '"),
    ({"symbols": ["aa", "b\u2028"]}, "a symbol must be written without white space"),
    ({"symbols": ["λ"]}, "λ can't be the only symbol"),
    ({"symbols": ["a", 1]}, "the symbols must be a list of strings"),
    ({"symbols": ["a"] * 10_001}, "the number of symbols must be at most 10,000; got 10,001"),
    ({"kind": "RNN"}, "kind must be one of WFA, NLWFA, GRU, LSTM, ngram, mixture; got 'RNN'"),
    ({"kind": "WFA"}, "a model of the kind WFA has no field 'link'"),
    ({"kind": None}, "kind must .*; got None"),
    ({"kind": []}, r"kind must .*; got \[\]"),
    ({"kind": "GRU"}, "a model of the kind GRU has no field 'link'"),
    (
        {"arrays_sha256": "0" * 64},
        "model.json and model.safetensors in .* do not belong together: .*'000000000000'",
    ),
]


@pytest.mark.parametrize(("change", "message"), HEADERS)
def test_headers_that_are_unsound_are_refused(folder: Path, change: Any, message: str) -> None:
    header = json.loads((folder / "model.json").read_bytes())
    (folder / "model.json").write_text(
        json.dumps({**header, **change} if isinstance(change, dict) else change)
    )
    with pytest.raises(RecipeError, match=message):
        load(folder)


@pytest.mark.parametrize(
    "field", ["symbols", "arrays_sha256", "info", "nonlinear_transitions", "reading"]
)
def test_headers_that_lack_something_are_refused(folder: Path, field: str) -> None:
    header = json.loads((folder / "model.json").read_bytes())
    del header[field]
    (folder / "model.json").write_text(json.dumps(header))
    with pytest.raises(RecipeError, match=f"lacks '{field}'"):
        load(folder)


def one_of_each_kind() -> dict[str, StoredModel]:
    grams = NGram.fit(["ab", "b"], 2), NGram.fit(["ab", "b"], 1)
    return {
        "WFA": COIN.wfa,
        "NLWFA": random_nlwfa(3, 2, 0),
        "LSTM": random_recurrent("LSTM", 3, 2),
        "ngram": grams[0],
        "mixture": Mixture((*grams, COIN.wfa), np.array([0.5, 0.25, 0.25])),
    }


WRONG_VALUES = (
    None,
    True,
    -1,
    3,
    1.5,
    math.nan,
    math.inf,
    10**400,
    "",
    "x",
    "λ",
    [],
    [[]],
    {},
    {"a": {"b": []}},
    ...,
)
# The values of these fields are not used, or are sound when they have the right type.
FREE_FIELDS = {
    "version": str,
    "info": dict,
    "normalised": bool,
    "nonlinear_transitions": bool,
    "nonlinear_termination": bool,
}


def places_in(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the path to every entry of an object, but for those inside of `info`."""
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, entry in entries:
        yield (key,)
        if key != "info":
            yield from ((key, *below) for below in places_in(entry))


@pytest.mark.parametrize("kind", one_of_each_kind())
def test_any_wrong_value_of_any_field_is_refused(tmp_path: Path, kind: str) -> None:
    """A wrong type, a number that is no number, negative, huge, a nested value, or nothing at all:
    never another exception.
    """
    save(one_of_each_kind()[kind], tmp_path, alphabet=Alphabet(("a", "b")))
    sound = json.loads((tmp_path / "model.json").read_bytes())
    for place in places_in(sound):
        for value in WRONG_VALUES:
            header = json.loads(json.dumps(sound))
            owner = functools.reduce(operator.getitem, place[:-1], header)
            if value is ...:
                del owner[place[-1]]
            else:
                owner[place[-1]] = value
            (tmp_path / "model.json").write_text(json.dumps(header))
            try:
                load(tmp_path)
            except RecipeError:
                continue
            assert type(value) is FREE_FIELDS.get(str(place[-1])) or place[0] == "symbols", (
                place,
                value,
            )


@pytest.mark.parametrize("kind", one_of_each_kind())
def test_unknown_fields_are_refused(tmp_path: Path, kind: str) -> None:
    save(one_of_each_kind()[kind], tmp_path, alphabet=Alphabet(("a", "b")))
    sound = json.loads((tmp_path / "model.json").read_bytes())
    (tmp_path / "model.json").write_text(json.dumps(sound | {"extra": {"nested": [1]}}))
    with pytest.raises(RecipeError, match=f"a model of the kind {kind} has no field 'extra'"):
        load(tmp_path)


def test_the_arrays_of_another_model_are_refused(tmp_path: Path) -> None:
    """Both models are sound, of one kind and one size, and have other symbols: together, they would
    be a third model.
    """
    for name, symbols, model in (("one", "ab", COIN.wfa), ("other", "xy", 0.5 * COIN.wfa)):
        save(model, tmp_path / name, alphabet=Alphabet(tuple(symbols)))
    (tmp_path / "one" / "model.safetensors").write_bytes(
        (tmp_path / "other" / "model.safetensors").read_bytes()
    )
    with pytest.raises(
        RecipeError, match="model.json and model.safetensors in .*one do not belong together"
    ):
        load(tmp_path / "one")


ARRAYS = [
    (
        {"initial": np.array([1.0, np.nan, 0])},
        "array 'initial' .* must hold finite float64 numbers; got nan",
    ),
    ({"output": np.full((6, 2), np.inf)}, "array 'output'"),
    ({"initial": np.ones(3, dtype=np.float32)}, "array 'initial' .* finite float64"),
    ({"initial": np.ones(4)}, "the layers of an NL-WFA .* do not fit"),
    ({"initial": np.array(1.0)}, "do not fit"),
    ({"transitions.0": np.array(1.0)}, "do not fit"),
    ({"transitions.0": np.empty((2, 3, 0))}, "do not fit"),
    ({"decoder.0": np.ones(3)}, "do not fit"),
    ({"transitions.0": None}, "lacks"),
    ({"transitions.1": None}, "do not fit"),
    ({"output": None}, "lacks 'output'"),
]


@pytest.mark.parametrize(("change", "message"), ARRAYS)
def test_arrays_that_are_unsound_are_refused(
    folder: Path, change: dict[str, np.ndarray | None], message: str
) -> None:
    model = random_nlwfa(3, 2, 0)
    names = ("initial", "transitions.0", "transitions.1", "decoder.0", "output")
    tensors = {**dict(zip(names, arrays(model), strict=True)), **change}
    write_arrays(
        folder, save_tensors({name: array for name, array in tensors.items() if array is not None})
    )
    with pytest.raises(RecipeError, match=message):
        load(folder)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("name", RECURRENT_ARRAYS)
@pytest.mark.parametrize(
    "bad",
    [np.array(1.0), np.ones(2), np.ones((2, 0)), np.ones((3, 4, 1))],
    ids=lambda array: str(array.shape),
)
def test_recurrent_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, kind: str, name: str, bad: np.ndarray
) -> None:
    model = random_recurrent(kind, 3, 2)
    save(model, tmp_path, alphabet=Alphabet(("a", "b")))
    tensors = {**dict(zip(RECURRENT_ARRAYS, arrays(model), strict=True)), name: bad}
    write_arrays(tmp_path, save_tensors(tensors))
    with pytest.raises(RecipeError, match=f"the arrays of the {kind} .* must have the shapes"):
        load(tmp_path)


@given(st.one_of(st.binary(max_size=80), st.integers(0, 400)))
def test_any_bytes_are_refused_with_our_own_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes | int
) -> None:
    """Anything, or a sound file that was cut."""
    folder = tmp_path_factory.mktemp("model")
    save(COIN.wfa, folder, alphabet=Alphabet(("a", "b")))
    for name in ("model.safetensors", "model.json"):
        sound = (folder / name).read_bytes()
        damaged = sound[: min(data, len(sound) - 1)] if isinstance(data, int) else data
        (folder / name).write_bytes(damaged)
        with pytest.raises(RecipeError):
            load(folder)
        if name == "model.safetensors":
            header = (folder / "model.json").read_bytes()
            write_arrays(folder, damaged)
            with pytest.raises(RecipeError):
                load(folder)
            (folder / "model.json").write_bytes(header)
        (folder / name).write_bytes(sound)
    assert load(folder).num_states == 2


def test_a_shape_without_numbers_is_refused(folder: Path) -> None:
    header = json.dumps(
        {"initial": {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}}
    ).encode()
    write_arrays(folder, len(header).to_bytes(8, "little") + header)
    with pytest.raises(RecipeError):
        load(folder)


def test_missing_folders_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"can't read .*model\.json: No such file or directory"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(RecipeError, match="can't write to .*file/model: "):
        save(COIN.wfa, tmp_path / "file" / "model", alphabet=Alphabet(("a", "b")))


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    """A terabyte as a hole: the size is known before a byte is read."""
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(
        RecipeError,
        match=r"large must be at most 52,428,800 bytes; got 1,099,511,627,776",
    ):
        read_capped(path, limits.most("file_bytes"))


@pytest.mark.parametrize("size", [0, 1, 180, 2**20 - 1, 2**20, 3 * 2**20])
def test_a_file_takes_memory_for_what_it_holds(tmp_path: Path, size: int) -> None:
    """Not for what it might hold: the limit on the arrays of a model is 2 GB."""
    path = tmp_path / "small"
    content = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    path.write_bytes(content)
    tracemalloc.start()
    try:
        assert read_capped(path, 2**31) == content
        assert tracemalloc.get_traced_memory()[1] < size + 100_000
    finally:
        tracemalloc.stop()
    assert read_capped(path, size) == content


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as the limit allows."""
    path = tmp_path / "grows"
    path.write_bytes(b"ab" * 2**20)
    monkeypatch.setattr(os, "fstat", lambda descriptor: os.stat_result((0,) * 10))
    assert read_capped(path, 2**21) == b"ab" * 2**20
    with pytest.raises(RecipeError, match="must be at most 2,097,151 bytes; it is larger"):
        read_capped(path, 2**21 - 1)


@posix
@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom", "pipe", "named pipe"])
def test_what_has_no_size_is_read_up_to_the_limit(tmp_path: Path, source: str) -> None:
    path = Path(source)
    command = None
    if source == "pipe":  # as a shell's <(yes)
        command = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
        assert command.stdout is not None
        path = Path(f"/dev/fd/{command.stdout.fileno()}")
    elif source == "named pipe":
        path = tmp_path / "pipe"
        os.mkfifo(path)
        command = subprocess.Popen(["sh", "-c", f"exec yes > {path}"])
    try:
        with pytest.raises(RecipeError, match="must be at most 100,000 bytes; it is larger"):
            read_capped(path, 100_000)
    finally:
        if command is not None:
            command.kill()
            command.communicate()


@posix
def test_a_pipe_below_the_limit_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = b"ab\n" * 100_000
    with subprocess.Popen(["sh", "-c", f"cat > {path}"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        feeder = threading.Thread(target=lambda: writer.communicate(content))
        feeder.start()
        assert read_capped(path, len(content)) == content
        feeder.join()


def test_paths_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_bytes(b"")
    for path, reason in (
        (tmp_path / ("x" * 5000), "File name too long"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
        (tmp_path / "file" / "below", "Not a directory"),
        (tmp_path / "nul\0", "null byte"),
        (tmp_path, "it is a folder"),
    ):
        with pytest.raises(RecipeError, match=f"can't read .*{reason}"):
            read_capped(path, 10)


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_atomically(tmp_path / "file", b"old")

    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(RecipeError, match="can't write .*file: No space left on device"):
        write_atomically(tmp_path / "file", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"old")]
    with pytest.raises(RecipeError, match="can't write .*No such file or directory"):
        write_atomically(tmp_path / "nowhere" / "file", b"new")


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a power cut may leave the name with nothing in it."""
    synced: list[tuple[int, list[str]]] = []

    def fsync(file: int) -> None:
        there = [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")]
        synced.append(
            (-1 if stat.S_ISDIR((found := os.fstat(file)).st_mode) else found.st_size, there)
        )

    monkeypatch.setattr(os, "fsync", fsync)
    write_atomically(tmp_path / "file", b"new")
    assert synced == [(3, []), (-1, ["file"])][: 2 if os.name == "posix" else 1]
    write_atomically(tmp_path / "other", b"new", sync=False)
    assert len(synced) <= 2 and (tmp_path / "other").read_bytes() == b"new"


def test_numbers_that_json_lacks_are_words() -> None:
    value = {"a": np.array([1.0, np.inf]), "b": (float("nan"), -np.inf), 3: [True, None, "λ"]}
    assert from_json(to_json(value).encode()) == {
        "a": [1.0, "inf"],
        "b": ["nan", "-inf"],
        "3": [True, None, "λ"],
    }
    with pytest.raises(RecipeError, match="not JSON"):
        from_json(b"[" * 100_000)
    with pytest.raises(RecipeError, match="not JSON"):
        from_json(b"\xff")


@pytest.mark.parametrize(
    "data",
    [
        rb'"\ud800"',
        rb'{"a": ["\uDFFF x"]}',
        rb'{"\udc00": 1}',
        rb'"\ud800\ud800"',
        b'"\xed\xa0\x80"',
    ],
)
def test_half_of_a_character_is_no_text(data: bytes) -> None:
    """It could be read, and then neither be written nor be sent to a browser."""
    with pytest.raises(
        RecipeError, match="not JSON: .*surrogates not allowed|not JSON: .*can't decode"
    ):
        from_json(data)
    assert from_json(rb'["\ud83d\ude00", "\\ud800"]') == ["\U0001f600", r"\ud800"]


TEXTS = st.text(st.characters(codec=None), max_size=3)  # halves of surrogate pairs too
NUMBERS = st.one_of(
    st.floats(width=32),
    st.integers(-(2**60), 2**60),
    st.sampled_from([0, 1, -1, 2**53, np.nan, np.inf]),
)
DTYPES = st.sampled_from(
    [
        np.float64,
        np.float32,
        np.float16,
        np.longdouble,
        np.int64,
        np.int8,
        np.bool_,
        np.complex128,
        object,
        ">f8",
    ]
)
PLAIN_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.just(np.int64(3))
    | st.just({1}),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(TEXTS, values, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_is_saved_comes_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever can be made and saved is read back as it was."""

    def drawn(*shape: int) -> Any:
        values = np.array(
            data.draw(st.lists(NUMBERS, min_size=(n := int(np.prod(shape))), max_size=n)),
            dtype=object,
        ).reshape(shape)
        with np.errstate(all="ignore"):
            try:
                return (
                    values.astype(data.draw(DTYPES))
                    if data.draw(st.booleans())
                    else values.tolist()
                )
            except (OverflowError, ValueError):  # nan has no integer
                return np.zeros(shape)

    k = data.draw(st.integers(0, 2))
    num_symbols = data.draw(st.integers(1, 2))
    symbols = data.draw(st.lists(TEXTS, min_size=1, max_size=2, unique=True))
    folder = tmp_path_factory.mktemp("model") / "m"
    try:
        with np.errstate(all="ignore"):
            model: LearnedModel = (
                WFA(drawn(k), drawn(num_symbols, k, k), drawn(k))
                if data.draw(st.booleans())
                else NLWFA(
                    drawn(k),
                    (drawn(num_symbols, k, k),),
                    (),
                    drawn(k, 2),
                    data.draw(st.booleans()),
                    False,
                )
            )
        alphabet = Alphabet(tuple(symbols))
        info = data.draw(PLAIN_JSON)
        path = str(folder) if data.draw(st.booleans()) else folder
        save(model, path, info, alphabet=alphabet)
    except (RecipeError, TypeError):
        assert not folder.exists()
        return
    loaded = load(str(folder))
    assert loaded.alphabet == alphabet
    assert [a.tobytes() for a in arrays(loaded)] == [
        np.ascontiguousarray(a).tobytes() for a in arrays(model)
    ]
    assert load_info(str(folder)) == plain(info or {})
    trie = Trie.of(all_words(num_symbols, 2), num_symbols)
    assert loaded.next_scores(trie).tobytes() == model.next_scores(trie).tobytes()


UNSAVED: list[tuple[Any, Any, Any, type[Exception], str]] = [
    (
        WFA([np.nan], [[[1.0]]], [1.0]),
        ("a",),
        {},
        RecipeError,
        "array 'initial' of a model must hold finite numbers .*; got nan",
    ),
    (
        WFA([1], [[[1]]], [1]),
        ("a", "b"),
        {},
        RecipeError,
        "a model with 1 symbol can't be saved .* 2 symbols: a, b",
    ),
    (
        WFA([1], [[[1]]], [1], Alphabet(("b",))),
        ("a",),
        {},
        RecipeError,
        "a model with 1 symbol: b can't be saved with an alphabet of 1 symbol: a",
    ),
    (
        Uniform(1),
        ("a",),
        {},
        TypeError,
        "only models of .* WFA, .* NGram, Mixture can be saved; got Uniform",
    ),
    (
        COIN.wfa,
        ("a", "b"),
        {"x": {1}},
        RecipeError,
        "symbols and info must be valid JSON to be saved: .*set",
    ),
    (COIN.wfa, ("a", "b"), [], TypeError, "info must be a dictionary or None; got list"),
    (
        COIN.wfa,
        ("a", "\ud800"),
        {},
        RecipeError,
        "symbols and info must be valid JSON .*surrogates",
    ),
    (
        WFA([1], np.ones((10_001, 1, 1)), [1]),
        tuple(map(str, range(10_001))),
        {},
        RecipeError,
        "the number of symbols must be at most 10,000",
    ),
]


@pytest.mark.parametrize(("model", "symbols", "info", "kind", "message"), UNSAVED)
def test_what_could_not_be_read_is_not_saved(
    tmp_path: Path,
    model: Any,
    symbols: tuple[str, ...],
    info: Any,
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        save(model, tmp_path / "m", info, alphabet=Alphabet(symbols))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ([True], TypeError, "initial must be an array of numbers; got list of bool"),
        (["1"], TypeError, "initial must be an array of numbers; got list of <U1"),
        ([1j], TypeError, "initial must be an array of numbers; got list of complex128"),
        (None, TypeError, "initial must be an array of numbers; got NoneType of object"),
        (
            [[1.0], [1.0, 2.0]],
            TypeError,
            "initial must be an array of numbers; got rows of different lengths",
        ),
        (
            [2**53 + 1],
            RecipeError,
            "initial must hold numbers that float64 represents exactly; got an array of int64",
        ),
        (
            np.array([np.longdouble(1) / 3]),
            RecipeError,
            "initial must hold numbers that float64 represents exactly",
        ),
        ([[1.0]], RecipeError, "a WFA needs initial"),
    ],
)
def test_numbers_of_automata_are_float64(values: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        WFA(values, [[[1.0]]], [1.0])


def test_sequences_and_other_numbers_become_float64() -> None:
    model = WFA([1, 0], np.ones((1, 2, 2), dtype=np.float32), (0.5, 0.25))
    assert [array.dtype for array in arrays(model)] == [np.float64] * 3
    assert model.weights(Words.of([(0,)])).tolist() == [0.75]
    same = COIN.wfa.initial
    assert WFA(same, COIN.wfa.transitions, COIN.wfa.termination).initial is same
