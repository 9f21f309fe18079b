"""A look at raw consume queue entries.

Source: common/protocol/body/QueryConsumeQueueResponseBody.java, ConsumeQueueData.java (4.9.7).
"""

from dataclasses import dataclass

from remoting.bodies.base import Body
from remoting.bodies.heartbeat import SubscriptionData


@dataclass(slots=True, kw_only=True)
class ConsumeQueueData(Body):
    """One entry."""

    physic_offset: int = 0
    """Commit log offset, bytes."""
    physic_size: int = 0
    """Record size, bytes."""
    tags_code: int = 0
    extend_data_json: str | None = None
    """The entry's extension unit, as JSON text."""
    bit_map: str | None = None
    eval: bool = False
    """Whether the group's filter takes the message."""
    msg: str | None = None


@dataclass(slots=True, kw_only=True)
class QueryConsumeQueueResponseBody(Body):
    """Entries from an index on (request code 321)."""

    subscription_data: SubscriptionData | None = None
    filter_data: str | None = None
    """The group's filter as text; ``null`` in letters when it has none."""
    queue_data: list[ConsumeQueueData] | None = None
    max_queue_index: int = 0
    """Next queue offset to be written, in entries."""
    min_queue_index: int = 0
    """First readable queue offset, in entries."""
