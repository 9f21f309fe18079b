"""Queues that a group pops in order: one batch of a queue is out at a time.

    batch given out ──> blocked until every message is acknowledged, or the time of one is over
    same attemptId  ──> the same batch again (its request was repeated)
    time over       ──> the batch from its first message on that is not acknowledged

Rule: there is no checkpoint. The group's offset stays at the first message of the batch that is
not acknowledged, so whatever happens to the broker, what is not acknowledged comes again. The table
of batches is in memory: after a start no queue is blocked, and a batch that is out comes again.

Source: broker/pop/orderly/QueueLevelConsumerManager.java (5.4.0).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from mqserver.broker.clients.consumer_offsets import Place


@dataclass(slots=True)
class Batch:
    """The messages of one queue that are out."""

    attempt_id: str | None
    pop_time_ms: int
    invisible_ms: int
    queue_offsets: tuple[int, ...]
    done: int = 0
    """A bit for each message that is acknowledged."""
    visible_ms: dict[int, int] = field(default_factory=dict)
    """When a message comes again whose invisible time was changed, by queue offset."""
    consumed: Mapping[int, int] = field(default_factory=dict)
    """How often a message was given out before, by queue offset; only those above 0."""

    def left(self) -> Iterator[int]:
        """Yield the queue offsets that are not acknowledged."""
        for number, queue_offset in enumerate(self.queue_offsets):
            if not self.done >> number & 1:
                yield queue_offset

    def free_ms(self, now_ms: int) -> int:
        """Return until when the queue is blocked; ``now_ms`` or less if it is not.

        As in Java every message that is left must have come visible again.
        """
        own = self.pop_time_ms + self.invisible_ms
        return max((self.visible_ms.get(at, own) for at in self.left()), default=now_ms)

    @property
    def next_offset(self) -> int:
        """The queue offset that the group goes on at."""
        return next(self.left(), self.queue_offsets[-1] + 1)


class Ack(Enum):
    """What an acknowledgement of an ordered message did."""

    TAKEN = auto()
    STALE = auto()
    """The batch is not out any more; the message comes again or is done with."""
    WRONG = auto()
    """The batch does not have this message."""


class OrderedQueues:
    """The batches of one broker that are out."""

    def __init__(self) -> None:
        self._batches: dict[Place, Batch] = {}

    def left_count(self, place: Place) -> int:
        """Return how many messages of a queue are out and not acknowledged."""
        batch = self._batches.get(place)
        return 0 if batch is None else sum(1 for _ in batch.left())

    def is_out(self, place: Place) -> bool:
        """Return whether a batch of a queue is known to be out."""
        return place in self._batches

    def settle(self, place: Place, group_offset: int) -> None:
        """Forget the batch of a queue if a client has set the offset of the group."""
        batch = self._batches.get(place)
        if batch is not None and batch.next_offset != group_offset:
            del self._batches[place]

    def blocked_until(self, place: Place, attempt_id: str | None, *, now_ms: int) -> int | None:
        """Return until when a queue is blocked for an attempt; None if it may pop now."""
        batch = self._batches.get(place)
        if batch is None or (attempt_id is not None and batch.attempt_id == attempt_id):
            return None
        free_ms = batch.free_ms(now_ms)
        return free_ms if now_ms < free_ms else None

    def give_out(
        self,
        place: Place,
        queue_offsets: Sequence[int],
        *,
        attempt_id: str | None,
        invisible_ms: int,
        now_ms: int,
    ) -> Batch:
        """Note the batch of a queue that is out now, and return it."""
        consumed: Mapping[int, int] = {}
        former = self._batches.get(place)
        if former is not None and attempt_id is not None and former.attempt_id == attempt_id:
            consumed = former.consumed
        elif former is not None:
            former_offsets = set(former.queue_offsets)
            consumed = {
                at: former.consumed.get(at, 0) + 1 for at in queue_offsets if at in former_offsets
            }
        batch = Batch(attempt_id, now_ms, invisible_ms, tuple(queue_offsets), consumed=consumed)
        self._batches[place] = batch
        return batch

    def acknowledge(
        self, place: Place, queue_offset: int, *, pop_time_ms: int, group_offset: int
    ) -> tuple[Ack, int]:
        """Note an acknowledgement; return what it did, and the offset of the group from now on.

        Without a batch, as after a start, only the first message that is not acknowledged counts.
        (Java passes all messages before the one that is acknowledged.)

        Args:
            place: the queue.
            queue_offset: the message.
            pop_time_ms: when it was popped, which identifies the batch.
            group_offset: the present offset of the group.
        """
        batch = self._batches.get(place)
        if batch is None:
            return (
                (Ack.TAKEN, queue_offset + 1) if queue_offset == group_offset else (Ack.STALE, -1)
            )
        if batch.pop_time_ms != pop_time_ms:
            return Ack.STALE, -1
        if queue_offset not in batch.queue_offsets:
            return Ack.WRONG, -1
        batch.done |= 1 << batch.queue_offsets.index(queue_offset)
        return Ack.TAKEN, batch.next_offset

    def hide(self, place: Place, queue_offset: int, *, pop_time_ms: int, visible_ms: int) -> None:
        """Change when a message comes again; a batch that is not out any more is left alone."""
        batch = self._batches.get(place)
        if batch is not None and batch.pop_time_ms == pop_time_ms:
            batch.visible_ms[queue_offset] = visible_ms

    def drop(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Forget the batches of a topic or a group that was deleted."""
        for place in [key for key in self._batches if topic == key[0] or group == key[1]]:
            del self._batches[place]
