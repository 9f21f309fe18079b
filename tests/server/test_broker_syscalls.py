"""A whole broker that is killed at its N-th call, or whose N-th call fails.

    start, topic, 300 messages with SYNC_FLUSH, positions and tables saved all the time,
    stop in order, start, go on, stop
       ├─ killed at call N            ┐
       ├─ call N fails, or all from N ├──> it starts, and has all that was acknowledged
       └─ no space for some calls     ┘

All threads of the broker are one here, so that N names one place of the run. What the store
does alone is in ``tests/server/store``, with more places.
"""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from mqserver.broker import app
from mqserver.broker.config import BrokerConfig
from mqserver.broker.files import saves
from mqserver.broker.serving import cold_reads as cold
from mqserver.broker.serving import flusher
from remoting.codes import RequestCode, ResponseCode
from remoting.headers import QueryConsumerOffset
from storefmt.errors import StoreError
from tests.server.broker.desk import GROUP, TOPIC, Desk, broker_settings, create, running
from tests.server.forking import ForkServer, at_each_call, changing_calls, fork_server

MODULE = "tests.server.test_broker_syscalls"
COUNT = 300
COUNT_IN_SAMPLE = 30
BATCH = 10
STARTS_MAX = 12
TRIES_MAX = 100
CHANGES = ("pwrite64", "write", "rename", "ftruncate", "fallocate", "linkat", "unlink", "mkdir")
FILE_CALLS = tuple(call for call in CHANGES if call != "write")
"""Calls that are made only for files."""
SYNCS = ("fdatasync", "fsync")
CREATED, COMMITTED, ACKNOWLEDGED = 0, 2, 16
"""Where ``said`` has whether the topic exists, the committed offset, and the messages."""


class _Here(ThreadPoolExecutor):
    """Runs what is submitted at once, in the thread of the event loop."""

    def submit(self, fn: Callable[..., object], /, *args: object, **words: object) -> Future:  # type: ignore[type-arg]
        done: Future[object] = Future()
        try:
            done.set_result(fn(*args, **words))
        except BaseException as error:
            done.set_exception(error)
        return done


def settings(root: Path) -> BrokerConfig:
    """Return settings with which files roll and state is saved all the time."""
    config = broker_settings(
        root, sync=True, flush_consumer_offset_interval_ms=20, flush_delay_offset_interval_ms=20
    )
    config.store.mapped_file_size_commit_log = 16_384
    config.store.mapped_file_size_consume_queue = 400
    config.store.max_hash_slot_num, config.store.max_index_num = 16, 60
    return config


def body(number: int) -> bytes:
    return b"%d " % number + b"x" * (number % 7 * 60)


def scripted_run(root: Path, said: memoryview) -> None:
    """Send as many messages as the directory's name says, each until it is acknowledged."""
    for module in (app, cold, saves, flusher):
        module.ThreadPoolExecutor = _Here  # type: ignore[attr-defined]
    flusher.disk_thread = None
    app.HOUSEKEEPING_MS = 20  # type: ignore[misc]
    for _ in range(STARTS_MAX):
        try:
            if asyncio.run(session(root, said)):
                return
        except (StoreError, OSError) as error:
            # An operator would read the error and start the broker again.
            print(f"the broker ended: {error}", flush=True)


async def session(root: Path, said: memoryview) -> bool:
    """Run the broker once; return whether nothing is left to do."""
    asyncio.get_running_loop().set_default_executor(_Here(1))
    count = int(root.name)
    is_first = not any(said[ACKNOWLEDGED:])
    async with running(root, config=settings(root)) as desk:
        if not said[CREATED]:
            answer = await desk.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, create(TOPIC, 2))
            if answer.code != ResponseCode.SUCCESS:
                assert "could not be written" in (answer.remark or ""), answer
                return False
            await desk.heartbeat()
            said[CREATED] = 1
        for start in range(0, count, BATCH):
            left = [one for one in range(start, start + BATCH) if not said[ACKNOWLEDGED + one]]
            if not left or (is_first and start >= count // 2):
                continue
            if not await send_all(desk, left, said):
                return False
            await commit(desk, start + BATCH, said)
            # Let the tasks run that save state.
            await asyncio.sleep(0.005)
    return not is_first


async def send_all(desk: Desk, left: list[int], said: memoryview) -> bool:
    """Send until all are acknowledged; False if the broker takes no more messages."""
    for _ in range(TRIES_MAX):
        answers = await asyncio.gather(
            *(desk.send(body(one), queue_id=one % 2, properties=f"KEYS\1k{one}") for one in left)
        )
        for one, answer in zip(left, answers, strict=True):
            if answer.code == ResponseCode.SUCCESS:
                said[ACKNOWLEDGED + one] = 1
            else:
                # As in Java, what is stored and not known to be on the disk has no remark.
                assert answer.remark or answer.code == ResponseCode.FLUSH_DISK_TIMEOUT, answer
        left = [one for one in left if not said[ACKNOWLEDGED + one]]
        if not left:
            return True
        # Whatever the disk does, what is acknowledged can be read.
        await everything(desk, said)
        if desk.app.broker.store.is_read_only:
            return False
        await asyncio.sleep(0.005)
    return False


async def commit(desk: Desk, queue_offset: int, said: memoryview) -> None:
    await desk.commit(queue_offset)
    said[COMMITTED : COMMITTED + 2] = queue_offset.to_bytes(2, "big")


async def everything(desk: Desk, said: bytes | memoryview) -> list[int]:
    """Read both queues, which have all acknowledged messages; return the numbers, by queue."""
    found: list[int] = []
    for queue_id in (0, 1):
        records = await desk.messages(queue_id=queue_id)
        assert [one.queue_offset for one in records] == list(range(len(records)))
        for one in records:
            assert one.body == body(int(one.body.split()[0]))
            assert int(one.body.split()[0]) % 2 == queue_id
        found += [int(one.body.split()[0]) for one in records]
    acknowledged = {one for one, flag in enumerate(said[ACKNOWLEDGED:]) if flag}
    assert acknowledged <= set(found), sorted(acknowledged - set(found))
    return found


def check(root: Path, said: bytes) -> None:
    """Start the broker: it has all acknowledged messages in order, and takes further ones."""

    async def look() -> None:
        async with running(root, config=settings(root)) as desk:
            if said[CREATED : CREATED + 1] == b"\1":
                assert desk.app.broker.topics.get(TOPIC) is not None
                await everything(desk, said)
                header = QueryConsumerOffset(consumer_group=GROUP, topic=TOPIC, queue_id=0)
                answer = await desk.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
                committed = int.from_bytes(said[COMMITTED : COMMITTED + 2].ljust(2, b"\0"))
                assert int(answer.ext.get("offset", 0)) <= committed + BATCH
            else:
                await desk.create_topic(queues=2)
            assert (await desk.send(b"0 ")).code == ResponseCode.SUCCESS

    asyncio.run(look())


def run_and_check(children: ForkServer, root: Path, call: str, effect: str) -> tuple[bool, bool]:
    """Cause the effect in one run; return whether it happened, and whether all was sent."""
    ended = children.run(root, call, effect)
    children.check(root, ended)
    shutil.rmtree(root)
    return ended.was_hit, sum(ended.said[ACKNOWLEDGED:]) == int(root.name)


@pytest.fixture(scope="module")
def children(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    with fork_server(MODULE, tmp_path_factory.mktemp("log")) as found:
        yield found


KILL = "signal=SIGKILL:when={}"
ERROR = "error=EIO:when={}"
ERRORS = "error=EIO:when={}+"
NO_SPACE = "error=ENOSPC:when={}..{}"
NO_SPACE_CALLS = 6


@pytest.mark.parametrize(
    ("call", "effect", "is_sent"),
    [
        ("pwrite64", KILL.format(9), None),
        ("rename", KILL.format(7), None),
        ("fdatasync", ERROR.format(5), True),
        ("fdatasync", ERRORS.format(9), False),
        ("pwrite64", NO_SPACE.format(4, 9), True),
    ],
)
def test_trouble_at_a_sample_of_calls_loses_nothing_acknowledged(
    call: str, effect: str, children: ForkServer, tmp_path: Path, *, is_sent: bool | None
) -> None:
    was_hit, was_sent = run_and_check(children, tmp_path / str(COUNT_IN_SAMPLE), call, effect)

    assert was_hit
    # How far a run is when it is killed depends on its timers.
    assert is_sent is None or was_sent == is_sent


def at_every_call(directory: Path, calls: tuple[str, ...], effect: str, count: int) -> None:
    """Cause the effect at every call of each kind, as far as there is time."""
    points = changing_calls(MODULE, directory / "whole", calls, count)

    def act(children: ForkServer, own: Path, call: str, number: int) -> tuple[bool, bool]:
        happens = effect.format(number, number + NO_SPACE_CALLS - 1)
        was_hit, is_sent = run_and_check(children, own / str(count), call, happens)
        # How often timers write differs from run to run.
        assert was_hit or is_sent, (call, number)
        return was_hit, was_hit and is_sent

    hits, sent = map(
        sum, zip(*at_each_call(act, MODULE, directory, points, minutes=1.5), strict=True)
    )
    print(f"{effect}: {hits} runs, in {sent} of them everything was sent")
    assert hits
    assert sent == hits or "ENOSPC" not in effect


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_killed_at_every_call_it_starts(tmp_path: Path) -> None:
    at_every_call(tmp_path, CHANGES, KILL, COUNT)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("effect", [ERROR, ERRORS], ids=["once", "from then on"])
def test_io_error_at_every_call_loses_nothing_acknowledged(effect: str, tmp_path: Path) -> None:
    at_every_call(tmp_path, (*FILE_CALLS, *SYNCS), effect, COUNT_IN_SAMPLE)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_no_space_at_every_call_and_then_all_is_sent(tmp_path: Path) -> None:
    at_every_call(tmp_path, FILE_CALLS, NO_SPACE, COUNT_IN_SAMPLE)
