"""Deletion of old data: which files are deleted, also after a crash in between."""

import contextlib
import errno
import os
import random
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.cleanup import jobs
from mqserver.store.cleanup.jobs import DeleteLogJob, LookJob
from mqserver.store.disk.disk import DiskUsage, RealDisk, RealFile
from mqserver.store.queues.queue import queue_bases
from mqserver.store.results import GetStatus, PutMessage, PutStatus
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import ENTRY_SIZE
from storefmt.formats.hosts import parse_host
from storefmt.formats.javahash import tags_code
from storefmt.formats.properties import format_properties
from tests.golden import Golden
from tests.server.store.simdisk import PowerCut, SimDisk, refusing
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    abandon,
    bodies,
    config_of,
    flush,
    keep_up,
    message,
    open_store,
    put_all,
    records_of_key,
    small_config,
)

COUNT = 120


AT_ONCE = {
    "file_reserved_time_h": 0,
    "delete_commit_log_files_interval_ms": 0,
    "delete_consume_queue_files_interval_ms": 0,
}
"""Settings with which files are deleted as soon as they are full, without pauses."""


def settings(root: Path, **changes: object) -> StoreConfig:
    more = {"flush_consume_queue_thorough_interval_ms": 1, **changes}
    return small_config(root, **{**AT_ONCE, **more})


def sync(store: MessageStore, now_ms: int = START_MS + COUNT) -> None:
    flush(store)
    keep_up(store, now_ms + 10_000)


def clean(store: MessageStore, now_ms: int = START_MS + COUNT) -> None:
    """Run the jobs of the cleaner until it only looks at the disk."""
    idle = 0
    while idle < 3:
        job = store.cleaner.step(now_ms)
        idle += job is None or isinstance(job, LookJob)
        if job is not None:
            job.do_work()
            store.cleaner.end(job)


def delete_by_hand(store: MessageStore) -> None:
    store.cleaner.delete_by_hand()
    clean(store)


def filled(config: StoreConfig, disk: SimDisk | None = None) -> MessageStore:
    store = open_store(config, disk=disk)
    put_all(store, range(COUNT))
    sync(store)
    return store


def names(root: Path, folder: str) -> list[str]:
    return sorted(path.name for path in (root / folder).iterdir())


def test_expired_files_of_log_queues_and_index_go_and_the_rest_is_read(tmp_path: Path) -> None:
    store = filled(settings(tmp_path))
    before = {queue_id: bodies(store, "topic-a", queue_id) for queue_id in (0, 1)}

    delete_by_hand(store)

    assert names(tmp_path, "commitlog")[0] == f"{store.min_log_offset:020d}"
    assert store.min_log_offset == store.written_offset // LOG_FILE_SIZE * LOG_FILE_SIZE > 0
    for queue_id in (0, 1):
        low = store.min_offset("topic-a", queue_id)
        assert bodies(store, "topic-a", queue_id) == before[queue_id][low:] != before[queue_id]
        first = int(names(tmp_path, f"consumequeue/topic-a/{queue_id}")[0])
        assert first <= low * 20 < first + 400
    assert len(records_of_key(store, "topic-a", f"k{COUNT - 1}", count_max=5)) == 1
    assert records_of_key(store, "topic-a", "k1", count_max=5) == []
    assert all(f.end_log_offset >= store.min_log_offset for f in store.reader._index.files)


@pytest.mark.parametrize("was_killed", [False, True])
def test_restart_after_a_deletion_scans_nothing_old(tmp_path: Path, was_killed: bool) -> None:
    store = filled(settings(tmp_path))
    delete_by_hand(store)
    low, high = store.min_offset("topic-a", 0), store.max_offset("topic-a", 0)
    if was_killed:
        abandon(store)
    else:
        store.close(START_MS)

    store = open_store(settings(tmp_path))

    assert store.recovery.record_count == 0
    assert store.recovery.notes == []
    assert (store.min_offset("topic-a", 0), store.max_offset("topic-a", 0)) == (low, high)
    assert store.reader.get_message("topic-a", 0, low - 1, count_max=1).status is (
        GetStatus.OFFSET_TOO_SMALL
    )
    put_all(store, range(COUNT, COUNT + 4))


def test_nothing_goes_that_is_not_expired(tmp_path: Path) -> None:
    store = filled(settings(tmp_path, file_reserved_time_h=1))
    before = names(tmp_path, "commitlog")

    delete_by_hand(store)

    assert names(tmp_path, "commitlog") == before
    assert store.min_log_offset == 0


def test_file_behind_the_safe_point_stays(tmp_path: Path) -> None:
    store = open_store(settings(tmp_path))
    put_all(store, range(COUNT))

    delete_by_hand(store)

    assert store.min_log_offset == 0


def test_reader_of_a_deleted_file_finishes(tmp_path: Path) -> None:
    store = filled(settings(tmp_path))
    path = tmp_path / "commitlog" / f"{0:020d}"
    before = path.read_bytes()
    fd = os.open(path, os.O_RDONLY)

    delete_by_hand(store)

    assert not path.exists()
    assert os.pread(fd, LOG_FILE_SIZE, 0) == before
    os.close(fd)


def test_file_that_cannot_be_deleted_is_read_again(disk: SimDisk) -> None:
    store = filled(settings(Path("/store")), disk)
    store.cleaner.delete_by_hand()
    disk.on_call = refusing("unlink", code=errno.EPERM, folder="commitlog")

    clean(store)

    assert store.min_log_offset == 0
    assert len(bodies(store, "topic-a", 0)) == COUNT // 2


def test_stop_ends_a_deletion_between_two_files(tmp_path: Path) -> None:
    store = filled(settings(tmp_path))
    store.cleaner.delete_by_hand()
    job = store.cleaner.step(START_MS + COUNT)
    while not isinstance(job, DeleteLogJob):
        job.do_work()
        store.cleaner.end(job)
        job = store.cleaner.step(START_MS + COUNT)
    store.cleaner.close()

    job.do_work()
    store.cleaner.end(job)

    assert store.min_log_offset == 0
    store.close(START_MS)
    again = open_store(settings(tmp_path))
    assert again.recovery.record_count == 0
    assert len(bodies(again, "topic-a", 0)) == COUNT // 2


def test_full_disk_refuses_messages_and_deletes_nothing(disk: SimDisk, tmp_path: Path) -> None:
    store = filled(settings(Path("/store"), file_reserved_time_h=72), disk)
    disk.usage_now = DiskUsage(91, 9)

    clean(store)
    refused = store.put(message(1), START_MS)

    assert refused.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert "91 % full" in store.failure
    assert store.min_log_offset == 0
    assert len(bodies(store, "topic-a", 0)) == COUNT // 2
    disk.usage_now = DiskUsage(80, 20)
    clean(store)
    assert store.put(message(1), START_MS).status is PutStatus.PUT_OK


def test_queue_without_messages_is_removed_by_hand_and_begins_again(tmp_path: Path) -> None:
    store = open_store(settings(tmp_path))
    for number in range(30):
        store.put(message(number, topic="old"), START_MS + number)
    put_all(store, range(COUNT))
    sync(store)
    delete_by_hand(store)
    assert store.min_offset("old", 0) == store.max_offset("old", 0) == 15
    told: list[bool] = []

    store.cleaner.remove_expired_queues(lambda: told.append(True))
    clean(store)

    assert told == [True]
    assert {topic for topic, _ in store.queues()} == {"topic-a"}
    assert names(tmp_path, "consumequeue") == ["old", "topic-a"]
    assert names(tmp_path, "consumequeue/old") == []
    assert store.put(message(0, topic="old"), START_MS).queue_offset == 0
    store.write(START_MS)
    abandon(store)
    again = open_store(settings(tmp_path))
    assert again.max_offset("old", 0) == 1
    assert again.recovery.record_count == 1


@pytest.mark.parametrize("seed", range(6))
def test_power_cut_while_deleting_leaves_a_row_without_a_gap(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        disk = SimDisk()
        store = filled(settings(Path("/store")), disk)
        disk.cut_power_at(disk.clock + chance.randrange(1, 60))
        store.cleaner.delete_by_hand()
        with contextlib.suppress(PowerCut):
            clean(store)

        after = open_store(settings(Path("/store")), disk=disk.crash(seed))

        assert after.recovery.damaged == []
        assert after.recovery.record_count == 0
        assert after.max_offset("topic-a", 0) == COUNT // 2
        low = after.min_offset("topic-a", 0)
        assert len(bodies(after, "topic-a", 0)) == COUNT // 2 - low
        clean(after)
        put_all(after, range(COUNT, COUNT + 2))
        assert after.max_offset("topic-a", 0) == COUNT // 2 + 1


def delete_all(store: MessageStore) -> None:
    """Delete all expired files, and then the queues that have no messages any more."""
    delete_by_hand(store)
    store.cleaner.remove_expired_queues(lambda: None)
    clean(store)


@pytest.mark.parametrize("power_cut", [False, True], ids=["kill", "power cut"])
def test_kill_at_any_call_of_a_deletion_leaves_all_that_is_not_expired(*, power_cut: bool) -> None:
    """Deleted are log files, queue files, index files, and a queue without messages.

    A kill keeps what was written; a power cut keeps none of what was not synced.
    """
    file_size = small_config(Path("/store")).mapped_file_size_consume_queue
    number = 0
    while True:
        number += 1
        disk = SimDisk()
        store = open_store(settings(Path("/store")), disk=disk)
        store.put(message(0, topic="gone", queue_id=0), START_MS)
        put_all(store, range(COUNT))
        sync(store)
        sent = {queue_id: bodies(store, "topic-a", queue_id) for queue_id in (0, 1)}
        cut = disk.clock + number
        disk.cut_power_at(cut)
        with contextlib.suppress(PowerCut):
            delete_all(store)
        kept = disk.crash_as([0] * len(disk.doubts())) if power_cut else disk.kept()

        after = open_store(settings(Path("/store")), disk=kept)

        assert after.recovery.damaged == []
        assert after.min_log_offset <= store.written_offset // LOG_FILE_SIZE * LOG_FILE_SIZE
        for queue_id, all_sent in sent.items():
            assert after.max_offset("topic-a", queue_id) == len(all_sent)
            low = after.min_offset("topic-a", queue_id)
            assert bodies(after, "topic-a", queue_id) == all_sent[low:] != []
        # What was begun is finished: the next deletion leaves what one without a kill leaves.
        sync(after)
        delete_all(after)
        assert after.min_log_offset == after.written_offset // LOG_FILE_SIZE * LOG_FILE_SIZE
        assert not after.has("gone")
        for queue_id in sent:
            low = after.min_offset("topic-a", queue_id) * ENTRY_SIZE
            bases = queue_bases(kept, Path(f"/store/consumequeue/topic-a/{queue_id}"))
            assert bases[0] == low // file_size * file_size
        put_all(after, range(COUNT, COUNT + 2))
        assert after.max_offset("topic-a", 0) == len(sent[0]) + 1
        if disk.clock < cut:
            break
    assert number > 20


def before_expiry(golden: Golden, root: Path) -> MessageStore:
    """Return a store with the layout that the recorded broker had before it deleted.

    The recording has no bodies; sizes, places, keys and tags are those of the records.
    """
    store = open_store(replace(config_of(root, golden.conf("retention")), **AT_ONCE))
    for line in golden.jsonl("retention", "records-before-expiry"):
        if line["kind"] != "msg":
            continue
        names, body = line["properties"], b"x" * line["bodyLen"]
        keys = tuple(key for key in names.get("KEYS", "").split() if key)
        properties = format_properties(names).encode()
        fixed = 91 + len(line["topic"]) + len(properties)
        one = PutMessage(
            topic=line["topic"],
            topic_bytes=line["topic"].encode(),
            queue_id=line["queueId"],
            body=body,
            # The recorded properties may end in a separator, which says nothing.
            properties=properties + b"\x02" * (line["size"] - fixed - len(body)),
            flag=line["flag"],
            sys_flag=line["sysFlag"],
            born_ms=line["bornTimestamp"],
            born_host=parse_host(line["bornHost"]),
            store_host=parse_host(line["storeHost"]),
            reconsume_times=line["reconsumeTimes"],
            prepared_transaction_offset=line["preparedTransactionOffset"],
            tags_code=tags_code(names.get("TAGS")),
            keys=(names["UNIQ_KEY"], *keys) if "UNIQ_KEY" in names else keys,
        )
        place = store.put(one, line["storeTimestamp"])
        assert (place.log_offset, place.size) == (line["physicOffset"], line["size"])
        assert place.queue_offset == line["queueOffset"]
        store.write(line["storeTimestamp"])
    return store


def test_deletion_leaves_what_the_java_broker_left(golden: Golden, tmp_path: Path) -> None:
    root = tmp_path / "store"
    store = before_expiry(golden, root)
    newest_ms = store.reader.store_time("rt_single", 0, store.max_offset("rt_single", 0) - 1)
    sync(store, newest_ms)
    expected = golden.expected("retention")
    first = min(int(name[10:]) for name in expected["files"] if name.startswith("commitlog/"))
    rounds = -(-first // (10 * 131072))
    for _ in range(rounds):
        store.cleaner.delete_by_hand()
        # One round of ten files, as the recorded one: the next look comes later.
        clean(store, newest_ms)
    store.cleaner.remove_expired_queues(lambda: None)
    clean(store, newest_ms)

    after = {name for name in expected["files"] if name.startswith(("commitlog", "consumequeue"))}
    found = {
        f"{path.relative_to(root)}{'/' if path.is_dir() else ''}"
        for path in root.rglob("*")
        if path.is_file() or (path.is_dir() and not any(path.iterdir()))
    }
    found = {name for name in found if name.startswith(("commitlog", "consumequeue"))}

    # The recorded broker stored 60 more messages afterwards: it may have more files.
    assert found <= after
    assert {name for name in after - found if int(name[-20:] or 0) < store.min_log_offset} == set()
    mins = {name: queue["min"] for name, queue in expected["open"]["queues"].items()}
    assert {
        f"{topic}@{queue_id}": store.min_offset(topic, queue_id)
        for topic, queue_id in store.queues()
    } == {name: low for name, low in mins.items() if low}
    recorded = [line["beginPhyOffset"] for line in golden.jsonl("retention", "index")]
    ours = [file.begin_log_offset for file in store.reader._index.files]
    assert ours == recorded[: len(ours)] != []


def test_clock_and_ages_survive_a_restart(tmp_path: Path) -> None:
    store = filled(settings(tmp_path, file_reserved_time_h=2))
    clean(store)
    shown = store.cleaner.policy.clock_ms
    store.close(START_MS)

    # The wall clock is a month ahead now: one hour of it counts, and two are reserved.
    config = settings(tmp_path, file_reserved_time_h=2)
    again = MessageStore.open(config, now_ms=START_MS + 30 * 24 * 3_600_000)
    again.cleaner.delete_by_hand()
    clean(again, START_MS + 30 * 24 * 3_600_000)

    assert again.cleaner.policy.clock_ms == shown + 3_600_000
    assert again.min_log_offset == 0


def test_log_file_is_given_back_in_slices_unless_somebody_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "SLICE_SIZE", 1_000)
    cut: list[int] = []
    truncate = RealFile.truncate

    def note(file: RealFile, size: int) -> None:
        cut.append(size)
        truncate(file, size)

    monkeypatch.setattr(RealFile, "truncate", note)
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        path.write_bytes(b"x" * 2_500)
    reader = os.open(paths[1], os.O_RDONLY)
    job = DeleteLogJob(disk=RealDisk(), left=paths, interval_s=0, stop=threading.Event())

    job.do_work()

    assert (job.error, job.left, list(tmp_path.iterdir())) == (None, [], [])
    # The second one is left whole to who has it open.
    assert cut == [1_500, 500, 0]
    assert os.pread(reader, 4_000, 0) == b"x" * 2_500
    os.close(reader)
