"""Syncs beside the event loop, by an executor and by the compiled thread."""

import asyncio
import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from mqserver.broker.serving import flusher
from mqserver.broker.serving.flusher import Flusher
from mqserver.store.commitlog.flush import FlushJob
from mqserver.store.commitlog.log_write import LogWrite, Piece
from mqserver.store.disk.disk import DiskFile, RealDisk, RealFile
from tests.twins import FORMS, use_form


@pytest.fixture(params=FORMS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose each way."""
    use_form(monkeypatch, request.param, flusher, "disk_thread", "disk_thread_compiled")
    return cast(str, request.param)


class Gone:
    """A file whose disk is gone."""

    def fdatasync(self) -> None:
        raise OSError(errno.EIO, "input/output error")


def job_of(files: Sequence[object], directories: Sequence[Path] = ()) -> FlushJob:
    return FlushJob(
        disk=RealDisk(), files=cast(Sequence[DiskFile], files), directories=directories,
        until=1, groups=[], store_ms=1,
    )  # fmt: skip


async def ended(*jobs: FlushJob, wait_ms_max: int = 0) -> list[FlushJob]:
    """Run jobs one after another; return those that have ended."""
    found: list[FlushJob] = []
    told = asyncio.Event()

    def tell(job: FlushJob) -> None:
        found.append(job)
        told.set()

    syncs = Flusher(asyncio.get_running_loop(), tell)
    for job in jobs:
        told.clear()
        if syncs.begin(job, wait_ms_max=wait_ms_max):
            found.append(job)
        else:
            await told.wait()
    syncs.close()
    return found


@pytest.mark.parametrize("wait_ms_max", [0, 60_000])
async def test_each_job_ends_once_with_its_error(tmp_path: Path, wait_ms_max: int) -> None:
    disk = RealDisk()
    file, other = (disk.open(tmp_path / name, create=True) for name in "ab")
    # A pipe cannot be synced.
    pipe, end = os.pipe()
    jobs = [
        job_of([file]),
        job_of([file, other], [tmp_path]),
        job_of([Gone()]),
        job_of([RealFile(pipe)]),
        job_of([other]),
    ]

    found = await ended(*jobs, wait_ms_max=wait_ms_max)

    assert found == jobs
    errors = [job.error and job.error.errno for job in jobs]
    assert errors == [None, None, errno.EIO, errno.EINVAL, None]
    os.close(pipe)
    os.close(end)


async def test_an_error_that_is_not_the_disk_s_counts_as_one() -> None:
    job = job_of([None])

    assert await ended(job) == [job]
    assert job.error is not None
    assert job.error.errno == errno.EIO
    assert "AttributeError" in str(job.error)


async def test_a_job_that_cannot_begin_has_failed() -> None:
    class Broken(FlushJob):
        @property
        def segment(self) -> None:
            raise ValueError("the file is closed")

        @property
        def do_work(self) -> None:  # type: ignore[override]
            raise ValueError("the file is closed")

    job = Broken(disk=RealDisk(), files=(), directories=(), until=1, groups=[], store_ms=1)

    assert await ended(job, wait_ms_max=60_000) == [job]
    assert job.error is not None
    assert job.error.errno == errno.EIO
    assert "ValueError: the file is closed" in str(job.error)


def write_of(file: DiskFile, pos: int, *parts: bytes, zero_count: int = 0) -> LogWrite:
    pieces = [Piece(file, pos, parts, 0)] if parts else []
    if zero_count:
        pieces.append(Piece(file, pos, None, zero_count))
    return LogWrite(pieces, begin=0, end=1)


async def test_writes_have_all_bytes_of_their_parts(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "a", create=True)
    jobs = [
        write_of(file, 0, b"x" * 70_000),
        write_of(file, 10, b"one", b"two"),
        write_of(file, 69_990, zero_count=5),
        write_of(file, 3, b"y", zero_count=0),
    ]

    def tell(job: LogWrite) -> None:
        told.set()

    told = asyncio.Event()
    writes = Flusher(asyncio.get_running_loop(), tell)
    for number, job in enumerate(jobs):
        told.clear()
        if writes.begin(job, wait_ms_max=60_000 if number % 2 else 0):
            told.set()
        await told.wait()
    writes.close()
    file.close()

    wanted = bytearray(b"x" * 70_000)
    wanted[10:16], wanted[3:4], wanted[69_990:69_995] = b"onetwo", b"y", bytes(5)
    assert (tmp_path / "a").read_bytes() == wanted
    assert [job.error for job in jobs] == [None] * 4


async def test_write_that_hangs_is_not_waited_for_longer_than_asked(tmp_path: Path) -> None:
    gate = threading.Event()

    class Slow(LogWrite):
        segment = None

        def work(self) -> None:
            assert gate.wait(60)

    told = asyncio.Event()
    writes: Flusher[LogWrite] = Flusher(asyncio.get_running_loop(), lambda job: told.set())
    assert not writes.begin(Slow([], begin=0, end=1), wait_ms_max=1)
    gate.set()
    await told.wait()
    writes.close()


async def test_nothing_stays_open(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "a", create=True)
    before = os.listdir("/proc/self/fd")

    await ended(job_of([file]), job_of([file], [tmp_path]))

    assert len(os.listdir("/proc/self/fd")) == len(before)
    file.close()


def test_one_open_file_is_all_that_a_segment_stands_for(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "a", create=True)
    segment = job_of([file]).segment

    assert segment is not None
    assert os.fstat(segment.descriptor).st_ino == (tmp_path / "a").stat().st_ino
    assert [
        job.segment
        for job in (job_of([]), job_of([file, file]), job_of([file], [tmp_path]), job_of([Gone()]))
    ] == [None] * 4
    assert write_of(file, 3, b"a", b"b").segment == (segment.descriptor, 3, b"ab")
    assert write_of(file, 3, b"a", zero_count=1).segment is None
    file.close()
