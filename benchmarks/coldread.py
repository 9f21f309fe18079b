"""How long a send waits while somebody reads old messages that no cache holds.

    python -m benchmarks.coldread --directory /var/tmp/bench --rounds 8 --seconds 5

    store of 2.5 GiB, 64 queues ── page cache dropped four times a second
    sender: 300 messages a second, each answer timed     reader: 100 pulls a second

A round has a run of each kind, in turn, so that a noisy machine is noisy for all of them:
without a reader; with one that reads what is in memory; with one that reads at random
offsets, in threads; the same on the loop (as a broker without RWF_NOWAIT does). Told are
medians over the rounds, and what each kind is to the first one in the same round. The
directory must be on a disk, not on tmpfs.
"""

import argparse
import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import PullMessage, SendMessageV2
from server.broker.cold import TRIES_MAX
from server.store.calls import PutMessage
from server.store.config import StoreConfig
from server.store.store import MessageStore
from storefmt.configs import TopicConfig, TopicTable
from storefmt.hosts import pack_host
from tests.golden import REPOSITORY
from tests.ports import free_ports

TOPIC: Final = "Cold"
QUEUES: Final = 64
BODY: Final = os.urandom(8_000)
MESSAGES: Final = (5 << 29) // len(BODY)
READERS: Final = 4
PULLS_A_SECOND: Final = 25
"""Of each reader."""
SENDS_A_SECOND: Final = 300
START: Final = (
    "import sys; import server.broker.cold as cold; cold.TRIES_MAX = int(sys.argv.pop(1)); "
    "from server.broker.app import main; sys.exit(main())"
)


class Kind(NamedTuple):
    """What is beside the sends; ``tries`` 0 reads everything on the loop."""

    name: str
    tries: int
    readers: int
    is_cold: bool


KINDS: Final = [
    Kind("no reader", TRIES_MAX, 0, False),
    Kind("reader of what is in memory", TRIES_MAX, READERS, False),
    Kind("cold reader, threads", TRIES_MAX, READERS, True),
    Kind("cold reader, on the loop", 0, READERS, True),
]


def fill(root: Path) -> None:
    """Make the backlog, by the store itself."""
    host, now_ms = pack_host("127.0.0.1", 10911), int(time.time() * 1000)
    store = MessageStore.open(StoreConfig(store_path_root_dir=root), now_ms=now_ms)
    for number in range(MESSAGES):
        store.put(
            PutMessage(
                TOPIC, TOPIC.encode(), number % QUEUES, BODY, b"", 0, 0, now_ms, host, host, 0, 0,
                0, (),
            ),
            now_ms,
        )  # fmt: skip
        if number % 64 == 63:
            store.write(now_ms)
    store.close(now_ms)
    table = TopicTable({TOPIC: TopicConfig(TOPIC, QUEUES, QUEUES)})
    (root / "config").mkdir(exist_ok=True)
    (root / "config" / "topics.json").write_text(table.encode())


@contextmanager
def broker(root: Path, *, tries: int) -> Iterator[str]:
    """Run our broker on the store; ``tries`` 0 reads everything on the loop."""
    port = free_ports(3)
    conf = root.parent / "broker.conf"
    conf.write_text(
        f"listenPort={port}\nbindAddress=127.0.0.1\nstorePathRootDir={root}\nbrokerIP1=127.0.0.1\n"
    )
    command = [sys.executable, "-c", START, str(tries), "-c", str(conf)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "boot success" in line:
                break
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def forget(root: Path) -> None:
    """Drop the whole store from the page cache, as far as it is on the disk."""
    # The last log file is being written: a write into a page that is not there reads it first.
    logs = sorted(root.glob("commitlog/*"))[:2]
    for path in (*logs, *root.glob("consumequeue/*/*/*")):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


async def send(client: RemotingClient, address: str, until: float) -> list[float]:
    """Send at an even pace; return the ms of each answer."""
    found: list[float] = []
    due = time.perf_counter()
    header = SendMessageV2(
        producer_group="P", topic=TOPIC, default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=0, sys_flag=0, born_timestamp=0, flag=0, properties="", reconsume_times=0,
        unit_mode=False, batch=False,
    )  # fmt: skip
    while due < until:
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        begin = time.perf_counter()
        request = Command.request(RequestCode.SEND_MESSAGE_V2, header, body=b"x" * 1_000)
        answer = await client.invoke(address, request, timeout_s=30)
        assert answer.code == 0, answer.remark
        found.append((time.perf_counter() - begin) * 1_000)
        due += 1 / SENDS_A_SECOND
    return found


async def read(address: str, until: float, seed: int, *, is_cold: bool) -> int:
    """Pull at an even pace, at random offsets or at few; return how many found messages."""
    chooser, client, count = random.Random(seed), RemotingClient(), 0
    due = time.perf_counter()
    while due < until:
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        header = PullMessage(
            consumer_group="G", topic=TOPIC, queue_id=chooser.randrange(QUEUES if is_cold else 1),
            queue_offset=chooser.randrange(MESSAGES // QUEUES - 400 if is_cold else 1),
            max_msg_nums=32, sys_flag=4, commit_offset=0, suspend_timeout_millis=0,
            subscription="*", sub_version=0, expression_type="TAG",
        )  # fmt: skip
        request = Command.request(RequestCode.PULL_MESSAGE, header)
        count += (await client.invoke(address, request, timeout_s=30)).code == 0
        due = max(due + 1 / PULLS_A_SECOND, time.perf_counter() - 1)
    await client.close()
    return count


async def forget_often(root: Path, until: float) -> None:
    while time.perf_counter() < until:
        await asyncio.to_thread(forget, root)
        await asyncio.sleep(0.25)


def read_all(address: str, seconds: float, kind: Kind) -> int:
    """Read with several clients, in a process of their own."""

    async def act() -> int:
        until = time.perf_counter() + seconds
        readers = (read(address, until, seed, is_cold=kind.is_cold) for seed in range(kind.readers))
        return sum(await asyncio.gather(*readers))

    return asyncio.run(act())


class Run(NamedTuple):
    """What one run showed; ms."""

    p50: float
    p99: float
    most: float
    pulls: int


async def run(root: Path, address: str, seconds: float, *, kind: Kind) -> Run:
    """Measure one run."""
    client, until = RemotingClient(), time.perf_counter() + seconds
    with ProcessPoolExecutor(1) as other:
        reading = asyncio.get_running_loop().run_in_executor(
            other, read_all, address, seconds, kind
        )
        others = [forget_often(root, until)] if kind.is_cold or not kind.readers else []
        sends, pulls, *_ = await asyncio.gather(send(client, address, until), reading, *others)
    await client.close()
    cuts = statistics.quantiles(sends, n=100)
    return Run(cuts[49], cuts[98], max(sends), pulls)


def told(kind: Kind, runs: Sequence[Run], base: Sequence[Run]) -> str:
    """Return the line of one kind."""
    middle = statistics.median
    p50, p99 = middle(one.p50 for one in runs), middle(one.p99 for one in runs)
    ratio = middle(one.p99 / none.p99 for one, none in zip(runs, base, strict=True))
    most, pulls = max(one.most for one in runs), sum(one.pulls for one in runs)
    return (
        f"{kind.name:28s} p50 {p50:6.2f}  p99 {p99:7.2f}  max {most:7.1f} ms"
        f"  p99 to none {ratio:5.2f}   {pulls:6d} pulls"
    )


def main() -> None:
    """Print a line for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    root = arguments.directory / "store"
    arguments.directory.mkdir(parents=True)
    found: dict[Kind, list[Run]] = {kind: [] for kind in KINDS}
    try:
        fill(root)
        for number in range(arguments.rounds):
            # Whoever is first has no advantage of it.
            for kind in KINDS[number % len(KINDS) :] + KINDS[: number % len(KINDS)]:
                with broker(root, tries=kind.tries) as address:
                    one = asyncio.run(run(root, address, arguments.seconds, kind=kind))
                found[kind].append(one)
        for kind, runs in found.items():
            print(told(kind, runs, found[KINDS[0]]), flush=True)
        print(f"load {os.getloadavg()[0]:.1f}, {arguments.rounds} rounds")
    finally:
        shutil.rmtree(arguments.directory)


if __name__ == "__main__":
    main()
