"""The body with entries of a consume queue as they are stored.

Source: common/protocol/body/QueryConsumeQueueResponseBody.java, ConsumeQueueData.java (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body
from remoting.bodies.heartbeat import SubscriptionData


@dataclass(slots=True, kw_only=True)
class ConsumeQueueData(Body):
    """One entry of a consume queue."""

    physic_offset: int = 0
    """The commit log offset of the record, in bytes."""
    physic_size: int = 0
    """The size of the record, in bytes."""
    tags_code: int = 0
    extend_data_json: str | None = None
    """The extension unit of the entry, as JSON text."""
    bit_map: str | None = None
    eval: bool = False
    """True when the filter of the group accepts the message."""
    msg: str | None = None


@dataclass(slots=True, kw_only=True)
class QueryConsumeQueueResponseBody(Body):
    """The broker returns consume queue entries from a queue offset on (request code 321)."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    """The filter of the group as text; the word ``null`` when the group has none."""
    queue_data: list[ConsumeQueueData] | None = None
    max_queue_index: int = 0
    """The next queue offset that will be written, in entries."""
    min_queue_index: int = 0
    """The first readable queue offset, in entries."""
