"""Commands on store directories whose queues and settings are in RocksDB."""

import json
import sys
from pathlib import Path

import pytest

from tests.golden import Golden
from tests.mqadmin.conftest import Run, cells


@pytest.fixture
def store(golden: Golden) -> Path:
    """Return a copy of a store that has everything in RocksDB."""
    return golden.family("rocksdb", "separate")


NEEDING = (
    ("store", "queue", "{}", "orders"),
    ("store", "offsets", "{}"),
    ("store", "diff", "{}", "{}"),
    ("topic", "list", "--store", "{}"),
    ("topic", "status", "orders", "--store", "{}"),
    ("group", "list", "--store", "{}"),
)
"""Lines whose answer is in RocksDB."""
WITHOUT = (
    ("store", "info", "{}"),
    ("store", "verify", "{}"),
    ("store", "ls", "{}"),
    ("store", "log", "{}"),
    ("store", "trace", "{}", "key3"),
)
"""Lines that answer from the log where RocksDB cannot be read."""


def words(line: tuple[str, ...], store: Path) -> list[str]:
    return [word.format(store) for word in line]


@pytest.mark.parametrize("line", [*NEEDING, *WITHOUT], ids=" ".join)
def test_each_line_answers_from_rocksdb(run: Run, store: Path, line: tuple[str, ...]) -> None:
    done = run(*words(line, store))

    assert done.exit_code == 0, done.err


@pytest.mark.parametrize("line", NEEDING, ids=" ".join)
def test_without_the_package_a_line_says_what_to_install(
    run: Run, store: Path, line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    done = run(*words(line, store))

    assert done.exit_code == 1
    assert "RocksDB" in done.err
    assert "pip install 'mqadmin[rocksdb]'" in done.err


@pytest.mark.parametrize("line", WITHOUT, ids=" ".join)
def test_without_the_package_the_log_is_read(
    run: Run, store: Path, line: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    done = run(*words(line, store))

    assert done.exit_code == 0, done.err


def test_queue_offsets_topics_and_groups(run: Run, store: Path) -> None:
    entries = run.rows("store", "queue", str(store), "orders", "1")
    offsets = run.rows("store", "offsets", str(store), "--group", "readers")
    topics = run.rows("topic", "list", "--store", str(store), "--kind", "normal")
    groups = run.rows("group", "list", "--store", str(store))

    assert cells(entries, "queue_offset", "max_offset") == [(k, 6) for k in range(6)]
    assert cells(offsets, "queue_id", "offset", "max_offset") == [(0, 4, 7), (1, 2, 6)]
    assert {"orders", "latest"} <= {row["topic"] for row in topics}
    assert {"readers", "poppers"} <= {row["group"] for row in groups}


def test_rebuild_writes_the_queues_as_files(run: Run, store: Path, tmp_path: Path) -> None:
    run("store", "rebuild", str(store), "--to", str(tmp_path / "out"))

    (file,) = (tmp_path / "out" / "consumequeue" / "orders" / "1").iterdir()
    assert len(file.read_bytes().rstrip(b"\0")) > 5 * 20
    assert not (tmp_path / "out" / "consumequeue" / "CURRENT").exists()


def test_report_is_written(run: Run, store: Path, tmp_path: Path) -> None:
    done = run("store", "report", str(store), "--to", str(tmp_path / "page.html"))

    assert done.exit_code == 0, done.err
    assert "orders" in (tmp_path / "page.html").read_text()


def test_settings_of_a_directory(run: Run, store: Path) -> None:
    rows = run.rows("store", "rocksdb", str(store / "config"), "topics")

    tables = {row["table"] for row in rows}
    (orders,) = [row for row in rows if row["key"] == "orders"]
    assert tables == {"dataVersion", "topicConfigTable"}
    assert json.loads(orders["value"])["readQueueNums"] == 2


def test_a_directory_without_the_table_is_not_found(run: Run, store: Path) -> None:
    done = run("store", "rocksdb", str(store), "topics")

    assert done.exit_code == 3
    assert "no topics in RocksDB" in done.err


def test_queues_in_both_forms_are_compared(run: Run, golden: Golden) -> None:
    both = golden.family("rocksdb", "combine")
    path = next((both / "consumequeue" / "orders" / "0").iterdir())

    whole = run.rows("store", "cq-diff", str(both), "--topic", "orders")
    with path.open("r+b") as file:
        file.seek(20)
        file.write(bytes(8))
    (changed, same) = run.rows("store", "cq-diff", str(both), "--topic", "orders", exit_code=1)

    assert cells(whole, "same", "files_max", "rocksdb_max") == [(True, 7, 7), (True, 6, 6)]
    assert (changed["differing_count"], changed["first_differing"]) == (1, 1)
    assert same["same"]


def test_a_store_with_one_form_has_nothing_to_compare(run: Run, store: Path) -> None:
    assert run("store", "cq-diff", str(store)).exit_code == 3
