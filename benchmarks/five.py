"""Our gRPC endpoint against the real proxy of 5.4.0, by its own Java client: ``make bench``.

    FiveBench.java ──gRPC──> proxy and broker in one JVM, beside the JVM of a name server
                             ``mqserver.embedded``: all three in one process of ours

The load program sits on ``rocketmq-client-java`` and is the same for both sides, as in ``run``,
whose rounds and tables these are. CPU and memory are those of all processes of a side. A side
serves when a topic was created and the endpoint has told its route.

``--mode cluster`` gives the real proxy a JVM of its own, as in a cluster of 5.x; with ``local`` it
calls the broker in its own JVM, which costs less.
"""

import argparse
import asyncio
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc.aio

from benchmarks.loads import SOURCE, compile_load
from benchmarks.run import Round, head, loaded, table
from benchmarks.servers import cpu_s, heap_mb, java_words, wait_for
from benchmarks.telling import tell
from mqclient.client.instance import MQClient
from mqserver.embedded import EmbeddedAddresses
from mqserver.proxy.protocol.codes import Code
from mqserver.proxy.protocol.definitions import Resource
from mqserver.proxy.protocol.requests import QueryRouteRequest, QueryRouteResponse
from tests.golden import REPOSITORY
from tests.interop.kit.five_build import FIVE, program
from tests.interop.kit.java_build import JAVA_FIVE, class_path
from tests.interop.kit.servers import write_properties
from tests.ports import free_ports
from tests.server.proxy.client import Bench
from tests.waiting import eventually

LOADS: Final = ["sync:1", "sync:64", "async:256", "receive:16", "listen:5"]
TOPICS: Final = ("bench_send", "bench_receive", "bench_listen")
JARS: Final = f"{FIVE / 'java' / 'target' / 'lib'}/*"
CLUSTER: Final = "DefaultCluster"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The running servers of one side."""

    name: str
    address: str
    pids: tuple[int, ...]
    started_s: float
    """Seconds from starting the first process until a client was served."""

    def cpu_s(self) -> float:
        """Return the CPU seconds that all processes have used."""
        return sum(cpu_s(pid) for pid in self.pids)

    def heap_mb(self) -> float:
        """Return the resident anonymous memory of all processes in MB."""
        return sum(heap_mb(pid) for pid in self.pids)


class Processes:
    """The processes of one side, and the directory for all that they write."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], *, port: int) -> None:
        """Start a process and return when it accepts connections."""
        with (self.home / f"{port}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.running.append(process)
        wait_for(port, process)

    def stop(self) -> None:
        """End all of them, the last one first."""
        for process in reversed(self.running):
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def start_ours(processes: Processes, at: EmbeddedAddresses) -> None:
    """Start our one process."""
    ports = {"--namesrv-port": at.namesrv, "--broker-port": at.broker, "--grpc-port": at.grpc}
    words = [word for name, address in ports.items() for word in (name, str(_port(address)))]
    command = [sys.executable, "-m", "mqserver.embedded", *words, "--store", at.store]
    processes.start(command, port=_port(at.grpc))


def start_java(processes: Processes, at: EmbeddedAddresses, *, mode: str) -> None:
    """Start the name server, the proxy and, unless it is in the proxy's JVM, the broker."""
    home, jars = processes.home, class_path(JAVA_FIVE)
    namesrv, broker, proxy = (home / name for name in ("namesrv.conf", "broker.conf", "proxy.json"))
    of_namesrv = {"listenPort": str(_port(at.namesrv)), "kvConfigPath": str(home / "kv.json")}
    write_properties(namesrv, of_namesrv)
    write_properties(
        broker,
        {
            "brokerClusterName": CLUSTER,
            "brokerName": "broker-a",
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "listenPort": str(_port(at.broker)),
            "haListenPort": str(_port(at.broker) + 1),
            "namesrvAddr": at.namesrv,
            "storePathRootDir": at.store,
            "storePathCommitLog": f"{at.store}/commitlog",
        },
    )
    of_proxy = {
        "rocketMQClusterName": CLUSTER,
        "namesrvAddr": at.namesrv,
        "grpcServerPort": _port(at.grpc),
        "remotingListenPort": free_ports(1),
    }
    proxy.write_text(json.dumps(of_proxy))

    def start(role: str, port: int, *words: str) -> None:
        processes.start(java_words(role, *words, home=home, class_path=jars), port=port)

    start("namesrv", _port(at.namesrv), "-c", str(namesrv))
    words = ("-n", at.namesrv, "-pc", str(proxy), "-pm", mode)
    if mode == "local":
        start("proxy", _port(at.grpc), *words, "-bc", str(broker))
    else:
        start("broker", _port(at.broker), "-c", str(broker))
        start("proxy", _port(at.grpc), *words)


@contextmanager
def endpoint(name: str, scratch: Path, *, mode: str) -> Iterator[Endpoint]:
    """Run the servers of the side ``name`` (``java`` or ``ours``) with empty topics."""
    ports = free_ports(6)
    namesrv, broker, of_grpc = (f"127.0.0.1:{ports + index}" for index in (0, 3, 5))
    home = scratch / f"{name}-{ports}"
    home.mkdir()
    at = EmbeddedAddresses(namesrv, broker, str(home / "store"), of_grpc)
    processes = Processes(home)
    try:
        begin = time.monotonic()
        if name == "ours":
            start_ours(processes, at)
        else:
            start_java(processes, at, mode=mode)
        asyncio.run(make_topics(at))
        started_s = time.monotonic() - begin
        pids = tuple(process.pid for process in processes.running)
        yield Endpoint(name, at.grpc, pids, started_s)
    finally:
        processes.stop()
        shutil.rmtree(home)


async def make_topics(at: EmbeddedAddresses) -> None:
    """Create the topics of the loads, and return when the endpoint tells their routes."""
    async with grpc.aio.insecure_channel(at.grpc) as channel, MQClient(at.namesrv) as admin:
        desk = Bench(at, channel, admin)
        client = desk.client()
        for topic in TOPICS:
            await desk.topic(topic, "NORMAL", queues=8)
            request = QueryRouteRequest(topic=Resource(name=topic))

            async def route(request: QueryRouteRequest = request) -> Code | None:
                found = await client.ask("QueryRoute", request, QueryRouteResponse)
                return None if found.status is None else found.status.code

            await eventually(route, lambda code: code is Code.OK, timeout_s=60)


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def load_command(running: Endpoint, options: argparse.Namespace) -> list[str]:
    """Return the command line of the Java client's loads."""
    numbers = (options.body, options.warm, options.seconds, options.messages)
    return [
        *("java", "-Xmx1g", f"-Duser.home={SOURCE}/target"),
        *("-cp", f"{SOURCE / 'target'}:{JARS}", "FiveBench"),
        *(running.address, "bench", *map(str, numbers), *options.loads),
    ]


def main() -> int:
    """Run the rounds and print the tables; ``--write`` also puts them into a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warm", type=float, default=4.0)
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--messages", type=int, default=40_000, help="to receive, half are timed")
    parser.add_argument("--mode", choices=["local", "cluster"], default="local")
    parser.add_argument("--loads", nargs="+", default=LOADS)
    parser.add_argument("--write", type=Path, help="append the tables to this file")
    options = parser.parse_args()
    program("java")
    compile_load("FiveBench", JARS)
    rounds: dict[str, list[Round]] = {"java": [], "ours": []}
    with tempfile.TemporaryDirectory(prefix="mq-bench-") as scratch:
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", flush=True)
            for name in rounds if number % 2 == 0 else reversed(rounds):
                with endpoint(name, Path(scratch), mode=options.mode) as running:
                    rounds[name].append(loaded(running, load_command(running, options)))
    what = f"gRPC, proxy in mode {options.mode}"
    tell(f"{head(rounds, options, what=what)}\n{table(rounds, options.loads)}", options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
