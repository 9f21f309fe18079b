"""Consumers of ours in a thread of their own, so that a test can wait for Java meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from mqclient.admin.admin import Admin
from mqclient.blocking.client import BlockingClient, BlockingPushConsumer
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import PushSettings
from mqclient.consumer.listener.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from mqclient.consumer.pull.pull_request import PullStatus
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.errors import BrokerRefused
from mqclient.message import MessageExt
from remoting.aio.client import RemotingClient
from remoting.aio.tls import ClientTls
from remoting.bodies import ConsumeFromWhere, MessageQueue
from remoting.command import Command
from remoting.header import Header
from storefmt.config.tables import TopicConfig
from tests.interop.kit.servers import Servers
from tests.waiting import TIMEOUT_S, eventually

_T = TypeVar("_T")


def connected(
    namesrv: str, *, access_key: str | None = None, secret_key: str | None = None
) -> MQClient:
    """Return a client that is started and closed by ``async with``."""
    # Servers and clients of a whole test run share the machine.
    return MQClient(namesrv, timeout_s=60, access_key=access_key, secret_key=secret_key)


class Ask(Protocol):
    """Sends a request and returns the answer."""

    def __call__(
        self, code: int, header: Header | None = None, body: bytes = b""
    ) -> Awaitable[Command]: ...


@asynccontextmanager
async def asking(address: str) -> AsyncIterator[Ask]:
    """Yield a function that sends requests to one server on one connection."""
    client = RemotingClient()

    async def ask(code: int, header: Header | None = None, body: bytes = b"") -> Command:
        return await client.invoke(address, Command.request(code, header, body=body), timeout_s=60)

    try:
        yield ask
    finally:
        await client.close()


async def invoke(address: str, command: Command, *, tls: ClientTls | None = None) -> Command:
    """Send one request on a connection of its own and return the answer."""
    client = RemotingClient(tls=tls)
    try:
        return await client.invoke(address, command, timeout_s=60)
    finally:
        await client.close()


def run(
    namesrv: str,
    act: Callable[[MQClient], Awaitable[_T]],
    *,
    access_key: str | None = None,
    secret_key: str | None = None,
) -> _T:
    """Return what ``act`` returns for a client that is started for it and closed behind it."""

    async def go() -> _T:
        async with connected(namesrv, access_key=access_key, secret_key=secret_key) as client:
            return await act(client)

    return asyncio.run(go())


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


FROM_FIRST = PushSettings(
    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    persist_consumer_offset_interval_ms=500,
)


@dataclass
class Listening:
    """One consumer of ours and what it got."""

    client: BlockingClient
    consumer: BlockingPushConsumer
    got: list[MessageExt] = field(default_factory=list)

    def queue_ids(self, topic: str) -> list[int]:
        return [queue.queue_id for queue in self.consumer.assignment() if queue.topic == topic]


@contextmanager
def blocking(
    servers: Servers, *, client_settings: ClientSettings | None = None
) -> Iterator[BlockingClient]:
    with BlockingClient(
        servers.namesrv.address, timeout_s=60, client_settings=client_settings
    ) as client:
        yield client


@contextmanager
def listening(
    servers: Servers,
    group: str,
    topic: str,
    expression: str = "*",
    *,
    orderly: bool = False,
    settings: PushSettings = FROM_FIRST,
    client_settings: ClientSettings | None = None,
) -> Iterator[Listening]:
    """Consume a topic until the block ends."""
    got: list[MessageExt] = []

    def listen(
        messages: list[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> ConsumeConcurrentlyStatus | ConsumeOrderlyStatus:
        got.extend(messages)
        if orderly:
            return ConsumeOrderlyStatus.SUCCESS
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    with ExitStack() as stack:
        client = stack.enter_context(blocking(servers, client_settings=client_settings))
        topics = {topic: expression}
        consumer = stack.enter_context(
            client.push_consumer(group, listen, topics, orderly=orderly, settings=settings)  # type: ignore[arg-type]
        )
        yield Listening(client, consumer, got)


def await_registered(servers: Servers) -> None:
    """Block until the name server knows the broker; 5.4.0 says before that it serves."""
    with blocking(servers) as client:
        clusters = Admin(client.mq).cluster_info
        name = servers.broker.name
        client.run(
            eventually(clusters, lambda info: name in info.broker_addr_table, timeout_s=TIMEOUT_S)
        )


def make_topic(servers: Servers, topic: str, queues: int) -> None:
    """Create a topic, and block until the name server knows it.

    A broker of 5.4.0 that just started tells the name server only with its first registration.
    """
    with blocking(servers) as client:
        admin = Admin(client.mq)
        config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
        client.run(admin.create_topic(servers.broker.address, config))
        client.run(eventually(admin.topic_list, lambda known: topic in known))
