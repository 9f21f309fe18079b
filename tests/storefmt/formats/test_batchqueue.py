"""Batch consume queue entries equal what the real BatchConsumeQueue of 5.4.0 wrote."""

from typing import Any

import pytest

from storefmt.formats import layout
from storefmt.formats.batchqueue import BATCH_ENTRY
from storefmt.formats.message import decode_record
from tests.storefmt.vectors import expected_of, files_of

NAMES = [field.name for field in layout.BATCH_QUEUE_ENTRY.fields]


def entries_of(queue_id: int) -> list[dict[str, Any]]:
    file = files_of("five")[f"batchconsumequeue/bq-topic/{queue_id}/{0:020d}"]
    entries = BATCH_ENTRY.iter_unpack(file)
    return [dict(zip(NAMES, entry, strict=True)) for entry in entries if any(entry)]


def test_every_entry_equals_what_java_read() -> None:
    names = ("base_queue_offset", "log_offset", "size", "tags_code", "message_count")
    found = [
        [queue_id, *(entry[name] for name in (*names, "compacted_offset"))]
        for queue_id in (0, 1)
        for entry in entries_of(queue_id)
    ]

    assert found == expected_of("five")["units"]


@pytest.mark.parametrize("queue_id", [0, 1])
def test_entry_points_at_its_record_and_covers_its_messages(queue_id: int) -> None:
    log = files_of("five")["commitlog/00000000000000000000"]
    entries = entries_of(queue_id)

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
