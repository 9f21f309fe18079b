"""What counting gives: tallies by key, and which records count.

Rule: values only, no file is read here; both ways through a log fill the same tallies.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

KEYS_MAX: Final = 100_000
OTHERS: Final = "(others)"
Key = tuple[str | int | None, ...]
"""What records are counted under: (topic,), (topic, queue id), (tag,), (host,), (start in ms,)."""


class By(StrEnum):
    """What to count by."""

    TOPIC = "topic"
    QUEUE = "queue"
    TAG = "tag"
    PRODUCER = "producer"
    TIME = "time"


@dataclass(slots=True)
class Tally:
    """Records under one key: ``size`` in bytes of log, store times in ms."""

    count: int = 0
    size: int = 0
    first_ms: int = 0
    last_ms: int = 0

    def add(self, count: int, size: int, first_ms: int, last_ms: int) -> None:
        """Add records to it."""
        self.first_ms = min(self.first_ms, first_ms) if self.count else first_ms
        self.last_ms = max(self.last_ms, last_ms) if self.count else last_ms
        self.count += count
        self.size += size


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which records count; None for any. Store times in ms, both ends included."""

    topic: str | None = None
    begin_ms: int | None = None
    end_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Counting:
    """What is counted, and by what; ``bucket_ms`` is for ``By.TIME``."""

    by: By
    wanted: Wanted
    bucket_ms: int


@dataclass(slots=True)
class Tallies:
    """The tallies of one pass, by key."""

    found: dict[Key, Tally]

    def add(self, key: Key, count: int, size: int, first_ms: int, last_ms: int) -> None:
        """Add records under ``key``, or under ``OTHERS`` where there are too many keys."""
        tally = self.found.get(key)
        if tally is None:
            if len(self.found) >= KEYS_MAX:
                key = (OTHERS,)
            tally = self.found.setdefault(key, Tally())
        tally.add(count, size, first_ms, last_ms)

    def merge(self, found: dict[Key, Tally]) -> None:
        """Add other tallies, of records that come after those counted so far."""
        for key, tally in found.items():
            self.add(key, tally.count, tally.size, tally.first_ms, tally.last_ms)
