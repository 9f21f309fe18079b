"""What a message costs our broker, the Java broker, NATS JetStream and Redis Streams, by turns.

    python -m benchmarks.peers --rounds 3 --seconds 4

    light (C, one connection) ──> ours | java | nats | redis, each with files below one directory

A Java client costs more than any of these servers, and hides what they cost. This client sends one
request again and again: a message of 1 KiB, or 32 of them at a time, with 1, 64 or 256 requests
on their way. All servers keep their settings, except where they would not write to a file: NATS has
a stream of ``file`` storage, Redis an append-only file that it syncs every second. NATS and Redis
have no batches; 32 single messages are written at once, and count as one request with 32 answers.

Needed: a C compiler, and Debian's packages nats-server and redis-server; what is missing is left
out, with a line that says so. CPU is that of the server's process, user and system.
"""

import argparse
import json
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.replay import BATCH, Frames
from benchmarks.servers import cpu_s, side, wait_for
from benchmarks.telling import markdown, tell
from tests.ports import free_ports

SOURCE: Final = Path(__file__).parent / "light" / "light.c"
BODY: Final = b"x" * 1024
WARM_S: Final = 1.0


class Load(NamedTuple):
    """What is sent: messages in a request, and requests on their way for each connection."""

    name: str
    batch: int
    window: int
    connections: int = 1


LOADS: Final = (
    Load("1 in flight", 1, 1),
    Load("64 in flight", 1, 64),
    Load("256 in flight", 1, 256),
    Load(f"batches of {BATCH}, 8 in flight", BATCH, 8),
)


class Peer(NamedTuple):
    """A running server, and how the client speaks to it."""

    protocol: str
    port: int
    pid: int
    single: bytes
    batch: bytes
    answers_a_batch: int
    hello: bytes = b""


class Result(NamedTuple):
    """What one run showed."""

    rate: float
    cpu_us: float
    p50_us: float
    p99_us: float
    p999_us: float


@contextmanager
def rocketmq(name: str, scratch: Path) -> Iterator[Peer]:
    """Run our broker or the Java broker."""
    frames = Frames(len(BODY), 8)
    # On a busy machine the Java broker refuses what waited for 200 ms, which would end the client.
    with side(name, scratch, settings={"waitTimeMillsInSendQueue": "60000"}) as there:
        yield Peer(
            "rocketmq", there.broker_port, there.broker_pid, frames.plain(), frames.batch(), 1
        )


@contextmanager
def process(command: list[str], port: int) -> Iterator[int]:
    """Run a server until it is not needed any more; yield its process id."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, running)
        yield running.pid
    finally:
        running.terminate()
        running.wait(60)


@contextmanager
def nats(scratch: Path) -> Iterator[Peer]:
    """Run a NATS server with one stream in a file."""
    port, store = free_ports(1), scratch / "nats"
    command = ["nats-server", "-js", "-a", "127.0.0.1", "-p", str(port), "-sd", str(store)]
    with process(command, port) as pid:
        stream = {"name": "bench", "subjects": ["bench"], "storage": "file", "num_replicas": 1}
        text = json.dumps({**stream, "retention": "limits"}).encode()
        hello = b'CONNECT {"verbose":false}\r\nSUB answers 1\r\n'
        with socket.create_connection(("127.0.0.1", port), timeout=10) as conn:
            conn.sendall(hello + b"PUB $JS.API.STREAM.CREATE.bench answers %d\r\n" % len(text))
            conn.sendall(text + b"\r\n")
            answer = b""
            while b"MSG answers" not in answer or not answer.endswith(b"}\r\n"):
                answer += conn.recv(65536)
        if b'"error"' in answer:
            raise OSError(f"the stream was not made: {answer.decode()}")
        single = b"PUB bench answers %d\r\n" % len(BODY) + BODY + b"\r\n"
        yield Peer("nats", port, pid, single, single * BATCH, BATCH, hello)


@contextmanager
def redis(scratch: Path) -> Iterator[Peer]:
    """Run a Redis server with an append-only file that is synced every second."""
    port, directory = free_ports(1), scratch / "redis"
    directory.mkdir()
    words = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", ""]
    words += ["--appendonly", "yes", "--appendfsync", "everysec"]
    # The file is not written anew while it grows, because the other servers do no such work.
    words += ["--auto-aof-rewrite-percentage", "0"]
    with process(["redis-server", *words], port) as pid:
        parts = [b"XADD", b"bench", b"*", b"body", BODY]
        single = b"*%d\r\n" % len(parts)
        single += b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        yield Peer("redis", port, pid, single, single * BATCH, BATCH)


def run(client: Path, peer: Peer, load: Load, request: Path, seconds: float) -> Result:
    """Run one load against one server.

    Raises:
        subprocess.CalledProcessError: a request was refused; the client's text is on the screen.
    """
    request.write_bytes(peer.batch if load.batch > 1 else peer.single)
    answers = peer.answers_a_batch if load.batch > 1 else 1
    numbers = [answers, load.connections, load.window, WARM_S, seconds]
    words = [peer.protocol, peer.port, request, *numbers]
    with subprocess.Popen(
        [client, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(peer.hello)
        running.stdin.close()
        running.stdout.readline()
        begin_s = cpu_s(peer.pid)
        last = running.stdout.readline().split()
        used_s = cpu_s(peer.pid) - begin_s
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, running.args)
    count = int(last[0]) * load.batch
    return Result(count / float(last[1]), used_s / count * 1e6, *map(float, last[2:5]))


def table(found: dict[tuple[str, str], list[Result]], names: list[str]) -> str:
    """Return the medians of all rounds, with the least and the largest rate."""
    rows = []
    for load in LOADS:
        for name in names:
            runs = found[load.name, name]
            rate, cpu_us, p50_us, p99_us, _ = (
                statistics.median(values) for values in zip(*runs, strict=True)
            )
            rates = [one.rate for one in runs]
            spread = f"{rate:,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"
            times = f"{p50_us:,.0f}", f"{p99_us:,.0f}"
            rows.append([load.name, name, spread, f"{cpu_us:.1f}", *times])
    titles = ("load", "server", "msg/s (least to most)", "CPU us/msg", "p50 us", "p99 us")
    return markdown(titles, rows)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--only", nargs="+", default=["ours", "java", "nats", "redis"])
    parser.add_argument("--dir", type=Path, help="where the servers keep their files")
    parser.add_argument("--write", type=Path, help="append the table to this file")
    options = parser.parse_args()
    kinds: dict[str, Callable[[Path], AbstractContextManager[Peer]]] = {
        "ours": lambda scratch: rocketmq("ours", scratch),
        "java": lambda scratch: rocketmq("java", scratch),
        "nats": nats,
        "redis": redis,
    }
    needs = {"java": "java", "nats": "nats-server", "redis": "redis-server"}
    names = []
    for name in options.only:
        if name in needs and shutil.which(needs[name]) is None:
            print(f"{name} is left out: {needs[name]} is not installed", file=sys.stderr)
        else:
            names.append(name)
    found: dict[tuple[str, str], list[Result]] = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=options.dir) as made:
        scratch = Path(made)
        client = scratch / "light"
        subprocess.run(["cc", "-O2", "-o", client, SOURCE], check=True)
        for number in range(options.rounds):
            for name in names:
                place = scratch / f"{name}-{number}"
                place.mkdir()
                with kinds[name](place) as peer:
                    for load in LOADS:
                        result = run(client, peer, load, scratch / "request", options.seconds)
                        found[load.name, name].append(result)
                        print(f"{name}, {load.name}: {result.rate:,.0f}/s, "
                              f"{result.cpu_us:.1f} us", flush=True)  # fmt: skip
                shutil.rmtree(place, ignore_errors=True)
            time.sleep(1)
    tell(table(found, names), options.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
