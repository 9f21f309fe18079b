"""The event loop a consumer lives in, reached from any thread.

    listener in a thread --> consumer.unsubscribe() --> do(wake) --> the loop's next turn

Rule: what changes a running consumer runs in its loop; methods that are no coroutines may be
called by listeners in threads and by programs that do not await, as in Java.
"""

import asyncio
from collections.abc import Callable

from mqclient.errors import BadRequest


class OwnLoop:
    """The loop of one consumer; none before ``enter``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        """Belong to the running loop from now on."""
        self._loop = asyncio.get_running_loop()

    def do(self, work: Callable[[], object]) -> None:
        """Do it: now where that is the consumer's thread, else in the loop's next turn.

        Raises:
            BadRequest: the loop has ended.
        """
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if self._loop is None or self._loop is running:
            work()
            return
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError as error:
            raise BadRequest(f"the consumer's event loop has ended: {error}") from error
