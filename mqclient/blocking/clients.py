"""Producers and consumers for code that does not await.

    with BlockingClient("127.0.0.1:9876") as client, BlockingProducer(client, "group") as producer:
        producer.send(Message("T", b"hello"), sharding_key="order-17")

    with BlockingPushConsumer(client, "group") as consumer:
        consumer.subscribe("T")
        consumer.register_message_listener(listener)
        consumer.start()
        input("listening, return ends it")

Rule: each has every public method of what it stands for, by a line here, and is made in the
same way, with a ``BlockingClient``. Listeners that are plain functions run in threads and may
call any of this; coroutine functions run in the loop and may not wait there.
"""

from pathlib import Path
from typing import TypeVar

from mqclient.admin.queries import Queries
from mqclient.blocking.loop import BlockingLoop
from mqclient.blocking.proxy import Blocking, begins, waits
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.lite_pull_settings import LitePullSettings
from mqclient.consumer.offset_store import LOCAL_DIR, OffsetStore
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.push_settings import PushSettings
from mqclient.producer.producer import DEFAULT_GROUP, Producer
from mqclient.producer.settings import ProducerSettings
from mqclient.producer.transaction_producer import TransactionListener, TransactionProducer

_Q_co = TypeVar("_Q_co", bound=Queries, covariant=True)
_S_co = TypeVar("_S_co", bound=Producer, covariant=True)


class _Asking(Blocking[_Q_co]):
    """What all of them may ask beside their work.

    Attributes:
        group: of the producer or consumer.
    """

    def __init__(self, client: BlockingLoop, own: _Q_co) -> None:
        super().__init__(client, own)
        self.group = own.group

    fetch_subscribe_message_queues = waits(Queries.fetch_subscribe_message_queues)
    min_offset = waits(Queries.min_offset)
    max_offset = waits(Queries.max_offset)
    search_offset = waits(Queries.search_offset)
    earliest_msg_store_time = waits(Queries.earliest_msg_store_time)
    view_message = waits(Queries.view_message)
    query_message = waits(Queries.query_message)
    shutdown = waits(Queries.shutdown)


class _Sending(_Asking[_S_co]):
    """What both producers do.

    Attributes:
        settings: what the producer was made with.
    """

    def __init__(self, client: BlockingLoop, own: _S_co) -> None:
        super().__init__(client, own)
        self.settings = own.settings

    start = waits(Producer.start)
    register_send_hook = waits(Producer.register_send_hook)
    send = waits(Producer.send)
    send_async = begins(Producer.send_async)
    send_batch = waits(Producer.send_batch)
    send_batches = waits(Producer.send_batches)
    send_oneway = waits(Producer.send_oneway)
    request = waits(Producer.request)
    reply = waits(Producer.reply)
    queues = waits(Producer.queues)


class BlockingProducer(_Sending[Producer]):
    """A ``Producer`` whose calls wait; ``send_async`` gives a ``concurrent.futures.Future``."""

    def __init__(
        self,
        client: BlockingLoop,
        group: str = DEFAULT_GROUP,
        settings: ProducerSettings | None = None,
    ) -> None:
        super().__init__(client, Producer(client.mq, group, settings))


class BlockingTransactionProducer(_Sending[TransactionProducer]):
    """A ``TransactionProducer`` whose calls wait; its listener's methods run in threads."""

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        listener: TransactionListener,
        *,
        settings: ProducerSettings | None = None,
    ) -> None:
        super().__init__(client, TransactionProducer(client.mq, group, listener, settings=settings))

    send_message_in_transaction = waits(TransactionProducer.send_message_in_transaction)


class BlockingPushConsumer(_Asking[PushConsumer]):
    """A ``PushConsumer`` whose calls wait.

    Attributes:
        settings: what the consumer was made with.
    """

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        settings: PushSettings | None = None,
        *,
        local_dir: Path = LOCAL_DIR,
    ) -> None:
        super().__init__(client, PushConsumer(client.mq, group, settings, local_dir=local_dir))
        self.settings = self.own.settings

    @property
    def offsets(self) -> OffsetStore:
        """Where positions are kept; another store may be put here before the start."""
        return self.own.offsets

    @offsets.setter
    def offsets(self, store: OffsetStore) -> None:
        self.own.offsets = store

    start = waits(PushConsumer.start)
    subscribe = waits(PushConsumer.subscribe)
    unsubscribe = waits(PushConsumer.unsubscribe)
    register_message_listener = waits(PushConsumer.register_message_listener)
    concurrently = waits(PushConsumer.concurrently)
    orderly = waits(PushConsumer.orderly)
    register_consume_hook = waits(PushConsumer.register_consume_hook)
    suspend = waits(PushConsumer.suspend)
    resume = waits(PushConsumer.resume)
    update_core_pool_size = waits(PushConsumer.update_core_pool_size)
    send_message_back = waits(PushConsumer.send_message_back)
    assignment = waits(PushConsumer.assignment)


class BlockingLitePullConsumer(_Asking[LitePullConsumer]):
    """A ``LitePullConsumer`` whose calls wait.

    Attributes:
        settings: what the consumer was made with.
    """

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        settings: LitePullSettings | None = None,
        *,
        local_dir: Path = LOCAL_DIR,
    ) -> None:
        super().__init__(client, LitePullConsumer(client.mq, group, settings, local_dir=local_dir))
        self.settings = self.own.settings

    @property
    def is_running(self) -> bool:
        """Whether ``start`` was called and ``shutdown`` was not."""
        return self.own.is_running

    start = waits(LitePullConsumer.start)
    subscribe = waits(LitePullConsumer.subscribe)
    unsubscribe = waits(LitePullConsumer.unsubscribe)
    assign = waits(LitePullConsumer.assign)
    set_sub_expression_for_assign = waits(LitePullConsumer.set_sub_expression_for_assign)
    poll = waits(LitePullConsumer.poll)
    commit = waits(LitePullConsumer.commit)
    committed = waits(LitePullConsumer.committed)
    seek = waits(LitePullConsumer.seek)
    seek_to_begin = waits(LitePullConsumer.seek_to_begin)
    seek_to_end = waits(LitePullConsumer.seek_to_end)
    pause = waits(LitePullConsumer.pause)
    resume = waits(LitePullConsumer.resume)
    offset_for_timestamp = waits(LitePullConsumer.offset_for_timestamp)
    fetch_message_queues = waits(LitePullConsumer.fetch_message_queues)
    assignment = waits(LitePullConsumer.assignment)
    register_topic_message_queue_change_listener = waits(
        LitePullConsumer.register_topic_message_queue_change_listener
    )


class BlockingPullConsumer(_Asking[PullConsumer]):
    """A ``PullConsumer`` whose calls wait."""

    def __init__(self, client: BlockingLoop, group: str) -> None:
        super().__init__(client, PullConsumer(client.mq, group))

    queues = waits(PullConsumer.queues)
    pull = waits(PullConsumer.pull)
    upload_filter = waits(PullConsumer.upload_filter)
    committed = waits(PullConsumer.committed)
    commit = waits(PullConsumer.commit)
