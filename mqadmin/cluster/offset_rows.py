"""A committed offset as a row, online, out of a store, and in a file of ``offset export``."""

from dataclasses import dataclass

from mqadmin.output.rows import Row


@dataclass(frozen=True, slots=True)
class GroupOffset(Row):
    """Where a group reads next in one queue, in entries; no broker in a store directory."""

    group: str
    topic: str
    broker: str | None
    queue_id: int
    consumer_offset: int
