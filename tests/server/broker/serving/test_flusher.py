"""Syncs beside the event loop, by an executor and by the compiled thread."""

import asyncio
import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from server.broker.serving import flusher
from server.broker.serving.flusher import Flusher, sync_threads
from server.store.commitlog.flush import FlushJob
from server.store.disk.disk import DiskFile, RealDisk, RealFile


@pytest.fixture(params=["pure", "compiled"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Choose each way."""
    if request.param not in sync_threads():
        pytest.skip("the kernel is not built here")
    monkeypatch.setattr(flusher, "sync_each", sync_threads()[request.param])
    return cast(str, request.param)


class Gone:
    """A file whose disk is gone."""

    def fdatasync(self) -> None:
        raise OSError(errno.EIO, "input/output error")


def job_of(files: Sequence[object], directories: Sequence[Path] = ()) -> FlushJob:
    return FlushJob(
        disk=RealDisk(), files=cast(Sequence[DiskFile], files), directories=directories,
        until=1, entry_count=1, store_ms=1,
    )  # fmt: skip


async def ended(*jobs: FlushJob) -> list[tuple[FlushJob, BaseException | None]]:
    """Run jobs one after another; return what is told of them."""
    found: list[tuple[FlushJob, BaseException | None]] = []
    told = asyncio.Event()

    def tell(job: FlushJob, failure: BaseException | None) -> None:
        found.append((job, failure))
        told.set()

    syncs = Flusher(asyncio.get_running_loop(), tell)
    for job in jobs:
        told.clear()
        syncs.begin(job)
        await told.wait()
    syncs.close()
    return found


async def test_each_job_ends_once_with_its_error(tmp_path: Path) -> None:
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

    found = await ended(*jobs)

    assert found == [(job, None) for job in jobs]
    errors = [job.error and job.error.errno for job in jobs]
    assert errors == [None, None, errno.EIO, errno.EINVAL, None]
    os.close(pipe)
    os.close(end)


async def test_an_error_that_is_not_the_disk_s_is_told() -> None:
    job = job_of([None])

    ((ran, failure),) = await ended(job)

    assert ran is job
    assert isinstance(failure, AttributeError)


async def test_nothing_stays_open(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "a", create=True)
    before = os.listdir("/proc/self/fd")

    await ended(job_of([file]), job_of([file], [tmp_path]))

    assert len(os.listdir("/proc/self/fd")) == len(before)
    file.close()


def test_one_open_file_is_all_that_a_descriptor_stands_for(tmp_path: Path) -> None:
    file = RealDisk().open(tmp_path / "a", create=True)

    assert os.fstat(job_of([file]).descriptor or -1).st_ino == (tmp_path / "a").stat().st_ino
    assert [
        job.descriptor
        for job in (job_of([]), job_of([file, file]), job_of([file], [tmp_path]), job_of([Gone()]))
    ] == [None] * 4
    file.close()
