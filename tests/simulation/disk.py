"""The disk of one replica: its log, of which an end may not be synced, and the files of its group.

    0 ──────────── synced_end ──────────── end
       survives       a power cut leaves some beginning of it, maybe half a record

    a record   int32 serial, int16 queue id, int16 nothing, int64 queue offset

Rule: a file of a group is replaced whole and synced, or its write fails and changes nothing, as
``GroupFiles`` and ``write_atomic`` do it.
"""

import random
import struct
from collections.abc import Sequence
from typing import Final

from mqserver.broker.replicas.group_files import GroupFiles
from mqserver.broker.replicas.role import Identity
from storefmt.config.master_epochs import EpochStart

RECORD: Final = struct.Struct(">IHxxQ")
QUEUES: Final = 2


class SimLog:
    """The log of one replica."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.end = 0
        self.synced_end = 0

    def append(self, data: bytes) -> None:
        """Write bytes behind the end; they are not synced."""
        self.data[self.end : self.end + len(data)] = data
        self.end += len(data)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from ``start`` to ``end``."""
        return bytes(self.data[start : min(end, self.end)])

    def cut(self, end: int) -> None:
        """Remove everything from ``end`` on, for good."""
        del self.data[end:]
        self.end, self.synced_end = end, min(self.synced_end, end)

    def recover(self) -> None:
        """Find the end after a start, behind the last whole record, and sync what is there."""
        self.end = len(self.data) // RECORD.size * RECORD.size
        del self.data[self.end :]
        self.synced_end = self.end

    def lose_power(self, randomness: random.Random) -> None:
        """Lose an end of what is not synced."""
        del self.data[randomness.randint(self.synced_end, max(self.synced_end, len(self.data))) :]

    def queue_ends(self, end: int) -> list[int]:
        """Return the next offset of each queue behind the records up to ``end``."""
        ends = [0] * QUEUES
        whole = end // RECORD.size * RECORD.size
        for _, queue_id, queue_offset in RECORD.iter_unpack(self.data[:whole]):
            ends[queue_id] = queue_offset + 1
        return ends


class SimFiles(GroupFiles):
    """The files of a group on a disk that may refuse a write."""

    def __init__(self, randomness: random.Random) -> None:
        self.identity = Identity()
        self.heard = 0
        self.epochs: list[EpochStart] = []
        self.fail_rate = 0.0
        self._randomness = randomness

    def _may_fail(self) -> None:
        if self.fail_rate and self._randomness.random() < self.fail_rate:
            raise OSError(28, "No space left on device")

    def save_trial_id(self, broker_id: int, check_code: str) -> None:
        """Save the id that this broker is taking."""
        self._may_fail()
        self.identity = Identity(None, broker_id, check_code)

    def save_id(self, broker_id: int) -> None:
        """Save the id that this broker has."""
        self._may_fail()
        self.identity = Identity(broker_id)

    def save_heard(self, epoch: int) -> None:
        """Save the highest epoch heard of."""
        self._may_fail()
        self.heard = epoch

    def save_epochs(self, epochs: Sequence[EpochStart]) -> None:
        """Save the epochs of the log."""
        self._may_fail()
        self.epochs = list(epochs)

    def read_again(self) -> None:
        """Read the files after a start, as the constructor of the real ones does."""
        newest = self.epochs[-1].epoch if self.epochs else 0
        self.heard = max(self.heard, newest)
