"""The frames on the replication connection of a group with a controller, in both directions.

    slave ──> master   HANDSHAKE  int32 1, int16 begins at the last file, int16 does not count,
                                  int64 id of the slave
    master ──> slave   HANDSHAKE  int32 1, int32 size of the epochs, int64 end of the log,
                                  int32 newest epoch, then int32 epoch, int64 start of each
    slave ──> master   TRANSFER   int32 2, int64 end of its log; the first one says where to begin
    master ──> slave   TRANSFER   int32 2, int32 size, int64 log offset, int32 epoch,
                                  int64 start of the epoch, int64 confirm offset, then the bytes
                                  of the log; size 0 is a heartbeat or brings a new epoch

Rule: this module takes bytes and returns values; it has no socket and no clock. All integers are
big endian. A peer may not begin a transfer before both handshakes. The bytes of a frame are of one
epoch; of the last piece of an epoch Java says the *next* epoch, whose start then lies behind the
offset of the piece (:attr:`LogPiece.is_of_former_epoch`).

Source: store/ha/autoswitch/AutoSwitchHAConnection.java, AutoSwitchHAClient.java (5.4.0).
"""

import itertools
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from mqserver.broker.ha.frames import BadStream
from storefmt.config.master_epochs import EpochStart


class BadReplicaFrame(BadStream):
    """The peer broke the protocol; the text says what came."""


class State(IntEnum):
    """The first integer of a frame: an ordinal of Java's HAConnectionState."""

    HANDSHAKE = 1
    TRANSFER = 2


STATE: Final = struct.Struct(">i")
SLAVE_HANDSHAKE: Final = struct.Struct(">ihhq")
SLAVE_TRANSFER: Final = struct.Struct(">iq")
MASTER_HANDSHAKE: Final = struct.Struct(">iiqi")
MASTER_TRANSFER: Final = struct.Struct(">iiqiqq")
EPOCH: Final = struct.Struct(">iq")

EPOCHS_MAX: Final = 1_000
"""Most epochs in a handshake: what Java's buffer holds."""
SIZE_MAX: Final = 64 << 20
"""Most bytes of the log in one frame that a slave accepts; 32 KiB is usual."""


class SlaveHandshake(NamedTuple):
    """A slave says who it is."""

    broker_id: int
    begins_at_last_file: bool = False
    """An empty slave begins at the master's last file, not at its first one."""
    is_learner: bool = False
    """It copies the log and never joins the in-sync set."""


class SlaveReport(NamedTuple):
    """A slave says where its log ends; the first report of 0 asks for the beginning."""

    log_end: int


class MasterHandshake(NamedTuple):
    """A master says under which epochs its log was written."""

    log_end: int
    epochs: tuple[EpochStart, ...]


class LogPiece(NamedTuple):
    """Bytes of the log from ``log_offset`` on; empty for a heartbeat."""

    log_offset: int
    epoch: EpochStart
    confirm_offset: int
    data: bytes

    @property
    def is_of_former_epoch(self) -> bool:
        """Tell whether the bytes end the epoch before the one that the frame names."""
        return self.epoch.start_offset > self.log_offset


class SlaveFrames:
    """Decodes the stream that a slave sends."""

    def __init__(self) -> None:
        self._rest = b""
        self._has_handshake = False

    def feed(self, data: bytes) -> list[SlaveHandshake | SlaveReport]:
        """Return the frames that are complete now, the oldest first.

        Raises:
            BadReplicaFrame: another state than the expected one, or a negative number.
        """
        data = self._rest + data
        frames: list[SlaveHandshake | SlaveReport] = []
        position = 0
        while len(data) - position >= STATE.size:
            state = _state(data, position)
            layout = SLAVE_HANDSHAKE if state is State.HANDSHAKE else SLAVE_TRANSFER
            if len(data) - position < layout.size:
                break
            frames.append(self._frame(state, data, position))
            position += layout.size
        self._rest = data[position:]
        return frames

    def _frame(self, state: State, data: bytes, position: int) -> SlaveHandshake | SlaveReport:
        if state is State.TRANSFER:
            if not self._has_handshake:
                raise BadReplicaFrame("a report before the handshake")
            _, log_end = SLAVE_TRANSFER.unpack_from(data, position)
            if log_end < 0:
                raise BadReplicaFrame(f"a log that ends at {log_end}")
            return SlaveReport(log_end)
        if self._has_handshake:
            raise BadReplicaFrame("a second handshake")
        _, last_file, learner, broker_id = SLAVE_HANDSHAKE.unpack_from(data, position)
        if broker_id < 1:
            raise BadReplicaFrame(f"a handshake of broker {broker_id}")
        self._has_handshake = True
        return SlaveHandshake(broker_id, last_file == 1, learner == 1)


class MasterFrames:
    """Decodes the stream that a master sends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._need = STATE.size
        self._has_handshake = False

    def feed(self, data: bytes) -> list[MasterHandshake | LogPiece]:
        """Return the frames that are complete now, the oldest first.

        Raises:
            BadReplicaFrame: another state than the expected one, an impossible size or number,
                or epochs that do not grow.
        """
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        frames: list[MasterHandshake | LogPiece] = []
        position = 0
        while True:
            self._need = self._size_of(data, position)
            if len(data) - position < self._need:
                break
            frames.append(self._frame(data[position : position + self._need]))
            position += self._need
        self._parts = [data[position:]]
        self._have = len(data) - position
        return frames

    def _size_of(self, data: bytes, position: int) -> int:
        """Return the size of the frame at a position, as far as it can be known."""
        have = len(data) - position
        if have < STATE.size:
            return STATE.size
        if _state(data, position) is State.HANDSHAKE:
            if self._has_handshake:
                raise BadReplicaFrame("a second handshake")
            if have < MASTER_HANDSHAKE.size:
                return MASTER_HANDSHAKE.size
            size = int(MASTER_HANDSHAKE.unpack_from(data, position)[1])
            if not 0 <= size <= EPOCHS_MAX * EPOCH.size or size % EPOCH.size:
                raise BadReplicaFrame(f"{size} bytes of epochs")
            return MASTER_HANDSHAKE.size + size
        if not self._has_handshake:
            raise BadReplicaFrame("a transfer before the handshake")
        if have < MASTER_TRANSFER.size:
            return MASTER_TRANSFER.size
        size = int(MASTER_TRANSFER.unpack_from(data, position)[1])
        if not 0 <= size <= SIZE_MAX:
            raise BadReplicaFrame(f"{size} bytes of the log")
        return MASTER_TRANSFER.size + size

    def _frame(self, frame: bytes) -> MasterHandshake | LogPiece:
        if not self._has_handshake:
            self._has_handshake = True
            _, _, log_end, _ = MASTER_HANDSHAKE.unpack_from(frame)
            epochs = tuple(
                EpochStart(*entry) for entry in EPOCH.iter_unpack(frame[MASTER_HANDSHAKE.size :])
            )
            return MasterHandshake(_checked(log_end, "the end of the log"), _growing(epochs))
        _, _, log_offset, epoch, start, confirm_offset = MASTER_TRANSFER.unpack_from(frame)
        return LogPiece(
            _checked(log_offset, "a log offset"),
            EpochStart(epoch, start),
            confirm_offset,
            frame[MASTER_TRANSFER.size :],
        )


def encode_slave_handshake(handshake: SlaveHandshake) -> bytes:
    """Return the first frame of a slave."""
    return SLAVE_HANDSHAKE.pack(
        State.HANDSHAKE,
        handshake.begins_at_last_file,
        handshake.is_learner,
        handshake.broker_id,
    )


def encode_report(log_end: int) -> bytes:
    """Return a report of a slave."""
    return SLAVE_TRANSFER.pack(State.TRANSFER, log_end)


def encode_master_handshake(log_end: int, epochs: Sequence[EpochStart]) -> bytes:
    """Return the first frame of a master; of too many epochs the newest are sent."""
    sent = epochs[-EPOCHS_MAX:]
    newest = sent[-1].epoch if sent else -1
    return MASTER_HANDSHAKE.pack(
        State.HANDSHAKE, len(sent) * EPOCH.size, log_end, newest
    ) + b"".join(EPOCH.pack(*entry) for entry in sent)


def encode_pieces(
    log_offset: int,
    data: bytes,
    *,
    epoch: EpochStart,
    confirm_offset: int,
    batch_size: int,
) -> list[bytes]:
    """Return headers and bytes, in turn, of the frames for ``data``, which is of one epoch.

    Args:
        log_offset: where the bytes stand in the log.
        data: the bytes; none for a heartbeat.
        epoch: the epoch in which they were written.
        confirm_offset: up to where every replica of the in-sync set has the log.
        batch_size: most bytes of the log in one frame.
    """
    view = memoryview(data)
    parts: list[bytes] = []
    for start in range(0, max(len(data), 1), batch_size):
        piece = bytes(view[start : start + batch_size])
        header = MASTER_TRANSFER.pack(
            State.TRANSFER, len(piece), log_offset + start, epoch.epoch, epoch.start_offset,
            confirm_offset,
        )  # fmt: skip
        parts += [header, piece]
    return parts


def _state(data: bytes, position: int) -> State:
    (number,) = STATE.unpack_from(data, position)
    try:
        return State(number)
    except ValueError:
        raise BadReplicaFrame(f"state {number}, expected a handshake or a transfer") from None


def _checked(number: int, name: str) -> int:
    if number < 0:
        raise BadReplicaFrame(f"{name} of {number}")
    return number


def _growing(epochs: tuple[EpochStart, ...]) -> tuple[EpochStart, ...]:
    for before, after in itertools.pairwise(epochs):
        if not (before.epoch < after.epoch and before.start_offset < after.start_offset):
            raise BadReplicaFrame(f"epoch {after} after {before}")
    return epochs
