"""Test that mutants are found again after their code was reformatted, changed or moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import mutants
from benchmarks.mutants import Mutant, Source, describe, find_in, wilson

ORIGINAL = """\
def total(values: A + B, other=1 + 1):
    first, rest = values[0] + other, 2 + 3
    return (first + rest + len(values))

class Sums:
    limit = 10 + 1
"""
REFORMATTED = """\
class Sums:
    limit = (
        10
        + 1
    )


def before():
    return 1 + 2


def total(
    values: A + B,
    other=1 + 1,
):
    first, rest = (
        values[0] + other,
        2 + 3,
    )
    return first + rest + len(values)
"""
SPLIT = """\
def total(values, other=1 + 1):
    first = values[0] + other
    rest = 2 + 3
    return first + rest + len(values)
"""


class Minus:
    """Cosmic Ray's operator `ReplaceBinaryOperator_Add_Sub`: the project does not depend on it."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        if node.type == "operator" and node.value == "+":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.value = "-"
        return node


@pytest.fixture(autouse=True)
def minus(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("parso")
    monkeypatch.setattr(mutants, "operators", lambda: {"Minus": Minus})


def all_mutants(text: str) -> list[Mutant]:
    source = Source(text)
    indices = [index for index, _ in source.occurrences("Minus")]
    described = [describe(source, "nlwfa_core.models.sums", "Minus", index) for index in indices]
    return [mutant for mutant in described if mutant]


def test_annotations_are_not_changed() -> None:
    changes = [(mutant.function, mutant.before, mutant.after) for mutant in all_mutants(ORIGINAL)]
    assert changes == [
        ("total", "1 + 1", "1 - 1"),
        ("total", "values[0] + other", "values[0] - other"),
        ("total", "2 + 3", "2 - 3"),
        ("total", "first + rest", "first - rest"),
        ("total", "first + rest + len(values)", "first + rest - len(values)"),
        ("Sums", "10 + 1", "10 - 1"),
    ]


def test_reformatted_code_has_the_same_mutants() -> None:
    for mutant in all_mutants(ORIGINAL):
        change, how = find_in(Source(REFORMATTED), mutant, mutant.function) or pytest.fail()
        assert how == "statement"
        assert change.key == mutant.change
        assert change.text.count(" - ") + change.text.count(" - 1\n") >= 1


def test_a_split_statement_is_found_by_its_expression() -> None:
    mutant = all_mutants(ORIGINAL)[2]
    change, how = find_in(Source(SPLIT), mutant, "total") or pytest.fail()
    assert how == "expression"
    assert "    rest = 2 - 3\n" in change.text
    assert change.lines == range(3, 4)


def test_what_is_gone_is_not_found() -> None:
    mutant = all_mutants(ORIGINAL)[2]
    assert (
        find_in(Source("def total(values):\n    return values[0] + 3\n"), mutant, "total") is None
    )
    assert find_in(Source(SPLIT), mutant, "other") is None


def test_moved_functions_are_found(tmp_path: Path) -> None:
    for package in ("models", "strings"):
        (tmp_path / "nlwfa_core" / package).mkdir(parents=True)
        (tmp_path / "nlwfa_core" / package / "__init__.py").touch()
    (tmp_path / "nlwfa_core" / "strings" / "both.py").write_text(REFORMATTED)
    mutant = all_mutants(ORIGINAL)[1]
    found = mutants.Finder(tmp_path, {}).find(mutant)
    assert found and (found.module, found.how) == ("nlwfa_core.strings.both", "elsewhere")
    told = mutants.Finder(tmp_path, {mutant.module: "nlwfa_core.strings.both"}).find(mutant)
    assert told and (told.module, told.how) == ("nlwfa_core.strings.both", "statement")


def test_wilson_interval() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
