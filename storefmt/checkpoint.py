"""The file ``checkpoint``: up to which store time each part of a store was flushed.

    0           8           16         24
    | physic_ms | logics_ms | index_ms | zeros to 4096 |

Rule: recovery after a crash starts at the last commit log file whose first record is
not newer than the smaller of physic_ms and logics_ms, less 3 s. The physic time often
lags or is 0 in stores of the Java broker, and index_ms moves only when an index file
is full: old values cost time, they never lose a message. 5.x keeps more numbers in the
rest of the file; they are not read.

Source: store/StoreCheckpoint.java (4.9.7).
"""

from typing import Final, NamedTuple, Self

from storefmt import layout
from storefmt.errors import DamageKind, RecordDamaged

_TIMES: Final = layout.CHECKPOINT.struct()
CHECKPOINT_SIZE: Final = 4096
SLACK_MS: Final = 3000
assert _TIMES.size == 24


class Checkpoint(NamedTuple):
    """Three times in ms since 1970; 0 for never."""

    physic_ms: int = 0
    logics_ms: int = 0
    index_ms: int = 0

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the times of a checkpoint file.

        Raises:
            RecordDamaged: fewer than 24 bytes.
        """
        if len(data) < _TIMES.size:
            raise RecordDamaged(
                f"checkpoint of {len(data)} bytes, expected {CHECKPOINT_SIZE}; without it the "
                "whole commit log is recovered, which takes longer and loses nothing",
                kind=DamageKind.TRUNCATED,
                found=len(data),
                expected=CHECKPOINT_SIZE,
            )
        return cls(*_TIMES.unpack_from(data))

    def encode(self) -> bytes:
        """Return the 4096 bytes of the file."""
        return _TIMES.pack(*self).ljust(CHECKPOINT_SIZE, b"\0")

    @property
    def recover_from_ms(self) -> int:
        """Records up to this store time (ms) are on disk in the log and in the queues."""
        return max(min(self.physic_ms, self.logics_ms) - SLACK_MS, 0)
