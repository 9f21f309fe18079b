"""What there is to know of queues that are no objects now: numbers in columns.

    "topic-a" ─> ids 0 1 2 7 …, sorted
                 slot of each ──> first    first entry that has a file
                                  minimum  first entry that points at a kept record
                                  synced   entry from which on files may not be on the disk
                                  written  entry after the last that is in a file
                                  end      entry after the last
                                  waiting  where those in between wait; see ``Backlog``

Rule: a broker with tens of thousands of queues uses few of them at a time. One that is not
in use is a slot here and no object: 68 bytes, whether all of it is in its files or not. What
is not is found by comparing two columns, so that nobody keeps a list of it. A slot is given
away again when its queue is deleted.
"""

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import compress
from operator import ne
from typing import Final

NONE: Final = -1
"""Of ``waiting``: all entries are in files; of a slot: there is no such queue."""
NUMBERS: Final = struct.Struct("=6q")
NO_NUMBERS: Final = (0, 0, 0, 0, 0, NONE)
"""Of a queue without an entry."""
_SIZE: Final = NUMBERS.size
_WIDTH: Final = 6
_SYNCED, _WRITTEN, _END = 2, 3, 4
_NOTHING: Final = NUMBERS.pack(*NO_NUMBERS)


class _Topic:
    """Queue ids of one topic, sorted, and the slot of each."""

    __slots__ = ("ids", "slots")

    def __init__(self) -> None:
        self.ids = array("i")
        self.slots = array("i")


class QueueColumns:
    """The numbers of every queue, by slot."""

    def __init__(self) -> None:
        self.topics: list[str] = []
        """Of each slot; empty for one that is free."""
        self.queue_ids = array("i")
        self.numbers = bytearray()
        """``NUMBERS`` of each slot."""
        self._by_topic: dict[str, _Topic] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.topics) - len(self._free)

    def slot(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, NONE where there is none."""
        known = self._by_topic.get(topic)
        if known is None:
            return NONE
        ids = known.ids
        # Nearly always the ids of a topic are 0, 1, 2 and so on.
        place = queue_id
        if not (place < len(ids) and ids[place] == queue_id):
            place = bisect_left(ids, queue_id)
            if place == len(ids) or ids[place] != queue_id:
                return NONE
        return known.slots[place]

    def add(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, a new one where there was none."""
        slot = self.slot(topic, queue_id)
        if slot != NONE:
            return slot
        known = self._by_topic.get(topic)
        if known is None:
            known = self._by_topic[topic] = _Topic()
        if self._free:
            slot = self._free.pop()
            self.topics[slot], self.queue_ids[slot] = topic, queue_id
        else:
            slot = len(self.topics)
            self.topics.append(topic)
            self.queue_ids.append(queue_id)
            self.numbers += _NOTHING
        place = bisect_left(known.ids, queue_id)
        known.ids.insert(place, queue_id)
        known.slots.insert(place, slot)
        return slot

    def remove(self, slot: int) -> None:
        """Know a queue no more."""
        topic = self.topics[slot]
        known = self._by_topic[topic]
        place = bisect_left(known.ids, self.queue_ids[slot])
        del known.ids[place], known.slots[place]
        if not known.ids:
            del self._by_topic[topic]
        self.topics[slot] = ""
        self.put(slot, *NO_NUMBERS)
        self._free.append(slot)

    def get(self, slot: int) -> tuple[int, int, int, int, int, int]:
        """Return first, minimum, synced, written, end and waiting of a queue."""
        return NUMBERS.unpack_from(self.numbers, slot * _SIZE)

    def put(
        self, slot: int, first: int, minimum: int, synced: int, written: int, end: int, waiting: int
    ) -> None:
        """Set the numbers of a queue."""
        NUMBERS.pack_into(self.numbers, slot * _SIZE, first, minimum, synced, written, end, waiting)

    def slots_of(self, topic: str) -> "array[int]":
        """Return the slots of a topic's queues, by queue id."""
        known = self._by_topic.get(topic)
        return array("i") if known is None else known.slots[:]

    def __iter__(self) -> Iterator[int]:
        """Yield the slot of every queue, those of a topic by queue id."""
        for topic in list(self._by_topic):
            yield from self.slots_of(topic)

    def unwritten(self) -> "array[int]":
        """Return the slots of queues with entries that are in no file."""
        return self._where(_WRITTEN)

    def unsynced(self) -> "array[int]":
        """Return the slots of queues with entries that may not be on the disk."""
        return self._where(_SYNCED)

    def _where(self, column: int) -> "array[int]":
        with memoryview(self.numbers).cast("q") as numbers:
            differs = map(ne, numbers[column::_WIDTH], numbers[_END::_WIDTH])
            return array("i", compress(range(len(self.topics)), differs))
