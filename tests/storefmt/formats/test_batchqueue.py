"""Batch consume queue entries equal what the real BatchConsumeQueue of 5.4.0 wrote."""

import pytest
from hypothesis import given

from storefmt.errors import BadCall, DamageKind, RecordDamaged
from storefmt.formats import layout
from storefmt.formats.batchqueue import (
    ENTRY_SIZE,
    BatchQueueEntry,
    decode_entries,
    encode_entry,
)
from storefmt.formats.message import decode_record
from tests.storefmt.broken import ANY_BYTES, FUZZ, survives
from tests.storefmt.vectors import expected_of, files_of

ENTRY = BatchQueueEntry(4096, 212, -7, 1795234970333, 17, 3, -1, 0)


def queue_file(queue_id: int) -> bytes:
    return files_of("five")[f"batchconsumequeue/bq-topic/{queue_id}/{0:020d}"]


def entries_of(queue_id: int) -> list[BatchQueueEntry]:
    return [entry for entry in decode_entries(queue_file(queue_id)) if not entry.is_free]


def test_every_entry_equals_what_java_read() -> None:
    found = [
        [
            queue_id,
            entry.base_queue_offset,
            entry.log_offset,
            entry.size,
            entry.tags_code,
            entry.message_count,
            entry.compacted_offset,
        ]
        for queue_id in (0, 1)
        for entry in entries_of(queue_id)
    ]

    assert found == expected_of("five")["units"]


@pytest.mark.parametrize("queue_id", [0, 1])
def test_file_is_written_again_byte_for_byte(queue_id: int) -> None:
    data = queue_file(queue_id)

    assert b"".join(map(encode_entry, decode_entries(data))) == data


@pytest.mark.parametrize("queue_id", [0, 1])
def test_entry_points_at_its_record_and_covers_its_messages(queue_id: int) -> None:
    log = files_of("five")["commitlog/00000000000000000000"]
    entries = entries_of(queue_id)

    for entry in entries:
        record = decode_record(log, entry.log_offset)
        assert record.size == entry.size
        assert record.store_ms == entry.store_ms
        assert record.tags_code == entry.tags_code
        assert record.queue_offset == entry.base_queue_offset
        assert record.properties["INNER_NUM"] == str(entry.message_count)
        assert record.properties["INNER_BASE"] == str(entry.base_queue_offset)
    low, high = expected_of("five")["queue_min_max"][queue_id]
    assert (entries[0].base_queue_offset, entries[-1].end_queue_offset) == (low, high)


def test_entry_equals_the_declared_layout() -> None:
    spans = [span.value for span in layout.BATCH_QUEUE_ENTRY.spans(encode_entry(ENTRY))]

    assert spans == list(ENTRY)
    assert decode_entries(encode_entry(ENTRY)) == [ENTRY]


def test_data_that_ends_in_an_entry_is_damage() -> None:
    data = encode_entry(ENTRY) * 2

    for size in range(len(data)):
        if size % ENTRY_SIZE:
            with pytest.raises(RecordDamaged) as caught:
                decode_entries(data[:size])
            assert caught.value.kind == DamageKind.TRUNCATED


def test_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(BadCall, match="does not fit"):
        encode_entry(ENTRY._replace(message_count=32768))


@FUZZ
@given(ANY_BYTES)
def test_any_bytes_are_entries_or_damage(data: bytes) -> None:
    survives(decode_entries, data)
