"""Many questions, a few at a time, the answers in order."""

import asyncio

import pytest

from mqadmin.cluster.bounded_gather import bounded_gather


async def test_answers_come_in_order_with_a_bounded_number_under_way() -> None:
    under_way = most = 0

    async def ask(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        # The first ones take the longest.
        for _ in range(20 - number):
            await asyncio.sleep(0)
        under_way -= 1
        return number * 10

    assert [answer async for answer in bounded_gather(range(20), ask, width=4)] == [
        number * 10 for number in range(20)
    ]
    assert most == 4


async def test_an_error_ends_it_and_what_is_under_way() -> None:
    ended: list[str] = []

    async def ask(name: str) -> str:
        if name == "bad":
            raise ValueError(name)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(name)
            raise
        return name

    async def collect() -> None:
        async for _ in bounded_gather(["bad", "b", "c"], ask, width=3):
            raise AssertionError("nothing should come")

    with pytest.raises(ValueError, match="bad"):
        await collect()
    assert ended == ["b", "c"]
