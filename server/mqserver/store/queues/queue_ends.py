"""Where queues ended at the moment a sync round looked at them, for the thread that syncs.

    loop    add(queue, below) ──> topic, queue id, first, minimum, synced, written, count
    thread  paths() are synced, then rows() are what the safe point may record

Rule: ``count`` is the number of entries of records below the log offset that the safe point
will name, and never more, although the files may hold more. A queue with more entries than
its ``count`` stays unsynced, so that the next round visits it again. A queue takes 52 bytes
here. Nothing here is shared with the event loop, where the queues go on changing.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_rows import QueueRow
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.paths import log_file_name

_WIDTH: Final = 5


class QueueEnds:
    """The ends of some queues below ``root``, with files of ``file_size`` bytes."""

    def __init__(self, root: Path, *, file_size: int) -> None:
        self._root = root
        self._file_size = file_size
        self._topics: list[str] = []
        self._queue_ids = array("i")
        self._numbers = array("q")

    def add(self, queue: ConsumeQueue, *, below: int | None) -> None:
        """Record the end of a queue whose entries are all in its files.

        Args:
            below: log offset below which the safe point covers records; None for all records
                of the queue, as when recovery scans the log.

        Raises:
            OSError: the queue's entries could not be read.
        """
        count = queue.written_count if below is None else queue.count_below(below)
        self._topics.append(queue.topic)
        self._queue_ids.append(queue.queue_id)
        numbers = queue.first, queue.min_offset, queue.synced_count, queue.written_count, count
        self._numbers.extend(numbers)
        queue.synced_count = count

    def _bases(self) -> Iterator[tuple[int, range]]:
        size, numbers = self._file_size, self._numbers
        pairs = zip(numbers[2::_WIDTH], numbers[3::_WIDTH], strict=True)
        for place, (synced, written) in enumerate(pairs):
            if synced < written:
                start = synced * ENTRY_SIZE
                yield place, range(start - start % size, written * ENTRY_SIZE, size)

    @property
    def file_count(self) -> int:
        """Number of files that ``paths`` yields."""
        return sum(len(bases) for _, bases in self._bases())

    def paths(self) -> Iterator[str]:
        """Yield the path of every file that was written and not synced."""
        for place, bases in self._bases():
            directory = f"{self._root}/{self._topics[place]}/{self._queue_ids[place]}"
            for base in bases:
                yield f"{directory}/{log_file_name(base)}"

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id, and the row that the safe point may record for the queue."""
        for place, (topic, queue_id) in enumerate(zip(self._topics, self._queue_ids, strict=True)):
            first, minimum, _, _, count = self._numbers[place * _WIDTH : (place + 1) * _WIDTH]
            if count > first:
                yield topic, queue_id, QueueRow(first, minimum, count)
