"""The blocking client, and the producers and consumers that are made with it.

    with BlockingClient("127.0.0.1:9876") as client:
        client.send(Message("T", b"hello"))
        reply = client.request(Message("Questions", b"?"), timeout_s=3)
        names = BlockingAdmin(client).topic_list()

        with client.push_consumer("group", listener, {"T": "*"}):
            input("listening, return ends it")

        with client.lite_pull_consumer("other", {"T": "TagA || TagB"}) as consumer:
            for message in consumer.poll():
                print(message.body)

``BlockingClient`` creates, subscribes and starts in one line what scripts need most. Each of the
other classes declares every public method of its async class in one line, and is made in the same
way, with a ``BlockingClient`` in place of an ``MQClient``. ``loop`` explains when a call waits.

Listeners that are plain functions run in threads and may call every blocking method; coroutine
functions run in the event loop and may not block there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mqclient.admin.queries import Queries
from mqclient.blocking.loop import BlockingLoop
from mqclient.blocking.proxy import (
    BlockingProxy,
    blocking_block,
    blocking_call,
    blocking_iterator,
    future_call,
    iterate,
    started_call,
)
from mqclient.client.client_settings import ClientSettings
from mqclient.client.instance import MQClient
from mqclient.consumer.consumer_settings import LitePullSettings, PushSettings
from mqclient.consumer.group_consumer import GroupConsumer
from mqclient.consumer.listener.listeners import ConcurrentListener, OrderlyListener
from mqclient.consumer.lite_pull_consumer import LitePullConsumer
from mqclient.consumer.pull_consumer import PullConsumer
from mqclient.consumer.push_consumer import PushConsumer
from mqclient.consumer.simple_consumer import RECONSUME_TIMES_MAX, SimpleConsumer
from mqclient.consumer.state.offset_store import LOCAL_DIR, OffsetStore
from mqclient.consumer.subscription import MessageSelector
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import DEFAULT_GROUP, Producer
from mqclient.producer.producer_settings import ProducerSettings
from mqclient.producer.transaction_producer import TransactionListener, TransactionProducer
from remoting.bodies import ConsumeFromWhere, MessageQueue

if TYPE_CHECKING:
    from mqclient.json_body import Serializer
    from remoting.aio.client import OnExchange
    from remoting.aio.tls import ClientTls

_Q_co = TypeVar("_Q_co", bound=Queries, covariant=True)
_M_co = TypeVar("_M_co", bound=GroupConsumer, covariant=True)
_S_co = TypeVar("_S_co", bound=Producer, covariant=True)


class _BlockingQueries(BlockingProxy[_Q_co]):
    """The queries that every producer and consumer has.

    Attributes:
        group: the producer or consumer group.
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
    """The methods that both producers have.

    Attributes:
        settings: the settings of the producer.
    """

    def __init__(self, client: BlockingLoop, own: _S_co) -> None:
        super().__init__(client, own)
        self.settings = own.settings

    start = blocking_call(Producer.start)
    register_send_hook = blocking_call(Producer.register_send_hook)
    send = blocking_call(Producer.send)
    publish = blocking_call(Producer.publish)
    send_async = future_call(Producer.send_async)
    send_soon = started_call(Producer.send_soon)
    send_batch = blocking_call(Producer.send_batch)
    send_batches = blocking_call(Producer.send_batches)
    send_oneway = blocking_call(Producer.send_oneway)
    request = blocking_call(Producer.request)
    reply = blocking_call(Producer.reply)
    queues = blocking_call(Producer.queues)


class BlockingProducer(_BlockingSends[Producer]):
    """A blocking ``Producer``; ``send_async`` returns a ``concurrent.futures.Future``."""

    def __init__(
        self,
        client: BlockingLoop,
        group: str = DEFAULT_GROUP,
        settings: ProducerSettings | None = None,
        *,
        serializer: "Serializer | None" = None,
    ) -> None:
        super().__init__(client, Producer(client.mq, group, settings, serializer=serializer))


class BlockingTransactionProducer(_BlockingSends[TransactionProducer]):
    """A blocking ``TransactionProducer``; plain methods of its listener run in threads.

    Args:
        client: the blocking client.
        group, listener, settings: see ``TransactionProducer``.
    """

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


class _BlockingMember(_BlockingQueries[_M_co]):
    """The state of push and lite pull consumers, for probes."""

    @property
    def is_running(self) -> bool:
        """Whether ``start`` was called and ``shutdown`` was not."""
        return self.own.is_running

    @property
    def last_poll_ms(self) -> int | None:
        """When a broker last answered a pull, in ms since 1970; None before the first answer."""
        return self.own.last_poll_ms

    lag = blocking_call(GroupConsumer.lag)
    register_consume_hook = blocking_call(GroupConsumer.register_consume_hook)


class BlockingPushConsumer(_BlockingMember[PushConsumer]):
    """A blocking ``PushConsumer``.

    Args:
        client: the blocking client.
        group, settings, local_dir: see ``PushConsumer``.

    Attributes:
        settings: the settings of the consumer.
    """

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        settings: PushSettings | None = None,
        *,
        local_dir: str | Path = LOCAL_DIR,
    ) -> None:
        super().__init__(client, PushConsumer(client.mq, group, settings, local_dir=local_dir))
        self.settings = self.own.settings

    @property
    def offsets(self) -> OffsetStore:
        """Where the offsets are kept; an application may set another store before the start."""
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
    suspend = blocking_call(PushConsumer.suspend)
    resume = blocking_call(PushConsumer.resume)
    update_core_pool_size = blocking_call(PushConsumer.update_core_pool_size)
    send_message_back = blocking_call(PushConsumer.send_message_back)
    assignment = blocking_call(PushConsumer.assignment)


class BlockingLitePullConsumer(_BlockingMember[LitePullConsumer]):
    """A blocking ``LitePullConsumer``.

    Args:
        client: the blocking client.
        group, settings, local_dir: see ``LitePullConsumer``.

    Attributes:
        settings: the settings of the consumer.
    """

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        settings: LitePullSettings | None = None,
        *,
        local_dir: str | Path = LOCAL_DIR,
    ) -> None:
        super().__init__(client, LitePullConsumer(client.mq, group, settings, local_dir=local_dir))
        self.settings = self.own.settings

    def __iter__(self) -> Iterator[MessageExt]:
        """Yield messages until the shutdown, as ``async for`` does."""
        return iterate(self._client, self.own)

    start = blocking_call(LitePullConsumer.start)
    subscribe = blocking_call(LitePullConsumer.subscribe)
    unsubscribe = blocking_call(LitePullConsumer.unsubscribe)
    assign = blocking_call(LitePullConsumer.assign)
    set_sub_expression_for_assign = blocking_call(LitePullConsumer.set_sub_expression_for_assign)
    poll = blocking_call(LitePullConsumer.poll)
    batch = blocking_block(LitePullConsumer.batch)
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
    """A blocking ``PullConsumer``."""

    def __init__(self, client: BlockingLoop, group: str) -> None:
        super().__init__(client, PullConsumer(client.mq, group))

    queues = blocking_call(PullConsumer.queues)
    pull = blocking_call(PullConsumer.pull)
    register_consume_hook = blocking_call(PullConsumer.register_consume_hook)
    upload_filter = blocking_call(PullConsumer.upload_filter)
    committed = blocking_call(PullConsumer.committed)
    commit = blocking_call(PullConsumer.commit)


class BlockingSimpleConsumer(_BlockingQueries[SimpleConsumer]):
    """A blocking ``SimpleConsumer``.

    Args:
        client: the blocking client.
        group, order, consume_from_where, max_reconsume_times: see ``SimpleConsumer``.
    """

    def __init__(
        self,
        client: BlockingLoop,
        group: str,
        *,
        order: bool = False,
        consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        max_reconsume_times: int = RECONSUME_TIMES_MAX,
    ) -> None:
        own = SimpleConsumer(
            client.mq,
            group,
            order=order,
            consume_from_where=consume_from_where,
            max_reconsume_times=max_reconsume_times,
        )
        super().__init__(client, own)

    @property
    def last_poll_ms(self) -> int | None:
        """When a broker last answered ``receive``, in ms since 1970; None before."""
        return self.own.last_poll_ms

    def __iter__(self) -> Iterator[MessageExt]:
        """Yield messages until the shutdown, as ``async for`` does."""
        return self.messages()

    subscribe = blocking_call(SimpleConsumer.subscribe)
    unsubscribe = blocking_call(SimpleConsumer.unsubscribe)
    receive = blocking_call(SimpleConsumer.receive)
    messages = blocking_iterator(SimpleConsumer.messages)
    consuming = blocking_block(SimpleConsumer.consuming)
    register_consume_hook = blocking_call(SimpleConsumer.register_consume_hook)
    ack = blocking_call(SimpleConsumer.ack)
    change_invisible_time = blocking_call(SimpleConsumer.change_invisible_time)


class BlockingClient(BlockingLoop):
    """A blocking ``MQClient`` with a producer.

    Args:
        namesrv: ``host:port,host:port``, or a list of addresses; a missing port means 9876.
        group: the producer group of ``send``.
        settings: the settings of the same producer.
        timeout_s: how long one request may take, in seconds.
        access_key, secret_key: together they sign every request.
        client_settings: the settings of ``mq``, see ``ClientSettings``.
        tls, on_exchange, address_map: see ``MQClient``.

    Attributes:
        mq: the async client, for coroutines that ``run`` runs.
        producer: the producer of ``send``; ``close`` waits for its sends.
        send: the method of ``producer``.

    Raises:
        BadRequest: see ``MQClient`` and ``Producer``.
    """

    def __init__(
        self,
        namesrv: str | Sequence[str],
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

    def ping(self) -> dict[str, int]:
        """Return the ms that a name server, and each broker, took to answer; see ``MQClient``."""
        return self.run(self.mq.ping())

    def request(
        self, message: Message, *, timeout_s: float, queue: MessageQueue | None = None
    ) -> MessageExt:
        """Send a message whose consumer replies, and return the reply; see ``Producer.request``."""
        self.producer.start()
        return self.producer.request(message, timeout_s=timeout_s, queue=queue)

    @contextmanager
    def transaction_producer(
        self,
        group: str,
        listener: TransactionListener,
        settings: ProducerSettings | None = None,
    ) -> Iterator[BlockingTransactionProducer]:
        """Start a transaction producer, which is shut down when the block ends.

        Args:
            group: the producer group.
            listener: its plain methods run in threads.
            settings: None means the defaults.

        Raises the same errors as ``TransactionProducer``.
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
        local_dir: str | Path = LOCAL_DIR,
    ) -> Iterator[BlockingPushConsumer]:
        """Start a push consumer, which is shut down when the block ends.

        Args:
            group: the consumer group.
            listener: gets the messages; a plain function runs in threads.
            topics: the expression to subscribe with, by topic.
            orderly: consume each queue in order.
            settings: None means the defaults.
            local_dir: broadcasting only: the directory of the offset files.

        Raises the same errors as ``PushConsumer.start``.
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
        local_dir: str | Path = LOCAL_DIR,
    ) -> Iterator[BlockingLitePullConsumer]:
        """Start a lite pull consumer, which is shut down when the block ends.

        Args:
            group: the consumer group.
            topics: the expression to subscribe with, by topic.
            settings: None means the defaults.
            local_dir: broadcasting only: the directory of the offset files.

        Raises the same errors as ``LitePullConsumer.start``.
        """
        with BlockingLitePullConsumer(self, group, settings, local_dir=local_dir) as consumer:
            for topic, expression in topics.items():
                consumer.subscribe(topic, expression)
            consumer.start()
            yield consumer

    @contextmanager
    def simple_consumer(
        self,
        group: str,
        topics: Mapping[str, str | MessageSelector],
        *,
        order: bool = False,
        consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    ) -> Iterator[BlockingSimpleConsumer]:
        """Make a simple consumer, which is shut down when the block ends.

        Args:
            group: the consumer group.
            topics: the expression to subscribe with, by topic.
            order: receive the messages of a queue in order.
            consume_from_where: where a group starts that has no offset in a queue yet.

        Raises the same errors as ``SimpleConsumer``.
        """
        with BlockingSimpleConsumer(
            self, group, order=order, consume_from_where=consume_from_where
        ) as consumer:
            for topic, expression in topics.items():
                consumer.subscribe(topic, expression)
            yield consumer

    async def _end(self) -> None:
        await self.producer.own.shutdown()
        await super()._end()
