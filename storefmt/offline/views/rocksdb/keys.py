"""Keys and values of the RocksDB databases of 5.x; all integers are big endian.

    consume queues   default  | topic size i32 | 01 | topic | 01 | queue id i32 | 01 | offset i64 |
                              -> | log_offset i64 | size i32 | tags_code i64 | store_ms i64 |
                     offset   | topic size i32 | 01 | topic | 01 | max or min | 01 | queue id i32 |
                              -> | log_offset i64 | queue_offset i64 |
    settings of v2            | 01 | table i16 | record u8 | name size i16 | name | …
    popped messages  popState | revive_ms i64 | @ | group | @ | topic | @ | queue id i32 | @ | …
    timers           timer    | due_ms i64 | unique key |  -> | size i32 | log_offset i64 |
    half messages    trans    | log_offset i64 | @ | topic | @ | unique key | -> | checks | size |

Rule: this module knows the bytes and nothing about databases. A key of another form gives None,
because it belongs to another feature and says nothing about the queues.

Source: store/queue/RocksDBConsumeQueueTable.java, RocksDBConsumeQueueOffsetTable.java,
broker/config/v2/ConfigHelper.java, ConsumerOffsetManagerV2.java,
store/timer/rocksdb/TimerRocksDBRecord.java, store/transaction/TransRocksDBRecord.java (5.4.0).
"""

import struct
from typing import Final, NamedTuple

from storefmt.formats import layout

MARK: Final = b"\x01"
"""CTRL_1, which stands between the parts of a key."""
QUEUE_VALUE: Final = layout.ROCKSDB_QUEUE_VALUE.struct()
OFFSET_VALUE: Final = layout.ROCKSDB_OFFSET_VALUE.struct()
_QUEUE_TAIL: Final = struct.Struct(">cicq")
_OFFSET_TAIL: Final = struct.Struct(">c3sci")
_TOPIC_SIZE: Final = struct.Struct(">i")
_MAX, _MIN = b"max", b"min"
CHECKPOINT_TOPIC: Final = "CHECKPOINT_TOPIC"
"""The topic whose ``max`` is the log offset up to which the queues are complete."""
assert (QUEUE_VALUE.size, OFFSET_VALUE.size) == (28, 16)


class QueueKeyParts(NamedTuple):
    """The key of one entry of a consume queue."""

    topic: str
    queue_id: int
    queue_offset: int


class OffsetKeyParts(NamedTuple):
    """The key of the first or the last entry of a consume queue."""

    topic: str
    queue_id: int
    is_max: bool


def queue_prefix(topic: str, queue_id: int) -> bytes:
    """Return the bytes with which the keys of all entries of a queue begin."""
    name = topic.encode()
    return b"%b\x01%b\x01%b\x01" % (
        _TOPIC_SIZE.pack(len(name)),
        name,
        _TOPIC_SIZE.pack(queue_id),
    )


def queue_key(topic: str, queue_id: int, queue_offset: int) -> bytes:
    """Return the key of one entry."""
    return queue_prefix(topic, queue_id) + queue_offset.to_bytes(8, "big")


def parse_queue_key(key: bytes) -> QueueKeyParts | None:
    """Return the parts of the key of an entry."""
    split = _topic_of(key, tail_size=_QUEUE_TAIL.size)
    if split is None:
        return None
    topic, pos = split
    mark, queue_id, second, queue_offset = _QUEUE_TAIL.unpack_from(key, pos)
    if mark != MARK or second != MARK or queue_id < 0 or queue_offset < 0:
        return None
    return QueueKeyParts(topic, queue_id, queue_offset)


def parse_offset_key(key: bytes) -> OffsetKeyParts | None:
    """Return the parts of a key of the family ``offset``."""
    split = _topic_of(key, tail_size=_OFFSET_TAIL.size)
    if split is None:
        return None
    topic, pos = split
    mark, which, second, queue_id = _OFFSET_TAIL.unpack_from(key, pos)
    if mark != MARK or second != MARK or which not in (_MAX, _MIN) or queue_id < 0:
        return None
    return OffsetKeyParts(topic, queue_id, which == _MAX)


def _topic_of(key: bytes, *, tail_size: int) -> tuple[str, int] | None:
    """Return the topic that a key begins with, and the position after it."""
    size = len(key) - 5 - tail_size
    if size < 1 or key[:5] != _TOPIC_SIZE.pack(size) + MARK:
        return None
    try:
        return key[5 : 5 + size].decode(), 5 + size
    except UnicodeDecodeError:
        return None
