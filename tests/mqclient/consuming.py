"""Consumers that are polled, the state of others of a fake broker, and queues that a test fills."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.state.consumer_state import ConsumerState
from mqclient.consumer.state.offset_store import RemoteOffsets
from mqclient.consumer.state.process_queue import ProcessQueue
from mqclient.message import MessageExt, read_messages
from remoting.bodies import ConsumeFromWhere, MessageQueue
from tests.mqclient.fake import NOW_MS, record

QUEUE = MessageQueue("T", "broker-0", 0)
POLL_FROM_FIRST = LitePullSettings(consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET)
BROKEN = 0x301
"""``sys_flag`` of a body that says to be zlib."""


def consuming(client: MQClient, settings: PushSettings) -> ConsumerState:
    return ConsumerState(client, "G", settings=settings, offsets=RemoteOffsets(client, "G"))


@asynccontextmanager
async def polling(
    client: MQClient,
    group: str,
    topic: str,
    expression: str = "*",
    settings: LitePullSettings = POLL_FROM_FIRST,
) -> AsyncIterator[LitePullConsumer]:
    """Start a consumer of a topic that is polled."""
    async with LitePullConsumer(client, group, settings) as consumer:
        consumer.subscribe(topic, expression)
        await consumer.start()
        yield consumer


def filled(bodies: Sequence[bytes]) -> tuple[ProcessQueue, list[MessageExt]]:
    """Return a queue that holds messages of these bodies; ``broken`` cannot be decompressed."""
    data = b"".join(
        record("T", body, queue_offset=i, log_offset=i, sys_flag=BROKEN * (body == b"broken"))
        for i, body in enumerate(bodies)
    )
    held = ProcessQueue(QUEUE, next_offset=len(bodies), now_ms=NOW_MS)
    return held, held.put_messages(read_messages(data, broker_name="broker-0", address="a:1"))
