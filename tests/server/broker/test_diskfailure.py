"""A running broker whose disk breaks: what it says, what it still does, what is left."""

import errno
import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mqserver.store.commitlog.flush import FlushJob
from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from tests.programs import ran
from tests.server.broker.desk import Desk, running, with_topic


class BreakingDisk:
    """Lets syncs of the commit log fail from some moment on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_broken = False
        run = FlushJob.do_work

        def breaking(job: FlushJob) -> None:
            if self.is_broken:
                job.error = OSError(errno.EIO, "input/output error")
            else:
                run(job)

        monkeypatch.setattr(FlushJob, "do_work", breaking)
        monkeypatch.setattr(FlushJob, "segment", None)


async def state_of(desk: Desk) -> str | None:
    answer = await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    return KVTable.decode(answer.body).table.get("storeFailure")


async def test_failed_sync_ends_all_acknowledgements_and_reads_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk = BreakingDisk(monkeypatch)

    with caplog.at_level(logging.ERROR):
        async with with_topic(tmp_path, sync=True) as desk:
            states = [await state_of(desk)]
            sent = [await desk.send(b"good")]
            disk.is_broken = True
            sent += [await desk.send(b"doubtful"), await desk.send(b"refused")]
            disk.is_broken = False
            sent.append(await desk.send(b"still refused"))
            states.append(await state_of(desk))
            assert await desk.bodies() == [b"good"]
            assert desk.app.broker.store.is_read_only

    ok, doubt, no = (
        ResponseCode.SUCCESS,
        ResponseCode.FLUSH_DISK_TIMEOUT,
        ResponseCode.SERVICE_NOT_AVAILABLE,
    )
    assert [answer.code for answer in sent] == [ok, doubt, no, no]
    assert "input/output error: disk sync; look at the disk, then restart" in (sent[3].remark or "")
    assert states[0] is None
    assert "input/output error" in (states[1] or "")
    assert "perhaps not on disk" in caplog.text
    async with running(tmp_path, sync=True) as desk:
        assert (await desk.send(b"after")).code == ok
        assert await desk.bodies() == [b"good", b"doubtful", b"after"]


async def test_failed_sync_with_async_flush_refuses_from_then_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = BreakingDisk(monkeypatch)

    desk.app.broker.config.store.flush_interval_commit_log_ms = 1
    codes = [(await desk.send(b"before")).code]
    disk.is_broken = True
    await desk.app._disk_work.flush(desk.app.broker.clock.now_ms())
    codes.append((await desk.send(b"after")).code)
    disk.is_broken = False

    assert codes == [0, ResponseCode.SERVICE_NOT_AVAILABLE]
    assert await desk.bodies() == [b"before"]


@pytest.mark.parametrize(
    ("pages", "size", "elapsed_ms", "is_flushed"),
    [(0, 10, 0, True), (4, 3 * 4096, 9_000, False), (4, 5 * 4096, 0, True), (4, 10, 10_000, True)],
)
async def test_async_flush_waits_for_enough_pages_or_the_thorough_interval(
    desk: Desk, pages: int, size: int, elapsed_ms: int, *, is_flushed: bool
) -> None:
    app, store = desk.app, desk.app.broker.store
    config = app.broker.config.store
    config.flush_commit_log_least_pages = 0
    await app._disk_work.flush(now_ms := 1 << 50)
    config.flush_commit_log_least_pages = 1 << 40
    await desk.send(b"x" * size)
    config.flush_commit_log_least_pages = pages
    before = store.flushed_offset
    await app._disk_work.flush(now_ms + elapsed_ms)

    assert (store.flushed_offset > before) is is_flushed


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[Path]:
    """An ext4 of 64 MiB that can be made read-only while files of it are open for writing."""
    image, mount = tmp_path / "image", tmp_path / "disk"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(64 << 20)
    for words in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(mount)]):
        try:
            done = ran(*words, code=None)
        except FileNotFoundError:
            pytest.skip(f"there is no {words[0]}")
        if done.returncode:
            pytest.skip(f"an ext4 cannot be mounted here: {done.stderr.strip()}")
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.parametrize("sync", [False, True])
async def test_disk_that_becomes_read_only_ends_all_acknowledgements_and_reads_go_on(
    ext4: Path, *, sync: bool
) -> None:
    async def run() -> None:
        async with with_topic(ext4 / "store", sync=sync) as desk:
            sent = [b"%d" % number for number in range(20)]
            assert {(await desk.send(body)).code for body in sent} == {0}
            # What the kernel does after an error of the disk, with errors=remount-ro.
            subprocess.run(["mount", "-o", "remount,abort", str(ext4)], check=True)

            answers = [await desk.send(b"refused %d" % number) for number in range(5)]

            refusals = {ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.FLUSH_DISK_TIMEOUT}
            assert {answer.code for answer in answers} <= refusals
            assert answers[-1].code == ResponseCode.SERVICE_NOT_AVAILABLE
            words = "read-only file system: commit log not written; look at the disk"
            assert words in (answers[-1].remark or "")
            assert words in (await state_of(desk) or "")
            await desk.heartbeat()
            assert await desk.bodies() == sent

    # The state files of a stop cannot be written, either; nobody is told that they are.
    with pytest.raises(OSError, match="Read-only file system"):
        await run()
