"""Waits end as soon as a condition holds, and say what did not hold."""

import asyncio

import pytest

from tests.waiting import eventually, until, wait


async def test_waits_end_when_it_holds() -> None:
    asked: list[int] = []

    def count() -> int:
        asked.append(len(asked))
        return len(asked)

    async def counted() -> int:
        return count()

    await until(lambda: count() > 2)
    assert await eventually(counted, lambda found: found > 4, pause_s=0) == 5
    assert wait(count, lambda found: found > 6, pause_s=0) == 7
    assert len(asked) == 7


def test_what_did_not_hold_is_said() -> None:
    never: list[str] = []

    async def ask() -> list[str]:
        return never

    with pytest.raises(AssertionError, match=r"not within 0.01 s: .*lambda: bool\(never\)"):
        asyncio.run(until(lambda: bool(never), timeout_s=0.01))
    with pytest.raises(AssertionError, match=r"len\(found\) == 1.*: still \[\]"):
        asyncio.run(eventually(ask, lambda found: len(found) == 1, timeout_s=0.01))
    with pytest.raises(AssertionError, match=r"the file to be there: still \[\]"):
        wait(lambda: never, what="the file to be there", timeout_s=0.01)
