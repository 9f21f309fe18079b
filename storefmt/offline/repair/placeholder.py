"""Makes records that replace damaged bytes, so that a broker reads the records after them.

    | record | damage of n bytes        | record |
    | record | placeholder | … | filler | record |     the same n bytes, all valid

Rule: the recovery of a broker stops at the first bytes that are not a record, and a blank is only
valid at the end of a file. So the damaged bytes become records of exactly the same size. A message
that is known to be lost gets a placeholder in its own queue, at its own queue offset, because a
queue entry that points at no record makes a broker skip the rest of the log file. A placeholder
has the tag ``MQADMIN_DAMAGED``, so consumers with a tag filter never get it. All other bytes
become fillers: rollback records, which no queue and no index contains.

Source: store/CommitLog.java#recoverNormally, #checkMessageAndReturnSize,
store/DefaultMessageStore.java#getMessage, #CommitLogDispatcherBuildConsumeQueue.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from storefmt.formats.message import BLANK_SIZE_MIN, blank, encode_record, record_size
from storefmt.formats.properties import DELAY, REAL_QUEUE_ID, REAL_TOPIC, TAGS, format_properties
from storefmt.formats.sysflag import TRANSACTION_ROLLBACK
from storefmt.names import TopicKind, kind_of

DAMAGED_TAG: Final = "MQADMIN_DAMAGED"
DAMAGED_TOPIC: Final = "MQADMIN_DAMAGED"
"""Topic of fillers, and of the placeholder of a lost delayed message when it is delivered."""
FILLER_SIZE_MAX: Final = 1 << 20
_CONSUMED: Final = (TopicKind.DELAY, TopicKind.HALF, TopicKind.OP)


class LostMessage(NamedTuple):
    """The place of one lost message in its queue."""

    topic: str
    queue_id: int
    queue_offset: int


class Stamp(NamedTuple):
    """Store time (ms) and packed store host of a neighbour, which a placeholder copies."""

    store_ms: int
    store_host: bytes


def placeholder_size(message: LostMessage, stamp: Stamp) -> int:
    """Return the smallest size in bytes of a placeholder for a lost message."""
    return _size(message.topic.encode(), _properties(message), stamp)


def filler_size_min(stamp: Stamp) -> int:
    """Return the smallest size of a filler in bytes."""
    return _size(DAMAGED_TOPIC.encode(), b"", stamp)


def fill(
    log_offset: int, size: int, messages: Sequence[LostMessage], stamp: Stamp, *, to_file_end: bool
) -> list[tuple[int, bytes]]:
    """Return the records for ``size`` bytes at ``log_offset``; messages without room get none.

    Args:
        to_file_end: the bytes reach to the end of the log file: a blank closes them.

    Returns:
        (log offset, bytes) pieces without a gap between them, except for the blank, of which
        only the head is given; nothing if the bytes are too few for any record.
    """
    pieces: list[tuple[int, bytes]] = []
    pos, end = log_offset, log_offset + size
    filler = filler_size_min(stamp)
    for number, message in enumerate(messages):
        needed, left = placeholder_size(message, stamp), end - pos
        rest = left - needed
        reserve = BLANK_SIZE_MIN if to_file_end else 0
        last = number == len(messages) - 1
        exact = rest == 0 or rest >= filler or (last and rest >= 0)
        fits = rest >= reserve if to_file_end else exact
        if not fits:
            continue
        taken = left if not to_file_end and rest < filler else needed
        pieces.append((pos, _record(message, pos, taken, stamp, properties=_properties(message))))
        pos += taken
    if to_file_end:
        if end - pos >= BLANK_SIZE_MIN:
            pieces.append((pos, blank(end - pos)))
        return pieces
    for start, count in _parts(pos, end, filler):
        pieces.append((start, _filler(start, count, stamp)))
        pos = start + count
    if pos < end:
        return (
            [(pos, _filler(pos, end - pos, stamp))] if end - pos >= _size(b"", b"", stamp) else []
        )
    return pieces


def _parts(pos: int, end: int, least: int) -> Iterator[tuple[int, int]]:
    while end - pos >= least:
        count = end - pos
        if count > FILLER_SIZE_MAX:
            count = min(FILLER_SIZE_MAX, count - least)
        yield pos, count
        pos += count


def _size(topic: bytes, properties: bytes, stamp: Stamp) -> int:
    v6 = len(stamp.store_host) > 8
    return record_size(len(topic), 0, len(properties), v6_born=v6, v6_store=v6)


def _properties(message: LostMessage) -> bytes:
    properties = {TAGS: DAMAGED_TAG}
    kind = kind_of(message.topic)
    if kind in _CONSUMED:
        # The broker itself consumes these records and needs the topic to deliver them to.
        properties |= {REAL_TOPIC: DAMAGED_TOPIC, REAL_QUEUE_ID: "0"}
        if kind is TopicKind.DELAY:
            properties[DELAY] = str(message.queue_id + 1)
    return format_properties(properties).encode()


def _filler(log_offset: int, size: int, stamp: Stamp) -> bytes:
    message = LostMessage(DAMAGED_TOPIC, 0, 0)
    return _record(message, log_offset, size, stamp, sys_flag=TRANSACTION_ROLLBACK)


def _record(
    message: LostMessage,
    log_offset: int,
    size: int,
    stamp: Stamp,
    *,
    properties: bytes = b"",
    sys_flag: int = 0,
) -> bytes:
    # A filler that is too small for its topic has the beginning of it.
    topic = message.topic.encode()[: size - _size(b"", properties, stamp)]
    return encode_record(
        topic=topic,
        queue_id=message.queue_id,
        queue_offset=message.queue_offset,
        log_offset=log_offset,
        flag=0,
        sys_flag=sys_flag,
        born_ms=stamp.store_ms,
        born_host=stamp.store_host,
        store_ms=stamp.store_ms,
        store_host=stamp.store_host,
        reconsume_times=0,
        prepared_transaction_offset=0,
        body=bytes(size - _size(topic, properties, stamp)),
        properties=properties,
    )
