"""What a consumer holds of one queue: messages pulled and not yet done with.

    pull --> put --> waiting --take--> taken --commit--> gone, position moves
                       |                  `--give_back--> waiting again, at the front
                       `--remove--> gone; the position is the lowest offset still here

Rule: pure; time is given. Concurrent consumption leaves messages in ``waiting`` until they are
removed in any order, so the position never passes one that is not done. Orderly consumption
takes from the front and commits or gives back what it took. A queue that was given to another
member is ``dropped``: nothing of it is put, consumed or committed any more.

Source: client/impl/consumer/ProcessQueue.java (4.9.7).
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from mqclient.message import MessageExt
from remoting.bodies import MessageQueue, ProcessQueueInfo

LOCK_LIFE_MS: Final = 30_000
"""A lock not confirmed for so long is not relied on; the broker gives it away after 60 s."""
LOCK_AGAIN_MS: Final = 20_000
PULL_IDLE_MS: Final = 120_000
"""A queue not pulled for so long has lost its pull; rebalance makes it anew."""
EXPIRED_COUNT_MAX: Final = 16
"""Messages one look for expired ones gives at most."""
NOTHING: Final = -1
_MIB: Final = 1024 * 1024


class ProcessQueue:
    """The messages of one queue, in queue order.

    Attributes:
        next_offset: queue offset to pull next, in entries.
        dropped: the queue belongs to another member now.
        locked: the broker gave this member the queue's lock (orderly consumption).
        count: messages here, waiting or taken.
        size: bytes of their bodies as they travelled.
    """

    def __init__(self, queue: MessageQueue, *, next_offset: int, now_ms: int) -> None:
        self.queue = queue
        self.next_offset = next_offset
        self.dropped = False
        self.locked = False
        self.count = 0
        self.size = 0
        self.last_pull_ms = now_ms
        self.last_consume_ms = now_ms
        self.last_lock_ms = now_ms
        self._waiting: dict[int, MessageExt] = {}
        # The offsets of ``waiting`` in order; those removed meanwhile are skipped when they
        # come to the front, which keeps every operation at amortised constant time.
        self._order: deque[int] = deque()
        self._taken: dict[int, MessageExt] = {}
        self._started_ms: dict[int, int] = {}
        self._max_offset = NOTHING

    def put(self, messages: Iterable[MessageExt]) -> list[MessageExt]:
        """Add pulled messages, return those that were not here yet."""
        new = []
        for message in messages:
            queue_offset = message.record.queue_offset
            if queue_offset in self._waiting or queue_offset in self._taken:
                continue
            self._waiting[queue_offset] = message
            if queue_offset > self._max_offset:
                self._order.append(queue_offset)
                self._max_offset = queue_offset
            else:
                self._insert(queue_offset)
            self.count += 1
            self.size += len(message.record.body)
            new.append(message)
        return new

    def remove(self, messages: Sequence[MessageExt], *, now_ms: int) -> int:
        """Drop messages that are done with, return the position the queue has now.

        Returns:
            The lowest queue offset still here, or the one behind all that were put;
            ``NOTHING`` when nothing was here before.
        """
        self.last_consume_ms = now_ms
        if not self._waiting:
            return NOTHING
        for message in messages:
            queue_offset = message.record.queue_offset
            if self._waiting.pop(queue_offset, None) is not None:
                self._forget(message)
        first = self._front()
        return self._max_offset + 1 if first is None else first

    def take(self, count_max: int, *, now_ms: int) -> list[MessageExt]:
        """Take messages from the front, to ``commit`` or to ``give_back``."""
        self.last_consume_ms = now_ms
        batch: list[MessageExt] = []
        while len(batch) < count_max and (queue_offset := self._front()) is not None:
            self._order.popleft()
            message = self._taken[queue_offset] = self._waiting.pop(queue_offset)
            batch.append(message)
        return batch

    def commit(self) -> int:
        """Be done with all that was taken, return the position behind it or ``NOTHING``."""
        if not self._taken:
            return NOTHING
        position = max(self._taken) + 1
        for message in self._taken.values():
            self._forget(message)
        self._taken.clear()
        return position

    def give_back(self, messages: Sequence[MessageExt] | None = None) -> None:
        """Put taken messages back to the front, all of them without an argument."""
        back = list(self._taken.values()) if messages is None else messages
        for message in back:
            queue_offset = message.record.queue_offset
            if self._taken.pop(queue_offset, None) is not None:
                self._waiting[queue_offset] = message
                self._insert(queue_offset)

    def drop(self, messages: Iterable[MessageExt]) -> None:
        """Forget taken messages; the next ``commit`` passes them."""
        for message in messages:
            if self._taken.pop(message.record.queue_offset, None) is not None:
                self._forget(message)

    def started(self, messages: Iterable[MessageExt], *, now_ms: int) -> None:
        """Note when a listener got messages; ``expired`` counts from here."""
        for message in messages:
            self._started_ms[message.record.queue_offset] = now_ms

    def expired(self, *, life_ms: int, now_ms: int) -> list[MessageExt]:
        """Return messages at the front whose listener takes longer than ``life_ms``."""
        found: list[MessageExt] = []
        for queue_offset in self._order:
            message = self._waiting.get(queue_offset)
            if message is None:
                continue
            started_ms = self._started_ms.get(queue_offset)
            if started_ms is None or now_ms - started_ms <= life_ms:
                break
            found.append(message)
            if len(found) == EXPIRED_COUNT_MAX:
                break
        return found

    def clear(self) -> None:
        """Forget every message."""
        self._waiting.clear()
        self._order.clear()
        self._taken.clear()
        self._started_ms.clear()
        self.count = self.size = 0

    @property
    def span(self) -> int:
        """Distance in entries between the first and the last message here."""
        first = self._front()
        return 0 if first is None else self._max_offset - first

    @property
    def has_waiting(self) -> bool:
        """Whether ``take`` would give something."""
        return bool(self._waiting)

    @property
    def taken_count(self) -> int:
        """Messages taken and neither committed nor given back."""
        return len(self._taken)

    def lock_expired(self, now_ms: int) -> bool:
        """Whether the lock is too old to rely on."""
        return now_ms - self.last_lock_ms > LOCK_LIFE_MS

    def pull_expired(self, now_ms: int) -> bool:
        """Whether the queue's pull got lost."""
        return now_ms - self.last_pull_ms > PULL_IDLE_MS

    def info(self, *, commit_offset: int) -> ProcessQueueInfo:
        """Return the state as a broker or ``mqadmin`` asks for it."""
        waiting = sorted(self._waiting)
        taken = sorted(self._taken)
        return ProcessQueueInfo(
            commit_offset=commit_offset,
            cached_msg_min_offset=waiting[0] if waiting else 0,
            cached_msg_max_offset=waiting[-1] if waiting else 0,
            cached_msg_count=len(waiting),
            cached_msg_size_in_mib=self.size // _MIB,
            transaction_msg_min_offset=taken[0] if taken else 0,
            transaction_msg_max_offset=taken[-1] if taken else 0,
            transaction_msg_count=len(taken),
            locked=self.locked,
            last_lock_timestamp=self.last_lock_ms,
            droped=self.dropped,
            last_pull_timestamp=self.last_pull_ms,
            last_consume_timestamp=self.last_consume_ms,
        )

    def _front(self) -> int | None:
        order = self._order
        while order:
            if order[0] in self._waiting:
                return order[0]
            order.popleft()
        return None

    def _insert(self, queue_offset: int) -> None:
        # Only what comes back after a failure or a corrected position is out of order.
        while self._order and self._order[0] not in self._waiting:
            self._order.popleft()
        if not self._order or queue_offset < self._order[0]:
            self._order.appendleft(queue_offset)
            return
        ordered = sorted(offset for offset in self._order if offset != queue_offset)
        insort(ordered, queue_offset)
        self._order = deque(ordered)

    def _forget(self, message: MessageExt) -> None:
        self._started_ms.pop(message.record.queue_offset, None)
        self.count -= 1
        self.size -= len(message.record.body)
