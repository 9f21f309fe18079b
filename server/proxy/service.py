"""The methods of ``apache.rocketmq.v2.MessagingService``, from bytes to bytes.

    one request, one response    ``Service.methods``: QueryRoute, Heartbeat, SendMessage, …
    one request, a stream        ReceiveMessage
    a stream each way            Telemetry: settings and answers in, settings and commands out

PullMessage, UpdateOffset, GetOffset, QueryOffset and SyncLiteSubscription are unknown here, as they
are to the proxy of 5.4.0.

Rule: an error becomes the status of a response; only Telemetry ends its stream with an error, as in
5.4.0, and so does every call whose bytes are no request.

Source: proxy/grpc/v2/GrpcMessagingApplication.java, client/ClientActivity.java (5.4.0).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from mqclient.errors import ClientError
from server.proxy.checks import group_of, subscription_of, topic_of
from server.proxy.clients.sessions import ClientSession, Sessions
from server.proxy.clients.transactions import Transactions
from server.proxy.cluster import Cluster
from server.proxy.config import ProxyConfig
from server.proxy.context import ProxyContext, SecretOf, context_of
from server.proxy.errors import ProxyRefused, ok, status_of
from server.proxy.http2.calls import CallFailed, CallStatus, GrpcCall, GrpcMethod
from server.proxy.protocol.codes import ClientType, Code
from server.proxy.protocol.definitions import Settings
from server.proxy.protocol.protobuf import BadMessage, WireMessage
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
from server.proxy.receiving import ConsumerMethods
from server.proxy.routing import RouteMethods
from server.proxy.sending import ProducerMethods

NAME: Final = "apache.rocketmq.v2.MessagingService"
LARGE_SIZE: Final = 64 << 10
"""A request of more bytes is decoded by a thread."""
_CLIENT_FAULTS: Final = range(40_000, 50_000)
_CONSUMERS: Final = (ClientType.PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER)

R = TypeVar("R", bound=WireMessage)
ContextOf = Callable[[], ProxyContext]
"""Returns what is known about a call; raises ProxyRefused when its metadata are not right."""
Write = Callable[[bytes], Awaitable[None]]


class UnaryMethod(NamedTuple):
    """A method with one request and one response."""

    request: type[WireMessage]
    response: type[Response]
    answer: Callable[[Any, ProxyContext], Awaitable[Response]]


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
        self.receiving = ConsumerMethods(config, cluster, self.sessions)
        routing = RouteMethods(config, cluster, port)
        sending = ProducerMethods(config, cluster, self.sessions, self.transactions)
        receiving = self.receiving
        self.methods: dict[str, UnaryMethod] = {
            "QueryRoute": UnaryMethod(QueryRouteRequest, QueryRouteResponse, routing.route),
            "QueryAssignment": UnaryMethod(
                QueryAssignmentRequest, QueryAssignmentResponse, routing.assignment
            ),
            "Heartbeat": UnaryMethod(HeartbeatRequest, Response, self._heartbeat),
            "NotifyClientTermination": UnaryMethod(
                NotifyClientTerminationRequest, Response, self._notify_termination
            ),
            "SendMessage": UnaryMethod(SendMessageRequest, SendMessageResponse, sending.send),
            "EndTransaction": UnaryMethod(EndTransactionRequest, Response, sending.end_transaction),
            "RecallMessage": UnaryMethod(
                RecallMessageRequest, RecallMessageResponse, sending.recall
            ),
            "AckMessage": UnaryMethod(AckMessageRequest, AckMessageResponse, receiving.ack),
            "ChangeInvisibleDuration": UnaryMethod(
                ChangeInvisibleDurationRequest,
                ChangeInvisibleDurationResponse,
                receiving.change_invisible,
            ),
            "ForwardMessageToDeadLetterQueue": UnaryMethod(
                ForwardToDeadLetterQueueRequest, Response, receiving.forward
            ),
        }

    async def answer(self, name: str, data: bytes, context_of_call: ContextOf) -> bytes:
        """Return the response to a request.

        Args:
            name: one of ``methods``.
            data: the request.
            context_of_call: returns what is known about the call.

        Raises:
            CallFailed: the bytes are no request.
        """
        method = self.methods[name]
        request = await _decode(method.request, data)
        try:
            response = await method.answer(request, context_of_call())
        except Exception as error:
            response = method.response(status=status_of(error))
        return response.encode()

    async def receive(self, data: bytes, context_of_call: ContextOf) -> AsyncIterator[bytes]:
        """Yield the parts of the answer to a ReceiveMessage.

        Raises:
            CallFailed: the bytes are no request.
        """
        request = await _decode(ReceiveMessageRequest, data)
        try:
            context = context_of_call()
        except ProxyRefused as error:
            yield ReceiveMessageResponse(status=status_of(error)).encode()
            return
        async with contextlib.aclosing(self.receiving.receive(request, context)) as parts:
            async for part in parts:
                yield part.encode()

    async def telemetry(
        self, commands: AsyncIterator[bytes], context_of_call: ContextOf, write: Write
    ) -> None:
        """Take commands of a client and write commands to it, until it ends the stream.

        Raises:
            CallFailed: a command cannot be taken.
        """
        try:
            context = context_of_call()
        except ProxyRefused as error:
            await write(TelemetryCommand(status=status_of(error)).encode())
            return
        session = self.sessions.of(context)
        queue: asyncio.Queue[TelemetryCommand] = asyncio.Queue()
        send = queue.put_nowait

        async def write_all() -> None:
            while True:
                await write((await queue.get()).encode())

        writing = asyncio.create_task(write_all(), name=f"telemetry of {context.client_id}")
        try:
            async for data in commands:
                # The session may have ended with NotifyClientTermination, and begins again then.
                session = self.sessions.of(context)
                command = await _decode(TelemetryCommand, data)
                await self._take(command, session, send)
        finally:
            writing.cancel()
            if session.send is send:
                session.send = None

    async def _take(
        self,
        command: TelemetryCommand,
        session: ClientSession,
        send: Callable[[TelemetryCommand], None],
    ) -> None:
        if command.settings is not None:
            try:
                settings = await self._settings(command.settings, session)
            except (ProxyRefused, ClientError) as error:
                is_fault_of_client = status_of(error).code in _CLIENT_FAULTS
                raise CallFailed(
                    CallStatus.INVALID_ARGUMENT if is_fault_of_client else CallStatus.INTERNAL,
                    f"process client telemetryCommand failed. {error}",
                ) from error
            session.send = send
            send(TelemetryCommand(status=ok(), settings=settings))
        elif command.thread_stack_trace is not None:
            session.take_answer(command.thread_stack_trace.nonce, command)
        elif command.verify_message_result is not None:
            session.take_answer(command.verify_message_result.nonce, command)

    async def _settings(self, sent: Settings, session: ClientSession) -> Settings:
        if sent.publishing is not None:
            for topic in sent.publishing.topics:
                topic_of(topic)
        elif sent.subscription is not None:
            group_of(sent.subscription.group)
            for entry in sent.subscription.subscriptions:
                try:
                    subscription_of(entry.expression)
                except ProxyRefused as error:
                    text = "expression format is not correct"
                    raise ProxyRefused(Code.ILLEGAL_FILTER_EXPRESSION, text) from error
        else:
            text = "there is no publishing or subscription data in settings"
            raise CallFailed(CallStatus.INVALID_ARGUMENT, text)
        return await session.take_settings(sent)

    async def _heartbeat(self, request: HeartbeatRequest, context: ProxyContext) -> Response:
        _check_kind(self.sessions.settings_of(context), request)
        return Response(status=ok())

    async def _notify_termination(
        self, request: NotifyClientTerminationRequest, context: ProxyContext
    ) -> Response:
        settings = self.sessions.settings_of(context)
        try:
            _check_kind(settings, request)
        finally:
            await self.sessions.end(context)
        return Response(status=ok())


def methods_of(service: Service, *, secret_of: SecretOf | None) -> dict[str, GrpcMethod]:
    """Return each method of a service by the path of its calls.

    Args:
        service: the methods.
        secret_of: the accounts; None when nobody needs one.
    """

    def context_of_call(call: GrpcCall) -> ContextOf:
        return lambda: _context_of(call, secret_of)

    async def answer(name: str, call: GrpcCall) -> bytes:
        return await service.answer(name, call.message, context_of_call(call))

    async def receive(call: GrpcCall) -> None:
        async for part in service.receive(call.message, context_of_call(call)):
            await call.write(part)

    async def telemetry(call: GrpcCall) -> None:
        await service.telemetry(call.messages(), context_of_call(call), call.write)

    found = {name: GrpcMethod(partial(answer, name)) for name in service.methods}
    found["ReceiveMessage"] = GrpcMethod(receive)
    found["Telemetry"] = GrpcMethod(telemetry, takes_stream=True)
    return {f"/{NAME}/{name}": found[name] for name in found}


def _context_of(call: GrpcCall, secret_of: SecretOf | None) -> ProxyContext:
    left_s = call.time_left_s
    now_ms = time.time_ns() // 1_000_000
    return context_of(
        call.metadata,
        address=call.address,
        deadline_ms=None if left_s is None else now_ms + int(left_s * 1000),
        secret_of=secret_of,
    )


async def _decode(kind: type[R], data: bytes) -> R:
    try:
        if len(data) <= LARGE_SIZE:
            return kind.decode(data)
        # Many small fields take long, and others must not wait for them.
        return await asyncio.to_thread(kind.decode, data)
    except BadMessage as error:
        text = f"the request is no message of {NAME}: {error}"
        raise CallFailed(CallStatus.INVALID_ARGUMENT, text) from error


def _check_kind(
    settings: Settings, request: HeartbeatRequest | NotifyClientTerminationRequest
) -> None:
    kind = settings.client_type or ClientType.CLIENT_TYPE_UNSPECIFIED
    if kind in _CONSUMERS:
        group_of(request.group)
    elif kind is not ClientType.PRODUCER:
        raise ProxyRefused(Code.UNRECOGNIZED_CLIENT_TYPE, kind.name)
