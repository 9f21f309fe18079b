"""The event loop of a server, which polls the sockets once per turn.

    poll ── callbacks of what was read ── (no poll) ── the turn's commit ── poll …

Rule: asyncio polls between any two rounds of callbacks. The work that a read schedules for the
end of its turn has to run before anything else is read, so a poll between the two would be
useless. The selector answers it with "nothing ready" without asking the system, but never twice
in a row, so that sockets are polled however many callbacks there are. A long callback may ask
whether a socket is waiting.
"""

import asyncio
import select
import selectors


class TurnSelector(selectors.DefaultSelector):
    """The system's selector, which skips the poll directly after one that found something."""

    def __init__(self) -> None:
        super().__init__()
        self._found = False
        self._peek = select.poll()
        self._peek.register(self.fileno(), select.POLLIN)

    def is_waited_for(self) -> bool:
        """Tell whether a socket is ready; the next ``select`` still reports it."""
        return bool(self._peek.poll(0))

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; nothing if ``timeout`` is 0 and the last call found something."""
        if timeout == 0 and self._found:
            self._found = False
            return []
        ready = super().select(timeout)
        self._found = bool(ready)
        return ready


class ServerLoop(asyncio.SelectorEventLoop):
    """The event loop of a server."""

    def __init__(self) -> None:
        selector = TurnSelector()
        super().__init__(selector)
        self.is_waited_for = selector.is_waited_for


def new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop for a server."""
    return ServerLoop()
