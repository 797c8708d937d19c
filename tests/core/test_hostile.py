"""Input from outside is read or refused with RecipeError; nothing else is raised, and memory stays
proportional to the input.

`python -m benchmarks.hostile` does the same with 100,000 inputs for each reader;
docs/hostile-input.md has what came of it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice, product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.hostile import fuzz, mutations
from benchmarks.hostile.readers import AUTOMATON, READERS, Reader, reader
from nlwfa_core import limits
from nlwfa_core.errors import FormatError, RecipeError
from nlwfa_core.experiment.sweeps import Grid
from nlwfa_core.history.database import engine_of
from nlwfa_core.models.wfa import WFA
from nlwfa_core.sources.pautomac import read_pautomac_model
from nlwfa_core.sources.string_files import read_strings
from nlwfa_core.strings.sample import Sample
from nlwfa_core.strings.words import Alphabet, Words
from studies.reproduction.experiments import FIELDS, RunFile

# The first address of each kind of database imports its dialect: 5 MB that should not be counted as
# the address's.
for kind in ("mysql", "postgresql", "sqlite", "oracle", "mssql"):
    import_module(f"sqlalchemy.dialects.{kind}")

pytestmark = pytest.mark.slow

IN_JSON = ("recipe", "model.json", "result.json", "sweep")
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=20,
)


def memory(action: Callable[[], object]) -> int:
    """The most memory that an action takes, in bytes."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def read_or_refuse(reader: Reader, data: bytes) -> None:
    try:
        reader.read(data)
    except RecipeError as error:
        assert str(error).strip()


@pytest.mark.parametrize("name", READERS)
def test_sound_inputs_are_accepted(name: str) -> None:
    """Otherwise the tests below would not get past the first check."""
    found = reader(name)
    # one reader's food is another's poison; drivers may be missing
    if name.startswith("strings, ") or name == "database address":
        read_or_refuse(found, found.sound[0])
    else:
        for data in found.sound:
            found.read(data)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=200)
@given(number=st.integers(0, 2**32))
def test_a_sound_input_that_was_changed(name: str, number: int) -> None:
    found = reader(name)
    data = found.input(1, number)
    if number % 10:
        read_or_refuse(found, data)
    else:
        assert memory(lambda: read_or_refuse(found, data)) <= found.times * len(data) + found.floor


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=100)
@given(data=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8")))
def test_any_bytes_and_any_text(name: str, data: bytes) -> None:
    read_or_refuse(reader(name), data)


@pytest.mark.parametrize("name", IN_JSON)
@settings(max_examples=100)
@given(value=ANY, place=st.integers(0, 2**16))
def test_any_json_anywhere(name: str, value: object, place: int) -> None:
    """At the top level, or in place of a value of a valid file."""
    found = reader(name)
    sound = found.sound[place % len(found.sound)]
    prefix = sound[: len(sound) - len(sound.lstrip(b"0123456789"))] if name == "model.json" else b""
    text = json.dumps(value)
    read_or_refuse(found, prefix + text.encode())
    whole = json.loads(sound[len(prefix) :])
    if isinstance(whole, dict) and whole:
        whole[sorted(whole)[place % len(whole)]] = value
        read_or_refuse(found, prefix + json.dumps(whole).encode())


def test_inputs_are_the_same_every_time() -> None:
    for name in ("recipe", "strings, auto", "bundle"):
        found = reader(name)
        assert [found.input(3, number) for number in range(20)] == [
            found.input(3, number) for number in range(20)
        ]
        assert len({found.input(3, number) for number in range(20)}) > 10


@pytest.mark.parametrize("change", mutations.CHANGES)
def test_changes_take_any_bytes(change: mutations.Mutation) -> None:
    for seed, data in enumerate((b"", b"a", b"\n", b"12 3\n", bytes(range(256)))):
        assert isinstance(change(Random(seed), data), bytes)


def test_the_command_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash, an endless loop and too much memory, each reported with the number of its input."""

    def read(data: bytes) -> object:
        if data == b"crash":
            raise ValueError("not ours")
        while data == b"loop":
            pass
        if data == b"refused":
            raise RecipeError("no")
        return bytearray(50_000_000) if data == b"memory" else None

    monkeypatch.setattr(fuzz, "SECONDS", 0.02)
    monkeypatch.setattr(fuzz, "TRACED", 4)
    monkeypatch.setattr(
        fuzz,
        "reader",
        lambda name: Reader((b"memory", b"crash", b"loop", b"refused", b"fine"), read),
    )
    tally = fuzz.fuzz("x", range(5), seed=0)
    assert [number for number, _ in tally.findings] == [
        0,
        1,
        2,
        *([2] if len(tally.findings) == 4 else []),
    ]
    assert "takes 50,0" in tally.findings[0][1] and tally.findings[1][1] == "ValueError: not ours"
    assert (tally.inputs, tally.accepted, tally.refused) == (5, 2, 1)
    assert tally.findings[2][1] == "does not end"
    assert "| x | 5 | 2 | 1 |" in fuzz.table([tally])


def test_the_command_gives_a_reader_its_inputs_in_a_process_of_its_own(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks.hostile",
        "--inputs",
        "150",
        "--only",
        "recipe",
        "--keep",
        str(tmp_path),
    ]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\| recipe \| 150 \| \d+ \| \d+ \|.* 0 \|$", done.stdout, flags=re.MULTILINE)
    assert not list(tmp_path.iterdir())


# What the long runs found, each reduced to the smallest input.


def test_few_bytes_do_not_make_an_automaton_of_a_gigabyte() -> None:
    text = AUTOMATON.replace(b"(1,0,0)", b"(1,0,9999)")

    def read() -> None:
        with pytest.raises(
            FormatError, match="symbols × states² must be at most 4,000,000; got 200,000,000"
        ):
            read_pautomac_model(text)

    assert memory(read) < 1_000_000


def test_a_large_file_of_tokens() -> None:
    """Two megabytes, which once took 68 times their size."""
    data = b"a b\n" * 500_000
    assert memory(lambda: read_strings(data, "tokens").sample()) < 6 * len(data)


def test_a_line_with_a_count_of_millions_takes_little_memory() -> None:
    sample = Sample(Words.of([(0,)]), np.array([limits.most("strings")]), Alphabet(("a", "b")))
    assert memory(
        lambda: sample.split([limits.most("strings") - 200, 100, 100], 0)
    ) < 5 * limits.most("strings")


@pytest.mark.parametrize("num_words", [1, 255, 256, 300])
def test_a_split_does_not_depend_on_the_integer_type(num_words: int) -> None:
    counts = np.random.default_rng(num_words).integers(1, 9, num_words)
    sample = Sample(
        Words.of([(number,) for number in range(num_words)]), counts, Alphabet.numbered(num_words)
    )
    drawn = np.random.default_rng(7).permutation(np.repeat(np.arange(num_words), counts))
    first, _ = sample.split([num_words // 2, 1], seed=7)
    assert [word[0] for word in first.words] == sorted(set(drawn[: num_words // 2].tolist()))


def short_lines(size: int) -> Iterator[tuple[str, str, bytes]]:
    """A reader, the kind of lines, and a file: the shortest lines, one long line, many symbols, all
    lines different.
    """
    letters = [chr(code) for code in range(33, 127) if chr(code) not in ',"']
    kinds = {
        "tokens": [b"a\n", b"ab ", b"\n"],
        "characters": [b"ab\n", b"\n", "é\r\n".encode()],
        "csv": [b",1\n", b"ab,"],
    }
    for format, lines in kinds.items():
        for line in lines:
            yield (
                f"strings, {format}",
                f"{line!r}",
                line * (size // len(line)) + (b"a,1" if format == "csv" else b"a b"),
            )
    for numbers in ("1 0\n", "0\n", "0 "):
        count = size // len(numbers)
        yield "strings, pautomac", repr(numbers), f"{count} 2\n{numbers * count}".encode()
    symbols = "".join(f"{number:x}\n" for number in range(2**16, 2**16 + size // 6))
    yield "strings, tokens", "symbols", symbols.encode()
    # At least three characters, because there are fewer than a million shorter strings.
    for name, length, end in (
        ("characters", 3, ""),
        ("csv", 4, ",1"),
        ("tokens", 3, ""),
        ("values", 4, ",1"),
    ):
        rows = islice(product(letters, repeat=length), size // (length + 1 + len(end)))
        text = "".join(f"{(' ' if name == 'tokens' else '').join(row)}{end}\n" for row in rows)
        yield (
            name if name == "values" else f"strings, {name}",
            "no line twice",
            text.encode()[:size].rsplit(b"\n", 1)[0],
        )
    yield "values", "one line", b"ab,1\n" * (size // 5)
    yield "solution", "one digit", f"{size // 2}\n".encode() + b"1\n" * (size // 2)


@pytest.mark.parametrize(("name", "lines", "data"), list(short_lines(1_000_000)))
def test_a_megabyte_of_short_lines(name: str, lines: str, data: bytes) -> None:
    """Large files must not rely on the reader's constant allowance: half of it is enough here."""
    found = reader(name)
    assert memory(lambda: read_or_refuse(found, data)) <= found.times * len(data) + found.floor // 2


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user@host:port/name",
        "mysql://host:/",
        "sqlite:///x?timeout=",
        "sqlite:///x?odd=1",
        "x",
        "",
        "://",
        "a\0b",
    ],
)
def test_an_invalid_address_of_a_database(url: str) -> None:
    try:
        engine_of(url).dispose()
    except RecipeError as error:
        assert "NLWFA_DATABASE_URL must be the address of a supported database" in str(error)


@pytest.mark.parametrize(
    "data", [b"key,x\r\n", b'"a\rb"\x00c\rd', b"\r\n\rx", b"a" * 200_000 + b","]
)
def test_a_file_of_runs_that_is_not_csv(tmp_path: Path, data: bytes) -> None:
    header = ",".join((*FIELDS, "wer")).encode()
    for content in (data, header + b"\n" + data):
        (tmp_path / "x.csv").write_bytes(content)
        with pytest.raises(RecipeError, match=r"x\.csv"):
            RunFile(tmp_path / "x.csv", ("wer",)).read()


def test_the_file_of_a_sweep_has_a_limit() -> None:
    with pytest.raises(
        RecipeError,
        match="a sweep's file must be at most 1,048,576 bytes; got 1,048,577",
    ):
        Grid.from_json(b" " * (2**20 + 1))
    with pytest.raises(RecipeError, match="a sweep must be a JSON object .*; got a list"):
        Grid.from_json(b"[]")


@pytest.mark.parametrize("size", [1e308, 1e200, -1e308])
@pytest.mark.parametrize("place", [(0, 0, 0), (0, 1, 1), (1, 0, 1)])
def test_an_automaton_of_enormous_numbers_overflows_without_warnings(
    size: float, place: tuple[int, int, int]
) -> None:
    """Warnings are errors in tests; the overflow shows in the results."""
    transitions = np.zeros((2, 2, 2))
    transitions[place] = transitions[1, 1, 1] = size
    wfa = WFA(np.array([1.0, 1e308]), transitions, np.array([1e308, 1.0]))
    assert wfa.spectral_radius >= 1e100 and wfa.total_weight() == np.inf
    assert wfa.prefix_termination.shape == (2,)


def test_an_automaton_whose_sum_overflows() -> None:
    wfa = WFA(np.ones(1), np.full((2, 1, 1), 1e308), np.ones(1))
    assert wfa.spectral_radius == np.inf == wfa.total_weight()
    singular = WFA(np.ones(2), np.array([[[1.0, 1e308], [0.0, 1.0]]]), np.array([1e308, 1e308]))
    assert singular.prefix_termination.shape == (2,)


def test_an_undefined_sum_gives_no_warning() -> None:
    wfa = WFA(np.array([1e308, 1e308]), np.zeros((1, 2, 2)), np.array([1e308, -1e308]))
    assert not np.isfinite(wfa.total_weight())
