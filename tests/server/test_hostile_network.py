"""Hostile peers over TCP, ten thousand frames of them, while others are served as before."""

import asyncio
import contextlib
import logging
import random
import resource
import struct
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from remoting.acl import sign
from remoting.aio.client import RemotingClient
from remoting.aio.server import RemotingServer, ServerConn
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.frame import RawFrame, encode_frame
from tests.server.broker.acl.homes import ADMIN, SECRETS, write_home
from tests.server.broker.desk import Desk, heartbeat, pull, running
from tests.server.namesrv.desk import serving
from tests.waiting import until

SEED = 20_261_121
FRAMES = 10_000
FRAMES_A_CONNECTION = 5
"""The last one is damaged, since what follows a damaged frame is never read."""
GROWTH_MAX = 64 * 1024 * 1024

KEYS = ("topic", "b", "a", "group", "consumerGroup", "offset", "queueId", "maxNum", "compressed")
VALUES = (
    "",
    "T",
    "../../x",
    "-1",
    "0",
    str(2**31 - 1),
    str(2**63),
    "9" * 5_000,
    "true",
    "\ud7ff\x01\x02",
    "%RETRY%G",
    "null",
    "1e999",
)
BODIES = (
    b"",
    b"{}",
    b"null",
    b"[" * 20_000,
    b'{"a":' * 5_000,
    b'{"mqSet":[{}],"consumerGroup":1e999}',
    b"9" * 5_000,
    b"\xff" * 300,
    heartbeat(),
    zlib.compress(bytes(5_000_000)),
    struct.pack(">i", 2**31 - 1) * 20,
)


def rss() -> int:
    """Return the largest resident size that this process had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def hostile(rng: random.Random) -> bytes:
    """Return one whole hostile frame."""
    command = Command.request(rng.choice([*RequestCode, rng.randrange(-(2**15), 2**15)]))
    command.opaque = rng.randrange(2**31)
    command.serialize = rng.choice(list(SerializeType))
    command.flag = rng.choice([0, 0, 0, 1, 2, 3])
    command.version = rng.choice([0, 36, 407, 2**15 - 1])
    command.ext = {rng.choice(KEYS): rng.choice(VALUES) for _ in range(rng.randrange(5))}
    command.body = rng.choice(BODIES)
    return encode_frame(command)


def damaged(rng: random.Random) -> bytes:
    """Return a damaged frame, or random bytes."""
    whole = bytearray(hostile(rng))
    kind = rng.randrange(4)
    if kind == 0:
        whole[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        struct.pack_into(">i", whole, 4 * rng.randrange(2), rng.choice([0, -1, 2**31 - 1, 2**24]))
    elif kind == 2:
        del whole[rng.randrange(len(whole)) :]
    else:
        whole = bytearray(rng.randbytes(rng.randrange(1, 200)))
    return bytes(whole)


async def attack(server: RemotingServer, port: int, rng: random.Random) -> int:
    """Send all frames to a port, some with each connection; return how many were handled."""
    seen = 0
    on_frame = server.on_frame

    def counting(conn: ServerConn, raw: RawFrame) -> None:
        nonlocal seen
        seen += 1
        on_frame(conn, raw)

    server.on_frame = counting
    for _ in range(FRAMES // FRAMES_A_CONNECTION):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            frames = [hostile(rng) for _ in range(FRAMES_A_CONNECTION - 1)]
            writer.write(b"".join((*frames, damaged(rng))))
            writer.write_eof()
            async with asyncio.timeout(60):
                await reader.read()
        writer.transport.abort()
    server.on_frame = on_frame
    return seen


@pytest.mark.parametrize("acl", [False, True])
async def test_a_broker_serves_on_under_ten_thousand_hostile_frames(
    tmp_path: Path, acl: bool, caplog: pytest.LogCaptureFixture
) -> None:
    # pytest keeps every record of the log with its connection, its frames and its traceback.
    caplog.set_level(logging.CRITICAL)
    print(f"seed {SEED}")
    settings = {"acl_enable": acl, "rocketmq_home": write_home(tmp_path / "home")}

    async with running(tmp_path / "store", **settings) as desk:
        if acl:
            desk.client._sign = lambda command, address, ip: sign(command, ADMIN, SECRETS[ADMIN])
        assert (await desk.send()).code == 0
        before = rss()
        port = int(desk.address.rpartition(":")[2])
        attacking = asyncio.create_task(attack(desk.app._server, port, random.Random(SEED)))
        codes = []
        while not attacking.done():
            codes.append((await desk.send()).code)
            await asyncio.sleep(0.01)
        seen = await attacking
        growth = rss() - before

    assert seen >= FRAMES // 2
    assert codes
    assert set(codes) == {0}
    assert growth <= GROWTH_MAX
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "store"]


async def test_a_name_server_serves_on_under_ten_thousand_hostile_frames(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    async with serving(tmp_path) as (app, address):
        port = int(address.rpartition(":")[2])
        before = rss()
        seen = await attack(app._server, port, random.Random(SEED + 1))
        assert seen >= FRAMES // 2
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(encode_frame(Command.request(RequestCode.GET_BROKER_CLUSTER_INFO)))
        writer.close()
        topics = len(app.state.routes.topics().topic_list)
        growth = rss() - before

    assert topics == 0
    assert growth <= GROWTH_MAX


@contextlib.asynccontextmanager
async def strangers(desk: Desk, count: int, data: bytes) -> AsyncIterator[None]:
    """Hold connections that send the same and read nothing."""
    port = int(desk.address.rpartition(":")[2])
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(data)
        writers.append(writer)
    yield
    for writer in writers:
        writer.transport.abort()


async def test_consumers_that_never_read_hold_little_each(tmp_path: Path) -> None:
    """An answer has up to 256 KiB; one peer may hold that and the answers that are deferred."""
    peers, pulls = 40, 50

    async with running(tmp_path) as desk:
        await desk.create_topic()
        for _ in range(16):
            await desk.send(b"x" * 60_000)
        await asyncio.sleep(0)
        frame = encode_frame(Command.request(RequestCode.PULL_MESSAGE, pull()))
        server: RemotingServer = desk.app._server
        async with strangers(desk, peers, frame * pulls):
            await until(lambda: sum(c.write_paused for c in server.connections) == peers)
            sizes = [conn.unsent_size for conn in server.connections]
            code = (await desk.send()).code

    assert code == 0
    assert max(sizes) <= 1024 * 1024


@pytest.mark.parametrize("size", [2**24 - 1, 2**24, 2**31 - 1, -1, -(2**31), 0, 3])
async def test_a_length_alone_takes_no_memory(tmp_path: Path, size: int) -> None:
    async with running(tmp_path) as desk:
        before = rss()
        async with strangers(desk, 100, struct.pack(">i", size) + b"\0\0\0\x10{"):
            code = (await desk.send()).code
        growth = rss() - before

    assert code == 0
    assert growth <= 16 * 1024 * 1024


@pytest.mark.parametrize("limit", ["connections_max", "connections_per_address_max"])
async def test_connections_beyond_a_cap_are_told_busy_and_the_others_served(
    tmp_path: Path, limit: str
) -> None:
    async with running(tmp_path, **{limit: 1}) as desk:
        codes = [(await desk.send()).code]
        other = RemotingClient()
        command = Command.request(RequestCode.GET_BROKER_RUNTIME_INFO)
        codes.append((await other.invoke(desk.address, command, timeout_s=60)).code)
        await other.close()
        codes.append((await desk.send()).code)
        assert codes == [0, 2, 0]
