"""One request on its way through a server.

Rule: ``reply`` is the only way an answer leaves an ordinary handler, so that a one-way
request is never answered and a deferred answer goes to the connection that asked.
"""

from dataclasses import dataclass

from remoting.aio.server import ServerConn
from remoting.command import Command


class RequestRefused(Exception):
    """A handler says no: the peer is answered ``code`` and ``remark``, nothing is logged."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(remark)
        self.code = code
        self.remark = remark


@dataclass(slots=True)
class Request:
    """A decoded command, who sent it and when it was read."""

    conn: ServerConn
    command: Command
    now_ms: int

    def reply(self, response: Command) -> None:
        """Send ``response``, now or later; nothing is sent for a one-way request.

        The connection may be gone by the time a held request is answered; the answer
        is then dropped, since nobody is left to read it.
        """
        if not self.command.is_oneway and not self.conn.is_closing:
            self.conn.send_command(response)
