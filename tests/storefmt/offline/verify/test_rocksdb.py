"""Verification of stores whose queues are in RocksDB, or in RocksDB and in files."""

import sys
from pathlib import Path

import pytest

from storefmt.formats.consumequeue import CQ_ENTRY, ENTRY_SIZE
from storefmt.offline.verify.check_rocksdb import compare_forms
from storefmt.offline.verify.findings import Report, Severity
from storefmt.offline.verify.store import verify
from storefmt.offline.views.rocksdb import queues
from storefmt.offline.views.storedir import StoreDir
from tests.golden import Golden


def report_of(store: Path) -> Report:
    with StoreDir.open(store) as opened:
        return verify(opened, deep=True, jobs=1)


def kinds(report: Report) -> list[str]:
    """Return the kinds of findings, but for the topic that was deleted in every store."""
    return [found.kind for found in report.findings if found.kind != "topic_deleted"]


@pytest.mark.parametrize("name", ["separate", "single", "v2", "combine"])
def test_a_store_that_was_stopped_in_order_is_whole(golden: Golden, name: str) -> None:
    report = report_of(golden.family("rocksdb", name))

    assert (report.ok, kinds(report)) == (True, [])
    assert report.records > 15


def test_without_the_package_the_log_is_checked(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    report = report_of(golden.family("rocksdb", "separate"))

    assert (report.ok, kinds(report)) == (True, ["rocksdb_not_checked"] * 2)
    assert {found.severity for found in report.findings} == {Severity.INFO}


@pytest.mark.parametrize("name", ["consumequeue", "config/topics"])
def test_a_database_that_does_not_open_is_an_error(golden: Golden, name: str) -> None:
    store = golden.family("rocksdb", "separate")
    for path in (store / name).glob("*.sst"):
        path.unlink()

    report = report_of(store)

    assert not report.ok
    assert "rocksdb_damaged" in kinds(report)
    assert report.records > 15


def test_a_wrong_entry_of_rocksdb_is_found(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    read = queues.QueueDatabase.read

    def bent(self: queues.QueueDatabase, key: queues.QueueKey, first: int, count: int) -> bytes:
        data = bytearray(read(self, key, first, count))
        if key == ("orders", 0) and first <= 3 < first + count:
            place = (3 - first) * ENTRY_SIZE
            data[place : place + ENTRY_SIZE] = CQ_ENTRY.pack(7, 230, 0)
        return bytes(data)

    monkeypatch.setattr(queues.QueueDatabase, "read", bent)

    report = report_of(golden.family("rocksdb", "separate"))

    (found,) = [each for each in report.findings if each.severity is Severity.ERROR]
    assert (found.kind, found.pos) == ("queue_entry_wrong", 3 * ENTRY_SIZE)
    assert "move the files of RocksDB in consumequeue away" in found.hint
    assert found.file == "consumequeue/(RocksDB)/orders/0/00000000000000000000"


@pytest.fixture
def both(golden: Golden) -> tuple[Path, Path]:
    """Return a store with both forms, and a queue file in it."""
    store = golden.family("rocksdb", "combine")
    return store, next((store / "consumequeue" / "orders" / "0").iterdir())


def test_forms_that_differ_are_an_error(both: tuple[Path, Path]) -> None:
    store, path = both
    with path.open("r+b") as file:
        file.seek(2 * ENTRY_SIZE + 12)
        file.write(bytes(16))

    report = report_of(store)

    assert not report.ok
    assert "rocksdb_queue_differs" in kinds(report)
    (found,) = [each for each in report.findings if each.kind == "rocksdb_queue_differs"]
    assert (found.pos, found.count) == (2 * ENTRY_SIZE, 2)


def test_forms_of_a_whole_store_are_compared(both: tuple[Path, Path]) -> None:
    with StoreDir.open(both[0]) as store:
        forms = {(each.topic, each.queue_id): each for each in compare_forms(store)}

    assert {(each.differing_count, each.missing_count) for each in forms.values()} == {(0, 0)}
    assert forms["orders", 0].files == forms["orders", 0].rocksdb == (0, 7)


def test_rocksdb_that_is_behind_is_normal_after_a_kill(
    both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queues.QueueDatabase, "ends", lambda self, key: queues.EntrySpan(0, 1))

    report = report_of(both[0])

    assert (report.ok, set(kinds(report))) == (True, {"rocksdb_queue_behind"})


def test_a_store_with_one_form_has_nothing_to_compare(golden: Golden) -> None:
    with StoreDir.open(golden.family("rocksdb", "separate")) as store:
        assert list(compare_forms(store)) == []
