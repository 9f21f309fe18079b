"""Read the records of a queue of the broker's own work, and skip damage and gaps.

    next(5)  ->  records 5, 6, 7         the queue begins at 9?  ->  no record, next_offset is 9

Rule: a record that cannot be read is skipped and logged as an error, so that it does not block the
others. Java does the same.

Source: store/schedule/ScheduleMessageService.java, store/timer/TimerMessageStore.java#enqueue.
"""

import logging
from typing import Final

from mqserver.store.results import GetResult, GetStatus
from mqserver.store.store import MessageStore
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_records

LOG = logging.getLogger(__name__)

READ_COUNT: Final = 32
READ_SIZE: Final = 256 * 1024
_MOVED: Final = frozenset({
    GetStatus.NO_MESSAGE_IN_QUEUE, GetStatus.NO_MATCHED_LOGIC_QUEUE, GetStatus.OFFSET_TOO_SMALL,
    GetStatus.OFFSET_OVERFLOW_BADLY, GetStatus.OFFSET_FOUND_NULL,
})  # fmt: skip


class QueueRecords:
    """The records of one queue.

    Args:
        store: has the queue.
        topic: topic of the queue.
        queue_id: its id.
        name: who reads it, for the log.
    """

    def __init__(self, store: MessageStore, topic: str, queue_id: int, *, name: str) -> None:
        self.next_offset = 0
        """Queue offset at which the last ``next`` found that the queue goes on."""
        self._store = store
        self._topic = topic
        self._queue_id = queue_id
        self._name = name

    def next(self, queue_offset: int, *, may_wait: bool) -> list[Record]:
        """Return the next records from ``queue_offset`` on; [] if there are none now.

        Raises:
            ColdRead: they are not in the page cache, and ``may_wait`` is False.
        """
        self.next_offset = queue_offset
        result = self._get(READ_COUNT, may_wait)
        if result.status is GetStatus.FOUND:
            try:
                return decode_records(b"".join(result.chunks))
            except RecordDamaged:
                return self._next_whole(may_wait)
        if result.status in _MOVED and result.next_offset != queue_offset:
            LOG.warning(
                "%s was at %d, but its queue has %d to %d; continuing at %d",
                self._name, queue_offset, result.min_offset, result.max_offset, result.next_offset,
            )  # fmt: skip
            self.next_offset = result.next_offset
        return []

    def _next_whole(self, may_wait: bool) -> list[Record]:
        """Return the next record that is whole, and skip damaged ones."""
        while (result := self._get(1, may_wait)).status is GetStatus.FOUND:
            try:
                return decode_records(b"".join(result.chunks))
            except RecordDamaged as error:
                LOG.error(
                    "%s: skipped message %d of its queue, which cannot be read: %s",
                    self._name, self.next_offset, error,
                )  # fmt: skip
                self.next_offset += 1
        return []

    def _get(self, count_max: int, may_wait: bool) -> GetResult:
        return self._store.reader.get_message(
            self._topic, self._queue_id, self.next_offset,
            count_max=count_max, size_max=READ_SIZE, may_wait=may_wait,
        )  # fmt: skip
