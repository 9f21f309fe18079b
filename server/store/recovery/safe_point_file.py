"""The one writer of ``dispatch.json`` while a store runs.

    sync job (thread) ── advance ──┐
    delete topic (loop) ─ change ──┼──> one SafePoint, one lock ──> file
    retention (thread) ── change ──┘

Rule: every write says all that is true by then, so no thread undoes what another said. Changes
that come while the disk takes a write share the next one.
What makes data go (a deleted topic, an expired file) is said before it goes: a crash in
between leaves more than is named, and never less.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from server.store.disk.disk import Disk
from server.store.queues.queue_rows import QueueRow
from server.store.recovery.safe_point import IndexMark, SafePoint, Writer, write_safe_point
from storefmt.paths import StorePaths


@dataclass(slots=True)
class _Group:
    """Changes that are written at once."""

    changes: list[Callable[[SafePoint], None]] = field(default_factory=list)
    is_done: bool = False
    error: Exception | None = None


class SafePointFile:
    """Holds what the file says.

    Args:
        point: what is true now; it belongs to this object from here on.
    """

    def __init__(self, disk: Disk, paths: StorePaths, point: SafePoint) -> None:
        self._disk = disk
        self._paths = paths
        self._point = point
        self._lock = threading.Lock()
        """Held by the thread that writes."""
        self._joining = threading.Lock()
        self._next = _Group()
        self._noted = point.clock_ms, dict(point.sealed_ms)
        self._min_of = point.min_of
        self._removed: list[tuple[str, int]] = []

    @property
    def safe_log_offset(self) -> int:
        """Log offset below which all is on the disk, as last said."""
        return self._point.safe_log_offset

    def was_deleted(self, topic: str) -> bool:
        """Tell whether a topic was deleted while the log still has what came before that."""
        return topic in self._point.deleted_topics

    @property
    def min_of(self) -> int:
        """Begin of the log for which the first kept entries are right, -1 for none."""
        return self._min_of

    @property
    def sealed_ms(self) -> dict[int, int]:
        """What the clock of retention showed when each log file was full."""
        return dict(self._noted[1])

    @property
    def clock_ms(self) -> int:
        """What the clock of retention last showed."""
        return self._noted[0]

    def change(self, change: Callable[[SafePoint], None]) -> None:
        """Change what is said and write it.

        Raises:
            OSError: the disk did not take it; the next write says it, too.
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
        # Before anything else: a queue of the same name may be there again.
        while self._removed:
            self._point.queues.pop(*self._removed.pop())
        for change in changes:
            change(self._point)
        self._point.clock_ms, self._point.sealed_ms = self._noted
        self._point.min_of = self._min_of
        write_safe_point(self._disk, self._paths, self._point)

    def write(self) -> None:
        """Write what is true now.

        Raises:
            OSError: the disk did not take it; the next write says it, too.
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
        """Say that everything below log offset ``until`` was synced.

        Args:
            ends: of the queues that changed since the last time, the entries of records below
                ``until``, all of them in synced files.
            forgotten: queues that were deleted meanwhile.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = max(point.safe_log_offset, until)
            point.index = index
            for topic, queue_id, row in ends:
                if (topic, queue_id) in forgotten:
                    continue
                known = point.queues.get(topic, queue_id)
                if known is not None:
                    # Retention may have moved the begin while the job ran.
                    first, minimum = map(max, zip(row[:2], known[:2], strict=True))
                    row = QueueRow(first, minimum, row.end)
                point.queues.put(topic, queue_id, row)

        self.change(apply)

    def forget_topic(self, topic: str, log_end: int) -> None:
        """Say that a topic is deleted: its records below ``log_end`` never come back.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.deleted_topics[topic] = log_end

        self.change(apply)

    def note_removed(self, key: tuple[str, int]) -> None:
        """Keep that a queue (topic, queue id) is no more, for the next write; waits for nobody."""
        self._removed.append(key)

    def note_min(self, log_min: int) -> None:
        """Keep that first kept entries are right for a log that begins at ``log_min``."""
        self._min_of = log_min

    def note_clock(self, clock_ms: int, sealed_ms: dict[int, int]) -> None:
        """Keep what the clock of retention shows, for the next write; waits for nobody."""
        self._noted = clock_ms, sealed_ms

    def stop(self, log_end: int, files: str) -> None:
        """Say that the store was stopped in order, with the digest of its files.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = log_end
            point.writer = Writer.STOPPED
            point.files = files

        self.change(apply)
