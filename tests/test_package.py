"""What the package gives those who install it: the lab's files, a short list of requirements, a
licence, types, a citation.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from setuptools import Distribution

from nlwfa_core.__main__ import main
from nlwfa_core.errors import MissingExtra, check_extra
from nlwfa_core.files import __version__
from tests.imports import CORE, imports

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_it_has_a_licence() -> None:
    assert PROJECT["project"]["license"] == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")


def test_its_types_are_for_everybody() -> None:
    """Without this file type checkers ignore the annotations of an installed package (PEP 561)."""
    assert files("nlwfa_core").joinpath("py.typed").is_file()
    assert "py.typed" in PROJECT["tool"]["setuptools"]["package-data"]["nlwfa_core"]


def test_the_citation_names_software_and_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert (
        re.search(r"^license: BSD-3-Clause$", text, re.MULTILINE)
        and "Nonlinear Weighted Finite Automata" in text
    )


def test_the_version_is_that_of_the_last_entry_and_of_the_citation() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, date = re.findall(r"^## (\S+) \((\S+)\)$", changes, re.MULTILINE)[0]
    assert version == __version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


def installed_files(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The files of the wheel, as setuptools lists them; nothing is built or written."""
    monkeypatch.chdir(ROOT)
    distribution = Distribution({"script_name": "setup.py"})
    distribution.parse_config_files()
    command = distribution.get_command_obj("build_py")
    command.ensure_finalized()
    return {
        str(Path(name).relative_to(command.build_lib))
        for name in command.get_outputs(include_bytecode=False)
    }


def test_the_wheel_has_the_library_and_the_lab_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entries = ("app.py", ".streamlit/config.toml", "pages", "assets")
    below = {path for entry in entries for path in [ROOT / entry, *(ROOT / entry).rglob("*")]}
    lab = {path for path in below if path.is_file() and path.suffix != ".pyc"}
    core = {
        path
        for path in (ROOT / "nlwfa_core").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    expected = {str(path.relative_to(ROOT)) for path in core} | {
        f"nlwfa_core/_lab/{path.relative_to(ROOT)}" for path in lab
    }
    assert installed_files(monkeypatch) == expected
    assert len(lab) > 100


def names(requirements: list[str]) -> set[str]:
    return {Requirement(text).name for text in requirements}


def test_the_core_imports_only_what_a_plain_install_brings() -> None:
    """What else a module of the library imports when it is loaded belongs to a package that checks
    for its extra first.
    """
    allowed = names(PROJECT["project"]["dependencies"]) | {"nlwfa_core"} | sys.stdlib_module_names
    guarded = (
        "cli.",
        "history.",
        "jobs.",
        "display.figures.",
        "experiment.estimators",
    )
    for module, path in CORE.items():
        if not module.startswith(guarded):
            assert {name.split(".")[0] for name in imports(module, path, eager=True)} <= allowed, (
                module
            )


def test_the_lab_needs_what_its_requirements_say() -> None:
    """requirements.txt is the core with [lab] and scikit-learn; only torch is pinned more
    narrowly.
    """
    extras = PROJECT["project"]["optional-dependencies"]
    package = {
        Requirement(text).name: Requirement(text).specifier
        for text in (
            *PROJECT["project"]["dependencies"],
            *extras["cli"],
            *extras["lab"],
            *extras["scikit-learn"],
        )
        if not text.startswith("nlwfa-lab")
    }
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line.partition("#")[0]) for line in lines if not line.startswith("#")]
    required = {pin.name: pin.specifier for pin in pins}
    assert package.pop("torch").contains(str(required.pop("torch")).removeprefix("=="))
    assert package == required


def test_all_has_every_extra() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert Requirement(everything).extras | {"cli", "all"} == set(extras)


def test_a_missing_library_is_said_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        MissingExtra,
        match=r"^a_a and b_b are not installed; pip install 'nlwfa-lab\[lab\]' installs them$",
    ):
        check_extra("lab", "a_a", "torch", "b_b")
    for name in [name for name in sys.modules if name.startswith("nlwfa_core.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("nlwfa_core.errors.find_spec", lambda name: None)
    assert main() == 2
    said = capsys.readouterr().err
    assert (
        said
        == "error: typer and rich are not installed; pip install 'nlwfa-lab[cli]' installs them\n"
    )


def test_no_file_of_the_project_names_a_host_of_packages() -> None:
    for name in ("pyproject.toml", "requirements.txt", "Makefile", "Containerfile", ".ci/wheel"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"://(?!127\.0\.0\.1|localhost)", text), name
