"""Queues in RocksDB: the same ends as the running broker said, and files that are not there."""

import pickle
from pathlib import Path

import pytest

from storefmt.errors import NotInStore, StoreError
from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.names import HALF_TOPIC
from storefmt.offline.views.rocksdb import queues as module
from storefmt.offline.views.rocksdb.queues import RocksdbQueuePath, list_queues, open_queues
from storefmt.offline.views.storedir import StoreDir
from storefmt.store_file import StoreFile
from tests.golden import Golden

SETS = ("separate", "single", "v2", "combine", "files")


@pytest.mark.parametrize("name", SETS)
def test_ends_of_queues_are_those_that_the_broker_said(golden: Golden, name: str) -> None:
    stats = golden.expected("rocksdb")["live"][name]["stats"]
    said = {
        (topic, int(queue_id)): (low, high)
        for topic, queues in stats.items()
        for queue_id, (low, high, _) in queues.items()
        # The broker writes to this one itself, also between its answer and its end.
        if high and topic != HALF_TOPIC
    }

    with StoreDir.open(golden.family("rocksdb", name)) as store:
        views = [store.queue(*key) for key in store.queues()]
        found = {(v.topic, v.queue_id): (v.min_offset, v.max_offset) for v in views}

    assert {key: found.get(key) for key in said} == said
    assert found[("orders", 0)] == (0, 7)


@pytest.mark.parametrize("name", SETS)
def test_each_entry_points_at_its_record(golden: Golden, name: str) -> None:
    with StoreDir.open(golden.family("rocksdb", name)) as store:
        for key in store.queues():
            for queue_offset, entry in store.queue(*key).entries():
                record = store.record_at(entry.log_offset)
                assert (record.size, record.topic) == (entry.size, key[0])
                assert (record.queue_id, record.queue_offset) == (key[1], queue_offset)


def test_files_and_rocksdb_of_one_store_have_the_same_entries(golden: Golden) -> None:
    with StoreDir.open(golden.family("rocksdb", "combine")) as store:
        for key in store.queues():
            files, rocksdb = store.queue_in_files(*key), store.queue_in_rocksdb(*key)
            assert files is not None
            assert rocksdb is not None
            assert list(files.entries()) == list(rocksdb.entries())
        assert store.tree.queues == store.tree.file_queues == store.tree.queue_files
        assert store.queue_in_files("none", 0) is None
        assert store.queue_in_rocksdb("none", 0) is None


def test_rocksdb_that_goes_further_than_the_files_is_read(golden: Golden) -> None:
    store = golden.family("rocksdb", "combine")
    path = next((store / "consumequeue" / "orders" / "0").iterdir())
    data = path.read_bytes()
    path.write_bytes(data[: 3 * ENTRY_SIZE] + bytes(len(data) - 3 * ENTRY_SIZE))

    with StoreDir.open(store) as opened:
        assert opened.queue("orders", 0).max_offset == 7
        assert opened.tree.queue_files == {}
        assert "because they go further than those in consumequeue" in " ".join(opened.info().notes)
        assert path.relative_to(store).as_posix() in {file.name for file in opened.files()}


@pytest.mark.parametrize("name", ["separate", "single", "v2", "combine"])
def test_the_size_of_a_store_is_that_of_its_files(golden: Golden, name: str) -> None:
    store = golden.family("rocksdb", name)

    with StoreDir.open(store) as opened:
        sizes = opened.info().size, sum(file.size for file in opened.files())

    on_disk = sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    assert sizes == (on_disk, on_disk)


@pytest.fixture
def directory(golden: Golden) -> Path:
    """Return the queues of a copy of a store."""
    return golden.family("rocksdb", "separate") / "consumequeue"


def test_a_queue_is_a_file_whose_path_can_be_sent_to_a_process(directory: Path) -> None:
    ((span,),) = [spans for key, spans in list_queues(directory).items() if key == ("orders", 1)]
    path = pickle.loads(pickle.dumps(span.path))  # noqa: S301
    module._forget(directory)

    file = StoreFile(path)

    assert (path.directory, path.key, path.start) == (directory, ("orders", 1), 0)
    assert not Path(str(path)).exists()
    assert file.size == span.size == 6 * ENTRY_SIZE
    assert file.read(0, 1000) == file.read(0, 70) + file.read(70, 1000)
    assert file.read(25, 3) == file.read(20, 20)[5:8]
    assert file.read(120, 20) == b""
    assert list(path.children()) == []
    assert (path.is_file(), path.is_dir()) == (True, False)


def test_the_queues_of_a_stopped_broker_reach_the_end_of_its_log(directory: Path) -> None:
    with StoreDir.open(directory.parent) as store:
        assert open_queues(directory).log_end() == store.log.end


def test_an_entry_of_another_form_reads_as_one_that_was_never_written() -> None:
    assert module._entry(b"short") == bytes(ENTRY_SIZE)
    assert CQ_ENTRY.unpack(module._entry(bytes(range(28))))[0] == 0x0001020304050607


def test_a_topic_that_may_not_be_a_path_is_not_listed() -> None:
    assert module._may_be_path("orders")
    assert not module._may_be_path("../etc")


def test_a_database_that_went_away_is_an_error_of_the_store(directory: Path) -> None:
    path = RocksdbQueuePath.of(directory / "none", ("orders", 0), 0)

    with pytest.raises(StoreError, match="none"):
        StoreFile(path)
    with StoreDir.open(directory.parent) as store, pytest.raises(NotInStore):
        store.queue("orders", 9)


def test_a_damaged_database_leaves_the_log_to_be_read(directory: Path) -> None:
    for path in directory.glob("*.sst"):
        path.unlink()

    with StoreDir.open(directory.parent) as store:
        assert len(list(store.records())) > 10
        assert "RocksDB cannot open it" in " ".join(store.info().notes)
        with pytest.raises(StoreError, match="RocksDB cannot open it"):
            store.need_queues()
        with pytest.raises(StoreError, match="RocksDB cannot open it"):
            store.queue("orders", 0)


def test_opening_again_sees_what_came_since(golden: Golden, directory: Path) -> None:
    first = open_queues(directory)

    list_queues(directory)

    assert open_queues(directory) is not first
