"""The compiled decoder takes the good records of an answer, as the plain one decodes them."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import RecordDamaged
from storefmt.formats.message import Record, decode_record, decode_records, encode_record
from tests.storefmt.formats.test_message import FIELDS, SMALL
from tests.storefmt.formats.test_scan_kernel import EDGES, logs
from tests.twins import compiled, needs_kernel

COMPILED = compiled("decode_compiled")
pytestmark = needs_kernel("decode_compiled")


def one_by_one(data: bytes, *, check_crc: bool) -> tuple[list[Record], int, str]:
    """Decode by the plain way; return the records, the position behind, and the error."""
    found: list[Record] = []
    pos = 0
    while pos < len(data):
        try:
            found.append(decode_record(data, pos, check_crc=check_crc))
        except RecordDamaged as error:
            return found, pos, str(error)
        pos += found[-1].size
    return found, pos, ""


def assert_decoded_alike(data: bytes) -> None:
    for check_crc in (False, True):
        found, pos, error = one_by_one(data, check_crc=check_crc)
        assert COMPILED(data, check_crc) == (found, pos)
        if error:
            with pytest.raises(RecordDamaged) as raised:
                decode_records(data, check_crc=check_crc)
            assert str(raised.value) == error
            assert raised.value.pos == pos
        else:
            assert decode_records(data, check_crc=check_crc) == found


@settings(max_examples=400, deadline=None)
@given(logs())
def test_damaged_answers_give_the_same_records_and_errors(data: bytes) -> None:
    assert_decoded_alike(data)


@settings(max_examples=200, deadline=None)
@given(st.lists(FIELDS, min_size=1, max_size=4))
def test_records_with_any_fields_are_all_taken(fields: list[dict[str, object]]) -> None:
    data = b"".join(encode_record(**one) for one in fields)  # type: ignore[arg-type]

    assert COMPILED(data, True) == one_by_one(data, check_crc=True)[:2]
    assert COMPILED(data, True)[1] == len(data)


def test_thousands_of_cut_and_changed_answers_give_the_same() -> None:
    numbers = random.Random(21)
    parts = [
        encode_record(**{**SMALL, "topic": topic, "store_host": host, "body": body})
        for topic in (b"T", b"t" * 127, b"t" * 128, "Größe".encode())
        for host in (bytes(8), bytes(20))
        for body in (b"", b"body")
    ]
    for _ in range(5_000):
        data = bytearray(b"".join(numbers.choices(parts, k=numbers.randrange(1, 5))))
        for _ in range(numbers.randrange(3)):
            pos = numbers.randrange(len(data))
            value = numbers.choice([*EDGES, 0xDAA320A7, 0xDAA320AB]).to_bytes(4, "big")
            data[pos : pos + 4] = value[: len(data) - pos]
        assert_decoded_alike(bytes(data[: numbers.randrange(len(data) + 1)]))
