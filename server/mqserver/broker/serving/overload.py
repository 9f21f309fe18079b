"""Flow control: refuse sends at once when too much waits, so that no queue grows without bound.

    waiting for the disk  >= sendThreadPoolQueueCapacity messages, or an
                          eighth of inFlightSizeMax, at most 64 MiB         -> [OVERLOAD]
    a log write           takes waitTimeMillsInSendQueue: what is sent now
                          would wait longer                                 -> [TIMEOUT_CLEAN_QUEUE]
    a log write or a sync takes longer than osPageCacheBusyTimeOutMills     -> [REJECTREQUEST]

Rule: a refused send gets code 2 and Java's text. The state is evaluated once a turn, and when a
write or sync ends, by comparing integers; a send only looks at ``refusal``. Messages that were
accepted before are acknowledged when the disk has them. All states end with the write or sync.

Source: broker/latency/BrokerFastFailure.java, remoting/netty/NettyRemotingAbstract.java
#processRequestCommand, store/DefaultMessageStore.java#isOSPageCacheBusy.
"""

from typing import Final

from mqserver.store.store import MessageStore

_CONTROL: Final = "start flow control for a while"
TOO_MUCH_WAITS: Final = f"[OVERLOAD]system busy, {_CONTROL}"
DISK_IS_BUSY: Final = f"[REJECTREQUEST]system busy, {_CONTROL}"


class Overload:
    """Decides whether one broker accepts sends at the moment.

    Args:
        count_max: messages that may wait for the disk.
        size_max: bytes of log that may wait for it.
        busy_ms: how long one write or sync may take.
        stale_ms: how long a write may delay the sends after it; None for any time.
    """

    def __init__(
        self, *, count_max: int, size_max: int, busy_ms: int, stale_ms: int | None
    ) -> None:
        self.refusal = ""
        """The remark of the refusal of a send that comes now; empty when sends are accepted."""
        self._count_max = count_max
        self._size_max = size_max
        self.busy_ms = busy_ms
        self.stale_ms = stale_ms

    def judge(self, *, waiting_count: int, waiting_size: int, sync_ms: int, write_ms: int) -> None:
        """Decide by what waits for the disk whether sends are refused.

        Args:
            waiting_count: messages that wait.
            waiting_size: bytes of log that wait.
            sync_ms: how long the running sync has taken so far; 0 when none runs.
            write_ms: how long the running log write has taken so far; 0 when none runs.
        """
        if max(sync_ms, write_ms) > self.busy_ms:
            self.refusal = DISK_IS_BUSY
        elif waiting_count >= self._count_max or waiting_size >= self._size_max:
            self.refusal = TOO_MUCH_WAITS
        elif self.stale_ms is not None and write_ms >= self.stale_ms:
            self.refusal = (
                f"[TIMEOUT_CLEAN_QUEUE]broker busy, {_CONTROL}, "
                f"period in queue: {write_ms}ms, size of queue: {waiting_count}"
            )
        else:
            self.refusal = ""


def store_refusal(store: MessageStore, why: str) -> str:
    """Return the remark of code 14: the real reason, then Java's text with the disk's ratios.

    Java's text only lists possible reasons, and names a full disk first in every case.
    """

    used = store.cleaner.disk_used()
    return (
        f"{why}; service not available now. It may be caused by one of the following reasons: the "
        f"broker's disk is full [CL: {used:5.2f} CQ: {used:5.2f} INDEX: {used:5.2f}], messages "
        f"are put to the slave, message store has been shut down, etc."
    )
