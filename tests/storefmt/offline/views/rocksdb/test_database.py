"""Opening RocksDB without its lock and without changing a file, and what cannot be opened."""

import hashlib
import sys
import threading
from pathlib import Path

import pytest

from storefmt.errors import StoreError
from storefmt.offline.views.rocksdb.database import Database, RocksdbNotInstalled
from tests.golden import Golden


@pytest.fixture
def topics(golden: Golden) -> Path:
    """Return a copy of a database of topics."""
    return golden.family("rocksdb", "separate") / "config" / "topics"


def contents(directory: Path) -> dict[str, tuple[str, int]]:
    """Return digest and time of change of every file."""
    return {
        str(path.relative_to(directory)): (
            hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns,
        )
        for path in sorted(directory.rglob("*")) if path.is_file()
    }  # fmt: skip


def test_entries_equal_those_of_java_and_no_file_changes(golden: Golden) -> None:
    store = golden.family("rocksdb", "separate")
    before = contents(store)
    expected = golden.expected("rocksdb")["entries"]["separate"]

    for name, families in expected.items():
        database = Database(store / name, what="it")
        for family, pairs in families.items():
            found = [[key.hex(), value.hex()] for key, value in database.entries(family)]
            assert found == pairs
        database.close()

    assert len(expected) >= 6
    assert contents(store) == before


def test_a_directory_without_write_permission_is_read(topics: Path) -> None:
    (topics / "LOCK").chmod(0)
    topics.chmod(0o500)

    database = Database(topics, what="it")

    assert b"orders" in dict(database.entries())
    topics.chmod(0o700)


def test_prefix_start_last_and_missing_families(topics: Path) -> None:
    database = Database(topics, what="it")

    assert [key for key, _ in database.entries(prefix=b"RMQ_SYS_TRANS")] == [
        b"RMQ_SYS_TRANS_HALF_TOPIC", b"RMQ_SYS_TRANS_OP_HALF_TOPIC",
    ]  # fmt: skip
    assert next(database.entries(start=b"or"))[0] == b"orders"
    assert (database.last(b"RMQ_SYS_TRANS_") or (b"",))[0] == b"RMQ_SYS_TRANS_OP_HALF_TOPIC"
    assert database.last(b"zzz") is None
    assert database.get(b"none") is None
    assert database.get(b"none", family="none") is None
    assert list(database.entries("none")) == []
    assert database.last(b"", family="none") is None


@pytest.mark.parametrize("kept", ["none", "no manifest", "cut manifest", "no table"])
def test_what_does_not_open_is_one_error(topics: Path, kept: str) -> None:
    manifest = next(topics.glob("MANIFEST-*"))
    match kept:
        case "none":
            for path in topics.iterdir():
                path.unlink()
        case "no manifest":
            manifest.unlink()
        case "cut manifest":
            manifest.write_bytes(manifest.read_bytes()[:20])
        case "no table":
            for path in topics.glob("*.sst"):
                path.unlink()

    with pytest.raises(StoreError, match="RocksDB cannot open it"):
        Database(topics, what="it")


def test_a_link_in_the_directory_is_not_followed(topics: Path, tmp_path: Path) -> None:
    table = max(topics.glob("*.sst"), key=lambda path: path.stat().st_size)
    table.rename(tmp_path / "elsewhere")
    table.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(StoreError, match="RocksDB cannot open it"):
        Database(topics, what="it")


def test_without_the_package_the_error_says_what_to_install(
    topics: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rocksdict", None)

    with pytest.raises(RocksdbNotInstalled, match=r"the topics .* `pip install 'mqadmin\[rocks"):
        Database(topics, what="the topics")


def test_two_readers_at_once(topics: Path) -> None:
    counts: list[int] = []

    def read() -> None:
        database = Database(topics, what="it")
        counts.append(len(list(database.entries())))
        database.close()

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts[0] == counts[1] > 10
