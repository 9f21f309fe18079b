"""Relay requests to a live consumer: its running info (307), consume one message (309).

Rule: the fields of the request go to the client unchanged, except for the signature, which is
removed because the client could reuse it; 309 also gets the record as its body and this broker's
name. The client's answer is returned unchanged. Without an answer in 10 s the broker answers 207.

Source: broker/processor/AdminBrokerProcessor.java#callConsumer, #consumeMessageDirectly.
"""

from mqserver.broker.clients.client_requests import ANSWER_WAIT_MS
from mqserver.broker.cold_handler import reads_cold
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request, RequestRefused
from remoting.acl import OF_THE_SIGNATURE
from remoting.codes import RequestCode, ResponseCode
from remoting.command import Command
from remoting.headers import ConsumeMessageDirectly, GetConsumerRunningInfo
from storefmt.errors import BadCall
from storefmt.formats.msgid import parse_offset_id

RELAY_VERSION_MIN = 62
"""MQVersion V3_1_8_SNAPSHOT, the first version of clients that handles these requests."""


@handles(RequestCode.GET_CONSUMER_RUNNING_INFO)
def get_consumer_running_info(broker: Broker, request: Request) -> None:
    """Ask one consumer for its running info, and return its answer."""
    fields = request.command.header(GetConsumerRunningInfo)
    _relay(broker, request, fields.consumer_group, fields.client_id, request.command.body)


@handles(RequestCode.CONSUME_MESSAGE_DIRECTLY)
@reads_cold
def consume_message_directly(broker: Broker, request: Request) -> None:
    """Let one consumer consume one message, and return its result."""
    fields = request.command.header(ConsumeMessageDirectly)
    try:
        _, log_offset = parse_offset_id(fields.msg_id or "")
    except BadCall as error:
        raise RequestRefused(ResponseCode.SYSTEM_ERROR, str(error)) from error
    record = broker.store.reader.read_record(log_offset)
    if record is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"no message with the id {fields.msg_id} here"
        )
    request.command.ext["brokerName"] = broker.config.broker_name
    _relay(broker, request, fields.consumer_group, fields.client_id or "", record)


def _relay(broker: Broker, request: Request, group: str, client_id: str, body: bytes) -> None:
    command = request.command
    members = broker.consumers.group(group)
    member = None if members is None else members.find(client_id)
    if member is None:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR, f"The Consumer <{group}> <{client_id}> not online"
        )
    if member.version < RELAY_VERSION_MIN:
        raise RequestRefused(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{client_id}> Version <{member.version}> too low to finish, "
            "please upgrade it to V3_1_8_SNAPSHOT",
        )

    def answered(answer: Command | None) -> None:
        if answer is None:
            request.reply(
                command.response(
                    ResponseCode.CONSUME_MSG_TIMEOUT,
                    remark=f"consumer <{group}> <{client_id}> Timeout: no answer in "
                    f"{ANSWER_WAIT_MS} ms, or the client left",
                )
            )
            return
        response = command.response(answer.code, remark=answer.remark, body=answer.body)
        response.ext = answer.ext
        response.ext_written = answer.ext_written
        request.reply(response)

    ask = Command.request(command.code, body=body)
    # Java also passes the signature on; with it the client could send this request in the name of
    # the sender.
    ask.ext = {name: text for name, text in command.ext.items() if name not in OF_THE_SIGNATURE}
    ask.ext_written = True
    broker.calls.call(
        member.conn, ask, deadline_ms=request.now_ms + ANSWER_WAIT_MS, answered=answered
    )
