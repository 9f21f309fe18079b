"""Send messages: request codes 10, 310 and 320.

The raw handler reads the header layout of Java clients with a regular expression. A request that
does not match goes to the ordinary handler, with the same result.

Source: broker/processor/SendMessageProcessor.java#parseRequestHeader.
"""

from remoting.aio.server import ServerConn
from remoting.codes import RequestCode, SerializeType
from remoting.command import Command
from remoting.fast_path import SendV2, parse_send_v2
from remoting.frame import RawFrame
from remoting.headers import SendMessage, SendMessageV2
from server.broker.send.send_back import RETRY_TIMES_VERSION
from server.broker.send.topic_rules import SendFields
from server.broker.state import Broker
from server.runtime.registry import handles
from server.runtime.request import Request

_JSON = int(SerializeType.JSON)


@handles(RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, raw=True)
def send_v2_raw(broker: Broker, conn: ServerConn, raw: RawFrame, now_ms: int) -> bool:
    """Store a send whose header has the layout of Java clients, without a full decode.

    Args:
        broker: the state.
        conn: the connection of the client.
        raw: the frame, not decoded.
        now_ms: when it was read.

    Returns:
        False for any other layout; the request then goes to ``send_v2``.
    """
    if raw.serialize != _JSON:
        return False
    _, header, body = raw
    sender = broker.sender
    if sender.take_known(conn, header, body, now_ms):
        return True
    fields = parse_send_v2(header)
    if fields is None:
        return False
    sender.take(conn, fields, body=body, serialize=_JSON, now_ms=now_ms)
    sender.forms.learn(header, fields)
    return True


@handles(RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
def send_v2(broker: Broker, request: Request) -> Command | None:
    """Store a message or a batch; the answer leaves when it is safe on disk."""
    _take(broker, request, request.command.header(SendMessageV2))
    return None


@handles(RequestCode.SEND_MESSAGE)
def send(broker: Broker, request: Request) -> Command | None:
    """Store a message; the header has long field names."""
    _take(broker, request, request.command.header(SendMessage))
    return None


def _take(broker: Broker, request: Request, fields: SendFields) -> None:
    command = request.command
    send = SendV2(
        command.code,
        command.opaque,
        command.is_oneway,
        fields.producer_group,
        fields.topic,
        fields.default_topic,
        fields.default_topic_queue_nums,
        fields.queue_id,
        fields.sys_flag,
        fields.born_timestamp,
        fields.flag,
        fields.properties,
        fields.reconsume_times,
        fields.unit_mode,
        fields.max_reconsume_times if command.version >= RETRY_TIMES_VERSION else None,
        fields.batch,
    )
    broker.sender.take(
        request.conn, send, body=command.body, serialize=command.serialize, now_ms=request.now_ms
    )
