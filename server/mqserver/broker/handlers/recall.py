"""The recall of a timer message (370), and how far the timer is (60, 61), as in RocketMQ 5.

Rule: a recall is itself a timer message, in the slot of the message that it cancels. It is
therefore answered as soon as it is safe, without checking whether that message exists or has been
delivered.

Source: broker/processor/RecallMessageProcessor.java,
broker/processor/AdminBrokerProcessor.java#getTimerCheckPoint, #getTimerMetrics (5.4.0).
"""

from mqserver.broker.names import is_writable
from mqserver.broker.state import Broker
from mqserver.broker.timer.timer_messages import refused_recall
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import LaterCode, LaterResponseCode, ResponseCode
from remoting.command import Command
from remoting.errors import BadHeader
from remoting.headers import RecallMessage, RecallMessageResponse
from remoting.recall import RecallHandle, decode_recall
from storefmt.formats.properties import MSG_REGION

_NO_SERVICE = "recall failed, broker service not available"


@handles(LaterCode.RECALL_MESSAGE)
def recall_message(broker: Broker, request: Request) -> Command | None:
    """Cancel a message that waits in the timer wheel."""
    try:
        handle = _checked(broker, request)
        group = request.command.header(RecallMessage).producer_group
        message = broker.sender.timer_rules.recall(
            handle,
            producer_group=group,
            born_host=request.conn.peer_host,
            store_host=broker.store_host,
            now_ms=request.now_ms,
        )
        broker.sender.put(message, request.now_ms)
    except RequestRefused as refused:
        return _answer(broker, request, refused.code, refused.remark)

    def safe(code: ResponseCode) -> None:
        # As in Java, a message that is stored but not known to be on disk counts as stored.
        if code in (ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT):
            answer = request.command.response(
                header=RecallMessageResponse(msg_id=handle.unique_key)
            )
            answer.ext[MSG_REGION] = broker.config.region_id
        else:
            answer = _answer(
                broker, request, ResponseCode.SYSTEM_ERROR, "recall failed, execute error"
            )
        request.reply(answer)

    broker.group_commit.when_safe(safe)
    return None


def _checked(broker: Broker, request: Request) -> RecallHandle:
    """Return the handle of a recall after Java's checks, in Java's order.

    Raises:
        RequestRefused: the broker refuses recalls, or the handle is not for this topic and broker.
    """
    config, fields = broker.config, request.command.header(RecallMessage)
    if not config.recall_message_enable:
        raise RequestRefused(ResponseCode.NO_PERMISSION, "recall failed, operation is forbidden")
    if config.is_slave:
        raise RequestRefused(ResponseCode.SLAVE_NOT_AVAILABLE, _NO_SERVICE)
    if request.now_ms < config.start_accept_send_request_time_stamp:
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, _NO_SERVICE)
    if not is_writable(config.broker_permission) and not (
        config.allow_recall_when_broker_not_writeable
    ):
        raise RequestRefused(ResponseCode.SERVICE_NOT_AVAILABLE, _NO_SERVICE)
    if broker.topics.get(fields.topic) is None:
        text = f"recall failed, the topic[{fields.topic}] not exist"
        raise RequestRefused(ResponseCode.TOPIC_NOT_EXIST, text)
    try:
        handle = decode_recall(fields.recall_handle)
    except BadHeader:
        text = "recall handle is invalid"
        raise RequestRefused(LaterResponseCode.ILLEGAL_OPERATION, text) from None
    if handle.topic != fields.topic:
        raise refused_recall("topic not match")
    if handle.broker_name != config.broker_name:
        raise refused_recall("broker service not available")
    return handle


def _answer(broker: Broker, request: Request, code: int, remark: str) -> Command:
    answer = request.command.response(code, remark=remark)
    answer.ext[MSG_REGION] = broker.config.region_id
    return answer


@handles(LaterCode.GET_TIMER_CHECK_POINT)
def get_timer_check_point(broker: Broker, request: Request) -> Command:
    """Return how far the timer got, as a slave of 5.x asks for it."""
    return request.command.response(body=broker.timer.checkpoint().fields())


@handles(LaterCode.GET_TIMER_METRICS)
def get_timer_metrics(broker: Broker, request: Request) -> Command:
    """Return how many timer messages of each topic wait."""
    return request.command.response(body=broker.timer.metrics.encode().encode())
