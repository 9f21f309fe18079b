"""SYNC_MASTER: an answer leaves when both the disk and a slave have its message.

    end of a turn ── hold ──> links.wait(end of the log)     disk's answer ──> HeldAnswers.send
                                   └─ REPLICATED, NO_SLAVE 11, TIMED_OUT 12 ─┴─> connection

Rule: an answer waits for disk and slave at the same time. The code of the slave's outcome
replaces that of the disk, as in Java. A message that is not stored is refused in any case.

Source: store/CommitLog.java#asyncPutMessage (thenCombine), #submitReplicaRequest.
"""

from typing import Final

from remoting.codes import ResponseCode
from server.broker.ha.links import Links, Outcome
from server.broker.serving.answers import with_code
from server.broker.serving.group_commit import Ack, Sink

_CODES: Final = {
    Outcome.NO_SLAVE: ResponseCode.SLAVE_NOT_AVAILABLE,
    Outcome.TIMED_OUT: ResponseCode.FLUSH_SLAVE_TIMEOUT,
}


class _Wait:
    """The answers of one turn, which wait until a slave has reached the same log offset."""

    def __init__(self) -> None:
        self._outcome: Outcome | None = None
        self._held: list[tuple[Sink, bytes]] = []

    def send(self, sink: Sink, frame: bytes) -> None:
        """Keep the answer that the disk allows to leave, or send it if the slave's wait is over."""
        if self._outcome is None:
            self._held.append((sink, frame))
        else:
            sink.send(_told(frame, self._outcome))

    def end(self, outcome: Outcome) -> None:
        """Send the answers that were kept, with the code of the outcome."""
        self._outcome = outcome
        held, self._held = self._held, []
        for sink, frame in held:
            sink.send(_told(frame, outcome))


class HeldAnswers:
    """Takes the place of the connection of one answer."""

    __slots__ = ("_sink", "_wait")

    def __init__(self, sink: Sink, wait: _Wait) -> None:
        self._sink = sink
        self._wait = wait

    def send(self, frame: bytes) -> None:
        """Send the frame when the wait for a slave is over."""
        self._wait.send(self._sink, frame)


def hold(links: Links, acks: list[Ack], *, begin: int, log_end: int, now_ms: int) -> list[Ack]:
    """Return the answers of one turn with sinks that also wait for a slave.

    Args:
        links: the slaves.
        acks: the answers.
        begin: log offset at which the messages of the turn begin.
        log_end: log offset that a slave has to reach.
        now_ms: the slave's timeout counts from here.
    """
    wait = _Wait()
    held: list[Ack] = [
        (HeldAnswers(sink, wait), answers, opaques, serialize)
        for sink, answers, opaques, serialize in acks
    ]
    links.wait(log_end, wait.end, begin=begin, now_ms=now_ms)
    return held


def _told(frame: bytes, outcome: Outcome) -> bytes:
    code = _CODES.get(outcome)
    return frame if code is None else with_code(frame, code)
