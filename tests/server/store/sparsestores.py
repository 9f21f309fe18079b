"""Stores of any number of messages on little disk: all holes but what a start may look at.

    | 1 M, 10 M or 100 M messages, the last ones of each file of a queue are there | tail |
                                                                        safe point ┘

Rule: names, lengths and ends of files are those of a store that a broker was killed in; what
lies between is never read by a start, or it finds zeros there and cannot succeed.
"""

from collections.abc import Iterator
from pathlib import Path

from server.store.config import StoreConfig
from server.store.disk.disk import RealDisk
from server.store.queues.queue_rows import QueueRow, QueueRows
from server.store.recovery.safe_point import IndexMark, SafePoint, lock_time, write_safe_point
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
        store_ms=START_MS,
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


def generate(root: Path, count: int, *, tail_count: int, index: bool = False) -> StoreConfig:
    """Make a store of ``count`` messages below its safe point, and a tail, after a kill.

    Args:
        index: whether it has one, with no key yet.
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
        ends.put("topic-a", queue_id, QueueRow(0, 0, end))
        directory = paths.queue_dir("topic-a", queue_id)
        for number, path in enumerate(files(directory, end * ENTRY_SIZE, QUEUE_FILE_SIZE)):
            first = number * per_file
            for entry in (first, min(first + per_file, end) - 1):
                data = CQ_ENTRY.pack(place(entry * QUEUES + queue_id), SIZE, code)
                write_at(path, entry * ENTRY_SIZE % QUEUE_FILE_SIZE, data)
    paths.abort.touch()
    paths.lock.write_bytes(b"lock")
    point = SafePoint(
        safe_log_offset=place(count), log_file_size=LOG_FILE_SIZE, queues=ends,
        index=IndexMark(names=[], header=()) if index else None,
    )  # fmt: skip
    point.lock_ns = lock_time(RealDisk(), paths)
    write_safe_point(RealDisk(), paths, point)
    return StoreConfig(store_path_root_dir=root, message_index_enable=index)
