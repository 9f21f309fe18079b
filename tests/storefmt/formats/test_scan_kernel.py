"""The compiled scan returns what the plain one returns, whatever the bytes are."""

import mmap
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt import kernels
from storefmt.errors import BadCall
from storefmt.formats import scan
from storefmt.formats.message import encode_record
from tests.programs import python
from tests.storefmt.broken import guarded_page
from tests.storefmt.formats.test_message import SMALL
from tests.twins import compiled, needs_kernel

COMPILED = compiled("scan_compiled")
built = needs_kernel("scan_compiled")
V4, V6 = bytes(4) + b"\0\0\x2a\x9f", bytes(16) + b"\0\0\x2a\x9f"
EDGES = (0, 1, 44, 87, 88, 91, 100, 112, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Return a few records of all kinds, some of their bytes and numbers overwritten."""
    raw = b""
    for _ in range(draw(st.integers(1, 5))):
        raw += encode_record(
            **{
                **SMALL,
                "topic": b"t" * draw(st.sampled_from([1, 127, 128, 300])),
                "born_host": draw(st.sampled_from([V4, V6])),
                "store_host": draw(st.sampled_from([V4, V6])),
                "body": draw(st.binary(max_size=40)),
            }
        )
    data = bytearray(raw + draw(st.binary(max_size=120)))
    for _ in range(draw(st.integers(0, 4))):
        pos = draw(st.integers(0, len(data) - 4))
        value = draw(st.one_of(st.sampled_from(EDGES), st.integers(0, (1 << 32) - 1)))
        size = draw(st.sampled_from([1, 4]))
        data[pos : pos + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "big")
    return bytes(data)


@built
@settings(max_examples=500, deadline=None)
@given(logs(), st.data())
def test_damaged_logs_give_the_same_starts_on_both_ways(raw: bytes, data: st.DataObject) -> None:
    places = st.one_of(st.sampled_from([0, len(raw)]), st.integers(0, len(raw)))
    pos, end = sorted((data.draw(places), data.draw(places)))

    for check_crc in (False, True):
        plain = scan.scan_pure(memoryview(raw), pos, end, check_crc)
        assert COMPILED(memoryview(raw), pos, end, check_crc) == plain


@built
def test_nothing_behind_the_data_is_read() -> None:
    memory, page = guarded_page(), mmap.PAGESIZE
    numbers = random.Random(4)
    raw = b"".join(encode_record(**{**SMALL, "store_host": host}) for host in (V4, V6, V6))

    for _ in range(5_000):
        cut = numbers.randrange(len(raw)) + 1
        data = bytearray(raw[-cut:] if numbers.random() < 0.2 else raw[:cut])
        for _ in range(numbers.randrange(3)):
            pos = numbers.randrange(len(data))
            data[pos : pos + 4] = numbers.choice(EDGES).to_bytes(4, "big")[: len(data) - pos]
        memory[page - len(data) : page] = data
        view = memoryview(memory)[page - len(data) : page]
        for check_crc in (False, True):
            plain = scan.scan_pure(memoryview(bytes(data)), 0, len(data), check_crc)
            assert COMPILED(view, 0, len(data), check_crc) == plain


@built
def test_kernel_refuses_what_is_not_within_the_data() -> None:
    for pos, end in ((-1, 5), (0, 11), (6, 5), (-(1 << 62), 1 << 62)):
        with pytest.raises(IndexError):
            COMPILED(memoryview(bytes(10)), pos, end, True)
    with pytest.raises(BufferError):
        COMPILED(memoryview(bytes(200))[::2], 0, 100, True)


def test_scan_outside_of_the_data_is_refused_on_every_way(scan_way: str) -> None:
    for pos, end in ((-1, 5), (0, 11), (6, 5)):
        with pytest.raises(BadCall, match="of 10; give a part"):
            scan.scan_log(bytes(10), pos, end)


@pytest.mark.parametrize("pure", ["", "1"])
def test_environment_forces_the_plain_way(pure: str) -> None:
    program = "from storefmt.formats import scan; print(scan._scan is scan.scan_pure)"

    done = python("-c", program, env={**os.environ, kernels.PURE: pure})

    assert done.stdout.strip() == str(bool(pure) or COMPILED is None)
