"""The event loop of a server: uvloop's, or asyncio's own with fewer polls.

    uvloop      if it is installed (the extra ``fast``): sockets and timers in C
    ServerLoop  if it is not, or if ``MQ_PURE`` is set; the reference

    poll ── callbacks of what was read ── (no poll) ── the turn's commit ── poll …

Rule: servers use only what both loops have. Work that a read schedules for the end of its turn has
to run before anything else is read, so a poll between the two would be useless. uvloop does not
poll there. asyncio polls between any two rounds of callbacks; the selector of ``ServerLoop``
answers it with "nothing ready" without asking the system, but never twice in a row, so that
sockets are polled however many callbacks there are.
"""

import asyncio
import os
import select
import selectors
from collections.abc import Callable, Coroutine
from typing import TypeVar, cast

from storefmt.kernels import PURE

try:
    import uvloop
except ImportError:
    uvloop = None

T = TypeVar("T")


class TurnSelector(selectors.DefaultSelector):
    """The system's selector, which skips the poll right after one that found something."""

    def __init__(self) -> None:
        super().__init__()
        self._found = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready; nothing if ``timeout`` is 0 and the last call found something."""
        if timeout == 0 and self._found:
            self._found = False
            return []
        ready = super().select(timeout)
        self._found = bool(ready)
        return ready


class ServerLoop(asyncio.SelectorEventLoop):
    """The event loop of a server where uvloop is not used."""

    def __init__(self) -> None:
        selector = TurnSelector()
        super().__init__(selector)
        self.poll_fd = selector.fileno()
        """A descriptor that is readable while a socket is ready."""


def new_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop for a server."""
    return ServerLoop() if _is_plain() else uvloop.new_event_loop()


def run(main: Coroutine[object, object, T]) -> T:
    """Run a coroutine in such a loop, as ``asyncio.run`` does, and return its result."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(main)


def loop_name(loop: asyncio.AbstractEventLoop | None = None) -> str:
    """Return the name and version of a loop, or of the loop that ``new_loop`` would make."""
    is_plain = _is_plain() if loop is None else not _is_of_uvloop(loop)
    return "asyncio" if is_plain else f"uvloop {uvloop.__version__}"


def waits_of(loop: asyncio.AbstractEventLoop) -> Callable[[], bool]:
    """Return a function that tells a long callback whether a socket of ``loop`` is ready.

    The loop still finds that socket at its next poll. The sockets of any other kind of loop cannot
    be asked, so the function returns False for it.
    """
    if isinstance(loop, ServerLoop):
        poll_fd = loop.poll_fd
    elif _is_of_uvloop(loop):
        # libuv documents it for this use; uvloop passes it on for its own tests.
        poll_fd = cast(uvloop.Loop, loop)._get_backend_id()
    else:
        return lambda: False
    peek = select.poll()
    peek.register(poll_fd, select.POLLIN)
    return lambda: bool(peek.poll(0))


def _is_plain() -> bool:
    return uvloop is None or bool(os.environ.get(PURE))


def _is_of_uvloop(loop: asyncio.AbstractEventLoop) -> bool:
    return uvloop is not None and isinstance(loop, uvloop.Loop)
