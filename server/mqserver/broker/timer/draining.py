"""One slot that is being delivered: its chain is read first, newest unit first.

    slot      | first_pos | last_pos |
                   v            v
    timer log | unit <- … <- unit |        each unit is due in the slot's tick

Rule: what does not fit is damage, which the caller answers by building the files again from the
queue: a unit that is missing or due in another tick, a chain that ends before the slot's first
unit, or a unit of another message. Only units of removed files may be missing.
"""

from array import array
from typing import Final

from mqserver.broker.timer.timer_messages import Recalls
from mqserver.store.timer.timer_log import TimerLog
from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats.javahash import string_hash
from storefmt.formats.timer import NO_POS, Slot, TimerUnit

_KIND: Final = DamageKind.BAD_LENGTH


class Draining:
    """One slot that is being delivered.

    Args:
        slot: the slot.
        log_offset: log offset after which all deliveries of this slot are.

    Attributes:
        next_pos: position of the next unit to read; NO_POS after the first one.
        is_read: whether the chain was read to its end.
        positions: positions of the units that are not delivered, the oldest one last.
        recalls: the messages of the slot that were recalled.
    """

    def __init__(self, slot: Slot, *, log_offset: int) -> None:
        self._slot = slot
        self._read_pos = self.next_pos = slot.last_pos
        self.is_read = False
        self.positions = array("q")
        self.recalls = Recalls()
        self.log_offset = log_offset

    def next_unit(self, log: TimerLog, *, precision_ms: int) -> TimerUnit | None:
        """Return the next unit of the chain, None at its end (``is_read``).

        ``passed`` moves past it.

        Raises:
            RecordDamaged: the chain is broken.
            OSError: the timer log could not be read.
        """
        pos, tick = self.next_pos, self._slot.due_tick
        if pos == NO_POS:
            if self._read_pos != self._slot.first_pos:
                raise RecordDamaged(f"slot {tick} lacks its first units", kind=_KIND)
            self.is_read = True
            return None
        unit = log.read(pos)
        if unit is None and 0 <= pos < log.start:
            self.is_read = True
            return None
        if unit is None or unit.previous_pos >= pos or unit.due_ms // precision_ms != tick:
            text = f"the timer log has no unit of slot {tick} at position {pos}"
            raise RecordDamaged(text, kind=_KIND)
        return unit

    def passed(self, unit: TimerUnit) -> None:
        """Move past a unit that ``next_unit`` returned."""
        self._read_pos, self.next_pos = self.next_pos, unit.previous_pos


def check_unit(unit: TimerUnit, *, topic: str | None, size: int) -> None:
    """Check that a unit was written for the message at its log offset.

    Args:
        unit: the unit.
        topic: where the message is delivered to; None if no timer message is there.
        size: bytes of its record.

    Raises:
        RecordDamaged: it was written for another message.
    """
    if topic is None or (size, string_hash(topic)) != (unit.record_size, unit.topic_hash):
        text = f"a unit of the timer log names log offset {unit.log_offset}, which it does not fit"
        raise RecordDamaged(text, kind=_KIND)
