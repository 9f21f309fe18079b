"""The cost of thousands of queues, which is counted and not timed."""

import errno
import gc
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store import upkeep
from mqserver.store.entry_writes import NEW_FILE_COST
from mqserver.store.queues import queue_table
from mqserver.store.queues.entry_backlog import CHUNK_SIZE
from mqserver.store.queues.queue import OPEN_FILES_MAX
from mqserver.store.queues.queue_table import LOADED_IDLE_MAX
from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from tests.server.store.simdisk import SimDisk
from tests.server.store.stores import (
    START_MS,
    abandon,
    bodies,
    delete_topic,
    flush,
    message,
    open_store,
    put_and_write,
    small_config,
    step_up,
)

COUNT = LOADED_IDLE_MAX + 500
TOPIC = "topic-a"


def put_one_each(store: MessageStore, count: int, now_ms: int) -> None:
    for number in range(count):
        store.put(message(number, queue_id=number, body=b"%d" % number), now_ms)
    store.write(now_ms)


def settle(store: MessageStore, now_ms: int) -> int:
    """Run the upkeep until it syncs; return the number of steps."""
    flush(store)
    for step in range(10_000):
        if step_up(store, now_ms + step):
            return step
    raise AssertionError("no sync job came")


@pytest.fixture
def disk() -> SimDisk:
    disk = SimDisk()
    store = open_store(small_config(Path("/store")), disk=disk)
    put_one_each(store, COUNT, START_MS)
    settle(store, START_MS + 60_000)
    store.close(START_MS)
    return disk


def test_start_after_a_stop_opens_no_queue_file(disk: SimDisk) -> None:
    opened: list[Path] = []
    open_file = disk.open

    def look(path: Path, *, create: bool = False) -> object:
        opened.append(path)
        return open_file(path, create=create)

    disk.open = look  # type: ignore[method-assign, assignment]

    store = open_store(small_config(Path("/store")), disk=disk)

    assert not [path for path in opened if "consumequeue" in path.parts]
    assert len(store._table.queues) == 0
    assert len(store.queues()) == COUNT
    assert store.max_offset(TOPIC, COUNT - 1) == 1
    assert bodies(store, TOPIC, COUNT - 1) == [b"%d" % (COUNT - 1)]
    assert list(store._table.queues) == [(TOPIC, COUNT - 1)]
    abandon(store)


def test_start_after_a_kill_wakes_the_queues_of_the_tail_alone(disk: SimDisk) -> None:
    store = open_store(small_config(Path("/store")), disk=disk)
    put_one_each(store, 3, START_MS)
    flush(store)
    abandon(store)

    again = open_store(small_config(Path("/store")), disk=disk)

    assert again.recovery.record_count == 3
    assert sorted(again._table.queues) == [(TOPIC, number) for number in range(3)]
    assert len(again.queues()) == COUNT
    assert len(bodies(again, TOPIC, 0)) == 2
    assert len(bodies(again, TOPIC, 3)) == 1
    abandon(again)


def test_no_step_of_the_upkeep_writes_more_than_some_queues() -> None:
    disk = SimDisk()
    store = open_store(small_config(Path("/store")), disk=disk)
    calls: list[str] = []
    disk.on_call = lambda name, path: calls.append(name)
    put_one_each(store, COUNT, START_MS)
    flush(store)

    for step in range(200):
        calls.clear()
        if step_up(store, START_MS + 60_000 + step):
            break
        assert calls.count("create") <= 2 * upkeep.QUEUES_A_STEP // NEW_FILE_COST

    assert step < 200 - 1
    abandon(store)
    assert len(open_store(small_config(Path("/store")), disk=disk.kept()).queues()) == COUNT


def test_queues_that_are_idle_fall_asleep_and_files_are_closed(disk: SimDisk) -> None:
    store = open_store(small_config(Path("/store")), disk=disk)
    for queue_id in range(COUNT):
        assert len(bodies(store, TOPIC, queue_id)) == 1
    assert len(store._table.queues) == COUNT

    store.housekeeping(START_MS + 200)

    assert len(store._table.queues) == LOADED_IDLE_MAX
    assert len(store._table.files._open) <= OPEN_FILES_MAX
    assert store.put(message(0, queue_id=0), START_MS).queue_offset == 1
    abandon(store)


TURNS = 100
"""Queues in use by turns, of which few may stay loaded."""


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_table, "LOADED_IDLE_MAX", 20)
    monkeypatch.setattr(queue_table, "LOADED_PUT_MAX", 20)
    monkeypatch.setattr(queue_table, "LOADED_MAX", 20)
    monkeypatch.setattr(queue_table, "SLACK", 8)


def roomy_config(root: Path) -> StoreConfig:
    config = small_config(root, log_file_size=4 << 20)
    return replace(config, message_index_enable=False, mapped_file_size_consume_queue=2_000)


def put_rounds(store: MessageStore, rounds: range) -> None:
    """Put a message into every queue, again and again."""
    for number in rounds:
        for queue_id in range(TURNS):
            store.put(message(number, queue_id=queue_id, body=b"%d" % number), START_MS)
            if queue_id % 16 == 15:
                store.write(START_MS)
    store.write(START_MS)


def assert_all_there(store: MessageStore, rounds: range) -> None:
    expected = [b"%d" % number for number in rounds]
    assert all(bodies(store, TOPIC, queue_id) == expected for queue_id in range(TURNS))


@pytest.mark.usefixtures("crowd")
def test_queues_in_use_take_turns_and_lose_nothing(tmp_path: Path) -> None:
    config = roomy_config(tmp_path / "store")
    store = open_store(config)

    put_rounds(store, range(40))
    assert len(store._table.queues) <= 28
    assert not list((tmp_path / "store").rglob("consumequeue/*/*/0*"))
    assert bodies(store, TOPIC, 0) == bodies(store, TOPIC, 99) == [b"%d" % n for n in range(40)]
    # Some of them are written, all are read, and more comes.
    step_up(store, START_MS + 1_100)
    put_rounds(store, range(40, 60))
    assert_all_there(store, range(60))
    settle(store, START_MS + 70_000)
    put_rounds(store, range(60, 61))
    store.close(START_MS)

    again = open_store(config)
    assert again.recovery.clean
    assert_all_there(again, range(61))


def test_tails_of_many_queues_are_cut_between_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some for each of them, and some over.
    monkeypatch.setattr(queue_table, "TAILS_KEEP", TURNS * 7 // 2)
    store = open_store(roomy_config(tmp_path / "store"))
    for turn in range(5):
        put_rounds(store, range(10 * turn, 10 * turn + 10))
        for step in range(10):
            step_up(store, START_MS + 1_100 * turn + step)
        assert_all_there(store, range(10 * turn + 10))
    store.close(START_MS)

    again = open_store(roomy_config(tmp_path / "store"))
    assert_all_there(again, range(50))


@pytest.mark.usefixtures("crowd")
def test_queues_at_rest_are_built_again_after_a_kill(tmp_path: Path) -> None:
    config = roomy_config(tmp_path / "store")
    store = open_store(config)
    put_rounds(store, range(20))
    settle(store, START_MS + 70_000)
    put_rounds(store, range(20, 30))
    abandon(store)

    again = open_store(config)
    assert len(again._table.queues) == 20
    assert_all_there(again, range(30))


@pytest.mark.usefixtures("crowd")
def test_deleted_queues_take_what_rests_of_them_along(tmp_path: Path) -> None:
    store = open_store(roomy_config(tmp_path / "store"))
    put_rounds(store, range(50))
    assert store._table.files.backlog.chunk_count > 1

    assert delete_topic(store, TOPIC) == TURNS
    assert store.queues() == []
    assert store._table.files.backlog.chunk_count == 1
    put_rounds(store, range(8, 9))

    assert_all_there(store, range(8, 9))


@pytest.mark.parametrize("rounds", [1, 2])
def test_queues_made_again_during_a_round_are_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    monkeypatch.setattr(upkeep, "QUEUES_A_STEP", NEW_FILE_COST)
    config = roomy_config(tmp_path / "store")
    store = open_store(config)
    put_rounds(store, range(3))
    flush(store)
    for step in range(10):
        assert not step_up(store, START_MS + 60_000 + step)
    assert delete_topic(store, TOPIC) == TURNS

    put_rounds(store, range(5, 6))
    for number in range(rounds):
        settle(store, START_MS + 61_000 + number * 60_000)
        put_and_write(store, [message(number, topic="other")])
    abandon(store)

    again = open_store(config)
    assert_all_there(again, range(5, 6))


@pytest.mark.usefixtures("crowd")
def test_a_backlog_at_its_limit_keeps_queues_loaded_until_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_table, "BACKLOG_MAX", 1)
    store = open_store(roomy_config(tmp_path / "store"))

    put_rounds(store, range(3))
    assert store._table.files.backlog.chunk_count == 1
    assert len(store._table.queues) == TURNS
    settle(store, START_MS + 70_000)
    store.housekeeping(START_MS + 70_200)

    assert len(store._table.queues) <= 28
    assert len(list((tmp_path / "store").rglob("consumequeue/*/*/0*"))) == TURNS
    assert_all_there(store, range(3))


@pytest.mark.usefixtures("crowd")
def test_a_full_disk_keeps_what_rests_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_table, "BACKLOG_MAX", 1)
    disk = SimDisk()
    config = roomy_config(Path("/store"))
    store = open_store(config, disk=disk)
    put_rounds(store, range(1))

    def refuse(name: str, path: Path) -> None:
        if "commitlog" not in str(path) and name in ("create", "pwrite", "truncate"):
            raise OSError(errno.ENOSPC, name)

    disk.on_call = refuse
    put_rounds(store, range(1, 50))
    step_up(store, START_MS + 1_100)
    assert not store.is_read_only
    assert_all_there(store, range(50))
    disk.on_call = lambda name, path: None
    settle(store, START_MS + 70_000)
    store.close(START_MS)

    again = open_store(config, disk=disk.kept())
    assert again.recovery.clean
    assert_all_there(again, range(50))


@pytest.mark.usefixtures("crowd")
def test_queues_in_use_by_turns_take_no_memory_to_speak_of(tmp_path: Path) -> None:
    store = open_store(roomy_config(tmp_path / "store"))
    put_rounds(store, range(2))
    gc.collect()
    tracemalloc.start()
    try:
        put_rounds(store, range(2, 30))
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # 28 entries of each, with 8 bytes beside them.
    assert grown < 28 * 28 * TURNS + CHUNK_SIZE
