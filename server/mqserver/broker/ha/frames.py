"""The frames on the replication connection, in both directions.

    slave ──> master   int64 log_offset            where its log ends, as a report
                       a negative number           minus an epoch higher than the master's; an
                                                   extension, sent only to masters with epochs
    master ──> slave   int64 log_offset, int32 size, then ``size`` bytes of the log
                       size 0 is a heartbeat; its offset is where the next bytes will begin

Rule: this module takes bytes and returns values; it has no socket and no clock. The bytes of a
frame lie in one file of the log. The protocol has no handshake and no version: the first report
says where the slave wants to begin.

Source: store/ha/HAConnection.java, store/ha/HAService.java#HAClient (4.9.7).
"""

import struct
from typing import Final, NamedTuple

REPORT: Final = struct.Struct(">q")
HEADER: Final = struct.Struct(">qi")
SIZE_MAX: Final = 64 << 20
"""Most bytes of one frame that a slave accepts; 32 KiB is usual."""


class BadStream(Exception):
    """The peer broke the protocol; the text says what came."""


class Transfer(NamedTuple):
    """Bytes of the log from ``log_offset`` on; empty for a heartbeat."""

    log_offset: int
    data: bytes


class Reports:
    """Decodes the stream that a slave sends."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[int]:
        """Return the log offsets of the reports that are complete now, the oldest first."""
        data = self._rest + data
        whole = len(data) - len(data) % REPORT.size
        self._rest = data[whole:]
        return [offset for (offset,) in REPORT.iter_unpack(data[:whole])]


class Transfers:
    """Decodes the stream that a master sends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._need = HEADER.size

    def feed(self, data: bytes) -> list[Transfer]:
        """Return the frames that are complete now.

        Raises:
            BadStream: a header has a negative offset or an impossible size.
        """
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        transfers: list[Transfer] = []
        pos, end = 0, len(data)
        while True:
            if end - pos < HEADER.size:
                need = HEADER.size
                break
            log_offset, size = HEADER.unpack_from(data, pos)
            if log_offset < 0 or not 0 <= size <= SIZE_MAX:
                raise BadStream(f"{size} bytes at log offset {log_offset}")
            start = pos + HEADER.size
            if end - start < size:
                need = HEADER.size + size
                break
            transfers.append(Transfer(log_offset, data[start : start + size]))
            pos = start + size
        self._parts, self._have, self._need = [data[pos:]], end - pos, need
        return transfers


def transfer_frames(log_offset: int, data: bytes, *, batch_size: int) -> list[bytes]:
    """Return headers and bytes, in turn, of the frames for ``data``, which is of one log file.

    Args:
        batch_size: most bytes of the log in one frame.
    """
    if len(data) <= batch_size:
        return [HEADER.pack(log_offset, len(data)), data]
    view = memoryview(data)
    parts: list[bytes] = []
    for start in range(0, len(data), batch_size):
        part = view[start : start + batch_size]
        parts.append(HEADER.pack(log_offset + start, len(part)))
        parts.append(bytes(part))
    return parts
