"""The methods of ``apache.rocketmq.v2.MessagingService``, from bytes to bytes.

    one request, one response    ``Service.methods``: QueryRoute, Heartbeat, SendMessage, …
    one request, a stream        ReceiveMessage
    a stream each way            Telemetry: settings and answers in, settings and commands out

PullMessage, UpdateOffset, GetOffset, QueryOffset and SyncLiteSubscription are not supported, as in
the proxy of 5.4.0.

Rule: an error becomes the status of a response, where clients expect it. As in 5.4.0, only
Telemetry, and calls whose bytes are not a request, end with an error of gRPC.

Source: proxy/grpc/v2/GrpcMessagingApplication.java, client/ClientActivity.java (5.4.0).
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from mqclient.errors import ClientError
from mqserver.proxy.clients.session import ClientSession
from mqserver.proxy.clients.sessions import Sessions
from mqserver.proxy.clients.telemetry_commands import CommandQueue
from mqserver.proxy.clients.transactions import Transactions
from mqserver.proxy.cluster import Cluster
from mqserver.proxy.context import Authorize, ProxyContext, SecretOf, context_of
from mqserver.proxy.drafts import ReadPlainSend, SendDraft, plain_send_reader, send_limits
from mqserver.proxy.grpc_status import ProxyRefused, ok, status_of
from mqserver.proxy.grpc_validator import group_of, subscription_of, topic_of
from mqserver.proxy.http2.calls import CallFailed, CallStatus, GrpcCall, GrpcMethod
from mqserver.proxy.protocol.codes import ClientType, Code, FilterType
from mqserver.proxy.protocol.definitions import Settings
from mqserver.proxy.protocol.protobuf import ITEMS_MAX, BadMessage, WireMessage
from mqserver.proxy.protocol.requests import (
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
from mqserver.proxy.proxy_config import ProxyConfig
from mqserver.proxy.receiving import ConsumerMethods
from mqserver.proxy.routing import RouteMethods
from mqserver.proxy.sending import ProducerMethods
from remoting.aio import costs
from remoting.aio.resources import Resources

NAME: Final = "apache.rocketmq.v2.MessagingService"
COPIES: Final = 3
"""How many copies of the bytes of a request are in memory while a broker is asked."""
SUBSCRIPTIONS_MAX: Final = 1_024
"""The limit on topics in the settings of one client."""
EXPRESSIONS_MAX: Final = 64
"""The limit on SQL expressions in them, as in a heartbeat of a remoting client."""
FEW_ITEMS_MAX: Final = 512
"""The limit on fields and items of a request without long lists. Few longer ones are decoded at
a time."""
_CLIENT_FAULTS: Final = range(40_000, 50_000)
_CONSUMERS: Final = (ClientType.PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER)

M = TypeVar("M", bound=WireMessage)


class UnaryMethod(NamedTuple):
    """A method with one request and one response."""

    request: type[WireMessage]
    response: type[Response]
    answer: Callable[[Any, ProxyContext], Awaitable[Response]]
    post: Callable[[GrpcCall], bool] | None = None


class SizedCommand(NamedTuple):
    """A command of a client, and its size in bytes."""

    command: TelemetryCommand
    size: int


class Service:
    """All methods of one endpoint.

    Args:
        config: the settings.
        cluster: the brokers.
        port: returns the port that clients connect to.
        resources: the descriptors and the memory that sessions share with the rest of the process.

    Attributes:
        config: the settings.
        methods: the methods with one request and one response, by name.
    """

    def __init__(
        self,
        config: ProxyConfig,
        cluster: Cluster,
        port: Callable[[], int],
        *,
        resources: Resources | None = None,
    ) -> None:
        self.config = config
        self._pieces = cluster.pieces
        self.transactions = Transactions(config, cluster.client.now_ms)
        self.sessions = Sessions(
            config, cluster, self.transactions, resources=resources or Resources()
        )
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
            "SendMessage": UnaryMethod(
                SendMessageRequest, SendMessageResponse, sending.send, sending.post
            ),
            "EndTransaction": UnaryMethod(EndTransactionRequest, Response, sending.end_transaction),
            "RecallMessage": UnaryMethod(
                RecallMessageRequest, RecallMessageResponse, sending.recall
            ),
            "AckMessage": UnaryMethod(
                AckMessageRequest, AckMessageResponse, receiving.ack, receiving.post_ack
            ),
            "ChangeInvisibleDuration": UnaryMethod(
                ChangeInvisibleDurationRequest,
                ChangeInvisibleDurationResponse,
                receiving.change_invisible,
            ),
            "ForwardMessageToDeadLetterQueue": UnaryMethod(
                ForwardToDeadLetterQueueRequest, Response, receiving.forward
            ),
        }

    async def answer(self, name: str, request: Any, context: ProxyContext) -> bytes:
        """Return the response to a request.

        Args:
            name: one of ``methods``.
            request: an object of the request class of that method.
            context: who calls.
        """
        method = self.methods[name]
        try:
            response = await method.answer(request, context)
        except Exception as error:
            response = method.response(status=status_of(error))
        return response.encode()

    async def receive(
        self, request: ReceiveMessageRequest, context: ProxyContext
    ) -> AsyncIterator[bytes]:
        """Yield the parts of the answer to a ReceiveMessage."""
        async with contextlib.aclosing(self.receiving.receive(request, context)) as parts:
            async for part in parts:
                yield part.encode()

    async def telemetry(
        self,
        commands: AsyncIterator[SizedCommand],
        context: ProxyContext,
        queue: CommandQueue,
        check: Authorize | None = None,
    ) -> None:
        """Handle commands of a client until it ends the stream; answers and ours go to ``queue``.

        Args:
            commands: of the client.
            context: who calls.
            queue: gets answers, and the commands of this endpoint.
            check: checks settings; None if only brokers do.

        Raises:
            CallFailed: a command cannot be handled.
        """
        session = self.sessions.of(context)
        try:
            async for sized in commands:
                # The session may have ended with NotifyClientTermination; then it begins again.
                session = self.sessions.of(context)
                if check is not None and sized.command.settings is not None:
                    check(sized.command.settings, context)
                await self._handle_command(sized, session, queue)
                # Nothing is read from a client that asks for answers faster than it reads them.
                await queue.wait_for_room()
        finally:
            if session.commands is queue:
                self.sessions.stream_ended(session)

    async def _handle_command(
        self, sized: SizedCommand, session: ClientSession, queue: CommandQueue
    ) -> None:
        command = sized.command
        if command.settings is not None:
            try:
                settings = await self._settings(command.settings, sized.size, session, queue)
            except (ProxyRefused, ClientError) as error:
                raise CallFailed(
                    _call_status(status_of(error).code),
                    f"process client telemetryCommand failed. {error}",
                ) from error
            queue.queue_command(TelemetryCommand(status=ok(), settings=settings))
        elif command.thread_stack_trace is not None:
            session.take_answer(command.thread_stack_trace.nonce, command)
        elif command.verify_message_result is not None:
            session.take_answer(command.verify_message_result.nonce, command)

    async def _settings(
        self, sent: Settings, size: int, session: ClientSession, queue: CommandQueue
    ) -> Settings:
        _check_size(sent)
        await self._pieces.turn(session.ip)
        self._note(sent, size, session)
        session.commands = queue
        return await session.announce()

    def _note(self, sent: Settings, size: int, session: ClientSession) -> None:
        """Check and store the settings of a client."""
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
        session.note_settings(sent, size)
        self.sessions.add_session(session)

    async def _heartbeat(self, request: HeartbeatRequest, context: ProxyContext) -> Response:
        settings = self.sessions.of(context).settings
        # After a restart of the endpoint only the request says which kind of client it is.
        _check_kind(settings.client_type if settings else request.client_type, request)
        return Response(status=ok())

    async def _notify_termination(
        self, request: NotifyClientTerminationRequest, context: ProxyContext
    ) -> Response:
        settings = self.sessions.of(context).settings
        try:
            if settings is not None:
                _check_kind(settings.client_type, request)
        finally:
            await self.sessions.end(context)
        return Response(status=ok())


def methods_of(
    service: Service, *, secret_of: SecretOf | None, authorize: Authorize | None = None
) -> dict[str, GrpcMethod]:
    """Return each method of a service by the path of its calls.

    Args:
        service: the methods.
        secret_of: the accounts; None when access control is off.
        authorize: checks what a client asks for; None if only brokers do.
    """

    def refuse(response: type[Response] | type[TelemetryCommand], call: GrpcCall) -> bytes | None:
        try:
            call.context = _context_of(call, secret_of)
        except ProxyRefused as error:
            return response(status=status_of(error)).encode()
        return None

    async def answer(name: str, call: GrpcCall) -> bytes:
        return await service.answer(name, call.request, call.context)

    async def receive(call: GrpcCall) -> None:
        async for part in service.receive(call.request, call.context):
            await call.write(part)

    methods = {
        name: _with_long_requests(
            GrpcMethod(
                partial(answer, name),
                refuse=partial(refuse, method.response),
                prepare=partial(_prepared, method.request),
                post=method.post,
            ),
            name,
            service.config,
        )
        for name, method in service.methods.items()
    }
    methods["ReceiveMessage"] = GrpcMethod(
        receive,
        refuse=partial(refuse, ReceiveMessageResponse),
        prepare=partial(_prepared, ReceiveMessageRequest),
    )
    methods["Telemetry"] = GrpcMethod(
        partial(_telemetry, service, authorize),
        takes_stream=True,
        refuse=partial(refuse, TelemetryCommand),
        prepare=_prepared_command,
    )
    if authorize is not None:
        for name, unary in service.methods.items():
            methods[name] = _authorized(methods[name], unary.response, authorize)
        receiving = methods["ReceiveMessage"]
        methods["ReceiveMessage"] = _authorized(receiving, ReceiveMessageResponse, authorize)
    return {f"/{NAME}/{name}": methods[name] for name in methods}


async def _telemetry(service: Service, check: Authorize | None, call: GrpcCall) -> bytes | None:
    """Serve one Telemetry stream; return the answer that ends it, if settings are refused."""
    queue = CommandQueue(call.hold_bytes)
    writing = asyncio.create_task(
        queue.write_all(call.write), name=f"telemetry of {call.context.client_id}"
    )
    try:
        await service.telemetry(call.messages(), call.context, queue, check)
    except ProxyRefused as error:
        return TelemetryCommand(status=status_of(error)).encode()
    finally:
        writing.cancel()
    return None


def _authorized(
    method: GrpcMethod, response: type[Response] | type[ReceiveMessageResponse], check: Authorize
) -> GrpcMethod:
    """Return a method with one request that is checked before anything is done for it."""

    async def run(call: GrpcCall) -> bytes | None:
        try:
            check(call.request, call.context)
        except ProxyRefused as error:
            return response(status=status_of(error)).encode()
        return await method.run(call)

    def post(call: GrpcCall) -> bool:
        try:
            check(call.request, call.context)
        except ProxyRefused:
            # Then the call is answered like one that is not posted, with the refusal.
            return False
        return method.post is not None and method.post(call)

    return method._replace(run=run, post=None if method.post is None else post)


def _with_long_requests(method: GrpcMethod, name: str, config: ProxyConfig) -> GrpcMethod:
    """Return a method, with support for long requests if its lists may be long."""
    if name == "SendMessage":
        return method._replace(
            prepare=partial(_prepared_send, plain_send_reader(send_limits(config))),
            prepare_long=partial(_prepared, SendMessageRequest, items_max=ITEMS_MAX),
        )
    if name == "AckMessage":
        return method._replace(
            prepare=partial(_prepared_short, AckMessageRequest),
            prepare_long=partial(_prepared, AckMessageRequest, items_max=ITEMS_MAX),
        )
    return method


def _prepared(request: type[M], message: bytes, *, items_max: int = FEW_ITEMS_MAX) -> tuple[M, int]:
    try:
        decoded, item_count = request.decode_counted(message, items_max=items_max)
    except BadMessage as error:
        text = f"the request is not a message of {NAME}: {error}"
        raise CallFailed(CallStatus.INVALID_ARGUMENT, text) from error
    return decoded, _size_of(message, item_count)


def _prepared_send(
    read: ReadPlainSend, message: bytes
) -> tuple[SendDraft | SendMessageRequest, int] | None:
    plain = read(message)
    if plain is not None:
        draft, item_count = plain
        return draft, _size_of(message, item_count)
    return _prepared_short(SendMessageRequest, message)


def _prepared_short(request: type[M], message: bytes) -> tuple[M, int] | None:
    """Decode a request as ``_prepared`` does; return None for a message that is long or wrong."""
    try:
        return _prepared(request, message)
    except CallFailed:
        return None


def _size_of(message: bytes, item_count: int) -> int:
    """Return the bytes that a decoded request takes in addition to its message."""
    return costs.ITEM.size * item_count + (COPIES - 1) * len(message)


def _prepared_command(message: bytes) -> tuple[SizedCommand, int]:
    command, size = _prepared(TelemetryCommand, message, items_max=ITEMS_MAX)
    return SizedCommand(command, size), size


def _context_of(call: GrpcCall, secret_of: SecretOf | None) -> ProxyContext:
    left_s = call.time_left_s
    now_ms = time.time_ns() // 1_000_000
    return context_of(
        call.metadata,
        address=call.address,
        deadline_ms=None if left_s is None else now_ms + int(left_s * 1000),
        secret_of=secret_of,
        connection=call.connection,
    )


def _call_status(code: Code) -> CallStatus:
    if code is Code.TOO_MANY_REQUESTS:
        return CallStatus.RESOURCE_EXHAUSTED
    return CallStatus.INVALID_ARGUMENT if code in _CLIENT_FAULTS else CallStatus.INTERNAL


def _check_size(settings: Settings) -> None:
    """Refuse settings that need too many routes or too many compiled filters."""
    topics = settings.publishing.topics if settings.publishing else []
    entries = settings.subscription.subscriptions if settings.subscription else []
    if max(len(topics), len(entries)) > SUBSCRIPTIONS_MAX:
        text = f"the settings name more than {SUBSCRIPTIONS_MAX} topics"
        raise ProxyRefused(Code.BAD_REQUEST, text)
    kinds = [each.expression.type for each in entries if each.expression is not None]
    if kinds.count(FilterType.SQL) > EXPRESSIONS_MAX:
        text = f"the settings have more than {EXPRESSIONS_MAX} SQL expressions"
        raise ProxyRefused(Code.ILLEGAL_FILTER_EXPRESSION, text)


def _check_kind(
    kind: ClientType | None, request: HeartbeatRequest | NotifyClientTerminationRequest
) -> None:
    kind = kind or ClientType.CLIENT_TYPE_UNSPECIFIED
    if kind in _CONSUMERS:
        group_of(request.group)
    elif kind is not ClientType.PRODUCER:
        raise ProxyRefused(Code.UNRECOGNIZED_CLIENT_TYPE, kind.name)
