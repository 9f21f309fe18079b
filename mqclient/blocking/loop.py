"""The event loop of a blocking client, in a thread of its own.

    any thread                    thread of the loop
    call(method, …) ---------->   method(…), awaited when it is a coroutine
         |  <-- result, error --

Any number of threads may call, and each call waits for its own result. A call whose caller no
longer waits (Ctrl-C, a closed client) is cancelled, so that it takes no message.

Rule: no call may wait for ever. A blocking call is refused in the loop's own thread, which it
would stop, and in a forked process, which does not have that thread.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Final, ParamSpec, Self, TypeVar

from mqclient.client.instance import MQClient
from mqclient.errors import BadRequest

_P = ParamSpec("_P")
_T = TypeVar("_T")
_FORK_HINT: Final = (
    "make the client in the worker process: at its first use, or in gunicorn's post_fork, uwsgi's "
    "postfork, celery's worker_process_init, or the initializer of a process pool"
)
_LAST_S: Final = 1.0
"""How long ``close`` waits for the tasks that it cancelled, in seconds."""


class BlockingLoop:
    """A client and the thread of its event loop.

    Args:
        mq: a new client.

    Attributes:
        mq: the same client, for coroutines that ``run`` runs.
    """

    def __init__(self, mq: MQClient) -> None:
        self.mq = mq
        # This lock orders calls and ``close``: an earlier call is cancelled, a later one refused.
        self._gate = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name=f"mqclient-{mq.client_id}", daemon=True
        )
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine of this package in the client's loop; return its result.

        Raises:
            BadRequest: the client is closed, or this is its own loop or a forked process.
            ClientError: whatever the coroutine raises.
        """
        future = self._begin(work)
        try:
            return future.result()
        except CancelledError:
            raise BadRequest("the client was closed meanwhile") from None
        finally:
            future.cancel()

    def call(self, method: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Call a plain function in the client's loop; return its result.

        In the loop's own thread, as in a coroutine listener, it is called at once.

        Raises:
            BadRequest: the client is closed, or this is a forked process.
        """
        if threading.current_thread() is self._thread:
            return method(*args, **kwargs)

        async def called() -> _T:
            return method(*args, **kwargs)

        return self.run(called())

    def begin(
        self, method: Callable[_P, Awaitable[_T]], *args: _P.args, **kwargs: _P.kwargs
    ) -> "Future[_T]":
        """Call a function that returns a future in the client's loop; return one for this thread.

        Raises:
            BadRequest: see ``run``.
        """

        async def called() -> _T:
            return await method(*args, **kwargs)

        return self._begin(called())

    def _begin(self, work: Coroutine[object, object, _T]) -> "Future[_T]":
        if threading.current_thread() is self._thread:
            work.close()
            raise BadRequest(
                "a blocking call inside of the loop of its own client",
                hint="let the listener be a plain function, or await the async client in it",
            )
        with self._gate:
            if self._closed or not self._thread.is_alive():
                work.close()
                if self._closed:
                    raise BadRequest("the client is closed")
                raise BadRequest(
                    "the client was made before a fork, so this process does not have its thread",
                    hint=_FORK_HINT,
                )
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Close all connections and end the thread; a second call does nothing.

        Calls that wait in other threads raise ``BadRequest``.
        """
        with self._gate:
            if self._closed:
                return
            self._closed = True
        if not self._thread.is_alive():
            # This is a forked process, and the connections belong to the other process.
            return
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        await self.mq.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_LAST_S)
