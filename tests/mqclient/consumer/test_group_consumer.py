"""Calls from other threads run in the event loop of a consumer."""

import asyncio
import threading

import pytest

from mqclient.consumer.group_consumer import OwnLoop
from mqclient.errors import BadRequest


def test_work_runs_at_once_before_there_is_a_loop_and_inside_of_it() -> None:
    own = OwnLoop()
    done: list[str] = []
    own.do(lambda: done.append("before"))

    async def go() -> None:
        own.enter()
        own.do(lambda: done.append("inside"))
        assert done == ["before", "inside"]

    asyncio.run(go())


def test_work_of_another_thread_runs_in_the_loop() -> None:
    async def go() -> None:
        own = OwnLoop()
        own.enter()
        came = asyncio.Event()
        threads: list[threading.Thread] = []

        def work() -> None:
            threads.append(threading.current_thread())
            came.set()

        await asyncio.to_thread(own.do, work)
        await came.wait()
        assert threads == [threading.current_thread()]

    asyncio.run(go())


def test_after_its_loop_nothing_is_done() -> None:
    own = OwnLoop()

    async def go() -> None:
        own.enter()

    asyncio.run(go())
    with pytest.raises(BadRequest, match="has ended"):
        own.do(lambda: None)
