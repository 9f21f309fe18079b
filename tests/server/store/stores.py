"""Settings, messages and jobs for the tests of stores."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from mqserver.store.commitlog.flush import QueueSyncJob
from mqserver.store.disk.disk import Disk
from mqserver.store.disk.job import DiskJob
from mqserver.store.results import PutMessage, PutResult, PutRun, PutStatus, RunMessage
from mqserver.store.store import MessageStore
from mqserver.store.store_config import FlushDiskType, StoreConfig
from storefmt.dispatch.record_entries import tag_and_keys_of
from storefmt.formats.consumequeue import decode_entries
from storefmt.formats.hosts import pack_host
from storefmt.formats.javahash import tags_code
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import INNER_MULTI_DISPATCH, INNER_MULTI_QUEUE_OFFSET

BORN: bytes = pack_host("10.0.0.7", 40123)
HOST: bytes = pack_host("127.0.0.1", 10911)
LOG_FILE_SIZE = 8192
START_MS = 1_700_000_000_000


def config_of(root: Path, conf: dict[str, str]) -> StoreConfig:
    """Return the settings of a store that was made with this broker.conf."""
    config = StoreConfig(store_path_root_dir=root)
    config.mapped_file_size_commit_log = int(conf.get("mappedFileSizeCommitLog", 1 << 30))
    config.mapped_file_size_consume_queue = int(conf.get("mappedFileSizeConsumeQueue", 6_000_000))
    config.max_hash_slot_num = int(conf.get("maxHashSlotNum", 5_000_000))
    config.max_index_num = int(conf.get("maxIndexNum", 20_000_000))
    return config


def small_config(
    root: Path, *, sync: bool = False, log_file_size: int = LOG_FILE_SIZE, **changes: object
) -> StoreConfig:
    """Return settings with files of a few KiB, so that everything rolls soon.

    Args:
        changes: further settings, and those that should be others than here.
    """
    config = StoreConfig(
        store_path_root_dir=root,
        mapped_file_size_commit_log=log_file_size,
        mapped_file_size_consume_queue=400,
        max_hash_slot_num=16,
        max_index_num=60,
        flush_disk_type=FlushDiskType.SYNC_FLUSH if sync else FlushDiskType.ASYNC_FLUSH,
    )
    return replace(config, **changes)  # type: ignore[arg-type]


def message(
    number: int, *, topic: str = "topic-a", queue_id: int | None = None, body: bytes | None = None
) -> PutMessage:
    """Return message ``number``, with a unique key, a key and a tag that tell its number."""
    unique = f"AC110001234518B4AAC2{number:012X}"
    tag = "odd" if number % 2 else "even"
    properties = f"KEYS\x01k{number}\x02TAGS\x01{tag}\x02UNIQ_KEY\x01{unique}".encode()
    return PutMessage(
        topic=topic,
        topic_bytes=topic.encode(),
        queue_id=number % 2 if queue_id is None else queue_id,
        body=f"body {number} ".encode() * (number % 7 + 1) if body is None else body,
        properties=properties,
        flag=number,
        sys_flag=0,
        born_ms=START_MS + number,
        born_host=BORN,
        store_host=HOST,
        reconsume_times=0,
        prepared_transaction_offset=0,
        tags_code=tags_code(tag),
        keys=(unique, f"k{number}"),
    )


def copied(
    number: int, names: str, *, offsets: str = "", topic: str = "topic-a", **changes: object
) -> PutMessage:
    """Return message ``number`` of queue 1, which names the topics that get a copy of its entry.

    Args:
        offsets: what a producer says of the queue offsets of the copies.
    """
    one = message(number, topic=topic, queue_id=1)
    said = f"{INNER_MULTI_QUEUE_OFFSET}\x01{offsets}\x02" if offsets else ""
    named = f"{said}{INNER_MULTI_DISPATCH}\x01{names}\x02".encode()
    return replace(one, properties=named + one.properties, **changes)  # type: ignore[arg-type]


def run_of(messages: Sequence[PutMessage]) -> PutRun:
    """Return messages of one queue as a run; the first one says what all have in common."""
    one = messages[0]
    return PutRun(
        one.topic, one.topic_bytes, one.queue_id, one.sys_flag, one.born_ms, one.born_host,
        one.store_host, one.reconsume_times,
        [RunMessage(m.body, m.properties, m.flag, m.tags_code, m.keys) for m in messages],
    )  # fmt: skip


def message_of(record: Record, code: int) -> PutMessage:
    """Return the message whose put makes ``record``."""
    return PutMessage(
        topic=record.topic,
        topic_bytes=record.topic.encode(),
        queue_id=record.queue_id,
        body=record.body,
        properties=record.properties_raw,
        flag=record.flag,
        sys_flag=record.sys_flag,
        born_ms=record.born_ms,
        born_host=record.born_host,
        store_host=record.store_host,
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
        tags_code=code,
        keys=tag_and_keys_of(record.properties_raw)[1],
    )


def left_open(store: MessageStore) -> None:
    """Hear of a store on the real disk; the ``conftest`` of this room stops it after the test."""


def open_store(
    config: StoreConfig, *, disk: Disk | None = None, is_cut: bool = False
) -> MessageStore:
    """Open a store at a fixed time."""
    store = MessageStore.open(config, now_ms=START_MS, disk=disk, is_cut=is_cut)
    if disk is None:
        left_open(store)
    return store


def put_and_write(store: MessageStore, messages: Iterable[PutMessage]) -> None:
    """Put messages and store all of them with one write."""
    for one in messages:
        store.put(one, START_MS)
    store.write(START_MS)


def put_all(store: MessageStore, numbers: Iterable[int]) -> list[PutResult]:
    """Put and store messages, each with a write of its own and 1 ms after the one before."""
    results = []
    for number in numbers:
        results.append(store.put(message(number), START_MS + number))
        store.write(START_MS + number)
    assert all(result.status is PutStatus.PUT_OK for result in results)
    return results


def finish(store: MessageStore, job: DiskJob | None) -> bool:
    """Run and end a job of a store in this thread; return whether there was one."""
    if job is not None:
        job.do_work()
        store.end_flush(job)
    return job is not None


def flush(store: MessageStore) -> None:
    """Flush the log if anything waits for it."""
    finish(store, store.begin_flush())


def keep_up(store: MessageStore, now_ms: int) -> bool:
    """Do the upkeep that is due; return whether there were files to sync."""
    while (job := store.housekeeping(now_ms)) is not None:
        finish(store, job)
        if isinstance(job, QueueSyncJob):
            return True
        if job.error is not None:
            break
    return False


def step_up(store: MessageStore, now_ms: int) -> bool:
    """Do one job of the upkeep; return whether it was one that syncs."""
    job = store.housekeeping(now_ms)
    finish(store, job)
    return isinstance(job, QueueSyncJob)


def make_ahead(store: MessageStore) -> None:
    """Make the next log file if it is time."""
    finish(store, store.begin_next_file())


def delete_topic(store: MessageStore, topic: str) -> int:
    """Delete a topic; return how many queues it had."""
    count, job = store.begin_delete(topic)
    finish(store, job)
    return count


def abandon(store: MessageStore) -> None:
    """Drop a store as a crash does: nothing more is written, and the lock is released."""
    store._closed = True
    store._log.close()
    store._upkeep.release()


def bodies(store: MessageStore, topic: str, queue_id: int) -> list[bytes]:
    """Return every readable body of a queue, in order."""
    found: list[bytes] = []
    next_offset = store.min_offset(topic, queue_id)
    while next_offset < store.max_offset(topic, queue_id):
        result = store.reader.get_message(topic, queue_id, next_offset, count_max=32)
        found += [record.body for chunk in result.chunks for record in records_in(chunk)]
        assert result.next_offset > next_offset
        next_offset = result.next_offset
    return found


def readable_count(store: MessageStore) -> int:
    """Return how many messages of topic-a are read, which are the first ones that were put."""
    ends = [store.max_offset("topic-a", queue_id) for queue_id in (0, 1)]
    for queue_id, end in enumerate(ends):
        expected = [message(2 * number + queue_id).body for number in range(end)]
        assert bodies(store, "topic-a", queue_id) == expected
    assert 0 <= ends[0] - ends[1] <= 1
    return sum(ends)


def records_in(chunk: bytes) -> list[Record]:
    """Return the records of one chunk."""
    records = []
    pos = 0
    while pos < len(chunk):
        records.append(decode_record(chunk, pos))
        pos += records[-1].size
    return records


def log_records(root: Path) -> list[Record]:
    """Return every record of a log by walking sizes, with the codec and not with the store."""
    records: list[Record] = []
    for path in sorted((root / "commitlog").iterdir()):
        data = path.read_bytes()
        pos = 0
        while pos + 91 <= len(data) and data[pos + 4 : pos + 8] == b"\xda\xa3\x20\xa7":
            records.append(decode_record(data, pos))
            pos += records[-1].size
    return records


def entries_on_disk(root: Path) -> dict[int, int]:
    """Return the tags code of the entry of each record, by its log offset."""
    codes = {}
    for path in (root / "consumequeue").rglob("0*"):
        if path.is_file():
            for entry in decode_entries(path.read_bytes()):
                if not entry.is_free:
                    codes[entry.log_offset] = entry.tags_code
    return codes


def tree(root: Path, *folders: str) -> dict[str, bytes]:
    """Return the content of every file below some folders of a store."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
    }


def index_contents(root: Path) -> list[bytes]:
    """Return the content of every index file, the oldest first (names are times)."""
    return [path.read_bytes() for path in sorted((root / "index").iterdir())]


def records_of_key(
    store: MessageStore,
    topic: str,
    key: str,
    *,
    count_max: int,
    begin_ms: int = 0,
    end_ms: int = (1 << 63) - 1,
) -> list[bytes]:
    """Return the records that the index has for the hash of a key, in log order."""
    search = store.search(topic, key, count_max=count_max, begin_ms=begin_ms, end_ms=end_ms)
    while search is not None and not search.advance():
        pass
    found = sorted(search.log_offsets) if search is not None else []
    return [data for at in found if (data := store.reader.read_record(at)) is not None]
