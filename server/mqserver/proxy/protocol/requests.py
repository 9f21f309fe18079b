"""A request and a response for each method of ``apache.rocketmq.v2.MessagingService``.

Source: apache/rocketmq/v2/service.proto, as rocketmq-proto 2.1.1 has it.
"""

from dataclasses import dataclass

from mqserver.proxy.protocol.codes import ClientType, TransactionResolution, TransactionSource
from mqserver.proxy.protocol.definitions import (
    Assignment,
    Endpoints,
    FilterExpression,
    Message,
    MessageQueue,
    Resource,
    Settings,
    Status,
)
from mqserver.proxy.protocol.protobuf import (
    WireMessage,
    choice,
    flag,
    many,
    maybe_flag,
    maybe_text,
    millis,
    number,
    one,
    text,
)


@dataclass(slots=True, kw_only=True)
class Response(WireMessage):
    """A response that tells how the request ended."""

    status: Status | None = one(1, Status)


@dataclass(slots=True, kw_only=True)
class QueryRouteRequest(WireMessage):
    """Ask for the queues of a topic; the endpoints are those that the client connects to."""

    topic: Resource | None = one(1, Resource)
    endpoints: Endpoints | None = one(2, Endpoints)


@dataclass(slots=True, kw_only=True)
class QueryRouteResponse(Response):
    """The queues of a topic."""

    message_queues: list[MessageQueue] = many(2, MessageQueue)


@dataclass(slots=True, kw_only=True)
class QueryAssignmentRequest(WireMessage):
    """Ask which queues a consumer shall receive from."""

    topic: Resource | None = one(1, Resource)
    group: Resource | None = one(2, Resource)
    endpoints: Endpoints | None = one(3, Endpoints)


@dataclass(slots=True, kw_only=True)
class QueryAssignmentResponse(Response):
    """The queues that a consumer shall receive from."""

    assignments: list[Assignment] = many(2, Assignment)


@dataclass(slots=True, kw_only=True)
class SendMessageRequest(WireMessage):
    """Store messages of one topic."""

    messages: list[Message] = many(1, Message)


@dataclass(slots=True, kw_only=True)
class SendResultEntry(WireMessage):
    """Where a message was stored."""

    status: Status | None = one(1, Status)
    message_id: str = text(2)
    transaction_id: str = text(3)
    offset: int = number(4)
    recall_handle: str = text(5)


@dataclass(slots=True, kw_only=True)
class SendMessageResponse(Response):
    """Where the messages were stored."""

    entries: list[SendResultEntry] = many(2, SendResultEntry)


@dataclass(slots=True, kw_only=True)
class ReceiveMessageRequest(WireMessage):
    """Receive messages of one queue, or of every queue of a broker; durations are ms."""

    group: Resource | None = one(1, Resource)
    message_queue: MessageQueue | None = one(2, MessageQueue)
    filter_expression: FilterExpression | None = one(3, FilterExpression)
    batch_size: int = number(4)
    invisible_duration: int | None = millis(5)
    auto_renew: bool = flag(6)
    long_polling_timeout: int | None = millis(7)
    attempt_id: str | None = maybe_text(8)


@dataclass(slots=True, kw_only=True)
class ReceiveMessageResponse(Response):
    """One part of the stream: a status, a message, or the time of the delivery (ms)."""

    message: Message | None = one(2, Message)
    delivery_timestamp: int | None = millis(3)


@dataclass(slots=True, kw_only=True)
class AckMessageEntry(WireMessage):
    """One message to acknowledge."""

    message_id: str = text(1)
    receipt_handle: str = text(2)
    lite_topic: str | None = maybe_text(3)


@dataclass(slots=True, kw_only=True)
class AckMessageRequest(WireMessage):
    """Acknowledge received messages."""

    group: Resource | None = one(1, Resource)
    topic: Resource | None = one(2, Resource)
    entries: list[AckMessageEntry] = many(3, AckMessageEntry)


@dataclass(slots=True, kw_only=True)
class AckMessageResultEntry(WireMessage):
    """Whether one message is acknowledged."""

    message_id: str = text(1)
    receipt_handle: str = text(2)
    status: Status | None = one(3, Status)


@dataclass(slots=True, kw_only=True)
class AckMessageResponse(Response):
    """Which messages are acknowledged."""

    entries: list[AckMessageResultEntry] = many(2, AckMessageResultEntry)


@dataclass(slots=True, kw_only=True)
class ForwardToDeadLetterQueueRequest(WireMessage):
    """Make a message a dead letter (ForwardMessageToDeadLetterQueue)."""

    group: Resource | None = one(1, Resource)
    topic: Resource | None = one(2, Resource)
    receipt_handle: str = text(3)
    message_id: str = text(4)
    delivery_attempt: int = number(5)
    max_delivery_attempts: int = number(6)
    lite_topic: str | None = maybe_text(7)


@dataclass(slots=True, kw_only=True)
class HeartbeatRequest(WireMessage):
    """A client is alive."""

    group: Resource | None = one(1, Resource)
    client_type: ClientType = choice(2, ClientType)


@dataclass(slots=True, kw_only=True)
class EndTransactionRequest(WireMessage):
    """Commit or roll back a transaction."""

    topic: Resource | None = one(1, Resource)
    message_id: str = text(2)
    transaction_id: str = text(3)
    resolution: TransactionResolution = choice(4, TransactionResolution)
    source: TransactionSource = choice(5, TransactionSource)
    trace_context: str = text(6)


@dataclass(slots=True, kw_only=True)
class PrintThreadStackTraceCommand(WireMessage):
    """The proxy asks a client for the stacks of its threads."""

    nonce: str = text(1)


@dataclass(slots=True, kw_only=True)
class ThreadStackTrace(WireMessage):
    """The stacks of a client's threads."""

    nonce: str = text(1)
    thread_stack_trace: str | None = maybe_text(2)


@dataclass(slots=True, kw_only=True)
class VerifyMessageCommand(WireMessage):
    """The proxy asks a client to consume one message."""

    nonce: str = text(1)
    message: Message | None = one(2, Message)


@dataclass(slots=True, kw_only=True)
class VerifyMessageResult(WireMessage):
    """A client has consumed the one message; the status says how."""

    nonce: str = text(1)


@dataclass(slots=True, kw_only=True)
class RecoverOrphanedTransactionCommand(WireMessage):
    """The proxy asks a producer how a transaction ended."""

    message: Message | None = one(1, Message)
    transaction_id: str = text(2)


@dataclass(slots=True, kw_only=True)
class TelemetryCommand(WireMessage):
    """One command in either direction; it has one of the commands."""

    status: Status | None = one(1, Status)
    settings: Settings | None = one(2, Settings)
    thread_stack_trace: ThreadStackTrace | None = one(3, ThreadStackTrace)
    verify_message_result: VerifyMessageResult | None = one(4, VerifyMessageResult)
    recover_orphaned_transaction_command: RecoverOrphanedTransactionCommand | None = one(
        5, RecoverOrphanedTransactionCommand
    )
    print_thread_stack_trace_command: PrintThreadStackTraceCommand | None = one(
        6, PrintThreadStackTraceCommand
    )
    verify_message_command: VerifyMessageCommand | None = one(7, VerifyMessageCommand)


@dataclass(slots=True, kw_only=True)
class NotifyClientTerminationRequest(WireMessage):
    """A client says goodbye."""

    group: Resource | None = one(1, Resource)


@dataclass(slots=True, kw_only=True)
class ChangeInvisibleDurationRequest(WireMessage):
    """Hide a received message for another while from now on (ms)."""

    group: Resource | None = one(1, Resource)
    topic: Resource | None = one(2, Resource)
    receipt_handle: str = text(3)
    invisible_duration: int | None = millis(4)
    message_id: str = text(5)
    lite_topic: str | None = maybe_text(6)
    suspend: bool | None = maybe_flag(7)


@dataclass(slots=True, kw_only=True)
class ChangeInvisibleDurationResponse(Response):
    """The handle that the message has from now on."""

    receipt_handle: str = text(2)


@dataclass(slots=True, kw_only=True)
class RecallMessageRequest(WireMessage):
    """Take back a delayed message that was not delivered yet."""

    topic: Resource | None = one(1, Resource)
    recall_handle: str = text(2)


@dataclass(slots=True, kw_only=True)
class RecallMessageResponse(Response):
    """The id of the message that was taken back."""

    message_id: str = text(2)
