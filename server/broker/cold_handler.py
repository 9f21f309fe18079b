"""Handlers that read from the log, so that the loop never waits for a disk in them.

    @reads_cold  handler ── all in the page cache ──> answered at once
                         └ ColdRead ─ thread reads it ─ loop ────> handler again

    beside_reads a gate that reads what it judges is part of the handler, and read likewise
    each(reads)  many reads that do not need each other, in slices: what is cold of a slice is read
                 at once

Rule: such a handler changes nothing before its last read, so that it may begin again. A
handler that is called again answers by ``reply``, errors as the dispatcher does: code 1.
"""

import logging
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import count, islice
from typing import Final, TypeVar

from remoting.codes import ResponseCode
from remoting.command import Command
from server.broker.acl.rules import READS_LOG
from server.broker.state import Broker
from server.runtime.registry import Handlers
from server.runtime.request import Request, RequestRefused
from server.runtime.slices import Steps
from server.store.disk.nowait import ColdRead, may_wait, no_wait

LOG = logging.getLogger(__name__)

Handler = Callable[[Broker, Request], Command | None]
Gate = Callable[[Request], None]
_T = TypeVar("_T")
READS_PER_SLICE: Final = 32


def reads_cold(handler: Handler) -> Handler:
    """Return ``handler`` so that it is called again when what it reads is in memory."""

    def attempt(broker: Broker, request: Request, tries: int) -> Command | None:
        try:
            with no_wait(tries < broker.cold.tries_max):
                return handler(broker, request)
        except ColdRead as cold:
            broker.cold.warm(cold, lambda at_ms: again(broker, request, tries + 1, at_ms))
            return None

    def again(broker: Broker, request: Request, tries: int, now_ms: int) -> None:
        # As if it had come now: what it stores is younger than what others stored meanwhile.
        request.now_ms = now_ms
        try:
            answer = attempt(broker, request, tries)
        except RequestRefused as refused:
            answer = request.command.response(refused.code, remark=refused.remark)
        except Exception as error:
            LOG.exception("request code %d after a cold read", request.command.code)
            answer = request.command.response(ResponseCode.SYSTEM_ERROR, remark=str(error))
        if answer is not None:
            request.reply(answer)

    @wraps(handler)
    def first(broker: Broker, request: Request) -> Command | None:
        return attempt(broker, request, 0)

    return first


def _behind(gate: Gate, handler: Callable[..., object]) -> Handler:
    @reads_cold
    def judged(broker: Broker, request: Request) -> Command | None:
        gate(request)
        with may_wait():
            answer = handler(broker, request)
        return answer if isinstance(answer, Command) else None

    return judged


def beside_reads(gate: Gate, found: Handlers) -> tuple[Gate, Handlers]:
    """Return a gate that never waits for a disk, and the handlers behind it.

    A request whose message the gate has to read is judged as part of its handler, which a
    cold read begins again.
    """

    def judge(request: Request) -> None:
        if request.command.code not in READS_LOG:
            gate(request)

    judged = {code: _behind(gate, found.ordinary[code]) for code in READS_LOG}
    # Every request is looked at, so none goes to those who take undecoded frames.
    return judge, Handlers({**found.ordinary, **judged}, {})


def each(broker: Broker, reads: Iterable[Callable[[], _T]]) -> Steps[list[_T]]:
    """Return what each read gives, in order; for a handler that is done in slices.

    What is cold of a slice is read at once, by a thread.
    """
    found: list[_T] = []
    waiting = iter(reads)
    while part := list(islice(waiting, READS_PER_SLICE)):
        for tries in count():
            results: list[_T] = []
            with no_wait(tries < broker.cold.tries_max):
                cold = _read(part, results)
            if cold is None:
                break
            broker.cold.count += 1
            yield cold.warm
        found += results
        if len(part) == READS_PER_SLICE:
            yield None
    return found


def _read(reads: Iterable[Callable[[], _T]], results: list[_T]) -> ColdRead | None:
    """Add what each read gives; return what is cold of all of them."""
    cold: ColdRead | None = None
    for read in reads:
        try:
            results.append(read())
        except ColdRead as error:
            if cold is None:
                cold = error
            else:
                cold.join(error)
    return cold
