"""What each call of a gRPC client needs under ACL 2.0, before brokers are asked.

    SendMessage, EndTransaction, RecallMessage          Pub on the topic
    ReceiveMessage, AckMessage, QueryAssignment,
    ForwardMessageToDeadLetterQueue                     Sub on the group and the topic
    ChangeInvisibleDuration, NotifyClientTermination,
    Heartbeat of a consumer                             Sub on the group
    QueryRoute                                          Pub or Sub on the topic
    settings in Telemetry                               Pub on each topic that a producer names;
                                                        Sub on the group and topics of a consumer

Rule: here the address of the client counts. The requests to brokers that follow are signed by the
same user and checked again there, with the address of the endpoint.

Source: auth/authorization/builder/DefaultAuthorizationContextBuilder.java,
proxy/grpc/pipeline/AuthorizationPipeline.java (5.4.0), which looks at the first message of a send.
"""

from collections.abc import Iterator
from typing import Final

from mqserver.broker.acl.accounts import UserRefused
from mqserver.broker.acl.user_access import UserChecks
from mqserver.broker.acl.user_rights import GROUP, PUB, SUB, TOPIC, Need, literal
from mqserver.proxy.context import ProxyContext
from mqserver.proxy.drafts import SendDraft
from mqserver.proxy.grpc_status import ProxyRefused
from mqserver.proxy.protocol.codes import ClientType, Code
from mqserver.proxy.protocol.definitions import Resource, Settings
from mqserver.proxy.protocol.requests import (
    AckMessageRequest,
    ChangeInvisibleDurationRequest,
    EndTransactionRequest,
    ForwardToDeadLetterQueueRequest,
    HeartbeatRequest,
    NotifyClientTerminationRequest,
    QueryAssignmentRequest,
    QueryRouteRequest,
    RecallMessageRequest,
    ReceiveMessageRequest,
    SendMessageRequest,
)

PACKAGE: Final = "apache.rocketmq.v2"
_CONSUMERS: Final = frozenset(
    {ClientType.PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER, ClientType.PULL_CONSUMER}
)
_NAMES: Final = {
    SendDraft: "SendMessageRequest",
    Settings: "TelemetryCommand",
    ForwardToDeadLetterQueueRequest: "ForwardMessageToDeadLetterQueueRequest",
}
"""The name of a request in the protocol, where that of our class is another one."""


def needs_of_call(request: object) -> Iterator[Need]:
    """Yield what a request of a gRPC client, or its settings, need; every need has to be met.

    Raises:
        UserRefused: the request does not name what it is about.
    """
    match request:
        case SendDraft(topic=topic):
            yield Need(literal(TOPIC, topic), (PUB,))
        case SendMessageRequest(messages=messages):
            if not messages:
                raise UserRefused("message is null.")
            for topic in dict.fromkeys(_name(each.topic, TOPIC) for each in messages):
                yield Need(literal(TOPIC, topic), (PUB,))
        case EndTransactionRequest() | RecallMessageRequest():
            yield _topic(request.topic, PUB)
        case ReceiveMessageRequest(message_queue=queue):
            if queue is None:
                raise UserRefused("messageQueue is null.")
            yield _group(request.group)
            yield _topic(queue.topic, SUB)
        case AckMessageRequest() | ForwardToDeadLetterQueueRequest() | QueryAssignmentRequest():
            yield _group(request.group)
            yield _topic(request.topic, SUB)
        case ChangeInvisibleDurationRequest():
            yield _group(request.group)
        case NotifyClientTerminationRequest(group=group):
            if group is not None and group.name.strip():
                yield _group(group)
        case HeartbeatRequest():
            if request.client_type in _CONSUMERS:
                yield _group(request.group)
        case QueryRouteRequest():
            yield _topic(request.topic, PUB, SUB)
        case Settings():
            yield from _of_settings(request)
        case _:
            raise UserRefused(f"there is no rule for {type(request).__name__}")


def _of_settings(settings: Settings) -> Iterator[Need]:
    if settings.publishing is not None:
        for topic in settings.publishing.topics:
            yield _topic(topic, PUB)
    if settings.subscription is not None:
        yield _group(settings.subscription.group)
        for entry in settings.subscription.subscriptions:
            yield _topic(entry.topic, SUB)


def check_call(checks: UserChecks, request: object, context: ProxyContext) -> None:
    """Check a call whose signature was checked before.

    Args:
        checks: the users and rules.
        request: the request, the draft of a send, or the settings of a client.
        context: who calls.

    Raises:
        ProxyRefused: the user may not do this.
    """
    username = context.credentials.access_key if context.credentials else None
    name = f"{PACKAGE}.{_NAMES.get(type(request), type(request).__name__)}"
    try:
        if not checks.needs_rules(username, name):
            return
        for need in needs_of_call(request):
            checks.check_need(context.ip, username, need)
    except UserRefused as error:
        raise ProxyRefused(Code.UNAUTHORIZED, error.remark) from error


def _name(resource: Resource | None, kind: str) -> str:
    if resource is None or not resource.name.strip():
        raise UserRefused(f"{kind.lower()} is null.")
    return resource.name


def _topic(resource: Resource | None, *actions: str) -> Need:
    return Need(literal(TOPIC, _name(resource, TOPIC)), actions)


def _group(resource: Resource | None) -> Need:
    return Need(literal(GROUP, _name(resource, GROUP)), (SUB,))
