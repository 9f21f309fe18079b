"""The order in which ``java.util.HashMap`` and ``HashSet`` give their entries back.

    bucket = (hash ^ hash >>> 16) & (size - 1)      buckets in turn, each in order of insertion

Rule: only what Java's tool prints straight from such a map is ordered here. It is the same in
every JDK; the order of ``java.util.Properties`` is not, and settings stay sorted by name.

Source: java.util.HashMap (JDK 8 to 17), common/message/MessageQueue.java#hashCode (4.9.7).
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from storefmt.formats.javahash import string_hash

FIRST_SIZE: Final = 16
MASK: Final = 0xFFFFFFFF
T = TypeVar("T")


def hash_order(entries: Iterable[T], hash_of: Callable[[T], int]) -> list[T]:
    """Return the entries in the order in which a map gives them back that they were put into."""
    found = list(entries)
    size = FIRST_SIZE
    while len(found) > size * 3 // 4:
        size *= 2

    def bucket(entry: T) -> int:
        value = hash_of(entry) & MASK
        return (value ^ value >> 16) & (size - 1)

    return sorted(found, key=bucket)


def queue_hash(topic: str, broker: str, queue_id: int) -> int:
    """Return the hash of a ``MessageQueue``."""
    value = 31 + string_hash(broker)
    return (value * 31 + queue_id) * 31 + string_hash(topic) & MASK
