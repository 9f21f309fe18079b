"""The process queue: the messages of one queue that were pulled and are not consumed yet.

    pull --> put --> waiting --take--> taken --commit--> gone; the offset moves after them
                       |                  `--give_back--> waiting again, at the front
                       `--remove--> gone; the offset is the lowest one that is still here

Concurrent consumption leaves messages in ``waiting`` and removes them in any order, so the offset
never passes a message that is not consumed. Orderly consumption takes messages from the front,
and commits or gives back what it took. A queue that went to another member is ``dropped``:
nothing of it is put, consumed or committed any more.

Rule: this module sends no requests and reads no clock; its callers pass the time.

Source: client/impl/consumer/ProcessQueue.java (4.9.7).
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from mqclient.message import MessageExt
from remoting.bodies import MessageQueue, ProcessQueueInfo

LOCK_LIFE_MS: Final = 30_000
"""A lock is trusted this long after the broker confirmed it, which itself keeps it for 60 s."""
LOCK_AGAIN_MS: Final = 20_000
PULL_IDLE_MS: Final = 120_000
"""A queue that was not pulled for this long has lost its pull loop; rebalance begins it again."""
EXPIRED_COUNT_MAX: Final = 16
"""The limit on the messages that one call of ``expired`` returns."""
NOTHING: Final = -1
_MIB: Final = 1024 * 1024


class ProcessQueue:
    """The messages of one queue, in queue order.

    Attributes:
        queue: the queue.
        next_offset: queue offset to pull next, in entries.
        dropped: True when the queue belongs to another member.
        locked: True when the broker gave the lock of the queue to this member (orderly only).
        count: messages here, waiting or taken.
        size: bytes of their bodies as the broker sent them.
        broker_offset: queue offset that the next message gets, as the last pull said; None before.
        last_pull_ms, last_consume_ms, last_lock_ms: when this was last done, in ms since 1970.
    """

    def __init__(self, queue: MessageQueue, *, next_offset: int, now_ms: int) -> None:
        self.queue = queue
        self.next_offset = next_offset
        self.dropped = False
        self.locked = False
        self.count = 0
        self.size = 0
        self.broker_offset: int | None = None
        self.last_pull_ms = now_ms
        self.last_consume_ms = now_ms
        self.last_lock_ms = now_ms
        self._waiting: dict[int, MessageExt] = {}
        # The offsets of ``waiting`` in order. Those that were removed meanwhile are skipped when
        # they reach the front, so that every operation takes amortised constant time.
        self._order: deque[int] = deque()
        self._taken: dict[int, MessageExt] = {}
        self._started_ms: dict[int, int] = {}
        self._max_offset = NOTHING

    def put_messages(self, messages: Iterable[MessageExt]) -> list[MessageExt]:
        """Add messages that were pulled; return those that were not here yet."""
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
        """Remove messages that were consumed; return the offset that the queue may commit now.

        Returns:
            The lowest queue offset that is still here, or the one behind all messages that were
            put; ``NOTHING`` when the queue was empty before.
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

    def take_messages(self, count_max: int, *, now_ms: int) -> list[MessageExt]:
        """Take messages from the front; ``commit`` or ``give_back`` must follow."""
        self.last_consume_ms = now_ms
        batch: list[MessageExt] = []
        while len(batch) < count_max and (queue_offset := self._front()) is not None:
            self._order.popleft()
            message = self._taken[queue_offset] = self._waiting.pop(queue_offset)
            batch.append(message)
        return batch

    def commit(self) -> int:
        """Remove all taken messages; return the offset after them, or ``NOTHING``."""
        if not self._taken:
            return NOTHING
        position = max(self._taken) + 1
        for message in self._taken.values():
            self._forget(message)
        self._taken.clear()
        return position

    def give_back(self, messages: Sequence[MessageExt] | None = None) -> None:
        """Put taken messages back to the front; all of them when None."""
        back = list(self._taken.values()) if messages is None else messages
        for message in back:
            queue_offset = message.record.queue_offset
            if self._taken.pop(queue_offset, None) is not None:
                self._waiting[queue_offset] = message
                self._insert(queue_offset)

    def drop(self, messages: Iterable[MessageExt]) -> None:
        """Remove some taken messages; the next ``commit`` passes them."""
        for message in messages:
            if self._taken.pop(message.record.queue_offset, None) is not None:
                self._forget(message)

    def started(self, messages: Iterable[MessageExt], *, now_ms: int) -> None:
        """Note when a listener got messages; ``expired`` counts from that time."""
        for message in messages:
            self._started_ms[message.record.queue_offset] = now_ms

    def expired(self, *, life_ms: int, now_ms: int) -> list[MessageExt]:
        """Return messages at the front whose listener has run for more than ``life_ms``."""
        expired: list[MessageExt] = []
        for queue_offset in self._order:
            message = self._waiting.get(queue_offset)
            if message is None:
                continue
            started_ms = self._started_ms.get(queue_offset)
            if started_ms is None or now_ms - started_ms <= life_ms:
                break
            expired.append(message)
            if len(expired) == EXPIRED_COUNT_MAX:
                break
        return expired

    def clear(self) -> None:
        """Remove every message."""
        self._waiting.clear()
        self._order.clear()
        self._taken.clear()
        self._started_ms.clear()
        self.count = self.size = 0

    @property
    def span(self) -> int:
        """The distance in entries between the first and the last message here."""
        first = self._front()
        return 0 if first is None else self._max_offset - first

    @property
    def has_waiting(self) -> bool:
        """Whether ``take_messages`` would return a message."""
        return bool(self._waiting)

    @property
    def taken_count(self) -> int:
        """How many messages are taken and neither committed nor given back."""
        return len(self._taken)

    def lock_expired(self, now_ms: int) -> bool:
        """Whether the lock is too old to be trusted."""
        return now_ms - self.last_lock_ms > LOCK_LIFE_MS

    def pull_expired(self, now_ms: int) -> bool:
        """Whether the queue has lost its pull loop."""
        return now_ms - self.last_pull_ms > PULL_IDLE_MS

    def info(self, *, commit_offset: int) -> ProcessQueueInfo:
        """Return the state of the queue for ``GET_CONSUMER_RUNNING_INFO``."""
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
        # Only messages that come back after a failure, or after a seek, are out of order.
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
