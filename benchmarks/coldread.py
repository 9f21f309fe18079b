"""How long a send waits while somebody reads old messages that no cache holds.

    python -m benchmarks.coldread --directory /var/tmp/bench --rounds 8 --seconds 5

    ours ─┬─ store of 2.5 GiB, 64 queues ─┬── sender: 300 messages a second, each answer timed
    Java ─┘  page cache dropped 4 / s     └── readers: 25 pulls of 256 KiB a second, each
    ours, a second one, with a store of its own ── the same readers, beside the same sender

A round has a run of each kind with each broker, in turn, so that a noisy machine is noisy for
all of them: without a reader, with four of what is in memory, with one and four at random
offsets. Told are medians over the rounds, and what each kind is to the first one in the same
round. Readers of a second broker show what they cost the sender because there are so few
cores and one disk: only what they cost beyond that is due to the broker that serves both.
Sender and readers are processes of their own that do little but wait: requests are made
before, answers not decoded, and times are spread, or four readers in step would be one burst.
CPU time of our broker and of its loop (the main thread) is told for each pull: that a busy
machine changes less. The directory must be on a disk, not on tmpfs.
"""

import argparse
import os
import random
import shutil
import socket
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.logs import make_backlog, put_message
from benchmarks.servers import Side, side
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.frame import encode_frame
from remoting.headers import PullMessage, SendMessageV2

TOPIC: Final = "Cold"
QUEUES: Final = 64
BODY: Final = os.urandom(8_000)
MESSAGES: Final = (5 << 29) // len(BODY)
PULLS_A_SECOND: Final = 25
"""Of each reader."""
SENDS_A_SECOND: Final = 300
WARM_S: Final = 10
"""Sends as fast as they go before the first round: a JVM has to compile first."""


class Kind(NamedTuple):
    """What is beside the sends."""

    name: str
    readers: int
    is_cold: bool
    elsewhere: bool = False
    """The readers ask another broker than the sender does."""


KINDS: Final = [
    Kind("no reader", 0, False),
    Kind("four of what is in memory", 4, False),
    Kind("one cold reader", 1, True),
    Kind("four cold readers", 4, True),
]
ELSEWHERE: Final = {
    kind: kind._replace(name=f"{kind.name}, elsewhere", elsewhere=True)
    for kind in KINDS
    if kind.readers
}
"""The same with the readers at a second broker; where both are ours."""
ORDER: Final = [*KINDS, *ELSEWHERE.values()]
SECOND: Final = "second"


def fill(root: Path) -> None:
    """Make the backlog, by the store itself."""
    now_ms = int(time.time() * 1000)
    messages = (put_message(TOPIC, n % QUEUES, BODY, now_ms=now_ms) for n in range(MESSAGES))
    make_backlog(root, TOPIC, messages, queue_count=QUEUES, now_ms=now_ms)


def forget(root: Path) -> None:
    """Drop the whole store from the page cache, as far as it is on the disk and not mapped."""
    # The last log file is being written: a write into a page that is not there reads it first.
    logs = sorted(root.glob("commitlog/*"))[:2]
    for path in (*logs, *root.glob("consumequeue/*/*/*")):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def forget_often(root: Path, until: float) -> None:
    """Let nothing stay in memory that was read; for a process of its own."""
    while time.perf_counter() < until:
        forget(root)
        time.sleep(0.25)


class Peer:
    """One connection that asks and waits, with as little work as Python can do."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(1 << 20))

    def ask(self, frame: bytes) -> float:
        """Send a request, take the whole answer; return the ms it took."""
        begin, got, size = time.perf_counter(), 0, 4
        self._socket.sendall(frame)
        while got < size:
            count = self._socket.recv_into(self._buffer[got:])
            assert count, "the broker closed the connection"
            got += count
            if got >= 4:
                size = 4 + int.from_bytes(self._buffer[:4], "big")
        took_ms = (time.perf_counter() - begin) * 1_000
        assert b'"code":0,' in bytes(self._buffer[8 : min(size, 400)])
        return took_ms

    def close(self) -> None:
        """Let the connection go."""
        self._socket.close()


def send_frame() -> bytes:
    """Return the request that stores one message."""
    header = SendMessageV2(
        producer_group="P", topic=TOPIC, default_topic="TBW102", default_topic_queue_nums=4,
        queue_id=0, sys_flag=0, born_timestamp=0, flag=0, properties="", reconsume_times=0,
        unit_mode=False, batch=False,
    )  # fmt: skip
    return encode_frame(Command.request(RequestCode.SEND_MESSAGE_V2, header, body=b"x" * 1_000))


def pull_frame(chooser: random.Random, *, is_cold: bool) -> bytes:
    """Return the request that pulls 32 messages, from anywhere or always the same."""
    header = PullMessage(
        consumer_group="G", topic=TOPIC, queue_id=chooser.randrange(QUEUES if is_cold else 1),
        queue_offset=chooser.randrange(MESSAGES // QUEUES - 400 if is_cold else 1),
        max_msg_nums=32, sys_flag=4, commit_offset=0, suspend_timeout_millis=0,
        subscription="*", sub_version=0, expression_type="TAG",
    )  # fmt: skip
    return encode_frame(Command.request(RequestCode.PULL_MESSAGE, header))


def paced(
    port: int, until: float, per_s: float, *, seed: int, frame: Callable[[random.Random], bytes]
) -> list[float]:
    """Ask at a pace that keeps its mean and no beat; return the ms of each answer."""
    chooser, peer, found = random.Random(seed), Peer(port), []
    due = time.perf_counter() + chooser.random() / per_s
    while due < until:
        request = frame(chooser)
        time.sleep(max(due - time.perf_counter(), 0))
        found.append(peer.ask(request))
        due = max(due + chooser.uniform(0.5, 1.5) / per_s, time.perf_counter() - 1)
    peer.close()
    return found


def send_all(port: int, until: float) -> list[float]:
    """Send; for a process of its own."""
    request = send_frame()
    return paced(port, until, SENDS_A_SECOND, seed=-1, frame=lambda chooser: request)


def read_all(port: int, until: float, kind: Kind) -> int:
    """Pull with several connections, in a process of their own; return how often."""

    def read(seed: int) -> int:
        def frame(chooser: random.Random) -> bytes:
            return pull_frame(chooser, is_cold=kind.is_cold)

        return len(paced(port, until, PULLS_A_SECOND, seed=seed, frame=frame))

    with ThreadPoolExecutor(kind.readers) as pool:
        return sum(pool.map(read, range(kind.readers)))


def warm(port: int, *, pulls: bool = True) -> None:
    """Send without a pause, and pull what is in memory."""
    peer, until, request = Peer(port), time.perf_counter() + WARM_S, send_frame()
    pull = pull_frame(random.Random(0), is_cold=False)
    while time.perf_counter() < until:
        for _ in range(20):
            peer.ask(request)
        if pulls:
            peer.ask(pull)
    peer.close()


class Run(NamedTuple):
    """What one run showed; ms, and CPU seconds."""

    p50: float
    p99: float
    most: float
    pulls: int
    cpu_s: float
    loop_s: float


def loop_s(pid: int) -> float:
    """Return the CPU seconds of a process's main thread."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]) / 1e9


class Place(NamedTuple):
    """A broker and its store."""

    broker: Side
    root: Path


def run(
    pool: ProcessPoolExecutor, sends: Place, pulls: Place, *, kind: Kind, seconds: float
) -> Run:
    """Measure one run; CPU is that of the broker that is pulled from."""
    broker = pulls.broker
    cpu_s, begun_s = broker.cpu_s(), loop_s(broker.broker_pid)
    until = time.perf_counter() + seconds
    sending = pool.submit(send_all, sends.broker.broker_port, until)
    reading = pool.submit(read_all, broker.broker_port, until, kind) if kind.readers else None
    # Also where nobody reads: dropping has a price of its own.
    pool.submit(forget_often, pulls.root, until if kind.is_cold or not kind.readers else 0).result()
    took_ms, count = sending.result(), reading.result() if reading is not None else 0
    cuts = statistics.quantiles(took_ms, n=100)
    used = broker.cpu_s() - cpu_s, loop_s(broker.broker_pid) - begun_s
    return Run(cuts[49], cuts[98], max(took_ms), count, *used)


Found = dict[tuple[str, Kind], list[Run]]


def ratio(runs: Sequence[Run], others: Sequence[Run]) -> float:
    """Return the median over the rounds of one p99 to the other."""
    return statistics.median(one.p99 / other.p99 for one, other in zip(runs, others, strict=True))


def told(name: str, kind: Kind, found: Found) -> str:
    """Return the line of one kind."""
    middle = statistics.median
    runs, base = found[name, kind], found[name, KINDS[0]]
    p50, p99 = middle(one.p50 for one in runs), middle(one.p99 for one in runs)
    pulls = sum(one.pulls for one in runs)

    def us_a_pull(used: Callable[[Run], float]) -> float:
        more_s = sum(map(used, runs)) - sum(map(used, base))
        return more_s * 1e6 / max(pulls, 1)

    more = ""
    control = found.get((name, ELSEWHERE[kind])) if kind in ELSEWHERE else None
    if control is not None:
        more = f"  to elsewhere {ratio(runs, control):5.2f}"
        # A JVM compiles and collects when it likes, which a few pulls cannot be told from.
        both = us_a_pull(lambda one: one.cpu_s), us_a_pull(lambda one: one.loop_s)
        more += "  CPU a pull {:5.0f} us, {:5.0f} of it on the loop".format(*both)
    return (
        f"{name:5s} {kind.name:36s} p50 {p50:6.2f}  p99 {p99:7.2f}"
        f"  max {max(one.most for one in runs):7.1f} ms  p99 to none {ratio(runs, base):5.2f}"
        f"  {pulls:6d} pulls{more}"
    )


def measure(roots: dict[str, Path], scratch: Path, *, rounds: int, seconds: float) -> Found:
    """Run all rounds; return the runs of each name and kind."""
    found: Found = defaultdict(list)
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(3))
        places = {}
        for name, root in roots.items():
            settings = {
                "storePathRootDir": str(root),
                "storePathCommitLog": str(root / "commitlog"),
            }
            which = "ours" if name == SECOND else name
            broker = stack.enter_context(side(which, scratch, settings=settings))
            places[name] = Place(broker, root)
            warm(broker.broker_port)
        for number in range(rounds):
            # Whoever is first has no advantage of it.
            for kind in ORDER[number % len(ORDER) :] + ORDER[: number % len(ORDER)]:
                for name, sends in places.items():
                    if name == SECOND or (kind.elsewhere and name != "ours"):
                        continue
                    pulls = places[SECOND] if kind.elsewhere else sends
                    one = run(pool, sends, pulls, kind=kind, seconds=seconds)
                    found[name, kind].append(one)
    return found


def main() -> None:
    """Print a line for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--brokers", nargs="+", default=["ours", "java"])
    options = parser.parse_args()
    options.directory.mkdir(parents=True)
    try:
        names = [*options.brokers, *([SECOND] if "ours" in options.brokers else [])]
        roots = {name: options.directory / f"{name}-store" for name in names}
        for root in roots.values():
            fill(root)
        found = measure(roots, options.directory, rounds=options.rounds, seconds=options.seconds)
        for name in options.brokers:
            for kind in ORDER:
                if found[name, kind]:
                    print(told(name, kind, found), flush=True)
        print(f"load {os.getloadavg()[0]:.1f}, {options.rounds} rounds")
    finally:
        shutil.rmtree(options.directory)


if __name__ == "__main__":
    main()
