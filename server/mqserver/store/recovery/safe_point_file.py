"""The one writer of ``dispatch.json`` while a store runs.

    sync job (thread) ── advance ──┐
    delete topic (loop) ─ change ──┼──> one SafePoint, one lock ──> file
    retention (thread) ── change ──┘

Rule: every write records everything that is true by then, so no thread undoes a change of
another. Changes that arrive during a write share the next one. A removal (of a topic or an
expired file) is recorded before the data is deleted: after a crash in between there is more
data than the file names, and never less.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from mqserver.store.disk.disk import Disk
from mqserver.store.queues.queue_rows import QueueRow
from mqserver.store.recovery.safe_point import IndexMark, SafePoint, StoreState, write_safe_point
from storefmt.paths import StorePaths


@dataclass(slots=True)
class _Group:
    """Changes that are written together."""

    changes: list[Callable[[SafePoint], None]] = field(default_factory=list)
    is_done: bool = False
    error: Exception | None = None


class SafePointFile:
    """Holds the safe point and writes it to the file.

    Args:
        disk: the disk that holds the store.
        paths: the store's paths.
        point: the safe point as it is now; this object owns it from here on.
    """

    def __init__(self, disk: Disk, paths: StorePaths, point: SafePoint) -> None:
        self._disk = disk
        self._paths = paths
        self._point = point
        self._lock = threading.Lock()
        """Held by the thread that writes the file."""
        self._joining = threading.Lock()
        self._next = _Group()
        self._noted = point.clock_ms, dict(point.sealed_ms)
        self._min_of = point.min_of
        self._removed: list[tuple[str, int]] = []

    @property
    def safe_log_offset(self) -> int:
        """Log offset below which everything is on the disk, as last recorded."""
        return self._point.safe_log_offset

    def was_deleted(self, topic: str) -> bool:
        """Return whether a topic was deleted while the log still holds its older records."""
        return topic in self._point.deleted_topics

    def deleted_until(self, topic: str) -> int:
        """Return the log offset at which a topic was last deleted; 0 if it is not known."""
        return self._point.deleted_topics.get(topic, 0)

    @property
    def min_of(self) -> int:
        """Beginning of the log for which first retained entries are right, -1 for none."""
        return self._min_of

    @property
    def sealed_ms(self) -> dict[int, int]:
        """Retention clock value at which each log file was full, by the file's start."""
        return dict(self._noted[1])

    @property
    def clock_ms(self) -> int:
        """Last value of the retention clock."""
        return self._noted[0]

    def change(self, change: Callable[[SafePoint], None]) -> None:
        """Change the safe point and write it; blocks until it is on the disk.

        Raises:
            OSError: the disk refused it; the next write includes the change.
        """
        with self._joining:
            group = self._next
            group.changes.append(change)
        with self._lock:
            if not group.is_done:
                with self._joining:
                    self._next = _Group()
                try:
                    self._write(group.changes)
                except Exception as error:
                    group.error = error
                group.is_done = True
        if group.error is not None:
            raise group.error

    def _write(self, changes: Iterable[Callable[[SafePoint], None]]) -> None:
        # Removals go first, because a later change may add a new queue of the same name.
        while self._removed:
            self._point.queues.pop(*self._removed.pop())
        for change in changes:
            change(self._point)
        self._point.clock_ms, self._point.sealed_ms = self._noted
        self._point.min_of = self._min_of
        write_safe_point(self._disk, self._paths, self._point)

    def write(self) -> None:
        """Write the safe point as it is now.

        Raises:
            OSError: the disk refused it; the next write includes the same changes.
        """
        self.change(lambda point: None)

    def advance(
        self,
        until: int,
        ends: Iterable[tuple[str, int, QueueRow]],
        index: IndexMark | None,
        *,
        forgotten: Collection[tuple[str, int]] = (),
    ) -> None:
        """Record that everything below log offset ``until`` was synced.

        Args:
            until: log offset.
            ends: rows of the queues that changed since the last time; they count the entries of
                records below ``until``, which are all in synced files.
            index: the index up to ``until``; None if there is no index.
            forgotten: queues that were deleted meanwhile.

        Raises:
            OSError: the disk refused it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = max(point.safe_log_offset, until)
            point.index = index
            for topic, queue_id, row in ends:
                if (topic, queue_id) in forgotten:
                    continue
                old_row = point.queues.get(topic, queue_id)
                if old_row is not None:
                    # Retention may have moved the queue's beginning while the job ran.
                    first, minimum = map(max, zip(row[:2], old_row[:2], strict=True))
                    row = QueueRow(first, minimum, row.end)
                point.queues.put_row(topic, queue_id, row)

        self.change(apply)

    def forget_topic(self, topic: str, log_end: int) -> None:
        """Record that a topic is deleted and its records below ``log_end`` get no entries.

        Raises:
            OSError: the disk refused it.
        """
        self.change(lambda point: point.deleted_topics.update({topic: log_end}))

    def note_removed(self, key: tuple[str, int]) -> None:
        """Record with the next write that a queue (topic, queue id) is removed; never blocks."""
        self._removed.append(key)

    def note_min(self, log_min: int) -> None:
        """Record with the next write that queue minimums fit a log that begins at ``log_min``."""
        self._min_of = log_min

    def note_clock(self, clock_ms: int, sealed_ms: dict[int, int]) -> None:
        """Record the values of the retention clock with the next write; never blocks."""
        self._noted = clock_ms, sealed_ms

    def stop(self, log_end: int, files: str) -> None:
        """Record a proper shutdown, with the digest of the store's files.

        Raises:
            OSError: the disk refused it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = log_end
            point.state = StoreState.STOPPED
            point.files = files

        self.change(apply)
