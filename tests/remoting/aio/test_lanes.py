"""Lanes: a few pieces of expensive work at a time, addresses in turn."""

import asyncio

import pytest

from remoting.aio.lanes import FairLane


async def test_work_beyond_the_places_waits_and_addresses_take_turns() -> None:
    lane, order = FairLane(1), []
    is_free = asyncio.Event()

    async def work(ip: str, number: int) -> None:
        async with lane.turn(ip):
            await is_free.wait()
            order.append((ip, number))

    tasks = [asyncio.create_task(work("a", number)) for number in range(4)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(work("b", 0)))
    await asyncio.sleep(0)
    waiting_count = lane.waiting_count
    is_free.set()
    await asyncio.gather(*tasks)

    assert waiting_count == 4
    assert order == [("a", 0), ("a", 1), ("b", 0), ("a", 2), ("a", 3)]


@pytest.mark.parametrize("is_first", [True, False], ids=["as it gets its place", "as it waits"])
async def test_work_that_is_cancelled_leaves_its_place_to_others(*, is_first: bool) -> None:
    lane = FairLane(1)

    async def work() -> str:
        async with lane.turn("a"):
            return "done"

    async with lane.turn("a"):
        cancelled, other = asyncio.create_task(work()), asyncio.create_task(work())
        await asyncio.sleep(0)
        if not is_first:
            cancelled.cancel()
            await asyncio.sleep(0)
    if is_first:
        cancelled.cancel()

    assert await other == "done"
    assert cancelled.cancelled() or cancelled.cancel()
    assert lane.waiting_count == 0
    async with lane.turn("b"):
        pass
