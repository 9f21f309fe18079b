"""Overload: when sends are refused at once, so that nothing queues without bound.

    waits for the disk   messages >= sendThreadPoolQueueCapacity, or 64 MiB  -> [OVERLOAD]
    one disk sync        longer than osPageCacheBusyTimeOutMills             -> [REJECTREQUEST]
    one log write        longer than waitTimeMillsInSendQueue: what piled up
                         in the sockets meanwhile is old                    -> [TIMEOUT_CLEAN_QUEUE]

Rule: code 2 and Java's texts. Judged once a turn and once a flush by comparing integers; a
send only looks at ``refusal``. What was taken before stays taken: it is acknowledged when
the disk has it. The first two end with the flush, the third after 10 ms.

Source: broker/latency/BrokerFastFailure.java, remoting/netty/NettyRemotingAbstract.java
#processRequestCommand, store/DefaultMessageStore.java#isOSPageCacheBusy.
"""

from typing import Final

UNFLUSHED_SIZE_MAX: Final = 64 << 20
"""Bytes of log that may wait for one disk sync; about what a slow disk takes in a second."""
STALE_FOR_S: Final = 0.01
"""How long sends count as old after a write that took too long; Java looks as often."""
_CONTROL: Final = "start flow control for a while"
TOO_MUCH_WAITS: Final = f"[OVERLOAD]system busy, {_CONTROL}"
DISK_IS_BUSY: Final = f"[REJECTREQUEST]system busy, {_CONTROL}"


class Overload:
    """Says whether one broker takes sends just now.

    Args:
        count_max: messages that may wait for the disk.
        busy_ms: how long one disk sync may take.
        stale_ms: how long one write may hold up the sends behind it; None for ever.
    """

    def __init__(self, *, count_max: int, busy_ms: int, stale_ms: int | None) -> None:
        self.refusal = ""
        """The remark for a send that comes now; empty when it is taken."""
        self._count_max = count_max
        self.busy_ms = busy_ms
        self.stale_ms = stale_ms

    def judge(self, *, waiting_count: int, waiting_size: int, sync_ms: int) -> None:
        """Look at what waits for the disk.

        Args:
            waiting_size: bytes of log.
            sync_ms: how long the sync that runs has taken so far, 0 without one.
        """
        if sync_ms > self.busy_ms:
            self.refusal = DISK_IS_BUSY
        elif waiting_count >= self._count_max or waiting_size >= UNFLUSHED_SIZE_MAX:
            self.refusal = TOO_MUCH_WAITS
        else:
            self.refusal = ""

    def written(self, elapsed_ms: int, *, count: int) -> bool:
        """Look at a write that ended; True when sends are refused for ``STALE_FOR_S``.

        Args:
            count: messages that it stored.
        """
        if self.stale_ms is None or elapsed_ms < self.stale_ms:
            return False
        self.refusal = (
            f"[TIMEOUT_CLEAN_QUEUE]broker busy, {_CONTROL}, "
            f"period in queue: {elapsed_ms}ms, size of queue: {count}"
        )
        return True
