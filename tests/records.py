"""Bytes of message records, of which a test names only the fields that it is about."""

from typing import Any

from storefmt.formats.hosts import pack_host
from storefmt.formats.message import Record, encode_record

HOST = pack_host("127.0.0.1", 10911)


def record_bytes(**fields: Any) -> bytes:
    """Return a record of topic ``T``; ``fields`` are those of ``encode_record``."""
    plain: dict[str, Any] = {
        "topic": b"T", "queue_id": 0, "queue_offset": 0, "log_offset": 0, "flag": 0, "sys_flag": 0,
        "born_ms": 1, "born_host": HOST, "store_ms": 2, "store_host": HOST, "reconsume_times": 0,
        "prepared_transaction_offset": 0, "body": b"body", "properties": b"",
    }  # fmt: skip
    return encode_record(**plain | fields)


def encoded(record: Record, **changed: object) -> bytes:
    """Return the record's bytes, some of its fields changed."""
    fields = {
        "topic": record.topic.encode(),
        "properties": record.properties_raw,
        **{
            name: getattr(record, name)
            for name in Record._fields
            if name not in ("size", "magic", "topic", "properties_raw")
        },
    }
    return encode_record(**{**fields, **changed})
