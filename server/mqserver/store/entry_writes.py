"""A write of new queue entries and index keys to their files, as a job that any thread can run.

    Upkeep (loop) ── add_queue, add_index: copies ──> EntryWrite ── run (thread) ── end (loop)

Rule: while a job runs, readers find the entries in memory, and more are added after them; ``end``
lets go of what is in the files. What could not be written is written by a later job, at the same
places and with the same bytes. Nothing is synced here.

Source: store/ConsumeQueue.java#putMessagePositionInfo, store/index/IndexFile.java#putKey.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from mqserver.store.disk.file_write import FileWrite, write_file
from mqserver.store.disk.job import DiskJob
from mqserver.store.index.index import Index
from mqserver.store.index.index_file import IndexFile
from mqserver.store.queues.queue import ConsumeQueue
from mqserver.store.queues.queue_table import QueueTable
from storefmt.dispatch.index_table import IndexWrite

NEW_FILE_COST: Final = 10
"""How many queues take as long to write as one that needs a new file."""


class _QueueWrite(NamedTuple):
    queue: ConsumeQueue
    slot: int
    was_evicted: bool
    files: Sequence[FileWrite]


class _IndexFileWrite(NamedTuple):
    file: IndexFile
    write: IndexWrite


class EntryWrite(DiskJob):
    """Writes the present entries of some queues, and of the index.

    Args:
        table: the queues; the job itself uses only its disk and its lock.
    """

    def __init__(self, table: QueueTable) -> None:
        self.cost = 0
        """How many queues it writes; one that needs a new file counts as ten."""
        self._table = table
        self._disk = table.files.disk
        self._queues: list[_QueueWrite] = []
        self._index: list[_IndexFileWrite] = []
        self._failed: set[int] = set()
        """Which of the queues, and then of the index files, could not be written."""
        self._made: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._queues or self._index)

    def add_queue(self, slot: int) -> None:
        """Add the unwritten entries of a queue, if it has any and its old files are moved away."""
        was_evicted = self._table.is_evicted(slot)
        queue = self._table.at(slot)
        if queue is None:
            return
        if queue.unwritten_size and not self._table.is_being_removed(queue.key):
            self.cost += NEW_FILE_COST if queue.is_at_new_file else 1
            self._queues.append(_QueueWrite(queue, slot, was_evicted, queue.begin_write()))
        elif was_evicted:
            self._table.evict_again(queue)

    def add_index(self, index: Index, *, pages_max: int | None) -> None:
        """Add what only memory has of the index, with some slot pages of each file or all."""
        for file in index.unwritten_files():
            self._index.append(_IndexFileWrite(file, file.begin_write(pages_max=pages_max)))

    def work(self) -> None:
        """Write each file; an error at one does not keep the others from being written."""
        for number, (queue, _, _, files) in enumerate(self._queues):
            # The lock orders this before or behind the removal of the queue's directory.
            with self._table.removal_lock:
                if not queue.deleted:
                    self._try(number, files, self._made.append)
        for number, (file, write) in enumerate(self._index, len(self._queues)):
            # The directory of the index is synced in any case.
            self._try(number, [file.file_write(write)], lambda directory: None)

    def _try(
        self, number: int, files: Sequence[FileWrite], creating: Callable[[str], None]
    ) -> None:
        try:
            for file in files:
                write_file(self._disk, file, creating=creating)
        except OSError as error:
            self._failed.add(number)
            self.error = self.error or error

    def end(self, written: Callable[[ConsumeQueue], None] = lambda queue: None) -> list[int]:
        """Let go of what is in the files; return the slots of the queues that were refused.

        Args:
            written: called with each queue whose entries are in its files.
        """
        for directory in self._made:
            self._table.files.note_names(directory)
        for number, (file, write) in enumerate(self._index, len(self._queues)):
            file.end_write(write, is_done=number not in self._failed)
        refused: list[int] = []
        for number, (queue, slot, was_evicted, _) in enumerate(self._queues):
            if queue.deleted:
                continue
            is_done = number not in self._failed
            queue.end_write(is_done=is_done)
            if is_done:
                written(queue)
            else:
                refused.append(slot)
            if was_evicted:
                self._table.evict_again(queue)
        return refused
