"""One event loop in a thread of its own, for commands that ask several things at a time.

    main thread                         loop thread
    run_coroutine(work) ---- begin -->  the coroutine that work() makes
         |  <---- question, result -----   |

The main thread waits on a queue, so that Ctrl-C reaches it and cancels the coroutine, and
so that a command in the loop can have a question asked where standard input belongs. Only
the loop thread makes coroutines: Ctrl-C may come between any two steps of the main thread,
and one made there would be left behind, never awaited.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

T = TypeVar("T")

STOP_WAIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """A function that the loop wants called in the main thread."""

    ask: Callable[[], T]
    answer: "asyncio.Future[T]"


class LoopThread:
    """The loop and its thread, from when it is made to ``stop``."""

    def __init__(self) -> None:
        self._inbox: SimpleQueue[Question[bool] | None] = SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="mqadmin-loop", daemon=True
        )
        self._thread.start()

    def run_coroutine(self, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Run ``work()`` in the loop and return its result; Ctrl-C and SIGTERM cancel it."""
        # Each run has its own queue, because a cancelled one may still report its end.
        inbox = self._inbox = SimpleQueue()
        begun: list[asyncio.Task[T]] = []

        async def run() -> T:
            # An error while creating the coroutine counts as one of the task, because no one else
            # waits for it.
            return await work()

        def begin() -> None:
            begun.append(self._loop.create_task(run()))
            begun[0].add_done_callback(lambda _: inbox.put(None))

        try:
            self._loop.call_soon_threadsafe(begin)
            while (question := inbox.get()) is not None:
                said = question.ask()
                self._loop.call_soon_threadsafe(_settle, question.answer, said)
        except (KeyboardInterrupt, SystemExit):
            # Runs after ``begin`` in the loop, wherever Ctrl-C came in between.
            self._loop.call_soon_threadsafe(_cancel, begun)
            raise
        return begun[0].result()

    def submit(self, work: Coroutine[None, None, T]) -> "Future[T]":
        """Start ``work`` in the loop and return at once."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def ask_in_main_thread(self, question: Callable[[], bool]) -> bool:
        """Have ``question`` called in the main thread; for coroutines inside ``run_coroutine``."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._inbox.put(Question(question, answer))
        return await answer

    def stop(self, last: Coroutine[None, None, None]) -> None:
        """Cancel what still runs, run ``last``, and end the thread."""
        closing = self.submit(_alone(last))
        try:
            closing.result(STOP_WAIT_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_WAIT_S)
            self._loop.close()


async def _alone(last: Coroutine[None, None, None]) -> None:
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await last


def _cancel(begun: "list[asyncio.Task[T]]") -> None:
    for task in begun:
        # The caller no longer waits for it, so its error is not an error of the program.
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        task.cancel()


def _settle(answer: "asyncio.Future[bool]", said: bool) -> None:
    if not answer.done():
        answer.set_result(said)
