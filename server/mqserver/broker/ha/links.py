"""The connected slaves of a master, and the messages that wait for them (SYNC_MASTER).

    connected ──first report──> SENDING ──report──> acknowledged up to that log offset
        │                          └── a report beyond what was sent, or backwards: closed
        └── the first report is beyond the master's log: closed, the slave has another log

Rule: this module has no socket and no clock of its own. A slave counts only for bytes that were
sent to it on this connection and that it acknowledged. Its first report does not count, because
any client could send it. A message waits for the slave that has acknowledged the most.

Source: store/ha/HAService.java (isSlaveOK, notifyTransferSome, GroupTransferService),
store/ha/HAConnection.java#ReadSocketService (which takes any first report).
"""

from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from mqserver.broker.config import BrokerConfig
from mqserver.broker.ha.frames import BadStream
from remoting.codes import ResponseCode


class LinkState(Enum):
    """The state of a slave's connection."""

    SILENT = auto()
    """It has not reported where it wants to begin."""
    SENDING = auto()


Done = Callable[[ResponseCode], None]
"""Called with SUCCESS when a slave has the bytes, else with SLAVE_NOT_AVAILABLE (none is connected,
or all are more than ``haSlaveFallbehindMax`` bytes behind) or FLUSH_SLAVE_TIMEOUT."""


class SlaveLink:
    """One connection of a slave.

    Args:
        address: ``ip:port``, for logs.
        now_ms: when it connected.
    """

    def __init__(self, address: str, *, now_ms: int) -> None:
        self.address = address
        self.state = LinkState.SILENT
        self.sent_offset = 0
        """Log offset up to which bytes were sent."""
        self.acked_offset = 0
        """Log offset of its last report."""
        self.confirmed_offset = 0
        """The same, once it has acknowledged bytes of this connection; 0 until then."""
        self.heard_ms = now_ms

    def reported(self, log_offset: int, *, log_min: int, log_end: int, last_file: int) -> None:
        """Handle a report.

        Args:
            log_offset: the reported log offset.
            log_min: first log offset that the master still has.
            log_end: end of what the master has written.
            last_file: log offset at which the last file starts.

        Raises:
            BadStream: the report does not fit this log or what was sent; close the
                connection.
        """
        if self.state is LinkState.SILENT:
            if not 0 <= log_offset <= log_end:
                raise BadStream(
                    f"it has {log_offset} bytes of a log that has {log_end} here, so it has a "
                    "different log"
                )
            start = log_offset or last_file
            if start < log_min:
                raise BadStream(
                    f"it asks for log offset {start}, but the log begins at {log_min}; start it "
                    "again with an empty store"
                )
            self.state = LinkState.SENDING
            self.sent_offset = start
        elif not self.acked_offset <= log_offset <= self.sent_offset:
            raise BadStream(
                f"it acknowledges {log_offset} after {self.acked_offset}, but was sent "
                f"{self.sent_offset}"
            )
        elif log_offset > self.acked_offset:
            self.confirmed_offset = log_offset
        self.acked_offset = log_offset


class _WaitingTurn(NamedTuple):
    begin: int
    log_offset: int
    deadline_ms: int
    done: Done


class Links:
    """All slaves of one master.

    Args:
        config: says how far behind a slave may be so that messages still wait for it
            (haSlaveFallbehindMax), and how long they wait (slaveTimeout).
    """

    def __init__(self, config: BrokerConfig) -> None:
        self.links: list[SlaveLink] = []
        self._config = config
        self._waiting: deque[_WaitingTurn] = deque()

    @property
    def acked_offset(self) -> int:
        """Highest log offset that a connected slave has reported."""
        return max((link.acked_offset for link in self.links), default=0)

    @property
    def confirmed_offset(self) -> int:
        """Highest log offset up to which a slave has acknowledged bytes of its connection."""
        return max((link.confirmed_offset for link in self.links), default=0)

    @property
    def waiting_count(self) -> int:
        """How many calls of ``wait`` are not answered yet."""
        return len(self._waiting)

    def answered_offset(self, log_end: int) -> int:
        """Return the log offset below which no message waits for a slave any more."""
        return self._waiting[0].begin if self._waiting else log_end

    def has_near(self, log_offset: int) -> bool:
        """Return whether a connected slave is near enough to a log offset to be waited for."""
        behind_max = self._config.ha_slave_fallbehind_max
        return bool(self.links) and log_offset - self.acked_offset < behind_max

    def wait(self, log_offset: int, done: Done, *, begin: int, now_ms: int) -> None:
        """Call ``done`` when a slave has all bytes below ``log_offset``, or after the timeout.

        Args:
            log_offset: end of the messages that wait; it rises from call to call.
            done: called with the code, perhaps at once.
            begin: log offset at which these messages begin.
            now_ms: the timeout counts from here.
        """
        if not self.has_near(log_offset):
            done(ResponseCode.SLAVE_NOT_AVAILABLE)
        elif self.confirmed_offset >= log_offset:
            done(ResponseCode.SUCCESS)
        else:
            self._waiting.append(
                _WaitingTurn(begin, log_offset, now_ms + self._config.slave_timeout_ms, done)
            )

    def settle(self) -> int:
        """Answer the waits that a slave has caught up with; return how many."""
        acked, count = self.confirmed_offset, 0
        while self._waiting and self._waiting[0].log_offset <= acked:
            self._waiting.popleft().done(ResponseCode.SUCCESS)
            count += 1
        return count

    def expire(self, now_ms: int) -> int:
        """Answer the waits whose time is over with FLUSH_SLAVE_TIMEOUT; return how many."""
        count = 0
        while self._waiting and self._waiting[0].deadline_ms <= now_ms:
            self._waiting.popleft().done(ResponseCode.FLUSH_SLAVE_TIMEOUT)
            count += 1
        return count

    def close(self) -> None:
        """Answer every wait with FLUSH_SLAVE_TIMEOUT, because nothing is sent any more."""
        while self._waiting:
            self._waiting.popleft().done(ResponseCode.FLUSH_SLAVE_TIMEOUT)
