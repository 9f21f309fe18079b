"""The row of a message, the same for a broker's answer and for a record on disk.

    Record (storefmt) --message_row--> MessageRow --output--> json object, table line

Rule: the body is text where it is valid UTF-8, else base64 in ``body_base64``; exactly
one of the two is set, and neither if the body was not requested. ``body_size`` is the
size as stored. A body that cannot be decompressed, or would grow beyond ``BODY_SIZE_MAX``,
is shown as it is stored, and ``body_error`` says why; it does not end the command.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from mqadmin.output.rows import EpochMs, Row, omitted
from storefmt.errors import StoreError
from storefmt.formats.hosts import host_text
from storefmt.formats.message import Record
from storefmt.formats.properties import TAGS, UNIQUE_KEY
from storefmt.formats.sysflag import inflate

if TYPE_CHECKING:
    from mqclient.message import MessageExt

BODY_SIZE_MAX: Final = 64 * 1024 * 1024
"""Largest body that is decompressed, in bytes."""

MESSAGE_COLUMNS: Final = (
    "topic",
    "queue_id",
    "queue_offset",
    "store_time",
    "tags",
    "keys",
    "msg_id",
    "body",
)
"""The columns of a table of messages."""

BodyForm = Literal["stored", "inflated", "none"]
Warn = Callable[[str], None]
"""Prints one line on standard error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow(Row):
    """One message; ``queue_offset`` in entries, ``log_offset`` and sizes in bytes."""

    identity = "msg_id"

    topic: str
    queue_id: int
    queue_offset: int
    log_offset: int
    size: int
    msg_id: str
    unique_key: str | None
    keys: tuple[str, ...]
    tags: str | None
    properties: dict[str, str]
    flag: int
    sys_flag: int
    body_crc: int
    body_size: int
    body: str | None = omitted()
    body_base64: str | None = omitted()
    body_error: str | None = omitted()
    born_ms: EpochMs
    born_host: str
    store_ms: EpochMs
    store_host: str
    reconsume_times: int
    prepared_transaction_offset: int
    magic: int
    file: str | None
    broker: str | None

    def in_table(self) -> Mapping[str, str]:
        """Return the size of a binary body instead of the body."""
        if self.body is not None or self.body_base64 is None:
            return {}
        size = len(self.body_base64) * 3 // 4 - self.body_base64[-2:].count("=")
        return {"body": f"<{size:,} bytes>"}


def message_row(
    record: Record, *, body: BodyForm = "stored", file: str | None = None, broker: str | None = None
) -> MessageRow:
    """Return the row of a record.

    Args:
        body: as it is stored, decompressed if its flag says that it is compressed, or omitted.
        file: name of the commit log file it was read from.
        broker: name of the broker that answered.
    """
    properties = record.properties
    text, base64, problem = None, None, None
    if body != "none":
        raw = record.body
        if body == "inflated":
            try:
                raw = inflate(raw, record.sys_flag, size_max=BODY_SIZE_MAX)
            except StoreError as error:
                problem = str(error)
        text, base64 = body_fields(raw)
    return MessageRow(
        topic=record.topic,
        queue_id=record.queue_id,
        queue_offset=record.queue_offset,
        log_offset=record.log_offset,
        size=record.size,
        msg_id=record.msg_id,
        unique_key=properties.get(UNIQUE_KEY),
        keys=tuple(record.keys),
        tags=properties.get(TAGS),
        properties=properties,
        flag=record.flag,
        sys_flag=record.sys_flag,
        body_crc=record.body_crc,
        body_size=len(record.body),
        body=text,
        body_base64=base64,
        body_error=problem,
        born_ms=record.born_ms,
        born_host=host_text(record.born_host),
        store_ms=record.store_ms,
        store_host=host_text(record.store_host),
        reconsume_times=record.reconsume_times,
        prepared_transaction_offset=record.prepared_transaction_offset,
        magic=record.magic,
        file=file,
        broker=broker,
    )


def body_fields(raw: bytes) -> tuple[str | None, str | None]:
    """Return (text, None) for valid UTF-8, else (None, base64)."""
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError:
        return None, b64encode(raw).decode("ascii")


def row_of(message: "MessageExt", *, warn: Warn, body: bool = True) -> MessageRow:
    """Return the row of a message that a broker sent, its body decompressed.

    Args:
        warn: is called with a line about a body that is shown as it is stored.
    """
    row = message_row(
        message.record, body="inflated" if body else "none", broker=message.broker_name or None
    )
    if row.body_error is not None:
        warn(f"message {message.offset_msg_id}: {row.body_error}; the stored bytes are shown")
    return row
