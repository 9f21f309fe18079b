"""Read the queue ``rmq_sys_wheel_timer``, and choose the slot of the wheel for a message.

    next(5)  ->  records 5, 6, 7         the queue begins at 9?  ->  no record, next_offset is 9

Rule: a message that cannot be read, or that names no time or destination, is left out with an error
in the log, so that it does not block all others; Java does the same.

Source: store/timer/TimerMessageStore.java#enqueue, #doEnqueue (5.4.0).
"""

import logging
from typing import Final

from server.broker.timer.messages import TimerMessage, timer_message
from server.store.config import StoreConfig
from server.store.results import GetStatus
from server.store.store import MessageStore
from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_records
from storefmt.formats.timer import SLOT_COUNT
from storefmt.names import TIMER_TOPIC

LOG = logging.getLogger(__name__)

READ_COUNT: Final = 32
READ_SIZE: Final = 256 * 1024
SPARE_SLOTS: Final = 60
"""Slots of a round that are never used, so that two rounds do not meet."""
_HOUR_MS: Final = 3_600_000
_MOVED: Final = frozenset(
    {
        GetStatus.NO_MESSAGE_IN_QUEUE,
        GetStatus.NO_MATCHED_LOGIC_QUEUE,
        GetStatus.OFFSET_TOO_SMALL,
        GetStatus.OFFSET_OVERFLOW_BADLY,
        GetStatus.OFFSET_FOUND_NULL,
    }
)


class TimerQueue:
    """The queue in which timer messages wait.

    Args:
        store: has the queue.
    """

    def __init__(self, store: MessageStore) -> None:
        self.next_offset = 0
        """Queue offset at which the last ``next`` found that the queue goes on."""
        self._store = store

    def next(self, queue_offset: int, *, may_wait: bool) -> list[Record]:
        """Return the next records from ``queue_offset`` on; [] if there are none now.

        Raises:
            ColdRead: they are not in the page cache, and ``may_wait`` is False.
        """
        self.next_offset = queue_offset
        found = self._store.reader.get_message(
            TIMER_TOPIC, 0, queue_offset, count_max=READ_COUNT, size_max=READ_SIZE,
            may_wait=may_wait,
        )  # fmt: skip
        if found.status is GetStatus.FOUND:
            try:
                return decode_records(b"".join(found.chunks))
            except RecordDamaged:
                return self._next_whole()
        if found.status in _MOVED and found.next_offset != queue_offset:
            LOG.warning(
                "the timer was at %d of its queue, which has %d to %d; going on at %d",
                queue_offset, found.min_offset, found.max_offset, found.next_offset,
            )  # fmt: skip
            self.next_offset = found.next_offset
        return []

    def _next_whole(self) -> list[Record]:
        """Return the next record that is whole, and skip damaged ones."""
        while True:
            found = self._store.reader.get_message(TIMER_TOPIC, 0, self.next_offset, count_max=1)
            if found.status is not GetStatus.FOUND:
                return []
            try:
                return decode_records(b"".join(found.chunks))
            except RecordDamaged as error:
                LOG.error(
                    "timer message %d of its queue cannot be read and is left out: %s",
                    self.next_offset, error,
                )  # fmt: skip
                self.next_offset += 1


def read_timer_message(record: Record) -> TimerMessage | None:
    """Return what a record of the queue says; log an error if it names no time or destination."""
    found = timer_message(record)
    if found is None:
        LOG.error(
            "timer message at log offset %d names no time, topic or queue; left out",
            record.log_offset,
        )
    return found


def roll(out_ms: int, write_ms: int, *, config: StoreConfig) -> tuple[int, bool]:
    """Return the slot for a message, and whether it is stored again then, as in 5.4.0.

    Args:
        out_ms: the slot that it asks for, as epoch ms.
        write_ms: the present tick, as epoch ms.
        config: the settings of the store.
    """
    window, tick_ms = _window_slots(config), config.timer_precision_ms
    ahead_ms, window_ms = out_ms - write_ms, window * tick_ms
    if ahead_ms < window_ms:
        return out_ms, False
    if ahead_ms - window_ms < window // 3 * tick_ms:
        # The last part would be short: cut the way in two halves.
        return write_ms + window // 2 * tick_ms, True
    return write_ms + window_ms, True


def _window_slots(config: StoreConfig) -> int:
    window, most = config.timer_roll_window_slot, SLOT_COUNT - SPARE_SLOTS
    if not 2 <= window <= most:
        window = most
    kept_ms = config.file_reserved_time_h * _HOUR_MS
    return min(window, max(2, kept_ms * 2 // 3 // config.timer_precision_ms))
