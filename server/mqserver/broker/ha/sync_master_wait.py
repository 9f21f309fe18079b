"""SYNC_MASTER: an answer leaves when both the disk and a slave have its message.

    end of a turn ── await_slaves ──> links.wait(end of the log)    disk's answer ──> HeldSink.send
                                      └─ 0, no slave 11, timeout 12 ──────┴─> connection

Rule: an answer waits for disk and slave at the same time. The code of the wait for the
slave replaces that of the disk, as in Java. A message that is not stored is refused in any case.

Source: store/CommitLog.java#asyncPutMessage (thenCombine), #submitReplicaRequest.
"""

import logging
from functools import partial

from mqserver.broker.ha.links import Links
from mqserver.broker.serving.answers import with_code
from mqserver.broker.serving.group_commit import Ack, Done, Sink
from remoting.codes import ResponseCode

LOG = logging.getLogger(__name__)


class _HeldTurn:
    """The answers of one turn, which wait until a slave has reached the same log offset."""

    def __init__(self) -> None:
        self._code: ResponseCode | None = None
        self._held: list[tuple[Sink, bytes]] = []
        self._held_done: list[Done] = []

    def send(self, sink: Sink, frame: bytes) -> None:
        """Keep the answer that the disk allows to leave, or send it if the slave's wait is over."""
        if self._code is None:
            self._held.append((sink, frame))
        elif self._code is ResponseCode.SUCCESS:
            sink.send(frame)
        else:
            sink.send(with_code(frame, self._code))

    def finish(self, done: Done, code: ResponseCode) -> None:
        """Call back with the disk's code, or keep the call until the slave's wait is over."""
        if code is not ResponseCode.SUCCESS:
            done(code)
        elif self._code is None:
            self._held_done.append(done)
        else:
            done(self._code)

    def end(self, code: ResponseCode) -> None:
        """Send the answers that were kept; a code other than SUCCESS replaces theirs."""
        self._code = code
        calls, self._held_done = self._held_done, []
        for done in calls:
            try:
                done(code)
            except Exception:
                LOG.exception("a callback that waited for a slave failed; the others go on")
        held, self._held = self._held, []
        for sink, frame in held:
            try:
                self.send(sink, frame)
            except Exception:
                LOG.exception(
                    "could not send an answer that waited for a slave; sending the others"
                )


class HeldSink:
    """Takes the place of the connection of one answer."""

    __slots__ = ("_sink", "_turn")

    def __init__(self, sink: Sink, turn: _HeldTurn) -> None:
        self._sink = sink
        self._turn = turn

    def send(self, frame: bytes) -> None:
        """Send the frame when the wait for a slave is over."""
        self._turn.send(self._sink, frame)


def await_slaves(
    links: Links, acks: list[Ack], *, begin: int, log_end: int, now_ms: int
) -> list[Ack]:
    """Return the answers of one turn with sinks that also wait for a slave.

    Args:
        links: the slaves.
        acks: the answers.
        begin: log offset at which the messages of the turn begin.
        log_end: log offset that a slave has to reach.
        now_ms: the slave's timeout counts from here.
    """
    turn = _HeldTurn()
    held: list[Ack] = [
        (HeldSink(sink, turn), answers, opaques, serialize)
        for sink, answers, opaques, serialize in acks
    ]
    links.wait(log_end, turn.end, begin=begin, now_ms=now_ms)
    return held


def hold_done(
    links: Links, calls: list[Done], *, begin: int, log_end: int, now_ms: int
) -> list[Done]:
    """Return callbacks that also wait for the slaves; see ``await_slaves``."""
    turn = _HeldTurn()
    links.wait(log_end, turn.end, begin=begin, now_ms=now_ms)
    return [partial(turn.finish, done) for done in calls]
