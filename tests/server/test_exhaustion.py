"""Server processes that run out of descriptors or memory: they serve on, recover and stop."""

import asyncio
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX
from tests.server.broker.desk import create, pull, send
from tests.server.test_processes import SMALL
from tests.waiting import eventually

DESCRIPTORS = 256
MIB = 1 << 20


@contextmanager
def serving(
    module: str, directory: Path, settings: str, kind: int, limit: int
) -> Iterator[tuple[str, list[str]]]:
    """Run a server under one limit; yield its address and its log, which a clean stop fills."""
    conf, log = directory / "server.conf", directory / "log"
    conf.write_text(f"listenPort=0\nbindAddress=127.0.0.1\n{settings}")
    told: list[str] = []
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
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "boot success" in line, log.read_text()
            yield line.rpartition(" ")[2].strip(), told
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()
    told += log.read_text().splitlines()


class Crowd:
    """Connections of strangers to a server."""

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []
        self._readers: list[asyncio.StreamReader] = []

    async def come(self, address: str, count: int, data: bytes = b"") -> None:
        host, _, port = address.rpartition(":")
        for _ in range(count):
            reader, writer = await asyncio.open_connection(host, int(port))
            self._readers.append(reader)
            self._writers.append(writer)
            writer.write(data)

    @property
    def closed_count(self) -> int:
        """Number of connections that the server closed."""
        return sum(reader.at_eof() or reader.exception() is not None for reader in self._readers)

    def leave(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


async def code_of(client: RemotingClient, address: str, command: Command) -> int:
    return (await client.invoke(address, command, timeout_s=60)).code


def a_send(body: bytes = b"hello") -> Command:
    return Command.request(RequestCode.SEND_MESSAGE_V2, send(), body=body)


def a_pull() -> Command:
    return Command.request(RequestCode.PULL_MESSAGE, pull())


@pytest.mark.parametrize("first_byte", [b"", b"\0"])
def test_a_broker_without_descriptors_serves_on_recovers_and_stops(
    tmp_path: Path, first_byte: bytes
) -> None:
    settings = f"storePathRootDir={tmp_path}/store\nflushDiskType=SYNC_FLUSH\n{SMALL}"

    async def scene(address: str) -> list[int]:
        client, crowd = RemotingClient(), Crowd()
        topic = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T", 4))
        codes = [await code_of(client, address, topic)]
        await crowd.come(address, 2 * DESCRIPTORS, first_byte)
        await eventually(lambda: asyncio.sleep(0, crowd.closed_count), lambda n: n > DESCRIPTORS)
        for number in range(40):
            # Many files of log and queues are made meanwhile.
            codes.append(await code_of(client, address, a_send(b"%d" % number * 50_000)))
            codes.append(await code_of(client, address, a_pull()))
        crowd.leave()

        async def newcomer() -> int:
            other = RemotingClient()
            try:
                return await code_of(other, address, a_send())
            except Exception:
                return -1
            finally:
                await other.close()

        codes.append(await eventually(newcomer, lambda code: code == 0))
        await crowd.come(address, 2 * DESCRIPTORS, first_byte)
        codes.append(await code_of(client, address, a_send()))
        await client.close()
        return codes

    with serving("server.broker.app", tmp_path, settings, resource.RLIMIT_NOFILE, DESCRIPTORS) as (
        address,
        log,
    ):
        codes = asyncio.run(scene(address))

    assert set(codes) == {0}
    assert not [line for line in log if "Traceback" in line or " ERROR " in line]
    refusals = [line for line in log if "take all descriptors there are" in line]
    assert 1 <= len(refusals) <= 2 * DESCRIPTORS


def test_a_name_server_without_descriptors_serves_on_and_stops(tmp_path: Path) -> None:
    settings = f"kvConfigPath={tmp_path}/kv.json\n"

    async def scene(address: str) -> list[int]:
        client, crowd = RemotingClient(), Crowd()
        command = Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)
        codes = [await code_of(client, address, command)]
        await crowd.come(address, 2 * DESCRIPTORS)
        codes.append(await code_of(client, address, command))
        await client.close()
        return codes

    with serving("server.namesrv.app", tmp_path, settings, resource.RLIMIT_NOFILE, DESCRIPTORS) as (
        address,
        log,
    ):
        codes = asyncio.run(scene(address))

    assert codes == [0, 0]
    assert not [line for line in log if "Traceback" in line or " ERROR " in line]


def test_a_broker_survives_unfinished_frames_that_are_more_than_its_memory(tmp_path: Path) -> None:
    settings = f"storePathRootDir={tmp_path}/store\n{SMALL}"
    unfinished = struct.pack(">iI", FRAME_SIZE_MAX, 0) + bytes(15 * MIB)

    async def scene(address: str) -> list[int]:
        client, crowd = RemotingClient(), Crowd()
        codes = [await code_of(client, address, a_send())]
        await crowd.come(address, 40, unfinished)
        await eventually(lambda: asyncio.sleep(0, crowd.closed_count), lambda n: n >= 20)
        codes.append(await code_of(client, address, a_send(bytes(100_000))))
        codes.append(await code_of(client, address, a_pull()))
        crowd.leave()
        await client.close()
        return codes

    with serving("server.broker.app", tmp_path, settings, resource.RLIMIT_AS, 768 * MIB) as (
        address,
        log,
    ):
        codes = asyncio.run(scene(address))

    assert codes == [0, 0, 0]
    assert not [line for line in log if "Traceback" in line]
    assert [line for line in log if "bytes in flight" in line]
