"""A broker process and the most expensive content that each gRPC method takes, sent without end."""

import asyncio
import struct
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from mqserver.proxy.http2.frames import END_HEADERS, END_STREAM, PREFACE, FrameType, frame, settings
from mqserver.proxy.http2.hpack import encode
from remoting.aio.client import RemotingClient
from remoting.codes import RequestCode
from remoting.command import Command
from tests.ports import free_ports
from tests.server.broker.desk import create, send
from tests.server.test_processes import Run, address_of, broker_conf, run, run_name_server

__all__ = ["run"]

MIB = 1 << 20
BUDGET_SIZE = 64 * MIB
CONNECTIONS = 4
CALLS = 400
"""Calls of one connection; all of them are sent without waiting for answers."""
SERVICE = "/apache.rocketmq.v2.MessagingService/"


def field(number: int, value: bytes | str | int) -> bytes:
    """Return a field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes((*parts, value))


TOPIC, GROUP = field(2, "T"), field(2, "G")
ADDRESSES = b"".join(field(2, field(1, "1.1.1.1") + field(2, 1)) for _ in range(4_000))
MESSAGE = field(1, TOPIC) + field(3, field(4, "M") + field(6, 1)) + field(4, b"x")
WORST = {
    "QueryRoute": field(1, TOPIC) + field(2, ADDRESSES),
    "QueryAssignment": field(1, TOPIC) + field(2, GROUP) + field(3, ADDRESSES),
    "Heartbeat": field(1, GROUP) + field(2, 2) + field(900, 1) * 16_000,
    "SendMessage": field(1, MESSAGE) * 1_500,
    "AckMessage": field(1, GROUP) + field(2, TOPIC) + field(3, field(2, "h" * 40)) * 4_000,
    "ReceiveMessage": field(1, GROUP) + field(2, field(1, TOPIC) + field(5, b"\1" * 15_000)),
    "EndTransaction": field(1, TOPIC) + field(2, "m") + field(3, "t" * 60_000),
    "RecallMessage": field(1, TOPIC) + field(2, "h" * 60_000),
}
"""The largest content of each method, or that with the most items."""


def calls_of(name: str, streams: Iterator[int], message: bytes) -> bytes:
    """Return the frames of one call."""
    stream = next(streams)
    fields = encode(
        (":method", "POST"), (":scheme", "http"), (":path", SERVICE + name),
        ("content-type", "application/grpc"), ("x-mq-client-id", "c"),
    )  # fmt: skip
    data = b"\0" + struct.pack(">I", len(message)) + message
    parts = [data[at : at + 16_384] for at in range(0, len(data), 16_384)]
    frames = [frame(FrameType.DATA, 0, stream, part) for part in parts]
    end = frame(FrameType.DATA, END_STREAM, stream)
    return frame(FrameType.HEADERS, END_HEADERS, stream, fields) + b"".join(frames) + end


async def flood(port: int, name: str) -> bool:
    """Send calls of a method and read no answer; return False if the server takes no more."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    streams = count(1, 2)
    writer.write(PREFACE + settings({}))
    try:
        for _ in range(CALLS):
            writer.write(calls_of(name, streams, WORST[name]))
            async with asyncio.timeout(2):
                await writer.drain()
    except (OSError, TimeoutError):
        return False
    finally:
        writer.transport.abort()
    return True


def peak_of(pid: int) -> int:
    """Return the most memory that a process had, in bytes."""
    (line,) = (
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmHWM" in line
    )
    return int(line.split()[1]) * 1024


async def flooded(address: str, port: int) -> dict[str, list[int]]:
    """Flood a broker with each method; return what another client was answered meanwhile."""
    client = RemotingClient()
    topic = Command.request(RequestCode.UPDATE_AND_CREATE_TOPIC, create("T"))
    await client.invoke(address, topic, timeout_s=60)
    message = Command.request(RequestCode.SEND_MESSAGE_V2, send(topic="T"), body=b"x")
    codes: dict[str, list[int]] = {}
    for name in WORST:
        floods = [asyncio.create_task(flood(port, name)) for _ in range(CONNECTIONS)]
        told = codes[name] = []
        while not all(each.done() for each in floods):
            told.append((await client.invoke(address, message, timeout_s=60)).code)
        await asyncio.gather(*floods)
    await client.close()
    return codes


def test_the_worst_content_stays_in_the_budget_and_others_are_served(
    run: Run, tmp_path: Path
) -> None:
    _, namesrv = run_name_server(run, tmp_path)
    port = free_ports(1)
    text = f"brokerIP1=127.0.0.1\nnamesrvAddr={namesrv}\ngrpcServerPort={port}\n"
    conf = broker_conf(tmp_path, f"{text}inFlightSizeMax={BUDGET_SIZE}\n")
    broker = run("mqserver.broker.app", conf)
    address = address_of(broker)
    before = peak_of(broker.pid)

    codes = asyncio.run(flooded(address, port))

    assert {name for name, told in codes.items() if set(told) == {0}} == set(WORST)
    assert peak_of(broker.pid) - before <= BUDGET_SIZE * 1.2
