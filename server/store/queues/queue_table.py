"""All consume queues of a store, by topic and queue id.

    find / obtain ──> awake: a ConsumeQueue ──rest, idle or when many are──> a slot
                          ^─────────────── find; borrowed, for a moment ───────┘
    put ── taker ──> a ConsumeQueue, or where many are awake a slot ──> backlog

Rule: a queue comes into being with its first message and gets a directory with its first
written entries. It is an object only while it is in use: nobody keeps one for longer than a
call unless a message of it is on its way. A put does not make it one where that many are:
with tens of thousands in use by turns, waking would take as long as the put. A deleted topic
leaves an empty directory, as in Java: that is how a later scan of the log knows that its old
messages are not to come back.

Source: store/DefaultMessageStore.java#findConsumeQueue, #cleanUnusedTopic.
"""

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Final

from server.store.config import EXT_FILE_SIZE
from server.store.disk.disk import Disk
from server.store.queues.entry_backlog import CHUNK_SIZE
from server.store.queues.evicted_queues import NONE, Numbers, QueueColumns
from server.store.queues.ext import ExtFiles
from server.store.queues.queue import (
    TAIL_FLUSH_SIZE,
    TAIL_KEEP,
    ConsumeQueue,
    QueueFiles,
    TopicPlace,
)
from server.store.queues.queue_rows import QueueRow, QueueRows
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.paths import StorePaths, check_queue_id, check_topic_name

AWAKE_IDLE_MAX: Final = 256
"""Idle queues that stay awake, so that those who are read again and again do."""
AWAKE_PUT_MAX: Final = 512
"""Queues beyond which a put leaves its queue asleep: what is only written to needs no object."""
AWAKE_MAX: Final = 1 << 16
"""Queues that stay awake while they are read; to wake one for each pull would triple its time."""
TAILS_KEEP: Final = AWAKE_IDLE_MAX * TAIL_KEEP
"""Written entries that stay in memory, of all queues together."""
BACKLOG_MAX: Final = (64 << 20) // CHUNK_SIZE
"""Chunks of unwritten entries of queues that rest; beyond it they are written before a rest."""
PLACES_MAX: Final = 4096
SLACK: Final = 256
"""Queues that may be awake beyond that, so that they go to rest many at a time."""
LOOKS_A_REST: Final = 4 * SLACK
UNWRITTEN_MAX: Final = TAIL_FLUSH_SIZE // ENTRY_SIZE
"""Entries that may wait for their file; one more, and the queue is written at once."""

_EMPTY: Final = QueueRow(0, 0, 0)

Taker = ConsumeQueue | int
"""Who takes the next messages of a queue: it, or the slot of one that rests."""


class QueueTable:
    """The queues; ``queues`` maps (topic, queue id) to each that is awake."""

    def __init__(
        self, disk: Disk, paths: StorePaths, *, file_size: int, ext_file_size: int = EXT_FILE_SIZE
    ) -> None:
        self.files = QueueFiles(disk, paths.root, file_size=file_size)
        self.exts = ExtFiles(disk, paths, file_size=ext_file_size)
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.forgotten: set[tuple[str, int]] = set()
        """Queues that were deleted since somebody emptied this."""
        self.delete_count = 0
        """Queues that were deleted: what another thread saw before may be of another one."""
        self.columns = QueueColumns()
        """Of queues that rest."""
        self._paths = paths
        self._places: dict[str, TopicPlace] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def has(self, topic: str, queue_id: int) -> bool:
        """Tell whether there is such a queue."""
        return self.columns.slot(topic, queue_id) != NONE

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return a queue, woken if need be; None where there is none."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return queue
        slot = self.columns.slot(topic, queue_id)
        return None if slot == NONE else self._wake(slot, topic, queue_id)

    def _wake(self, slot: int, topic: str, queue_id: int) -> ConsumeQueue:
        numbers = self.columns.get(slot)
        queue = ConsumeQueue(self.files, self.place(topic), queue_id, slot, *numbers)
        self.queues[topic, queue_id] = queue
        self.columns.clear(slot)
        return queue

    def at(self, slot: int) -> ConsumeQueue | None:
        """Return the queue of a slot, woken if need be; None for one that is free."""
        topic = self.columns.topic(slot)
        return self.find(topic, self.columns.queue_ids[slot]) if topic else None

    @contextmanager
    def borrowed(self, slot: int) -> Iterator[ConsumeQueue | None]:
        """Give the queue of a slot, None for one that is free; if it rested it does so again."""
        rested = self.columns.written[slot] != NONE
        queue = self.at(slot)
        try:
            yield queue
        finally:
            if rested and queue is not None:
                del self.queues[queue.key]
                self._lay_down(queue)

    def _lay_down(self, queue: ConsumeQueue) -> None:
        queue.rest()
        self.columns.put(queue.slot, queue.numbers)

    def obtain(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return a queue, made if there is none.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        return self.find(topic, queue_id) or self.make(topic, queue_id)

    def make(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return a new queue, without an entry.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        return self._wake(self._new_slot(topic, queue_id), topic, queue_id)

    def _new_slot(self, topic: str, queue_id: int) -> int:
        self.place(topic)
        return self.put_row(topic, check_queue_id(topic, queue_id), _EMPTY)

    def taker(self, topic: str, queue_id: int) -> Taker:
        """Return who takes a message of a queue that is not awake, or is not there yet.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        slot = self.columns.slot(topic, queue_id)
        if slot == NONE:
            slot = self._new_slot(topic, queue_id)
        return slot if len(self.queues) >= AWAKE_PUT_MAX else self._wake(slot, topic, queue_id)

    def place(self, topic: str) -> TopicPlace:
        """Return what the queues of a topic share.

        Raises:
            BadCall: the topic cannot be a path.
        """
        known = self._places.get(topic)
        if known is None:
            if len(self._places) >= PLACES_MAX:
                self._places.clear()
            known = self._places[topic] = TopicPlace.of(self._paths, topic)
        return known

    @property
    def has_room(self) -> bool:
        """Tell whether more entries may wait without a queue in memory."""
        return self.files.backlog.chunk_count < BACKLOG_MAX

    @property
    def is_crowded(self) -> bool:
        """Tell whether it is time for some queues to rest."""
        return len(self.queues) > AWAKE_MAX + SLACK

    def rest_idle(self) -> None:
        """Let some queues rest of which all is on the disk, until AWAKE_IDLE_MAX are awake."""
        self.files.tail_keep = min(TAIL_KEEP, TAILS_KEEP // (len(self.queues) or 1))
        self._rest(AWAKE_IDLE_MAX, is_idle=True)

    def rest_after_start(self) -> None:
        """Let all that a start has woken rest but for some, and write nothing."""
        while len(self.queues) > AWAKE_IDLE_MAX:
            self._rest(AWAKE_IDLE_MAX)

    def rest(self, *, may_write: bool = True) -> None:
        """Let some of those rest that are awake longest, until AWAKE_MAX are left.

        Args:
            may_write: whether entries that find no room in the backlog go to their files; else
                their queues stay awake.

        Raises:
            OSError: the disk did not take them; nothing is lost.
        """
        if may_write or self.has_room:
            self._rest(AWAKE_MAX, is_full=not self.has_room)

    def _rest(self, limit: int, *, is_idle: bool = False, is_full: bool = False) -> None:
        queues = self.queues
        has_units = self.exts.has if self.exts.in_use else None
        # Some of them may have to stay: a turn is not to look at all of these again and again.
        count = min(max(len(queues) - limit, 0), LOOKS_A_REST)
        for key in list(islice(queues, count)):
            queue = queues.pop(key)
            may_rest = queue.next_offset == queue.max_offset
            may_rest &= not is_idle or queue.synced_count == queue.max_offset
            if not may_rest or (has_units and has_units(queue)):
                queues[key] = queue
                continue
            if is_full and queue.unwritten_size:
                try:
                    queue.write()
                except OSError:
                    queues[key] = queue
                    raise
            self._lay_down(queue)

    def slots(self) -> "array[int]":
        """Return the slot of every queue."""
        return array("i", self.columns)

    def unwritten(self) -> Iterator[int]:
        """Yield the slots of queues with entries that are in no file.

        It may miss some that are woken, go to rest or get entries meanwhile.
        """
        awake = [queue.slot for queue in self.queues.values() if queue.unwritten_size]
        return chain(awake, self.columns.with_unwritten())

    def unsynced(self) -> "array[int]":
        """Return the slots of queues with entries that may not be on the disk."""
        queues = self.queues.values()
        awake = [queue.slot for queue in queues if queue.synced_count != queue.max_offset]
        return array("i", chain(awake, self.columns.with_unsynced()))

    def row(self, topic: str, queue_id: int) -> QueueRow | None:
        """Return where a queue begins and ends, without waking it; None for no queue."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return QueueRow(queue.first, queue.min_offset, queue.max_offset)
        slot = self.columns.slot(topic, queue_id)
        if slot == NONE:
            return None
        numbers = self.columns.get(slot)
        return QueueRow(numbers.first, numbers.minimum, numbers.end)

    def put_row(self, topic: str, queue_id: int, row: QueueRow) -> int:
        """Know a queue that rests, all of it on the disk; returns its slot."""
        first, minimum, end = row
        slot = self.columns.add(topic, queue_id)
        self.columns.put(slot, Numbers(first, minimum, end, end, end, NONE, end))
        return slot

    def put_rows(self, rows: QueueRows) -> None:
        """Know many of them."""
        for topic, queue_id, row in rows:
            self.put_row(topic, queue_id, row)

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id and row of every queue."""
        columns = self.columns
        for slot in columns:
            topic, queue_id = columns.topic(slot), columns.queue_ids[slot]
            row = self.row(topic, queue_id)
            assert row is not None
            yield topic, queue_id, row

    def written_rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Return topic, queue id and row of every queue as it is now, up to what is in its files.

        It takes no time; what it returns may be gone through in another thread.
        """
        awake = {
            queue.slot: QueueRow(queue.first, queue.min_offset, queue.written_count)
            for queue in self.queues.values()
        }
        return _written(self.columns.written_now(), awake)

    def set_begin(self, topic: str, queue_id: int, *, first: int, minimum: int) -> None:
        """Let a queue, which there is, begin later."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            queue.first, queue.min_offset = first, minimum
            return
        slot = self.columns.slot(topic, queue_id)
        self.columns.first[slot], self.columns.minimum[slot] = first, minimum

    def keys(self) -> list[tuple[str, int]]:
        """Return (topic, queue id) of every queue, sorted."""
        columns = self.columns
        return sorted((columns.topic(slot), columns.queue_ids[slot]) for slot in columns)

    def has_topic(self, topic: str) -> bool:
        """Tell whether a topic has queues."""
        return bool(self.columns.slots_of(topic))

    def forget(self, queue: ConsumeQueue) -> None:
        """Know a queue no more; its files are somebody else's."""
        key = queue.key
        queue.recall()
        queue.deleted = True
        del self.queues[key]
        # A message on its way may know the queue by its slot.
        self.columns.remove(queue.slot, for_good=queue.next_offset != queue.max_offset)
        queue.close_files()
        self.forgotten.add(key)
        self.delete_count += 1

    def take_topic(self, topic: str) -> list[ConsumeQueue]:
        """Know a topic no more; returns the queues it had.

        Raises:
            BadCall: the topic cannot be a path.
        """
        check_topic_name(topic)
        queues = [self.at(slot) for slot in self.columns.slots_of(topic)]
        known = [queue for queue in queues if queue is not None]
        for queue in known:
            self.forget(queue)
        return known

    def close(self) -> None:
        """Close every file."""
        self.files.close()
        self.exts.close()


def _written(
    slots: Iterator[tuple[str, int, int, int, int]], awake: dict[int, QueueRow]
) -> Iterator[tuple[str, int, QueueRow]]:
    for slot, (topic, queue_id, first, minimum, written) in enumerate(slots):
        if topic:
            yield topic, queue_id, awake.get(slot) or QueueRow(first, minimum, written)
