"""Pull messages: request code 11, and 361, which clients of 5.x send instead.

Source: broker/processor/PullMessageProcessor.java.
"""

from mqserver.broker.pull.pull_header import parse_pull
from mqserver.broker.state import Broker
from mqserver.runtime.registry import handles
from mqserver.runtime.request import Request
from remoting.acl import read_proof
from remoting.aio.server import ServerConn
from remoting.codes import LaterCode, RequestCode
from remoting.frame import RawFrame
from remoting.headers import PullMessage


@handles(RequestCode.PULL_MESSAGE, raw=True)
def pull_raw(broker: Broker, conn: ServerConn, raw: RawFrame, now_ms: int) -> bool:
    """Answer a pull whose header has nothing rare in it, without a full decode.

    Args:
        broker: the state.
        conn: the connection of the client.
        raw: the frame, not decoded.
        now_ms: when it was read.

    Returns:
        False for any other header, and for a pull that is not allowed at once; the request is
        then checked by the gate and goes to ``pull``.
    """
    fields = parse_pull(raw.serialize, raw.header)
    if fields is None or fields.is_oneway:
        return False
    if broker.access is not None:
        proof = read_proof(*raw)
        names = fields.topic, fields.consumer_group
        ip = conn.peer[0]
        if proof is None or not broker.access.allows_pull(ip, fields.code, *names, proof):
            return False
    broker.puller.handle_pull(
        conn, fields, opaque=fields.opaque, serialize=raw.serialize, now_ms=now_ms
    )
    return True


@handles(RequestCode.PULL_MESSAGE, LaterCode.LITE_PULL_MESSAGE)
def pull(broker: Broker, request: Request) -> None:
    """Answer a pull now, or hold it until a message arrives or its time is over."""
    command = request.command
    if not command.is_oneway:
        broker.puller.handle_pull(
            request.conn,
            command.header(PullMessage),
            opaque=command.opaque,
            serialize=command.serialize,
            now_ms=request.now_ms,
        )
