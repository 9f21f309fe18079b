"""An index file whose slots cannot be read at the first attempt."""

import errno
from pathlib import Path

import pytest

from mqserver.store.index.index import Index
from mqserver.store.index.index_file import IndexFile
from storefmt.formats.javahash import index_key_hash
from tests.server.store.simdisk import SimDisk

SLOT_COUNT = 16


def open_index(disk: SimDisk, files: list[IndexFile]) -> Index:
    return Index(disk, Path("/index"), slot_count=SLOT_COUNT, entry_count_max=100, files=files)


def found(index: Index, key: str) -> list[int]:
    search = index.search("T", key, count_max=9, begin_ms=0, end_ms=1 << 60)
    assert search.advance()
    return search.log_offsets


def test_slots_that_could_not_be_read_do_not_count_as_empty(
    disk: SimDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_index(disk, [])
    first._put_rows([(index_key_hash(f"T#k{n}"), n, 1_000 + n) for n in range(20)], now_ms=1)
    first.write()
    path = first.files[0].path
    again = open_index(disk, [IndexFile(disk, path, slot_count=SLOT_COUNT, entry_count_max=100)])

    def broken(file: IndexFile) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(IndexFile, "_opened", broken)
        with pytest.raises(OSError, match="broken"):
            again._put_rows([(index_key_hash("T#new"), 50, 2_000)], now_ms=1)
    again._put_rows([(index_key_hash("T#new"), 50, 2_000)], now_ms=1)

    assert found(again, "new") == [50]
    assert [found(again, f"k{n}") for n in range(20)] == [[n] for n in range(20)]
