"""Stores of any number of messages that take little space, since most of them is holes.

    | 1 M, 10 M or 100 M messages, the last ones of each file of a queue are there | tail |
                                                                        safe point ┘

Rule: names, lengths and ends of files are those of a store whose broker was killed. A start must
not read what lies between, because it would find zeros there.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from mqserver.store.disk.disk import DiskFile, RealDisk
from mqserver.store.queues.queue_rows import QueueRow, QueueRows
from mqserver.store.recovery.safe_point import IndexMark, SafePoint, lock_time, write_safe_point
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.formats.javahash import tags_code
from storefmt.paths import StorePaths
from tests.records import record_bytes
from tests.server.store.stores import START_MS

QUEUES = 4
LOG_FILE_SIZE, QUEUE_FILE_SIZE = 1 << 30, 6_000_000
BODY = b"x" * 850


def record(number: int, log_offset: int) -> bytes:
    return record_bytes(
        topic=b"topic-a",
        queue_id=number % QUEUES,
        queue_offset=number // QUEUES,
        log_offset=log_offset,
        born_ms=START_MS,
        store_ms=START_MS + number,
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


def mark_killed(
    paths: StorePaths, safe_log_offset: int, queues: QueueRows, *, index: IndexMark | None = None
) -> None:
    """Make a directory the store of a broker that was killed with this safe point."""
    paths.abort.touch()
    paths.lock.write_bytes(b"lock")
    point = SafePoint(
        safe_log_offset=safe_log_offset, log_file_size=LOG_FILE_SIZE, queues=queues,
        index=index, lock_ns=lock_time(RealDisk(), paths),
    )  # fmt: skip
    write_safe_point(RealDisk(), paths, point)


class ReadOnlyFile(ABC):
    """A file all of whose reads are made by ``pread``; the rest is that of a real file."""

    def __init__(self, file: DiskFile) -> None:
        self._file = file

    @abstractmethod
    def pread(self, size: int, pos: int) -> bytes: ...

    def begin_read(self, size: int, pos: int) -> Callable[[], bytes]:
        return partial(self.pread, size, pos)

    def read_into(self, view: memoryview, pos: int) -> int:
        data = self.pread(len(view), pos)
        view[: len(data)] = data
        return len(data)

    def parts(self, parts: Sequence[tuple[int, int]], base: int) -> bytes | None:
        return None

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def generate(root: Path, count: int, *, tail_count: int, index: bool = False) -> StoreConfig:
    """Make a store of ``count`` messages below its safe point, and a tail, after a kill.

    Args:
        index: whether the store has an index, which has no keys yet.
    """
    paths = StorePaths(root)
    tail = range(count, count + tail_count)
    logs = list(files(paths.commitlog, place(count + tail_count), LOG_FILE_SIZE))
    for number in (*range(count - QUEUES, count), *tail):
        path = logs[place(number) // LOG_FILE_SIZE]
        write_at(path, place(number) % LOG_FILE_SIZE, record(number, place(number)))
    code, ends = tags_code("even"), QueueRows()
    per_file = QUEUE_FILE_SIZE // ENTRY_SIZE
    for queue_id in range(QUEUES):
        end = count // QUEUES
        ends.put_row("topic-a", queue_id, QueueRow(0, 0, end))
        directory = paths.queue_dir("topic-a", queue_id)
        for number, path in enumerate(files(directory, end * ENTRY_SIZE, QUEUE_FILE_SIZE)):
            first = number * per_file
            for entry in (first, min(first + per_file, end) - 1):
                data = CQ_ENTRY.pack(place(entry * QUEUES + queue_id), SIZE, code)
                write_at(path, entry * ENTRY_SIZE % QUEUE_FILE_SIZE, data)
    mark_killed(paths, place(count), ends, index=IndexMark() if index else None)
    return StoreConfig(store_path_root_dir=root, message_index_enable=index)
