"""Every decoder of 4.9's formats takes any bytes: a value or a StoreError, nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storefmt.config.fastjson import dialect_of, dumps, loads
from storefmt.formats.batch import BatchEntry, join_batch, split_batch
from storefmt.formats.checkpoint import Checkpoint
from storefmt.formats.consumequeue import decode_entries
from storefmt.formats.consumequeue_ext import ExtUnit, decode_units, encode_unit
from storefmt.formats.hosts import host_text, parse_host
from storefmt.formats.message import decode_record, decode_records
from storefmt.formats.msgid import decode_unique_id, parse_offset_id
from storefmt.formats.properties import parse_properties
from storefmt.formats.scan import scan_items, scan_log
from tests.records import record_bytes
from tests.storefmt.broken import ANY_BYTES, FUZZ, every_cut, every_flip, survives


def walk_all(data: bytes) -> None:
    list(scan_items(lambda pos, size: data[pos : pos + size], base=0, size=len(data)))


def written_again(data: bytes) -> str:
    return dumps(loads(data), pretty=True, dialect=dialect_of(data))


RECORD = record_bytes(born_host=bytes(8), store_host=bytes(20), properties=b"TAGS\x01A")
DECODERS = {
    "record": (decode_record, RECORD),
    "records": (decode_records, RECORD),
    "walk": (walk_all, RECORD),
    "scan": (lambda data: scan_log(data, 0, len(data), check_crc=True), RECORD),
    "batch": (split_batch, join_batch([BatchEntry(1, b"body", b"A\x01b")])),
    "ext": (lambda data: list(decode_units(data)), encode_unit(ExtUnit(1, 2, b"\x03"))),
    "queue": (decode_entries, bytes(20)),
    "checkpoint": (Checkpoint.decode, bytes(40)),
    "properties": (parse_properties, b"A\x01b\x02C\x01d"),
    "json": (lambda data: dumps(loads(data)), b'{"a":{1:2,{"b":3}:[4,null]}}'),
    "state file": (written_again, b'{\n\t"a":{\n\t\t1:2\n\t}\n}'),
    "dialect": (dialect_of, b'{\n\t"a":{\n\t\t1:2\n\t}\n}'),
    "host": (host_text, bytes(8)),
}
TEXTS = {
    "offset id": parse_offset_id,
    "unique id": decode_unique_id,
    "host": parse_host,
}


@pytest.mark.parametrize("name", DECODERS)
def test_every_cut_and_flipped_bit_is_a_value_or_damage(name: str) -> None:
    decode, good = DECODERS[name]

    decode(good)
    for broken in [*every_cut(good), *every_flip(good)]:
        survives(decode, broken)


@FUZZ
@given(ANY_BYTES)
def test_any_bytes_are_a_value_or_damage(data: bytes) -> None:
    for decode, _ in DECODERS.values():
        survives(decode, data)


@FUZZ
@given(ANY_BYTES, st.integers(0, len(RECORD)), st.integers(0, len(RECORD)))
def test_record_with_a_foreign_middle_is_a_record_or_damage(
    data: bytes, start: int, size: int
) -> None:
    broken = RECORD[:start] + data[:size] + RECORD[start + size :]

    for name in ("record", "records", "walk", "scan"):
        survives(DECODERS[name][0], broken)


@FUZZ
@given(st.text(max_size=60) | st.text("0123456789ABCDEFabcdef:.[]-", max_size=60))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    for decode in TEXTS.values():
        survives(decode, text)
