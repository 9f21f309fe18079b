"""Find in the log which timer messages were delivered, rolled or recalled before a crash.

    checkpoint     reads up to tick 100, queue offset 7        deliveries counted to log offset 4096
    log from 4096  | delivery of 8 | new | rolled 9 | recall of 10 | end of the log
    so             8 and 9 are not delivered or rolled again, and 10 is not delivered

The checkpoint is written every second, so after a crash it lacks the newest deliveries. A delivery
keeps all properties of the waiting message, so it needs no extra mark, and the deliveries that a
5.4.0 broker made are found as well.

Rule: a delivery belongs to a waiting message if topic, queue, unique key, TIMER_OUT_MS, born time
and host, flag, body CRC and the number of times it was rolled are equal. What was found counts
once: two waiting messages that do not differ in any of these need two deliveries.

Source: none, 5.4.0 delivers again; the bytes are those of
store/timer/TimerMessageStore.java#convert.
"""

import logging
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from mqserver.broker.timer.timer_messages import Recalls, TimerMessage, timer_message
from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.store import MessageStore
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import (
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TIMER_DEL_UNIQUE_KEY,
    TIMER_DEQUEUE_MS,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    UNIQUE_KEY,
    parse_properties,
)
from storefmt.names import TIMER_TOPIC, UNDELIVERED_TOPIC

LOG = logging.getLogger(__name__)

_DEQUEUED: Final = f"{TIMER_DEQUEUE_MS}\x01".encode()
_DELETES: Final = f"{TIMER_DEL_UNIQUE_KEY}\x01".encode()
_DIGEST_SIZE: Final = 16
STORE_MS_MARGIN: Final = 60_000


def identity(message: TimerMessage) -> bytes:
    """Return what is equal in a waiting message and in its delivery."""
    named = message.named
    return _digest(
        message.record,
        topic=message.topic,
        queue_id=message.queue_id,
        unique_key=named.get(UNIQUE_KEY, ""),
        out_ms=str(message.out_ms),
        roll_count=message.roll_count,
    )


def _digest(
    record: Record, *, topic: str, queue_id: int, unique_key: str, out_ms: str, roll_count: int
) -> bytes:
    parts = (
        topic, queue_id, unique_key, out_ms, roll_count,
        record.born_ms, record.born_host, record.flag, record.body_crc,
    )  # fmt: skip
    return blake2b(repr(parts).encode(), digest_size=_DIGEST_SIZE).digest()


class Delivered:
    """What the end of the log shows as done.

    Args:
        store: has the log.
        log_offset: where to begin; before it, the checkpoint counts everything.
    """

    def __init__(self, store: MessageStore, log_offset: int) -> None:
        self.log_offset = log_offset
        self.count = 0
        """Deliveries that were found."""
        self._store = store
        self._walk: Iterator[list[ScannedRecord]] = store.reader.records_from(log_offset)
        self._done: Counter[bytes] = Counter()
        self._recalls = Recalls()
        self._taken: set[int] = set()

    def step(self) -> bool:
        """Look at some records; return whether there may be more."""
        try:
            records = next(self._walk, None)
        except OSError as error:
            LOG.error("cannot read the log, so timer messages may be delivered twice: %s", error)
            return False
        for record in records or ():
            if _DEQUEUED in record.properties:
                self._note_delivery(record)
            if _DELETES in record.properties and record.topic == TIMER_TOPIC:
                named = parse_properties(record.properties)
                key, topic = named.get(TIMER_DEL_UNIQUE_KEY), named.get(REAL_TOPIC)
                if key is not None and topic is not None:
                    self._recalls.add(topic, key)
        return records is not None

    def _note_delivery(self, dequeued: ScannedRecord) -> None:
        data = self._store.reader.read_record(dequeued.log_offset)
        try:
            record = None if data is None else decode_record(data, check_crc=False)
        except RecordDamaged:
            record = None
        if record is None:
            return
        if record.topic == TIMER_TOPIC:
            copy = timer_message(record)
            if copy is not None and copy.roll_count:
                named = {**copy.named, TIMER_ROLL_TIMES: str(copy.roll_count - 1)}
                self._note(identity(copy._replace(named=named)))
            return
        named = parse_properties(record.properties_raw)
        roll_count = named.get(TIMER_ROLL_TIMES, "0")
        topic, queue_id = record.topic, record.queue_id
        if topic == UNDELIVERED_TOPIC:
            topic, queue_id = named.get(REAL_TOPIC, ""), int(named.get(REAL_QUEUE_ID, "0"))
        self._note(
            _digest(
                record,
                topic=topic,
                queue_id=queue_id,
                unique_key=named.get(UNIQUE_KEY, ""),
                out_ms=named.get(TIMER_OUT_MS, ""),
                roll_count=int(roll_count) if roll_count.isdecimal() else 0,
            )
        )

    def _note(self, key: bytes) -> None:
        self._done[key] += 1
        self.count += 1

    def takes(self, message: TimerMessage) -> bool:
        """Return whether a waiting message is done with; a delivery counts for one record."""
        log_offset = message.record.log_offset
        if log_offset in self._taken:
            return True
        if not self._done:
            return False
        key = identity(message)
        left = self._done.get(key, 0)
        if left > 1:
            self._done[key] = left - 1
        elif left:
            del self._done[key]
        if left:
            self._taken.add(log_offset)
        return left > 0

    def was_recalled(self, message: TimerMessage) -> bool:
        """Return whether the end of the log has a message that recalls this one."""
        return self._recalls.has(message)


def first_uncounted(store: MessageStore, counted_until: int | None, read_ms: int) -> int:
    """Return the log offset from which on deliveries may not be counted.

    Args:
        store: has the log.
        counted_until: log offset up to which the checkpoint counts them; None if it is not known.
        read_ms: the slot that is delivered next.
    """
    if counted_until is not None and counted_until <= store.written_offset:
        return counted_until
    return start_by_time(store, read_ms)


def start_by_time(store: MessageStore, read_ms: int) -> int:
    """Return a log offset from which on every delivery of a slot at ``read_ms`` or later lies.

    A 5.4.0 broker does not record where its deliveries are, but stores none before its slot is due.
    So the search begins with the last log file whose first record is older.
    """
    size = store.raw.file_size
    start = store.min_log_offset
    base = max(start, (store.written_offset - 1) // size * size)
    while base > start and store.reader.store_ms(base) >= read_ms - STORE_MS_MARGIN:
        base = max(start, base - size)
    return base
