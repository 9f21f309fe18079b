"""The order in which Java's hash maps give their entries back.

    bucket = (hash ^ hash >>> 16) & (size - 1)      buckets in turn, each in order of insertion

Rule: only what Java writes straight from such a map is ordered here. The table has 16 buckets and
doubles when the map outgrows 3/4 of it, which keeps the order within a bucket. Buckets of nine and
more entries, which Java turns into trees, are not copied; with real names there are none.

Source: java.util.HashMap#hash, #resize; ConcurrentHashMap#spread (JDK 8 to 17);
common/message/MessageQueue.java#hashCode (4.9.7).
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from storefmt.formats.javahash import string_hash

_BUCKETS_MIN: Final = 16
_MASK: Final = 0xFFFFFFFF
T = TypeVar("T")


def hash_order(
    entries: Iterable[T],
    hash_of: Callable[[T], int],
    *,
    peak_count: int = 0,
    is_concurrent: bool = False,
    capacity: int = _BUCKETS_MIN,
) -> list[T]:
    """Return the entries in the iteration order of a HashMap that they were put into in order.

    Args:
        entries: each once.
        hash_of: their ``hashCode``, as any integer with the same low 32 bits.
        peak_count: the most entries the map ever held, when some were removed again: the table
            never shrinks.
        is_concurrent: whether it is a ConcurrentHashMap, whose table doubles with the entry that
            fills 3/4 of it, one earlier than a HashMap's.
        capacity: the size that the table was made with, a power of two.
    """
    listed = list(entries)
    count = max(len(listed), peak_count) + is_concurrent
    buckets = capacity
    while count > buckets * 3 // 4:
        buckets *= 2

    def bucket_of(entry: T) -> int:
        value = hash_of(entry) & _MASK
        return (value ^ value >> 16) & (buckets - 1)

    return sorted(listed, key=bucket_of)


def queue_hash(topic: str, broker_name: str, queue_id: int) -> int:
    """Return the ``hashCode`` of a MessageQueue, in its low 32 bits."""
    value = 31 + string_hash(broker_name)
    return (value * 31 + queue_id) * 31 + string_hash(topic) & _MASK
