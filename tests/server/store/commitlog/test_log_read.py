"""Reads of records that are not adjacent and not all in memory."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.store.commitlog.log_files import CommitLog
from mqserver.store.commitlog.log_read import read_merged, warm
from mqserver.store.disk.disk import RealDisk
from mqserver.store.disk.nowait import ColdRead
from tests.descriptors import descriptor_count

FILE_SIZE = 1 << 20
FAR = 50_000
PIECES = [(at, 100) for at in range(0, 2 * FILE_SIZE, FAR)]


class HalfCold(CommitLog):
    """A log of two files of which only what lies below ``warm_until`` is in memory."""

    warm_until = FAR + 100

    def __init__(self, directory: Path) -> None:
        for base in (0, FILE_SIZE):
            (directory / f"{base:020d}").write_bytes(bytes(FILE_SIZE))
        super().__init__(
            RealDisk(), directory, file_size=FILE_SIZE, bases=[0, FILE_SIZE], end=2 * FILE_SIZE
        )
        self.asked: list[int] = []

    def read_into(self, view: memoryview, log_offset: int) -> bool:
        self.asked.append(log_offset)
        if log_offset < self.warm_until:
            return super().read_into(view, log_offset)
        base = log_offset - log_offset % FILE_SIZE
        fd = os.open(self._directory / f"{base:020d}", os.O_RDONLY)
        try:
            raise ColdRead(fd, len(view), log_offset - base)
        finally:
            os.close(fd)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[HalfCold]:
    log = HalfCold(tmp_path)
    yield log
    log.close()


def test_after_one_cold_read_the_thread_is_to_read_the_rest_of_the_file(
    log: HalfCold, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ColdRead) as caught:
        read_merged(log, PIECES)
    first_of_next = next(at for at, _ in PIECES if at >= FILE_SIZE)
    assert log.asked == [0, FAR, 2 * FAR, first_of_next]

    read: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "pread", lambda fd, size, pos: read.append((pos, size)))
    caught.value.warm()
    assert read == [(at % FILE_SIZE, size) for at, size in PIECES if at >= 2 * FAR]

    log.warm_until = 2 * FILE_SIZE
    assert read_merged(log, []) == []
    monkeypatch.undo()
    assert len(read_merged(log, PIECES)) == len(PIECES)


def test_a_cold_read_gives_its_descriptors_back(log: HalfCold) -> None:
    log.file_at(0)
    before = descriptor_count()
    for end in (ColdRead.warm, ColdRead.drop):
        with pytest.raises(ColdRead) as caught:
            read_merged(log, PIECES)
        assert descriptor_count() > before
        end(caught.value)
        assert descriptor_count() == before


def test_warming_reads_what_there_is_and_gives_its_descriptors_back(
    log: HalfCold, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = descriptor_count()
    read: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "pread", lambda fd, size, pos: read.append((pos, size)))

    # The third file is gone, as a file may be while a thread reads.
    warm(log, [*PIECES, (2 * FILE_SIZE, 100)])

    assert read == [(at % FILE_SIZE, size) for at, size in PIECES]
    assert descriptor_count() == before
