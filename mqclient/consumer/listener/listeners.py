"""Listeners: the application's functions that get messages, with their contexts and statuses.

    async def listener(messages, context): ...     runs in the event loop
    def listener(messages, context): ...           runs in a thread

    returns None (no ``return``)     the messages are consumed; in Java, null is a failure
    returns a status                 what the status says, as in Java
    returns anything else, raises    the messages come again, as in Java

Rule: a listener that cannot be called with these two arguments is refused when it is registered.
Nothing that a listener does ends the consumer.

Source: client/consumer/listener/*.java (4.9.7).
"""

import inspect
import logging
import queue
import threading
from asyncio import AbstractEventLoop, Future, current_task, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar

from mqclient.errors import BadRequest
from mqclient.message import MessageExt
from remoting.bodies import MessageQueue

LOG = logging.getLogger(__name__)


class ConsumeConcurrentlyStatus(StrEnum):
    """The status that a concurrent listener returns for a batch."""

    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"


class ConsumeOrderlyStatus(StrEnum):
    """The status that an orderly listener returns; the last two are for ``auto_commit=False``."""

    SUCCESS = "SUCCESS"
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


@dataclass(slots=True)
class ConsumeConcurrentlyContext:
    """The context that a concurrent listener gets with the messages, and may change.

    Attributes:
        queue: the queue that the messages are from.
        ack_index: with CONSUME_SUCCESS, the messages up to this index are consumed, and those
            after it come again.
        delay_level: when failed messages come again: 0 lets the broker choose, above 0 is a
            delay level, below 0 means the dead letter queue (delayLevelWhenNextConsume).
    """

    queue: MessageQueue
    ack_index: int = 2**31 - 1
    delay_level: int = 0


@dataclass(slots=True)
class ConsumeOrderlyContext:
    """The context that an orderly listener gets with the messages, and may change.

    Attributes:
        queue: the queue that the messages are from; no other listener has messages of it now.
        auto_commit: False keeps the messages until a listener returns COMMIT or ROLLBACK.
        suspend_ms: pause of the queue after SUSPEND_CURRENT_QUEUE_A_MOMENT; -1 means the
            consumer's setting (suspendCurrentQueueTimeMillis).
    """

    queue: MessageQueue
    auto_commit: bool = True
    suspend_ms: int = -1


ConcurrentListener = Callable[
    [list[MessageExt], ConsumeConcurrentlyContext],
    ConsumeConcurrentlyStatus | Awaitable[ConsumeConcurrentlyStatus | None] | None,
]
OrderlyListener = Callable[
    [list[MessageExt], ConsumeOrderlyContext],
    ConsumeOrderlyStatus | Awaitable[ConsumeOrderlyStatus | None] | None,
]

_Context = TypeVar("_Context")
_Status = TypeVar("_Status")


def checked_listener(listener: object) -> None:
    """Check that a listener can be called with messages and a context.

    Raises:
        BadRequest: it cannot be called, has other parameters, or is a generator function.
    """
    how = "define it as: def listener(messages, context)"
    if not callable(listener):
        raise BadRequest(f"listener {listener!r} cannot be called", hint=how)
    for call in (listener, type(listener).__call__):
        if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
            raise BadRequest(f"listener {listener!r} is a generator: it must return, not yield")
    try:
        signature = inspect.signature(listener)
    except (TypeError, ValueError):
        # Some functions that are written in C have no signature.
        return
    try:
        signature.bind([], None)
    except TypeError as error:
        raise BadRequest(
            f"listener {listener!r} cannot be called with messages and a context: {error}",
            hint=how,
        ) from error


class ListenerBroke(Exception):
    """A listener raised SystemExit, or a cancellation that the consumer did not ask for."""


class ListenerCaller(Generic[_Context, _Status]):
    """Calls one listener: a coroutine function in the event loop, a plain one in a thread.

    Args:
        listener: the function, or an object with ``__call__``.
        thread_count: how many calls of a plain function may run at a time.
    """

    def __init__(
        self,
        listener: Callable[
            [list[MessageExt], _Context], _Status | Awaitable[_Status | None] | None
        ],
        *,
        thread_count: int,
    ) -> None:
        self._listener = listener
        call = listener if inspect.isroutine(listener) else type(listener).__call__
        self._awaits = inspect.iscoroutinefunction(call)
        self._thread_count = thread_count
        self._threads: ListenerThreads | None = None

    async def call(self, messages: list[MessageExt], context: _Context) -> object:
        """Return what the listener returns, and raise what it raises.

        Raises:
            ListenerBroke: it raised an error that would end a task or the process.
        """
        try:
            if self._awaits:
                return await self._listener(messages, context)  # type: ignore[misc]
            if self._threads is None:
                self._threads = ListenerThreads(self._thread_count)
            # The thread sees the context variables that a hook has set, as a coroutine does.
            call = partial(copy_context().run, self._listener, messages, context)
            answer = await self._threads.call_in_thread(call)
            # A plain function may return an awaitable, as a functools.partial does.
            return await answer if inspect.isawaitable(answer) else answer
        except Exception:
            raise
        except BaseException as error:
            task = current_task()
            if task is not None and task.cancelling():
                # The consumer is being stopped.
                raise
            raise ListenerBroke(f"the listener raised {error!r}") from error

    def resize(self, thread_count: int) -> None:
        """Let ``thread_count`` calls of a plain function run at a time."""
        self._thread_count = thread_count
        if self._threads is not None:
            self._threads.resize(thread_count)

    def close(self) -> None:
        """End the idle threads; a call that hangs keeps its thread, but not the process."""
        if self._threads is not None:
            self._threads.resize(0)


class ListenerThreads:
    """Threads for plain functions, which wake the event loop once for many results.

    ``run_in_executor`` would wake the loop for each result, which costs more than most listeners.
    """

    def __init__(self, count: int) -> None:
        self._work: queue.SimpleQueue[tuple[Future[object], Callable[[], object]] | None]
        self._work = queue.SimpleQueue()
        self._done: deque[tuple[Future[object], object, BaseException | None]] = deque()
        self._is_woken = False
        self._loop: AbstractEventLoop | None = None
        self._count = 0
        self._started_count = 0
        self.resize(count)

    def call_in_thread(self, call: Callable[[], object]) -> "Future[object]":
        """Call a function in a thread; the future belongs to the running loop."""
        if self._loop is None:
            self._loop = get_running_loop()
        result: Future[object] = self._loop.create_future()
        self._work.put((result, call))
        return result

    def resize(self, count: int) -> None:
        """Start threads, or let some end after their current call."""
        for _ in range(self._count, count):
            self._started_count += 1
            threading.Thread(
                target=self._serve, name=f"ConsumeMessageThread_{self._started_count}", daemon=True
            ).start()
        for _ in range(count, self._count):
            self._work.put(None)
        self._count = count

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            future, call = item
            try:
                self._hand_over(future, call(), None)
            except BaseException as error:
                self._hand_over(future, None, error)

    def _hand_over(
        self, future: "Future[object]", result: object, error: BaseException | None
    ) -> None:
        self._done.append((future, result, error))
        # The loop clears the flag before it empties ``_done``, so a result that comes later
        # finds the flag cleared and wakes the loop again.
        if not self._is_woken:
            self._is_woken = True
            loop = self._loop
            assert loop is not None
            try:
                loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                LOG.warning("a listener ended after its event loop; its result is lost")

    def _deliver(self) -> None:
        self._is_woken = False
        while self._done:
            future, result, error = self._done.popleft()
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            elif isinstance(error, StopIteration):
                future.set_exception(RuntimeError("the listener raised StopIteration"))
            else:
                future.set_exception(error)
