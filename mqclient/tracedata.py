"""The text of message traces: what happened to a message, as trace consoles read it.

    Pub|ms|region|group|topic|id|tags|keys|broker|body size|cost ms|type|offset id|true#
    SubBefore|ms|region|group|request|id|retries|keys#
    SubAfter|request|id|cost ms|true|keys|return code|ms|group#
    EndTransaction|ms|region|group|topic|id|tags|keys|broker|type|transaction|state|from check#

    ``|`` stands for 0x01, ``#`` for 0x02.

Rule: pure text; fields and order are Java's. One message of the trace topic holds many records.

Source: client/trace/TraceDataEncoder.java#encoderFromContextBean (4.9.7).
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


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, IntEnum):
        return str(int(value))
    return str(value)
