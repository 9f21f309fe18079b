"""The number of reads at the start of a killed broker does not depend on the size of the backlog.

python -m benchmarks.restart        times the same stores
"""

from pathlib import Path

import pytest

from mqserver.store.disk.disk import DiskFile, FilePath, RealDisk
from mqserver.store.store import MessageStore
from storefmt.formats.consumequeue import ENTRY_SIZE
from tests.server.store.sparsestores import QUEUE_FILE_SIZE, QUEUES, ReadOnlyFile, generate
from tests.server.store.stores import START_MS, abandon

TAIL = 50


class CountingFile(ReadOnlyFile):
    """An open file that counts reads and adds up their bytes."""

    def __init__(self, disk: "CountingDisk", file: DiskFile) -> None:
        super().__init__(file)
        self._disk = disk

    def pread(self, size: int, pos: int) -> bytes:
        data = self._file.pread(size, pos)
        self._disk.read_size += len(data)
        self._disk.read_count += 1
        return data


class CountingDisk(RealDisk):
    """The real disk, whose reads are counted."""

    def __init__(self) -> None:
        self.read_size = 0
        self.read_count = 0

    def open(self, path: FilePath, *, create: bool = False, size: int = 0) -> DiskFile:
        return CountingFile(self, super().open(path, create=create, size=size))  # type: ignore[return-value]


@pytest.mark.parametrize("count", [1_000_000, 10_000_000, 100_000_000])
def test_start_after_a_kill_reads_the_tail_and_the_ends_of_queue_files(
    tmp_path: Path, count: int
) -> None:
    config = generate(tmp_path / "store", count, tail_count=TAIL)
    disk = CountingDisk()

    store = MessageStore.open(config, now_ms=START_MS, disk=disk)

    queue_files = QUEUES * -(-count // QUEUES * ENTRY_SIZE // QUEUE_FILE_SIZE)
    assert store.recovery.record_count == TAIL
    assert store.recovery.checked_reads <= 2 * (queue_files + QUEUES) + 2 * QUEUES
    # A window of 4 MiB, looks of 1 MiB at the end of the log; the rest is 20 bytes each.
    assert disk.read_size < 7 << 20
    assert disk.read_count < store.recovery.checked_reads + 60 + 40 * QUEUES
    assert store.max_offset("topic-a", 0) == -(-(count + TAIL) // QUEUES)
    assert store.recovery.rebuilt_queues == [("topic-a", n) for n in range(QUEUES)]
    abandon(store)
