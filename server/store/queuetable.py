"""All consume queues of a store, by topic and queue id.

    find / obtain ──> awake: a ConsumeQueue ──rest, when it is idle──> asleep: a row
                          ^───────────────────── find ─────────────────────┘

Rule: a queue comes into being with its first message and gets a directory with its first
written entries. It is an object only while it is in use: nobody keeps one for longer than a
call unless something of it is not written or not synced. A deleted topic leaves an empty
directory, as in Java: that is how a later scan of the log knows that its old messages are
not to come back.

Source: store/DefaultMessageStore.java#findConsumeQueue, #cleanUnusedTopic.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from server.store.config import EXT_FILE_SIZE
from server.store.disk import Disk
from server.store.ext import ExtFiles
from server.store.queue import TAIL_KEEP_SIZE, ConsumeQueue, QueueFiles, TopicPlace
from server.store.queuerows import QueueRow, QueueRows
from storefmt.paths import StorePaths, check_queue_id, check_topic_name

AWAKE_IDLE_MAX: Final = 1024
"""Idle queues that stay awake, so that those who are read again and again do."""
TAILS_KEEP_SIZE: Final = AWAKE_IDLE_MAX * TAIL_KEEP_SIZE
"""Bytes of written entries that stay in memory, of all queues together."""
PLACES_MAX: Final = 4096


class QueueTable:
    """The queues; ``queues`` maps (topic, queue id) to each that is awake."""

    def __init__(
        self, disk: Disk, paths: StorePaths, *, file_size: int, ext_file_size: int = EXT_FILE_SIZE
    ) -> None:
        self.files = QueueFiles(disk, file_size=file_size)
        self.exts = ExtFiles(disk, paths, file_size=ext_file_size)
        self.queues: dict[tuple[str, int], ConsumeQueue] = {}
        self.asleep = QueueRows()
        self.delete_count = 0
        """Queues that were deleted: what another thread saw before may be of another one."""
        self._paths = paths
        self._places: dict[str, TopicPlace] = {}

    def __len__(self) -> int:
        return len(self.queues) + len(self.asleep)

    def has(self, topic: str, queue_id: int) -> bool:
        """Tell whether there is such a queue."""
        return (topic, queue_id) in self.queues or (topic, queue_id) in self.asleep

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """Return a queue, woken if need be; None where there is none."""
        queue = self.queues.get((topic, queue_id))
        if queue is not None:
            return queue
        row = self.asleep.pop(topic, queue_id)
        if row is None:
            return None
        queue = self.make(topic, queue_id, max_offset=row.end, first=row.first)
        queue.min_offset = row.minimum
        return queue

    def obtain(self, topic: str, queue_id: int) -> ConsumeQueue:
        """Return a queue, made if there is none.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        return self.find(topic, queue_id) or self.make(topic, queue_id)

    def make(
        self,
        topic: str,
        queue_id: int,
        *,
        min_offset: int = 0,
        max_offset: int = 0,
        first: int = 0,
    ) -> ConsumeQueue:
        """Return a new queue; offsets count entries.

        Raises:
            BadCall: the topic or the id cannot be a path.
        """
        queue = ConsumeQueue(
            self.files,
            self.place(topic),
            queue_id=check_queue_id(topic, queue_id),
            min_offset=min_offset,
            max_offset=max_offset,
            first=first,
        )
        self.queues[topic, queue_id] = queue
        return queue

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

    def rest(self, count: int) -> None:
        """Let idle queues fall asleep; looks at ``count`` of those that are awake longest."""
        self.files.tail_keep_size = min(TAIL_KEEP_SIZE, TAILS_KEEP_SIZE // (len(self.queues) or 1))
        surplus = len(self.queues) - AWAKE_IDLE_MAX
        for key in list(islice(self.queues, min(count, max(surplus, 0)))):
            queue = self.queues.pop(key)
            if queue.is_idle and not self.exts.has(queue):
                self.asleep.put(*key, _row_of(queue))
            else:
                self.queues[key] = queue

    def row(self, topic: str, queue_id: int) -> QueueRow | None:
        """Return where a queue begins and ends, without waking it; None for no queue."""
        queue = self.queues.get((topic, queue_id))
        return self.asleep.get(topic, queue_id) if queue is None else _row_of(queue)

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id and row of every queue."""
        for (topic, queue_id), queue in self.queues.items():
            yield topic, queue_id, _row_of(queue)
        yield from self.asleep

    def keys(self) -> list[tuple[str, int]]:
        """Return (topic, queue id) of every queue, sorted."""
        return sorted([*self.queues, *((topic, number) for topic, number, _ in self.asleep)])

    def has_topic(self, topic: str) -> bool:
        """Tell whether a topic has queues."""
        return bool(self.asleep.topic(topic)) or any(key[0] == topic for key in self.queues)

    def wake_topic(self, topic: str) -> list[ConsumeQueue]:
        """Return every queue of a topic."""
        for queue_id, _ in self.asleep.topic(topic):
            self.find(topic, queue_id)
        return [queue for key, queue in self.queues.items() if key[0] == topic]

    def forget(self, queue: ConsumeQueue) -> None:
        """Know a queue no more; its files are somebody else's."""
        queue.deleted = True
        self.queues.pop((queue.topic, queue.queue_id), None)
        queue.close_files()
        self.delete_count += 1

    def take_topic(self, topic: str) -> list[ConsumeQueue]:
        """Know a topic no more; returns the queues it had.

        Raises:
            BadCall: the topic cannot be a path.
        """
        check_topic_name(topic)
        queues = self.wake_topic(topic)
        for queue in queues:
            self.forget(queue)
        return queues

    def close(self) -> None:
        """Close every file."""
        self.files.close()
        self.exts.close()


def _row_of(queue: ConsumeQueue) -> QueueRow:
    return QueueRow(queue.first, queue.min_offset, queue.max_offset)
