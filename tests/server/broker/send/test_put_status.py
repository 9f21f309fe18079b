"""Every status of a put, and what a producer is answered: Java's codes in Java's words.

First the table of SendMessageProcessor#handlePutMessageResult (4.9.7) with a store that
says each status; then what brings a real store to say it.
"""

import errno
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from mqserver.broker.config import BrokerRole
from mqserver.store.commitlog.log_write import LogWrite
from mqserver.store.disk.disk import DiskUsage, RealDisk
from mqserver.store.results import PutResult, PutStatus, RunResult
from mqserver.store.store import MessageStore
from remoting.bodies import KVTable
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from storefmt.formats.batch import BatchEntry, join_batch
from tests.server.broker.desk import Desk, broker_settings, send, with_topic
from tests.server.broker.ha.pairs import Pair

ILLEGAL = (
    "the message is illegal, maybe msg body or properties length not matched. msg body length "
    "limit 4194304B, msg properties length limit 32KB."
)
NOT_AVAILABLE = (
    r".+; service not available now\. It may be caused by one of the following reasons: the "
    r"broker's disk is full \[CL: +\d\.\d\d CQ: +\d\.\d\d INDEX: +\d\.\d\d\], messages are put "
    r"to the slave, message store has been shut down, etc\."
)
TABLE: dict[PutStatus, tuple[ResponseCode, str]] = {
    PutStatus.SERVICE_NOT_AVAILABLE: (ResponseCode.SERVICE_NOT_AVAILABLE, NOT_AVAILABLE),
    PutStatus.CREATE_MAPPED_FILE_FAILED: (
        ResponseCode.SYSTEM_ERROR,
        "(.+; )?" + re.escape("create mapped file failed, server is busy or broken."),
    ),
    PutStatus.MESSAGE_ILLEGAL: (ResponseCode.MESSAGE_ILLEGAL, re.escape(ILLEGAL)),
    PutStatus.PROPERTIES_SIZE_EXCEEDED: (ResponseCode.MESSAGE_ILLEGAL, re.escape(ILLEGAL)),
    PutStatus.OS_PAGE_CACHE_BUSY: (
        ResponseCode.SYSTEM_ERROR,
        re.escape("[PC_SYNCHRONIZED]broker busy, start flow control for a while"),
    ),
    PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED: (
        ResponseCode.SYSTEM_ERROR,
        re.escape(
            "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]broker config enableLmq and enableMultiDispatch, lmq "
            "consumeQueue num exceed maxLmqConsumeQueueNum config num, default limit 2w."
        ),
    ),
    PutStatus.UNKNOWN_ERROR: (ResponseCode.SYSTEM_ERROR, "UNKNOWN_ERROR"),
}
STORED = {
    PutStatus.PUT_OK,
    # Said by the turn, when the message is stored: see test_overload and test_diskfailure.
    PutStatus.FLUSH_DISK_TIMEOUT,
    # Of masters that wait for their slaves: see test_replication.
    PutStatus.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE,
}
BATCH = join_batch([BatchEntry(0, b"one", b""), BatchEntry(0, b"two", b"")])


def test_table_has_every_status() -> None:
    assert TABLE.keys() | STORED == set(PutStatus)
    assert not TABLE.keys() & STORED


async def ask(desk: Desk, kind: str) -> Command:
    if kind == "batch":
        return await desk.ask(RequestCode.SEND_BATCH_MESSAGE, send(batch=True), body=BATCH)
    return await desk.send(properties="DELAY\0011" if kind == "delayed" else "")


@pytest.mark.parametrize("kind", ["one", "delayed", "batch"])
@pytest.mark.parametrize("status", list(TABLE))
async def test_status_is_answered_with_javas_code_and_text(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, status: PutStatus, kind: str
) -> None:
    await desk.create_topic()
    one, several = PutResult(status, -1, -1, 0), RunResult(status, -1, [], 0)
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "put", lambda *fields: one)
        patch.setattr(MessageStore, "put_run", lambda *fields: several)
        answer = await ask(desk, kind)
    assert (await ask(desk, "one")).code == ResponseCode.SUCCESS
    info = await desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    failed = KVTable.decode(info.body).table["putMessageFailedTimes"]
    code, text = TABLE[status]

    assert answer.code == code
    assert re.fullmatch(text, answer.remark or ""), answer.remark
    assert len(await desk.messages()) == 1
    assert failed == str(int(status is not PutStatus.SERVICE_NOT_AVAILABLE))


@pytest.mark.parametrize("kind", ["one", "delayed", "batch"])
async def test_slave_stores_nothing_and_says_so(pair: Pair, kind: str) -> None:
    slave = await pair.start("s", BrokerRole.SLAVE)
    answer = await ask(slave, kind)

    assert answer.code == ResponseCode.SERVICE_NOT_AVAILABLE
    assert slave.app.broker.store.put_count == 0
    assert re.fullmatch(NOT_AVAILABLE, answer.remark or ""), answer.remark
    assert (answer.remark or "").startswith("this broker is a slave; ")


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a running broker, and what a send is answered then."""

    name: str
    make: Callable[[Desk, pytest.MonkeyPatch], None]
    status: PutStatus
    why: str = ""


def _fill_disk(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(RealDisk, "usage", lambda disk, path: DiskUsage(95, 5))
    cleaner = desk.app.broker.store.cleaner
    job = cleaner.step(desk.app.broker.clock.now_ms())
    if job is not None:
        job.do_work()
        cleaner.end(job)


def _no_next_file(code: int) -> Callable[[Desk, pytest.MonkeyPatch], None]:
    def make(desk: Desk, patch: pytest.MonkeyPatch) -> None:
        opened = RealDisk.open

        def refuse(disk: RealDisk, path: Path, *, create: bool = False) -> object:
            if create and path.parent.name == "commitlog":
                raise OSError(code, os.strerror(code))
            return opened(disk, path, create=create)

        patch.setattr(RealDisk, "open", refuse)

    return make


def _break_write(desk: Desk, patch: pytest.MonkeyPatch) -> None:
    def refuse(job: LogWrite) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    # Without a segment, a thread of Python's calls ``work``.
    patch.setattr(LogWrite, "segment", None)
    patch.setattr(LogWrite, "work", refuse)


TROUBLES = [
    Trouble("full disk", _fill_disk, PutStatus.SERVICE_NOT_AVAILABLE, "the disk is 95 % full"),
    Trouble(
        "no space for a file", _no_next_file(errno.ENOSPC), PutStatus.SERVICE_NOT_AVAILABLE,
        "no space left on device: no next commit log file",
    ),
    Trouble(
        "no next file", _no_next_file(errno.EACCES), PutStatus.CREATE_MAPPED_FILE_FAILED,
        "permission denied: no next commit log file",
    ),
    Trouble(
        "broken disk", _break_write, PutStatus.SERVICE_NOT_AVAILABLE,
        "input/output error: commit log not written",
    ),
]  # fmt: skip


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
async def test_trouble_is_answered_and_reads_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Trouble, *, sync: bool
) -> None:
    config = broker_settings(tmp_path, sync=sync)
    config.store.mapped_file_size_commit_log = 64 << 10
    async with with_topic(tmp_path, config=config) as desk:
        # More than half a file: no next one is made ahead, and the next message needs one.
        assert (await desk.send(b"before" * 6_000)).code == ResponseCode.SUCCESS
        with monkeypatch.context() as patch:
            trouble.make(desk, patch)
            answer = await desk.send(b"after" * 6_000)
        assert await desk.bodies() == [b"before" * 6_000]
    code, text = TABLE[trouble.status]

    assert answer.code == code
    assert re.fullmatch(text, answer.remark or ""), answer.remark
    assert (answer.remark or "").startswith(trouble.why)
