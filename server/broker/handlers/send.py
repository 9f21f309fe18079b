"""Send messages (10, 310, 320), and send them back from a consumer (36).

Where the kernel was built, ``send_kernel`` takes plain sends before they come here.

Source: broker/processor/SendMessageProcessor.java#parseRequestHeader,
#asyncConsumerSendMsgBack.
"""

from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ConsumerSendMsgBack
from server.broker.cold_handler import reads_cold
from server.broker.send.send_back import retry_or_dead_letter
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request


@handles(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
def send(broker: Broker, request: Request) -> None:
    """Store a message or a batch; the answer leaves when it is safe on disk."""
    broker.sender.take(request)


@handles(RequestCode.CONSUMER_SEND_MSG_BACK)
@reads_cold
def consumer_send_back(broker: Broker, request: Request) -> Command | None:
    """Store the message for a retry or as a dead letter; answered when it is safe on disk."""
    fields = request.command.header(ConsumerSendMsgBack)
    message = retry_or_dead_letter(
        fields,
        client_version=request.command.version,
        store=broker.store,
        topics=broker.topics,
        groups=broker.groups,
        levels=broker.levels,
        permission=broker.config.broker_permission,
        now_ms=request.now_ms,
    )
    if message is None:
        return request.command.response()
    broker.sender.put(message, now_ms=request.now_ms)
    broker.stats.count_given_back(fields.group, fields.origin_topic or message.topic)

    def safe(code: ResponseCode) -> None:
        remark = None if code is ResponseCode.SUCCESS else code.name
        failed = ResponseCode.SUCCESS if remark is None else ResponseCode.SYSTEM_ERROR
        request.reply(request.command.response(failed, remark=remark))

    broker.when_safe(safe)
    return None
