"""Entries of both kinds of consume queues equal what Java reads; ext addresses are not hashes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storefmt.errors import RecordDamaged
from storefmt.formats import layout
from storefmt.formats.consumequeue import (
    BATCH_ENTRY,
    CQ_ENTRY,
    ENTRY_SIZE,
    FILLER,
    CqEntry,
    decode_entries,
    entry_columns,
    ext_address,
    ext_offset,
    is_ext_address,
)
from storefmt.formats.message import decode_record
from tests.storefmt.corpus import STORES
from tests.storefmt.vectors import expected_of, files_of

BATCH_NAMES = [field.name for field in layout.BATCH_QUEUE_ENTRY.fields]
INT64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("name", STORES)
def test_every_golden_queue_file_equals_what_java_read(corpus, name: str) -> None:
    store = corpus(name)
    lines = list(store.golden.jsonl(name, "cq"))
    assert lines

    for line in lines:
        path = store.root / "consumequeue" / line["topic"] / line["queueId"] / line["file"]
        with path.open("rb") as file:
            raw = file.read((len(line["entries"]) + 1) * ENTRY_SIZE)
        entries = decode_entries(raw)
        used = entries[: len(line["entries"])]

        assert path.stat().st_size == line["length"]
        first = int(line["file"]) // ENTRY_SIZE
        assert [[first + place, *entry] for place, entry in enumerate(used)] == line["entries"]
        assert [entry.is_free for entry in entries] == [False] * len(used) + (
            [True] * (len(entries) - len(used))
        )
        assert b"".join(CQ_ENTRY.pack(*entry) for entry in entries) == raw


def test_entries_of_normal_topics_hold_the_hash_of_the_tag(corpus) -> None:
    store = corpus("basic")
    records = {row["physicOffset"]: decode_record(raw) for row, raw in store.messages}

    for line in store.golden.jsonl("basic", "cq"):
        if line["topic"] != "SCHEDULE_TOPIC_XXXX":
            for _, log_offset, size, tags_code in line["entries"]:
                record = records[log_offset]
                assert size == record.size
                assert tags_code == record.tags_code


@settings(derandomize=True)
@given(INT64, st.integers(-(2**31), 2**31 - 1), INT64)
def test_entry_equals_the_declared_layout(log_offset: int, size: int, code: int) -> None:
    raw = CQ_ENTRY.pack(log_offset, size, code)

    spans = layout.CONSUME_QUEUE_ENTRY.spans(raw)
    assert tuple(span.value for span in spans) == (log_offset, size, code)
    assert decode_entries(raw) == [CqEntry(log_offset, size, code)]


def test_filler_is_no_entry_and_no_free_space() -> None:
    (entry,) = decode_entries(FILLER)

    assert entry == (0, 2147483647, 0)
    assert entry.is_filler is True
    assert entry.is_free is False
    assert not CqEntry(0, 2147483647, 5).is_filler


@pytest.mark.parametrize("count", [0, 1, 3, 32])
def test_columns_hold_what_the_entries_do(count: int) -> None:
    entries = [(number << 33, 100 + number, -number << 32) for number in range(count)]
    data = b"".join(CQ_ENTRY.pack(*entry) for entry in entries)

    log_offsets, sizes, codes = entry_columns(bytearray(data))

    assert list(zip(log_offsets, sizes, codes, strict=True)) == entries


def test_part_of_an_entry_is_damage() -> None:
    for size in range(1, ENTRY_SIZE):
        with pytest.raises(RecordDamaged) as caught:
            decode_entries(FILLER + FILLER[:size])
        assert caught.value.pos == ENTRY_SIZE

    assert decode_entries(b"") == []
    assert decode_entries(memoryview(FILLER * 2)) == [CqEntry(0, 2147483647, 0)] * 2


@pytest.mark.parametrize("code", [0, -1, 2**31 - 1, -(2**31), 1795234982587])
def test_hash_and_due_time_are_no_ext_address(code: int) -> None:
    assert not is_ext_address(code)


@pytest.mark.parametrize("offset", [0, 20, 2**40])
def test_ext_address_names_a_byte(offset: int) -> None:
    assert is_ext_address(ext_address(offset))
    assert ext_offset(ext_address(offset)) == offset
    assert CQ_ENTRY.size == 20


def batch_entries_of(queue_id: int) -> list[dict[str, Any]]:
    file = files_of("five")[f"batchconsumequeue/bq-topic/{queue_id}/{0:020d}"]
    entries = BATCH_ENTRY.iter_unpack(file)
    return [dict(zip(BATCH_NAMES, entry, strict=True)) for entry in entries if any(entry)]


def test_every_batch_entry_equals_what_java_read() -> None:
    names = ("base_queue_offset", "log_offset", "size", "tags_code", "message_count")
    found = [
        [queue_id, *(entry[name] for name in (*names, "compacted_offset"))]
        for queue_id in (0, 1)
        for entry in batch_entries_of(queue_id)
    ]

    assert found == expected_of("five")["units"]


@pytest.mark.parametrize("queue_id", [0, 1])
def test_batch_entry_points_at_its_record_and_covers_its_messages(queue_id: int) -> None:
    log = files_of("five")["commitlog/00000000000000000000"]
    entries = batch_entries_of(queue_id)

    for entry in entries:
        record = decode_record(log, entry["log_offset"])
        assert record.size == entry["size"]
        assert record.store_ms == entry["store_ms"]
        assert record.tags_code == entry["tags_code"]
        assert record.queue_offset == entry["base_queue_offset"]
        assert record.properties["INNER_NUM"] == str(entry["message_count"])
        assert record.properties["INNER_BASE"] == str(entry["base_queue_offset"])
    end = entries[-1]["base_queue_offset"] + entries[-1]["message_count"]
    assert [entries[0]["base_queue_offset"], end] == expected_of("five")["queue_min_max"][queue_id]
