"""Peers that send nonsense get an error or are disconnected, and the broker serves on."""

import asyncio
import contextlib
import random
import struct
from pathlib import Path

import pytest

from remoting.codes import RequestCode
from remoting.command import Command
from remoting.frame import FrameReader, decode_frame, encode_frame
from tests.server.broker.desk import Desk, heartbeat, pull, running, send

SEED = 20_261_121


async def throw(desk: Desk, data: bytes) -> list[Command] | None:
    """Send bytes; return the answers that came, None when the connection was closed."""
    reader, writer = await asyncio.open_connection(*desk.address.split(":"))
    writer.write(data)
    frames, answers = FrameReader(), []
    ended = False
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(60):
            while not answers and not ended:
                found = await reader.read(65_536)
                answers += [decode_frame(raw) for raw in frames.feed(found)]
                ended = not found
    writer.close()
    return None if ended else answers


async def throw_and_leave(desk: Desk, data: bytes) -> None:
    """Send bytes and wait for no answer."""
    _, writer = await asyncio.open_connection(*desk.address.split(":"))
    writer.write(data)
    await writer.drain()
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">iI", 100, 200) + b"{}",
        struct.pack(">iI", 2**31 - 1, 10),
        struct.pack(">iI", -5, 0),
        struct.pack(">iI", 6, 5 << 24 | 2) + b"{}",
        struct.pack(">iI", 6, 2) + b"{]",
        struct.pack(">iI", 6, 1 << 24 | 2) + b"\0\1",
        b"\x16\x03\x01" + bytes(64),
    ],
)
async def test_what_is_no_frame_ends_its_connection_only(desk: Desk, data: bytes) -> None:
    assert await throw(desk, data) is None
    assert (await desk.send()).code == 0


async def test_wrong_fields_are_answered_with_an_error(desk: Desk) -> None:
    fields = [("e", "x"), ("e", str(2**31)), ("g", "9" * 30), ("f", ""), ("b", "\u0000")]

    codes = []
    for key, value in fields:
        command = Command.request(RequestCode.SEND_MESSAGE_V2, send())
        command.ext[key] = value
        codes.append((await desk.client.invoke(desk.address, command)).code)

    assert set(codes) == {1}


@pytest.mark.parametrize("key", ["queueOffset", "maxMsgNums", "commitOffset", "queueId"])
@pytest.mark.parametrize("value", [str(-(2**31)), "0", str(2**31 - 1)])
async def test_extreme_numbers_in_a_pull_are_answered(desk: Desk, key: str, value: str) -> None:
    await desk.send()
    command = Command.request(RequestCode.PULL_MESSAGE, pull(sys_flag=5))
    command.ext[key] = value

    assert (await desk.client.invoke(desk.address, command)).code in (0, 1, 19, 20, 21)
    assert (await desk.pull()).code == 0


async def test_random_requests_of_every_code_leave_the_broker_serving(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    keys = ["topic", "consumerGroup", "queueId", "offset", "group", "a", "b", "e", "msgId", "key"]
    values = ["", "T", "../..", "-1", "99999999999999999999", "true", "\1\2", "%RETRY%G", "{}"]
    bodies = [b"", b"{}", b"[]", b"null", heartbeat(), b"\xff" * 40, b'{"mqSet":[{}]}']

    def request(code: int) -> bytes:
        command = Command.request(code, body=rng.choice(bodies))
        command.ext = {key: rng.choice(values) for key in rng.sample(keys, 4)}
        return encode_frame(command)

    async with running(tmp_path / "store") as desk:
        for code in RequestCode:
            await throw_and_leave(desk, b"".join(request(code) for _ in range(20)))
        assert (await desk.send(b"still here")).code == 0
        assert desk.app.broker.config.broker_permission == 6
        assert (await desk.bodies())[-1] == b"still here"
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


async def test_bit_flips_in_a_send_never_stop_the_broker(desk: Desk) -> None:
    frame = encode_frame(Command.request(RequestCode.SEND_MESSAGE_V2, send(), body=b"x"))

    for bit in range(64, len(frame) * 8, 7):
        flipped = bytearray(frame)
        flipped[bit // 8] ^= 1 << bit % 8
        await throw_and_leave(desk, bytes(flipped))
    assert (await desk.send()).code == 0
