"""The timer of 5.x: a wheel of slots, a log of units, and a checkpoint.

    timerwheel                slot = tick % slot_count
        | … | due_tick | first_pos | last_pos | message_count | magic | …      32 bytes a slot
                                        |
    timerlog/<20 digits>                v            newest unit of the slot
        | unit | unit | unit <- previous_pos - unit <- previous_pos - unit |   52 bytes a unit
                  |
                  log_offset: a record of the topic rmq_sys_wheel_timer
    config/timercheck         how far it got

Rule: a tick is one precision (timerPrecisionMs, 1000 ms) long and the precision is not in the
files. The wheel has two rounds of seven days of slots, so a slot is only meaningful with
its own ``due_tick``, because slots of the past keep their content. A chain goes from the slot's
last_pos to its first_pos; positions are those of the whole log, not of a file. A unit that is due
later than the window enters with MAGIC_ROLL and is enqueued again. A unit with MAGIC_DELETE removes
another message of its slot, so ``message_count`` may be less than the length of the chain, even 0.

Source: store/timer/TimerWheel.java, TimerLog.java, TimerCheckpoint.java,
TimerMessageStore.java#doEnqueue (RocketMQ 5.3.3).
"""

import struct
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Self

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.message import MAGIC_BLANK

_SLOT: Final = layout.TIMER_SLOT.struct()
_UNIT: Final = layout.TIMER_UNIT.struct()
_BLANK: Final = layout.TIMER_BLANK.struct()
_CHECKPOINT: Final = layout.TIMER_CHECKPOINT.struct()
SLOT_SIZE: Final = _SLOT.size
UNIT_SIZE: Final = _UNIT.size
BLANK_SIZE_MIN: Final = _BLANK.size
CHECKPOINT_SIZE: Final = 4096
PRECISION_MS: Final = 1000
WHEEL_SLOT_COUNT: Final = 2 * 7 * 24 * 3600
NO_POS: Final = -1
MAGIC_DEFAULT: Final = 1
MAGIC_ROLL: Final = 2
MAGIC_DELETE: Final = 4
_MAGICS: Final = MAGIC_DEFAULT | MAGIC_ROLL | MAGIC_DELETE
_OLD_CHECKPOINT_SIZE: Final = 32
assert SLOT_SIZE == 32
assert UNIT_SIZE == 52
assert BLANK_SIZE_MIN == 16
assert _CHECKPOINT.size == 56


class TimerSlot(NamedTuple):
    """One slot; positions in bytes of the timer log, -1 for none."""

    due_tick: int
    first_pos: int
    last_pos: int
    message_count: int
    magic: int = 0

    @property
    def is_free(self) -> bool:
        """True for a slot that was never used."""
        return self.due_tick == 0

    def due_ms(self, *, precision_ms: int = PRECISION_MS) -> int:
        """Return the time (ms) at which the slot's messages are due."""
        return self.due_tick * precision_ms


class TimerUnit(NamedTuple):
    """One message in the timer log; ``log_offset`` is that of its waiting record."""

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
        """The time (ms) at which the message leaves the wheel."""
        return self.enqueue_ms + self.delay_ms

    @property
    def is_rolled(self) -> bool:
        """True if the message is not due then and enters the wheel once more."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def is_deletion(self) -> bool:
        """True if the unit removes another message of its slot."""
        return bool(self.magic & MAGIC_DELETE)


class TimerBlank(NamedTuple):
    """The filler at the end of a timer log file; ``size`` reaches to the end."""

    size: int


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
        """Return the numbers of the file; older ones have the first four alone.

        Raises:
            RecordDamaged: fewer than 32 bytes.
        """
        if len(data) < _OLD_CHECKPOINT_SIZE:
            raise _damaged(
                "timer checkpoint", DamageKind.TRUNCATED, 0, "", len(data), CHECKPOINT_SIZE
            )
        return cls(*_CHECKPOINT.unpack(data[: _CHECKPOINT.size].ljust(_CHECKPOINT.size, b"\0")))

    def encode(self) -> bytes:
        """Return the 4096 bytes of the file."""
        return _pack(_CHECKPOINT, self).ljust(CHECKPOINT_SIZE, b"\0")


def slot_index(due_ms: int, *, slot_count: int, precision_ms: int = PRECISION_MS) -> int:
    """Return the slot of a wheel of ``slot_count`` slots in which ``due_ms`` lies."""
    return due_ms // precision_ms % slot_count


def encode_slot(slot: TimerSlot) -> bytes:
    """Return the 32 bytes of a slot; BadCall when a number does not fit."""
    return _pack(_SLOT, slot)


def decode_slots(data: bytes | memoryview) -> Iterator[tuple[int, TimerSlot]]:
    """Yield the slots in use with their numbers; a wheel is megabytes of free ones.

    Raises:
        RecordDamaged: ``data`` is not a whole number of slots, or a slot in use has a
            negative count or a position that cannot be one.
    """
    if len(data) % SLOT_SIZE:
        raise _damaged(
            "timer wheel",
            DamageKind.TRUNCATED,
            len(data) - len(data) % SLOT_SIZE,
            "",
            len(data),
            len(data) - len(data) % SLOT_SIZE,
        )
    free = bytes(SLOT_SIZE)
    for number, start in enumerate(range(0, len(data), SLOT_SIZE)):
        raw = data[start : start + SLOT_SIZE]
        if raw == free:
            continue
        slot = TimerSlot._make(_SLOT.unpack(raw))
        where = f"timer wheel slot {number}"
        for field, value, least in (
            ("due_tick", slot.due_tick, 0),
            ("first_pos", slot.first_pos, NO_POS),
            ("last_pos", slot.last_pos, max(slot.first_pos, NO_POS)),
        ):
            if value < least:
                raise _damaged(where, DamageKind.BAD_CHAIN, start, field, value, least)
        yield number, slot


def encode_unit(unit: TimerUnit) -> bytes:
    """Return the 52 bytes of a unit; BadCall when a number does not fit."""
    return _pack(_UNIT, unit)


def encode_blank(size: int) -> bytes:
    """Return the first 16 bytes of a blank of ``size`` bytes (16 at least)."""
    if size < BLANK_SIZE_MIN:
        raise BadCall(f"timer log blank of {size} bytes; it needs {BLANK_SIZE_MIN} itself")
    return _pack(_BLANK, (size, 0, MAGIC_BLANK))


def decode_unit(data: bytes | memoryview, pos: int = 0) -> TimerUnit | TimerBlank | None:
    """Return what stands at ``pos``; None at the end of the units (zeros, or no bytes left).

    Raises:
        RecordDamaged: it is cut off, or its size, magic or positions are no unit's.
    """
    left = len(data) - pos
    if left <= 0 or not any(data[pos : pos + UNIT_SIZE]):
        return None
    where = f"timer log unit at byte {pos}"
    if left < BLANK_SIZE_MIN:
        raise _damaged(where, DamageKind.TRUNCATED, pos, "size", left, BLANK_SIZE_MIN)
    size, _, magic = _BLANK.unpack_from(data, pos)
    if magic == MAGIC_BLANK:
        if size < BLANK_SIZE_MIN:
            raise _damaged(where, DamageKind.BAD_SIZE, pos, "size", size, BLANK_SIZE_MIN)
        return TimerBlank(size)
    if size != UNIT_SIZE:
        raise _damaged(where, DamageKind.BAD_SIZE, pos, "size", size, UNIT_SIZE)
    if left < UNIT_SIZE:
        raise _damaged(where, DamageKind.TRUNCATED, pos, "size", left, UNIT_SIZE)
    unit = TimerUnit._make(_UNIT.unpack_from(data, pos))
    if not magic & MAGIC_DEFAULT or magic & ~_MAGICS:
        raise _damaged(where, DamageKind.BAD_MAGIC, pos, "magic", magic, MAGIC_DEFAULT)
    for field, value, least in (
        ("previous_pos", unit.previous_pos, NO_POS),
        ("log_offset", unit.log_offset, 0),
        ("record_size", unit.record_size, 0),
    ):
        if value < least:
            raise _damaged(where, DamageKind.BAD_CHAIN, pos, field, value, least)
    return unit


def decode_units(data: bytes | memoryview) -> Iterator[tuple[int, TimerUnit]]:
    """Yield each unit of one timer log file with its position in the file; errors as above."""
    pos = 0
    while isinstance(unit := decode_unit(data, pos), TimerUnit):
        yield pos, unit
        pos += UNIT_SIZE


def walk_slot(
    slot: TimerSlot, unit_at: Callable[[int], TimerUnit]
) -> Iterator[tuple[int, TimerUnit]]:
    """Yield the units of a slot's chain, newest first, each with its position.

    Args:
        unit_at: gives the unit at a position of the timer log; its errors go through.

    Raises:
        RecordDamaged: a link does not lead back, so that the chain could turn in a circle,
            or to a position before the slot's first.
    """
    pos = slot.last_pos
    while pos != NO_POS:
        unit = unit_at(pos)
        yield pos, unit
        if pos == slot.first_pos:
            return
        if not slot.first_pos <= unit.previous_pos < pos:
            raise _damaged(
                f"timer log unit at byte {pos}",
                DamageKind.BAD_CHAIN,
                pos,
                "previous_pos",
                unit.previous_pos,
                slot.first_pos,
            )
        pos = unit.previous_pos


def _pack(form: struct.Struct, values: tuple[int, ...]) -> bytes:
    try:
        return form.pack(*values)
    except struct.error as error:
        raise BadCall(f"{values} does not fit into the timer's files: {error}") from error


def _damaged(
    where: str, kind: DamageKind, pos: int, field: str, found: int, expected: int
) -> RecordDamaged:
    return RecordDamaged(
        f"{where}: {field or 'length'} is {found}, expected {expected}"
        f"{' or more' if kind is DamageKind.BAD_CHAIN else ''}; "
        "a 5.x broker builds the wheel and its log again from rmq_sys_wheel_timer",
        kind=kind,
        pos=pos,
        field=field,
        found=found,
        expected=expected,
    )
