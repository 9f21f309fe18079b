"""The filter servers of one broker: processes of their own that consumers pull through.

    301 with an address, from this machine or by an admin ─> listed, told to the name servers
    its connection closed, or 30 s without another 301 ───> taken off

Rule: an address is listed as long as the connection that named it lives and speaks.

Source: broker/filtersrv/FilterServerManager.java (4.9.7, whose processes are those of 4.2).
"""

from typing import Final

from remoting.aio.server import ServerConn

SILENCE_MS_MAX: Final = 30_000
COUNT_MAX: Final = 64


class FilterServers:
    """The addresses of the filter servers, each with the connection that named it."""

    def __init__(self) -> None:
        self._seen: dict[ServerConn, tuple[str, int]] = {}

    def addresses(self) -> list[str]:
        """Return the addresses, sorted."""
        return sorted({address for address, _ in self._seen.values()})

    def register(self, conn: ServerConn, address: str, *, now_ms: int) -> bool:
        """List an address; return whether that changed what name servers have to be told."""
        before = self.addresses()
        if conn in self._seen or len(self._seen) < COUNT_MAX:
            self._seen[conn] = (address, now_ms)
        return self.addresses() != before

    def drop(self, conn: ServerConn) -> bool:
        """Forget a connection; return whether it was that of a filter server."""
        return self._seen.pop(conn, None) is not None

    def clock_set(self, step_ms: int) -> None:
        """Let nobody seem silent because the clock was set by ``step_ms``."""
        self._seen = {conn: (name, ms + step_ms) for conn, (name, ms) in self._seen.items()}

    def drop_silent(self, now_ms: int) -> bool:
        """Forget those that were silent too long; return whether there were any."""
        silent = [
            conn for conn, (_, at_ms) in self._seen.items() if now_ms - at_ms > SILENCE_MS_MAX
        ]
        for conn in silent:
            del self._seen[conn]
        return bool(silent)
