"""A thread writes queues and index while messages are put, read, and deleted with their topic."""

from pathlib import Path

import pytest

from mqserver.store.disk.job import DiskJob
from mqserver.store.entry_writes import EntryWrite
from mqserver.store.queues import queue_table
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from tests.server.store.simdisk import SimDisk, refusing
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    finish,
    flush,
    keep_up,
    message,
    open_store,
    put_all,
    put_and_write,
    records_of_key,
    small_config,
)

TOPIC = "topic-a"
DIRECTORY = Path(f"/store/consumequeue/{TOPIC}")
SECOND_MS = START_MS + 2_000


def config() -> StoreConfig:
    return small_config(Path("/store"))


def begun(store: MessageStore, now_ms: int = SECOND_MS) -> DiskJob:
    """Begin to write the queues."""
    job = store.housekeeping(now_ms)
    assert isinstance(job, EntryWrite)
    return job


def expected(count: int, queue_id: int) -> list[bytes]:
    return [message(number).body for number in range(queue_id, count, 2)]


def test_entries_are_read_and_added_while_a_thread_writes(disk: SimDisk) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(30))

    job = begun(store)
    put_all(store, range(30, 90))
    assert bodies(store, TOPIC, 0) == expected(90, 0)
    job.do_work()
    put_all(store, range(90, 100))
    assert bodies(store, TOPIC, 0) == expected(100, 0)
    store.end_flush(job)

    assert bodies(store, TOPIC, 0) == expected(100, 0)
    assert records_of_key(store, TOPIC, "k95", count_max=1)
    store.close(SECOND_MS)
    again = open_store(config(), disk=disk.kept())
    assert again.recovery.clean
    assert bodies(again, TOPIC, 1) == expected(100, 1)
    assert records_of_key(again, TOPIC, "k95", count_max=1)


def test_one_job_runs_at_a_time(disk: SimDisk) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(10))
    job = begun(store)
    put_all(store, range(10, 20))
    flush(store)

    assert store.housekeeping(SECOND_MS + 60_000) is None
    finish(store, job)

    assert store.housekeeping(SECOND_MS + 60_000) is not None
    abandon(store)


def test_what_the_disk_refused_is_written_by_the_next_job(disk: SimDisk) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(50))
    job = begun(store)
    disk.on_call = refusing("pwrite", "create")

    finish(store, job)

    assert not store.is_read_only
    assert "queues or index not written" in store.failure
    assert bodies(store, TOPIC, 0) == expected(50, 0)
    disk.on_call = lambda name, path: None
    assert not keep_up(store, SECOND_MS + 1)
    assert bodies(store, TOPIC, 0) == expected(50, 0)
    store.close(SECOND_MS)
    again = open_store(config(), disk=disk.kept())
    assert again.recovery.clean
    assert bodies(again, TOPIC, 0) == expected(50, 0)


@pytest.mark.parametrize("limit", [0, 1 << 16], ids=["evicted", "loaded"])
def test_an_evicted_queue_takes_messages_while_it_is_written(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    for name in ("LOADED_PUT_MAX", "LOADED_MAX", "LOADED_IDLE_MAX", "SLACK"):
        monkeypatch.setattr(queue_table, name, limit)
    store = open_store(config(), disk=disk)
    put_all(store, range(20))
    job = begun(store)

    store.put(message(20), START_MS)
    finish(store, job)
    store.write(START_MS)
    put_all(store, range(21, 30))

    assert bodies(store, TOPIC, 0) == expected(30, 0)
    flush(store)
    assert keep_up(store, SECOND_MS + 60_000)
    abandon(store)
    again = open_store(config(), disk=disk.kept())
    assert bodies(again, TOPIC, 0) == expected(30, 0)


@pytest.mark.parametrize("writes_first", [True, False])
def test_a_write_never_brings_back_the_directory_of_a_deleted_queue(
    disk: SimDisk, writes_first: bool
) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(10))
    job = begun(store)
    _, removal = store.begin_delete(TOPIC)

    for one in (job, removal) if writes_first else (removal, job):
        finish(store, one)

    assert disk.list(DIRECTORY) == []
    assert store.queues() == []
    abandon(store)
    assert open_store(config(), disk=disk.kept()).queues() == []


def test_a_queue_that_begins_again_is_written_when_the_old_one_is_moved_away(
    disk: SimDisk,
) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(10))
    finish(store, begun(store))
    _, removal = store.begin_delete(TOPIC)
    put_and_write(store, [message(0, queue_id=0, body=b"new")])
    flush(store)

    # The index is written meanwhile; no round begins, so the safe point does not move.
    assert not keep_up(store, SECOND_MS + 60_000)
    assert bodies(store, TOPIC, 0) == [b"new"]
    assert len(disk.list(DIRECTORY)) == 2
    finish(store, removal)
    assert keep_up(store, SECOND_MS + 62_000)

    assert disk.list(DIRECTORY) == ["0"]
    abandon(store)
    assert bodies(open_store(config(), disk=disk.kept()), TOPIC, 0) == [b"new"]


def test_a_stop_completes_a_removal_that_no_thread_has_run(disk: SimDisk) -> None:
    store = open_store(config(), disk=disk)
    put_all(store, range(10))
    finish(store, begun(store))
    store.begin_delete(TOPIC)

    store.close(SECOND_MS)

    again = open_store(config(), disk=disk.kept())
    assert again.recovery.clean
    assert again.queues() == []
