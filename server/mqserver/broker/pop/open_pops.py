"""The table of open pops: checkpoints with messages that are not acknowledged.

    checkpoint read     -> open
    acknowledgement read -> its messages are done; with the last of them the pop is closed
    due                 -> revived, then closed as if it were acknowledged
    topic or group deleted, group reset -> closed as if it were acknowledged

Rule: the table is made of the revive log alone, so a broker that starts, and a slave that takes
over, builds the same one. It has what is between the lowest open checkpoint of each queue of the
revive log and its end; that position is saved, and a start reads from there on.

An open pop of one message takes some 520 bytes, one of 32 messages some 760. So a million messages
that are out take 520 MB if they were popped one by one, and 24 MB if 32 at a time; a test holds
that. ``OPEN_COUNT_MAX`` bounds it.

Source: broker/processor/PopReviveService.java (5.4.0), which keeps them in the timer wheel.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable
from typing import Final

from mqserver.broker.clients.offsets import Place
from mqserver.broker.pop.checkpoints import PopCheckpoint, PopKey

OPEN_COUNT_MAX: Final = 1_000_000
"""Open pops; beyond this a pop is answered that the broker is full."""
_SECOND_MS: Final = 1_000
_SLACK: Final = 1_024


class OpenPop:
    """One open pop."""

    __slots__ = ("at", "checkpoint", "done", "log_offset", "store_ms")

    def __init__(self, checkpoint: PopCheckpoint, at: int, log_offset: int, store_ms: int) -> None:
        self.checkpoint = checkpoint
        self.at = at
        """Queue offset of the checkpoint in its queue of the revive log."""
        self.log_offset = log_offset
        """Log offset of the checkpoint; what lies behind it in the log was not popped."""
        self.store_ms = store_ms
        """When the checkpoint was stored, in ms since 1970."""
        self.done = checkpoint.done
        """A bit for each message that needs no reviving."""

    @property
    def left_count(self) -> int:
        """How many of its messages are not acknowledged."""
        return len(self.checkpoint.distances) - self.done.bit_count()

    def left(self) -> list[int]:
        """Return the queue offsets of the messages that are not acknowledged."""
        start = self.checkpoint.key.start_offset
        return [
            start + distance
            for number, distance in enumerate(self.checkpoint.distances)
            if not self.done >> number & 1
        ]


class OpenPops:
    """The open pops of one queue of the revive log."""

    def __init__(self) -> None:
        self._pops: dict[PopKey, OpenPop] = {}
        self._order: deque[OpenPop] = deque()
        """In the order of the revive log; closed ones are dropped later."""
        self._due: dict[int, dict[PopKey, None]] = {}
        """The pops that are due in each second."""
        self._left: Counter[Place] = Counter()
        """The messages of each queue that a group has popped and not acknowledged; none is 0."""
        self._seconds: list[int] = []
        """A heap of these seconds, and of some that have no pops any more."""

    def __len__(self) -> int:
        return len(self._pops)

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue a group has popped and not acknowledged."""
        return self._left[place]

    def open(
        self, checkpoint: PopCheckpoint, *, at: int, log_offset: int = 0, store_ms: int
    ) -> None:
        """Note a checkpoint; one that was written again takes the place of the former one."""
        key = checkpoint.key
        if key in self._pops:
            self._close(key)
        pop = OpenPop(checkpoint, at, log_offset, store_ms)
        if not pop.left_count:
            return
        self._pops[key] = pop
        self._left[key.place] += pop.left_count
        second = _second(checkpoint)
        if second not in self._due:
            self._due[second] = {}
            heapq.heappush(self._seconds, second)
        self._due[second][key] = None
        self._order.append(pop)

    def get(self, key: PopKey) -> OpenPop | None:
        """Return an open pop, or None if there is none of this name."""
        return self._pops.get(key)

    def find(self, is_wanted: Callable[[Place], bool]) -> list[OpenPop]:
        """Return the open pops of every topic, group and queue for which ``is_wanted`` is true."""
        places = {place for place in self._left if is_wanted(place)}
        if not places:
            return []
        return [pop for key, pop in self._pops.items() if key.place in places]

    def acknowledge(self, key: PopKey, queue_offsets: tuple[int, ...]) -> None:
        """Note that messages need no reviving; what no checkpoint has is ignored, as in Java."""
        pop = self._pops.get(key)
        if pop is None:
            return
        distances = pop.checkpoint.distances
        for queue_offset in queue_offsets:
            if queue_offset - key.start_offset in distances:
                self.mark(pop, queue_offset)
        if not pop.left_count:
            self._close(key)

    def mark(self, pop: OpenPop, queue_offset: int) -> None:
        """Note that one message of an open pop needs no reviving."""
        key = pop.checkpoint.key
        number = pop.checkpoint.distances.index(queue_offset - key.start_offset)
        if not pop.done >> number & 1:
            pop.done |= 1 << number
            self._left[key.place] -= 1

    def due(self, until_ms: int) -> list[OpenPop]:
        """Return the next pops whose messages came due up to a time: those of one second."""
        while self._seconds and self._seconds[0] * _SECOND_MS <= until_ms:
            keys = self._due.get(self._seconds[0])
            if keys is None:
                heapq.heappop(self._seconds)
                continue
            pops = [self._pops[key] for key in keys]
            return [pop for pop in pops if pop.checkpoint.revive_ms <= until_ms]
        return []

    def oldest(self) -> OpenPop | None:
        """Return the open pop whose checkpoint comes first in the revive log."""
        order = self._order
        while order and not self._is_open(order[0]):
            order.popleft()
        return order[0] if order else None

    def _is_open(self, pop: OpenPop) -> bool:
        return self._pops.get(pop.checkpoint.key) is pop

    def _close(self, key: PopKey) -> None:
        pop = self._pops.pop(key)
        self._left[key.place] -= pop.left_count
        if not self._left[key.place]:
            del self._left[key.place]
        second = _second(pop.checkpoint)
        keys = self._due[second]
        del keys[key]
        if not keys:
            del self._due[second]
        if len(self._order) > 2 * len(self._pops) + _SLACK:
            self._order = deque(filter(self._is_open, self._order))


def _second(checkpoint: PopCheckpoint) -> int:
    return checkpoint.revive_ms // _SECOND_MS
