"""Write `assets/records.json`, by which the lab recognises public problems of PAutomaC and SPiCe.

`python -m studies.records DATA` reads the competitions' files in a folder and the results of
`nlwfa compete` in docs/records. It writes hashes and figures, and none of the data.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from nlwfa_core.display.records import Problem
from nlwfa_core.files import LAB_FOLDER, write_atomically
from studies.competitions import (
    COMPETITIONS,
    figures_of,
    problem_folder,
    problems_in,
    read_published,
    read_results,
)

OURS = "this program's search"
RECORDS = LAB_FOLDER / "docs" / "records"


def problems_from(data: Path, records: Path) -> list[Problem]:
    """Collect the problems whose files are in a folder, with published figures and our own from
    another folder.
    """
    own = {(one.competition, one.problem): one for one in read_results(records)}
    problems = []
    for name, competition in COMPETITIONS.items():
        folder = problem_folder(name, data)
        rows = read_published(name, folder)
        for number in problems_in(name, folder):
            row = rows.get(number, {})
            figures = {
                competition.figures[column]: round(value, 6)
                for column, value in figures_of(name, row).items()
                if column not in competition.apart
            }
            ours = own.get((name, number))
            if ours and ours.score is not None:
                figures[f"{OURS}, {ours.minutes:g} min"] = round(ours.score, 6)
            first, second = (
                hashlib.sha256((folder / file.format(number)).read_bytes()).hexdigest()
                for file in competition.files[1:3]
            )
            problem = Problem(
                title=f"{competition.title}, problem {number}",
                score=competition.score,
                higher_is_better=competition.higher_is_better,
                kind=row.get(competition.kinds[0], ""),
                files=(first, second),
                figures=figures,
            )
            problems.append(problem)
    return problems


def main(arguments: list[str] | None = None) -> int:
    [data] = sys.argv[1:] if arguments is None else arguments
    lines = ",\n".join(
        json.dumps(problem.model_dump(), ensure_ascii=False)
        for problem in problems_from(Path(data), RECORDS)
    )
    write_atomically(LAB_FOLDER / "assets" / "records.json", f"[\n{lines}\n]\n".encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
