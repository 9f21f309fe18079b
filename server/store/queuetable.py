"""All consume queues of a store, by topic and queue id.

    find / obtain ──> awake: a ConsumeQueue ──rest, idle or when many are──> a slot
                          ^───────────────────── find ─────────────────────────┘

Rule: a queue comes into being with its first message and gets a directory with its first
written entries. It is an object only while it is in use: nobody keeps one for longer than a
call unless a message of it is on its way. A deleted topic leaves an empty directory, as in
Java: that is how a later scan of the log knows that its old messages are not to come back.

Source: store/DefaultMessageStore.java#findConsumeQueue, #cleanUnusedTopic.
"""

from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Final

from server.store.backlog import CHUNK_SIZE
from server.store.config import EXT_FILE_SIZE
from server.store.disk import Disk
from server.store.ext import ExtFiles
from server.store.queue import TAIL_KEEP_SIZE, ConsumeQueue, QueueFiles, TopicPlace
from server.store.queuecolumns import NO_NUMBERS, NONE, NUMBERS, QueueColumns
from server.store.queuerows import QueueRow, QueueRows
from storefmt.paths import StorePaths, check_queue_id, check_topic_name

AWAKE_IDLE_MAX: Final = 1024
"""Idle queues that stay awake, so that those who are read again and again do."""
AWAKE_MAX: Final = 1 << 16
"""Queues that stay awake while they are in use; to wake one takes as long as a put into it."""
TAILS_KEEP_SIZE: Final = AWAKE_IDLE_MAX * TAIL_KEEP_SIZE
"""Bytes of written entries that stay in memory, of all queues together."""
BACKLOG_MAX: Final = (64 << 20) // CHUNK_SIZE
"""Chunks of unwritten entries of queues that rest; beyond it they are written before a rest."""
PLACES_MAX: Final = 4096
SLACK: Final = 256
"""Queues that may be awake beyond that, so that they go to rest many at a time."""
LOOKS_A_REST: Final = 4 * SLACK


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
        self._columns = QueueColumns()
        self._paths = paths
        self._places: dict[str, TopicPlace] = {}

    def __len__(self) -> int:
        return len(self._columns)

    def has(self, topic: str, queue_id: int) -> bool:
        """Tell whether there is such a queue."""
        return self._columns.slot(topic, queue_id) != NONE

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return a queue, woken if need be; None where there is none."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return queue
        slot = self._columns.slot(topic, queue_id)
        return None if slot == NONE else self._wake(slot, topic, queue_id)

    def _wake(self, slot: int, topic: str, queue_id: int) -> ConsumeQueue:
        numbers = self._columns.get(slot)
        queue = ConsumeQueue(self.files, self.place(topic), queue_id, slot, *numbers)
        self.queues[topic, queue_id] = queue
        return queue

    def at(self, slot: int) -> ConsumeQueue | None:
        """Return the queue of a slot, woken if need be; None for one that is free."""
        topic = self._columns.topics[slot]
        return self.find(topic, self._columns.queue_ids[slot]) if topic else None

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
        self.place(topic)
        slot = self._columns.add(topic, check_queue_id(topic, queue_id))
        self._columns.put(slot, *NO_NUMBERS)
        return self._wake(slot, topic, queue_id)

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
    def is_crowded(self) -> bool:
        """Tell whether it is time for some queues to rest."""
        return len(self.queues) > AWAKE_MAX + SLACK

    def rest_idle(self) -> None:
        """Let some queues rest of which all is on the disk, until AWAKE_IDLE_MAX are awake."""
        self.files.tail_keep_size = min(TAIL_KEEP_SIZE, TAILS_KEEP_SIZE // (len(self.queues) or 1))
        self._rest(AWAKE_IDLE_MAX, is_idle=True)

    def rest_after_start(self) -> None:
        """Let all that a start has woken rest but for some, and write nothing."""
        while len(self.queues) > AWAKE_IDLE_MAX:
            self._rest(AWAKE_IDLE_MAX)

    def rest(self, *, may_write: bool = True) -> None:
        """Let some of those rest that are awake longest, until AWAKE_MAX are left.

        Args:
            may_write: whether entries that find no room in the backlog go to their files.

        Raises:
            OSError: the disk did not take them; nothing is lost.
        """
        is_full = may_write and self.files.backlog.chunk_count >= BACKLOG_MAX
        self._rest(AWAKE_MAX, is_full=is_full)

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
            queue.rest()
            self._columns.put(
                queue.slot, queue.first, queue.min_offset, queue.synced_count,
                queue.written_count, queue.max_offset, queue.waiting,
            )  # fmt: skip

    def slots(self) -> "array[int]":
        """Return the slot of every queue."""
        return array("i", self._columns)

    def unwritten(self) -> "array[int]":
        """Return the slots of queues with entries that are in no file, at least."""
        awake = (queue.slot for queue in self.queues.values() if queue.unwritten_size)
        return self._columns.unwritten() + array("i", awake)

    def unsynced(self) -> "array[int]":
        """Return the slots of queues with entries that may not be on the disk, at least."""
        awake = (
            queue.slot for queue in self.queues.values() if queue.synced_count != queue.max_offset
        )
        return self._columns.unsynced() + array("i", awake)

    def row(self, topic: str, queue_id: int) -> QueueRow | None:
        """Return where a queue begins and ends, without waking it; None for no queue."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return QueueRow(queue.first, queue.min_offset, queue.max_offset)
        slot = self._columns.slot(topic, queue_id)
        if slot == NONE:
            return None
        first, minimum, _, _, end, _ = self._columns.get(slot)
        return QueueRow(first, minimum, end)

    def put_row(self, topic: str, queue_id: int, row: QueueRow) -> None:
        """Know a queue that rests, all of it on the disk."""
        first, minimum, end = row
        self._columns.put(self._columns.add(topic, queue_id), first, minimum, end, end, end, NONE)

    def put_rows(self, rows: QueueRows) -> None:
        """Know many of them."""
        for topic, queue_id, row in rows:
            self.put_row(topic, queue_id, row)

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id and row of every queue."""
        topics, queue_ids = self._columns.topics, self._columns.queue_ids
        for slot in self._columns:
            row = self.row(topics[slot], queue_ids[slot])
            assert row is not None
            yield topics[slot], queue_ids[slot], row

    def written_rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Return topic, queue id and row of every queue as it is now, up to what is in its files.

        It takes no time; what it returns may be gone through in another thread.
        """
        columns = self._columns
        awake = {
            queue.slot: QueueRow(queue.first, queue.min_offset, queue.written_count)
            for queue in self.queues.values()
        }
        return _written(columns.topics[:], columns.queue_ids[:], bytes(columns.numbers), awake)

    def set_begin(self, topic: str, queue_id: int, *, first: int, minimum: int) -> None:
        """Let a queue, which there is, begin later."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            queue.first, queue.min_offset = first, minimum
            return
        slot = self._columns.slot(topic, queue_id)
        self._columns.put(slot, first, minimum, *self._columns.get(slot)[2:])

    def keys(self) -> list[tuple[str, int]]:
        """Return (topic, queue id) of every queue, sorted."""
        columns = self._columns
        return sorted((columns.topics[slot], columns.queue_ids[slot]) for slot in columns)

    def has_topic(self, topic: str) -> bool:
        """Tell whether a topic has queues."""
        return bool(self._columns.slots_of(topic))

    def forget(self, queue: ConsumeQueue) -> None:
        """Know a queue no more; its files are somebody else's."""
        key = queue.key
        queue.recall()
        queue.deleted = True
        del self.queues[key]
        self._columns.remove(queue.slot)
        queue.close_files()
        self.forgotten.add(key)
        self.delete_count += 1

    def take_topic(self, topic: str) -> list[ConsumeQueue]:
        """Know a topic no more; returns the queues it had.

        Raises:
            BadCall: the topic cannot be a path.
        """
        check_topic_name(topic)
        queues = [self.at(slot) for slot in self._columns.slots_of(topic)]
        known = [queue for queue in queues if queue is not None]
        for queue in known:
            self.forget(queue)
        return known

    def close(self) -> None:
        """Close every file."""
        self.files.close()
        self.exts.close()


def _written(
    topics: list[str], queue_ids: "array[int]", numbers: bytes, awake: dict[int, QueueRow]
) -> Iterator[tuple[str, int, QueueRow]]:
    rows = NUMBERS.iter_unpack(numbers)
    for slot, (topic, queue_id, row) in enumerate(zip(topics, queue_ids, rows, strict=True)):
        if topic:
            first, minimum, _, written, _, _ = row
            yield topic, queue_id, awake.get(slot) or QueueRow(first, minimum, written)
