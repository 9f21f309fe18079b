"""The result of a send: where the message was stored, and how safely.

Source: client/producer/SendResult.java, SendStatus.java (4.9.7).
"""

from enum import StrEnum
from typing import Final, NamedTuple

from mqclient.client import responses
from mqclient.errors import refusal
from remoting.bodies import MessageQueue
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.headers import SendMessageResponse
from storefmt.formats.properties import MSG_REGION, TRACE_ON

RECALL_HANDLE: Final = "recallHandle"


class SendStatus(StrEnum):
    """How safely the message is stored; it is stored in each case."""

    SEND_OK = "SEND_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"


STATUS_OF: Final[dict[int, SendStatus]] = {
    ResponseCode.SUCCESS: SendStatus.SEND_OK,
    ResponseCode.FLUSH_DISK_TIMEOUT: SendStatus.FLUSH_DISK_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE: SendStatus.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT: SendStatus.FLUSH_SLAVE_TIMEOUT,
}
"""The status of each response code; any other code means that the message was not stored."""


class SendResult(NamedTuple):
    """Where a message was stored.

    Attributes:
        status: how safely it is stored.
        msg_id: the unique key that the client gave; comma separated for a batch.
        offset_msg_id: the offset id that the broker gave; comma separated for a batch.
        queue: the queue, without the namespace.
        queue_offset: offset in the queue, in entries; that of the first message of a batch.
        transaction_id: the broker's id of the transaction; "" for ordinary messages.
        region_id: the region of the broker; "" when it has none.
        trace_on: whether the broker wants the message to be traced.
        recall_handle: takes a timer message back before its time (brokers of RocketMQ 5); "" for
            other messages.
    """

    status: SendStatus
    msg_id: str
    offset_msg_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str = ""
    region_id: str = ""
    trace_on: bool = True
    recall_handle: str = ""

    @property
    def unique_key(self) -> str:
        """The same as ``msg_id``, under the name that it has in a received message."""
        return self.msg_id


def result_of(answer: Command, queue: MessageQueue, *, unique_key: str, address: str) -> SendResult:
    """Return the result that an answer to a send carries.

    Args:
        answer: the answer.
        queue: the queue that the message was sent to.
        unique_key: the id that the client gave to the message.
        address: the broker that answered, ``host:port``.

    Raises:
        NotFound, BrokerRefused: the message was not stored.
        BadAnswer: the answer does not say where the message is.
    """
    status = STATUS_OF.get(answer.code)
    if status is None:
        what = f"message to {queue.topic}, queue {queue.queue_id} of {queue.broker_name}"
        raise refusal(answer.code, answer.remark, address=address, what=what)
    ext = answer.ext
    stored = responses.header(answer, SendMessageResponse, address=address)
    if stored.queue_id != queue.queue_id:
        queue = MessageQueue(queue.topic, queue.broker_name, stored.queue_id)
    return SendResult(
        status,
        unique_key,
        stored.msg_id,
        queue,
        stored.queue_offset,
        stored.transaction_id or "",
        ext.get(MSG_REGION, ""),
        ext.get(TRACE_ON) != "false",
        ext.get(RECALL_HANDLE, ""),
    )
