"""The one writer of ``dispatch.json`` while a store runs.

    sync job (thread) ── advance ──┐
    delete topic (loop) ─ change ──┼──> one SafePoint, one lock ──> file
    retention (thread) ── change ──┘

Rule: every write says all that is true by then, so no thread undoes what another said.
What makes data go (a deleted topic, an expired file) is said before it goes: a crash in
between leaves more than is named, and never less.
"""

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from server.store.disk import Disk
from server.store.queue import ConsumeQueue
from server.store.safepoint import WHOLE, IndexMark, SafePoint, Writer, write_safe_point
from storefmt.paths import StorePaths


class QueueEnd(NamedTuple):
    """How much of a queue is in its files; both count entries."""

    queue: ConsumeQueue
    first: int
    end: int


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
        self._noted = point.clock_ms, dict(point.sealed_ms)

    @property
    def safe_log_offset(self) -> int:
        """Log offset below which all is on the disk, as last said."""
        return self._point.safe_log_offset

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
        with self._lock:
            change(self._point)
            self._point.clock_ms, self._point.sealed_ms = self._noted
            write_safe_point(self._disk, self._paths, self._point)

    def advance(self, until: int, ends: Iterable[QueueEnd], index: IndexMark | None) -> None:
        """Say that everything below log offset ``until`` was synced.

        Args:
            ends: of the queues that changed since the last time.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = max(point.safe_log_offset, until)
            point.index = index
            for queue, first, end in ends:
                if not queue.deleted:
                    ids = point.queues.setdefault(queue.topic, {})
                    # Retention may have moved the first file while the job ran.
                    low = max(first, ids[queue.queue_id][0]) if queue.queue_id in ids else first
                    ids[queue.queue_id] = low, end, WHOLE

        self.change(apply)

    def forget_topic(self, topic: str, log_end: int) -> None:
        """Say that a topic is deleted: its records below ``log_end`` never come back.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.deleted_topics[topic] = log_end
            point.queues.pop(topic, None)

        self.change(apply)

    def note_clock(self, clock_ms: int, sealed_ms: dict[int, int]) -> None:
        """Keep what the clock of retention shows, for the next write; waits for nobody."""
        self._noted = clock_ms, sealed_ms

    def stop(self, log_end: int, files: dict[str, tuple[int, int]]) -> None:
        """Say that the store was stopped in order, and how every file looks then.

        Raises:
            OSError: the disk did not take it.
        """

        def apply(point: SafePoint) -> None:
            point.safe_log_offset = log_end
            point.writer = Writer.STOPPED
            point.files = files

        self.change(apply)
