"""All consume queues of a store, by topic and queue id.

    find / obtain ──> loaded: a ConsumeQueue ──evicted if idle or too many──> a slot
                          ^──────────── find; or borrowed for a moment ───────┘
    put ── handle ──> a ConsumeQueue, or the slot if many are loaded ──> backlog

Rule: a queue exists from its first message on and gets a directory with its first written
entries. It is an object ("loaded") only while it is in use: no code keeps a reference for longer
than a call, unless one of its messages is still to be dispatched. While many queues are loaded,
a put does not load another one: with tens of thousands of queues used in turn, loading would
take as long as the put. A deleted topic leaves an empty directory, as in Java: it shows a later
scan of the log that the topic's old messages must not be restored.

Source: store/DefaultMessageStore.java#findConsumeQueue, #cleanUnusedTopic.
"""

import threading
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Final

from mqserver.store.disk.disk import Disk
from mqserver.store.queues.entry_backlog import CHUNK_SIZE
from mqserver.store.queues.evicted_queues import NONE, Numbers, QueueColumns
from mqserver.store.queues.ext import ExtFiles
from mqserver.store.queues.queue import (
    TAIL_KEEP,
    ConsumeQueue,
    QueueFiles,
    TopicPlace,
)
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.queues.removal import RemoveJob
from mqserver.store.store_config import EXT_FILE_SIZE
from storefmt.paths import StorePaths, check_queue_id, check_topic_name

LOADED_IDLE_MAX: Final = 256
"""Idle queues that stay loaded, so that queues which are read repeatedly stay in memory."""
LOADED_PUT_MAX: Final = 512
"""Number of loaded queues from which a put leaves its queue evicted, since it needs no object."""
LOADED_MAX: Final = 1 << 16
"""Queues that stay loaded while they are read; loading one for each pull would triple its time."""
TAILS_KEEP: Final = LOADED_IDLE_MAX * TAIL_KEEP
"""Written entries of all queues together that stay in memory."""
BACKLOG_MAX: Final = (64 << 20) // CHUNK_SIZE
"""Chunks of unwritten entries of evicted queues; beyond it, queues stay loaded until written."""
PLACES_MAX: Final = 4096
SLACK: Final = 256
"""Loaded queues above that limit at which eviction starts, so that it evicts many at a time."""
LOOKS_AN_EVICTION: Final = 4 * SLACK
UNWRITTEN_MAX: Final = 400
"""Number of unwritten entries at which an evicted queue is loaded by the next one."""

_EMPTY: Final = QueueRow(0, 0, 0)

QueueHandle = ConsumeQueue | int
"""What takes the next messages of a queue: the loaded queue, or the slot of an evicted one."""


class QueueTable:
    """All queues; ``queues`` maps (topic, queue id) to each loaded one.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        file_size: bytes of a consume queue file.
        ext_file_size: bytes of a consume queue ext file.
    """

    def __init__(
        self, disk: Disk, paths: StorePaths, *, file_size: int, ext_file_size: int = EXT_FILE_SIZE
    ) -> None:
        self.files = QueueFiles(disk, file_size=file_size)
        self.exts = ExtFiles(disk, paths, file_size=ext_file_size)
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.forgotten: set[tuple[str, int]] = set()
        """Keys of queues that were deleted since the last sync round began."""
        self.delete_count = 0
        """Number of deletions, by which another thread's findings are recognized as outdated."""
        self.removal_lock = threading.Lock()
        """Held while the files of a queue are written, and while its directory is moved away."""
        self.removals: list[RemoveJob] = []
        """Removals of queues that have not ended."""
        self.columns = QueueColumns()
        """The slots of all queues, and the numbers of evicted ones."""
        self._paths = paths
        self._places: dict[str, TopicPlace] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def has(self, topic: str, queue_id: int) -> bool:
        """Return whether a queue exists."""
        return self.columns.slot(topic, queue_id) != NONE

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return a queue, loaded if necessary; None if it does not exist."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return queue
        slot = self.columns.slot(topic, queue_id)
        return None if slot == NONE else self._load(slot, topic, queue_id)

    def _load(self, slot: int, topic: str, queue_id: int) -> ConsumeQueue:
        numbers = self.columns.get(slot)
        queue = ConsumeQueue(self.files, self.place(topic), queue_id, slot, *numbers)
        self.queues[topic, queue_id] = queue
        self.columns.clear(slot)
        return queue

    def at(self, slot: int) -> ConsumeQueue | None:
        """Return the queue of a slot, loaded if necessary; None if the slot is free."""
        topic = self.columns.topic(slot)
        return self.find(topic, self.columns.queue_ids[slot]) if topic else None

    @contextmanager
    def borrow(self, slot: int) -> Iterator[ConsumeQueue | None]:
        """Lend the queue of a slot, None if it is free; an evicted queue is evicted afterwards."""
        was_evicted = self.is_evicted(slot)
        queue = self.at(slot)
        try:
            yield queue
        finally:
            if was_evicted and queue is not None:
                del self.queues[queue.key]
                self._evict_one(queue)

    def is_evicted(self, slot: int) -> bool:
        """Return whether the queue of a slot is not loaded."""
        return self.columns.written[slot] != NONE

    def evict_again(self, queue: ConsumeQueue) -> None:
        """Evict a queue that was loaded to be written, unless it is in use by now."""
        if not queue.deleted and self._may_evict(queue):
            del self.queues[queue.key]
            self._evict_one(queue)

    def _may_evict(self, queue: ConsumeQueue) -> bool:
        # A message that is still to be dispatched may refer to the object, and so may a write.
        is_used = queue.next_offset != queue.max_offset or queue.writing_until >= 0
        return not is_used and not (self.exts.in_use and self.exts.has(queue))

    def _evict_one(self, queue: ConsumeQueue) -> None:
        queue.evict()
        self.columns.set_row(queue.slot, queue.numbers)

    def obtain(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return a queue, created if it does not exist.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        return self.find(topic, queue_id) or self.make(topic, queue_id)

    def make(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return a new queue without entries.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        return self._load(self._new_slot(topic, queue_id), topic, queue_id)

    def _new_slot(self, topic: str, queue_id: int) -> int:
        self.place(topic)
        return self.put_row(topic, check_queue_id(topic, queue_id), _EMPTY)

    def handle(self, topic: str, queue_id: int) -> QueueHandle:
        """Return what takes a message of a queue that is evicted or does not exist yet.

        Raises:
            BadCall: the topic or the queue id cannot be part of a path.
        """
        slot = self.columns.slot(topic, queue_id)
        if slot == NONE:
            slot = self._new_slot(topic, queue_id)
        return slot if len(self.queues) >= LOADED_PUT_MAX else self._load(slot, topic, queue_id)

    def place(self, topic: str) -> TopicPlace:
        """Return the values that the queues of a topic share.

        Raises:
            BadCall: the topic cannot be part of a path.
        """
        places = self._places.get(topic)
        if places is None:
            if len(self._places) >= PLACES_MAX:
                self._places.clear()
            places = self._places[topic] = TopicPlace.of(self._paths, topic)
        return places

    @property
    def has_room(self) -> bool:
        """Return whether the backlog has room for more unwritten entries."""
        return self.files.backlog.chunk_count < BACKLOG_MAX

    @property
    def is_crowded(self) -> bool:
        """Return whether so many queues are loaded that some should be evicted."""
        return len(self.queues) > LOADED_MAX + SLACK

    def evict_idle(self) -> None:
        """Evict some queues that are fully on the disk, until LOADED_IDLE_MAX are loaded."""
        self.files.tail_keep = min(TAIL_KEEP, TAILS_KEEP // (len(self.queues) or 1))
        self._evict(LOADED_IDLE_MAX, is_idle=True)

    def evict_after_start(self) -> None:
        """Evict all but LOADED_IDLE_MAX queues after a start, without writing to queue files."""
        while len(self.queues) > LOADED_IDLE_MAX:
            self._evict(LOADED_IDLE_MAX)

    def evict(self) -> None:
        """Evict some of the queues that were loaded first, until LOADED_MAX are left.

        While the backlog has no room for their entries, they stay loaded.
        """
        if self.has_room:
            self._evict(LOADED_MAX)

    def _evict(self, limit: int, *, is_idle: bool = False) -> None:
        queues = self.queues
        # Some queues may have to stay loaded, so one call examines a limited number.
        count = min(max(len(queues) - limit, 0), LOOKS_AN_EVICTION)
        for key in list(islice(queues, count)):
            queue = queues.pop(key)
            is_wanted = is_idle and queue.synced_count != queue.max_offset
            if is_wanted or not self._may_evict(queue):
                queues[key] = queue
            else:
                self._evict_one(queue)

    def slots(self) -> "array[int]":
        """Return the slot of every queue."""
        return array("i", self.columns)

    def unwritten(self) -> Iterator[int]:
        """Yield the slots of queues with entries that are in no file.

        Queues that are loaded, evicted or appended to meanwhile may be missed.
        """
        loaded = [queue.slot for queue in self.queues.values() if queue.unwritten_size]
        return chain(loaded, self.columns.with_unwritten())

    def unsynced(self) -> "array[int]":
        """Return the slots of queues with entries that may not be on the disk."""
        queues = self.queues.values()
        loaded = [queue.slot for queue in queues if queue.synced_count != queue.max_offset]
        return array("i", chain(loaded, self.columns.with_unsynced()))

    def row(self, topic: str, queue_id: int) -> QueueRow | None:
        """Return where a queue begins and ends, without loading it; None if it does not exist."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return QueueRow(queue.first, queue.min_offset, queue.max_offset)
        slot = self.columns.slot(topic, queue_id)
        if slot == NONE:
            return None
        numbers = self.columns.get(slot)
        return QueueRow(numbers.first, numbers.minimum, numbers.end)

    def put_row(self, topic: str, queue_id: int, row: QueueRow) -> int:
        """Add or replace an evicted queue that is fully on the disk; return its slot."""
        first, minimum, end = row
        slot = self.columns.add(topic, queue_id)
        self.columns.set_row(slot, Numbers(first, minimum, end, end, end, NONE, end))
        return slot

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id and row of every queue."""
        columns = self.columns
        for slot in columns:
            topic, queue_id = columns.topic(slot), columns.queue_ids[slot]
            row = self.row(topic, queue_id)
            assert row is not None
            yield topic, queue_id, row

    def written_rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Return topic, queue id and row of every queue as it is now, up to its written end.

        The numbers are copied at once, so another thread may iterate over the result.
        """
        loaded = {
            queue.slot: QueueRow(queue.first, queue.min_offset, queue.written_count)
            for queue in self.queues.values()
        }
        return _written(self.columns.written_now(), loaded)

    def set_begin(self, topic: str, queue_id: int, *, first: int, minimum: int) -> None:
        """Make an existing queue begin later.

        Args:
            topic: the topic of the queue.
            queue_id: its id.
            first: first entry that has a file.
            minimum: first entry that points at a retained record.
        """
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            queue.first, queue.min_offset = first, minimum
            return
        slot = self.columns.slot(topic, queue_id)
        self.columns.first[slot], self.columns.minimum[slot] = first, minimum

    def keys(self) -> list[tuple[str, int]]:
        """Return (topic, queue id) of every queue in sorted order."""
        columns = self.columns
        return sorted((columns.topic(slot), columns.queue_ids[slot]) for slot in columns)

    def has_topic(self, topic: str) -> bool:
        """Return whether a topic has any queue."""
        return bool(self.columns.slots_of(topic))

    def forget(self, queue: ConsumeQueue) -> None:
        """Remove a queue from the table; the caller takes care of its files."""
        key = queue.key
        queue.recall()
        queue.deleted = True
        del self.queues[key]
        # A message that is still to be dispatched may refer to the queue by its slot.
        self.columns.remove(queue.slot, for_good=queue.next_offset != queue.max_offset)
        queue.close_files()
        self.forgotten.add(key)
        self.delete_count += 1

    def begin_removal(self, job: RemoveJob) -> RemoveJob:
        """Keep new queues of these names in memory until ``end_removal``; return the job."""
        self.removals.append(job)
        return job

    def end_removal(self, job: RemoveJob) -> None:
        """Let queues be written whose namesakes are moved away."""
        self.removals.remove(job)

    def is_being_removed(self, key: tuple[str, int]) -> bool:
        """Return whether the files of an older queue of this name may not be moved away yet."""
        return any(key in job.keys for job in self.removals)

    def take_topic(self, topic: str) -> list[ConsumeQueue]:
        """Remove the queues of a topic from the table and return them.

        Raises:
            BadCall: the topic cannot be part of a path.
        """
        check_topic_name(topic)
        queues = [self.at(slot) for slot in self.columns.slots_of(topic)]
        existing = [queue for queue in queues if queue is not None]
        for queue in existing:
            self.forget(queue)
        return existing

    def close(self) -> None:
        """Close every file."""
        self.files.close()
        self.exts.close()


def _written(
    slots: Iterator[tuple[str, int, int, int, int]], loaded: dict[int, QueueRow]
) -> Iterator[tuple[str, int, QueueRow]]:
    for slot, (topic, queue_id, first, minimum, written) in enumerate(slots):
        if topic:
            yield topic, queue_id, loaded.get(slot) or QueueRow(first, minimum, written)
