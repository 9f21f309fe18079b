"""The event loop of a server: one poll of the sockets a turn.

    poll ── callbacks of what was read ── (no poll) ── the turn's commit ── poll …

Rule: asyncio polls between any two rounds of callbacks. What a read schedules for the end
of its turn has to run before anything else is read, so a poll between the two finds no use:
it is answered "nothing" here, once, without asking the system. Never twice in a row, so
that sockets are looked at however many callbacks there are. Who has much to do in one callback
may ask whether a socket waits for it to end.
"""

import asyncio
import select
import selectors


class TurnSelector(selectors.DefaultSelector):
    """The system's selector, which leaves out the poll right after one that found something."""

    def __init__(self) -> None:
        super().__init__()
        self._found = False
        self._peek = select.poll()
        self._peek.register(self.fileno(), select.POLLIN)

    def is_waited_for(self) -> bool:
        """Tell whether a socket is ready; it stays so for the next ``select``."""
        return bool(self._peek.poll(0))

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; nothing when asked not to wait (0) just after a find."""
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
