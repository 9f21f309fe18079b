"""Server processes that run out of descriptors or memory: they serve on, recover and stop."""

import asyncio
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX
from tests.server.broker.desk import create, pull, send
from tests.server.test_processes import SMALL
from tests.waiting import eventually, until

DESCRIPTORS = 256
MIB = 1 << 20


class Peers:
    """A client of ours, and connections of strangers to the same server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = RemotingClient()
        self._writers: list[asyncio.StreamWriter] = []
        self._readers: list[asyncio.StreamReader] = []

    async def ask(self, command: Command) -> int:
        return (await self.client.invoke(self.address, command, timeout_s=60)).code

    async def crowd_in(self, count: int, data: bytes = b"") -> None:
        host, _, port = self.address.rpartition(":")
        for _ in range(count):
            reader, writer = await asyncio.open_connection(host, int(port))
            self._readers.append(reader)
            self._writers.append(writer)
            writer.write(data)

    async def closed(self, count: int) -> None:
        """Wait until the server has closed so many connections."""
        ends = self._readers
        await until(lambda: sum(end.at_eof() or bool(end.exception()) for end in ends) >= count)

    def leave(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


Scene = Callable[[Peers], Coroutine[None, None, list[int]]]


def play(
    scene: Scene, module: str, directory: Path, settings: str, *, kind: int, limit: int
) -> tuple[list[int], list[str]]:
    """Run a server under one limit and a scene with it; return what that gave, and its log."""
    conf, log = directory / "server.conf", directory / "log"
    conf.write_text(f"listenPort=0\nbindAddress=127.0.0.1\n{settings}")

    async def played(address: str) -> list[int]:
        peers = Peers(address)
        codes = await scene(peers)
        await peers.client.close()
        return codes

    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", module, "-c", str(conf)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
        ) as process,
    ):
        try:
            line = process.stdout.readline()
            assert "boot success" in line, log.read_text()
            codes = asyncio.run(played(line.rpartition(" ")[2].strip()))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    return codes, log.read_text().splitlines()


def a_send(body: bytes = b"hello") -> Command:
    return Command.request(RequestCode.SEND_MESSAGE_V2, send(), body=body)


def a_pull() -> Command:
    return Command.request(RequestCode.PULL_MESSAGE, pull())


@pytest.mark.parametrize("first_byte", [b"", b"\0"])
def test_a_broker_without_descriptors_serves_on_recovers_and_stops(
    tmp_path: Path, first_byte: bytes
) -> None:
    settings = f"storePathRootDir={tmp_path}/store\nflushDiskType=SYNC_FLUSH\n{SMALL}"

    async def scene(peers: Peers) -> list[int]:
        topic = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T", 4))
        codes = [await peers.ask(topic)]
        await peers.crowd_in(2 * DESCRIPTORS, first_byte)
        await peers.closed(DESCRIPTORS + 1)
        for number in range(40):
            # Many files of log and queues are made meanwhile.
            codes.append(await peers.ask(a_send(b"%d" % number * 50_000)))
            codes.append(await peers.ask(a_pull()))
        peers.leave()

        async def newcomer() -> int:
            other = Peers(peers.address)
            try:
                return await other.ask(a_send())
            except Exception:
                return -1
            finally:
                await other.client.close()

        codes.append(await eventually(newcomer, lambda code: code == 0))
        await peers.crowd_in(2 * DESCRIPTORS, first_byte)
        codes.append(await peers.ask(a_send()))
        return codes

    codes, log = play(
        scene,
        "mqserver.broker.app",
        tmp_path,
        settings,
        kind=resource.RLIMIT_NOFILE,
        limit=DESCRIPTORS,
    )

    assert set(codes) == {0}
    assert not [line for line in log if "Traceback" in line or " ERROR " in line]
    refusals = [line for line in log if "use all file descriptors" in line]
    assert 1 <= len(refusals) <= 2 * DESCRIPTORS


def test_a_name_server_without_descriptors_serves_on_and_stops(tmp_path: Path) -> None:
    settings = f"kvConfigPath={tmp_path}/kv.json\n"

    async def scene(peers: Peers) -> list[int]:
        command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        codes = [await peers.ask(command)]
        await peers.crowd_in(2 * DESCRIPTORS)
        codes.append(await peers.ask(command))
        return codes

    codes, log = play(
        scene,
        "mqserver.namesrv.app",
        tmp_path,
        settings,
        kind=resource.RLIMIT_NOFILE,
        limit=DESCRIPTORS,
    )

    assert codes == [0, 0]
    assert not [line for line in log if "Traceback" in line or " ERROR " in line]


def test_a_broker_survives_unfinished_frames_that_are_more_than_its_memory(tmp_path: Path) -> None:
    settings = f"storePathRootDir={tmp_path}/store\n{SMALL}"
    unfinished = struct.pack(">iI", FRAME_SIZE_MAX, 0) + bytes(15 * MIB)

    async def scene(peers: Peers) -> list[int]:
        codes = [await peers.ask(a_send())]
        await peers.crowd_in(40, unfinished)
        await peers.closed(20)
        codes.append(await peers.ask(a_send(bytes(100_000))))
        codes.append(await peers.ask(a_pull()))
        peers.leave()
        return codes

    codes, log = play(
        scene, "mqserver.broker.app", tmp_path, settings, kind=resource.RLIMIT_AS, limit=768 * MIB
    )

    assert codes == [0, 0, 0]
    assert not [line for line in log if "Traceback" in line]
    assert [line for line in log if "bytes in flight" in line]
