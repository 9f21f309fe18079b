"""Run handlers that read from the log without blocking the loop on the disk.

    @reads_cold  handler ── all in the page cache ──> answered at once
                         └ ColdRead ─ a thread reads it ─ loop ──> the handler is called again

    check_with_handler     the check of a request reads the log, so it runs with the handler
    read_in_slices(read)   one read of a handler that runs in slices
    read_each(reads)       many independent reads; a thread reads all that is cold in a slice

Rule: such a handler changes nothing before its last read, so that it can be called again. After a
cold read an error is answered with code 1, as by the dispatcher.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial, wraps
from itertools import count, islice
from typing import Final, TypeVar

from mqserver.broker.acl.rules import READS_LOG
from mqserver.broker.state import Broker
from mqserver.runtime.registry import Handlers
from mqserver.runtime.request import Request, RequestRefused
from mqserver.runtime.slices import Steps, Wait
from mqserver.store.disk.nowait import ColdRead, may_wait, no_wait
from remoting.codes import ResponseCode
from remoting.command import Command

LOG = logging.getLogger(__name__)

Handler = Callable[[Broker, Request], Command | None]
Gate = Callable[[Request], None]
_T = TypeVar("_T")
READS_PER_SLICE: Final = 32


def reads_cold(handler: Handler) -> Handler:
    """Wrap ``handler`` so that after a cold read it is called again."""

    @wraps(handler)
    def first(broker: Broker, request: Request) -> None:
        def attempt(now_ms: int, may_wait: bool) -> None:
            # The request counts as received now, so that store times stay in the order of the log.
            request.now_ms = now_ms
            with no_wait(not may_wait):
                answer = handler(broker, request)
            if answer is not None:
                request.reply(answer)

        broker.cold.with_disk(
            attempt,
            request.now_ms,
            peer=request.conn,
            # What a request brought counts as in flight for its peer until it is answered.
            size=request.held_size,
            failed=partial(_answer_fault, request),
            # Its client need not wait for it: a producer may decide on a transaction and leave.
            needs_peer=False,
        )

    return first


def _answer_fault(request: Request, error: Exception) -> None:
    """Answer an error after a cold read, as the dispatcher answers one before it."""
    if isinstance(error, RequestRefused):
        code, remark = error.code, error.remark
    else:
        LOG.error("request code %d after a cold read", request.command.code, exc_info=error)
        code, remark = ResponseCode.SYSTEM_ERROR, str(error)
    request.reply(request.command.response(code, remark=remark))


def _behind(gate: Gate, handler: Callable[..., object]) -> Handler:
    @reads_cold
    def judged(broker: Broker, request: Request) -> Command | None:
        gate(request)
        with may_wait():
            answer = handler(broker, request)
        return answer if isinstance(answer, Command) else None

    return judged


def check_with_handler(gate: Gate, handlers: Handlers) -> tuple[Gate, Handlers]:
    """Return a gate that never waits for the disk, and the handlers to use with it.

    If the gate has to read a message to check a request, the check runs as part of the handler,
    so that it is repeated after a cold read.

    Args:
        gate: raises RequestRefused for a request that is not allowed.
        found: the handlers, by request code.
    """

    def judge(request: Request) -> None:
        if request.command.code not in READS_LOG:
            gate(request)

    judged = {code: _behind(gate, handlers.ordinary[code]) for code in READS_LOG}
    return judge, Handlers({**handlers.ordinary, **judged}, handlers.raw)


def read_in_slices(broker: Broker, read: Callable[[], _T]) -> Steps[_T]:
    """Return the result of a read, for a handler that runs in slices."""
    for tries in count():
        try:
            with no_wait(tries < broker.cold.tries_max):
                return read()
        except ColdRead as cold:
            wait = Wait(partial(broker.cold.warm, cold))
        yield wait
    raise AssertionError("unreachable")


def read_each(broker: Broker, reads: Iterable[Callable[[], _T]]) -> Steps[list[_T]]:
    """Return the result of each read, in order, for a handler that runs in slices."""
    values: list[_T] = []
    waiting = iter(reads)
    while part := list(islice(waiting, READS_PER_SLICE)):
        values += yield from read_in_slices(broker, partial(read_all, part))
        if len(part) == READS_PER_SLICE:
            yield None
    return values


def read_all(reads: Iterable[Callable[[], _T]]) -> list[_T]:
    """Return the result of each read, in order.

    Raises:
        ColdRead: some are not in the page cache; it warms all of them.
    """
    results: list[_T] = []
    cold: ColdRead | None = None
    try:
        for read in reads:
            try:
                results.append(read())
            except ColdRead as error:
                if cold is None:
                    cold = error
                else:
                    cold.join(error)
    except BaseException:
        if cold is not None:
            cold.drop()
        raise
    if cold is not None:
        raise cold
    return results
