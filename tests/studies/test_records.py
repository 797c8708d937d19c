"""The lab's file of public problems is made from the competitions' files."""

from __future__ import annotations

from hashlib import sha256

import pytest

from nlwfa_core.display.records import read_problems
from nlwfa_core.files import LAB_FOLDER
from studies.records import RECORDS, problems_from
from tests.references import DATA

PROBLEMS = read_problems(LAB_FOLDER / "assets" / "records.json")


@pytest.mark.skipif(
    not DATA.is_dir(), reason="the competitions' files are not here: NLWFA_DATA names their folder"
)
def test_the_shipped_hashes_are_those_of_the_files() -> None:
    own = {problem.title: problem.files for problem in problems_from(DATA, RECORDS)}
    assert own == {problem.title: problem.files for problem in PROBLEMS if problem.title in own}
    test = (DATA / "pautomac" / "1.pautomac.test").read_bytes()
    assert own["PAutomaC, problem 1"][0] == sha256(test).hexdigest()
