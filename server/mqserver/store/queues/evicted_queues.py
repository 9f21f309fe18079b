"""Columnar state of evicted queues: numbers instead of objects.

    "topic-a" ─> slots, by queue id
                 each ──> first      first entry that has a file
                          minimum    first entry that points at a retained record
                          written    entry after the last that is in a file
                          unsynced   how many entries before that may not be on the disk
                          unwritten  how many entries follow that, up to the end of the queue
                          taken      the same plus messages that are not dispatched yet
                          waiting    place of the unwritten entries in the ``Backlog``

Rule: a broker with tens of thousands of queues uses few of them at a time, or each of them
seldom. A queue that is not in use is evicted: it is a slot here, of 52 bytes, and not an object,
whether or not all its entries are in files. Queues with unwritten or unsynced entries are
found by scanning a column, so there is no list of them to maintain. The slot of a deleted
queue is reused, unless one of its messages is still to be dispatched.
"""

import mmap
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import compress
from operator import or_
from typing import Final, Literal, NamedTuple

NONE: Final = -1
"""As ``waiting``: all entries are in files. As a slot: the queue does not exist."""
ALL: Final = (1 << 32) - 1
"""The largest value of ``unsynced``: all entries that have files may not be on the disk."""
FEW: Final = 1 << 16
"""Number of slots that the columns hold before they grow."""
_PRIVATE: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
LOOK: Final = 4096
"""Number of slots that one scan step copies."""


def _column(code: Literal["i", "I", "q"], count: int) -> "memoryview[int]":
    """Return ``count`` zeros in pages of their own, which take memory only once written."""
    size = count * struct.calcsize(code)
    return memoryview(mmap.mmap(-1, size, flags=_PRIVATE)).cast(code)


class Numbers(NamedTuple):
    """The numbers of one queue, in entries; see the module."""

    first: int
    minimum: int
    synced: int
    written: int
    end: int
    waiting: int
    next_offset: int
    """Queue offset of the next message that is put."""


class _Topic:
    """The number of a topic, and the slots of its queues sorted by queue id."""

    __slots__ = ("number", "slots")

    def __init__(self, number: int) -> None:
        self.number = number
        self.slots = array("i")


class QueueColumns:
    """A slot for every queue of a store, with its numbers while it is evicted."""

    def __init__(self) -> None:
        self._make_columns(FEW)
        self._by_topic: dict[str, _Topic] = {}
        # By topic number; the name of a free number is empty.
        self._names: list[str] = []
        self._free_numbers: list[int] = []
        # The end of the slots ever used, the reusable ones, and the number of slots in use.
        self._end = 0
        self._free: list[int] = []
        self._count = 0

    def _make_columns(self, count: int) -> None:
        self._topic_numbers = _column("i", count)
        self.queue_ids = _column("i", count)
        self.first = _column("q", count)
        self.minimum = _column("q", count)
        self.written = _column("q", count)
        """NONE if the slot is free, or its queue is loaded as an object."""
        self.unsynced = _column("I", count)
        self.unwritten = _column("I", count)
        self.taken = _column("I", count)
        self.waiting = _column("i", count)

    def _columns(self) -> "list[memoryview[int]]":
        return [
            self._topic_numbers, self.queue_ids, self.first, self.minimum, self.written,
            self.unsynced, self.unwritten, self.taken, self.waiting,
        ]  # fmt: skip

    def _grow(self) -> None:
        columns = self._columns()
        count = len(self.queue_ids)
        self._make_columns(2 * count)
        for column, old in zip(self._columns(), columns, strict=True):
            column[:count] = old

    def __len__(self) -> int:
        return self._count

    def slot(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, NONE if it does not exist."""
        topic_slots = self._by_topic.get(topic)
        if topic_slots is None:
            return NONE
        slots = topic_slots.slots
        if 0 <= queue_id < len(slots):
            # The ids of a topic are nearly always 0, 1, 2 and so on.
            slot = slots[queue_id]
            if self.queue_ids[slot] == queue_id:
                return slot
        place = self._place(slots, queue_id)
        if place == len(slots) or self.queue_ids[slots[place]] != queue_id:
            return NONE
        return slots[place]

    def _place(self, slots: "array[int]", queue_id: int) -> int:
        # Queues of a topic nearly always come in order of their ids.
        if not slots or self.queue_ids[slots[-1]] < queue_id:
            return len(slots)
        return bisect_left(slots, queue_id, key=self.queue_ids.__getitem__)

    def add(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, a new one if it has none."""
        slot = self.slot(topic, queue_id)
        if slot != NONE:
            return slot
        topic_slots = self._by_topic.get(topic)
        if topic_slots is None:
            topic_slots = self._by_topic[topic] = _Topic(self._number(topic))
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._end
            if slot == len(self.queue_ids):
                self._grow()
            self._end += 1
            self.clear(slot)
        self._topic_numbers[slot], self.queue_ids[slot] = topic_slots.number, queue_id
        topic_slots.slots.insert(self._place(topic_slots.slots, queue_id), slot)
        self._count += 1
        return slot

    def _number(self, topic: str) -> int:
        if not self._free_numbers:
            self._free_numbers.append(len(self._names))
            self._names.append("")
        number = self._free_numbers.pop()
        self._names[number] = topic
        return number

    def topic(self, slot: int) -> str:
        """Return the topic of a slot; empty if the slot is free."""
        number = self._topic_numbers[slot]
        return "" if number == NONE else self._names[number]

    def remove(self, slot: int, *, for_good: bool = False) -> None:
        """Remove a queue; with ``for_good`` its slot is not used again."""
        topic = self.topic(slot)
        topic_slots = self._by_topic[topic]
        topic_slots.slots.remove(slot)
        if not topic_slots.slots:
            del self._by_topic[topic]
            self._names[topic_slots.number] = ""
            self._free_numbers.append(topic_slots.number)
        self._topic_numbers[slot] = NONE
        self.clear(slot)
        self._count -= 1
        if not for_good:
            self._free.append(slot)

    def get(self, slot: int) -> Numbers:
        """Return the numbers of an evicted queue."""
        first, written, unsynced = self.first[slot], self.written[slot], self.unsynced[slot]
        return Numbers(
            first,
            self.minimum[slot],
            first if unsynced == ALL else written - unsynced,
            written,
            written + self.unwritten[slot],
            self.waiting[slot],
            self.next_offset(slot),
        )

    def set_row(self, slot: int, numbers: Numbers) -> None:
        """Set the numbers of a queue, which is evicted afterwards."""
        first, minimum, synced, written, end, waiting, next_offset = numbers
        self.first[slot] = first
        self.minimum[slot] = minimum
        self.written[slot] = written
        self.unsynced[slot] = min(written - synced, ALL)
        self.unwritten[slot] = end - written
        self.waiting[slot] = waiting
        self.taken[slot] = next_offset - written

    def clear(self, slot: int) -> None:
        """Drop the numbers of a queue, which is loaded or removed."""
        self.written[slot] = self.waiting[slot] = NONE
        self.unsynced[slot] = self.unwritten[slot] = self.taken[slot] = 0

    def assign_offsets(self, slot: int, count: int) -> int:
        """Assign the next ``count`` queue offsets of an evicted queue; return the first."""
        # Runs for each message of an evicted queue: no calls, and each column is read once.
        taken = self.taken[slot]
        self.taken[slot] = taken + count
        return self.written[slot] + taken

    def next_offset(self, slot: int) -> int:
        """Return the queue offset of the next message that is put."""
        return self.written[slot] + self.taken[slot]

    def slots_of(self, topic: str) -> "array[int]":
        """Return the slots of a topic's queues, sorted by queue id."""
        topic_slots = self._by_topic.get(topic)
        return array("i") if topic_slots is None else topic_slots.slots[:]

    def __iter__(self) -> Iterator[int]:
        """Yield the slot of every queue, topic by topic, sorted by queue id."""
        for topic in list(self._by_topic):
            yield from self.slots_of(topic)

    def with_unwritten(self) -> Iterator[int]:
        """Yield the slots of evicted queues with entries that are in no file.

        Each part of the columns is read when the iteration reaches it.
        """
        for part in self._parts():
            yield from compress(range(part.start, part.stop), self.unwritten[part].tolist())

    def with_unsynced(self) -> Iterator[int]:
        """Yield the slots of evicted queues with entries that may not be on the disk."""
        for part in self._parts():
            either = map(or_, self.unsynced[part].tolist(), self.unwritten[part].tolist())
            yield from compress(range(part.start, part.stop), either)

    def _parts(self) -> Iterator[slice]:
        end = self._end
        for start in range(0, end, LOOK):
            yield slice(start, min(start + LOOK, end))

    def written_now(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Return topic, queue id, first, minimum and written of every slot as they are now.

        The columns are copied at once, so another thread may iterate over the result.
        """
        end, names = self._end, [*self._names, ""]
        numbers = array("i", self._topic_numbers[:end].tobytes())
        queue_ids = array("i", self.queue_ids[:end].tobytes())
        others = [
            array("q", column[:end].tobytes())
            for column in (self.first, self.minimum, self.written)
        ]
        # The topic number of a free slot is NONE, which selects the empty name at the end.
        return zip(map(names.__getitem__, numbers), queue_ids, *others, strict=True)
