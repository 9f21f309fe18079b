"""The text of message traces: what happened to a message, as trace consoles read it.

    Pub|ms|region|group|topic|id|tags|keys|broker|body size|cost ms|type|offset id|true#
    SubBefore|ms|region|group|request|id|retries|keys#
    SubAfter|request|id|cost ms|true|keys|return code|ms|group#
    EndTransaction|ms|region|group|topic|id|tags|keys|broker|type|transaction|state|from check#

    ``|`` stands for 0x01, ``#`` for 0x02.

Rule: pure text; fields and order are Java's. One message of the trace topic holds many records.

Source: client/trace/TraceDataEncoder.java#encoderFromContextBean,
#decoderFromTraceDataString (4.9.7).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

FIELD: Final = "\x01"
RECORD: Final = "\x02"


class MessageType(IntEnum):
    """What kind of message was sent (common/message/MessageType)."""

    NORMAL = 0
    TRANSACTION_HALF = 1
    TRANSACTION_COMMIT = 2
    DELAY = 3


@dataclass(frozen=True, slots=True)
class Trace:
    """Records about one event.

    Attributes:
        region: traces of different regions do not share a message.
        text: the records.
        keys: what the records can be found by: unique ids and keys of the messages.
    """

    region: str
    text: str
    keys: frozenset[str]


def record(*fields: object) -> str:
    """Return one record of these fields; None is written as Java writes it."""
    return FIELD.join(_text(value) for value in fields) + RECORD


def keys_of(msg_id: str, keys: str) -> frozenset[str]:
    """Return what a message's records can be found by."""
    return frozenset(key for key in (msg_id, *keys.split(" ")) if key)


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One record, read back; a field that its kind does not have is None.

    Attributes:
        kind: Pub, SubBefore, SubAfter or EndTransaction.
        at_ms: when it began; of SubAfter, when it ended (0 from clients that do not say).
        request: joins SubBefore and SubAfter.
        detail: state of a transaction, or number of retries.
    """

    kind: str
    at_ms: int
    group: str | None
    topic: str | None
    msg_id: str
    keys: str
    cost_ms: int | None
    success: bool | None
    request: str | None
    detail: str


def read_records(text: str) -> list[TraceRecord]:
    """Return the records of a trace message; what is no record is left out.

    Clients of different versions write more or fewer fields, at the end.
    """
    found = []
    for part in text.split(RECORD):
        fields = part.split(FIELD)
        reader = _READERS.get(fields[0])
        if reader is None:
            continue
        try:
            found.append(reader(fields))
        except (IndexError, ValueError):
            continue
    return found


def _pub(fields: list[str]) -> TraceRecord:
    # A client without the offset id wrote the success in its place.
    success = fields[13] if len(fields) > 13 else fields[12]
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[1]),
        group=fields[3],
        topic=fields[4],
        msg_id=fields[5],
        keys=fields[7],
        cost_ms=int(fields[10]),
        success=success == "true",
        request=None,
        detail=f"broker {fields[8]}",
    )


def _sub_before(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[1]),
        group=fields[3],
        topic=None,
        msg_id=fields[5],
        keys=fields[7],
        cost_ms=None,
        success=None,
        request=fields[4],
        detail=f"delivered again {fields[6]} times" if fields[6] != "0" else "",
    )


def _sub_after(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[7]) if len(fields) > 7 else 0,
        group=fields[8] if len(fields) > 8 else None,
        topic=None,
        msg_id=fields[2],
        keys=fields[5],
        cost_ms=int(fields[3]),
        success=fields[4] == "true",
        request=fields[1],
        detail="",
    )


def _end_transaction(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[1]),
        group=fields[3],
        topic=fields[4],
        msg_id=fields[5],
        keys=fields[7],
        cost_ms=None,
        success=None,
        request=None,
        detail=f"{fields[11]}{', after a check' if fields[12] == 'true' else ''}",
    )


_READERS: Final = {
    "Pub": _pub,
    "SubBefore": _sub_before,
    "SubAfter": _sub_after,
    "EndTransaction": _end_transaction,
}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, IntEnum):
        return str(int(value))
    return str(value)
