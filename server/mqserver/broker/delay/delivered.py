"""Find in the log which delayed messages were delivered before a crash.

    delayOffset.json   level 1 -> 7, level 2 -> 3        deliveredLogOffset 4096
    log from 4096 on   | delivery of 7 | new | delivery of 8 | new | waiting | end of the log
    so                 level 1 -> 9, level 2 -> 3

delayOffset.json is written periodically, so after a crash it may lack the newest deliveries. A
delivery is a record under the real topic that keeps the properties of the waiting message, its
level (DELAY) among them. It needs no extra mark, and its bytes are those of the real broker. A
level delivers in the order of its queue, and the file counts exactly the deliveries that lie
before ``deliveredLogOffset``. So this module reads the log from there on and compares each
delivery with the next message that waits in its level, which gives the exact progress. Deliveries
that are in the log are not repeated; those that the crash removed from the log are.

Rule: only the next waiting message of a level is compared, and a level advances only if topic,
queue, flag, body, born time and host, reconsume times and unique key are equal. If they are not,
the message is delivered again: in doubt it is delivered twice rather than not at all.

Source: none, Java delivers again; the bytes are those of
store/schedule/ScheduleMessageService.java#messageTimeup.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mqserver.broker.names import topic_fault
from mqserver.broker.stored_properties import put_again
from mqserver.store.commitlog.log_scan import ScannedRecord
from mqserver.store.results import GetStatus, PutMessage
from mqserver.store.store import MessageStore
from storefmt.config.tables import DelayOffsets
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_record
from storefmt.formats.properties import (
    DELAY,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    UNIQUE_KEY,
    parse_properties,
)
from storefmt.names import HALF_TOPIC, SCHEDULE_TOPIC, UNDELIVERED_TOPIC

LOG = logging.getLogger(__name__)

_NAMES_LEVEL = f"{DELAY}\x01".encode()


def restore_message(record: Record) -> PutMessage | None:
    """Return the message that a waiting record becomes; None if its destination is not valid."""
    named = parse_properties(record.properties_raw)
    topic, queue = named.get(REAL_TOPIC), named.get(REAL_QUEUE_ID, "")
    if topic is None or topic_fault(topic) is not None or not queue.isdecimal():
        return None
    if topic in (HALF_TOPIC, SCHEDULE_TOPIC):
        return None
    return put_again(record, named, topic=topic, queue_id=int(queue))


@dataclass(slots=True)
class _LevelTail:
    """The queue of one level, and up to where its deliveries were found."""

    store: MessageStore
    queue_id: int
    next_offset: int
    """Queue offset of the first message whose delivery was not found."""
    head: tuple[int, PutMessage] | None = None
    """The next message to deliver, with its queue offset; None before it is read."""

    def count_delivery(self, delivery: Record) -> None:
        """Advance if a record is the delivery of the next message."""
        self.head = self.head or self._read()
        if self.head is not None and _is_delivery(delivery, self.head[1]):
            self.next_offset, self.head = self.head[0] + 1, None

    def _read(self) -> tuple[int, PutMessage] | None:
        """Return the next message that can be delivered, and skip those that cannot."""
        queue_offset = self.next_offset
        while True:
            result = self.store.reader.get_message(
                SCHEDULE_TOPIC, self.queue_id, queue_offset, count_max=1
            )
            if result.status is GetStatus.FOUND:
                try:
                    record = decode_record(b"".join(result.chunks))
                except RecordDamaged:
                    record = None
                message = record and restore_message(record)
                if record is not None and message is not None:
                    return record.queue_offset, message
            if result.next_offset <= queue_offset:
                return None
            queue_offset = result.next_offset


def _is_delivery(record: Record, message: PutMessage) -> bool:
    """Return whether a record is the delivery of a message."""
    place = record.topic, record.queue_id
    return (
        place in ((message.topic, message.queue_id), (UNDELIVERED_TOPIC, 0))
        and (record.flag, record.born_ms, record.born_host)
        == (message.flag, message.born_ms, message.born_host)
        and record.reconsume_times == message.reconsume_times
        and record.body == message.body
        and _unique_key(record.properties_raw) == _unique_key(message.properties)
    )


def _unique_key(properties: bytes) -> str | None:
    return parse_properties(properties).get(UNIQUE_KEY)


class DeliveredTail:
    """Finds the deliveries in the end of the log that delayOffset.json does not count.

    Args:
        progress: the content of delayOffset.json; its log offset must not be None.
        levels: the delay levels to look at.
    """

    def __init__(self, store: MessageStore, progress: DelayOffsets, levels: Iterable[int]) -> None:
        self._store = store
        self._levels: dict[int, _LevelTail] = {}
        for level in levels:
            queue_offset = max(0, progress.offsets.get(level, 0))
            if queue_offset < store.max_offset(SCHEDULE_TOPIC, level - 1):
                self._levels[level] = _LevelTail(store, level - 1, queue_offset)
        assert progress.log_offset is not None
        # If no message waits in any level, the file counts every delivery.
        self._walk: Iterator[list[ScannedRecord]] = iter(())
        if self._levels:
            self._walk = store.reader.records_from(progress.log_offset)

    def step(self) -> bool:
        """Look at some records; return whether there may be more."""
        try:
            records = next(self._walk, None)
        except OSError as error:
            LOG.error("cannot read the log, so delayed messages may be delivered twice: %s", error)
            return False
        for record in records or ():
            if _NAMES_LEVEL in record.properties and record.topic != SCHEDULE_TOPIC:
                self._note_delivery(record)
        return records is not None

    def offsets(self) -> dict[int, int]:
        """Return, by level, the queue offset of the first message that was not delivered."""
        return {level: level_offsets.next_offset for level, level_offsets in self._levels.items()}

    def _note_delivery(self, record: ScannedRecord) -> None:
        text = parse_properties(record.properties).get(DELAY, "")
        level = self._levels.get(int(text)) if text.isdecimal() and len(text) < 10 else None
        data = None if level is None else self._store.reader.read_record(record.log_offset)
        if level is not None and data is not None:
            # The scan of the log has just checked that this record is whole.
            level.count_delivery(decode_record(data))
