"""Reading what a broker has, once it has it: queues, topics, and that all is dispatched."""

import asyncio
from pathlib import Path

from mqclient.admin.admin import Admin
from mqclient.client.instance import MQClient
from mqclient.consumer.pull import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue
from tests.interop.asking import run
from tests.interop.rocketmq import Servers
from tests.waiting import TIMEOUT_S, eventually


async def dispatched(client: MQClient, address: str) -> None:
    """Return once everything in a broker's log is in its queues and in its index.

    A message is acknowledged when the log has it; queues and index follow in a thread.
    """

    async def behind() -> str:
        try:
            return (await Admin(client).broker_runtime(address))["dispatchBehindBytes"]
        except BrokerRefused:
            # In its first second the real broker has no statistics, and fails (NoSuchElement).
            return "unknown"

    await eventually(behind, lambda size: size == "0")


def await_dispatched(servers: Servers) -> None:
    """Block until a broker has dispatched its whole log."""
    run(servers.namesrv.address, lambda client: dispatched(client, servers.broker.address))


def text_of(path: Path) -> str:
    """Return the text of a file that a broker writes anew; empty where there is none just now."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


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
