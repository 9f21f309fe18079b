"""A gRPC client for tests: it speaks the protocol by the classes of the proxy, over grpcio.

The interop tests talk to the same endpoint by the official clients.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc
import grpc.aio

from mqclient.client.instance import MQClient
from mqserver.embedded import Embedded, EmbeddedAddresses
from mqserver.proxy.context import ALGORITHM, signature_of
from mqserver.proxy.protocol.codes import ClientType, MessageType
from mqserver.proxy.protocol.definitions import (
    FilterExpression,
    Message,
    MessageQueue,
    Publishing,
    Resource,
    Settings,
    Subscription,
    SubscriptionEntry,
    SystemProperties,
)
from mqserver.proxy.protocol.protobuf import WireMessage
from mqserver.proxy.protocol.requests import (
    AckMessageEntry,
    AckMessageRequest,
    AckMessageResponse,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    SendMessageRequest,
    SendMessageResponse,
    TelemetryCommand,
)
from mqserver.proxy.service import NAME
from mqserver.runtime.typed_config import Value
from remoting.command import Command
from remoting.headers import CreateTopic

R = TypeVar("R", bound=WireMessage)
TIMEOUT_S = 30.0
QUICK = (
    Value("transactionCheckInterval", "500", "test"),
    Value("transactionTimeOut", "500", "test"),
)


class Client:
    """One client, with an id of its own.

    Args:
        channel: a grpcio channel.
        client_id: the id; "" sends none.
        metadata: more metadata of each call.
    """

    def __init__(
        self, channel: Any, client_id: str = "client", metadata: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._channel = channel
        own = (("x-mq-client-id", client_id),) if client_id else ()
        self._metadata = (*own, ("x-mq-language", "PYTHON"), *metadata)

    async def ask(self, name: str, request: WireMessage, response: type[R]) -> R:
        """Return the response to a request."""
        call = self._channel.unary_unary(f"/{NAME}/{name}")
        data = await call(request.encode(), metadata=self._metadata, timeout=TIMEOUT_S)
        return response.decode(data)

    def receiving(self, request: ReceiveMessageRequest, *, timeout_s: float = TIMEOUT_S) -> Any:
        """Return the call of a ReceiveMessage, a stream of bytes that can be cancelled."""
        call = self._channel.unary_stream(f"/{NAME}/ReceiveMessage")
        return call(request.encode(), metadata=self._metadata, timeout=timeout_s)

    async def receive(
        self, topic: str, group: str, *, hidden_ms: int = 20_000, **fields: Any
    ) -> list[ReceiveMessageResponse]:
        """Return all parts of the answer to a ReceiveMessage."""
        request = receive_request(topic, group, hidden_ms=hidden_ms, **fields)
        return [ReceiveMessageResponse.decode(part) async for part in self.receiving(request)]

    async def send(self, *messages: Message) -> SendMessageResponse:
        """Send messages in one request."""
        request = SendMessageRequest(messages=list(messages))
        return await self.ask("SendMessage", request, SendMessageResponse)

    async def ack(self, topic: str, group: str, *handles: str) -> AckMessageResponse:
        """Acknowledge messages in one request."""
        request = AckMessageRequest(
            group=Resource(name=group),
            topic=Resource(name=topic),
            entries=[AckMessageEntry(message_id="id", receipt_handle=each) for each in handles],
        )
        return await self.ask("AckMessage", request, AckMessageResponse)

    @asynccontextmanager
    async def telemetry(self, settings: Settings) -> AsyncIterator["Telemetry"]:
        """Open a Telemetry stream, tell settings, and yield it with the settings that count."""
        stream = self._channel.stream_stream(f"/{NAME}/Telemetry")(metadata=self._metadata)
        await stream.write(TelemetryCommand(settings=settings).encode())
        opened = Telemetry(stream)
        opened.settings = (await opened.next()).settings or Settings()
        try:
            yield opened
        finally:
            await stream.done_writing()
            stream.cancel()


class Telemetry:
    """An open Telemetry stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.settings = Settings()

    async def next(self) -> TelemetryCommand:
        """Return the next command of the proxy."""
        async with asyncio.timeout(TIMEOUT_S):
            return TelemetryCommand.decode(await self._stream.read())

    async def write(self, command: TelemetryCommand) -> None:
        """Send a command to the proxy."""
        await self._stream.write(command.encode())


def signed(name: str, password: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata of calls that an account signs."""
    signature = signature_of(password, "now")
    text = f"{ALGORITHM} Credential={name}, SignedHeaders=x-mq-date-time, Signature={signature}"
    return ("x-mq-date-time", "now"), ("authorization", text)


def message(topic: str, body: bytes = b"body", **system: Any) -> Message:
    """Return a message; ``system`` are system properties."""
    system.setdefault("message_id", "0102FC00000001431A0B166F9400000000")
    system.setdefault("message_type", MessageType.NORMAL)
    system.setdefault("born_timestamp", time.time_ns() // 1_000_000)
    return Message(
        topic=Resource(name=topic), body=body, system_properties=SystemProperties(**system)
    )


def receive_request(
    topic: str, group: str, *, hidden_ms: int = 20_000, **fields: Any
) -> ReceiveMessageRequest:
    """Return a request for messages of every queue, held for five seconds at most."""
    return ReceiveMessageRequest(
        group=Resource(name=group),
        message_queue=MessageQueue(topic=Resource(name=topic), id=-1),
        filter_expression=fields.pop("filter_expression", FilterExpression(expression="*")),
        batch_size=fields.pop("batch_size", 8),
        invisible_duration=hidden_ms,
        long_polling_timeout=5_000,
        **fields,
    )


def consumer(group: str, topic: str, kind: ClientType = ClientType.SIMPLE_CONSUMER) -> Settings:
    """Return what a consumer tells."""
    entry = SubscriptionEntry(
        topic=Resource(name=topic), expression=FilterExpression(expression="*")
    )
    return Settings(
        client_type=kind,
        request_timeout=3_000,
        subscription=Subscription(group=Resource(name=group), subscriptions=[entry]),
    )


def producer(*topics: str) -> Settings:
    """Return what a producer tells."""
    return Settings(
        client_type=ClientType.PRODUCER,
        publishing=Publishing(topics=[Resource(name=topic) for topic in topics]),
    )


class Bench:
    """A running endpoint in front of our own broker.

    Attributes:
        at: the addresses.
        clients: makes clients.
    """

    def __init__(self, at: EmbeddedAddresses, channel: Any, admin: MQClient) -> None:
        self.at = at
        self.admin = admin
        self.channel = channel
        self.client: Callable[..., Client] = lambda *args, **more: Client(channel, *args, **more)

    async def topic(self, name: str, kind: str = "", *, queues: int = 1) -> str:
        """Create a topic that takes messages of a type, and return its name."""
        header = CreateTopic(
            topic=name,
            default_topic="TBW102",
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=6,
            topic_filter_type="SINGLE_TAG",
            attributes=f"+message.type={kind}" if kind else None,
        )
        answer = await self.admin.invoke(self.at.broker, Command.request(17, header))
        assert answer.code == 0, answer.remark
        return name


@asynccontextmanager
async def bench(store: Path, *settings: Value) -> AsyncIterator[Bench]:
    """Run a name server, a broker and its endpoint, and yield clients of it."""
    pair = Embedded(store, grpc_port=0, settings=settings)
    at = await pair.start()
    try:
        async with grpc.aio.insecure_channel(at.grpc) as channel, MQClient(at.namesrv) as admin:
            yield Bench(at, channel, admin)
    finally:
        await pair.stop()
