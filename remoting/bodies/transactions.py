"""The open transactions of a broker of this project; Java has no such request.

Source: none in Java; the keys are those that its own bodies have for the same values.
"""

from dataclasses import dataclass, field

from remoting.bodies.base import Body
from remoting.header import key


@dataclass(slots=True, kw_only=True)
class OpenTransaction(Body):
    """A half message that waits for a decision.

    Attributes:
        topic, queue_id: where the message will be visible.
        producer_group: the group that the broker asks.
        unique_key: the id that the client gave; msg_id is the offset id of the half message.
        log_offset: offset in the commit log, in bytes.
        half_offset: queue offset in the half topic, in entries.
        born_ms, store_ms: when it was sent and stored, in ms since 1970.
        check_times: how often the broker has asked for the decision.
    """

    topic: str
    queue_id: int
    producer_group: str = ""
    unique_key: str = ""
    msg_id: str
    log_offset: int = field(metadata=key("commitLogOffset"))
    half_offset: int
    born_ms: int = field(metadata=key("bornTimestamp"))
    store_ms: int = field(metadata=key("storeTimestamp"))
    check_times: int


@dataclass(slots=True, kw_only=True)
class OpenTransactions(Body):
    """The open transactions of a broker (request code 10002).

    Attributes:
        transactions: oldest first.
        is_complete: False when the broker has more than it lists at once.
        half_offset, op_offset: how far the broker has read the half topic and the op topic, in
            entries.
    """

    transactions: list[OpenTransaction]
    is_complete: bool = field(metadata=key("complete"))
    half_offset: int = 0
    op_offset: int = 0
