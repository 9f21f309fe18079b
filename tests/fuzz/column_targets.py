"""Targets that need numpy and Arrow: the bulk decoder, held against the record decoder."""

import os
import tempfile
from functools import cache
from pathlib import Path

from storefmt.arrow.columns import SCHEMA, iter_batches, place_in_log
from storefmt.errors import StoreError
from storefmt.formats.message import Record
from storefmt.formats.scan import Damage, LogFile, scan_items
from tests.fuzz.seeds import golden_records
from tests.fuzz.store_targets import reader
from tests.fuzz.target import Target


@cache
def _directory() -> "tempfile.TemporaryDirectory[str]":
    # In memory where that is possible: every input is a file.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    return tempfile.TemporaryDirectory(prefix="fuzz-", dir=place)


def read_columns(data: bytes) -> None:
    """Read a log file into columns: the same records as one by one, and the same fields."""
    path = Path(_directory().name) / f"{0:020d}"
    path.write_bytes(data)
    rows = [
        row
        for batch in iter_batches(
            [path], columns=SCHEMA.names, check_crc=True, on_damage=lambda *_: None
        )
        for row in batch.to_pylist()
    ]
    with LogFile(path) as file:
        base = place_in_log(path, file).base
    records, pos = [], 0
    for item in scan_items(reader(data), base=base, size=len(data), check_crc=False):
        if isinstance(item, Record) and item.log_offset == base + pos:
            records.append(item)
        pos += item.size if isinstance(item, Record | Damage) else 0
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        for name, value in (
            ("topic", record.topic), ("queue_id", record.queue_id), ("flag", record.flag),
            ("queue_offset", record.queue_offset), ("sys_flag", record.sys_flag),
            ("body_crc", record.body_crc), ("body", record.body), ("msg_id", record.msg_id),
            ("reconsume_times", record.reconsume_times), ("tags", record.tags),
            ("properties_raw", record.properties_raw), ("unique_key", record.unique_key),
            ("properties", list(record.properties.items())),
        ):  # fmt: skip
            assert row[name] == value, f"{name}: column {row[name]!r}, record {value!r}"


def _logs() -> list[bytes]:
    some = golden_records()[::4]
    return [*some, *(data + bytes(40) for data in some)]


def column_targets() -> list[Target]:
    """Return the targets of the bulk decoder."""
    return [Target("columns", read_columns, (StoreError,), _logs)]
