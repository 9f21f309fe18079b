"""Reads that must not wait for a disk."""

import errno
import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.store.disk.disk import DiskFile, RealDisk, open_files_max
from mqserver.store.disk.nowait import ColdRead, no_wait
from tests.server.cold_disk import forget_file

SIZE = 1 << 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(bytes(range(256)) * (SIZE // 256))
    return tmp_path / "file"


@pytest.fixture
def file(path: Path) -> Iterator[DiskFile]:
    file = RealDisk().open(path)
    yield file
    file.close()


def open_cold(path: Path) -> DiskFile:
    """Return an open file of which nothing is cached; skips where the system cannot tell."""
    forget_file(path)
    file = RealDisk().open(path)
    try:
        with no_wait():
            file.pread(10, 0)
    except ColdRead as cold:
        # The kernel has begun to read what was asked for: end that, and forget it again.
        cold.warm()
        forget_file(path)
        return file
    pytest.skip("this file system does not tell what it has in memory")


def test_cached_read_returns_the_bytes(file: DiskFile, path: Path) -> None:
    with no_wait():
        assert file.pread(300, 256) == path.read_bytes()[256:556]
        assert file.pread(100, SIZE - 10) == path.read_bytes()[-10:]
        assert file.pread(100, SIZE + 10) == b""


def cold_read(path: Path, size: int, at: int) -> tuple[DiskFile, ColdRead]:
    """Return a file and what a read of it raised; it is opened again until a read is cold.

    The system may keep pages that it was told to forget, when it still reads ahead or is busy.
    """
    for _ in range(20):
        file = open_cold(path)
        try:
            with no_wait():
                file.pread(size, at)
        except ColdRead as cold:
            return file, cold
        file.close()
    raise AssertionError(f"{path} is in memory, however often it is forgotten")


def test_cold_read_raises_until_it_was_warmed(path: Path) -> None:
    file, cold = cold_read(path, 1000, 4096)

    cold.warm()

    with no_wait():
        assert file.pread(1000, 4096) == path.read_bytes()[4096:5096]
    file.close()


def test_read_of_which_a_part_is_cached_is_cold(path: Path) -> None:
    # The system may keep some pages that it was told to forget, when it is busy.
    for _ in range(20):
        file = open_cold(path)
        file.read_ahead(on=False)
        file.pread(4096, 0)
        try:
            with no_wait():
                file.pread(65536, 0)
        except ColdRead as cold:
            cold.warm()
            return
        finally:
            file.close()
    pytest.fail("never cold")


def test_other_threads_and_plain_reads_wait(path: Path) -> None:
    file = open_cold(path)
    found: list[bytes] = []
    other = threading.Thread(target=lambda: found.append(file.pread(256, 0)))

    with no_wait():
        other.start()
        other.join()

    forget_file(path)
    assert found == [bytes(range(256))] == [file.pread(256, 0)]
    file.close()


def test_read_is_warmed_after_its_file_is_closed_and_deleted(path: Path) -> None:
    file, cold = cold_read(path, 1000, 0)
    file.close()
    path.unlink()

    cold.warm()


def test_what_was_read_first_tells_what_is_read_then(path: Path) -> None:
    found: list[bytes] = []
    for size, pos in ((10, 5), (10, SIZE + 10)):
        with path.open("rb") as file:
            cold = ColdRead(file.fileno(), size, pos)
        cold.also(20, 0)
        cold.then = found.append
        cold.warm()

    assert found == [bytes(range(5, 15))]


def test_system_that_cannot_tell_is_read_as_ever(
    file: DiskFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = os.preadv

    def refuse(fd: int, views: list[memoryview], pos: int, flags: int = 0) -> int:
        if flags:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return known(fd, views, pos)

    monkeypatch.setattr(os, "preadv", refuse)

    with no_wait():
        assert file.pread(256, 0) == bytes(range(256))


@pytest.mark.parametrize("is_asked_politely", [True, False])
def test_a_buffer_is_filled_as_far_as_the_file_goes(
    file: DiskFile, path: Path, is_asked_politely: bool
) -> None:
    for pos, count in ((256, 300), (SIZE - 10, 10), (SIZE + 10, 0)):
        data = bytearray(300)
        with no_wait(is_asked_politely):
            assert file.read_into(memoryview(data), pos) == count
        assert bytes(data) == path.read_bytes()[pos : pos + count].ljust(300, b"\0")


def test_a_read_that_the_system_cuts_short_goes_on(
    file: DiskFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, views, pos: known(fd, [views[0][:100]], pos))
    data = bytearray(1000)

    assert file.read_into(memoryview(data), 20) == 1000
    assert data == path.read_bytes()[20:1020]


@pytest.mark.parametrize(
    ("limit", "expected"), [(resource.RLIM_INFINITY, 256), (65_536, 256), (1_024, 64), (16, 4)]
)
def test_caches_keep_few_files_open_where_few_may_be(
    monkeypatch: pytest.MonkeyPatch, limit: int, expected: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, limit))

    assert open_files_max(256) == expected


def test_lock_that_could_not_be_written_is_free_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: object) -> int:
        raise OSError(errno.ENOSPC, "told to fail")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", fail)
        with pytest.raises(OSError, match="told to fail"):
            RealDisk().lock(tmp_path / "lock")

    RealDisk().lock(tmp_path / "lock")()


def test_new_file_has_its_size_when_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, truncate = tmp_path / "queue", os.ftruncate
    was_there = []

    def watched(fd: int, size: int) -> None:
        was_there.append(path.exists())
        truncate(fd, size)

    monkeypatch.setattr(os, "ftruncate", watched)

    file = RealDisk().open(path, create=True, size=6_000)
    file.pwrite(b"x", 5_999)
    file.close()
    again = RealDisk().open(path, create=True, size=9_000)

    assert was_there[0] is False
    assert again.size() == path.stat().st_size == 6_000
    assert again.pread(1, 5_999) == b"x"
    assert os.listdir(tmp_path) == ["queue"]
    again.close()


def test_new_file_is_empty_where_the_file_system_cannot_make_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*names: object, **options: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no such thing here")

    monkeypatch.setattr(os, "link", refuse)

    file = RealDisk().open(tmp_path / "queue", create=True, size=6_000)

    assert file.size() == 0
    file.close()
