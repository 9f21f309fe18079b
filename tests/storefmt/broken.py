"""Breaks bytes in every small way, and sees that a decoder says so in its own words."""

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from storefmt.errors import DamageKind, RecordDamaged, StoreError

FUZZ = settings(derandomize=True, deadline=None, max_examples=200)
"""The same examples on every run."""
ANY_BYTES = st.binary(max_size=300)
_NAMES = st.sampled_from([
    "offsetTable", "lmqOffsetTable", "topicConfigTable", "subscriptionGroupTable", "dataVersion",
    "timestamp", "counter", "T@G", "T", "perm", "order", "topicFilterType", "0", "1",
    "filterDataByTopic", "groupFilterData", "bloomFilterData", "bitPos", "table", "o", "oc", "cm",
    "topicQueueMappingInfoMap", "hostedQueues", "messageRequestModeMap", "timingCount", "count",
])  # fmt: skip
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
JSON_VALUES = st.recursive(
    _LEAVES,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_NAMES, below, max_size=5),
    max_leaves=20,
)
"""Values in which the names of the files in ``config/`` turn up in all the wrong places."""


def survives(decode: Callable[[bytes], object], data: bytes) -> None:
    """Decode ``data``: a result or a StoreError is right, anything else is not."""
    with suppress(StoreError):
        decode(data)


def every_cut(data: bytes) -> list[bytes]:
    """Return ``data`` cut before each of its bytes."""
    return [data[:size] for size in range(len(data))]


def every_flip(data: bytes) -> list[bytes]:
    """Return ``data`` with each of its bits flipped."""
    whole = int.from_bytes(data, "big")
    return [(whole ^ (1 << bit)).to_bytes(len(data), "big") for bit in range(len(data) * 8)]


def assert_cuts_are_damage(
    decode: Callable[[bytes], object], data: bytes, *, kind: DamageKind | None = None
) -> None:
    """Decode ``data`` cut before each of its bytes: damage, of this kind where one is given."""
    for cut in every_cut(data):
        with pytest.raises(RecordDamaged) as caught:
            decode(cut)
        assert kind in (None, caught.value.kind)


def flipped(data: bytes, bit: int) -> bytes:
    """Return ``data`` with one bit flipped; bit 0 is the highest of the first byte."""
    changed = bytearray(data)
    changed[bit // 8] ^= 0x80 >> bit % 8
    return bytes(changed)


def flip(file: Path, pos: int, mask: int = 1) -> None:
    """Flip bits of one byte of a file."""
    overwrite(file, pos, bytes([file.read_bytes()[pos] ^ mask]))


def overwrite(file: Path, pos: int, data: bytes) -> None:
    """Write over some bytes of a file."""
    with file.open("r+b") as writer:
        writer.seek(pos)
        writer.write(data)


@contextmanager
def changed(file: Path, data: bytes) -> Iterator[None]:
    """Give a file other bytes for a while."""
    whole = file.read_bytes()
    file.write_bytes(data)
    try:
        yield
    finally:
        file.write_bytes(whole)


def guarded_page() -> mmap.mmap:
    """Return a page of memory in front of one that cannot be read: one byte further is a crash."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + page), page, 0) == 0
    return memory
