"""The methods of ``apache.rocketmq.v2.MessagingService``, from bytes to bytes.

    one request, one response    ``METHODS``: QueryRoute, Heartbeat, SendMessage, …
    one request, a stream        ReceiveMessage
    a stream each way            Telemetry: settings and answers in, settings and commands out

PullMessage, UpdateOffset, GetOffset, QueryOffset and SyncLiteSubscription are unknown here, as they
are to the proxy of 5.4.0.

Rule: this module knows no gRPC library. An error becomes the status of a response; only Telemetry
ends its stream with an error, as in 5.4.0.

Source: proxy/grpc/v2/GrpcMessagingApplication.java, client/ClientActivity.java (5.4.0).
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeVar

from mqclient.errors import ClientError
from server.proxy.checks import group_of, subscription_of, topic_of
from server.proxy.clients.sessions import Session, Sessions
from server.proxy.clients.transactions import Transactions
from server.proxy.cluster import Cluster
from server.proxy.config import ProxyConfig
from server.proxy.context import Call
from server.proxy.errors import Refused, ok, status_of
from server.proxy.protocol.codes import ClientType, Code
from server.proxy.protocol.definitions import Settings
from server.proxy.protocol.protobuf import WireMessage
from server.proxy.protocol.requests import (
    AckMessageRequest,
    AckMessageResponse,
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    EndTransactionRequest,
    ForwardToDeadLetterQueueRequest,
    HeartbeatRequest,
    NotifyClientTerminationRequest,
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryRouteRequest,
    QueryRouteResponse,
    RecallMessageRequest,
    RecallMessageResponse,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    Response,
    SendMessageRequest,
    SendMessageResponse,
    TelemetryCommand,
)
from server.proxy.receiving import Receiving
from server.proxy.routing import Routing
from server.proxy.sending import Sending

NAME: Final = "apache.rocketmq.v2.MessagingService"
RECEIVE: Final = "ReceiveMessage"
TELEMETRY: Final = "Telemetry"
LARGE_SIZE: Final = 64 << 10
"""A request of more bytes is decoded by a thread."""
_CLIENT_FAULTS: Final = range(40_000, 50_000)
_CONSUMERS: Final = (ClientType.PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER)

R = TypeVar("R", bound=WireMessage)
CallOf = Callable[[], Call]
"""Returns what is known about a call; raises Refused when its metadata are not right."""
Write = Callable[[bytes], Awaitable[None]]


class StreamFailed(Exception):
    """A Telemetry stream ends with an error.

    Attributes:
        is_fault_of_client: whether the client sent something wrong.
    """

    def __init__(self, text: str, *, is_fault_of_client: bool) -> None:
        super().__init__(text)
        self.is_fault_of_client = is_fault_of_client


class Method(NamedTuple):
    """One request, one response."""

    request: type[WireMessage]
    response: type[Response]
    answer: Callable[[Any, Call], Awaitable[Response]]


class Service:
    """All methods of one endpoint.

    Args:
        config: the settings.
        cluster: the brokers.
        port: returns the port that clients connect to.

    Attributes:
        methods: the methods with one request and one response, by name.
    """

    def __init__(self, config: ProxyConfig, cluster: Cluster, port: Callable[[], int]) -> None:
        self.transactions = Transactions(config, cluster.client.now_ms)
        self.sessions = Sessions(config, cluster, self.transactions)
        self.receiving = Receiving(config, cluster, self.sessions)
        routing = Routing(config, cluster, port)
        sending = Sending(config, cluster, self.sessions, self.transactions)
        receiving = self.receiving
        self.methods: dict[str, Method] = {
            "QueryRoute": Method(QueryRouteRequest, QueryRouteResponse, routing.route),
            "QueryAssignment": Method(
                QueryAssignmentRequest, QueryAssignmentResponse, routing.assignment
            ),
            "Heartbeat": Method(HeartbeatRequest, Response, self._heartbeat),
            "NotifyClientTermination": Method(
                NotifyClientTerminationRequest, Response, self._goodbye
            ),
            "SendMessage": Method(SendMessageRequest, SendMessageResponse, sending.send),
            "EndTransaction": Method(EndTransactionRequest, Response, sending.end_transaction),
            "RecallMessage": Method(RecallMessageRequest, RecallMessageResponse, sending.recall),
            "AckMessage": Method(AckMessageRequest, AckMessageResponse, receiving.ack),
            "ChangeInvisibleDuration": Method(
                ChangeInvisibleDurationRequest,
                ChangeInvisibleDurationResponse,
                receiving.change_invisible,
            ),
            "ForwardMessageToDeadLetterQueue": Method(
                ForwardToDeadLetterQueueRequest, Response, receiving.forward
            ),
        }

    async def answer(self, name: str, data: bytes, call_of: CallOf) -> bytes:
        """Return the response to a request.

        Args:
            name: one of ``methods``.
            data: the request.
            call_of: tells who calls.

        Raises:
            BadMessage: the bytes are no request.
        """
        method = self.methods[name]
        request = await _decoded(method.request, data)
        try:
            response = await method.answer(request, call_of())
        except Exception as error:
            response = method.response(status=status_of(error))
        return response.encode()

    async def receive(self, data: bytes, call_of: CallOf) -> AsyncIterator[bytes]:
        """Yield the parts of the answer to a ReceiveMessage.

        Raises:
            BadMessage: the bytes are no request.
        """
        request = await _decoded(ReceiveMessageRequest, data)
        try:
            call = call_of()
        except Refused as error:
            yield ReceiveMessageResponse(status=status_of(error)).encode()
            return
        async with contextlib.aclosing(self.receiving.receive(request, call)) as parts:
            async for part in parts:
                yield part.encode()

    async def telemetry(
        self, commands: AsyncIterator[bytes], call_of: CallOf, write: Write
    ) -> None:
        """Take commands of a client and write commands to it, until it ends the stream.

        Raises:
            StreamFailed: a command cannot be taken.
            BadMessage: the bytes are no command.
        """
        try:
            call = call_of()
        except Refused as error:
            await write(TelemetryCommand(status=status_of(error)).encode())
            return
        session = self.sessions.of(call)
        queue: asyncio.Queue[TelemetryCommand] = asyncio.Queue()
        send = queue.put_nowait

        async def write_all() -> None:
            while True:
                await write((await queue.get()).encode())

        writing = asyncio.create_task(write_all(), name=f"telemetry of {call.client_id}")
        try:
            async for data in commands:
                # The session may have ended with a goodbye, and begins again then.
                session = self.sessions.of(call)
                command = await _decoded(TelemetryCommand, data)
                await self._take(command, session, send)
        finally:
            writing.cancel()
            if session.send is send:
                session.send = None

    async def _take(
        self, command: TelemetryCommand, session: Session, send: Callable[[TelemetryCommand], None]
    ) -> None:
        if command.settings is not None:
            try:
                settings = await self._settings(command.settings, session)
            except (Refused, ClientError) as error:
                code = status_of(error).code
                raise StreamFailed(
                    f"process client telemetryCommand failed. {error}",
                    is_fault_of_client=code in _CLIENT_FAULTS,
                ) from error
            session.send = send
            send(TelemetryCommand(status=ok(), settings=settings))
        elif command.thread_stack_trace is not None:
            session.answered(command.thread_stack_trace.nonce, command)
        elif command.verify_message_result is not None:
            session.answered(command.verify_message_result.nonce, command)

    async def _settings(self, told: Settings, session: Session) -> Settings:
        if told.publishing is not None:
            for topic in told.publishing.topics:
                topic_of(topic)
        elif told.subscription is not None:
            group_of(told.subscription.group)
            for entry in told.subscription.subscriptions:
                try:
                    subscription_of(entry.expression)
                except Refused as error:
                    text = "expression format is not correct"
                    raise Refused(Code.ILLEGAL_FILTER_EXPRESSION, text) from error
        else:
            text = "there is no publishing or subscription data in settings"
            raise StreamFailed(text, is_fault_of_client=True)
        return await session.told(told)

    async def _heartbeat(self, request: HeartbeatRequest, call: Call) -> Response:
        _check_kind(self.sessions.settings_of(call), request)
        return Response(status=ok())

    async def _goodbye(self, request: NotifyClientTerminationRequest, call: Call) -> Response:
        settings = self.sessions.settings_of(call)
        try:
            _check_kind(settings, request)
        finally:
            await self.sessions.end(call)
        return Response(status=ok())


async def _decoded(kind: type[R], data: bytes) -> R:
    if len(data) <= LARGE_SIZE:
        return kind.decode(data)
    # Many small fields take long, and others must not wait for them.
    return await asyncio.to_thread(kind.decode, data)


def _check_kind(
    settings: Settings, request: HeartbeatRequest | NotifyClientTerminationRequest
) -> None:
    kind = settings.client_type or ClientType.CLIENT_TYPE_UNSPECIFIED
    if kind in _CONSUMERS:
        group_of(request.group)
    elif kind is not ClientType.PRODUCER:
        raise Refused(Code.UNRECOGNIZED_CLIENT_TYPE, kind.name)
