"""The filter servers of one broker: separate processes through which consumers pull.

    301 with an address, from this machine or an admin ─> listed, registered with name servers
    its connection closed, or 30 s without another 301 ─> removed

Rule: an address is listed as long as the connection that registered it is open and not silent.

Source: broker/filtersrv/FilterServerManager.java (4.9.7, whose processes are those of 4.2).
"""

from typing import Final

from remoting.aio.server import ServerConn

SILENCE_MS_MAX: Final = 30_000
COUNT_MAX: Final = 64


class FilterServers:
    """The addresses of the filter servers, by the connection that registered each one."""

    def __init__(self) -> None:
        self._seen: dict[ServerConn, tuple[str, int]] = {}

    def addresses(self) -> list[str]:
        """Return the addresses, sorted."""
        return sorted({address for address, _ in self._seen.values()})

    def register(self, conn: ServerConn, address: str, *, now_ms: int) -> bool:
        """Register an address; return whether the list for the name servers changed."""
        before = self.addresses()
        if conn in self._seen or len(self._seen) < COUNT_MAX:
            self._seen[conn] = (address, now_ms)
        return self.addresses() != before

    def drop(self, conn: ServerConn) -> bool:
        """Remove a connection; return whether it was that of a filter server."""
        return self._seen.pop(conn, None) is not None

    def clock_set(self, step_ms: int) -> None:
        """Shift all times by ``step_ms``, by which the clock was changed."""
        self._seen = {conn: (name, ms + step_ms) for conn, (name, ms) in self._seen.items()}

    def drop_silent(self, now_ms: int) -> bool:
        """Remove filter servers that were silent for too long; return whether there were any."""
        silent = [
            conn for conn, (_, at_ms) in self._seen.items() if now_ms - at_ms > SILENCE_MS_MAX
        ]
        for conn in silent:
            del self._seen[conn]
        return bool(silent)
