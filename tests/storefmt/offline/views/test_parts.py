"""The parts that only stores of 5.x have, and what is in them."""

import sys
from pathlib import Path

import pytest

from storefmt.offline.views.parts import StorePart, store_parts
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def parts_of(store: Path) -> dict[str, StorePart]:
    with StoreDir.open(store) as opened:
        return {part.path: part for part in store_parts(opened)}


def contents(store: Path) -> dict[str, str]:
    return {path: part.contents for path, part in parts_of(store).items()}


def test_everything_in_rocksdb(golden: Golden) -> None:
    parts = parts_of(golden.family("rocksdb", "separate"))

    assert {path: part.contents for path, part in parts.items()} == {
        "consumequeue": "queues: 6, complete up to log offset 5401",
        "kvStore": "pops without acknowledgement: 1 (poppers in orders: 1)",
        "rocksdbstore": "keys of the index: 54, delayed messages: 1 (the first is due at "
        "2026-11-29T21:20:24Z), half messages: 0",
        "config/consumerOffsets": "consumer offsets: 3",
        "config/subscriptionGroups": "groups: 10",
        "config/topics": "topics: 16",
        "compaction": "log files: 0",
    }
    assert parts["config/topics"].meaning == "topics, in RocksDB"
    assert parts["kvStore"].file_count == 8
    assert parts["kvStore"].size > 20_000


def test_settings_in_one_database(golden: Golden) -> None:
    for name, path in (("single", "config/metadata"), ("v2", "config/rdb")):
        parts = parts_of(golden.family("rocksdb", name))
        assert parts[path].meaning == "topics, groups and consumer offsets, in RocksDB"
        assert "groups: " in parts[path].contents


def test_timers_compaction_and_the_tiered_store_in_files(golden: Golden) -> None:
    found = contents(golden.family("rocksdb", "files"))

    assert found["timerlog"] == "delayed messages: 1 (the first is due at 2026-11-29T21:28:28Z)"
    assert found["compaction"] == "log files: 1 (latest: 1)"
    assert found["config/tieredStoreMetadata.json"].startswith("segments: 7 (orders: 4, latest: 2,")


def test_a_store_of_4_9_has_none_of_them(basic: Path) -> None:
    assert parts_of(basic) == {}


def test_what_cannot_be_read_says_so_in_its_row(golden: Golden) -> None:
    store = golden.family("rocksdb", "separate")
    for path in (store / "kvStore").glob("*.sst"):
        path.unlink()

    found = contents(store)

    assert "RocksDB cannot open it" in found["kvStore"]
    assert found["config/topics"] == "topics: 16"


def test_damage_of_files(golden: Golden) -> None:
    store = golden.family("rocksdb", "files")
    (store / "config" / "tieredStoreMetadata.json").write_text("{")
    (store / "config" / "tieredStoreMetadata.json.bak").unlink()
    (store / "timerwheel").unlink()

    found = contents(store)

    assert found["config/tieredStoreMetadata.json"] != ""
    assert found["timerlog"] == "the file timerwheel is missing"


def test_without_the_package_the_parts_are_named(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    found = contents(golden.family("rocksdb", "separate"))

    databases = {path: text for path, text in found.items() if path != "compaction"}
    assert len(databases) == 6
    assert all("pip install 'mqadmin[rocksdb]'" in text for text in databases.values())
