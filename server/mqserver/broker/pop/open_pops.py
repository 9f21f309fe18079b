"""The table of open pops: checkpoints with messages that are not acknowledged.

    checkpoint read     -> open
    acknowledgement read -> its messages are done; with the last of them the pop is closed
    due                 -> revived, then closed as if it were acknowledged
    topic or group deleted, group reset -> closed as if it were acknowledged

Rule: the table is built from the revive log alone, so a broker that starts, and a slave that takes
over, builds the same one. It has what is between the lowest open checkpoint of each queue of the
revive log and its end; that position is saved, and a start reads from there on.

An open pop of one message takes some 540 bytes, one of 32 messages some 780. So a million messages
that are out take 540 MB if they were popped one by one, and 25 MB if 32 at a time; a test holds
that. ``open_count_max`` bounds it.

No call costs more than the pops that it ends or returns, however many are open: a topic or group is
dropped by its queues, and a reset cuts off the end of a list in the order of the messages.

Source: broker/processor/PopReviveService.java (5.4.0), which keeps them in the timer wheel.
"""

import heapq
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import Final

from mqserver.broker.clients.consumer_offsets import Place
from mqserver.broker.pop.checkpoints import PopCheckpoint, PopKey

OPEN_COUNT_MAX: Final = 1_000_000
"""Most open pops of a broker; with little memory there may be fewer."""
OPEN_POP_SIZE: Final = 1_200
"""Bytes of an open pop of 32 messages that is due at a time of its own."""
_TICK_MS: Final = 100
"""Pops that are due within this time are kept together."""
_SLACK: Final = 1_024


def open_count_max(in_flight_size_max: int) -> int:
    """Return how many pops may be open: they take half of what may be in flight at most."""
    return min(OPEN_COUNT_MAX, in_flight_size_max // 2 // OPEN_POP_SIZE)


class OpenPop:
    """One open pop."""

    __slots__ = ("at", "checkpoint", "done", "is_closed", "log_offset", "store_ms")

    def __init__(self, checkpoint: PopCheckpoint, at: int, log_offset: int, store_ms: int) -> None:
        self.checkpoint = checkpoint
        self.at = at
        """Queue offset of the checkpoint in its queue of the revive log."""
        self.log_offset = log_offset
        """Log offset of the checkpoint; what lies after it in the log was not popped."""
        self.store_ms = store_ms
        """When the checkpoint was stored, in ms since 1970."""
        self.done = checkpoint.done
        """A bit for each message that needs no reviving."""
        self.is_closed = False
        """Whether nothing of it is left, or a checkpoint of the same name has replaced it."""

    @property
    def left_count(self) -> int:
        """How many of its messages are not acknowledged."""
        return len(self.checkpoint.distances) - self.done.bit_count()

    @property
    def last(self) -> int:
        """Queue offset of its last message."""
        return self.checkpoint.key.start_offset + self.checkpoint.distances[-1]

    def left(self) -> list[int]:
        """Return the queue offsets of the messages that are not acknowledged."""
        start = self.checkpoint.key.start_offset
        return [
            start + distance
            for number, distance in enumerate(self.checkpoint.distances)
            if not self.done >> number & 1
        ]


_BY_LAST: Final = attrgetter("last")


class _PlacePops:
    """The open pops of one queue of a topic by one group."""

    __slots__ = ("in_order", "left_count", "pops")

    def __init__(self) -> None:
        self.pops: dict[PopKey, OpenPop] = {}
        self.in_order: list[OpenPop] = []
        """By their last messages; closed ones are dropped later."""
        self.left_count = 0
        """How many messages are not acknowledged."""

    def sort_in(self, pop: OpenPop) -> None:
        """Add a pop to those in order, where it nearly always is the last one."""
        order = self.in_order
        if len(order) > 2 * len(self.pops) + _SLACK:
            order[:] = [each for each in order if not each.is_closed]
        if order and order[-1].last > pop.last:
            insort(order, pop, key=_BY_LAST)
        else:
            order.append(pop)


class OpenPops:
    """The open pops of one queue of the revive log."""

    def __init__(self) -> None:
        self._places: dict[Place, _PlacePops] = {}
        self._count = 0
        self._groups: Counter[str] = Counter()
        """The number of open pops of each group that has any."""
        self._order: deque[OpenPop] = deque()
        """In the order of the revive log; closed ones are dropped later."""
        self._due: dict[int, dict[PopKey, OpenPop]] = {}
        """The pops that are due in each tick."""
        self._ticks: list[int] = []
        """A heap of these ticks, and of some that have no pops any more."""

    def __len__(self) -> int:
        return self._count

    def count_of(self, group: str) -> int:
        """Return how many pops of a group are open."""
        return self._groups[group]

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue a group has popped and not acknowledged."""
        pops = self._places.get(place)
        return 0 if pops is None else pops.left_count

    def open(
        self, checkpoint: PopCheckpoint, *, at: int, log_offset: int = 0, store_ms: int
    ) -> None:
        """Note a checkpoint; one that was written again takes the place of the former one."""
        key = checkpoint.key
        former = self.get(key)
        if former is not None:
            self._close(former)
        pop = OpenPop(checkpoint, at, log_offset, store_ms)
        if not pop.left_count:
            return
        place = self._places.get(key.place)
        if place is None:
            place = self._places[key.place] = _PlacePops()
        place.pops[key] = pop
        place.left_count += pop.left_count
        place.sort_in(pop)
        self._count += 1
        self._groups[key.group] += 1
        tick = _tick(checkpoint)
        if tick not in self._due:
            self._due[tick] = {}
            if len(self._ticks) > 2 * len(self._due) + _SLACK:
                self._ticks = list(self._due)
                heapq.heapify(self._ticks)
            else:
                heapq.heappush(self._ticks, tick)
        self._due[tick][key] = pop
        if len(self._order) > 2 * self._count + _SLACK:
            self._order = deque(each for each in self._order if not each.is_closed)
        self._order.append(pop)

    def get(self, key: PopKey) -> OpenPop | None:
        """Return an open pop, or None if there is none of this name."""
        place = self._places.get(key.place)
        return None if place is None else place.pops.get(key)

    def drop(self, is_wanted: Callable[[Place], bool]) -> list[OpenPop]:
        """Remove the open pops of every topic, group and queue for which ``is_wanted`` is true.

        They are no longer found from now on, but each has to be given to ``finish``.
        """
        dropped: list[OpenPop] = []
        for place in [place for place in self._places if is_wanted(place)]:
            pops = list(self._places.pop(place).pops.values())
            self._subtract(place[1], len(pops))
            dropped += pops
        return dropped

    def cut(self, place: Place, queue_offset: int) -> list[OpenPop]:
        """Return the pops of a place that may have messages from an offset on.

        Each of them has to be given to ``finish``, until then no other call of ``cut`` returns it.
        """
        pops = self._places.get(place)
        if pops is None:
            return []
        start = bisect_left(pops.in_order, queue_offset, key=_BY_LAST)
        cut_pops = pops.in_order[start:]
        del pops.in_order[start:]
        return cut_pops

    def finish(self, pop: OpenPop, queue_offsets: tuple[int, ...]) -> None:
        """Note which messages of a dropped or cut pop need no reviving."""
        if pop.is_closed:
            return
        place = self._place_of(pop)
        if place is None:
            self._forget(pop)
            return
        for queue_offset in queue_offsets:
            self.mark(pop, queue_offset)
        if pop.left_count:
            place.sort_in(pop)
        else:
            self._close(pop)

    def acknowledge(self, key: PopKey, queue_offsets: tuple[int, ...]) -> None:
        """Note that messages need no reviving; what no checkpoint has is ignored, as in Java."""
        pop = self.get(key)
        if pop is None:
            return
        distances = pop.checkpoint.distances
        for queue_offset in queue_offsets:
            if queue_offset - key.start_offset in distances:
                self.mark(pop, queue_offset)
        if not pop.left_count:
            self._close(pop)

    def mark(self, pop: OpenPop, queue_offset: int) -> None:
        """Note that one message of an open pop needs no reviving."""
        key = pop.checkpoint.key
        number = pop.checkpoint.distances.index(queue_offset - key.start_offset)
        if not pop.done >> number & 1:
            pop.done |= 1 << number
            self._places[key.place].left_count -= 1

    def due(self, until_ms: int, *, count_max: int) -> list[OpenPop]:
        """Return the next pops whose messages came due up to a time: those of one tick.

        Args:
            until_ms: the time, in ms since 1970.
            count_max: how many are returned at most.
        """
        while self._ticks and self._ticks[0] * _TICK_MS <= until_ms:
            pops = self._due.get(self._ticks[0])
            if pops is None:
                heapq.heappop(self._ticks)
                continue
            come = (pop for pop in pops.values() if pop.checkpoint.revive_ms <= until_ms)
            return list(islice(come, count_max))
        return []

    def oldest(self) -> OpenPop | None:
        """Return the open pop whose checkpoint comes first in the revive log."""
        order = self._order
        while order and order[0].is_closed:
            order.popleft()
        return order[0] if order else None

    def _place_of(self, pop: OpenPop) -> _PlacePops | None:
        """Return the place that has a pop, None if it was dropped."""
        key = pop.checkpoint.key
        place = self._places.get(key.place)
        return place if place is not None and place.pops.get(key) is pop else None

    def _close(self, pop: OpenPop) -> None:
        key = pop.checkpoint.key
        place = self._places[key.place]
        del place.pops[key]
        place.left_count -= pop.left_count
        if not place.pops:
            del self._places[key.place]
        self._subtract(key.group, 1)
        self._forget(pop)

    def _subtract(self, group: str, count: int) -> None:
        self._count -= count
        self._groups[group] -= count
        if not self._groups[group]:
            del self._groups[group]

    def _forget(self, pop: OpenPop) -> None:
        """Take a pop that is in no place any more out of those that are due."""
        pop.is_closed = True
        tick, key = _tick(pop.checkpoint), pop.checkpoint.key
        pops = self._due.get(tick, {})
        if pops.get(key) is pop:
            del pops[key]
            if not pops:
                del self._due[tick]


def _tick(checkpoint: PopCheckpoint) -> int:
    return checkpoint.revive_ms // _TICK_MS
