"""Runs long requests in slices so that none of them blocks the event loop.

    handler ── first slice ── the handler ended ────────────────> answered immediately
                     ├─ yield ── other work ── next slice ─ … ──> answered later
                     └─ yield from in_thread(work) ── next slice ─ …

    @handles(RequestCode.GET_ALL_TOPIC_CONFIG)
    @in_slices
    def get_all_topics(broker: Broker, request: Request) -> Steps[Command]:
        table = broker.topics.table()
        return request.command.response(body=(yield from large(table.encode, count=len(table))))

Rule: such a handler is a generator that yields after each bounded piece of work; what it reads
may have changed when it continues. One slice runs per turn of the event loop, and the requests
in slices take turns. A thread gets only work that converts values to bytes or bytes to values;
the interpreter lets the event loop run every millisecond. A failure is answered as the
dispatcher answers one.

Source: our own; a Java broker has thread pools for each kind of request.
"""

import asyncio
import logging
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Final, NamedTuple, Protocol, TypeVar

from mqserver.runtime.request import Request, RequestRefused
from remoting.codes import ResponseCode
from remoting.command import Command
from storefmt.config import fastjson

LOG = logging.getLogger(__name__)

RUNNING_COUNT_MAX: Final = 256
"""Most requests that may run in slices; further ones are refused with SYSTEM_BUSY."""
SMALL_COUNT: Final = 128
"""Most values that are converted to bytes without a thread."""
SMALL_SIZE: Final = 4_096
"""Most bytes that are converted to values without a thread."""

_END: Final = object()
T = TypeVar("T")


class Wait(NamedTuple):
    """A wait before the next slice that occupies no thread."""

    begin: Callable[[Callable[[int], object]], object]
    """Begins the wait; its argument is a function to call with ``now_ms`` when the wait is over."""


Step = Callable[[], object] | Wait | None
"""Work for a thread before the next slice, or a wait; None for neither."""
Steps = Generator[Step, None, T]


def in_thread(work: Callable[[], T]) -> Steps[T]:
    """Run ``work`` in a thread, and return its result or raise its error."""
    results: list[T] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            _clear_frames(error)
            raise

    yield run
    return results[0]


def _clear_frames(error: BaseException) -> None:
    """Free the local variables of the failed calls here, since freeing them may take long."""
    below: BaseException | None = error
    while below is not None:
        traceback.clear_frames(below.__traceback__)
        below = below.__cause__ or below.__context__


def large(work: Callable[[], T], *, count: int = 0, size: int = 0) -> Steps[T]:
    """Return the result of ``work``, which runs in a thread if its input is large.

    Args:
        work: converts values to bytes or bytes to values.
        count: number of values it converts.
        size: number of bytes it converts.
    """
    if count <= SMALL_COUNT and size <= SMALL_SIZE:
        return work()
    return (yield from in_thread(work))


def decoded(decode: Callable[[bytes], T], body: bytes) -> Steps[T]:
    """Return what ``decode`` makes of the body of a request, in a thread if the body is large."""
    return (yield from large(partial(decode, body), size=len(body)))


def chunks(values: Sequence[T], count: int) -> Generator[Sequence[T], None, None]:
    """Yield ``values`` in chunks of ``count``; the last one may be shorter."""
    for begin in range(0, len(values), count):
        yield values[begin : begin + count]


class Slices:
    """The requests of one server that run in slices."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._worker: ThreadPoolExecutor | None = None
        self._ready: deque[Callable[[], None]] = deque()
        self._running_count = 0

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this event loop from now on; before that, requests run to their end at once."""
        self._loop = loop
        self._worker = ThreadPoolExecutor(1, "long-requests", initializer=fastjson.be_patient)

    def close(self) -> None:
        """Wait for the thread; requests that are still in slices get no answer."""
        worker, self._worker = self._worker, None
        self._ready.clear()
        if worker is not None:
            worker.shutdown(cancel_futures=True)

    def begin(self, steps: Steps[Command | None], request: Request) -> Command | None:
        """Run the first slice; return the answer, or None if it comes later or not at all.

        Raises:
            RequestRefused: too many requests are in slices, or the handler refuses.
        """
        if self._running_count >= RUNNING_COUNT_MAX:
            remark = f"[REJECTREQUEST]{RUNNING_COUNT_MAX} long requests are being worked on"
            raise RequestRefused(ResponseCode.SYSTEM_BUSY, remark)
        try:
            while True:
                step = next(steps)
                if self._worker is not None:
                    break
                if callable(step):
                    step()
        except StopIteration as end:
            answer: Command | None = end.value
            return answer
        self._running_count += 1
        # The bytes of a request count as in flight for its peer until it is answered.
        request.conn.count_held(request.held_size)
        self._go_on(steps, request, step)
        return None

    def later(self, piece: Callable[[], None]) -> None:
        """Schedule a bounded piece of work for after other work has had its turn."""
        if self._worker is None or self._loop is None:
            piece()
            return
        self._ready.append(piece)
        if len(self._ready) == 1:
            # A timer runs after the sockets of the same turn.
            self._loop.call_later(0, self._turn)

    def later_all(self, steps: Iterator[None]) -> None:
        """Run all ``steps``, one in each turn of the event loop."""

        def step() -> None:
            if next(steps, _END) is not _END:
                self.later(step)

        if self._worker is None:
            deque(steps, maxlen=0)
        else:
            self.later(step)

    def _turn(self) -> None:
        if self._ready and self._loop is not None:
            piece = self._ready[0]
            try:
                piece()
            finally:
                self._ready.popleft()
                if self._ready:
                    self._loop.call_later(0, self._turn)

    def _go_on(self, steps: Steps[Command | None], request: Request, step: Step) -> None:
        if isinstance(step, Wait):
            step.begin(lambda now_ms: self.later(partial(self._next, steps, request)))
            return
        if step is None or self._worker is None or self._loop is None:
            self.later(partial(self._next, steps, request))
            return
        future = self._loop.run_in_executor(self._worker, step)
        future.add_done_callback(partial(self._ended, steps, request))

    def _ended(
        self, steps: Steps[Command | None], request: Request, future: asyncio.Future[object]
    ) -> None:
        if self._worker is not None and not future.cancelled():
            self.later(partial(self._next, steps, request, future.exception()))

    def _next(
        self,
        steps: Steps[Command | None],
        request: Request,
        error: BaseException | None = None,
    ) -> None:
        command = request.command
        try:
            step = next(steps) if error is None else steps.throw(error)
        except StopIteration as end:
            answer: Command | None = end.value
        except RequestRefused as refused:
            answer = command.response(refused.code, remark=refused.remark)
        except Exception as fault:
            LOG.warning("request code %d of %s", command.code, request.conn, exc_info=fault)
            remark = f"{type(fault).__name__}: {fault}"
            answer = command.response(ResponseCode.SYSTEM_ERROR, remark=remark)
        else:
            self._go_on(steps, request, step)
            return
        self._running_count -= 1
        request.conn.count_held(-request.held_size)
        if answer is not None:
            request.reply(answer)


class HasSlices(Protocol):
    """A server whose handlers may run in slices."""

    @property
    def slices(self) -> Slices: ...


AppT = TypeVar("AppT", bound=HasSlices)
_AnswerT = TypeVar("_AnswerT", Command, Command | None, None)


def in_slices(
    handler: Callable[[AppT, Request], Steps[_AnswerT]],
) -> Callable[[AppT, Request], Command | None]:
    """Return a handler that runs the generator ``handler`` in slices."""

    @wraps(handler)
    def first(app: AppT, request: Request) -> Command | None:
        return app.slices.begin(handler(app, request), request)

    return first
