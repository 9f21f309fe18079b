"""Computes what moving a consumer group to a time would replay or skip, from a copied store.

    |....skipped or replayed....|
    ^ offset of the group       ^ the message stored nearest to the time, as a broker finds it

Rule: nothing is changed and no broker is asked. The result equals that of ``resetOffset`` at the
moment at which the store was copied. Sizes are those of whole records, as queue entries have them.

Source: store/DefaultMessageStore.java#getOffsetInQueueByTime, store/ConsumeQueue.java
#getOffsetInQueueByTime, broker/client/net/Broker2Client.java#resetOffset (4.9.7).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from storefmt.offline.views.info import GroupInfo, time_of
from storefmt.offline.views.queues import QueueView
from storefmt.offline.views.store_view import StoreView
from storefmt.offline.views.tree import FileSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewind:
    """One queue of one group; offsets in entries, ``size`` in bytes of whole records.

    Attributes:
        offset: where the group stands; ``target`` where it would go.
        replayed, skipped: messages between the two, of which one is 0.
        target_ms: store time of the message at ``target``; 0 if there is none.
    """

    group: str
    topic: str
    queue_id: int
    offset: int
    target: int
    replayed: int
    skipped: int
    size: int
    target_ms: int


def rewinds_to(store: StoreView, infos: list[GroupInfo], at_ms: int) -> Iterator[Rewind]:
    """Yield for each group and queue what a move to a time would replay or skip.

    Args:
        infos: where groups stand; queues that the store lacks are left out.

    Raises:
        StoreError: the disk refuses a read.
    """
    for info in infos:
        if (info.topic, info.queue_id) not in store.tree.queues:
            continue
        view = store.queue(info.topic, info.queue_id)
        target = nearest_offset(store, view, at_ms)
        low, high = sorted((target, info.queue_offset))
        count = size = 0
        for _, entry in view.entries(max(low, view.min_offset), max(0, high - low)):
            if not entry.is_filler:
                count, size = count + 1, size + entry.size
        back = target < info.queue_offset
        yield Rewind(
            group=info.group,
            topic=info.topic,
            queue_id=info.queue_id,
            offset=info.queue_offset,
            target=target,
            replayed=count if back else 0,
            skipped=0 if back else count,
            size=size,
            target_ms=time_of(store, view, target),
        )


def nearest_offset(store: StoreView, view: QueueView, at_ms: int) -> int:
    """Return the queue offset of the message stored nearest to a time, 0 for none.

    The search is that of a broker, so that it chooses the same one of several messages of one time.
    """
    span = _file_for(store, view, at_ms)
    if span is None:
        return 0
    low, high = view.range_of(span)
    low, high = max(low, view.min_offset), high - 1
    left = right = left_ms = right_ms = -1
    while low <= high:
        middle = (low + high) // 2
        found_ms = time_of(store, view, middle)
        if found_ms == at_ms:
            return middle
        if found_ms > at_ms:
            high, right, right_ms = middle - 1, middle, found_ms
        else:
            low, left = middle + 1, middle
            left_ms = found_ms if found_ms > 0 else left_ms
    if left_ms == -1:
        return max(right, 0)
    if right_ms == -1 or at_ms - left_ms <= right_ms - at_ms:
        return max(left, 0)
    return right


def _file_for(store: StoreView, view: QueueView, at_ms: int) -> FileSpan | None:
    """Return the first file whose last message is not older than a time, else the last."""
    if view.max_offset == view.min_offset:
        return None
    used = [span for span in view.files if view.range_of(span)[1] > view.min_offset]
    for span in used:
        low, high = view.range_of(span)
        if high > low and time_of(store, view, high - 1) >= at_ms:
            return span
    return used[-1] if used else None
