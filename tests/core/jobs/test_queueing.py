"""The fair line against a model of itself, and what a job says of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.jobs.job import CURVE_POINTS, Job, Line, Points
from nlwfa_core.learning.progress import BITS, RELATIVE, Progress


def line_of(owners: str) -> tuple[Line, list[Job]]:
    line = Line()
    jobs = [Job(str(number), Recipe(), owner) for number, owner in enumerate(owners)]
    for job in jobs:
        line.append(job)
    return line, jobs


def test_owners_take_turns() -> None:
    line, _ = line_of("aaabbc")
    assert "".join(line.pop().owner for _ in range(6)) == "abcaba"


def test_who_was_served_goes_to_the_end() -> None:
    line, _ = line_of("aab")
    assert line.pop().owner == "a"
    line.append(Job("new", Recipe(), "c"))
    assert [line.pop().owner for _ in range(3)] == ["b", "a", "c"]


@given(st.text("abcd", min_size=1, max_size=12), st.integers(0, 5))
def test_places_are_the_order_of_starting(owners: str, num_started: int) -> None:
    line, jobs = line_of(owners)
    started = [line.pop() for _ in range(min(num_started, len(jobs)))]
    places = {line.place(job): job for job in jobs if job not in started}
    assert [places[place] for place in sorted(places)] == [line.pop() for _ in range(len(line))]
    assert sorted(places) == list(range(1, len(places) + 1))


@given(st.text("abcd", min_size=1, max_size=12), st.integers(0, 5))
def test_the_jobs_before_a_job_are_those_of_smaller_places(owners: str, num_started: int) -> None:
    line, _ = line_of(owners)
    for _ in range(min(num_started, len(line) - 1)):
        line.pop()
    places = {job.key: line.place(job) for job in line}
    for job in line:
        assert sorted(other.key for other in line.before(job)) == sorted(
            key for key, place in places.items() if place < places[job.key]
        )


@given(st.text("abc", min_size=1, max_size=10), st.data())
def test_what_is_removed_does_not_start(owners: str, data: st.DataObject) -> None:
    line, jobs = line_of(owners)
    gone = data.draw(st.sampled_from(jobs))
    line.remove(gone)
    assert gone not in [line.pop() for _ in range(len(line))]


@pytest.mark.parametrize("num_values", [1, 2, CURVE_POINTS, CURVE_POINTS + 1, 1000, 4096, 100_000])
def test_curves_are_thin_and_end_with_the_newest(num_values: int) -> None:
    points = Points(BITS)
    for epoch in range(num_values):
        points.add(epoch, float(-epoch))
    curve = points.curve()
    assert (curve.epochs[0], curve.measure) == (0, BITS)
    assert curve.epochs[-1] == num_values - 1
    assert list(curve.epochs) == sorted(set(curve.epochs))
    assert curve.losses == tuple(-epoch for epoch in curve.epochs)
    assert min(num_values, CURVE_POINTS // 2) <= len(curve.epochs) <= CURVE_POINTS + 1


def test_what_a_worker_says_after_a_cancel_changes_nothing() -> None:
    job = Job("k", Recipe())
    job.begin()
    job.note({"progress": ["factorisation", 3, 10, 0.5, RELATIVE], "losses": [["factorisation", 3, 0.5, RELATIVE]]})
    assert job.status(None, 0).progress == Progress("factorisation", 3, 10, 0.5)
    job.end("cancelled")
    job.note({"progress": ["factorisation", 4, 10, 0.5, RELATIVE], "losses": [["factorisation", 4, 0.4, RELATIVE]]})
    job.end("done")
    status = job.status(None, 0)
    assert (status.state, status.progress, status.losses["factorisation"].epochs) == ("cancelled", None, (3,))


def test_interest() -> None:
    job = Job("k", Recipe())
    assert not job.wanted(10)
    job.renew("")  # nobody
    assert not job.wanted(10)
    job.renew("a")
    assert job.wanted(10)
    job.drop("a")
    job.renew("a")  # a page that polls once more
    assert not job.wanted(10)
    assert not job.belongs_to("a")
    job.end("cancelled")
    assert job.belongs_to("a")
