"""Paths that can't be used, texts that a terminal would obey, and outputs that would replace what a
command reads.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.cli import sweep as sweep_command
from nlwfa_core.cli.main import COMMANDS, main, program
from nlwfa_core.cli.terminal import Output
from nlwfa_core.errors import MissingExtra, printable
from nlwfa_core.experiment.pipeline import run as run_recipe
from nlwfa_core.experiment.results import save_result
from nlwfa_core.history.runs import History
from nlwfa_core.models.model_files import save
from nlwfa_core.models.wfa import WFA
from nlwfa_core.strings.words import Alphabet
from tests.core.small import posix, recipe_of

Run = Callable[..., tuple[int, str, str]]
# Of each kind: a title of the window, a cleared screen, C1, DEL, NUL, bidirectional marks and
# isolates, without width, line ends.
HOSTILE = "\x1b]0;PWNED\x07|\x1b[2J|\x9b31m|\x7f|\x00|\u202e|\u2066|\u2069|\u200b|\u2028|\x85|\r"
SYMBOL = HOSTILE.replace("\u2028", "").replace("\x85", "").replace("\r", "")  # without white space
COIN = WFA([1], [[[0.25]], [[0.25]]], [0.5])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NLWFA_HOME", raising=False)
    save(COIN, "m", alphabet=Alphabet(("a", "b")))
    Path("strings").write_text("a\nb\nab\nba\naab\n")
    Path("pautomac").write_text("3 2\n2 0 1\n1 0\n2 1 1\n")
    Path("values").write_text("string,value\na,0.5\nb,0.25\nab,0.1\n")
    Path("sweep.json").write_text('{"ranks": [1]}')
    Path("automaton.json").write_text(
        '{"symbols": ["a"], "initial": [1], "transitions": [[[0.5]]], "termination": [0.5]}'
    )

    def run_(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run_


def is_safe(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@given(st.text(st.characters()))
def test_what_is_escaped_is_visible_and_reads_back(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() and not {unicodedata.category(character) for character in shown} & {
        "Cc",
        "Cf",
        "Zl",
        "Zp",
    }
    assert shown == "".join(
        character if character.isprintable() else repr(character).strip("'") for character in text
    )


def test_notes_and_results_show_the_symbols_of_a_file_escaped(run: Run) -> None:
    Path("esc").write_text(f"{SYMBOL} x\nx {SYMBOL}\nx\n")
    code, out, err = run("fit", "--train", "esc", "--learner", "SP", "--rank", 1, "--out", "o")
    assert (
        code == 0 and is_safe(out) and is_safe(err) and r"\x1b]0;PWNED\x07|\x1b[2J|\x9b31… x" in err
    )
    code, out, err = run("next", "--model", "o", "--prefix", "x")
    assert code == 0 and is_safe(out) and is_safe(err) and printable(SYMBOL) in out
    # the columns are as wide as what they show
    assert len({len(line.rstrip()) for line in out.splitlines()[1:]}) == 1
    code, out, _ = run("next", "--model", "o", "--prefix", "x", "--json")
    assert code == 0 and out.isascii() and is_safe(out) and SYMBOL in json.loads(out)["scores"]


@pytest.mark.parametrize("form", ["latex", "markdown"])
def test_tables_show_names_escaped(run: Run, form: str) -> None:
    folder = f"m\x1b[2J\u202e{form}"
    save(COIN, folder, alphabet=Alphabet(("a", "b")))
    for arguments in (("compare", folder, "m"), ("mix", folder, "m", "--out", "o\x1b[1m")):
        table = ("--test", "strings", "--table", form) if arguments[0] == "compare" else ()
        code, out, err = run(*arguments, *table)
        assert code == 0 and is_safe(out) and is_safe(err), err


@pytest.mark.parametrize(
    "arguments",
    [
        ("next", "--model", f"no {HOSTILE.replace(chr(0), '')}", "--prefix", "a"),
        ("next", "--model", "m", "--prefix", HOSTILE),
        ("next", "--model", "m", f"--{HOSTILE}", "a"),
        (HOSTILE,),
        ("fit", "--train", "strings", "--learner", HOSTILE, "--rank", "1", "--out", "o"),
        ("fit", "--train", "strings", "--learner", "SP", "--rank", HOSTILE, "--out", "o"),
        ("history", "--home", f"no {HOSTILE.replace(chr(0), '')}"),
        ("sample", "--model", "m", "-o", f"no{HOSTILE.replace(chr(0), '')}/file"),
        ("score", "--model", "m", "--test", f"no {HOSTILE.replace(chr(0), '')}"),
        ("export", "--model", "m", "--to", HOSTILE),
    ],
)
def test_errors_are_one_line_that_a_terminal_can_show(run: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (
        (code, out) == (2, "")
        and is_safe(err)
        and len(err.splitlines()) == 1
        and err.startswith("error: ")
    )


@pytest.fixture
def home(tmp_path: Path, run: Run) -> str:
    recipe = recipe_of()
    save_result(tmp_path / "home" / "runs" / recipe.key(), run_recipe(recipe))
    history = History.open(tmp_path / "home")
    history.rebuild(tmp_path / "home" / "runs")
    history.rename(recipe.key(), "=1+1\x1b[2J\nname")
    history.tag(recipe.key(), ["@SUM(1+1)\x07"])
    history.close()
    return "home"


def test_the_history_shows_names_escaped_and_exports_them_whole(
    run: Run, home: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run("history", "--home", home)
    assert code == 0 and is_safe(out) and r"=1+1\x1b[2J\nname" in out and len(out.splitlines()) == 3
    for options in (("--csv",), ("--table", "csv")):
        code, out, _ = run("history", "--home", home, *options)
        (row,) = csv.DictReader(io.StringIO(out, newline=""))
        assert code == 0 and (row["name"], row["tags"]) == ("'=1+1\x1b[2J\nname", "'@SUM(1+1)\x07")
    code, out, _ = run("history", "--home", home, "--json")
    (record,) = json.loads(out)
    assert (
        code == 0
        and is_safe(out)
        and (record["name"], record["tags"]) == ("=1+1\x1b[2J\nname", "@SUM(1+1)\x07")
    )
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    # on a terminal, no format is written raw
    assert main(["history", "--home", home, "--csv"]) == 0
    assert is_safe(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--search", " ".join(map(str, range(21)))),
            "the number of words in a search must be at most 20; got 21",
        ),
        (
            ("--search", "x" * 201),
            "a search must be at most 200 characters; got 201",
        ),
        (("--limit", 10**30), "--limit must be between 1 and 2,147,483,647; got 1,000"),
        (("--limit", 0), "--limit must be between 1 and 2,147,483,647; got 0"),
        (
            [option for number in range(101) for option in ("--tag", number)],
            "the number of tags to filter by must be at most 100",
        ),
    ],
)
def test_the_history_is_asked_within_limits(
    run: Run, home: str, options: Sequence[object], message: str
) -> None:
    code, out, err = run("history", "--home", home, *options)
    assert (code, out) == (2, "") and f"error: {message}" in err


def test_data_for_programs_is_exact_in_a_pipe(run: Run) -> None:
    save(COIN, "esc", alphabet=Alphabet((SYMBOL, "\u00a0b".strip())))
    code, out, _ = run("sample", "--model", "esc", "-n", 50)
    assert code == 0 and SYMBOL in out
    assert Output("x").is_data is False


# Paths


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    top: Any = typer.main.get_command(program(*COMMANDS))
    for name, command in top.commands.items():
        if hasattr(command, "commands"):
            yield from (((name, below), one) for below, one in command.commands.items())
        elif name != "lab":
            yield (name,), command


def is_path(option: Any) -> bool:
    return getattr(option.type_descriptor, "annotation", None) is Path


# What the other options of a command hold, so that it comes to the path in question.
SOUND = {
    "model": "m",
    "models": ["m", "m"],
    "train": "strings",
    "test": "strings",
    "validation": "strings",
    "words": "strings",
    "prefixes": "strings",
    "sweep": "sweep.json",
    "file": "automaton.json",
    "learner": "SP",
    "rank": "1",
    "ranks": "1",
    "folds": "2",
    "to": "openfst",
    "prefix": "a",
    "competition": "pautomac",
    "experiment": "dyck",
    "weights": "0.5,0.5",
}
VALUES_COMMANDS = ("fit-values", "score-values")
NEEDED_TOO = {"validation": {"refine": "likelihood"}, "targets": {"prefixes": "strings"}}
PATHS = [
    (names, option.name)
    for names, command in commands()
    for option in command.params
    if is_path(option)
]
NUMBERS = [
    (names, option.name)
    for names, command in commands()
    for option in command.params
    if getattr(option.type_descriptor, "annotation", None) in (int, float, int | None, float | None)
]


def title(value: object) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(value)[:20]


def pairs(options: Sequence[tuple[tuple[str, ...], str]], values: Sequence[Any]) -> list[Any]:
    """Pair each option with each value; all but one value of an option are slow."""
    return [
        pytest.param(
            *option,
            value,
            marks=[] if place == number % len(values) else pytest.mark.slow,
        )
        for number, option in enumerate(options)
        for place, value in enumerate(values)
    ]


def command_line(names: tuple[str, ...], option: str, value: object) -> list[str]:
    """A command with one option, and all others that it needs."""
    command = dict(commands())[names]
    arguments = [*names]
    for parameter in command.params:
        values: list[object] = []
        if parameter.name == option:
            values = [value]
        elif parameter.required or parameter.name in NEEDED_TOO.get(option, {}):
            sound = NEEDED_TOO.get(option, {}).get(parameter.name, SOUND.get(parameter.name, "new"))
            if names[0] in VALUES_COMMANDS and sound == "strings":
                sound = "values"
            values = sound if isinstance(sound, list) else [sound]
        elif parameter.name == "folds" and option != "validation":
            values = [SOUND["folds"]]
        name = parameter.opts[-1]
        if name.startswith("--"):
            arguments += [f"{name}={one}" for one in values]
        else:
            arguments += [f"{name if name.startswith('-') else ''}{one}" for one in values]
    return arguments


def test_there_are_options_to_try() -> None:
    assert len(PATHS) > 30 and len(NUMBERS) > 60


@posix
@pytest.mark.parametrize(
    ("names", "option", "bad"),
    pairs(PATHS, ["long", "loop", "below a file", "long name"]),
    ids=title,
)
def test_a_path_that_can_not_be_used_is_an_error_with_its_reason(
    run: Run, names: tuple[str, ...], option: str, bad: str
) -> None:
    """Of every option of every command that takes a path."""
    Path("loop").symlink_to("loop")
    path = {
        "long": "x" * 5000,
        "loop": "loop",
        "below a file": "strings/below",
        "long name": f"{'x' * 300}/file",
    }[bad]
    before = sorted(Path().rglob("*"))
    code, out, err = run(*command_line(names, option, path))
    assert code == 2 and out == "" and err.splitlines()[-1].startswith("error: "), err
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("names", "option", "number"),
    pairs(NUMBERS, [10**30, -(10**30), "9" * 5000, "1e400", "nan", "-inf"]),
    ids=title,
)
def test_a_number_that_can_not_be_is_an_error(
    run: Run, names: tuple[str, ...], option: str, number: object
) -> None:
    """Of every option of every command that takes a number.

    Some take any whole number as a seed.
    """
    code, out, err = run(*command_line(names, option, number))
    assert code == 2 or (option.endswith("seed") and number == 10**30)
    assert code == 0 or (out == "" and err.splitlines()[-1].startswith("error: ")), err


# What is written


@pytest.mark.parametrize(
    "target", ["m/model.json", "m/../m/model.json", "m/model.safetensors", "link", "hard"]
)
@pytest.mark.parametrize(
    "arguments",
    [
        ("sample", "--model", "m", "-o"),
        ("export", "--model", "m", "--to", "json", "-o"),
        ("export", "--model", "m", "--to", "openfst", "--symbols"),
        ("rank", "--model", "m", "--prefixes", "strings", "-o"),
        ("generate", "dyck", "-o"),
    ],
)
def test_no_output_replaces_a_part_of_a_model(
    run: Run, arguments: tuple[str, ...], target: str
) -> None:
    Path("link").symlink_to("m/model.json")
    Path("hard").hardlink_to("automaton.json")
    if target == "hard":
        if "--model" not in arguments:
            pytest.skip("reads no file")
        arguments = tuple(
            "automaton.json" if argument == "m" else argument for argument in arguments
        )
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    code, out, err = run(*arguments, target, "--force")
    assert (code, out) == (2, "") and f"error: can't write {target}: " in err
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_two_outputs_need_two_files(run: Run) -> None:
    Path("folder").mkdir()
    for arguments in (
        ("generate", "dyck", "-n", 3, "-o", "x", "--solution", "folder/../x"),
        ("export", "--model", "m", "--to", "openfst", "-o", "x", "--symbols", "./x"),
        ("rank", "--model", "m", "--prefixes", "strings", "-o", "./strings", "--force"),
    ):
        code, out, err = run(*arguments)
        assert (
            (code, out) == (2, "")
            and "this command uses that file for something else" in err
            and not Path("x").exists()
        )


# Numbers and lengths


def test_a_prefix_is_at_most_as_long_as_a_string(run: Run) -> None:
    assert run("next", "--model", "m", "--prefix", "a" * 10_000)[0] == 0
    code, out, err = run("next", "--model", "m", "--prefix", "ab" * 5_001)
    assert (code, out, err) == (
        2,
        "",
        "error: the length of --prefix must be at most 10,000; got 10,002\n",
    )


@pytest.mark.parametrize("ridge", ["inf", "-inf", "nan", "0", "-1", "1e999", "1001"])
def test_the_ridge_is_above_0_and_small(run: Run, ridge: str) -> None:
    code, out, err = run(
        "fit-values",
        "--train",
        "values",
        "--learner",
        "SP",
        "--rank",
        1,
        "--out",
        "o",
        f"--ridge={ridge}",
    )
    assert (
        (code, out) == (2, "")
        and ("ridge must be above 0; got" in err or "ridge must be a finite" in err)
        == (ridge != "1001")
        and ("ridge must be at most 1,000; got 1001" in err) == (ridge == "1001")
        and not Path("o").exists()
    )


@pytest.mark.parametrize(
    "number",
    ["9" * 400, "-" + "9" * 400, '"1"', "true", "null", '{"a": 1}', "1e999", "NaN", '"inf"'],
)
@pytest.mark.parametrize("field", ["initial", "transitions", "termination"])
def test_an_automaton_has_finite_numbers(run: Run, field: str, number: str) -> None:
    automaton = {"initial": "[X]", "transitions": "[[[X]]]", "termination": "[X]"}
    fields = [
        f'"{name}": {text.replace("X", number if name == field else "0.5")}'
        for name, text in automaton.items()
    ]
    Path("bad.json").write_text(f"{{{', '.join(fields)}}}")
    code, out, err = run("import", "bad.json", "--out", "o")
    assert (
        (code, out) == (2, "")
        and f"error: bad.json: {field} must " in err
        and not Path("o").exists()
    )


@posix
@pytest.mark.parametrize("source", ["/dev/zero", "/dev/urandom"])
def test_a_device_is_not_read_for_ever(
    run: Run, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setitem(sys.modules["nlwfa_core.limits"].IN_FORCE, "file_bytes", 300_000)
    for arguments in (
        ("score", "--model", "m", "--test", source),
        ("fit", "--train", source, "--learner", "SP", "--rank", 1, "--out", "o"),
        ("import", source, "--out", "o"),
        ("rank", "--model", "m", "--prefixes", source),
        ("fit-values", "--train", source, "--learner", "SP", "--rank", 1, "--out", "o"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "") and "must be at most 300,000 bytes; " in err, err


def test_a_sweep_without_dask_writes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(extra: str, *libraries: str) -> None:
        raise MissingExtra(
            f"{libraries[0]} is not installed; pip install 'nlwfa-lab[{extra}]' installs it"
        )

    monkeypatch.setattr(sweep_command, "check_extra", missing)
    code, out, err = run(
        "sweep",
        "sweep.json",
        "--out",
        "out",
        "--scheduler",
        "tcp://localhost:1",
        "--train",
        "strings",
    )
    assert (code, out) == (
        2,
        "",
    ) and "distributed is not installed; pip install 'nlwfa-lab[cluster]'" in err
    assert not Path("out").exists()
