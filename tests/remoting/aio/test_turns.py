"""Turns of the event loop: connections share them, and what does not fit waits for the next one."""

import asyncio

import pytest

from remoting.aio.turns import SLICE_S, TURN_S, PacedCalls, Turns


class Clock:
    """A clock that work moves on."""

    def __init__(self) -> None:
        self.now_s = 1.0

    def __call__(self) -> float:
        return self.now_s


class Job:
    """Work of many pieces, each of which takes some time."""

    def __init__(self, clock: Clock, *, count: int, piece_s: float = 1.01 * SLICE_S) -> None:
        self.left = count
        self._clock, self._piece_s = clock, piece_s

    def work(self, end_s: float) -> bool:
        while self.left:
            self.left -= 1
            self._clock.now_s += self._piece_s
            if self._clock.now_s >= end_s:
                break
        return self.left > 0


async def test_a_turn_ends_after_its_time_and_the_rest_waits_for_the_next() -> None:
    clock = Clock()
    turns, job = Turns(clock), Job(clock, count=10)

    turns.add(job)
    first = job.left
    await asyncio.sleep(0)
    second = job.left

    assert 10 - first == 4
    assert first - second == 4
    assert turns.waiting_count == 1


async def test_workers_have_slices_in_turn_however_much_one_of_them_has_to_do() -> None:
    clock = Clock()
    turns = Turns(clock)
    greedy, small = Job(clock, count=10_000), Job(clock, count=1)

    turns.add(greedy)
    turns.add(small)
    await asyncio.sleep(0)

    assert small.left == 0
    assert clock.now_s <= 1.0 + 3 * TURN_S


async def test_a_worker_that_fails_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty:
        def work(self, end_s: float) -> bool:
            raise RuntimeError("a fault")

    clock = Clock()
    turns, job = Turns(clock), Job(clock, count=1)

    turns.add(Faulty())
    turns.add(job)

    assert job.left == 0
    assert "its work is given up" in caplog.text


async def test_thousands_of_events_are_handled_in_several_turns() -> None:
    clock = Clock()
    calls, counts = PacedCalls(Turns(clock)), [0]

    def handle() -> None:
        counts[0] += 1
        clock.now_s += 1e-4
        if counts[0] == 7:
            raise RuntimeError("one of them fails")

    for _ in range(1_000):
        calls.add(handle)
    first = counts[0]
    for _ in range(100):
        await asyncio.sleep(0)

    assert 0 < first <= 1 + TURN_S / 1e-4
    assert counts[0] == 1_000
