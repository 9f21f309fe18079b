"""Windows over a file give its bytes, and the next part is read ahead."""

import errno
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_scan import LogWalk, ScannedRecord
from mqserver.store.disk import file_windows
from mqserver.store.disk.disk import DiskFile, RealDisk
from mqserver.store.disk.file_windows import FileWindows
from mqserver.store.store_config import StoreConfig
from tests.server.store.stores import abandon, message, open_store, put_and_write, small_config

PART = 1_000
BRIDGE = 64
SIZE = 10_300
DATA = random.Random(7).randbytes(SIZE)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_windows, "WINDOW_SIZE", PART)
    monkeypatch.setattr(file_windows, "BRIDGE_SIZE", BRIDGE)


class NotedFile:
    """A file that notes what is asked of it; zeros from ``hole_from`` on are a hole."""

    def __init__(self, *, hole_from: int = SIZE, bad_from: int = 2 * SIZE) -> None:
        self.calls: list[tuple[str, int]] = []
        self._hole_from = hole_from
        self._bad_from = bad_from

    def pread(self, size: int, pos: int) -> bytes:
        self.calls.append(("pread", pos))
        return self._read(size, pos)

    def begin_read(self, size: int, pos: int) -> Callable[[], bytes]:
        self.calls.append(("begin", pos))

        def wait() -> bytes:
            self.calls.append(("wait", pos))
            return self._read(size, pos)

        return wait

    def _read(self, size: int, pos: int) -> bytes:
        if pos <= self._bad_from < pos + size:
            raise OSError(errno.EIO, "bad sector")
        return DATA[pos : pos + size]

    def next_data(self, pos: int) -> int | None:
        return pos if pos < self._hole_from else None


def windows_of(file: NotedFile, pos: int = 0) -> FileWindows:
    return FileWindows(file, pos, file_size=SIZE)  # type: ignore[arg-type]


def check(one: FileWindows, pos: int, size: int) -> None:
    at = one.move(pos, size)
    assert one.start + at == pos
    assert one.data[at : at + size] == DATA[pos : pos + size]


@pytest.mark.parametrize("seed", range(40))
def test_windows_hold_what_the_file_holds(seed: int) -> None:
    chance = random.Random(seed)
    one = windows_of(NotedFile(hole_from=chance.choice([SIZE, 2_500, 0])))
    pos = 0
    while pos < SIZE:
        size = chance.choice([1, 40, 91, 300, chance.randrange(1, 3_000)])
        check(one, pos, min(91, size))
        check(one, pos, size)
        pos += chance.choice([size, size, size, size, size + 500, max(0, size - 700)])
    one.close()


def test_every_part_is_asked_for_while_the_one_before_is_looked_at() -> None:
    file = NotedFile()
    one = windows_of(file)

    for pos in range(0, SIZE, 50):
        check(one, pos, 50)

    parts = range(PART, SIZE, PART)
    asked = [call for pos in parts for call in (("begin", pos), ("wait", pos))]
    # The next part is asked for as soon as one is there.
    assert file.calls == [("pread", 0), *sorted(asked, key=lambda call: asked_at(*call))]


def asked_at(name: str, pos: int) -> tuple[int, int]:
    return (pos, 1) if name == "wait" else (pos - PART, 2)


def test_no_part_is_read_twice_for_a_record_that_is_longer_than_a_bridge() -> None:
    file = NotedFile()
    one = windows_of(file)

    for pos in range(0, SIZE, 300):
        check(one, pos, 300)

    assert [call for call in file.calls if call[0] == "pread"] == [("pread", 0)]


def test_a_hole_is_not_read_ahead() -> None:
    file = NotedFile(hole_from=PART)

    check(windows_of(file), 0, 50)

    assert file.calls == [("pread", 0)]


def test_a_jump_reads_nothing_ahead() -> None:
    file = NotedFile()
    one = windows_of(file)

    check(one, 5_000, 50)

    assert file.calls == [("pread", 5_000)]


def test_a_bad_sector_is_told_to_who_comes_to_it() -> None:
    one = windows_of(NotedFile(bad_from=1_500))

    check(one, 0, 100)
    check(one, 900, 100)
    with pytest.raises(OSError, match="bad sector"):
        one.move(950, 100)


def test_a_bad_sector_that_nobody_came_to_is_not_told() -> None:
    file = NotedFile(bad_from=1_500)
    one = windows_of(file)
    check(one, 0, 100)

    one.close()

    assert file.calls == [("pread", 0), ("begin", PART), ("wait", PART)]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[DiskFile]:
    (tmp_path / "file").write_bytes(DATA)
    file = RealDisk().open(tmp_path / "file")
    yield file
    file.close()


def test_a_thread_reads_as_pread_does(file: DiskFile) -> None:
    reads = [file.begin_read(400, pos) for pos in (0, 300, SIZE - 10, SIZE + 10)]

    found = [read() for read in reads]
    assert found == [DATA[:400], DATA[300:700], DATA[-10:], b""]


def test_a_thread_hands_over_the_error_of_its_read(
    file: DiskFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, size: int, pos: int) -> bytes:
        raise OSError(errno.EIO, "bad sector")

    monkeypatch.setattr(os, "pread", refuse)
    read = file.begin_read(400, 0)

    with pytest.raises(OSError, match="bad sector"):
        read()


@pytest.mark.parametrize("part_size", [100, 333, PART, 5_000, 1 << 20])
def test_a_walk_finds_every_record_wherever_parts_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part_size: int
) -> None:
    monkeypatch.setattr(file_windows, "WINDOW_SIZE", part_size)
    config = small_config(tmp_path / "store")
    count = 120
    several = [message(n, body=b"%d" % n * (n * 7 % 900)) for n in range(count)]
    store = open_store(config)
    put_and_write(store, several)
    abandon(store)

    found = [
        record
        for item in LogWalk(*log_of(config)).items(0)
        for record in (item if isinstance(item, list) else ())
    ]

    assert [record.queue_offset for record in found if record.queue_id == 0] == list(range(60))
    assert len(found) == count
    assert all(isinstance(record, ScannedRecord) for record in found)


def log_of(config: StoreConfig) -> tuple[CommitLog, list[int]]:
    root = Path(config.store_path_root_dir)
    bases = sorted(int(path.name) for path in (root / "commitlog").iterdir())
    size = config.mapped_file_size_commit_log
    log = CommitLog(RealDisk(), root / "commitlog", file_size=size, bases=bases, end=0)
    return log, bases
