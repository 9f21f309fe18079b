"""One try of a send that is on its way: from the broker's answer to a ``SendResult``.

    post ── Sending waits ──┬── stored      result
                            ├── answered    result, or the refusal as an error
                            └── failed      Unreachable, TimedOut

Rule: no task and no request object a message: the frame is written from its parts, and the answer
is read where it comes in, because that is most of what sends with a window cost.

Source: client/impl/MQClientAPIImpl.java#sendMessageAsync, #onExceptionImpl (4.9.7).
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from mqclient.client import responses
from mqclient.errors import ClientError
from mqclient.producer.send_request import PackedMessage
from mqclient.producer.send_result import SendResult, SendStatus, result_of
from remoting.bodies import MessageQueue
from remoting.command import Command
from remoting.errors import ConnectionLost, RemotingError, RequestTimedOut
from remoting.frame import RawFrame
from remoting.sends import Stored

# Half the time that calling the class takes.
_new_result: Final = cast(
    "Callable[[type[SendResult], tuple[object, ...]], SendResult]", tuple.__new__
)


class SendAttempt:
    """Waits for the answer to one try.

    Args:
        queue: where the message was sent.
        address: whom it was sent to.
        timeout_s: how long the answer may take, for the error.
        again: takes the error instead of the future, which stays open.

    Attributes:
        future: gets the result or a ``ClientError``.
    """

    __slots__ = ("_again", "_timeout_s", "address", "future", "out", "queue")

    def __init__(
        self,
        future: "asyncio.Future[SendResult]",
        out: PackedMessage,
        queue: MessageQueue,
        address: str,
        timeout_s: float,
        again: Callable[[ClientError], None] | None,
    ) -> None:
        self.future = future
        self.out = out
        self.queue = queue
        self.address = address
        self._timeout_s = timeout_s
        self._again = again

    def stored(self, stored: Stored, raw: RawFrame) -> None:
        """Take the usual answer."""
        _, queue_id, trace_on, region_id, msg_id, queue_offset = stored
        queue = self.queue
        if queue_id != queue.queue_id:
            queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
        fields = (
            SendStatus.SEND_OK, self.out.unique_key, msg_id, queue, queue_offset, "", region_id,
            trace_on,
        )  # fmt: skip
        # Who waited may have been cancelled meanwhile.
        if not self.future.done():
            self.future.set_result(_new_result(SendResult, fields))

    def answered(self, answer: Command) -> None:
        """Take any other answer."""
        try:
            result = result_of(
                answer, self.queue, unique_key=self.out.unique_key, address=self.address
            )
        except ClientError as error:
            self._raise(error)
        else:
            if not self.future.done():
                self.future.set_result(result)

    def failed(self, error: ConnectionLost | TimeoutError) -> None:
        """Learn that no answer came."""
        wire: RemotingError
        if isinstance(error, ConnectionLost):
            wire = error
        else:
            wire = RequestTimedOut.of(self.address, self.out.code, timeout_s=self._timeout_s)
        failure = responses.translated(wire, address=self.address)
        failure.__cause__ = wire
        self._raise(failure)

    def _raise(self, error: ClientError) -> None:
        if self.future.done():
            return
        if self._again is None:
            self.future.set_exception(error)
        else:
            self._again(error)
