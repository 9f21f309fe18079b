"""Far paths: what they look like, what readers ask of them, and that nobody can open them."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from storefmt.formats.scan import LogFile
from storefmt.remote_file import RemoteFile, RemotePath, remote_file_of
from storefmt.store_file import StoreFile

DATA = bytes(100) + b"data" + bytes(96)


class Bytes:
    """A file of 200 bytes."""

    size = len(DATA)

    def read(self, pos: int, size: int) -> bytes:
        return DATA[pos : pos + size]

    def close(self) -> None:
        """Keep nothing."""


class Made(RemotePath):
    """A directory ``there`` with one file, ``00000000000000000200``."""

    def open_remote(self) -> RemoteFile:
        return Bytes()

    def size_of(self) -> int | None:
        return {"there": -1, f"{200:020}": len(DATA)}.get(self.name)

    def children(self) -> Iterator[Self]:
        yield self / f"{200:020}"


ROOT = Made("far://host:1/there")


def test_a_path_is_its_uri_and_its_children_are_of_its_kind() -> None:
    (file,) = ROOT.iterdir()

    assert str(file) == "far://host:1/there/00000000000000000200"
    assert isinstance(file, Made)
    assert isinstance(copy.copy(file), Made)
    assert file.relative_to(ROOT).as_posix() == file.name
    assert file.parent == file.resolve().parent == ROOT


def test_what_it_is_is_asked_of_who_made_it() -> None:
    (file,) = ROOT.iterdir()

    assert ROOT.is_dir() is True
    assert ROOT.is_file() is False
    assert ROOT.exists() is True
    assert file.is_dir() is False
    assert file.is_file() is True
    assert file.is_symlink() is False
    assert not (ROOT / "nothing").exists()
    assert file.stat().st_size == 200
    assert file.stat().st_blocks == 1
    assert file.read_bytes() == DATA
    with pytest.raises(FileNotFoundError, match="far://host:1/there/nothing"):
        (ROOT / "nothing").stat()
    with pytest.raises(OSError, match="far://host:1/there/0"):
        file.open()


def test_readers_ask_for_ranges(tmp_path: Path) -> None:
    (path,) = ROOT.iterdir()
    buffer = bytearray(150)

    with LogFile(path) as log:
        assert log.base == 200
        assert log.size == 200
        assert log.read(100, 4) == b"data"
        assert log.read_into(memoryview(buffer), 100) == 100
        assert log.data_after(7) == 7
        assert log.data_after(300) == 200
    file = StoreFile(path)
    assert file.size == 200
    assert file.read(102, 1000) == DATA[102:]
    assert list(file.extents()) == [(0, 200)]
    assert file.first_data() == 100
    assert file.data_end() == 104
    file.close()
    assert remote_file_of(tmp_path) is None
