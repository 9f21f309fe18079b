"""Which messages are wanted, the same for what brokers send and for what a store holds."""

from dataclasses import dataclass

from storefmt.message import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which records are wanted; None and empty mean any. Times in ms, both ends included."""

    topic: str | None = None
    queue_id: int | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    producer: str | None = None
    begin_ms: int | None = None
    end_ms: int | None = None
    property: tuple[tuple[str, str], ...] = ()

    def wants(self, record: Record) -> bool:
        """Return whether a record passes."""
        if self.topic is not None and record.topic != self.topic:
            return False
        if self.queue_id is not None and record.queue_id != self.queue_id:
            return False
        if self.begin_ms is not None and record.store_ms < self.begin_ms:
            return False
        if self.end_ms is not None and record.store_ms > self.end_ms:
            return False
        if self.key is not None and self.key != record.unique_key and self.key not in record.keys:
            return False
        if self.tags and record.tags not in self.tags:
            return False
        properties = record.properties if self.property else {}
        if any(properties.get(name) != value for name, value in self.property):
            return False
        return self.producer is None or record.properties.get("PGROUP") == self.producer
