"""One attempt of a send that is under way: from the broker's answer to a ``SendResult``.

    post ── SendAttempt ──┬── stored      the usual answer: a result
                          ├── answered    any other answer: a result or an error
                          └── failed      no answer: Unreachable or TimedOut

Rule: a message needs neither a task nor a request object. The frame is written from its parts,
and the answer is decoded where it arrives, because these are most of the cost of pipelined sends.

Source: client/impl/MQClientAPIImpl.java#sendMessageAsync, #onExceptionImpl (4.9.7).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

from mqclient.client import responses
from mqclient.errors import ClientError
from mqclient.producer.send_request import PackedMessage, SendCommands
from mqclient.producer.send_result import SendResult, SendStatus, result_of
from remoting.bodies import MessageQueue
from remoting.command import Command
from remoting.errors import BadCall, ConnectionLost, RemotingError, RequestTimedOut
from remoting.fast_path import Stored

if TYPE_CHECKING:
    from remoting.aio.channel import Channel

# This takes half the time that a call of the class takes.
_new_result: Final = cast(
    "Callable[[type[SendResult], tuple[object, ...]], SendResult]", tuple.__new__
)


class SendOutcome(Protocol):
    """Gets the result or the error of a send, as a future does."""

    def done(self) -> bool:
        """Return whether the caller has stopped waiting."""

    def set_result(self, result: SendResult, /) -> None:
        """Store the result, and wake the caller."""

    def set_exception(self, error: ClientError, /) -> None:
        """Store the error, and wake the caller."""


class SendAttempt:
    """Waits for the answer to one attempt.

    Args:
        future: gets the result, or the error unless ``again`` is given.
        out: the packed message.
        queue: the queue that it was sent to.
        address: the broker that it was sent to, ``host:port``.
        timeout_s: how long the answer may take, for the error text.
        again: gets an error in place of the future, which stays open for the next attempt.

    Attributes:
        future: gets the result or a ``ClientError``.
    """

    __slots__ = ("_again", "_timeout_s", "address", "future", "out", "queue")

    def __init__(
        self,
        future: SendOutcome,
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

    def post(
        self, channel: "Channel", commands: SendCommands, *, now_ms: int, deadline_s: float
    ) -> None:
        """Write the request on a connection.

        Args:
            channel: an open connection to the broker.
            commands: builds the request.
            now_ms: the time of the send, in ms since 1970.
            deadline_s: the time until which to wait, by the clock of the loop.

        Raises:
            BadRequest: the request cannot be encoded.
        """
        opaque = channel.pending.next_opaque()
        try:
            frame = commands.frame(self.out, self.queue, opaque, now_ms=now_ms)
            channel.post(opaque, frame, self, deadline_s)
        except BadCall as error:
            raise responses.client_error(error, address=self.address) from error

    def stored(self, stored: Stored) -> None:
        """Handle the usual answer, which no timer message gets: the message was stored."""
        _, queue_id, trace_on, region_id, msg_id, queue_offset, _ = stored
        queue = self.queue
        if queue_id != queue.queue_id:
            queue = MessageQueue(queue.topic, queue.broker_name, queue_id)
        fields = (
            SendStatus.SEND_OK, self.out.unique_key, msg_id, queue, queue_offset, "", region_id,
            trace_on, "",
        )  # fmt: skip
        # The caller may have cancelled the future meanwhile.
        if not self.future.done():
            self.future.set_result(_new_result(SendResult, fields))

    def answered(self, answer: Command) -> None:
        """Handle any other answer."""
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
        """Handle a lost connection, or an answer that did not come in time."""
        wire: RemotingError
        if isinstance(error, ConnectionLost):
            wire = error
        else:
            wire = RequestTimedOut.of(self.address, self.out.code, timeout_s=self._timeout_s)
        failure = responses.client_error(wire, address=self.address)
        failure.__cause__ = wire
        self._raise(failure)

    def _raise(self, error: ClientError) -> None:
        if self.future.done():
            return
        if self._again is None:
            self.future.set_exception(error)
        else:
            self._again(error)
