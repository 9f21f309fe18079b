"""Topics, groups and offsets of RocksDB equal what the running broker said."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from storefmt.config.tables import ConsumerOffsets, GroupTable, TopicTable
from storefmt.errors import StoreError
from storefmt.offline.views.rocksdb.database import Database, RocksdbNotInstalled
from storefmt.offline.views.rocksdb.settings import _offset_key, read_tables
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden

SETS = ("separate", "single", "v2", "combine", "files")
WHERE = {
    "separate": ("config/topics", "config/subscriptionGroups", "config/consumerOffsets"),
    "single": ("config/metadata",) * 3,
    "v2": ("config/rdb",) * 3,
    "combine": (
        "config/topics.json",
        "config/subscriptionGroup.json",
        "config/consumerOffset.json",
    ),
}


def of_users(table: dict[str, Any]) -> dict[str, Any]:
    """Return the items that users made: v2 does not store those of the broker itself."""
    return {
        name: table[name] for name in ("orders", "latest", "readers", "poppers") if name in table
    }


@pytest.mark.parametrize("name", SETS)
def test_tables_are_those_that_the_broker_said(golden: Golden, name: str) -> None:
    said = golden.expected("rocksdb")["live"][name]

    with StoreDir.open(golden.family("rocksdb", name)) as store:
        topics = {key: value.to_json() for key, value in store.topics().topics.items()}
        groups = {key: value.to_json() for key, value in store.groups().groups.items()}
        offsets = {"@".join(key): queues for key, queues in store.offsets().items()}
        assert store.state.notes == []

    assert of_users(topics) == of_users(said["topics"]["topicConfigTable"])
    assert len(of_users(topics)) == 2
    assert of_users(groups) == of_users(said["groups"]["subscriptionGroupTable"])
    assert len(of_users(groups)) == 2
    users = {key: queues for key, queues in said["offsets"].items() if key.startswith("orders@")}
    assert users == {
        key: {str(queue_id): offset for queue_id, offset in queues.items()}
        for key, queues in offsets.items()
        if key.startswith("orders@")
    }


@pytest.mark.parametrize("name", WHERE)
def test_the_place_of_each_table_is_named(golden: Golden, name: str) -> None:
    with StoreDir.open(golden.family("rocksdb", name)) as store:
        reads = (
            store.config("topics.json", TopicTable.decode),
            store.config("subscriptionGroup.json", GroupTable.decode),
            store.config("consumerOffset.json", ConsumerOffsets.decode),
        )

    assert tuple(read.file for read in reads) == WHERE[name]


@pytest.mark.parametrize(("counter", "file"), [(1, "config/topics"), (99, "config/topics.json")])
def test_the_form_that_changed_most_often_is_read(golden: Golden, counter: int, file: str) -> None:
    store = golden.family("rocksdb", "separate")
    table = {"dataVersion": {"counter": counter}, "topicConfigTable": {}}
    (store / "config" / "topics.json").write_text(json.dumps(table))

    with StoreDir.open(store) as opened:
        assert opened.config("topics.json", TopicTable.decode).file == file


def test_a_file_that_cannot_be_read_leaves_the_table_of_rocksdb(golden: Golden) -> None:
    store = golden.family("rocksdb", "separate")
    (store / "config" / "topics.json").write_text("{")

    with StoreDir.open(store) as opened:
        assert opened.config("topics.json", TopicTable.decode).file == "config/topics"


def test_of_two_databases_the_later_form_is_read(golden: Golden) -> None:
    store, other = (golden.family("rocksdb", name) for name in ("separate", "single"))
    shutil.copytree(other / "config" / "metadata", store / "config" / "metadata")

    with StoreDir.open(store) as opened:
        assert opened.config("topics.json", TopicTable.decode).file == "config/metadata"


def test_without_the_package_a_store_says_what_is_in_rocksdb(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    with StoreDir.open(golden.family("rocksdb", "separate")) as store:
        notes = " ".join(store.info().notes)
        for ask in (store.topics, store.groups, store.offsets, store.need_queues):
            with pytest.raises(RocksdbNotInstalled):
                ask()
        with pytest.raises(RocksdbNotInstalled):
            store.queue("orders", 0)

    assert "the consume queues of this store are in RocksDB (consumequeue)" in notes
    assert "config/consumerOffsets, config/subscriptionGroups, config/topics" in notes


def test_a_table_that_rocksdb_does_not_have_is_left_out(golden: Golden, tmp_path: Path) -> None:
    config = golden.family("rocksdb", "separate") / "config"

    assert set(read_tables(config, ["topics"])) == {"topics.json"}
    assert read_tables(config, ["topics"], file_names=["consumerOffset.json"]) == {}
    assert read_tables(tmp_path, []) == {}


@pytest.mark.parametrize(
    ("name", "databases"),
    [
        ("separate", ["topics", "subscriptionGroups", "consumerOffsets"]),
        ("single", ["metadata"]),
        ("v2", ["rdb"]),
        ("files", []),
    ],
)
def test_each_database_is_opened_once(
    golden: Golden, name: str, databases: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    read = Database._open

    def noted(database: Database) -> Any:
        opened.append(database.directory.name)
        return read(database)

    monkeypatch.setattr(Database, "_open", noted)

    with StoreDir.open(golden.family("rocksdb", name)) as store:
        opened.clear()
        assert "orders" in store.topics().topics
        assert "readers" in {group.group for group in store.info().groups}

    assert opened == databases


def test_a_database_that_does_not_open_is_an_error(golden: Golden) -> None:
    store = golden.family("rocksdb", "separate")
    for path in (store / "config" / "topics").glob("*.sst"):
        path.unlink()

    with StoreDir.open(store) as opened:
        assert "config/topics: RocksDB cannot open it" in " ".join(opened.info().notes)
        with pytest.raises(StoreError, match="config/topics"):
            opened.topics()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\0\1g\1\0\2tt\1\0\0\0\7", ("g", "tt", 7)),
        (b"\0\1g\1\0\2tt\1\0\0\0", None),
        (b"\0\1g\2\0\2tt\1\0\0\0\7", None),
        (b"\0\1\xff\1\0\2tt\1\0\0\0\7", None),
        (b"", None),
    ],
)
def test_keys_of_offsets_in_v2(data: bytes, expected: object) -> None:
    assert _offset_key(data) == expected
