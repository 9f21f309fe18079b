"""The client for code that does not await: a loop in a thread of its own.

    with BlockingClient("127.0.0.1:9876") as client:
        client.send(Message("T", b"hello"))
        reply = client.request(Message("Questions", b"?"), timeout_s=3)
        names = BlockingAdmin(client).topic_list()

        with client.push_consumer("group", listener, {"T": "*"}):
            input("listening, return ends it")

        with client.lite_pull_consumer("other", {"T": "TagA || TagB"}) as consumer:
            for message in consumer.poll():
                print(message.body)

Rule: this makes, subscribes and starts in one line what scripts need most; everything else is
in the faces of ``blockingfaces`` and ``blockingadmin``, which are made with this client. How
calls wait, and when they do not, is ``blockingloop``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mqclient.admin.queries import Queries
from mqclient.blocking.loop import BlockingLoop
from mqclient.blocking.proxy import BlockingProxy, blocking_call, future_call
from mqclient.client.instance import MQClient
from mqclient.client.settings import ClientSettings
from mqclient.consumer.listeners import ConcurrentListener, OrderlyListener
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.offset_store import LOCAL_DIR, OffsetStore
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.settings import LitePullSettings, PushSettings
from mqclient.consumer.subscription import MessageSelector
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import DEFAULT_GROUP, Producer
from mqclient.producer.settings import ProducerSettings
from mqclient.producer.transaction_producer import TransactionListener, TransactionProducer
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from remoting.aio.client import OnExchange
    from remoting.aio.tls import ClientTls

_Q_co = TypeVar("_Q_co", bound=Queries, covariant=True)
_S_co = TypeVar("_S_co", bound=Producer, covariant=True)


class _BlockingQueries(BlockingProxy[_Q_co]):
    """What all of them may ask beside their work.

    Attributes:
        group: of the producer or consumer.
    """

    def __init__(self, client: BlockingLoop, own: _Q_co) -> None:
        super().__init__(client, own)
        self.group = own.group

    fetch_subscribe_message_queues = blocking_call(Queries.fetch_subscribe_message_queues)
    min_offset = blocking_call(Queries.min_offset)
    max_offset = blocking_call(Queries.max_offset)
    search_offset = blocking_call(Queries.search_offset)
    earliest_msg_store_time = blocking_call(Queries.earliest_msg_store_time)
    view_message = blocking_call(Queries.view_message)
    query_message = blocking_call(Queries.query_message)
    shutdown = blocking_call(Queries.shutdown)


class _BlockingSends(_BlockingQueries[_S_co]):
    """What both producers do.

    Attributes:
        settings: what the producer was made with.
    """

    def __init__(self, client: BlockingLoop, own: _S_co) -> None:
        super().__init__(client, own)
        self.settings = own.settings

    start = blocking_call(Producer.start)
    register_send_hook = blocking_call(Producer.register_send_hook)
    send = blocking_call(Producer.send)
    send_async = future_call(Producer.send_async)
    send_batch = blocking_call(Producer.send_batch)
    send_batches = blocking_call(Producer.send_batches)
    send_oneway = blocking_call(Producer.send_oneway)
    request = blocking_call(Producer.request)
    reply = blocking_call(Producer.reply)
    queues = blocking_call(Producer.queues)


class BlockingProducer(_BlockingSends[Producer]):
    """A ``Producer`` whose calls wait; ``send_async`` gives a ``concurrent.futures.Future``."""

    def __init__(
        self,
        client: BlockingLoop,
        group: str = DEFAULT_GROUP,
        settings: ProducerSettings | None = None,
    ) -> None:
        super().__init__(client, Producer(client.mq, group, settings))


class BlockingTransactionProducer(_BlockingSends[TransactionProducer]):
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

    send_message_in_transaction = blocking_call(TransactionProducer.send_message_in_transaction)


class BlockingPushConsumer(_BlockingQueries[PushConsumer]):
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

    start = blocking_call(PushConsumer.start)
    subscribe = blocking_call(PushConsumer.subscribe)
    unsubscribe = blocking_call(PushConsumer.unsubscribe)
    register_message_listener = blocking_call(PushConsumer.register_message_listener)
    concurrently = blocking_call(PushConsumer.concurrently)
    orderly = blocking_call(PushConsumer.orderly)
    register_consume_hook = blocking_call(PushConsumer.register_consume_hook)
    suspend = blocking_call(PushConsumer.suspend)
    resume = blocking_call(PushConsumer.resume)
    update_core_pool_size = blocking_call(PushConsumer.update_core_pool_size)
    send_message_back = blocking_call(PushConsumer.send_message_back)
    assignment = blocking_call(PushConsumer.assignment)


class BlockingLitePullConsumer(_BlockingQueries[LitePullConsumer]):
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

    start = blocking_call(LitePullConsumer.start)
    subscribe = blocking_call(LitePullConsumer.subscribe)
    unsubscribe = blocking_call(LitePullConsumer.unsubscribe)
    assign = blocking_call(LitePullConsumer.assign)
    set_sub_expression_for_assign = blocking_call(LitePullConsumer.set_sub_expression_for_assign)
    poll = blocking_call(LitePullConsumer.poll)
    commit = blocking_call(LitePullConsumer.commit)
    committed = blocking_call(LitePullConsumer.committed)
    seek = blocking_call(LitePullConsumer.seek)
    seek_to_begin = blocking_call(LitePullConsumer.seek_to_begin)
    seek_to_end = blocking_call(LitePullConsumer.seek_to_end)
    pause = blocking_call(LitePullConsumer.pause)
    resume = blocking_call(LitePullConsumer.resume)
    offset_for_timestamp = blocking_call(LitePullConsumer.offset_for_timestamp)
    fetch_message_queues = blocking_call(LitePullConsumer.fetch_message_queues)
    assignment = blocking_call(LitePullConsumer.assignment)
    register_topic_message_queue_change_listener = blocking_call(
        LitePullConsumer.register_topic_message_queue_change_listener
    )


class BlockingPullConsumer(_BlockingQueries[PullConsumer]):
    """A ``PullConsumer`` whose calls wait."""

    def __init__(self, client: BlockingLoop, group: str) -> None:
        super().__init__(client, PullConsumer(client.mq, group))

    queues = blocking_call(PullConsumer.queues)
    pull = blocking_call(PullConsumer.pull)
    upload_filter = blocking_call(PullConsumer.upload_filter)
    committed = blocking_call(PullConsumer.committed)
    commit = blocking_call(PullConsumer.commit)


class BlockingClient(BlockingLoop):
    """An ``MQClient`` whose calls wait.

    Args:
        namesrv: ``host:port;host:port``; a missing port means 9876.
        group: producer group of ``send``.
        settings: of the same producer.
        timeout_s: how long one request may take.
        access_key: with ``secret_key``, signs every request.
        client_settings: of ``mq``, see ``ClientSettings``.
        tls, on_exchange, address_map: as of ``MQClient``.

    Attributes:
        mq: the asynchronous client, for ``run``.
        producer: a producer that is there from the beginning; ``close`` waits for what it sends.
        send: its method, for short.

    Raises:
        BadRequest: as ``MQClient`` and ``Producer``.
    """

    def __init__(
        self,
        namesrv: str,
        *,
        group: str = DEFAULT_GROUP,
        settings: ProducerSettings | None = None,
        timeout_s: float = 5.0,
        access_key: str | None = None,
        secret_key: str | None = None,
        tls: "ClientTls | None" = None,
        on_exchange: "OnExchange | None" = None,
        address_map: Mapping[str, str] | None = None,
        client_settings: ClientSettings | None = None,
    ) -> None:
        mq = MQClient(
            namesrv,
            settings=client_settings,
            timeout_s=timeout_s,
            access_key=access_key,
            secret_key=secret_key,
            tls=tls,
            on_exchange=on_exchange,
            address_map=address_map,
        )
        super().__init__(mq)
        self.producer = BlockingProducer(self, group, settings)
        self.send = self.producer.send

    def request(
        self, message: Message, *, timeout_s: float, queue: MessageQueue | None = None
    ) -> MessageExt:
        """Send a message whose consumer replies, return the reply; as ``Producer.request``."""
        self.producer.start()
        return self.producer.request(message, timeout_s=timeout_s, queue=queue)

    @contextmanager
    def transaction_producer(
        self,
        group: str,
        listener: TransactionListener,
        settings: ProducerSettings | None = None,
    ) -> Iterator[BlockingTransactionProducer]:
        """Have a started producer of transactions until the block ends.

        Args:
            listener: its methods run in threads.

        Raises: as ``TransactionProducer``.
        """
        with BlockingTransactionProducer(self, group, listener, settings=settings) as producer:
            yield producer

    @contextmanager
    def push_consumer(
        self,
        group: str,
        listener: ConcurrentListener | OrderlyListener,
        topics: Mapping[str, str | MessageSelector],
        *,
        orderly: bool = False,
        settings: PushSettings | None = None,
        local_dir: Path = LOCAL_DIR,
    ) -> Iterator[BlockingPushConsumer]:
        """Let a plain function have the messages of topics, in threads, until the block ends.

        Args:
            topics: expression by topic.
            orderly: queue by queue in order.
            local_dir: broadcasting only: where positions are kept.

        Raises: as ``PushConsumer.start``.
        """
        with BlockingPushConsumer(self, group, settings, local_dir=local_dir) as consumer:
            consumer.register_message_listener(listener, orderly=orderly)
            for topic, expression in topics.items():
                consumer.subscribe(topic, expression)
            consumer.start()
            yield consumer

    @contextmanager
    def lite_pull_consumer(
        self,
        group: str,
        topics: Mapping[str, str | MessageSelector],
        settings: LitePullSettings | None = None,
        *,
        local_dir: Path = LOCAL_DIR,
    ) -> Iterator[BlockingLitePullConsumer]:
        """Join a group whose messages are polled, until the block ends.

        Raises: as ``LitePullConsumer.start``.
        """
        with BlockingLitePullConsumer(self, group, settings, local_dir=local_dir) as consumer:
            for topic, expression in topics.items():
                consumer.subscribe(topic, expression)
            consumer.start()
            yield consumer

    async def _end(self) -> None:
        await self.producer.own.shutdown()
        await super()._end()
