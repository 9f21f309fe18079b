"""Requests the broker sends to its clients over the connections they opened.

    call    -> opaque, frame -> answer, or None when none came in time or the client left
    notice  -> one frame for many clients, nothing comes back
    oneway  -> frame, nothing comes back

Rule: the broker counts its own opaques on each connection; they never meet the client's. A
notice has opaque 0 for everybody, since nobody answers it and the frame is made once.
Such requests are always JSON, whatever the client uses, as Java sends them.

Source: broker/client/net/Broker2Client.java.
"""

from collections.abc import Callable

from remoting.aio.server import ServerConn
from remoting.codes import FLAG_ONEWAY
from remoting.command import Command
from remoting.conn import PendingRequests
from remoting.frame import encode_frame

Answered = Callable[[Command | None], None]
"""Told the client's answer, or None when none will come."""


def notice(command: Command) -> bytes:
    """Return the frame of a request that many clients get and none of them answers."""
    command.flag |= FLAG_ONEWAY
    return encode_frame(command)


def tell(conn: ServerConn, frame: bytes) -> None:
    """Send a client the frame of a notice."""
    if not conn.is_closing:
        conn.send(frame)


class ClientCalls:
    """The requests of one broker that wait for a client."""

    def __init__(self) -> None:
        self._pending: dict[ServerConn, PendingRequests[Answered]] = {}

    def call(
        self, conn: ServerConn, command: Command, *, deadline_ms: int, answered: Answered
    ) -> None:
        """Ask a client; ``answered`` is called once, at ``deadline_ms`` at the latest."""
        if conn.is_closing:
            answered(None)
            return
        pending = self._pending.get(conn)
        if pending is None:
            pending = self._pending[conn] = PendingRequests()
        command.opaque = pending.add(answered, deadline_ms)
        conn.send_command(command)

    def oneway(self, conn: ServerConn, command: Command) -> None:
        """Tell a client something; nothing comes back."""
        if conn.is_closing:
            return
        pending = self._pending.get(conn)
        if pending is None:
            pending = self._pending[conn] = PendingRequests()
        command.opaque = pending.next_opaque()
        command.flag |= FLAG_ONEWAY
        conn.send_command(command)

    def on_response(self, conn: ServerConn, response: Command) -> None:
        """Take an answer of a client; one that nobody waits for is dropped."""
        pending = self._pending.get(conn)
        answered = None if pending is None else pending.take(response.opaque)
        if answered is not None:
            answered(response)

    def expire(self, now_ms: int) -> None:
        """Give up what was not answered in time."""
        for pending in list(self._pending.values()):
            for answered in pending.expired(now_ms):
                answered(None)

    def drop(self, conn: ServerConn) -> None:
        """Give up everything that waits for a connection that closed."""
        pending = self._pending.pop(conn, None)
        if pending is not None:
            for answered in pending.drain():
                answered(None)
