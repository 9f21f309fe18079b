"""How long a send waits while somebody reads old messages that no cache holds.

    python -m benchmarks.coldread --directory /var/tmp/bench --seconds 15

    store of 2.5 GiB, 64 queues ── page cache dropped four times a second
    sender: 300 messages a second, each answer timed     reader: 4 pulls at random offsets

Three runs: without a reader; with one, cold reads in threads; with one, cold reads on the
loop (as a broker without RWF_NOWAIT does). The directory must be on a disk, not on tmpfs.
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
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.headers import PullMessage, SendMessageV2
from server.store.calls import PutMessage
from server.store.config import StoreConfig
from server.store.store import MessageStore
from storefmt.configs import TopicConfig, TopicTable
from storefmt.hosts import pack_host
from tests.golden import REPOSITORY
from tests.interop.rocketmq import free_ports

TOPIC: Final = "Cold"
QUEUES: Final = 64
BODY: Final = os.urandom(8_000)
MESSAGES: Final = (5 << 29) // len(BODY)
READERS: Final = 4
SENDS_A_SECOND: Final = 300
START: Final = (
    "import sys; import server.broker.cold as cold; cold.TRIES_MAX = int(sys.argv.pop(1)); "
    "from server.broker.app import main; sys.exit(main())"
)


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


async def read(address: str, until: float, seed: int) -> int:
    """Pull at random offsets; return how many pulls found messages."""
    chooser, client, count = random.Random(seed), RemotingClient(), 0
    while time.perf_counter() < until:
        header = PullMessage(
            consumer_group="G", topic=TOPIC, queue_id=chooser.randrange(QUEUES),
            queue_offset=chooser.randrange(MESSAGES // QUEUES - 400), max_msg_nums=32, sys_flag=4,
            commit_offset=0, suspend_timeout_millis=0, subscription="*", sub_version=0,
            expression_type="TAG",
        )  # fmt: skip
        request = Command.request(RequestCode.PULL_MESSAGE, header)
        count += (await client.invoke(address, request, timeout_s=30)).code == 0
    await client.close()
    return count


async def forget_often(root: Path, until: float) -> None:
    while time.perf_counter() < until:
        await asyncio.to_thread(forget, root)
        await asyncio.sleep(0.25)


def read_all(address: str, seconds: float, readers: int) -> int:
    """Read with several clients, in a process of their own."""

    async def act() -> int:
        until = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(read(address, until, seed) for seed in range(readers))))

    return asyncio.run(act())


async def run(root: Path, address: str, seconds: float, *, readers: int) -> str:
    """Measure one run; return its line."""
    client, until = RemotingClient(), time.perf_counter() + seconds
    with ProcessPoolExecutor(1) as other:
        reading = asyncio.get_running_loop().run_in_executor(
            other, read_all, address, seconds, readers
        )
        sends, _, pulls = await asyncio.gather(
            send(client, address, until), forget_often(root, until), reading
        )
    await client.close()
    cuts = statistics.quantiles(sends, n=1000)
    return (
        f"{len(sends):6d} sends  p50 {cuts[499]:6.2f}  p99 {cuts[989]:7.2f}  "
        f"p99.9 {cuts[998]:7.2f}  max {max(sends):7.2f} ms   {pulls:6d} cold pulls"
    )


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=15)
    arguments = parser.parse_args()
    root = arguments.directory / "store"
    arguments.directory.mkdir(parents=True)
    try:
        fill(root)
        for name, tries, readers in (
            ("no reader", 40, 0),
            ("cold reader, threads", 40, READERS),
            ("cold reader, on the loop", 0, READERS),
        ):
            with broker(root, tries=tries) as address:
                line = asyncio.run(run(root, address, arguments.seconds, readers=readers))
            print(f"{name:26s} {line}", flush=True)
    finally:
        shutil.rmtree(arguments.directory)


if __name__ == "__main__":
    main()
