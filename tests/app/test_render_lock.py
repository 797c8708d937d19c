"""The render lock: one page at a time, none for ever."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from time import sleep

import pytest

from pages.shared.render_lock import RenderLock

LONG = 60.0


def test_one_page_is_drawn_at_a_time() -> None:
    lock = RenderLock(LONG)
    inside = 0
    most = 0

    def draw(_: int) -> None:
        nonlocal inside, most
        with lock.hold():
            inside += 1
            most = max(most, inside)
            sleep(0.001)
            inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(draw, range(64)))
    assert (most, inside) == (1, 0)


def test_a_slow_page_loses_the_lock_and_can_not_release_that_of_another() -> None:
    lock = RenderLock(0.05)
    slow_may_end = Event()
    second_may_end = Event()
    second_is_in = Event()
    third_is_in = Event()

    def draw(is_in: Event | None, may_end: Event | None) -> None:
        with lock.hold():
            if is_in:
                is_in.set()
            if may_end:
                assert may_end.wait(LONG)

    with ThreadPoolExecutor(3) as pool:
        slow_is_in = Event()
        slow = pool.submit(draw, slow_is_in, slow_may_end)
        assert slow_is_in.wait(LONG)
        second = pool.submit(draw, second_is_in, second_may_end)
        assert second_is_in.wait(LONG)  # though the slow one is still there
        lock._expires_at += LONG  # the second one is quick enough
        slow_may_end.set()
        slow.result(LONG)
        third = pool.submit(draw, third_is_in, None)
        assert not third_is_in.wait(0.1)
        second_may_end.set()
        second.result(LONG)
        third.result(LONG)
    assert third_is_in.is_set()


def test_first_come_first_served() -> None:
    lock = RenderLock(LONG)
    order = list[int]()
    threads = list[Thread]()

    def draw(number: int) -> None:
        with lock.hold():
            order.append(number)

    with lock.hold():
        for number in range(20):
            threads.append(Thread(target=draw, args=(number,)))
            threads[-1].start()
            while len(lock._queue) <= number:
                sleep(0.001)
    with lock.hold():  # comes while the others wait
        assert order == list(range(20))
    for thread in threads:
        thread.join(LONG)


@pytest.mark.parametrize("error", [ValueError, BaseException])
def test_the_lock_is_released_however_the_block_ends(error: type[BaseException]) -> None:
    lock = RenderLock(LONG)
    with pytest.raises(error), lock.hold():
        raise error
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: lock.hold().__enter__()).result(10) is None
