"""Deadlines of calls: who is late, in which order, and what is left of those that ended in time."""

import asyncio

from mqserver.proxy.http2.deadlines import SPARE, STEP_S, Deadlines


class Call:
    """A call that notes its end."""

    def __init__(self) -> None:
        self.is_late = asyncio.Event()

    def late(self) -> None:
        self.is_late.set()


async def test_calls_are_late_after_their_deadline_and_the_timer_goes_on_to_the_next() -> None:
    deadlines, first, second = Deadlines(), Call(), Call()
    now_s = asyncio.get_running_loop().time()

    deadlines.add(second, now_s + 3 * STEP_S)
    deadlines.add(first, now_s + STEP_S)
    await first.is_late.wait()
    was_early = asyncio.get_running_loop().time() < now_s + STEP_S
    await second.is_late.wait()

    assert not was_early
    assert (deadlines._buckets, deadlines._timer) == ({}, None)


async def test_a_call_that_was_removed_is_not_late() -> None:
    deadlines, removed, other = Deadlines(), Call(), Call()
    now_s = asyncio.get_running_loop().time()
    bucket = deadlines.add(removed, now_s + STEP_S)

    deadlines.remove(removed, bucket)
    deadlines.remove(removed, bucket)
    deadlines.add(other, now_s + 2 * STEP_S)
    await other.is_late.wait()

    assert not removed.is_late.is_set()


async def test_calls_with_ever_other_deadlines_that_end_leave_nothing_behind() -> None:
    deadlines = Deadlines()
    now_s = asyncio.get_running_loop().time()

    for number in range(1_000):
        call = Call()
        deadlines.remove(call, deadlines.add(call, now_s + 60 + number))

    assert not deadlines._buckets
    assert len(deadlines._heap) <= SPARE + 1
    deadlines.close()
    assert deadlines._timer is None
