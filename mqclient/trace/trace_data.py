"""The text of trace messages: how records are written, and how a console reads them back.

    Pub|ms|region|group|topic|id|tags|keys|broker|body size|cost ms|type|offset id|true#
    SubBefore|ms|region|group|request|id|retries|keys#
    SubAfter|request|id|cost ms|true|keys|return code|ms|group#
    EndTransaction|ms|region|group|topic|id|tags|keys|broker|type|transaction|state|from check#

    ``|`` stands for 0x01, ``#`` for 0x02.

One message of the trace topic has many records.

Rule: the fields and their order are Java's.

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
    """The records of one event.

    Attributes:
        region: the region of the broker; traces of different regions do not share a message.
        text: the encoded records.
        keys: the keys of the trace message: unique keys and keys of the messages.
    """

    region: str
    text: str
    keys: frozenset[str]


def record(*fields: object) -> str:
    """Return one encoded record; a value of None is written as Java writes it."""
    return FIELD.join(_text(value) for value in fields) + RECORD


def keys_of(msg_id: str, keys: str) -> frozenset[str]:
    """Return the keys under which the records of a message can be found."""
    return frozenset(key for key in (msg_id, *keys.split(" ")) if key)


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One decoded record; a field that its kind does not have is None.

    Attributes:
        kind: Pub, SubBefore, SubAfter or EndTransaction.
        at_ms: when the event began, in ms since 1970; for SubAfter when it ended, or 0 from a
            client that does not write it.
        group: the producer or consumer group.
        topic: the topic of the message.
        msg_id: the unique key of the message.
        keys: its keys, with spaces between them.
        cost_ms: how long the event took.
        success: whether the message was sent or consumed.
        request: the id that joins SubBefore and SubAfter.
        detail: the broker, the number of retries, how a consumption failed, or the state of a
            transaction.
    """

    kind: str
    at_ms: int
    msg_id: str
    keys: str
    group: str | None = None
    topic: str | None = None
    cost_ms: int | None = None
    success: bool | None = None
    request: str | None = None
    detail: str = ""


def read_records(text: str) -> list[TraceRecord]:
    """Return the records of a trace message; text that is not a record is left out.

    Clients of different versions write more or fewer fields at the end of a record.
    """
    records = []
    for part in text.split(RECORD):
        fields = part.split(FIELD)
        reader = _READERS.get(fields[0])
        if reader is None:
            continue
        try:
            records.append(reader(fields))
        except (IndexError, ValueError):
            continue
    return records


def _pub(fields: list[str]) -> TraceRecord:
    # Older clients write the success in the place of the offset id.
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
        detail=f"broker {fields[8]}",
    )


def _sub_before(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[1]),
        group=fields[3],
        msg_id=fields[5],
        keys=fields[7],
        request=fields[4],
        detail=f"delivered again {fields[6]} times" if fields[6] != "0" else "",
    )


_ENDS: Final = {
    "1": "the listener took longer than consumeTimeout",
    "2": "the listener threw an exception",
    "3": "the listener returned null",
    "4": "the listener asked for the message again",
}
"""How a consumption failed; source: client/consumer/listener/ConsumeReturnType.java."""


def _sub_after(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[7]) if len(fields) > 7 else 0,
        group=fields[8] if len(fields) > 8 else None,
        msg_id=fields[2],
        keys=fields[5],
        cost_ms=int(fields[3]),
        success=fields[4] == "true",
        request=fields[1],
        detail=_ENDS.get(fields[6], "") if len(fields) > 6 and fields[4] != "true" else "",
    )


def _end_transaction(fields: list[str]) -> TraceRecord:
    return TraceRecord(
        kind=fields[0],
        at_ms=int(fields[1]),
        group=fields[3],
        topic=fields[4],
        msg_id=fields[5],
        keys=fields[7],
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
    return "null" if value is None else str(value)
