"""The fair queue against a model of itself, and what a job says of itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlwfa_core import limits
from nlwfa_core.errors import RecipeError
from nlwfa_core.experiment.recipe import Recipe
from nlwfa_core.jobs.job import GROWTH, Job, Person, Points
from nlwfa_core.jobs.queue import FairQueue
from nlwfa_core.learning.progress import BITS, RELATIVE, Progress


def person(letter: str) -> Person:
    """Small letters are known, capital ones strangers."""
    return Person(letter, letter.islower())


def job_of(who: Person) -> Job:
    return Job("", Recipe(), "a tab", who)


def queue_of(sessions: str) -> tuple[FairQueue, list[Job]]:
    queue = FairQueue()
    jobs = [
        Job(str(number), Recipe(), owner, person(owner)) for number, owner in enumerate(sessions)
    ]
    for job in jobs:
        queue.append(job)
    return queue, jobs


def test_sessions_take_turns() -> None:
    queue, _ = queue_of("aaabbc")
    assert "".join(queue.pop().starter for _ in range(6)) == "abcaba"


def test_those_who_are_known_come_before_strangers() -> None:
    queue, _ = queue_of("XXYabaZ")
    assert "".join(queue.pop().starter for _ in range(7)) == "abaXYZX"


def test_fresh_browsers_do_not_fill_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.IN_FORCE, "session_jobs", 3)
    queue = FairQueue()
    room = 10

    def adds(who: Person) -> bool:
        try:
            queue.check_room(who, room)
        except RecipeError:
            return False
        queue.append(job_of(who))
        return True

    # however many tabs it has
    assert [adds(person("X")) for _ in range(5)] == [True] * 3 + [False] * 2
    strangers = [Person(f"fresh {number}", is_known=False) for number in range(100)]
    assert sum(map(adds, strangers)) == 2  # half of the room is theirs
    assert [adds(person(letter)) for letter in "abcde"] == [True] * 5
    assert not adds(person("f"))
    with pytest.raises(RecipeError, match="The queue is full, with 10 runs waiting"):
        queue.check_room(person("f"), room)
    while queue.pop().person.is_known:
        pass
    with pytest.raises(RecipeError, match="not in a class: 4 runs of theirs waiting .limit 2"):
        queue.check_room(person("Z"), 5)


def test_a_full_queue_makes_room_for_who_has_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members of a class that somebody has made up fill the queue; members who were there before
    still get in.
    """
    queue = FairQueue()
    invented = [Person(f"invented {number}", since=10.0 + number) for number in range(3)]
    early = Person("early", since=1.0)
    late = Person("late", since=99.0)
    for person in invented:
        for _ in range(2):
            queue.append(job_of(person))
    stranger = job_of(Person("stranger", is_known=False))
    queue.append(stranger)
    assert (
        queue.giving_way(early) is stranger
        and queue.giving_way(Person("another", is_known=False)) is None
    )
    queue.remove(stranger)
    newest = queue.giving_way(early)
    assert (
        newest is not None
        and newest.person in invented
        and newest is [job for job in queue if job.person == newest.person][-1]
    )
    for job in [job for job in queue if job.person == invented[0]][1:]:
        queue.remove(job)
    for job in [*queue]:
        if job.person != invented[0]:
            queue.remove(job)
    queue.append(job_of(invented[2]))
    assert queue.giving_way(late) is None  # everybody has one job, and came earlier
    last = queue.giving_way(early)
    assert last is not None and last.person == invented[2]
    queue.append(job_of(early))
    assert queue.giving_way(early) is None  # nobody has more


def test_who_was_served_goes_to_the_end() -> None:
    queue, _ = queue_of("aab")
    assert queue.pop().starter == "a"
    queue.append(Job("new", Recipe(), "c", person("c")))
    assert [queue.pop().starter for _ in range(3)] == ["b", "a", "c"]


@given(st.text("abCD", min_size=1, max_size=12), st.integers(0, 5))
def test_positions_are_the_order_of_starting(sessions: str, num_started: int) -> None:
    queue, jobs = queue_of(sessions)
    started = [queue.pop() for _ in range(min(num_started, len(jobs)))]
    positions = {queue.position(job): job for job in jobs if job not in started}
    assert [positions[position] for position in sorted(positions)] == [
        queue.pop() for _ in range(len(queue))
    ]
    assert sorted(positions) == list(range(1, len(positions) + 1))


@given(st.text("abCD", min_size=1, max_size=12), st.integers(0, 5))
def test_the_jobs_before_a_job_are_those_of_smaller_positions(
    sessions: str, num_started: int
) -> None:
    queue, _ = queue_of(sessions)
    for _ in range(min(num_started, len(queue) - 1)):
        queue.pop()
    positions = {job.key: queue.position(job) for job in queue}
    for job in queue:
        assert sorted(other.key for other in queue.before(job)) == sorted(
            key for key, position in positions.items() if position < positions[job.key]
        )


@given(st.text("abC", min_size=1, max_size=10), st.data())
def test_what_is_removed_does_not_start(sessions: str, data: st.DataObject) -> None:
    queue, jobs = queue_of(sessions)
    gone = data.draw(st.sampled_from(jobs))
    queue.remove(gone)
    assert gone not in [queue.pop() for _ in range(len(queue))]


@pytest.mark.parametrize("num_values", [1, 2, 30, 300, 1000, 4096, 100_000])
def test_curves_are_thin_and_end_with_the_newest(num_values: int) -> None:
    points = Points(BITS)
    for epoch in range(num_values):
        points.add(epoch, float(-epoch))
    curve = points.curve()
    assert (curve.epochs[0], curve.measure) == (0, BITS)
    assert curve.epochs[-1] == num_values - 1
    assert list(curve.epochs) == sorted(set(curve.epochs))
    assert curve.losses == tuple(-epoch for epoch in curve.epochs)
    assert min(num_values, 30) <= len(curve.epochs) <= 310
    assert all(later <= GROWTH * epoch + 1 for epoch, later in pairwise(curve.epochs))


def test_a_stage_that_starts_again_has_a_new_curve() -> None:
    points = Points(RELATIVE)
    for epoch in (*range(100), 0, 1, 2):
        points.add(epoch, 0.5)
    assert points.curve().epochs == (0, 1, 2)


def test_a_job_says_when_it_is_held_and_when_it_goes_on() -> None:
    job = Job("k", Recipe())
    job.begin()
    message = {"progress": ["factorisation", 3, 10, 0.5, RELATIVE], "losses": []}
    held = (False, True, True, False)
    assert [job.note({**message, "held": one}) for one in held] == [False, True, False, True]


def test_what_is_left_follows_from_steps_that_have_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of 2 s. While strings are drawn, there is no loss yet, and no estimate."""
    job = Job("k", Recipe())
    job.begin()

    def left_after(stage: str, loss: float | None) -> float | None:
        for step in range(4):
            monkeypatch.setattr("nlwfa_core.jobs.job.monotonic", lambda now=2.0 * step: now)
            job.note({"progress": [stage, step, 10, loss, RELATIVE], "losses": []})
        return job.status(None, 0).seconds_left

    assert left_after("data", None) is None
    assert left_after("factorisation", 0.5) == pytest.approx((10 - 3) * 2)


def test_what_a_worker_says_after_a_cancel_changes_nothing() -> None:
    job = Job("k", Recipe())
    job.begin()
    job.note(
        {
            "progress": ["factorisation", 3, 10, 0.5, RELATIVE],
            "losses": [["factorisation", 3, 0.5, RELATIVE]],
        }
    )
    assert job.status(None, 0).progress == Progress("factorisation", 3, 10, 0.5)
    job.end("cancelled")
    job.note(
        {
            "progress": ["factorisation", 4, 10, 0.5, RELATIVE],
            "losses": [["factorisation", 4, 0.4, RELATIVE]],
        }
    )
    job.end("done")
    status = job.status(None, 0)
    assert (status.state, status.progress, status.losses["factorisation"].epochs) == (
        "cancelled",
        None,
        (3,),
    )


def test_a_session_that_has_cancelled_wants_the_job_again_only_when_it_submits_it() -> None:
    job = Job("k", Recipe())
    job.submitted_by("a")
    job.watched_by("b")
    assert job.sessions == {"a", "b"}
    job.cancelled_by("a")
    job.watched_by("a")  # its page is redrawn once more
    assert job.sessions == {"b"}
    job.submitted_by("a")
    assert job.sessions == {"a", "b"}
