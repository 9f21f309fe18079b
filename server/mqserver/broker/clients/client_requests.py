"""Requests that the broker sends to its clients, over the connections that they opened.

    call    -> opaque, frame -> the answer, or None if none came in time or the client left
    notice  -> one frame for many clients, without an answer
    oneway  -> a frame, without an answer

Rule: the broker counts its own opaques on each connection, independently of the client's. A
notice has opaque 0 for all clients, because it is not answered and its frame is encoded only
once. As in Java, these requests are always JSON, whatever the client uses.

Source: broker/client/net/Broker2Client.java.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from remoting.aio.server import ServerConn
from remoting.codes import FLAG_ONEWAY
from remoting.command import Command
from remoting.conn import PendingRequests
from remoting.frame import encode_frame

ANSWER_WAIT_MS: Final = 10_000
"""How long a client may take to answer a request that a broker passes on to it."""
Answered = Callable[[Command | None], None]
"""Called with the client's answer, or with None if none will come."""


def encode_notice(command: Command) -> bytes:
    """Return the frame of a oneway request that is sent to many clients."""
    command.flag |= FLAG_ONEWAY
    return encode_frame(command)


def send_notice(conn: ServerConn, frame: bytes) -> None:
    """Send the frame of a notice to a client."""
    if not conn.is_closing:
        conn.send(frame)


class ClientCalls:
    """The requests of one broker to clients, and those that wait for an answer."""

    def __init__(self) -> None:
        self._pending: defaultdict[ServerConn, PendingRequests[Answered]]
        self._pending = defaultdict(PendingRequests)

    @property
    def is_used(self) -> bool:
        """Return whether a connection that is open was ever sent a request."""
        return bool(self._pending)

    def call(
        self, conn: ServerConn, command: Command, *, deadline_ms: int, answered: Answered
    ) -> None:
        """Send a request to a client.

        Args:
            conn: the connection of the client.
            command: the request; its opaque is set here.
            deadline_ms: when ``answered`` is called with None if there is no answer.
            answered: called exactly once.
        """
        if conn.is_closing:
            answered(None)
            return
        command.opaque = self._pending[conn].add(answered, deadline_ms)
        conn.send_command(command)

    def oneway(self, conn: ServerConn, command: Command) -> None:
        """Send a oneway request to a client."""
        if conn.is_closing:
            return
        command.opaque = self._pending[conn].next_opaque()
        command.flag |= FLAG_ONEWAY
        conn.send_command(command)

    def on_response(self, conn: ServerConn, response: Command) -> None:
        """Handle an answer of a client; it is dropped if no request waits for it."""
        pending = self._pending.get(conn)
        answered = None if pending is None else pending.pop_waiter(response.opaque)
        if answered is not None:
            answered(response)

    def expire(self, now_ms: int) -> None:
        """Call ``answered`` with None for the requests whose deadline has passed."""
        for pending in list(self._pending.values()):
            for answered in pending.expired(now_ms):
                answered(None)

    def drop(self, conn: ServerConn) -> None:
        """Call ``answered`` with None for all requests on a connection that has closed."""
        pending = self._pending.pop(conn, None)
        if pending is not None:
            for answered in pending.drain():
                answered(None)
