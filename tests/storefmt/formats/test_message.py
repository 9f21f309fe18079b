"""Records equal what the Java decoder said, both ways, and damage never passes unseen."""

import hashlib
import zlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.hosts import host_text, parse_host
from storefmt.formats.message import (
    MAGIC_V1,
    MAGIC_V2,
    Record,
    blank,
    body_crc,
    decode_record,
    decode_records,
    encode_record,
    record_size,
)
from tests.records import encoded
from tests.storefmt.broken import assert_cuts_are_damage, every_flip
from tests.storefmt.corpus import STORES

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
HOSTS = st.one_of(st.binary(min_size=8, max_size=8), st.binary(min_size=20, max_size=20))
FIELDS = st.fixed_dictionaries(
    {
        "topic": st.one_of(st.text(max_size=30), st.text(min_size=128, max_size=200)).map(
            str.encode
        ),
        "queue_id": INT32,
        "queue_offset": INT64,
        "log_offset": INT64,
        "flag": INT32,
        "sys_flag": INT32,
        "born_ms": INT64,
        "born_host": HOSTS,
        "store_ms": INT64,
        "store_host": HOSTS,
        "reconsume_times": INT32,
        "prepared_transaction_offset": INT64,
        "body": st.binary(max_size=300),
        "properties": st.binary(max_size=300),
    }
)
SMALL = {
    "topic": b"T",
    "queue_id": 1,
    "queue_offset": 2,
    "log_offset": 3,
    "flag": 4,
    "sys_flag": 0,
    "born_ms": 5,
    "born_host": b"\x7f\0\0\1\0\0\0\1",
    "store_ms": 6,
    "store_host": b"\x7f\0\0\1\0\0\0\2",
    "reconsume_times": 7,
    "prepared_transaction_offset": 8,
    "body": b"body",
    "properties": b"TAGS\x01A\x02KEYS\x01k1  k2\x02UNIQ_KEY\x01U",
}


@pytest.mark.parametrize("name", STORES)
def test_every_golden_record_equals_what_java_decoded(corpus, name: str) -> None:
    for row, raw in corpus(name).messages:
        record = decode_record(raw, check_crc=row["bodyCrcOk"])

        assert summary(record) == {key: row[key] for key in summary(record)}
        assert host_text(record.born_host) == host_text(parse_host(row["bornHost"]))
        assert host_text(record.store_host) == host_text(parse_host(row["storeHost"]))
        assert (body_crc(record.body) == record.body_crc) is row["bodyCrcOk"]


def summary(record: Record) -> dict:
    return {
        "size": record.size,
        "magic": record.magic,
        "bodyCRC": record.body_crc,
        "queueId": record.queue_id,
        "flag": record.flag,
        "queueOffset": record.queue_offset,
        "physicOffset": record.log_offset,
        "sysFlag": record.sys_flag,
        "bornTimestamp": record.born_ms,
        "storeTimestamp": record.store_ms,
        "reconsumeTimes": record.reconsume_times,
        "preparedTransactionOffset": record.prepared_transaction_offset,
        "bodyLen": len(record.body),
        "bodySha256": hashlib.sha256(record.body).hexdigest(),
        "topic": record.topic,
        "properties": record.properties,
        "propertiesLen": len(record.properties_raw),
        "propertiesSha256_16": hashlib.sha256(record.properties_raw).hexdigest()[:16],
        "msgId": record.msg_id,
    }


@pytest.mark.parametrize("name", STORES)
def test_every_golden_record_encodes_to_the_same_bytes(corpus, name: str) -> None:
    for _, raw in corpus(name).messages:
        record = decode_record(raw)

        assert encoded(record, body_crc=None) == raw
        assert record.encode() == raw


def test_records_of_an_answer_are_decoded_in_order(corpus) -> None:
    raws = [raw for _, raw in corpus("ipv6").messages]

    records = decode_records(memoryview(b"".join(raws)))

    assert records == [decode_record(raw) for raw in raws]
    assert all(a.log_offset + a.size == b.log_offset for a, b in pairwise(records))


def test_record_within_other_bytes_is_decoded_where_it_lies() -> None:
    raw = encode_record(**SMALL)

    assert decode_record(b"xyz" + raw + b"more", 3) == decode_record(raw)
    assert decode_record(memoryview(b"xyz" + raw + b"more"), 3) == decode_record(raw)


def test_properties_of_a_record_are_named() -> None:
    record = decode_record(encode_record(**SMALL))

    assert record.tags == "A"
    assert record.keys == ["k1", "k2"]
    assert record.unique_key == "U"
    assert record.tags_code == 65


def test_record_without_properties_has_no_tag_and_no_key() -> None:
    record = decode_record(encode_record(**{**SMALL, "properties": b""}))

    assert (record.tags, record.keys, record.unique_key, record.tags_code) == (None, [], None, 0)


@settings(derandomize=True, max_examples=300)
@given(FIELDS)
def test_kernels_equal_the_declared_layout(fields: dict) -> None:
    raw = encode_record(**fields)

    record = decode_record(raw)

    declared = layout.MESSAGE if record.magic == MAGIC_V1 else layout.MESSAGE_V2
    found = {span.field.name: span.value for span in declared.spans(raw)}
    assert record.magic == (MAGIC_V2 if len(fields["topic"]) > 127 else MAGIC_V1)
    assert found["size"] == len(raw) == size_of(fields)
    assert found["topic"] == record.topic.encode() == fields["topic"]
    assert found["properties"] == record.properties_raw == fields["properties"]
    assert found["body_crc"] == zlib.crc32(fields["body"]) & 0x7FFFFFFF
    same = set(Record._fields) & set(found) - {"topic"}
    assert {name: getattr(record, name) for name in same} == {name: found[name] for name in same}
    given_values = {name: fields[name] for name in same & set(fields) - {"sys_flag"}}
    assert given_values == {name: found[name] for name in given_values}
    assert found["sys_flag"] & ~0x30 == fields["sys_flag"] & ~0x30


def size_of(fields: dict) -> int:
    return record_size(
        len(fields["topic"]),
        len(fields["body"]),
        len(fields["properties"]),
        v6_born=len(fields["born_host"]) == 20,
        v6_store=len(fields["store_host"]) == 20,
    )


@pytest.mark.parametrize("hosts", [(8, 8), (20, 8), (8, 20), (20, 20)])
@pytest.mark.parametrize("topic", [b"T", b"T" * 128])
def test_cut_record_is_damage_at_every_byte(hosts: tuple[int, int], topic: bytes) -> None:
    born, store = (bytes(size) for size in hosts)
    raw = encode_record(**{**SMALL, "born_host": born, "store_host": store, "topic": topic})

    assert_cuts_are_damage(decode_record, raw, kind=DamageKind.TRUNCATED)


@pytest.mark.parametrize("hosts", [(8, 8), (20, 8), (8, 20), (20, 20)])
def test_flipped_bit_is_damage_or_another_record_with_other_bytes(hosts: tuple[int, int]) -> None:
    born, store = (bytes(size) for size in hosts)
    raw = encode_record(**{**SMALL, "born_host": born, "store_host": store})
    outcomes = []

    for flipped in every_flip(raw):
        try:
            record = decode_record(flipped)
        except RecordDamaged as error:
            outcomes.append(error.kind)
        else:
            outcomes.append("read")
            assert encoded(record) == flipped

    # Only the body has a CRC, so most flips of other fields are read as they stand.
    assert {"read", DamageKind.BAD_CRC, DamageKind.BAD_LENGTH, DamageKind.BAD_MAGIC} < set(outcomes)
    assert outcomes.count(DamageKind.BAD_CRC) == 32 + 8 * len(SMALL["body"])


@settings(derandomize=True, max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 199))
def test_any_bytes_are_refused_as_damage(noise: bytes, pos: int) -> None:
    raw = bytearray(encode_record(**SMALL))
    raw[pos % len(raw) : pos % len(raw) + len(noise)] = noise

    try:
        record = decode_record(bytes(raw))
    except RecordDamaged:
        return
    assert encoded(record) == raw[: record.size]


@pytest.mark.parametrize(
    ("pos", "new", "kind", "field"),
    [
        (0, b"\0\0\0\x5a", DamageKind.BAD_SIZE, "size"),
        (0, b"\xff\xff\xff\xff", DamageKind.BAD_SIZE, "size"),
        (0, b"\x7f\xff\xff\xf0", DamageKind.TRUNCATED, "size"),
        (4, b"\xcb\xd4\x31\x94", DamageKind.BAD_MAGIC, "magic"),
        (84, b"\xff\xff\xff\xff", DamageKind.BAD_LENGTH, "body"),
        (92, b"\x80", DamageKind.BAD_LENGTH, "topic"),
        (94, b"\xff", DamageKind.BAD_LENGTH, "properties"),
        (93, b"\xff", DamageKind.BAD_TEXT, "topic"),
    ],
)
def test_damage_names_its_field(pos: int, new: bytes, kind: DamageKind, field: str) -> None:
    raw = bytearray(encode_record(**SMALL))
    raw[pos : pos + len(new)] = new

    with pytest.raises(RecordDamaged) as caught:
        decode_record(b"12345" + raw, 5, shift=1000)

    assert caught.value.kind == kind
    assert caught.value.field == field
    assert caught.value.pos == 1005


def test_body_that_does_not_fit_its_crc_is_read_only_on_request() -> None:
    raw = encode_record(**SMALL, body_crc=1)

    with pytest.raises(RecordDamaged) as caught:
        decode_record(raw)

    assert caught.value.found == body_crc(b"body")
    assert caught.value.expected == 1
    assert decode_record(raw, check_crc=False).body == b"body"


def test_crc_of_an_empty_body_is_not_looked_at() -> None:
    assert body_crc(b"") == 0
    assert decode_record(encode_record(**{**SMALL, "body": b""}, body_crc=99)).body_crc == 99


def test_blank_is_eight_bytes_and_needs_as_many() -> None:
    assert blank(12398) == bytes.fromhex("0000306e cbd43194")

    with pytest.raises(BadCall, match="blank of 7 bytes"):
        blank(7)


@pytest.mark.parametrize(
    "wrong",
    [
        {"properties": bytes(32768)},
        {"topic": bytes(32768)},
        {"born_host": bytes(9)},
        {"queue_id": 2**31},
        {"log_offset": -(2**63) - 1},
    ],
)
def test_what_no_record_can_hold_is_refused(wrong: dict) -> None:
    with pytest.raises(BadCall, match="cannot be a record"):
        encode_record(**{**SMALL, **wrong})
