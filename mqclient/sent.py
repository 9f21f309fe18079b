"""What became of a send.

Source: client/producer/SendResult.java, SendStatus.java (4.9.7).
"""

from enum import StrEnum
from typing import Final, NamedTuple

from remoting.bodies import MessageQueue
from remoting.codes import ResponseCode


class SendStatus(StrEnum):
    """How well the message is kept; it is stored in each case."""

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
"""By response code; any other code means that the message was not stored."""


class SendResult(NamedTuple):
    """Where a message was stored.

    Attributes:
        unique_key: the id given here; comma separated for a batch.
        msg_id: the offset id given by the broker; comma separated for a batch.
        queue_offset: place in the queue, in entries; of the first message of a batch.
        transaction_id: of a half message, "" for others.
        region_id: the broker's region, "" where it says none.
        trace_on: whether the broker wants the message to be traced.
    """

    status: SendStatus
    unique_key: str
    msg_id: str
    queue: MessageQueue
    queue_offset: int
    transaction_id: str = ""
    region_id: str = ""
    trace_on: bool = True
