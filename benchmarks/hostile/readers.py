"""List the lab's readers of bytes and text from outside, each with sound inputs and a function that
makes them hostile.

A reader may return or raise RecipeError; anything else is a finding. The same seed and number
always give the same input.
"""

from __future__ import annotations

import atexit
import base64
import io
import json
import shutil
import struct
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import prod
from pathlib import Path
from random import Random

import numpy as np

from nlwfa_core import limits
from nlwfa_core.display.formulas.by_hand import by_hand
from nlwfa_core.experiment.datasets import load_data
from nlwfa_core.experiment.pipeline import run
from nlwfa_core.experiment.presets import PRESETS
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, recipe_code, recipe_of, with_fields
from nlwfa_core.experiment.results import load_result, save_result
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.hankel.recipe import HankelRecipe
from nlwfa_core.history.bundles import export_runs, import_runs
from nlwfa_core.history.database import engine_of
from nlwfa_core.history.runs import History
from nlwfa_core.jobs.folders import RunFolders
from nlwfa_core.jobs.job import Job
from nlwfa_core.jobs.worker import read_messages
from nlwfa_core.learning.learners import SP
from nlwfa_core.models.model_files import load, save
from nlwfa_core.models.nlwfa import NLWFA
from nlwfa_core.models.recurrent import RecurrentModel
from nlwfa_core.models.wfa import WFA
from nlwfa_core.records import options_of
from nlwfa_core.sources.counting import count_strings
from nlwfa_core.sources.exchange import read_openfst, read_symbol_table, read_weights_json
from nlwfa_core.sources.names import ENCODINGS, FORMATS
from nlwfa_core.sources.pautomac import read_pautomac_model, read_solution
from nlwfa_core.sources.reading import COLUMNS, Reading
from nlwfa_core.sources.spice import read_ranking, read_targets
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.sources.value_files import read_values
from nlwfa_core.strings.words import Alphabet
from nlwfa_core.teaching.lessons import read_lesson
from studies.reproduction.experiments import Measured, Planned, RunFile

from .. import ROOT
from .mutations import Mutation, of_bytes, of_json

# Bytes of memory for each byte of a file of characters. Four bytes (three characters and a line
# end) become five numbers of eight bytes: three symbols, an offset and a count. Other formats have
# more bytes for each symbol.
CHARACTERS_MEMORY = 13
# The same for each format that needs more than ten.
FORMATS_MEMORY = {
    "auto": CHARACTERS_MEMORY,
    "characters": CHARACTERS_MEMORY,
    "events": 20,  # each line may be another case, which is a Python object
}
# The same for a file of runs: a line of eleven bytes becomes a few Python objects.
RUNS_MEMORY = 45
# The same for targets and rankings: a line of two bytes, one symbol, becomes up to six numbers of
# eight bytes.
TARGETS_MEMORY = 45
LETTERS = Alphabet(("a", "b"))
COIN = WFA(np.array([1.0, 0.0]), np.full((2, 2, 2), 0.2), np.array([0.2, 0.2]))
EVENTS = (
    b"case,activity,time\n7,pay,2024-01-31T12:00:00Z\n8,register,2024-01-31T12:00:01Z\n"
    b"7,register,2023-12-31 09:00+01:00\n"
)
LOG = b"case;what;no\n7;register;1\n8;a b;1.5\n7;pay;-3\n"
XES = b"""<?xml version="1.0"?>
<log xes.version="1.0">
 <trace><string key="concept:name" value="1"/>
  <event><string key="concept:name" value="register"/>
   <string key="lifecycle:transition" value="start"/></event>
  <event><string key="concept:name" value="pay"/></event></trace>
 <trace/>
</log>
"""
# format of a file of another field -> such files
OTHER_STRINGS: dict[str, tuple[bytes, ...]] = {
    "events": (EVENTS, LOG, b"session_id|action\n1|a\n1|b\n2|a\n"),
    "xes": (XES,),
    "conll": (
        b"# text = The cat\n1-2\tThe\t_\n1\tThe\tDET\n2\tcat\tNOUN\n\n1\tsat\tVERB\n",
        b"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\n",
    ),
    "fasta": (b">s1 x\nACGT\nAC\n\n>s2\n>s3\nacgt*\n", b">a\nACGTACGTAC GGTT\n"),
    "fastq": (b"@r1\nACGTN\n+\nIIIII\n@r2\nGG\n+r2\n!!\n",),
    "spmf": (b"1 -1 2 3 -1 -2\n-2\n", b"@ITEM=1=a b\n<1> 1[5] -1 -2 SUtility:5\n"),
    "uniq": (b"   12 the cat\n    3 a\n    1\n",),
    "abbadingo": (b"3 2\n1 3 0 1 1\n0 2 1 0\n1 0\n", b"2 2\n1 2 a/0.5 b/1\n-1 1 a/2\n"),
}
STRINGS = (
    b"4 2\n2 0 1\n0\n3 1 1 0\n1 1\n",
    b"abba\nab\n\n\xce\xbb\n",
    b"run stop run\nstop\n",
    b'string,count\nab,3\n,2\n"a",1\n',
    b"tokens,count\r\na b,3\r\nb,2\r\n",
    "\ufeffé\U0001f600λ\n".encode() * 3,
    b"3 1000\n" + b"20 " + b"7 " * 20 + b"\n1 999\n0\n",
    b"the cat;3\na;2\nb;1\n",
    b'["a", "b"]\n[]\n[1, "b"]\n',
    b'{"text": "abba", "count": 3}\n{"text": "", "count": 1}\n',
)
AUTOMATON = b"""I: (state)
\t(0) 0.5
\t(1) 0.5
F: (state)
\t(0) 0.25
\t(1) 0.5
S: (state,symbol)
\t(0,0) 0.75
\t(0,1) 0.25
\t(1,0) 1.0
T: (state,symbol,state)
\t(0,0,1) 1.0
\t(0,1,0) 1.0
\t(1,0,0) 1.0
"""
LESSON = b"""---
title: A
minutes: 5
summary: B
recipe: rank=2
strings: ab b
---
## One
page: hankel
show: rank
do: Go | rank=3
models: fac.non@2 both.non@3 learning_seed=1

Text.

? Why?
So.
"""
LIMITS = b"# a class\nrank = 20\nfile_bytes = 1000000\ntraining_seconds = 600\n"
SWEEP = {
    "base": {"data": {"num_strings": 2000}, "hankel": {"num_prefixes": 100, "num_suffixes": 100}},
    "learners": ["SP", "both.non"],
    "ranks": [1, 2, 3],
    "statistics": ["string", "prefix"],
    "transforms": ["none", "row"],
    "sample_sizes": [500, 2000],
    "seeds": [0, 1],
    "new_strings": False,
}
MESSAGES = (
    {
        "progress": ["data", 0, 0, None, "relative loss"],
        "losses": [],
        "held": False,
        "picture": None,
    },
    {
        "progress": ["factorisation", 3, 10, 0.5, "loss"],
        "losses": [["factorisation", 2, 0.6, "loss"]],
        "held": True,
    },
    {
        "progress": ["transitions", 1, 9, 0.5, "bits"],
        "losses": [["transitions", 0, 0.6, "bits"], ["transitions", 1, 0.5, "bits"]],
    },
    {"end": "failed", "message": "why"},
    {"end": "done", "message": None},
)
ADDRESSES = (
    b"sqlite:////nowhere/history.sqlite",
    b"postgresql+psycopg://user:password@host:5432/nlwfa?connect_timeout=3",
    b"mysql://host/name",
    b"sqlite://",
)


@dataclass(frozen=True)
class Reader:
    """A reader and its inputs.

    Attributes
    ----------
    sound : tuple of bytes
        Inputs that the reader accepts.
    read : callable
        Bytes -> anything; raises RecipeError to refuse an input.
    mutate : callable
        Random generator, sound input -> hostile input.
    times, floor : int
        The reader may use `times` bytes of memory for each byte of an input, and `floor` bytes
        more.
    """

    sound: tuple[bytes, ...]
    read: Callable[[bytes], object]
    mutate: Mutation = of_bytes
    times: int = 10
    floor: int = 4 * 2**20

    def input(self, seed: int, number: int) -> bytes:
        """Make input `number`; the first ones are the sound inputs, unchanged."""
        if number < len(self.sound):
            return self.sound[number]
        random = Random(f"{seed} {number}")
        return self.mutate(random, random.choice(self.sound))


def _text(data: bytes) -> str:
    """Decode as text from a browser, which may hold any characters, even lone surrogates."""
    return (
        data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace")
        if _is_passable(data)
        else data.decode("latin-1")
    )


def _is_passable(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _strings(format: str) -> Reader:
    def read(data: bytes) -> object:
        reading = Reading(format, **_choices(format, data))
        return read_strings(
            data, reading, alphabet=LETTERS if len(data) % 3 == 0 else None
        ).sample()

    own = OTHER_STRINGS.get(format)
    others = [data for files in OTHER_STRINGS.values() for data in files]
    return Reader(
        (*own, *STRINGS[:2]) if own else (*STRINGS, *(others if format == "auto" else ())),
        read,
        times=FORMATS_MEMORY.get(format, 10),
    )


def _choices(format: str, data: bytes) -> dict[str, str]:
    """Choose columns, an encoding and a separator, depending on the size of the data."""
    random = Random(len(data))
    names = ("case", "what", "no", "time", "text", "count", "1", "2", "3", "", "é")
    declared = options_of(Reading)
    chosen = {
        name: random.choice(names) for name in COLUMNS if format in declared[name].when[0]["format"]
    }
    if random.randrange(3):
        return {}
    if format in ("csv", "events", "tokens"):
        chosen["separator"] = random.choice(("auto", "auto", "semicolon", "tab", "bar"))
    if format in ("csv", "events"):
        chosen["header"] = random.choice(("auto", "yes", "no"))
    if not random.randrange(6):
        chosen["encoding"] = random.choice(list(ENCODINGS))
    return chosen


def _pieces() -> Reader:
    """Count the strings of a file that arrives in pieces, cut anywhere."""

    def read(data: bytes) -> object:
        size = max(1 + len(data) % 97, len(data) // 100)
        return count_strings(
            (data[start : start + size] for start in range(0, len(data), size)), max_distinct=50
        ).sample()

    return Reader(
        (
            STRINGS[0],
            STRINGS[6],
            b"300 9\n" + b"".join(b"2 %d %d\n" % (n % 9, n % 7) for n in range(300)),
        ),
        read,
    )


def _solution() -> Reader:
    return Reader((b"3\n0.5\n1e-20\n0\n", b"1\r\n0.25\r\n"), read_solution)


def _targets() -> Reader:
    def read(data: bytes) -> object:
        return read_targets(data, LETTERS if len(data) % 2 else None).likeliest

    return Reader(
        (b"1.0 3 1.0\n1.0 -1 1.0\n", b"0.8 2 0.5 -1 0.3 0 2e-1\n0.5 1 0.5", b"0\n1\n-1\n"),
        read,
        times=TARGETS_MEMORY,
    )


def _ranking() -> Reader:
    def read(data: bytes) -> object:
        return read_ranking(data, LETTERS if len(data) % 2 else None)

    return Reader(
        (b"4 10 1 5 9\n1 -1\n", b"0\n" * 9 + b"1 2 3 4 5 6\n\n"), read, times=TARGETS_MEMORY
    )


def _automaton() -> Reader:
    def read(data: bytes) -> object:
        return read_pautomac_model(data, num_symbols=2 if len(data) % 2 else None)

    return Reader((AUTOMATON,), read, floor=2 * 8 * limits.most("automaton_numbers"))


def _values() -> Reader:
    sound = (
        b"string,value\nab,0.5\n,-2\nb,1e300\n",
        b"a b,1\nb,2\n",
        b"string;value\nab;0,5\nba;-1\n",
        b",string,accepted\n0,ab,True\n1,ba,False\n",
        b"3 2\n1 3 0 1 1\n0 2 1 0\n1 0\n",
    )
    return Reader(sound, lambda data: read_values(data).strings)


def _openfst() -> Reader:
    """Read an acceptor in OpenFst's text format, with one label in each arc or two, or its table of
    symbols.

    The input's first byte chooses which.
    """
    names = {"<eps>": 0, "a": 1, "b": 2}
    kinds: tuple[Callable[[bytes], object], ...] = (
        lambda text: read_openfst(text, semiring="log"),
        lambda text: read_openfst(text, names, semiring="real"),
        lambda text: read_openfst(text, names, semiring="log", labels="names"),
        read_symbol_table,
    )

    def read(data: bytes) -> object:
        return kinds[data[0] % len(kinds) if data else 0](data[1:])

    def mutate(random: Random, data: bytes) -> bytes:
        return data[:1] + of_bytes(random, data[1:])

    sound = (
        b"0" + b"0\t1\t1\t0.5\n0\t0\t0\t1.5\n1\t2\t2\n2\tInfinity\n1 0.25\n",
        b"1" + b"0 1 1 1\n1 2 2 2\n2\n",
        b"2" + b"0 1 a a 0.5\n1\n",
        b"3" + b"<eps> 0\na 1\nb 2\n",
    )
    return Reader(sound, read, mutate, floor=2 * 8 * limits.most("automaton_numbers"))


def _weights_json() -> Reader:
    sound = (b'{"initial": [1], "transitions": [[[0.5]]], "termination": [0.5], "symbols": ["a"]}',)
    return Reader(sound, read_weights_json, of_json, floor=2 * 8 * limits.most("automaton_numbers"))


def _recipe() -> Reader:
    sound = [recipe.to_json().encode() for _, recipe in PRESETS.values()]
    return Reader(tuple(sound), lambda data: Recipe.from_json(_text(data)).key(), of_json)


def _link() -> Reader:
    """Change a link's recipe and pack it again, or change the packed link."""

    def mutate(random: Random, data: bytes) -> bytes:
        if random.random() < 0.3:
            return of_bytes(random, data)
        packed = base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4))
        text = of_json(random, zlib.decompress(packed))
        return base64.urlsafe_b64encode(zlib.compress(text, 9)).rstrip(b"=")

    sound = [recipe_code(recipe).encode() for _, recipe in PRESETS.values()]
    return Reader(tuple(sound), lambda data: recipe_of(_text(data)).key(), mutate)


def _fields() -> Reader:
    """Read the parameters of an address, name=value."""

    def read(data: bytes) -> object:
        pairs = [pair.partition("=") for pair in _text(data).split("&")]
        return with_fields(Recipe(), {name: value for name, _, value in pairs}).key()

    return Reader(
        (
            b"rank=3&learner=both.non&hidden=4,2,1,2,4",
            b"statistic=prefix&transform=row&data_seed=7&refine=likelihood",
        ),
        read,
    )


def _lesson() -> Reader:
    shipped = min(
        (path.read_bytes() for path in (ROOT / "assets" / "lessons").glob("*.md")), key=len
    )
    return Reader(
        (LESSON, LESSON, shipped), lambda data: read_lesson("x", data.decode("utf-8", "replace"))
    )


def _typed() -> Reader:
    """Write out the weight of a string that somebody typed."""

    def read(data: bytes) -> object:
        text = _text(data)[:1000]
        word = LETTERS.encode(text)
        return by_hand(COIN, word, LETTERS).latex()

    return Reader((b"abba", "λ".encode(), b"a b a"), read)


def _upload() -> Reader:
    """Read an upload as the Data page does: split it, or also use the same file as test strings."""

    def read(data: bytes) -> object:
        test = "1" * 64 if len(data) % 2 else ""
        return load_data(
            DataRecipe(source="upload", upload="0" * 64, upload_test=test), lambda name: data
        )

    whole = b"string,count\n" + b"".join(b"%s,%d\n" % (b"ab" * n, n) for n in range(1, 9))
    return Reader(
        (*STRINGS, whole), read, times=2 * CHARACTERS_MEMORY, floor=6 * limits.most("strings")
    )


def _run_file() -> Reader:
    """Read the CSV file of runs of `nlwfa reproduce`."""
    folder = _folder() / "reproduction"
    file = RunFile(folder / "runs.csv", ("wer", "kl"))
    for rank in (1, 2, 3):
        file.add(Measured("0" * 64, Planned("paper", "SP", rank, 100, 0), {"wer": 0.5, "kl": None}))
    copy = RunFile(folder / "copy.csv", ("wer", "kl"))

    def read(data: bytes) -> object:
        copy.path.write_bytes(data)
        return copy.read()

    return Reader((file.path.read_bytes(),), read, times=RUNS_MEMORY)


def _grid() -> Reader:
    def read(data: bytes) -> object:
        grid = Grid.from_json(data)
        lists = (
            grid.learners,
            grid.ranks,
            grid.statistics,
            grid.transforms,
            grid.sample_sizes,
            grid.seeds,
        )
        # Listing more runs is not reading: it is work that the user asked for, a second for 20,000
        # runs.
        return grid.recipes() if prod(max(1, len(values)) for values in lists) <= 100 else grid

    return Reader((json.dumps(SWEEP).encode(), b"{}"), read, of_json)


def _settings() -> Reader:
    return Reader((LIMITS, b"rank = 5\n", b""), lambda data: limits.read_limits(data))


def _address() -> Reader:
    def read(data: bytes) -> object:
        text = _text(data)
        return engine_of(text).dispose()

    return Reader(ADDRESSES, read)


def _models() -> dict[str, WFA | NLWFA | RecurrentModel]:
    rng = np.random.default_rng(0)
    layers = (rng.normal(size=(2, 3, 6)), rng.normal(size=(2, 6, 3)))
    network = NLWFA(
        rng.normal(size=3), layers, (rng.normal(size=(3, 6)),), rng.normal(size=(6, 2)), True, True
    )
    shapes = ((3, 9), (3, 9), (9,), (3, 3), (3,))
    return {
        "WFA": COIN,
        "NLWFA": network,
        "GRU": RecurrentModel("GRU", *(rng.normal(size=shape) for shape in shapes)),
    }


def _in_folder(name: str, mutate: Mutation) -> Reader:
    """Replace one file of a model's folder. The input's first byte chooses the kind of model."""
    home = _folder() / f"models {name}"
    sound = []
    for number, (kind, model) in enumerate(_models().items()):
        save(model, home / kind, {"note": "x"}, alphabet=LETTERS)
        sound.append(b"%d" % number + (home / kind / name).read_bytes())
    kinds = list(_models())

    def read(data: bytes) -> object:
        folder = home / kinds[data[0] % 3 if data else 0]
        (folder / name).write_bytes(data[1:])
        if name == "model.safetensors":
            header = folder / "model.json"
            header.write_bytes(_tied(header.read_bytes(), data[1:]))
        loaded = load(folder)
        return loaded.weights(words) if loaded.num_symbols == 2 else loaded

    from nlwfa_core.strings.words import Words

    words = Words.of([(), (0,), (0, 1, 1)])
    return Reader(tuple(sound), read, lambda random, data: data[:1] + mutate(random, data[1:]))


def _tied(header: bytes, tensors: bytes) -> bytes:
    """Return a model.json that names the SHA-256 of other arrays: without it, they would not even
    be looked at.
    """
    return json.dumps(json.loads(header) | {"arrays_sha256": sha256(tensors).hexdigest()}).encode()


def _tensors(random: Random, data: bytes) -> bytes:
    """Change the header of a safetensors file as JSON and correct its length, or change the file as
    bytes.
    """
    if random.random() < 0.3:
        return of_bytes(random, data)
    (length,) = struct.unpack("<Q", data[:8])
    header = data[8 : 8 + length]
    rest = data[8 + length :]
    if random.random() < 0.3:  # values that are no ordinary numbers
        values = np.frombuffer(rest, dtype=np.float64).copy()
        values[random.randrange(len(values))] = random.choice(
            (np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324)
        )
        return data[: 8 + length] + values.tobytes()
    if random.random() < 0.3:
        shape = [
            random.choice((0, 1, 2, 2**31, 2**62, 2**64 - 1, 3)) for _ in range(random.randrange(5))
        ]
        changed = json.loads(header)
        changed[random.choice(list(changed))]["shape"] = shape
        header = json.dumps(changed).encode()
    else:
        header = of_json(random, header)
    size = (
        len(header)
        if random.random() < 0.9
        else random.choice((0, 2**63, 2**64 - 1, len(header) + 1, 2**27))
    )
    return struct.pack("<Q", size) + header + rest


@cache
def _folder() -> Path:
    """Make a temporary folder, which is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="nlwfa-hostile-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _small_run() -> tuple[str, Path]:
    """Run a small recipe: its key and its folder."""
    recipe = Recipe(
        data=DataRecipe(num_strings=50, num_validation=5, num_test=5),
        hankel=HankelRecipe(num_prefixes=5, num_suffixes=5),
        learning=SP(rank=2),
    )
    folder = _folder() / "home" / "runs" / recipe.key()
    save_result(folder, run(recipe))
    return recipe.key(), folder


def _messages() -> Reader:
    """Read what a worker writes, as its server does: messages that fit its types, and nothing after
    the first that does not.
    """

    def read(data: bytes) -> object:
        job = Job("0" * 64, Recipe(), report=lambda *_: None)
        for message in read_messages(io.BytesIO(data)):
            if "end" in message:
                job.end(message["end"], message["message"])
                job = Job("0" * 64, Recipe(), report=lambda *_: None)
            else:
                job.note(message)
                json.dumps([repr(job.status(None, 0)), job.overtime])
        return job

    return Reader(
        (b"".join(json.dumps(message).encode() + b"\n" for message in MESSAGES),),
        read,
        _line_of_json,
    )


def _line_of_json(random: Random, data: bytes) -> bytes:
    """Change one line as JSON, or all of them as bytes."""
    lines = data.splitlines(keepends=True)
    if random.random() < 0.3 or not lines:
        return of_bytes(random, data)
    place = random.randrange(len(lines))
    lines[place] = of_json(random, lines[place]).replace(b"\n", b" ") + b"\n"
    if random.random() < 0.3:
        random.shuffle(lines)
    return b"".join(lines)


def _folder_of_run() -> Reader:
    """Look at a run's folder without its model, as a lab that starts does."""
    key, folder = _small_run()
    folders = RunFolders(_folder() / "listed")

    def read(data: bytes) -> object:
        copy = folders.folder(key)
        if not copy.exists():
            copy.mkdir(parents=True)
            for name in ("model.json", "model.safetensors"):
                (copy / name).write_bytes((folder / name).read_bytes())
        (copy / "result.json").write_bytes(data)
        return folders.job(key)

    return Reader(((folder / "result.json").read_bytes(),), read, of_json)


def _result() -> Reader:
    _, folder = _small_run()

    def read(data: bytes) -> object:
        copy = folder.parent.parent / "copy"
        if not copy.exists():
            copy.mkdir()
            for name in ("model.json", "model.safetensors"):
                (copy / name).write_bytes((folder / name).read_bytes())
        (copy / "result.json").write_bytes(data)
        return load_result(copy)

    return Reader(((folder / "result.json").read_bytes(),), read, of_json)


def _bundle() -> Reader:
    """Import a bundle of one run whose files or names were changed before packing, or the packed
    archive itself.
    """
    key, folder = _small_run()
    source = History.open(folder.parent.parent)
    source.rebuild(folder.parent)
    sound = export_runs(folder.parent.parent, source, [key])
    source.close()
    home = _folder() / "other"
    history = History.open(home)

    def read(data: bytes) -> object:
        imported = import_runs(home, history, data)
        for name in imported.new:  # remove it, so the next bundle's run is new again
            for path in (home / "runs" / name).iterdir():
                path.unlink()
            (home / "runs" / name).rmdir()
        return imported

    return Reader((sound,), read, _repacked)


NAMES = (
    "../evil",
    "/tmp/evil",
    "runs/../../evil",
    "runs\\..\\evil",
    "C:\\evil",
    "runs/x/model.json",
    "",
    ".",
    "bundle.json/",
    "évil\0",
    "a" * 300,
)


def _repacked(random: Random, data: bytes) -> bytes:
    if random.random() < 0.2:
        return of_bytes(random, data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [(name, archive.read(name)) for name in archive.namelist()]
    index = random.randrange(len(files))
    name, content = files[index]
    kind = random.randrange(8)
    if kind == 0:
        files[index] = (random.choice(NAMES), content)
    elif kind == 1:
        files.append((random.choice((*NAMES, name)), content))
    elif kind == 2:
        files.append((name.replace("result.json", "model.json"), bytes(2**20)))
    else:
        files[index] = (
            name,
            _tensors(random, content) if name.endswith("safetensors") else of_json(random, content),
        )
        if name.endswith("safetensors"):
            header = name.replace("safetensors", "json")
            files = [
                (file, _tied(text, files[index][1]) if file == header else text)
                for file, text in files
            ]
    buffer = io.BytesIO()
    packing = (
        zipfile.ZIP_LZMA
        if random.random() < 0.03
        else random.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))
    )
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", packing) as archive:
        warnings.simplefilter("ignore")  # zipfile warns of a repeated name
        for name, content in files:
            entry = zipfile.ZipInfo(name or "x")
            # a link, a folder
            entry.external_attr = random.choice((0, 0, 0o120777 << 16, 0o40755 << 16))
            entry.compress_type = packing
            try:
                archive.writestr(entry, content)
            except UnicodeEncodeError:
                archive.writestr("x", content)
    packed = buffer.getvalue()
    if random.random() < 0.2:  # wrong sizes, checksums and marks
        return of_bytes(random, packed)
    return packed


READERS: dict[str, Callable[[], Reader]] = {
    **{f"strings, {format}": lambda format=format: _strings(format) for format in FORMATS},
    "strings, counted in pieces": _pieces,
    "strings typed": _typed,
    "strings, uploaded": _upload,
    "values": _values,
    "solution": _solution,
    "targets": _targets,
    "ranking": _ranking,
    "automaton": _automaton,
    "automaton, OpenFst": _openfst,
    "automaton, JSON": _weights_json,
    "recipe": _recipe,
    "link": _link,
    "fields": _fields,
    "lesson": _lesson,
    "model.json": lambda: _in_folder("model.json", of_json),
    "model.safetensors": lambda: _in_folder("model.safetensors", _tensors),
    "result.json": _result,
    "run's folder": _folder_of_run,
    "worker's messages": _messages,
    "bundle": _bundle,
    "sweep": _grid,
    "reproduction's runs": _run_file,
    "limits.toml": _settings,
    "database address": _address,
}


@cache
def reader(name: str) -> Reader:
    """Make a reader, once in a process."""
    return READERS[name]()
