"""The properties of a message: text of names and values, in Java's order.

    name 01 value 02 name 01 value            UTF-8, no 02 at the end (5.x clients write one)

Rule: reading is as lenient as Java's: a part without a name, a value or the separator is dropped,
a value may contain 01, and the last of equal names counts. For a normal send the broker puts the
properties into a ``java.util.HashMap`` and writes them again, so the stored order is the iteration
order of that map and not the producer's order; see ``hashmap_order``.

Source: common/message/MessageDecoder.java#string2messageProperties,
#messageProperties2String; common/message/MessageConst.java.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from storefmt.errors import BadCall
from storefmt.formats.javahash import string_hash
from storefmt.formats.javamaps import hash_order

NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"
KEY_SEPARATOR: Final = " "
PROPERTIES_SIZE_MAX: Final = 32767

KEYS: Final = "KEYS"
TAGS: Final = "TAGS"
WAIT: Final = "WAIT"
DELAY: Final = "DELAY"
RETRY_TOPIC: Final = "RETRY_TOPIC"
REAL_TOPIC: Final = "REAL_TOPIC"
REAL_QUEUE_ID: Final = "REAL_QID"
TRANSACTION_PREPARED: Final = "TRAN_MSG"
PRODUCER_GROUP: Final = "PGROUP"
MIN_OFFSET: Final = "MIN_OFFSET"
MAX_OFFSET: Final = "MAX_OFFSET"
BUYER_ID: Final = "BUYER_ID"
ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
TRANSFER_FLAG: Final = "TRANSFER_FLAG"
CORRECTION_FLAG: Final = "CORRECTION_FLAG"
MQ2_FLAG: Final = "MQ2_FLAG"
RECONSUME_TIME: Final = "RECONSUME_TIME"
MSG_REGION: Final = "MSG_REGION"
TRACE_ON: Final = "TRACE_ON"
UNIQUE_KEY: Final = "UNIQ_KEY"
MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
CONSUME_START_TIME: Final = "CONSUME_START_TIME"
TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"
INSTANCE_ID: Final = "INSTANCE_ID"
CORRELATION_ID: Final = "CORRELATION_ID"
REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
TTL: Final = "TTL"
ARRIVE_TIME: Final = "ARRIVE_TIME"
PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
CLUSTER: Final = "CLUSTER"
MESSAGE_TYPE: Final = "MSG_TYPE"
INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"
TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
"""Epoch ms before which a broker of 5.x does not deliver; 4.9 ignores it."""
TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
TIMER_NAMES: Final = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
"""The properties that ask for a time of delivery; the first one that is present counts."""
TIMER_OUT_MS: Final = "TIMER_OUT_MS"
"""Epoch ms of the slot of the timer wheel that a message waits in; the broker sets it."""
TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
TIMER_DEL_UNIQUE_KEY: Final = "TIMER_DEL_UNIQKEY"
"""Unique key of the waiting message that this one cancels."""

SYSTEM_NAMES: Final = frozenset({
    KEYS, TAGS, WAIT, DELAY, RETRY_TOPIC, REAL_TOPIC, REAL_QUEUE_ID, TRANSACTION_PREPARED,
    PRODUCER_GROUP, MIN_OFFSET, MAX_OFFSET, BUYER_ID, ORIGIN_MESSAGE_ID, TRANSFER_FLAG,
    CORRECTION_FLAG, MQ2_FLAG, RECONSUME_TIME, MSG_REGION, TRACE_ON, UNIQUE_KEY,
    MAX_RECONSUME_TIMES, CONSUME_START_TIME, INSTANCE_ID, CORRELATION_ID, REPLY_TO_CLIENT, TTL,
    ARRIVE_TIME, PUSH_REPLY_TIME, CLUSTER, MESSAGE_TYPE, INNER_MULTI_QUEUE_OFFSET,
})  # fmt: skip
"""Names that a user may not set (Java's MessageConst.STRING_HASH_SET)."""


def parse_properties(raw: bytes | str) -> dict[str, str]:
    """Return the properties of the raw text, in its order, as lenient as Java.

    Bytes that are not UTF-8 become U+FFFD, as in Java.
    """
    text = raw if isinstance(raw, str) else str(raw, "utf-8", "replace")
    properties: dict[str, str] = {}
    for part in text.split(PROPERTY_SEPARATOR):
        name, _, value = part.partition(NAME_VALUE_SEPARATOR)
        if name and value:
            properties[name] = value
    return properties


def index_keys(named: Mapping[str, str]) -> tuple[str, ...]:
    """Return the keys under which a message is indexed, the unique key first."""
    return split_keys(named.get(UNIQUE_KEY, ""), named.get(KEYS, ""))


def split_keys(unique: str, keys: str) -> tuple[str, ...]:
    """Return the index keys for the values of UNIQ_KEY and KEYS, "" for a missing one."""
    if not keys:
        return (unique,) if unique else ()
    if KEY_SEPARATOR not in keys:
        return (unique, keys) if unique else (keys,)
    words = [word for word in keys.split(KEY_SEPARATOR) if word]
    return (unique, *words) if unique else tuple(words)


def format_properties(properties: Mapping[str, str]) -> str:
    """Return the text of ``properties`` in their own order, without a separator at the end.

    Values are not checked (a broker writes what it got); see ``check_property``.
    """
    return PROPERTY_SEPARATOR.join([f"{name}\x01{value}" for name, value in properties.items()])


def check_property(name: str, value: str) -> None:
    """Refuse a property that could not be read back from the text.

    Raises:
        BadCall: name or value is empty, or one of them holds a separator.
    """
    if not name or not value:
        raise BadCall(f"property {name!r} = {value!r}: neither name nor value may be empty")
    if NAME_VALUE_SEPARATOR in name or PROPERTY_SEPARATOR in name + value:
        raise BadCall(f"property {name!r}: the characters 01 and 02 separate properties")


def hashmap_order(names: Sequence[str], *, peak_count: int = 0) -> list[str]:
    """Return ``names`` in the iteration order of a Java HashMap that got them in this order.

    A name given twice stays where it was first.

    Args:
        peak_count: the most names the map ever held, when some were removed again: the
            table never shrinks.
    """
    return list(_ordered(tuple(names), peak_count))


def in_java_order(named: Mapping[str, str], *, peak_count: int = 0) -> str:
    """Return the text of properties in the order of a HashMap that was filled in this order.

    Args:
        peak_count: see ``hashmap_order``.
    """
    order = hashmap_order(list(named), peak_count=peak_count)
    return format_properties({name: named[name] for name in order})


# Producers repeat their few sets of names with every message.
@lru_cache(maxsize=512)
def _ordered(names: tuple[str, ...], peak_count: int) -> tuple[str, ...]:
    return tuple(hash_order(dict.fromkeys(names), string_hash, peak_count=peak_count))
