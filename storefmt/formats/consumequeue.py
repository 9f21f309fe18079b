"""One consume queue entry: bytes that point at one commit log record.

    of a consume queue, 20 bytes

    0            8      12          20
    | log_offset | size | tags_code |      big endian, no padding

Rule: this module knows the bytes and nothing about files (see ``storefmt.paths``).
``tags_code`` is the Java hash of the tag, except in the delay topic, where it is the
delivery time in ms, and with enableConsumeQueueExt, where it is an address (see
``is_ext_address``): look at the topic before comparing it. A queue that starts late
begins with fillers. Sixteen and more zero bytes at the end of a file are free space:
an all-zero entry is never written.

    of a batch consume queue (5.x), 46 bytes that cover one record of several messages
    0            8      12          20         28                  36
    | log_offset | size | tags_code | store_ms | base_queue_offset | message_count |
    38                 42         46
    | compacted_offset | reserved |

Rule: a topic with the attribute ``queue.type=BatchCQ`` has batch entries under
``batchconsumequeue/<topic>/<queue id>/`` instead of a consume queue. They are in the order of
``base_queue_offset`` and each covers ``message_count`` queue offsets, so a file is named by bytes
and searched by offset. A record of one message counts as 1.

Source: store/ConsumeQueue.java, store/ConsumeQueueExt.java#isExtAddr, #unDecorate (4.9.7);
store/queue/BatchConsumeQueue.java#putBatchMessagePositionInfo (5.3.3).
"""

import struct
from functools import lru_cache
from typing import Final, NamedTuple

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout

CQ_ENTRY: Final = layout.CONSUME_QUEUE_ENTRY.struct()
ENTRY_SIZE: Final = CQ_ENTRY.size
FILLER_SIZE: Final = 0x7FFFFFFF
"""The size field of a filler; its log offset and tags code are 0."""
FILLER: Final = CQ_ENTRY.pack(0, FILLER_SIZE, 0)
EXT_ADDRESS_MAX: Final = -(1 << 31) - 1
_LONG_MIN: Final = -(1 << 63)
BATCH_ENTRY: Final = layout.BATCH_QUEUE_ENTRY.struct()
assert (ENTRY_SIZE, BATCH_ENTRY.size) == (20, 46)


class CqEntry(NamedTuple):
    """One entry: ``log_offset`` and ``size`` in bytes."""

    log_offset: int
    size: int
    tags_code: int

    @property
    def is_filler(self) -> bool:
        """True for the entries before the first message of a queue that starts late."""
        return self.size == FILLER_SIZE and self.log_offset == 0 and self.tags_code == 0

    @property
    def is_free(self) -> bool:
        """True for space that was never written: the end of the data in a file."""
        return self.size == 0 and self.log_offset == 0 and self.tags_code == 0


def entry_columns(data: bytes | bytearray) -> tuple[tuple[int, ...], ...]:
    """Return log offsets, sizes and tags codes of whole entries, a tuple of each.

    This takes less than half the time of unpacking them one by one.
    """
    flat = _entries_struct(len(data) // ENTRY_SIZE).unpack(data)
    return flat[0::3], flat[1::3], flat[2::3]


@lru_cache(maxsize=256)
def _entries_struct(count: int) -> struct.Struct:
    order, fields = CQ_ENTRY.format[:1], CQ_ENTRY.format[1:]
    return struct.Struct(order + fields * count)


def decode_entries(data: bytes | memoryview) -> list[CqEntry]:
    """Return every entry of ``data``, free space and fillers included.

    Raises:
        RecordDamaged: ``data`` is not a whole number of entries.
    """
    if len(data) % ENTRY_SIZE:
        raise RecordDamaged(
            f"consume queue data of {len(data)} bytes is not a multiple of {ENTRY_SIZE}; "
            "cut it at an entry, or look for a torn file",
            kind=DamageKind.TRUNCATED,
            pos=len(data) - len(data) % ENTRY_SIZE,
            found=len(data),
        )
    return list(map(CqEntry._make, CQ_ENTRY.iter_unpack(data)))


def is_ext_address(tags_code: int) -> bool:
    """Return whether ``tags_code`` is the address of an ext unit: any hash is greater."""
    return tags_code <= EXT_ADDRESS_MAX


def ext_offset(tags_code: int) -> int:
    """Return the byte position of the ext unit that ``tags_code`` is the address of."""
    return tags_code - _LONG_MIN


def ext_address(ext_offset: int) -> int:
    """Return the tags code that points at the ext unit at byte ``ext_offset``."""
    return ext_offset + _LONG_MIN
