"""The size of the backlog does not count when a killed broker starts: counted, not timed.

| 1 M, 10 M or 100 M messages, all holes but what a start may look at | 50 messages |
                                                          safe point ┘
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from server.store.config import StoreConfig
from server.store.disk import DiskFile, FilePath, RealDisk
from server.store.queuerows import QueueRow, QueueRows
from server.store.safepoint import SafePoint, lock_time, write_safe_point
from server.store.store import MessageStore
from storefmt.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.hosts import pack_host
from storefmt.javahash import tags_code
from storefmt.message import encode_record
from storefmt.paths import StorePaths
from tests.server.store.stores import START_MS, abandon

QUEUES, TAIL = 4, 50
LOG_FILE_SIZE, QUEUE_FILE_SIZE = 1 << 30, 6_000_000
BODY = b"x" * 850
HOST = pack_host("127.0.0.1", 10911)


class CountingFile:
    """An open file that adds up what is read."""

    def __init__(self, disk: "CountingDisk", file: DiskFile) -> None:
        self._disk = disk
        self._file = file

    def pread(self, size: int, pos: int) -> bytes:
        data = self._file.pread(size, pos)
        self._disk.read_size += len(data)
        self._disk.read_count += 1
        return data

    def read_into(self, view: memoryview, pos: int) -> int:
        data = self.pread(len(view), pos)
        view[: len(data)] = data
        return len(data)

    def parts(self, parts: Sequence[tuple[int, int]], base: int) -> bytes | None:
        return None

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


class CountingDisk(RealDisk):
    """The real disk, counted."""

    def __init__(self) -> None:
        self.read_size = 0
        self.read_count = 0

    def open(self, path: FilePath, *, create: bool = False) -> DiskFile:
        return CountingFile(self, super().open(path, create=create))  # type: ignore[return-value]


def record(number: int, log_offset: int) -> bytes:
    return encode_record(
        topic=b"topic-a",
        queue_id=number % QUEUES,
        queue_offset=number // QUEUES,
        log_offset=log_offset,
        flag=0,
        sys_flag=0,
        born_ms=START_MS,
        born_host=HOST,
        store_ms=START_MS,
        store_host=HOST,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=BODY,
        properties=b"TAGS\x01even",
    )


SIZE = len(record(0, 0))
PER_FILE = (LOG_FILE_SIZE - 8) // SIZE


def place(number: int) -> int:
    return number // PER_FILE * LOG_FILE_SIZE + number % PER_FILE * SIZE


def files(root: Path, end: int, file_size: int) -> Iterator[Path]:
    root.mkdir(parents=True)
    for base in range(0, end, file_size):
        path = root / f"{base:020d}"
        with path.open("wb") as file:
            file.truncate(file_size)
        yield path


def write_at(path: Path, pos: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(pos)
        file.write(data)


def generate(root: Path, count: int) -> StoreConfig:
    """Make a store of ``count`` messages below its safe point, and a tail, after a kill."""
    paths = StorePaths(root)
    tail = range(count, count + TAIL)
    logs = list(files(paths.commitlog, place(count + TAIL), LOG_FILE_SIZE))
    for number in (*range(count - QUEUES, count), *tail):
        path = logs[place(number) // LOG_FILE_SIZE]
        write_at(path, place(number) % LOG_FILE_SIZE, record(number, place(number)))
    code, ends = tags_code("even"), QueueRows()
    per_file = QUEUE_FILE_SIZE // ENTRY_SIZE
    for queue_id in range(QUEUES):
        end = count // QUEUES
        ends.put("topic-a", queue_id, QueueRow(0, 0, end))
        directory = paths.queue_dir("topic-a", queue_id)
        for number, path in enumerate(files(directory, end * ENTRY_SIZE, QUEUE_FILE_SIZE)):
            first = number * per_file
            for entry in (first, min(first + per_file, end) - 1):
                data = CQ_ENTRY.pack(place(entry * QUEUES + queue_id), SIZE, code)
                write_at(path, entry * ENTRY_SIZE % QUEUE_FILE_SIZE, data)
    paths.abort.touch()
    paths.lock.write_bytes(b"lock")
    point = SafePoint(safe_log_offset=place(count), log_file_size=LOG_FILE_SIZE, queues=ends)
    point.lock_ns = lock_time(RealDisk(), paths)
    write_safe_point(RealDisk(), paths, point)
    return StoreConfig(store_path_root_dir=root, message_index_enable=False)


@pytest.mark.parametrize("count", [1_000_000, 10_000_000, 100_000_000])
def test_start_after_a_kill_reads_the_tail_and_the_ends_of_queue_files(
    tmp_path: Path, count: int
) -> None:
    config = generate(tmp_path / "store", count)
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
