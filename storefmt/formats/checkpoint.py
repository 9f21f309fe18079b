"""The file ``checkpoint``: up to which store time each part of a store was flushed.

    0           8           16         24                      32               40
    | physic_ms | logics_ms | index_ms | master_flushed_offset | confirm_offset | zeros |

Rule: recovery after a crash starts at the last commit log file whose first record is
not newer than the smaller of physic_ms and logics_ms, less 3 s. The physic time often
lags or is 0 in stores of the Java broker, and index_ms moves only when an index file
is full. Old values make recovery slower and never lose a message. Only 5.x writes the two
offsets; 4.9 leaves zeros there.

Source: store/StoreCheckpoint.java (4.9.7 and 5.3.3).
"""

from typing import Final, NamedTuple, Self

from storefmt.errors import DamageKind, RecordDamaged
from storefmt.formats import layout

_NUMBERS: Final = layout.CHECKPOINT.struct()
_TIMES: Final = layout.CHECKPOINT.part("index_ms").struct()
CHECKPOINT_SIZE: Final = 4096
SLACK_MS: Final = 3000
assert _TIMES.size == 24


class Checkpoint(NamedTuple):
    """Three times in ms since 1970, 0 for never; two offsets (bytes) of the commit log."""

    physic_ms: int = 0
    logics_ms: int = 0
    index_ms: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the numbers of a checkpoint file.

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
        return cls(*_NUMBERS.unpack(data[: _NUMBERS.size].ljust(_NUMBERS.size, b"\0")))

    def encode(self) -> bytes:
        """Return the 4096 bytes of the file."""
        return _NUMBERS.pack(*self).ljust(CHECKPOINT_SIZE, b"\0")

    @property
    def recover_from_ms(self) -> int:
        """Records up to this store time (ms) are on disk in the log and in the queues."""
        return max(min(self.physic_ms, self.logics_ms) - SLACK_MS, 0)
