"""A healthy store so small that every length and every bit of it can be tried.

commitlog     3 files of 1 KiB, 25 records, the first two files end in a blank
consumequeue  2 topics with 2 queues, files of 5 entries
index         1 file of 8 slots and 40 entries
config        topics and offsets; checkpoint and lock
"""

import shutil
from pathlib import Path

from storefmt.config.tables import ConsumerOffsets, TopicConfig, TopicTable
from storefmt.formats.checkpoint import Checkpoint
from storefmt.formats.hosts import pack_host
from storefmt.formats.message import blank, encode_record
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.rebuild import StoreShape, rebuild
from storefmt.offline.views.storedir import StoreDir

LOG_FILE_SIZE = 1024
QUEUE_FILE_SIZE = 100
INDEX_SLOT_COUNT = 8
INDEX_ENTRY_COUNT = 40
RECORD_COUNT = 25
BORN_MS = 1_763_700_000_000
PRODUCER = pack_host("10.0.0.7", 40_000)
BROKER = pack_host("10.0.0.1", 10_911)


def tiny_store(root: Path) -> Path:
    """Write the store below ``root``; the queues and the index are what a broker would make."""
    store = root / "store"
    _write_log(store / "commitlog")
    with StoreDir.open(store) as opened:
        rebuild(
            opened,
            OutputDirectory.make(root / "derived", source=store),
            shape=StoreShape(
                queue_file_size=QUEUE_FILE_SIZE,
                index_slot_count=INDEX_SLOT_COUNT,
                index_entry_count=INDEX_ENTRY_COUNT,
            ),
        )
    for part in ("consumequeue", "index"):
        (root / "derived" / part).rename(store / part)
    shutil.rmtree(root / "derived")
    (store / "config").mkdir()
    topics = {name: TopicConfig(topic_name=name) for name in ("orders", "views")}
    (store / "config" / "topics.json").write_text(TopicTable(topics).encode())
    offsets = ConsumerOffsets({("orders", "billing"): {0: 3, 1: 2}})
    (store / "config" / "consumerOffset.json").write_text(offsets.encode())
    newest = BORN_MS + (RECORD_COUNT - 1) * 1000 + 3
    (store / "checkpoint").write_bytes(Checkpoint(newest, newest, newest).encode())
    (store / "lock").write_bytes(b"lock")
    return store


def _write_log(directory: Path) -> None:
    directory.mkdir(parents=True)
    data, queue_offsets = b"", dict[tuple[str, int], int]()
    for number in range(RECORD_COUNT):
        topic, queue_id = ("orders", "views")[number % 2], number // 2 % 2
        queue_offset = queue_offsets.get((topic, queue_id), 0)
        queue_offsets[topic, queue_id] = queue_offset + 1
        record = record_bytes(number, len(data), topic, queue_id, queue_offset)
        left = LOG_FILE_SIZE - len(data) % LOG_FILE_SIZE
        if len(record) + 8 > left:
            data += blank(left).ljust(left, b"\0")
            record = record_bytes(number, len(data), topic, queue_id, queue_offset)
        data += record
    for start in range(0, len(data), LOG_FILE_SIZE):
        file = data[start : start + LOG_FILE_SIZE].ljust(LOG_FILE_SIZE, b"\0")
        (directory / f"{start:020d}").write_bytes(file)


def record_bytes(
    number: int, log_offset: int, topic: str, queue_id: int, queue_offset: int
) -> bytes:
    """Return the record of message ``number``."""
    tags = ("TAGS\x01A", "TAGS\x01B", "")[number % 3]
    return encode_record(
        topic=topic.encode(),
        queue_id=queue_id,
        queue_offset=queue_offset,
        log_offset=log_offset,
        flag=number,
        sys_flag=0,
        born_ms=BORN_MS + number * 1000,
        born_host=PRODUCER,
        store_ms=BORN_MS + number * 1000 + 3,
        store_host=BROKER,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=b"b%d" % number,
        properties=f"KEYS\x01k{number % 9}\x02{tags}".rstrip("\x02").encode(),
    )
