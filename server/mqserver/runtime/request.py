"""One request, from its arrival at a server to its answer.

Rule: an ordinary handler's answer is sent only by ``reply``, so that a one-way request is never
answered and a deferred answer goes to the connection that sent the request.
"""

from dataclasses import dataclass

from remoting.aio.server import ServerConn
from remoting.codes import ResponseCode
from remoting.command import Command
from remoting.frame import FRAME_SIZE_MAX

ANSWER_HEADER_SIZE = 65_536
"""Bytes that are left for the header of an answer."""


class RequestRefused(Exception):
    """A handler refuses a request: the answer has ``code`` and ``remark``, nothing is logged."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


@dataclass(slots=True)
class Request:
    """A decoded command, the connection that sent it, and the time at which it was read."""

    conn: ServerConn
    command: Command
    now_ms: int

    @property
    def held_size(self) -> int:
        """The bytes of its fields and its body."""
        fields = self.command.ext
        size = len(self.command.body) + sum(map(len, fields))
        return size + sum(map(len, fields.values()))

    def reply(self, response: Command) -> None:
        """Send ``response``, now or later; a one-way request gets no answer.

        If the connection has been closed before a held request is answered, the answer is
        dropped, since nobody can read it. If an answer does not fit into a frame, an error is sent
        instead.
        """
        if self.command.is_oneway or self.conn.is_closing:
            return
        if len(response.body) > FRAME_SIZE_MAX - ANSWER_HEADER_SIZE:
            remark = (
                f"the answer has {len(response.body)} bytes, the limit of a frame is "
                f"{FRAME_SIZE_MAX}; ask for less, such as one cluster, topic or group"
            )
            response = self.command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
        self.conn.send_command(response)
