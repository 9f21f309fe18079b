"""A DLedger broker's store: refused by name, and what the refusal advises works."""

import shutil
from pathlib import Path

import pytest

from storefmt.errors import NotAStore
from storefmt.formats.message import Record
from storefmt.offline.output_dir import OutputDirectory
from storefmt.offline.repair.carve import CarvedLog, Carver, files_to_carve
from storefmt.offline.repair.repair import RepairResult
from storefmt.offline.verify.findings import Severity
from storefmt.offline.views.storedir import StoreDir
from storefmt.offline.views.tree import read_tree
from tests.storefmt.broken import overwrite
from tests.storefmt.offline.stores import records_in, repaired, report_of
from tests.storefmt.vectors import raft_records, unpack


def test_raft_log_is_refused_with_its_place_and_a_way_on(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path)

    with pytest.raises(NotAStore, match=f"{path}: .*dledger-n0/data.*store carve"):
        StoreDir.open(path)


def test_raft_log_behind_an_older_commit_log_is_refused_too(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path)
    (path / "commitlog").mkdir()
    (path / "commitlog" / f"{0:020d}").write_bytes(bytes(1024))

    with pytest.raises(NotAStore, match="older log in commitlog"):
        StoreDir.open(path)


def test_directory_of_a_member_names_the_store(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path)

    with pytest.raises(NotAStore, match=f"try {path}"):
        StoreDir.open(path / "dledger-n0")


def test_directory_without_a_log_is_no_stranger(tmp_path: Path) -> None:
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "dledger-n0" / "data").mkdir(parents=True)

    assert report_of(tmp_path).findings == []
    assert read_tree(tmp_path).strangers == []


def test_carving_gives_every_record_of_a_raft_log(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path)

    found = [one.record for one in Carver().search(list(files_to_carve(path)))]

    assert found == raft_records()


def in_queues(records: list[Record]) -> list[tuple]:
    """Return what stays of records that were moved in the log."""
    return [record._replace(log_offset=0) for record in records]


def carved_and_repaired(
    path: Path, to: Path, *, file_size: int
) -> tuple[RepairResult, list[Record]]:
    log = CarvedLog(OutputDirectory.make(to / "log", source=path), file_size=file_size)
    for found in Carver().search(files_to_carve(path)):
        assert log.put(found)
    log.finish()
    log.close()
    done = repaired(to / "log", to / "store")
    assert not [f for f in report_of(to / "store").findings if f.severity is Severity.ERROR]
    return done, records_in(to / "store")


@pytest.mark.parametrize("file_size", [1 << 20, 4096])
def test_carved_raft_log_is_repaired_into_a_store_with_every_record(
    tmp_path: Path, file_size: int
) -> None:
    path = unpack("dledger", tmp_path / "raft")

    done, found = carved_and_repaired(path, tmp_path, file_size=file_size)

    assert done.lost_count == done.lost_size == 0
    assert in_queues(found) == in_queues(raft_records())


def test_raft_log_of_two_members_gives_what_either_has(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path / "raft")
    whole = raft_records()
    shutil.copytree(path / "dledger-n0", path / "dledger-n1")
    for number, name in enumerate(("dledger-n0", "dledger-n1")):
        file = path / name / "data" / f"{0:020d}"
        # Each has lost another record.
        overwrite(file, whole[number + 1].log_offset + 100, b"\xff" * 4)

    done, found = carved_and_repaired(path, tmp_path, file_size=1 << 20)

    assert done.lost_count == 0
    assert in_queues(found) == in_queues(whole)
