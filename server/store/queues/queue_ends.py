"""Where queues ended when a round of syncs looked at them, for the thread that syncs them.

    loop    add(queue, below) ──> topic, queue id, first, minimum, synced, written, count
    thread  paths() are synced, then rows() are what the safe point may say

Rule: ``count`` is the number of entries of records below the log offset that the safe point
will name, and never more, although the files may hold more. A queue with more entries than its
``count`` stays unsynced, so that the next round looks at it again. A queue takes 52 bytes here,
and nothing of it belongs to the loop: the queue itself goes on meanwhile.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from server.store.queues.queue import ConsumeQueue
from server.store.queues.queue_rows import QueueRow
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.paths import log_file_name

_WIDTH: Final = 5


class QueueEnds:
    """Some queues below ``root`` with files of ``file_size`` bytes."""

    def __init__(self, root: Path, *, file_size: int) -> None:
        self._root = root
        self._file_size = file_size
        self._topics: list[str] = []
        self._queue_ids = array("i")
        self._numbers = array("q")

    def add(self, queue: ConsumeQueue, *, below: int | None) -> None:
        """Take down a queue all of whose entries are in its files.

        Args:
            below: log offset below which the safe point tells of records; None for all of
                those of the queue, as while the log is walked.

        Raises:
            OSError: its entries cannot be read.
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
        """Files that ``paths`` gives."""
        return sum(len(bases) for _, bases in self._bases())

    def paths(self) -> Iterator[str]:
        """Yield every file that was written and not synced."""
        for place, bases in self._bases():
            directory = f"{self._root}/{self._topics[place]}/{self._queue_ids[place]}"
            for base in bases:
                yield f"{directory}/{log_file_name(base)}"

    def rows(self) -> Iterator[tuple[str, int, QueueRow]]:
        """Yield topic, queue id, and what the safe point may say of the queue."""
        for place, (topic, queue_id) in enumerate(zip(self._topics, self._queue_ids, strict=True)):
            first, minimum, _, _, count = self._numbers[place * _WIDTH : (place + 1) * _WIDTH]
            if count > first:
                yield topic, queue_id, QueueRow(first, minimum, count)
