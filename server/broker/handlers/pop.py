"""POP of RocketMQ 5: pops, acknowledgements, changes of the invisible time, and queries.

Codes 200050 to 200055 and 200151, 400 to 402.

Source: broker/processor/PopMessageProcessor.java, AckMessageProcessor.java,
ChangeInvisibleTimeProcessor.java, PeekMessageProcessor.java, PollingInfoProcessor.java,
NotificationProcessor.java, QueryAssignmentProcessor.java (5.4.0).
"""

from remoting.bodies import (
    BatchAckMessageRequestBody,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.frame import encode_frame
from remoting.header import Header
from remoting.headers import (
    AckMessage,
    ChangeInvisibleTime,
    Notification,
    PeekMessage,
    PollingInfo,
    PollingInfoResponse,
    PopMessage,
    PopMessageResponse,
)
from server.broker import names
from server.broker.cold_handler import reads_cold
from server.broker.files.saves import answer_when_saved
from server.broker.filters.lexer import BadExpression
from server.broker.filters.messagefilter import (
    EVERYTHING,
    MessageFilter,
    carried_filter,
    carried_tags,
)
from server.broker.filters.table import compile_filter
from server.broker.filters.tags import codes_of_expression, is_malformed, is_tag_type
from server.broker.names import is_readable
from server.broker.pop.acknowledging import check_queue
from server.broker.pop.checkpoints import COUNT_MAX
from server.broker.pop.modes import assignments
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request, RequestRefused
from server.runtime.slices import Steps, chunks, decoded, in_slices, large
from storefmt.names import RETRY_PREFIX
from storefmt.paths import TOPIC_SIZE_MAX

LATE_MS = 500
"""A pop that is older than its poll time and this is not worth an answer with messages."""
EXPRESSION_SIZE_MAX = 65_536
ACKS_PER_SLICE = 64
"""Acknowledgements that one slice takes, before other requests can run."""


@handles(LaterCode.POP_MESSAGE)
def pop(broker: Broker, request: Request) -> None:
    """Answer a pop now, or hold it until a message arrives or its time is over."""
    if request.command.is_oneway:
        # Nobody would get the messages.
        return
    header = request.command.header(PopMessage)
    host = broker.config.broker_ip1
    if header.born_time and request.now_ms - header.born_time - header.poll_time > LATE_MS:
        text = f"the broker[{host}] pop message is timeout too much"
        raise RequestRefused(LaterResponseCode.POLLING_TIMEOUT, text)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, verb="pop")
    if not 0 <= header.max_msg_nums <= COUNT_MAX:
        text = f"the broker[{host}] pop message's num is greater than 32"
        if header.max_msg_nums < 0:
            text = f"the broker[{host}] pop message's num is {header.max_msg_nums}"
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, text)
    broker.pops.popper.take(request, header, _filter(header, broker.config.strict_filters))


def _check(
    broker: Broker, request: Request, topic: str, group: str, queue_id: int, *, verb: str
) -> None:
    """Refuse what may not be consumed, with Java's checks in Java's order."""
    config = broker.config
    _check_role(broker)
    if not is_readable(config.broker_permission):
        text = f"the broker[{config.broker_ip1}] {verb} message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    found = broker.topics.get(topic)
    if found is not None and not is_readable(found.perm):
        text = f"the topic[{topic}] peeking message is forbidden"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    parameter, peer = LaterResponseCode.INVALID_PARAMETER, request.conn.address
    check_queue(broker.topics, topic, max(queue_id, 0), code=parameter, peer=peer)
    settings = broker.groups.find(group, now_ms=request.now_ms)
    if settings is None:
        text = names.see_later_faq(f"subscription group [{group}] does not exist, ")
        raise RequestRefused(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, text)
    if not settings.consume_enable:
        text = f"subscription group no permission, {group}"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    if len(RETRY_PREFIX) + len(group) + 1 + len(topic) > TOPIC_SIZE_MAX:
        text = (
            f"the names of group and topic are too long together for their retry topic: "
            f"{len(group)} and {len(topic)} characters"
        )
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, text)


def _filter(header: PopMessage, strict: bool) -> MessageFilter:
    """Return the filter of a pop.

    Raises:
        RequestRefused: its expression cannot be used.
    """
    text = header.exp or ""
    refused = ResponseCode.SUBSCRIPTION_PARSE_FAILED
    if len(text) > EXPRESSION_SIZE_MAX:
        why = f"the expression has {len(text)} characters, the limit is {EXPRESSION_SIZE_MAX}"
        raise RequestRefused(refused, why)
    if not text:
        return EVERYTHING
    if is_tag_type(header.exp_type):
        if is_malformed(text):
            raise RequestRefused(refused, "parse the consumer's subscription failed")
        return carried_tags(codes_of_expression(text))
    try:
        return carried_filter(compile_filter(text, header.exp_type, strict=strict))
    except BadExpression as error:
        why = f"parse the consumer's subscription failed: {error}"
        raise RequestRefused(refused, why) from None


@handles(LaterCode.ACK_MESSAGE)
def acknowledge(broker: Broker, request: Request) -> None:
    """Take the acknowledgement of one message."""
    _check_role(broker)
    fields = request.command.header(AckMessage)
    broker.pops.acknowledger.acknowledge(fields, peer=request.conn.address, now_ms=request.now_ms)
    _when_safe(broker, request)


@handles(LaterCode.BATCH_ACK_MESSAGE)
@in_slices
def acknowledge_batch(broker: Broker, request: Request) -> Steps[Command | None]:
    """Take the acknowledgements of many messages."""
    _check_role(broker)
    body = request.command.body
    acks = (yield from decoded(BatchAckMessageRequestBody.decode, body)).acks if body else []
    if not acks:
        return request.command.response(ResponseCode.NO_MESSAGE)
    # Read all before the first is taken, so that a bad one refuses the request as a whole.
    for part in chunks(acks, ACKS_PER_SLICE):
        for ack in part:
            ack.queue_offsets()
        yield None
    for part in chunks(acks, ACKS_PER_SLICE):
        now_ms = broker.clock.now_ms()
        for ack in part:
            broker.pops.acknowledger.acknowledge_batch(
                ack, peer=request.conn.address, now_ms=now_ms
            )
        if len(acks) > ACKS_PER_SLICE:
            yield None
    _when_safe(broker, request)
    return None


@handles(LaterCode.CHANGE_MESSAGE_INVISIBLETIME)
def change_invisible_time(broker: Broker, request: Request) -> None:
    """Hide a popped message for another while."""
    _check_role(broker)
    header = broker.pops.acknowledger.change_invisible_time(
        request.command.header(ChangeInvisibleTime),
        peer=request.conn.address,
        now_ms=request.now_ms,
    )
    _when_safe(broker, request, header)


def _check_role(broker: Broker) -> None:
    if broker.config.is_slave:
        text = f"this broker is a slave, the master of {broker.config.broker_name} serves pops"
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, text)


def _when_safe(broker: Broker, request: Request, header: Header | None = None) -> None:
    """Answer when what was put is as safe as a message that was sent."""
    command = request.command
    if not command.is_oneway:
        answer = command.response(header=header)
        frame = encode_frame(answer)
        opaques, serialize = (command.opaque,), command.serialize
        broker.turn.ack(request.conn, frame, opaques=opaques, serialize=serialize)


@handles(LaterCode.PEEK_MESSAGE)
@reads_cold
def peek(broker: Broker, request: Request) -> Command:
    """Return what a pop would give, without hiding it."""
    header = request.command.header(PeekMessage)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, verb="peek")
    chunks, rest = broker.pops.planner.peek(header)
    told = PopMessageResponse(rest_num=rest)
    if not chunks:
        code, remark = ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"
        return request.command.response(code, remark=remark, header=told)
    return request.command.response(remark="FOUND", header=told, body=b"".join(chunks))


@handles(LaterCode.NOTIFICATION)
def notify(broker: Broker, request: Request) -> None:
    """Tell whether a group has messages to pop, now or when one arrives."""
    header = request.command.header(Notification)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, verb="peek")
    broker.pops.popper.notify(request, header)


@handles(LaterCode.POLLING_INFO)
def polling_info(broker: Broker, request: Request) -> Command:
    """Return how many pops of a group wait for a queue."""
    fields = request.command.header(PollingInfo)
    topic, group, queue_id = fields.topic, fields.consumer_group, fields.queue_id
    _check(broker, request, topic, group, queue_id, verb="peek")
    count = broker.pops.popper.waiting.count(topic, group, queue_id)
    return request.command.response(header=PollingInfoResponse(polling_num=count))


@handles(LaterCode.QUERY_ASSIGNMENT)
@in_slices
def query_assignment(broker: Broker, request: Request) -> Steps[Command]:
    """Return which queues a member of a group gets, and whether it pops or pulls them."""
    query = yield from decoded(QueryAssignmentRequestBody.decode, request.command.body)
    found = assignments(
        query,
        config=broker.config,
        topics=broker.topics,
        consumers=broker.consumers,
        modes=broker.pops.modes,
    )
    body = QueryAssignmentResponseBody(message_queue_assignments=found)
    return request.command.response(body=(yield from large(body.encode, count=len(found or ()))))


@handles(LaterCode.SET_MESSAGE_REQUEST_MODE)
@in_slices
def set_request_mode(broker: Broker, request: Request) -> Steps[None]:
    """Set whether a group pops or pulls a topic; answered when it is saved."""
    mode = yield from decoded(SetMessageRequestModeRequestBody.decode, request.command.body)
    if mode.topic.startswith(RETRY_PREFIX):
        text = "retry topic is not allowed to set mode"
        raise RequestRefused(ResponseCode.NO_PERMISSION, text)
    fault = names.topic_fault(mode.topic) or names.group_fault(mode.consumer_group)
    if fault is None and mode.mode is None:
        fault = "the mode is neither PULL nor POP"
    if fault is not None:
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, fault)
    if broker.topics.get(mode.topic) is None:
        text = f"topic[{mode.topic}] not exist"
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
    broker.pops.modes.put(mode)
    answer_when_saved(broker.files, request, name="messageRequestMode")


@handles(LaterCode.GET_ALL_MESSAGE_REQUEST_MODE)
@in_slices
def get_all_request_modes(broker: Broker, request: Request) -> Steps[Command]:
    """Return every mode that was set."""
    modes = broker.pops.modes
    return request.command.response(
        body=(yield from large(modes.snapshot().encode, count=modes.count))
    )
