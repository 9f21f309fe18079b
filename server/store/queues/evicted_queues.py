"""What there is to know of queues that are no objects now: numbers in columns.

    "topic-a" ─> slots, by queue id
                 each ──> first      first entry that has a file
                          minimum    first entry that points at a kept record
                          written    entry after the last that is in a file
                          unsynced   entries before that which may not be on the disk
                          unwritten  entries after that; the next is the end of the queue
                          taken      the same, and messages that are not dispatched yet
                          waiting    where the unwritten ones wait; see ``Backlog``

Rule: a broker with tens of thousands of queues uses few of them at a time, or each of them
seldom. Such a one is a slot here and no object: 52 bytes, whether all of it is in its files
or not. What is not is found by a look through a column, so that nobody keeps a list of it. A
slot is given away again when its queue is deleted, unless a message of that is on its way.
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
"""Of ``waiting``: all entries are in files; of a slot: there is no such queue."""
ALL: Final = (1 << 32) - 1
"""Of ``unsynced``, which holds no more: all that has files may not be on the disk."""
FEW: Final = 1 << 16
"""Slots that there is room for before columns grow."""
_PRIVATE: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
LOOK: Final = 4096
"""Slots that are looked at at once."""


def _column(code: Literal["i", "I", "q"], count: int) -> "memoryview[int]":
    """Return so many zeros in pages of their own, of which those take memory that are used."""
    size = count * struct.calcsize(code)
    return memoryview(mmap.mmap(-1, size, flags=_PRIVATE)).cast(code)


class Numbers(NamedTuple):
    """The numbers of one queue, in entries; see above."""

    first: int
    minimum: int
    synced: int
    written: int
    end: int
    waiting: int
    next_offset: int
    """What the next message that is put gets."""


class _Topic:
    """A topic's number, and the slots of its queues, sorted by queue id."""

    __slots__ = ("number", "slots")

    def __init__(self, number: int) -> None:
        self.number = number
        self.slots = array("i")


class QueueColumns:
    """The numbers of every queue that rests, by slot."""

    def __init__(self) -> None:
        self._make_columns(FEW)
        self._by_topic: dict[str, _Topic] = {}
        # By number; one that is free has no name.
        self._names: list[str] = []
        self._free_numbers: list[int] = []
        # Slots that were given out, those that are free again, and the others.
        self._end = 0
        self._free: list[int] = []
        self._count = 0

    def _make_columns(self, count: int) -> None:
        self._topic_numbers = _column("i", count)
        self.queue_ids = _column("i", count)
        self.first = _column("q", count)
        self.minimum = _column("q", count)
        self.written = _column("q", count)
        """NONE of a slot that is free, or whose queue is an object now."""
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
        known = self._columns()
        count = len(self.queue_ids)
        self._make_columns(2 * count)
        for column, old in zip(self._columns(), known, strict=True):
            column[:count] = old

    def __len__(self) -> int:
        return self._count

    def slot(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, NONE where there is none."""
        known = self._by_topic.get(topic)
        if known is None:
            return NONE
        slots = known.slots
        if 0 <= queue_id < len(slots):
            # Nearly always the ids of a topic are 0, 1, 2 and so on.
            slot = slots[queue_id]
            if self.queue_ids[slot] == queue_id:
                return slot
        place = self._place(slots, queue_id)
        if place == len(slots) or self.queue_ids[slots[place]] != queue_id:
            return NONE
        return slots[place]

    def _place(self, slots: "array[int]", queue_id: int) -> int:
        # Nearly always they come in order.
        if not slots or self.queue_ids[slots[-1]] < queue_id:
            return len(slots)
        return bisect_left(slots, queue_id, key=self.queue_ids.__getitem__)

    def add(self, topic: str, queue_id: int) -> int:
        """Return the slot of a queue, a new one where there was none."""
        slot = self.slot(topic, queue_id)
        if slot != NONE:
            return slot
        known = self._by_topic.get(topic)
        if known is None:
            known = self._by_topic[topic] = _Topic(self._number(topic))
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._end
            if slot == len(self.queue_ids):
                self._grow()
            self._end += 1
            self.clear(slot)
        self._topic_numbers[slot], self.queue_ids[slot] = known.number, queue_id
        known.slots.insert(self._place(known.slots, queue_id), slot)
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
        """Return the topic of a slot; empty for one that is free."""
        number = self._topic_numbers[slot]
        return "" if number == NONE else self._names[number]

    def remove(self, slot: int, *, for_good: bool = False) -> None:
        """Know a queue no more; ``for_good``: nor any other by this slot."""
        topic = self.topic(slot)
        known = self._by_topic[topic]
        known.slots.remove(slot)
        if not known.slots:
            del self._by_topic[topic]
            self._names[known.number] = ""
            self._free_numbers.append(known.number)
        self._topic_numbers[slot] = NONE
        self.clear(slot)
        self._count -= 1
        if not for_good:
            self._free.append(slot)

    def get(self, slot: int) -> Numbers:
        """Return the numbers of a queue."""
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

    def put(self, slot: int, numbers: Numbers) -> None:
        """Set the numbers of a queue."""
        first, minimum, synced, written, end, waiting, next_offset = numbers
        self.first[slot] = first
        self.minimum[slot] = minimum
        self.written[slot] = written
        self.unsynced[slot] = min(written - synced, ALL)
        self.unwritten[slot] = end - written
        self.waiting[slot] = waiting
        self.taken[slot] = next_offset - written

    def clear(self, slot: int) -> None:
        """Hold the numbers of a queue no more."""
        self.written[slot] = self.waiting[slot] = NONE
        self.unsynced[slot] = self.unwritten[slot] = self.taken[slot] = 0

    def give(self, slot: int, count: int) -> int:
        """Give the next offsets of a queue to messages; returns the first."""
        # Once for each message of a queue at rest: no call, and each column read once.
        taken = self.taken[slot]
        self.taken[slot] = taken + count
        return self.written[slot] + taken

    def next_offset(self, slot: int) -> int:
        """Return what the next message of a queue gets."""
        return self.written[slot] + self.taken[slot]

    def slots_of(self, topic: str) -> "array[int]":
        """Return the slots of a topic's queues, by queue id."""
        known = self._by_topic.get(topic)
        return array("i") if known is None else known.slots[:]

    def __iter__(self) -> Iterator[int]:
        """Yield the slot of every queue, those of a topic by queue id."""
        for topic in list(self._by_topic):
            yield from self.slots_of(topic)

    def with_unwritten(self) -> Iterator[int]:
        """Yield the slots of queues with entries that are in no file, as it comes to them."""
        for part in self._parts():
            yield from compress(range(part.start, part.stop), self.unwritten[part].tolist())

    def with_unsynced(self) -> Iterator[int]:
        """Yield the slots of queues with entries that may not be on the disk."""
        for part in self._parts():
            either = map(or_, self.unsynced[part].tolist(), self.unwritten[part].tolist())
            yield from compress(range(part.start, part.stop), either)

    def _parts(self) -> Iterator[slice]:
        end = self._end
        for start in range(0, end, LOOK):
            yield slice(start, min(start + LOOK, end))

    def written_now(self) -> Iterator[tuple[str, int, int, int, int]]:
        """Return topic, queue id, first, minimum and written of every slot as they are now.

        It takes no time; what it returns may be gone through in another thread.
        """
        end, names = self._end, [*self._names, ""]
        numbers = array("i", self._topic_numbers[:end].tobytes())
        queue_ids = array("i", self.queue_ids[:end].tobytes())
        others = [
            array("q", column[:end].tobytes())
            for column in (self.first, self.minimum, self.written)
        ]
        # That of a free slot is NONE, the last.
        return zip(map(names.__getitem__, numbers), queue_ids, *others, strict=True)
