"""Estimates of the time that is left."""

from __future__ import annotations

import pytest

from nlwfa_core.jobs.pace import STEPS, Pace, duration


def test_nothing_is_said_before_there_is_a_basis() -> None:
    pace = Pace()
    assert pace.seconds_left(0.0) is None
    for step in range(3):  # few steps, however long they took
        pace.note("factorisation", step, 100, now=5.0 * step)
        assert pace.seconds_left(5.0 * step) is None
    pace.note("factorisation", 3, 100, now=15.0)
    assert pace.seconds_left(15.0) == pytest.approx(97 * 5)
    pace.note("transitions", 0, 100, now=16.0)
    assert pace.seconds_left(16.0) is None
    for step in range(50):  # many, in a short time
        pace.note("transitions", step, 100, now=16.0 + step / 100)
    assert pace.seconds_left(17.0) is None


def test_it_only_falls_while_the_speed_changes_little() -> None:
    pace = Pace()
    shown = []
    now = 0.0
    for step in range(101):
        now += 0.1 * (1.2 if step % 2 else 0.8)
        pace.note("factorisation", step, 100, now)
        shown.append(pace.seconds_left(now))
    known = [seconds for seconds in shown if seconds is not None]
    assert known == sorted(known, reverse=True)
    assert known[0] == pytest.approx(9.0, rel=0.2) and known[-1] == pytest.approx(0.0, abs=0.2)


def test_a_training_that_slows_down_is_not_at_its_end_for_ever() -> None:
    pace = Pace()
    for step in range(50):
        pace.note("factorisation", step, 100, now=0.1 * step)
    for step in range(50, 60):
        pace.note("factorisation", step, 100, now=5.0 + 10.0 * (step - 49))
    left = pace.seconds_left(105.0)
    assert left is not None and left > 50


def test_the_time_that_it_was_held_does_not_count() -> None:
    pace = Pace()
    for step in range(21):
        pace.note("factorisation", step, 100, now=0.1 * step)
    pace.note("factorisation", 21, 100, now=2.1, held=True)
    assert pace.seconds_left(2.1) is None
    pace.note("factorisation", 21, 100, now=100.0)
    pace.note("factorisation", 22, 100, now=100.1)
    assert pace.seconds_left(100.1) == pytest.approx(7.8)


def test_durations_are_rounded_up() -> None:
    for seconds in (0.0, 0.4, 1.0, 7.1, 89.0, 90.0):
        told = int(duration(seconds).removesuffix(" s"))
        assert told in STEPS and told >= seconds
    assert [duration(seconds) for seconds in (61, 91, 120, 121, 3600 * 2)] == [
        "75 s",
        "2 min",
        "2 min",
        "3 min",
        "2 h",
    ]
