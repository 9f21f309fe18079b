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
from mqclient.blocking.proxy import Blocking, begins, waits
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
