"""The two ids of a message: where it lies, and what its producer called it.

    offset id   store address (4 or 16) | port int32 | log_offset int64
    unique id   client address (4 or 16) | pid 2 | seed 4 | ms of month 4 | counter 2 bytes

Rule: both are upper-case hex, 32 characters, or 56 when the address is IPv6: never
assume 32. The offset id names one record of one broker; the unique id survives retries
and is what clients show.

Source: common/message/MessageDecoder.java#createMessageId,
common/message/MessageClientIDSetter.java (4.9.7).
"""

import os
import struct
from datetime import datetime
from itertools import count
from typing import Final, NamedTuple

from storefmt.errors import BadCall
from storefmt.formats.hosts import address_text

_I64: Final = struct.Struct(">q")
_STAMP: Final = struct.Struct(">HIIH")
ID_SIZES: Final = (32, 56)
_STAMP_SIZE: Final = _STAMP.size
assert _STAMP_SIZE == 12


class UniqueId(NamedTuple):
    """The parts of a unique id: ``ip`` as text, ``born_ms_in_month`` in the client's local time."""

    ip: str
    pid: int
    seed: int
    born_ms_in_month: int
    counter: int


def offset_id(store_host: bytes, log_offset: int) -> str:
    """Return the offset message id of a record, 32 or 56 hex digits.

    Args:
        store_host: packed.
        log_offset: position in the commit log, in bytes.
    """
    return (store_host + _I64.pack(log_offset)).hex().upper()


def parse_offset_id(text: str) -> tuple[bytes, int]:
    """Return the packed store host and the log offset (bytes) of an offset message id.

    Raises:
        BadCall: ``text`` is not 32 or 56 hex digits.
    """
    raw = _unhex(text, "an offset message id")
    return raw[:-8], int.from_bytes(raw[-8:], "big", signed=True)


def decode_unique_id(text: str) -> UniqueId:
    """Return the parts of a unique id; any 32 or 56 hex digits can be split.

    Raises:
        BadCall: ``text`` is not 32 or 56 hex digits.
    """
    raw = _unhex(text, "a unique id")
    pid, seed, born_ms, counter = _STAMP.unpack(raw[-_STAMP_SIZE:])
    return UniqueId(address_text(raw[:-_STAMP_SIZE] + bytes(4)), pid, seed, born_ms, counter)


class UniqueIds:
    """Makes unique ids as a Java client does; one generator for one process is enough.

    Args:
        ip: address of this client, 4 or 16 bytes.
        pid: process id; this process when None. Only its low 16 bits are kept.
        seed: 32 bits that tell generators apart; random when None.

    Raises:
        BadCall: ``ip`` is neither 4 nor 16 bytes.
    """

    def __init__(
        self, ip: bytes = b"\x7f\0\0\1", *, pid: int | None = None, seed: int | None = None
    ) -> None:
        if len(ip) not in (4, 16):
            raise BadCall(f"address of {len(ip)} bytes; expected 4 (IPv4) or 16 (IPv6)")
        self._pid = (os.getpid() if pid is None else pid) & 0xFFFF
        self._seed = (int.from_bytes(os.urandom(4), "big") if seed is None else seed) & 0xFFFFFFFF
        self._ip = ip
        self._counter = count()
        self._month_start_ms = 0
        self._month_end_ms = 0

    def next(self, now_ms: int) -> str:
        """Return a new id: the counter and the ms of the month make it unique.

        Args:
            now_ms: now, in ms since 1970.
        """
        if not self._month_start_ms <= now_ms < self._month_end_ms:
            self._enter_month(now_ms)
        stamp = _STAMP.pack(
            self._pid,
            self._seed,
            (now_ms - self._month_start_ms) & 0xFFFFFFFF,
            next(self._counter) & 0xFFFF,
        )
        return (self._ip + stamp).hex().upper()

    def _enter_month(self, now_ms: int) -> None:
        # Local time, as Java's Calendar: the reader is the same machine or a person.
        start = datetime.fromtimestamp(now_ms / 1000).replace(
            day=1, hour=0, minute=0, second=0, microsecond=0
        )
        year, month = divmod(start.year * 12 + start.month, 12)
        self._month_start_ms = int(start.timestamp() * 1000)
        self._month_end_ms = int(start.replace(year=year, month=month + 1).timestamp() * 1000)


def _unhex(text: str, what: str) -> bytes:
    try:
        raw = bytes.fromhex(text)
    except ValueError:
        raw = b""
    if len(text) not in ID_SIZES or len(raw) * 2 != len(text):
        raise BadCall(f"{text!r} is not {what}; expected 32 or 56 hex digits")
    return raw
