"""A DLedger broker's store: refused by name, and what the refusal advises works."""

from pathlib import Path

import pytest

from storefmt.dledger import find_directories, iter_records
from storefmt.errors import NotAStore
from storefmt.offline.carve import Carver, files_to_carve
from storefmt.offline.storedir import StoreDir
from storefmt.offline.tree import read_tree
from storefmt.offline.verify import verify
from tests.storefmt.vectors import unpack


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

    with StoreDir.open(tmp_path) as store:
        assert verify(store).findings == []
    assert read_tree(tmp_path).strangers == []


def test_carving_gives_every_record_of_a_raft_log(tmp_path: Path) -> None:
    path = unpack("dledger", tmp_path)
    (member,) = find_directories(path)

    found = [one.record for one in Carver().search(list(files_to_carve(path)))]

    assert found == [record for _, record in iter_records(member)]
