"""The tables of stores whose queues and settings are in RocksDB."""

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from mqspark.sources.store.reading import ReadOptions
from mqspark.sources.store.tables import default_columns, plan, read
from storefmt.errors import StoreError
from tests.golden import Golden

TABLES = ("consumequeue", "offsets", "topics", "groups")


@pytest.fixture
def store(golden: Golden) -> Path:
    """Return a copy of a store that has everything in RocksDB."""
    return golden.family("rocksdb", "separate")


def rows_of(store: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, whose tasks went to another process and back."""
    reading = ReadOptions(table=table, columns=default_columns(table))
    tasks = pickle.loads(pickle.dumps(list(plan(store, reading))))  # noqa: S301
    return [row for task in tasks for batch in read(task, reading) for row in batch.to_pylist()]


def test_entries_of_queues(store: Path) -> None:
    rows = [row for row in rows_of(store, "consumequeue") if row["topic"] == "orders"]

    assert [(row["queue_id"], row["queue_offset"]) for row in rows] == [
        *((0, k) for k in range(7)), *((1, k) for k in range(6)),
    ]  # fmt: skip
    assert {row["kind"] for row in rows} == {"cq"}
    assert rows[0]["log_offset"] == 0


def test_offsets_topics_and_groups(store: Path) -> None:
    offsets = {
        (row["consumer_group"], row["queue_id"]): (row["queue_offset"], row["max_offset"])
        for row in rows_of(store, "offsets")
        if row["topic"] == "orders"
    }

    assert offsets[("readers", 0)] == (4, 7)
    assert {"orders", "latest"} <= {row["topic"] for row in rows_of(store, "topics")}
    assert {"readers", "poppers"} <= {row["consumer_group"] for row in rows_of(store, "groups")}


def test_every_file_of_rocksdb_is_listed_and_no_other(store: Path) -> None:
    listed = {row["path"] for row in rows_of(store, "files")}

    files = (path for path in store.rglob("*") if path.is_file())
    assert listed == {str(path.relative_to(store)) for path in files}


@pytest.mark.parametrize("table", TABLES)
def test_without_the_package_a_table_says_what_to_install(
    store: Path, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    with pytest.raises(StoreError, match=r"pip install 'mqadmin\[rocksdb\]'"):
        rows_of(store, table)
