"""What a server is busy with: counted right, and without names."""

from __future__ import annotations

from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.jobs.job import Job, Person
from nlwfa_core.jobs.runner import Overview


def job(person: str, state: str, held: bool = False) -> Job:
    return Job("0" * 64, Recipe(), "tab", Person(person), state=state, held=held)


def test_jobs_are_counted_by_state_and_person() -> None:
    jobs = [
        job("ada", "queued"),
        job("ada", "queued"),
        job("bob", "running"),
        job("cy", "running", held=True),
        job("cy", "queued"),
    ]
    jobs += [job("ada", "done"), job("bob", "failed"), job("dan", "cancelled")]
    overview = Overview.of(jobs, 2, ())
    assert overview == Overview(3, 1, 1, ((1, 1), (2, 0), (0, 1)), 2, ())
    assert "ada" not in repr(overview)


def test_nothing_to_do() -> None:
    assert Overview.of([], 1, ()) == Overview(0, 0, 0, (), 1, ())
