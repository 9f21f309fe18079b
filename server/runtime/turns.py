"""The event loop of a server: one poll of the sockets a turn.

    poll ── callbacks of what was read ── (no poll) ── the turn's commit ── poll …

Rule: asyncio polls between any two rounds of callbacks. What a read schedules for the end
of its turn has to run before anything else is read, so a poll between the two finds no use:
it is answered "nothing" here, once, without asking the system. Never twice in a row, so
that sockets are looked at however many callbacks there are.
"""

import asyncio
import selectors


class TurnSelector(selectors.DefaultSelector):
    """The system's selector, which leaves out the poll right after one that found something."""

    def __init__(self) -> None:
        super().__init__()
        self._found = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; nothing when asked not to wait (0) just after a find."""
        if timeout == 0 and self._found:
            self._found = False
            return []
        ready = super().select(timeout)
        self._found = bool(ready)
        return ready


def new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop for a server."""
    return asyncio.SelectorEventLoop(TurnSelector())
