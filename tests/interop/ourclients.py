"""Consumers of ours in a thread of their own, so that a test can wait for Java meanwhile."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from mqclient.admin.admin import Admin
from mqclient.blocking.client import BlockingClient, BlockingPushConsumer
from mqclient.client.settings import ClientSettings
from mqclient.consumer.listeners import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from mqclient.consumer.settings import PushSettings
from mqclient.message import MessageExt
from remoting.bodies import ConsumeFromWhere
from storefmt.config.tables import TopicConfig
from tests.interop.rocketmq import Servers

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
        servers.namesrv.address, timeout_s=20.0, client_settings=client_settings
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


def make_topic(servers: Servers, topic: str, queues: int) -> None:
    with blocking(servers) as client:
        config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
        client.run(Admin(client.mq).create_topic(servers.broker.address, config))
