"""No answer says that a message is stored before the topic that it made is on the disk."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mqserver.broker.app import BrokerApp
from mqserver.runtime.clock import SystemClock
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ConsumerSendMsgBack
from storefmt.config.tables import TopicTable
from storefmt.formats.batch import BatchEntry, join_batch
from storefmt.formats.msgid import parse_offset_id
from storefmt.names import SCHEDULE_TOPIC
from tests.server.broker.desk import GROUP, Desk, broker_settings, running, send
from tests.waiting import until

BATCH = join_batch([BatchEntry(0, b"one", b""), BatchEntry(0, b"two", b"")])
RETRY = f"%RETRY%{GROUP}"
DEAD = f"%DLQ%{GROUP}"


class Gate:
    """Lets no state file be written until it is opened, or lets all writes fail."""

    def __init__(self, desk: Desk) -> None:
        files = desk.app._files
        self._write = files._write
        self._may_go = threading.Event()
        self._refuses = False
        files._write = self.write

    def write(self, path: Path, text: str) -> None:
        assert self._may_go.wait(60)
        if self._refuses:
            raise OSError(28, "no space left")
        self._write(path, text)

    def open(self, *, refuses: bool = False) -> None:
        self._refuses = refuses
        self._may_go.set()


@contextlib.asynccontextmanager
async def gated(root: Path, *, sync: bool) -> AsyncIterator[tuple[Desk, Gate]]:
    """Run a broker with a topic "known", whose disk takes no state file until it is told to."""
    async with running(root, sync=sync) as desk:
        await desk.create_topic("known")
        await desk.app._files.settle()
        gate = Gate(desk)
        try:
            yield desk, gate
        finally:
            gate.open()


async def ask(desk: Desk, kind: str) -> Command:
    """Send a message that makes a topic."""
    if kind == "batch":
        header = send(topic="new", batch=True)
        return await desk.ask(RequestCode.SEND_BATCH_MESSAGE, header, body=BATCH)
    if kind in ("back", "dead back"):
        answer = await desk.send(topic="known")
        header_back = ConsumerSendMsgBack(
            offset=parse_offset_id(answer.ext["msgId"])[1],
            group=GROUP,
            delay_level=-1 if kind == "dead back" else 1,
            max_reconsume_times=16,
        )
        return await desk.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header_back)
    if kind == "given up":
        return await desk.send(topic=RETRY, reconsume_times=16, max_reconsume_times=16)
    properties = {"delayed": "DELAY\0011", "half": "TRAN_MSG\1true\2PGROUP\1PG"}
    return await desk.send(topic="new", properties=properties.get(kind, ""))


MADE = {"back": RETRY, "dead back": DEAD, "given up": DEAD}


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize(
    "kind", ["one", "delayed", "half", "batch", "back", "dead back", "given up"]
)
async def test_answer_waits_for_the_topic_and_others_do_not(
    tmp_path: Path, kind: str, *, sync: bool
) -> None:
    made = MADE.get(kind, "new")

    async with gated(tmp_path, sync=sync) as (desk, gate):
        first = asyncio.create_task(ask(desk, kind))
        await until(lambda: desk.app.broker.topics.get(made) is not None)
        again = asyncio.create_task(ask(desk, kind))
        # What comes later on the same connection is answered: nobody else waits.
        for _ in range(3):
            assert (await desk.send(topic="known")).code == 0
        assert (first.done(), again.done()) == (False, False)
        gate.open()

        assert ((await first).code, (await again).code) == (0, 0)
        saved = (tmp_path / "config" / "topics.json").read_bytes()
        assert made in TopicTable.decode(saved).topics


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_disk_that_takes_no_topics_is_told_until_it_does(
    tmp_path: Path, *, sync: bool
) -> None:
    async with gated(tmp_path, sync=sync) as (desk, gate):
        gate.open(refuses=True)
        first, second = await ask(desk, "one"), await ask(desk, "one")
        known = await desk.send(topic="known")
        gate.open()
        third = await ask(desk, "one")
        records = await desk.messages(topic="new")

    assert (first.code, second.code) == (ResponseCode.FLUSH_DISK_TIMEOUT,) * 2
    assert (known.code, third.code) == (0, 0)
    assert len(records) == 3


async def test_stop_in_order_answers_what_waits_for_a_topic(tmp_path: Path) -> None:
    app = BrokerApp(broker_settings(tmp_path), SystemClock())
    client = RemotingClient()
    desk = Desk(app, client, f"127.0.0.1:{await app.start()}")
    await desk.create_topic("known")
    await app._files.settle()
    gate = Gate(desk)
    waiting = asyncio.create_task(ask(desk, "delayed"))
    await until(lambda: app.broker.store.max_offset(SCHEDULE_TOPIC, 0) == 1)
    # As late as it can be: the broker has flushed its log and waits for its state files.
    settle = app._files.settle

    async def settle_late() -> None:
        gate.open()
        await settle()

    app._files.settle = settle_late  # type: ignore[method-assign]
    await app.stop()

    assert (await waiting).code == 0
    await client.close()
