"""POP of RocketMQ 5: pops (200050), peeks (200052), notifications (200054), polling info (200055).

Source: broker/processor/PopMessageProcessor.java, PeekMessageProcessor.java,
PollingInfoProcessor.java, NotificationProcessor.java (5.4.0).
"""

from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.filters.lexer import BadExpression
from mqserver.broker.filters.messagefilter import (
    EVERYTHING,
    MessageFilter,
    carried_filter,
    carried_tags,
)
from mqserver.broker.filters.table import compile_filter
from mqserver.broker.filters.tags import codes_of_expression, is_malformed, is_tag_type
from mqserver.broker.pop.checkpoints import COUNT_MAX
from mqserver.broker.pop.pop_check import check_times
from mqserver.broker.pull.consume_steps import PEEK, POP, POP_STEPS, Reading, Wording, check
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.headers import (
    Notification,
    PeekMessage,
    PollingInfo,
    PollingInfoResponse,
    PopMessage,
    PopMessageResponse,
)

LATE_MS = 500
"""A pop that is this much older than its poll time is refused, because its client no longer waits
for messages."""
EXPRESSION_SIZE_MAX = 65_536


@handles(LaterCode.POP_MESSAGE)
def pop(broker: Broker, request: Request) -> None:
    """Answer a pop now, or hold it until a message arrives or its time is over."""
    if request.command.is_oneway:
        # The messages would be hidden without reaching the client.
        return
    header = request.command.header(PopMessage)
    host = broker.config.broker_ip1
    if header.born_time and request.now_ms - header.born_time - header.poll_time > LATE_MS:
        text = f"the broker[{host}] pop message is timeout too much"
        raise RequestRefused(LaterResponseCode.POLLING_TIMEOUT, text)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, POP)
    if not 0 <= header.max_msg_nums <= COUNT_MAX:
        text = f"the broker[{host}] pop message's num is greater than 32"
        if header.max_msg_nums < 0:
            text = f"the broker[{host}] pop message's num is {header.max_msg_nums}"
        raise RequestRefused(LaterResponseCode.INVALID_PARAMETER, text)
    check_times(request.now_ms, header.invisible_time)
    broker.pops.popper.handle_pop(request, header, _filter(header, broker.config.strict_filters))


def _check(
    broker: Broker, request: Request, topic: str, group: str, queue_id: int, wording: Wording
) -> None:
    """Refuse a pop or peek that is not allowed, with Java's checks in Java's order."""
    reading = Reading(
        broker.context, wording, request.conn, topic, group, max(queue_id, 0), request.now_ms
    )
    check(reading, POP_STEPS)


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


@handles(LaterCode.PEEK_MESSAGE)
@reads_cold
def peek(broker: Broker, request: Request) -> Command:
    """Return the messages that a pop would return, without hiding them."""
    header = request.command.header(PeekMessage)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, PEEK)
    chunks, rest = broker.pops.planner.peek(header)
    answer = PopMessageResponse(rest_num=rest)
    if not chunks:
        code, remark = ResponseCode.PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"
        return request.command.response(code, remark=remark, header=answer)
    return request.command.response(remark="FOUND", header=answer, body=b"".join(chunks))


@handles(LaterCode.NOTIFICATION)
def notify(broker: Broker, request: Request) -> None:
    """Return whether a group has messages to pop, now or when one arrives."""
    header = request.command.header(Notification)
    _check(broker, request, header.topic, header.consumer_group, header.queue_id, PEEK)
    broker.pops.popper.handle_notification(request, header)


@handles(LaterCode.POLLING_INFO)
def polling_info(broker: Broker, request: Request) -> Command:
    """Return how many pops of a group wait for a queue."""
    fields = request.command.header(PollingInfo)
    topic, group, queue_id = fields.topic, fields.consumer_group, fields.queue_id
    _check(broker, request, topic, group, queue_id, PEEK)
    count = broker.pops.popper.waiting.count(topic, group, queue_id)
    return request.command.response(header=PollingInfoResponse(polling_num=count))
