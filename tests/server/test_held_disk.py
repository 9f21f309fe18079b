"""A real broker whose disk holds one kind of call: everything that needs no disk is answered.

A library that the process preloads holds the call (``held_calls.c``). While it does, clients pull
what is in memory, send heartbeats, commit offsets, ask for keys and routes; each of them on the
same connection. Afterwards every message that was sent is there once, in order.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import DeleteTopic, QueryConsumerOffset
from tests.programs import serving
from tests.server.broker.desk import GROUP, TOPIC, Desk
from tests.server.held_calls import HeldCalls
from tests.server.test_processes import address_of, broker_conf
from tests.waiting import until

HOLD_S = 3.0
"""How long a call is held; a broker whose loop waits for it answers nothing meanwhile."""
LONGEST_S = 1.0
"""What an answer may take on a busy machine; a quiet one answers within 20 ms."""
GONE = "topic-gone"
"""A topic that is deleted while calls are held."""
NEW = "topic-new"
"""A topic that gets its first message then."""
SENDS_MAX = 20
"""Messages that may wait for the disk while a call is held."""

CALLS = {
    "log write": ("pwrite", "/commitlog/"),
    "log sync": ("fdatasync", "/commitlog/"),
    "queue write": ("pwrite", "/consumequeue/"),
    "directory of a new queue": ("mkdir", "/consumequeue/"),
    "size of a new queue file": ("ftruncate", "/consumequeue/"),
    "queue sync": ("fdatasync", "/consumequeue/"),
    "index write": ("pwrite", "/index/"),
    "size of a new index file": ("ftruncate", "/index/"),
    "directory of a deleted queue": ("rename", f"/consumequeue/{GONE}/"),
    "space of the disk": ("statvfs", "/"),
    "timer log": ("pwrite", "/timerlog/"),
    "next log file": ("open", "/commitlog/"),
    "blocks of the next log file": ("fallocate", "/commitlog/"),
    "state file": ("write", "/config/"),
    "sync of a state file": ("fsync", "/config/"),
    "rename of a state file": ("rename", "/config/"),
    "safe point": ("rename", "/dispatch.json"),
    "checkpoint": ("pwrite", "/checkpoint"),
}
"""The calls that a thread makes; docs/decisions/0014 lists those that the loop makes itself."""
SMALL_FILES = (
    "mappedFileSizeConsumeQueue=2000\nmaxIndexNum=100\nflushIntervalConsumeQueue=50\n"
    "flushConsumeQueueThoroughInterval=200\nflushConsumerOffsetInterval=100\n"
    "flushIntervalCommitLog=50\n"
)


async def answered(desk: Desk, number: int) -> float:
    """Ask for what needs no disk; return the longest answer (s)."""
    asks: list[Callable[[], Awaitable[object]]] = [
        lambda: desk.pull(queue_offset=0, max_msg_nums=1),
        desk.heartbeat,
        lambda: desk.commit(number % 3),
        lambda: desk.ask(
            RequestCode.QUERY_CONSUMER_OFFSET,
            QueryConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=0),
        ),
        lambda: desk.ask(RequestCode.GET_BROKER_RUNTIME_INFO),
        lambda: desk.ask(RequestCode.GET_ALL_TOPIC_CONFIG),
    ]
    longest_s = 0.0
    for ask in asks:
        began_s = time.perf_counter()
        answer = await ask()
        longest_s = max(longest_s, time.perf_counter() - began_s)
        assert not isinstance(answer, Command) or answer.code == 0
    return longest_s


async def longest_answer(
    desk: Desk, calls: HeldCalls, sends: list[asyncio.Task[Command]], release: Callable[[], None]
) -> float:
    """Send and ask until a call was held for ``HOLD_S``; return the longest answer (s)."""
    longest_s, number = 0.0, 0
    released = asyncio.Event()
    is_held = False

    def let_go() -> None:
        release()
        released.set()

    while not released.is_set():
        if not is_held and calls.held_count:
            is_held = True
            # By a timer, because a broker whose loop is held answers nothing.
            asyncio.get_running_loop().call_later(HOLD_S, let_go)
        waiting_count = sum(not send.done() for send in sends)
        if waiting_count < (SENDS_MAX if is_held else 1) and len(sends) < 330:
            body = b"%06d" % len(sends)
            keys = f"KEYS\001k{number}\002"
            sends.append(asyncio.create_task(desk.send(body.ljust(3_000), properties=keys)))
        longest_s = max(longest_s, await answered(desk, number))
        number += 1
        await asyncio.sleep(0)
    return longest_s


@pytest.mark.timeout(180)
@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_the_disk_holds_delays_only_who_waits_for_it(
    name: str, flush: str, tmp_path: Path
) -> None:
    with HeldCalls(tmp_path) as calls:
        conf = broker_conf(tmp_path, f"brokerName=a\nflushDiskType={flush}\n{SMALL_FILES}")
        with serving("mqserver.broker.app", conf, env={**os.environ, **calls.env}) as broker:
            longest_s = asyncio.run(session(address_of(broker), tmp_path, calls, *CALLS[name]))
            print(f"{name}, {flush}: the longest answer took {longest_s * 1000:.1f} ms")
            broker.terminate()
            assert broker.wait(timeout=60) == 0
    assert longest_s < LONGEST_S


async def session(address: str, root: Path, calls: HeldCalls, call: str, path: str) -> float:
    """Hold a call, and compare what was acknowledged with what is there; return the time (s)."""
    client = RemotingClient()
    desk = Desk(None, client, address)  # type: ignore[arg-type]
    try:
        await desk.create_topic()
        await desk.send(b"before")
        sends: list[asyncio.Task[Command]] = []
        await desk.create_topic(NEW)
        await desk.create_topic(GONE)
        await desk.send(b"x", topic=GONE)
        await until(lambda: any(root.rglob(f"consumequeue/{GONE}/0")))
        with calls.held(call, path):
            deletion = asyncio.create_task(
                desk.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopic(topic=GONE))
            )
            # Longer than any pause of a busy machine: what is due already is not in the timer log.
            timer = "TIMER_DELAY_MS\00120000\002"
            first = asyncio.create_task(desk.send(b"first", topic=NEW, properties=timer))
            longest_s = await longest_answer(desk, calls, sends, calls.release)
        assert (await deletion).code == (await first).code == 0
        answers = await asyncio.gather(*sends)
        acknowledged = [b"%06d" % at for at, answer in enumerate(answers) if answer.code == 0]
        refused = {answer.code for answer in answers} - {ResponseCode.SUCCESS}
        assert refused <= {ResponseCode.SYSTEM_BUSY}
        await until(lambda: calls.held_count > 0)
        assert await bodies(desk) == [b"before", *acknowledged]
        return longest_s
    finally:
        await client.close()


async def bodies(desk: Desk) -> list[bytes]:
    return [body.strip() for body in await desk.bodies()]
