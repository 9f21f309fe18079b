"""Makes commit logs and stores that look as those of a broker, the same bytes in every run."""

import random
from collections.abc import Iterable
from pathlib import Path

from mqserver.store.disk.job import DiskJob
from mqserver.store.results import PutMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.config.tables import TopicConfig, TopicTable
from storefmt.formats.consumequeue import CQ_ENTRY
from storefmt.formats.hosts import pack_host
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import BLANK_SIZE_MIN, blank, encode_record
from storefmt.paths import log_file_name

FIRST_MS = 1_790_000_000_000
HOST = pack_host("127.0.0.1", 10911)
BODIES_SIZE = 1 << 20
QUEUE_COUNT = 8
QUEUE_FILE_SIZE = 6_000_000


def make_log(
    path: Path, *, size: int, body_size: int, base: int = 0, first: int = 0
) -> list[tuple[int, int]]:
    """Write one commit log file of whole records, ``size`` bytes or a record less.

    Records differ in body, keys, unique key, tag, queue and time; 8 queues, 5 tags.

    Args:
        base: log offset of the file; ``first``: number of its first record.

    Returns:
        (log offset, size) of each record.
    """
    numbers = random.Random(body_size)
    bodies = numbers.randbytes(BODIES_SIZE + body_size)
    log_offset, number = base, first
    made: list[tuple[int, int]] = []
    with path.open("wb") as file:
        while True:
            start = numbers.randrange(BODIES_SIZE)
            now_ms = FIRST_MS + number // 20
            record = encode_record(
                topic=b"bench_topic",
                queue_id=number % QUEUE_COUNT,
                queue_offset=number // QUEUE_COUNT,
                log_offset=log_offset,
                flag=0,
                sys_flag=0,
                born_ms=now_ms - 2,
                born_host=pack_host("127.0.0.1", 40_000),
                store_ms=now_ms,
                store_host=HOST,
                reconsume_times=0,
                prepared_transaction_offset=0,
                body=bodies[start : start + body_size],
                properties=b"KEYS\x01order_%d\x02UNIQ_KEY\x017F000001%024X\x02TAGS\x01Tag%c"
                % (number, number, 65 + number % 5),
            )
            if log_offset + len(record) > base + size:
                return made
            file.write(record)
            made.append((log_offset, len(record)))
            log_offset += len(record)
            number += 1


def put_message(
    topic: str,
    queue_id: int,
    body: bytes,
    *,
    now_ms: int,
    properties: bytes = b"",
    code: int = 0,
    keys: tuple[str, ...] = (),
) -> PutMessage:
    """Return a message as a store takes it; ``code`` is that of its tag."""
    return PutMessage(
        topic=topic,
        topic_bytes=topic.encode(),
        queue_id=queue_id,
        body=body,
        properties=properties,
        born_ms=now_ms,
        born_host=HOST,
        store_host=HOST,
        tags_code=code,
        keys=keys,
    )


def finish(store: MessageStore, job: DiskJob | None) -> None:
    """Run a job of a store in this thread, and report its end."""
    if job is not None:
        job.do_work()
        store.end_flush(job)


def make_backlog(
    root: Path, topic: str, messages: Iterable[PutMessage], *, queue_count: int, now_ms: int
) -> None:
    """Make a store that has these messages of one topic, as after a stop in order."""
    store = MessageStore.open(StoreConfig(store_path_root_dir=root), now_ms=now_ms)
    for number, message in enumerate(messages):
        store.put(message, now_ms)
        if number % 64 == 63:
            store.write(now_ms)
    store.write(now_ms)
    store.close(now_ms)
    table = TopicTable({topic: TopicConfig(topic, queue_count, queue_count)})
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "topics.json").write_text(table.encode())


def make_store(root: Path, *, file_count: int, file_size: int, body_size: int) -> None:
    """Make a store of full log files and the queues that a broker makes of them."""
    (root / "commitlog").mkdir(parents=True)
    queues = [bytearray() for _ in range(QUEUE_COUNT)]
    codes = [tags_code(f"Tag{letter}") for letter in "ABCDE"]
    number = 0
    for base in range(0, file_count * file_size, file_size):
        path = root / "commitlog" / log_file_name(base)
        made = make_log(
            path, size=file_size - BLANK_SIZE_MIN, body_size=body_size, base=base, first=number
        )
        end = sum(made[-1]) - base
        with path.open("ab") as file:
            file.write(blank(file_size - end))
            file.truncate(file_size)
        for log_offset, size in made:
            queues[number % QUEUE_COUNT] += CQ_ENTRY.pack(log_offset, size, codes[number % 5])
            number += 1
    for queue_id, entries in enumerate(queues):
        directory = root / "consumequeue" / "bench_topic" / str(queue_id)
        directory.mkdir(parents=True)
        for start in range(0, len(entries), QUEUE_FILE_SIZE):
            data = bytes(entries[start : start + QUEUE_FILE_SIZE])
            name = directory / log_file_name(start)
            name.write_bytes(data.ljust(QUEUE_FILE_SIZE, b"\0"))
