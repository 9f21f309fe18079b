"""The client for code that does not await: a loop in a thread of its own.

    with BlockingClient("127.0.0.1:9876") as client:
        client.send(Message("T", b"hello"))
        reply = client.request(Message("Questions", b"?"), timeout_s=3)
        names = client.run(Admin(client.mq).topic_list())

        with client.push_consumer("group", listener, {"T": "*"}):
            input("listening, return ends it")

        with client.lite_pull_consumer("other", {"T": "TagA || TagB"}) as consumer:
            for message in consumer.poll():
                print(message.body)

Rule: any number of threads may call; each call waits for its own result. Nothing is retried
or changed here, this is only the way in: what is not wrapped goes through ``run``. A call that
nobody waits for any more (Ctrl-C, a closed client) is cancelled, so that it takes no message.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self, TypeVar

from mqclient.errors import BadRequest
from mqclient.instance import MQClient
from mqclient.listeners import ConcurrentListener, OrderlyListener
from mqclient.litepull import LitePullConsumer
from mqclient.litesettings import LitePullSettings
from mqclient.message import Message, MessageExt
from mqclient.producer import DEFAULT_GROUP, Producer
from mqclient.producersettings import ProducerSettings
from mqclient.pushconsumer import PushConsumer
from mqclient.pushsettings import PushSettings
from mqclient.sent import SendResult
from mqclient.subscription import MessageSelector
from mqclient.txproducer import TransactionListener, TransactionProducer, TransactionSendResult
from remoting.bodies import MessageQueue

_T = TypeVar("_T")
_LAST_S: Final = 1.0
"""How long a closing client waits for what it cancelled."""


class BlockingClient:
    """An ``MQClient`` whose calls wait.

    Args:
        namesrv: ``host:port;host:port``.
        group: producer group of ``send``.
        timeout_s: how long one request may take.
        access_key: with ``secret_key``, signs every request.

    Attributes:
        mq: the client, for ``run``.
    """

    def __init__(
        self,
        namesrv: str,
        *,
        group: str = DEFAULT_GROUP,
        timeout_s: float = 5.0,
        access_key: str | None = None,
        secret_key: str | None = None,
    ) -> None:
        self.mq = MQClient(
            namesrv, timeout_s=timeout_s, access_key=access_key, secret_key=secret_key
        )
        self._producer = Producer(self.mq, group)
        # A call is either before the end of the loop, which cancels it, or refused.
        self._gate = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"mqclient-{namesrv}", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine of this package in the client's loop, return its result.

        Raises:
            BadRequest: the client is closed, this is its own loop, or a fork of its process.
            ClientError: whatever the coroutine raises.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise BadRequest(
                "a call that waits, inside of the loop it waits for",
                hint="await in coroutine listeners, or let the listener be a plain function",
            )
        with self._gate:
            if self._closed or not self._thread.is_alive():
                work.close()
                if self._closed:
                    raise BadRequest("the client is closed")
                raise BadRequest(
                    "the client was made before a fork, its thread is not in this process",
                    hint="make a client in every process",
                )
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise BadRequest("the client was closed meanwhile") from None
        finally:
            future.cancel()

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send one message and wait until it is stored; as ``Producer.send``."""
        return self.run(self._producer.send(message, queue=queue, timeout_s=timeout_s))

    def request(self, message: Message, *, timeout_s: float) -> MessageExt:
        """Send a message whose consumer replies, return the reply; as ``Producer.request``."""

        async def ask() -> MessageExt:
            await self._producer.start()
            return await self._producer.request(message, timeout_s=timeout_s)

        return self.run(ask())

    @contextmanager
    def transaction_producer(
        self,
        group: str,
        listener: TransactionListener,
        settings: ProducerSettings | None = None,
    ) -> "Iterator[Callable[[Message, object], TransactionSendResult]]":
        """Yield a function that sends a message in a transaction: message, argument --> result.

        Args:
            listener: its methods run in threads.

        Raises: as ``TransactionProducer.send_message_in_transaction``.
        """
        producer = TransactionProducer(self.mq, group, listener, settings=settings)
        self.run(producer.start())
        try:
            yield lambda message, arg: self.run(producer.send_message_in_transaction(message, arg))
        finally:
            self.run(producer.shutdown())

    @contextmanager
    def push_consumer(
        self,
        group: str,
        listener: ConcurrentListener | OrderlyListener,
        topics: Mapping[str, str | MessageSelector],
        *,
        orderly: bool = False,
        settings: PushSettings | None = None,
    ) -> Iterator[PushConsumer]:
        """Let a plain function have the messages of topics, in threads, until the block ends.

        Args:
            topics: expression by topic.
            orderly: queue by queue in order.

        Raises: as ``PushConsumer.start``.
        """
        consumer = PushConsumer(self.mq, group, settings)
        consumer.register_message_listener(listener, orderly=orderly)
        for topic, expression in topics.items():
            consumer.subscribe(topic, expression)
        try:
            self.run(consumer.start())
            yield consumer
        finally:
            self.run(consumer.shutdown())

    @contextmanager
    def lite_pull_consumer(
        self,
        group: str,
        topics: Mapping[str, str | MessageSelector],
        settings: LitePullSettings | None = None,
    ) -> "Iterator[BlockingLitePullConsumer]":
        """Join a group whose messages are polled, until the block ends.

        Raises: as ``LitePullConsumer.start``.
        """
        consumer = LitePullConsumer(self.mq, group, settings)
        for topic, expression in topics.items():
            consumer.subscribe(topic, expression)
        try:
            self.run(consumer.start())
            yield BlockingLitePullConsumer(self, consumer)
        finally:
            self.run(consumer.shutdown())

    def close(self) -> None:
        """Close all connections and end the thread; a second call does nothing.

        Calls of other threads that wait meanwhile raise ``BadRequest``.
        """
        with self._gate:
            if self._closed:
                return
            self._closed = True
        if not self._thread.is_alive():
            # In a fork; what is left belongs to the other process.
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        await self.mq.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_LAST_S)


class BlockingLitePullConsumer:
    """A ``LitePullConsumer`` whose calls wait.

    Attributes:
        consumer: the consumer itself, for ``BlockingClient.run``.
    """

    def __init__(self, client: BlockingClient, consumer: LitePullConsumer) -> None:
        self._client = client
        self.consumer = consumer

    def poll(self, timeout_ms: int | None = None) -> list[MessageExt]:
        """Return the next messages of one queue, none when none come in time."""
        return self._client.run(self.consumer.poll(timeout_ms))

    def commit(self) -> None:
        """Be done with all that was polled; raises ClientError."""
        self._client.run(self.consumer.commit())

    def seek(self, queue: MessageQueue, queue_offset: int) -> None:
        """Go on at a queue offset; raises as ``LitePullConsumer.seek``."""
        self._client.run(self.consumer.seek(queue, queue_offset))

    def assignment(self) -> list[MessageQueue]:
        """Return the queues this consumer has now, sorted."""
        return self.consumer.assignment()
