"""The bytes of a log appended to another store give an equal log, queues and index."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mqserver.store.store import MessageStore
from mqserver.store.store_config import StoreConfig
from storefmt.formats.consumequeue import FILLER
from tests.server.store.stores import (
    LOG_FILE_SIZE,
    START_MS,
    abandon,
    bodies,
    delete_topic,
    flush,
    index_contents,
    make_ahead,
    message,
    open_store,
    put_all,
    put_and_write,
    small_config,
    tree,
)

COUNT = 300


def copy(master: MessageStore, slave: MessageStore, *, size_max: int = 1000) -> None:
    """Let a slave catch up, in steps of at most ``size_max`` bytes."""
    while data := master.raw.read(slave.written_offset, size_max):
        make_ahead(slave)
        append(slave, data)


def append(slave: MessageStore, data: bytes) -> None:
    """Append, store and flush bytes, then dispatch the records that are whole."""
    slave.is_copy = True
    slave.raw.append(data)
    slave.write(START_MS)
    flush(slave)
    while slave.raw.make_entries():
        slave.write(START_MS)
    slave.write(START_MS)


def pair(tmp_path: Path, *, sync: bool = False) -> tuple[MessageStore, MessageStore]:
    """Return an empty master and an empty slave."""
    stores = [open_store(small_config(tmp_path / name, sync=sync)) for name in ("a", "b")]
    return stores[0], stores[1]


def close_both(*stores: MessageStore) -> None:
    for store in stores:
        store.raw.cut()
        store.close(START_MS)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("size_max", [1, 7, 100, 1000, 1 << 20])
def test_slave_has_the_log_the_queues_and_the_index_of_its_master(
    tmp_path: Path, size_max: int, sync: bool
) -> None:
    master, slave = pair(tmp_path, sync=sync)
    put_all(master, range(40 if size_max < 100 else COUNT))
    flush(master)

    copy(master, slave, size_max=size_max)

    assert slave.written_offset == slave.flushed_offset == master.written_offset
    assert slave.put_count == master.put_count
    for queue_id in (0, 1):
        assert bodies(slave, "topic-a", queue_id) == bodies(master, "topic-a", queue_id)
    close_both(master, slave)
    folders = ("commitlog", "consumequeue")
    assert tree(tmp_path / "b", *folders) == tree(tmp_path / "a", *folders)
    assert index_contents(tmp_path / "b") == index_contents(tmp_path / "a")


def test_slave_serves_whole_records_only_and_drops_the_rest_when_it_stops(tmp_path: Path) -> None:
    master, slave = pair(tmp_path)
    last = put_all(master, range(10))[-1]
    append(slave, master.raw.read(0, last.log_offset + 50))

    assert len(bodies(slave, "topic-a", 0)) + len(bodies(slave, "topic-a", 1)) == 9
    assert slave.raw.cut() == 50
    assert slave.written_offset == last.log_offset
    slave.close(START_MS)

    slave = open_store(small_config(tmp_path / "b"))
    assert slave.recovery.clean
    assert slave.recovery.cut_size == 0
    copy(master, slave)
    assert bodies(slave, "topic-a", 1) == bodies(master, "topic-a", 1)


def test_slave_goes_on_where_recovery_ends_after_kills_at_any_byte(tmp_path: Path) -> None:
    rng = random.Random(3)
    master, slave = pair(tmp_path)
    put_all(master, range(COUNT))

    while data := master.raw.read(slave.written_offset, rng.randrange(1, 6000)):
        append(slave, data)
        abandon(slave)
        slave = open_store(small_config(tmp_path / "b"))

    for queue_id in (0, 1):
        assert bodies(slave, "topic-a", queue_id) == bodies(master, "topic-a", queue_id)


@pytest.mark.parametrize("killed", [False, True])
def test_slave_that_begins_at_the_last_file_has_fillers_like_java(
    tmp_path: Path, killed: bool
) -> None:
    master, slave = pair(tmp_path)
    put_all(master, range(COUNT))
    end = master.written_offset
    start = end - end % LOG_FILE_SIZE

    slave.raw.start_at(start)
    copy(master, slave)
    if killed:
        abandon(slave)
        slave = open_store(small_config(tmp_path / "b"))

    assert (slave.min_log_offset, slave.written_offset) == (start, end)
    first = slave.min_offset("topic-a", 0)
    assert first > 0
    assert slave.max_offset("topic-a", 0) == COUNT // 2
    assert bodies(slave, "topic-a", 0) == bodies(master, "topic-a", 0)[first:]
    slave.close(START_MS)
    file_count = 400 // 20
    data = min((tmp_path / "b/consumequeue/topic-a/0").iterdir()).read_bytes()
    assert data.startswith(FILLER * (first % file_count))


def test_a_log_that_has_bytes_begins_nowhere_else(tmp_path: Path) -> None:
    master, slave = pair(tmp_path)
    put_all(master, range(3))
    with pytest.raises(ValueError, match="cannot begin at 8192"):
        master.raw.start_at(LOG_FILE_SIZE)
    with pytest.raises(ValueError, match="cannot begin at 5"):
        slave.raw.start_at(5)


def test_damage_of_the_master_is_copied_and_passed_over(tmp_path: Path) -> None:
    master, slave = pair(tmp_path)
    results = put_all(master, range(COUNT))
    for number in (3, 150):
        result = results[number]
        base = result.log_offset - result.log_offset % LOG_FILE_SIZE
        path = tmp_path / "a" / "commitlog" / f"{base:020}"
        with path.open("r+b") as file:
            file.seek(result.log_offset - base + 4)
            file.write(b"\0\0\0\0")

    copy(master, slave, size_max=100)

    assert slave.raw.whole_offset == master.written_offset
    found = bodies(slave, "topic-a", 0) + bodies(slave, "topic-a", 1)
    assert len(found) == COUNT - 2
    # The entry of what cannot be read is a filler: those behind it keep their offsets.
    assert slave.max_offset("topic-a", 1) == COUNT // 2


def test_topic_that_the_master_deleted_and_made_again_begins_anew(tmp_path: Path) -> None:
    master, slave = pair(tmp_path)

    def remade(topic: str, log_offset: int) -> None:
        slave.write(START_MS)
        delete_topic(slave, topic)

    slave.raw.topic_remade.add(remade)
    put_all(master, range(10))
    flush(master)
    copy(master, slave)
    delete_topic(master, "topic-a")
    put_all(master, range(20, 24))

    copy(master, slave)

    for queue_id in (0, 1):
        assert bodies(slave, "topic-a", queue_id) == bodies(master, "topic-a", queue_id)


def test_message_that_names_its_own_queue_does_not_make_the_topic_anew(tmp_path: Path) -> None:
    master, slave = (
        open_store(small_config(tmp_path / name, enable_multi_dispatch=True)) for name in "ab"
    )
    remade: list[str] = []
    slave.raw.topic_remade.add(lambda topic, log_offset: remade.append(topic))
    one = message(0)
    one.properties += b"\x02INNER_MULTI_DISPATCH\x01topic-a"

    put_and_write(master, [replace(one, body=b"%d" % number) for number in range(3)])
    copy(master, slave)

    assert remade == []
    assert bodies(slave, "topic-a", 0) == bodies(master, "topic-a", 0) == [b"0", b"1", b"2"]
    close_both(master, slave)


def test_bytes_that_could_not_be_written_are_appended_again(tmp_path: Path) -> None:
    master, slave = pair(tmp_path)
    put_all(master, range(COUNT))
    append(slave, master.raw.read(0, 3000))
    size, whole = slave.written_offset, slave.raw.whole_offset

    slave.raw.append(master.raw.read(3000, 2000))
    slave.raw.undo()

    assert (slave.written_offset, slave.raw.whole_offset) == (size, whole)
    copy(master, slave)
    assert bodies(slave, "topic-a", 0) == bodies(master, "topic-a", 0)


def test_bytes_are_read_from_one_file_at_a_time(tmp_path: Path) -> None:
    master, _ = pair(tmp_path)
    put_all(master, range(COUNT))
    assert len(master.raw.read(LOG_FILE_SIZE - 10, 1 << 20)) == 10
    assert master.raw.read(master.written_offset, 10) == b""
    assert master.raw.read(master.written_offset + 5, 10) == b""


def test_put_into_a_copy_is_refused(tmp_path: Path) -> None:
    store = open_store(StoreConfig(store_path_root_dir=tmp_path))
    store.is_copy = True
    assert store.put(message(1), START_MS).status == "SERVICE_NOT_AVAILABLE"
