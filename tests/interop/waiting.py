"""Waiting for another process without guessing how long it takes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mqclient.instance import MQClient
from mqclient.message import MessageExt
from mqclient.pull import PullStatus
from mqclient.pullconsumer import PullConsumer
from remoting.bodies import MessageQueue

_T = TypeVar("_T")
TIMEOUT_S = 30.0


async def eventually(
    ask: Callable[[], Awaitable[_T]],
    holds: Callable[[_T], bool],
    *,
    timeout_s: float = TIMEOUT_S,
) -> _T:
    """Return the first answer of ``ask`` for which ``holds`` is true.

    Raises:
        AssertionError: it did not hold in time; the last answer is in the text.
    """
    answer = await ask()
    try:
        async with asyncio.timeout(timeout_s):
            while not holds(answer):
                await asyncio.sleep(0.05)
                answer = await ask()
    except TimeoutError:
        raise AssertionError(f"after {timeout_s} s still {answer!r}") from None
    return answer


async def read_queue(
    client: MQClient, queue: MessageQueue, count: int, *, group: str = "READER"
) -> list[MessageExt]:
    """Return the first ``count`` messages of a queue, waiting for them by long polling."""
    consumer = PullConsumer(client, group)
    got: list[MessageExt] = []
    next_offset = 0
    async with asyncio.timeout(TIMEOUT_S):
        while len(got) < count:
            result = await consumer.pull(queue, queue_offset=next_offset, suspend_ms=5_000)
            assert result.status in (PullStatus.FOUND, PullStatus.NO_NEW_MSG), result
            next_offset = result.next_offset
            got += result.messages
    return got


async def read_topic(
    client: MQClient, topic: str, count: int, *, group: str = "READER"
) -> list[MessageExt]:
    """Return the messages of a topic once there are ``count``, queue by queue in order."""
    consumer = PullConsumer(client, group)

    async def sizes() -> list[tuple[MessageQueue, int]]:
        return [(q, await consumer.max_offset(q)) for q in await consumer.queues(topic)]

    found = await eventually(sizes, lambda ends: sum(end for _, end in ends) >= count)
    return [m for queue, end in found for m in await read_queue(client, queue, end, group=group)]
