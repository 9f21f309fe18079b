"""What goes over the replication connection, both ways.

    slave ──> master   int64                       where its log ends
                       a negative one instead      minus a higher epoch than the master's; ours,
                                                   told only to masters that tell theirs
    master ──> slave   int64 offset, int32 size    and so many bytes of the log
                       size 0: a sign of life; its offset is where the next bytes will lie

Rule: bytes in, values out; no socket, no clock. Bytes of a frame lie in one file of the log.
There is no greeting and no version: the first report says where the slave wants to begin.

Source: store/ha/HAConnection.java, store/ha/HAService.java#HAClient (4.9.7).
"""

import struct
from typing import Final, NamedTuple

REPORT: Final = struct.Struct(">q")
HEADER: Final = struct.Struct(">qi")
SIZE_MAX: Final = 64 << 20
"""Bytes of one frame that are taken; 32 KiB is usual."""


class BadStream(Exception):
    """The peer does not speak this protocol; the text says what came."""


class Transfer(NamedTuple):
    """Bytes of the log from ``log_offset`` on; none for a sign of life."""

    log_offset: int
    data: bytes


class Reports:
    """Takes apart what a slave sends."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[int]:
        """Return the reports that are complete now, the oldest first."""
        data = self._rest + data
        whole = len(data) - len(data) % REPORT.size
        self._rest = data[whole:]
        return [offset for (offset,) in REPORT.iter_unpack(data[:whole])]


class Transfers:
    """Takes apart what a master sends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._have = 0
        self._need = HEADER.size

    def feed(self, data: bytes) -> list[Transfer]:
        """Return the frames that are complete now.

        Raises:
            BadStream: a header that no master sends.
        """
        self._parts.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        found: list[Transfer] = []
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
            found.append(Transfer(log_offset, data[start : start + size]))
            pos = start + size
        self._parts, self._have, self._need = [data[pos:]], end - pos, need
        return found


def framed(log_offset: int, data: bytes, *, batch_size: int) -> list[bytes]:
    """Return headers and bytes of as many frames as bytes of one log file take."""
    if len(data) <= batch_size:
        return [HEADER.pack(log_offset, len(data)), data]
    view = memoryview(data)
    parts: list[bytes] = []
    for start in range(0, len(data), batch_size):
        part = view[start : start + batch_size]
        parts.append(HEADER.pack(log_offset + start, len(part)))
        parts.append(bytes(part))
    return parts
