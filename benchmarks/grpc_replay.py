"""What a gRPC call costs inside our one process: calls in Java's layout, fed without a socket.

    Caller ── HEADERS as Netty writes them, DATA ── Http2Connection ── endpoint ── broker
       └──── a window of calls at a time ── answers in a transport that takes everything

    python -m benchmarks.grpc_replay                    every load, CPU us a call
    python -m benchmarks.grpc_replay send --profile     the functions that take the time

Rule: as in ``benchmarks.replay``: this says which of two versions of the code is cheaper, not what
a server reaches, which is ``benchmarks.five``. The figures are of the whole process: name server,
broker, endpoint, and the socket between the latter two.
"""

import argparse
import asyncio
import cProfile
import pstats
import shutil
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from benchmarks.replay import Drain
from mqclient.client.instance import MQClient
from mqserver.embedded import Embedded
from mqserver.proxy.http2.connection import Http2Connection
from mqserver.proxy.http2.frames import (
    END_HEADERS,
    END_STREAM,
    HEAD,
    PREFACE,
    FrameType,
    Setting,
    frame,
    settings,
    window_update,
)
from mqserver.proxy.http2.hpack import STATIC, Field
from mqserver.proxy.protocol.codes import ClientType, MessageType
from mqserver.proxy.protocol.definitions import (
    FilterExpression,
    Message,
    MessageQueue,
    Publishing,
    Resource,
    Settings,
    SystemProperties,
)
from mqserver.proxy.protocol.requests import (
    AckMessageEntry,
    AckMessageRequest,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    SendMessageRequest,
    TelemetryCommand,
)
from mqserver.proxy.service import NAME
from mqserver.runtime.program.event_loop import run
from remoting.aio.resources import Resources
from remoting.command import Command
from remoting.headers import CreateTopic
from tests.server.proxy.http2.peer import messages_in

TOPIC: Final = "replay_topic"
GROUP: Final = "replay_group"
READ_SIZE: Final = 65_536
TABLE_SIZE: Final = 4_096
WINDOW: Final = (1 << 31) - 1
USUAL: Final = (
    (":authority", "127.0.0.1:8081"),
    (":method", "POST"),
    (":scheme", "http"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
    ("user-agent", "grpc-java-netty/1.50.0"),
    ("x-mq-client-id", "bench@4711@0@1abcdefgh"),
    ("x-mq-client-version", "5.2.0"),
    ("x-mq-language", "JAVA"),
    ("x-mq-protocol", "v2"),
    ("x-mq-namespace", ""),
    ("grpc-accept-encoding", "gzip"),
)


class BlockWriter:
    """Writes header blocks as Netty does: what is not in the table is added to it."""

    def __init__(self) -> None:
        self._fields: list[Field] = []

    def block(self, *fields: Field) -> bytes:
        """Return the block of these fields."""
        return b"".join(map(self._field, fields))

    def _field(self, field: Field) -> bytes:
        if field in STATIC:
            return _number(STATIC.index(field) + 1, 0x80)
        if field in self._fields:
            index = len(self._fields) - self._fields.index(field)
            return _number(len(STATIC) + index, 0x80)
        names = [name for name, _ in STATIC]
        name, value = field
        own = [known for known, _ in self._fields]
        if name in names:
            begin = _number(names.index(name) + 1, 0x40, 0x3F)
        elif name in own:
            index = own[::-1].index(name) + 1
            begin = _number(len(STATIC) + index, 0x40, 0x3F)
        else:
            begin = b"\x40" + _text(name)
        self._fields.append(field)
        while sum(32 + len(name) + len(value) for name, value in self._fields) > TABLE_SIZE:
            del self._fields[0]
        return begin + _text(value)


def _text(text: str) -> bytes:
    return _number(len(text), 0x00, 0x7F) + text.encode()


def _number(value: int, first: int, mask: int | None = None) -> bytes:
    mask = first - 1 if mask is None else mask
    if value < mask:
        return bytes((first | value,))
    out, value = bytearray((first | mask,)), value - mask
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


class Caller:
    """One connection of a client, which keeps a window of calls open.

    Args:
        connection: the endpoint's end.
        transport: where the answers go.
    """

    def __init__(self, connection: Http2Connection, transport: "Answers") -> None:
        self.connection = connection
        self.transport = transport
        self.profile: cProfile.Profile | None = None
        self._writer = BlockWriter()
        self._stream = -1

    def call(
        self, name: str, message: bytes, *, ends: bool = True, timeout_s: float = 3.0
    ) -> bytes:
        """Return the frames of a call."""
        self._stream += 2
        fields = (
            *USUAL[:1], (":path", f"/{NAME}/{name}"), *USUAL[1:],
            ("x-mq-request-id", str(uuid.uuid4())), ("x-mq-date-time", "20261128T163620Z"),
            ("grpc-timeout", f"{int(timeout_s * 1e6) - self._stream % 5000}u"),
        )  # fmt: skip
        data = b"\0" + len(message).to_bytes(4) + message
        return frame(
            FrameType.HEADERS, END_HEADERS, self._stream, self._writer.block(*fields)
        ) + frame(FrameType.DATA, END_STREAM if ends else 0, self._stream, data)

    async def feed(self, data: bytes) -> None:
        """Let the connection read bytes, a read in each turn of the loop."""
        for at in range(0, len(data), READ_SIZE):
            self.connection.data_received(data[at : at + READ_SIZE])
            await asyncio.sleep(0)

    async def answered(self, open_count: int) -> None:
        """Wait until no more than so many calls are open."""
        while len(self.connection.streams) > open_count:
            self.transport.written.clear()
            await self.transport.written.wait()


class Answers(Drain):
    """A transport that keeps what was written, if it is asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_kept = False
        self.kept: list[bytes] = []
        self.written = asyncio.Event()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.size += len(data)
        self.written.set()
        if self.is_kept:
            self.kept.append(bytes(data))

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    abort = Drain.close

    def messages(self) -> Iterator[bytes]:
        """Yield the messages of the answers that were kept, and forget them."""
        data, at = b"".join(self.kept), 0
        self.kept.clear()
        bodies: dict[int, bytearray] = {}
        while at < len(data):
            high, low, kind, _, stream = HEAD.unpack_from(data, at)
            start = at + HEAD.size
            at = start + (high << 8 | low)
            if kind == FrameType.DATA:
                bodies.setdefault(stream, bytearray()).extend(data[start:at])
        for body in bodies.values():
            yield from messages_in(bytes(body))


def send_request(number: int, size: int) -> bytes:
    """Return a SendMessage as the Java client writes it."""
    message_id = f"01{'0A' * 6}{number:018X}"
    system = SystemProperties(
        message_id=message_id,
        born_timestamp=time.time_ns() // 1_000_000,
        born_host="bench-host",
        message_type=MessageType.NORMAL,
        queue_id=number % 8,
    )
    topic = Resource(name=TOPIC)
    sent = Message(topic=topic, system_properties=system, body=b"x" * size)
    return SendMessageRequest(messages=[sent]).encode()


def receive_request() -> bytes:
    """Return a ReceiveMessage of a simple consumer."""
    return ReceiveMessageRequest(
        group=Resource(name=GROUP),
        message_queue=MessageQueue(topic=Resource(name=TOPIC), id=-1),
        filter_expression=FilterExpression(expression="*"),
        batch_size=32,
        invisible_duration=60_000,
        long_polling_timeout=5_000,
    ).encode()


def ack_request(message: Message) -> bytes:
    """Return the AckMessage of one received message."""
    system = message.system_properties
    assert system is not None
    entry = AckMessageEntry(
        message_id=system.message_id, receipt_handle=system.receipt_handle or ""
    )
    group, topic = Resource(name=GROUP), Resource(name=TOPIC)
    return AckMessageRequest(group=group, topic=topic, entries=[entry]).encode()


@asynccontextmanager
async def caller(root: Path) -> AsyncIterator[Caller]:
    """Run name server, broker and endpoint, and yield a client with settings."""
    pair = Embedded(root, grpc_port=0)
    at = await pair.start()
    async with MQClient(at.namesrv) as admin:
        header = CreateTopic(
            topic=TOPIC, default_topic="TBW102", read_queue_nums=8, write_queue_nums=8, perm=6,
            topic_filter_type="SINGLE_TAG",
        )  # fmt: skip
        await admin.invoke(at.broker, Command.request(17, header))
    endpoint = pair._broker._endpoint  # type: ignore[union-attr]
    assert endpoint is not None
    transport = Answers()
    name = "127.0.0.1:40000"
    connection = Http2Connection(
        name,
        lambda stream, metadata: endpoint._calls.open(stream, metadata, name),
        lambda connection: None,
        resources=Resources(),
        greeting_s=60,
    )
    connection.connection_made(transport)
    client = Caller(connection, transport)
    windows = settings({Setting.INITIAL_WINDOW_SIZE: WINDOW}) + window_update(0, WINDOW - 65_535)
    told = Settings(
        client_type=ClientType.PRODUCER,
        publishing=Publishing(topics=[Resource(name=TOPIC)]),
    )
    telemetry = TelemetryCommand(settings=told).encode()
    await client.feed(PREFACE + windows + client.call("Telemetry", telemetry, ends=False))
    await asyncio.sleep(0.5)
    yield client
    connection.connection_lost(None)
    await asyncio.sleep(0.1)
    await pair.stop()


async def timed(client: Caller, calls: list[bytes], window: int) -> float:
    """Make calls, a window at a time; return the CPU seconds of the process."""
    parts = [b"".join(calls[at : at + window]) for at in range(0, len(calls), window)]
    if client.profile is not None:
        client.profile.enable()
    begin_s = time.process_time()
    for part in parts:
        await client.feed(part)
        # Beside them, the Telemetry stream stays open.
        await client.answered(1)
    # The last answers leave at the end of the turn.
    await asyncio.sleep(0)
    seconds = time.process_time() - begin_s
    if client.profile is not None:
        client.profile.disable()
    return seconds


async def sends(client: Caller, options: argparse.Namespace) -> float:
    """Return the CPU seconds of a round of sends."""
    calls = [
        client.call("SendMessage", send_request(number, options.body))
        for number in range(options.messages)
    ]
    return await timed(client, calls, options.window)


class Consumer:
    """Receives what was sent, and acknowledges it."""

    def __init__(self) -> None:
        self.received: list[Message] = []

    async def receives(self, client: Caller, options: argparse.Namespace) -> float:
        """Return the CPU seconds of a round of receives, of messages that are sent before."""
        await sends(client, options)
        calls = [
            client.call("ReceiveMessage", receive_request(), timeout_s=10.0)
            for _ in range(options.messages // 32)
        ]
        client.transport.is_kept = True
        seconds = await timed(client, calls, min(16, options.window))
        client.transport.is_kept = False
        answers = map(ReceiveMessageResponse.decode, client.transport.messages())
        self.received += [each.message for each in answers if each.message is not None]
        return seconds * options.messages / max(1, len(self.received))

    async def acks(self, client: Caller, options: argparse.Namespace) -> float:
        """Return the CPU seconds of a round of acknowledgements."""
        if not self.received:
            await self.receives(client, options)
        received, self.received = self.received, []
        calls = [client.call("AckMessage", ack_request(message)) for message in received]
        seconds = await timed(client, calls, options.window)
        return seconds * options.messages / len(calls)


async def measure(options: argparse.Namespace, root: Path) -> dict[str, list[float]]:
    """Run the loads; return CPU us a message of each round."""
    results: dict[str, list[float]] = {}
    consumer = Consumer()
    loads: dict[str, Callable[[Caller, argparse.Namespace], Awaitable[float]]] = {
        "send": sends, "receive": consumer.receives, "ack": consumer.acks,
    }  # fmt: skip
    profile = cProfile.Profile()
    async with caller(root) as client:
        await sends(client, options)
        client.profile = profile if options.profile else None
        for _ in range(options.rounds):
            for load in options.loads:
                seconds = await loads[load](client, options)
                results.setdefault(load, []).append(seconds / options.messages * 1e6)
    if options.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    return results


def main() -> int:
    """Print a line for every load."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("loads", nargs="*", default=["send", "receive", "ack"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--messages", type=int, default=8_192, help="of one round")
    parser.add_argument("--window", type=int, default=256, help="calls at a time")
    parser.add_argument("--body", type=int, default=1024)
    parser.add_argument("--dir", type=Path, help="where to make the store for a while")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="mq-grpc-replay-", dir=options.dir))
    try:
        results = run(measure(options, root))
    finally:
        shutil.rmtree(root)
    for name, figures in results.items():
        print(
            f"{name:8} {min(figures):7.2f} us/msg least, {statistics.median(figures):7.2f} median"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
