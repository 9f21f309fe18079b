"""The timer of 5.x: a wheel of slots, a log of units, and a checkpoint.

    timerwheel                slot = tick % slot_count
        | … | due_tick | first_pos | last_pos | message_count | magic | …      32 bytes a slot
                                        |
    timerlog/<20 digits>                v            newest unit of the slot
        | unit | unit | unit <- previous_pos - unit <- previous_pos - unit |   52 bytes a unit
                  |
                  log_offset: a record of the topic rmq_sys_wheel_timer
    config/timercheck         how far it got

Rule: only the checkpoint has a codec, because no tool follows the wheel;
``storefmt.formats.layout`` declares slots and units for the hexdump. A tick is one precision
(timerPrecisionMs, 1000 ms) long and the precision is not in the files. The wheel has two rounds of
seven days of slots, so a slot is only meaningful with its own ``due_tick``, because slots of the
past keep their content. A chain goes from the slot's last_pos to its first_pos; positions are those
of the whole log, not of a file. A unit with 2 in its magic is due later than the window and is
enqueued again; one with 4 removes another message of its slot, so ``message_count`` may be less
than the length of the chain, even 0.

Source: store/timer/TimerWheel.java, TimerLog.java, TimerCheckpoint.java,
TimerMessageStore.java#doEnqueue (RocketMQ 5.3.3).
"""

from typing import Final, NamedTuple, Self

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout

_CHECKPOINT: Final = layout.TIMER_CHECKPOINT.struct()
CHECKPOINT_SIZE: Final = 4096
_OLD_CHECKPOINT_SIZE: Final = 32
assert _CHECKPOINT.size == 56


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
            raise RecordDamaged(
                f"timer checkpoint: length is {len(data)}, expected {CHECKPOINT_SIZE}; "
                "a 5.x broker builds the wheel and its log again from rmq_sys_wheel_timer",
                kind=DamageKind.TRUNCATED,
                found=len(data),
                expected=CHECKPOINT_SIZE,
            )
        return cls(*_CHECKPOINT.unpack(data[: _CHECKPOINT.size].ljust(_CHECKPOINT.size, b"\0")))
