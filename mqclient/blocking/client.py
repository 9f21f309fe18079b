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
from typing import TYPE_CHECKING

from mqclient.blocking.clients import (
    BlockingLitePullConsumer,
    BlockingProducer,
    BlockingPushConsumer,
    BlockingTransactionProducer,
)
from mqclient.blocking.loop import BlockingLoop
from mqclient.client.instance import MQClient
from mqclient.client.settings import ClientSettings
from mqclient.consumer.listeners import ConcurrentListener, OrderlyListener
from mqclient.consumer.lite_pull_settings import LitePullSettings
from mqclient.consumer.offset_store import LOCAL_DIR
from mqclient.consumer.push_settings import PushSettings
from mqclient.consumer.subscription import MessageSelector
from mqclient.message import Message, MessageExt
from mqclient.producer.producer import DEFAULT_GROUP
from mqclient.producer.settings import ProducerSettings
from mqclient.producer.transaction_producer import TransactionListener
from remoting.bodies import MessageQueue

if TYPE_CHECKING:
    from remoting.aio.client import OnExchange
    from remoting.aio.tls import ClientTls


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
