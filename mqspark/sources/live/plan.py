"""Plans of a batch: ranges of queues, cut and packed into tasks, and the end of the batch.

Rule: these are pure functions. A queue that has nothing to read makes no range; small ranges share
a task, so that 50,000 queues are not 50,000 tasks; a large one is cut if ``minPartitions`` or
``maxRecordsPerPartition`` require it. A limit is divided in proportion to backlog, and every queue
with a backlog gets one message at least.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mqspark.errors import DataLost
from mqspark.packing import packed
from mqspark.sources.live.options import queue_text
from remoting.bodies import MessageQueue

GO_ON: Final = "failOnDataLoss=false goes on with what is there"
PACK_ROWS: Final = 10_000
"""Ranges are packed until a task has this many offsets."""


class Ends(NamedTuple):
    """The ends of a queue.

    Attributes:
        low: the first readable queue offset.
        high: the queue offset that the next message gets.
        last_ms: the store time of the last message, in ms since 1970; 0 if it is not known.
    """

    low: int
    high: int
    last_ms: int = 0


class Range(NamedTuple):
    """Queue offsets ``start`` up to ``end`` of one queue."""

    queue: MessageQueue
    start: int
    end: int


Task = tuple[Range, ...]
"""The ranges that one task reads, in order."""


def ranges_of(start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int]) -> list[Range]:
    """Return the ranges between two positions, sorted by queue; empty ranges are left out."""
    return [
        Range(queue, start[queue], end[queue])
        for queue in sorted(end)
        if queue in start and start[queue] < end[queue]
    ]


def tasks_of(
    ranges: Iterable[Range], *, min_partitions: int = 1, max_records: int | None = None
) -> list[Task]:
    """Cut and pack ranges into tasks.

    Args:
        min_partitions: the wanted number of tasks; there are never more tasks than offsets.
        max_records: the most offsets of a task.
    """
    planned = list(ranges)
    total = sum(range_.end - range_.start for range_ in planned)
    share = -(-total // min_partitions) if min_partitions > 1 else total
    piece = max(1, min(share, max_records or share))
    parts = (
        Range(range_.queue, first, min(first + piece, range_.end))
        for range_ in planned
        for first in range(range_.start, range_.end, piece)
    )
    room = min(PACK_ROWS, piece)
    return list(packed(parts, lambda part: part.end - part.start, size_max=room))


def backlog_of(
    start: Mapping[MessageQueue, int], end: Mapping[MessageQueue, int]
) -> dict[MessageQueue, int]:
    """Return the number of offsets between two positions, by queue of ``end``."""
    return {queue: max(0, last - start.get(queue, last)) for queue, last in end.items()}


def batch_end(
    start: Mapping[MessageQueue, int],
    end: Mapping[MessageQueue, int],
    *,
    max_offsets: int | None,
    max_bytes: int | None = None,
    sizes: Mapping[MessageQueue, int] | None = None,
) -> dict[MessageQueue, int]:
    """Return how far one batch goes from ``start`` towards ``end``.

    Args:
        start: the queue offset to read next, by queue.
        end: the queue offset behind the last message, by queue.
        max_offsets: the limit for all queues together, divided by backlog; None for no limit.
        max_bytes: the same limit in bytes of records; the smaller share counts.
        sizes: bytes of a record by queue, for ``max_bytes``; a missing queue counts with 0.
    """
    backlog = backlog_of(start, end)
    sizes_known = sizes or {}
    part, whole = 1, 1
    for most, total in (
        (max_offsets, sum(backlog.values())),
        (max_bytes, sum(left * sizes_known.get(queue, 0) for queue, left in backlog.items())),
    ):
        if most is not None and most * whole < part * total:
            part, whole = most, total
    if part == whole:
        return dict(end)
    return {
        queue: last - left + max(1, left * part // whole) if left else last
        for (queue, last), left in zip(end.items(), backlog.values(), strict=True)
    }


def next_positions(
    old: Mapping[MessageQueue, int],
    queue_ends: Mapping[MessageQueue, Ends],
    *,
    fail_on_loss: bool,
    away: Collection[MessageQueue] = (),
    renewed: Collection[MessageQueue] = (),
) -> dict[MessageQueue, int]:
    """Return how far a stream that is at ``old`` could go now.

    A new queue enters with its first offset and no rows: from then on its position is among those
    that are kept, so it is known where it began. A queue that was deleted and made anew enters in
    the same way. A queue that is not there keeps its position.

    Args:
        old: the queue offset to read next, by queue.
        queue_ends: the queues that are there.
        fail_on_loss: whether a queue that is gone, shorter or renewed is an error.
        away: queues that are not there because their broker is not.
        renewed: queues that no longer have the message that was read last.

    Raises:
        DataLost: there is such a queue, and ``fail_on_loss`` is true.
    """
    gone = sorted(set(old) - set(queue_ends) - set(away))
    if gone and fail_on_loss:
        raise DataLost(f"{queue_text(gone[0])} is not there any more; {GO_ON}")
    reached = dict(old)
    for queue, there in queue_ends.items():
        if queue not in old:
            reached[queue] = there.low
        elif there.high >= old[queue] and queue not in renewed:
            reached[queue] = there.high
        elif fail_on_loss:
            raise DataLost(_renewal(queue, old[queue], there))
        else:
            reached[queue] = there.low
    return reached


def _renewal(queue: MessageQueue, position: int, there: Ends) -> str:
    if there.high < position:
        seen = f"and ends at {there.high} now: it was made anew, or its broker lost data"
    else:
        seen = f"but message {position - 1} is another one now: the topic was made anew"
    return f"{queue_text(queue)} was read up to {position} {seen}; {GO_ON}"
