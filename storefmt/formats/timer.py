"""The timer of 5.x: a wheel of slots, a log of units, and a checkpoint.

    timerwheel                slot = tick % slot_count
        | … | due_tick | first_pos | last_pos | message_count | magic | …      32 bytes a slot
                                        |
    timerlog/<20 digits>                v            newest unit of the slot
        | unit | unit | unit <- previous_pos - unit <- previous_pos - unit |   52 bytes a unit
                  |
                  log_offset: a record of the topic rmq_sys_wheel_timer
    config/timercheck         how far it got

Rule: this module knows the bytes and nothing about files. A tick is one precision
(timerPrecisionMs, 1000 ms) long and the precision is not in the files. The wheel has two rounds of
seven days of slots, so a slot is only meaningful with its own ``due_tick``, because slots of the
past keep their content. A chain goes from the slot's last_pos to its first_pos; positions are those
of the whole log, not of a file. A unit with 2 in its magic is due later than the window and is
enqueued again; one with 4 removes another message of its slot, so ``message_count`` may be less
than the length of the chain, even 0.

``mqbroker`` adds a log offset to the checkpoint, after the fields of 5.x: from there on the log may
have deliveries that the checkpoint does not count. A sum over all fields shows whether the offset
is still valid: a broker of 5.x writes only its own fields, and then the sum is wrong.

Source: store/timer/TimerWheel.java, TimerLog.java, TimerCheckpoint.java,
TimerMessageStore.java#doEnqueue (RocketMQ 5.4.0).
"""

import struct
import zlib
from typing import Final, NamedTuple, Self

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout

_CHECKPOINT: Final = layout.TIMER_CHECKPOINT.struct()
CHECKPOINT_SIZE: Final = 4096
_OLD_CHECKPOINT_SIZE: Final = 32
assert _CHECKPOINT.size == 56

SLOT: Final = layout.TIMER_SLOT.struct()
SLOT_SIZE: Final = SLOT.size
SLOT_COUNT: Final = 7 * 24 * 3600
"""Slots of one round of the wheel."""
WHEEL_SIZE: Final = 2 * SLOT_COUNT * SLOT_SIZE
"""Bytes of the file ``timerwheel``, which has two rounds."""
UNIT: Final = layout.TIMER_UNIT.struct()
UNIT_SIZE: Final = UNIT.size
BLANK: Final = layout.TIMER_BLANK.struct()
BLANK_SIZE: Final = BLANK.size
assert (SLOT_SIZE, UNIT_SIZE, BLANK_SIZE) == (32, 52, 16)
BLANK_MAGIC: Final = 0xCBD43194 - (1 << 32)
NO_POS: Final = -1
"""The position of a unit that does not exist."""

MAGIC_PLAIN: Final = 1
MAGIC_ROLL: Final = 2
"""Set when the message is enqueued again at the time of the unit, because it is due later."""
MAGIC_DELETE: Final = 4
"""Set when the message cancels another one."""
_MAGIC_MASK: Final = 15

_OWN: Final = struct.Struct(">qI")


class Slot(NamedTuple):
    """One slot of the wheel; positions are bytes of the timer log."""

    due_tick: int
    first_pos: int
    last_pos: int
    message_count: int
    magic: int = 0


class TimerUnit(NamedTuple):
    """One message in the timer log; times in ms, positions and sizes in bytes."""

    size: int
    previous_pos: int
    magic: int
    enqueue_ms: int
    delay_ms: int
    log_offset: int
    record_size: int
    topic_hash: int
    reserved: int = 0

    @property
    def due_ms(self) -> int:
        """When the slot of the unit is due."""
        return self.enqueue_ms + self.delay_ms

    @property
    def is_roll(self) -> bool:
        """Whether the message is enqueued again instead of delivered."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def is_deletion(self) -> bool:
        """Whether the message cancels another one."""
        return bool(self.magic & MAGIC_DELETE) and not self.is_roll

    @classmethod
    def decode(cls, data: bytes | memoryview, pos: int = 0) -> Self | None:
        """Return the unit at ``data[pos:]``, or None if there is none."""
        if len(data) - pos < UNIT_SIZE:
            return None
        unit = cls(*UNIT.unpack_from(data, pos))
        is_unit = unit.size == UNIT_SIZE and unit.magic | _MAGIC_MASK == _MAGIC_MASK
        return unit if is_unit else None

    def encode(self) -> bytes:
        """Return the 52 bytes of the unit."""
        return UNIT.pack(*self)


class TimerCheckpoint(NamedTuple):
    """How far the timer got; times in ms, queue offsets in entries of rmq_sys_wheel_timer."""

    last_read_ms: int = 0
    log_flush_pos: int = 0
    queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    version_ms: int = 0
    version_counter: int = 0

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the numbers of the file; older files have only the first four.

        Raises:
            RecordDamaged: fewer than 32 bytes.
        """
        if len(data) < _OLD_CHECKPOINT_SIZE:
            raise RecordDamaged(
                f"timer checkpoint: length is {len(data)}, expected {CHECKPOINT_SIZE}; "
                "a 5.x broker rebuilds the wheel and its log from rmq_sys_wheel_timer",
                kind=DamageKind.TRUNCATED,
                found=len(data),
                expected=CHECKPOINT_SIZE,
            )
        return cls(*_CHECKPOINT.unpack(data[: _CHECKPOINT.size].ljust(_CHECKPOINT.size, b"\0")))

    def fields(self) -> bytes:
        """Return the 56 bytes of the fields, which a slave of 5.x requests from its master."""
        return _CHECKPOINT.pack(*self)

    def encode(self, *, delivered_log_offset: int | None = None) -> bytes:
        """Return the 4096 bytes of the file.

        Args:
            delivered_log_offset: log offset before which the checkpoint counts every delivery;
                None if that is not known.
        """
        fields = self.fields()
        own = b""
        if delivered_log_offset is not None:
            own = _OWN.pack(delivered_log_offset, _sum(fields, delivered_log_offset))
        return (fields + own).ljust(CHECKPOINT_SIZE, b"\0")


def delivered_log_offset(data: bytes) -> int | None:
    """Return the log offset that ``encode`` was given, None if a 5.x broker wrote the file."""
    if len(data) < _CHECKPOINT.size + _OWN.size:
        return None
    log_offset, checksum = _OWN.unpack_from(data, _CHECKPOINT.size)
    return log_offset if checksum == _sum(data[: _CHECKPOINT.size], log_offset) else None


def has_wrong_sum(data: bytes) -> bool:
    """Return whether a file that ``encode`` wrote was changed since: by damage, or by a 5.x broker.

    A 5.x broker leaves the bytes after its fields as they were: zeros in a file of its own.
    """
    own = data[_CHECKPOINT.size : _CHECKPOINT.size + _OWN.size]
    return any(own) and delivered_log_offset(data) is None


def _sum(fields: bytes, log_offset: int) -> int:
    # A file that is all zeros must not have a valid sum.
    return zlib.crc32(fields + b"%d" % log_offset)
