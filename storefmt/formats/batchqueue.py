"""One entry of a batch consume queue (5.x): 46 bytes that point at one record of several messages.

    0            8      12          20         28                  36
    | log_offset | size | tags_code | store_ms | base_queue_offset | message_count |
    38                 42         46
    | compacted_offset | reserved |

Rule: a topic with the attribute ``queue.type=BatchCQ`` has these under
``batchconsumequeue/<topic>/<queue id>/`` in place of a consume queue. Entries are in the
order of ``base_queue_offset`` and each covers ``message_count`` queue offsets, so a file is
named by bytes and searched by offset. A record of one message counts as 1. Free space is
all zero: an entry in use has a size.

Source: store/queue/BatchConsumeQueue.java#putBatchMessagePositionInfo (RocketMQ 5.3.3).
"""

import struct
from typing import Final, NamedTuple

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout

BATCH_ENTRY: Final = layout.BATCH_QUEUE_ENTRY.struct()
ENTRY_SIZE: Final = BATCH_ENTRY.size
NOT_COMPACTED: Final = -1
assert ENTRY_SIZE == 46


class BatchQueueEntry(NamedTuple):
    """One entry; ``log_offset`` and ``size`` in bytes, queue offsets in messages."""

    log_offset: int
    size: int
    tags_code: int
    store_ms: int
    base_queue_offset: int
    message_count: int
    compacted_offset: int = NOT_COMPACTED
    reserved: int = 0

    @property
    def is_free(self) -> bool:
        """True for space that was never written: the end of the data in a file."""
        return self.size == 0 and self.log_offset == 0 and self.message_count == 0

    @property
    def end_queue_offset(self) -> int:
        """The queue offset behind its last message: the next entry's base."""
        return self.base_queue_offset + self.message_count


def encode_entry(entry: BatchQueueEntry) -> bytes:
    """Return the 46 bytes of an entry.

    Raises:
        BadCall: a number does not fit into its field.
    """
    try:
        return BATCH_ENTRY.pack(*entry)
    except struct.error as error:
        raise BadCall(f"batch consume queue entry {entry} does not fit: {error}") from error


def decode_entries(data: bytes | memoryview) -> list[BatchQueueEntry]:
    """Return every entry of ``data``, free space included.

    Raises:
        RecordDamaged: ``data`` is not a whole number of entries.
    """
    if len(data) % ENTRY_SIZE:
        raise RecordDamaged(
            f"batch consume queue data of {len(data)} bytes is no multiple of {ENTRY_SIZE}; "
            "cut it at an entry, or look for a torn file",
            kind=DamageKind.TRUNCATED,
            pos=len(data) - len(data) % ENTRY_SIZE,
            found=len(data),
        )
    return list(map(BatchQueueEntry._make, BATCH_ENTRY.iter_unpack(data)))
