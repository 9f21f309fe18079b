"""The client for code that does not await: a loop in a thread of its own.

    with BlockingClient("127.0.0.1:9876") as client:
        client.send(Message("T", b"hello"))
        names = client.run(Admin(client.mq).topic_list())

Rule: any number of threads may call; each call waits for its own result. Nothing is retried
or changed here, this is only the way in.
"""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Self, TypeVar

from mqclient.errors import BadRequest
from mqclient.instance import MQClient
from mqclient.message import Message
from mqclient.producer import DEFAULT_GROUP, Producer
from mqclient.sent import SendResult
from remoting.bodies import MessageQueue

_T = TypeVar("_T")


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
            BadRequest: the client is closed.
            ClientError: whatever the coroutine raises.
        """
        if self._loop.is_closed():
            work.close()
            raise BadRequest("the client is closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def send(
        self,
        message: Message,
        *,
        queue: MessageQueue | None = None,
        timeout_s: float | None = None,
    ) -> SendResult:
        """Send one message and wait until it is stored; as ``Producer.send``."""
        return self.run(self._producer.send(message, queue=queue, timeout_s=timeout_s))

    def close(self) -> None:
        """Close all connections and end the thread; a second call does nothing."""
        if self._loop.is_closed():
            return
        self.run(self.mq.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
