"""Errors that a user can fix, the limits that they state, and the file that sets the limits."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nlwfa_core import limits
from nlwfa_core.cli.main import main
from nlwfa_core.errors import Cancelled, FormatError, RecipeError
from nlwfa_core.experiment.recipe import DataRecipe, Recipe, check_allowed, over_limit
from nlwfa_core.hankel.recipe import HankelRecipe

ROOT = Path(__file__).resolve().parents[2]


def test_a_limit_is_allowed_and_one_more_is_not() -> None:
    limits.check_at_most("strings", 1000, 1000)
    with pytest.raises(RecipeError, match="^strings must be at most 1,000; got 1,001$"):
        limits.check_at_most("strings", 1001, 1000)


def test_format_errors_carry_their_line() -> None:
    assert (str(FormatError("bad", 3)), FormatError("bad", 3).line) == ("line 3: bad", 3)
    assert (str(FormatError("bad")), FormatError("bad").line) == ("bad", None)
    assert issubclass(FormatError, RecipeError) and not issubclass(Cancelled, RecipeError)


def test_streamlit_takes_files_as_large_as_the_limit() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    default = limits.LIMITS["file_bytes"].default
    assert config["server"]["maxUploadSize"] * 2**20 == default


def test_a_file_sets_limits() -> None:
    marked = b"\xef\xbb\xbf# ours\r\nrank = 20\r\nfile_bytes = 1_000_000\r\n"
    assert limits.read_limits(marked) == {"rank": 20, "file_bytes": 1_000_000}
    assert limits.read_limits(b"") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rnk = 3", "'rnk' is not the name of a limit; nearest: rank"),
        ("session_job = 3", "'session_job' is not the name of a limit; nearest: session_jobs"),
        (
            "zzzzzz = 3",
            "'zzzzzz' is not the name of a limit; the limits are: file_bytes, pasted_bytes, ",
        ),
        ("[limits]\nrank = 3", "'limits' is not the name of a limit"),
        ('rank = "3"', "rank must be a whole number from 1 to 9,007,199,254,740,991; got '3'"),
        ("rank = true", "rank must be a whole number .*; got True"),
        (
            "rank = 0x" + 5000 * "9",
            "rank must be a whole number .*; got a number with thousands of digits",
        ),
        ("rank = 2.5", "rank must be a whole number .*; got 2.5"),
        ("rank = inf", "rank must be a whole number .*; got inf"),
        ("rank = 0", "rank must be a whole number from 1 .*; got 0"),
        ("rank = -1", "rank must be a whole number from 1 .*; got -1"),
        ("rank = 9007199254740992", "rank must be a whole number .*; got 9007199254740992"),
        ("rank = 3\nrank = 4", "not valid TOML: Cannot overwrite a value"),
        ("rank: 3", "not valid TOML: .* line 1"),
        ("rank = " + "9" * 5000, "not valid TOML"),
        ("rank = " + "[" * 5000, "not valid TOML"),
        (
            "#" * 100_000,
            "the limits file must be at most 65,536 bytes; got 100,000",
        ),
    ],
)
def test_errors_in_the_file_are_reported(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        limits.read_limits(text.encode())


def test_the_file_is_named_or_in_the_labs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NLWFA_LIMITS", raising=False)
    monkeypatch.delenv("NLWFA_HOME", raising=False)
    assert limits.settings() == ({}, None)
    monkeypatch.setenv("NLWFA_HOME", str(tmp_path))
    assert limits.settings() == ({}, None)  # a lab without one has the defaults
    (tmp_path / "limits.toml").write_text("rank = 5")
    assert limits.settings() == ({"rank": 5}, None)
    monkeypatch.setenv("NLWFA_LIMITS", str(tmp_path / "other.toml"))
    given, problem = limits.settings()
    assert given == {} and "other.toml: No such file or directory" in str(problem)
    (tmp_path / "other.toml").write_text("rank = 6")
    assert limits.settings() == ({"rank": 6}, None)
    (tmp_path / "other.toml").write_text("rnk = 6")
    given, problem = limits.settings()
    assert given == {} and str(problem).endswith(
        "other.toml: 'rnk' is not the name of a limit; nearest: rank"
    )


def test_every_default_is_in_force_here_and_documented() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    for name, limit in limits.LIMITS.items():
        assert f"| `{name}` | {limit.default:,} | {limit.what} |" in text
        assert limits.IN_FORCE[name] == limits.ceiling(name) == limit.default


def in_process(code: str, settings: Path) -> str:
    environment = os.environ | {"NLWFA_LIMITS": str(settings), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_process_uses_the_file_it_was_started_with(tmp_path: Path) -> None:
    settings = tmp_path / "limits.toml"
    settings.write_text("rank = 4\nbasis = 30\nepochs = 20\nstring_length = 3\njobs = 7\n")
    code = """
from nlwfa_core import limits
from nlwfa_core.hankel.basis import select_basis
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import check_allowed
from nlwfa_core.experiment.pipeline import run
from nlwfa_core import options
from nlwfa_core.experiment.recipe import *
from nlwfa_core.sources.string_files import read_strings
limits.check_settings()
print(limits.most("rank"), limits.ceiling("rank"), limits.most("jobs"), limits.most("symbols"))
small = Recipe(data=DataRecipe(num_strings=100), hankel=HankelRecipe(num_prefixes=20, num_suffixes=20))
for action in (
    lambda: check_allowed(Recipe()),
    lambda: run(small.changed(learning=options("SP", rank=5))),
    lambda: run(small.changed(learning=options("fac.non", rank=2))),
    lambda: run(small.changed(hankel=HankelRecipe(num_prefixes=31, num_suffixes=2))),
    lambda: read_strings(b"abab"),
):
    try:
        action()
    except RecipeError as error:
        print(error)
"""  # noqa: E501
    assert in_process(code, settings).splitlines() == [
        "4 1000 7 10000",
        "num_prefixes must be at most 30; got 1,000",
        "a string longer than 3 symbols was drawn; lower split or wrap, or allow longer strings",
        "a string longer than 3 symbols was drawn; lower split or wrap, or allow longer strings",
        "a string longer than 3 symbols was drawn; lower split or wrap, or allow longer strings",
        "line 1: the string length must be at most 3; got 4",
    ]
    settings.write_text("rank = 4\nbasis = 30\nepochs = 20\n")
    assert in_process(code, settings).splitlines()[2:] == [
        "rank must be at most 4; got 5",
        "epochs_factorisation must be at most 20; got 4,000",
        "num_prefixes must be at most 30; got 31",
    ]


@pytest.mark.slow
def test_servers_and_commands_refuse_a_faulty_file(tmp_path: Path) -> None:
    settings = tmp_path / "limits.toml"
    settings.write_text("rank = none")
    code = """
import sys
from pathlib import Path
from nlwfa_core.cli.main import main
from nlwfa_core.jobs.runner import Runner
sys.stderr = sys.stdout
print(main(["generate", "dyck", "-n", "1", "-o", "-"]))
try:
    Runner(Path("nowhere"))
except ValueError as error:
    print(type(error).__name__, error)
"""
    first, exit_code, second = in_process(code, settings).splitlines()
    assert (
        first.startswith("error: ") and "limits.toml: the limits file is not valid TOML: " in first
    )
    assert (exit_code, second) == ("2", f"RecipeError {first.removeprefix('error: ')}")
    assert main(["--version"]) == 0  # here there is none


def test_limits_apply_only_to_the_options_that_a_recipe_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, most in (("rank", 10), ("epochs", 10), ("basis", 100), ("generated_strings", 500)):
        monkeypatch.setitem(limits.IN_FORCE, name, most)
    recipe = Recipe(
        data=DataRecipe(num_strings=500), hankel=HankelRecipe(num_prefixes=100, num_suffixes=100)
    )
    check_allowed(recipe)
    assert over_limit(recipe) == {}
    check_allowed(recipe.with_learner("GRU"))
    for changed, said in (
        (
            recipe.changed(hankel=HankelRecipe(num_prefixes=1, num_suffixes=101)),
            "num_suffixes must be at most 100; got 101",
        ),
        (
            recipe.with_learner("GRU", 11),
            "rank must be at most 10; got 11",
        ),
        (
            recipe.with_learner("both.non"),
            "epochs_factorisation must be at most 10; got 4,000",
        ),
        (
            recipe.with_learner("SP", refine="likelihood"),
            "epochs_refinement must be at most 10; got 40",
        ),
        (
            recipe.changed(data=DataRecipe(num_strings=501)),
            "num_strings must be at most 500; got 501",
        ),
    ):
        with pytest.raises(RecipeError, match=f"^{said}$"):
            check_allowed(changed)
