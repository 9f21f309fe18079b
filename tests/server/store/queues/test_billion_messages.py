"""Counts the reads of searches and pulls in a backlog of 10^9 computed messages.

    commit log file, queue file ── sparse and empty ── pread ──> the bytes that belong there

Rule: nothing here is timed. Time search, minimum, maximum and pulls take a number of reads
that does not grow with the backlog, or grows as its logarithm.
"""

import random
from pathlib import Path

import pytest

from mqserver.store.disk.disk import DiskFile, FilePath, RealDisk
from mqserver.store.queues.queue_rows import QueueRow, QueueRows
from mqserver.store.results import GetStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import decode_record
from storefmt.paths import StorePaths
from tests.server.store.sparsestores import (
    LOG_FILE_SIZE,
    PER_FILE,
    QUEUE_FILE_SIZE,
    QUEUES,
    SIZE,
    ReadOnlyFile,
    files,
    mark_killed,
    place,
    record,
)
from tests.server.store.stores import START_MS, abandon

CODE = tags_code("even")


class MadeUpFile(ReadOnlyFile):
    """A file of the backlog, whose content is computed when it is read."""

    def __init__(self, disk: "MadeUpDisk", file: DiskFile, path: Path) -> None:
        super().__init__(file)
        self._disk = disk
        self._is_log = path.parent.name == "commitlog"
        self._base = int(path.name) if path.name.isdecimal() else -1
        self._queue_id = 0 if self._is_log or self._base < 0 else int(path.parent.name)

    def pread(self, size: int, pos: int) -> bytes:
        self._disk.read_count += 1
        if self._base < 0:
            return self._file.pread(size, pos)
        parts = self._records(size, pos) if self._is_log else self._entries(size, pos)
        return parts[:size].ljust(size, b"\0")

    def _records(self, size: int, pos: int) -> bytes:
        low, high = pos // SIZE, -(-(pos + size) // SIZE)
        first = self._base // LOG_FILE_SIZE * PER_FILE
        numbers = range(first + low, min(first + high, first + PER_FILE, self._disk.count))
        return b"".join(record(number, place(number)) for number in numbers)[pos - low * SIZE :]

    def _entries(self, size: int, pos: int) -> bytes:
        first = (self._base + pos) // ENTRY_SIZE
        ends = min(first + size // ENTRY_SIZE, self._disk.count // QUEUES)
        numbers = (number * QUEUES + self._queue_id for number in range(first, ends))
        return b"".join(CQ_ENTRY.pack(place(number), SIZE, CODE) for number in numbers)

    def next_data(self, pos: int) -> int | None:
        return None


class MadeUpDisk(RealDisk):
    """The real disk, with a backlog that exists on no disk."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.read_count = 0

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> DiskFile:
        return MadeUpFile(self, super().open(path, create=create, size=size), Path(path))  # type: ignore[return-value]


def backlog(root: Path, count: int) -> tuple[MessageStore, MadeUpDisk]:
    """Open a store of ``count`` messages that was killed with nothing in its tail."""
    paths, rows = StorePaths(root), QueueRows()
    list(files(paths.commitlog, place(count), LOG_FILE_SIZE))
    for queue_id in range(QUEUES):
        end = count // QUEUES
        list(files(paths.queue_dir("topic-a", queue_id), end * ENTRY_SIZE, QUEUE_FILE_SIZE))
        rows.put_row("topic-a", queue_id, QueueRow(0, 0, end))
    mark_killed(paths, place(count), rows)
    disk = MadeUpDisk(count)
    config = StoreConfig(store_path_root_dir=root, message_index_enable=False)
    return MessageStore.open(config, now_ms=START_MS + count, disk=disk), disk


@pytest.mark.parametrize("count", [1_000_000, 1_000_000_000])
def test_reads_of_a_backlog_do_not_grow_with_it(tmp_path: Path, count: int) -> None:
    store, disk = backlog(tmp_path / "store", count)
    chance = random.Random(1)
    end = count // QUEUES

    disk.read_count = 0
    assert (store.min_offset("topic-a", 1), store.max_offset("topic-a", 1)) == (0, end)
    assert disk.read_count == 0

    for _ in range(20):
        queue_offset = chance.randrange(end - 32)
        disk.read_count = 0
        found = store.reader.get_message("topic-a", 1, queue_offset, count_max=8)
        assert (found.status, found.next_offset) == (GetStatus.FOUND, queue_offset + 8)
        assert decode_record(found.chunks[0]).queue_offset == queue_offset
        # One of the queue, and one for each of the records that do not lie together.
        assert disk.read_count <= 9

        disk.read_count = 0
        time_ms = START_MS + queue_offset * QUEUES + 1
        assert store.reader.offset_by_time("topic-a", 1, time_ms) == queue_offset
        # Halving: an entry and a record each time, among files and within one.
        assert disk.read_count <= 2 * (end.bit_length() + 4)
    abandon(store)
